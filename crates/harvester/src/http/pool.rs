//! Idle connections by origin: bounded in all, per origin and in time; the oldest gives way.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Generic over what rests in it, so that its rules can be tested without connections.
pub struct Pool<T> {
    idle_max: usize,
    per_origin_max: usize,
    idle_timeout: Duration,
    resting: Mutex<Resting<T>>,
}

struct Resting<T> {
    origins: HashMap<Box<str>, VecDeque<Entry<T>>>,
    /// Every entry in the order it came; entries taken meanwhile are found missing.
    order: VecDeque<(Box<str>, u64)>,
    count: usize,
    next: u64,
}

struct Entry<T> {
    number: u64,
    since: Instant,
    item: T,
}

impl<T> Pool<T> {
    pub fn new(idle_max: usize, per_origin_max: usize, idle_timeout: Duration) -> Pool<T> {
        let resting =
            Resting { origins: HashMap::new(), order: VecDeque::new(), count: 0, next: 0 };
        Pool { idle_max, per_origin_max, idle_timeout, resting: Mutex::new(resting) }
    }

    /// The one that rested the shortest, which its server is least likely to have closed.
    pub fn take(&self, origin: &str, now: Instant) -> Option<T> {
        let mut resting = self.lock();
        let entries = resting.origins.get_mut(origin)?;
        let entry = entries.pop_back()?;
        if entries.is_empty() {
            resting.origins.remove(origin);
        }
        resting.count -= 1;
        (entry.since + self.idle_timeout > now).then_some(entry.item)
    }

    pub fn put(&self, origin: &str, item: T, now: Instant) {
        if self.idle_max == 0 || self.per_origin_max == 0 {
            return;
        }
        let mut resting = self.lock();
        let number = resting.next;
        resting.next += 1;
        resting.count += 1;
        resting.order.push_back((origin.into(), number));
        let entry = Entry { number, since: now, item };
        match resting.origins.get_mut(origin) {
            Some(entries) => entries.push_back(entry),
            None => drop(resting.origins.insert(origin.into(), VecDeque::from([entry]))),
        }
        resting.trim_origin(origin, self.per_origin_max);
        resting.expire(now, self.idle_timeout, self.idle_max);
    }

    /// Closes what has rested too long; `put` does the same, so a crawl that goes on needs no help.
    pub fn expire(&self, now: Instant) {
        self.lock().expire(now, self.idle_timeout, self.idle_max);
    }

    pub fn len(&self) -> usize {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, Resting<T>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Resting<T> {
    fn trim_origin(&mut self, origin: &str, most: usize) {
        if let Some(entries) = self.origins.get_mut(origin) {
            while entries.len() > most {
                entries.pop_front();
                self.count -= 1;
            }
        }
    }

    fn expire(&mut self, now: Instant, idle_timeout: Duration, idle_max: usize) {
        while let Some((origin, number)) = self.order.front() {
            let front = self.origins.get(origin).and_then(|entries| entries.front());
            let Some(entry) = front.filter(|entry| entry.number == *number) else {
                // Taken, or trimmed: an origin's entries leave the queue's front in their own order.
                self.order.pop_front();
                continue;
            };
            if entry.since + idle_timeout > now && self.count <= idle_max {
                break;
            }
            self.drop_front();
        }
        if self.order.len() > 2 * idle_max + 64 {
            self.forget_taken();
        }
    }

    fn drop_front(&mut self) {
        let Some((origin, _)) = self.order.pop_front() else { return };
        if let Some(entries) = self.origins.get_mut(&origin) {
            entries.pop_front();
            self.count -= 1;
            if entries.is_empty() {
                self.origins.remove(&origin);
            }
        }
    }

    /// Keeps the queue to the size of what rests when a few origins come and go all the time.
    fn forget_taken(&mut self) {
        let origins = &self.origins;
        self.order.retain(|(origin, number)| {
            origins.get(origin).is_some_and(|entries| entries.iter().any(|e| e.number == *number))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(10);

    #[test]
    fn the_freshest_is_taken_and_the_old_expire() {
        let pool = Pool::new(10, 2, LIFE);
        let now = Instant::now();
        pool.put("a", 1, now);
        pool.put("a", 2, now + LIFE / 2);
        assert_eq!(pool.take("b", now), None);
        assert_eq!(pool.take("a", now + LIFE), Some(2));
        assert_eq!(pool.take("a", now + LIFE), None, "the first has rested too long");
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn what_is_too_many_pushes_out_the_oldest() {
        let pool = Pool::new(3, 2, LIFE);
        let now = Instant::now();
        for n in 0..5 {
            pool.put("a", n, now);
        }
        assert_eq!(pool.len(), 2);
        pool.put("b", 10, now);
        pool.put("c", 20, now);
        assert_eq!(pool.len(), 3);
        assert_eq!(pool.take("a", now), Some(4));
        assert_eq!(pool.take("a", now), None, "it gave way to c");
        assert_eq!(pool.take("b", now), Some(10));
    }

    #[test]
    fn putting_closes_what_expired_elsewhere() {
        let pool = Pool::new(100, 2, LIFE);
        let now = Instant::now();
        for n in 0..50 {
            pool.put(&format!("o{n}"), n, now);
        }
        pool.put("late", 99, now + LIFE);
        assert_eq!(pool.len(), 1);
    }

    #[test]
    fn coming_and_going_does_not_make_the_queue_grow() {
        let pool = Pool::new(4, 2, LIFE);
        let now = Instant::now();
        pool.put("rests", 0, now);
        for n in 0..10_000 {
            pool.put("busy", n, now);
            assert_eq!(pool.take("busy", now), Some(n));
        }
        assert!(pool.lock().order.len() <= 2 * 4 + 64 + 1);
        assert_eq!(pool.len(), 1);
    }
}
