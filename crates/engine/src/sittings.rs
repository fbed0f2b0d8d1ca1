//! The sittings of a `run` that removes old versions once a day.
//!
//! Thinning writes volumes anew: records move, and payloads go. Sites in hand and the memory of payloads know records
//! by their place and date, and a volume is being written, so nothing may be under way meanwhile. So a sitting ends
//! as a crawl does when its time is over ([`Ended::Rest`]), everything settled and sealed; the next one begins as
//! `run` does, which thins; and a pause is no longer than that takes. To the user it is one run: its time, its
//! figures and its last words.
//!
//! A sitting also ends when the wall clock was set or the machine slept, of `crawl` too: everything is put down by the
//! old time and taken up by the new (`harvester::clock`).
//!
//! [`Ended::Rest`]: crate::pipeline::harvest::Ended::Rest

use std::time::Duration;

use model::Timestamp;
use store::{collection::Collection, thin};

use crate::pipeline::tally::Tally;
use config::{Config, failure::Failure};

/// Thinning may take long, and must not be all that a run does: so much crawling lies between two.
const LEAST: Duration = Duration::from_secs(86_400);

pub struct Sittings {
    begun: Timestamp,
    /// The same as the clock had it then, whatever it was set to since.
    first: Option<Timestamp>,
    /// The user's limit on time, for all sittings together.
    deadline: Option<Timestamp>,
    thin_at: Option<Timestamp>,
    /// What the sittings before this one have counted.
    before: Option<Tally>,
    /// Fetches at once, where the user has set them for the rest of the run.
    pub fetches_asked: Option<u64>,
}

impl Sittings {
    pub fn new(time: Option<Duration>, now: Timestamp) -> Sittings {
        let deadline = time.map(|time| now.plus(time));
        Sittings {
            begun: now,
            first: None,
            deadline,
            thin_at: None,
            before: None,
            fetches_asked: None,
        }
    }

    /// This is not the first.
    pub fn is_resumed(&self) -> bool {
        self.before.is_some()
    }

    /// A collection was opened, and thinned if that was due: when that is to be done again, if ever.
    pub fn opened(
        &mut self,
        config: &Config,
        collection: &Collection,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let has_rule = config.store.keep.is_some() || config.store.versions_bytes_max.is_some();
        let next = has_rule.then(|| thin::next(collection, now)).transpose()?;
        let least = if self.is_resumed() { now.plus(LEAST) } else { now };
        self.thin_at = next.map(|at| at.max(least));
        Ok(())
    }

    /// When the first one began.
    pub fn begun(&self) -> Timestamp {
        self.begun
    }

    /// When the pass began, as its first sitting saw it: what was due then belongs to the pass. Asked first when
    /// everything that `--fresh` makes due is due.
    pub fn pass_began(&mut self, now: Timestamp) -> Timestamp {
        *self.first.get_or_insert(now)
    }

    /// The clock shows another time: the user's limit on time is on time that passed awake.
    pub fn clock_moved(&mut self, by_ms: i64) {
        self.begun.0 = self.begun.0.saturating_add(by_ms);
        if let Some(deadline) = &mut self.deadline {
            deadline.0 = deadline.0.saturating_add(by_ms);
        }
    }

    /// When the run is over.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// When this sitting has to end for thinning.
    pub fn thin_at(&self) -> Option<Timestamp> {
        self.thin_at
    }

    /// This sitting is over, and another follows.
    pub fn add(&mut self, tally: Tally) {
        self.before = Some(self.all(tally));
    }

    /// What all sittings have counted, with the last one.
    pub fn all(&self, mut last: Tally) -> Tally {
        if let Some(before) = &self.before {
            last.add(before);
        }
        last
    }

    pub fn elapsed(&self, now: Timestamp) -> Duration {
        now.since(self.begun)
    }
}

#[cfg(test)]
mod tests {
    use collection::run::RunFigures;

    use super::*;

    #[test]
    fn a_day_of_crawling_lies_between_two_pauses_and_the_users_time_is_for_all() {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(&dir.path().join("harvest")).unwrap();
        let mut config = Config::defaults();
        let mut made = Sittings::new(Some(Duration::from_secs(10)), Timestamp(1_000));
        made.opened(&config, &collection, Timestamp(2_000)).unwrap();
        assert_eq!((made.thin_at(), made.deadline()), (None, Some(Timestamp(11_000))));
        config.store.keep = Some("all 30d".to_owned());
        thin::put_off(&collection, Timestamp(2_000)).unwrap();
        made.opened(&config, &collection, Timestamp(5_000)).unwrap();
        assert_eq!(made.thin_at(), Some(Timestamp(2_000).plus(LEAST)));
        made.add(Tally::default());
        made.opened(&config, &collection, Timestamp(5_000)).unwrap();
        assert_eq!(made.thin_at(), Some(Timestamp(5_000).plus(LEAST)));
        assert_eq!(made.deadline(), Some(Timestamp(11_000)));
        assert_eq!(made.elapsed(Timestamp(8_000)), Duration::from_secs(7));
    }

    #[test]
    fn the_users_time_is_as_long_whatever_the_clock_is_set_to() {
        let mut made = Sittings::new(Some(Duration::from_secs(10)), Timestamp(1_000));
        made.clock_moved(94_608_000_000);
        assert_eq!(made.elapsed(Timestamp(94_608_003_000)), Duration::from_secs(2));
        assert_eq!(made.deadline(), Some(Timestamp(94_608_011_000)));
        assert_eq!(made.pass_began(Timestamp(1_500)), Timestamp(1_500));
        assert_eq!(made.pass_began(Timestamp(9_999)), Timestamp(1_500));
    }

    #[test]
    fn the_figures_of_all_sittings_add_up() {
        let mut made = Sittings::new(None, Timestamp(0));
        let of = |fetched| {
            let figures = RunFigures { fetched, ..RunFigures::default() };
            let mut tally = Tally { figures, ..Tally::default() };
            tally.error("timeout");
            tally
        };
        made.add(of(3));
        made.add(of(4));
        let all = made.all(of(5));
        assert_eq!((all.fetched, all.errors["timeout"]), (12, 3));
        assert!(made.is_resumed());
    }
}
