//! The stage itself: a crawl of one site from the first to the last word.

use simweb::{PageCount, WebOptions, checks};

use crate::world::World;

#[test]
fn a_crawl_of_a_small_site_fetches_it_whole_and_says_so() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(12), ..WebOptions::default() });
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]);
    done.exits(0);
    assert!(done.err.contains("all done: 12 pages"), "{done}");
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
    assert_eq!(world.status()["pages"]["fetched"], 12);
    assert_eq!(world.number("SELECT count(*) FROM pages WHERE fetched = 1"), 12);
}
