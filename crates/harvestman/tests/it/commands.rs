//! The commands beside `crawl`: what they say, in words and as JSON, and that they work while it runs.

use std::time::Duration;

use serde_json::Value;
use simweb::{Latency, PageCount, RobotsPlan, WebOptions};
use store::testing;

use crate::world::World;

const HOME: &str = "http://s0.sim.test/";

#[test]
fn status_as_json_has_the_promised_names() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let status = world.status();
    let numbers = [
        ("/pages/known", 12),
        ("/pages/fetched", 12),
        ("/pages/failed", 0),
        ("/sites/known", 1),
        ("/visits", 12),
        ("/versions", 12),
    ];
    for (name, wanted) in numbers {
        assert_eq!(status.pointer(name), Some(&Value::from(wanted)), "{name} in {status:#}");
    }
    assert!(status.pointer("/pages/refused").is_some_and(Value::is_u64), "{status:#}");
    assert_eq!(status["state"], "done");
    assert_eq!(status["reason"], "all done");
    let sent: u64 = world.log().iter().map(|entry| entry.bytes).sum();
    let counted = status["bytes"].as_u64().unwrap();
    assert!(counted > 0 && counted <= sent, "{counted} of {sent} bytes");
}

#[test]
fn status_works_while_a_crawl_runs_and_a_second_crawl_is_refused() {
    let world = slow();
    let mut crawl = world.start(&["crawl", HOME, "--delay", "200ms"]);
    world.wait_for("three visits", |world| world.visits().len() >= 3);
    let status = world.status();
    assert_eq!(status["state"], "running", "{status:#}");
    assert_eq!(status["run"]["pid"], crawl.id());
    world.wait_for("status counts pages", |world| {
        world.status()["pages"]["fetched"].as_u64().unwrap() > 0
    });
    let words = world.run(&["status"]);
    words.exits(0);
    assert!(words.out.contains("running"), "{words}");

    let second = world.run(&["crawl", HOME, "--delay", "0"]);
    let first = crawl.id().to_string();
    second.exits(2).says(&["Ctrl-C", "-C", &first]);
    assert!(crawl.is_running(), "the first crawl is not disturbed");
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(30)).exits(4);
}

#[test]
fn status_shows_when_a_crawl_gave_its_last_sign_of_life() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(30), ..WebOptions::default() });
    let crawl = world.start(&["crawl", HOME, "--delay", "300ms"]);
    world.wait_for("three visits", |world| world.visits().len() >= 3);
    assert_eq!(world.status()["run"]["silent"], false);
    crawl.signal("STOP");
    testing::silence_run(&world.folder, Duration::from_secs(180));
    let status = world.run(&["status"]);
    assert!(status.out.contains("silent      last sign of life 3m ago"), "{status}");
    assert_eq!(world.status()["run"]["silent"], true);
    crawl.signal("KILL");
    drop(crawl);
    let status = world.run(&["status"]);
    assert!(status.flat().contains("state interrupted"), "{status}");
    assert!(status.flat().contains("last sign of life 3m ago"), "{status}");
    assert!(status.out.lines().all(|line| line.chars().count() <= 80), "{status}");
}

#[test]
fn status_shows_paused_spiders_with_their_reason_and_seeds_that_wait() {
    let world = small();
    world.run(&["spider", "add", "news", "http://s0.sim.test/"]).exits(0);
    world.run(&["spider", "pause", "news", "--reason", "maintenance until noon"]).exits(0);
    let status = world.run(&["status"]);
    let words = "paused: maintenance until noon; to continue: harvestman spider resume news";
    assert!(status.exits(0).flat().contains(words), "{status}");
    assert!(status.out.contains("seeds       1 seed, 1 not visited yet"), "{status}");
    let json = world.status();
    assert_eq!((&json["seeds"]["known"], &json["seeds"]["waiting"]), (&1.into(), &1.into()));
    assert_eq!(json["spiders"][1]["why"], "maintenance until noon", "{json:#}");
}

