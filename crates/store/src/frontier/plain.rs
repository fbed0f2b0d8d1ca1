//! A plain model of the frontier (maps, no database) that random verbs are checked against.

mod world;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Candidate, Change, Frontier, NewPage, PageState, PageTerms, Release, SiteLease, SpiderId,
    Timestamp,
};
use proptest::prelude::*;

use self::world::{Plain, PlainPage};
use super::{
    SqlFrontier,
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

fn terms(page: u8, seed: bool) -> PageTerms {
    PageTerms { requisite: page == REQUISITE && !seed, ..PageTerms::default() }
}

fn text(site: impl std::fmt::Display, page: u8) -> String {
    format!("http://{site}/{page}")
}

/// Both worlds, side by side.
struct Pair {
    plain: Plain,
    frontier: SqlFrontier,
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
                    visited: None,
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
            if update.visit.is_some() {
                row.visited = Some(now);
            }
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

/// A few seconds' worth; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn random_verbs_agree_with_the_plain_model(verbs in prop::collection::vec(verb(), 1..40)) {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
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
