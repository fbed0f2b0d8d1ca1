//! What every stage is at: marks that move while there is progress, for the watchdog to look at.
//!
//! A mark is one store for each job or turn. What a gather thread is reading lies on its bench, and whoever takes it
//! from there tells of it: the thread when it is done, or the watchdog when it gives the thread up. So a page
//! is settled once, whatever a thread does that comes back late.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use harvester::{failure::PageAfter, workbench::Assignment};
use model::{Exchange, Page, SiteClock};
use store::readings::Readings;

use super::{gather::Filed, returning::Stakes};

/// The marks of a crawl.
#[derive(Default)]
pub struct Watch {
    /// Outlives the process; none in simulations.
    pub readings: Option<Readings>,
    pub writer: Pulse,
    pub harvest: HarvestPulse,
}

impl Watch {
    pub fn new(readings: Readings) -> Watch {
        Watch { readings: Some(readings), ..Watch::default() }
    }

    /// Before a page is read, in the bench's slot of the file. [`Watch::end`] comes when nothing is read after it: of a
    /// thread with more to do, the next page stands over the last a moment later.
    pub fn begin(&self, bench: &Bench, url: &str) {
        if let Some(readings) = &self.readings {
            readings.begin(bench.slot, url);
            bench.noted.store(true, Ordering::Relaxed);
        }
    }

    pub fn end(&self, bench: &Bench) {
        if let Some(readings) = &self.readings
            && bench.noted.swap(false, Ordering::Relaxed)
        {
            readings.end(bench.slot);
        }
    }

    /// The process ends because somebody wants it to: no page did that.
    pub fn leave(&self) {
        if let Some(readings) = &self.readings {
            readings.clear();
        }
    }
}

/// Of a stage that takes a turn at least every second.
#[derive(Default)]
pub struct Pulse {
    turns: AtomicU64,
    doing: Mutex<&'static str>,
    over: AtomicBool,
}

impl Pulse {
    pub fn turn(&self, doing: &'static str) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing;
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// `None` when the stage has ended, as it should.
    pub fn mark(&self) -> Option<u64> {
        (!self.over.load(Ordering::Relaxed)).then(|| self.turns.load(Ordering::Relaxed))
    }

    pub fn doing(&self) -> &'static str {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of the harvest loop: whether it turns, and whether what it waits for can come.
#[derive(Default)]
pub struct HarvestPulse {
    pub turns: Pulse,
    /// Events that came.
    heard: AtomicU64,
    waits: AtomicU8,
}

/// What the loop waits for that has no limit in time of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// Nothing, or the clock, or a server.
    #[default]
    Idle,
    /// An answer of the writer.
    Writer,
    /// A report of a gather thread.
    Gatherers,
    /// Something is due and is not begun.
    Due,
}

impl Waits {
    const ALL: [Waits; 4] = [Waits::Idle, Waits::Writer, Waits::Gatherers, Waits::Due];

    pub fn words(self) -> &'static str {
        match self {
            Waits::Idle => "waiting for nothing",
            Waits::Writer => "waiting for the writer to answer",
            Waits::Gatherers => "waiting for what the gather threads have",
            Waits::Due => "not beginning what is due",
        }
    }
}

impl HarvestPulse {
    pub fn turn(&self, waits: Waits) {
        self.waits.store(waits as u8, Ordering::Relaxed);
        self.turns.turn(waits.words());
    }

    pub fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    pub fn waits(&self) -> Waits {
        let place = usize::from(self.waits.load(Ordering::Relaxed));
        Waits::ALL.get(place).copied().unwrap_or_default()
    }
}

/// The place of one gather thread.
pub struct Bench {
    /// Of [`Watch::begin`].
    pub slot: usize,
    /// The slot names a page.
    noted: AtomicBool,
    begun: AtomicU64,
    reading: Mutex<Option<Arc<Unread>>>,
    given_up: AtomicBool,
}

/// An archived answer that is being read: enough to settle its page without what the reading brings.
pub struct Unread {
    pub assignment: Box<Assignment>,
    pub exchange: Exchange,
    pub page: Box<Page>,
    pub after: PageAfter,
    pub stakes: Box<Stakes>,
    pub clock: SiteClock,
    pub filed: Filed,
}

impl Bench {
    pub fn new(slot: usize) -> Bench {
        let [noted, given_up] = [false; 2].map(AtomicBool::new);
        Bench { slot, noted, begun: AtomicU64::new(0), reading: Mutex::new(None), given_up }
    }

    pub fn lay(&self, unread: Arc<Unread>) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = Some(unread);
    }

    /// The reading is over; false when the bench was given up with it.
    pub fn put_down(&self) -> bool {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        *reading = None;
        !self.is_given_up()
    }

    /// The number of the reading under way.
    pub fn mark(&self) -> Option<u64> {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        reading.as_ref().map(|_| self.begun.load(Ordering::Relaxed))
    }

    /// Takes the reading of this number from the thread, which is given up with it.
    pub fn give_up(&self, mark: u64) -> Option<Arc<Unread>> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if self.begun.load(Ordering::Relaxed) != mark {
            return None;
        }
        let unread = reading.take()?;
        self.given_up.store(true, Ordering::Release);
        Some(unread)
    }

    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }
}
