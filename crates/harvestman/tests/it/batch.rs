//! Batches through the program: what goes out, what the servers see of it, and what comes home.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::sleep,
    time::Duration,
};

use serde_json::Value;
use simweb::{PageCount, WebOptions, checks};
use store::testing;

use crate::{
    ask::strings,
    raw::{Raw, reply},
    world::{Done, PATIENCE, Running, World},
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

/// Pages that were visited more often than this.
fn visited_more_than(world: &World, times: u64) -> Vec<Value> {
    let mut pages = world.pages_and_parts();
    pages.retain(|page| page["visits"].as_u64() > Some(times));
    pages
}

#[test]
fn a_batch_is_harvested_politely_elsewhere_and_comes_home_once() {
    let world = crawled(2, 6);
    // How home behaves goes along.
    fs::write(world.folder.join("harvest.toml"), "etiquette.delay = \"700ms\"\n").unwrap();
    let before = world.visits_total();
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
    assert_eq!(
        (&done["not_taken"], &done["lost_sites"]),
        (&Value::from([0; 0]), &Value::from([0; 0]))
    );
    assert_eq!(world.visits_total(), before + expected.len() as u64);
    let url = expected.first().unwrap();
    let history = world.run(&["history", url, "--all", "--json"]).exits(0).json();
    let away = world.beside("away").page(url);
    assert!(history.to_string().contains(away["visited"].as_str().unwrap()), "{away} {history}");
    sound(&world);
    let again = world.run(&["batch", "import", "away"]);
    again.exits(0).says(&["was imported already", "nothing was changed"]);
    assert_eq!(world.visits_total(), before + expected.len() as u64);
    let listed = world.run(&["batch", "list", "--json"]).exits(0).json();
    assert_eq!(
        (&listed["rows"][0]["state"], &listed["rows"][0]["sites_out"]),
        (&"imported".into(), &0.into())
    );
    // Its sites are back.
    world.forget_log();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert!(visited(&world).into_iter().collect::<BTreeSet<_>>().is_superset(&expected));
}

/// What `check` says of the folder in which the batch was harvested.
fn check_away(world: &World, flags: &[&str]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harvestman"));
    command.current_dir(world.temp.path()).args(["-C", "away", "check"]).args(flags);
    Running::new(&mut command).wait(PATIENCE)
}

#[test]
fn the_folder_of_a_batch_is_sound_although_its_revisits_refer_home() {
    let world = crawled(1, 5).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0);
    let told = check_away(&world, &["--json"]).exits(0).json();
    let at_home = told["references_home"].as_u64().unwrap();
    assert!(at_home > 1 && told["sound"] == true, "{told}");
    let told = check_away(&world, &[]);
    let line = format!("batch: {at_home} revisits refer to records at home");
    assert!(told.exits(0).out.contains(&line) && told.out.contains("sound"), "{told}");
    // Whatever else is wrong is so in a batch, too.
    let away = world.temp.path().join("away");
    testing::spoil_known_counters(&away);
    assert!(check_away(&world, &["--repair"]).exits(3).out.contains("database: "));
    check_away(&world, &[]).exits(0);
    // In a collection that is none, nothing is at home elsewhere.
    testing::forget_batch(&away);
    let told = check_away(&world, &[]);
    assert!(told.exits(3).out.contains("what it refers to is in no volume before it"), "{told}");
    assert_eq!(check_away(&world, &["--json"]).json()["references_home"], 0);
}

