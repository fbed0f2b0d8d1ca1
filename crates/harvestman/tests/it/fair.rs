//! The hazard fair, small: every hazard the simulated web knows rules over a host of its own, robots.txt and all, and
//! the good sites beside them notice nothing. `bench/run fair` measures the same at full size.

use std::time::Duration;

use simweb::{Hazard, PageCount, ServerOptions, WebOptions, checks};

use crate::world::World;

const GOOD: usize = 6;
const PAUSE: Duration = Duration::from_millis(600);
/// What sockets and schedulers of a busy machine may take from a pause: a request that is read late seems to be followed too
/// soon. Without a pause there would be next to nothing between two.
const SLACK: Duration = Duration::from_millis(400);

#[test]
fn good_sites_are_complete_beside_every_hazard_there_is() {
    let hazards: Vec<Hazard> = Hazard::ALL.iter().copied().filter(|h| !h.is_of_host()).collect();
    let sites = GOOD + hazards.len();
    let mut options =
        WebOptions { sites, addresses: sites, pages: PageCount::Fixed(8), ..WebOptions::default() };
    for (k, hazard) in hazards.iter().enumerate() {
        options.put(&format!("{}/*", options.host(GOOD + k)), *hazard);
    }
    // All are asked at once, and the server shares the machine with its bombs and floods: the good ones must not be given up
    // because it is busy.
    let world = World::with(options, ServerOptions::default())
        .variable("HARVESTMAN_FETCH_TIMEOUT", "6s")
        .variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "5s")
        .variable("HARVESTMAN_FETCH_IDLE_TIMEOUT", "5s");
    let seeds = world.web.seeds();
    let pause = format!("{}ms", PAUSE.as_millis());
    let mut args = vec!["crawl", "--delay", &pause, "--for", "16s"];
    args.extend(seeds.iter().map(String::as_str));
    let mut crawl = world.start(&args);
    let mut peak = 0;
    while crawl.is_running() {
        peak = peak.max(crawl.peak_memory());
        std::thread::sleep(Duration::from_millis(20));
    }
    let done = crawl.wait(Duration::from_secs(10));
    done.exits(0);
    // What was asked for, 6 s at most for what is under way, and a busy machine.
    assert!(done.took < Duration::from_secs(40), "{done}");
    assert!(peak > 0 && peak < 512 << 20, "{} MB at most", peak >> 20);
    let log = world.log();
    for site in 0..GOOD {
        assert_eq!(checks::completeness(&log, &world.web, &world.web.host(site)), []);
    }
    for (k, hazard) in hazards.iter().enumerate() {
        let host = world.web.host(GOOD + k);
        assert!(log.iter().any(|entry| *entry.host == *host), "{} was not met", hazard.word());
    }
    let of_good = |host: &str| world.web.site_of(host).is_some_and(|site| site < GOOD);
    let good: Vec<_> = log.iter().filter(|entry| of_good(&entry.host)).cloned().collect();
    assert_eq!(checks::pauses(&good, PAUSE, SLACK), []);
    assert_eq!(checks::repeats(&good), []);
    world.run(&["check"]).exits(0);
}
