//! The hazard fair, small: every hazard the simulated web knows rules over a host of its own, robots.txt and all, and
//! the good sites beside them notice nothing; and each is told under its own name. `bench/run fair` measures the same at
//! full size.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::Value;
use simweb::{Entry, Hazard, PageCount, ServerOptions, WebOptions, checks};

use crate::world::World;

const GOOD: usize = 6;
const PAUSE: Duration = Duration::from_millis(600);
/// What sockets and schedulers of a busy machine may take from a pause: a request that is read late seems to be followed too
/// soon. Without a pause there would be next to nothing between two.
const SLACK: Duration = Duration::from_millis(400);
/// How long is waited for the last page of the good sites; a few seconds on a machine with nothing else to do.
const UNTIL_COMPLETE: Duration = Duration::from_secs(120);

#[test]
fn good_sites_are_complete_beside_every_hazard_there_is() {
    let hazards: Vec<Hazard> = Hazard::ALL.iter().copied().filter(|h| !h.is_of_host()).collect();
    let sites = GOOD + hazards.len();
    let mut options =
        WebOptions { sites, addresses: sites, pages: PageCount::Fixed(8), ..WebOptions::default() };
    for (k, hazard) in hazards.iter().enumerate() {
        options.put(&format!("{}/*", options.host(GOOD + k)), *hazard);
    }
    // All are asked at once, and the server shares the machine with its bombs and floods: the good ones must not be given up
    // because it is busy.
    let world = World::with(options, ServerOptions::default())
        .variable("HARVESTMAN_FETCH_TIMEOUT", "20s")
        .variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "20s")
        .variable("HARVESTMAN_FETCH_IDLE_TIMEOUT", "20s");
    let seeds = world.web.seeds();
    let pause = format!("{}ms", PAUSE.as_millis());
    let mut args = vec!["crawl", "--delay", &pause];
    args.extend(seeds.iter().map(String::as_str));
    let mut crawl = world.start(&args);
    let (mut peak, begun) = (0, Instant::now());
    // No clock ends it: how far it comes in so many seconds is the machine's affair.
    let (mut log, mut missing) = (Vec::new(), vec!["nothing was asked for".to_owned()]);
    while !missing.is_empty() && begun.elapsed() < UNTIL_COMPLETE && crawl.is_running() {
        peak = peak.max(crawl.peak_memory());
        std::thread::sleep(Duration::from_millis(100));
        log = world.log();
        missing = not_yet(&world, &log, &hazards);
    }
    assert!(missing.is_empty(), "after {:?}: {}", begun.elapsed(), missing.join("\n"));
    crawl.signal("INT");
    // 20 s at most for what is under way, and a busy machine.
    crawl.wait(Duration::from_secs(60)).exits(4);
    assert!(peak > 0 && peak < 512 << 20, "{} MB at most", peak >> 20);
    let of_good = |host: &str| world.web.site_of(host).is_some_and(|site| site < GOOD);
    let good: Vec<_> = log.iter().filter(|entry| of_good(&entry.host)).cloned().collect();
    assert_eq!(checks::pauses(&good, PAUSE, SLACK), []);
    assert_eq!(checks::repeats(&good), []);
    world.run(&["check"]).exits(0);
}

/// What of the good sites was not asked for, and which hazards were not met.
fn not_yet(world: &World, log: &[Entry], hazards: &[Hazard]) -> Vec<String> {
    let good = (0..GOOD).map(|site| world.web.host(site));
    let mut missing: Vec<String> = good
        .flat_map(|host| checks::completeness(log, &world.web, &host))
        .map(|finding| format!("{finding:?}"))
        .collect();
    for (k, hazard) in hazards.iter().enumerate() {
        let host = world.web.host(GOOD + k);
        if !log.iter().any(|entry| *entry.host == *host) {
            missing.push(format!("{} was not met", hazard.word()));
        }
    }
    missing
}

