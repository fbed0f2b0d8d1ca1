//! The archive is for other people's tools: they read every record, and replay every page byte for byte.
//!
//! The tools are in `.venv`, which `tools/venv.sh` makes; without it these tests say so and are skipped.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
    process::Command,
};

use simweb::{Hazard, PageCount, PageOptions, WebOptions};
use store::warc::{Volumes, WarcReader};

use crate::{audit, world::World};

/// A web with all that makes records differ: codings, redirects, failures, duplicates, unwanted types.
fn motley() -> World {
    let page = PageOptions {
        bytes_mean: 4_000.0,
        query_share: 0.2,
        redirect_share: 0.1,
        broken_share: 0.1,
        duplicate_share: 0.2,
        latin1_share: 0.2,
        chunked_share: 0.4,
        noisy_share: 0.1,
        gzip: true,
        validator_share: 0.5,
        ..PageOptions::default()
    };
    let mut options =
        WebOptions { sites: 4, pages: PageCount::Fixed(15), page, ..WebOptions::default() };
    for hazard in [Hazard::Truncated, Hazard::BrokenGzip, Hazard::ServerError, Hazard::Utf16] {
        options.put(&format!("s0.sim.test/hazard/{}", hazard.word()), hazard);
    }
    World::new(options)
}

fn crawl(world: &World, more: &[&str]) {
    let mut args = vec!["crawl", "--delay", "0"];
    let hazards = ["truncated", "broken-gzip", "server-error", "utf-16"]
        .map(|word| format!("http://s0.sim.test/hazard/{word}"));
    let hosts = [0, 1, 2, 3].map(|site| format!("http://s{site}.sim.test/"));
    // A type that pages do not have.
    let sitemap = "http://s1.sim.test/sitemap.xml".to_owned();
    let seeds: Vec<String> = hazards.into_iter().chain(hosts).chain([sitemap]).collect();
    args.extend(seeds.iter().map(String::as_str));
    args.extend(more);
    world.run(&args).exits(0);
}

/// Records by type, and for revisits by profile.
fn records(world: &World) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for volume in Volumes::new(world.folder.join("volumes")).list().unwrap() {
        for record in WarcReader::new(BufReader::new(File::open(&volume.path).unwrap())) {
            let record = record.unwrap();
            let profile =
                record.field("WARC-Profile").and_then(|profile| profile.rsplit('/').next());
            *found.entry(profile.unwrap_or(record.kind()).to_owned()).or_default() += 1;
        }
    }
    found
}

#[test]
fn every_answer_has_one_record_and_a_second_pass_makes_revisits() {
    let world = motley();
    crawl(&world, &[]);
    audit::volumes_are_sealed(&world);
    audit::volumes_are_sound(&world);
    let first = audit::archived(&world).values().sum::<usize>();
    assert_eq!(first, world.log().len(), "one record for every request that was answered");
    crawl(&world, &["--fresh"]);
    audit::volumes_are_sealed(&world);
    audit::volumes_are_sound(&world);
    let all = audit::archived(&world).values().sum::<usize>();
    assert_eq!(all, world.log().len());
    let kinds = records(&world);
    println!("{kinds:?}");
    for kind in ["identical-payload-digest", "server-not-modified"] {
        assert!(kinds.get(kind).is_some_and(|count| *count > 5), "{kind}: {kinds:?}");
    }
    let statuses: BTreeSet<u64> =
        world.pages_and_parts().iter().filter_map(|page| page["status"].as_u64()).collect();
    println!("statuses {statuses:?}");
    for status in [200, 404, 500] {
        assert!(statuses.contains(&status), "{statuses:?}");
    }
    world.run(&["check"]).exits(0);
}

#[test]
fn other_peoples_tools_accept_every_volume() {
    let world = motley().variable("HARVESTMAN_STORE_VOLUME_BYTES_MAX", "1MB");
    crawl(&world, &[]);
    crawl(&world, &["--fresh"]);
    let Some(said) = tool(&world, "warc_gate.py") else { return };
    let kinds = records(&world);
    let total: usize = kinds.values().sum();
    assert!(said.contains(&format!("{total} records")), "{kinds:?}: {said}");
}

#[test]
fn pywb_replays_every_page_byte_for_byte() {
    let world = motley();
    crawl(&world, &[]);
    crawl(&world, &["--fresh"]);
    let Some(said) = tool(&world, "pywb_replay.py") else { return };
    assert!(said.contains("replayed byte for byte"), "{said}");
}

#[test]
fn a_volume_gets_its_final_name_only_when_it_is_whole() {
    let options = WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() };
    let world = World::new(options);
    let args = ["crawl", "http://s0.sim.test/", "--delay", "20ms"];
    let running = world.start(&args);
    world.wait_for("an open volume", |world| {
        world.log().len() > 5 && names(world).iter().any(|name| name.ends_with(".open"))
    });
    assert!(names(&world).iter().all(|name| name.ends_with(".open")), "{:?}", names(&world));
    running.kill();
    assert!(names(&world).iter().all(|name| name.ends_with(".open")), "{:?}", names(&world));
    world.run(&args).exits(0);
    audit::every_page_is_there_once(&world);
    let sealed = names(&world);
    assert!(
        sealed.len() >= 2 && sealed.iter().all(|name| name.ends_with(".warc.gz")),
        "{sealed:?}"
    );
}

fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.folder.join("volumes")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".idx")).collect()
}

/// Runs a tool over the volumes: what it said, `None` when it is not installed. Fails when it objects.
#[track_caller]
pub fn tool(world: &World, name: &str) -> Option<String> {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    let python = root.join(".venv/bin/python");
    if !Path::new(&python).exists() {
        println!("skipped: {} is not there; tools/venv.sh makes it", python.display());
        return None;
    }
    let mut command = Command::new(python);
    command.arg(root.join("tools").join(name)).arg(world.folder.join("volumes"));
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    println!("{said}");
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    Some(said)
}
