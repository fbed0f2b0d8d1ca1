//! A crawl that takes nothing: what would be taken from the given pages is kept aside and told.
//!
//! Only what a given page redirects to goes on into the crawl, since that stands for the page; no link does.
//! So the whole pipeline, with its politeness, visits the given pages and no other.

use std::sync::{Mutex, PoisonError};

use model::{CrawlUrl, Page};
use seeder::Sorted;
use store::tombstones::{Tombstone, TombstoneKey};

#[derive(Default)]
pub struct Preview {
    /// Of the collection for which this is tried out: its scope counts.
    pub seeds: Vec<CrawlUrl>,
    /// What it keeps away from.
    pub blocks: Vec<String>,
    pub forgotten: Option<(TombstoneKey, Vec<Tombstone>)>,
    pages: Mutex<Vec<(CrawlUrl, Sorted)>>,
}

impl Preview {
    pub fn new(
        seeds: Vec<CrawlUrl>,
        blocks: Vec<String>,
        forgotten: Option<(TombstoneKey, Vec<Tombstone>)>,
    ) -> Preview {
        Preview { seeds, blocks, forgotten, pages: Mutex::default() }
    }

    /// Puts a page's links aside; what stays is for the crawl.
    pub fn keep(&self, page: &Page, sorted: Sorted) -> Sorted {
        let target = |candidates: &[model::Candidate]| {
            candidates.iter().filter(|candidate| candidate.hops > 0).cloned().collect()
        };
        let redirects = Sorted {
            internal: target(&sorted.internal),
            external: target(&sorted.external),
            ..Sorted::default()
        };
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.push((page.url.clone(), sorted));
        redirects
    }

    /// What would be taken from this page; nothing when it did not answer.
    pub fn of(&self, url: &str) -> Sorted {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pages.iter().rev().find(|(page, _)| page.as_str() == url);
        found.map(|(_, sorted)| sorted.clone()).unwrap_or_default()
    }
}
