//! Batches through the program: what goes out, what the servers see of it, and what comes home.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::sleep,
    time::Duration,
};

use serde_json::Value;
use simweb::{PageCount, WebOptions, checks};

use crate::{
    raw::{Raw, reply},
    world::{PATIENCE, World},
};

/// What sockets and schedulers of a busy machine may take from a pause.
const SLACK: Duration = Duration::from_millis(400);

/// A collection of a small web that has all its pages and wants to see them again, by profit.
fn crawled(sites: usize, pages: usize) -> World {
    let options = WebOptions { sites, pages: PageCount::Fixed(pages), ..WebOptions::default() };
    let world = World::new(options)
        .variable("HARVESTMAN_REVISIT_POLICY", "profit")
        .variable("HARVESTMAN_REVISIT_PERIOD_MIN", "1ms");
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "0"];
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    world.forget_log();
    world
}

/// The URLs of a batch file.
fn urls(world: &World, file: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(world.temp.path().join(file)).unwrap();
    let mut urls = BTreeSet::new();
    for line in text.lines().skip(1) {
        let site: Value = serde_json::from_str(line).unwrap();
        for page in site["pages"].as_array().unwrap() {
            urls.insert(page["url"].as_str().unwrap().to_owned());
        }
    }
    urls
}

fn visited(world: &World) -> Vec<String> {
    let mut visited: Vec<String> = world
        .visits()
        .iter()
        .map(|entry| {
            let scheme = if entry.tls { "https" } else { "http" };
            format!("{scheme}://{}{}", entry.host, entry.target)
        })
        .collect();
    visited.sort();
    visited
}

fn sound(world: &World) {
    let checked = world.run(&["check"]);
    assert!(checked.exits(0).out.contains("sound"), "{checked}");
}

const VISITS: &str = "SELECT sum(count) FROM visits";
const PLACES: &str = "SELECT count(DISTINCT url) FROM v_visits";

#[test]
fn a_batch_is_harvested_politely_elsewhere_and_comes_home_once() {
    let world = crawled(2, 6);
    // How home behaves goes along.
    fs::write(world.folder.join("harvest.toml"), "etiquette.delay = \"700ms\"\n").unwrap();
    let before = world.number(VISITS);
    let made = world.run(&["batch", "export", "b.jsonl", "--json"]).exits(0).json();
    let expected = urls(&world, "b.jsonl");
    assert_eq!(made["pages"], expected.len(), "{made}");
    assert_eq!(made["sites"], 2);
    assert!(expected.len() >= 10, "{expected:?}");
    assert_eq!(world.status()["batches"]["sites_out"], 2);
    // Nobody else visits them meanwhile.
    world.run(&["crawl", "--fresh"]).exits(0);
    assert_eq!(visited(&world), Vec::<String>::new());
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0).says(&["batch import"]);
    assert_eq!(visited(&world), expected.iter().cloned().collect::<Vec<_>>(), "each once");
    let log = world.log();
    assert_eq!(checks::pauses(&log, Duration::from_millis(700), SLACK), []);
    assert_eq!(checks::connections_at_once(&log, 1), []);
    assert_eq!(log.len(), expected.len(), "robots.txt came along with the batch");
    // Going on with a batch that is done visits nothing.
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0);
    assert_eq!(world.log().len(), log.len());
    sleep(Duration::from_millis(50));
    let done = world.run(&["batch", "import", "away", "--json"]).exits(0).json();
    assert_eq!(done["pages"], expected.len(), "{done}");
    assert_eq!((&done["left"], &done["lost_sites"]), (&Value::from([0; 0]), &Value::from([0; 0])));
    assert_eq!(world.number(VISITS), before + expected.len() as i64);
    let url = expected.first().unwrap();
    let history = world.run(&["history", url, "--all", "--json"]).exits(0).json();
    let away = crate::world::rows_of::<String>(
        &world.temp.path().join("away/crawl.db"),
        &format!("SELECT visited FROM v_pages WHERE url = '{url}'"),
    );
    assert!(history.to_string().contains(&away[0][..19]), "{away:?} {history}");
    sound(&world);
    let again = world.run(&["batch", "import", "away"]);
    again.exits(0).says(&["was imported already", "nothing was changed"]);
    assert_eq!(world.number(VISITS), before + expected.len() as i64);
    let listed = world.run(&["batch", "list", "--json"]).exits(0).json();
    assert_eq!((&listed[0]["state"], &listed[0]["sites_out"]), (&"imported".into(), &0.into()));
    // Its sites are back.
    world.forget_log();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert!(visited(&world).into_iter().collect::<BTreeSet<_>>().is_superset(&expected));
}

