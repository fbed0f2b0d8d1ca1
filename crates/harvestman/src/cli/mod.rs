//! The command line as data: what can be typed. No work is done here; see [`crate::commands`].
//! Here are the commands by name; what each is told stands in the file of its kind.
//!
//! Flags that set a key of the configuration are plain texts here; the key's own rules read them, so
//! that a mistake is told in the same words whether it stands in a file, a variable or a flag.

use std::str::FromStr;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

mod ask;
mod batch;
mod crawl;
mod export;
mod history;
mod keep;
mod laboratory;
mod replicas;
mod seeds;
mod shell;
mod simulated;
#[cfg(test)]
mod tests;
mod webhook;

pub use ask::*;
pub use batch::*;
pub use crawl::*;
pub use export::*;
pub use history::*;
pub use keep::*;
pub use laboratory::*;
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

impl Cli {
    /// What was typed; a mistake ends the program with a sentence about it.
    pub fn typed() -> Cli {
        Cli::from_arg_matches(&taking_negatives(Cli::command()).get_matches())
            .unwrap_or_else(|error| error.exit())
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

    /// Pages that broke their reading down, those that are left alone for it, and reading them again
    #[command(after_help = "Examples:
  harvestman quarantine
  harvestman quarantine --json
  harvestman quarantine lift https://example.org/strange.html
  harvestman quarantine lift example.org

A page on which the parser fails three times, or over which the process ends, is left alone; so is a
site with three such pages. What was harvested is kept.")]
    Quarantine(QuarantineArgs),

    /// Patterns of URLs that were found to be traps, and how to lift them
    #[command(after_help = "Examples:
  harvestman traps
  harvestman traps --site shop.example.org --json
  harvestman traps lift shop.example.org '/cal?m=*&y=*'
  harvestman traps lift shop.example.org
  harvestman traps watch shop.example.org

Without a pattern all of the site is lifted. What is lifted is left alone from then on, until `traps
watch` takes that back; pages that were left out for it are visited. A running crawl obeys within
seconds. What makes a trap is said by hazards.* in harvest.toml; see docs/hazards.md.")]
    Traps(TrapsArgs),

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

    /// Take old versions out of the archive, by rule or to keep within a budget; never the last of a page
    #[command(after_help = "Examples:
  harvestman thin --dry-run                 what would be removed
  harvestman thin
  harvestman -C news thin --json

What stays is said by store.keep (\"all 30d, then 1 per 7d\") and store.versions_bytes_max in
harvest.toml. Every visit stays in history, marked as one whose content is kept no more.")]
    Thin(ThinArgs),

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

    /// All visits of a page: when it was new, changed, gone, back, and how long it stayed the same
    #[command(after_help = "Examples:
  harvestman history https://example.org/
  harvestman history https://example.org/ --all
  harvestman history https://example.org/ --json

The numbers in the first column name versions for show --version and diff. Times are UTC.")]
    History(HistoryArgs),

    /// A version of a page, the latest or that of a time: text, HTML or headers
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

    /// What changed between two versions of a page: lines, and within them words
    #[command(after_help = "Examples:
  harvestman diff https://example.org/
  harvestman diff https://example.org/ 3
  harvestman diff https://example.org/ 2026-11-01 2026-11-15
  harvestman diff https://example.org/ 1 4 --source --color always
  harvestman diff https://example.org/ --html changes.html

Versions are told by their number in harvestman history or by a time: the version at hand then.")]
    Diff(DiffArgs),

    /// What changed in the collection: new, changed, gone and returned pages, in the order they were seen
    #[command(after_help = "Examples:
  harvestman changes
  harvestman changes --since yesterday --words
  harvestman changes --site example.org --limit 200
  harvestman changes --spider news --atom news.atom
  harvestman changes --after 1041 --json

With --json every change is an object on a line of its own; the last line is {next_after, more}: what
to give to --after the next time. Nothing is told twice and nothing is missed that way.")]
    Changes(ChangesArgs),

    /// Reports on a collection: how visits have adapted to the pages, which hazards were met, what is there twice
    #[command(after_help = "Examples:
  harvestman report adaptation
  harvestman report adaptation --spider news --json
  harvestman report hazards
  harvestman report duplicates
  harvestman report replicas")]
    Report(ReportArgs),

    /// Sites that serve what another serves: the list, looking for them, keeping one apart
    #[command(after_help = "Examples:
  harvestman replicas                       the list, with what is done about each
  harvestman replicas find
  harvestman replicas lift www.example.org
  harvestman report replicas                all evidence, by any heuristic

What is done about them is said by hazards.replicas in harvest.toml: off, report or fold. See docs/hazards.md.")]
    Replicas(ReplicasArgs),

    /// Tell others of changes: how deliveries are doing, what was given up, and trying again
    #[command(after_help = "Examples:
  harvestman webhook                        each webhook and how it is doing
  harvestman webhook test
  harvestman webhook deliver
  harvestman webhook dead
  harvestman webhook retry --all

Webhooks are [[webhook]] tables in harvest.toml; a crawl delivers as it goes. See docs/webhooks.md.")]
    Webhook(WebhookArgs),

    /// Write what the collection holds in other forms
    #[command(after_help = "Examples:
  harvestman export directory --out pages
  harvestman export directory --out today --from yesterday --site example.org")]
    Export(ExportArgs),

    /// Harvest part of the collection on another machine: a closed unit out, its visits back
    #[command(after_help = "Examples:
  harvestman batch export monday.batch --pages 50000
  harvestman batch harvest monday.batch --out monday      on the other machine
  harvestman batch import monday
  harvestman batch list
  harvestman batch cancel 3

While a batch is out its sites are visited by nobody else; when its time is over they are due again.
See docs/batch.md.")]
    Batch(BatchArgs),

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
