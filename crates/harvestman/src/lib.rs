//! The program: commands, configuration, progress, and the pipeline in which the roles meet.
//!
//! Start reading at [`commands`] (what each command does), then [`config`] (where every value comes
//! from). The command line itself is data in [`cli`]; how the program ends is in [`exit`].

pub mod cli;
pub mod commands;
pub mod crawling;
mod csv;
mod laboratory;
mod layout;
pub mod progress;
mod results;
mod show_progress;
pub mod summary;
pub mod terminal;
mod wrap;
