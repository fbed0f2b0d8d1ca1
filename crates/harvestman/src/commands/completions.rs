//! `completions SHELL`: a script for the user's shell, made from the definitions of the command line.

use clap::CommandFactory;

use crate::{
    cli::{Cli, CompletionsArgs},
    terminal,
};
use config::failure::{Exit, Failure};

pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "harvestman", &mut script);
    terminal::print_bytes(&script)?;
    Ok(Exit::Done)
}