/// Two sites of which the home page was fetched and `links` others are known and due.
fn long_lists(links: usize) -> (Raw, World) {
    let raw = Raw::start(move |place, stream| {
        let list: String = (0..links).map(|n| format!("<a href='/{n}'>{n}</a> ")).collect();
        let body = if place.ends_with(".test/") { list } else { format!("<p>{place}") };
        reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
    });
    let world = World::new(WebOptions::default()).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    let rule = format!("*.list.test=127.0.0.1:{}", raw.port);
    let seeds = ["http://a.list.test/", "http://b.list.test/"];
    // With the delay, a link of one site cannot take the place of the other's home page.
    let flags = ["--pages", "2", "--delay", "2s", "--resolve", &rule];
    world.run(&[&["crawl"], &seeds[..], &flags[..]].concat()).exits(0);
    let visited = raw.asked().iter().filter(|place| place.ends_with(".test/")).count();
    assert_eq!(visited, 2, "{:?}", raw.asked());
    (raw, world)
}

/// How many pages of each site are in a batch file, and in how many lines.
fn shares(world: &World, file: &str) -> BTreeMap<String, (usize, usize)> {
    let text = fs::read_to_string(world.temp.path().join(file)).unwrap();
    let mut shares = BTreeMap::<String, (usize, usize)>::new();
    for line in text.lines().skip(1) {
        let site: Value = serde_json::from_str(line).unwrap();
        let share = shares.entry(site["key"].as_str().unwrap().to_owned()).or_default();
        share.0 += site["pages"].as_array().unwrap().len();
        share.1 += 1;
    }
    shares
}

#[test]
fn as_many_pages_go_out_as_were_asked_for_however_many_are_of_one_site() {
    let (_raw, world) = long_lists(1_700);
    for (pages, expected) in [(600, (500, 100)), (1_300, (800, 500)), (9_999, (1_700, 1_700))] {
        let file = format!("{pages}.jsonl");
        let text = pages.to_string();
        let made = world.run(&["batch", "export", &file, "--pages", &text, "--json"]);
        let made = made.exits(0).json();
        let shares = shares(&world, &file);
        let mut counts: Vec<usize> = shares.values().map(|(pages, _)| *pages).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(counts, [expected.0, expected.1], "{made}");
        assert_eq!(made["pages"], counts.iter().sum::<usize>());
        assert_eq!((&made["sites"], urls(&world, &file).len()), (&2.into(), counts.iter().sum()));
        world.run(&["batch", "cancel", &made["batch"].to_string()]).exits(0);
    }
}

#[test]
fn a_site_in_several_lines_is_harvested_whole() {
    let (raw, world) = long_lists(620);
    // Nothing else is due than what is of one site.
    world.run(&["block", "b.list.test"]).exits(0);
    world.run(&["batch", "export", "b.jsonl", "--pages", "600"]).exits(0);
    assert_eq!(shares(&world, "b.jsonl"), BTreeMap::from([("a.list.test".to_owned(), (600, 2))]));
    let expected = urls(&world, "b.jsonl").len() as u64;
    let before = world.visits_total();
    harvest_from(&world, &[format!("*.list.test=127.0.0.1:{}", raw.port)]).exits(0);
    check_away(&world, &[]).exits(0);
    let done = world.run(&["batch", "import", "away", "--json"]).exits(0).json();
    assert_eq!((done["pages"].as_u64(), &done["failed"]), (Some(expected), &0.into()), "{done}");
    assert_eq!(world.visits_total(), before + expected);
    sound(&world);
}

