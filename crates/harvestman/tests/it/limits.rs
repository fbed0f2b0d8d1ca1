//! The user's limits are exact: not one page more, however many connections, and across runs.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;
use simweb::{Latency, PageCount, PageOptions, WebOptions};

use crate::{ask::seconds, world::World};

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
        let known = world.pages(&[]);
        for index in 0..40 {
            let url = format!("http://s0.sim.test{}", world.web.path(0, index));
            let page = known.iter().find(|page| page["url"] == *url).unwrap();
            assert_eq!(page["level"], world.web.level(index), "{url}, {manners:?}");
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

#[test]
fn the_limit_on_pages_of_a_domain_is_exact_over_its_sites_and_holds_for_the_next_run() {
    for manners in MANNERS {
        let world = world(3, 20);
        let crawl = |limit: &str| {
            configure(&world, &format!("[crawl]\ndomain_pages = {limit}\n"));
            let seeds = world.web.seeds();
            let mut args = vec!["crawl"];
            args.extend(manners.iter().copied().chain(seeds.iter().map(String::as_str)));
            world.run(&args).exits(0);
            pages(&world).len()
        };
        // All of *.sim.test is one registrable domain.
        assert_eq!(crawl("11"), 11, "{manners:?}");
        assert_eq!(crawl("11"), 11, "{manners:?}: the same command fetches no more");
        assert_eq!(crawl("17"), 17, "{manners:?}: a higher limit goes on");
    }
}

#[test]
fn a_limit_on_bytes_is_never_exceeded_and_used_to_the_last() {
    for manners in MANNERS {
        let world = world(2, 60);
        configure(&world, "[crawl]\nbytes = \"50KB\"\n[fetch]\nbody_bytes_max = \"20KB\"\n");
        let seeds = world.web.seeds();
        let mut args = vec!["crawl"];
        args.extend(manners.iter().copied().chain(seeds.iter().map(String::as_str)));
        world.run(&args).exits(0).says(&["byte limit reached"]);
        assert_eq!(world.status()["bytes"], 50_000, "{manners:?}");
        assert_eq!(world.status()["reason"], "byte limit reached");
        let asked = world.visits().len();
        world.run(&args).exits(0);
        assert_eq!(world.visits().len(), asked, "the same command asks for nothing more");
    }
}

#[test]
fn a_limit_on_the_bytes_of_a_site_is_that_sites_alone() {
    let world = world(2, 40);
    configure(
        &world,
        "[fetch]\nbody_bytes_max = \"20KB\"\n\n[[override]]\nwhen = \"host s0.sim.test\"\n\
         crawl.site_bytes = \"30KB\"\n",
    );
    world.run(&["crawl", "--delay", "0", "http://s0.sim.test/", "http://s1.sim.test/"]).exits(0);
    let sites = world.sites(&[]);
    let limited = sites.iter().find(|site| site["site"] == "s0.sim.test").unwrap();
    assert_eq!(limited["bytes"], 30_000);
    let whole = pages(&world).iter().filter(|(host, _)| host == "s1.sim.test").count();
    assert_eq!(whole, 40, "the other is crawled to its end");
}

#[test]
fn sites_take_turns_when_a_visit_to_one_is_limited_in_time() {
    let world = world(3, 60);
    configure(&world, "[crawl]\nsite_time = \"500ms\"\nactive_sites = 1\n");
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "20ms"];
    args.extend(seeds.iter().map(String::as_str));
    let _crawl = world.start(&args);
    world.wait_for("five changes of site", |world| {
        let visits = world.visits();
        visits.windows(2).filter(|two| two[0].host != two[1].host).count() >= 5
    });
}

