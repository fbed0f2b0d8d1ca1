//! Arguments of `seed` and `spider`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

#[derive(Clone, Debug, Args)]
pub struct SeedArgs {
    /// URLs, files of seeds, or - to read seeds from standard input
    #[arg(value_name = "URL", required_unless_present = "file")]
    pub urls: Vec<String>,

    /// Read seeds from this file (may be gzipped) or from the collection in this folder
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,

    /// The spider they are for [default: default]
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// Format of files and standard input [default: detected]
    #[arg(long, value_name = "KIND")]
    pub from: Option<SeedSource>,
}

impl SeedArgs {
    /// What names a file that is there is meant as that file, and so is a folder where collections are read.
    pub fn with_files(&self) -> SeedArgs {
        let is_file = |text: &String| {
            let path = Path::new(text);
            let folder = self.from == Some(SeedSource::Collection) && path.is_dir();
            text != "-" && !text.contains("://") && (path.is_file() || folder)
        };
        let (files, urls): (Vec<String>, Vec<String>) =
            self.urls.iter().cloned().partition(is_file);
        let file = self.file.iter().cloned().chain(files.iter().map(PathBuf::from)).collect();
        SeedArgs { urls, file, ..self.clone() }
    }
}

/// Where seeds can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeedSource {
    /// One URL per line; # starts a comment
    Urls,
    /// One host per line, or rank,host, or a hosts file: their home pages
    Hosts,
    /// A DNS zone file: hosts and delegated names
    Zone,
    /// A sitemap; files named by an index are listed, not fetched
    Sitemap,
    /// A list of feeds: the sites behind them
    Opml,
    /// Another collection: the home pages of its sites
    Collection,
}

#[derive(Clone, Debug, Args)]
pub struct SpiderArgs {
    #[command(subcommand)]
    pub command: Option<SpiderCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum SpiderCommand {
    /// List all spiders: state, counts, settings (the default)
    #[command(after_help = "Examples:
  harvestman spider list
  harvestman spider list --json")]
    List,

    /// Add a spider with seeds and settings
    #[command(after_help = "Examples:
  harvestman spider add news https://news.example/ --set crawl.depth=3
  harvestman spider add pt https://example.pt/ --set crawl.scope=any --set crawl.pages=10000")]
    Add(SpiderAdd),

    /// Change settings and limits; a running crawl follows within seconds
    #[command(after_help = "Examples:
  harvestman spider edit default --set crawl.pages=5000
  harvestman spider edit default --set etiquette.max_fetches=20
  harvestman spider edit news --set etiquette.delay=5s
  harvestman spider edit news --unset crawl.depth")]
    Edit(SpiderEdit),

    /// Stop visits for this spider until it is resumed
    #[command(after_help = "Examples:
  harvestman spider pause news
  harvestman spider pause news --reason ill")]
    Pause {
        #[arg(value_name = "NAME")]
        name: String,

        /// Reason, shown by `spider list`, `status` and the summary of a crawl
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },

    /// Continue a paused spider
    #[command(after_help = "Examples:
  harvestman spider resume news")]
    Resume {
        #[arg(value_name = "NAME")]
        name: String,
    },

    /// Remove a spider; what it collected stays
    #[command(after_help = "Examples:
  harvestman spider remove news")]
    Remove {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Clone, Debug, Args)]
pub struct SpiderAdd {
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Seeds; add more with `harvestman seed --spider NAME`
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Set a key of the configuration for this spider
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Clone, Debug, Args)]
pub struct SpiderEdit {
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Set a key of the configuration for this spider
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Remove the spider's value of this key: the collection's applies
    #[arg(long, value_name = "KEY")]
    pub unset: Vec<String>,
}
