//! `status`: what the collection holds, how the last run went, and where its time went. Works while a
//! crawl runs. The JSON names are a promise to scripts.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, Counts, Timestamp};
use serde_json::{Value, json};
use store::{
    census::{Census, Event, SiteEntry},
    collection::Collection,
    frontier::BatchRow,
    runs::{Run, RunState},
    spiders::SpiderRow,
};

use super::{
    Context, outlook,
    outlook::{budget_json, budget_text},
};
use crate::terminal::print;
use collection::planner::PlannerSnapshot;
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    times,
};
use engine::pipeline::{tally::Tally, watchdog::STALLED};
use model::printable;

const SITES_SHOWN: u32 = 10;
const EVENTS_LOOKED_AT: u32 = 1_000;

pub fn run(context: &Context) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let now = RealClock::new().now();
    let report = Report {
        counts: census.counts()?,
        run: census.last_run()?,
        sites: census.sites(SITES_SHOWN)?,
        spiders: census.spiders()?,
        refusals: census.refusals()?,
        next_due: census.next_pages(1, now)?.first().and_then(|page| page.due),
        plans: outlook::saved(&census)?.unwrap_or_default(),
        versions_thinned: census.versions_thinned()?,
        folder: collection.dir().display().to_string(),
        batches: census.batches()?,
        stalls: stalls(&census)?,
        down: census.sites_down()?,
        now,
    };
    print(&if context.json { format!("{:#}\n", report.json()) } else { report.text() })?;
    Ok(Exit::Done)
}

/// What made no progress in the last run.
fn stalls(census: &Census) -> Result<Vec<Event>, Failure> {
    let since = census.last_run()?.map_or(Timestamp::ZERO, |run| run.started);
    let events = census.events(EVENTS_LOOKED_AT)?;
    let is_stall = |event: &Event| event.kind == STALLED && event.at >= since;
    Ok(events.into_iter().filter(is_stall).collect())
}

struct Report {
    counts: Counts,
    run: Option<Run>,
    sites: Vec<SiteEntry>,
    spiders: Vec<SpiderRow>,
    refusals: Vec<(String, u64)>,
    next_due: Option<Timestamp>,
    plans: PlannerSnapshot,
    versions_thinned: u64,
    folder: String,
    batches: Vec<BatchRow>,
    /// Of the last run, newest first.
    stalls: Vec<Event>,
    down: u64,
    now: Timestamp,
}

impl Report {
    fn json(&self) -> Value {
        let counts = &self.counts;
        let tally = self.tally();
        let shares: serde_json::Map<String, Value> = tally
            .time
            .shares()
            .into_iter()
            .map(|(name, share)| (name.to_owned(), json!(share)))
            .collect();
        json!({
            "collection": self.folder,
            "state": self.run.as_ref().map_or("new", |run| run.state.word()),
            "paused": self.is_held(),
            "reason": self.run.as_ref().map_or("", |run| run.reason.as_str()),
            "pages": {
                "known": counts.pages_known, "fetched": counts.pages_fetched,
                "failed": counts.pages_failed + counts.pages_gone, "refused": counts.refused,
                "redirected": counts.pages_redirected, "gone": counts.pages_gone,
                "waiting": counts.pages_waiting, "excluded": counts.pages_excluded,
                "candidates": counts.candidates,
            },
            "sites": { "known": counts.sites_known, "down": self.down },
            "spiders": self.spiders.iter().map(super::spider::as_json).collect::<Vec<Value>>(),
            "visits": counts.visits,
            "versions": counts.versions,
            "bytes": counts.bytes,
            "next_due": self.next_due.map(times::iso),
            "versions_thinned": self.versions_thinned,
            "waits_for_budget": self.waits_for_budget().map(times::iso),
            "budget": self.plans.spending.iter().map(budget_json).collect::<Vec<Value>>(),
            "refused": self.refusals.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "batches": {
                "out": self.batches_out().count(), "sites_out": self.sites_out(),
                "until": self.batches_out().map(|batch| json!({
                    "id": batch.id, "sites_out": batch.sites_out, "until": times::iso(batch.until),
                })).collect::<Vec<Value>>(),
            },
            "stalls": self.stalls.iter().map(|stall| json!({
                "at": times::iso(stall.at), "text": stall.text,
            })).collect::<Vec<Value>>(),
            "run": self.run.as_ref().map(|run| json!({
                "started": times::iso(run.started), "ended": run.ended.map(times::iso),
                "seconds": self.seconds(run), "pages_per_second": self.rate(run), "pid": run.pid,
                "figures": run.stats, "time": shares,
            })),
        })
    }

