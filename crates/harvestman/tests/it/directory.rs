//! Pages as files: written as the crawl goes, made again from history, and nothing lies outside.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use simweb::{PageCount, WebOptions};

use crate::{
    raw::{Raw, reply},
    world::{PATIENCE, World},
};

/// What lies below a folder, by its name there.
fn files(folder: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
            }
        }
    }
    let mut found = BTreeMap::new();
    if folder.exists() {
        walk(folder, folder, &mut found);
    }
    found
}

fn folders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A page that is a folder too, names that differ in case, a query, a text file; `/a` has editions.
fn site(edition: &Arc<AtomicUsize>) -> Raw {
    let edition = Arc::clone(edition);
    Raw::start(move |place, stream| {
        let (_, path) = place.split_once('/').unwrap();
        let links = "<a href=a>1</a><a href=A>2</a><a href=a/b.html>3</a><a href='x?q=../..'>4</a><a href=t.txt>5</a>";
        match path {
            "" | "A" | "a/b.html" | "x?q=../.." => {
                let body =
                    format!("<p>page /{path}</p>{}", if path.is_empty() { links } else { "" });
                reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
            }
            "a" => {
                let body = format!("<p>page /a edition {}</p>", edition.load(Ordering::Relaxed));
                reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
            }
            "t.txt" => reply(stream, "200 OK", "Content-Type: text/plain", b"text"),
            _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        }
    })
}

#[test]
fn every_crawl_leaves_its_pages_as_files_and_export_makes_the_same_from_history() {
    let edition = Arc::new(AtomicUsize::new(1));
    let raw = site(&edition);
    let world = World::new(WebOptions::default()).variable("HARVESTMAN_STORE_DIRECTORY", "true");
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let root = world.folder.join("directory");
    let [first] = &folders(&root)[..] else { panic!("{:?}", folders(&root)) };
    let host = format!("127.0.0.1,{}", raw.port);
    assert_eq!(folders(&root.join(first)), [host.as_str()]);
    let kept = files(&root.join(first).join(&host));
    assert_eq!(kept.len(), 5, "{kept:?}");
    assert!(kept["index.html"].starts_with("<p>page /</p>"), "{kept:?}");
    assert_eq!(
        (&kept["a~.html"][..], &kept["a/b.html"][..]),
        ("<p>page /a edition 1</p>", "<p>page /a/b.html</p>")
    );
    assert!(kept.values().any(|body| body == "<p>page /A</p>"), "{kept:?}");
    assert!(kept.values().any(|body| body == "<p>page /x?q=../..</p>"), "{kept:?}");

    edition.store(2, Ordering::Relaxed);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let names = folders(&root);
    assert_eq!(names.len(), 2, "{names:?}");
    let again = files(&root.join(&names[1]).join(&host));
    assert_eq!(again["a~.html"], "<p>page /a edition 2</p>");

    let out = world.temp.path().join("out");
    let out_text = out.to_string_lossy().into_owned();
    let told = world.run(&["export", "directory", "--out", &out_text, "--every-visit", "--json"]);
    assert_eq!(told.exits(0).json()["files"], 10, "{told}");
    assert_eq!(files(&out), files(&root), "the same, from history");
    fs::remove_dir_all(&out).unwrap();
    let told = world.run(&["export", "directory", "--out", &out_text, "--json"]);
    assert_eq!(told.exits(0).json()["versions"], 6, "{told}");
    assert_eq!(files(&out.join(&names[1])).len(), 1, "only what was new then");
    let told =
        world.run(&["export", "directory", "--out", &out_text, "--to", "1 day ago", "--json"]);
    assert_eq!(told.exits(0).json()["versions"], 0, "{told}");
    world.run(&["export", "directory", "--out", &out_text, "--from", "soon"]).exits(2);
    let turned = ["--from", "2026-06-01", "--to", "2026-05-01"];
    let turned = world.run(&[&["export", "directory", "--out", &out_text][..], &turned].concat());
    turned.exits(2).says(&["--from 2026-06-01T00:00:00Z is later than --to"]);
    let day = ["--from", "2026-06-01", "--to", "2026-06-01"];
    world.run(&[&["export", "directory", "--out", &out_text][..], &day].concat()).exits(0);
    let file = world.temp.path().join("a-file");
    fs::write(&file, "in the way").unwrap();
    let refused = world.run(&["export", "directory", "--out", file.to_str().unwrap()]);
    refused.exits(2).says(&["cannot write", "a-file"]);
    assert!(!refused.err.contains("-C"), "{refused}");
    world.run(&["export", "directory", "--out", &out_text, "--site", "x.test"]).exits(2);

    let page = format!("{url}a");
    world.run(&["forget", &page]).exits(0);
    assert_eq!(files(&root).len(), 8, "{:?}", files(&root));
    world.run(&["forget", &format!("127.0.0.1:{}", raw.port)]).exits(0);
    assert_eq!(files(&root).len(), 0, "{:?}", files(&root));
}

