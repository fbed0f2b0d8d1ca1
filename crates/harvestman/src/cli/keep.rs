//! What `block`, `traps`, `quarantine`, `forget`, `thin` and `check` are told: what to keep away from or to keep no
//! longer, and whether all is in order.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct BlockArgs {
    /// URL, prefix*, host, .domain, address or range; - reads them from standard input
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// Read them from this file, one per line; lines that begin with # are remarks
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,

    /// Block these no longer
    #[arg(long)]
    pub remove: bool,

    /// List what is blocked (also without arguments)
    #[arg(long, conflicts_with_all = ["what", "file", "remove", "reason"])]
    pub list: bool,

    /// Why, for those who ask later
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
    /// List them (also without a word)
    #[command(after_help = "Examples:
  harvestman quarantine list
  harvestman quarantine list --json")]
    List,

    /// Have a page, or all pages of a site, read again
    #[command(after_help = "Examples:
  harvestman quarantine lift https://example.org/strange.html
  harvestman quarantine lift example.org")]
    Lift {
        /// URL or site, as the list has it
        #[arg(value_name = "URL|SITE", required = true)]
        what: Vec<String>,
    },
}

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrapsArgs {
    /// Only those of this site
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,

    #[command(subcommand)]
    pub command: Option<TrapsCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum TrapsCommand {
    /// Take URLs of this pattern, or of the whole site, again, and never stop them any more
    #[command(after_help = "Examples:
  harvestman traps lift shop.example.org '/cal?m=*&y=*'
  harvestman traps lift shop.example.org              everything that is stopped there
  harvestman traps lift shop.example.org '*'          the same, also where nothing is stopped yet")]
    Lift {
        /// A host as the collection has it
        site: String,

        /// As listed; without it, everything that was stopped on the site; '*' also what would be
        pattern: Option<String>,
    },

    /// Take a lift back: what was lifted may be stopped again, between crawls
    #[command(after_help = "Examples:
  harvestman traps watch shop.example.org '/cal?m=*&y=*'
  harvestman traps watch shop.example.org             everything that was lifted there")]
    Watch {
        /// A host as the collection has it
        site: String,

        /// As it was lifted; without it, everything that was lifted on the site
        pattern: Option<String>,
    },
}

#[derive(Clone, Debug, Args)]
pub struct ForgetArgs {
    /// URL, host or .domain
    #[arg(value_name = "URL|SITE", required_unless_present_any = ["list", "domain"])]
    pub what: Vec<String>,

    /// A domain with everything under it
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Vec<String>,

    /// Show what would be removed, and remove nothing
    #[arg(long, conflicts_with_all = ["list", "undo"])]
    pub dry_run: bool,

    /// List what was forgotten: kind and time, the names are not kept
    #[arg(long, conflicts_with_all = ["what", "domain", "undo"])]
    pub list: bool,

    /// Let these in again; what was removed stays removed
    #[arg(long)]
    pub undo: bool,
}

#[derive(Clone, Debug, Args)]
pub struct ThinArgs {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Set counters and dues to what the rows say, and rewrite revisits that pywb does not replay
    #[arg(long)]
    pub repair: bool,
}
