//! Arguments of `mirrors`: sites that serve what another serves.

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct ReplicasArgs {
    #[command(subcommand)]
    pub command: Option<ReplicasCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ReplicasCommand {
    /// List mirrors with their originals and the evidence (the default)
    #[command(after_help = "Examples:
  harvestman mirrors list
  harvestman mirrors list --json")]
    List,

    /// Detect mirrors now, in what the collection holds
    #[command(after_help = "Examples:
  harvestman mirrors find")]
    Find,

    /// Treat this site as a site of its own from now on
    #[command(after_help = "Examples:
  harvestman mirrors lift www.example.org")]
    Lift {
        #[arg(value_name = "SITE")]
        site: String,
    },
}
