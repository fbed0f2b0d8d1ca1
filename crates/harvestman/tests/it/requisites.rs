//! `crawl --requisites`: the parts of all pages, from wherever they are, politely, and never as pages.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use simweb::{PageCount, PageId, PageOptions, RobotsPlan, WebOptions, checks};
use store::warc::Record;

use crate::{
    archive::tool,
    ask::strings,
    audit,
    raw::{Raw, reply},
    world::World,
};

const HOME: &str = "http://s0.sim.test/";

#[test]
fn all_parts_of_all_pages_are_fetched_once_and_nothing_else_of_their_hosts() {
    let world = world(12);
    let done = world.run(&["crawl", HOME, "--requisites", "--delay", "0", "--json"]);
    done.exits(0);
    let wanted: BTreeSet<String> = (0..12).flat_map(|index| parts(&world, index)).collect();
    assert_eq!(visited_parts(&world), wanted);
    assert!(wanted.iter().any(|part| part.starts_with("s1.")), "{wanted:?}");
    assert_eq!(pages(&world, 0).len(), 12);
    assert_eq!(pages(&world, 1), BTreeSet::new(), "a host that only serves parts is not crawled");
    let log = world.log();
    assert!(checks::repeats(&log).is_empty(), "{:?}", checks::repeats(&log));
    assert!(checks::disallowed(&log, &world.web).is_empty(), "robots.txt of each host comes first");
    let summary = done.json();
    assert_eq!(summary["pages"]["fetched"], 12, "{summary}");
    assert_eq!(summary["requisites"]["fetched"], wanted.len(), "{summary}");
    assert_eq!(summary["pages"]["failed"], 0, "{summary}");
    world.run(&["check"]).exits(0);
}

#[test]
fn without_the_flag_no_part_is_asked_for() {
    let world = world(6);
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    assert_eq!(visited_parts(&world), BTreeSet::new());
    assert_eq!(pages(&world, 0).len(), 6);
}

#[test]
fn the_pauses_of_every_host_are_kept_for_parts_too() {
    let world = world(2);
    let pause = Duration::from_millis(300);
    world.run(&["crawl", HOME, "--requisites", "--delay", "300ms"]).exits(0);
    // What sockets and schedulers of a busy machine may take from a pause.
    let broken = checks::pauses(&world.log(), pause, Duration::from_millis(120));
    assert!(broken.is_empty(), "{broken:?}");
    let wanted: BTreeSet<String> = (0..2).flat_map(|index| parts(&world, index)).collect();
    assert_eq!(visited_parts(&world), wanted);
}

#[test]
fn parts_come_before_the_next_level_of_their_site() {
    let world = world(30);
    world.run(&["crawl", HOME, "--requisites", "--delay", "0"]).exits(0);
    let visited: Vec<String> =
        world.visited().into_iter().filter(|place| place.starts_with("s0.")).collect();
    let place = |wanted: &str| visited.iter().position(|place| place == wanted).unwrap();
    let deepest = (0..30).max_by_key(|index| world.web.level(*index)).unwrap();
    assert!(world.web.level(deepest) > 1);
    let deepest = place(&format!("s0.sim.test{}", world.web.path(0, deepest)));
    for part in parts(&world, 0).into_iter().filter(|part| part.starts_with("s0.")) {
        assert!(place(&part) < deepest, "{part}: {visited:?}");
    }
}

#[test]
fn a_limit_on_pages_is_exact_and_the_parts_of_those_pages_still_come() {
    for manners in [&["--delay", "10ms"][..], &["--delay", "0", "--connections", "8"]] {
        let world = world(40);
        for limit in [3, 3, 9] {
            let text = limit.to_string();
            let mut args = vec!["crawl", HOME, "--requisites", "--pages", &text];
            args.extend(manners);
            world.run(&args).exits(0).says(&["page limit reached"]);
            let got = pages(&world, 0);
            assert_eq!(got.len(), limit, "{manners:?}");
            let wanted: BTreeSet<String> =
                got.iter().flat_map(|index| parts(&world, *index)).collect();
            assert_eq!(visited_parts(&world), wanted, "{manners:?}");
        }
        assert!(checks::repeats(&world.log()).is_empty());
    }
}

#[test]
fn a_limit_on_pages_of_a_site_leaves_their_parts_alone() {
    let world = world(40);
    world.run(&["crawl", HOME, "--requisites", "--site-pages", "4", "--delay", "0"]).exits(0);
    let got = pages(&world, 0);
    assert_eq!(got.len(), 4);
    let wanted: BTreeSet<String> = got.iter().flat_map(|index| parts(&world, *index)).collect();
    assert_eq!(visited_parts(&world), wanted);
}

