//! A collection that lost its database or links is made again from its volumes.

use std::{collections::BTreeMap, fs, path::Path, thread::sleep, time::Duration};

use serde_json::Value;
use simweb::{PageCount, PageOptions, WebOptions};

use crate::world::{PATIENCE, World};

const HOME: &str = "http://s0.sim.test/";

/// Two sites and more, visited twice, with a spider, a block, a takedown and a lifted trap.
fn collected() -> World {
    let page = PageOptions { redirect_share: 0.1, nofollow_share: 0.1, ..PageOptions::default() };
    let options =
        WebOptions { sites: 4, pages: PageCount::Fixed(20), page, ..WebOptions::default() };
    let world = World::new(options);
    let crawl = ["crawl", "--delay", "0", "--scope", "domain", "--requisites"];
    world.run(&[&crawl[..], &[HOME, "http://s1.sim.test/"]].concat()).exits(0);
    world.run(&["forget", "s3.sim.test"]).exits(0);
    world.run(&["traps", "lift", "s1.sim.test", "*"]).exits(0);
    world.run(&["spider", "add", "news", "http://s2.sim.test/", "--set", "crawl.depth=1"]).exits(0);
    world.run(&["block", ".ads.test", "--reason", "spam"]).exits(0);
    // Times are told to the second.
    sleep(Duration::from_millis(1_100));
    world.run(&[&crawl[..], &["--fresh"]].concat()).exits(0);
    world
}

fn rows(world: &World, args: &[&str]) -> Vec<Value> {
    let listed = world.run(&[args, &["--json", "--limit", "100000"]].concat()).exits(0).json();
    listed["rows"].as_array().unwrap().clone()
}

/// What is known of pages, by URL, without what a rebuild cannot know: when a page was found and settled to the
/// millisecond, and the price by which its next visit is planned.
fn pages(world: &World) -> BTreeMap<String, Value> {
    let all = rows(world, &["pages"]).into_iter();
    all.map(|mut row| {
        let fields = row.as_object_mut().unwrap();
        for unknown in ["found", "due", "first_fetched", "changed", "level"] {
            fields.remove(unknown);
        }
        (row["url"].as_str().unwrap().to_owned(), row)
    })
    .collect()
}

/// What people read: history, links, blocks, spiders, seeds.
fn asked(world: &World) -> Vec<Value> {
    let json = |args: &[&str]| world.run(&[args, &["--json"]].concat()).exits(0).json();
    // Numbers along history follow the order in which visits were settled.
    let history = |url: &str| {
        let mut rows = json(&["history", url, "--all"])["rows"].take();
        rows.as_array_mut().unwrap().iter_mut().for_each(|row| row["seq"] = Value::Null);
        rows
    };
    let mut told = vec![
        history(HOME),
        history("http://s1.sim.test/"),
        json(&["show", HOME, "--html"]),
        json(&["block", "--list"]),
        json(&["forget", "--list"]),
        json(&["pages", "--seed", "--spider", "news"])["rows"][0]["url"].take(),
    ];
    for (flag, direction) in [("--in", "incoming"), ("--out", "outgoing")] {
        let links = json(&["links", HOME, flag, "--limit", "1000"]);
        let mut rows = links[direction]["rows"].as_array().unwrap().clone();
        assert!(rows.len() > 3, "{links:#}");
        rows.sort_by_key(|row| row["url"].to_string());
        told.extend(rows);
    }
    for spider in json(&["spider", "list"])["rows"].as_array().unwrap() {
        told.push(
            [&spider["name"], &spider["settings"], &spider["paused"]].map(Clone::clone).into(),
        );
    }
    told
}

fn lose(folder: &Path, names: &[&str]) {
    for name in names {
        let path = folder.join(name);
        match path.is_dir() {
            true => fs::remove_dir_all(&path).unwrap(),
            false => drop(fs::remove_file(&path)),
        }
    }
}

const DATABASE: [&str; 3] = ["crawl.db", "crawl.db-wal", "crawl.db-shm"];

#[track_caller]
fn same(world: &World, before: &(BTreeMap<String, Value>, Vec<Value>)) {
    let after = pages(world);
    let urls = |pages: &BTreeMap<String, Value>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(urls(&after), urls(&before.0));
    for (url, page) in &before.0 {
        assert_eq!(&after[url], page, "{url}");
    }
    for (after, before) in asked(world).iter().zip(&before.1) {
        assert_eq!(after, before);
    }
    world.run(&["check"]).exits(0);
}

#[test]
fn a_lost_database_or_lost_links_are_made_again_from_the_volumes() {
    let world = collected();
    let before = (pages(&world), asked(&world));
    assert!(before.0.len() > 60, "{}", before.0.len());
    for lost in [&["links"][..], &DATABASE, &["crawl.db", "links", "crawl.readings"]] {
        lose(&world.folder, lost);
        let done = world.run(&["rebuild", "--json"]).exits(0).json();
        assert_eq!(done["restored"]["tombstones"], 1, "{done:#}");
        assert_eq!((&done["damage"], &done["without_link"]), (&Value::from([0; 0]), &0.into()));
        assert!(!done["unknown"].to_string().contains("state"), "{done:#}");
        same(&world, &before);
        assert!(!world.folder.join("rebuild").exists());
    }
    // What was moved aside is named, and kept.
    assert!(world.folder.join("before-rebuild").is_dir());
    world.forget_log();
    let crawl = ["crawl", "--delay", "0", "--scope", "domain", "--requisites"];
    world.run(&crawl).exits(0);
    assert_eq!(world.visited(), [""; 0], "all of it is known, and nothing of it is due");
    assert!(world.run(&["explain", "http://s3.sim.test/"]).out.contains("forgotten"));
}

