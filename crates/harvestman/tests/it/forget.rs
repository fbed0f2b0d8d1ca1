//! `forget`: no byte of it is left, nobody else loses anything, and it never comes back.

use std::{
    fs::{self, File},
    io::{BufReader, Read},
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::Duration,
};

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use simweb::{PageCount, PageOptions, WebOptions};
use store::{
    collection::Collection,
    warc::{Volumes, WarcReader},
};

use crate::{
    archive,
    ask::strings,
    audit,
    raw::{Raw, reply},
    world::{PATIENCE, World},
};

const GONE: &str = "gone.raw.test";

/// Three sites; `/shared` is the same on all of them, and `gone` is the first to serve it.
fn three_sites() -> (Raw, World) {
    let raw = Raw::start(|place, stream| {
        let (host, path) = place.split_once('/').unwrap();
        let html = "Content-Type: text/html";
        match path {
            "robots.txt" => {
                let rules = format!("User-agent: *\nDisallow: /robots-of-{host}\n");
                reply(stream, "200 OK", "Content-Type: text/plain", rules.as_bytes());
            }
            "shared" => {
                // The others come late, so that theirs are revisits of the first.
                sleep(Duration::from_millis(if host == GONE { 0 } else { 700 }));
                let body = format!("<title>shared</title><p>{}", "the same for all ".repeat(60));
                reply(stream, "200 OK", html, body.as_bytes());
            }
            _ => {
                let mention = match host {
                    "b.raw.test" => "<a href='http://gone.raw.test/two'>their neighbour</a>",
                    _ => "",
                };
                let body = format!(
                    "<title>title-of-{host}</title><p>/{path} marker-of-{host} {}{mention}\
                     <a href='/shared'>s</a><a href='/two'>t</a><a href='/robots-of-{host}'>r</a>",
                    "some words ".repeat(80)
                );
                reply(stream, "200 OK", html, body.as_bytes());
            }
        }
    });
    (raw, World::new(WebOptions::default()))
}

fn crawl(raw: &Raw, world: &World, more: &[&str]) -> crate::world::Done {
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let seeds = ["http://gone.raw.test/", "http://b.raw.test/", "http://c.raw.test/"];
    let flags = ["--delay", "0", "--scope", "any", "--resolve", &rule];
    world.run(&[&["crawl"], &seeds[..], &flags[..], more].concat())
}

/// Every file of the collection that holds this text, as it is or unpacked.
fn grep(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(grep(&path, text));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let mut plain = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        }
        let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        if holds(&bytes) || holds(&plain) {
            found.push(path);
        }
    }
    found
}

/// Nothing is left but what another site's page says in its own text.
#[track_caller]
fn is_forgotten(world: &World) {
    for text in ["marker-of-gone", "title-of-gone", "robots-of-gone"] {
        assert_eq!(grep(&world.folder, text), [] as [PathBuf; 0], "{text}");
    }
    let files = grep(&world.folder, GONE);
    assert!(files.iter().all(|file| file.ends_with("warc.gz") || is_volume(file)), "{files:?}");
    for volume in Volumes::new(world.folder.join("volumes")).list().unwrap() {
        for record in WarcReader::new(BufReader::new(File::open(&volume.path).unwrap())) {
            let record = record.unwrap();
            assert!(!format!("{:?}", record.fields).contains(GONE), "{:?}", record.fields);
            let target = record.field("WARC-Target-URI").unwrap_or_default().to_owned();
            let names = String::from_utf8_lossy(&record.block).contains(GONE);
            assert!(!names || target.starts_with("http://b.raw.test/"), "{target}");
        }
    }
}

fn is_volume(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".warc.gz")
}

