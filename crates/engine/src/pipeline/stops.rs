//! What the traps of the sites in hand have against their own URLs, for the gate: pages that are known and wait
//! are not visited once their pattern is stopped, nor when the same page was visited under another session. Some are,
//! as samples, to see whether that was right. Set by the harvest loop, read before each visit.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
};

use model::{CrawlUrl, Fingerprint, Page, PageState, Refusal, SiteKey, UrlTraps, limits};
use seeder::{
    SpiderRules,
    traps::{TrapObjection, copies, near, objection_to, token, unwanted},
};

/// Samples of one site that are remembered, the last ones: they come soon after they were chosen.
const SAMPLES_MAX: usize = 256;

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
    tried: Mutex<Tried>,
}

/// What is, or may be, visited in spite of the traps.
#[derive(Default)]
struct Tried {
    /// Pages that were chosen as samples. The gate may be asked of one more than once.
    samples: VecDeque<Fingerprint>,
    /// Pages that were held back, by what lifts it: as many as there are stops and idle parts.
    held: HashMap<String, u64>,
    /// Kinds of pages on which idle parts were tried here.
    kinds: Vec<u32>,
}

impl Stops {
    /// `visited`: pages of the site that came already.
    pub fn set<'a>(
        &self,
        site: &SiteKey,
        traps: &UrlTraps,
        visited: impl Iterator<Item = &'a CrawlUrl>,
    ) {
        let is_free = traps.stops().next().is_none() && !unwanted::is_any(traps);
        if traps.tokens.is_empty() && is_free {
            return self.remove(site);
        }
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        let before = sites.remove(site.as_str());
        let (mut spelled, tried) =
            before.map(|before| (before.spelled, before.tried)).unwrap_or_default();
        if !traps.tokens.is_empty() {
            let known = spelled.get_mut().unwrap_or_else(PoisonError::into_inner);
            for url in visited {
                known.entry(spelling(url, traps)).or_insert(url.fingerprint());
            }
        }
        sites.insert(site.as_str().to_owned(), Stopped { traps: traps.clone(), spelled, tried });
    }

    /// The page is visited whatever the traps of its site have against it.
    pub fn let_through(&self, site: &SiteKey, page: Fingerprint) {
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let Some(site) = sites.get(site.as_str()) else { return };
        site.tried().choose(page);
    }

    pub fn remove(&self, site: &SiteKey) {
        let is_there = |sites: &HashMap<String, Stopped>| sites.contains_key(site.as_str());
        if is_there(&self.sites.read().unwrap_or_else(PoisonError::into_inner)) {
            self.sites.write().unwrap_or_else(PoisonError::into_inner).remove(site.as_str());
        }
    }

    /// Seeds, parts of pages, and what was fetched before are visited in any case.
    pub fn refuse(&self, page: &Page, rules: &SpiderRules) -> Option<Refusal> {
        let is_new = page.last.is_none() && page.state == PageState::Known;
        let (max, rules) = (rules.near_duplicates_max, &rules.traps);
        if page.seed || page.terms.requisite || !is_new {
            return None;
        }
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let site = sites.get(page.url.site_text())?;
        let fp = page.url.fingerprint();
        if site.tried().samples.contains(&fp) {
            return None;
        }
        let (url, led_by) = (&page.url, page.terms.via);
        if let Some(objection) = near::holds_back(url, led_by, &site.traps, max) {
            return Some(objection.refusal());
        }
        if !rules.on {
            return None;
        }
        if let Some(pattern) = unwanted::pattern_of(url, &site.traps) {
            let refusal = unwanted::refusal(&pattern);
            return site.unless_sample(fp, refusal, pattern, unwanted::is_sample);
        }
        let found = objection_to(url, Some(led_by), &site.traps, rules, true);
        let (objection, is_sample) = match found {
            Some(objection) => {
                let count = site.count(objection.pattern.clone());
                let is_sample = copies::is_sample(&objection, count);
                (objection, is_sample)
            }
            None => site.under_another_name(page)?,
        };
        if is_sample {
            site.tried().choose(fp);
            return None;
        }
        Some(objection.refusal())
    }
}

impl Tried {
    fn choose(&mut self, page: Fingerprint) {
        if self.samples.len() >= SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(page);
    }

    fn is_first(&mut self, kind: u32) -> bool {
        let is_new = self.kinds.len() < token::TESTS_MAX && !self.kinds.contains(&kind);
        if is_new {
            self.kinds.push(kind);
        }
        is_new
    }
}

impl Stopped {
    /// The refusal, but for samples.
    fn unless_sample(
        &self,
        page: Fingerprint,
        refusal: Refusal,
        pattern: String,
        is_sample: impl Fn(u64) -> bool,
    ) -> Option<Refusal> {
        // What lifts nothing has a count of its own.
        if is_sample(self.count(format!("{pattern} by type"))) {
            self.tried().choose(page);
            return None;
        }
        Some(refusal)
    }

    /// One more page is to be held back for this.
    fn count(&self, name: String) -> u64 {
        let mut tried = self.tried();
        let count = tried.held.entry(name).or_default();
        *count += 1;
        *count
    }

    fn tried(&self) -> MutexGuard<'_, Tried> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page has a turn under one spelling only: the first that is asked for. Where a redirect led, the server
    /// wants it so. Says also whether it is visited all the same.
    fn under_another_name(&self, page: &Page) -> Option<(TrapObjection, bool)> {
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
        let objection = TrapObjection::new(token.hazard(), token.place.to_string());
        let untested = token::untested(token, &page.url);
        let is_first = untested.is_some_and(|kind| self.tried().is_first(kind));
        let is_sample = token::samples(token, self.count(objection.pattern.clone())) || is_first;
        Some((objection, is_sample))
    }
}

fn spelling(url: &CrawlUrl, traps: &UrlTraps) -> Fingerprint {
    token::rewrite(url, &traps.tokens).map_or(url.fingerprint(), |(url, _)| url.fingerprint())
}
