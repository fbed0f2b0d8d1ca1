//! What becomes of the parts of a page (images, styles, scripts, fonts): candidates that are no pages.
//!
//! - They belong to their page: scope, depth, reject lists and the user's rules were asked about that. What
//!   protects others holds for them as for anything: blocks, length, ports, redirects, and later
//!   robots.txt, the site's clock and the address guard.
//! - They have their page's level, on whatever site, so that they come before the next level.
//! - A URL that is also taken as a page from the same page is a page.
//! - URLs stay as they are written: a rewritten one would not be found when the page is replayed.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use model::{Candidate, CrawlUrl, Decision, Fingerprint, Page, PageTerms, limits};

use crate::{SeedSet, Sorted, SpiderRules};

/// What is to be fetched for a page, and what is not.
#[derive(Clone, Debug, Default)]
pub struct Requisites {
    pub taken: Vec<Candidate>,
    /// Under the page's site.
    pub refused: Vec<Decision>,
}

/// `found`: the parts of `page`, which may be a part itself; `redirect`: where that part is instead;
/// `pages`: what was taken as pages from it.
pub fn sort_requisites(
    page: &Page,
    found: &[CrawlUrl],
    redirect: Option<&CrawlUrl>,
    pages: &Sorted,
    rules: &SpiderRules,
    seeds: &SeedSet,
) -> Requisites {
    let mut sorted = Requisites::default();
    if found.is_empty() && redirect.is_none() {
        return sorted;
    }
    let taken = pages.internal.iter().chain(&pages.external);
    let mut seen: HashSet<Fingerprint, RandomState> =
        taken.map(|candidate| candidate.url.fingerprint()).collect();
    seen.insert(page.url.fingerprint());
    let moved = redirect.map(|url| {
        let mut moved = candidate(page, url, page.hops.saturating_add(1), styles(page));
        moved.terms.notice = page.terms.notice;
        moved
    });
    let deeper = styles(page) + u8::from(page.terms.requisite);
    let parts = found.iter().filter(|_| deeper <= limits::REQUISITE_STYLES_DEEP);
    for candidate in moved.into_iter().chain(parts.map(|url| candidate(page, url, 0, deeper))) {
        if !seen.insert(candidate.url.fingerprint()) {
            continue;
        }
        match rules.objection(&candidate, seeds) {
            None => sorted.taken.push(candidate),
            Some(objection) => refuse(page, &candidate.url, &objection, &mut sorted.refused),
        }
    }
    sorted
}

/// Styles passed through on the way from the page to this part.
fn styles(page: &Page) -> u8 {
    if page.terms.requisite { page.terms.outside } else { 0 }
}

fn candidate(page: &Page, url: &CrawlUrl, hops: u8, styles: u8) -> Candidate {
    Candidate {
        url: url.clone(),
        spider: page.spider,
        level: page.level,
        hops,
        seed: false,
        terms: PageTerms { requisite: true, outside: styles, ..PageTerms::default() },
        referrer: Some(page.url.fingerprint()),
    }
}

fn refuse(
    page: &Page,
    url: &CrawlUrl,
    objection: &crate::objection::Objection<'_>,
    refused: &mut Vec<Decision>,
) {
    let (reason, rule) = (objection.reason(), objection.to_string());
    let same = |decision: &&mut Decision| decision.reason == reason && decision.rule == rule;
    if let Some(before) = refused.iter_mut().find(same) {
        before.count += 1;
        return;
    }
    let text = url.as_str();
    refused.push(Decision {
        site: page.url.site_text().to_owned(),
        reason,
        rule,
        count: 1,
        example: text[..text.len().min(limits::URL_BYTES_MAX)].to_owned(),
        referrer: Some(page.url.as_str().to_owned()),
    });
}

#[cfg(test)]
mod tests {
    use model::{
        RefusalReason, SpiderId,
        testing::{self, url},
    };

    use super::*;
    use crate::{Block, RuleList};

