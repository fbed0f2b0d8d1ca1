//! Everything that can be asked of a collection and done to it: typed, serialisable answers without prose.
//!
//! The command line renders them; the console and its API will serve the same.

pub mod archived;
pub mod batch;
pub mod blocks;
pub mod changes;
pub mod check;
pub mod control;
mod cursor;
pub mod decisions;
pub mod diff;
mod error;
pub mod explain;
pub mod export;
pub mod forget;
pub mod history;
pub mod init;
pub mod lines;
pub mod links;
pub mod listing;
pub mod mirrors;
pub mod page;
pub mod pages;
pub mod planner;
pub mod quarantine;
pub mod remedies;
pub mod replicas;
pub mod reports;
pub mod run;
pub mod seeding;
pub mod settings;
pub mod sites;
pub mod spiders;
pub mod status;
pub mod thin;
pub mod traps;
pub mod versions;
pub mod webhook;

pub use error::{Error, why};
pub use listing::Listing;
