//! Near duplicates are one family: shown, counted, and followed once; what only looks like one is not.

use serde_json::Value;
use simweb::{Hazard, PageCount, WebOptions, checks};

use crate::{
    raw::{Raw, reply},
    world::World,
};

#[test]
fn pages_that_differ_by_a_counter_are_one_family_and_followed_once() {
    let mut options = WebOptions { sites: 1, pages: PageCount::Fixed(40), ..WebOptions::default() };
    let host = options.host(0);
    options.put(&format!("{host}/hazard/leaves"), Hazard::NearDuplicates { listed: 200 });
    let world = World::new(options);
    let home = world.web.home(0);
    world.run(&["crawl", &home, "--delay", "0"]).exits(0).says(&["all done"]);

    let leaves = |entry: &&simweb::Entry| entry.target.starts_with("/hazard/leaves?n=");
    let log = world.log();
    assert_eq!(log.iter().filter(leaves).count(), 200, "the list is taken, and no further leaf");
    assert_eq!(checks::completeness(&log, &world.web, &host), []);
    assert_eq!(checks::repeats(&log), []);

    let found = world.run(&["report", "duplicates", "--json"]).json()["rows"].clone();
    let near: Vec<_> =
        found.as_array().unwrap().iter().filter(|row| row["kind"] == "near").collect();
    assert_eq!(near.len(), 1, "{found:#}");
    assert_eq!(near[0]["pages"], 200, "{found:#}");
    assert_eq!(near[0]["examples"].as_array().unwrap().len(), 3);
    assert!(near[0]["bytes"].as_u64().unwrap() > 199 * 300);

    let told =
        world.run(&["report", "hazards", "--hazard", "near-duplicates", "--json"]).json()["rows"]
            .clone();
    assert_eq!(told[0]["count"], 200, "{told:#}");
    assert_eq!(told[0]["detail"], "/hazard/leaves?n=*");
    assert_eq!(told[0]["action"], "pattern-stopped");

    let first = near[0]["original"].as_str().unwrap();
    let member = near[0]["examples"][0].as_str().unwrap();
    let explained = world.run(&["explain", member]);
    assert!(explained.out.contains(&format!("a near duplicate of {first}")), "{explained}");
    world.run(&["show", member]).exits(0).says(&["a near duplicate of"]);
    let refused = world.run(&["explain", &format!("http://{host}/hazard/leaves?n=201")]);
    assert!(refused.out.contains("hazards.near_duplicates"), "{refused}");
    world.run(&["check"]).exits(0);
}

#[test]
fn without_the_limit_the_leaves_are_followed_as_far_as_other_limits_go() {
    let mut options = WebOptions { sites: 1, pages: PageCount::Fixed(2), ..WebOptions::default() };
    let host = options.host(0);
    options.put(&format!("{host}/hazard/leaves"), Hazard::NearDuplicates { listed: 12 });
    let world = World::new(options).variable("HARVESTMAN_HAZARDS_NEAR_DUPLICATES", "0");
    let home = world.web.home(0);
    world.run(&["crawl", &home, "--delay", "0", "--pages", "30"]).exits(0);
    assert_eq!(world.status()["pages"]["fetched"], 30);
}

#[test]
fn a_family_that_was_lifted_is_followed() {
    let mut options = WebOptions { sites: 1, pages: PageCount::Fixed(2), ..WebOptions::default() };
    let host = options.host(0);
    options.put(&format!("{host}/hazard/leaves"), Hazard::NearDuplicates { listed: 12 });
    let world = World::new(options);
    let leaves = |world: &World| -> std::collections::BTreeSet<String> {
        let targets = world.log().into_iter().map(|entry| entry.target);
        targets.filter(|target| target.starts_with("/hazard/leaves?n=")).collect()
    };
    world.run(&["crawl", &world.web.home(0), "--delay", "0"]).exits(0);
    assert_eq!(leaves(&world).len(), 12);
    world.run(&["traps", "lift", &host, "near-duplicates"]).exits(0).says(&["1 trap lifted"]);
    world.run(&["crawl", "--delay", "0", "--fresh", "--pages", "40"]).exits(0);
    let followed = leaves(&world).len();
    assert!(followed > 20, "{followed} leaves");
}

