//! What `crawl`, `run` and `config` are told: above all the flags that stand for keys of the configuration.

use clap::{Args, Subcommand};

use config::FlagValues;

#[derive(Clone, Debug, Args)]
pub struct CrawlArgs {
    /// Seeds; without URLs, continue with what the collection knows
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Visit all known pages now, due or not
    #[arg(long)]
    pub fresh: bool,

    /// Fetch only the given pages, store nothing, and show which links would be followed
    #[arg(long, requires = "urls", conflicts_with = "fresh")]
    pub dry_run: bool,

    #[command(flatten)]
    pub flags: CrawlFlags,
}

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub flags: CrawlFlags,
}

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: Option<ConfigAction>,

    #[command(flatten)]
    pub flags: CrawlFlags,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ConfigAction {
    /// Check everything a crawl would read, and say when changes take effect
    #[command(after_help = "Examples:
  harvestman config check
  harvestman -C news config check --json

Looks at harvest.toml, variables, spiders, scripts and the files they name. Exit code 2 when
something is wrong.")]
    Check(Box<ConfigCheckArgs>),
}

#[derive(Clone, Debug, Args)]
pub struct ConfigCheckArgs {
    #[command(flatten)]
    pub flags: CrawlFlags,
}

#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    #[command(flatten)]
    pub flags: CrawlFlags,
}

#[derive(Clone, Debug, Args)]
pub struct RegatherArgs {
    /// Only the pages of this site
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,

    #[command(flatten)]
    pub flags: CrawlFlags,
}

/// Flags of `crawl` and `run`, each standing for a key of the configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options that set a key of harvest.toml")]
pub struct CrawlFlags {
    /// Maximum number of pages to fetch; the limit is exact [crawl.pages]
    #[arg(long, value_name = "N")]
    pub pages: Option<String>,

    /// Maximum number of pages to fetch from one site [crawl.site_pages]
    #[arg(long, value_name = "N")]
    pub site_pages: Option<String>,

    /// Maximum number of links from a site's entry page [crawl.depth]
    #[arg(long, value_name = "N")]
    pub depth: Option<String>,

    /// Stop after this time, such as 30s or 2h [crawl.for]
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,

    /// Delay between requests to one site; 0 for your own [etiquette.delay]
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,

    /// Maximum number of connections to one site [etiquette.connections]
    #[arg(long, value_name = "N")]
    pub connections: Option<String>,

    /// What may be crawled: site, domain, prefix, listed or any [crawl.scope]
    #[arg(long, value_name = "WORD")]
    pub scope: Option<String>,

    /// Links to other sites in scope: ignore, home, deep or combined [crawl.external]
    #[arg(long, value_name = "WORD")]
    pub external: Option<String>,

    /// Use this address for these hosts, such as '*.example=127.0.0.1' [fetch.resolve]
    #[arg(long, value_name = "PATTERN=ADDR")]
    pub resolve: Vec<String>,

    /// Visit these private addresses too, such as 127.0.0.1 or 10.0.0.0/8 [fetch.allow_address]
    #[arg(long, value_name = "CIDR")]
    pub allow_address: Vec<String>,

    /// Also fetch images, styles, scripts and fonts of pages [crawl.requisites]
    #[arg(long)]
    pub requisites: bool,

    /// Keep documents of all media types, not only HTML and plain text [fetch.media_types]
    #[arg(long)]
    pub all_types: bool,

    /// Proxy for all requests: http://, socks5:// or socks5h:// [fetch.proxy]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,

    /// How webmasters can reach you: mail address or URL [etiquette.contact]
    #[arg(long, value_name = "TEXT")]
    pub contact: Option<String>,

    /// The whole User-Agent header [etiquette.user_agent]
    #[arg(long, value_name = "TEXT")]
    pub user_agent: Option<String>,
}

impl CrawlFlags {
    /// What was given, by the names of the keys.
    pub fn values(&self) -> FlagValues {
        let once = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
        vec![
            ("crawl.pages", once(&self.pages)),
            ("crawl.site_pages", once(&self.site_pages)),
            ("crawl.depth", once(&self.depth)),
            ("crawl.for", once(&self.time)),
            ("crawl.scope", once(&self.scope)),
            ("crawl.external", once(&self.external)),
            ("crawl.requisites", self.requisites.then(|| "true".to_owned()).into_iter().collect()),
            ("fetch.media_types", self.all_types.then(|| "*/*".to_owned()).into_iter().collect()),
            ("etiquette.delay", once(&self.delay)),
            ("etiquette.connections", once(&self.connections)),
            ("etiquette.contact", once(&self.contact)),
            ("etiquette.user_agent", once(&self.user_agent)),
            ("fetch.proxy", once(&self.proxy)),
            ("fetch.resolve", self.resolve.clone()),
            ("fetch.allow_address", self.allow_address.clone()),
        ]
    }
}
