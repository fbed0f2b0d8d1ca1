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
    /// Pages as files: DATE_TIME/host/path, a folder for each crawl
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
    /// The folder to write into; made when it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// What was seen at this time or later: 2026-05-01, 2026-05-01T12:00:00Z, yesterday, '7 days ago'
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,

    /// What was seen at this time or before
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,

    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// A file for every visit, also for those that saw nothing new
    #[arg(long)]
    pub every_visit: bool,

    /// Also pages that name another, similar one as their canonical page
    #[arg(long)]
    pub unfolded: bool,

    /// Also pages that ask not to be shown from an archive (noarchive)
    #[arg(long)]
    pub include_noarchive: bool,
}
