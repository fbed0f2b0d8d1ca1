//! What changes a collection: typed commands, carried out in one way whether a crawl runs or not.
//!
//! Every command is checked first ([`check`]), by the settings of the collection. Where no crawl runs it is then
//! carried out here, under the lock that a crawl would hold; where one runs, it is left in the `control` table and
//! the crawl carries it out with the same function ([`store::control::apply_to`]), usually within a second.

mod check;
mod seeds;
mod sending;

use std::time::Duration;

use harvester::clock::RealClock;
use model::{Clock, StoreError};
use store::{collection::Collection, frontier::SqlFrontier};

pub use check::check_spider;
pub(crate) use check::{form as block_form, read_block};
pub use seeds::{SeedRules, spider_named};
pub(crate) use sending::{Sending, in_parts};
pub use store::control::{
    Command, Outcome, RefusedSeed, SeedLine, SpiderChange, SpiderState, apply_to,
};

use crate::Error;

/// A running crawl looks for commands every second.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks for its answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Commands that a crawl has left undone, carried out at a time.
const LEFT_MAX: usize = 100;

/// The way to change a collection.
#[derive(Clone, Debug)]
pub struct Control {
    collection: Collection,
}

impl Control {
    pub fn open(collection: &Collection) -> Control {
        Control { collection: collection.clone() }
    }

    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// A crawl runs now, and carries commands out.
    pub fn is_running(&self) -> bool {
        self.collection.is_crawled()
    }

    /// Checks a command and has it carried out. [`Outcome::Pending`]: by a crawl that has not answered yet.
    pub fn apply(&self, command: Command) -> Result<Outcome, Error> {
        let checked = check::check(&self.collection, command)?;
        let mut sending = Sending::new(self.clone());
        sending.send(checked.command)?;
        let (outcome, pending) = sending.finish()?;
        Ok(match outcome {
            _ if pending => Outcome::Pending,
            Some(outcome) => outcome.with_refused(checked.refused),
            None => Outcome::Done,
        })
    }

    /// Carries a command out here; `None` while a crawl runs.
    fn carry_out(&self, command: &Command) -> Result<Option<Outcome>, Error> {
        // Asking first is quick; the lock waits a little for others who only ask.
        if self.collection.is_crawled() {
            return Ok(None);
        }
        let Some((_lock, mut frontier)) = self.locked()? else { return Ok(None) };
        self.carry_out_left(&mut frontier)?;
        let outcome = apply_to(&mut frontier, command, RealClock::new().now())?;
        frontier.save_state()?;
        Ok(Some(outcome))
    }

    /// What was asked of a crawl that ended before it came to it goes before what is asked now.
    fn carry_out_left(&self, frontier: &mut SqlFrontier) -> Result<(), Error> {
        let clock = RealClock::new();
        loop {
            let left = frontier.requests(LEFT_MAX, clock.now())?;
            if left.is_empty() {
                frontier.save_state()?;
                return Ok(());
            }
            for request in left {
                let outcome = apply_to(frontier, &request.command, clock.now())?;
                frontier.request_done(request.id, &outcome, clock.now())?;
            }
        }
    }

    /// What became of a request, waiting for it a little. Where the crawl ends meanwhile, it is carried out here.
    fn answer(&self, id: i64) -> Result<Option<Outcome>, Error> {
        let clock = RealClock::new();
        let until = clock.now().plus(PATIENCE);
        loop {
            if let Some(outcome) = self.collection.result_of(id)? {
                return Ok(Some(outcome));
            }
            if !self.collection.is_crawled()
                && let Some((_lock, mut frontier)) = self.locked()?
            {
                self.carry_out_left(&mut frontier)?;
            } else if clock.now() >= until {
                return Ok(None);
            } else {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }

    fn locked(&self) -> Result<Option<(store::collection::CrawlLock, SqlFrontier)>, Error> {
        match self.collection.lock() {
            Ok(lock) => Ok(Some((lock, self.collection.frontier()?))),
            Err(StoreError::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn collection() -> (tempfile::TempDir, Collection) {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(&dir.path().join("harvest")).unwrap();
        (dir, collection)
    }

    fn block(pattern: &str, remove: bool) -> Command {
        let patterns = vec![pattern.to_owned()];
        Command::Block { patterns, reason: String::new(), remove }
    }

    #[test]
    fn what_a_crawl_left_undone_is_carried_out_before_what_is_asked_next() {
        let (_dir, collection) = collection();
        let now = RealClock::new().now();
        let left = collection.request(&block("a.example", false), now).unwrap();
        let stop = collection.request(&Command::Stop, now).unwrap();
        let control = Control::open(&collection);
        let outcome = control.apply(block("a.example", true)).unwrap();
        assert_eq!(outcome, Outcome::Blocks { added: 0, removed: 1, pages: 0 });
        let added = Outcome::Blocks { added: 1, removed: 0, pages: 0 };
        assert_eq!(collection.result_of(left).unwrap(), Some(added));
        assert_eq!(collection.result_of(stop).unwrap(), Some(Outcome::Ended));
    }

    #[test]
    fn a_command_for_a_crawl_that_ends_before_it_came_to_it_is_carried_out_all_the_same() {
        let (_dir, collection) = collection();
        let lock = collection.lock().unwrap();
        let control = Control::open(&collection);
        let asked = std::thread::spawn(move || {
            (control.apply(block("a.example", false)), control.apply(Command::Pause))
        });
        std::thread::sleep(Duration::from_millis(300));
        drop(lock);
        let (blocked, paused) = asked.join().unwrap();
        assert_eq!(blocked.unwrap(), Outcome::Blocks { added: 1, removed: 0, pages: 0 });
        assert!(matches!(paused, Err(Error::NotRunning { .. })), "{paused:?}");
    }

    #[test]
    fn what_is_wrong_with_a_command_is_found_before_anything_is_written() {
        let (_dir, collection) = collection();
        let control = Control::open(&collection);
        let spider = |name: &str, change| Command::Spider { name: name.to_owned(), change };
        let settings = [("crawl.dept".to_owned(), "3".to_owned())].into();
        for command in [
            block("*.example", false),
            spider("nobody", SpiderChange::Resume),
            spider("Bad Name", SpiderChange::Add { settings: Default::default() }),
            spider("news", SpiderChange::Add { settings }),
            spider("default", SpiderChange::Edit { changes: Default::default() }),
            Command::Seed { urls: vec!["no seed".into()], seeds: Vec::new(), spider: None },
            Command::VisitNow { url: "http://a.example/".into(), due: None },
            Command::LiftTrap { site: "a.example".into(), pattern: None },
            Command::MaxFetches { fetches: 3 },
        ] {
            let shown = format!("{command:?}");
            assert!(control.apply(command).is_err(), "{shown}");
        }
        let (urls, seeds) = (vec!["a.example".to_owned()], Vec::new());
        let outcome = control.apply(Command::Seed { urls, seeds, spider: None }).unwrap();
        assert_eq!(outcome, Outcome::seeds(1, 1, Vec::new()));
    }
}
