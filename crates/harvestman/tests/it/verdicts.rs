//! Verdicts on URLs that look idle or empty: as narrow as the evidence, looked at again, and taken back where they
//! were wrong. Beside each trap stands the honest site that looks like it, and of that every page comes.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

/// A site of HTML pages; `None` is 404. The page is given its path and query.
fn site(page: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Raw {
    Raw::start(move |place, stream| {
        let at = place.find('/').unwrap_or(place.len());
        match page(&place[at..]) {
            Some(body) => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
            None => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        }
    })
}

fn page(title: &str, text: &str, links: impl IntoIterator<Item = String>) -> Option<String> {
    let links: String = links.into_iter().map(|l| format!("<a href=\"{l}\">more</a> ")).collect();
    Some(format!("<title>{title}</title><p>{text}</p>{links}"))
}

/// Sixty words that are others for each seed.
fn text(seed: &str) -> String {
    let mut number = seed.bytes().fold(7u64, |n, b| mixed(n ^ u64::from(b)));
    let mut word = || {
        number = mixed(number);
        ["ba", "de", "gi", "lo", "mu", "na", "re", "ti"]
            .map(|part| part.repeat(1 + (number >> (part.len() * 7)) as usize % 2))
            .concat()
            .chars()
            .skip((number >> 40) as usize % 9)
            .take(3 + (number >> 50) as usize % 5)
            .collect::<String>()
    };
    (0..60).map(|_| word() + " ").collect()
}

fn mixed(n: u64) -> u64 {
    (n ^ (n >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
}

fn hex(n: u64) -> String {
    format!("{:016x}{:04x}", mixed(n + 1), n)
}

#[test]
fn pages_that_lack_what_is_watched_are_not_copies_of_each_other() {
    let raw = site(|at| {
        let number = at.strip_prefix("/p").map_or(Some(0), |n| n.parse::<u64>().ok())?;
        let links = [format!("/p{}", number + 1), "/".to_owned()];
        (number <= 40).then(|| page(at, &text(at), links)).flatten()
    });
    let world = World::new(WebOptions::default()).variable("HARVESTMAN_REVISIT_WATCH", "#price");
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    assert_eq!(world.status()["pages"]["fetched"], 41);
}

/// Crawls it; what was asked for, path and query, each once, and how many requests that were.
fn crawled(raw: &Raw) -> (World, BTreeSet<String>, usize) {
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let asked = raw.asked();
    let paths = asked.iter().map(|place| place[place.find('/').unwrap()..].to_owned()).collect();
    (world, paths, asked.len())
}

fn missing(asked: &BTreeSet<String>, wanted: impl Iterator<Item = String>) -> Vec<String> {
    wanted.filter(|path| !asked.contains(path)).collect()
}

#[test]
fn one_license_for_all_files_does_not_keep_the_files_away() {
    let raw = site(|path| match path {
        "/" => page("Files", &text("home"), ["/c/1".to_owned(), "/x".to_owned()]),
        "/x" => page("X", &text("x"), ["/c/2".to_owned()]),
        "/c/1" => page("C", &text("1"), (0..40).map(|n| format!("/f/{}/license", hex(n)))),
        "/c/2" => page("C", &text("2"), (0..60).map(|n| format!("/f/{}/view", hex(n)))),
        path if path.ends_with("/license") => page("License", &text("license"), []),
        path if path.ends_with("/view") => page("View", &text(path), []),
        _ => None,
    });
    let (world, asked, _) = crawled(&raw);
    let views = (0..60).map(|n| format!("/f/{}/view", hex(n)));
    assert_eq!(missing(&asked, views), [""; 0]);
    let licenses = asked.iter().filter(|path| path.ends_with("/license")).count();
    assert!(licenses < 35, "{licenses} of 40");
    let traps = world.run(&["traps", "--json"]).json();
    assert_eq!(traps["rows"][0]["pattern"], "/f/*/license", "{traps:#}");
}

#[test]
fn identifiers_that_make_no_difference_on_some_pages_do_on_others() {
    let raw = site(|path| match path {
        "/" => page("Files", &text("home"), ["/c/1".to_owned(), "/x".to_owned()]),
        "/x" => page("X", &text("x"), ["/c/2".to_owned()]),
        "/c/1" => {
            let license = |n| format!("/license{}?file={}", n % 3, hex(n));
            page("C", &text("1"), (0..12).map(license))
        }
        "/c/2" => page("C", &text("2"), (0..60).map(|n| format!("/view?file={}", hex(n)))),
        path if path.starts_with("/license") => page("License", &text(&path[..9]), []),
        path if path.starts_with("/view") => page("View", &text(path), []),
        _ => None,
    });
    let (_, asked, requests) = crawled(&raw);
    let views = (0..60).map(|n| format!("/view?file={}", hex(n)));
    assert_eq!(missing(&asked, views), [""; 0]);
    assert!(requests < 90, "{requests} requests");
}

#[test]
fn files_of_all_versions_come_though_most_are_the_same_in_each() {
    let files = ["README", "LICENSE", "AUTHORS", "Makefile", "main.c", "notes.txt"];
    let raw = site(move |path| match path {
        "/" => page("Log", &text("log"), (0..20).map(|n| format!("/tree/{}", hex(n)))),
        path if path.starts_with("/tree/") => {
            let of = |file| format!("/blob/{}/{file}", &path[6..]);
            page("Tree", &text(path), files.map(of))
        }
        path if path.starts_with("/blob/") => {
            let name = path.rsplit('/').next().unwrap();
            page(name, &text(if name.contains('.') { path } else { name }), [])
        }
        _ => None,
    });
    let (_, asked, _) = crawled(&raw);
    let own = |name: &'static str| (0..20).map(move |n| format!("/blob/{}/{name}", hex(n)));
    assert_eq!(missing(&asked, own("main.c").chain(own("notes.txt"))), [""; 0]);
}

#[test]
fn pages_in_a_language_come_though_the_first_are_not_translated() {
    let raw = site(|path| match path {
        "/" => page("Home", &text("home"), (0..60).map(|n| format!("/a/{n}"))),
        path if path.starts_with("/a/") => {
            let n: u64 = path[3..].split('?').next()?.parse().ok()?;
            let german = path.ends_with("?lang=de") && n >= 12;
            page("A", &text(&format!("{n}{german}")), [format!("/a/{n}?lang=de")])
        }
        _ => None,
    });
    let (_, asked, _) = crawled(&raw);
    assert_eq!(missing(&asked, (12..60).map(|n| format!("/a/{n}?lang=de"))), [""; 0]);
}

#[test]
fn what_is_sold_does_not_keep_the_rest_away() {
    let raw = site(|path| match path {
        "/" => page("Items", &text("home"), (0..6).map(|n| format!("/c/{n}"))),
        path if path.starts_with("/c/") => {
            let n: u64 = path[3..].parse().ok()?;
            let item = |k| format!("/item?id={}", hex(n * 20 + k));
            page("Items", &text(path), (0..20).map(item))
        }
        path if path.starts_with("/item?") => {
            let n = u64::from_str_radix(&path[path.len() - 4..], 16).ok()?;
            let is_sold = n < 40 && n % 16 != 0;
            let own = || page("Item", &text(path), [format!("/photo?id={}", hex(n))]);
            if is_sold { page("Sold", "This item was sold. Thank you.", []) } else { own() }
        }
        path if path.starts_with("/photo?") => page("Photo", &text(path), []),
        _ => None,
    });
    let (_, asked, _) = crawled(&raw);
    let unsold = (0..120).filter(|n| *n >= 40 || n % 16 == 0);
    let of = |n| [format!("/item?id={}", hex(n)), format!("/photo?id={}", hex(n))];
    assert_eq!(missing(&asked, unsold.flat_map(of)), [""; 0]);
}

/// The newest are translated, and the list begins with the oldest.
#[test]
fn the_last_part_of_a_site_is_found_though_all_before_it_were_copies() {
    let raw = site(|path| match path {
        "/" => page("Home", &text("home"), (0..200).map(|n| format!("/de/{n}"))),
        path if path.starts_with("/de/") => match path[4..].parse::<u64>().ok()? {
            n if n >= 140 => page("Seite", &text(&format!("de {n}")), []),
            _ => page("Seite", "Diese Seite ist noch nicht in deutscher Sprache zu haben.", []),
        },
        _ => None,
    });
    let (_, asked, _) = crawled(&raw);
    assert_eq!(missing(&asked, (140..200).map(|n| format!("/de/{n}"))), [""; 0]);
}

#[test]
fn sessions_in_odd_places_come_to_an_end() {
    for form in ["/p{n};tok={id}", "/p{n},sid={id}", "/p{n}-{id}.html", "/p{n}&s={id}"] {
        let visits = AtomicU64::new(0);
        let raw = site(move |path| {
            let id = hex(visits.fetch_add(1, Ordering::Relaxed));
            let link = |n: u32| form.replace("{n}", &n.to_string()).replace("{id}", &id);
            let number = path.strip_prefix("/p").unwrap_or_default();
            let number = number.split([';', ',', '-', '&']).next().unwrap_or_default();
            page("P", &text(&format!("page {number}")), (0..20).map(link))
        });
        let (world, asked, requests) = crawled(&raw);
        let start =
            |path: &String| path.split([';', ',', '-', '&']).next().unwrap_or_default().to_owned();
        let pages: BTreeSet<String> = asked.iter().map(start).collect();
        let wanted = (0..20).map(|n| format!("/p{n}"));
        assert_eq!(missing(&pages, wanted), [""; 0], "{form}");
        assert!(requests < 250, "{requests} requests for 21 pages of {form}");
        let traps = world.run(&["traps", "--json"]).json();
        let mut rows = traps["rows"].as_array().unwrap().iter();
        assert!(rows.any(|row| row["hazard"] == "session-ids"), "{form}: {traps:#}");
    }
}
