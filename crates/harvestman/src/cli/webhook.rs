//! What `webhook` is told: deliveries of changes to others.

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct WebhookArgs {
    #[command(subcommand)]
    pub command: Option<WebhookCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum WebhookCommand {
    /// List the webhooks with pending deliveries and state (the default)
    #[command(after_help = "Examples:
  harvestman webhook list
  harvestman webhook list --json")]
    List,

    /// Deliver pending changes now, without waiting for the next retry
    #[command(after_help = "Examples:
  harvestman webhook deliver")]
    Deliver,

    /// List deliveries that were given up
    #[command(after_help = "Examples:
  harvestman webhook dead
  harvestman webhook dead --json")]
    Dead,

    /// Retry deliveries that were given up
    #[command(after_help = "Examples:
  harvestman webhook retry 3 4
  harvestman webhook retry --all")]
    Retry {
        /// Numbers, as listed by `webhook dead`
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        ids: Vec<i64>,

        /// Retry all, oldest first
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },

    /// Send an empty test delivery, and show the response
    #[command(after_help = "Examples:
  harvestman webhook test
  harvestman webhook test ops")]
    Test {
        /// Only this webhook
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}
