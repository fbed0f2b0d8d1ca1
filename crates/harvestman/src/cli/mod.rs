//! The command line as data: what can be typed. No work is done here; see [`crate::commands`].
//! Here are the commands by name; what each is told stands in the file of its kind.
//!
//! Flags that set a key of the configuration are plain texts here; the key's own rules read them, so
//! that a mistake is told in the same words whether it stands in a file, a variable or a flag.

use std::str::FromStr;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

mod ask;
mod batch;
mod control;
mod crawl;
mod export;
mod history;
mod keep;
mod laboratory;
mod listing;
mod overview;
mod replicas;
mod seeds;
mod shell;
mod simulated;
#[cfg(test)]
mod tests;
mod webhook;

pub use ask::*;
pub use batch::*;
pub use control::*;
pub use crawl::*;
pub use export::*;
pub use history::*;
pub use keep::*;
pub use laboratory::*;
pub use listing::*;
pub use replicas::*;
pub use seeds::*;
pub use shell::*;
pub use simulated::*;
pub use webhook::*;

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

A stopped crawl continues with the same command. Ctrl-C finishes what is in flight;
a second Ctrl-C exits at once.
Exit codes: 0 done, 1 nothing could be fetched, 2 usage or configuration, 3 stopped by a fault,
4 stopped before the end by a signal or harvestman stop.",
    disable_help_subcommand = true,
    propagate_version = true
)]
pub struct Cli {
    /// Folder of the collection [default: ./harvest] [env: HARVESTMAN_COLLECTION]
    #[arg(
        short = 'C',
        long,
        global = true,
        value_name = "DIR",
        env = "HARVESTMAN_COLLECTION",
        hide_env = true
    )]
    pub collection: Option<String>,

    /// Write listings, summaries and failures as JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// Suppress progress and messages
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Log more: sites and failures (-v), every response (-vv), every step (-vvv)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// What was typed; a mistake ends the program with a sentence about it.
    pub fn typed() -> Cli {
        let command = overview::grouped(taking_negatives(Cli::command()));
        Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// `--limit -1` is a wrong value, of which can be said what is allowed, and no unknown flag.
fn taking_negatives(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let takes = arg.get_action().takes_values();
            arg.allow_negative_numbers(takes)
        })
        .mut_subcommands(taking_negatives)
}

/// A whole number of a type for which clap has no words of its own.
fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "give a whole number, 0 or more".to_owned())
}

#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Crawl everything that is new or due, then exit
    #[command(after_help = "Examples:
  harvestman crawl https://example.org
  harvestman crawl https://example.org --pages 1000 --depth 3
  harvestman crawl https://example.org/docs/ --scope prefix --delay 5s
  harvestman -C mine crawl http://localhost:8000 --delay 0 --allow-address 127.0.0.1
  harvestman crawl https://example.org --dry-run      what would be taken from this page
  harvestman crawl                          continue with what ./harvest knows")]
    Crawl(CrawlArgs),

    /// Crawl continuously: revisit and discover until stopped
    #[command(after_help = "Examples:
  harvestman run
  harvestman run --for 2h --pages 10000
  harvestman -C news run --quiet")]
    Run(RunArgs),

    /// Pause the running crawl: no new requests until `resume`
    #[command(after_help = "Examples:
  harvestman pause
  harvestman -C news pause

Requests in flight are finished and saved. A crawl that has a time limit ends when that is reached,
paused or not; a crawl that is started later is not paused.")]
    Pause,

    /// Continue a crawl that was paused
    #[command(after_help = "Examples:
  harvestman resume
  harvestman -C news resume")]
    Resume,

    /// Stop the running crawl cleanly, as Ctrl-C does
    #[command(after_help = "Examples:
  harvestman stop
  harvestman -C news stop --json

