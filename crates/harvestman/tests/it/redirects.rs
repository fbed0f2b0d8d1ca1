//! Redirects: followed within scope and within bounds, and never for ever.

use simweb::{Hazard, PageCount, WebOptions, checks};

use crate::{ask::was_fetched, world::World};

#[test]
fn what_a_seed_redirects_to_joins_the_scope() {
    let world =
        World::new(WebOptions { sites: 2, pages: PageCount::Fixed(8), ..WebOptions::default() });
    world.run(&["crawl", "http://www.s0.sim.test/", "--delay", "0"]).exits(0);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
    assert!(!world.visited().iter().any(|place| place.starts_with("s1.")), "s1 is out of scope");
    // The next run still knows what the seed covers.
    world.forget_log();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
}

#[test]
fn a_redirect_to_itself_is_not_followed_for_ever() {
    let world = hazard("redirect-loop", Hazard::RedirectLoop);
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    assert_eq!(visits(&world, "redirect-loop"), ["/hazard/redirect-loop"]);
}

#[test]
fn a_redirect_to_itself_with_a_cookie_is_tried_once_more_with_it() {
    let world = hazard("cookie-redirect", Hazard::CookieRedirect);
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    let statuses: Vec<u16> = world
        .visits()
        .iter()
        .filter(|visit| visit.target.contains("cookie-redirect"))
        .map(|visit| visit.status)
        .collect();
    assert_eq!(statuses, [302, 200]);
    let url = "http://s0.sim.test/hazard/cookie-redirect";
    let shown = world.run(&["show", url]);
    shown.exits(0);
    assert!(shown.out.contains("With cookie"), "{shown}");
}

#[test]
fn a_chain_of_redirects_ends_at_the_limit_and_is_listed_as_refused() {
    let world = hazard("redirect-chain", Hazard::RedirectChain { hops: 30 });
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]);
    done.exits(0).says(&["crawl.redirects = 10"]);
    assert_eq!(visits(&world, "redirect-chain").len(), 11, "the first and ten more");
}

#[test]
fn a_chain_within_the_limit_is_followed_to_its_end() {
    let world = hazard("redirect-chain", Hazard::RedirectChain { hops: 5 });
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    let chain = visits(&world, "redirect-chain");
    assert_eq!(chain.last().map(String::as_str), Some("/hazard/redirect-chain?hop=5"));
    let mut hops = world.pages(&["--prefix", "http://s0.sim.test/hazard/redirect-chain"]);
    assert_eq!(hops.len(), 6);
    hops.retain(|page| page["level"] != 1);
    assert!(hops.is_empty(), "redirects keep the level: {hops:?}");
}

#[test]
fn redirects_into_somebodys_network_or_to_files_are_refused() {
    let mut options = WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() };
    options.page.links = 3;
    options.page.internal_share = 1.0;
    options.put("s0.sim.test/hazard/private", Hazard::RedirectPrivate);
    options.put("s0.sim.test/hazard/scheme", Hazard::RedirectScheme);
    let world = World::new(options);
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0", "--scope", "any"]).exits(0);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
    let explained = world.run(&["explain", "http://10.0.0.1/admin"]);
    assert!(explained.out.contains("10.0.0.1"), "{explained}");
    for page in world.pages_and_parts() {
        let url = page["url"].as_str().unwrap();
        assert!(!url.starts_with("file:"), "{url}");
        assert!(!url.starts_with("http://10.") || !was_fetched(&page), "{page}");
    }
}

fn hazard(name: &str, hazard: Hazard) -> World {
    let mut options = WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() };
    options.put(&format!("s0.sim.test/hazard/{name}"), hazard);
    World::new(options)
}

fn visits(world: &World, name: &str) -> Vec<String> {
    let visits = world.visits().into_iter().filter(|visit| visit.target.contains(name));
    visits.map(|visit| visit.target).collect()
}
