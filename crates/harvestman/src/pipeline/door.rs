//! The gate of a crawl: what is blocked is not visited; nor, once rules are others than those that let a page
//! in, what they refuse now. As long as they are the same nobody is judged twice.

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use model::{Candidate, CrawlUrl, Gate, Page, Refusal, Verdict};

use super::spiders::Spiders;

pub struct Doorkeeper {
    spiders: Arc<Spiders>,
    changed: AtomicBool,
}

impl Doorkeeper {
    /// `changed`: rules are others than in the last crawl.
    pub fn new(spiders: Arc<Spiders>, changed: bool) -> Doorkeeper {
        Doorkeeper { spiders, changed: AtomicBool::new(changed) }
    }

    /// From now on pages are judged again before they are visited.
    pub fn rules_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl Gate for Doorkeeper {
    fn refuses_url(&self, url: &CrawlUrl) -> Option<Refusal> {
        self.spiders.blocks.refuses_url(url)
    }

    fn refuses_address(&self, address: IpAddr) -> Option<Refusal> {
        self.spiders.blocks.refuses_address(address)
    }

    fn refuses_page(&self, page: &Page) -> Option<Refusal> {
        if !self.changed.load(Ordering::Relaxed) {
            return None;
        }
        match self.spiders.of(page.spider).judge(&candidate_of(page)) {
            Verdict::Accept => None,
            Verdict::Reject(refusal) => Some(refusal),
        }
    }
}

impl fmt::Debug for Doorkeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorkeeper").field("changed", &self.changed).finish_non_exhaustive()
    }
}

/// A page as it would ask to be let in today.
pub(super) fn candidate_of(page: &Page) -> Candidate {
    Candidate {
        url: page.url.clone(),
        spider: page.spider,
        level: page.level,
        hops: page.hops,
        seed: page.seed,
        terms: page.terms,
        referrer: None,
    }
}
