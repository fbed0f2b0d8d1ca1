//! The gate of a crawl: what is blocked is not visited, nor what the rules refuse by now, nor what has turned out
//! to be a trap. A page may have been
//! let in under other rules, in this crawl or an earlier one: so it is judged again before each visit.

use std::{fmt, net::IpAddr, sync::Arc};

use model::{Candidate, CrawlUrl, Gate, Page, Refusal, Verdict};

use super::spiders::Spiders;

pub struct Doorkeeper(pub Arc<Spiders>);

impl Gate for Doorkeeper {
    fn refuses_url(&self, url: &CrawlUrl) -> Option<Refusal> {
        self.0.blocks.refuses_url(url)
    }

    fn refuses_address(&self, address: IpAddr) -> Option<Refusal> {
        self.0.blocks.refuses_address(address)
    }

    fn refuses_page(&self, page: &Page) -> Option<Refusal> {
        if let Some(refusal) = self.0.quarantine.refuses(&page.url) {
            return Some(refusal);
        }
        let spider = self.0.of(page.spider);
        match spider.judge(&Candidate::from(page)) {
            Verdict::Accept => self.0.stops.refuse(page, &spider.rules),
            Verdict::Reject(refusal) => Some(refusal),
        }
    }
}

impl fmt::Debug for Doorkeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doorkeeper")
    }
}
