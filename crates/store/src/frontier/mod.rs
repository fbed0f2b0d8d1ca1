//! The Global Frontier on SQLite: every known page by site, lent out under leases with fencing numbers.
//!
//! [`sqlite`] owns the connection and the transactions; [`check_out`] lends sites with what is [`due`], [`check_in`] settles
//! what happened, [`updates`] page by page, [`habits`] and [`children`] keep how pages change, [`clock`] mends what a wrong clock put off, [`admit`] takes candidates in, [`history`] keeps visits and folds the unchanged ones,
//! [`tally`] keeps the counters, [`asleep`] and [`limits`] say what is not lent out, [`domains`] counts hosts by domain, [`batches`] lends for long, [`replicas`] puts folded sites to rest, [`forget`] takes out what must
//! not be kept, [`verify`] counts everything again. `suite` says how any backend must behave.

mod admit;
mod asleep;
mod batches;
mod breakdowns;
mod cache;
mod check_in;
mod check_out;
mod children;
mod clock;
mod domains;
mod due;
mod forget;
mod habits;
mod hazards;
mod history;
mod lift;
mod limits;
mod lost;
mod many;
mod memory;
mod notices;
mod parts;
mod reach;
mod regather;
mod replicas;
mod returning;
mod rows;
mod spiders;
mod sql_frontier;
mod start;
mod tally;
mod traps;
mod updates;
mod verify;
mod visit;

#[cfg(test)]
mod plain;
#[cfg(test)]
pub(crate) mod suite;
#[cfg(test)]
mod tests;

pub use batches::{BatchRow, BatchState, FailedVisit};
pub use breakdowns::Breakdown;
pub use domains::{Suspect, Wildcard};
pub use history::unpack_times;
pub use lift::Lifted;
pub use lost::{LostMarks, NamedRecord};
pub use memory::MemoryFrontier;
pub use regather::{RegatherPlace, Regathered, ToRegather};
pub use sql_frontier::{Marks, SqlFrontier};
pub use start::{RecordExtent, Seed};
pub use traps::LiftedTraps;
pub use verify::{Finding, Topic};
pub use visit::Called;

pub(crate) use batches::{COLLECTION_ID, HARVESTED, collection_id, list_batches};
pub(crate) use due::earliest_due;
pub(crate) use forget::{FILES, LINKS_REWRITTEN, PUT_META};
pub(crate) use habits::outlook;
pub(crate) use reach::REACH_KEPT;
pub(crate) use rows::{
    FACTS, ROBOTS, facts_from_row, record_from_row, robots_from_row, site_traps_from_row,
};
pub(crate) use start::{list_seeds, list_seeds_near};
pub(crate) use tally::load_totals;
pub(crate) use traps::lifted_traps;
