//! One site: fetched whole, once, and asked again only for what changed.

use std::collections::HashSet;

use simweb::{PageCount, PageOptions, WebOptions, checks};

use crate::world::World;

const HOME: &str = "http://s0.sim.test/";

#[test]
fn every_reachable_page_is_fetched_exactly_once_and_robots_txt_first() {
    let page = PageOptions {
        query_share: 0.2,
        redirect_share: 0.1,
        broken_share: 0.05,
        latin1_share: 0.1,
        chunked_share: 0.3,
        gzip: true,
        ..PageOptions::default()
    };
    let web = WebOptions { pages: PageCount::Fixed(60), page, ..WebOptions::default() };
    let world = World::new(web);
    let done = world.run(&["crawl", HOME, "--delay", "0"]);
    done.exits(0).says(&["all done: 60 pages"]);
    let log = world.log();
    assert_eq!(log[0].target, "/robots.txt");
    assert_eq!(checks::completeness(&log, &world.web, "s0.sim.test"), []);
    assert_eq!(checks::disallowed(&log, &world.web), []);
    assert_eq!(checks::nameless(&log), []);
    let visited = world.visited();
    let different: HashSet<&String> = visited.iter().collect();
    assert_eq!(visited.len(), different.len(), "redirects and missing pages, too, are asked once");
    assert_eq!(world.status()["pages"]["fetched"], 60);
    assert_eq!(world.count(&["--state", "fetched"]), 60);
}

#[test]
fn a_second_crawl_finds_nothing_due_and_asks_nobody() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.forget_log();
    let again = world.run(&["crawl", HOME, "--delay", "0"]);
    again.exits(0).says(&["all done: 0 pages"]);
    let without_urls = world.run(&["crawl", "--delay", "0"]);
    without_urls.exits(0).says(&["the next page is due in "]);
    assert_eq!(world.log(), []);
}

#[test]
fn fresh_asks_conditionally_and_adds_no_version_where_nothing_changed() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let before = world.status();
    world.forget_log();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let visits = world.visits();
    assert_eq!(visits.len(), 12);
    assert!(visits.iter().all(|visit| visit.conditional && visit.status == 304), "{visits:?}");
    let after = world.status();
    assert_eq!(before["versions"], 12);
    assert_eq!(after["versions"], 12);
    assert_eq!(after["visits"], 24);
    assert_eq!(after["pages"]["fetched"], 12);
}

#[test]
fn fresh_without_validators_still_adds_no_version_for_the_same_bytes() {
    let page = PageOptions { validator_share: 0.0, ..PageOptions::default() };
    let world =
        World::new(WebOptions { pages: PageCount::Fixed(12), page, ..WebOptions::default() });
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(world.visits().len(), 24);
    let status = world.status();
    assert_eq!((&status["versions"], &status["visits"]), (&12.into(), &24.into()));
}

fn small() -> World {
    World::new(WebOptions { pages: PageCount::Fixed(12), ..WebOptions::default() })
}
