//! A site's turn: how long it has been in hand, and how long visits to it took today (UTC).

use std::time::Duration;

use model::Timestamp;

const DAY_MS: i64 = 24 * 3600 * 1000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    added: Timestamp,
    /// A visit was begun: until then the turn is not over, or a slow clock would starve the site for ever.
    pub began: bool,
    day: i64,
    worked: Duration,
}

impl Turn {
    pub fn new(worked_today: Duration, now: Timestamp) -> Turn {
        Turn { added: now, began: false, day: day_of(now), worked: worked_today }
    }

    /// A visit took this long; one over midnight counts for the day it ended.
    pub fn worked(&mut self, time: Duration, now: Timestamp) {
        if self.day != day_of(now) {
            (self.day, self.worked) = (day_of(now), Duration::ZERO);
        }
        self.worked += time;
    }

    pub fn ends(&self, max: Option<Duration>) -> Option<Timestamp> {
        max.filter(|_| self.began).map(|max| self.added.plus(max))
    }

    /// The day's time is used up: when the next day begins.
    pub fn tomorrow(&self, max: Option<Duration>, now: Timestamp) -> Option<Timestamp> {
        let today = if self.day == day_of(now) { self.worked } else { Duration::ZERO };
        max.filter(|max| today >= *max).map(|_| Timestamp((day_of(now) + 1) * DAY_MS))
    }
}

fn day_of(now: Timestamp) -> i64 {
    now.0.div_euclid(DAY_MS)
}
