//! A page that breaks its reading down, or never lets go of it, costs a page; and a part of ours that hangs ends the
//! process in a way that loses nothing.

use std::time::{Duration, Instant};

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    raw::Raw,
    world::{Done, World},
};

const POISON: &str = "HARVESTMAN_TEST_POISON";
/// The writer may take twice this for one sync before the process ends: a busy disk must not look like a stage that hangs.
const STALLED_AFTER: &str = "5s";

/// Three good pages and a bad one, all linked from the first.
fn server() -> Raw {
    Raw::pages(&[
        ("127.0.0.1/", "<a href=/a>a</a><a href=/poison>p</a><a href=/b>b</a>"),
        ("127.0.0.1/a", "<p>one"),
        ("127.0.0.1/poison", "<p>two"),
        ("127.0.0.1/b", "<a href=/c>c</a>"),
        ("127.0.0.1/c", "<p>three"),
    ])
}

fn crawl(world: &World, raw: &Raw, more: &[&str]) -> Done {
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let mut args = vec!["crawl", &url, "--delay", "0"];
    args.extend(more);
    world.run(&args)
}

fn met(world: &World, hazard: &str) -> Vec<Value> {
    let told = world.run(&["report", "hazards", "--hazard", hazard, "--json"]);
    told.exits(0).json()["rows"].as_array().unwrap().clone()
}

fn fetched(world: &World) -> u64 {
    world.count(&["--state", "fetched"])
}

