//! When to come back: the long-term side of scheduling, as pure functions given `now`.
//!
//! The harvester retries a page that fails; the manager takes over once a visit is settled for good. So
//! far two policies: [`Policy::Once`] and [`Policy::Fixed`]; change-rate beliefs, crawl value and budgets
//! join here.

mod audit;
mod due;
mod modified;

pub use audit::{audits, learn_audit, may_ask_conditionally};
pub use due::{Policy, VisitedPage, next_due};
pub use modified::{Stamped, learn_modified, trusted_modified};
