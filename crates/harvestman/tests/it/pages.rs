//! `pages`: every page once, by any filter and in any order, for people and for programs.

use std::collections::BTreeSet;

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

const HOME: &str = "http://a.raw.test/";

/// A site of a few kinds of pages, and another that it links to.
fn sites() -> Raw {
    Raw::start(|place, stream| {
        let html = "Content-Type: text/html";
        let body = match place {
            "a.raw.test/" => {
                "<title>=home()</title><a href=/docs/one>1</a> <a href=/docs/two>2</a> <a href=/lost>x</a>
                 <a href=/moved>m</a> <a href=/note.txt>t</a> <a href=http://b.raw.test/>b</a>"
            }
            "a.raw.test/docs/one" => "<title>one</title>the first text of the two",
            "a.raw.test/docs/two" => "<title>two</title>another text, which is longer than the first",
            "b.raw.test/" => "<title>b</title><a href=/later?page=1>later</a>",
            "a.raw.test/note.txt" => {
                return reply(stream, "200 OK", "Content-Type: text/plain", b"a note");
            }
            "a.raw.test/moved" => {
                return reply(stream, "301 Moved Permanently", "Location: /docs/two", b"");
            }
            place if place.contains("/new") => "<title>new</title>something that came later",
            _ => return reply(stream, "404 Not Found", html, b"none"),
        };
        reply(stream, "200 OK", html, body.as_bytes());
    })
}

fn crawl(raw: &Raw, world: &World, what: &[&str]) {
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let flags = ["--delay", "0", "--scope", "any", "--resolve", &rule];
    world.run(&[&["crawl"], what, &flags[..]].concat()).exits(0);
}

fn crawled() -> (Raw, World) {
    let raw = sites();
    let world = World::new(WebOptions::default());
    crawl(&raw, &world, &[HOME]);
    (raw, world)
}

fn pages(world: &World, flags: &[&str]) -> Value {
    world.run(&[&["pages", "--json"], flags].concat()).exits(0).json()
}

