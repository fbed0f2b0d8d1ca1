//! The frontier in maps: what it should lend and count, said as plainly as can be.

use std::collections::{BTreeMap, BTreeSet};

use model::{Candidate, CheckOut, Counts, Page, PageState, Release, SiteLease};

use crate::frontier::suite::url;

#[derive(Clone, Debug, Default)]
pub struct PlainSite {
    pub pages: BTreeMap<String, PlainPage>,
    pub fence: u64,
    /// In hand until.
    pub leased: Option<i64>,
    pub not_before: i64,
    /// Given back to rest and nothing came since.
    pub resting: bool,
    pub stirred: bool,
    pub seeded: bool,
    pub full: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
pub struct PlainPage {
    pub state: PageState,
    pub level: u16,
    pub due: Option<i64>,
    pub fetched: bool,
    pub spider: u32,
    pub requisite: bool,
    pub seed: bool,
    pub visited: Option<i64>,
}

#[derive(Default)]
pub struct Plain {
    pub sites: BTreeMap<String, PlainSite>,
    pub paused: BTreeSet<u32>,
    /// By the last check-out.
    pub asked: BTreeSet<u32>,
    pub visits: u64,
    pub versions: u64,
    pub now: i64,
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
            .filter(|(_, page)| page.is_seen_again() == again)
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

    pub fn accept(&mut self, text: String, new: PlainPage) {
        let Some(page) = self.pages.get_mut(&text) else {
            self.pages.insert(text, new);
            return;
        };
        if new.requisite && !page.requisite {
            return;
        }
        page.lower(new.level);
        if page.state == PageState::Candidate {
            let PlainPage { level, fetched, seed, visited, .. } = *page;
            *page = PlainPage { level, fetched, seed, visited, ..new };
        }
    }

    pub fn end(&mut self, release: Release, full: &BTreeSet<u32>) {
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
    pub fn admit(&mut self, candidates: &[Candidate]) -> u64 {
        let mut new = 0;
        for candidate in candidates {
            let site = self.sites.entry(candidate.url.site().to_string()).or_default();
            let (level, spider) = (candidate.level, candidate.spider.0);
            let (state, requisite) = (PageState::Candidate, candidate.terms.requisite);
            let (due, fetched) = (Some(self.now), false);
            site.seeded |= candidate.seed;
            if let Some(page) = site.pages.get_mut(candidate.url.as_str()) {
                if page.requisite && !requisite {
                    let (seed, visited) = (page.seed || candidate.seed, page.visited);
                    *page =
                        PlainPage { state, level, due, fetched, spider, requisite, seed, visited };
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
                // Since its last visit, so that a pass under way takes it along.
                page.due = due.min(page.visited.or(due));
                if page.state == PageState::Excluded {
                    page.state = state;
                }
            } else {
                let seed = candidate.seed;
                let visited = None;
                let page =
                    PlainPage { state, level, due, fetched, spider, requisite, seed, visited };
                site.pages.insert(candidate.url.to_string(), page);
                new += 1;
            }
            site.stirred |= site.leased.is_some();
            site.resting &= site.leased.is_some();
        }
        new
    }

    pub fn expire(&mut self) {
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
    pub fn wake(&mut self, spider: u32) {
        if self.asleep().contains(&spider) {
            return;
        }
        for site in self.sites.values_mut() {
            let has = site.pages.values().any(|page| page.spider == spider && page.due.is_some());
            site.resting &= site.leased.is_some() || !has;
        }
    }

    /// Checks what was lent against what may be, and lends it here, too.
    pub fn check_out(&mut self, request: &CheckOut, leases: &[SiteLease]) {
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

    pub fn counts(&self) -> Counts {
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
    fn is_seen_again(&self) -> bool {
        self.fetched || matches!(self.state, PageState::Redirected | PageState::Gone)
    }

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
