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
    /// Batches that are out and when their leases end (also without a word)
    #[command(after_help = "Examples:
  harvestman batch list
  harvestman batch list --json")]
    List,

    /// Choose pages, lend their sites out and write them into a file
    #[command(after_help = "Examples:
  harvestman batch export monday.batch
  harvestman batch export monday.batch --pages 50000 --lease 3d
  harvestman -C news batch export news.batch --spider news

With revisit.policy = \"profit\" the pages are those whose visit adds most, at most
revisit.batch_site_max of a site; else what is due now.")]
    Export(BatchExportArgs),

    /// Harvest a batch into a folder of its own, without the collection; the same command goes on
    #[command(after_help = "Examples:
  harvestman batch harvest monday.batch --out monday
  harvestman batch harvest monday.batch --out monday --for 2h --proxy socks5h://127.0.0.1:9050")]
    Harvest(BatchHarvestArgs),

    /// Bring the visits of a harvested batch into the collection and give its sites back
    #[command(after_help = "Examples:
  harvestman batch import monday
  harvestman -C news batch import /media/stick/monday --json
  harvestman batch import monday --partial")]
    Import {
        /// The folder in which it was harvested
        #[arg(value_name = "DIR")]
        dir: PathBuf,

        /// Although pages of it are still to be visited: their sites stay out with the batch
        #[arg(long)]
        partial: bool,
    },

    /// Give the sites of a batch back: it will not come home
    #[command(after_help = "Examples:
  harvestman batch cancel 3")]
    Cancel {
        /// As `batch list` has it
        #[arg(value_name = "NUMBER")]
        id: i64,
    },
}

#[derive(Clone, Debug, Args)]
pub struct BatchExportArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Most pages [default: revisit.batch, or 100000 where the policy is another]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pages: Option<u32>,

    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// How long nobody else visits its sites
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub lease: String,
}

#[derive(Clone, Debug, Args)]
pub struct BatchHarvestArgs {
    /// What `batch export` has written
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The folder to harvest into; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// End after this time, such as 30s or 2h [crawl.for]
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
