//! The writer's view of a store: the Global Frontier, the requests of other processes, and the run's row.

use model::{Frontier, Page, Stop, StoreError, Timestamp};
use store::{
    control::{self, Command, Outcome, Request},
    frontier::{SqlFrontier, Suspect, Wildcard},
    replicas::ReplicaRow,
    runs::{RunId, RunState},
    spiders::SpiderRow,
};

use super::course::Fingerprints;

pub trait Desk: Frontier {
    /// An error when the database was deleted or replaced since it was opened.
    fn in_place(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// What other processes ask of this crawl, oldest first.
    fn requests(&mut self, now: Timestamp) -> Result<Vec<Request>, StoreError>;

    fn request_done(
        &mut self,
        id: i64,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Writes down what a command asks for: see [`control::apply_to`].
    fn apply(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, StoreError>;

    /// Domains that are to be asked for absurd names.
    fn suspects(&mut self, now: Timestamp) -> Result<Vec<Suspect>, StoreError>;

    fn probed(
        &mut self,
        domain: &str,
        wildcard: Option<bool>,
        now: Timestamp,
    ) -> Result<Option<Wildcard>, StoreError>;

    fn replicas(&mut self) -> Result<Vec<ReplicaRow>, StoreError>;

    /// What was left out for these traps of a site is judged or read again, due since `due`.
    fn clear_traps(
        &mut self,
        site: &str,
        cleared: &[(String, Stop)],
        due: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    fn spiders(&mut self) -> Result<Vec<SpiderRow>, StoreError>;

    /// What limits and rules kept back is looked at again, as far as these numbers are others than the last.
    /// `returns` says of a page whether it is to come back by itself.
    fn limits_are(
        &mut self,
        fingerprint: &Fingerprints,
        returns: &dyn Fn(&Page) -> bool,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Brings `state.jsonl` up to date: not at every call, but in any case at the end, when there is no moment.
    fn save_state(&mut self, now: Option<Timestamp>) -> Result<(), StoreError>;

    /// What the last crawl left of its plans, and what this one leaves.
    fn planner_state(&mut self) -> Result<Option<String>, StoreError>;

    fn save_planner(&mut self, state: &str, now: Timestamp) -> Result<(), StoreError>;

    fn heartbeat(
        &mut self,
        run: RunId,
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The run is over: why, in a word and in a sentence.
    fn end_run(
        &mut self,
        run: RunId,
        end: (RunState, &str),
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError>;
}

/// Requests taken up at a time: the rest waits a second.
const REQUESTS_MAX: usize = 100;

impl Desk for SqlFrontier {
    fn in_place(&mut self) -> Result<(), StoreError> {
        SqlFrontier::in_place(self)
    }

    fn requests(&mut self, now: Timestamp) -> Result<Vec<Request>, StoreError> {
        SqlFrontier::requests(self, REQUESTS_MAX, now)
    }

    fn request_done(
        &mut self,
        id: i64,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqlFrontier::request_done(self, id, outcome, now)
    }

    fn apply(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, StoreError> {
        control::apply_to(self, command, now)
    }

    fn save_state(&mut self, now: Option<Timestamp>) -> Result<(), StoreError> {
        match now {
            Some(now) => self.save_state_when_due(now),
            None => SqlFrontier::save_state(self),
        }
    }

    fn suspects(&mut self, now: Timestamp) -> Result<Vec<Suspect>, StoreError> {
        SqlFrontier::suspects(self, now)
    }

    fn probed(
        &mut self,
        domain: &str,
        wildcard: Option<bool>,
        now: Timestamp,
    ) -> Result<Option<Wildcard>, StoreError> {
        SqlFrontier::probed(self, domain, wildcard, now)
    }

    fn replicas(&mut self) -> Result<Vec<ReplicaRow>, StoreError> {
        SqlFrontier::replicas(self)
    }

    fn clear_traps(
        &mut self,
        site: &str,
        cleared: &[(String, Stop)],
        due: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqlFrontier::clear_traps(self, site, cleared, due, now)
    }

    fn spiders(&mut self) -> Result<Vec<SpiderRow>, StoreError> {
        SqlFrontier::spiders(self)
    }

    fn limits_are(
        &mut self,
        fingerprint: &Fingerprints,
        returns: &dyn Fn(&Page) -> bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.terms_changed(fingerprint.terms, now)?;
        self.borders_changed(fingerprint.borders, now)?;
        self.reach_changed(fingerprint.reach.all, fingerprint.reach.kept, now)?;
        self.types_changed(fingerprint.types, now)?;
        self.near_limit_changed(fingerprint.near, now)?;
        self.returning_are(&fingerprint.returning, returns, now).map(drop)
    }

    fn planner_state(&mut self) -> Result<Option<String>, StoreError> {
        SqlFrontier::planner_state(self)
    }

    fn save_planner(&mut self, state: &str, now: Timestamp) -> Result<(), StoreError> {
        self.save_planner_state(state, now)
    }

    fn heartbeat(
        &mut self,
        run: RunId,
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqlFrontier::heartbeat(self, run, stats, now)
    }

    fn end_run(
        &mut self,
        run: RunId,
        (state, reason): (RunState, &str),
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqlFrontier::end_run(self, run, state, reason, stats, now)
    }
}