/// Each on a site of its own, where it shows. Names, certificates and other sites are not theirs alone.
fn exhibits() -> Vec<Hazard> {
    let (every, lasting) = (Duration::from_millis(2_000), Duration::from_millis(1_900));
    let is_shown = |hazard: &Hazard| !hazard.is_of_host() || matches!(hazard, Hazard::DefaultHost);
    let all = Hazard::ALL.iter().copied().filter(is_shown);
    let sooner = |hazard| match hazard {
        Hazard::TooManyRequests { .. } => Hazard::TooManyRequests { every, lasting },
        Hazard::Unavailable { .. } => Hazard::Unavailable { every, lasting },
        Hazard::Facets { .. } => Hazard::Facets { products: 20 },
        other => other,
    };
    all.map(sooner).filter(|hazard| !hazard.names().is_empty()).collect()
}

/// How long is waited for the last name; far less on a machine with nothing else to do.
const UNTIL_NAMED: Duration = Duration::from_secs(240);

#[test]
fn every_hazard_of_the_fair_is_told_under_its_own_name() {
    if std::env::var_os("HARVESTMAN_LONG").is_none() {
        return println!("skipped: HARVESTMAN_LONG is not set");
    }
    let hazards = exhibits();
    let sites = hazards.len();
    let mut options = WebOptions {
        sites,
        addresses: sites,
        pages: PageCount::Fixed(16),
        ..WebOptions::default()
    };
    for (site, hazard) in hazards.iter().enumerate() {
        options.exhibit(&options.host(site), *hazard);
    }
    // Bounds that so short a visit can reach.
    let world = World::with(options, ServerOptions::default())
        .variable("HARVESTMAN_FETCH_TIMEOUT", "12s")
        .variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "10s")
        .variable("HARVESTMAN_CRAWL_DEPTH", "25")
        .variable("HARVESTMAN_HAZARDS_COUNTER_PAGES", "10")
        .variable("HARVESTMAN_HAZARDS_PATTERN_URLS", "200")
        .variable("HARVESTMAN_HAZARDS_SLOW_TIME", "2s")
        .variable("HARVESTMAN_HAZARDS_WILDCARD_HOSTS", "100000");
    // Who names a tarpit as a seed has it crawled: it is found by its links.
    let is_tarpit = |site: &usize| matches!(hazards[*site], Hazard::Tarpit { .. });
    let mut seeds: Vec<String> =
        (0..sites).filter(|site| !is_tarpit(site)).map(|site| world.web.home(site)).collect();
    // Its one page leads nowhere: that all its URLs are that page shows only to who asks for them.
    let shows_one_page = |site: &usize| matches!(hazards[*site], Hazard::DefaultHost);
    for site in (0..sites).filter(shows_one_page) {
        let home = world.web.home(site);
        seeds.extend((0..30).map(|n| format!("{home}old/{n}")));
    }
    let mut args = vec!["crawl", "--delay", "50ms", "--scope", "domain"];
    args.extend(seeds.iter().map(String::as_str));
    let crawl = world.start(&args);
    world.wait_for("the crawl has begun", |_| !world.log().is_empty());
    let begun = Instant::now();
    let (mut told, mut missing) = (Value::Null, vec!["nothing is told".to_owned()]);
    while !missing.is_empty() && begun.elapsed() < UNTIL_NAMED {
        std::thread::sleep(Duration::from_millis(500));
        told =
            world.run(&["report", "hazards", "--json", "--limit", "100000"]).json()["rows"].clone();
        missing = unnamed(&world, &hazards, &told);
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(60)).exits(4);
    // A site of near duplicates has a row for each of its patterns, not for each of its pages.
    let rows = rows_of(&told).filter(|row| row["hazard"] == "near-duplicates").count();
    assert!(rows < 4 * sites, "{rows} rows of near duplicates");
}

/// The hazards that are called by other names, or by none.
fn unnamed(world: &World, hazards: &[Hazard], told: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for (site, hazard) in hazards.iter().enumerate() {
        let host = world.web.host(site);
        let names: BTreeSet<&str> = rows_of(told)
            .filter(|row| row["site"] == *host)
            .filter_map(|row| row["hazard"].as_str())
            .collect();
        if !hazard.names().iter().any(|name| names.contains(name.word())) {
            missing.push(format!("{} on {host} is called {names:?}", hazard.word()));
        }
    }
    missing
}

fn rows_of(told: &Value) -> impl Iterator<Item = &Value> {
    told.as_array().into_iter().flatten()
}
