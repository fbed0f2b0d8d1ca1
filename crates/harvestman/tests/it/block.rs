//! What is blocked is not asked for: before a crawl, while one runs, by name and by address; and how to ask
//! what was refused, and to lift it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use simweb::{Latency, PageCount, WebOptions};
use store::control::{self, Command, Outcome};

use crate::{
    raw::{Raw, reply},
    world::World,
};

const HOME: &str = "http://s0.sim.test/";
const CRAWL: [&str; 6] = ["crawl", HOME, "--scope", "domain", "--delay", "0"];

#[test]
fn a_blocked_host_is_asked_for_nothing_and_the_refusal_is_told_everywhere() {
    let world = world(3, 15);
    let done = world.run(&["block", "s1.sim.test", "--reason", "their own wish"]);
    done.exits(0).says(&["1 block added"]);
    world.run(&CRAWL).exits(0).says(&["refused", "block: s1.sim.test"]);
    assert_eq!(hosts(&world), ["s0.sim.test", "s2.sim.test"], "not even robots.txt");
    assert!(world.status()["refused"]["blocked"].as_u64().unwrap() > 0);

    let told = world.run(&["explain", "http://s1.sim.test/"]);
    told.exits(0);
    for part in ["not crawled: block: s1.sim.test", "their own wish"] {
        assert!(told.out.contains(part), "{part}: {told}");
    }
    let json = world.run(&["explain", "http://s1.sim.test/", "--json"]).json();
    assert_eq!(json["spiders"][0]["rules"][0]["rule"], "block: s1.sim.test", "{json:#}");
    assert_eq!(json["spiders"][0]["rules"][0]["verdict"], "refused", "{json:#}");

    let decisions = world.run(&["decisions", "--reason", "blocked", "--json"]).json();
    assert_eq!(decisions["reasons"][0]["reason"], "blocked", "{decisions:#}");
    let entry = &decisions["rows"][0];
    assert_eq!(entry["rule"], "block: s1.sim.test");
    assert!(entry["example"].as_str().unwrap().starts_with("http://s1.sim.test/"), "{entry:#}");
    assert!(entry["referrer"].as_str().unwrap().starts_with("http://s"), "{decisions:#}");
    let words = world.run(&["decisions", "--site", "http://s0.sim.test/x"]);
    words.exits(0);
    for part in
        ["blocked: ", "harvestman block", "such as http://s1.sim.test/", "found on http://s"]
    {
        assert!(words.flat().contains(part), "{part}: {words}");
    }
    world.run(&["decisions", "--reason", "whim"]).exits(2).says(&["robots", "blocked"]);
}

#[test]
fn prefixes_urls_and_domains_are_kept_away_from_exactly() {
    let pages = [
        ("a.raw.test/", "<a href='/x/1'>1</a> <a href='/y'>2</a> <a href='/z'>3</a>"),
        ("a.raw.test/x/1", "one"),
        ("a.raw.test/y", "<a href='http://deep.b.raw.test/'>b</a>"),
        ("a.raw.test/z", "three"),
        ("deep.b.raw.test/", "deep"),
    ];
    for (what, missing) in [
        ("http://a.raw.test/x/*", "a.raw.test/x/1"),
        ("a.raw.test/z", "a.raw.test/z"),
        (".b.raw.test", "deep.b.raw.test/"),
    ] {
        let raw = Raw::pages(&pages);
        let world = World::new(WebOptions::default());
        world.run(&["block", what]).exits(0);
        let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
        let manners = ["--scope", "domain", "--delay", "0", "--resolve", &rule];
        world.run(&[&["crawl", "http://a.raw.test/"], &manners[..]].concat()).exits(0);
        let mut wanted: Vec<&str> = pages.iter().map(|(place, _)| *place).collect();
        wanted.retain(|place| *place != missing);
        assert_eq!(raw.asked(), wanted, "{what}");
    }
}