#[test]
fn a_rebuild_that_is_killed_at_any_moment_continues() {
    let world = collected();
    let before = (pages(&world), asked(&world));
    // Some two hundred kills in the long sweeps.
    let rounds = if std::env::var_os("HARVESTMAN_LONG").is_some() { 60 } else { 3 };
    for round in 0..rounds {
        lose(&world.folder, &DATABASE);
        let mut kills = 0;
        let done = loop {
            let mut rebuild = world.start(&["rebuild"]);
            sleep(Duration::from_millis(40 + 35 * round % 210 + 50 * kills));
            if !rebuild.is_running() {
                break rebuild.wait(PATIENCE);
            }
            rebuild.kill();
            kills += 1;
            // Killed before the last step there is no collection, and never half of one.
            if !world.folder.join("crawl.db").exists() {
                world.run(&["status"]).exits(3).says(&["harvestman rebuild"]);
            }
        };
        done.exits(0);
        assert!(kills > 0);
        same(&world, &before);
    }
}

#[test]
fn what_was_forgotten_stays_so_although_an_old_copy_of_its_volumes_is_back() {
    let options = WebOptions { sites: 2, pages: PageCount::Fixed(5), ..WebOptions::default() };
    let world = World::new(options);
    world.run(&["crawl", HOME, "http://s1.sim.test/", "--delay", "0"]).exits(0);
    let copy = world.temp.path().join("copy");
    fs::create_dir(&copy).unwrap();
    let volumes = world.folder.join("volumes");
    let copied = |from: &Path, to: &Path| {
        for entry in fs::read_dir(from).unwrap().flatten() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    copied(&volumes, &copy);
    world.run(&["forget", "s1.sim.test"]).exits(0);
    let state = fs::read_to_string(world.folder.join("state.jsonl")).unwrap();
    assert!(!state.contains("s1.sim.test"), "{state}");
    copied(&copy, &volumes);
    lose(&world.folder, &DATABASE);
    let done = world.run(&["rebuild", "--json"]).exits(0).json();
    assert!(done["left_out"].as_u64() >= Some(5), "{done:#}");
    assert_eq!(done["sites"], 1);
    assert!(pages(&world).keys().all(|url| url.starts_with(HOME)));
}

#[test]
fn without_its_state_a_collection_is_rebuilt_and_says_what_is_not_known() {
    let world = collected();
    let known = pages(&world).len();
    lose(&world.folder, &DATABASE);
    lose(&world.folder, &["state.jsonl"]);
    let done = world.run(&["rebuild", "--scope", "domain", "--requisites"]);
    assert!(done.exits(0).out.contains("there is no state.jsonl"), "{done}");
    assert!(done.out.contains("no link or seed leads to"), "{done}");
    assert_eq!(pages(&world).len(), known);
}

#[test]
fn a_damaged_database_is_set_aside_and_damaged_volumes_are_named() {
    let world = collected();
    let database = world.folder.join("crawl.db");
    let mut bytes = fs::read(&database).unwrap();
    let end = bytes.len().min(400_000);
    bytes[100..end].fill(0x5a);
    fs::write(&database, &bytes).unwrap();
    world.run(&["status"]).exits(3).says(&["harvestman rebuild"]);
    world.run(&["rebuild"]).exits(0);
    assert_eq!(fs::read(world.folder.join("before-rebuild/crawl.db")).unwrap(), bytes);
    world.run(&["check"]).exits(0);
    let volume = world.folder.join("volumes/harvest-000001.warc.gz");
    let whole = fs::read(&volume).unwrap();
    fs::write(&volume, &whole[..whole.len() / 2]).unwrap();
    lose(&world.folder, &DATABASE);
    let done = world.run(&["rebuild"]);
    assert!(done.exits(3).out.contains("harvest-000001.warc.gz"), "{done}");
    assert!(pages(&world).len() > 10, "what could be read is there");
}

#[test]
fn there_has_to_be_something_to_rebuild_from_and_nobody_at_it() {
    let world = World::new(WebOptions::default());
    world.run(&["rebuild"]).exits(2).says(&["there are no volumes in", "-C"]);
    assert!(!world.folder.join("rebuild").exists());
    let crawl = world.start(&["crawl", HOME, "--delay", "300ms"]);
    world.wait_for("a volume", |world| world.visits().len() > 2);
    world.run(&["rebuild"]).exits(2).says(&["another crawl is using"]);
    crawl.signal("TERM");
    crawl.wait(PATIENCE).exits(4);
}
