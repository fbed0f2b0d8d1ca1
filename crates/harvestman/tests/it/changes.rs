//! What counts as a change: clocks and advertisements do not, edits do, and what the user points at decides.
//! Every payload is kept all the same.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use simweb::{ChangeModel, Hazard, PageCount, PageOptions, WebOptions};

use crate::{
    ask::strings,
    audit,
    raw::{Raw, reply},
    world::World,
};

/// A server whose pages are those of the visit that the test is at.
struct Stage {
    world: World,
    raw: Raw,
    turn: Arc<AtomicUsize>,
}

impl Stage {
    fn new(page: impl Fn(&str, usize) -> Option<String> + Send + Sync + 'static) -> Stage {
        let turn = Arc::new(AtomicUsize::new(0));
        let now = Arc::clone(&turn);
        let raw = Raw::start(move |place, stream| {
            let path = place.trim_start_matches("127.0.0.1");
            match page(path, now.load(Ordering::Relaxed)) {
                Some(body) => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
                None => reply(stream, "404 Not Found", "Content-Type: text/html", b"<p>none</p>"),
            }
        });
        Stage { world: World::new(WebOptions::default()), raw, turn }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.raw.port)
    }

    /// Visits these pages once for each turn.
    fn play(&self, paths: &[&str], turns: usize) {
        let urls: Vec<String> = paths.iter().map(|path| self.url(path)).collect();
        let mut args = vec!["crawl", "--fresh", "--delay", "0", "--depth", "0"];
        args.extend(urls.iter().map(String::as_str));
        for turn in 0..turns {
            self.turn.store(turn, Ordering::Relaxed);
            self.world.run(&args);
        }
    }

    fn story(&self, path: &str) -> Vec<String> {
        story(&self.world, &self.url(path))
    }
}

/// What each run of a page's history is, with how many visits found the same.
fn story(world: &World, url: &str) -> Vec<String> {
    let line = |run: &Value| match (run["kind"].as_str().unwrap(), &run["visits"]) {
        (kind, visits) if *visits == 1 => kind.to_owned(),
        (kind, visits) => format!("{kind} {visits}"),
    };
    world.history(url).iter().map(line).collect()
}

fn article(rest: &str) -> String {
    let lines: String = (0..12).map(|n| format!("<p>Line {n} of the article.</p>\n")).collect();
    format!("<title>Article</title>{lines}{rest}")
}

#[test]
fn clocks_and_counters_are_learned_and_edits_beside_them_are_not_overlooked() {
    let stage = Stage::new(|path, turn| match path {
        "/clock" => Some(article(&format!("<p>It is 10:{:02}.</p>", turn + 10))),
        "/edited" => {
            let edit = if turn < 7 { "first" } else { "second" };
            Some(article(&format!("<p>Visitor {turn}.</p><p>The {edit} edition.</p>")))
        }
        "/news" => Some(format!("<p>News of day {turn}: {}", "all is new. ".repeat(turn + 1))),
        "/comment" => Some(article(&format!("<!-- {turn} -->"))),
        _ => None,
    });
    stage.play(&["/clock", "/edited", "/news", "/comment"], 9);
    let learned = ["new", "changed", "changed", "changed", "changed"];
    assert_eq!(stage.story("/clock"), [&learned[..], &["changed 4"]].concat());
    assert_eq!(stage.story("/edited"), [&learned[..], &["changed 2", "changed 2"]].concat());
    assert_eq!(stage.story("/news"), [&["new"][..], &["changed"; 8]].concat());
    assert_eq!(stage.story("/comment"), ["new 9"]);
    // Every payload is there, whatever it counts for.
    let records = audit::read_so_far(&stage.world);
    let of_it = records.iter().filter(|record| {
        let target = record.field("WARC-Target-URI");
        record.kind() == "response" && target == Some(&*stage.url("/comment"))
    });
    let payloads: BTreeSet<_> = of_it.map(|record| record.field("WARC-Payload-Digest")).collect();
    assert_eq!(payloads.len(), 9);
    stage.world.run(&["check"]).exits(0);
}

#[test]
fn a_page_that_goes_is_told_once_and_its_return_too() {
    let stage = Stage::new(|path, turn| match (path, turn) {
        ("/page", 0 | 1) => Some("<p>here</p>".to_owned()),
        ("/page", 5 | 6) => Some("<p>here again</p>".to_owned()),
        ("/other", _) => Some("<p>always</p>".to_owned()),
        _ => None,
    });
    stage.play(&["/page", "/other"], 7);
    assert_eq!(stage.story("/page"), ["new 2", "gone 3", "returned 2"]);
    let status = stage.world.status();
    assert_eq!((&status["versions"], &status["visits"]), (&3.into(), &14.into()), "{status:#}");
    assert_eq!(stage.world.history(&stage.url("/page"))[1]["status"], 404);
    let kinds = strings(&stage.world.changes(), "kind");
    assert_eq!(kinds.iter().filter(|kind| *kind == "gone").count(), 1, "{kinds:?}");
    stage.world.run(&["check"]).exits(0);
}

