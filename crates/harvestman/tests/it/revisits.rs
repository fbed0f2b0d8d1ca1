//! Coming back: what changed becomes a version, what did not is folded, and nothing old is lost.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use simweb::{PageCount, WebOptions};

use crate::{
    raw::{Raw, reply},
    world::World,
};

#[test]
fn a_changed_page_becomes_a_new_version_and_show_gives_the_latest() {
    let edition = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&edition);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let body = format!("<p>edition {}</p>", served.load(Ordering::Relaxed));
            reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for (visit, edition_now, versions) in [(1, 1, 1), (2, 1, 1), (3, 2, 2), (4, 1, 3)] {
        edition.store(edition_now, Ordering::Relaxed);
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
        let status = world.status();
        assert_eq!(status["visits"], visit, "{status:#}");
        assert_eq!(status["versions"], versions, "visit {visit}: {status:#}");
        let shown = world.run(&["show", &url]);
        assert!(shown.out.contains(&format!("edition {edition_now}")), "{shown}");
    }
    world.run(&["check"]).exits(0);
}

#[test]
fn one_pass_ends_however_soon_its_pages_are_due_again() {
    let pages = PageCount::Fixed(8);
    let world = World::new(WebOptions { sites: 1, pages, ..WebOptions::default() });
    std::fs::create_dir_all(&world.folder).unwrap();
    std::fs::write(world.folder.join("harvest.toml"), "[revisit]\nperiod = '200ms'\n").unwrap();
    for pass in 0..2 {
        world.forget_log();
        world.run(&["crawl", "http://s0.sim.test/", "--delay", "100ms"]).exits(0);
        let mut asked = world.visited();
        let visits = asked.len();
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(visits, asked.len(), "pass {pass}: {asked:?}");
        assert!(pass > 0 || visits == 8, "{asked:?}");
    }
}

#[test]
fn a_link_that_is_new_on_a_page_seen_again_is_followed_once() {
    let edition = Arc::new(AtomicUsize::new(1));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (served, log) = (Arc::clone(&edition), Arc::clone(&asked));
    let raw = Raw::start(move |place, stream| {
        log.lock().unwrap().push(place.to_owned());
        let new = if served.load(Ordering::Relaxed) > 1 { "<a href=/new>n</a>" } else { "" };
        let body = match place {
            "127.0.0.1/" | "127.0.0.1/a" => format!("<a href=/>h</a><a href=/a>a</a>{new}"),
            "127.0.0.1/new" => "<a href=/a>a</a><a href=/new/2>2</a>".to_owned(),
            "127.0.0.1/new/2" => "<a href=/>h</a>".to_owned(),
            _ => return reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        };
        reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    edition.store(2, Ordering::Relaxed);
    asked.lock().unwrap().clear();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let mut asked = asked.lock().unwrap().clone();
    asked.retain(|place| !place.ends_with("robots.txt"));
    asked.sort_unstable();
    assert_eq!(asked, ["127.0.0.1/", "127.0.0.1/a", "127.0.0.1/new", "127.0.0.1/new/2"]);
    assert_eq!(world.status()["pages"]["fetched"], 4);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_page_that_has_gone_is_kept_as_it_was() {
    let gone = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&gone);
    let raw = Raw::start(move |place, stream| match (place, served.load(Ordering::Relaxed)) {
        ("127.0.0.1/", 0) => reply(stream, "200 OK", "Content-Type: text/html", b"<p>here</p>"),
        _ => reply(stream, "410 Gone", "Content-Type: text/html", b"gone"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    gone.store(1, Ordering::Relaxed);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(1);
    let shown = world.run(&["show", &url]);
    shown.exits(0);
    assert!(shown.out.contains("here"), "{shown}");
    assert_eq!(world.status()["pages"]["gone"], 1);
}

/// Pages that were fetched and come back.
fn waiting(world: &World) -> usize {
    let pages = world.pages(&["--state", "fetched"]);
    pages.iter().filter(|page| !page["due"].is_null()).count()
}

#[test]
fn pages_visited_once_come_back_when_the_policy_is_another() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(4), ..WebOptions::default() });
    let world = world.variable("HARVESTMAN_REVISIT_POLICY", "once");
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    world.run(&["crawl", "--delay", "0"]);
    assert_eq!(waiting(&world), 0);
    let world = world.variable("HARVESTMAN_REVISIT_POLICY", "value");
    world.forget_log();
    world.run(&["crawl", "--delay", "0"]);
    assert_eq!(waiting(&world), 4);
    assert!(world.visits().len() < 4, "within a week, not at once");
}

#[test]
fn pages_visited_once_come_back_when_an_override_says_so() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(4), ..WebOptions::default() });
    let world = world.variable("HARVESTMAN_REVISIT_POLICY", "once");
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    assert_eq!(waiting(&world), 0);
    let rule = "[[override]]\nwhen = \"url http://s0.sim.test/\"\nrevisit.policy = \"value\"\n";
    std::fs::write(world.folder.join("harvest.toml"), rule).unwrap();
    world.run(&["crawl", "--delay", "0"]);
    assert_eq!(waiting(&world), 1, "the home page, and no other");
}