#[test]
fn explain_tells_a_known_page_from_an_unknown_and_names_the_rule_that_refuses() {
    let mut options = WebOptions { pages: PageCount::Fixed(6), ..WebOptions::default() };
    options.robots = RobotsPlan::Disallow(vec!["/private/".to_owned()]);
    let world = World::new(options);
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.forget_log();
    let cases = [
        (HOME, "crawled: every rule lets it pass", true),
        ("http://s0.sim.test/nobody-links-here", "would be crawled", false),
        ("http://s0.sim.test/private/1", "not crawled: robots.txt", false),
        ("http://s0.sim.test/login", "not crawled: ", false),
        ("http://elsewhere.example/", "not crawled: ", false),
    ];
    for (url, verdict, known) in cases {
        let told = world.run(&["explain", url]);
        told.exits(0);
        assert!(told.out.contains(verdict), "{url}: {told}");
        let json = world.run(&["explain", url, "--json"]).json();
        assert_eq!(json["known"], known, "{url}: {json:#}");
        let rules = json["spiders"][0]["rules"].as_array().unwrap();
        let refused = rules.iter().any(|rule| rule["verdict"] == "refused");
        assert_eq!(refused, json["verdict"] == "refused", "{url}: {json:#}");
        assert_eq!(refused, verdict.starts_with("not crawled"), "{url}: {json:#}");
    }
    let private = world.run(&["explain", "http://s0.sim.test/private/1"]);
    assert!(private.out.contains("/private/"), "the line of robots.txt is shown: {private}");
    assert_eq!(world.log(), [], "explain asks nobody");
}

#[test]
fn explain_and_status_tell_what_is_believed_of_a_page_and_what_visits_cost() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let told = world.run(&["explain", HOME]);
    let plain = [
        "next visit in",
        "the page changes about every",
        "(policy \"value\"; --verbose shows the numbers)",
        "probability that the stored copy is current: 100 %",
        "2 visits",
    ];
    for part in plain {
        assert!(told.flat().contains(part), "{part}: {told}");
    }
    for part in ["price", "worth", "importance"] {
        assert!(!told.out.contains(part), "{part}: {told}");
    }
    let told = world.run(&["explain", HOME, "--verbose"]);
    for part in ["0 changes at one revisit", "reaches the price", "policy value: it is"] {
        assert!(told.flat().contains(part), "{part}: {told}");
    }
    let back = &world.run(&["explain", HOME, "--json"]).json()["revisit"];
    assert_eq!((&back["policy"], &back["compared"]), (&"value".into(), &1.into()), "{back:#}");
    let figure = |name: &str| back[name].as_f64().unwrap_or_else(|| panic!("{name}: {back:#}"));
    assert!(figure("changes_a_day_low") < figure("changes_a_day"), "{back:#}");
    assert!(figure("changes_a_day") < figure("changes_a_day_high"), "{back:#}");
    assert!(figure("freshness") > 0.9 && figure("value") < figure("price"), "{back:#}");
    assert!(back["due"].is_string() && back["why"].is_string(), "{back:#}");
    let fixed = ["--set", "revisit.period=1d"];
    world.run(&[&["spider", "edit", "default"], &fixed[..]].concat()).exits(0);
    let told = world.run(&["explain", HOME]);
    let fixed = "it is visited at the interval that was asked for (policy \"fixed\"";
    assert!(told.flat().contains(fixed), "{told}");
    let budget = &world.status()["budget"][0];
    assert!(
        budget["revisits"].as_u64() > Some(0) && budget["price"].as_f64() > Some(0.0),
        "{budget:#}"
    );
    let status = world.run(&["status"]);
    assert!(!status.out.contains("budget"), "a pass is held to none: {status}");
    world.run(&["spider", "edit", "default", "--unset", "revisit.period"]).exits(0);
    world.run(&["run", "--delay", "0", "--for", "1s"]).exits(0);
    let status = world.run(&["status"]);
    assert!(
        status.out.contains("budget      ") && status.flat().contains("price of a visit:"),
        "{status}"
    );
}

