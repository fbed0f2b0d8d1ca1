//! What `batch` is told: part of the collection to be harvested elsewhere.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use config::FlagValues;

#[derive(Clone, Debug, Args)]
pub struct BatchArgs {
    #[command(subcommand)]
    pub command: Option<BatchCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum BatchCommand {
    /// List the exported batches and when their leases end (the default)
    #[command(after_help = "Examples:
  harvestman batch list
  harvestman batch list --json")]
    List,

    /// Choose due pages, lease their sites and write them to a file
    #[command(after_help = "Examples:
  harvestman batch export monday.batch
  harvestman batch export monday.batch --pages 50000 --lease 3d
  harvestman -C news batch export news.batch --spider news

With revisit.policy = \"profit\" the pages are those whose visit adds most, at most
revisit.batch_site_max of a site; else what is due now.")]
    Export(BatchExportArgs),

    /// Crawl a batch into a folder of its own; the same command continues
    #[command(after_help = "Examples:
  harvestman batch harvest monday.batch --out monday
  harvestman batch harvest monday.batch --out monday --for 2h --proxy socks5h://127.0.0.1:9050")]
    Harvest(BatchHarvestArgs),

    /// Import the visits of a batch and end its leases
    #[command(after_help = "Examples:
  harvestman batch import monday
  harvestman -C news batch import /media/stick/monday --json
  harvestman batch import monday --partial")]
    Import {
        /// The folder of `batch harvest`
        #[arg(value_name = "DIR")]
        dir: PathBuf,

        /// Import although pages are left; their sites stay leased to the batch
        #[arg(long)]
        partial: bool,
    },

    /// Cancel a batch: end its leases without an import
    #[command(after_help = "Examples:
  harvestman batch cancel 3")]
    Cancel {
        /// The number shown by `batch list`
        #[arg(value_name = "NUMBER")]
        id: i64,
    },
}

#[derive(Clone, Debug, Args)]
pub struct BatchExportArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Maximum number of pages [default: revisit.batch with the policy profit, else 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pages: Option<u32>,

    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// How long its sites are leased to the batch
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub lease: String,
}

#[derive(Clone, Debug, Args)]
pub struct BatchHarvestArgs {
    /// The file written by `batch export`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The folder to crawl into; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Stop after this time, such as 30s or 2h [crawl.for]
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,

    /// Proxy for all requests: http://, socks5:// or socks5h:// [fetch.proxy]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,

    /// Use this address for these hosts, such as '*.example=127.0.0.1' [fetch.resolve]
    #[arg(long, value_name = "PATTERN=ADDR")]
    pub resolve: Vec<String>,

    /// Visit these private addresses too, such as 127.0.0.1 or 10.0.0.0/8 [fetch.allow_address]
    #[arg(long, value_name = "CIDR")]
    pub allow_address: Vec<String>,
}

impl BatchHarvestArgs {
    /// What was given, by the names of the keys.
    pub fn flags(&self) -> FlagValues {
        let once = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
        vec![
            ("crawl.for", once(&self.time)),
            ("fetch.proxy", once(&self.proxy)),
            ("fetch.resolve", self.resolve.clone()),
            ("fetch.allow_address", self.allow_address.clone()),
        ]
    }
}
