//! What `seed` and `spider` are told: where to begin, and for whom.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

#[derive(Clone, Debug, Args)]
pub struct SeedArgs {
    /// URLs, files of seeds, or - to read seeds from standard input
    #[arg(value_name = "URL", required_unless_present = "file")]
    pub urls: Vec<String>,

    /// Read seeds from this file, packed with gzip or not, or from this folder of a collection
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,

    /// The spider they are for [default: default]
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// What the files and standard input hold; found out from name and content when not given
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
    /// One URL a line; # begins a remark
    Urls,
    /// One host a line, or rank,host, or the lines of a hosts file: their home pages
    Hosts,
    /// A DNS zone file: hosts and delegated names
    Zone,
    /// A sitemap; the files that an index names are told, not fetched
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
    /// All spiders: state, counts, settings (also without a word)
    #[command(after_help = "Examples:
  harvestman spider list
  harvestman spider list --json")]
    List,

    /// A new spider, with its seeds and settings
    #[command(after_help = "Examples:
  harvestman spider add news https://news.example/ --set crawl.depth=3
  harvestman spider add pt https://example.pt/ --set crawl.scope=any --set crawl.pages=10000")]
    Add(SpiderAdd),

    /// Other settings; a running crawl follows within seconds
    #[command(after_help = "Examples:
  harvestman spider edit news --set etiquette.delay=5s
  harvestman spider edit news --unset crawl.depth")]
    Edit(SpiderEdit),

    /// No more visits for it, until it is resumed
    #[command(after_help = "Examples:
  harvestman spider pause news
  harvestman spider pause news --reason ill")]
    Pause {
        #[arg(value_name = "NAME")]
        name: String,

        /// Why, for those who ask later
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },

    /// Go on with a paused one
    #[command(after_help = "Examples:
  harvestman spider resume news")]
    Resume {
        #[arg(value_name = "NAME")]
        name: String,
    },

    /// Take it away; what it brought stays in the collection
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

    /// Where it begins; more with `harvestman seed --spider NAME`
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// A value of its own for a key of the configuration
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Clone, Debug, Args)]
pub struct SpiderEdit {
    #[arg(value_name = "NAME")]
    pub name: String,

    /// A value of its own for a key of the configuration
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// No longer a value of its own: the collection's holds again
    #[arg(long, value_name = "KEY")]
    pub unset: Vec<String>,
}