fn urls(found: &Value) -> Vec<String> {
    let rows = found["rows"].as_array().unwrap();
    rows.iter().map(|row| row["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn filters_leave_the_pages_that_they_name() {
    let (_raw, world) = crawled();
    let all = pages(&world, &[]);
    let wanted = [
        "http://a.raw.test/",
        "http://a.raw.test/docs/one",
        "http://a.raw.test/docs/two",
        "http://a.raw.test/lost",
        "http://a.raw.test/moved",
        "http://a.raw.test/note.txt",
        "http://b.raw.test/",
        "http://b.raw.test/later?page=1",
    ];
    assert_eq!(urls(&all), wanted, "by URL unless somebody says otherwise");
    assert_eq!((&all["total"], &all["next"]), (&8.into(), &Value::Null));
    let only = |flags: &[&str]| urls(&pages(&world, flags));
    assert_eq!(only(&["--site", "b.raw.test"]), wanted[6..]);
    assert_eq!(only(&["--prefix", "http://a.raw.test/docs/*"]), wanted[1..3]);
    assert_eq!(only(&["--state", "redirected"]), [wanted[4]]);
    assert_eq!(only(&["--status", "404"]), [wanted[3], wanted[7]]);
    assert_eq!(only(&["--status", "4xx", "--site", "a.raw.test"]), [wanted[3]]);
    assert_eq!(only(&["--status", "failed"]), [""; 0]);
    assert_eq!(only(&["--type", "text/plain"]), [wanted[5]]);
    assert_eq!(only(&["--type", "text", "--site", "b.raw.test"])[0], wanted[6]);
    assert_eq!(only(&["--seed"]), [HOME]);
    assert_eq!(only(&["--spider", "default"]).len(), 8);
    assert_eq!(only(&["--visited-since", "1 hour ago"]).len(), 8);
    assert_eq!(only(&["--visited-before", "1 hour ago"]), [""; 0]);
    assert_eq!(only(&["--changed-since", "2999-01-01"]), [""; 0]);
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_can() {
    let (_raw, world) = crawled();
    let refused = |flags: &[&str], words: &[&str]| {
        world.run(&[&["pages"], flags].concat()).exits(2).says(words);
    };
    refused(&["--state", "lost"], &["is no state", "redirected"]);
    refused(&["--sort", "colour"], &["is no sort", "visited"]);
    refused(&["--status", "44"], &["is no status", "4xx"]);
    refused(&["--site", "c.raw.test"], &["c.raw.test is not in this collection"]);
    refused(&["--spider", "nobody"], &["no spider"]);
    refused(&["--after", "rubbish"], &["is not a cursor"]);
    refused(&["--site", "b.raw.test", "--prefix", HOME], &["another site"]);
    refused(&["--visited-since", "soon"], &["--visited-since 2026-11-16"]);
    refused(&["--json", "--csv"], &["both want standard output"]);
}

#[test]
fn a_row_has_every_field_of_a_document() {
    let (_raw, world) = crawled();
    let found = pages(&world, &["--prefix", "http://a.raw.test/docs/one"]);
    let row = &found["rows"][0];
    assert_eq!(
        (&row["status"], &row["state"], &row["title"]),
        (&200.into(), &"fetched".into(), &"one".into())
    );
    assert_eq!(
        (&row["level"], &row["visits"], &row["seed"]),
        (&1.into(), &1.into(), &false.into())
    );
    assert_eq!((&row["media_type"], &row["site"]), (&"text/html".into(), &"a.raw.test".into()));
    assert_eq!((&row["spider"], &row["requisite"]), (&"default".into(), &false.into()));
    assert!(row["bytes"].as_u64().unwrap() > row["text_bytes"].as_u64().unwrap(), "{row:#}");
    assert_eq!(row["content_hash"].as_str().unwrap().len(), 16);
    for time in ["found", "first_fetched", "visited", "due"] {
        assert!(row[time].as_str().unwrap().ends_with('Z'), "{time}: {row:#}");
    }
    let lost = &pages(&world, &["--prefix", "http://a.raw.test/lost"])["rows"][0];
    assert_eq!((&lost["status"], &lost["state"]), (&404.into(), &"gone".into()), "{lost:#}");
}

/// All URLs, piece by piece.
fn in_pieces(world: &World, flags: &[&str], mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    for piece in 0..100 {
        let mut args = [flags, &["--limit", "2"]].concat();
        if let Some(after) = &after {
            args.extend(["--after", after]);
        }
        let found = pages(world, &args);
        all.extend(urls(&found));
        match found["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return all,
        }
        between(piece);
    }
    panic!("no end: {all:?}");
}

#[test]
fn a_cursor_covers_every_page_once_in_every_order() {
    let (_raw, world) = crawled();
    let whole: BTreeSet<String> = urls(&pages(&world, &[])).into_iter().collect();
    for sort in ["id", "url", "due", "visited", "changed", "found", "visits", "bytes", "level"] {
        for more in [&[][..], &["--site", "a.raw.test"]] {
            let forward = in_pieces(&world, &[&["--sort", sort], more].concat(), |_| {});
            let unique: BTreeSet<String> = forward.iter().cloned().collect();
            assert_eq!(forward.len(), unique.len(), "{sort}: {forward:?}");
            assert_eq!(unique.len(), if more.is_empty() { whole.len() } else { 6 }, "{sort}");
            let found = pages(&world, &[&["--sort", sort, "--reverse"], more].concat());
            let backward: Vec<String> = urls(&found).into_iter().rev().collect();
            assert_eq!(forward, backward, "{sort}");
            let pieces =
                in_pieces(&world, &[&["--sort", sort, "--reverse"], more].concat(), |_| {});
            assert_eq!(pieces, urls(&found), "{sort}, in pieces");
        }
    }
    let sorted = |sort: &str, field: &str| {
        let found = pages(&world, &["--sort", sort]);
        let rows = found["rows"].as_array().unwrap();
        rows.iter().map(|row| row[field].as_u64().unwrap_or(0)).collect::<Vec<u64>>()
    };
    assert!(sorted("bytes", "bytes").is_sorted_by(|a, b| a >= b));
    assert!(sorted("level", "level").is_sorted());
}

#[test]
fn pages_that_come_between_two_pieces_repeat_and_hide_none() {
    let (raw, world) = crawled();
    let whole = urls(&pages(&world, &[]));
    for sort in ["id", "url", "found"] {
        let found = in_pieces(&world, &["--sort", sort], |piece| {
            if piece == 1 {
                let new = format!("http://a.raw.test/new-{sort}");
                crawl(&raw, &world, &[&new, "http://c.raw.test/new"]);
            }
        });
        let unique: BTreeSet<&String> = found.iter().collect();
        assert_eq!(unique.len(), found.len(), "{sort}: {found:?}");
        for url in &whole {
            assert!(unique.contains(url), "{sort} lost {url}: {found:?}");
        }
    }
}

#[test]
fn tables_fit_80_columns_and_csv_runs_no_formula() {
    let (raw, world) = crawled();
    let long = format!("http://a.raw.test/new/{}", "long/".repeat(40));
    crawl(&raw, &world, &[&long]);
    let table = world.run(&["pages"]);
    table.exits(0);
    assert!(table.out.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.out.starts_with("state ") && table.out.ends_with("9 pages\n"), "{table}");
    let first = world.run(&["pages", "--limit", "2"]);
    first.exits(0).says(&["for more, repeat with: --after url.f."]);
    assert!(first.out.ends_with("2 of 9 pages, by url\n"), "{first}");

    let csv = world.run(&["pages", "--csv"]);
    let lines: Vec<&str> = csv.exits(0).out.split("\r\n").collect();
    assert!(lines[0].starts_with("url,site,spider,state,"), "{csv}");
    assert_eq!(lines.len(), 11, "{csv}");
    assert!(lines[1].contains(",'=home(),"), "{csv}");
    let nothing = world.run(&["pages", "--site", "a.raw.test", "--state", "candidate"]);
    assert_eq!(nothing.exits(0).out, "");
}
