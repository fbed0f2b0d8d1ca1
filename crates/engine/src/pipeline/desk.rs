//! The writer's view of a store: the Global Frontier, the requests of other processes, and the run's row.

use model::{CrawlUrl, Frontier, Page, Stop, StoreError, Timestamp};
use store::{
    control::{Outcome, Request, SpiderChange},
    frontier::{Called, Lifted, LiftedTraps, SqliteFrontier, Suspect, Wildcard},
    replicas::{ReplicaChange, ReplicaRow},
    runs::{RunId, RunState},
    spiders::SpiderRow,
};

use super::{course::Fingerprints, messages::BlockChange};

pub trait Desk: Frontier {
    /// What other processes ask of this crawl, oldest first.
    fn requests(&mut self, now: Timestamp) -> Result<Vec<Request>, StoreError>;

    fn request_done(
        &mut self,
        id: i64,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Changes the list of blocks.
    fn change_blocks(
        &mut self,
        change: &BlockChange,
        now: Timestamp,
    ) -> Result<Outcome, StoreError>;

    /// Has a page due since `due`; what became of it.
    fn visit_now(
        &mut self,
        url: &CrawlUrl,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<Outcome, StoreError>;

    /// See [`SqliteFrontier::lift_quarantine`].
    fn lift_quarantine(&mut self, what: &str, now: Timestamp) -> Result<u64, StoreError>;

    /// Domains that are to be asked for absurd names.
    fn suspects(&mut self, now: Timestamp) -> Result<Vec<Suspect>, StoreError>;

    fn probed(
        &mut self,
        domain: &str,
        wildcard: Option<bool>,
        now: Timestamp,
    ) -> Result<Option<Wildcard>, StoreError>;

    /// How many replicas are other than before.
    fn change_replicas(
        &mut self,
        change: &ReplicaChange,
        now: Timestamp,
    ) -> Result<u64, StoreError>;

    fn replicas(&mut self) -> Result<Vec<ReplicaRow>, StoreError>;

    /// Lifts the traps of a site, or one of them.
    fn lift_trap(
        &mut self,
        site: &str,
        pattern: Option<&str>,
        now: Timestamp,
    ) -> Result<Outcome, StoreError>;

    /// What was left out for these traps of a site is judged or read again, due since `due`.
    fn clear_traps(
        &mut self,
        site: &str,
        cleared: &[(String, Stop)],
        due: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    fn change_spider(
        &mut self,
        name: &str,
        change: &SpiderChange,
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

impl Desk for SqliteFrontier {
    fn requests(&mut self, now: Timestamp) -> Result<Vec<Request>, StoreError> {
        SqliteFrontier::requests(self, REQUESTS_MAX, now)
    }

    fn request_done(
        &mut self,
        id: i64,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqliteFrontier::request_done(self, id, outcome, now)
    }

    fn change_blocks(
        &mut self,
        change: &BlockChange,
        now: Timestamp,
    ) -> Result<Outcome, StoreError> {
        if change.remove {
            let Lifted { removed, pages } = self.unblock(&change.patterns, now)?;
            return Ok(Outcome::Blocks { added: 0, removed, pages });
        }
        let added = self.block(&change.patterns, &change.reason, now)?;
        Ok(Outcome::Blocks { added, removed: 0, pages: 0 })
    }

    fn visit_now(
        &mut self,
        url: &CrawlUrl,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<Outcome, StoreError> {
        Ok(match self.call_page(url, due, now)? {
            Called::Due => Outcome::Visit { url: url.as_str().to_owned() },
            Called::Unknown => Outcome::NotFound,
            Called::Excluded => Outcome::refused(format!("a rule keeps {url} out")),
            Called::Rests => Outcome::refused(format!("the site of {url} is a mirror")),
        })
    }

    fn lift_quarantine(&mut self, what: &str, now: Timestamp) -> Result<u64, StoreError> {
        SqliteFrontier::lift_quarantine(self, what, now)
    }

    fn suspects(&mut self, now: Timestamp) -> Result<Vec<Suspect>, StoreError> {
        SqliteFrontier::suspects(self, now)
    }

    fn probed(
        &mut self,
        domain: &str,
        wildcard: Option<bool>,
        now: Timestamp,
    ) -> Result<Option<Wildcard>, StoreError> {
        SqliteFrontier::probed(self, domain, wildcard, now)
    }

    fn change_replicas(
        &mut self,
        change: &ReplicaChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        SqliteFrontier::change_replicas(self, change, now)
    }

    fn replicas(&mut self) -> Result<Vec<ReplicaRow>, StoreError> {
        SqliteFrontier::replicas(self)
    }

    fn lift_trap(
        &mut self,
        site: &str,
        pattern: Option<&str>,
        now: Timestamp,
    ) -> Result<Outcome, StoreError> {
        let LiftedTraps { stops, pages } = self.lift_traps(site, pattern, now)?;
        Ok(Outcome::Traps { lifted: stops, pages })
    }

    fn clear_traps(
        &mut self,
        site: &str,
        cleared: &[(String, Stop)],
        due: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqliteFrontier::clear_traps(self, site, cleared, due, now)
    }

    fn change_spider(
        &mut self,
        name: &str,
        change: &SpiderChange,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let id = match change {
            SpiderChange::Add { settings } => {
                return self.add_spider(name, settings, now).map(drop);
            }
            _ => SqliteFrontier::spiders(self)?.into_iter().find(|row| row.name == name),
        };
        let Some(SpiderRow { id, .. }) = id else {
            return Err(StoreError::Refused { why: format!("there is no spider {name:?}") });
        };
        match change {
            SpiderChange::Add { .. } => Ok(()),
            SpiderChange::Edit { changes } => self.edit_spider(id, changes, now),
            SpiderChange::Pause { why } => self.pause_spider(id, Some(why), now),
            SpiderChange::Resume => self.pause_spider(id, None, now),
            SpiderChange::Remove => self.remove_spider(id, now),
        }
    }

    fn spiders(&mut self) -> Result<Vec<SpiderRow>, StoreError> {
        SqliteFrontier::spiders(self)
    }

    fn limits_are(
        &mut self,
        fingerprint: &Fingerprints,
        returns: &dyn Fn(&Page) -> bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.terms_changed(fingerprint.terms, now)?;
        self.borders_changed(fingerprint.borders, now)?;
        self.reach_changed(fingerprint.reach, now)?;
        self.types_changed(fingerprint.types, now)?;
        self.near_limit_changed(fingerprint.near, now)?;
        self.returning_are(&fingerprint.returning, returns, now).map(drop)
    }

    fn planner_state(&mut self) -> Result<Option<String>, StoreError> {
        SqliteFrontier::planner_state(self)
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
        SqliteFrontier::heartbeat(self, run, stats, now)
    }

    fn end_run(
        &mut self,
        run: RunId,
        (state, reason): (RunState, &str),
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        SqliteFrontier::end_run(self, run, state, reason, stats, now)
    }
}
