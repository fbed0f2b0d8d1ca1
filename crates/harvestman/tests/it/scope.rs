//! What may be crawled: `--scope` and `--external`, by what was asked of whom.

use std::{collections::BTreeSet, time::Duration};

use simweb::{Latency, PageCount, PageOptions, WebOptions, checks};

use crate::{
    ask::strings,
    raw::{Raw, reply},
    world::World,
};

#[test]
fn scope_site_stays_on_the_seeds_host() {
    assert_eq!(hosts_reached(".sim.test", "site"), ["s0.sim.test"]);
}

#[test]
fn scope_domain_reaches_the_hosts_of_the_registrable_domain_and_no_others() {
    let three = ["s0.sim.test", "s1.sim.test", "s2.sim.test"];
    assert_eq!(hosts_reached(".sim.test", "domain"), three);
    assert_eq!(hosts_reached(".test", "domain"), ["s0.test"]);
}

#[test]
fn scope_any_reaches_whatever_is_linked() {
    assert_eq!(hosts_reached(".test", "any"), ["s0.test", "s1.test", "s2.test"]);
}

#[test]
fn scope_prefix_stays_below_the_seeds_folder() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() });
    let path = world.web.path(0, 1);
    let folder = &path[..=path[1..].find('/').unwrap() + 1];
    let below = (0..60).filter(|index| world.web.path(0, *index).starts_with(folder)).count();
    assert!(below > 1, "{folder} has more than the seed");
    let seed = format!("http://s0.sim.test{folder}");
    let linked = format!("http://s0.sim.test{path}");
    world.run(&["crawl", &seed, &linked, "--scope", "prefix", "--delay", "0"]).exits(0);
    let visited = world.visited();
    assert!(visited.len() > 1);
    let start = format!("s0.sim.test{folder}");
    assert!(visited.iter().all(|place| place.starts_with(&start)), "{folder}: {visited:?}");
}

#[test]
fn external_links_lead_nowhere_home_deep_or_both_as_asked() {
    let cases: [(&str, &[&str]); 4] = [
        ("ignore", &[]),
        ("home", &["b.raw.test/"]),
        ("deep", &["b.raw.test/deep/x.html"]),
        ("combined", &["b.raw.test/", "b.raw.test/deep/x.html"]),
    ];
    for (policy, wanted) in cases {
        let raw = Raw::pages(&[
            ("a.raw.test/", "<a href='http://b.raw.test/deep/x.html'>b</a> <a href='/2'>2</a>"),
            ("a.raw.test/2", "two"),
            ("b.raw.test/", "home"),
            ("b.raw.test/deep/x.html", "deep"),
        ]);
        let world = World::new(WebOptions::default());
        let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
        let scope = ["--scope", "any", "--external", policy, "--delay", "0", "--resolve", &rule];
        world.run(&[&["crawl", "http://a.raw.test/"], &scope[..]].concat()).exits(0);
        let wanted: Vec<&str> = [&["a.raw.test/", "a.raw.test/2"], wanted].concat();
        assert_eq!(raw.asked(), wanted, "{policy}");
    }
}

/// A chain of sites: a, b, c and d link to the next one, and b back to a.
const CHAIN: [(&str, &str); 7] = [
    ("a.raw.test/", "<a href='/1'>1</a> <a href='http://b.raw.test/'>b</a>"),
    ("a.raw.test/1", "one"),
    (
        "b.raw.test/",
        "<a href='/1'>1</a> <a href='http://c.raw.test/'>c</a> <a href='http://a.raw.test/back'>a</a>",
    ),
    ("b.raw.test/1", "<a href='/2'>2</a>"),
    ("b.raw.test/2", "three links from the scope"),
    ("c.raw.test/", "<a href='http://d.raw.test/'>d</a>"),
    ("a.raw.test/back", "<a href='http://e.raw.test/'>e</a>"),
];

/// What is asked for in a crawl of the chain with this `[crawl]` section.
fn chain(section: &str) -> Vec<String> {
    let raw = Raw::pages(&CHAIN);
    let world = World::new(WebOptions::default());
    std::fs::create_dir_all(&world.folder).unwrap();
    let config = format!("[crawl]\n{section}\n");
    std::fs::write(world.folder.join("harvest.toml"), config).unwrap();
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    world.run(&["crawl", "http://a.raw.test/", "--delay", "0", "--resolve", &rule]).exits(0);
    raw.asked()
}

#[test]
fn links_beyond_the_scope_are_followed_as_far_as_asked_and_back_inside_without_end() {
    assert_eq!(chain("outside = 0"), ["a.raw.test/", "a.raw.test/1"]);
    let one = ["a.raw.test/", "a.raw.test/1", "a.raw.test/back", "b.raw.test/", "e.raw.test/"];
    assert_eq!(chain("outside = 1"), one);
    let two = [
        "a.raw.test/",
        "a.raw.test/1",
        "a.raw.test/back",
        "b.raw.test/",
        "b.raw.test/1",
        "c.raw.test/",
        "e.raw.test/",
    ];
    assert_eq!(chain("outside = 2"), two);
}

