//! The command line as data: what can be typed. No work is done here; see [`crate::commands`].
//!
//! Flags that set a key of the configuration are plain texts here; the key's own rules read them, so
//! that a mistake is told in the same words whether it stands in a file, a variable or a flag.

mod laboratory;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::laboratory::SimulateArgs;
use crate::config::FlagValues;

#[derive(Clone, Debug, Parser)]
#[command(
    name = "harvestman",
    version,
    about = "A polite web crawler that keeps every version of every page",
    after_help = "Examples:
  harvestman demo                           see a crawl of a simulated web, offline
  harvestman crawl https://example.org      crawl a site into ./harvest
  harvestman status                         what the collection holds
  harvestman -C news run --for 2h           crawl the collection ./news for two hours

The same command goes on where it was stopped. Ctrl-C once finishes what is in flight.
Exit codes: 0 done, 1 nothing could be fetched, 2 usage or configuration, 3 stopped by a fault.",
    disable_help_subcommand = true,
    propagate_version = true
)]
pub struct Cli {
    /// The collection: a folder [default: ./harvest] [env: HARVESTMAN_COLLECTION]
    #[arg(
        short = 'C',
        long,
        global = true,
        value_name = "DIR|URL",
        env = "HARVESTMAN_COLLECTION",
        hide_env = true
    )]
    pub collection: Option<String>,

    /// Write listings, summaries and failures as JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// No progress and no remarks
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Tell more (-v what happens, -vv details, -vvv everything)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Crawl now: all that is new or due, then end
    #[command(after_help = "Examples:
  harvestman crawl https://example.org
  harvestman crawl https://example.org --pages 1000 --depth 3
  harvestman crawl https://example.org/docs/ --scope prefix --delay 5s
  harvestman -C mine crawl http://localhost:8000 --delay 0 --allow-address 127.0.0.1
  harvestman crawl https://example.org --dry-run      what would be taken from this page
  harvestman crawl                          go on with what ./harvest knows")]
    Crawl(CrawlArgs),

    /// Keep crawling: revisit and discover until stopped
    #[command(after_help = "Examples:
  harvestman run
  harvestman run --for 2h --pages 10000
  harvestman -C news run --quiet")]
    Run(RunArgs),

    /// Make an empty collection with a commented harvest.toml
    #[command(after_help = "Examples:
  harvestman init
  harvestman -C news init")]
    Init,

    /// Add seeds; a running crawl takes them up within seconds
    #[command(after_help = "Examples:
  harvestman seed https://example.org https://example.net
  harvestman seed --file seeds.txt
  harvestman seed --from hosts --file top-sites.csv
  harvestman seed --from zone --file pt.zone.gz
  harvestman seed --file sitemap.xml.gz --file feeds.opml
  harvestman -C all seed --from collection --file ./news
  grep -v '^#' list.txt | harvestman seed -")]
    Seed(SeedArgs),

    /// Keep away from URLs, hosts, domains or addresses; a running crawl obeys within seconds
    #[command(after_help = "Examples:
  harvestman block https://example.org/private/* shop.example.org
  harvestman block .example.org 192.0.2.0/24 --reason 'their wish'
  harvestman block --file hosts.txt
  harvestman block .example.org --remove
  harvestman block --list

What to block: a URL, a prefix that ends in *, a host, a domain with all under it (.example.org),
an address or a range of addresses.")]
    Block(BlockArgs),

    /// Several crawls in one collection, each with its own seeds, scope, limits and manners
    #[command(after_help = "Examples:
  harvestman spider
  harvestman spider add news https://news.example/ --set crawl.depth=3 --set revisit.period=1h
  harvestman spider edit news --set etiquette.delay=5s --unset crawl.depth
  harvestman spider pause news --reason ill
  harvestman spider resume news
  harvestman seed --spider news https://other.example/

A spider's settings lie over harvest.toml and under flags; crawl.pages, crawl.bytes, crawl.for and
etiquette.max_fetches are its own limits, beside those of the collection. A running crawl follows
every change within seconds.")]
    Spider(SpiderArgs),

    /// Take everything of a URL, a site or a domain out of the collection, for good, and keep it out
    #[command(after_help = "Examples:
  harvestman forget shop.example.org --dry-run      what would be removed
  harvestman forget shop.example.org
  harvestman forget https://example.org/private/letter.html
  harvestman forget --domain example.org
  harvestman forget --list
  harvestman forget --undo shop.example.org