#[test]
fn a_page_on_which_the_parser_fails_costs_that_page_and_is_left_alone_after_three_times() {
    let raw = server();
    let world = World::new(WebOptions::default()).variable(POISON, "panic:/poison");
    for _ in 0..3 {
        crawl(&world, &raw, &["--fresh"]).exits(0);
        assert_eq!(fetched(&world), 4);
    }
    assert_eq!(met(&world, "parser-crash")[0]["count"], 3);
    assert_eq!(met(&world, "quarantine").len(), 1);
    let before = raw.asked().len();
    crawl(&world, &raw, &["--fresh"]).exits(0);
    assert_eq!(raw.asked().len() - before, 4, "the page is not asked for any more");
    let url = format!("http://127.0.0.1:{}/poison", raw.port);
    let told = world.run(&["explain", &url]).out;
    assert!(told.contains("quarantine: it crashed the parser 3 times"), "{told}");
    assert!(told.contains(&format!("harvestman quarantine lift {url}")), "{told}");
    let listed = world.run(&["quarantine", "--json"]).json();
    let row = &listed["rows"][0];
    assert_eq!((&row["url"], &row["quarantined"]), (&url.into(), &true.into()));
    world.run(&["check"]).exits(0);

    // Lifted, and mended meanwhile.
    let world = world.variable(POISON, "none:");
    let site = format!("127.0.0.1:{}", raw.port);
    world.run(&["quarantine", "lift", &site]).exits(0).says(&["1 page may be read again"]);
    crawl(&world, &raw, &[]).exits(0);
    assert_eq!(fetched(&world), 5);
    assert_eq!(world.run(&["quarantine", "--json"]).json()["total"], 0);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_page_that_ends_the_process_each_time_is_left_alone_at_the_fourth_start() {
    let raw = server();
    let world = World::new(WebOptions::default()).variable(POISON, "abort:/poison");
    for _ in 0..3 {
        let done = crawl(&world, &raw, &[]);
        assert_eq!(done.status.code(), None, "ended by a signal\n{done}");
    }
    crawl(&world, &raw, &[]).exits(0).says(&["the last crawl crashed while it parsed"]);
    assert_eq!(fetched(&world), 4, "everything else is there");
    assert_eq!(met(&world, "quarantine").len(), 1);
    let aborted = &met(&world, "parser-crash")[0];
    assert_eq!(
        (&aborted["count"], &aborted["detail"]),
        (&3.into(), &"the process ended over it".into())
    );
    crawl(&world, &raw, &["--fresh"]).exits(0);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_page_is_not_blamed_for_who_leaves_while_it_is_read() {
    let raw = server();
    let world = World::new(WebOptions::default()).variable(POISON, "hang:/poison");
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for round in 1..=4 {
        let mut running = world.start(&["crawl", &url, "--delay", "0"]);
        let read = || raw.asked().iter().filter(|place| place.ends_with("/poison")).count();
        world.wait_for("the page", |_| read() >= 1);
        std::thread::sleep(Duration::from_millis(700));
        running.signal("INT");
        std::thread::sleep(Duration::from_millis(500));
        // What was archived the first time is read again before anything else: then once is enough.
        if running.is_running() {
            running.signal("INT");
        }
        let done = running.wait(Duration::from_secs(30));
        assert!(matches!(done.status.code(), Some(4)), "{done}");
        assert_eq!(met(&world, "parser-crash"), Vec::<Value>::new(), "round {round}");
    }
    let world = world.variable(POISON, "none:");
    crawl(&world, &raw, &[]).exits(0);
    assert_eq!(fetched(&world), 5);
}

#[test]
fn a_site_with_three_such_pages_is_left_alone_and_what_was_harvested_is_kept() {
    let links =
        "<a href=/good>g</a><a href=/poison1>1</a><a href=/poison2>2</a><a href=/poison3>3</a>";
    let raw = Raw::pages(&[
        ("127.0.0.1/", links),
        ("127.0.0.1/good", "<p>good"),
        ("127.0.0.1/poison1", "<p>1"),
        ("127.0.0.1/poison2", "<p>2"),
        ("127.0.0.1/poison3", "<p>3"),
    ]);
    let world = World::new(WebOptions::default()).variable(POISON, "panic:/poison");
    for _ in 0..3 {
        crawl(&world, &raw, &["--fresh"]).exits(0);
    }
    let before = raw.asked().len();
    crawl(&world, &raw, &["--fresh"]);
    assert_eq!(raw.asked().len(), before, "nothing of the site is asked for");
    let site = met(&world, "quarantine").into_iter().find(|row| row["detail"] == "site");
    assert_eq!(site.expect("the site is told of")["action"], "site-stopped");
    let good = format!("http://127.0.0.1:{}/good", raw.port);
    assert!(world.run(&["show", &good]).exits(0).out.contains("good"));
    let told = world.run(&["explain", &good]).out;
    assert!(told.contains("quarantine: 3 pages of the site crashed the parser"), "{told}");
}

#[test]
fn a_page_whose_reading_does_not_end_is_told_of_and_its_site_goes_on() {
    let raw = server();
    let world = World::new(WebOptions::default())
        .variable(POISON, "hang:/poison")
        .variable("HARVESTMAN_HAZARDS_STALLED_AFTER", STALLED_AFTER);
    let done = crawl(&world, &raw, &[]);
    done.exits(0).says(&["stalled: parsing http://127.0.0.1", "/poison has not ended"]);
    assert_eq!(fetched(&world), 4);
    assert_eq!(raw.asked().len(), 5);
    assert_eq!(met(&world, "stalled")[0]["detail"], "reading");
    assert_eq!(met(&world, "parser-crash")[0]["detail"], "its reading did not end");
    let status = world.status();
    let text = status["stalls"][0]["text"].as_str().unwrap();
    assert!(text.contains("/poison has not ended"), "{text}");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_writer_that_hangs_is_told_of_and_ends_the_process_so_that_the_next_recovers() {
    let raw = server();
    let world = World::new(WebOptions::default())
        .variable(POISON, "hang:writer:commit")
        .variable("HARVESTMAN_HAZARDS_STALLED_AFTER", STALLED_AFTER);
    let done = crawl(&world, &raw, &[]);
    done.exits(3).says(&["the writer has made no progress for 5s: committing check-ins"]);
    let world = world.variable(POISON, "none:");
    crawl(&world, &raw, &[]).exits(0);
    assert_eq!(fetched(&world), 5);
    assert_eq!(raw.asked().len(), 5, "what was archived is not asked for again");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_loop_that_hangs_is_told_of_and_ends_the_process_so_that_the_next_recovers() {
    let raw = server();
    let world = World::new(WebOptions::default())
        .variable(POISON, "hang:loop:/b")
        .variable("HARVESTMAN_HAZARDS_STALLED_AFTER", STALLED_AFTER);
    let done = crawl(&world, &raw, &[]);
    done.exits(3).says(&[
        "the harvest loop has made no progress for 5s: handling what came",
        "the harvest loop has made no progress for 10s",
        "everything settled is safe",
    ]);
    let stalls = world.status()["stalls"].clone();
    assert!(stalls.to_string().contains("the harvest loop has made no progress"), "{stalls}");
    assert!(fetched(&world) >= 1, "what was settled before is there");
    let world = world.variable(POISON, "none:");
    crawl(&world, &raw, &[]).exits(0);
    assert_eq!(fetched(&world), 5, "its site goes on where it was");
    let asked = raw.asked();
    let times = |path: &str| asked.iter().filter(|place| place.ends_with(path)).count();
    assert!(times("/b") <= 2 && times("/c") == 1, "{asked:?}");
    assert!(asked.len() <= 8, "only what was under way is asked for again: {asked:?}");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_fetch_that_outlives_its_own_limits_is_given_up_and_its_site_goes_on() {
    let raw = server();
    let world = World::new(WebOptions::default())
        .variable(POISON, "never:/poison")
        .variable("HARVESTMAN_FETCH_TIMEOUT", "1s")
        .variable("HARVESTMAN_CRAWL_FOR", "20s")
        .variable("HARVESTMAN_HAZARDS_STALLED_AFTER", "2s");
    let began = Instant::now();
    crawl(&world, &raw, &[]).exits(0);
    assert!(began.elapsed() >= Duration::from_secs(3), "not before its limits and the patience");
    assert_eq!(fetched(&world), 4, "the other pages of its site are there");
    let told = &met(&world, "stalled")[0];
    assert_eq!(
        (&told["detail"], &told["action"]),
        (&"fetching".into(), &"truncated".into()),
        "{told}"
    );
    let url = format!("http://127.0.0.1:{}/poison", raw.port);
    assert_eq!(told["examples"][0], url);
    let history = world.run(&["explain", &url]).out;
    assert!(history.contains("last visit") && history.contains("timeout"), "{history}");
    // Nothing was lost with it: it comes when it can.
    let world = world.variable(POISON, "none:");
    crawl(&world, &raw, &["--fresh"]).exits(0);
    assert_eq!(fetched(&world), 5);
    world.run(&["check"]).exits(0);
}