#[test]
fn changes_failures_and_new_links_of_a_batch_are_as_if_seen_at_home() {
    let edition = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&edition);
    let raw = Raw::hearing(move |asked, stream| {
        let number = served.load(Ordering::Relaxed);
        let html = "Content-Type: text/html";
        match asked.place.as_str() {
            "127.0.0.1/" => {
                let more = if number > 1 { "<a href=/new>n</a>" } else { "" };
                let body = format!(
                    "<p>edition {number}</p><a href=/still>s</a><a href=/lost>l</a>\
                     <a href=/moved>m</a><a href=/mute>x</a>{more}"
                );
                reply(stream, "200 OK", html, body.as_bytes());
            }
            "127.0.0.1/still" if asked.header("If-None-Match") == Some("\"v1\"") => {
                reply(stream, "304 Not Modified", "ETag: \"v1\"", b"");
            }
            "127.0.0.1/still" => {
                let head = "Content-Type: text/html\r\nETag: \"v1\"";
                reply(stream, "200 OK", head, b"<p>always the same</p>");
            }
            "127.0.0.1/lost" if number == 1 => reply(stream, "200 OK", html, b"<p>here</p>"),
            "127.0.0.1/moved" if number == 1 => reply(stream, "200 OK", html, b"<p>too</p>"),
            "127.0.0.1/moved" => {
                let head = "Content-Type: text/html\r\nLocation: /elsewhere";
                reply(stream, "301 Moved Permanently", head, b"");
            }
            "127.0.0.1/mute" if number == 1 => reply(stream, "200 OK", html, b"<p>words</p>"),
            "127.0.0.1/new" => reply(stream, "200 OK", html, b"<p>new</p>"),
            // It hangs up.
            "127.0.0.1/mute" => {}
            _ => reply(stream, "404 Not Found", html, b"none"),
        }
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_REVISIT_POLICY", "profit")
        .variable("HARVESTMAN_REVISIT_PERIOD_MIN", "1ms")
        .variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    let url = |path: &str| format!("http://127.0.0.1:{}/{path}", raw.port);
    world.run(&["crawl", &url("")]).exits(0);
    edition.store(2, Ordering::Relaxed);
    let before = raw.asked().len();
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0);
    let asked: Vec<String> = raw.heard().iter().map(|asked| asked.place.clone()).collect();
    assert_eq!(raw.asked().len() - before, 5, "{asked:?}");
    assert!(!asked.iter().any(|place| place.ends_with("/new") || place.ends_with("/elsewhere")));
    // As if the first try had failed: waiting for the second takes a minute.
    rusqlite::Connection::open(world.temp.path().join("away/crawl.db"))
        .unwrap()
        .execute(
            "INSERT INTO visits (site, fp, change, status, failure, first, last, wire_bytes, \
             body_bytes, content_hash, text_hash, simhash, latency, elapsed) \
             SELECT site, fp, 4, 0, 'reset', visited - 1, visited - 1, 0, 0, 0, 0, 0, 0, 0 \
             FROM pages WHERE url = ?1",
            [url("")],
        )
        .unwrap();
    let done = world.run(&["batch", "import", "away", "--json"]).exits(0).json();
    assert_eq!((&done["pages"], &done["failed"]), (&4.into(), &2.into()), "{done}");
    assert_eq!(done["left"], Value::from([0; 0]), "{done}");
    let changes = |path: &str| -> Vec<String> {
        world.rows(&format!("SELECT change FROM v_visits WHERE url = '{}' ORDER BY seq", url(path)))
    };
    assert_eq!(changes(""), ["first", "failed", "changed"]);
    assert_eq!(changes("still"), ["first"]);
    assert_eq!(
        world.number(&format!("SELECT count FROM v_visits WHERE url = '{}'", url("still"))),
        2
    );
    assert_eq!(changes("lost"), ["first", "gone"]);
    assert_eq!(changes("moved"), ["first", "redirected"]);
    assert_eq!(changes("mute"), ["first", "failed"]);
    let shown = world.run(&["show", &url("")]);
    assert!(shown.exits(0).out.contains("edition 2"), "{shown}");
    sound(&world);
    // What was found is judged and fetched by the next crawl.
    world.run(&["crawl"]).exits(0);
    let asked = raw.asked();
    for path in ["/new", "/elsewhere"] {
        assert_eq!(asked.iter().filter(|place| place.ends_with(path)).count(), 1, "{asked:?}");
    }
}

#[test]
fn the_robots_txt_of_a_batch_holds_until_it_expires() {
    let world = crawled(2, 4).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let path = world.temp.path().join("b.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let hosts = [world.web.host(0), world.web.host(1)];
    let mut lines = vec![text.lines().next().unwrap().to_owned()];
    for line in text.lines().skip(1) {
        let mut site: Value = serde_json::from_str(line).unwrap();
        let copy = &mut site["robots"][0];
        assert!(copy["expires"].is_number(), "{copy}");
        match line.contains(&hosts[0]) {
            true => copy["answer"] = serde_json::json!({ "rules": "User-agent: *\nDisallow: /\n" }),
            false => copy["expires"] = 0.into(),
        }
        lines.push(site.to_string());
    }
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0);
    let of = |host: &str| world.log().iter().filter(|entry| *entry.host == *host).count();
    assert_eq!(of(&hosts[0]), 0, "what came along forbids it");
    assert_eq!(of(&hosts[1]), urls(&world, "b.jsonl").len() / 2 + 1);
    assert_eq!(checks::disallowed(&world.log(), &world.web), [], "it was asked for first");
    world.run(&["batch", "import", "away"]).exits(0);
    sound(&world);
}

