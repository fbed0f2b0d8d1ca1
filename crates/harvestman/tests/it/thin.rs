//! Thinning through the program: what it says, what it removes, and what stays readable.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use simweb::WebOptions;
use store::testing;

use crate::{
    raw::{Raw, reply},
    world::World,
};

#[test]
fn old_versions_go_and_the_last_of_every_page_stays_readable() {
    let edition = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&edition);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" | "127.0.0.1/still" => {
            let number = match place {
                "127.0.0.1/" => served.load(Ordering::Relaxed),
                _ => 0,
            };
            let body =
                format!("<p>edition {number}</p>{}<a href=/still>s</a>", "words ".repeat(200));
            reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for number in 1..=4 {
        edition.store(number, Ordering::Relaxed);
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
    }
    world.run(&["thin"]).exits(2).says(&["store.keep"]);
    let world = world.variable("HARVESTMAN_STORE_KEEP", "soon");
    world.run(&["thin"]).exits(2).says(&["all 30d, then 1 per 7d"]);
    let world = world
        .variable("HARVESTMAN_STORE_KEEP", "none")
        .variable("HARVESTMAN_STORE_VERSIONS_BYTES_MAX", "1KB");
    let dry = world.run(&["thin", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((&dry["versions"], &dry["dry_run"]), (&3.into(), &true.into()), "{dry}");
    let volumes = || -> u64 {
        let entries = std::fs::read_dir(world.folder.join("volumes")).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    };
    let before = volumes();
    assert!(dry["records"].is_null(), "only reading the volumes would tell: {dry}");
    let done = world.run(&["thin", "--json"]).exits(0).json();
    assert_eq!(done["versions"], 3, "{done}");
    for name in ["versions", "copies", "bytes", "left_bytes", "sites"] {
        assert_eq!(dry[name], done[name], "{name}: {dry} {done}");
    }
    let status = world.status();
    assert_eq!((&status["versions"], &status["versions_thinned"]), (&5.into(), &3.into()));
    let told = world.run(&["status"]);
    assert!(told.out.contains("5 versions (3 of them thinned"), "{told}");
    assert_eq!(done["sites"][0]["site"], format!("127.0.0.1:{}", raw.port), "{done}");
    assert!(volumes() < before, "the archive is smaller");
    let shown = world.run(&["show", &url]);
    assert!(shown.exits(0).out.contains("edition 4"), "{shown}");
    let shown = world.run(&["show", &format!("{url}still")]);
    assert!(shown.exits(0).out.contains("edition 0"), "{shown}");
    let checked = world.run(&["check"]);
    assert!(checked.exits(0).out.contains("sound"), "{checked}");
    assert_eq!(world.status()["versions_thinned"], 3);
    world.run(&["thin"]).exits(0).says(&["removed: 0 old versions"]);
    // What comes after it goes on as before.
    edition.store(5, Ordering::Relaxed);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let shown = world.run(&["show", &url]);
    assert!(shown.exits(0).out.contains("edition 5"), "{shown}");
}

/// The last thinning was a day ago but for some seconds, and versions grow old in two.
#[test]
fn a_run_of_more_than_a_day_thins_and_goes_on() {
    let edition = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&edition);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let body = format!("<p>edition {}</p>", served.load(Ordering::Relaxed));
            reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_STORE_KEEP", "all 1s, then 1 per 1s for 1s")
        .variable("HARVESTMAN_REVISIT_PERIOD", "1s");
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for number in 1..=4 {
        edition.store(number, Ordering::Relaxed);
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
    }
    let lately = jiff::Timestamp::now().as_second() - 86_400 + 4;
    testing::set_thinned(&world.folder, model::Timestamp(lately * 1_000));
    let run = world.start(&["run", "--delay", "0", "--json"]);
    world
        .wait_for("old versions go", |world| world.status()["versions_thinned"].as_u64() > Some(0));
    let before = world.visits_total();
    world.wait_for("it goes on", |world| world.visits_total() > before);
    run.signal("TERM");
    let done = run.wait(std::time::Duration::from_secs(20));
    done.exits(4).says(&["daily maintenance: old versions are deleted now", "removed: "]);
    let told = done.json();
    assert_eq!(told["pages"]["fetched"], world.visits_total() - 4, "of the whole run: {told}");
    assert!(told["seconds"].as_f64() > Some(3.0), "{told}");
    world.run(&["check"]).exits(0);
    let shown = world.run(&["show", &url]);
    assert!(shown.exits(0).out.contains("edition 4"), "{shown}");
}

/// Three versions, and then a clock that says they are more than a year old.
#[test]
fn run_removes_nothing_by_a_clock_that_cannot_be_right() {
    let edition = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&edition);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let body = format!("<p>edition {}</p>", served.load(Ordering::Relaxed));
            reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_STORE_KEEP", "all 30d, then 1 per 7d for 90d");
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for number in 1..=3 {
        edition.store(number, Ordering::Relaxed);
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
    }
    testing::age_visits(&world.folder, Duration::from_secs(400 * 86_400));
    let run = || world.run(&["run", "--delay", "0", "--for", "1s"]);
    run().says(&["by the clock this collection has rested", "old versions are not removed"]);
    let again = run();
    assert_eq!(world.status()["versions_thinned"], 0, "nor by a start soon after: {again}");
    // Whoever asks for it by name has looked at the clock.
    world.run(&["thin"]).exits(0);
    assert!(world.status()["versions_thinned"].as_u64() > Some(0));
}
