//! Volumes packed with zstd, through the program: what `store.compression` says holds for new volumes, and
//! everything that reads them takes both kinds.

use std::{fs, path::Path};

use simweb::{PageCount, WebOptions};
use store::warc::{Compression, Volumes};

use crate::{audit, world::World};

const HOME: &str = "http://s0.sim.test/";
const DICTIONARY: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];

fn world(pages: usize) -> World {
    World::new(WebOptions { pages: PageCount::Fixed(pages), ..WebOptions::default() })
}

fn packed_with(world: World, compression: &str) -> World {
    world.variable("HARVESTMAN_STORE_COMPRESSION", compression)
}

fn kinds(world: &World) -> Vec<Compression> {
    let volumes = Volumes::new(world.folder.join("volumes")).list().unwrap();
    assert!(volumes.iter().all(|volume| volume.sealed), "{volumes:?}");
    volumes.iter().map(|volume| volume.compression).collect()
}

#[track_caller]
fn is_sound(world: &World) {
    let checked = world.run(&["check"]);
    assert!(checked.exits(0).out.contains("sound"), "{checked}");
}

#[track_caller]
fn is_shown(world: &World, url: &str) {
    let shown = world.run(&["show", url]);
    assert!(shown.exits(0).out.len() > 500, "{url}: {shown}");
}

/// Files of the collection in which this stands as it is.
fn grep(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(grep(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|w| w == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_crawl_is_killed_and_goes_on_and_the_kind_is_changed_in_between() {
    let world = packed_with(world(60), "zstd");
    let args = ["crawl", HOME, "--delay", "10ms"];
    let running = world.start(&args);
    world.wait_for("some pages", |world| world.log().len() > 20);
    running.kill();
    world.run(&args).exits(0);
    audit::every_page_is_there_once(&world);
    let first = kinds(&world);
    assert!(first.len() >= 2 && first.iter().all(|kind| *kind == Compression::Zstd), "{first:?}");
    is_sound(&world);

    let fresh = ["crawl", HOME, "--delay", "0", "--fresh"];
    let world = packed_with(world, "gzip");
    world.run(&fresh).exits(0);
    let world = packed_with(world, "zstd");
    world.run(&fresh).exits(0);
    let now = kinds(&world);
    assert_eq!(now[first.len()..], [Compression::Gzip, Compression::Zstd]);
    is_sound(&world);
    // What the page had at first lies in a volume of zstd; what was found since refers to it.
    let told = world.run(&["history", HOME, "--json"]).exits(0).json();
    assert!(told.to_string().contains(HOME), "{told}");
    is_shown(&world, HOME);

    let page = &world.visited()[30];
    let url = format!("http://{page}");
    is_shown(&world, &url);
    world.run(&["forget", &url]).exits(0).says(&["removed: 1 page"]);
    world.run(&["show", &url]).exits(2);
    is_sound(&world);
    is_shown(&world, HOME);
}

#[test]
fn a_later_crawl_learns_from_the_volume_before_and_forgetting_reaches_what_was_learned() {
    let world = packed_with(world(300), "zstd");
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.run(&["crawl", HOME, "--delay", "0", "--fresh"]).exits(0);
    let second = world.folder.join("volumes/harvest-000002.warc.zst");
    assert_eq!(fs::read(&second).unwrap()[..4], DICTIONARY);
    is_sound(&world);
    let url = format!("http://{}", world.visited()[20]);
    world.run(&["forget", &url]).exits(0);
    assert_ne!(fs::read(&second).unwrap()[..4], DICTIONARY);
    assert_eq!(grep(&world.folder.join("volumes"), &url), [] as [String; 0]);
    is_sound(&world);
    for page in &world.visited()[..5] {
        is_shown(&world, &format!("http://{page}"));
    }
}
