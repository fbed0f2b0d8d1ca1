//! What may be spent: budgets as buckets that fill with time and hold little.
//!
//! A bucket never holds more than [`CARRY_TICKS`] of the longest time between two choices, or a few visits: after a
//! long sleep, or a clock set forward, there is no storm of requests. A clock set back fills nothing and takes nothing.

use std::time::Duration;

use model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    days::{between, days},
    value::sound,
};

/// What was not spent is carried over for so many ticks: one late tick makes nobody poorer …
pub const CARRY_TICKS: f64 = 2.0;
/// … and so many visits in any case: where they are few there may be nothing to choose for some ticks, because it
/// is the hour of their last visits, and what was not spent then is not lost.
const VISITS_LEAST: f64 = 8.0;
/// Pages without a budget are seen again every so many days, on average.
pub const DEFAULT_PERIOD_DAYS: f64 = 7.0;

/// What an answer weighs, until some have come.
const BYTES_START: f64 = 30_000.0;
/// How much a single answer moves the mean.
const BYTES_STEP: f64 = 0.02;
/// An answer that was not heard of for so long is waited for less and less: nothing is held back for ever.
const AWAITED_DAYS: f64 = 0.25;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// A purse of the crawl: 0 is the common one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PurseId(pub u32);

impl PurseId {
    pub const COMMON: PurseId = PurseId(0);
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// `None`: a seventh of the known pages, for revisits alone. Otherwise first visits share it.
    pub visits_per_day: Option<f64>,
    pub bytes_per_day: Option<u64>,
    pub requests_per_second: Option<f64>,
}

impl Budget {
    /// Somebody has set a limit: it holds for first visits too, and for pages with an interval of their own.
    pub fn is_explicit(&self) -> bool {
        self.visits_per_day.is_some()
            || self.bytes_per_day.is_some()
            || self.requests_per_second.is_some()
    }
}

/// One purse: what is left of its budget.
#[derive(Clone, Debug)]
pub struct Purse {
    budget: Budget,
    /// Pages to come back to.
    known: u64,
    visits: Bucket,
    bytes: Bucket,
    /// Of an answer, on average.
    bytes_mean: f64,
    /// Visits that were decided upon and have not answered yet, and what their answers are held to weigh.
    awaited: f64,
    reserved: f64,
}

impl Purse {
    pub fn new(budget: Budget, now: Timestamp) -> Purse {
        let (visits, bytes) = (Bucket::new(now), Bucket::new(now));
        let bytes_mean = BYTES_START;
        Purse { budget, known: 0, visits, bytes, bytes_mean, awaited: 0.0, reserved: 0.0 }
    }

