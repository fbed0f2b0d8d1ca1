//! A plain model of the frontier (maps, no database) that random verbs are checked against.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Candidate, Change, CheckOut, Counts, Frontier, NewPage, Page, PageState, PageTerms, Release,
    SiteLease, SpiderId, Timestamp,
};
use proptest::prelude::*;

use super::{
    SqliteFrontier,
    suite::{ask, candidate, delta, new_page, settlement, url, verdict, visited},
};

#[derive(Clone, Debug)]
enum Verb {
    /// (site, page, level, spider, seed)
    Admit(Vec<(u8, u8, u16, u32, bool)>),
    CheckOut {
        sites_max: usize,
        pages_max: usize,
        paused: BTreeSet<u32>,
        seeded_first: bool,
        slack: i64,
        /// With fingerprints (the site is read whole) or without (by the index).
        known: bool,
        firsts: bool,
        again_max: Option<usize>,
    },
    /// Settles the n-th lease ever given, with these changes (page, kind of change, due in), and
    /// admits these pages; these spiders are full.
    CheckIn {
        lease: usize,
        full: BTreeSet<u32>,
        changes: Vec<(u8, u8, i64)>,
        admitted: Vec<(u8, u16, i64)>,
        end: u8,
    },
    Wait(i64),
    Expire,
    /// A spider, and whether it is paused from now on.
    Pause(u32, bool),
    Lift,
}

/// 1 is there, 2 and 3 are made.
const SPIDERS: std::ops::RangeInclusive<u32> = 1..=3;
/// A part of a page wherever it is found, unless a seed names it.
const REQUISITE: u8 = 5;

