//! Near duplicates are one family: shown, counted, and followed once; what only looks like one is not.

use simweb::{Hazard, PageCount, WebOptions, checks};

use crate::{raw::Raw, world::World};

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

    let found = world.run(&["report", "duplicates", "--json"]).json();
    let near: Vec<_> =
        found.as_array().unwrap().iter().filter(|row| row["kind"] == "near").collect();
    assert_eq!(near.len(), 1, "{found:#}");
    assert_eq!(near[0]["pages"], 200, "{found:#}");
    assert_eq!(near[0]["examples"].as_array().unwrap().len(), 3);
    assert!(near[0]["bytes"].as_u64().unwrap() > 199 * 300);

    let told = world.run(&["report", "hazards", "--hazard", "near-duplicates", "--json"]).json();
    assert_eq!(told[0]["count"], 200, "{told:#}");
    assert_eq!(told[0]["what"], "/hazard/leaves?n=#");
    assert_eq!(told[0]["measure"], "pattern-stopped");

    let first = near[0]["first"].as_str().unwrap();
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
    world.run(&["traps", "lift", &host, "near-duplicates"]).exits(0).says(&["1 traps lifted"]);
    world.run(&["crawl", "--delay", "0", "--fresh", "--pages", "40"]).exits(0);
    let followed = leaves(&world).len();
    assert!(followed > 20, "{followed} leaves");
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
    let found = world.run(&["report", "duplicates", "--json"]).json();
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
