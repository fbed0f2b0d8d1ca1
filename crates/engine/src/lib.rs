//! The crawl: opens a collection, recovers, crawls, closes.
//!
//! Start reading at [`crawl`] (one crawl from its first to its last step), then [`pipeline`] (where the roles meet),
//! then [`steering`] (how a running crawl follows its configuration). It reports through [`observe`] and knows no
//! command line.

pub mod batch;
pub mod build_spider;
pub mod crawl;
pub mod house;
pub mod network;
pub mod observe;
pub mod offline;
pub mod pipeline;
pub mod rebuild;
pub mod regather;
mod remark;
pub mod signals;
mod sittings;
pub mod steering;
pub mod timekeeping;
pub mod upkeep;

pub use remark::remark;