#[test]
fn what_is_a_change_can_be_said_for_all_pages_and_for_some() {
    let stage = Stage::new(|path, turn| match path {
        "/robots.txt" => None,
        _ => Some(format!(
            "<p id=price>{} EUR</p><div class='box ad'><p>Buy {}</p></div><p>The end</p>",
            if turn < 2 { 10 } else { 11 },
            ["shoes", "bread", "lamps"][turn],
        )),
    });
    let config = "[revisit]\nignore = ['.ad']\n\
                  [[override]]\nwhen = \"path ~ '^/plain'\"\nrevisit.ignore = []\n\
                  [[override]]\nwhen = \"path ~ '^/watch'\"\nrevisit.watch = ['#price']\n\
                  revisit.ignore = []\n\
                  [[override]]\nwhen = \"path ~ '^/both'\"\nrevisit.watch = ['.box']\n\
                  [[override]]\nwhen = \"path ~ '^/bytes'\"\nrevisit.change = 'bytes'\n\
                  [[override]]\nwhen = \"path ~ '^/size'\"\nrevisit.change = 'size'\n";
    stage.world.run(&["init"]).exits(0);
    std::fs::write(stage.world.folder.join("harvest.toml"), config).unwrap();
    stage.play(&["/ignore", "/plain", "/watch", "/both", "/bytes", "/size"], 3);
    assert_eq!(stage.story("/ignore"), ["new 2", "changed"]);
    assert_eq!(stage.story("/plain"), ["new", "changed", "changed"]);
    assert_eq!(stage.story("/both"), ["new 3"]);
    assert_eq!(stage.story("/watch"), ["new 2", "changed"]);
    assert_eq!(stage.story("/bytes"), ["new", "changed", "changed"]);
    assert_eq!(stage.story("/size"), ["new 3"]);
}

#[test]
fn selectors_that_are_not_understood_are_named_by_config_check() {
    let world = World::new(WebOptions::default());
    world.run(&["init"]).exits(0);
    let config = "[revisit]\nwatch = ['#price', 'a:hover']\n";
    std::fs::write(world.folder.join("harvest.toml"), config).unwrap();
    let check = world.run(&["config", "check"]);
    check.exits(2);
    for part in ["line 2", "a:hover", "':' at character 2"] {
        assert!(check.out.contains(part), "{check}");
    }
}

#[test]
fn a_restless_page_of_the_simulated_web_comes_to_rest() {
    let mut options = WebOptions { pages: PageCount::Fixed(1), ..WebOptions::default() };
    options.put("s0.sim.test/hazard/restless", Hazard::Restless);
    let world = World::new(options);
    let url = "http://s0.sim.test/hazard/restless";
    for _ in 0..8 {
        world.run(&["crawl", url, "--fresh", "--delay", "0", "--depth", "0"]).exits(0);
    }
    let story = story(&world, url);
    assert_eq!(story[..2], ["new", "changed"]);
    let rest = story.last().and_then(|run| run.strip_prefix("changed ")?.parse().ok());
    assert!(rest >= Some(3), "the last two visits found it as it was: {story:?}");
}

#[test]
fn a_server_that_lies_about_changes_is_found_out_and_asked_for_whole_pages() {
    let page = PageOptions { bytes_mean: 2_000.0, ..PageOptions::default() };
    let mut options = WebOptions {
        pages: PageCount::Fixed(150),
        change: ChangeModel::every(Duration::from_millis(100)),
        page,
        ..WebOptions::default()
    };
    options.put("s0.sim.test", Hazard::NeverModified);
    let world = World::new(options);
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    let mut audits = 0;
    for _ in 0..12 {
        world.forget_log();
        world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
        let visits = world.visits();
        let mut met = HashSet::new();
        let (firsts, again): (Vec<_>, Vec<_>) =
            visits.iter().partition(|visit| met.insert(visit.target.clone()));
        audits += again.len();
        assert_eq!(firsts.len(), 150);
        assert!(again.iter().all(|visit| !visit.conditional && visit.status == 200));
        if firsts.iter().any(|visit| !visit.conditional) {
            assert!(audits >= 10, "judged after {audits} audits");
            return;
        }
    }
    panic!("{audits} lies were not enough");
}
