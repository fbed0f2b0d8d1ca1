//! When to come back: the long-term side of scheduling, as pure functions given `now`.
//!
//! The harvester retries a page that fails; the manager takes over once a visit is settled for good. Start
//! with [`Policy`] (the rules to choose from) and [`after_visit`] (what a visit teaches and when the next is
//! due), then [`Planner`] (budgets, the price of a visit, the choice among what is due). The mathematics is
//! in `belief` (how often a page changes) and `value` (what a visit is worth). No clock and no I/O here.

mod audit;
mod belief;
mod choice;
mod days;
mod drift;
mod due;
mod explain;
#[cfg(test)]
mod fixtures;
mod frequency;
mod host;
mod modified;
mod planner;
mod policy;
mod price;
mod profit;
mod purse;
mod trust;
mod value;

pub use audit::{audits, learn_audit, may_ask_conditionally};
pub use belief::Belief;
pub use choice::is_first;
pub use due::{Next, Sight, Visited, after_visit};
pub use explain::{Appraisal, Rule, appraise};
pub use frequency::{Children, Frequency, FrequencyOn};
pub use modified::{Stamped, learn_modified, trusted_modified};
pub use planner::{Ask, Chosen, Planner, PlannerOptions, PlannerState, PurseState, Stake};
pub use policy::{Policy, Value};
pub use profit::{Batch, Profit};
pub use purse::{Budget, PurseId};
pub use trust::{Heard, believed, learn};
pub use value::{Bound, Objective, Period, Worth};
