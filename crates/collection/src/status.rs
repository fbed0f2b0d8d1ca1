//! What a collection holds, how the last run went, and what it waits for.

use std::collections::BTreeMap;

use model::{Counts, StoreError, Timestamp};
use serde::Serialize;
use store::{
    census::{Census, Event, SORTED_MAX, SiteFilter, SiteRow, SiteSort},
    collection::Collection,
    frontier::BatchRow,
    runs::{Run, RunState, STALLED},
    spiders::SpiderRow,
};

use crate::{
    Error,
    planner::{BudgetUse, PlannerSnapshot},
    run::RunStatus,
};

const SITES_SHOWN: u32 = 10;
const EVENTS_LOOKED_AT: u32 = 1_000;
/// Seeds that are looked at one by one: some milliseconds, and less than a second where nothing is cached.
const SEEDS_LOOKED_AT: u32 = 2_000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Its folder.
    pub collection: String,
    /// Of the last run; `new`: there was none.
    pub state: &'static str,
    /// The running crawl was paused with `harvestman pause`.
    pub paused: bool,
    /// Why the last run ended.
    pub reason: String,
    pub run: Option<RunStatus>,
    pub pages: PagesStatus,
    pub sites: SitesStatus,
    pub spiders: Vec<SpiderStatus>,
    pub seeds: SeedsStatus,
    pub visits: u64,
    pub versions: u64,
    /// Versions whose content is no longer kept.
    pub versions_thinned: u64,
    /// Over the wire.
    pub bytes: u64,
    #[serde(serialize_with = "model::iso::option")]
    pub next_due: Option<Timestamp>,
    /// Visits wait for the budget: when the next can be made.
    #[serde(serialize_with = "model::iso::option")]
    pub waits_for_budget: Option<Timestamp>,
    pub budget: Vec<BudgetStatus>,
    /// Reason to number of URLs.
    pub refused: BTreeMap<String, u64>,
    pub batches: BatchesStatus,
    /// Of the last run, newest first.
    pub stalls: Vec<Stall>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PagesStatus {
    /// Admitted: without candidates and excluded ones.
    pub known: u64,
    pub fetched: u64,
    /// Failing or gone.
    pub failed: u64,
    /// URLs that were refused, which are not among the known.
    pub refused: u64,
    pub redirected: u64,
    pub gone: u64,
    /// For a first visit.
    pub waiting: u64,
    pub excluded: u64,
    /// Seeds and links that were not judged yet.
    pub candidates: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SitesStatus {
    pub known: u64,
    /// Did not answer when they were last asked.
    pub down: u64,
    /// Those with most pages; none where the sites are too many to sort.
    pub largest: Vec<SiteRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpiderStatus {
    pub name: String,
    pub paused: bool,
    /// Why it is paused.
    pub why: String,
    pub known: u64,
    pub waiting: u64,
    pub fetched: u64,
    pub failed: u64,
    pub requisites: u64,
    pub visits: u64,
    pub bytes: u64,
}

/// `None`: they are too many to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeedsStatus {
    pub known: Option<u64>,
    /// Never visited.
    pub waiting: Option<u64>,
}

/// What a budget is, and what was spent of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetStatus {
    pub visits_a_day: f64,
    #[serde(serialize_with = "model::iso::time")]
    pub day: Timestamp,
    pub revisits: u64,
    pub first_visits: u64,
    pub bytes: u64,
    /// What a visit has to be worth to be made.
    pub price: f64,
    /// Visits were held to it when `run` last ran.
    pub held: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchesStatus {
    pub out: u64,
    pub sites_out: u64,
    pub rows: Vec<BatchOut>,
}

/// A batch that is out: nobody visits its sites here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchOut {
    pub id: i64,
    pub sites_out: u64,
    #[serde(serialize_with = "model::iso::time")]
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stall {
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
    pub text: String,
}

pub fn status(collection: &Collection, census: &Census, now: Timestamp) -> Result<Status, Error> {
    let last = census.last_run()?;
    let counts = census.counts()?;
    let plans = plans(census)?.unwrap_or_default();
    let stalls = stalls(census, last.as_ref())?;
    let run = last.map(|run| RunStatus::of(run, now));
    let runs = run.as_ref().is_some_and(|run| run.state == RunState::Running);
    Ok(Status {
        collection: collection.dir().display().to_string(),
        state: run.as_ref().map_or("new", |run| run.state.word()),
        paused: runs && run.as_ref().is_some_and(|run| run.figures.held),
        reason: run.as_ref().map(|run| run.reason.clone()).unwrap_or_default(),
        run,
        pages: PagesStatus::of(&counts),
        sites: sites(census, counts.sites_known)?,
        spiders: census.spiders()?.into_iter().map(SpiderStatus::of).collect(),
        seeds: seeds(census)?,
        visits: counts.visits,
        versions: counts.versions,
        versions_thinned: census.versions_thinned()?,
        bytes: counts.bytes,
        next_due: census.next_due(now)?,
        waits_for_budget: plans.waits.filter(|_| runs),
        budget: plans.spending.iter().map(BudgetStatus::of).collect(),
        refused: census.refusals()?.into_iter().collect(),
        batches: batches(&census.batches()?, now),
        stalls,
    })
}

/// What the last crawl, or the one that runs, has written down of its plans.
pub(crate) fn plans(census: &Census) -> Result<Option<PlannerSnapshot>, StoreError> {
    Ok(census.planner_state()?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// What made no progress in the last run.
fn stalls(census: &Census, last: Option<&Run>) -> Result<Vec<Stall>, StoreError> {
    let since = last.map_or(Timestamp::ZERO, |run| run.started);
    let events = census.events(EVENTS_LOOKED_AT)?;
    let is_stall = |event: &Event| event.kind == STALLED && event.at >= since;
    let stalls = events.into_iter().filter(is_stall);
    Ok(stalls.map(|event| Stall { at: event.at, text: event.text }).collect())
}

fn sites(census: &Census, known: u64) -> Result<SitesStatus, StoreError> {
    let mut largest = Vec::new();
    if known <= SORTED_MAX {
        let order = (SiteSort::Known, false);
        for place in census.site_places(&SiteFilter::default(), order, None, SITES_SHOWN)? {
            largest.extend(census.site_row(place.id)?);
        }
    }
    Ok(SitesStatus { known, down: census.sites_down()?, largest })
}

fn seeds(census: &Census) -> Result<SeedsStatus, StoreError> {
    let (known, waiting) = census.seeds_waiting(SEEDS_LOOKED_AT + 1)?;
    let all = known <= u64::from(SEEDS_LOOKED_AT);
    Ok(SeedsStatus { known: all.then_some(known), waiting: all.then_some(waiting) })
}

fn batches(rows: &[BatchRow], now: Timestamp) -> BatchesStatus {
    let out = rows.iter().filter(|batch| batch.sites_out > 0 && batch.until > now);
    let rows: Vec<BatchOut> = out.map(BatchOut::of).collect();
    let sites_out = rows.iter().map(|batch| batch.sites_out).sum();
    BatchesStatus { out: rows.len() as u64, sites_out, rows }
}

impl BatchOut {
    pub fn of(row: &BatchRow) -> BatchOut {
        BatchOut { id: row.id, sites_out: row.sites_out, until: row.until }
    }
}

impl PagesStatus {
    fn of(counts: &Counts) -> PagesStatus {
        PagesStatus {
            known: counts.pages_known,
            fetched: counts.pages_fetched,
            failed: counts.pages_failed + counts.pages_gone,
            refused: counts.refused,
            redirected: counts.pages_redirected,
            gone: counts.pages_gone,
            waiting: counts.pages_waiting,
            excluded: counts.pages_excluded,
            candidates: counts.candidates,
        }
    }
}

impl SpiderStatus {
    fn of(row: SpiderRow) -> SpiderStatus {
        SpiderStatus {
            name: row.name,
            paused: row.paused,
            why: row.why,
            known: row.counts.known,
            waiting: row.counts.waiting,
            fetched: row.counts.fetched,
            failed: row.counts.failed,
            requisites: row.counts.requisites,
            visits: row.visits,
            bytes: row.spent.bytes,
        }
    }
}

impl BudgetStatus {
    pub(crate) fn of(spending: &BudgetUse) -> BudgetStatus {
        BudgetStatus {
            visits_a_day: spending.rate,
            day: spending.day,
            revisits: spending.revisits,
            first_visits: spending.firsts,
            bytes: spending.bytes,
            price: spending.price,
            held: spending.held,
        }
    }
}
