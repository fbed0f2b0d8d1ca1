//! What the traps of the sites in hand have against their own URLs, for the gate: pages that are known and wait
//! are not visited once their pattern is stopped, nor when the same page was visited under another session. Set
//! by the harvest loop, read before each visit.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError, RwLock},
};

use model::{CrawlUrl, Fingerprint, Page, PageState, Refusal, SiteKey, UrlTraps, limits};
use seeder::traps::{TrapObjection, TrapRules, objection, token};

#[derive(Default)]
pub struct Stops {
    /// Only sites of which something is stopped or idle.
    sites: RwLock<HashMap<String, Stopped>>,
}

struct Stopped {
    traps: UrlTraps,
    /// By the spelling of a page without idle parts: the one it was, or will be, visited under. At most as many
    /// as a site's URLs in memory; beyond, pages may be visited twice.
    spelled: Mutex<HashMap<Fingerprint, Fingerprint>>,
}

impl Stops {
    /// `visited`: pages of the site that came already.
    pub fn set<'a>(
        &self,
        site: &SiteKey,
        traps: &UrlTraps,
        visited: impl Iterator<Item = &'a CrawlUrl>,
    ) {
        if traps.tokens.is_empty() && traps.stops().next().is_none() {
            return self.remove(site);
        }
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        let before = sites.remove(site.as_str()).map(|stopped| stopped.spelled);
        let mut spelled = before.unwrap_or_default();
        if !traps.tokens.is_empty() {
            let known = spelled.get_mut().unwrap_or_else(PoisonError::into_inner);
            for url in visited {
                known.entry(spelling(url, traps)).or_insert(url.fingerprint());
            }
        }
        sites.insert(site.as_str().to_owned(), Stopped { traps: traps.clone(), spelled });
    }

    pub fn remove(&self, site: &SiteKey) {
        let is_there = |sites: &HashMap<String, Stopped>| sites.contains_key(site.as_str());
        if is_there(&self.sites.read().unwrap_or_else(PoisonError::into_inner)) {
            self.sites.write().unwrap_or_else(PoisonError::into_inner).remove(site.as_str());
        }
    }

    /// Seeds, parts of pages, and what was fetched before are visited in any case.
    pub fn refuse(&self, page: &Page, rules: &TrapRules) -> Option<Refusal> {
        let is_new = page.last.is_none() && page.state == PageState::Known;
        if page.seed || page.terms.requisite || !is_new || !rules.on {
            return None;
        }
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let site = sites.get(page.url.site_text())?;
        let found = objection(&page.url, &site.traps, rules, true);
        found.or_else(|| site.under_another_name(page)).map(|objection| objection.refusal())
    }
}

impl Stopped {
    /// The page has a turn under one spelling only: the first that is asked for. Where a redirect led, the server
    /// wants it so.
    fn under_another_name(&self, page: &Page) -> Option<TrapObjection> {
        if self.traps.tokens.is_empty() || page.hops > 0 {
            return None;
        }
        let rewritten = token::rewrite(&page.url, &self.traps.tokens);
        let spelling = rewritten.as_ref().map_or(&page.url, |(url, _)| url).fingerprint();
        let mut spelled = self.spelled.lock().unwrap_or_else(PoisonError::into_inner);
        if spelled.len() as u64 >= limits::KNOWN_IN_MEMORY_MAX {
            return None;
        }
        let own = page.url.fingerprint();
        let visited = *spelled.entry(spelling).or_insert(own);
        let (_, at) = rewritten.filter(|_| visited != own)?;
        let token = &self.traps.tokens[at];
        Some(TrapObjection { hazard: token.hazard(), pattern: token.place.to_string() })
    }
}

fn spelling(url: &CrawlUrl, traps: &UrlTraps) -> Fingerprint {
    token::rewrite(url, &traps.tokens).map_or(url.fingerprint(), |(url, _)| url.fingerprint())
}