#[test]
fn no_byte_of_a_forgotten_site_is_left_and_it_never_comes_back() {
    let (raw, world) = three_sites();
    crawl(&raw, &world, &[]).exits(0);
    crawl(&raw, &world, &["--fresh"]).exits(0);
    let revisits = |world: &World| {
        let kinds = audit::kinds_of_records(world);
        kinds.iter().filter(|kind| kind.as_deref() == Some("revisit")).count()
    };
    assert_eq!(revisits(&world), 2, "b and c refer to the payload of the first");
    assert!(!grep(&world.folder, "marker-of-gone").is_empty());
    assert!(grep(&world.folder, GONE).len() >= 3, "database, volume and links");
    world.run(&["block", GONE, "--reason", "they of gone.raw.test asked"]).exits(0);

    let before = world.status();
    let dry = world.run(&["forget", GONE, "--dry-run"]);
    dry.exits(0).says(&["would be removed: 4 pages", "nothing was changed"]);
    assert_eq!(world.status(), before);
    let done = world.run(&["forget", GONE, "--json"]);
    let removed = done.exits(0).json();
    assert_eq!(
        (&removed["pages"], &removed["records_completed"]),
        (&4.into(), &1.into()),
        "{removed}"
    );
    assert_eq!((&removed["records"], &removed["visits"]), (&14.into(), &6.into()), "{removed}");
    assert!(removed["links"].as_u64().unwrap() >= 6, "{removed}");
    is_forgotten(&world);
    let checked = world.run(&["check"]);
    assert!(checked.exits(0).out.contains("sound"), "{checked}");
    archive::tool(&world, "warc_gate.py");

    for host in ["b.raw.test", "c.raw.test"] {
        let shown = world.run(&["show", &format!("http://{host}/shared")]);
        assert!(shown.exits(0).out.contains("the same for all"), "{host}: {shown}");
        let shown = world.run(&["show", &format!("http://{host}/two")]);
        assert!(shown.exits(0).out.contains(&format!("marker-of-{host}")), "{shown}");
    }
    assert_eq!(revisits(&world), 1, "the first of them is whole now");
    world.run(&["show", "http://gone.raw.test/"]).exits(2);
    let told = world.run(&["explain", "http://gone.raw.test/two"]);
    assert!(told.exits(0).out.contains("not crawled: forgotten by the user"), "{told}");

    let asked = |raw: &Raw| raw.asked().iter().filter(|place| place.starts_with(GONE)).count();
    let asked_before = asked(&raw);
    let again = crawl(&raw, &world, &["--fresh"]);
    again.exits(0).says(&["seed refused", "forgotten by the user"]);
    world.run(&["seed", "http://gone.raw.test/x"]).exits(2).says(&["forgotten by the user"]);
    assert_eq!(asked(&raw), asked_before, "not even robots.txt");
    is_forgotten(&world);
    world.run(&["check"]).exits(0);

    let list = world.run(&["forget", "--list", "--json"]).json();
    assert_eq!(
        (list["rows"].as_array().unwrap().len(), &list["rows"][0]["kind"]),
        (1, &"site".into()),
        "{list}"
    );
    world.run(&["forget", "--undo", "other.raw.test"]).exits(2).says(&["none of these"]);
    world.run(&["forget", "--undo", GONE]).exits(0).says(&["may come in again"]);
    crawl(&raw, &world, &[]).exits(0);
    assert!(asked(&raw) > asked_before, "it is crawled again");
}

#[test]
fn a_single_url_goes_and_its_site_stays() {
    let (raw, world) = three_sites();
    crawl(&raw, &world, &[]).exits(0);
    let url = "http://gone.raw.test/shared";
    let done = world.run(&["forget", url]);
    done.exits(0).says(&["removed: 1 page with 1 visit", "2 records", "is now theirs"]);
    assert_eq!(grep(&world.folder, "gone.raw.test/shared"), [] as [PathBuf; 0]);
    world.run(&["check"]).exits(0);
    world.run(&["show", url]).exits(2);
    for kept in ["http://gone.raw.test/two", "http://b.raw.test/shared", "http://c.raw.test/shared"]
    {
        let shown = world.run(&["show", kept]);
        assert!(shown.exits(0).out.len() > 500, "{kept}: {shown}");
    }
    let home = world.run(&["forget", "http://gone.raw.test/"]);
    home.exits(0).says(&["the whole site: harvestman forget gone.raw.test"]);
    let domain = world.run(&["forget", "--domain", "raw.test"]);
    domain.exits(0).says(&["removed: ", "it stays out from now on"]);
    assert_eq!(world.pages_and_parts(), [Value::Null; 0]);
    world.run(&["check"]).exits(0);
    crawl(&raw, &world, &[]).exits(2).says(&["forgotten by the user"]);
}

#[test]
fn while_a_crawl_runs_it_says_what_to_do_instead() {
    let world = simulated();
    let _lock = Collection::open(&world.folder).unwrap().lock().unwrap();
    let done = world.run(&["forget", "s1.sim.test"]);
    done.exits(2).says(&["stop it", "harvestman block s1.sim.test"]);
    world.run(&["forget", "http://a.example/x*"]).exits(2).says(&["block the rest"]);
    let address = world.run(&["forget", "--domain", "127.0.0.3"]);
    address.exits(2).says(&["nothing under it", "harvestman forget 127.0.0.3"]);
    assert!(!address.err.contains("range"), "{address}");
}