#[test]
fn a_site_rests_for_the_day_when_its_time_is_used_up() {
    let world = World::new(WebOptions {
        sites: 2,
        pages: PageCount::Fixed(50),
        page: PageOptions { children: 3, bytes_mean: 2_000.0, ..PageOptions::default() },
        latency: Latency { base: Duration::from_millis(100), spread: Duration::ZERO },
        ..WebOptions::default()
    });
    configure(
        &world,
        "[[override]]\nwhen = \"host s0.sim.test\"\ncrawl.site_time_per_day = \"1s\"\n",
    );
    world.run(&["crawl", "--delay", "10ms", "http://s0.sim.test/", "http://s1.sim.test/"]).exits(0);
    let of = |host: &str| world.visits().iter().filter(|visit| &*visit.host == host).count();
    assert!((5..=10).contains(&of("s0.sim.test")), "{} visits", of("s0.sim.test"));
    assert_eq!(of("s1.sim.test"), 50);
    let before = of("s0.sim.test");
    world.run(&["crawl", "--delay", "10ms"]).exits(0);
    assert_eq!(of("s0.sim.test"), before, "also for the next crawl of the day");
}

#[test]
fn no_more_sites_are_known_than_the_limit_allows() {
    let world = world(6, 5);
    configure(&world, "[crawl]\nsites = 3\nscope = \"any\"\n");
    world.run(&["crawl", "--delay", "0", "http://s0.sim.test/"]).exits(0);
    let hosts: BTreeSet<String> =
        world.visits().iter().map(|visit| visit.host.to_string()).collect();
    assert!(hosts.len() <= 3, "{hosts:?}");
    assert_eq!(world.sites(&[]).len(), 3);
    let refused = world.run(&["decisions", "--reason", "limit"]);
    assert!(refused.out.contains("crawl.sites = 3"), "{refused}");
}

