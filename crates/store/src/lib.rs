//! Where things last: the Global Frontier, the WARC volumes, the link segments, and read-only census.
//!
//! Start with [`frontier`] (what is known and due) and [`warc`] (what was said on the wire). Archive
//! first, then one transaction: a record is on disk before the commit that names it.

pub mod blocks;
pub mod census;
pub mod collection;
pub mod control;
pub mod directory;
pub mod forget;
pub mod frontier;
pub mod history;
pub mod links;
pub mod readings;
pub mod rebuild;
pub mod replicas;
pub mod runs;
pub mod spiders;
pub mod state;
#[cfg(feature = "testing")]
pub mod testing;
pub mod thin;
pub mod tombstones;
pub mod volumes;
pub mod warc;
pub mod webhooks;

mod in_place;
mod migrate;
/// Public only for the examples beside the library.
#[doc(hidden)]
pub mod sql;