#[test]
fn robots_txt_and_blocks_of_another_host_keep_its_parts_away() {
    let mut options = options(5);
    let forbidden = RobotsPlan::Disallow(vec!["/parts/app.js".to_owned()]);
    options.robots_of.insert("s1.sim.test".to_owned(), forbidden);
    let world = World::new(options);
    world.run(&["init"]).exits(0);
    world.run(&["block", "http://s1.sim.test/parts/theme.css"]).exits(0);
    world.run(&["crawl", HOME, "--requisites", "--delay", "0"]).exits(0);
    let visited = visited_parts(&world);
    for away in ["app.js", "theme.css", "body.woff2"] {
        assert!(!visited.contains(&format!("s1.sim.test/parts/{away}")), "{away}: {visited:?}");
    }
    assert!(visited.contains("s1.sim.test/parts/0.png"));
    let asked = world.log().iter().filter(|entry| entry.path() == "/robots.txt").count();
    assert_eq!(asked, 2, "of each host once");
}

#[test]
fn a_second_crawl_fetches_no_part_again_and_a_fresh_one_makes_revisits() {
    let world = world(5);
    world.run(&["crawl", HOME, "--requisites", "--delay", "0"]).exits(0);
    let same = |record: &Record| record.kind() == "revisit";
    assert!(audit::read_so_far(&world).iter().any(same), "equal pictures are stored once");
    world.forget_log();
    world.run(&["crawl", HOME, "--requisites", "--delay", "0"]).exits(0);
    assert_eq!(world.visited(), Vec::<String>::new());
    world.run(&["crawl", "--fresh", "--requisites", "--delay", "0"]).exits(0);
    let wanted: BTreeSet<String> = (0..5).flat_map(|index| parts(&world, index)).collect();
    assert_eq!(visited_parts(&world), wanted);
    for part in world.pages(&["--requisites"]) {
        let seen = (&part["visits"], &part["compared"], &part["changes"]);
        assert_eq!(seen, (&2.into(), &1.into(), &0.into()), "no part has changed: {part}");
    }
}

