//! A plain model of the frontier (maps, no database) that random verbs are checked against.

use std::collections::BTreeMap;

use model::{
    Candidate, Change, CheckOut, Counts, Frontier, Page, PageState, Release, SiteLease, Timestamp,
};
use proptest::prelude::*;

use super::{
    SqliteFrontier,
    suite::{ask, candidate, delta, new_page, settlement, url, verdict, visited},
};

#[derive(Clone, Debug)]
enum Verb {
    /// (site, page, level)
    Admit(Vec<(u8, u8, u16)>),
    CheckOut {
        sites_max: usize,
        pages_max: usize,
        limit: Option<u64>,
        slack: i64,
        /// With fingerprints (the site is read whole) or without (by the index).
        known: bool,
    },
    /// Settles the n-th lease ever given, with these changes (page, kind of change, due in), and
    /// admits these pages.
    CheckIn {
        lease: usize,
        changes: Vec<(u8, u8, i64)>,
        admitted: Vec<(u8, u16, i64)>,
        end: u8,
    },
    Wait(i64),
    Expire,
}

fn verb() -> impl Strategy<Value = Verb> {
    let pages = prop::collection::vec((0u8..3, 0u8..6, 0u16..4), 0..6);
    let changes = prop::collection::vec((0u8..6, 0u8..9, -5i64..400), 0..5);
    let admitted = prop::collection::vec((0u8..6, 0u16..4, -5i64..400), 0..3);
    let limit = prop::option::of(0u64..4);
    prop_oneof![
        3 => pages.prop_map(Verb::Admit),
        4 => (1usize..4, 1usize..5, limit, 0i64..200, any::<bool>()).prop_map(
            |(sites_max, pages_max, limit, slack, known)| Verb::CheckOut {
                sites_max, pages_max, limit, slack, known
            }),
        5 => (0usize..64, changes, admitted, 0u8..4).prop_map(
            |(lease, changes, admitted, end)| Verb::CheckIn { lease, changes, admitted, end }),
        2 => (0i64..400).prop_map(Verb::Wait),
        1 => Just(Verb::Expire),
    ]
}

#[derive(Clone, Debug, Default)]
struct PlainSite {
    pages: BTreeMap<String, PlainPage>,
    fence: u64,
    /// In hand until.
    leased: Option<i64>,
    not_before: i64,
    /// Given back to rest and nothing came since.
    resting: bool,
    stirred: bool,
}

#[derive(Clone, Debug)]
struct PlainPage {
    state: PageState,
    level: u16,
    due: Option<i64>,
    fetched: bool,
}

#[derive(Default)]
struct Plain {
    sites: BTreeMap<String, PlainSite>,
    limit: Option<Option<u64>>,
    visits: u64,
    versions: u64,
    now: i64,
}

impl PlainSite {
    fn fetched(&self) -> u64 {
        self.pages.values().filter(|page| page.fetched).count() as u64
    }

    /// (level, due, stored fingerprint, url) of what may be lent out by `until`, in order.
    fn due(&self, until: i64, limit: Option<u64>) -> Vec<(u16, i64, i64, String)> {
        let full = limit.is_some_and(|limit| self.fetched() >= limit);
        let mut due: Vec<_> = self
            .pages
            .iter()
            .filter(|(_, page)| page.due.is_some_and(|due| due <= until))
            .filter(|(_, page)| page.fetched || !full)
            .map(|(text, page)| {
                let fp = url(text).fingerprint().0 as i64;
                (page.level, page.due.unwrap(), fp, text.clone())
            })
            .collect();
        due.sort();
        due
    }
}

impl Plain {
    fn admit(&mut self, candidates: &[Candidate]) -> u64 {
        let mut new = 0;
        for candidate in candidates {
            let site = self.sites.entry(candidate.url.site().to_string()).or_default();
            let level = candidate.level;
            if let Some(page) = site.pages.get_mut(candidate.url.as_str()) {
                page.lower(level);
                continue;
            }
            let due = Some(self.now);
            let page = PlainPage { state: PageState::Candidate, level, due, fetched: false };
            site.pages.insert(candidate.url.to_string(), page);
            site.stirred |= site.leased.is_some();
            site.resting &= site.leased.is_some();
            new += 1;
        }
        new
    }

