//! The workbench: which of the sites in hand may be visited now, and with which page.
//!
//! A pure state machine given `now`: it owns no clock, spawns nothing and makes no request. The loop that
//! does asks [`Workbench::acquire`] and tells what happened; every rule of politeness is a plain unit test.
//!
//! Invariants, each with its test:
//! - A site's next polite moment is the maximum of every signal (`pace.rs`); no visit begins before it.
//! - At most `connections` visits to a host at once, those of other sites' robots.txt redirects included.
//! - No page without a valid robots.txt answer of its origin, and none that it forbids.
//! - Nothing is asked of a host, a URL or an address that the gate refuses at that moment.
//! - A spider's pages of a site go out level by level: none of level k+1 while one of level k or less is open.
//! - No limit on pages or bytes (in all, of a spider, a domain, a site) is ever exceeded: what a visit may
//!   bring is reserved before it begins, and the last visits under a byte limit are cut to what is left.
//! - No page of a paused spider goes out, and no spider has more visits under way than it may.
//! - No page of a lane with an entry (a login) goes out before the entry was visited and the caller opened it.
//! - Spiders that share a site share its clock: the longest of their pauses and the fewest connections hold.
//! - Whatever waits is either on the list of moments, or behind an event the caller will report: nothing
//!   is forgotten (heritrix3#203 was a queue that nobody woke).
//!
//! Read `bench.rs` for what can be asked and told, `choose.rs` for the flow, `frontier.rs`
//! and `lane.rs` for the order of pages, `pace.rs` and `lateness.rs` for the clock, `account.rs` and `lines.rs` for limits and who
//! waits for them, `entrance.rs` for logins, `terms.rs` and `steer.rs` for what may differ and change.

mod account;
mod address;
mod bench;
mod choose;
mod conclude;
mod entrance;
mod frontier;
mod lane;
mod lateness;
mod lines;
mod options;
mod pace;
mod seat;
mod steer;
mod step;
mod terms;
mod turn;
mod waiting;

pub use bench::Workbench;
pub use frontier::{Known, Offered};
pub use options::Options;
pub use pace::retry_after;
pub use step::{
    Assignment, AssignmentId, Drained, Excluded, Note, Reason, Released, Removed, SiteRef, Step,
};
pub use terms::{LimitInAll, SiteTerms, SpiderLimits, Terms};

#[cfg(test)]
mod entrance_tests;
#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod property;
#[cfg(test)]
mod property_spiders;
#[cfg(test)]
mod steer_tests;
#[cfg(test)]
mod tests;
