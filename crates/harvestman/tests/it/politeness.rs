//! How servers are treated, by what they saw. Bounds are wide enough for a busy machine: a pause that is
//! not kept at all is found all the same.

use std::time::Duration;

use model::Timestamp;
use simweb::{
    Entry, Hazard, PageCount, PageOptions, RobotsPlan, ServerOptions, WebOptions, checks,
    faster_time,
};

use crate::world::World;

/// What sockets and schedulers of a busy machine may take from a pause.
const SLACK: Duration = Duration::from_millis(400);

#[test]
fn several_sites_are_each_asked_politely() {
    let world = World::new(WebOptions {
        sites: 3,
        pages: PageCount::Fixed(6),
        page: PageOptions { redirect_share: 0.1, ..PageOptions::default() },
        robots: RobotsPlan::Disallow(vec!["/private/".to_owned()]),
        ..WebOptions::default()
    });
    let mut args = vec!["crawl", "--delay", "900ms"];
    let seeds = world.web.seeds();
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    let log = world.log();
    assert_eq!(checks::pauses(&log, Duration::from_millis(900), SLACK), [], "{}", times(&log));
    assert_eq!(checks::connections_at_once(&log, 1), []);
    assert_eq!(checks::disallowed(&log, &world.web), []);
    assert_eq!(checks::repeats(&log), []);
    assert_eq!(checks::nameless(&log), []);
    for site in 0..3 {
        assert_eq!(checks::completeness(&log, &world.web, &world.web.host(site)), []);
    }
}

#[test]
fn a_dry_run_keeps_the_delay_before_it_and_after_it() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() });
    let home = "http://s0.sim.test/";
    let crawl = ["crawl", home, "--delay", "900ms", "--pages", "1"];
    let dry = ["crawl", home, "--delay", "900ms", "--dry-run"];
    let again = ["crawl", "--delay", "900ms", "--fresh"];
    for args in [&crawl[..], &dry, &dry, &again] {
        world.run(args).exits(0);
    }
    let log = world.log();
    assert!(log.len() >= 7, "{}", times(&log));
    assert_eq!(checks::pauses(&log, Duration::from_millis(900), SLACK), [], "{}", times(&log));
}

#[test]
fn a_crawl_that_is_left_with_what_robots_txt_forbids_is_done() {
    let world = World::new(WebOptions {
        pages: PageCount::Fixed(3),
        robots: RobotsPlan::Disallow(vec!["/private/".to_owned()]),
        ..WebOptions::default()
    });
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    world.run(&["crawl", "http://s0.sim.test/private/x", "--delay", "0"]).exits(0);
    assert_eq!(checks::disallowed(&world.log(), &world.web), []);
}

#[test]
fn many_hosts_on_one_address_keep_the_pause_of_the_address() {
    let world =
        World::new(WebOptions { sites: 8, pages: PageCount::Fixed(2), ..WebOptions::default() });
    let mut args = vec!["crawl", "--delay", "800ms"];
    let seeds = world.web.seeds();
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    let log = world.log();
    assert_eq!(log.len(), 24);
    // An eighth of 800 ms between any two, so the whole takes 23 of them; single gaps may jitter.
    let span = Duration::from_micros(log[23].start_us - log[0].start_us);
    assert!(span + SLACK >= Duration::from_millis(2_300), "24 requests within {span:?}");
}

#[test]
fn crawl_delay_is_kept_where_it_is_longer_than_the_pause() {
    let world = World::new(WebOptions {
        pages: PageCount::Fixed(3),
        robots: RobotsPlan::CrawlDelay(1.0),
        ..WebOptions::default()
    });
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "100ms"]).exits(0);
    let pages = world.visits();
    assert_eq!(pages.len(), 3);
    assert_eq!(checks::pauses(&pages, Duration::from_secs(1), SLACK), []);
}

#[test]
fn retry_after_freezes_the_whole_site_and_nothing_is_lost() {
    let mut options = WebOptions { pages: PageCount::Fixed(6), ..WebOptions::default() };
    let spell = Duration::from_secs(3);
    let hazard = Hazard::TooManyRequests { every: Duration::from_secs(3600), lasting: spell };
    options.put("s0.sim.test", hazard);
    // The spell is the first three seconds of the web's own time.
    let now = faster_time(options.origin, 1.0);
    let world = World::with(options, ServerOptions { now, ..ServerOptions::default() })
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_FIRST", "100ms");
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "100ms"]).exits(0);
    let log = world.log();
    assert!(log.iter().any(|entry| entry.status == 429), "the spell was met");
    assert_eq!(checks::retry_after(&log, SLACK), []);
    assert_eq!(checks::completeness(&log, &world.web, "s0.sim.test"), []);
}

