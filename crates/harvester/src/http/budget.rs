//! Memory for long bodies: one budget for all fetches, so that the limit on a single body says nothing about what all
//! of them take together.
//!
//! Every answer may hold [`limits::BODY_FREE_BYTES`] of its body, once as it came and once decoded. Before it takes more,
//! a fetch reserves all that its body may come to; while it waits for that it reads nothing, and the server is held
//! back by TCP. The reservation ends when the last reference to the body is gone: it lasts through the queue of the
//! gather threads, archiving and reading. Whoever has one needs no other to come to an end, so that nobody waits for
//! ever. A body that is larger than the whole budget takes all of it and is alone.
//!
//! A server that sends slowly keeps its reservation for as long as a fetch may last; meanwhile others with long
//! bodies may have to wait, those with short ones never.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

/// Reservations are counted by so many bytes.
const UNIT: u64 = 1024;
/// Nobody waits longer: the connection would not be there any more.
const WAIT_MAX: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct BodyBudget {
    left: Arc<Semaphore>,
    all: u32,
}

/// Part of the budget; clones are of the same part.
#[derive(Clone, Debug)]
pub struct Reservation(
    #[expect(dead_code, reason = "held until it is dropped")] Arc<OwnedSemaphorePermit>,
);

impl BodyBudget {
    pub fn new(bytes: u64) -> BodyBudget {
        let all = units(bytes);
        BodyBudget { left: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Waits for so many bytes, for at most as long as the fetch may take; `None` when there was no room in that time.
    pub async fn reserve(&self, bytes: u64, patience: Duration) -> Option<Reservation> {
        let units = units(bytes).min(self.all);
        let until = Instant::now() + patience.min(WAIT_MAX);
        let permit = timeout_at(until, self.left.clone().acquire_many_owned(units)).await.ok()?;
        // It is never closed.
        permit.ok().map(|permit| Reservation(Arc::new(permit)))
    }

    #[cfg(test)]
    pub fn is_unused(&self) -> bool {
        self.left.available_permits() == self.all as usize
    }
}

impl Reservation {
    /// The same bytes, which keep the reservation for as long as there is a reference to them.
    pub fn keep(&self, bytes: Bytes) -> Bytes {
        match bytes.is_empty() {
            true => bytes,
            false => Bytes::from_owner(Kept { bytes, _reservation: self.clone() }),
        }
    }
}

struct Kept {
    bytes: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    #[tokio::test]
    async fn what_is_reserved_is_free_again_when_the_last_reference_is_gone() {
        let budget = BodyBudget::new(10_240);
        let reserved = budget.reserve(8_000, NO_TIME).await.unwrap();
        assert!(budget.reserve(8_000, NO_TIME).await.is_none(), "it is taken");
        let body = reserved.keep(Bytes::from_static(b"body"));
        let part = body.slice(1..3);
        drop((reserved, body));
        assert!(!budget.is_unused(), "a part of it is in use");
        assert_eq!(part, "od");
        drop(part);
        assert!(budget.is_unused());
    }

    #[tokio::test]
    async fn what_is_larger_than_all_takes_all_and_is_alone() {
        let budget = BodyBudget::new(10_240);
        let whole = budget.reserve(u64::MAX, NO_TIME).await.unwrap();
        assert!(budget.reserve(1, NO_TIME).await.is_none());
        drop(whole);
        assert!(budget.reserve(1, NO_TIME).await.is_some());
    }
}
