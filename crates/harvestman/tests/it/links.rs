//! `links` and `report broken`: who links to whom, what is broken, and nothing that is no longer so.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::{Done, World},
};

const HOME: &str = "http://a.raw.test/";
const LOST: &str = "http://a.raw.test/lost";
const OTHER: &str = "http://b.raw.test/";

/// Two sites that link to each other.
fn sites() -> Raw {
    Raw::start(|place, stream| {
        let html = "Content-Type: text/html";
        let body = match place {
            "a.raw.test/" => {
                "<title>home</title><a href='/two'>the second</a> <a href='/plain'>plain</a>
                 <a href='/lost'>=lost, \"sadly\"</a> <a rel=nofollow href='/lost'>again</a>
                 <a href='http://b.raw.test/'>a neighbour</a> <a href='/moved'>moved</a>"
            }
            "a.raw.test/two" => "<title>two</title><a href='/lost'>also lost</a><a href='/'>up</a>",
            "a.raw.test/plain" => "<title>plain</title>first <a href='/two'>to the second</a>",
            "b.raw.test/" => "<title>b</title><a rel=nofollow href='http://a.raw.test/two'>you</a>",
            "a.raw.test/moved" => {
                return reply(stream, "301 Moved Permanently", "Location: /two", b"");
            }
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
    crawl(&raw, &world, &[HOME, OTHER]);
    (raw, world)
}

fn links(world: &World, url: &str, more: &[&str]) -> Value {
    let done = world.run(&[&["links", url, "--json"], more].concat());
    done.exits(0).json()
}

/// (URL, anchor, status) of each row, by URL.
fn rows(found: &Value) -> Vec<(&str, &str, Option<u64>)> {
    let rows = found["rows"].as_array().unwrap();
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap();
            (text("url"), text("anchor"), row["status"].as_u64())
        })
        .collect();
    rows.sort_unstable();
    rows
}

#[test]
fn links_in_and_out_have_anchors_and_statuses() {
    let (_raw, world) = crawled();
    let two = links(&world, "http://a.raw.test/two", &[]);
    let wanted = [
        (HOME, "the second", Some(200)),
        ("http://a.raw.test/moved", "", Some(301)),
        ("http://a.raw.test/plain", "to the second", Some(200)),
        (OTHER, "you", Some(200)),
    ];
    assert_eq!(rows(&two["incoming"]), wanted, "{two:#}");
    assert_eq!((&two["incoming"]["total"], &two["incoming"]["next"]), (&4.into(), &().into()));
    assert_eq!(rows(&two["outgoing"]), [(HOME, "up", Some(200)), (LOST, "also lost", Some(404))]);
    assert_eq!((&two["status"], &two["state"]), (&200.into(), &"fetched".into()));
    let row = |url: &str| {
        let rows = two["incoming"]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["url"] == url).unwrap().clone()
    };
    assert_eq!(row("http://a.raw.test/moved")["kind"], "redirect");
    assert_eq!((&row(OTHER)["nofollow"], &row(HOME)["nofollow"]), (&true.into(), &false.into()));

    let home = links(&world, HOME, &["--out"]);
    assert!(home["incoming"].is_null(), "{home:#}");
    let lost = home["outgoing"]["rows"].as_array().unwrap();
    let lost = lost.iter().find(|row| row["url"] == LOST).unwrap();
    assert_eq!((&lost["links"], &lost["nofollow"]), (&2.into(), &false.into()), "{lost:#}");
    assert_eq!((&lost["state"], &lost["current"]), (&"gone".into(), &true.into()), "{lost:#}");
    let fields = ["anchor", "at", "current", "failure", "kind", "links", "nofollow", "state"];
    let has: Vec<&str> = lost.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(fields.iter().all(|field| has.contains(field)), "{has:?}");

    let first = links(&world, "http://a.raw.test/two", &["--in", "--limit", "1"]);
    assert_eq!(rows(&first["incoming"]).len(), 1);
    assert_eq!(first["incoming"]["total"], 4);
    assert!(first["outgoing"].is_null());

    let text = world.run(&["links", "http://a.raw.test/two"]);
    text.exits(0);
    assert!(text.out.contains("linked from 4 pages") && text.out.contains("(nofollow) you"));
    assert!(text.out.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.err, "");
    world.run(&["links", "http://nobody.raw.test/"]).exits(2).says(&["not in this collection"]);
    world.run(&["links", HOME, "--json", "--csv"]).exits(2);
}

/// All rows of an answer, one at a time.
fn one_by_one(world: &World, command: &[&str], list: &str) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let mut args = [command, &["--limit", "1", "--json"]].concat();
        args.extend(after.iter().flat_map(|after| ["--after", after]));
        let answer = world.run(&args).exits(0).json();
        let answer = if list.is_empty() { &answer } else { &answer[list] };
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{answer:#}");
        found.extend(rows.clone());
        match answer["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return found,
        }
    }
}

