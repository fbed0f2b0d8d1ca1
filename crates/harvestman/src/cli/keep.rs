//! What `block`, `traps`, `quarantine`, `forget`, `thin` and `check` are told: what to keep away from or to keep no
//! longer, and whether all is in order.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct BlockArgs {
    /// URL, prefix*, host, .domain, address or range; - reads them from standard input
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// Read them from this file, one per line; lines starting with # are comments
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,

    /// Remove these blocks
    #[arg(long)]
    pub remove: bool,

    /// List the blocks (the default without arguments)
    #[arg(long, conflicts_with_all = ["what", "file", "remove", "reason"])]
    pub list: bool,

    /// The reason, shown in listings
    #[arg(long, value_name = "TEXT", conflicts_with = "remove")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub struct QuarantineArgs {
    #[command(subcommand)]
    pub command: Option<QuarantineCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List them (the default)
    #[command(after_help = "Examples:
  harvestman quarantine list
  harvestman quarantine list --json")]
    List,

    /// Release a page, or all pages of a site
    #[command(after_help = "Examples:
  harvestman quarantine lift https://example.org/strange.html
  harvestman quarantine lift example.org")]
    Lift {
        /// URL or site, as listed
        #[arg(value_name = "URL|SITE", required = true)]
        what: Vec<String>,
    },
}

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrapsArgs {
    /// Only traps of this site
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,

    #[command(subcommand)]
    pub command: Option<TrapsCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum TrapsCommand {
    /// Crawl URLs of this pattern, or of the whole site, again, and never stop them
    #[command(after_help = "Examples:
  harvestman traps lift shop.example.org '/cal?m=*&y=*'
  harvestman traps lift shop.example.org              everything that is stopped there
  harvestman traps lift shop.example.org '*'          the same, also where nothing is stopped yet")]
    Lift {
        /// A site, as listed
        site: String,

        /// The pattern, as listed; without it, all traps of the site; '*' also future ones
        pattern: Option<String>,
    },

    /// Undo `lift`: patterns may be stopped again (not while a crawl runs)
    #[command(after_help = "Examples:
  harvestman traps watch shop.example.org '/cal?m=*&y=*'
  harvestman traps watch shop.example.org             everything that was lifted there")]
    Watch {
        /// A site, as listed
        site: String,

        /// The pattern that was lifted; without it, all of the site
        pattern: Option<String>,
    },
}

#[derive(Clone, Debug, Args)]
pub struct ForgetArgs {
    /// URL, host or .domain
    #[arg(value_name = "URL|SITE", required_unless_present_any = ["list", "domain"])]
    pub what: Vec<String>,

    /// A domain with all its hosts
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Vec<String>,

    /// Show what would be deleted, and delete nothing
    #[arg(long, conflicts_with_all = ["list", "undo"])]
    pub dry_run: bool,

    /// List what was deleted: kind and time; names are not kept
    #[arg(long, conflicts_with_all = ["what", "domain", "undo"])]
    pub list: bool,

    /// Allow these again; deleted data stays deleted
    #[arg(long)]
    pub undo: bool,
}

#[derive(Clone, Debug, Args)]
pub struct ThinArgs {
    /// Show what would be deleted, and delete nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Correct counters and due times, have lost pages fetched again, rewrite revisits that pywb
    /// cannot replay
    #[arg(long)]
    pub repair: bool,
}
