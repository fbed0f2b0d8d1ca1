//! Addresses and ports that are refused: said with how to allow them, and tried at once when that is done.

use std::process::Command;

use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::{Done, PATIENCE, Running, World},
};

const HTML: &str = "Content-Type: text/html";
const RESOLVE: &str = "*.raw.test=127.0.0.1";

/// Not through the world's own command: that allows all of 127.0.0.0/8.
fn crawl(world: &World, seed: &str, more: &[&str]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harvestman"));
    command.arg("-C").arg(&world.folder).args(["crawl", seed, "--delay", "0"]);
    command.args(["--resolve", RESOLVE]).args(more).current_dir(world.temp.path());
    Running::new(&mut command).wait(PATIENCE)
}

fn explained(world: &World, url: &str) -> String {
    let done = world.run(&["explain", url]);
    done.exits(0);
    done.out
}

#[test]
fn an_address_that_was_refused_is_visited_at_once_when_the_advice_is_followed() {
    let raw = Raw::pages(&[("a.raw.test/", "here")]);
    let world = World::new(WebOptions::default());
    let seed = format!("http://a.raw.test:{}/", raw.port);
    for _ in 0..2 {
        crawl(&world, &seed, &[]).exits(1).says(&[
            "nothing could be fetched",
            "refused: ",
            "failed 0",
            "--allow-address 127.0.0.1",
        ]);
    }
    assert!(raw.heard().is_empty());
    assert_eq!(world.status()["pages"]["waiting"], 0, "a decision, and nothing to wait for");
    assert!(explained(&world, &seed).contains("not crawled"));

    let done = crawl(&world, &seed, &["--allow-address", "127.0.0.1"]);
    done.exits(0).says(&["1 page in"]);
    assert!(!done.err.contains("refused:"), "{done}");
    assert_eq!(raw.asked().len(), 1);
    let explained = explained(&world, &seed);
    assert!(!explained.contains("allow-address"), "{explained}");
}

#[test]
fn a_server_that_could_not_be_reached_is_asked_at_once_when_the_way_to_it_is_another() {
    let raw = Raw::pages(&[("a.raw.test/", "here")]);
    let world = World::new(WebOptions::default());
    let (seed, allow) = (format!("http://a.raw.test:{}/", raw.port), "--allow-address");
    // Nobody listens on this one.
    let closed = "a.raw.test=127.0.0.7";
    let away = [allow, "127.0.0.0/8", "--resolve", closed];
    crawl(&world, &seed, &away).exits(1).says(&["nothing could be fetched"]);
    let again = crawl(&world, &seed, &away);
    again.exits(1).says(&["nothing could be fetched: 1 page waits, and the next visit is in"]);
    crawl(&world, &seed, &[allow, "127.0.0.0/8"]).exits(0).says(&["1 page in"]);
}

#[test]
fn a_redirect_to_a_refused_address_is_a_decision_and_is_not_tried_again() {
    let raw = Raw::start(|asked, stream| match asked {
        "127.0.0.1/" => reply(stream, "302 Found", "Location: http://127.0.0.2/inner", b""),
        _ => reply(stream, "404 Not Found", HTML, b"none"),
    });
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    let allow = ["--allow-address", "127.0.0.1"];
    crawl(&world, &seed, &allow).exits(0).says(&[
        "all done",
        "address 127.0.0.2, which is in 127.0.0.0/8 (Loopback), such as http://127.0.0.2/inner",
        "allow the address with --allow-address",
    ]);
    assert_eq!(world.status()["pages"]["waiting"], 0);
    let decisions = world.run(&["decisions"]);
    decisions.exits(0);
    assert!(decisions.out.contains("address 127.0.0.2"), "{decisions}");
    assert_eq!(world.number("SELECT count(*) FROM pages WHERE url LIKE '%inner' AND due > 0"), 0);
    crawl(&world, &seed, &allow).exits(0);
    assert_eq!(world.number("SELECT sum(count) FROM decisions WHERE reason = 'address'"), 1);
}
