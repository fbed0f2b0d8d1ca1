//! Idle connections by origin and way: bounded in all, per origin and in time; the oldest gives way.
//!
//! A connection is used again only by who goes the same way ([`super::profiles`]).
//!
//! To a server that let a kept connection die on a request none is kept for a while ([`DISTRUST`]): each such
//! request is lost and has to be made again.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use foldhash::{HashMap, HashMapExt};
use tokio::time::Instant;

/// A server that closes connections in use does so by its settings, which change seldom; after this a new
/// try costs at most one more lost request.
const DISTRUST: Duration = Duration::from_secs(600);
/// Servers distrusted at a time: about 100 bytes each. Beyond it the earliest is trusted again.
const DISTRUSTED_MAX: usize = 4_096;

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
    /// Nothing is kept until then.
    distrusted: HashMap<Box<str>, Instant>,
}

struct Entry<T> {
    number: u64,
    way: u64,
    since: Instant,
    item: T,
}

impl<T> Pool<T> {
    pub fn new(idle_max: usize, per_origin_max: usize, idle_timeout: Duration) -> Pool<T> {
        let resting = Resting {
            origins: HashMap::new(),
            order: VecDeque::new(),
            count: 0,
            next: 0,
            distrusted: HashMap::new(),
        };
        Pool { idle_max, per_origin_max, idle_timeout, resting: Mutex::new(resting) }
    }

    /// The one that rested the shortest, which its server is least likely to have closed.
    pub fn take(&self, way: u64, origin: &str, now: Instant) -> Option<T> {
        let mut resting = self.lock();
        let entries = resting.origins.get_mut(origin)?;
        let place = entries.iter().rposition(|entry| entry.way == way)?;
        let entry = entries.remove(place)?;
        if entries.is_empty() {
            resting.origins.remove(origin);
        }
        resting.count -= 1;
        (entry.since + self.idle_timeout > now).then_some(entry.item)
    }

    pub fn put(&self, way: u64, origin: &str, item: T, now: Instant) {
        if self.idle_max == 0 || self.per_origin_max == 0 {
            return;
        }
        let mut resting = self.lock();
        if resting.distrusts(origin, now) {
            return;
        }
        let number = resting.next;
        resting.next += 1;
        resting.count += 1;
        resting.order.push_back((origin.into(), number));
        let entry = Entry { number, way, since: now, item };
        match resting.origins.get_mut(origin) {
            Some(entries) => entries.push_back(entry),
            None => drop(resting.origins.insert(origin.into(), VecDeque::from([entry]))),
        }
        resting.trim_origin(way, origin, self.per_origin_max);
        resting.expire(now, self.idle_timeout, self.idle_max);
    }

    /// A kept connection to this server died on a request: the others are closed, and none is kept for a while.
    pub fn distrust(&self, origin: &str, now: Instant) {
        let mut resting = self.lock();
        if let Some(entries) = resting.origins.remove(origin) {
            resting.count -= entries.len();
        }
        resting.distrust(origin, now);
    }

    /// Closes what has rested too long; `put` does the same, so a crawl that goes on needs no help.
    pub fn expire(&self, now: Instant) {
        self.lock().expire(now, self.idle_timeout, self.idle_max);
    }

    /// Closes what rests under a way that nobody goes any more.
    pub fn close_way(&self, way: u64) {
        let mut resting = self.lock();
        let Resting { origins, count, .. } = &mut *resting;
        origins.retain(|_, entries| {
            let before = entries.len();
            entries.retain(|entry| entry.way != way);
            *count -= before - entries.len();
            !entries.is_empty()
        });
    }