#[test]
fn an_import_killed_anywhere_goes_on_and_doubles_nothing() {
    let world = crawled(3, 40).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    let before = world.number(VISITS);
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let expected = urls(&world, "b.jsonl").len() as i64;
    // A harvest that is killed goes on, too.
    let running = world.start(&["batch", "harvest", "b.jsonl", "--out", "away"]);
    world.wait_for("the first visits", |world| world.visits().len() > 10);
    running.kill();
    world.run(&["batch", "import", "away"]).exits(2).says(&["still to be visited"]);
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0);
    let (mut killed, mut after) = (0, 20);
    loop {
        let mut running = world.start(&["batch", "import", "away"]);
        sleep(Duration::from_millis(after));
        if !running.is_running() {
            running.wait(PATIENCE).exits(0);
            break;
        }
        running.kill();
        killed += 1;
        after += 20;
    }
    assert!(killed > 0, "it was never killed");
    let done = world.run(&["batch", "import", "away"]);
    done.exits(0).says(&["was imported already"]);
    assert_eq!(world.number(VISITS), before + expected);
    assert_eq!(world.number(PLACES), world.number("SELECT count(*) FROM pages WHERE visits > 0"));
    assert_eq!(world.number("SELECT count(*) FROM pages WHERE visits > 2"), 0);
    sound(&world);
}

#[test]
fn what_was_visited_at_home_since_is_named_and_stays_away() {
    let world = crawled(1, 4).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let all = urls(&world, "b.jsonl");
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0);
    world.run(&["batch", "cancel", "1"]).exits(0).says(&["1 site given back"]);
    world.run(&["batch", "cancel", "1"]).exits(2).says(&["not out"]);
    world.run(&["crawl", "--fresh"]).exits(0);
    let before = world.number(VISITS);
    let done = world.run(&["batch", "import", "away"]);
    done.exits(0).says(&["the lease of", "visited at home since", "stays in"]);
    assert_eq!(world.number(VISITS), before);
    // A second one, cancelled but not visited since: all of it is taken.
    world.run(&["batch", "export", "c.jsonl"]).exits(0);
    world.run(&["batch", "harvest", "c.jsonl", "--out", "again"]).exits(0);
    world.run(&["batch", "cancel", "2"]).exits(0);
    let done = world.run(&["batch", "import", "again", "--json"]).exits(0).json();
    assert_eq!(
        (&done["pages"], done["lost_sites"].as_array().unwrap().len()),
        (&all.len().into(), 1)
    );
    sound(&world);
    world.run(&["batch", "import", "b.jsonl"]).exits(2);
    world.run(&["batch", "harvest", "b.jsonl", "--out", "again"]).exits(2).says(&["another batch"]);
    let stranger = World::new(WebOptions::default());
    stranger.run(&["init"]).exits(0);
    let away = world.temp.path().join("away");
    stranger.run(&["batch", "import", away.to_str().unwrap()]).exits(2).says(&["none of"]);
}

#[test]
fn without_profit_a_batch_is_what_is_due_of_one_spider() {
    let options = WebOptions { sites: 2, pages: PageCount::Fixed(5), ..WebOptions::default() };
    let world = World::new(options).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    let seeds = world.web.seeds();
    world.run(&["crawl", &seeds[0], "--pages", "2"]).exits(0);
    world.run(&["spider", "add", "other", &seeds[1]]).exits(0);
    world.run(&["crawl", "--pages", "3"]).exits(0);
    world.run(&["batch", "export", "b.jsonl", "--spider", "nobody"]).exits(2);
    world.run(&["batch", "export", "b.jsonl", "--lease", "soon"]).exits(2).says(&["such as 7d"]);
    assert_eq!(world.run(&["batch", "list", "--json"]).exits(0).json(), Value::from([0; 0]));
    let made = world.run(&["batch", "export", "b.jsonl", "--pages", "2", "--json"]).exits(0).json();
    assert_eq!(made["pages"], 2, "{made}");
    world.run(&["batch", "export", "b.jsonl"]).exits(2).says(&["is there already"]);
    world.run(&["batch", "cancel", "1"]).exits(0);
    world.run(&["batch", "export", "c.jsonl", "--spider", "default"]).exits(0);
    let host = world.web.host(0);
    assert!(urls(&world, "c.jsonl").iter().all(|url| url.contains(&host)));
    sound(&world);
}
