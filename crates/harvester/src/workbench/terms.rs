//! On what terms sites are visited: what the program says about a spider on a site, and about a spider in all.
//!
//! Several spiders may share a site, and then the site is treated as the most careful of them asks: the
//! longest pause, the fewest connections, the shortest times. Limits on pages and bytes are each spider's
//! own, held against what all spiders together have drawn from the site or domain.

use std::{fmt, time::Duration};

use model::{CrawlUrl, Page, SiteKey, SpiderId};

use super::Options;

/// What holds for one spider's visits to one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteTerms {
    /// Courtesy pause between the starts of two visits.
    pub pause: Duration,
    /// For sites of at least `big_site_pages` known pages.
    pub pause_big: Option<Duration>,
    pub big_site_pages: u64,
    /// Visits to the site at once.
    pub connections: usize,
    /// Pages with content, and bytes of answers, that the site may bring.
    pub pages_max: Option<u64>,
    pub bytes_max: Option<u64>,
    /// Pages with content that all sites of the registrable domain together may bring.
    pub domain_pages_max: Option<u64>,
    /// How long the site may stay in hand before others have their turn; one visit is always made.
    pub visit_time_max: Option<Duration>,
    /// How long visits to the site may take per UTC day, in sum. The visit that goes past it ends normally.
    pub day_time_max: Option<Duration>,
    /// The most one answer may bring (head and body over the wire): what a visit reserves of byte limits.
    pub answer_bytes_max: u64,
}

impl SiteTerms {
    /// The courtesy pause of a site with this many known pages.
    pub(super) fn pause_of(&self, pages_known: u64) -> Duration {
        match self.pause_big {
            Some(pause) if pages_known >= self.big_site_pages => pause,
            _ => self.pause,
        }
    }
}

/// Asked when a spider's first page of a site comes in hand, and after [`super::Workbench::set_terms`]; the
/// importance whenever a page is queued.
pub trait Terms: Send + Sync {
    fn of(&self, spider: SpiderId, site: &SiteKey) -> SiteTerms;

    /// Of the pages of one level, the more important ones are visited first.
    fn importance(&self, _page: &Page) -> f32 {
        1.0
    }

    /// A URL of the site that must be visited before any page of the spider there: see
    /// [`super::Workbench::enter`].
    fn entry(&self, _spider: SpiderId, _site: &SiteKey) -> Option<CrawlUrl> {
        None
    }
}

/// Limits of one spider. A spider of which nothing was ever said has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpiderLimits {
    /// None of its pages is visited.
    pub paused: bool,
    /// Visits at once on its behalf, those of robots.txt included; 0 is as good as paused.
    pub fetches_max: Option<usize>,
    /// Pages with content, and bytes of answers.
    pub pages_max: Option<u64>,
    pub bytes_max: Option<u64>,
}

/// A limit on the crawl, or a spider, as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitInAll {
    Pages,
    Bytes,
}

impl fmt::Display for LimitInAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitInAll::Pages => "the limit on pages is reached",
            LimitInAll::Bytes => "the limit on bytes is reached",
        })
    }
}

/// The same for every spider and site, from the workbench's own options.
pub(super) struct Same(SiteTerms);

impl Same {
    pub fn new(options: &Options) -> Same {
        Same(SiteTerms {
            pause: options.pause,
            pause_big: options.pause_big,
            big_site_pages: options.big_site_pages,
            connections: options.connections,
            pages_max: options.site_pages_max,
            bytes_max: None,
            domain_pages_max: None,
            visit_time_max: None,
            day_time_max: None,
            answer_bytes_max: options.answer_bytes_max,
        })
    }
}

impl Terms for Same {
    fn of(&self, _spider: SpiderId, _site: &SiteKey) -> SiteTerms {
        self.0.clone()
    }
}