#[test]
fn whoever_wants_more_of_a_site_than_its_limit_is_told_so() {
    let world = crawled(2, 12).variable("HARVESTMAN_REVISIT_BATCH_SITE_MAX", "5");
    let made = world.run(&["batch", "export", "b.jsonl", "--pages", "20"]);
    made.exits(0).says(&["10 pages of 2 sites", "10 pages more", "revisit.batch_site_max"]);
    world.run(&["batch", "cancel", "1"]).exits(0);
    let made = world.run(&["batch", "export", "c.jsonl", "--pages", "10"]);
    assert!(!made.exits(0).err.contains("batch_site_max"), "{made}");
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
    testing::add_failed_visit(&world.temp.path().join("away"), &url(""));
    let done = world.run(&["batch", "import", "away", "--json"]).exits(0).json();
    assert_eq!((&done["pages"], &done["failed"]), (&3.into(), &3.into()), "{done}");
    assert_eq!(done["not_taken"], Value::from([0; 0]), "{done}");
    let changes = |path: &str| strings(&world.history(&url(path)), "kind");
    assert_eq!(changes(""), ["new", "failed", "changed"]);
    assert_eq!(changes("still"), ["new"]);
    assert_eq!(world.page(&url("still"))["visits"], 2);
    assert_eq!(changes("lost"), ["new", "gone"]);
    assert_eq!(changes("moved"), ["new", "redirected"]);
    assert_eq!(changes("mute"), ["new", "failed"]);
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
    let before = world.visits_total();
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let expected = urls(&world, "b.jsonl").len() as u64;
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
    assert_eq!(world.visits_total(), before + expected);
    let pages = visited_more_than(&world, 0);
    let visits: u64 = pages.iter().filter_map(|page| page["visits"].as_u64()).sum();
    assert_eq!(visits, world.visits_total());
    assert_eq!(visited_more_than(&world, 2), [Value::Null; 0]);
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
    let before = world.visits_total();
    let done = world.run(&["batch", "import", "away"]);
    done.exits(0).says(&["the lease of", "visited at home since", "stays in"]);
    assert_eq!(world.visits_total(), before);
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
    stranger
        .run(&["batch", "import", away.to_str().unwrap()])
        .exits(2)
        .says(&["was not exported from"]);
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
    assert_eq!(
        world.run(&["batch", "list", "--json"]).exits(0).json()["rows"],
        Value::from([0; 0])
    );
    let made = world.run(&["batch", "export", "b.jsonl", "--pages", "2", "--json"]).exits(0).json();
    assert_eq!(made["pages"], 2, "{made}");
    world.run(&["batch", "export", "b.jsonl"]).exits(2).says(&["b.jsonl exists"]);
    world.run(&["batch", "cancel", "1"]).exits(0);
    world.run(&["batch", "export", "c.jsonl", "--spider", "default"]).exits(0);
    let host = world.web.host(0);
    assert!(urls(&world, "c.jsonl").iter().all(|url| url.contains(&host)));
    sound(&world);
}

/// The server sees each page once, and the history has each visit once, however the batch comes home.
#[test]
fn what_is_harvested_after_a_partial_import_is_taken_by_the_next_one() {
    let world = crawled(2, 15).variable("HARVESTMAN_ETIQUETTE_DELAY", "150ms");
    let before = world.visits_total();
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let expected: Vec<String> = urls(&world, "b.jsonl").into_iter().collect();
    let running = world.start(&["batch", "harvest", "b.jsonl", "--out", "away"]);
    world.wait_for("some visits", |world| world.visits().len() > 4);
    running.signal("TERM");
    running.wait(PATIENCE).exits(4).says(&["still to be visited", "the same command continues"]);
    let first = world.run(&["batch", "import", "away", "--partial", "--json"]).exits(0).json();
    let taken = first["pages"].as_u64().unwrap();
    assert!(taken > 0 && taken < expected.len() as u64, "{first}");
    assert_eq!(first["not_visited"], expected.len() as u64 - taken, "{first}");
    assert_eq!(first["sites_out"], 2, "{first}");
    assert_eq!(world.visits_total(), before + taken);
    // They are harvested elsewhere still, so nobody visits them here; whoever asks is told.
    let seen = world.log().len();
    let told = world.run(&["crawl", "--fresh"]);
    told.exits(0).says(&["batch 1 of", "2 sites that nobody visits here", "batch cancel 1"]);
    assert!(!told.err.contains("--fresh"), "{told}");
    assert_eq!(world.log().len(), seen);
    world.run(&["batch", "import", "away", "--partial"]).exits(0).says(&["batch cancel 1"]);
    assert_eq!(world.visits_total(), before + taken, "there is nothing new");
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0).says(&["batch import"]);
    assert_eq!(visited(&world), expected, "each once");
    for after in [10, 60, 120] {
        let running = world.start(&["batch", "import", "away"]);
        sleep(Duration::from_millis(after));
        running.kill();
    }
    let done = world.run(&["batch", "import", "away", "--json"]).exits(0).json();
    assert_eq!(
        (&done["not_taken"], &done["lost_sites"]),
        (&Value::from([0; 0]), &Value::from([0; 0]))
    );
    assert_eq!(world.visits_total(), before + expected.len() as u64);
    assert_eq!(visited_more_than(&world, 2), [Value::Null; 0]);
    sound(&world);
    world.run(&["batch", "import", "away"]).exits(0).says(&["was imported already"]);
    assert_eq!(world.visits_total(), before + expected.len() as u64);
    assert_eq!(world.status()["batches"]["sites_out"], 0);
}