/// Twenty kinds of URLs, each page leading on to the next of two of them, beside forty pages of their own.
fn twenty_kinds(place: &str) -> Option<String> {
    let path = place.split_once('/').map_or("", |(_, path)| path);
    if path.is_empty() {
        let pages: String = (0..40).map(|n| format!("<a href=/own/{n}>p</a> ")).collect();
        return Some(format!("<p>Welcome</p>{pages}<a href='/kind-a/leaf?n=1'>leaves</a>"));
    }
    if let Some(n) = path.strip_prefix("own/").and_then(|n| n.parse::<usize>().ok()) {
        let said: String = (0..40).map(|k| format!("{} ", WORDS[(n * 17 + k * 7) % 61])).collect();
        return Some(format!("<title>{} {n}</title><p>{said}</p>", WORDS[n]));
    }
    let (kind, n) = path.strip_prefix("kind-")?.split_once("/leaf?n=")?;
    let (at, n) = (kind.bytes().next()? - b'a', n.parse::<u64>().ok()?);
    let link = |step: u8| {
        let kind = char::from(b'a' + (at + step) % 20);
        format!("<a href='/kind-{kind}/leaf?n={}'>on</a> ", n * 2 + u64::from(step % 2))
    };
    Some(format!("<title>Leaf {n}</title><p>{SAME}</p>{}{}", link(1), link(7)))
}

const SAME: &str = "There is nothing written on it that is not written on all the others, for whoever made \
    this book had one sentence to say and much paper, and so the sentence stands on every leaf.";