    fn expire(&mut self) {
        for site in self.sites.values_mut() {
            if site.leased.is_some_and(|until| until <= self.now) {
                site.leased = None;
            }
        }
    }

    fn is_lendable(&self, site: &PlainSite, horizon: i64) -> bool {
        site.leased.is_none()
            && !site.resting
            && site.not_before <= horizon
            && !site.due(horizon, self.limit.flatten()).is_empty()
    }

    /// Checks what was lent against what may be, and lends it here, too.
    fn check_out(&mut self, request: &CheckOut, leases: &[SiteLease]) {
        if self.limit != Some(request.site_pages_max) {
            self.limit = Some(request.site_pages_max);
            let limit = request.site_pages_max.unwrap_or(u64::MAX);
            for site in self.sites.values_mut() {
                site.resting &= site.leased.is_some() || site.fetched() >= limit;
            }
        }
        self.expire();
        let horizon = request.now.plus(request.slack).0;
        let lendable = self.sites.values().filter(|site| self.is_lendable(site, horizon)).count();
        assert_eq!(leases.len(), lendable.min(request.sites_max));
        for lease in leases {
            let limit = self.limit.flatten();
            let site = &self.sites[lease.site.key.as_str()];
            assert!(self.is_lendable(site, horizon), "{} was lent", lease.site.key);
            let mut due = site.due(request.now.0, limit);
            if due.is_empty() {
                due = site.due(horizon, limit);
            }
            assert_eq!(lease.more, due.len() > request.pages_max);
            due.truncate(request.pages_max);
            let lent: Vec<_> = lease.pages.iter().map(shape).collect();
            assert_eq!(lent, due);
            let site = self.sites.get_mut(lease.site.key.as_str()).unwrap();
            site.fence += 1;
            assert_eq!((lease.fence, lease.site.counters.fetched), (site.fence, site.fetched()));
            let known = (request.known_max > 0).then_some(site.pages.len());
            assert_eq!(lease.known.as_ref().map(Vec::len), known);
            site.leased = Some(lease.until.0);
            (site.not_before, site.resting, site.stirred) = (0, false, false);
        }
    }

    fn counts(&self) -> Counts {
        let count = |test: &dyn Fn(PageState) -> bool| {
            let pages = self.sites.values().flat_map(|site| site.pages.values());
            pages.filter(|page| test(page.state)).count() as u64
        };
        Counts {
            sites_known: self.sites.len() as u64,
            pages_known: count(&|s| !matches!(s, PageState::Candidate | PageState::Excluded)),
            pages_fetched: count(&|s| s == PageState::Fetched),
            pages_redirected: count(&|s| s == PageState::Redirected),
            pages_failed: count(&|s| s == PageState::Failing),
            pages_gone: count(&|s| s == PageState::Gone),
            pages_waiting: count(&|s| s == PageState::Known),
            pages_excluded: count(&|s| s == PageState::Excluded),
            candidates: count(&|s| s == PageState::Candidate),
            refused: 0,
            visits: self.visits,
            versions: self.versions,
            bytes: self.visits * 100,
        }
    }
}

impl PlainPage {
    fn lower(&mut self, level: u16) {
        if !self.fetched {
            self.level = self.level.min(level);
        }
    }
}

fn shape(page: &Page) -> (u16, i64, i64, String) {
    let fp = page.url.fingerprint().0 as i64;
    (page.level, page.due.0, fp, page.url.to_string())
}

fn text(site: impl std::fmt::Display, page: u8) -> String {
    format!("http://{site}/{page}")
}

/// Both worlds, side by side.
struct Pair {
    plain: Plain,
    frontier: SqliteFrontier,
    leases: Vec<SiteLease>,
}

