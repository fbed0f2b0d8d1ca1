//! What becomes of a page's links: pages of its own site, candidates of other sites, or refusals.
//!
//! - Every candidate that comes out has passed [`SpiderRules::judge`].
//! - A link leads one level deeper within the site, and to level 0 of another site.
//! - A redirect keeps the level and the page's terms, counts a hop more and stays a seed if the page was
//!   one; it is no link, so neither `nofollow` nor the policy for external links concerns it.
//! - A link out of the scope counts one more link outside, a page inside none. A seed's own depth goes
//!   with the pages of its site; what is left of it goes to other sites.
//! - A refresh that is all its page is there for ([`LinkRel::FORWARD`]) is a link that counts a hop more.
//! - Canonical, alternate, next and previous links, meta refreshes and `Link` headers are links like any
//!   other (a canonical link never hides the page it stands on). Feeds are no pages: they are passed
//!   over without a word, to be read for what they announce.
//! - A URL comes once, whatever the number of links to it; the page itself not at all. One that is
//!   both followed and `nofollow` (or only logged) on the same page is followed. The texts of all links to
//!   it count as its anchor.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use model::{
    Candidate, CrawlUrl, Decision, Fingerprint, Hazard, Kinship, Link, LinkKind, LinkRel, Measure,
    Page, PageTerms, RefusalReason, Sighting,
};

use crate::{
    ExternalPolicy, SeedSet, SpiderRules,
    objection::Objection,
    rules::Inquiry,
    traps::pattern::{Pattern, via},
};

#[derive(Clone, Debug, Default)]
pub struct Sorted {
    /// Pages of the same site.
    pub internal: Vec<Candidate>,
    /// Of other sites, judged as far as can be without their lease.
    pub external: Vec<Candidate>,
    /// Under the page's site, merged by reason and rule, with one example each.
    pub refused: Vec<Decision>,
    /// Links that were put right, and hazards that a refusal does not tell of; merged likewise.
    pub mended: Vec<Sighting>,
    /// Pages of the same site and of another kind that somebody does not want, at most [`BARRED_MAX`]: the page leads to
    /// something, though it is not taken.
    pub barred: Vec<Fingerprint>,
}

/// One of them would say as much.
const BARRED_MAX: usize = 32;

pub fn sort_links(
    page: &Page,
    links: &[Link],
    nofollow_page: bool,
    rules: &SpiderRules,
    seeds: &SeedSet,
) -> Sorted {
    let mut sorter = Sorter::new(page, links, rules, seeds);
    let objection = |link: &Link| objection(link, nofollow_page, rules);
    // Where a page sends on, and has a link there for whoever does not wait, it sends on.
    let is_forward = |link: &&Link| link.rel.contains(LinkRel::FORWARD);
    let forward = links.iter().find(is_forward);
    for link in forward.into_iter().chain(links).filter(|link| objection(link).is_none()) {
        sorter.take(link);
    }
    for link in links {
        if let Some(objection) = objection(link) {
            sorter.pass_over(link, objection);
        }
    }
    sorter.finish()
}

/// What speaks against following the link, whatever it leads to.
fn objection(link: &Link, page: bool, rules: &SpiderRules) -> Option<Objection<'static>> {
    if link.kind == LinkKind::Redirect {
        return None;
    }
    if link.rel.contains(LinkRel::LOGGED) {
        return Some(Objection::LoggedTag);
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
    /// The texts of the links to each URL, where a rule asks for them.
    anchors: HashMap<Fingerprint, Vec<&'a str>, RandomState>,
    /// Index into `sorted.refused`.
    merged: HashMap<Objection<'a>, usize, RandomState>,
    sorted: Sorted,
    /// The pattern of the page.
    own: Pattern,
    via: u32,
    has_form: bool,
    /// Of the link at hand: not 0 where its page is there for nothing but to send on.
    hops: u8,
}