#[test]
fn near_duplicates_come_to_an_end_over_however_many_patterns_they_spread() {
    let raw = Raw::start(|place, stream| match twenty_kinds(place) {
        Some(body) => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
        None => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0", "--pages", "5000"]).exits(0).says(&["all done"]);
    let asked = raw.asked();
    let count = |part: &str| asked.iter().filter(|place| place.contains(part)).count();
    assert_eq!(count("/own/"), 40);
    let leaves = count("/leaf?n=");
    println!("{leaves} leaves of twenty endless kinds");
    assert!((200..1_500).contains(&leaves), "{leaves} leaves");
}

#[test]
fn near_duplicates_come_to_an_end_though_every_one_has_a_pattern_of_its_own() {
    let raw = Raw::start(|place, stream| {
        let path = place.split_once('/').map_or("", |(_, path)| path);
        let mut seed = path.bytes().fold(7u64, |sum, b| sum.wrapping_mul(31) + u64::from(b));
        let mut word = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            WORDS[(seed >> 33) as usize % 61]
        };
        let mut link = || format!("<a href='/{}/{}/{}/x'>on</a> ", word(), word(), word());
        if path.starts_with("no-such-page") {
            return reply(stream, "404 Not Found", "Content-Type: text/html", b"none");
        }
        let body = format!("<title>Leaf</title><p>{SAME}</p>{}{}{}", link(), link(), link());
        reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0", "--pages", "5000"]).exits(0).says(&["all done"]);
    let asked = raw.asked().len();
    println!("{asked} pages with a pattern each");
    assert!((200..2_000).contains(&asked), "{asked} pages");
    let traps = world.run(&["traps"]);
    assert!(traps.out.contains("near-duplicates"), "{traps}");
}

/// Forty-five pages, each leading to the next, with one text and one picture.
fn gallery() -> Raw {
    Raw::start(|place, stream| {
        let at = place.rsplit_once("?n=").and_then(|(_, n)| n.parse::<u32>().ok()).unwrap_or(0);
        let next = format!("<a href='/picture?n={}'>next</a>", (at + 1).min(45));
        let body = format!("<title>Picture {at}</title><img src=/i/frame.png><p>{SAME}</p>{next}");
        match place.contains("/i/") || place.contains("/no-such-page") {
            true => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
            false => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
        }
    })
}

fn pictures(raw: &Raw) -> usize {
    let asked: std::collections::BTreeSet<String> = raw.asked().into_iter().collect();
    asked.iter().filter(|place| place.contains("picture?n=")).count()
}

#[test]
fn a_gallery_that_was_stopped_is_told_explained_and_lifted() {
    let raw = gallery();
    let world = World::new(WebOptions::default());
    let (site, pattern) = (format!("127.0.0.1:{}", raw.port), "/picture?n=*");
    world.run(&["crawl", &format!("http://{site}/"), "--delay", "0"]).exits(0);
    let met = pictures(&raw);
    assert!((10..20).contains(&met), "{met} pictures");
    let rows = world.run(&["traps", "--json"]).json();
    let row =
        rows["rows"].as_array().unwrap().iter().find(|row| row["hazard"] == "near-duplicates");
    let row = row.unwrap_or_else(|| panic!("{rows:#}")).clone();
    assert_eq!((&row["pattern"], &row["refused"]), (&pattern.into(), &1.into()), "{row:#}");
    // The home page has its text, too, at another pattern.
    let kept = row["kept"].as_u64().unwrap() as usize;
    assert!((met..=met + 1).contains(&kept), "{met} pictures: {row:#}");
    let examples = row["examples"].as_array().unwrap();
    assert_eq!(examples.len(), 1, "told once: {row:#}");
    let explained = world.run(&["explain", &format!("http://{site}/picture?n={}", met + 1)]);
    assert!(explained.out.contains("not crawled: trap: near-duplicates"), "{explained}");
    assert!(explained.flat().contains(&format!("traps lift {site} '{pattern}'")), "{explained}");
    let refused = |world: &World| world.decisions(&["--reason", "trap"]).len();
    assert_eq!(refused(&world), 1);

    let before = world.count(&["--state", "candidate"]);
    let slip = world.run(&["traps", "lift", &site, "/pictures?n=*"]);
    slip.exits(2);
    assert!(slip.err.contains("there is no trap") && slip.err.contains(pattern), "{slip}");
    assert_eq!(world.count(&["--state", "candidate"]), before);
    assert_eq!(refused(&world), 1);

    world.run(&["traps", "lift", &site, pattern]).exits(0).says(&["1 trap lifted"]);
    assert_eq!(refused(&world), 0, "what was lifted is not counted as refused");
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(pictures(&raw), 45);
    world.run(&["check"]).exits(0);
}

#[test]
fn another_limit_on_near_duplicates_is_in_force_with_the_next_crawl() {
    let raw = gallery();
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    assert!(pictures(&raw) < 20);
    let world = world.variable("HARVESTMAN_HAZARDS_NEAR_DUPLICATES", "30");
    world.run(&["crawl", "--delay", "0"]).exits(0);
    let met = pictures(&raw);
    assert!((30..40).contains(&met), "{met} pictures");
    let world = world.variable("HARVESTMAN_HAZARDS_NEAR_DUPLICATES", "0");
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(pictures(&raw), 45);
    assert_eq!(world.decisions(&["--reason", "trap"]), [Value::Null; 0]);
}

/// Each is led to by the one before: whoever takes them for one another loses the rest.
#[test]
fn different_things_in_one_template_are_no_family_and_none_is_lost() {
    let frame = "Welcome to our shop, where everything has its place and its price. Home, cart, search, \
                 contact, help, terms, privacy, delivery within three days, payment by card or bill. \
                 All prices are in euro and include taxes; pictures are examples and may differ.";
    let thing = |n: usize| {
        let word = |k: usize| WORDS[(n * n * 37 + k * (n + 5) * 11 + n * 29) % WORDS.len()];
        let said: String = (0..14).map(|k| format!("{} ", word(k))).collect();
        let name = format!("{} {}", word(3), word(5));
        format!("<title>{name} | Shop</title><h1>{name}</h1><p>{frame}</p><p>{said}</p>")
    };
    let pages: Vec<(String, String)> = (1..=40)
        .map(|n| {
            let next = format!("<a href='/thing?id={}'>next</a>", n + 1);
            (format!("127.0.0.1/thing?id={n}"), thing(n) + if n < 40 { &next } else { "" })
        })
        .collect();
    let mut served = vec![("127.0.0.1/", "<a href='/thing?id=1'>the shop</a>")];
    served.extend(pages.iter().map(|(place, body)| (place.as_str(), body.as_str())));
    let raw = Raw::pages(&served);
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "0", "--depth", "50"]).exits(0);
    assert_eq!(raw.asked().len(), 41);
    let found = world.run(&["report", "duplicates", "--json"]).json()["rows"].clone();
    assert_eq!(found, serde_json::json!([]));
}

const WORDS: [&str; 61] = [
    "amber",
    "basket",
    "candle",
    "drawer",
    "easel",
    "fiddle",
    "gasket",
    "hammer",
    "inkwell",
    "jacket",
    "kettle",
    "ladder",
    "mirror",
    "needle",
    "oilcan",
    "pillow",
    "quiver",
    "ribbon",
    "saddle",
    "teapot",
    "urn",
    "velvet",
    "whistle",
    "xylophone",
    "yarn",
    "zither",
    "anvil",
    "barrel",
    "chisel",
    "dagger",
    "engine",
    "funnel",
    "goblet",
    "helmet",
    "island",
    "jigsaw",
    "kayak",
    "lantern",
    "magnet",
    "napkin",
    "oboe",
    "pencil",
    "quilt",
    "rudder",
    "sickle",
    "trumpet",
    "umbrella",
    "vessel",
    "wagon",
    "yoke",
    "zipper",
    "arrow",
    "bellows",
    "compass",
    "doorbell",
    "envelope",
    "feather",
    "gramophone",
    "hinge",
    "icebox",
    "jewel",
];