fn verb() -> impl Strategy<Value = Verb> {
    let seed = prop::bool::weighted(0.2);
    let pages = prop::collection::vec((0u8..3, 0u8..6, 0u16..4, SPIDERS, seed), 0..6);
    let changes = prop::collection::vec((0u8..6, 0u8..11, -5i64..400), 0..5);
    let admitted = prop::collection::vec((0u8..6, 0u16..4, -5i64..400), 0..3);
    let some = || prop::collection::btree_set(SPIDERS, 0..3);
    let room = (1usize..4, 1usize..5);
    let sorts = (prop::bool::weighted(0.8), prop::option::of(0usize..6));
    prop_oneof![
        3 => pages.prop_map(Verb::Admit),
        4 => (room, some(), any::<bool>(), 0i64..200, any::<bool>(), sorts).prop_map(
            |((sites_max, pages_max), paused, seeded_first, slack, known, sorts)| Verb::CheckOut {
                sites_max, pages_max, paused, seeded_first, slack, known,
                firsts: sorts.0, again_max: sorts.1,
            }),
        5 => (0usize..64, some(), changes, admitted, 0u8..4).prop_map(
            |(lease, full, changes, admitted, end)| Verb::CheckIn {
                lease, full, changes, admitted, end
            }),
        2 => (0i64..400).prop_map(Verb::Wait),
        1 => Just(Verb::Expire),
        1 => (SPIDERS, any::<bool>()).prop_map(|(spider, paused)| Verb::Pause(spider, paused)),
        1 => Just(Verb::Lift),
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
    seeded: bool,
    full: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
struct PlainPage {
    state: PageState,
    level: u16,
    due: Option<i64>,
    fetched: bool,
    spider: u32,
    requisite: bool,
    seed: bool,
}

#[derive(Default)]
struct Plain {
    sites: BTreeMap<String, PlainSite>,
    paused: BTreeSet<u32>,
    /// By the last check-out.
    asked: BTreeSet<u32>,
    visits: u64,
    versions: u64,
    now: i64,
}

impl PlainSite {
    fn fetched(&self) -> u64 {
        self.pages.values().filter(|page| page.fetched && !page.requisite).count() as u64
    }

    /// What may be lent out by `until` of one queue, in its order.
    fn due(&self, again: bool, until: i64, asleep: &BTreeSet<u32>) -> Vec<Shape> {
        let held_back = |page: &PlainPage| {
            !page.requisite
                && page.state != PageState::Candidate
                && self.full.contains(&page.spider)
        };
        let mut due: Vec<Shape> = self
            .pages
            .iter()
            .filter(|(_, page)| page.fetched == again)
            .filter(|(_, page)| page.due.is_some_and(|due| due <= until))
            .filter(|(_, page)| !asleep.contains(&page.spider))
            .filter(|(_, page)| page.fetched || !held_back(page))
            .map(|(text, page)| {
                let fp = url(text).fingerprint().0 as i64;
                (page.level, page.due.unwrap(), fp, text.clone())
            })
            .collect();
        due.sort_by_key(|(level, due, fp, _)| (if again { 0 } else { *level }, *due, *fp));
        due
    }

    /// The pages of a lease, how many are of the first queue, and whether there are more.
    fn lot(&self, wanted: &PlainWanted, asleep: &BTreeSet<u32>) -> (Vec<Shape>, usize, bool) {
        let queue = |again, until: Option<i64>| {
            until.map_or(Vec::new(), |until| self.due(again, until, asleep))
        };
        let (mut firsts, mut again) = (queue(false, wanted.firsts), queue(true, wanted.again));
        let (due, due_again) = (firsts.len(), again.len());
        again.truncate(wanted.again_max.unwrap_or(usize::MAX));
        // One of the larger heap goes, until both fit; of equal ones one to be seen again.
        while firsts.len() + again.len() > wanted.pages_max {
            let half = (wanted.pages_max + usize::from(wanted.for_again)) / 2;
            if again.len() > half {
                again.pop()
            } else {
                firsts.pop()
            };
        }
        let more = due > firsts.len() || wanted.again_max.is_none() && due_again > again.len();
        let count = firsts.len();
        firsts.append(&mut again);
        firsts.sort();
        (firsts, count, more)
    }
}

/// (level, due, stored fingerprint, url)
type Shape = (u16, i64, i64, String);

struct PlainWanted {
    firsts: Option<i64>,
    again: Option<i64>,
    again_max: Option<usize>,
    for_again: bool,
    pages_max: usize,
}

impl Plain {
    fn admit(&mut self, candidates: &[Candidate]) -> u64 {
        let mut new = 0;
        for candidate in candidates {
            let site = self.sites.entry(candidate.url.site().to_string()).or_default();
            let (level, spider) = (candidate.level, candidate.spider.0);
            let (state, requisite) = (PageState::Candidate, candidate.terms.requisite);
            let (due, fetched) = (Some(self.now), false);
            site.seeded |= candidate.seed;
            if let Some(page) = site.pages.get_mut(candidate.url.as_str()) {
                if page.requisite && !requisite {
                    let seed = page.seed || candidate.seed;
                    *page = PlainPage { state, level, due, fetched, spider, requisite, seed };
                    site.stirred |= site.leased.is_some();
                    site.resting &= site.leased.is_some();
                    continue;
                }
                if !requisite {
                    page.lower(level);
                }
                if !candidate.seed {
                    continue;
                }
                let changes_hands = !page.seed && page.spider != spider;
                (page.requisite, page.seed) = (false, true);
                if changes_hands {
                    (page.spider, page.level) = (spider, page.level.min(level));
                } else if page.state != PageState::Excluded {
                    continue;
                }
                page.due = due;
                if page.state == PageState::Excluded {
                    page.state = state;
                }
            } else {
                let seed = candidate.seed;
                let page = PlainPage { state, level, due, fetched, spider, requisite, seed };
                site.pages.insert(candidate.url.to_string(), page);
                new += 1;
            }
            site.stirred |= site.leased.is_some();
            site.resting &= site.leased.is_some();
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

    fn is_lendable(&self, site: &PlainSite, again: bool, horizon: i64) -> bool {
        site.leased.is_none()
            && !site.resting
            && site.not_before <= self.now.min(horizon)
            && !site.due(again, horizon, &self.asleep()).is_empty()
    }

    fn asleep(&self) -> BTreeSet<u32> {
        self.paused.union(&self.asked).copied().collect()
    }

    /// Sites that rest and have pages of this spider to come back to do so no longer.
    fn wake(&mut self, spider: u32) {
        if self.asleep().contains(&spider) {
            return;
        }
        for site in self.sites.values_mut() {
            let has = site.pages.values().any(|page| page.spider == spider && page.due.is_some());
            site.resting &= site.leased.is_some() || !has;
        }
    }

    /// Checks what was lent against what may be, and lends it here, too.
    fn check_out(&mut self, request: &CheckOut, leases: &[SiteLease]) {
        self.expire();
        let asked = request.paused.iter().map(|spider| spider.0).collect();
        for spider in std::mem::replace(&mut self.asked, asked) {
            self.wake(spider);
        }
        let (now, horizon) = (request.now.0, request.now.plus(request.slack).0);
        self.check_firsts(request, leases);
        let mut again_left = request.again_max;
        for lease in leases {
            let site = &self.sites[lease.site.key.as_str()];
            let for_first = request.firsts && self.is_lendable(site, false, now);
            let again = if for_first || self.is_lendable(site, true, now) {
                now
            } else {
                assert!(self.is_lendable(site, true, horizon), "{} was lent", lease.site.key);
                assert_eq!(self.count(true, now), 0, "what is due comes before what is not");
                horizon
            };
            let wanted = PlainWanted {
                firsts: request.firsts.then_some(now),
                again: (again_left != Some(0)).then_some(again),
                again_max: again_left,
                for_again: !for_first,
                pages_max: request.pages_max,
            };
            let (due, firsts, more) = site.lot(&wanted, &self.asleep());
            let lent: Vec<Shape> = lease.pages.iter().map(shape).collect();
            assert_eq!((&lent, lease.more), (&due, more));
            again_left = again_left.map(|left| left - (due.len() - firsts));
            let known = (request.known_max > 0 && firsts > 0)
                .then(|| site.pages.values().filter(|page| !page.requisite).count());
            assert_eq!(lease.known.as_ref().map(Vec::len), known);
            self.lend(lease);
        }
        if leases.len() < request.sites_max && again_left != Some(0) {
            assert_eq!(self.count(true, horizon), 0, "all that was asked for");
        }
    }

    /// Sites with something new come first, and all of them.
    fn check_firsts(&self, request: &CheckOut, leases: &[SiteLease]) {
        if !request.firsts {
            return;
        }
        let now = request.now.0;
        let is_first =
            |lease: &SiteLease| self.is_lendable(&self.sites[lease.site.key.as_str()], false, now);
        let wanted = self.count(false, now).min(request.sites_max);
        assert!(leases.len() >= wanted && leases[..wanted].iter().all(is_first));
        if request.seeded_first {
            let urgent = |site: &PlainSite| site.seeded && self.is_lendable(site, false, now);
            let due = self.sites.values().filter(|site| urgent(site)).count();
            let lent = leases.iter().filter(|l| urgent(&self.sites[l.site.key.as_str()])).count();
            assert_eq!(lent, due.min(request.sites_max), "seeded ones first");
        }
    }

    fn count(&self, again: bool, horizon: i64) -> usize {
        self.sites.values().filter(|site| self.is_lendable(site, again, horizon)).count()
    }

    fn lend(&mut self, lease: &SiteLease) {
        let site = self.sites.get_mut(lease.site.key.as_str()).unwrap();
        site.fence += 1;
        assert_eq!((lease.fence, lease.site.counters.fetched), (site.fence, site.fetched()));
        site.leased = Some(lease.until.0);
        (site.not_before, site.resting, site.stirred) = (0, false, false);
    }

    fn counts(&self) -> Counts {
        let count = |test: &dyn Fn(PageState) -> bool| {
            let pages = self.sites.values().flat_map(|site| site.pages.values());
            pages.filter(|page| !page.requisite && test(page.state)).count() as u64
        };
        let is_known = |s| !matches!(s, PageState::Candidate | PageState::Excluded);
        let parts = self.sites.values().flat_map(|site| site.pages.values());
        let parts = parts.filter(|page| page.requisite && is_known(page.state)).count() as u64;
        Counts {
            sites_known: self.sites.len() as u64,
            pages_known: count(&is_known),
            requisites: parts,
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
        if !self.fetched && !self.requisite {
            self.level = self.level.min(level);
        }
    }
}

fn shape(page: &Page) -> Shape {
    let fp = page.url.fingerprint().0 as i64;
    (page.level, page.due.0, fp, page.url.to_string())
}

fn terms(page: u8, seed: bool) -> PageTerms {
    PageTerms { requisite: page == REQUISITE && !seed, ..PageTerms::default() }
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
                // Once each: of equal ones any may be the first.
                let pages: BTreeMap<_, _> =
                    pages.iter().map(|(s, p, level, n, seed)| ((s, p), (level, n, seed))).collect();
                let candidates: Vec<Candidate> = pages
                    .into_iter()
                    .map(|((site, page), (level, spider, seed))| Candidate {
                        spider: SpiderId(*spider),
                        seed: *seed,
                        terms: terms(*page, *seed),
                        ..candidate(&text(format!("s{site}.example"), *page), *level)
                    })
                    .collect();
                let new = self.frontier.admit(&candidates, Timestamp(self.plain.now)).unwrap();
                assert_eq!(new, self.plain.admit(&candidates));
            }
            Verb::CheckOut {
                sites_max,
                pages_max,
                paused,
                seeded_first,
                slack,
                known,
                firsts,
                again_max,
            } => {
                let (firsts, again_max) = (*firsts, *again_max);
                let mut request = ask(self.plain.now);
                (request.sites_max, request.pages_max) = (*sites_max, *pages_max);
                request.paused = paused.iter().copied().map(SpiderId).collect();
                (request.firsts, request.again_max) = (firsts, again_max);
                request.seeded_first = *seeded_first;
                request.known_max = if *known { 1_000 } else { 0 };
                request.slack = std::time::Duration::from_millis(*slack as u64);
                request.lease = std::time::Duration::from_millis(300);
                let leases = self.frontier.check_out(&request).unwrap();
                self.plain.check_out(&request, &leases);
                self.leases.extend(leases);
            }
            Verb::CheckIn { lease, full, changes, admitted, end } if !self.leases.is_empty() => {
                let lease = self.leases[lease % self.leases.len()].clone();
                self.check_in(&lease, full, changes, admitted, *end);
            }
            Verb::CheckIn { .. } => {}
            Verb::Wait(time) => self.plain.now += time,
            Verb::Expire => {
                self.frontier.release_expired(Timestamp(self.plain.now)).unwrap();
                self.plain.expire();
            }
            Verb::Pause(spider, paused) => {
                let why = paused.then_some("asked to");
                let now = Timestamp(self.plain.now);
                self.frontier.pause_spider(SpiderId(*spider), why, now).unwrap();
                self.plain.paused.remove(spider);
                if *paused {
                    self.plain.paused.insert(*spider);
                }
                self.plain.wake(*spider);
            }
            Verb::Lift => {
                self.frontier.lift_limits(Timestamp(self.plain.now)).unwrap();
                for site in self.plain.sites.values_mut() {
                    site.full.clear();
                    site.resting &= site.leased.is_some();
                }
            }
        }
        assert_eq!(self.frontier.counts().unwrap(), self.plain.counts());
    }

    fn check_in(
        &mut self,
        lease: &SiteLease,
        full: &BTreeSet<u32>,
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
        delta.full = full.iter().copied().map(SpiderId).collect();
        for (page, level, wait) in admitted {
            let text = text(&lease.site.key, *page);
            let (spider, terms) = (1 + u32::from(page % 3), terms(*page, false));
            let new = new_page(&text, *level, now + wait);
            delta.admitted.push(NewPage { spider: SpiderId(spider), terms, ..new });
            settled.accept(
                text,
                PlainPage {
                    state: PageState::Known,
                    level: *level,
                    due: Some(now + wait),
                    fetched: false,
                    spider,
                    requisite: terms.requisite,
                    seed: false,
                },
            );
        }
        let (mut visits, mut versions) = (0, 0);
        for (page, kind, wait) in changes {
            let text = text(&lease.site.key, *page);
            let Some(row) = settled.pages.get_mut(&text) else { continue };
            let due = (*wait >= 0).then_some(now + wait);
            let fp = url(&text).fingerprint();
            let update = match (Change::from_stored(*kind), kind) {
                (Some(change), _) => visited(fp, now, change, due),
                (None, 8) => verdict(fp, PageState::Excluded, due),
                (None, 9) => verdict(fp, PageState::Gone, due),
                _ => verdict(fp, PageState::Known, due),
            };
            visits += u64::from(update.visit.is_some());
            versions += u64::from(update.visit.as_ref().is_some_and(|v| v.change.is_version()));
            row.state = update.state;
            row.due = due;
            row.fetched |= update.state == PageState::Fetched;
            delta.updates.push(update);
        }
        settled.end(release, full);
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
    fn accept(&mut self, text: String, new: PlainPage) {
        let Some(page) = self.pages.get_mut(&text) else {
            self.pages.insert(text, new);
            return;
        };
        if new.requisite && !page.requisite {
            return;
        }
        page.lower(new.level);
        if page.state == PageState::Candidate {
            let PlainPage { level, fetched, seed, .. } = *page;
            *page = PlainPage { level, fetched, seed, ..new };
        }
    }

    fn end(&mut self, release: Release, full: &BTreeSet<u32>) {
        if !matches!(release, Release::Renew(_)) {
            self.full = full.clone();
        }
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
        let mut frontier = SqliteFrontier::open_in_memory().unwrap();
        for name in ["second", "third"] {
            frontier.add_spider(name, &BTreeMap::new(), Timestamp(0)).unwrap();
        }
        let mut pair = Pair { plain: Plain::default(), frontier, leases: Vec::new() };
        for verb in &verbs {
            pair.run(verb);
        }
        assert_eq!(pair.frontier.verify(true).unwrap(), []);
    }
}
