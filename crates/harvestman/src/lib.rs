//! The program: commands, configuration, progress, and the pipeline in which the roles meet.
//!
//! Start reading at [`commands`] (what each command does), then [`config`] (where every value comes
//! from). The command line itself is data in [`cli`]; how the program ends is in [`exit`].

mod access;
mod archived;
mod batch;
pub mod cli;
pub mod commands;
pub mod config;
pub mod crawling;
mod diff;
pub mod exit;
mod house;
mod laboratory;
mod moments;
pub mod pipeline;
pub mod progress;
mod replicas;
mod results;
pub mod revisiting;
mod seeding;
mod setup;
mod show_progress;
mod signals;
mod sittings;
mod steering;
pub mod summary;
pub mod terminal;
pub mod timekeeping;
mod times;
mod versions;
pub mod webhook;