#[test]
fn visits_that_wait_for_the_budget_are_told_with_when_the_next_can_be_made() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(4), ..WebOptions::default() })
        .variable("HARVESTMAN_REVISIT_VISITS_PER_DAY", "100");
    world.run(&["seed", "http://s0.sim.test/"]).exits(0);
    let run = world.start(&["run", "--delay", "0"]);
    world.wait_for("it is told", |world| {
        world.folder.join("crawl.db").exists() && world.status()["waits_for_budget"].is_string()
    });
    let told = world.run(&["status"]);
    assert!(told.out.contains("visits wait for the budget (revisit.*): the next can be made in"));
    assert_eq!(world.visits().len(), 0);
    std::thread::sleep(Duration::from_millis(700));
    run.signal("TERM");
    let done = run.wait(Duration::from_secs(20));
    done.exits(4).says(&["visits wait for the budget (revisit.*): the next in 14m"]);
    assert!(world.status()["waits_for_budget"].is_null(), "nothing runs");
}

#[test]
fn run_comes_back_when_pages_are_due_and_ends_when_told() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(4), ..WebOptions::default() })
        .variable("HARVESTMAN_REVISIT_PERIOD", "1s");
    world.run(&["seed", "http://s0.sim.test/"]).exits(0);
    let done = world.run(&["run", "--delay", "0", "--for", "4s"]);
    done.exits(0).says(&["time limit reached"]);
    let visits = world.visits();
    let again = visits.iter().filter(|visit| visit.status == 304 && visit.conditional).count();
    assert!(again >= 4, "{again} revisits in four seconds");
    assert!(visits.len() < 60, "{} visits: a period of a second is kept", visits.len());
    assert_eq!(world.status()["versions"], 4);
    let run = world.start(&["run", "--delay", "0"]);
    let before = world.visits().len();
    world.wait_for("it goes on", |world| world.visits().len() > before);
    run.signal("TERM");
    run.wait(Duration::from_secs(20)).exits(4);
}

#[test]
fn run_never_sleeps_while_pages_without_a_budget_are_due() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(10), ..WebOptions::default() })
        .variable("HARVESTMAN_REVISIT_POLICY", "fixed")
        .variable("HARVESTMAN_REVISIT_PERIOD", "1s");
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    world.forget_log();
    world.run(&["run", "--delay", "50ms", "--for", "8s"]).exits(0);
    let mut moments: Vec<_> = world.visits().iter().map(|visit| visit.at).collect();
    moments.sort_unstable();
    assert!(moments.len() >= 30, "{} visits in 8 seconds", moments.len());
    let (first, last) = (moments[0], moments[moments.len() - 1]);
    assert!(last.since(first) > Duration::from_secs(5), "asleep from {last:?} on");
    let gaps = moments.windows(2).map(|pair| pair[1].since(pair[0]));
    let idle = gaps.max().unwrap_or_default();
    assert!(idle < Duration::from_secs(3), "idle for {idle:?}");
}