What to forget: a URL (all versions of this one page), a site (a host) or a domain with all under it
(--domain example.org or .example.org). It asks nothing and cannot be taken back: look first with
--dry-run. --undo only lets it in again.")]
    Forget(ForgetArgs),

    /// What the collection holds, how fast it grows, and where the time goes
    #[command(after_help = "Examples:
  harvestman status
  harvestman -C news status --json")]
    Status,

    /// Every value of the configuration and where it comes from; `config check` looks for mistakes
    #[command(after_help = "Examples:
  harvestman config
  harvestman config check                   everything that is wrong, at once
  harvestman config --json
  harvestman config --delay 5s              what a flag would change
  HARVESTMAN_ETIQUETTE_DELAY=5s harvestman config")]
    Config(ConfigArgs),

    /// Why a URL is or is not crawled, and when it will be visited next
    #[command(after_help = "Examples:
  harvestman explain https://example.org/login
  harvestman explain https://example.org/ --json")]
    Explain(ExplainArgs),

    /// What was refused and why: counts, rules, examples, and how to lift each
    #[command(after_help = "Examples:
  harvestman decisions
  harvestman decisions --reason robots --limit 50
  harvestman decisions --site example.org --json")]
    Decisions(DecisionsArgs),

    /// The latest version of a page
    #[command(after_help = "Examples:
  harvestman show https://example.org/
  harvestman show https://example.org/ --headers
  harvestman show https://example.org/ --html > page.html")]
    Show(ShowArgs),

    /// Verify a collection: database, volumes and links agree
    #[command(after_help = "Examples:
  harvestman check
  harvestman check --repair
  harvestman -C news check --json")]
    Check(CheckArgs),

    /// Serve a simulated web on loopback, to crawl without harming anybody
    #[command(after_help = "Examples:
  harvestman simweb
  harvestman simweb --sites 50 --site-pages 200 --listen 127.0.0.1:8080")]
    Simweb(SimwebArgs),

    /// Crawl a simulated web before your eyes, offline, in half a minute
    #[command(after_help = "Examples:
  harvestman demo
  harvestman -C /tmp/demo demo --sites 20")]
    Demo(DemoArgs),

    /// How fresh each policy would keep pages: the real ones, against the best possible, in simulated days
    #[command(after_help = "Examples:
  harvestman simulate
  harvestman simulate --population D2 --budget b,c --policy value,profit
  harvestman simulate --full --json --svg freshness.svg
  harvestman simulate --hosts-limited --bursts --failing 2 --policy value
  harvestman simulate --signals --population D2 --budget b --policy value
  harvestman -C news simulate --history --budget 5000
  harvestman simulate --csv changes.csv

All pages are fetched once on day 0; from then on each policy has the same visits a day and learns
from what it sees. The oracle knows how often each page changes.")]
    Simulate(SimulateArgs),

    /// Completions for your shell
    #[command(after_help = "Examples:
  harvestman completions bash > ~/.local/share/bash-completion/completions/harvestman
  harvestman completions zsh > ~/.zfunc/_harvestman
  harvestman completions fish > ~/.config/fish/completions/harvestman.fish")]
    Completions(CompletionsArgs),

    /// Manual pages: that of the program, or with --out one file for each command
    #[command(after_help = "Examples:
  harvestman man > harvestman.1
  harvestman man --out ~/.local/share/man/man1")]
    Man(ManArgs),
}

#[derive(Clone, Debug, Args)]
pub struct CrawlArgs {
    /// Where to begin; without URLs, go on with what the collection knows
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Visit all known pages now, due or not
    #[arg(long)]
    pub fresh: bool,

    /// Fetch only the given pages, keep nothing, and show which of their links would be taken
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
    /// Look for mistakes in everything a crawl would read, and say when changes take effect
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

/// Flags of `crawl` and `run`, each standing for a key of the configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options that set a key of harvest.toml")]
pub struct CrawlFlags {
    /// Most pages to fetch in all [crawl.pages]
    #[arg(long, value_name = "N")]
    pub pages: Option<String>,

    /// Most pages to fetch from one site [crawl.site_pages]
    #[arg(long, value_name = "N")]
    pub site_pages: Option<String>,

    /// Most links to follow from a site's entry page [crawl.depth]
    #[arg(long, value_name = "N")]
    pub depth: Option<String>,