impl Pair {
    fn run(&mut self, verb: &Verb) {
        match verb {
            Verb::Admit(pages) => {
                let candidates: Vec<Candidate> = pages
                    .iter()
                    .map(|(site, page, level)| {
                        candidate(&text(format!("s{site}.example"), *page), *level)
                    })
                    .collect();
                let new = self.frontier.admit(&candidates, Timestamp(self.plain.now)).unwrap();
                assert_eq!(new, self.plain.admit(&candidates));
            }
            Verb::CheckOut { sites_max, pages_max, limit, slack, known } => {
                let mut request = ask(self.plain.now);
                (request.sites_max, request.pages_max) = (*sites_max, *pages_max);
                request.site_pages_max = *limit;
                request.known_max = if *known { 1_000 } else { 0 };
                request.slack = std::time::Duration::from_millis(*slack as u64);
                request.lease = std::time::Duration::from_millis(300);
                let leases = self.frontier.check_out(&request).unwrap();
                self.plain.check_out(&request, &leases);
                self.leases.extend(leases);
            }
            Verb::CheckIn { lease, changes, admitted, end } if !self.leases.is_empty() => {
                let lease = self.leases[lease % self.leases.len()].clone();
                self.check_in(&lease, changes, admitted, *end);
            }
            Verb::CheckIn { .. } => {}
            Verb::Wait(time) => self.plain.now += time,
            Verb::Expire => {
                self.frontier.release_expired(Timestamp(self.plain.now)).unwrap();
                self.plain.expire();
            }
        }
        assert_eq!(self.frontier.counts().unwrap(), self.plain.counts());
    }

    fn check_in(
        &mut self,
        lease: &SiteLease,
        changes: &[(u8, u8, i64)],
        admitted: &[(u8, u16, i64)],
        end: u8,
    ) {
        let now = self.plain.now;
        let release = match end {
            0 => Release::Renew(Timestamp(now + 300)),
            1 => Release::Rest,
            end => Release::NotBefore(Timestamp(now + 100 * i64::from(end - 2))),
        };
        let site = self.plain.sites.get_mut(lease.site.key.as_str()).unwrap();
        let mut settled = site.clone();
        let mut delta = delta(lease, release);
        for (page, level, wait) in admitted {
            let text = text(&lease.site.key, *page);
            delta.admitted.push(new_page(&text, *level, now + wait));
            settled.accept(text, *level, now + wait);
        }
        let (mut visits, mut versions) = (0, 0);
        for (page, kind, wait) in changes {
            let text = text(&lease.site.key, *page);
            let Some(row) = settled.pages.get_mut(&text) else { continue };
            let due = (*wait >= 0).then_some(now + wait);
            let fp = url(&text).fingerprint();
            let update = match (Change::from_stored(*kind), kind) {
                (Some(change), _) => visited(fp, now, change, due),
                (None, 6) => verdict(fp, PageState::Excluded, due),
                (None, 7) => verdict(fp, PageState::Gone, due),
                _ => verdict(fp, PageState::Known, due),
            };
            visits += u64::from(update.visit.is_some());
            versions += u64::from(update.visit.as_ref().is_some_and(|v| v.change.is_version()));
            row.state = update.state;
            row.due = due;
            row.fetched |= update.state == PageState::Fetched;
            delta.updates.push(update);
        }
        settled.end(release);
        let outcome = self.frontier.check_in(&settlement(now, vec![delta]));
        assert_eq!(outcome.is_ok(), lease.fence == site.fence);
        if outcome.is_ok() {
            *site = settled;
            self.plain.visits += visits;
            self.plain.versions += versions;
        }
    }
}

impl PlainSite {
    fn accept(&mut self, text: String, level: u16, due: i64) {
        let new = PlainPage { state: PageState::Known, level, due: Some(due), fetched: false };
        let Some(page) = self.pages.get_mut(&text) else {
            self.pages.insert(text, new);
            return;
        };
        page.lower(level);
        if page.state == PageState::Candidate {
            (page.state, page.due) = (PageState::Known, Some(due));
        }
    }

    fn end(&mut self, release: Release) {
        match release {
            Release::Renew(until) => {
                self.leased = Some(until.0);
                (self.not_before, self.resting) = (0, false);
            }
            Release::NotBefore(moment) => {
                (self.leased, self.not_before, self.stirred) = (None, moment.0, false);
                self.resting = false;
            }
            Release::Rest => {
                (self.leased, self.not_before) = (None, 0);
                self.resting = !self.stirred;
                self.stirred = false;
            }
        }
    }
}

/// A few seconds' worth; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn random_verbs_agree_with_the_plain_model(verbs in prop::collection::vec(verb(), 1..40)) {
        let frontier = SqliteFrontier::open_in_memory().unwrap();
        let mut pair = Pair { plain: Plain::default(), frontier, leases: Vec::new() };
        for verb in &verbs {
            pair.run(verb);
        }
        assert_eq!(pair.frontier.verify(true).unwrap(), []);
    }
}