/// A harvest on a machine that reaches these hosts at these addresses.
fn harvest_from(world: &World, rules: &[String]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harvestman"));
    command.current_dir(world.temp.path());
    command.args(["batch", "harvest", "b.jsonl", "--out", "away"]);
    command.args(["--allow-address", "127.0.0.0/8"]);
    for rule in rules {
        command.args(["--resolve", rule]);
    }
    Running::new(&mut command).wait(PATIENCE)
}

/// One that nobody listens at.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The copy of this host's robots.txt has expired on the way.
fn robots_are_old(world: &World, host: &str) {
    let path = world.temp.path().join("b.jsonl");
    let mut text = String::new();
    for line in fs::read_to_string(&path).unwrap().lines() {
        let mut site: Value = serde_json::from_str(line).unwrap();
        if site["key"].as_str() == Some(host) {
            site["robots"][0]["expires"] = 0.into();
        }
        text += &format!("{site}\n");
    }
    fs::write(&path, text).unwrap();
}

fn hasty(world: World) -> World {
    world
        .variable("HARVESTMAN_ETIQUETTE_DELAY", "0")
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_FIRST", "10ms")
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_MAX", "20ms")
}

/// Pages whose last visit failed.
fn failed(world: &World) -> usize {
    world.pages_and_parts().iter().filter(|page| !page["failure"].is_null()).count()
}

#[test]
fn a_machine_without_a_network_harvests_nothing_and_blames_no_site() {
    let world = hasty(crawled(2, 5));
    let before = world.visits_total();
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let expected: Vec<String> = urls(&world, "b.jsonl").into_iter().collect();
    robots_are_old(&world, &world.web.host(1));
    let dead: Vec<String> =
        (0..2).map(|site| format!("{}={}", world.web.host(site), nowhere())).collect();
    for _ in 0..2 {
        harvest_from(&world, &dead).exits(1).says(&[
            "no server answered",
            &format!("{} pages are still to be visited", expected.len()),
            "check the network",
        ]);
    }
    world.run(&["batch", "import", "away"]).exits(2).says(&["still to be visited"]);
    let done = world.run(&["batch", "import", "away", "--partial", "--json"]).exits(0).json();
    assert_eq!((&done["pages"], &done["failed"]), (&0.into(), &0.into()), "{done}");
    assert!(done["unreached"].as_u64() > Some(0), "{done}");
    assert_eq!((world.visits_total(), failed(&world)), (before, 0));
    // With a network the same folder is harvested as if nothing had been.
    world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]).exits(0).says(&["batch import"]);
    assert_eq!(visited(&world), expected);
    let done = world.run(&["batch", "import", "away"]);
    assert!(!done.exits(0).err.contains("could be reached"), "they were reached since: {done}");
    let all = before + expected.len() as u64;
    assert_eq!((world.visits_total(), failed(&world)), (all, 0));
    sound(&world);
}

