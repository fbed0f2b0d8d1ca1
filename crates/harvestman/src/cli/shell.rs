//! What `completions` and `man` are told: help for the shell and the reader.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
