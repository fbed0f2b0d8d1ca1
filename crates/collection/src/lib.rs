//! Everything that can be asked of a collection and done to it: typed, serialisable answers without prose.
//!
//! The command line renders them; the console and its API will serve the same.

pub mod archived;
pub mod blocks;
pub mod control;
pub mod diff;
mod error;
pub mod lines;
pub mod links;
mod listing;
pub mod mirrors;
pub mod names;
pub mod planner;
pub mod quarantine;
pub mod replicas;
pub mod seeding;
pub mod spiders;
pub mod traps;
pub mod versions;
pub mod webhook;

pub use error::Error;
pub use listing::Listing;
