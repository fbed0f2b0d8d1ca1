//! What `export` is told: in which form what the collection holds is to leave it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    #[command(subcommand)]
    pub form: ExportForm,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ExportForm {
    /// Export pages as files: DATE_TIME/host/path, one folder per crawl
    #[command(after_help = "Examples:
  harvestman export directory --out pages
  harvestman export directory --out week --from '7 days ago'
  harvestman export directory --out may --from 2026-05-01 --to 2026-06-01 --site example.org

Each version is in the folder of the crawl that first saw it; with --every-visit also in those of the
crawls that saw it again. A second export into the same folder only adds or replaces.")]
    Directory(ExportDirectoryArgs),
}

#[derive(Clone, Debug, Args)]
pub struct ExportDirectoryArgs {
    /// The folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Visits at this time or later: 2026-05-01, 2026-05-01T12:00:00Z, yesterday, '7 days ago'
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,

    /// Visits at this time or before
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,

    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Write a file for every visit, also if the page had not changed
    #[arg(long)]
    pub every_visit: bool,

    /// Include pages that name another, similar page as canonical
    #[arg(long)]
    pub unfolded: bool,

    /// Include pages that say noarchive
    #[arg(long)]
    pub include_noarchive: bool,
}
