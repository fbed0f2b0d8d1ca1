//! Which notices are asked for, and what follows from what they say: pages that may enter, announcements of
//! changes, further notices.
//!
//! - A notice belongs to its site and not to what is crawled of it: like a part of a page it is counted and
//!   limited as none, and only what protects others is asked about it.
//! - Pages that it names are judged like any link. How many links lead to one is not known: the folders of its
//!   path are taken for its level, until a link shows a shorter way.

use std::time::Duration;

use model::{
    Candidate, CrawlUrl, Decision, Hazard, Link, LinkKind, Measure, Origin, Page, PageTerms,
    RefusalReason, Sighting, Signal, SignalSource, SpiderId, limits,
};

use super::{Announced, Announcements};
use crate::{SeedSet, SpiderRules, objection::Objection, rules::Inquiry};

/// Indexes that name indexes are followed this deep; the protocol knows one.
const INDEXES_DEEP: u8 = 3;
/// Sitemaps on other hosts that one robots.txt may send us to: it is somebody else's server.
const ELSEWHERE_MAX: usize = 10;
/// Feeds of a page: all, comments, and one or the other in another form.
const FEEDS_MAX: usize = 5;
/// What a notice said before its last visit was noted then; this much more, for those that are served from a
/// cache or written late.
const LATE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// Which notices a spider asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeRules {
    pub sitemaps: Sitemaps,
    pub feeds: bool,
    pub robots_rdf: bool,
}

impl Default for NoticeRules {
    fn default() -> NoticeRules {
        NoticeRules { sitemaps: Sitemaps::On, feeds: true, robots_rdf: false }
    }
}

