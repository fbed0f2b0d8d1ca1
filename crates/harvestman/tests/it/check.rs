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

#[test]
fn an_index_of_a_volume_that_is_missing_or_damaged_is_no_finding_and_is_made_again() {
    let world = crawled();
    let index = world.folder.join("volumes/harvest-000001.warc.gz.idx");
    let whole = fs::read(&index).unwrap();
    fs::write(&index, &whole[..whole.len() - 1]).unwrap();
    check(&world, &[], 0, "the index of 1 volume cannot be used; harvestman check --repair");
    check(&world, &["--repair"], 0, "made the index of 1 volume");
    assert_eq!(fs::read(&index).unwrap(), whole);
    fs::remove_file(&index).unwrap();
    let report = world.run(&["check", "--json"]).exits(0).json();
    assert_eq!((&report["damaged_indexes"], &report["made_indexes"]), (&0.into(), &0.into()));
    let report = world.run(&["check", "--repair", "--json"]).exits(0).json();
    assert_eq!((&report["damaged_indexes"], &report["made_indexes"]), (&0.into(), &1.into()));
    assert_eq!(fs::read(&index).unwrap(), whole);
}

#[test]
fn a_volume_that_was_changed_or_deleted_is_named_and_its_number_is_not_used_again() {
    let world = crawled();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let volume = |number: u32| world.folder.join(format!("volumes/harvest-{number:06}.warc.gz"));
    let whole = fs::read(volume(2)).unwrap();
    // Whole records only, so that nothing but the register knows.
    fs::write(volume(2), [&whole[..], &whole[..]].concat()).unwrap();
    check(&world, &[], 3, "; when it was sealed it had ");
    fs::write(volume(2), &whole).unwrap();
    check(&world, &[], 0, "sound");
    fs::remove_file(volume(2)).unwrap();
    // Its visits folded into those of the first: no row of history names it.
    check(&world, &[], 3, "harvest-000002.warc.gz: it is missing");
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert!(volume(3).exists() && !volume(2).exists());
}

#[test]
fn a_collection_without_register_and_indexes_is_read_upgraded_and_taken_down_from() {
    let world = crawled();
    // As the version before has left it.
    let index = world.folder.join("volumes/harvest-000001.warc.gz.idx");
    fs::remove_file(&index).unwrap();
    testing::drop_register(&world.folder);
    world.run(&["show", HOME]).exits(0);
    check(&world, &[], 0, "sound");
    assert_eq!(testing::registered(&world.folder), (0, 1));
    check(&world, &["--repair"], 0, "made the index of 1 volume");
    assert_eq!(testing::registered(&world.folder), (1, 0));
    fs::remove_file(&index).unwrap();
    world.run(&["forget", HOME]).exits(0);
    assert!(index.exists());
    check(&world, &[], 0, "sound");
}
