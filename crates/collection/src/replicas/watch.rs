//! When replicas are looked for: an hour after a crawl without end has begun and once a day from then on, and at the end
//! of a pass.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use model::{Clock, StoreError, Timestamp};
use store::{
    census::Census,
    collection::Collection,
    control::{Command, Outcome, apply_to},
    replicas::ReplicaChange,
};

use super::review;
use crate::control::in_parts;
use config::Hazards;

const DAY: Duration = Duration::from_secs(86_400);
/// Before the first look of a crawl: one that is begun anew every day looks all the same.
const FIRST: Duration = Duration::from_secs(3_600);

/// Looks once a day while a crawl runs, and hands what it finds to the crawl, which writes it down.
pub struct Watch {
    pub collection: Collection,
    pub hazards: Hazards,
    pub clock: Arc<dyn Clock>,
}

impl Watch {
    /// Until `stop` hangs up.
    pub fn run(self, stop: &Receiver<()>) {
        let mut wait = FIRST;
        while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(wait) {
            wait = DAY;
            if let Err(error) = self.look() {
                tracing::warn!(%error, "mirror sites could not be looked for");
            }
        }
    }

    fn look(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let change = look(&self.collection, &self.hazards, now)?;
        for command in in_parts(Command::Replicas { change }) {
            self.collection.request(&command, now)?;
        }
        Ok(())
    }
}

/// Looks, and writes down what was found: for whoever holds the collection's lock. The number of changes.
pub fn settle_findings(
    collection: &Collection,
    hazards: &Hazards,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let change = look(collection, hazards, now)?;
    let mut frontier = collection.frontier()?;
    let outcome = apply_to(&mut frontier, &Command::Replicas { change }, now)?;
    frontier.save_state()?;
    match outcome {
        Outcome::Mirrors { changed } => Ok(changed),
        _ => Ok(0),
    }
}

fn look(
    collection: &Collection,
    hazards: &Hazards,
    now: Timestamp,
) -> Result<ReplicaChange, StoreError> {
    let census = Census::open(collection)?;
    review(&census, hazards.mirrors, hazards.mirrors_recheck, now)
}
