//! The simulated clock.
//!
//! [`SimClock`] moves only when no [`Busy`] guard is held, and then exactly to the earliest sleeper, whom
//! it wakes alone: sleepers of the same moment run one after the other in the order they lay down, so a
//! run repeats itself whatever the number of threads, as long as every piece of work holds a guard:
//! - hold one before the first sleeper lies down, until everything is set up;
//! - hand it along with the work (in the message, into the task), never "drop here, take there";
//! - drop it before waiting for something that only time can bring, and wait with [`Clock::wake_at`],
//!   which comes back holding a guard. After a plain `sleep_until` time stands still only until the
//!   sleeping future is dropped.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use model::{BoxFuture, Busy, Clock, Timestamp};

/// Cheap to clone; all clones are one clock.
#[derive(Clone)]
pub struct SimClock {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    now: Timestamp,
    /// Guards held, and sleepers woken that have not yet taken over.
    busy: usize,
    /// By moment, then in the order they lay down.
    sleepers: BTreeMap<(Timestamp, u64), Option<Waker>>,
    laid_down: u64,
}

impl SimClock {
    pub fn new(start: Timestamp) -> SimClock {
        let shared = Shared { now: start, busy: 0, sleepers: BTreeMap::new(), laid_down: 0 };
        SimClock { shared: Arc::new(Mutex::new(shared)) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing panics while the lock is held, so a poisoned state is still a whole one.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guard that gives back one count of `busy` already taken.
    fn guard(&self) -> Busy {
        let clock = self.clone();
        Busy::until_dropped(Arc::new(move || clock.let_go()))
    }

    fn let_go(&self) {
        let mut shared = self.lock();
        debug_assert!(shared.busy > 0);
        shared.busy -= 1;
        let waker = shared.advance();
        drop(shared);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Lies down at once, not only when first polled: whoever drops its guard between the two must not
    /// miss its moment.
    fn sleeper(&self, at: Timestamp) -> Sleeper {
        let mut shared = self.lock();
        if at <= shared.now {
            shared.busy += 1;
            return Sleeper { clock: self.clone(), at, stage: Stage::Due };
        }
        let number = shared.laid_down;
        shared.laid_down += 1;
        shared.sleepers.insert((at, number), None);
        let waker = shared.advance();
        drop(shared);
        waker.into_iter().for_each(Waker::wake);
        Sleeper { clock: self.clone(), at, stage: Stage::Asleep(number) }
    }
}

impl Shared {
    /// Moves to the earliest sleeper and wakes it, if nobody is busy. The woken one counts as busy.
    fn advance(&mut self) -> Option<Waker> {
        if self.busy > 0 {
            return None;
        }
        let ((at, _), waker) = self.sleepers.pop_first()?;
        self.now = self.now.max(at);
        self.busy += 1;
        waker
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let sleeper = self.sleeper(at);
        Box::pin(async move { drop(sleeper.await) })
    }

    fn wake_at(&self, at: Timestamp) -> BoxFuture<'static, Busy> {
        Box::pin(self.sleeper(at))
    }

    fn busy(&self) -> Busy {
        self.lock().busy += 1;
        self.guard()
    }
}

/// Sleeps, and comes back with the guard that the clock took on its behalf when waking it.
struct Sleeper {
    clock: SimClock,
    at: Timestamp,
    stage: Stage,
}

enum Stage {
    /// Its moment had passed when it was asked for; counts as busy.
    Due,
    /// Lies in `sleepers` under this number, or was woken from there and counts as busy.
    Asleep(u64),
    Done,
}

impl Future for Sleeper {
    type Output = Busy;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Busy> {
        if let Stage::Asleep(number) = self.stage {
            let (clock, at) = (self.clock.clone(), self.at);
            if let Some(waker) = clock.lock().sleepers.get_mut(&(at, number)) {
                *waker = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Due | Stage::Asleep(_) => Poll::Ready(self.clock.guard()),
            Stage::Done => Poll::Ready(Busy::none()),
        }
    }
}

impl Drop for Sleeper {
    /// Given up (the other branch of a `select!` won): it must neither be waited for nor count as busy.
    fn drop(&mut self) {
        let woken = match self.stage {
            Stage::Done => return,
            Stage::Due => true,
            Stage::Asleep(number) => {
                self.clock.lock().sleepers.remove(&(self.at, number)).is_none()
            }
        };
        if woken {
            self.clock.let_go();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const START: Timestamp = Timestamp(1_000_000);

    fn at(seconds: u64) -> Timestamp {
        START.plus(Duration::from_secs(seconds))
    }

    fn threads(number: usize) -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(number).build().expect("runtime")
    }

    #[test]
    fn time_jumps_to_the_earliest_sleeper_and_never_past_it() {
        threads(1).block_on(async {
            let clock = SimClock::new(START);
            assert_eq!(clock.now(), START);
            clock.sleep_until(at(3600)).await;
            assert_eq!(clock.now(), at(3600));
            clock.sleep_until(at(10)).await;
            assert_eq!(clock.now(), at(3600), "a moment that has passed is no reason to move");
        });
    }

    #[test]
    fn time_stands_still_while_a_thread_outside_the_runtime_is_busy() {
        threads(2).block_on(async {
            let clock = SimClock::new(START);
            let (busy, worker_clock) = (clock.busy(), clock.clone());
            let worker = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                let seen = worker_clock.now();
                drop(busy);
                seen
            });
            clock.sleep_until(at(5)).await;
            assert_eq!(worker.join().expect("worker"), START);
            assert_eq!(clock.now(), at(5));
        });
    }

    #[test]
    fn a_sleeper_that_gave_up_is_not_waited_for() {
        threads(2).block_on(async {
            let clock = SimClock::new(START);
            let busy = clock.busy();
            let mut early = clock.wake_at(at(1));
            std::future::poll_fn(|context| {
                assert!(early.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(early);
            drop(busy);
            drop(clock.wake_at(at(9)).await);
            assert_eq!(clock.now(), at(9));
        });
    }

    #[test]
    fn a_sleeper_dropped_after_its_wake_lets_time_go_on() {
        threads(2).block_on(async {
            let clock = SimClock::new(START);
            let early = clock.wake_at(at(1));
            assert_eq!(clock.now(), at(1), "nobody is busy: it is woken at once");
            let later = clock.wake_at(at(2));
            assert_eq!(clock.now(), at(1), "time waits for it to get up");
            drop(early);
            drop(later.await);
            assert_eq!(clock.now(), at(2));
        });
    }

    /// Many tasks that sleep, work and sleep again, each moment written down.
    fn diary(workers: usize) -> Vec<(Timestamp, u64)> {
        let diary = Arc::new(Mutex::new(Vec::new()));
        threads(workers).block_on(async {
            let clock = SimClock::new(START);
            let mut setting_up = Some(clock.busy());
            let (sender, mut done) = tokio::sync::mpsc::channel(64);
            for task in 0..20_u64 {
                let (clock, diary, sender) = (clock.clone(), diary.clone(), sender.clone());
                let mut busy = clock.busy();
                tokio::spawn(async move {
                    for step in 1..50_u64 {
                        let wait = Duration::from_millis((task * 31 + step * 17) % 97 + 1);
                        let wake = clock.wake_at(clock.now().plus(wait));
                        drop(std::mem::replace(&mut busy, Busy::none()));
                        busy = wake.await;
                        tokio::task::yield_now().await;
                        diary.lock().expect("diary").push((clock.now(), task));
                    }
                    drop(busy);
                    let _ = sender.send(()).await;
                });
            }
            drop((setting_up.take(), sender));
            while done.recv().await.is_some() {}
        });
        Arc::try_unwrap(diary).expect("all tasks are over").into_inner().expect("diary")
    }

    #[test]
    fn time_never_goes_back_and_every_sleeper_wakes_on_its_moment() {
        for workers in [1, 4] {
            let diary = diary(workers);
            assert_eq!(diary.len(), 20 * 49);
            assert!(diary.is_sorted_by_key(|(at, _)| *at));
            let mut moments: Vec<_> = diary.clone();
            moments.sort_unstable();
            let mut expected = Vec::new();
            for task in 0..20_u64 {
                let mut now = START;
                for step in 1..50_u64 {
                    now = now.plus(Duration::from_millis((task * 31 + step * 17) % 97 + 1));
                    expected.push((now, task));
                }
            }
            expected.sort_unstable();
            assert!(moments == expected);
        }
    }
}
