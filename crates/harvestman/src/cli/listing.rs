//! What `pages` and `sites` take: filters, an order, and where to go on.

use clap::Args;

/// Rows of one answer: what is held in memory at a time.
const ROWS_MAX: i64 = 100_000;

#[derive(Clone, Debug, Args)]
pub struct PagesArgs {
    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,

    /// Only pages of this spider
    #[arg(long, value_name = "NAME")]
    pub spider: Option<String>,

    /// candidate, known, fetched, redirected, failing, gone or excluded
    #[arg(long, value_name = "WORD")]
    pub state: Option<String>,

    /// Status of the last visit: 404, 4xx, or failed (no answer)
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,

    /// Media type: text/html, or image for all images
    #[arg(long = "type", value_name = "TYPE")]
    pub media_type: Option<String>,

    /// Only seeds
    #[arg(long)]
    pub seed: bool,

    /// Only URLs that begin like this
    #[arg(long, value_name = "URL")]
    pub prefix: Option<String>,

    /// Last visited at this time or later: 2026-11-16, "3 days ago"
    #[arg(long, value_name = "TIME")]
    pub visited_since: Option<String>,

    /// Last visited before this time
    #[arg(long, value_name = "TIME")]
    pub visited_before: Option<String>,

    /// Last changed at this time or later
    #[arg(long, value_name = "TIME")]
    pub changed_since: Option<String>,

    /// Last changed before this time
    #[arg(long, value_name = "TIME")]
    pub changed_before: Option<String>,

    /// List requisites (images, styles, scripts, sitemaps) instead of pages
    #[arg(long)]
    pub requisites: bool,

    /// id, url, due, visited, changed, found, visits, bytes or level [default: url; id for
    /// more than 100,000 pages]
    #[arg(long, value_name = "WORD")]
    pub sort: Option<String>,

    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,

    /// Maximum number of pages
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=ROWS_MAX))]
    pub limit: u32,

    /// Continue after this cursor, which the previous call printed as next
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,

    /// Write CSV, with all fields
    #[arg(long)]
    pub csv: bool,
}

#[derive(Clone, Debug, Args)]
pub struct SitesArgs {
    /// Only hosts of this registrable domain
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,

    /// Only sites that a seed names
    #[arg(long)]
    pub seeded: bool,

    /// active, resting, waiting or idle
    #[arg(long, value_name = "WORD")]
    pub state: Option<String>,

    /// Only sites that do not answer
    #[arg(long)]
    pub down: bool,

    /// site, known, fetched, failed, visits, bytes or due [default: known; site for more than
    /// 100,000 sites]
    #[arg(long, value_name = "WORD")]
    pub sort: Option<String>,

    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,

    /// Maximum number of sites
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=ROWS_MAX))]
    pub limit: u32,

    /// Continue after this cursor, which the previous call printed as next
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,

    /// Write CSV, with all fields
    #[arg(long)]
    pub csv: bool,
}
