//! A full disk costs nothing that was there: the crawl waits, says so, and goes on when there is room.
//!
//! The disk is a small `tmpfs` in place of the collection's folder; where nobody may mount one, these tests
//! say so and are skipped.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use simweb::{PageCount, PageOptions, WebOptions};

use crate::{
    audit,
    world::{PATIENCE, World},
};

/// Slow enough that the commit of the first second meets the full disk before all pages have come.
const ARGS: [&str; 4] = ["crawl", "http://s0.sim.test/", "--delay", "20ms"];

/// Declared last in tests, so that the disk is taken away before the world removes its folder.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> Option<SmallDisk> {
        fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .output();
        match mount {
            Ok(done) if done.status.success() => Some(SmallDisk(at.to_owned())),
            _ => {
                model::testing::note_skipped("the right to mount a tmpfs");
                None
            }
        }
    }

    /// Leaves only so many bytes free.
    fn fill(&self, free: usize) {
        let ballast = self.0.join("ballast");
        let mut file = File::create(&ballast).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(free as u64)).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A collection whose volumes go to the small disk first, and then to its own folder.
fn two_folders(world: &World, disk: &SmallDisk) -> PathBuf {
    let first = disk.0.join("crawl");
    fs::create_dir_all(&first).unwrap();
    fs::create_dir_all(&world.folder).unwrap();
    let folders = format!("[store]\nvolume_folders = [{first:?}, \"volumes\"]\n");
    fs::write(world.folder.join("harvest.toml"), folders).unwrap();
    first
}

fn volumes_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".idx")).collect()
}

/// About 150 pages of 10 kB that do not compress to nothing.
fn world() -> World {
    let page = PageOptions { bytes_mean: 20_000.0, ..PageOptions::default() };
    World::new(WebOptions { pages: PageCount::Fixed(150), page, ..WebOptions::default() })
}

/// Until no request has come for some seconds: the crawl has found the disk full.
fn wait_until_it_stands_still(world: &World) {
    let (mut count, mut since) = (0, Instant::now());
    world.wait_for("the crawl to stand still", |world| world.log().len() > 3);
    while since.elapsed() < Duration::from_secs(4) {
        std::thread::sleep(Duration::from_millis(100));
        let now = world.log().len();
        if now != count {
            (count, since) = (now, Instant::now());
        }
    }
}

#[test]
fn a_crawl_on_a_full_disk_waits_and_goes_on_when_there_is_room() {
    let world = world();
    let Some(disk) = SmallDisk::mount(&world.folder, "16m") else { return };
    disk.fill(700_000);
    let mut running = world.start(&ARGS);
    wait_until_it_stands_still(&world);
    assert!(running.is_running(), "{}", running.wait(PATIENCE));
    let before = world.log().len();
    assert!(before < 150, "the disk was never full");
    disk.make_room();
    let done = running.wait(PATIENCE);
    done.exits(0).says(&["paused: no space left"]);
    audit::every_page_is_there_once(&world);
    assert_eq!(audit::repeats(&world.log()).len(), 0, "nothing is asked for again");
}

#[test]
fn a_crawl_stopped_or_killed_on_a_full_disk_keeps_what_was_there() {
    for signal in ["TERM", "KILL"] {
        let world = world();
        let Some(disk) = SmallDisk::mount(&world.folder, "16m") else { return };
        disk.fill(700_000);
        let running = world.start(&ARGS);
        wait_until_it_stands_still(&world);
        running.signal(signal);
        let stopped = running.wait(PATIENCE);
        println!("{signal}: {stopped}");
        stopped.says(&["paused: no space left"]);
        let settled = world.visits_total();
        // Still full: it may not get far, but what is there stays.
        let mut again = world.start(&ARGS);
        std::thread::sleep(Duration::from_millis(1_500));
        if again.is_running() {
            again.signal("KILL");
        }
        println!("still full: {}", again.wait(PATIENCE));
        assert!(world.visits_total() >= settled);
        disk.make_room();
        world.run(&ARGS).exits(0);
        audit::every_page_is_there_once(&world);
    }
}

#[test]
fn when_a_folder_of_volumes_is_full_the_crawl_goes_on_in_the_next() {
    let world = world();
    let Some(disk) = SmallDisk::mount(&world.temp.path().join("small"), "600k") else { return };
    let first = two_folders(&world, &disk);
    let done = world.run(&ARGS);
    done.exits(0).says(&["no space left at ", "this volume and the next are written to "]);
    assert_eq!(done.err.matches("no space left").count(), 1, "{done}");
    assert_eq!(volumes_in(&first), [] as [String; 0]);
    assert_eq!(volumes_in(&world.folder.join("volumes")), ["harvest-000001.warc.gz"]);
    audit::every_page_is_there_once(&world);
    world.run(&["check"]).exits(0);
    // With room again the first is used again, and both are read.
    drop(disk);
    let Some(disk) = SmallDisk::mount(&world.temp.path().join("small"), "16m") else { return };
    fs::create_dir_all(&first).unwrap();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(volumes_in(&first), ["harvest-000002.warc.gz"]);
    world.run(&["check"]).exits(0);
    let listed = world.run(&["pages", "--json"]).exits(0).json();
    let urls = listed["rows"].as_array().unwrap().iter().map(|row| row["url"].as_str().unwrap());
    let [one, two] = urls.filter(|url| *url != ARGS[1]).collect::<Vec<_>>()[..2] else { panic!() };
    let forgotten = world.run(&["forget", one, "--json"]).exits(0).json();
    assert_eq!(forgotten["volumes"], 2, "{forgotten}");
    world.run(&["check"]).exits(0);
    // And when it is away, it is named.
    drop(disk);
    let checked = world.run(&["check"]);
    let name = first.display().to_string();
    assert!(checked.exits(3).out.contains(&format!("{name}: this folder of volumes")), "{checked}");
    world.run(&["forget", two, "--dry-run"]).says(&["cannot be reached"]);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0).says(&[&name, "cannot be reached"]);
}