Requests in flight are finished and everything is saved; the same crawl command continues later.")]
    Stop,

    /// Create an empty collection with a commented harvest.toml
    #[command(after_help = "Examples:
  harvestman init
  harvestman -C news init")]
    Init,

    /// Add seeds; a running crawl picks them up within seconds
    #[command(after_help = "Examples:
  harvestman seed https://example.org https://example.net
  harvestman seed --file seeds.txt
  harvestman seed --from hosts --file top-sites.csv
  harvestman seed --from zone --file pt.zone.gz
  harvestman seed --file sitemap.xml.gz --file feeds.opml
  harvestman -C all seed --from collection --file ./news
  grep -v '^#' list.txt | harvestman seed -")]
    Seed(SeedArgs),

    /// Visit a known page now, before its next visit is due
    #[command(after_help = "Examples:
  harvestman visit https://example.org/news
  harvestman -C news visit https://example.org/ --json

A running crawl visits the page as soon as its site may be asked again; otherwise the next crawl
does.")]
    Visit(VisitArgs),

    /// Block URLs, hosts, domains or addresses
    #[command(after_help = "Examples:
  harvestman block https://example.org/private/* shop.example.org
  harvestman block .example.org 192.0.2.0/24 --reason 'on request'
  harvestman block --file hosts.txt
  harvestman block .example.org --remove
  harvestman block --list

What to block: a URL, a prefix that ends in *, a host, a domain with its subdomains
(.example.org), an address or a range of addresses.")]
    Block(BlockArgs),

    /// List pages quarantined after crashing the parser, and release them
    #[command(after_help = "Examples:
  harvestman quarantine
  harvestman quarantine --json
  harvestman quarantine lift https://example.org/strange.html
  harvestman quarantine lift example.org

A page that crashes the parser or the process three times is no longer fetched, and
neither is a site with three such pages. What was archived is kept.")]
    Quarantine(QuarantineArgs),

    /// List crawler traps that were detected, and lift them
    #[command(after_help = "Examples:
  harvestman traps
  harvestman traps --site shop.example.org --json
  harvestman traps lift shop.example.org '/cal?m=*&y=*'
  harvestman traps lift shop.example.org
  harvestman traps watch shop.example.org

Without a pattern, all traps of the site are lifted and its skipped pages are visited;
`traps watch` turns detection on again. A running crawl follows within seconds. The
thresholds are the keys hazards.* in harvest.toml; see docs/hazards.md.")]
    Traps(TrapsArgs),

    /// Manage spiders: crawls with their own seeds, scope and limits
    #[command(after_help = "Examples:
  harvestman spider
  harvestman spider add news https://news.example/ --set crawl.depth=3 --set revisit.period=1h
  harvestman spider edit news --set etiquette.delay=5s --unset crawl.depth
  harvestman spider pause news --reason maintenance
  harvestman spider resume news
  harvestman seed --spider news https://other.example/

A spider's settings override harvest.toml and are overridden by flags. crawl.pages,
crawl.bytes, crawl.for and etiquette.max_fetches limit the spider in addition to the
limits of the collection. A running crawl follows every change within seconds.")]
    Spider(SpiderArgs),

    /// Permanently delete a URL, site or domain and keep it out
    #[command(after_help = "Examples:
  harvestman forget shop.example.org --dry-run      what would be removed
  harvestman forget shop.example.org
  harvestman forget https://example.org/private/letter.html
  harvestman forget --domain example.org
  harvestman forget --list
  harvestman forget --undo shop.example.org

What to forget: a URL (all versions of one page), a site (a host), or a domain with its
subdomains (--domain example.org or .example.org). There is no confirmation and no way
back: use --dry-run first. --undo only allows it to be crawled again.")]
    Forget(ForgetArgs),

    /// Delete old versions by rule or size; the latest one is kept
    #[command(after_help = "Examples:
  harvestman thin --dry-run                 what would be removed
  harvestman thin
  harvestman -C news thin --json

