//! What the harvest loop counts: for the display, for `status`, and for the summary at the end.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    time::Duration,
};

use collection::run::{RunFigures, StageTimes};
use model::{Counts, CrawlUrl, PageState, PageTerms, PageUpdate, Timestamp};
use serde::{Deserialize, Serialize};

/// One run's figures, kept in the run's row and shown by `status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    #[serde(flatten)]
    pub figures: RunFigures,
    pub time: StageTimes,
    /// Spiders that the crawl itself has paused, and why.
    #[serde(skip)]
    pub paused: BTreeMap<String, String>,
    /// The URL answered last, for the display.
    #[serde(skip)]
    pub last: Option<CrawlUrl>,
    /// The URL that a rule of ours refused last when it was its turn, and why.
    #[serde(skip)]
    pub last_refusal: Option<(CrawlUrl, String)>,
    /// The URL that failed last, and why.
    #[serde(skip)]
    pub last_failure: Option<(CrawlUrl, String)>,
}

/// The figures are most of it: they are counted and read as if they were its own.
impl Deref for Tally {
    type Target = RunFigures;

    fn deref(&self) -> &RunFigures {
        &self.figures
    }
}

impl DerefMut for Tally {
    fn deref_mut(&mut self) -> &mut RunFigures {
        &mut self.figures
    }
}

impl Tally {
    /// What a visit made of a page, or of a part of one. `once_more`: the page was called unchanged a moment ago, and
    /// was asked for again to see whether that is true.
    pub fn count(&mut self, update: &PageUpdate, terms: PageTerms, once_more: bool) {
        let is_part = terms.requisite;
        let is_notice = is_part && terms.notice.is_some();
        let Some(visit) = &update.visit else { return };
        if once_more {
            self.uncount();
        }
        let failed = !matches!(
            update.state,
            PageState::Fetched | PageState::Redirected | PageState::Excluded
        );
        if failed {
            let class = format!("status-{}", visit.status);
            if is_notice { self.other_error(&class) } else { self.error(&class) }
        }
        match update.state {
            PageState::Fetched if is_notice => self.site_feeds += 1,
            _ if is_notice => {}
            PageState::Fetched if is_part => self.requisites += 1,
            _ if is_part => self.requisites_failed += u64::from(failed),
            PageState::Fetched => self.fetched += 1,
            PageState::Redirected => self.redirected += 1,
            PageState::Excluded => self.excluded += 1,
            _ => self.failed += 1,
        }
        if !is_part {
            self.versions += u64::from(visit.change.is_version());
            self.unchanged += u64::from(visit.change.folds());
        }
    }

    /// Adds what an earlier part of the same crawl has counted.
    pub fn add(&mut self, earlier: &Tally) {
        self.fetched += earlier.fetched;
        self.versions += earlier.versions;
        self.unchanged += earlier.unchanged;
        self.redirected += earlier.redirected;
        self.failed += earlier.failed;
        self.excluded += earlier.excluded;
        self.requisites += earlier.requisites;
        self.requisites_failed += earlier.requisites_failed;
        self.site_feeds += earlier.site_feeds;
        self.requests += earlier.requests;
        self.robots += earlier.robots;
        self.bytes += earlier.bytes;
        for (class, count) in &earlier.errors {
            *self.errors.entry(class.clone()).or_default() += count;
        }
        for (class, count) in &earlier.other_errors {
            *self.other_errors.entry(class.clone()).or_default() += count;
        }
        for (media_type, count) in &earlier.left_out {
            self.leave_out(media_type, *count);
        }
        let (time, before) = (&mut self.time, &earlier.time);
        time.dns_ms += before.dns_ms;
        time.pause_ms += before.pause_ms;
        time.download_ms += before.download_ms;
        time.parse_us += before.parse_us;
        time.store_us += before.store_us;
        for (spider, why) in &earlier.paused {
            self.paused.entry(spider.clone()).or_insert_with(|| why.clone());
        }
    }

    /// A visit to a page, or to a part of one, brought no answer. `once_more`: see [`Tally::count`].
    pub fn no_answer(&mut self, class: &str, terms: PageTerms, once_more: bool) {
        if once_more {
            self.uncount();
        }
        match (terms.requisite, terms.notice) {
            (true, Some(_)) => return self.other_error(class),
            (true, None) => self.requisites_failed += 1,
            (false, _) => self.failed += 1,
        }
        self.error(class);
    }

    /// The page counts by its second answer, and once.
    fn uncount(&mut self) {
        self.fetched = self.fetched.saturating_sub(1);
        self.unchanged = self.unchanged.saturating_sub(1);
    }

    pub fn other_error(&mut self, class: &str) {
        *self.other_errors.entry(class.to_owned()).or_default() += 1;
    }

    /// A document was not read for its media type.
    pub fn left_out(&mut self, media_type: &str) {
        self.leave_out(media_type, 1);
    }

    fn leave_out(&mut self, media_type: &str, count: u64) {
        /// Servers make up types without end; there are about as many that are used.
        const TYPES_MAX: usize = 100;
        const BYTES_MAX: usize = 100;
        let full = self.left_out.len() >= TYPES_MAX && !self.left_out.contains_key(media_type);
        let word = if full || media_type.len() > BYTES_MAX { "other" } else { media_type };
        *self.left_out.entry(word.to_owned()).or_default() += count;
    }

    pub fn error(&mut self, class: &str) {
        *self.errors.entry(class.to_owned()).or_default() += 1;
    }
}

/// What the display shows, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub started: Timestamp,
    pub elapsed: Duration,
    pub tally: Tally,
    pub counts: Counts,
    pub sites_in_hand: usize,
    pub pages_in_hand: usize,
    pub in_flight: usize,
    pub paused: Option<String>,
    /// Visits wait for the budget, so long still.
    pub budget: Option<Duration>,
    pub stopping: bool,
}