#[test]
fn a_robots_txt_that_fails_lets_nothing_through_and_the_reason_is_said() {
    let world = World::new(WebOptions {
        pages: PageCount::Fixed(3),
        robots: RobotsPlan::Status(503),
        ..WebOptions::default()
    })
    .variable("HARVESTMAN_ETIQUETTE_BACKOFF_FIRST", "100ms")
    .variable("HARVESTMAN_ETIQUETTE_BACKOFF_MAX", "200ms");
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]);
    done.exits(1).says(&["robots.txt", "503"]);
    assert_eq!(world.visits(), [], "no page without its robots.txt");
    assert!(robots_asked(&world.log()) > 0);
}

#[test]
fn a_robots_txt_that_forbids_all_is_obeyed_and_said() {
    let world = World::new(WebOptions { robots: RobotsPlan::ForbidAll, ..WebOptions::default() });
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]);
    done.exits(1).says(&["robots.txt"]);
    assert_eq!(world.visits(), []);
    assert_eq!(robots_asked(&world.log()), 1);
    assert_eq!(world.status()["pages"]["refused"], 1);
}

#[test]
fn a_missing_robots_txt_allows_all() {
    let world = World::new(WebOptions {
        pages: PageCount::Fixed(4),
        robots: RobotsPlan::Status(404),
        ..WebOptions::default()
    });
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
}

#[test]
fn rules_behind_redirects_and_far_down_a_huge_file_are_kept() {
    let mut options = WebOptions { sites: 2, pages: PageCount::Fixed(5), ..WebOptions::default() };
    options.robots_of.insert(options.host(0), RobotsPlan::Redirecting { hops: 4 });
    options.robots_of.insert(options.host(1), RobotsPlan::Huge { bytes: 400_000 });
    let world = World::new(options);
    let private = "http://s0.sim.test/private/1";
    let args = ["crawl", "http://s0.sim.test/", "http://s1.sim.test/", private, "--delay", "0"];
    world.run(&args).exits(0);
    let log = world.log();
    assert!(!log.iter().any(|entry| entry.target.starts_with("/private/")), "{log:?}");
    assert_eq!(checks::disallowed(&log, &world.web), []);
    assert_eq!(checks::completeness(&log, &world.web, "s0.sim.test"), []);
    assert_eq!(checks::completeness(&log, &world.web, "s1.sim.test"), []);
}

#[test]
fn every_request_names_the_crawler_and_the_contact() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() });
    let contact = ["--contact", "crawl@example.org"];
    let done =
        world.run(&[&["crawl", "http://s0.sim.test/", "--delay", "0"], &contact[..]].concat());
    done.exits(0);
    assert!(!done.err.contains("no contact is set"), "{done}");
    for entry in world.log() {
        let agent = entry.agent.to_lowercase();
        assert!(agent.starts_with("harvestman/"), "{agent}");
        assert!(agent.contains("crawl@example.org"), "{agent}");
    }
    let without = world.run(&["crawl", "--fresh", "--delay", "0"]);
    without.exits(0).says(&["no contact is set", "--contact"]);
    let own = ["--user-agent", "mine/1.0 (+https://example.org/bot)"];
    world.forget_log();
    world.run(&[&["crawl", "--fresh", "--delay", "0"], &own[..]].concat()).exits(0);
    assert!(world.log().iter().all(|entry| &*entry.agent == own[1]));
}

/// Who was asked what and when, for whoever has to find out why.
fn times(log: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let (start, end) = (entry.start_us / 1000, entry.end_us / 1000);
        format!("{start:>6} to {end:>6} ms on {}: {}\n", entry.connection, entry.url())
    };
    log.iter().map(line).collect()
}

fn robots_asked(log: &[Entry]) -> usize {
    assert!(log.iter().all(|entry| entry.at > Timestamp::ZERO));
    log.iter().filter(|entry| entry.path() == "/robots.txt").count()
}
