//! The only source of time in the product.
//!
//! The real clock moves by a steady clock and is set by the wall clock ([`Clock::resync`]); the simulated one advances
//! only when nobody is [`Busy`], to the earliest sleeper. Whoever does work that simulated time must wait for
//! (a fetch in flight, a page not yet settled) holds a [`Busy`] guard.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use crate::Timestamp;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Steady microseconds, for measuring how long work takes; only differences mean anything.
    fn micros(&self) -> u64 {
        u64::try_from(self.now().0).unwrap_or(0).saturating_mul(1_000)
    }

    /// Completes at `at` or later; at once when `at` has passed.
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;

    /// As [`Clock::sleep_until`], but comes back holding a [`Busy`] guard, so that simulated time cannot
    /// slip away between waking up and the first thing done about it. This default suits only clocks
    /// whose guards are empty: a simulated clock must not count the sleeper as busy while it sleeps.
    fn wake_at(&self, at: Timestamp) -> BoxFuture<'static, Busy> {
        let (sleep, busy) = (self.sleep_until(at), self.busy());
        Box::pin(async move {
            sleep.await;
            busy
        })
    }

    /// How far the wall clock is from this one, when that is too far to be left so.
    fn wall_step(&self) -> Option<WallStep> {
        None
    }

    /// Sets this clock by the wall clock. Only while nothing is under way: moments held from before are then of
    /// another time.
    fn resync(&self) {}

    /// While the guard lives, simulated time stands still. The real clock gives an empty guard.
    fn busy(&self) -> Busy;
}

/// The wall clock went another way than the steady clock since the last [`Clock::resync`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallStep {
    /// How far the wall clock is ahead of this clock, in milliseconds; negative when it is behind.
    pub ahead_ms: i64,
    /// The part of it that really passed, while the machine slept.
    pub slept: Duration,
}

impl WallStep {
    /// How far the wall clock was set forward, in milliseconds; negative when it was set back.
    pub fn set_ms(&self) -> i64 {
        let slept = i64::try_from(self.slept.as_millis()).unwrap_or(i64::MAX);
        self.ahead_ms.saturating_sub(slept)
    }
}

/// Dropping it tells the simulated clock that this piece of work is over.
#[derive(Default)]
pub struct Busy(Option<Arc<dyn Fn() + Send + Sync>>);

impl Busy {
    pub fn none() -> Busy {
        Busy(None)
    }

    pub fn until_dropped(done: Arc<dyn Fn() + Send + Sync>) -> Busy {
        Busy(Some(done))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done();
        }
    }
}