#[test]
fn explain_tells_of_policies_that_leave_a_page_to_others_or_alone() {
    let world = small().variable("HARVESTMAN_REVISIT_POLICY", "once");
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let told = world.run(&["explain", HOME]);
    for part in ["next visit not by itself", "1 visit", "each page is visited once"] {
        assert!(told.out.contains(part), "{part}: {told}");
    }
    for part in ["price", "budget", "changes about", "1 visits"] {
        assert!(!told.out.contains(part), "{part}: {told}");
    }
    let world = world.variable("HARVESTMAN_REVISIT_POLICY", "profit");
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let told = world.run(&["explain", HOME, "--verbose"]);
    for part in ["next visit in a batch that chooses it", "profit of a visit now", "importance"] {
        assert!(told.flat().contains(part), "{part}: {told}");
    }
    assert!(!told.out.contains("price") && !told.out.contains("budget"), "{told}");
    let back = &world.run(&["explain", HOME, "--json"]).json()["revisit"];
    assert!(back["price"].is_null() && back["value"].is_number(), "{back:#}");
}

#[test]
fn show_gives_text_html_and_headers_of_the_latest_version() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.forget_log();
    let html = world.run(&["show", HOME, "--html"]);
    html.exits(0);
    assert!(html.out.to_lowercase().contains("<html") && html.out.contains("</"), "{html}");
    for text in [world.run(&["show", HOME]), world.run(&["show", HOME, "--text"])] {
        text.exits(0);
        assert!(text.out.len() > 100 && !text.out.contains("</"), "{text}");
    }
    let headers = world.run(&["show", HOME, "--headers"]);
    headers.exits(0);
    assert!(headers.out.starts_with("HTTP/1.1 200 OK\n"), "{headers}");
    assert!(headers.out.contains("Server: simweb"), "{headers}");
    let json = world.run(&["show", HOME, "--json"]).json();
    assert_eq!(json["status"], 200);
    let unknown = world.run(&["show", "http://s0.sim.test/nothing"]);
    unknown.exits(2).says(&["is not in this collection", "explain"]);
    assert_eq!(world.log(), [], "show asks nobody");
}

#[test]
fn seeds_come_from_arguments_files_and_standard_input() {
    let world =
        World::new(WebOptions { sites: 3, pages: PageCount::Fixed(2), ..WebOptions::default() });
    world.run(&["seed", "http://s0.sim.test/"]).exits(0).says(&["1 seed taken"]);
    let file = world.temp.path().join("seeds.txt");
    std::fs::write(&file, "# remark\nhttp://s1.sim.test/\n\nnot a url at all\n").unwrap();
    let from_file = world.run(&["seed", "--file", file.to_str().unwrap()]);
    from_file.exits(0).says(&["line 4", "1 seed taken"]);
    world.run_with_input(&["seed", "-"], "s2.sim.test\n").exits(0).says(&["1 seed taken"]);
    assert_eq!(world.log(), [], "seed asks nobody");
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(world.status()["pages"]["fetched"], 6, "{:?}", world.visited());
    let bad = world.run(&["seed", "ftp://s0.sim.test/"]);
    bad.exits(2).says(&["ftp"]);
    let missing = world.run(&["seed", "--file", "no-such-file"]);
    missing.exits(2).says(&["no-such-file"]);
}

#[test]
fn a_running_crawl_takes_up_new_seeds() {
    let world = slow();
    let crawl = world.start(&["crawl", HOME, "--delay", "200ms"]);
    world.wait_for("a visit", |world| !world.visits().is_empty());
    let seeded = world.run(&["seed", "http://s1.sim.test/"]);
    seeded.exits(0).says(&["the running crawl visits it"]);
    world.wait_for("the new seed is visited", |world| {
        world.visited().contains(&"s1.sim.test/".to_owned())
    });
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(30)).exits(4);
    assert_eq!(testing::commands_waiting(&world.folder), 0, "the request is marked as done");
}

