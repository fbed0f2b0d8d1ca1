//! Files of a collection that are deleted or replaced under a running crawl: it stops within
//! seconds, says what happened and what to do, and everything that was answered is in volumes that
//! others read.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use simweb::{PageCount, WebOptions};

use crate::{
    archive::tool,
    audit,
    world::{Done, PATIENCE, World},
};

/// From the loss to the end of the process, on a busy machine.
const SECONDS: Duration = Duration::from_secs(15);

fn small_web() -> World {
    World::new(WebOptions { pages: PageCount::Fixed(2_000), ..WebOptions::default() })
}

/// Crawls, lets `lose` do its work in the folder of the collection, and waits for the end.
fn stopped_by(world: &World, lose: impl FnOnce(&Path)) -> Done {
    let running = world.start(&["crawl", "http://s0.sim.test/", "--delay", "20ms"]);
    world.wait_for("some pages are settled", |world| {
        world.log().len() > 40 && world.folder.join("crawl.db").exists()
    });
    lose(&world.folder);
    let lost = Instant::now();
    let done = running.wait(PATIENCE);
    assert!(lost.elapsed() < SECONDS, "{:?}: {done}", lost.elapsed());
    done
}

#[track_caller]
fn everything_answered_is_archived(world: &World) {
    audit::volumes_are_sound(world);
    let archived = audit::archived(world);
    let answered: Vec<String> =
        world.log().iter().filter(|entry| entry.status != 0).map(|entry| entry.url()).collect();
    let lost: Vec<&String> = answered.iter().filter(|url| !archived.contains_key(*url)).collect();
    assert!(lost.is_empty(), "{} of {}: {lost:?}", lost.len(), answered.len());
}

#[test]
fn a_database_that_is_deleted_or_replaced_under_a_crawl_stops_it_with_everything_archived() {
    let copy = |folder: &Path| {
        let copy = folder.join("copy");
        fs::copy(folder.join("crawl.db"), &copy).unwrap();
        fs::rename(copy, folder.join("crawl.db")).unwrap();
    };
    let empty = |folder: &Path| {
        fs::write(folder.join("empty"), "").unwrap();
        fs::rename(folder.join("empty"), folder.join("crawl.db")).unwrap();
    };
    type Way<'a> = (&'static str, &'a dyn Fn(&Path));
    let ways: [Way<'_>; 4] = [
        ("was deleted", &|folder| fs::remove_file(folder.join("crawl.db")).unwrap()),
        ("was replaced", &copy),
        ("was replaced", &empty),
        ("was truncated", &|folder| fs::write(folder.join("crawl.db"), "").unwrap()),
    ];
    for (how, lose) in ways {
        let world = small_web();
        let done = stopped_by(&world, lose);
        done.exits(3).says(&["crawl.db", how, "harvestman rebuild", "from a copy"]);
        assert!(!done.err.contains("warning"), "{done}");
        audit::volumes_are_sealed(&world);
        everything_answered_is_archived(&world);
        tool(&world, "warc_gate.py");
        // No new one is made over the remains.
        if how == "was deleted" {
            assert!(!world.folder.join("crawl.db").exists(), "{done}");
        }
    }
}

#[test]
fn a_folder_that_is_moved_away_under_a_crawl_stops_it_with_everything_archived() {
    let mut world = small_web();
    let elsewhere = world.temp.path().join("elsewhere");
    let done = stopped_by(&world, |folder| fs::rename(folder, &elsewhere).unwrap());
    done.exits(3).says(&["crawl.db", "was deleted", "harvestman rebuild"]);
    assert!(!world.folder.exists(), "{done}");
    world.folder = elsewhere;
    everything_answered_is_archived(&world);
    // Nothing but its name is other than before: the crawl can be continued there.
    world.run(&["crawl", "--delay", "0", "--pages", "100"]).exits(0);
    world.run(&["check"]).exits(0);
    tool(&world, "warc_gate.py");
}

#[test]
fn volumes_that_are_deleted_under_a_crawl_stop_it() {
    let world = small_web();
    let done = stopped_by(&world, |folder| fs::remove_dir_all(folder.join("volumes")).unwrap());
    done.exits(3).says(&["volumes", "was deleted", "check --repair"]);
}
