//! The clock of a visit that was made elsewhere: it stands still until it is set to the next one.

use std::sync::atomic::{AtomicI64, Ordering};

use model::{BoxFuture, Busy, Clock, Timestamp};

/// What is settled with it is settled as at the moment of the visit, so that what is learned of a page does not
/// depend on how long the batch was on its way home.
#[derive(Debug)]
pub struct Moment(AtomicI64);

impl Moment {
    pub fn at(now: Timestamp) -> Moment {
        Moment(AtomicI64::new(now.0))
    }

    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for Moment {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    /// Nobody waits in an import.
    fn sleep_until(&self, _: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn busy(&self) -> Busy {
        Busy::none()
    }
}