#[test]
fn init_makes_a_configuration_once_and_config_shows_where_values_come_from() {
    let world = small().variable("HARVESTMAN_FETCH_TIMEOUT", "20s");
    world.run(&["init"]).exits(0).says(&["created", "harvest.toml", "next:"]);
    let file = world.folder.join("harvest.toml");
    std::fs::write(&file, "[etiquette]\ndelay = \"3s\"\n").unwrap();
    world.run(&["init"]).exits(0).says(&["exists and was left"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[etiquette]\ndelay = \"3s\"\n");
    let shown = world.run(&["config", "--pages", "9"]);
    shown.exits(0);
    let line = |key: &str| {
        let found = shown.out.lines().find(|line| line.starts_with(key));
        found.unwrap_or_else(|| panic!("{key}: {shown}")).to_owned()
    };
    assert!(line("delay = \"3s\"").contains("harvest.toml"), "{shown}");
    assert!(line("timeout = \"20s\"").contains("HARVESTMAN_FETCH_TIMEOUT"), "{shown}");
    assert!(line("pages = 9").contains("--pages"), "{shown}");
    assert!(line("connections = 1").contains("default"), "{shown}");
    // The listing is itself a configuration.
    std::fs::write(&file, &shown.out).unwrap();
    world.run(&["config"]).exits(0);
    world.run(&["config", "--json"]).exits(0).json();
}

#[test]
fn check_finds_a_whole_collection_whole_and_a_damaged_one_damaged() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.run(&["check"]).exits(0);
    world.run(&["check", "--json"]).exits(0).json();
    let volume = std::fs::read_dir(world.folder.join("volumes")).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.to_string_lossy().ends_with(".warc.gz").then_some(path)
    });
    let volume = volume.expect("a volume");
    let mut bytes = std::fs::read(&volume).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0);
    std::fs::write(&volume, bytes).unwrap();
    let damaged = world.run(&["check"]);
    assert_ne!(damaged.status.code(), Some(0), "{damaged}");
}

#[test]
fn completions_are_written_for_every_common_shell() {
    let world = small();
    for shell in ["bash", "zsh", "fish"] {
        let done = world.run(&["completions", shell]);
        done.exits(0);
        assert!(done.out.contains("harvestman") && done.out.contains("explain"), "{shell}");
    }
    assert!(!world.folder.exists(), "no collection is needed or made");
}

#[test]
fn the_demo_ends_well_and_leaves_a_collection_to_look_at() {
    let world = small();
    let demo = world.run(&["demo", "--sites", "2"]);
    demo.exits(0).says(&["simulated web of 2 sites", "all done", "status"]);
    assert!(demo.took < Duration::from_secs(50), "{demo}");
    assert!(world.status()["pages"]["fetched"].as_u64().unwrap() > 40);
    world.run(&["show", HOME]).exits(0);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_crawl_as_json_ends_with_one_object_on_standard_output() {
    let world = small();
    let done = world.run(&["crawl", HOME, "--delay", "0", "--json"]);
    done.exits(0);
    let json = done.json();
    assert_eq!(json["pages"]["fetched"], 12, "{json:#}");
    assert_eq!(json["reason"], "all done");
    let quiet = world.run(&["crawl", "--fresh", "--delay", "0", "--quiet"]);
    quiet.exits(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""), "quiet says nothing");
}

fn small() -> World {
    World::new(WebOptions { pages: PageCount::Fixed(12), ..WebOptions::default() })
}

/// Long enough under way to be looked at.
fn slow() -> World {
    World::new(WebOptions {
        sites: 2,
        pages: PageCount::Fixed(300),
        latency: Latency { base: Duration::from_millis(50), spread: Duration::ZERO },
        ..WebOptions::default()
    })
}
