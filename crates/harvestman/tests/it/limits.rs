//! The user's limits are exact: not one page more, however many connections, and across runs.

use std::{collections::BTreeSet, time::Duration};

use simweb::{Latency, PageCount, PageOptions, WebOptions};

use crate::world::World;

/// Polite and not at all.
const MANNERS: [&[&str]; 2] = [&["--delay", "10ms"], &["--delay", "0", "--connections", "8"]];

#[test]
fn the_limit_on_pages_is_exact_and_holds_for_the_next_run() {
    for manners in MANNERS {
        let world = world(3, 30);
        let crawl = |limit: &str| {
            let seeds = world.web.seeds();
            let mut args = vec!["crawl", "--pages", limit];
            args.extend(manners.iter().copied().chain(seeds.iter().map(String::as_str)));
            world.run(&args).exits(0);
            pages(&world).len()
        };
        assert_eq!(crawl("15"), 15, "{manners:?}");
        assert_eq!(world.status()["state"], "limit");
        assert_eq!(world.status()["reason"], "page limit reached");
        assert_eq!(crawl("15"), 15, "{manners:?}: the same command fetches no more");
        assert_eq!(crawl("21"), 21, "{manners:?}: a higher limit goes on");
    }
}

#[test]
fn the_limit_on_pages_of_a_site_is_exact_for_each_site_and_holds_for_the_next_run() {
    for manners in MANNERS {
        let world = world(2, 30);
        let crawl = |limit: &str| {
            let seeds = world.web.seeds();
            let mut args = vec!["crawl", "--site-pages", limit];
            args.extend(manners.iter().copied().chain(seeds.iter().map(String::as_str)));
            world.run(&args).exits(0);
            let of = |host: &str| pages(&world).iter().filter(|(h, _)| h == host).count();
            (of("s0.sim.test"), of("s1.sim.test"))
        };
        assert_eq!(crawl("7"), (7, 7), "{manners:?}");
        assert_eq!(crawl("7"), (7, 7), "{manners:?}: the same command fetches no more");
        assert_eq!(crawl("10"), (10, 10), "{manners:?}: a higher limit goes on");
    }
}

#[test]
fn the_limit_on_depth_fetches_exactly_the_pages_up_to_that_level() {
    for manners in MANNERS {
        for depth in [0, 1, 2] {
            let world = world(1, 40);
            let limit = depth.to_string();
            let mut args = vec!["crawl", "http://s0.sim.test/", "--depth", &limit];
            args.extend(manners);
            world.run(&args).exits(0);
            let got: BTreeSet<usize> = pages(&world).into_iter().map(|(_, index)| index).collect();
            let wanted: BTreeSet<usize> =
                (0..40).filter(|index| world.web.level(*index) <= depth).collect();
            assert_eq!(got, wanted, "depth {depth}, {manners:?}");
        }
    }
}

#[test]
fn the_levels_are_the_shortest_ways_from_the_home_page() {
    for manners in MANNERS {
        let world = world(1, 40);
        let mut args = vec!["crawl", "http://s0.sim.test/"];
        args.extend(manners);
        world.run(&args).exits(0);
        for index in 0..40 {
            let url = format!("http://s0.sim.test{}", world.web.path(0, index));
            let level = world.number(&format!("SELECT level FROM pages WHERE url = '{url}'"));
            assert_eq!(level, i64::from(world.web.level(index)), "{url}, {manners:?}");
        }
    }
}

#[test]
fn the_limit_on_time_ends_a_crawl_and_the_next_goes_on() {
    let world = world(1, 400);
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "50ms", "--for", "2s"]);
    done.exits(0).says(&["time limit reached"]);
    assert!(done.took < Duration::from_secs(15), "{done}");
    let first = pages(&world).len();
    assert!((1..400).contains(&first), "{first} pages in two seconds");
    assert_eq!(world.status()["state"], "limit");
    world.run(&["crawl", "--delay", "0", "--pages", "60"]).exits(0);
    assert_eq!(pages(&world).len(), 60.max(first));
}

/// Pages given out, by host and number; each must have been given out once.
fn pages(world: &World) -> Vec<(String, usize)> {
    let whole = world.visits().into_iter().filter(|visit| visit.status == 200);
    let index = |visit: &simweb::Entry| {
        let site = world.web.site_of(&visit.host)?;
        Some((visit.host.to_string(), world.web.index_of(site, &visit.target)?))
    };
    let pages: Vec<(String, usize)> = whole.filter_map(|visit| index(&visit)).collect();
    let different: BTreeSet<&(String, usize)> = pages.iter().collect();
    assert_eq!(different.len(), pages.len(), "no page twice");
    pages
}

/// Three links a page make deep sites; uneven answers make connections overtake each other; redirects
/// and missing pages take visits that count as no page.
fn world(sites: usize, pages: usize) -> World {
    World::new(WebOptions {
        sites,
        pages: PageCount::Fixed(pages),
        page: PageOptions {
            children: 3,
            bytes_mean: 4_000.0,
            redirect_share: 0.15,
            broken_share: 0.1,
            ..PageOptions::default()
        },
        latency: Latency { base: Duration::ZERO, spread: Duration::from_millis(12) },
        ..WebOptions::default()
    })
}
