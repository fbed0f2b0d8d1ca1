//! Several spiders in one collection: each with seeds, scope, limits and manners of its own, on sites they may
//! share; changed while the crawl runs.

use std::{collections::BTreeSet, time::Duration};

use simweb::{Latency, PageCount, PageOptions, WebOptions, checks};

use crate::{
    ask::{strings, was_fetched},
    world::{Running, World},
};

#[test]
fn spiders_share_a_site_and_its_clock_and_each_keeps_to_its_own_scope() {
    let world = world(2, 24);
    world
        .run(&["spider", "add", "shallow", "http://s0.sim.test/", "--set", "crawl.depth=1"])
        .exits(0);
    let deep = world.web.path(0, 20);
    let seed = format!("http://s0.sim.test{deep}");
    world.run(&["spider", "add", "listed", &seed, "--set", "crawl.depth=0"]).exits(0);
    world.run(&["spider", "add", "other", "http://s1.sim.test/"]).exits(0);
    world.run(&["crawl", "--delay", "250ms"]).exits(0);

    let wanted: BTreeSet<String> = (0..24)
        .filter(|page| world.web.level(*page) <= 1 || *page == 20)
        .map(|page| format!("s0.sim.test{}", world.web.path(0, page)))
        .collect();
    let got: BTreeSet<String> =
        world.visited().into_iter().filter(|place| place.starts_with("s0.")).collect();
    assert_eq!(got, wanted);
    let of = |name: &str| {
        let pages = world.pages(&["--spider", name]);
        pages.iter().filter(|page| was_fetched(page)).count()
    };
    assert_eq!((of("listed"), of("other"), of("default")), (1, 24, 0));
    assert_eq!(of("shallow"), wanted.len() - 1);
    // A busy server reads late; spiders that knew nothing of each other would come at once.
    let (pause, slack) = (Duration::from_millis(250), Duration::from_millis(200));
    let early = checks::pauses(&world.log(), pause, slack);
    assert!(early.is_empty(), "one clock for all spiders of a site: {early:?}");

    let list = world.run(&["spider", "list", "--json"]).json();
    let rows = list["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["spider"].as_str()).collect();
    assert_eq!(names, ["default", "shallow", "listed", "other"]);
    assert_eq!(rows[3]["pages"]["fetched"], 24, "{list:#}");
    assert_eq!(rows[1]["settings"]["crawl.depth"], "1", "{list:#}");
}

#[test]
fn a_spider_is_paused_and_resumed_while_the_crawl_runs() {
    let world = world(2, 400);
    world.run(&["spider", "add", "one", "http://s0.sim.test/"]).exits(0);
    world.run(&["spider", "add", "two", "http://s1.sim.test/"]).exits(0);
    let crawl = world.start(&["crawl", "--delay", "30ms"]);
    world.wait_for("both are crawled", |world| asked(world, 0) >= 5 && asked(world, 1) >= 5);
    world
        .run(&["spider", "pause", "two", "--reason", "too much"])
        .exits(0)
        .says(&["spider two is paused", "harvestman spider resume two"]);
    std::thread::sleep(Duration::from_millis(300));
    let (before, other) = (asked(&world, 1), asked(&world, 0));
    world.wait_for("the other goes on", |world| asked(world, 0) > other + 15);
    assert_eq!(asked(&world, 1), before, "nothing of a paused spider is asked for");
    let listed = world.run(&["spider"]);
    assert!(listed.out.contains("paused: too much"), "{listed}");
    world.run(&["spider", "resume", "two"]).exits(0);
    world.wait_for("it is crawled again", |world| asked(world, 1) > before + 5);
    stop(crawl);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_pause_holds_for_the_next_crawl_which_ends_and_goes_on_after_it() {
    let world = world(2, 12);
    world.run(&["spider", "add", "one", "http://s0.sim.test/"]).exits(0);
    world.run(&["spider", "add", "two", "http://s1.sim.test/"]).exits(0);
    world.run(&["spider", "pause", "two"]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!((pages(&world, 0), pages(&world, 1)), (12, 0));
    world.run(&["spider", "resume", "two"]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!((pages(&world, 0), pages(&world, 1)), (12, 12));
}

#[test]
fn a_spiders_own_limit_on_pages_is_exact_and_can_be_changed_while_it_runs() {
    let world = world(2, 60);
    let limit = ["--set", "crawl.pages=7", "--set", "etiquette.max_fetches=3"];
    world.run(&[&["spider", "add", "small", "http://s0.sim.test/"], &limit[..]].concat()).exits(0);
    world.run(&["spider", "add", "large", "http://s1.sim.test/"]).exits(0);
    let crawl = world.start(&["run", "--delay", "20ms", "--connections", "4"]);
    world.wait_for("the large one is done", |world| pages(world, 1) == 60);
    assert_eq!(pages(&world, 0), 7, "not one more");
    world.run(&["spider", "edit", "small", "--set", "crawl.pages=19"]).exits(0);
    world.wait_for("the higher limit is reached", |world| pages(world, 0) >= 19);
    world.wait_for_silence(Duration::from_millis(400));
    assert_eq!(pages(&world, 0), 19);
    stop(crawl);
}

#[test]
fn a_spider_added_while_the_crawl_runs_crawls_and_a_removed_one_stops() {
    let world = world(2, 300);
    world.run(&["spider", "add", "one", "http://s0.sim.test/"]).exits(0);
    let crawl = world.start(&["run", "--delay", "30ms"]);
    world.wait_for("it is crawled", |world| asked(world, 0) >= 5);
    world.run(&["spider", "add", "two", "http://s1.sim.test/"]).exits(0);
    world.wait_for("the new one is crawled", |world| asked(world, 1) >= 5);
    world.run(&["spider", "remove", "one"]).exits(0);
    std::thread::sleep(Duration::from_millis(300));
    let (before, other) = (asked(&world, 0), asked(&world, 1));
    world.wait_for("the other goes on", |world| asked(world, 1) > other + 15);
    assert_eq!(asked(&world, 0), before);
    stop(crawl);
    let list = world.run(&["spider", "list", "--json"]).json();
    assert_eq!(list["total"], 2, "{list:#}");
    assert!(world.run(&["show", "http://s0.sim.test/"]).out.len() > 100, "history stays");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_change_of_the_file_takes_effect_in_the_running_crawl() {
    let world = world(1, 200);
    world.run(&["seed", "http://s0.sim.test/"]).exits(0);
    let file = world.folder.join("harvest.toml");
    std::fs::write(&file, "[etiquette]\ndelay = \"30ms\"\n").unwrap();
    let crawl = world.start(&["run"]);
    world.wait_for("it is crawled", |world| asked(world, 0) >= 5);
    std::fs::write(&file, "[etiquette]\ndelay = \"60s\"\n").unwrap();
    // Twenty times the pause that it had.
    world.wait_for_silence(Duration::from_millis(600));
    let before = asked(&world, 0);
    assert!(before < 150, "the new pause holds before all is crawled");
    // It looks at the file every half second.
    std::fs::write(&file, "[etiquette]\ndelya = \"0\"\n").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(asked(&world, 0), before, "a mistake changes nothing");
    std::fs::write(&file, "[etiquette]\ndelay = \"20ms\"\n").unwrap();
    world.wait_for("it goes on", |world| asked(world, 0) > before + 5);
    stop(crawl);
}

#[test]
fn explain_asks_every_spider_of_an_unknown_url_and_the_owner_of_a_known_one() {
    let world = world(2, 12);
    world.run(&["spider", "add", "one", "http://s0.sim.test/", "--set", "crawl.depth=0"]).exits(0);
    world.run(&["spider", "add", "two", "http://s1.sim.test/"]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    let unknown = world.run(&["explain", "http://s1.sim.test/nobody/knows", "--json"]).json();
    assert_eq!(unknown["spider"], "two", "{unknown:#}");
    let refuses: Vec<(&str, bool)> = unknown["spiders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["spider"].as_str().unwrap(), one["refused"].as_bool().unwrap()))
        .collect();
    assert_eq!(refuses, [("default", true), ("one", true), ("two", false)]);
    let known = world.run(&["explain", "http://s0.sim.test/", "--json"]).json();
    assert_eq!(known["spider"], "one", "{known:#}");
    assert_eq!(known["spiders"].as_array().unwrap().len(), 1);
    let asked = world.run(&["explain", "http://s0.sim.test/x", "--spider", "two"]);
    assert!(asked.out.contains("not crawled: crawl.scope"), "{asked}");
    world.run(&["explain", "http://s0.sim.test/", "--spider", "nobody"]).exits(2);
}

#[test]
fn rules_that_become_narrower_hold_for_pages_that_wait_already() {
    let world = world(1, 120);
    world.run(&["spider", "add", "one", "http://s0.sim.test/"]).exits(0);
    let crawl = world.start(&["run", "--delay", "40ms"]);
    world.wait_for("it is crawled", |world| asked(world, 0) >= 8);
    let rule = "crawl.rules=[\"reject path ~ '^/.'\"]";
    world.run(&["spider", "edit", "one", "--set", rule]).exits(0);
    world.wait_for_silence(Duration::from_millis(600));
    assert!(asked(&world, 0) < 100, "nothing but the home page is wanted any more");
    let refused = world.run(&["decisions", "--reason", "rule"]);
    assert!(refused.out.contains("reject path"), "{refused}");
    stop(crawl);
    // Also between two crawls.
    world.run(&["spider", "edit", "one", "--unset", "crawl.rules"]).exits(0);
    world.run(&["crawl", "--fresh", "--delay", "0", "--pages", "30"]).exits(0);
    world.forget_log();
    world.run(&["spider", "edit", "one", "--set", "crawl.depth=0"]).exits(0);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(world.visited(), ["s0.sim.test/"]);
}

#[test]
fn a_wider_border_is_reached_afresh_although_pages_have_not_changed() {
    let world = world(2, 20);
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0", "--depth", "0"]).exits(0);
    assert_eq!(pages(&world, 0), 1);
    world.run(&["crawl", "--delay", "0", "--depth", "9"]).exits(0);
    world.run(&["crawl", "--fresh", "--delay", "0", "--depth", "9"]).exits(0);
    let got = world.fetched();
    assert_eq!(got, 20, "the links of the home page were read again");
    // A change that lets nobody else in costs the server no page that has not changed.
    world.forget_log();
    world.run(&["crawl", "--fresh", "--delay", "1ms", "--depth", "9", "--pages", "50"]).exits(0);
    let statuses: Vec<u16> = world.visits().iter().map(|visit| visit.status).collect();
    assert!(statuses.len() == 20 && statuses.iter().all(|status| *status == 304), "{statuses:?}");
}

#[test]
fn what_a_removed_spider_left_is_taken_over_by_the_next() {
    let world = world(1, 30);
    world.run(&["spider", "add", "old", "http://s0.sim.test/", "--set", "crawl.pages=5"]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(pages(&world, 0), 5);
    world.run(&["spider", "remove", "old"]).exits(0);
    world.run(&["spider", "add", "new", "http://s0.sim.test/"]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(world.fetched(), 30);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_crawl_says_that_a_paused_spider_has_pages_left() {
    let world = world(1, 10);
    world.run(&["spider", "add", "one", "http://s0.sim.test/"]).exits(0);
    world.run(&["crawl", "--delay", "0", "--pages", "3"]).exits(0);
    world.run(&["spider", "pause", "one"]).exits(0);
    let done = world.run(&["crawl", "--delay", "0"]);
    done.says(&["spider one is paused", "harvestman spider resume one"]);
    let mut waiting = world.pages(&[]);
    waiting.retain(|page| !was_fetched(page));
    let waiting = strings(&waiting, "url").remove(0);
    let explained = world.run(&["explain", &waiting]);
    assert!(explained.out.contains("spider one is paused"), "{explained}");
}

#[test]
fn a_spiders_own_pause_brings_back_what_servers_ask_for_where_the_base_wants_none() {
    let world = World::new(WebOptions {
        sites: 1,
        pages: PageCount::Fixed(4),
        robots: simweb::RobotsPlan::CrawlDelay(0.5),
        ..WebOptions::default()
    });
    std::fs::create_dir_all(&world.folder).unwrap();
    std::fs::write(world.folder.join("harvest.toml"), "[etiquette]\ndelay = 0\n").unwrap();
    let delay = ["--set", "etiquette.delay=100ms"];
    world.run(&[&["spider", "add", "one", "http://s0.sim.test/"], &delay[..]].concat()).exits(0);
    world.run(&["crawl"]).exits(0);
    assert_eq!(pages(&world, 0), 4);
    let early =
        checks::pauses(&world.log()[1..], Duration::from_millis(500), Duration::from_millis(60));
    assert!(early.is_empty(), "{early:?}");
}

#[test]
fn a_spiders_proxy_is_listed_without_its_password() {
    let world = world(1, 3);
    let proxy = "fetch.proxy=http://me:5ecret@127.0.0.1:1";
    world.run(&["spider", "add", "one", "http://s0.sim.test/", "--set", proxy]).exits(0);
    for args in [&["spider"][..], &["spider", "--json"], &["status", "--json"]] {
        let done = world.run(args);
        assert_eq!(done.out.contains("***@127.0.0.1:1"), args[0] == "spider", "{done}");
        assert!(!done.out.contains("5ecret"), "{done}");
    }
    let flag = ["crawl", "--proxy", "http://me:5ecret@127.0.0.1:1"];
    let done = world.run(&flag);
    assert!(!done.err.contains("5ecret"), "{done}");
}

#[test]
fn what_is_wrong_with_a_spider_is_told_and_nothing_is_changed() {
    let world = world(1, 3);
    world.run(&["spider", "add", "a", "http://s0.sim.test/"]).exits(0);
    for (args, says) in [
        (&["add", "a"][..], "there is a spider a already"),
        (&["add", "Not Good"], "use 1 to 64"),
        (&["add", "b", "--set", "crawl.scoep=site"], "did you mean"),
        (&["add", "b", "--set", "crawl.depth=deep"], "crawl.depth"),
        (&["add", "b", "--set", "store.volume_bytes_max=1GB"], "cannot be set for one spider"),
        (&["add", "b", "--set", "crawl.rules=[\"reject path ~ '('\"]"], "crawl.rules"),
        (&["add", "b", "http://"], "cannot crawl"),
        (&["edit", "nobody", "--set", "crawl.depth=1"], "there is no spider"),
        (&["edit", "a"], "nothing is to be changed"),
        (&["edit", "a", "--unset", "crawl.depth"], "does not set crawl.depth"),
        (&["remove", "default"], "default"),
        (&["pause", "b"], "there is no spider"),
    ] {
        world.run(&[&["spider"], args].concat()).exits(2).says(&[says]);
    }
    assert_eq!(strings(&world.list(&["spider", "list"]), "spider"), ["default", "a"]);
}

fn world(sites: usize, pages: usize) -> World {
    World::new(WebOptions {
        sites,
        pages: PageCount::Fixed(pages),
        page: PageOptions { children: 3, bytes_mean: 2_000.0, ..PageOptions::default() },
        latency: Latency { base: Duration::ZERO, spread: Duration::from_millis(5) },
        ..WebOptions::default()
    })
}

fn asked(world: &World, site: usize) -> usize {
    let host = world.web.host(site);
    world.log().iter().filter(|entry| *entry.host == *host).count()
}

fn pages(world: &World, site: usize) -> usize {
    let host = world.web.host(site);
    world.visits().iter().filter(|visit| *visit.host == *host && visit.status == 200).count()
}

fn stop(crawl: Running) {
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(30)).exits(4);
}