    fn text(&self) -> String {
        let counts = &self.counts;
        let mut text = format!("collection  {}\n", printable(&self.folder));
        self.write_run(&mut text);
        let _ = writeln!(
            text,
            "pages       {} known: {} fetched, {} waiting for a first visit, {}, {} failing, {} gone",
            number(counts.pages_known),
            number(counts.pages_fetched),
            number(counts.pages_waiting),
            some(counts.pages_redirected, "redirect"),
            number(counts.pages_failed),
            number(counts.pages_gone),
        );
        if counts.candidates > 0 {
            let found = some(counts.candidates, "seed or link");
            let found = found.replace("seed or links", "seeds and links");
            let _ = writeln!(text, "found       {found} not looked at yet");
        }
        let _ = writeln!(
            text,
            "history     {}, {}{}, {} over the wire",
            some(counts.visits, "visit"),
            some(counts.versions, "version"),
            match self.versions_thinned {
                0 => String::new(),
                n => format!(" ({} of them thinned: seen, but archived no more)", number(n)),
            },
            bytes(counts.bytes)
        );
        if let Some(last) = self.stalls.first() {
            let count = some(self.stalls.len() as u64, "time");
            let (when, what) = (times::ago(last.at, self.now), printable(&last.text));
            let _ = writeln!(text, "stalled     {count}, last {when}: {what}");
        }
        if self.down > 0 {
            let down = some(self.down, "site");
            let _ = writeln!(text, "down        {down} without an answer: asked ever less often");
        }
        if let Some(due) = self.next_due {
            let _ = writeln!(text, "next due    {}", times::until(due, self.now));
        }
        if self.sites_out() > 0 {
            let (batches, sites) = (self.batches_out().count() as u64, self.sites_out());
            let (batches, sites) = (number(batches), some(sites, "site"));
            let _ = writeln!(
                text,
                "batches     {batches} out, with {sites} that nobody visits here meanwhile:"
            );
            for batch in self.batches_out() {
                let (id, sites) = (batch.id, some(batch.sites_out, "site"));
                let end = times::until(batch.until, self.now);
                let _ = writeln!(text, "            batch {id}: {sites} (the leases end {end})");
            }
        }
        for spending in self.plans.spending.iter().filter(|spending| spending.held) {
            let _ = writeln!(text, "budget      {}", budget_text(spending));
        }
        if let Some(at) = self.waits_for_budget() {
            // As the crawl last wrote it down: what is past is being made, or is put off again.
            let when = match at <= self.now {
                true => "is about to be made".to_owned(),
                false => format!("can be made {}", times::until(at, self.now)),
            };
            let _ = writeln!(
                text,
                "waiting     visits wait for the budget (revisit.*): the next {when}"
            );
        }
        self.write_spiders(&mut text);
        self.write_refusals(&mut text);
        self.write_sites(&mut text);
        text
    }

    /// Of the crawl that runs: nothing is under way because nothing can be paid for.
    fn waits_for_budget(&self) -> Option<Timestamp> {
        let runs = self.run.as_ref().is_some_and(|run| run.state == RunState::Running);
        self.plans.waits.filter(|_| runs)
    }

    /// The running crawl was paused with `harvestman pause`.
    fn is_held(&self) -> bool {
        let runs = self.run.as_ref().is_some_and(|run| run.state == RunState::Running);
        runs && self.tally().held
    }

