//! Notices on their way through the pipeline: what an archived sitemap, feed or robots.rdf says, and which sites
//! have named it as theirs.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use harvester::robots::Robots;
use model::{
    Candidate, CrawlUrl, Exchange, Fingerprint, Page, RobotsAnswer, RobotsCopy, Signal, SiteHabit,
    SpiderId,
};
use seeder::{
    NoticeRules, NoticeText, SeedSet, SortedNotice, SpiderRules, notices_of_robots, read_notice,
    sort_notice,
};

/// Notices on other hosts than their site's that are remembered. What is forgotten speaks of its own host only,
/// until the robots.txt that named it is read again.
const VOUCHERS_MAX: usize = 10_000;
/// Sites that may name one notice as theirs: a company with as many names.
const SITES_MAX: usize = 100;

/// Which sites have named a notice on another host as theirs, in their robots.txt ("cross-submits" of the
/// sitemaps protocol).
#[derive(Default)]
pub struct Vouchers(Mutex<HashMap<Fingerprint, Vec<String>>>);

impl Vouchers {
    pub fn note(&self, site: &str, notice: &CrawlUrl) {
        if notice.site_text() == site {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= VOUCHERS_MAX && !all.contains_key(&notice.fingerprint()) {
            return;
        }
        let sites = all.entry(notice.fingerprint()).or_default();
        if sites.len() < SITES_MAX && !sites.iter().any(|other| other == site) {
            sites.push(site.to_owned());
        }
    }

    fn of(&self, notice: &CrawlUrl) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&notice.fingerprint()).cloned().unwrap_or_default()
    }
}

/// The notices that this copy of robots.txt leads to.
pub fn named_by(copy: &RobotsCopy, spider: SpiderId, rules: &NoticeRules) -> Vec<Candidate> {
    let named = match &copy.answer {
        RobotsAnswer::Rules(text) => Robots::parse(text.as_bytes()).sitemaps().to_vec(),
        RobotsAnswer::Unavailable { .. } => Vec::new(),
        // Nothing may be asked for now.
        RobotsAnswer::Unreachable { .. } => return Vec::new(),
    };
    notices_of_robots(&copy.origin, &named, spider, rules)
}

/// What follows from an answer, if it is a notice that says anything.
pub fn read(
    page: &Page,
    exchange: &Exchange,
    vouchers: &Vouchers,
    rules: &SpiderRules,
    seeds: &SeedSet,
) -> SortedNotice {
    let Some(source) = page.terms.notice.filter(|_| exchange.status == 200) else {
        return SortedNotice::default();
    };
    let told = read_notice(&NoticeText {
        source,
        url: &exchange.url,
        body: &exchange.body,
        fetched: exchange.started,
        modified: exchange.headers.get("last-modified"),
    });
    sort_notice(page, source, &told, &vouchers.of(&page.url), rules, seeds)
}

/// The same signals, each with the trust that its source has earned at this site.
pub fn judged(signals: Vec<Signal>, site: &SiteHabit) -> Vec<Signal> {
    let judged = |signal: Signal| Signal {
        believed: manager::believed(site.trust(signal.source)),
        ..signal
    };
    signals.into_iter().map(judged).collect()
}

#[cfg(test)]
mod tests {
    use model::{SignalSource, Timestamp, Trust};

    use super::*;

    #[test]
    fn a_notice_speaks_of_the_sites_that_named_it() {
        let vouchers = Vouchers::default();
        let notice = CrawlUrl::parse("https://maps.example/a.xml").unwrap();
        vouchers.note("a.example", &notice);
        vouchers.note("a.example", &notice);
        vouchers.note("maps.example", &notice);
        assert_eq!(vouchers.of(&notice), ["a.example"]);
        let other = CrawlUrl::parse("https://maps.example/b.xml").unwrap();
        assert!(vouchers.of(&other).is_empty());
    }

    #[test]
    fn a_source_is_believed_once_it_has_told_the_truth_often_enough() {
        let signal = Signal {
            fp: Fingerprint(7),
            at: Timestamp(1),
            source: SignalSource::Sitemap,
            believed: false,
        };
        let mut site = SiteHabit::default();
        let mut after = |signals, hits| {
            site.sitemap = Trust { signals, hits, ..Trust::default() };
            judged(vec![signal], &site)[0].believed
        };
        assert!(!after(0.0, 0.0) && !after(1.0, 1.0));
        assert!(after(10.0, 9.0));
        assert!(!after(100.0, 10.0), "a liar");
    }
}