#[test]
fn volumes_that_could_not_be_looked_through_are_named_and_the_rest_is_forgotten() {
    let world = simulated();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let volumes = Volumes::new(world.folder.join("volumes")).list().unwrap();
    assert!(volumes.len() > 2, "{volumes:?}");
    let whole = world.run(&["forget", "s1.sim.test", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(whole["warnings"], serde_json::json!([]), "{whole}");
    File::create(&volumes[0].path).unwrap();
    fs::remove_file(&volumes[1].path).unwrap();
    let name = volumes[0].path.file_name().unwrap().to_str().unwrap();
    let empty = format!("{name} is empty and could not be looked through: harvestman check");
    let missing = "volume 2 is not there and could not be looked through: harvestman check";
    for flags in [&["--dry-run"][..], &[]] {
        let done = world.run(&[&["forget", "s1.sim.test"], flags].concat());
        done.exits(0).says(&[&empty, missing, &format!("removed: {} pages", whole["pages"])]);
    }
    for rows in [world.changes(), world.pages_and_parts()] {
        let urls = strings(&rows, "url");
        assert!(
            !urls.is_empty() && !urls.iter().any(|url| url.contains("s1.sim.test")),
            "{urls:?}"
        );
    }
    for volume in &volumes[2..] {
        for record in WarcReader::new(BufReader::new(File::open(&volume.path).unwrap())) {
            let target = record.unwrap().field("WARC-Target-URI").unwrap_or_default().to_owned();
            assert!(!target.starts_with("http://s1.sim.test/"), "{target}");
        }
    }
}

#[test]
fn killed_at_any_moment_it_comes_to_the_same_end_when_given_again() {
    let world = simulated();
    let copy = world.temp.path().join("copy");
    copy_folder(&world.folder, &copy);
    let whole = world.run(&["forget", "s1.sim.test"]);
    whole.exits(0);
    let end = state(&world);
    let span = whole.took.as_millis() as u64;
    let (mut killed, trials) = (0, 10);
    for trial in 0..trials {
        fs::remove_dir_all(&world.folder).unwrap();
        copy_folder(&copy, &world.folder);
        let mut running = world.start(&["forget", "s1.sim.test"]);
        sleep(Duration::from_millis(span * (trial + 1) / (trials + 1)));
        if running.is_running() {
            running.kill();
            killed += 1;
        } else {
            running.wait(PATIENCE).exits(0);
        }
        // Others read it meanwhile, and nothing of theirs is lost.
        world.run(&["show", "http://s2.sim.test/"]).exits(0);
        if trial % 2 == 0 {
            world.run(&["check"]).exits(0);
        }
        world.run(&["forget", "s1.sim.test"]).exits(0);
        world.run(&["check"]).exits(0);
        assert_eq!(state(&world), end, "trial {trial}");
        assert_eq!(grep(&world.folder.join("links"), "s1.sim.test"), [] as [PathBuf; 0]);
        assert_eq!(grep(&world.folder, ".rewritten"), [] as [PathBuf; 0]);
    }
    println!("{killed} of {trials} killed within {span} ms");
    audit::volumes_are_sound(&world);
}

fn simulated() -> World {
    let page = PageOptions { bytes_mean: 60_000.0, duplicate_share: 0.3, ..PageOptions::default() };
    let pages = PageCount::Fixed(25);
    let world = World::new(WebOptions { sites: 3, pages, page, ..WebOptions::default() })
        .variable("HARVESTMAN_STORE_VOLUME_BYTES_MAX", "1MB");
    let seeds = ["http://s0.sim.test/", "http://s1.sim.test/", "http://s2.sim.test/"];
    world.run(&[&["crawl"], &seeds[..], &["--delay", "0"]].concat()).exits(0);
    world
}

/// What is left, with the records' places; those are compared with the volumes by `check`.
fn state(world: &World) -> Vec<Value> {
    let mut rows = [world.changes(), world.pages_and_parts(), world.sites(&[])].concat();
    let tombstones = world.list(&["forget", "--list"]);
    rows.extend(tombstones.iter().map(|row| row["kind"].clone()));
    let status = world.status();
    rows.extend(["pages", "visits", "versions", "bytes"].map(|field| status[field].clone()));
    rows
}

fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}