store.keep (\"all 30d, then 1 per 7d\") and store.versions_bytes_max in harvest.toml say
what is kept. Every visit stays in the history, marked as having no stored content.")]
    Thin(ThinArgs),

    /// Show what the collection holds, its speed, and where the time goes
    #[command(after_help = "Examples:
  harvestman status
  harvestman -C news status --json")]
    Status,

    /// List pages, with filters and an order
    #[command(after_help = "Examples:
  harvestman pages
  harvestman pages --site example.org --state gone
  harvestman pages --status 4xx --sort visited
  harvestman pages --prefix https://example.org/docs/ --limit 1000 --csv > docs.csv
  harvestman pages --json --after CURSOR

Orders other than id are for at most 100,000 pages; a filter such as --site may be needed.
See docs/listing.md.")]
    Pages(PagesArgs),

    /// List sites, with filters and an order
    #[command(after_help = "Examples:
  harvestman sites
  harvestman sites --domain example.org --sort bytes
  harvestman sites --down
  harvestman sites --limit 1000 --csv > sites.csv

Orders other than site are for at most 100,000 sites. See docs/listing.md.")]
    Sites(SitesArgs),

    /// Show every setting and its origin; `config check` validates them
    #[command(after_help = "Examples:
  harvestman config
  harvestman config check                   list all mistakes
  harvestman config --json
  harvestman config --delay 5s              what a flag would change
  HARVESTMAN_ETIQUETTE_DELAY=5s harvestman config")]
    Config(ConfigArgs),

    /// Explain why a URL is or is not crawled, and when it is due
    #[command(after_help = "Examples:
  harvestman explain https://example.org/login
  harvestman explain https://example.org/ --json")]
    Explain(ExplainArgs),

    /// List what was refused, by rule, with examples and how to allow it
    #[command(after_help = "Examples:
  harvestman decisions
  harvestman decisions --reason robots --limit 50
  harvestman decisions --site example.org --json")]
    Decisions(DecisionsArgs),

    /// List the visits of a page: new, changed, unchanged, gone
    #[command(after_help = "Examples:
  harvestman history https://example.org/
  harvestman history https://example.org/ --all
  harvestman history https://example.org/ --json

The numbers in the first column are for show --version and diff. Times are UTC.")]
    History(HistoryArgs),

    /// Show a version of a page as text, HTML or headers
    #[command(
        disable_version_flag = true,
        after_help = "Examples:
  harvestman show https://example.org/
  harvestman show https://example.org/ --headers
  harvestman show https://example.org/ --html > page.html
  harvestman show https://example.org/ --at 2026-11-01
  harvestman show https://example.org/ --at 2026-11-01T20:00:00Z --html
  harvestman show https://example.org/ --version 3"
    )]
    Show(ShowArgs),

    /// Show what changed between two versions of a page
    #[command(after_help = "Examples:
  harvestman diff https://example.org/
  harvestman diff https://example.org/ 3
  harvestman diff https://example.org/ 2026-11-01 2026-11-15
  harvestman diff https://example.org/ 1 4 --source --color always
  harvestman diff https://example.org/ --html changes.html

A version is given by its number in `harvestman history`, or by a time: the version
that was current then.")]
    Diff(DiffArgs),

    /// List new, changed, gone and returned pages
    #[command(after_help = "Examples:
  harvestman changes
  harvestman changes --since yesterday --words
  harvestman changes --site example.org --limit 200
  harvestman changes --spider news --atom news.atom
  harvestman changes --after 1041 --json

With --json each change is an object on its own line. The last line, {next, more},
is for --after in the next call: no change is repeated and none is missed.")]
    Changes(ChangesArgs),

    /// List the links to and from a page, with anchor text and status
    #[command(after_help = "Examples:
  harvestman links https://example.org/about
  harvestman links https://example.org/about --in --limit 500
  harvestman links https://example.org/ --out --all
  harvestman links https://example.org/ --csv > links.csv

The page need not be in the collection: other pages may link to it. See docs/links.md.")]
    Links(LinksArgs),

    /// Reports: adaptation, hazards, duplicates, mirrors, broken links
    #[command(after_help = "Examples:
  harvestman report adaptation
  harvestman report adaptation --spider news --json
  harvestman report hazards
  harvestman report duplicates
  harvestman report broken --site example.org
  harvestman report mirrors")]
    Report(ReportArgs),

    /// List, detect and override mirror sites
    #[command(
        name = "mirrors",
        alias = "replicas",
        after_help = "Examples:
  harvestman mirrors                        the list, with what is done about each
  harvestman mirrors find
  harvestman mirrors lift www.example.org
  harvestman report mirrors                 all evidence, by any heuristic