#[test]
fn long_answers_are_read_in_pieces() {
    let (_raw, world) = crawled();
    let two = "http://a.raw.test/two";
    for (flags, list) in [
        (&["--in"][..], "incoming"),
        (&["--out"], "outgoing"),
        (&["--in", "--all"], "incoming"),
        (&["--out", "--all"], "outgoing"),
    ] {
        let whole = links(&world, two, flags)[list]["rows"].clone();
        let pieces = one_by_one(&world, &[&["links", two], flags].concat(), list);
        assert_eq!(Value::from(pieces), whole, "{flags:?}");
    }
    let broken = ["report", "broken", "--any"];
    let whole = world.run(&[&broken[..], &["--json"]].concat()).json()["rows"].clone();
    assert_eq!(Value::from(one_by_one(&world, &broken, "")), whole);
    for wrong in [&["--in", "--after", "x"][..], &["--after", "1-1"]] {
        let args = [&["links", two], wrong].concat();
        world.run(&args).exits(2).says(&["is not a cursor"]);
    }
}

#[test]
fn a_broken_page_is_reported_with_the_pages_that_link_to_it() {
    let (_raw, world) = crawled();
    let broken = world.run(&["report", "broken", "--json"]).exits(0).json();
    assert_eq!((&broken["total"], &broken["next"]), (&1.into(), &().into()), "{broken:#}");
    let lost = &broken["rows"][0];
    assert_eq!((&lost["url"], &lost["status"]), (&LOST.into(), &404.into()), "{broken:#}");
    assert!(lost["since"].is_string() && lost["visited"].is_string(), "{broken:#}");
    let referrers =
        [(HOME, "=lost, \"sadly\"", Some(200)), ("http://a.raw.test/two", "also lost", Some(200))];
    assert_eq!(rows(&lost["referrers"]), referrers, "{broken:#}");
    let elsewhere = world.run(&["report", "broken", "--site", "b.raw.test"]);
    elsewhere.exits(0).says(&["no broken pages"]);

    let text = world.run(&["report", "broken", "--site", "a.raw.test"]);
    text.exits(0);
    assert!(text.out.contains("1 broken page\n") && text.out.contains("linked from 2 pages"));
    assert!(text.out.lines().all(|line| line.chars().count() <= 80), "{text}");

    let table = world.run(&["report", "broken", "--csv"]);
    let lines: Vec<&str> = table.exits(0).out.split("\r\n").collect();
    assert_eq!(lines[0], "url,status,failure,state,since,visited,referrers,referrer,anchor");
    assert_eq!(lines.len(), 4, "a header, two referrers and the end: {table}");
    assert!(lines[1].starts_with(&format!("{LOST},404,,gone,")), "{table}");
    assert!(table.out.contains(",2,http://a.raw.test/,\"'=lost, \"\"sadly\"\"\"\r\n"), "{table}");
    let table = world.run(&["links", HOME, "--out", "--csv"]);
    let head = "direction,url,anchor,kind,nofollow,links,status,failure,state,current,at\r\n";
    assert!(table.exits(0).out.starts_with(head), "{table}");
    let row = format!("out,{LOST},\"'=lost, \"\"sadly\"\"\",a,false,2,404,,gone,true,");
    assert!(table.out.contains(&row), "{table}");
}

#[test]
fn nothing_names_a_forgotten_site() {
    let (_raw, world) = crawled();
    let names = |done: &Done| done.exits(0).out.contains("b.raw.test");
    let asks = |all: &[&str]| {
        let asked = [&["links", "http://a.raw.test/two"], all].concat();
        names(&world.run(&asked)) || names(&world.run(&[&["links", HOME], all].concat()))
    };
    assert!(asks(&[]) && asks(&["--json"]));
    world.run(&["forget", "b.raw.test"]).exits(0);
    for more in [&[][..], &["--all"], &["--json", "--all"], &["--csv"]] {
        assert!(!asks(more), "{more:?}");
    }
    assert!(!names(&world.run(&["report", "broken", "--any", "--json"])));
    world.run(&["links", OTHER]).exits(2);
    let two = links(&world, "http://a.raw.test/two", &["--in"]);
    assert_eq!(two["incoming"]["total"], 3, "the others are still there: {two:#}");
}

#[test]
fn a_page_that_came_back_unchanged_has_the_status_of_its_last_visit() {
    let round = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&round);
    let raw = Raw::start(move |place, stream| {
        let html = "Content-Type: text/html";
        match (place, served.load(Ordering::Relaxed)) {
            ("a.raw.test/", _) => reply(stream, "200 OK", html, b"<a href=/two>two</a>"),
            ("a.raw.test/two", 1) => reply(stream, "404 Not Found", html, b"none"),
            ("a.raw.test/two", _) => reply(stream, "200 OK", html, b"<p>the same as before</p>"),
            _ => reply(stream, "404 Not Found", html, b"none"),
        }
    });
    let world = World::new(WebOptions::default());
    for (visit, status) in [(0, 200), (1, 404), (2, 200)] {
        round.store(visit, Ordering::Relaxed);
        crawl(&raw, &world, &[HOME, "--fresh"]);
        let found = links(&world, HOME, &["--out"]);
        assert_eq!(found["outgoing"]["rows"][0]["status"], status, "visit {visit}: {found:#}");
    }
}
