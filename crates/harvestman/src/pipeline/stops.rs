//! What the traps of the sites in hand have against their own URLs, for the gate: pages that are known and wait
//! are not visited once their pattern is stopped. Set by the harvest loop, read before each visit.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use model::{Page, PageState, Refusal, SiteKey, UrlTraps};
use seeder::traps::{TrapRules, objection};

#[derive(Default)]
pub struct Stops {
    /// Only sites of which something is stopped.
    sites: RwLock<HashMap<String, UrlTraps>>,
}

impl Stops {
    pub fn set(&self, site: &SiteKey, traps: &UrlTraps) {
        if traps.stops().next().is_none() {
            return self.remove(site);
        }
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        sites.insert(site.as_str().to_owned(), traps.clone());
    }

    pub fn remove(&self, site: &SiteKey) {
        let is_there = |sites: &HashMap<String, UrlTraps>| sites.contains_key(site.as_str());
        if is_there(&self.sites.read().unwrap_or_else(PoisonError::into_inner)) {
            self.sites.write().unwrap_or_else(PoisonError::into_inner).remove(site.as_str());
        }
    }

    /// Seeds, parts of pages, and what was fetched before are visited in any case.
    pub fn refuse(&self, page: &Page, rules: &TrapRules) -> Option<Refusal> {
        let is_new = page.last.is_none() && page.state != PageState::Fetched;
        if page.seed || page.terms.requisite || !is_new {
            return None;
        }
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let traps = sites.get(page.url.site_text())?;
        objection(&page.url, traps, rules, true).map(|objection| objection.refusal())
    }
}
