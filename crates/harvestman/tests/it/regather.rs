//! `regather` reads archived pages again, and asks no server.

use std::{fs, thread::sleep, time::Duration};

use serde_json::Value;
use simweb::{PageCount, WebOptions};

use crate::{
    raw::Raw,
    world::{PATIENCE, World},
};

const HOME: &str = "http://a.raw.test/";

fn crawl(world: &World, raw: &Raw, flags: &[&str]) {
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let args = ["crawl", HOME, "--delay", "0", "--resolve", &rule];
    world.run(&[&args[..], flags].concat()).exits(0);
}

fn configured(world: &World, text: &str) {
    fs::create_dir_all(&world.folder).unwrap();
    fs::write(world.folder.join("harvest.toml"), text).unwrap();
}

#[test]
fn links_and_text_follow_a_change_of_settings_without_a_request() {
    let home = "<title>home</title><p>words of the page</p><a href=/one>1</a><a href=/copy>2</a>\
                <img src=/picture>";
    let one = format!("<title>one</title><p>{}</p>", "the same in both, word for word ".repeat(99));
    let raw = Raw::pages(&[
        ("a.raw.test/", home),
        ("a.raw.test/one", &one),
        // Archived as a revisit of the other.
        ("a.raw.test/copy", &one),
        ("a.raw.test/picture", "<title>picture</title><p>not one</p>"),
    ]);
    let world = World::new(WebOptions::default());
    configured(&world, "parse.link_tags = [\"a/href\"]\n");
    crawl(&world, &raw, &[]);
    assert_eq!(world.fetched(), 3);
    let before = world.page(HOME);
    configured(&world, "parse.link_tags = [\"a/href\", \"img/src\"]\n");
    let asked = raw.asked().len();
    let done = world.run(&["regather", "--json"]).exits(0).json();
    assert_eq!((&done["pages"], &done["changed"]), (&3.into(), &0.into()), "{done}");
    assert_eq!((&done["new_pages"], &done["continued"]), (&1.into(), &false.into()), "{done}");
    assert_eq!(raw.asked().len(), asked, "nothing is fetched");
    let links = world.ask(&["links", HOME, "--out"]);
    assert!(links.to_string().contains("http://a.raw.test/picture"), "{links}");
    assert_eq!(world.page(HOME)["due"], before["due"], "its next visit is when it was");
    world.run(&["check"]).exits(0);
    for page in ["one", "copy"] {
        assert_eq!(world.page(&format!("{HOME}{page}"))["title"], "one");
    }
    crawl(&world, &raw, &[]);
    assert_eq!(world.fetched(), 4);
    // Again there is nothing new, and the next visit sees no change.
    let again = world.run(&["regather"]);
    assert!(again.exits(0).out.contains("4 pages read again: 0 with other text, 0 pages new"));
    crawl(&world, &raw, &["--fresh"]);
    assert_eq!(world.history(HOME).len(), 1, "one version");
    world.run(&["regather", "--site", "b.raw.test"]).exits(2).says(&["is not in this collection"]);
}

/// All that is listed of pages.
fn pages(world: &World) -> Vec<Value> {
    world.pages(&[])
}

#[test]
fn killed_at_any_moment_it_continues_and_leaves_the_collection_sound() {
    let options = WebOptions { sites: 3, pages: PageCount::Fixed(150), ..WebOptions::default() };
    let world = World::new(options);
    let seeds = ["http://s0.sim.test/", "http://s1.sim.test/", "http://s2.sim.test/"];
    world.run(&[&["crawl", "--delay", "0"], &seeds[..]].concat()).exits(0);
    let before = pages(&world);
    world.forget_log();
    let (mut kills, mut continued) = (0, 0);
    let rounds = if std::env::var_os("HARVESTMAN_LONG").is_some() { 200 } else { 12 };
    for round in 0..rounds {
        let mut running = world.start(&["regather"]);
        sleep(Duration::from_millis(60 + 45 * round % 555));
        match running.is_running() {
            true => {
                running.kill();
                kills += 1;
                world.run(&["check"]).exits(0);
            }
            false => {
                let done = running.wait(PATIENCE);
                continued += u64::from(done.exits(0).out.contains("(continued)"));
            }
        }
    }
    assert!(kills > 0 && continued > 0, "{kills} kills, {continued} continued");
    world.run(&["regather"]).exits(0);
    for (after, before) in pages(&world).iter().zip(&before) {
        assert_eq!(after, before);
    }
    assert_eq!(pages(&world).len(), before.len());
    assert_eq!(world.log(), []);
}
