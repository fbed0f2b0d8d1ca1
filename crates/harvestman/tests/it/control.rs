//! `pause`, `resume`, `stop` and `visit`: what a running crawl does when it is asked to, by the server's log.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use simweb::{Latency, PageCount, WebOptions, checks};
use store::{
    control::{self, Command},
    testing,
};

use crate::world::World;

const HOME: &str = "http://s0.sim.test/";
const PAGES: usize = 30;

fn world() -> World {
    World::new(WebOptions {
        pages: PageCount::Fixed(PAGES),
        latency: Latency { base: Duration::from_millis(20), spread: Duration::ZERO },
        ..WebOptions::default()
    })
}

/// Until the server was asked nothing for a second: far longer than a crawl lets pass between two requests here.
fn wait_for_silence(world: &World) {
    let last = Cell::new((usize::MAX, Instant::now()));
    world.wait_for("a second without a request", |world| {
        let count = world.log().len();
        if last.get().0 != count {
            last.set((count, Instant::now()));
        }
        last.get().1.elapsed() > Duration::from_secs(1)
    });
}

fn visits_of(world: &World, page: &str) -> usize {
    world.visited().iter().filter(|visited| *visited == page).count()
}

#[test]
fn a_paused_crawl_asks_for_nothing_until_it_is_resumed() {
    let world = world();
    let mut crawl = world.start(&["crawl", HOME, "--delay", "100ms"]);
    world.wait_for("five visits", |world| world.visits().len() >= 5);
    world.run(&["pause"]).exits(0).says(&["paused: no new requests until harvestman resume"]);
    wait_for_silence(&world);
    let before = world.visits().len();
    assert!(before < PAGES, "paused in the middle");
    assert!(crawl.is_running(), "it waits to be resumed");
    assert_eq!(world.status()["paused"], true);
    let status = world.run(&["status"]).out;
    assert!(status.contains("paused; to continue: harvestman resume"), "{status}");

    world.run(&["resume"]).exits(0).says(&["the crawl continues"]);
    crawl.wait(Duration::from_secs(60)).exits(0);
    let log = world.log();
    assert_eq!(checks::completeness(&log, &world.web, "s0.sim.test"), []);
    assert_eq!(checks::repeats(&log), [], "nothing is fetched twice");
    assert_eq!(world.status()["paused"], false);
}

#[test]
fn stop_ends_a_crawl_with_everything_settled_and_a_paused_one_too() {
    for paused in [false, true] {
        let world = world();
        let crawl = world.start(&["crawl", HOME, "--delay", "100ms"]);
        world.wait_for("five visits", |world| world.visits().len() >= 5);
        if paused {
            world.run(&["pause"]).exits(0);
        }
        let asked = world.run(&["stop", "--json"]);
        asked.exits(0);
        assert_eq!(asked.json()["outcome"], "done");
        crawl.wait(Duration::from_secs(30)).exits(4).says(&["continue with: harvestman"]);
        let status = world.status();
        assert_eq!(status["state"], "stopped", "{status:#}");
        let before = world.visits().len();
        assert!(before < PAGES, "stopped in the middle");
        assert_eq!(status["pages"]["fetched"], before, "all that was fetched is settled");
        assert_eq!(world.sites(&["--state", "active"]), [serde_json::Value::Null; 0]);
        world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
        assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
        assert_eq!(checks::repeats(&world.log()), []);
        world.run(&["check"]).exits(0);
    }
}

#[test]
fn a_crawl_visits_a_page_again_when_it_is_asked_to_while_its_site_is_in_hand() {
    let world = world();
    let crawl = world.start(&["crawl", HOME, "--delay", "100ms"]);
    world.wait_for("five visits", |world| world.visits().len() >= 5);
    world.wait_for("the first page is settled", |world| !world.page(HOME)["visited"].is_null());
    world.run(&["visit", HOME]).exits(0).says(&[HOME, "the running crawl visits it next"]);
    crawl.wait(Duration::from_secs(60)).exits(0);
    assert_eq!(visits_of(&world, "s0.sim.test/"), 2);
    assert_eq!(world.visits().len(), PAGES + 1, "and no other page");
}

#[test]
fn a_run_that_has_nothing_to_do_visits_a_page_when_it_is_asked_to() {
    let world = world();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let run = world.start(&["run", "--delay", "0"]);
    world.wait_for("the run has begun", |world| world.status()["state"] == "running");
    world.forget_log();
    let asked = world.run(&["visit", HOME, "--json"]);
    asked.exits(0);
    assert_eq!(asked.json(), serde_json::json!({ "outcome": "visit", "url": HOME }));
    world.wait_for("the visit", |world| visits_of(world, "s0.sim.test/") == 1);
    let unknown = world.run(&["visit", "http://s0.sim.test/no-such-page"]);
    unknown.exits(2).says(&["is not in this collection", "harvestman seed http://s0.sim.test/no"]);
    world.run(&["stop"]).exits(0);
    run.wait(Duration::from_secs(30)).exits(4);
    assert_eq!(world.visits().len(), 1, "{:?}", world.visited());
}

#[test]
fn without_a_crawl_a_visit_is_for_the_next_one_and_there_is_nothing_to_pause() {
    let world = world();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    for verb in ["pause", "resume", "stop"] {
        let done = world.run(&[verb]);
        done.exits(2).says(&["no crawl is running in ", "harvest"]);
    }
    world.forget_log();
    world.run(&["visit", HOME]).exits(0).says(&[HOME, "the next crawl visits it"]);
    let unknown = world.run(&["visit", "http://elsewhere.test/"]);
    unknown.exits(2).says(&["is not in this collection", "harvestman seed http://elsewhere.test/"]);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(world.visited(), ["s0.sim.test/"]);
}

#[test]
fn what_is_refused_is_not_visited_and_says_by_what() {
    let world = world();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.run(&["block", "s0.sim.test"]).exits(0);
    let before = world.page(HOME)["due"].take();
    world.run(&["visit", HOME]).exits(2).says(&[
        HOME,
        "is refused: block: s0.sim.test",
        "harvestman explain",
    ]);
    assert_eq!(world.page(HOME)["due"], before, "it waits for nothing");
    world.run(&["block", "s0.sim.test", "--remove"]).exits(0);
    world.run(&["visit", HOME]).exits(0);
}

#[test]
fn a_stop_that_came_too_late_for_its_crawl_does_not_end_the_next() {
    let world = world();
    world.run(&["seed", HOME]).exits(0);
    let database = world.folder.join("crawl.db");
    for command in [Command::Pause, Command::Stop] {
        control::request(&database, &command, model::Timestamp(1)).unwrap();
    }
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(world.visits().len(), PAGES);
    assert_eq!(testing::commands_waiting(&world.folder), 0);
}
