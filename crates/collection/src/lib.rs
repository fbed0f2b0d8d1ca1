//! Everything that can be asked of a collection and done to it: typed, serialisable answers without prose.
//!
//! The command line renders them; the console and its API will serve the same.

pub mod archived;
pub mod batch;
pub mod changes;
pub mod check;
pub mod diff;
mod error;
pub mod export;
pub mod forget;
pub mod history;
pub mod init;
pub mod links;
pub mod listing;
pub mod planner;
pub mod replicas;
pub mod reports;
pub mod settings;
pub mod thin;
pub mod versions;
pub mod webhook;

pub use error::{Error, why};
