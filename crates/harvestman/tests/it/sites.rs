//! `sites`: every site once, by any filter and in any order, for people and for programs.

use std::collections::BTreeSet;

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

/// Three sites of two domains, linked in a row.
fn sites() -> Raw {
    Raw::start(|place, stream| {
        let body = match place {
            "a.one.test/" => "<a href=/x>x</a><a href=/y?z=1>y</a><a href=http://b.one.test/>b</a>",
            "b.one.test/" => "<a href=http://two.test/>two</a><a href=/lost>lost</a>",
            "two.test/" | "new.one.test/" | "a.one.test/x" | "a.one.test/y?z=1" => {
                "<title>text</title>some text"
            }
            _ => return reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        };
        reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
    })
}

fn crawl(raw: &Raw, world: &World, what: &[&str]) {
    let rule = format!("*.test=127.0.0.1:{}", raw.port);
    let flags = ["--delay", "0", "--scope", "any", "--resolve", &rule];
    world.run(&[&["crawl"], what, &flags[..]].concat()).exits(0);
}

fn crawled() -> (Raw, World) {
    let raw = sites();
    let world = World::new(WebOptions::default());
    crawl(&raw, &world, &["http://a.one.test/"]);
    (raw, world)
}

fn list(world: &World, flags: &[&str]) -> Value {
    world.run(&[&["sites", "--json"], flags].concat()).exits(0).json()
}

fn names(found: &Value) -> Vec<String> {
    let rows = found["rows"].as_array().unwrap();
    rows.iter().map(|row| row["site"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sites_are_filtered_and_have_every_field() {
    let (_raw, world) = crawled();
    let all = list(&world, &[]);
    assert_eq!(
        names(&all),
        ["a.one.test", "b.one.test", "two.test"],
        "those with most pages first"
    );
    assert_eq!(
        (&all["total"], &all["next"], &all["sort"]),
        (&3.into(), &Value::Null, &"known".into())
    );
    let only = |flags: &[&str]| names(&list(&world, flags));
    assert_eq!(only(&["--domain", "one.test", "--sort", "site"]), ["a.one.test", "b.one.test"]);
    assert_eq!(
        only(&["--domain", "b.one.test", "--sort", "site"]).len(),
        2,
        "a host names its domain"
    );
    assert_eq!(only(&["--seeded"]), ["a.one.test"]);
    assert_eq!(only(&["--state", "active"]), [""; 0]);
    assert_eq!(only(&["--state", "waiting"]).len(), 3);
    assert_eq!(only(&["--down"]), [""; 0]);
    let first = &all["rows"][0];
    let counts = ["known", "fetched", "failed", "visits"].map(|name| first[name].as_u64().unwrap());
    assert_eq!(counts, [3, 3, 0, 3], "{first:#}");
    assert_eq!((&first["domain"], &first["seeded"]), (&"one.test".into(), &true.into()));
    assert!(first["bytes"].as_u64() > Some(100) && first["due"].is_string(), "{first:#}");
    assert_eq!((&first["address"], &first["waiting"]), (&"127.0.0.1".into(), &0.into()));
    assert!(first["resolved"].as_str().unwrap().ends_with('Z'), "{first:#}");
    let urls = ["urls", "static", "dynamic"].map(|name| first[name].as_u64().unwrap());
    assert_eq!(urls, [3, 2, 1], "{first:#}");
    for name in ["urls", "duplicates", "requisites", "response_ms", "backoff", "down_since"] {
        assert!(first.get(name).is_some(), "{name}: {first:#}");
    }
}

#[test]
fn a_cursor_covers_every_site_once_also_when_others_come() {
    let (raw, world) = crawled();
    for sort in ["site", "known", "fetched", "failed", "visits", "bytes", "due"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        for piece in 0..20 {
            let mut flags = vec!["--limit", "1"];
            match piece {
                0 => flags.extend(["--sort", sort]),
                _ => flags.extend(["--after", &after]),
            }
            let rows = list(&world, &flags);
            found.extend(names(&rows));
            if piece == 0 && sort == "site" {
                crawl(&raw, &world, &["http://two.test/", "http://new.one.test/"]);
            }
            match rows["next"].as_str() {
                Some(next) => after = next.to_owned(),
                None => break,
            }
        }
        let unique: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(unique.len(), found.len(), "{sort}: {found:?}");
        for site in ["a.one.test", "b.one.test", "two.test"] {
            assert!(unique.contains(site), "{sort} lost {site}: {found:?}");
        }
        let backward = names(&list(&world, &["--sort", sort, "--reverse"]));
        assert!(backward.iter().rev().eq(&found), "{sort}: {found:?} {backward:?}");
    }
}

#[test]
fn the_table_fits_80_columns_and_csv_has_every_field() {
    let (raw, world) = crawled();
    let long = format!("http://{}.test/", "long-name".repeat(6));
    world
        .run(&[
            "crawl",
            &long,
            "--delay",
            "0",
            "--resolve",
            &format!("*.test=127.0.0.1:{}", raw.port),
        ])
        .exits(1);
    for args in [&["sites"][..], &["status"]] {
        let table = world.run(args);
        assert!(table.exits(0).out.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
    let csv = world.run(&["sites", "--csv"]);
    let lines: Vec<&str> = csv.exits(0).out.split("\r\n").collect();
    assert!(lines[0].starts_with("site,domain,seeded,state,"), "{csv}");
    assert_eq!(lines.len(), 6, "{csv}");
    world.run(&["sites", "--sort", "colour"]).exits(2).says(&["is no sort", "known"]);
    world.run(&["sites", "--state", "lost"]).exits(2).says(&["is no state", "resting"]);
    world.run(&["sites", "--after", "x"]).exits(2).says(&["is not a cursor"]);
}
