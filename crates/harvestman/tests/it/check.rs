//! `check` finds what is missing or damaged, and nothing new is built on the remains of a collection.

use std::fs;

use simweb::{PageCount, WebOptions};
use store::testing;

use crate::world::World;

const HOME: &str = "http://s0.sim.test/";

fn crawled() -> World {
    let world = World::new(WebOptions { pages: PageCount::Fixed(12), ..WebOptions::default() });
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    check(&world, &[], 0, "sound");
    world
}

#[track_caller]
fn check(world: &World, flags: &[&str], code: i32, says: &str) {
    let done = world.run(&[&["check"], flags].concat());
    assert!(done.exits(code).out.contains(says), "{done}");
}

#[test]
fn a_collection_without_its_database_is_refused_and_left_as_it_is() {
    let world = crawled();
    let links = world.folder.join("links/000001.links");
    let before = fs::metadata(&links).unwrap().len();
    let database = world.folder.join("crawl.db");
    fs::remove_file(&database).unwrap();
    let commands = [&["crawl", HOME, "--delay", "0"][..], &["status"], &["check"], &["seed", HOME]];
    for command in commands {
        world.run(command).exits(3).says(&["crawl.db", "restore crawl.db"]);
    }
    assert_eq!(fs::metadata(&links).unwrap().len(), before);
    assert!(!database.exists());
    // What a full disk or a slip of the shell leaves of it is no new collection either.
    fs::write(&database, "").unwrap();
    for command in commands {
        world.run(command).exits(3).says(&["crawl.db", "restore crawl.db"]);
    }
    assert_eq!(fs::metadata(&links).unwrap().len(), before);
    assert_eq!(fs::metadata(&database).unwrap().len(), 0);
}

#[test]
fn a_missing_or_short_volume_is_found() {
    let world = crawled();
    let volume = world.folder.join("volumes/harvest-000001.warc.gz");
    let whole = fs::read(&volume).unwrap();
    fs::write(&volume, &whole[..whole.len() / 2]).unwrap();
    check(&world, &[], 3, "volume 1 ends at");
    fs::remove_file(&volume).unwrap();
    check(&world, &[], 3, "volume 1 is missing");
}

#[test]
fn missing_and_damaged_links_are_found() {
    let world = crawled();
    let links = world.folder.join("links/000001.links");
    let mut bytes = fs::read(&links).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xa5);
    fs::write(&links, &bytes).unwrap();
    check(&world, &[], 3, "links: ");
    fs::remove_file(&links).unwrap();
    check(&world, &[], 3, "links: segment 1 ends at 0");
}

#[test]
fn counters_are_set_right_only_when_asked_to() {
    let world = crawled();
    testing::spoil_known_counters(&world.folder);
    for _ in 0..2 {
        check(&world, &[], 3, "nothing was changed");
    }
    check(&world, &["--repair"], 3, "were set to what the rows say");
    check(&world, &[], 0, "sound");
}