#[test]
fn a_site_that_could_not_be_reached_from_elsewhere_stays_due_at_home() {
    let world = hasty(crawled(2, 5));
    let before = world.visits_total();
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let hosts = [world.web.host(0), world.web.host(1)];
    let rules =
        [format!("{}={}", hosts[0], world.server().addr()), format!("{}={}", hosts[1], nowhere())];
    harvest_from(&world, &rules).exits(0).says(&["batch import"]);
    let seen = world.visits().len() as u64;
    let done = world.run(&["batch", "import", "away"]);
    done.exits(0).says(&[&hosts[1], "could be reached from there", "due as before"]);
    assert_eq!((world.visits_total(), failed(&world)), (before + seen, 0));
    assert_eq!(world.status()["pages"]["failed"], 0);
    world.forget_log();
    world.run(&["crawl", "--fresh"]).exits(0);
    assert!(world.visits().iter().any(|entry| *entry.host == *hosts[1]), "home asks itself");
}

#[test]
fn an_export_that_fails_leaves_no_batch() {
    let world = crawled(1, 4);
    world.run(&["batch", "export", "no/such/folder/b.jsonl"]).exits(2).says(&["cannot write"]);
    assert_eq!(
        world.run(&["batch", "list", "--json"]).exits(0).json()["rows"],
        Value::from([0; 0])
    );
    assert_eq!(world.status()["batches"]["sites_out"], 0);
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    world.run(&["batch", "export", "c.jsonl"]).exits(2).says(&["no page is due"]);
    let listed = world.run(&["batch", "list", "--json"]).exits(0).json()["rows"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
}

/// Killed at whatever moment, an export leaves a whole file with its batch, or neither.
#[test]
fn a_killed_export_leaves_a_batch_with_its_file_or_none() {
    let world = crawled(3, 60);
    let (mut none, mut whole, mut torn) = (0, 0, 0);
    for step in 0..40 {
        let name = format!("b{step}.jsonl");
        let running = world.start(&["batch", "export", &name, "-q"]);
        let file = world.temp.path().join(&name);
        let part = world.temp.path().join(format!("{name}.part"));
        match step % 4 {
            // As soon as something is written, and as soon as it is in its place.
            0 => world.wait_for("the file's beginning", |_| part.exists() || file.exists()),
            1 => world.wait_for("the file", |_| file.exists()),
            2 => {}
            _ => sleep(Duration::from_millis(4 * step)),
        }
        running.kill();
        torn += usize::from(part.exists());
        let listed = world.run(&["batch", "list", "--json"]).exits(0).json()["rows"].clone();
        let out = listed.as_array().unwrap().iter().filter(|row| row["state"] == "out").count();
        assert_eq!(out, usize::from(file.exists()), "{name}: {listed}");
        let sites = world.status()["batches"]["sites_out"].as_u64().unwrap();
        assert_eq!(sites > 0, file.exists(), "{name}: {sites} sites out");
        match file.exists() {
            true => {
                whole += 1;
                let id = listed[0]["id"].to_string();
                assert_eq!(listed[0]["pages"], urls(&world, &name).len(), "{listed}");
                world.run(&["batch", "cancel", &id, "-q"]).exits(0);
            }
            false => none += 1,
        }
    }
    // Whether one was met half written is luck.
    println!("{none} without a file, {whole} whole, {torn} half written");
    assert!(none > 0 && whole > 0, "{none} {whole}");
    // Nothing is frozen.
    let made = world.run(&["batch", "export", "last.jsonl", "--json"]).exits(0).json();
    assert_eq!(made["sites"], 3, "{made}");
    sound(&world);
}

#[test]
fn what_is_told_of_a_page_names_the_batch_with_which_its_site_is_out() {
    let world = crawled(2, 5);
    world.run(&["batch", "export", "b.jsonl"]).exits(0);
    let url = urls(&world, "b.jsonl").pop_first().unwrap();
    testing::make_all_due(&world.folder);
    for command in ["explain", "history"] {
        let told = world.run(&[command, &url]);
        let out = &told.exits(0).flat();
        assert!(
            out.contains("not here before batch 1 is back") && out.contains("the lease ends in 6d"),
            "{told}"
        );
        assert!(!out.contains("next visit now"), "{told}");
        assert_eq!(world.run(&[command, &url, "--json"]).json()["batch"]["id"], 1);
    }
    let status = world.run(&["status"]);
    let out = &status.exits(0).out;
    assert!(!out.contains("next due    now"), "{status}");
    assert!(out.contains("batch 1: 2 sites (the leases end in 6d)"), "{status}");
    world.run(&["batch", "cancel", "1"]).exits(0);
    for command in ["explain", "history"] {
        let told = world.run(&[command, &url]);
        assert!(told.exits(0).out.contains("next visit now"), "{told}");
    }
    assert!(world.run(&["status"]).out.contains("next due    now"));
}

#[test]
fn under_profit_one_figure_is_told_of_how_fresh_a_copy_is() {
    let world = crawled(1, 4).variable("HARVESTMAN_ETIQUETTE_DELAY", "0");
    for _ in 0..2 {
        world.run(&["crawl", "--fresh"]).exits(0);
    }
    let url = strings(&visited_more_than(&world, 2), "url").remove(0);
    let told = world.run(&["explain", &url, "--json"]).exits(0).json();
    let of = |name: &str| told["revisit"][name].as_f64().unwrap();
    let changed = of("value") / of("importance");
    assert!((changed - (1.0 - of("freshness"))).abs() < 1e-6, "{told}");
    let told = world.run(&["explain", &url, "--verbose"]);
    let percent = |before: &str| -> i64 {
        let flat = told.flat();
        let rest = flat.split_once(before).unwrap_or_else(|| panic!("{told}")).1;
        rest.split_once(" %").unwrap().0.parse().unwrap()
    };
    let sum = percent("copy is current: ") + percent("probability of a change, ");
    assert!((99..=101).contains(&sum), "{told}");
}

#[test]
fn a_harvest_that_ends_early_says_one_thing_and_advises_what_there_is() {
    let world = crawled(2, 15).variable("HARVESTMAN_ETIQUETTE_DELAY", "150ms");
    world.run(&["batch", "export", "b.jsonl", "--lease", "4s"]).exits(0);
    let short = world.run(&["batch", "harvest", "b.jsonl", "--out", "away", "--for", "500ms"]);
    short.exits(0).says(&["still to be visited; the same command continues"]);
    for wrong in ["nothing is left", "--scope", "--fresh", "--depth"] {
        assert!(!short.err.contains(wrong), "{wrong}: {short}");
    }
    let early = world.run(&["batch", "import", "away"]);
    early.exits(2).says(&["of the batch, ", "still to be visited", "batch harvest"]);
    // Its time runs out while it is harvested.
    let path = world.temp.path().join("b.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let until = header["until"].as_i64().unwrap();
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.unwrap().as_millis() as i64
    };
    sleep(Duration::from_millis((until - now() - 700).max(0) as u64));
    let over = world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]);
    // On a machine that is slow enough it is over before it begins.
    if over.status.code() == Some(0) {
        over.says(&["the leases are over", "--partial"]);
        assert!(!over.err.contains("the same command continues"), "{over}");
    }
    sleep(Duration::from_millis((until - now() + 50).max(0) as u64));
    let late = world.run(&["batch", "harvest", "b.jsonl", "--out", "away"]);
    late.exits(2).says(&["leases of this batch ended", "--partial"]);
    let refused = world.run(&["batch", "import", "away"]);
    refused.exits(2).says(&["leases are over", "--partial"]);
    assert!(!refused.err.contains("batch harvest"), "{refused}");
    world.run(&["batch", "import", "away", "--partial"]).exits(0);
    sound(&world);
}
