//! From the loop's counters to the display: a few times a second, with the rate of the last seconds.

use std::{collections::VecDeque, time::Duration};

use tokio::sync::watch;

use crate::progress::{Display, Snapshot};
use config::Config;
use engine::pipeline::tally::{Progress, Tally};

/// The rate shown is that of the last seconds, not of the whole crawl.
const RATE_OVER: Duration = Duration::from_secs(10);

pub struct Watcher {
    display: Display,
    pages_limit: Option<u64>,
    time_limit: Option<Duration>,
    recent: VecDeque<(Duration, u64)>,
    /// That the crawl is stopping has been said.
    stopping: bool,
}

impl Watcher {
    pub fn new(display: Display, config: &Config) -> Watcher {
        Watcher {
            display,
            pages_limit: config.crawl.pages,
            time_limit: config.crawl.time,
            recent: VecDeque::new(),
            stopping: false,
        }
    }

    /// Shows every change until the crawl is over.
    pub async fn run(mut self, mut progress: watch::Receiver<Progress>) {
        while progress.changed().await.is_ok() {
            let snapshot = self.snapshot(&progress.borrow_and_update());
            if snapshot.stopping && !std::mem::replace(&mut self.stopping, true) {
                self.display
                    .say("stopping: finishing what is in flight (Ctrl-C again leaves at once)");
            }
            self.display.show(&snapshot);
        }
        let last = self.snapshot(&progress.borrow());
        self.display.finish(&last);
    }

    fn snapshot(&mut self, progress: &Progress) -> Snapshot {
        let (tally, counts) = (&progress.tally, &progress.counts);
        Snapshot {
            elapsed: progress.elapsed,
            pages_fetched: if self.pages_limit.is_some() {
                counts.pages_fetched
            } else {
                tally.fetched
            },
            pages_limit: self.pages_limit,
            time_limit: self.time_limit,
            rate: self.rate(progress.elapsed, tally.fetched),
            known: counts.pages_known,
            waiting: counts.pages_waiting,
            sites_in_hand: progress.sites_in_hand as u64,
            in_flight: progress.in_flight as u64,
            errors: errors(tally),
            refused: counts.refused,
            bytes: tally.bytes,
            paused: progress.paused.clone(),
            budget: progress.budget,
            stopping: progress.stopping,
            last: tally.last.as_ref().map(|url| url.as_str().to_owned()),
        }
    }

    fn rate(&mut self, elapsed: Duration, fetched: u64) -> f64 {
        self.recent.push_back((elapsed, fetched));
        while self.recent.len() > 2 && elapsed.saturating_sub(self.recent[0].0) > RATE_OVER {
            self.recent.pop_front();
        }
        let (since, before) = self.recent[0];
        let seconds = elapsed.saturating_sub(since).as_secs_f64();
        if seconds > 0.0 { fetched.saturating_sub(before) as f64 / seconds } else { 0.0 }
    }
}

/// Of pages and of everything else, by class.
fn errors(tally: &Tally) -> Vec<(String, u64)> {
    let mut all = tally.errors.clone();
    for (class, count) in &tally.other_errors {
        *all.entry(class.clone()).or_default() += count;
    }
    all.into_iter().collect()
}