    /// End after this time, such as 30s or 2h [crawl.for]
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,

    /// Pause between two requests to one site; 0 for your own [etiquette.delay]
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,

    /// Connections to one site at the same time [etiquette.connections]
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

    /// Fetch and archive what pages need to be shown: images, styles, scripts [crawl.requisites]
    #[arg(long)]
    pub requisites: bool,

    /// Proxy for all requests: http://, socks5:// or socks5h:// [fetch.proxy]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,

    /// Where a webmaster can reach you: mail address or URL [etiquette.contact]
    #[arg(long, value_name = "TEXT")]
    pub contact: Option<String>,

    /// The whole User-Agent line [etiquette.user_agent]
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

#[derive(Clone, Debug, Args)]
pub struct SeedArgs {
    /// URLs, or - to read seeds from standard input
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
pub struct DecisionsArgs {
    /// Only this reason, such as robots, scope or blocked
    #[arg(long, value_name = "WORD")]
    pub reason: Option<String>,

    /// Only on this site: its own pages, and what they link to
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Rules shown, those that refused most first
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub limit: u32,
}

#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// As this spider sees it [default: the one whose page it is, else all]
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    #[arg(value_name = "URL")]
    pub url: String,
}

#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    #[arg(value_name = "URL")]
    pub url: String,

    /// Visible text (the default)
    #[arg(long, group = "part")]
    pub text: bool,

    /// The body as it was served
    #[arg(long, group = "part")]
    pub html: bool,

    /// The head of the answer
    #[arg(long, group = "part")]
    pub headers: bool,
}

#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Set counters and dues to what the rows say
    #[arg(long)]
    pub repair: bool,
}

#[derive(Clone, Debug, Args)]
pub struct SimwebArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: String,

    /// Number of sites
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub sites: u32,

    /// Pages of each site
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub site_pages: u32,

    /// The number from which the whole web is computed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Number of simulated sites
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sites: u32,

    /// The number from which the simulated web is computed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::config::keys::KEYS;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples_of_itself() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            let own = help.lines().skip(1).filter(|line| {
                line.contains("harvestman ") && line.split_whitespace().any(|word| word == name)
            });
            assert!(help.starts_with("Examples:\n") && own.count() > 0, "{name}: {help}");
        }
    }

    #[test]
    fn every_example_in_the_help_can_be_typed() {
        let mut texts = vec![Cli::command().get_after_help().unwrap().to_string()];
        for command in Cli::command().get_subcommands() {
            texts.push(command.get_after_help().unwrap().to_string());
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            let Some(start) = line.find("harvestman ").filter(|_| line.starts_with("  ")) else {
                continue;
            };
            let typed = line[start..].split(" > ").next().unwrap().split("      ").next().unwrap();
            let words = typed.split_whitespace().map(|word| word.trim_matches('\''));
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn flags_and_keys_name_each_other() {
        let flags: Vec<&str> = CrawlFlags::default().values().iter().map(|(key, _)| *key).collect();
        for key in KEYS {
            assert_eq!(key.flag.is_some(), flags.contains(&key.name), "{}", key.name);
        }
        let command = Cli::command();
        let crawl = command.find_subcommand("crawl").unwrap();
        for key in KEYS.iter().filter(|key| key.flag.is_some()) {
            let arg = crawl.get_arguments().find(|arg| arg.get_long() == key.flag).expect(key.name);
            let help = arg.get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[{}]", key.name)), "{help}");
        }
    }

    #[test]
    fn the_flags_promised_to_scripts_are_taken() {
        let cli = Cli::try_parse_from([
            "harvestman",
            "crawl",
            "http://a.example/",
            "-C",
            "x",
            "--pages",
            "5",
            "--site-pages",
            "4",
            "--depth",
            "3",
            "--for",
            "1m",
            "--delay",
            "0",
            "--connections",
            "2",
            "--scope",
            "any",
            "--resolve",
            "*.example=127.0.0.1",
            "--resolve",
            "b=127.0.0.1",
            "--allow-address",
            "127.0.0.0/8",
            "--proxy",
            "http://p:1",
            "--json",
            "--quiet",
        ])
        .unwrap();
        assert!(cli.json && cli.quiet);
        let Command::Crawl(args) = cli.command else { panic!() };
        assert_eq!(args.flags.resolve.len(), 2);
        assert_eq!(args.flags.time.as_deref(), Some("1m"));
    }
}