    fn page(text: &str, terms: PageTerms) -> Page {
        Page { spider: SpiderId(1), level: 4, hops: 1, seed: true, terms, ..testing::page(text) }
    }

    fn sort(page: &Page, found: &[&str], rules: &SpiderRules) -> Requisites {
        let found: Vec<CrawlUrl> = found.iter().map(|text| url(text)).collect();
        let seeds: SeedSet = [url("http://a.test/")].iter().collect();
        sort_requisites(page, &found, None, &Sorted::default(), rules, &seeds)
    }

    #[test]
    fn parts_leave_scope_depth_and_the_users_rules_and_keep_the_pages_level() {
        let list = RuleList::parse(&["reject extension png"]).unwrap();
        let rules = SpiderRules { depth_max: Some(0), list, ..SpiderRules::default() };
        let own = page("http://a.test/x/", PageTerms::default());
        let sorted = sort(&own, &["http://cdn.test/logout/a.png", "http://a.test/x/"], &rules);
        let [part] = &sorted.taken[..] else { panic!("{sorted:?}") };
        assert_eq!((part.level, part.hops, part.seed, part.terms.requisite), (4, 0, false, true));
        assert_eq!(part.referrer, Some(own.url.fingerprint()));
        assert!(sorted.refused.is_empty());
    }

    #[test]
    fn blocks_length_and_ports_hold_for_parts_too() {
        let rules = SpiderRules { url_bytes_max: 40, ..SpiderRules::default() };
        rules.blocks.add(Block::parse("evil.test"));
        let long = format!("http://a.test/{}", "x".repeat(60));
        let own = page("http://a.test/", PageTerms::default());
        let parts = ["http://evil.test/a", "http://evil.test/b", &long, "http://a.test:81/"];
        let sorted = sort(&own, &parts, &rules);
        assert!(sorted.taken.is_empty());
        let reasons: Vec<_> = sorted.refused.iter().map(|d| (d.reason, d.count)).collect();
        let wanted =
            [(RefusalReason::Blocked, 2), (RefusalReason::TooLong, 1), (RefusalReason::Port, 1)];
        assert_eq!(reasons, wanted);
    }

    #[test]
    fn a_url_taken_as_a_page_is_no_part() {
        let own = page("http://a.test/", PageTerms::default());
        let both = sort(&own, &["http://a.test/both"], &SpiderRules::default()).taken;
        let pages = Sorted { internal: both, ..Sorted::default() };
        let (rules, seeds) = (SpiderRules::default(), SeedSet::default());
        let found = [url("http://a.test/both"), url("http://a.test/part")];
        let sorted = sort_requisites(&own, &found, None, &pages, &rules, &seeds);
        assert_eq!(sorted.taken.len(), 1);
        assert_eq!(sorted.taken[0].url.path(), "/part");
    }

    #[test]
    fn styles_lead_to_styles_only_so_deep_and_a_redirect_stays_a_part() {
        let deep = |outside| PageTerms { requisite: true, outside, ..PageTerms::default() };
        let rules = SpiderRules::default();
        let style = page("http://a.test/a.css", deep(0));
        assert_eq!(sort(&style, &["http://a.test/b.css"], &rules).taken[0].terms, deep(1));
        let last = page("http://a.test/a.css", deep(limits::REQUISITE_STYLES_DEEP));
        assert!(sort(&last, &["http://a.test/b.css"], &rules).taken.is_empty());
        let target = url("http://b.test/c.css");
        let (pages, seeds) = (Sorted::default(), SeedSet::default());
        let moved = sort_requisites(&last, &[], Some(&target), &pages, &rules, &seeds).taken;
        assert_eq!((moved[0].hops, moved[0].terms), (2, last.terms));
        let page = Page { hops: rules.redirects_max, ..last };
        let refused = sort_requisites(&page, &[], Some(&target), &pages, &rules, &seeds).refused;
        assert_eq!(refused[0].reason, RefusalReason::Redirects);
    }
}
