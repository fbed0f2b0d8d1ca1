//! What `replicas` is told: the list of sites that serve what another serves.

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct ReplicasArgs {
    #[command(subcommand)]
    pub command: Option<ReplicasCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ReplicasCommand {
    /// The list: replica, original, evidence, and what is done about it (also without a word)
    #[command(after_help = "Examples:
  harvestman replicas list
  harvestman replicas list --json")]
    List,

    /// Look for replicas now, in what the collection holds
    #[command(after_help = "Examples:
  harvestman replicas find")]
    Find,

    /// Never take this site for a replica: it is crawled under its own name
    #[command(after_help = "Examples:
  harvestman replicas lift www.example.org")]
    Lift {
        #[arg(value_name = "SITE")]
        site: String,
    },
}
