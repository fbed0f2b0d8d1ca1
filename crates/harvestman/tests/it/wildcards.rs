//! A domain under which every name resolves, and whose pages name ten new ones each: it is found out by asking for absurd
//! names, and others do not suffer from it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use engine::pipeline::{Outcome, harvest::Ended};
use harvester::clock::SimClock;
use model::{Clock, CrawlUrl, Timestamp};
use seeder::{Scope, SpiderRules};
use simweb::{Entry, Hazard, LogOptions, PageCount, SimFetcher, SimWeb, WebOptions, checks};
use tempfile::TempDir;

use crate::{
    ask::{Questions, strings},
    simulated::{Errand, crawl},
};

const START: Timestamp = Timestamp(1_800_000_000_000);
const SITES: usize = 6;
/// From how many hosts on a domain is asked.
const SUSPICIOUS: u64 = 20;

struct Trap {
    web: Arc<SimWeb>,
    folder: TempDir,
    outcome: Outcome,
    log: Vec<Entry>,
}

/// Six good sites, each a domain of its own, and `w.test`. `hosts`: see [`Errand::hosts`].
fn crawl_beside_a_wildcard(hosts: (Option<u64>, Option<u64>)) -> Trap {
    let mut options = WebOptions {
        sites: SITES,
        pages: PageCount::Fixed(40),
        host_suffix: ".test".to_owned(),
        ..WebOptions::default()
    };
    options.put("w.test", Hazard::Wildcard);
    let web = Arc::new(SimWeb::new(options));
    let folder = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(START));
    let fetcher =
        SimFetcher::new(web.clone(), clock.clone(), "harvestman", LogOptions::default()).unwrap();
    let fetcher = Arc::new(fetcher);
    let rules = SpiderRules { scope: Scope::Any, ..SpiderRules::default() };
    let seeds = vec![CrawlUrl::parse("http://w.test/").unwrap()];
    let errand = Errand { rules, seeds, hosts, ..Errand::new("policy = 'once'", None) };
    let outcome = crawl(&web, folder.path(), &clock, fetcher.clone(), &errand);
    let log = fetcher.log().entries();
    Trap { web, folder, outcome, log }
}

impl Trap {
    fn names_visited(&self) -> usize {
        let below = |entry: &&Entry| entry.host.ends_with(".w.test");
        self.log.iter().filter(below).map(|entry| &entry.host).collect::<BTreeSet<_>>().len()
    }

    fn is_of_trap(entry: &Entry) -> bool {
        entry.host.ends_with("w.test")
    }

    fn the_good_sites_are_complete(&self) {
        assert!(matches!(self.outcome.ended, Ended::Done { .. }), "{:?}", self.outcome.ended);
        for site in 0..SITES {
            assert_eq!(checks::completeness(&self.log, &self.web, &self.web.host(site)), []);
        }
        let pause = Duration::from_secs(2);
        assert_eq!(checks::pauses(&self.log, pause, Duration::ZERO), []);
    }

    fn rules(&self, filters: &[&str]) -> BTreeSet<String> {
        let refused = Questions::at(self.folder.path()).decisions(filters);
        strings(&refused, "rule").into_iter().collect()
    }
}

#[test]
fn a_wildcard_is_found_out_and_its_names_are_held_back_while_good_sites_are_crawled_whole() {
    let trap = crawl_beside_a_wildcard((None, Some(SUSPICIOUS)));
    trap.the_good_sites_are_complete();
    let names = trap.names_visited();
    assert!(names <= 3 * SUSPICIOUS as usize, "{names} names under w.test were visited");
    // Its fair share is that of one domain among seven.
    let taken = trap.log.iter().filter(|entry| Trap::is_of_trap(entry)).count();
    assert!(taken * (SITES + 1) <= trap.log.len(), "{taken} of {} requests", trap.log.len());
    let hazards = ["report", "hazards", "--hazard", "dns-wildcard"];
    let rows = Questions::at(trap.folder.path()).list(&hazards);
    assert_eq!(strings(&rows, "site"), ["w.test"], "the good domains are none");
    let rules = trap.rules(&["--reason", "trap"]);
    assert_eq!(rules, BTreeSet::from(["trap: dns wildcard under w.test".to_owned()]));
}

#[test]
fn hosts_of_a_domain_are_bounded_also_where_nobody_asks_for_absurd_names() {
    let trap = crawl_beside_a_wildcard((Some(30), None));
    trap.the_good_sites_are_complete();
    assert_eq!(trap.names_visited(), 30);
    let rules = trap.rules(&["--site", "w.test", "--reason", "limit"]);
    assert_eq!(rules, BTreeSet::from(["hazards.domain_hosts = 30".to_owned()]));
}