    pub fn len(&self) -> usize {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, Resting<T>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Resting<T> {
    fn distrusts(&mut self, origin: &str, now: Instant) -> bool {
        match self.distrusted.get(origin) {
            None => false,
            Some(until) if now < *until => true,
            Some(_) => {
                self.distrusted.remove(origin);
                false
            }
        }
    }

    fn distrust(&mut self, origin: &str, now: Instant) {
        if self.distrusted.len() >= DISTRUSTED_MAX {
            self.distrusted.retain(|_, until| now < *until);
        }
        if self.distrusted.len() >= DISTRUSTED_MAX {
            let earliest = self.distrusted.iter().min_by_key(|(_, until)| **until);
            if let Some(earliest) = earliest.map(|(origin, _)| origin.clone()) {
                self.distrusted.remove(&earliest);
            }
        }
        self.distrusted.insert(origin.into(), now + DISTRUST);
    }

    /// Only one is ever too many: each `put` trims.
    fn trim_origin(&mut self, way: u64, origin: &str, most: usize) {
        let Some(entries) = self.origins.get_mut(origin) else { return };
        let mut of_way = entries.iter().enumerate().filter(|(_, entry)| entry.way == way);
        let Some((oldest, _)) = of_way.next() else { return };
        if of_way.count() >= most {
            entries.remove(oldest);
            self.count -= 1;
        }
    }

    fn expire(&mut self, now: Instant, idle_timeout: Duration, idle_max: usize) {
        while let Some((origin, number)) = self.order.front() {
            let front = self.origins.get(origin).and_then(|entries| entries.front());
            let Some(entry) = front.filter(|entry| entry.number == *number) else {
                // Taken, or trimmed: numbers only grow, so what is not an origin's first is not there.
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
        pool.put(0, "a", 1, now);
        pool.put(0, "a", 2, now + LIFE / 2);
        assert_eq!(pool.take(0, "b", now), None);
        assert_eq!(pool.take(0, "a", now + LIFE), Some(2));
        assert_eq!(pool.take(0, "a", now + LIFE), None, "the first has rested too long");
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn what_is_too_many_pushes_out_the_oldest() {
        let pool = Pool::new(3, 2, LIFE);
        let now = Instant::now();
        for n in 0..5 {
            pool.put(0, "a", n, now);
        }
        assert_eq!(pool.len(), 2);
        pool.put(0, "b", 10, now);
        pool.put(0, "c", 20, now);
        assert_eq!(pool.len(), 3);
        assert_eq!(pool.take(0, "a", now), Some(4));
        assert_eq!(pool.take(0, "a", now), None, "it gave way to c");
        assert_eq!(pool.take(0, "b", now), Some(10));
    }

    #[test]
    fn putting_closes_what_expired_elsewhere() {
        let pool = Pool::new(100, 2, LIFE);
        let now = Instant::now();
        for n in 0..50 {
            pool.put(0, &format!("o{n}"), n, now);
        }
        pool.put(0, "late", 99, now + LIFE);
        assert_eq!(pool.len(), 1);
    }

    #[test]
    fn coming_and_going_does_not_make_the_queue_grow() {
        let pool = Pool::new(4, 2, LIFE);
        let now = Instant::now();
        pool.put(0, "rests", 0, now);
        for n in 0..10_000 {
            pool.put(0, "busy", n, now);
            assert_eq!(pool.take(0, "busy", now), Some(n));
        }
        assert!(pool.lock().order.len() <= 2 * 4 + 64 + 1);
        assert_eq!(pool.len(), 1);
    }

    #[test]
    fn nothing_is_kept_of_a_server_that_let_a_kept_one_die_for_a_while() {
        let pool = Pool::new(10, 2, LIFE);
        let now = Instant::now();
        for way in 0..3 {
            pool.put(way, "a", 1, now);
        }
        pool.put(0, "b", 2, now);
        pool.distrust("a", now);
        assert_eq!((pool.len(), pool.take(0, "a", now)), (1, None));
        assert_eq!(pool.take(0, "b", now), Some(2));
        pool.put(0, "a", 3, now + DISTRUST / 2);
        assert_eq!(pool.take(0, "a", now + DISTRUST / 2), None);
        pool.put(0, "a", 4, now + DISTRUST);
        assert_eq!(pool.take(0, "a", now + DISTRUST), Some(4));
    }

    #[test]
    fn distrust_is_bounded() {
        let pool = Pool::<u8>::new(10, 2, LIFE);
        let now = Instant::now();
        for n in 0..2 * DISTRUSTED_MAX {
            pool.distrust(&format!("o{n}"), now);
        }
        assert_eq!(pool.lock().distrusted.len(), DISTRUSTED_MAX);
    }

    #[test]
    fn nothing_is_taken_by_who_goes_another_way() {
        let pool = Pool::new(10, 2, LIFE);
        let now = Instant::now();
        for n in 0..3 {
            pool.put(1, "a", n, now);
            pool.put(2, "a", 10 + n, now);
        }
        assert_eq!(pool.len(), 4, "each way has its own two");
        assert_eq!(pool.take(3, "a", now), None);
        assert_eq!(pool.take(1, "a", now), Some(2));
        assert_eq!(pool.take(2, "a", now), Some(12));
        pool.close_way(2);
        assert_eq!((pool.len(), pool.take(2, "a", now)), (1, None));
        pool.expire(now + LIFE);
        assert_eq!(pool.len(), 0, "what went out of turn holds nothing up");
    }
}
