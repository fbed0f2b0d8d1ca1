//! `-v`, `-vv` and `-vvv`: each says more than the one before, and nothing of it is said without.

use simweb::WebOptions;

use crate::world::World;

#[test]
fn each_step_of_verbosity_says_more() {
    let said = |flag: &[&str]| {
        let world = World::new(WebOptions { sites: 1, ..WebOptions::default() });
        let args =
            [&["crawl", "http://s0.sim.test/", "--delay", "0", "--pages", "2"], flag].concat();
        let done = world.run(&args);
        done.exits(0);
        done.err
    };
    let parts = ["site begun", "answer status=200 url=http://s0.sim.test/", "request url="];
    for (flag, count) in [(&[][..], 0), (&["-v"], 1), (&["-vv"], 2), (&["-vvv"], 3)] {
        let log = said(flag);
        let found = parts.iter().filter(|part| log.contains(**part)).count();
        assert_eq!(found, count, "{flag:?}: {log}");
        assert!(parts[..count].iter().all(|part| log.contains(part)), "{flag:?}: {log}");
    }
}
