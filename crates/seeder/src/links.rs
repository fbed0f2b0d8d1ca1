//! What becomes of a page's links: pages of its own site, candidates of other sites, or refusals.
//!
//! - Every candidate that comes out has passed [`SpiderRules::judge`].
//! - A link leads one level deeper within the site, and to level 0 of another site.
//! - A redirect keeps the level, counts a hop more and stays a seed if the page was one; it is no
//!   link, so neither `nofollow` nor the policy for external links concerns it.
//! - Canonical, alternate, next and previous links, meta refreshes and `Link` headers are links like any
//!   other (a canonical link never hides the page it stands on). Feeds are no pages: they are passed
//!   over without a word, to be read for what they announce.
//! - A URL comes once, whatever the number of links to it; the page itself not at all. One that is
//!   both followed and `nofollow` on the same page is followed.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use model::{Candidate, CrawlUrl, Decision, Fingerprint, Link, LinkKind, LinkRel, Page, PageTerms};

use crate::{ExternalPolicy, SeedSet, SpiderRules, objection::Objection};

#[derive(Clone, Debug, Default)]
pub struct Sorted {
    /// Pages of the same site.
    pub internal: Vec<Candidate>,
    /// Of other sites, judged as far as can be without their lease.
    pub external: Vec<Candidate>,
    /// Under the page's site, merged by reason and rule, with one example each.
    pub refused: Vec<Decision>,
}

pub fn sort_links(
    page: &Page,
    links: &[Link],
    nofollow_page: bool,
    rules: &SpiderRules,
    seeds: &SeedSet,
) -> Sorted {
    let mut sorter = Sorter::new(page, links.len(), rules, seeds);
    let objection = |link: &Link| nofollow(link, nofollow_page && !rules.follow_nofollow, rules);
    for link in links.iter().filter(|link| objection(link).is_none()) {
        sorter.take(link);
    }
    for link in links {
        if let Some(objection) = objection(link) {
            sorter.pass_over(link, objection);
        }
    }
    sorter.finish()
}

fn nofollow(link: &Link, page: bool, rules: &SpiderRules) -> Option<Objection<'static>> {
    if link.kind == LinkKind::Redirect {
        return None;
    }
    if page {
        return Some(Objection::NofollowPage);
    }
    let refused = !rules.follow_nofollow && link.rel.contains(LinkRel::NOFOLLOW);
    refused.then_some(Objection::NofollowLink)
}

struct Sorter<'a> {
    page: &'a Page,
    rules: &'a SpiderRules,
    seeds: &'a SeedSet,
    site: &'a str,
    seen: HashSet<Fingerprint, RandomState>,
    /// Index into `sorted.refused`.
    merged: HashMap<Objection<'a>, usize, RandomState>,
    sorted: Sorted,
    has_form: bool,
}

impl<'a> Sorter<'a> {
    fn new(page: &'a Page, links: usize, rules: &'a SpiderRules, seeds: &'a SeedSet) -> Self {
        let mut seen = HashSet::with_capacity_and_hasher(links + 1, RandomState::default());
        seen.insert(page.url.fingerprint());
        Sorter {
            page,
            rules,
            seeds,
            site: page.url.site_text(),
            seen,
            merged: HashMap::default(),
            sorted: Sorted::default(),
            has_form: !rules.form.is_plain(),
        }
    }

    fn take(&mut self, link: &Link) {
        if link.kind == LinkKind::Feed {
            return;
        }
        let url = self.in_form(&link.url);
        let is_redirect = link.kind == LinkKind::Redirect;
        if is_redirect || url.site_text() == self.site {
            return self.judge(url, is_redirect);
        }
        match self.rules.external {
            ExternalPolicy::Ignore => self.ignore(url),
            ExternalPolicy::Home => self.judge(url.home(), false),
            ExternalPolicy::Deep => self.judge(url, false),
            ExternalPolicy::Combined => {
                self.judge(url.home(), false);
                self.judge(url, false);
            }
        }
    }

    fn pass_over(&mut self, link: &Link, objection: Objection<'a>) {
        let url = self.in_form(&link.url);
        if link.kind != LinkKind::Feed && self.seen.insert(url.fingerprint()) {
            self.refuse(&url, objection);
        }
    }

    fn in_form(&self, url: &CrawlUrl) -> CrawlUrl {
        if self.has_form { self.rules.form.apply(url) } else { url.clone() }
    }

    fn judge(&mut self, url: CrawlUrl, is_redirect: bool) {
        if !self.seen.insert(url.fingerprint()) {
            return;
        }
        let is_internal = url.site_text() == self.site;
        let candidate = self.candidate(url, is_redirect, is_internal);
        match self.rules.objection(&candidate, self.seeds) {
            Some(objection) => self.refuse(&candidate.url, objection),
            None if is_internal => self.sorted.internal.push(candidate),
            None => self.sorted.external.push(candidate),
        }
    }

    fn candidate(&self, url: CrawlUrl, is_redirect: bool, is_internal: bool) -> Candidate {
        let level = match (is_redirect, is_internal) {
            (true, _) => self.page.level,
            (false, true) => self.page.level.saturating_add(1),
            (false, false) => 0,
        };
        Candidate {
            url,
            spider: self.page.spider,
            level,
            hops: if is_redirect { self.page.hops.saturating_add(1) } else { 0 },
            seed: is_redirect && self.page.seed,
            terms: PageTerms::default(),
            referrer: Some(self.page.url.fingerprint()),
        }
    }

    /// What would not be taken anyway is said to be so: the policy only matters inside.
    fn ignore(&mut self, url: CrawlUrl) {
        if !self.seen.insert(url.fingerprint()) {
            return;
        }
        let candidate = self.candidate(url, false, false);
        let objection = self.rules.border(&candidate, self.seeds);
        let objection = objection.unwrap_or(Objection::External(self.rules.external));
        self.refuse(&candidate.url, objection);
    }

    fn refuse(&mut self, url: &CrawlUrl, objection: Objection<'a>) {
        if let Some(&at) = self.merged.get(&objection) {
            self.sorted.refused[at].count += 1;
            return;
        }
        let forgotten = matches!(objection, Objection::Forgotten);
        self.sorted.refused.push(Decision {
            site: self.site.to_owned(),
            reason: objection.reason(),
            rule: objection.to_string(),
            count: 1,
            example: if forgotten { String::new() } else { example(url) },
            referrer: Some(self.page.url.as_str().to_owned()),
        });
        self.merged.insert(objection, self.sorted.refused.len() - 1);
    }

    fn finish(self) -> Sorted {
        self.sorted
    }
}

/// An example is to be read; a refused URL may be of any length.
fn example(url: &CrawlUrl) -> String {
    let text = url.as_str();
    text[..text.len().min(model::limits::URL_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests;
