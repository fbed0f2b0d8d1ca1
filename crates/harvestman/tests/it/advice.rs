//! What the program suggests works, and what it completes is what it takes.

use std::process::Command;

use simweb::WebOptions;

use crate::{
    ask::strings,
    world::{Done, PATIENCE, Running, World},
};

const HOME: &str = "http://s0.sim.test/";

fn web() -> World {
    World::new(WebOptions { sites: 1, ..WebOptions::default() })
}

/// Gives the command that the last one suggested.
fn follow(world: &World, done: &Done) -> Done {
    let (_, rest) = done.err.split_once("continue with: ").unwrap_or_else(|| panic!("{done}"));
    let (typed, _) = rest.split_once(" (").unwrap();
    let program = env!("CARGO_BIN_EXE_harvestman");
    let typed = typed.replacen("harvestman", program, 1);
    let mut shell = Command::new("sh");
    shell.args(["-c", &typed]).current_dir(world.temp.path());
    Running::new(&mut shell).wait(PATIENCE)
}

#[test]
fn a_crawl_that_ended_at_a_limit_suggests_a_command_that_goes_on() {
    let world = web();
    let done = world.run(&["crawl", HOME, "--delay", "0", "--pages", "3"]);
    done.exits(0).says(&["page limit reached: 3 pages", "crawl.pages is a total"]);
    let on = follow(&world, &done);
    assert!(on.exits(0).err.contains("all done"), "{on}");

    for (key, limit) in [("pages = 3", "page limit"), ("bytes = \"20KB\"", "byte limit")] {
        let world = web();
        world.run(&["init"]).exits(0);
        let file = world.folder.join("harvest.toml");
        std::fs::write(file, format!("[crawl]\n{key}\n")).unwrap();
        let done = world.run(&["crawl", HOME, "--delay", "0"]);
        done.exits(0).says(&[limit]);
        let on = follow(&world, &done);
        assert!(on.exits(0).err.contains("all done"), "{on}");
    }
}

#[test]
fn blocking_a_folders_url_says_that_it_is_one_url() {
    let world = web();
    world.run(&["block", "http://h.example/dir/"]).exits(0).says(&[
        "http://h.example/dir/ is that URL alone",
        "to block everything below it: harvestman block 'http://h.example/dir/*'",
    ]);
    let wide = world.run(&["block", "http://h.example/dir/*"]);
    assert!(!wide.exits(0).err.contains("alone"), "{wide}");
}

#[test]
fn a_file_that_is_there_is_read_as_a_file_of_seeds() {
    let world = web();
    std::fs::write(world.temp.path().join("urls.txt"), "http://a.example/\nb.example\n").unwrap();
    world.run(&["seed", "--from", "urls", "urls.txt", "http://c.example/"]).exits(0);
    let seeds = strings(&world.pages(&[]), "url");
    assert_eq!(seeds, ["http://a.example/", "http://b.example/", "http://c.example/"]);
}

#[test]
fn completions_offer_the_words_of_a_flag_and_files_only_where_files_are_meant() {
    let world = web();
    let script = world.run(&["completions", "bash"]).exits(0).out.clone();
    let after = |flag: &str| {
        let (_, crawl) = script.split_once("harvestman__subcmd__crawl)").unwrap();
        let (_, rest) = crawl.split_once(&format!("{flag})")).unwrap();
        rest.split_once(";;").unwrap().0.to_owned()
    };
    assert!(after("--scope").contains("site domain prefix listed any"), "{}", after("--scope"));
    assert!(!after("--delay").contains("compgen -f"), "{}", after("--delay"));
    assert!(after("--collection").contains("plusdirs"), "{}", after("--collection"));
}
