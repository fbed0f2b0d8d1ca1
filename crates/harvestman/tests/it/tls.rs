//! https: trusted roots are asked for, redirects from http are followed, and nothing is taken on faith.

use simweb::{PageCount, ServerOptions, WebOptions, checks};

use crate::{
    raw::{Raw, reply},
    world::World,
};

const HOME: &str = "https://s0.sim.test/";

#[test]
fn https_sites_are_crawled_when_their_root_is_trusted_and_refused_when_not() {
    let world = world();
    let refused = world.run(&["crawl", HOME, "--delay", "0"]);
    refused.exits(1).says(&["nothing could be fetched", "certificate"]);
    assert_eq!(world.log(), [], "not one request before the certificate is trusted");
    let world = world.trusting();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let log = world.log();
    assert!(log.iter().all(|entry| entry.tls));
    assert_eq!(log[0].target, "/robots.txt");
    assert_eq!(checks::completeness(&log, &world.web, "s0.sim.test"), []);
}

#[test]
fn a_seed_on_http_that_redirects_to_https_elsewhere_brings_the_whole_site() {
    let raw = Raw::start(|place, stream| match place {
        "old.raw.test/" => {
            reply(stream, "301 Moved Permanently", "Location: https://s0.sim.test/", b"");
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = world().trusting();
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    world.run(&["crawl", "http://old.raw.test/", "--delay", "0", "--resolve", &rule]).exits(0);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
}

fn world() -> World {
    let options =
        WebOptions { pages: PageCount::Fixed(6), https_share: 1.0, ..WebOptions::default() };
    World::with(options, ServerOptions { tls: true, ..ServerOptions::default() })
}

impl World {
    /// With the simulated web's own authority, and an empty collection.
    fn trusting(mut self) -> World {
        let file = self.temp.path().join("root.pem");
        std::fs::write(&file, self.server().root_pem().unwrap()).unwrap();
        self.folder = self.temp.path().join("trusting");
        self.variable("HARVESTMAN_FETCH_EXTRA_ROOTS", file.to_str().unwrap())
    }
}
