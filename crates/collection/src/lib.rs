//! Everything that can be asked of a collection and done to it: typed, serialisable answers without prose.
//!
//! The command line renders them; the console and its API will serve the same.

pub mod archived;
mod cursor;
pub mod decisions;
pub mod diff;
mod error;
pub mod explain;
pub mod links;
pub mod page;
pub mod pages;
pub mod planner;
pub mod replicas;
pub mod run;
pub mod sites;
pub mod status;
pub mod versions;
pub mod webhook;

pub use error::Error;