hazards.mirrors in harvest.toml says what is done about them: off, report or fold.
See docs/hazards.md."
    )]
    Replicas(ReplicasArgs),

    /// Webhooks: delivery status, failed deliveries, retries
    #[command(after_help = "Examples:
  harvestman webhook                        status of each webhook
  harvestman webhook test
  harvestman webhook deliver
  harvestman webhook dead
  harvestman webhook retry --all

Webhooks are [[webhook]] tables in harvest.toml; a crawl delivers while it runs.
See docs/webhooks.md.")]
    Webhook(WebhookArgs),

    /// Export pages as files
    #[command(after_help = "Examples:
  harvestman export directory --out pages
  harvestman export directory --out today --from yesterday --site example.org")]
    Export(ExportArgs),

    /// Crawl part of the collection on another machine
    #[command(after_help = "Examples:
  harvestman batch export monday.batch --pages 50000
  harvestman batch harvest monday.batch --out monday      on the other machine
  harvestman batch import monday
  harvestman batch list
  harvestman batch cancel 3

While a batch is out, its sites are not visited here; when its lease ends they are due
again. See docs/batch.md.")]
    Batch(BatchArgs),

    /// Verify that database, volumes and links agree
    #[command(after_help = "Examples:
  harvestman check
  harvestman check --repair
  harvestman -C news check --json")]
    Check(CheckArgs),

    /// Make database and links again from the volumes
    #[command(after_help = "Examples:
  harvestman rebuild
  harvestman -C news rebuild --json
  harvestman rebuild --scope domain         as the crawls were that filled it

For a collection whose crawl.db or links are lost or damaged. What a rebuild that was
stopped has done is kept: the same command continues. The old files are moved aside.
See docs/rebuild.md.")]
    Rebuild(Box<RebuildArgs>),

    /// Read archived pages again with today's parser and settings
    #[command(after_help = "Examples:
  harvestman regather
  harvestman regather --site example.org
  harvestman -C news regather --json

After an upgrade, or a change of parse.* or of the scope: titles, text and links of the
latest version of every page are taken from the archive again. Nothing is fetched.
A run that was stopped continues. See docs/rebuild.md.")]
    Regather(Box<RegatherArgs>),

    /// Serve a simulated web on loopback
    #[command(after_help = "Examples:
  harvestman simweb
  harvestman simweb --sites 50 --site-pages 200 --listen 127.0.0.1:8080")]
    Simweb(SimwebArgs),

    /// Crawl a simulated web, offline, in half a minute
    #[command(after_help = "Examples:
  harvestman demo
  harvestman -C /tmp/demo demo --sites 20")]
    Demo(DemoArgs),

    /// Compare revisit policies in simulated days with the best possible
    #[command(after_help = "Examples:
  harvestman simulate
  harvestman simulate --population D2 --budget b,c --policy value,profit
  harvestman simulate --full --json --svg freshness.svg
  harvestman simulate --hosts-limited --bursts --failing 2 --policy value
  harvestman simulate --signals --population D2 --budget b --policy value
  harvestman -C news simulate --history --budget 5000
  harvestman simulate --csv changes.csv

All pages are fetched once on day 0; after that each policy has the same number of
visits a day and learns from what it sees. The oracle knows how often pages change.")]
    Simulate(SimulateArgs),

    /// Generate shell completions
    #[command(after_help = "Examples:
  harvestman completions bash > ~/.local/share/bash-completion/completions/harvestman
  harvestman completions zsh > ~/.zfunc/_harvestman
  harvestman completions fish > ~/.config/fish/completions/harvestman.fish")]
    Completions(CompletionsArgs),

    /// Generate manual pages
    #[command(after_help = "Examples:
  harvestman man > harvestman.1
  harvestman man --out ~/.local/share/man/man1")]
    Man(ManArgs),
}
