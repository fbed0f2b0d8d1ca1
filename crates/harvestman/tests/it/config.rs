//! `config check` and `man` through the binary: exit codes, all mistakes at once, no secret anywhere.

use std::fs;

use simweb::WebOptions;

use crate::world::World;

fn world(text: &str) -> World {
    let world = World::new(WebOptions::default());
    fs::create_dir_all(&world.folder).unwrap();
    fs::write(world.folder.join("harvest.toml"), text).unwrap();
    world
}

#[test]
fn config_check_says_everything_that_is_wrong_and_exits_with_2() {
    let world = world(
        "[etiquette]\ndealy = '1s'\n[crawl]\nfilter = 'f.rhai'\n\
         [fetch]\nproxy = 'ftp://me:hush@x:1'\n\
         [[override]]\nwhen = 'path ~ \"/a\"'\netiquette.delay = '1s'\n\
         [[credential]]\norigin = 'https://a.org'\nbasic = 'hush'\n",
    );
    fs::write(world.folder.join("f.rhai"), "fn crawl(url) {\n  true +\n}\n").unwrap();
    let done = world.run(&["config", "check"]);
    done.exits(2);
    for part in
        ["\"dealy\"", "f.rhai", "ftp://***@x:1", "whole sites", "user:password", "5 mistakes"]
    {
        assert!(done.out.contains(part), "{part}: {done}");
    }
    assert!(!done.out.contains("hush") && !done.err.contains("hush"), "{done}");
    let done = world.run(&["config", "check", "--json"]);
    done.exits(2);
    let json = done.json();
    assert_eq!(json["mistakes"].as_array().unwrap().len(), 5, "{json:#}");
    assert!(!world.run(&["crawl", "http://s0.sim.test/"]).exits(2).err.contains("hush"));
    assert_eq!(world.log(), [], "nothing was fetched");
}

#[test]
fn config_check_of_a_good_configuration_exits_with_0_and_says_what_needs_a_restart() {
    let world = world(
        "[etiquette]\ndelay = '1s'\n[crawl]\nactive_sites = 9\n[[override]]\nwhen = 'any'\ncrawl.depth = 3\n",
    );
    let done = world.run(&["config", "check"]);
    done.exits(0);
    assert!(done.out.contains("takes effect while a crawl runs: etiquette.delay"), "{done}");
    assert!(done.out.ends_with("nothing is wrong\n"), "{done}");
    world.run(&["config", "check", "--delay", "soon"]).exits(2);
    let json = world.run(&["config", "check", "--json"]).json();
    assert_eq!(json["mistakes"].as_array().unwrap().len(), 0, "{json:#}");
    assert_eq!(json["live"][0], "etiquette.delay");
    assert_eq!(json["restart"][0], "crawl.active_sites");
}

#[test]
fn limits_on_hazards_that_make_no_sense_are_refused_with_what_to_write() {
    for (line, what_to_do) in [
        ("stalled_after = '0s'", "from 1s to 1d"),
        ("stalled_after = '10ms'", "from 1s to 1d"),
        ("stalled_after = '3d'", "from 1s to 1d"),
        ("mirrors_recheck = 0", "from 1s to 3650d"),
        ("slow_time = 0", "from 1s to 365d"),
        ("session_names = ['sid', '*']", "before the *"),
        ("session_names = ['s*']", "before the *"),
        ("wildcard_hosts = 0", "1 or more"),
        ("domain_hosts = 0", "1 or more"),
        ("duplicates = -1", "whole number"),
    ] {
        let world = world(&format!("[hazards]\n{line}\n"));
        let done = world.run(&["config", "check"]);
        done.exits(2);
        let name = line.split(' ').next().unwrap();
        for part in ["line 2", name, what_to_do] {
            assert!(done.out.contains(part), "{line}: no {part:?} in {done}");
        }
        world.run(&["crawl", "http://s0.sim.test/"]).exits(2);
        assert_eq!(world.log(), [], "nothing was fetched");
    }
}

#[test]
fn man_writes_one_page_for_each_command() {
    let world = World::new(WebOptions::default());
    let program = world.run(&["man"]);
    program.exits(0);
    assert!(
        program.out.contains(".TH HARVESTMAN") && program.out.contains("EXAMPLES"),
        "{program}"
    );
    let folder = world.temp.path().join("man/man1");
    world.run(&["man", "--out", folder.to_str().unwrap()]).exits(0);
    for name in ["harvestman", "harvestman-crawl", "harvestman-config-check", "harvestman-man"] {
        let page = fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {}", name.to_uppercase())), "{page}");
    }
}
