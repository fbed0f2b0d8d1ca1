//! What a crawl keeps of its plans for the next one: prices, budgets and what was spent of them.

use std::collections::BTreeMap;

use manager::{PlannerState, PurseId};
use model::Timestamp;
use serde::{Deserialize, Serialize};

/// What outlives the process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlannerSnapshot {
    pub planner: PlannerState,
    #[serde(default)]
    pub spending: Vec<BudgetUse>,
    #[serde(default)]
    pub batches: BTreeMap<u32, Timestamp>,
    /// Visits wait for the budget: when the next can be paid for.
    #[serde(default)]
    pub waits: Option<Timestamp>,
}

/// What a purse paid for on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetUse {
    pub purse: PurseId,
    /// Its beginning (UTC).
    pub day: Timestamp,
    pub firsts: u64,
    pub revisits: u64,
    pub bytes: u64,
    /// Visits a day that the purse pays for, and what one costs.
    pub rate: f64,
    pub price: f64,
    /// Visits were held to it when `run` last ran.
    pub held: bool,
}

impl PlannerSnapshot {
    /// What a visit has to be worth to be made.
    pub fn price(&self, purse: PurseId) -> f64 {
        let mut purses = self.planner.purses.iter();
        purses.find(|state| state.id == purse).map_or(0.0, |state| state.price)
    }

    /// What was spent of a purse on the day that it was last spent of.
    pub fn spending(&self, purse: PurseId) -> Option<BudgetUse> {
        self.spending.iter().find(|spending| spending.purse == purse).copied()
    }
}
