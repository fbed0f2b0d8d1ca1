//! What `history`, `show`, `diff`, `changes`, `links` and `report` take: questions about what was seen when.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Clone, Debug, Args)]
pub struct HistoryArgs {
    #[arg(value_name = "URL")]
    pub url: String,

    /// Runs shown, the newest
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,

    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
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

    /// The version at hand at this time: 2026-11-16, 2026-11-16T20:00:00Z, "3 days ago"
    #[arg(long, value_name = "TIME", conflicts_with = "version")]
    pub at: Option<String>,

    /// The version of this number, as harvestman history counts them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub version: Option<u32>,
}

#[derive(Clone, Debug, Args)]
pub struct DiffArgs {
    #[arg(value_name = "URL")]
    pub url: String,

    /// The older version: a number or a time [default: the last but one]
    #[arg(value_name = "A")]
    pub old: Option<String>,

    /// The newer version: a number or a time [default: the last]
    #[arg(value_name = "B")]
    pub new: Option<String>,

    /// Compare the bodies as they were served instead of the visible text
    #[arg(long)]
    pub source: bool,

    /// Write a page for a browser into this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Unchanged lines shown around changed ones
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(..=10_000))]
    pub context: u16,

    /// Colours: on a terminal without NO_COLOR, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Debug, Args)]
pub struct ChangesArgs {
    /// Seen at this time or later: 2026-11-16, 2026-11-16T20:00:00Z, "3 days ago"
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Behind this place in the order of commits: what an earlier call named as its end
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(i64).range(0..))]
    pub after: Option<i64>,

    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// At most so many: the newest, or with --after the first [default: 50; with --json and
    /// without --atom all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,

    /// Count the words that came and went (reads both versions from the archive)
    #[arg(long)]
    pub words: bool,

    /// Write an Atom feed into this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub atom: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub struct LinksArgs {
    #[arg(value_name = "URL")]
    pub url: String,

    /// Only pages that link to it
    #[arg(long = "in")]
    pub incoming: bool,

    /// Only pages it links to
    #[arg(long = "out")]
    pub outgoing: bool,

    /// Include past links, which the latest visits did not find
    #[arg(long)]
    pub all: bool,

    /// Maximum number of pages in each direction
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,

    /// Go on where an earlier answer ended (with --in or --out)
    #[arg(long, value_name = "NEXT")]
    pub after: Option<String>,

    /// Write CSV
    #[arg(long)]
    pub csv: bool,
}

#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    #[command(subcommand)]
    pub report: Report,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Report {
    /// How often pages changed, and how visits adapted
    #[command(after_help = "Examples:
  harvestman report adaptation
  harvestman report adaptation --spider news
  harvestman report adaptation --pages --site example.org --json")]
    Adaptation(AdaptationArgs),

    /// Hazards met: traps, broken answers, hostile content, by name
    #[command(after_help = "Examples:
  harvestman report hazards
  harvestman report hazards --site example.org
  harvestman report hazards --hazard session-ids --json")]
    Hazards(HazardsArgs),

    /// Sites that serve the same content under several names, with the evidence
    #[command(
        name = "mirrors",
        alias = "replicas",
        after_help = "Examples:
  harvestman report mirrors
  harvestman report mirrors --heuristic dups-80
  harvestman report mirrors --heuristic same-home --json"
    )]
    Replicas(ReplicaReportArgs),

    /// Pages with the same content, and near duplicates
    #[command(after_help = "Examples:
  harvestman report duplicates
  harvestman report duplicates --site example.org --json")]
    Duplicates(DuplicatesArgs),

    /// Broken pages (404 or 410 at the last visit) and the pages that link to them
    #[command(after_help = "Examples:
  harvestman report broken
  harvestman report broken --site example.org
  harvestman report broken --any --csv > broken.csv

See docs/links.md.")]
    Broken(BrokenArgs),
}

#[derive(Clone, Debug, Args)]
pub struct BrokenArgs {
    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Include every page whose last visit failed: other errors, no answer
    #[arg(long)]
    pub any: bool,

    /// Maximum number of broken pages
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,

    /// Go on where an earlier answer ended
    #[arg(long, value_name = "NEXT")]
    pub after: Option<String>,

    /// Write CSV
    #[arg(long)]
    pub csv: bool,
}

#[derive(Clone, Debug, Args)]
pub struct ReplicaReportArgs {
    /// When two sites count as one: same-home, same-home-1doc, dups-60, dups-80 or dups-100 [default: same-home-1doc]
    #[arg(long, value_name = "WORD")]
    pub heuristic: Option<String>,

    /// Groups shown, the largest first; --json has them all
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

#[derive(Clone, Debug, Args)]
pub struct DuplicatesArgs {
    /// Only on this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// At most so many of either kind, those with most pages first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

#[derive(Clone, Debug, Args)]
pub struct HazardsArgs {
    /// Only this one, such as counter, soft-404 or decompression-bomb
    #[arg(long, value_name = "WORD")]
    pub hazard: Option<String>,

    /// Only on this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Rows read, those met most often first
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

#[derive(Clone, Debug, Args)]
pub struct AdaptationArgs {
    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Every page that was fetched, not the seeds alone
    #[arg(long)]
    pub pages: bool,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}