#[test]
fn a_block_takes_force_in_a_running_crawl_and_its_removal_too() {
    let world = world(2, 400);
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "30ms"];
    args.extend(seeds.iter().map(String::as_str));
    let crawl = world.start(&args);
    let asked =
        |world: &World| world.log().iter().filter(|entry| &*entry.host == "s1.sim.test").count();
    world.wait_for("five requests", |world| asked(world) >= 5);
    let begun = Instant::now();
    let done = world.run(&["block", "s1.sim.test"]);
    done.exits(0).says(&["1 block added; in force from now on"]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{done}");
    // What was asked before may still be answered.
    std::thread::sleep(Duration::from_millis(300));
    let (before, others) = (asked(&world), world.visits().len());
    world.wait_for("the other site is crawled on", |world| world.visits().len() > others + 15);
    assert_eq!(asked(&world), before, "nothing is asked of it any more");
    world.wait_for("its pages are excluded", |world| {
        world.count(&["--site", "s1.sim.test", "--state", "known"]) == 0
    });
    let list = world.run(&["block", "--json"]).json();
    assert_eq!(list["pattern"], "s1.sim.test", "a line each: {list:#}");

    let lifted = world.run(&["block", "s1.sim.test", "--remove"]);
    lifted.exits(0).says(&["1 block removed; judged again: "]);
    let unknown = world.run(&["block", "s1.sim.test", "--remove"]);
    unknown.exits(2).says(&["s1.sim.test is not on the list"]);
    world.wait_for("it is crawled again", |world| asked(world) > before + 5);
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(30)).exits(4);
    world.run(&["check"]).exits(0);
}

