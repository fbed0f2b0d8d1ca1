//! The watchdog: a stage that makes no progress is told of, with what it was doing, and begun anew.
//!
//! It looks at the marks of [`super::marks`] every few seconds and adds up for how long each has stood still, so that
//! neither a clock that jumps nor a machine that slept is taken for a stage that hangs. A gather thread that hangs over
//! a page is given up: the page is settled as one that cannot be read, its site goes on, another thread takes the place.
//! The writer and the harvest loop cannot be replaced, because what they hold is the crawl's own: they are told of, and when
//! they do not recover within the same time again, the process ends as after a kill: what was settled is
//! there, what was archived is adopted at the next start.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use model::{Clock, StoreError};
use store::{collection::Collection, runs::STALLED};
use tokio::sync::mpsc::Sender;

use super::{crew::Crew, marks::Waits, messages::Event};
use crate::remark;
use config::failure::Exit;
use model::printable;

pub struct Watchdog {
    /// For how long a mark may stand still.
    pub after: Duration,
    pub crew: Arc<Crew>,
    pub clock: Arc<dyn Clock>,
    pub events: Sender<Event>,
    /// Where it is written down for those who ask from outside.
    pub collection: Option<Collection>,
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Gatherer(usize),
    Writer,
    /// The loop does not turn.
    Harvest,
    /// It turns, and what it waits for does not come.
    Awaited,
}

/// How long the marks have stood still.
#[derive(Default)]
struct Standing(HashMap<Stage, (u64, Duration)>);

impl Watchdog {
    /// Looks until the other end hangs up.
    pub fn run(self, stop: &Receiver<()>) {
        let every = (self.after / 20).clamp(Duration::from_millis(20), Duration::from_secs(5));
        let mut standing = Standing::default();
        while stop.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            self.look_at_gatherers(&mut standing, every);
            self.look_at_others(&mut standing, every);
        }
    }

    fn look_at_gatherers(&self, standing: &mut Standing, every: Duration) {
        for bench in self.crew.benches() {
            let mark = bench.mark();
            let stood = standing.add(Stage::Gatherer(bench.slot), mark, every);
            if stood < self.after {
                continue;
            }
            let Some(unread) = mark.and_then(|mark| bench.give_up(mark)) else { continue };
            let stage = self.crew.stage();
            stage.watch.end(&bench);
            let url = unread.exchange.url.as_str();
            self.tell(&format!(
                "parsing {} has not ended for {stood:?}: abandoned, its site continues",
                printable(url)
            ));
            // First the page, then the thread that takes the next: were it not for the first, the loop would wait for ever.
            let report = Box::new(stage.unread(&unread));
            let _ = self.events.blocking_send(Event::Gathered(report));
            match self.crew.replace(&bench) {
                Ok(true) => {}
                Ok(false) => self.fault("too many gather threads hang over pages".to_owned()),
                Err(error) => self.fault(error.to_string()),
            }
        }
    }

    fn fault(&self, detail: String) {
        let _ = self.events.blocking_send(Event::Fault(StoreError::Poisoned { detail }));
    }

    fn look_at_others(&self, standing: &mut Standing, every: Duration) {
        let watch = &self.crew.stage().watch;
        let (writer, harvest) = (&watch.writer, &watch.harvest);
        let stood = standing.add(Stage::Writer, writer.mark(), every);
        self.judge("the writer", writer.doing(), stood, every);
        let stood = standing.add(Stage::Harvest, harvest.turns.mark(), every);
        self.judge("the harvest loop", "handling what came", stood, every);
        let waits = harvest.waits();
        let reading = || self.crew.benches().iter().any(|bench| bench.mark().is_some());
        let awaited = match waits {
            Waits::Idle => None,
            // A page that is being read is looked after above.
            Waits::Gatherers if reading() => None,
            _ => harvest.turns.mark().map(|_| harvest.heard()),
        };
        let stood = standing.add(Stage::Awaited, awaited, every);
        self.judge("the harvest loop", waits.words(), stood, every);
    }

    /// Tells of it once when its time is over, and ends the process when it is over a second time.
    fn judge(&self, who: &str, doing: &str, stood: Duration, every: Duration) {
        if (self.after..self.after + every).contains(&stood) {
            let after = self.after;
            self.tell(&format!("{who} has made no progress for {after:?}: {doing}"));
        } else if stood >= 2 * self.after {
            let twice = 2 * self.after;
            self.tell(&format!("{who} has made no progress for {twice:?}: {doing}"));
            remark(
                "harvestman: stopped by its watchdog\n            \
                 give the same command again to recover; everything settled is safe",
            );
            std::process::exit(Exit::Fault as i32);
        }
    }

    fn tell(&self, text: &str) {
        remark(&format!("harvestman: stalled: {text}"));
        let Some(collection) = &self.collection else { return };
        if let Err(error) = collection.add_event(STALLED, text, self.clock.now()) {
            tracing::warn!(%error, "the stall could not be recorded");
        }
    }
}

impl Standing {
    /// For how long this mark has stood still, looking every so often. `None`: there is nothing to move.
    fn add(&mut self, stage: Stage, mark: Option<u64>, every: Duration) -> Duration {
        let Some(mark) = mark else {
            self.0.remove(&stage);
            return Duration::ZERO;
        };
        match self.0.get_mut(&stage) {
            Some((before, stood)) if *before == mark => {
                *stood += every;
                *stood
            }
            _ => {
                self.0.insert(stage, (mark, Duration::ZERO));
                Duration::ZERO
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mark_that_stands_still_adds_up() {
        let (mut standing, second) = (Standing::default(), Duration::from_secs(1));
        let mut add = |mark| standing.add(Stage::Writer, mark, second).as_secs();
        assert_eq!([add(Some(1)), add(Some(1)), add(Some(1))], [0, 1, 2]);
        assert_eq!([add(Some(2)), add(Some(2))], [0, 1]);
        assert_eq!([add(None), add(Some(2)), add(Some(2))], [0, 0, 1]);
    }
}
