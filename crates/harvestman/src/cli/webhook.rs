//! What `webhook` is told: deliveries of changes to others.

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct WebhookArgs {
    #[command(subcommand)]
    pub command: Option<WebhookCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum WebhookCommand {
    /// Each webhook, what waits for it, and how it is doing (also without a word)
    #[command(after_help = "Examples:
  harvestman webhook list
  harvestman webhook list --json")]
    List,

    /// Deliver now what waits, without waiting for the time of the next try
    #[command(after_help = "Examples:
  harvestman webhook deliver")]
    Deliver,

    /// What was given up
    #[command(after_help = "Examples:
  harvestman webhook dead
  harvestman webhook dead --json")]
    Dead,

    /// Send what was given up once more
    #[command(after_help = "Examples:
  harvestman webhook retry 3 4
  harvestman webhook retry --all")]
    Retry {
        /// Numbers as `webhook dead` lists them
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        ids: Vec<i64>,

        /// All of them, oldest first
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },

    /// Send a delivery without changes, and say what the receiver answered
    #[command(after_help = "Examples:
  harvestman webhook test
  harvestman webhook test ops")]
    Test {
        /// Only this webhook
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}