#[test]
fn crawls_of_one_second_and_visits_of_one_day_never_overwrite_each_other() {
    let asked = AtomicUsize::new(0);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/clock" => {
            let body = format!("<p>edition {}</p>", asked.fetch_add(1, Ordering::Relaxed));
            reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_STORE_DIRECTORY", "true")
        .variable("HARVESTMAN_REVISIT_PERIOD", "1s");
    let url = format!("http://127.0.0.1:{}/clock", raw.port);
    for _ in 0..6 {
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
    }
    let root = world.folder.join("directory");
    let bodies: Vec<String> = files(&root).into_values().collect();
    let editions: Vec<String> = (0..6).map(|n| format!("<p>edition {n}</p>")).collect();
    assert_eq!(bodies, editions, "in the order of their folders: {:?}", folders(&root));
    // A crawl that never ends has one folder a day, with the last of each page.
    let run = world.start(&["run", "--delay", "0"]);
    world.wait_for("two more visits", |world| world.page(&url)["visits"].as_u64() >= Some(8));
    run.signal("TERM");
    run.wait(PATIENCE).exits(4);
    let visits = world.page(&url)["visits"].as_u64().unwrap();
    assert!(visits >= 8, "{visits} visits");
    for (every, out) in [(true, "all"), (false, "versions")] {
        let out = world.temp.path().join(out);
        let mut args = vec!["export", "directory", "--out", out.to_str().unwrap(), "--json"];
        args.extend(every.then_some("--every-visit"));
        for _ in 0..2 {
            // Once more into the same folder changes nothing.
            let told = world.run(&args);
            assert_eq!(told.exits(0).json()["files"], visits, "{told}");
            let mut found: Vec<String> = files(&out).into_values().collect();
            found.sort();
            found.dedup();
            assert_eq!((found.len(), files(&out).len()), (visits as usize, visits as usize));
        }
    }
}

#[test]
fn a_killed_crawl_has_a_file_for_every_page_it_settled() {
    let web = WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() };
    let world = World::new(web).variable("HARVESTMAN_STORE_DIRECTORY", "true");
    let args = ["crawl", "http://s0.sim.test/", "--delay", "10ms"];
    for _ in 0..3 {
        let running = world.start(&args);
        let before = world.log().len();
        world.wait_for("some pages", |world| world.log().len() > before + 8);
        running.kill();
    }
    world.start(&args).wait(PATIENCE).exits(0);
    let html = world.count(&["--state", "fetched", "--type", "text/html"]);
    let root = world.folder.join("directory");
    let mut urls: Vec<String> = Vec::new();
    for folder in folders(&root) {
        urls.extend(files(&root.join(folder)).into_keys().filter(|name| !name.contains("/~")));
    }
    urls.sort();
    urls.dedup();
    assert!(html > 20, "most are HTML");
    assert_eq!(urls.len() as u64, html, "{urls:?}");
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_written_ends_the_crawl_clearly_and_loses_nothing() {
    let web = WebOptions { pages: PageCount::Fixed(8), ..WebOptions::default() };
    let world = World::new(web).variable("HARVESTMAN_STORE_DIRECTORY", "true");
    fs::create_dir_all(&world.folder).unwrap();
    fs::write(world.folder.join("directory"), "in the way").unwrap();
    let args = ["crawl", "http://s0.sim.test/", "--delay", "0"];
    let told = world.run(&args);
    told.exits(3).says(&["directory"]);
    fs::remove_file(world.folder.join("directory")).unwrap();
    world.run(&args).exits(0);
    assert!(files(&world.folder.join("directory")).len() >= 4);
    let asked = world.visited();
    let mut once = asked.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), asked.len(), "what was archived is not asked for again: {asked:?}");
}
