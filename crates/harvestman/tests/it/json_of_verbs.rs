//! docs/json.md names every field of what commands that change a collection answer, and of their listings.

use std::collections::BTreeSet;

use serde_json::Value;
use simweb::{Hazard, PageCount, WebOptions};
use store::testing;

use crate::world::World;

/// Those whose JSON is looked at here.
pub const COMMANDS: &[&str] = &[
    "block",
    "mirrors",
    "pause",
    "quarantine",
    "resume",
    "seed",
    "spider",
    "stop",
    "traps",
    "visit",
];

const HOME: &str = "http://s0.sim.test/";

#[test]
fn every_field_of_a_verb_and_its_listing_is_documented() {
    let mut options = WebOptions { pages: PageCount::Fixed(12), ..WebOptions::default() };
    options.put("s0.sim.test/cal", Hazard::Calendar);
    let world = World::new(options);
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    testing::add_breakdown(&world.folder, HOME);
    for verb in [
        "block ads.example --reason x",
        "block --list",
        "block ads.example --remove",
        "seed http://s0.sim.test/a http://s0.sim.test/a",
        "spider add news http://s0.sim.test/b --set crawl.depth=1",
        "spider edit news --set crawl.depth=2",
        "spider list",
        "spider pause news",
        "spider resume news",
        "spider remove news",
        "quarantine",
        "quarantine lift http://s0.sim.test/ s1.sim.test",
        "visit http://s0.sim.test/",
        "traps",
        "traps lift s0.sim.test",
        "traps watch s0.sim.test",
        "mirrors lift s0.sim.test",
        "mirrors",
        "mirrors find",
    ] {
        check(&world, verb);
    }
    let run = world.start(&["run", "--delay", "0"]);
    world.wait_for("the run has begun", |world| world.status()["state"] == "running");
    ["pause", "resume", "stop"].iter().for_each(|verb| check(&world, verb));
    run.wait(crate::world::PATIENCE).exits(4);
}

#[track_caller]
fn check(world: &World, verb: &str) {
    let words: Vec<&str> = verb.split(' ').chain(["--json"]).collect();
    let documented = documented(words[0]);
    let mut fields = BTreeSet::new();
    paths(world.run(&words).exits(0).json(), String::new(), &mut fields);
    assert!(!fields.is_empty(), "{verb}");
    for field in &fields {
        let is_named = |name: &String| {
            // Of an object that is described elsewhere, or has keys of the user's, the name is enough.
            field == name || field.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        };
        assert!(documented.iter().any(is_named), "{verb}: {field} is not in {documented:?}");
    }
}

/// The fields under the heading of this command.
fn documented(command: &str) -> BTreeSet<String> {
    let text = include_str!("../../../../docs/json.md");
    let heading = format!("## harvestman {command}");
    let section = text.lines().skip_while(|line| **line != *heading).skip(1);
    let rows = section.take_while(|line| !line.starts_with("## "));
    let fields = rows.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    fields.map(|(field, _)| field.to_owned()).collect()
}

/// `rows[].url` and the like, of every value that is no object and no list.
fn paths(value: Value, path: String, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                paths(value, format!("{path}{dot}{name}"), found);
            }
        }
        Value::Array(items) => {
            items.into_iter().for_each(|item| paths(item, format!("{path}[]"), found));
        }
        _ => drop(found.insert(path)),
    }
}
