//! Runs: how a crawl went, or goes.

use std::{collections::BTreeMap, time::Duration};

use model::Timestamp;
use serde::{Deserialize, Serialize};
use store::runs::{Run, RunState};

/// A running crawl writes its figures twice a second. One that has written none for so long hangs, or its
/// machine does; a slow disk alone may take some seconds.
pub const SILENT: Duration = Duration::from_secs(30);

/// A run as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunStatus {
    pub state: RunState,
    /// Why it ended.
    pub reason: String,
    #[serde(serialize_with = "model::iso::time")]
    pub started: Timestamp,
    #[serde(serialize_with = "model::iso::option")]
    pub ended: Option<Timestamp>,
    /// When it last wrote its figures.
    #[serde(serialize_with = "model::iso::time")]
    pub heartbeat: Timestamp,
    /// It says that it is running, but has written nothing for [`SILENT`].
    pub silent: bool,
    pub seconds: f64,
    pub pages_per_second: f64,
    pub pid: u32,
    pub figures: RunFigures,
    /// Name of a stage to its share of the time, from 0 to 1.
    pub time: BTreeMap<&'static str, f64>,
}

impl RunStatus {
    pub fn of(run: Run, now: Timestamp) -> RunStatus {
        let written: WrittenFigures = serde_json::from_value(run.stats).unwrap_or_default();
        let is_running = run.state == RunState::Running;
        let last = if is_running { now } else { run.ended.unwrap_or(run.heartbeat) };
        let seconds = last.since(run.started).as_secs_f64();
        let fetched = written.figures.fetched as f64;
        RunStatus {
            state: run.state,
            reason: run.reason,
            started: run.started,
            ended: run.ended,
            heartbeat: run.heartbeat,
            silent: is_running && now.since(run.heartbeat) >= SILENT,
            seconds,
            pages_per_second: if seconds > 0.0 { fetched / seconds } else { 0.0 },
            pid: run.pid,
            time: written.time.shares().into_iter().collect(),
            figures: written.figures,
        }
    }
}

/// What a run has done so far: counted by the crawl, kept in the run's row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFigures {
    /// Pages that answered with content.
    pub fetched: u64,
    /// Of them, those whose content had changed or was new.
    pub versions: u64,
    pub unchanged: u64,
    pub redirected: u64,
    pub failed: u64,
    pub excluded: u64,
    /// Parts of pages (images, styles, scripts, fonts) that answered: in none of the counts above.
    pub requisites: u64,
    pub requisites_failed: u64,
    /// Sitemaps, feeds and the like that answered: no pages either.
    #[serde(alias = "notices")]
    pub site_feeds: u64,
    pub requests: u64,
    pub robots: u64,
    /// Bytes that came over the wire.
    pub bytes: u64,
    /// Failures and error statuses of pages and their parts, by class: as many as `failed` and
    /// `requisites_failed`.
    pub errors: BTreeMap<String, u64>,
    /// The same of what is neither: robots.txt, sitemaps, logins, requests lost with a connection.
    pub other_errors: BTreeMap<String, u64>,
    /// Documents that were not read for their media type, by that type.
    pub left_out: BTreeMap<String, u64>,
    /// The crawl was paused with `harvestman pause`.
    #[serde(rename = "paused", alias = "held")]
    pub held: bool,
}

/// As the crawl writes them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenFigures {
    #[serde(flatten)]
    figures: RunFigures,
    time: StageTimes,
}

/// Where the time went: sums over all sites and threads, so that only their proportions mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTimes {
    pub dns_ms: u64,
    pub pause_ms: u64,
    pub download_ms: u64,
    pub parse_us: u64,
    pub store_us: u64,
}

impl StageTimes {
    /// (name, share of the whole) in the order of a page's journey.
    pub fn shares(&self) -> [(&'static str, f64); 5] {
        let parts = [
            ("dns", self.dns_ms as f64),
            ("delay", self.pause_ms as f64),
            ("download", self.download_ms as f64),
            ("parse", self.parse_us as f64 / 1_000.0),
            ("store", self.store_us as f64 / 1_000.0),
        ];
        let sum: f64 = parts.iter().map(|(_, ms)| ms).sum();
        parts.map(|(name, ms)| (name, if sum > 0.0 { ms / sum } else { 0.0 }))
    }
}

#[cfg(test)]
mod tests {
    use store::runs::RunId;

    use super::*;

    fn run(state: RunState, heartbeat: i64) -> Run {
        Run {
            id: RunId(1),
            started: Timestamp(0),
            ended: None,
            state,
            reason: String::new(),
            pid: 7,
            heartbeat: Timestamp(heartbeat),
            stats: serde_json::json!({ "fetched": 20, "time": { "dns_ms": 1, "pause_ms": 3 } }),
        }
    }

    #[test]
    fn a_run_that_writes_no_figures_any_more_is_silent() {
        let now = Timestamp(40_000);
        assert!(RunStatus::of(run(RunState::Running, 9_000), now).silent);
        assert!(!RunStatus::of(run(RunState::Running, 39_000), now).silent);
        assert!(!RunStatus::of(run(RunState::Interrupted, 9_000), now).silent, "it is known dead");
    }

    #[test]
    fn speed_and_shares_come_from_what_the_crawl_wrote() {
        let status = RunStatus::of(run(RunState::Interrupted, 10_000), Timestamp(40_000));
        assert_eq!((status.seconds, status.pages_per_second), (10.0, 2.0));
        assert_eq!((status.time["dns"], status.time["delay"]), (0.25, 0.75));
    }
}