#[test]
fn a_part_that_is_linked_to_is_a_page_and_read_for_its_links() {
    let raw = Raw::start(|place, stream| match place {
        "a.test/" => html(stream, "<object data=/x></object><img src=/moved><a href=/one>1</a>"),
        "a.test/one" => html(stream, "<a href=/x>x</a>"),
        "a.test/x" => html(stream, "<a href=/behind>b</a>"),
        "a.test/behind" => html(stream, "end"),
        "a.test/moved" => reply(stream, "302 Found", "Location: /p.png", b""),
        "a.test/p.png" => reply(stream, "200 OK", "Content-Type: image/png", b"\x89PNG\r\n\x1a\n"),
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = world(1);
    let args = crawl_raw(&world, &raw, &["--requisites", "--json"]);
    let summary = args.json();
    let visits = raw.asked().into_iter().fold(BTreeMap::new(), |mut visits, place| {
        *visits.entry(place).or_insert(0) += 1;
        visits
    });
    let once = ["a.test/", "a.test/one", "a.test/behind", "a.test/moved", "a.test/p.png"];
    assert!(once.iter().all(|place| visits[*place] == 1), "{visits:?}");
    assert_eq!(visits["a.test/x"], 2, "as a part, then as a page");
    assert_eq!(visits.len(), 6, "{visits:?}");
    assert_eq!(summary["pages"]["fetched"], 4, "{summary}");
    let requisites = strings(&world.pages(&["--requisites"]), "url");
    let paths: Vec<&str> = requisites.iter().filter_map(|url| url.rsplit('/').next()).collect();
    assert_eq!(paths, ["moved", "p.png"]);
    world.run(&["check"]).exits(0);
}

#[test]
fn explain_and_show_know_a_part_from_a_page() {
    let world = world(2);
    world.run(&["crawl", HOME, "--requisites", "--delay", "0"]).exits(0);
    let url = "http://s1.sim.test/parts/theme.css";
    let explained = world.run(&["explain", url]);
    explained.exits(0);
    assert!(explained.out.contains("a part of pages, not a page"), "{explained}");
    assert!(!explained.out.contains("refused"), "{explained}");
    assert!(!explained.out.contains("scope"), "{explained}");
    let shown = world.run(&["show", url, "--html"]);
    assert!(shown.exits(0).out.contains("@font-face"), "{shown}");
}

#[test]
fn parts_have_a_limit_of_their_own_on_their_size() {
    let raw = Raw::start(|place, stream| match place {
        "a.test/" => html(stream, "<img src=/big><img src=/small>"),
        "a.test/big" => reply(stream, "200 OK", "Content-Type: image/png", &[7; 9_000]),
        "a.test/small" => reply(stream, "200 OK", "Content-Type: image/png", &[7; 4_000]),
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = world(1)
        .variable("HARVESTMAN_FETCH_BODY_BYTES_MAX", "1KB")
        .variable("HARVESTMAN_FETCH_REQUISITE_BYTES_MAX", "5KB");
    crawl_raw(&world, &raw, &["--requisites"]);
    let parts = world.pages(&["--requisites", "--state", "fetched"]);
    let urls = strings(&parts, "url");
    assert!(urls[0].ends_with("/big") && urls[1].ends_with("/small"), "{urls:?}");
    let shown = |url: &str| world.run(&["show", url, "--html"]).exits(0).out.clone();
    assert_eq!(shown(&urls[0]).len(), 5_000, "cut at the limit of parts");
    assert_eq!(shown(&urls[1]).len(), 4_000, "longer than a page may be");
}

#[test]
fn a_kill_at_any_moment_loses_no_part_and_no_page() {
    let world = world(12);
    let args = ["crawl", HOME, "--requisites", "--pages", "6", "--delay", "10ms"];
    for least in [3, 12, 25, 40] {
        let mut running = world.start(&args);
        // The last life may end by itself before.
        let mut over = false;
        while !over && world.log().len() < least {
            std::thread::sleep(std::time::Duration::from_millis(10));
            over = !running.is_running();
        }
        running.kill();
    }
    world.run(&args).exits(0);
    let got = pages(&world, 0);
    assert_eq!(got.len(), 6);
    let wanted: BTreeSet<String> = got.iter().flat_map(|index| parts(&world, *index)).collect();
    assert_eq!(visited_parts(&world), wanted);
    world.run(&["check"]).exits(0);
}

#[test]
fn pywb_replays_pages_with_all_their_parts() {
    let world = world(6);
    world.run(&["crawl", HOME, "--requisites", "--delay", "0"]).exits(0);
    let ok = strings(&world.pages(&["--requisites", "--status", "200"]), "url");
    for part in (0..6).flat_map(|index| parts(&world, index)) {
        assert!(ok.contains(&format!("http://{part}")), "{part} is not archived: {ok:?}");
    }
    let Some(said) = tool(&world, "pywb_replay.py") else { return };
    assert!(said.contains("replayed byte for byte"), "{said}");
}

fn html(stream: &mut std::net::TcpStream, body: &str) {
    reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
}

/// Crawls `a.test` of a server of a few lines.
fn crawl_raw(world: &World, raw: &Raw, more: &[&str]) -> crate::world::Done {
    let url = format!("http://a.test:{}/", raw.port);
    let mut args = vec!["crawl", &url, "--delay", "0", "--resolve", "a.test=127.0.0.1"];
    args.extend(more);
    let done = world.run(&args);
    done.exits(0);
    done
}

/// Of a page of the first site, as `host/path`.
fn parts(world: &World, index: usize) -> Vec<String> {
    world.web.parts(PageId { site: 0, index })
}

fn visited_parts(world: &World) -> BTreeSet<String> {
    let is_part = |path: &str| {
        path == "/style.css" || path.starts_with("/parts/") || path.starts_with("/img/")
    };
    let visits = world.visits();
    let parts = visits.iter().filter(|visit| is_part(visit.path()));
    parts.map(|visit| format!("{}{}", visit.host, visit.target)).collect()
}

/// Numbers of the pages of a site that were given out.
fn pages(world: &World, site: usize) -> BTreeSet<usize> {
    let host = world.web.host(site);
    let visits = world.visits();
    let own = visits.iter().filter(|visit| *visit.host == *host);
    own.filter_map(|visit| world.web.index_of(site, &visit.target)).collect()
}

fn options(pages: usize) -> WebOptions {
    let page = PageOptions { children: 3, bytes_mean: 3_000.0, ..PageOptions::default() };
    let pages = PageCount::Fixed(pages);
    WebOptions { sites: 2, pages, page, requisites: true, ..WebOptions::default() }
}

fn world(pages: usize) -> World {
    World::new(options(pages))
}