#[test]
fn without_expansion_only_sites_of_seeds_are_visited() {
    assert_eq!(chain("scope = 'any'\nexpansion = 'off'"), ["a.raw.test/", "a.raw.test/1"]);
    assert_eq!(chain("outside = 1\nexpansion = 'off'"), ["a.raw.test/", "a.raw.test/1"]);
    assert_eq!(chain("scope = 'any'\nexpansion = 'after'").len(), 9);
}

#[test]
fn only_the_listed_pages_and_what_they_redirect_to_are_asked_for() {
    let raw = Raw::start(|place, stream| match place {
        "a.raw.test/go" => reply(stream, "301 Moved", "Location: http://b.raw.test/new", b""),
        "a.raw.test/go2" => reply(stream, "301 Moved", "Location: /new2", b""),
        _ => {
            let body = b"<a href='/go2'>2</a> <a href='/other'>3</a> <a href='/listed'>4</a>";
            reply(stream, "200 OK", "Content-Type: text/html", body);
        }
    });
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let seeds = ["http://a.raw.test/go", "http://a.raw.test/listed"];
    let rest = ["--scope", "listed", "--delay", "0", "--resolve", &rule];
    world.run(&[&["crawl"], &seeds[..], &rest[..]].concat()).exits(0);
    assert_eq!(raw.asked(), ["a.raw.test/go", "a.raw.test/listed", "b.raw.test/new"]);
    let rules = strings(&world.decisions(&[]), "rule");
    assert!(!rules.is_empty(), "links were refused");
    assert!(rules.iter().all(|rule| rule == "crawl.scope = \"listed\""), "{rules:?}");
}

#[test]
fn links_that_say_nofollow_are_followed_only_when_asked() {
    let pages = [
        ("a.raw.test/", "<a href='/1' rel='nofollow'>1</a> <a href='/2'>2</a> <a href='/3'>3</a>"),
        ("a.raw.test/1", "one"),
        ("a.raw.test/2", "<meta name='robots' content='nofollow'><a href='/4'>4</a>"),
        ("a.raw.test/3", "<meta name='robots' content='noindex'><a href='/5'>5</a>"),
        ("a.raw.test/4", "four"),
        ("a.raw.test/5", "five"),
    ];
    let all: Vec<&str> = pages.iter().map(|(place, _)| *place).collect();
    let obeyed = vec![all[0], all[2], all[3], all[5]];
    // What a page says of all its links is obeyed in any case.
    let asked = vec![all[0], all[1], all[2], all[3], all[5]];
    for (wanted, follow) in [(obeyed, "false"), (asked, "true")] {
        let raw = Raw::pages(&pages);
        let world =
            World::new(WebOptions::default()).variable("HARVESTMAN_CRAWL_FOLLOW_NOFOLLOW", follow);
        let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
        world.run(&["crawl", "http://a.raw.test/", "--delay", "0", "--resolve", &rule]).exits(0);
        assert_eq!(raw.asked(), wanted, "follow_nofollow = {follow}");
    }
}

#[test]
fn many_linked_sites_and_connections_miss_nothing_and_repeat_nothing() {
    let world = World::new(WebOptions {
        sites: 12,
        pages: PageCount::Fixed(12),
        page: PageOptions { redirect_share: 0.1, bytes_mean: 4_000.0, ..PageOptions::default() },
        latency: Latency { base: Duration::ZERO, spread: Duration::from_millis(10) },
        ..WebOptions::default()
    });
    let seed = world.web.home(0);
    let args = ["crawl", &seed, "--scope", "domain", "--delay", "0", "--connections", "8"];
    world.run(&args).exits(0);
    let log = world.log();
    assert_eq!(checks::repeats(&log), []);
    assert_eq!(checks::disallowed(&log, &world.web), []);
    assert_eq!(checks::connections_at_once(&log, 8), []);
    for site in 0..12 {
        assert_eq!(checks::completeness(&log, &world.web, &world.web.host(site)), []);
    }
}

fn hosts_reached(suffix: &str, scope: &str) -> Vec<String> {
    let world = World::new(WebOptions {
        sites: 3,
        pages: PageCount::Fixed(6),
        host_suffix: suffix.to_owned(),
        ..WebOptions::default()
    });
    let seed = world.web.home(0);
    world.run(&["crawl", &seed, "--scope", scope, "--delay", "0"]).exits(0);
    let hosts: BTreeSet<String> =
        world.visits().iter().map(|visit| visit.host.to_string()).collect();
    for host in &hosts {
        assert_eq!(checks::completeness(&world.log(), &world.web, host), []);
    }
    hosts.into_iter().collect()
}