#[test]
fn long_bodies_are_read_whole_and_archived_cut() {
    let world = world(1, 30);
    configure(&world, "[store]\ncontent_bytes_max = \"1KB\"\n");
    world.run(&["crawl", "--delay", "0", "http://s0.sim.test/"]).exits(0);
    let got = pages(&world).len();
    assert_eq!(got, 30, "links behind the cut are found");
    world.run(&["check"]).exits(0);
    let shown = world.run(&["show", "--raw", "http://s0.sim.test/"]);
    assert!(shown.out.len() <= 1_000 + 2_000, "{} bytes shown", shown.out.len());
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(world.status()["run"]["figures"]["versions"], 0, "nothing has changed");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_collection_that_keeps_no_bodies_has_all_pages_and_links_and_hardly_a_volume() {
    let world = world(1, 30);
    configure(&world, "[store]\ncontent_bytes_max = 0\n");
    world.run(&["crawl", "--delay", "0", "http://s0.sim.test/"]).exits(0);
    assert_eq!(pages(&world).len(), 30);
    world.run(&["check"]).exits(0);
    let volumes = std::fs::read_dir(world.folder.join("volumes")).expect("volumes");
    let bytes: u64 = volumes.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    let visits = world.visits().len() as u64 + 2;
    assert!(bytes < visits * 1_200, "{bytes} bytes of {visits} requests and their heads");
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(world.status()["run"]["figures"]["versions"], 0, "nothing has changed");
    world.run(&["check"]).exits(0);
}

#[test]
fn pages_that_have_not_changed_stay_as_they_were_archived_when_the_limit_changes() {
    let page = PageOptions { validator_share: 0.0, bytes_mean: 2_000.0, ..PageOptions::default() };
    let pages = PageCount::Fixed(6);
    let home = "http://s0.sim.test/";
    let none = "[store]\ncontent_bytes_max = 0\n";
    for (first, then, kept) in [("", none, 0), (none, "", 2)] {
        let page = page.clone();
        let world = World::new(WebOptions { sites: 1, pages, page, ..WebOptions::default() });
        configure(&world, first);
        world.run(&["crawl", "--delay", "0", home]).exits(0);
        configure(&world, then);
        world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
        assert_eq!(world.status()["run"]["figures"]["versions"], 0, "nothing has changed");
        for when in [&["--html"][..], &["--html", "--at", "now"]] {
            world.run(&[&["show", home][..], when].concat()).exits(kept);
        }
        world.run(&["check"]).exits(0);
    }
}

#[test]
fn a_map_of_links_and_titles_is_that_of_a_crawl_which_takes_the_text_too() {
    let whole = world(1, 30);
    let map = world(1, 30);
    configure(&map, "[store]\ncontent_bytes_max = 0\n\n[parse]\ntext = false\n");
    for world in [&whole, &map] {
        world.run(&["crawl", "--delay", "0", "http://s0.sim.test/"]).exits(0);
        world.run(&["check"]).exits(0);
    }
    assert_eq!(pages(&map).len(), 30);
    // The two webs are alike but for the port they are found at, which is in no URL.
    let titles = |world: &World| -> Vec<(Value, Value)> {
        let pages = world.pages_and_parts().into_iter();
        pages.map(|mut page| (page["title"].take(), page["links_internal"].take())).collect()
    };
    assert_eq!(titles(&whole), titles(&map));
    assert!(titles(&map).iter().any(|(title, links)| title.is_string() && *links != 0));
    let texts = |world: &World| {
        let pages = world.pages_and_parts();
        let language =
            |page: &Value| page["language"].as_str().is_some_and(|word| !word.is_empty());
        pages.iter().filter(|page| page["text_bytes"].as_u64() > Some(0) || language(page)).count()
    };
    assert_eq!((texts(&whole) > 0, texts(&map)), (true, 0));
    map.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(map.status()["run"]["figures"]["versions"], 0, "nothing has changed");
}

#[test]
fn overrides_give_single_pages_another_period_and_the_rest_keeps_its_own() {
    let world = world(1, 20);
    let often = format!("http://s0.sim.test{}", world.web.path(0, 1));
    configure(
        &world,
        &format!(
            "[revisit]\nperiod = \"30d\"\n\n[[override]]\nwhen = \"url {often}\"\n\
             revisit.period = \"1h\"\n"
        ),
    );
    world.run(&["crawl", "--delay", "0", "http://s0.sim.test/"]).exits(0);
    let hours = |url: &str| {
        let page = world.page(url);
        seconds(&page["visited"], &page["due"]) / 3_600
    };
    assert!(hours(&often) <= 1, "{} hours", hours(&often));
    assert!(hours("http://s0.sim.test/") > 24 * 20);
}

#[test]
fn overrides_give_a_site_another_depth_and_explain_names_their_lines() {
    let world = world(2, 30);
    configure(&world, "[[override]]\nwhen = \"host s0.sim.test\"\ncrawl.depth = 1\n");
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "0", "--external", "ignore"];
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    let of = |host: &str| pages(&world).iter().filter(|(h, _)| h == host).count();
    let shallow = (0..30).filter(|index| world.web.level(*index) <= 1).count();
    assert_eq!((of("s0.sim.test"), of("s1.sim.test")), (shallow, 30));
    let explained = world.run(&["explain", "http://s0.sim.test/"]);
    assert!(explained.out.contains("concern it: line 1"), "{explained}");
}

#[test]
fn seeds_have_levels_and_periods_of_their_own() {
    let world = world(2, 30);
    let list = "http://s0.sim.test/ level=1 period=2h\nhttp://s1.sim.test/\n";
    world.run_with_input(&["seed", "-"], list).exits(0);
    // What the other seed's pages link to would be found from there, as deep as that one goes.
    world.run(&["crawl", "--delay", "0", "--external", "ignore"]).exits(0);
    let got: BTreeSet<usize> = pages(&world)
        .into_iter()
        .filter(|(host, _)| host == "s0.sim.test")
        .map(|(_, index)| index)
        .collect();
    let wanted: BTreeSet<usize> = (0..30).filter(|index| world.web.level(*index) <= 1).collect();
    assert_eq!(got, wanted, "not deeper than its seed says");
    let others = pages(&world).iter().filter(|(host, _)| host == "s1.sim.test").count();
    assert_eq!(others, 30);
    let page = world.page("http://s0.sim.test/");
    let minutes = seconds(&page["visited"], &page["due"]) / 60;
    assert!((60..=180).contains(&minutes), "{minutes} minutes");
}

fn configure(world: &World, text: &str) {
    std::fs::create_dir_all(&world.folder).unwrap();
    std::fs::write(world.folder.join("harvest.toml"), text).unwrap();
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