#[test]
fn an_answer_on_its_way_when_the_block_comes_is_not_kept() {
    let blocked = Arc::new(AtomicBool::new(false));
    let goes_on = Arc::clone(&blocked);
    let raw = Raw::start(move |place, stream| {
        while place == "a.raw.test/slow" && !goes_on.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let robots = place.ends_with("/robots.txt");
        let (status, body) = match robots {
            true => ("404 Not Found", "none"),
            false => ("200 OK", "<a href='/slow'>slow</a>"),
        };
        reply(stream, status, "Content-Type: text/html", body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let crawl = world.start(&["crawl", "http://a.raw.test/", "--delay", "0", "--resolve", &rule]);
    world.wait_for("the slow page is asked for", |_| {
        raw.asked().contains(&"a.raw.test/slow".to_owned())
    });
    world.run(&["block", "a.raw.test/slow"]).exits(0).says(&["in force"]);
    blocked.store(true, Ordering::SeqCst);
    crawl.wait(Duration::from_secs(30)).exits(0);
    assert_eq!(world.page("http://a.raw.test/slow")["state"], "excluded");
    assert_eq!(world.visits_total(), 1, "the home page alone");
    world.run(&["show", "http://a.raw.test/slow"]).exits(2);
    world.run(&["check"]).exits(0);
}

#[test]
fn addresses_are_kept_away_from_whatever_names_lead_to_them_until_that_is_lifted() {
    let world = world(2, 4);
    world.run(&["block", "127.0.0.0/8"]).exits(0);
    world.run(&CRAWL).exits(1).says(&["everything known is refused", "explain"]);
    assert_eq!(world.log(), [], "not even robots.txt");
    let told = world.run(&["explain", HOME]);
    assert!(told.out.contains("not crawled: block: 127.0.0.0/8"), "{told}");
    assert!(world.status()["refused"]["blocked"].as_u64().unwrap() > 0);

    let lifted = world.run(&["block", "127.0.0.0/8", "--remove"]);
    lifted.exits(0).says(&["1 block removed", "judged again: 1 page"]);
    let told = world.run(&["explain", HOME]);
    assert!(told.out.contains("crawled: every rule lets it pass"), "{told}");
    world.run(&["crawl", "--scope", "domain", "--delay", "0"]).exits(0);
    assert_eq!(world.visits().len(), 8, "the whole web of two sites: {:?}", world.visited());
    world.run(&["check"]).exits(0);
}

#[test]
fn a_block_left_for_a_crawl_that_ended_holds_for_the_next_from_its_first_request() {
    let world = world(3, 6);
    world.run(&["block", "unrelated.example"]).exits(0);
    let patterns = vec!["s1.sim.test".to_owned()];
    let command = Command::Block { patterns, reason: String::new(), remove: false };
    let database = world.folder.join("crawl.db");
    let id = control::request(&database, &command, model::Timestamp(1)).unwrap();
    world.run(&CRAWL).exits(0);
    assert_eq!(hosts(&world), ["s0.sim.test", "s2.sim.test"]);
    let added = Outcome::Blocks { added: 1, removed: 0, pages: 0 };
    assert_eq!(control::result_of(&database, id).unwrap(), Some(added));
    assert_eq!(world.run(&["block", "--list"]).out.lines().count(), 2);
}

#[test]
fn an_address_blocked_while_a_crawl_runs_is_left_at_once() {
    let world = world(2, 300);
    let crawl = world.start(&["crawl", HOME, "--delay", "30ms"]);
    world.wait_for("five requests", |world| world.log().len() >= 5);
    world.run(&["block", "127.0.0.1"]).exits(0).says(&["in force"]);
    std::thread::sleep(Duration::from_millis(300));
    let before = world.log().len();
    crawl.wait(Duration::from_secs(30)).exits(0);
    assert_eq!(world.log().len(), before, "the kept connection is not used either");
}

#[test]
fn lists_come_from_files_and_standard_input_and_bad_lines_are_named() {
    let world = world(1, 1);
    let file = world.temp.path().join("blocks.txt");
    let mut text = "# remark\nads.example\n\nnot a host\n.tracker.example # why\n".to_owned();
    text.extend((0..30).map(|n| format!("bad-{n}\n")));
    text.extend((0..20_000).map(|n| format!("h{n}.blocked.example\n")));
    std::fs::write(&file, text).unwrap();
    let done = world.run(&["block", "--file", file.to_str().unwrap()]);
    done.exits(0).says(&["line 4: ", "line 6: ", "11 more lines", "20,002 blocks added"]);
    assert!(!done.err.contains("line 30: "), "twenty are shown: {done}");
    world
        .run_with_input(&["block", "-"], "ads.example\nlate.example\n")
        .exits(0)
        .says(&["1 block added", "1 was on the list already"]);
    let list = world.run(&["block", "--list"]);
    list.exits(0);
    assert!(
        list.out.lines().count() == 20_003 && list.out.contains(".tracker.example"),
        "a line each"
    );
    world
        .run(&["block", "late.example", "gone.example", "--remove"])
        .exits(0)
        .says(&["1 block removed", "1 was not on the list"]);
    let unknown = ["block", "gone.example", "http://gone.example/a", "--remove"];
    world.run(&unknown).exits(2).says(&["none of these 2", "gone.example", "block --list"]);
    let told = world.run(&[&unknown[..], &["--json"]].concat());
    assert_eq!(told.exits(2).json()["removed"], 0, "{told}");
    world.run(&["block", "*.example"]).exits(2).says(&["write .example.org"]);
    world.run(&["block", "--file", "no-such-file"]).exits(2).says(&["no-such-file"]);
    assert_eq!(world.log(), [], "block asks nobody");
}

fn hosts(world: &World) -> Vec<String> {
    let mut hosts: Vec<String> = world.log().iter().map(|entry| entry.host.to_string()).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn world(sites: usize, pages: usize) -> World {
    World::new(WebOptions {
        sites,
        pages: PageCount::Fixed(pages),
        latency: Latency { base: Duration::from_millis(5), spread: Duration::ZERO },
        ..WebOptions::default()
    })
}
