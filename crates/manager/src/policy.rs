//! The policies: by which rule the pages of a spider come back.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    days::{DAY, HOUR},
    frequency::Frequency,
    profit::Profit,
    value::Objective,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each page is visited until it has answered, then left alone.
    Once,
    /// Every page at the same interval.
    Fixed { every: Duration },
    /// Every so many cycles, by how often visits saw a change.
    Frequency(Frequency),
    /// In batches of those with the greatest profit.
    Profit(Profit),
    /// When a visit is worth its price.
    Value(Value),
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::Value(Value::default())
    }
}

impl Policy {
    /// As in the configuration.
    pub fn word(&self) -> &'static str {
        match self {
            Policy::Once => "once",
            Policy::Fixed { .. } => "fixed",
            Policy::Frequency(_) => "frequency",
            Policy::Profit(_) => "profit",
            Policy::Value(_) => "value",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    pub objective: Objective,
    pub period_min: Duration,
    pub period_max: Duration,
}

impl Default for Value {
    fn default() -> Value {
        Value { objective: Objective::Freshness, period_min: HOUR, period_max: 90 * DAY }
    }
}