impl NoticeRules {
    pub fn wants(&self, source: SignalSource) -> bool {
        match source {
            SignalSource::Sitemap => self.sitemaps != Sitemaps::Off,
            SignalSource::Feed => self.feeds,
            SignalSource::Rdf => self.robots_rdf,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sitemaps {
    Off,
    /// Those that robots.txt names.
    On,
    /// Where it names none, `/sitemap.xml`.
    Guess,
}

/// What follows from a notice.
#[derive(Clone, Debug, Default)]
pub struct SortedNotice {
    /// Pages of the sites it may speak of, whether known or not.
    pub pages: Vec<Candidate>,
    /// Changes of pages of its own site. Nobody is believed here.
    pub signals: Vec<Signal>,
    /// Further notices.
    pub notices: Vec<Candidate>,
    /// Under the notice's site, merged by reason and rule.
    pub refused: Vec<Decision>,
    /// What is hostile in it.
    pub sightings: Vec<Sighting>,
}

/// `vouched`: other sites whose robots.txt names this notice.
pub fn sort_notice(
    page: &Page,
    source: SignalSource,
    told: &Announcements,
    vouched: &[String],
    rules: &SpiderRules,
    seeds: &SeedSet,
) -> SortedNotice {
    let mut sorter =
        Sorter { page, rules, seeds, merged: Vec::new(), out: SortedNotice::default() };
    let news = page.last.as_ref().map(|last| last.visited.minus(LATE_MAX));
    for Announced { url, at } in &told.pages {
        let url = rules.form.apply(url);
        let is_own = url.site_text() == page.url.site_text();
        if !is_own && !vouched.iter().any(|site| site == url.site_text()) {
            sorter.refuse(&url, Why::Elsewhere(source));
            continue;
        }
        if let Some(at) =
            at.filter(|at| is_own && !told.stamped && news.is_none_or(|news| *at > news))
        {
            sorter.out.signals.push(Signal { fp: url.fingerprint(), at, source, believed: false });
        }
        let url = rules.folds.fold(&url).unwrap_or(url);
        sorter.judge(found(page, url));
    }
    let deep = page.terms.outside.saturating_add(1);
    for url in told.sitemaps.iter().filter(|_| deep <= INDEXES_DEEP) {
        match url.site_text() == page.url.site_text() {
            true => sorter.judge(notice_candidate(url.clone(), source, page.spider, deep)),
            false => sorter.refuse(url, Why::Elsewhere(source)),
        }
    }
    if deep > INDEXES_DEEP && !told.sitemaps.is_empty() {
        sorter.met(Hazard::HostileSitemap, "indexes in indexes", told.sitemaps.len() as u64);
    }
    if told.sitemaps.contains(&page.url) {
        sorter.met(Hazard::HostileSitemap, "an index that names itself", 1);
    }
    sorter.complain(source, told);
    sorter.out
}

/// A notice as it asks to be let in; `indexes`: those that led to it, one from the other.
pub fn notice_candidate(
    url: CrawlUrl,
    source: SignalSource,
    spider: SpiderId,
    indexes: u8,
) -> Candidate {
    let notice = Some(source);
    Candidate {
        url,
        spider,
        // With the entry page: what it tells may be the shortest way to everything.
        level: 0,
        hops: 0,
        seed: false,
        terms: PageTerms { requisite: true, notice, outside: indexes, ..PageTerms::default() },
        referrer: None,
    }
}

/// The notices that an origin's robots.txt leads to; `named`: what its `Sitemap:` lines say.
pub fn notices_of_robots(
    origin: &Origin,
    named: &[String],
    spider: SpiderId,
    rules: &NoticeRules,
) -> Vec<Candidate> {
    let Ok(home) = CrawlUrl::parse(origin.as_str()) else { return Vec::new() };
    let mut found = Vec::new();
    let indexes = indexes_of(named.len());
    let mut add =
        |url: CrawlUrl, source| found.push(notice_candidate(url, source, spider, indexes));
    if rules.sitemaps != Sitemaps::Off {
        let mut elsewhere = 0;
        for url in named.iter().filter_map(|text| home.join(text.trim()).ok()) {
            elsewhere += usize::from(url.site_text() != home.site_text());
            if url.site_text() == home.site_text() || elsewhere <= ELSEWHERE_MAX {
                add(url, SignalSource::Sitemap);
            }
        }
    }
    if named.is_empty()
        && rules.sitemaps == Sitemaps::Guess
        && let Ok(url) = home.join("/sitemap.xml")
    {
        add(url, SignalSource::Sitemap);
    }
    if rules.robots_rdf
        && let Ok(url) = home.join("/robots.rdf")
    {
        add(url, SignalSource::Rdf);
    }
    found
}

/// A robots.txt that names many sitemaps is as good as an index, or as one of indexes: they share what one alone
/// would count. Never so many that an index among them would not be read.
fn indexes_of(named: usize) -> u8 {
    match named {
        0..=3 => 0,
        4..=31 => 1,
        _ => INDEXES_DEEP - 1,
    }
}

/// The feeds that an entry page names. Other pages have feeds of their own, mostly of comments on that page:
/// to ask for them would double the visits to the site.
pub fn feeds_of(page: &Page, links: &[Link], rules: &NoticeRules) -> Vec<Candidate> {
    if !rules.feeds || page.level > 0 || page.terms.requisite {
        return Vec::new();
    }
    let own =
        |link: &&Link| link.kind == LinkKind::Feed && link.url.site_text() == page.url.site_text();
    let feeds = links.iter().filter(own).take(FEEDS_MAX);
    feeds
        .map(|link| notice_candidate(link.url.clone(), SignalSource::Feed, page.spider, 0))
        .collect()
}

fn found(notice: &Page, url: CrawlUrl) -> Candidate {
    let folders = url.segments().filter(|segment| !segment.is_empty()).count();
    Candidate {
        level: u16::try_from(folders).unwrap_or(u16::MAX),
        url,
        spider: notice.spider,
        hops: 0,
        seed: false,
        terms: PageTerms { outside: 1, ..PageTerms::default() },
        referrer: Some(notice.url.fingerprint()),
    }
}

struct Sorter<'a> {
    page: &'a Page,
    rules: &'a SpiderRules,
    seeds: &'a SeedSet,
    /// Each with its place in the refusals.
    merged: Vec<(Why<'a>, usize)>,
    out: SortedNotice,
}

#[derive(PartialEq)]
enum Why<'a> {
    Rules(Objection<'a>),
    /// It is of a site that the notice may not speak of.
    Elsewhere(SignalSource),
}

impl Sorter<'_> {
    fn judge(&mut self, mut candidate: Candidate) {
        let inquiry = Inquiry::new(self.rules, &candidate, self.seeds);
        let objection = inquiry.objection();
        let is_inside = self.rules.outside_max == 0 || inquiry.is_inside();
        match objection {
            Some(objection) => self.refuse(&candidate.url, Why::Rules(objection)),
            None if candidate.terms.notice.is_some() => self.out.notices.push(candidate),
            None => {
                if is_inside {
                    candidate.terms.outside = 0;
                }
                self.out.pages.push(candidate);
            }
        }
    }
}

impl<'a> Sorter<'a> {
    fn refuse(&mut self, url: &CrawlUrl, why: Why<'a>) {
        if let Some((_, place)) = self.merged.iter().find(|(other, _)| *other == why) {
            self.out.refused[*place].count += 1;
            return;
        }
        let (reason, rule, named) = match &why {
            Why::Rules(objection) => {
                let named = !matches!(objection, Objection::Forgotten);
                (objection.reason(), objection.to_string(), named)
            }
            Why::Elsewhere(source) => {
                let rule = format!("a {} covers its own site only", source.word());
                (RefusalReason::Scope, rule, true)
            }
        };
        let example = if named { url.as_str() } else { "" };
        self.merged.push((why, self.out.refused.len()));
        self.push(reason, rule, 1, example);
    }

    /// What is wrong with the notice itself.
    fn complain(&mut self, source: SignalSource, told: &Announcements) {
        let (word, own) = (source.word(), self.page.url.as_str().to_owned());
        if told.is_nothing() {
            self.push(RefusalReason::Invalid, format!("{word}: names no page"), 1, &own);
        } else if told.bad > 0 {
            let rule = format!("{word}: no URL");
            self.push(RefusalReason::Invalid, rule, told.bad, &told.example);
        }
        if told.cut {
            self.push(RefusalReason::Limit, format!("{word}: longer than is read"), 1, &own);
            self.met(Hazard::HostileSitemap, "longer than is read", 1);
        }
        if let Some(what) = told.hostile {
            self.met(Hazard::HostileXml, what, 1);
        }
        let foreign = self.merged.iter().find(|(why, _)| matches!(why, Why::Elsewhere(_)));
        if let Some((_, place)) = foreign {
            let count = self.out.refused[*place].count;
            self.met(Hazard::HostileSitemap, "URLs of other hosts", count);
        }
    }

    fn met(&mut self, hazard: Hazard, what: &str, count: u64) {
        let met = Sighting::at(&self.page.url, hazard, Measure::Refused);
        self.out.sightings.push(Sighting { count, ..met.of(what) });
    }

    fn push(&mut self, reason: RefusalReason, rule: String, count: u64, example: &str) {
        self.out.refused.push(Decision {
            site: self.page.url.site_text().to_owned(),
            reason,
            rule,
            count,
            example: cut(example).to_owned(),
            referrer: Some(self.page.url.as_str().to_owned()),
        });
    }
}

fn cut(text: &str) -> &str {
    let end = text.len().min(limits::URL_BYTES_MAX);
    text.get(..end).unwrap_or_default()
}