    fn batches_out(&self) -> impl Iterator<Item = &BatchRow> {
        self.batches.iter().filter(|batch| batch.sites_out > 0 && batch.until > self.now)
    }

    fn sites_out(&self) -> u64 {
        self.batches_out().map(|batch| batch.sites_out).sum()
    }

    fn write_run(&self, text: &mut String) {
        let Some(run) = &self.run else {
            text.push_str("state       new: nothing crawled yet\n");
            return;
        };
        let reason = match run.reason.is_empty() {
            true if self.is_held() => " (paused; to continue: harvestman resume)".to_owned(),
            true => String::new(),
            false => format!(" ({})", printable(&run.reason)),
        };
        let when = match run.ended {
            Some(ended) => format!("ended {}", times::ago(ended, self.now)),
            None => format!("started {}", times::ago(run.started, self.now)),
        };
        let _ = writeln!(text, "state       {}{reason}, {when}", run.state.word());
        let tally = self.tally();
        let _ = writeln!(
            text,
            "last run    {}, {:.1}/s, {}, {} failed",
            some(tally.fetched, "page"),
            self.rate(run),
            some(tally.requests, "request"),
            number(tally.failed)
        );
        if tally.requisites + tally.requisites_failed > 0 {
            let (fetched, failed) =
                (some(tally.requisites, "part"), number(tally.requisites_failed));
            let _ = writeln!(text, "            {fetched} of pages, {failed} failed");
        }
        let shares =
            tally.time.shares().map(|(name, share)| format!("{name} {:.1} %", share * 100.0));
        let _ = writeln!(text, "time        {}", shares.join(", "));
    }

    /// A single one that crawls needs no words.
    fn write_spiders(&self, text: &mut String) {
        if self.spiders.len() == 1 && !self.spiders.iter().any(|spider| spider.paused) {
            return;
        }
        let _ = writeln!(text, "spiders     {}", number(self.spiders.len() as u64));
        for spider in &self.spiders {
            let why = match (spider.paused, spider.why.is_empty()) {
                (false, _) => String::new(),
                (true, true) => "  paused".to_owned(),
                (true, false) => format!("  paused: {}", printable(&spider.why)),
            };
            let _ = writeln!(
                text,
                "  {:<40} {:>8} known {:>8} fetched {:>6} failed{why}",
                spider.name,
                number(spider.counts.known),
                number(spider.counts.fetched),
                number(spider.counts.failed),
            );
        }
    }

    fn write_refusals(&self, text: &mut String) {
        if self.refusals.is_empty() {
            return;
        }
        let parts: Vec<String> =
            self.refusals.iter().map(|(reason, n)| format!("{reason} {}", number(*n))).collect();
        let _ =
            writeln!(text, "refused     {} ({})", number(self.counts.refused), parts.join(", "));
    }

    fn write_sites(&self, text: &mut String) {
        let _ = writeln!(text, "sites       {} known", number(self.counts.sites_known));
        for site in &self.sites {
            let counters = &site.counters;
            let _ = writeln!(
                text,
                "  {:<40} {:>8} known {:>8} fetched {:>6} failed{}",
                printable(&site.site),
                number(counters.known),
                number(counters.fetched),
                number(counters.failed),
                if site.in_hand { "  active" } else { "" },
            );
        }
    }

    fn tally(&self) -> Tally {
        let stats = self.run.as_ref().map(|run| run.stats.clone()).unwrap_or_default();
        serde_json::from_value(stats).unwrap_or_default()
    }

    fn seconds(&self, run: &Run) -> f64 {
        let last = match run.state {
            RunState::Running => self.now,
            _ => run.ended.unwrap_or(run.heartbeat),
        };
        last.since(run.started).as_secs_f64()
    }

    fn rate(&self, run: &Run) -> f64 {
        let seconds = self.seconds(run);
        if seconds > 0.0 { self.tally().fetched as f64 / seconds } else { 0.0 }
    }
}