impl<'a> Sorter<'a> {
    fn new(
        page: &'a Page,
        links: &'a [Link],
        rules: &'a SpiderRules,
        seeds: &'a SeedSet,
    ) -> Sorter<'a> {
        let mut seen = HashSet::with_capacity_and_hasher(links.len() + 1, RandomState::default());
        seen.insert(page.url.fingerprint());
        let own = Pattern::of(&page.url);
        let mut sorter = Sorter {
            page,
            rules,
            seeds,
            site: page.url.site_text(),
            seen,
            anchors: HashMap::default(),
            merged: HashMap::default(),
            sorted: Sorted::default(),
            via: via::of(&own.text),
            own,
            has_form: !rules.form.is_plain() || !rules.folds.is_empty(),
            hops: 0,
        };
        if rules.list.asks_anchor() {
            for link in links {
                let fp = sorter.in_form(&link.url).fingerprint();
                sorter.anchors.entry(fp).or_default().push(&link.anchor);
            }
        }
        sorter
    }

    fn take(&mut self, link: &Link) {
        if link.kind == LinkKind::Feed {
            return;
        }
        let is_forward = link.rel.contains(LinkRel::FORWARD);
        self.hops = if is_forward { self.page.hops.saturating_add(1) } else { 0 };
        let url = match link.kind {
            _ if !self.has_form => link.url.clone(),
            // What a seed redirects to is named by the user as much as the seed is.
            LinkKind::Redirect if self.page.seed => self.rules.form.apply_to_redirect(&link.url),
            LinkKind::Redirect => self.redirected(&link.url),
            _ => self.mended(&link.url),
        };
        let texts = match link.kind {
            // It is no link, and has no text.
            LinkKind::Redirect => None,
            _ => self.anchors.remove(&url.fingerprint()),
        };
        let texts = texts.as_deref();
        if link.kind == LinkKind::Redirect {
            return self.judge(url, true, None);
        }
        if url.site_text() == self.site {
            return self.judge(url, false, texts);
        }
        match self.rules.external {
            ExternalPolicy::Ignore => self.ignore(url),
            ExternalPolicy::Home => self.judge(url.home(), false, texts),
            ExternalPolicy::Deep => self.judge(url, false, texts),
            ExternalPolicy::Combined => {
                self.judge(url.home(), false, texts);
                self.judge(url, false, texts);
            }
        }
    }

    /// Folded, but never back onto the site it comes from: an original that sends to its replica means it, and
    /// would be led to the page itself for ever.
    fn redirected(&self, url: &CrawlUrl) -> CrawlUrl {
        let target = self.rules.form.apply_to_redirect(url);
        match self.rules.folds.fold(&target) {
            Some(folded) if folded.site_text() != self.site => folded,
            _ => target,
        }
    }

    fn pass_over(&mut self, link: &Link, objection: Objection<'a>) {
        let url = self.in_form(&link.url);
        if link.kind != LinkKind::Feed && self.seen.insert(url.fingerprint()) {
            self.refuse(&url, objection);
        }
    }

    /// In the collection's form; what was taken out is noted.
    fn mended(&mut self, url: &CrawlUrl) -> CrawlUrl {
        let rules = self.rules;
        let Some((mended, hazard, what)) = rules.form.mend(url) else {
            return rules.fold(rules.form.apply_to_redirect(url));
        };
        self.note(Sighting::at(url, hazard, Measure::Corrected).of(what));
        rules.fold(rules.form.apply_to_redirect(&mended))
    }

    fn note(&mut self, met: Sighting) {
        let noted = &mut self.sorted.mended;
        let known =
            noted.iter().position(|seen| seen.hazard == met.hazard && seen.what == met.what);
        if let Some(at) = known {
            noted[at].count += 1;
        } else if noted.len() < Sighting::KINDS_MAX {
            noted.push(Sighting { site: self.site.to_owned(), ..met });
        }
    }

    /// A port of the page's own host that nobody asked for is no site of the scope, and refused as that; it has its
    /// name all the same.
    fn note_port(&mut self, url: &CrawlUrl, objection: &Objection<'a>) {
        let hides_it = matches!(objection, Objection::OutOfScope(_) | Objection::External(_));
        if hides_it && url.host() == self.page.url.host() && !self.seeds.allows_port(url) {
            self.note(Sighting::at(url, Hazard::UnusualPort, Measure::Refused));
        }
    }

    fn in_form(&self, url: &CrawlUrl) -> CrawlUrl {
        if self.has_form { self.rules.in_form(url) } else { url.clone() }
    }

    fn judge(&mut self, url: CrawlUrl, is_redirect: bool, anchors: Option<&[&str]>) {
        if !self.seen.insert(url.fingerprint()) {
            return;
        }
        let is_internal = url.site_text() == self.site;
        let mut candidate = self.candidate(url, is_redirect, is_internal);
        let inquiry = Inquiry { anchors, ..Inquiry::new(self.rules, &candidate, self.seeds) };
        let objection = inquiry.objection();
        let is_inside = self.rules.outside_max > 0 && inquiry.is_inside();
        if is_inside || self.rules.outside_max == 0 {
            candidate.terms.outside = 0;
        }
        let objection = objection.or_else(|| self.nothing_left(is_redirect, is_internal));
        if !is_internal && objection.is_none() {
            candidate.terms.kinship = self.kinship(&candidate.url);
        }
        let held_back = || self.held_back(&candidate);
        match objection.or_else(held_back) {
            Some(objection) => {
                if is_internal {
                    self.note_barred(&candidate.url, objection.reason());
                }
                self.refuse(&candidate.url, objection);
            }
            None if is_internal => self.sorted.internal.push(candidate),
            None => self.sorted.external.push(candidate),
        }
    }

    fn note_barred(&mut self, url: &CrawlUrl, reason: RefusalReason) {
        let by_wish = matches!(
            reason,
            RefusalReason::Blocked
                | RefusalReason::RejectList
                | RefusalReason::Rule
                | RefusalReason::Filter
        );
        let has_room = self.sorted.barred.len() < BARRED_MAX;
        if by_wish && has_room && self.own.path() != Pattern::of(url).path() {
            self.sorted.barred.push(url.fingerprint());
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
            hops: if is_redirect { self.page.hops.saturating_add(1) } else { self.hops },
            seed: is_redirect && self.page.seed,
            terms: self.terms(is_redirect, is_internal),
            referrer: Some(self.page.url.fingerprint()),
        }
    }

    /// As for a page outside the scope: whether it is, is not judged yet.
    fn terms(&self, is_redirect: bool, is_internal: bool) -> PageTerms {
        let terms = self.page.terms;
        if is_redirect {
            // It stands for the page; only leaving the scope counts.
            let outside = terms.outside.max(1);
            let via = if is_internal { terms.via } else { via::NOBODY };
            return PageTerms { outside, kinship: Kinship::Unsaid, via, ..terms };
        }
        PageTerms {
            outside: terms.outside.saturating_add(1),
            depth: match is_internal {
                true => terms.depth,
                false => {
                    terms.depth.map(|depth| depth.saturating_sub(self.page.level.saturating_add(1)))
                }
            },
            via: if is_internal { self.via } else { via::NOBODY },
            ..PageTerms::default()
        }
    }

    /// Whether the site of another page of this domain, or one of somebody else's, is led to.
    fn kinship(&self, url: &CrawlUrl) -> Kinship {
        if url.domain() == self.page.url.domain() {
            return Kinship::Kin;
        }
        match self.rules.wildcards.vouch(url) {
            true => Kinship::Stranger,
            false => Kinship::Unsaid,
        }
    }

    fn held_back(&self, candidate: &Candidate) -> Option<Objection<'a>> {
        let url = &candidate.url;
        let held = candidate.terms.kinship == Kinship::Kin
            && self.rules.wildcards.holds_back(url)
            && !self.seeds.has_site(url);
        held.then(|| Objection::Wildcard(url.domain().to_owned()))
    }

    /// The seed's own depth ends with this page: nothing of it goes to another site.
    fn nothing_left(&self, is_redirect: bool, is_internal: bool) -> Option<Objection<'a>> {
        let depth = self.page.terms.depth.filter(|_| !is_redirect && !is_internal)?;
        (self.page.level >= depth).then_some(Objection::TooDeepForSeed(depth))
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
        self.note_port(url, &objection);
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
