//! The policy laboratory: how fresh a collection stays under each policy, tried in days of simulated time.
//!
//! The policies are the real ones, through a [`model::Frontier`] in memory, by the very path that a crawl takes
//! ([`drive`]); what differs is the web, which is a [`population`] whose every change is known in advance, and the
//! clock. So a figure here is a figure of the product. [`comparators`] are plain loops for comparison; the
//! [`oracle`] knows what no crawler can.
//!
//! Start with [`world`] (what is measured), then [`drive`].

pub mod announce;
pub mod changes;
mod comparators;
pub mod contest;
pub mod curve;
mod drive;
pub mod limits;
mod oracle;
pub mod population;
mod random;
pub mod recorded;
pub mod table;
#[cfg(test)]
mod tests;
mod world;

use std::sync::Arc;

pub use self::contest::{Contender, Score};
use self::{announce::Announcements, changes::DAY, population::Population};

/// One population under one budget.
#[derive(Clone, Debug)]
pub struct Case {
    pub population: Arc<Population>,
    /// `a`, `b`, `c`, or visits a day.
    pub budget: String,
    pub visits_per_day: f64,
    /// How often the policy may choose, in milliseconds.
    pub tick: i64,
    pub seed: u64,
    /// Share of visits that fail.
    pub failing: f64,
    /// Visits a day that each site allows.
    pub limits: Option<Vec<f64>>,
    pub announcements: Option<Arc<Announcements>>,
}

impl Case {
    /// The moments of choice: not day 0, for everything was fetched then.
    fn ticks(&self) -> impl Iterator<Item = i64> {
        let (tick, end) = (self.tick, i64::from(self.population.days) * DAY);
        (1..).map(move |n| n * tick).take_while(move |now| *now < end)
    }
}