    pub fn is_explicit(&self) -> bool {
        self.budget.is_explicit()
    }

    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Another budget; what is left stays, as far as the new one would hold it.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
        let debt_max = budget.bytes_per_day.map_or(0.0, |bytes| bytes as f64);
        self.bytes.left = self.bytes.left.max(-debt_max);
    }

    pub fn know(&mut self, pages: u64) {
        self.known = pages;
    }

    pub fn known(&self) -> u64 {
        self.known
    }

    /// Visits a day, whichever limit is reached first.
    pub fn rate(&self) -> f64 {
        let bytes = self.budget.bytes_per_day.map(|bytes| bytes as f64 / self.bytes_mean);
        self.visit_rate().min(bytes.unwrap_or(f64::INFINITY))
    }

    /// Lets time pass.
    pub fn fill(&mut self, now: Timestamp, tick_max: Duration) {
        let carry = CARRY_TICKS * days(tick_max);
        let waits_still = (-between(self.visits.at, now) / AWAITED_DAYS).exp();
        self.awaited *= waits_still;
        self.reserved *= waits_still;
        self.visits.fill(self.visit_rate(), carry, VISITS_LEAST, now);
        if let Some(bytes) = self.budget.bytes_per_day {
            self.bytes.fill(bytes as f64, carry, self.bytes_mean, now);
        }
    }

    /// Visits that can be paid for now.
    pub fn capacity(&self) -> usize {
        let bytes = match self.budget.bytes_per_day {
            Some(_) => (self.bytes.left - self.reserved) / self.bytes_mean,
            None => f64::INFINITY,
        };
        // Sums of parts of a visit may miss the whole by a rounding.
        sound((self.visits.left + 1e-6).min(bytes), 1e9) as usize
    }

    /// What is left, as a part of what it holds: one that stays full has less and less to do with its budget.
    pub fn fullness(&self) -> f64 {
        let visits = self.visits.left / self.visits.most.max(1.0);
        let bytes = match self.budget.bytes_per_day {
            Some(_) => (self.bytes.left - self.reserved) / self.bytes.most.max(1.0),
            None => f64::INFINITY,
        };
        visits.min(bytes)
    }

    /// How long until a visit can be paid for, in days.
    pub fn until_one(&self) -> f64 {
        let visits = (1.0 - self.visits.left) / self.visit_rate().max(1e-9);
        let bytes = match self.budget.bytes_per_day {
            Some(rate) => {
                let missing = self.bytes_mean + self.reserved - self.bytes.left;
                missing / (rate as f64).max(1e-9)
            }
            None => 0.0,
        };
        visits.max(bytes).max(0.0)
    }

    /// Visits that were decided upon; fewer than none: that did not take place after all. Their bytes are set
    /// aside until they are known, or the same bytes would pay for many visits at once.
    pub fn pay(&mut self, visits: f64) {
        self.visits.left -= visits;
        if visits > 0.0 {
            self.awaited += visits;
            self.reserved += visits * self.bytes_mean;
        } else {
            self.release(-visits);
        }
    }

    /// An answer came.
    pub fn weigh(&mut self, bytes: u64) {
        let bytes = sound(bytes as f64, 1e12);
        self.release(1.0);
        self.bytes_mean = (self.bytes_mean + BYTES_STEP * (bytes - self.bytes_mean)).max(1.0);
        if let Some(rate) = self.budget.bytes_per_day {
            // A debt of more than a day is forgiven: one monstrous answer does not end a crawl.
            self.bytes.left = (self.bytes.left - bytes).max(-(rate as f64));
        }
    }

    pub fn bytes_mean(&self) -> f64 {
        self.bytes_mean
    }

    pub fn set_bytes_mean(&mut self, bytes: f64) {
        if bytes.is_finite() && bytes >= 1.0 {
            self.bytes_mean = bytes;
        }
    }

    /// So many visits are no longer waited for.
    fn release(&mut self, visits: f64) {
        if visits >= self.awaited {
            (self.awaited, self.reserved) = (0.0, 0.0);
        } else {
            self.reserved -= self.reserved * visits / self.awaited;
            self.awaited -= visits;
        }
    }

    fn visit_rate(&self) -> f64 {
        let by_second = self.budget.requests_per_second.map(|rate| rate * SECONDS_PER_DAY);
        let by_day = self.budget.visits_per_day;
        let set = match (by_day, by_second) {
            (Some(a), Some(b)) => a.min(b),
            (Some(rate), None) | (None, Some(rate)) => rate,
            // Bytes alone are limited: as many visits as they allow.
            (None, None) if self.budget.bytes_per_day.is_some() => 1e9,
            (None, None) => self.known as f64 / DEFAULT_PERIOD_DAYS,
        };
        sound(set, 1e9)
    }
}

/// Fills at a rate a day, up to what it carries.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    pub left: f64,
    /// What it held at most when it was last filled.
    most: f64,
    at: Timestamp,
}

impl Bucket {
    pub fn new(now: Timestamp) -> Bucket {
        Bucket { left: 0.0, most: 0.0, at: now }
    }

    /// Holds what comes in `carry` days, and `least` in any case.
    pub fn fill(&mut self, rate: f64, carry: f64, least: f64, now: Timestamp) {
        self.most = (rate * carry).max(least);
        let gained = rate * between(self.at, now).min(carry.max(least / rate.max(1e-9)));
        self.left = (self.left + gained).min(self.most);
        self.at = now;
    }
}

#[cfg(test)]
mod tests;
