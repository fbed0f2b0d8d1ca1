//! What was collected can be read in spite of mistakes in the settings; results go where they are asked to; what is
//! asked for in vain is said.

use std::fs;

use serde_json::Value;
use simweb::{PageCount, WebOptions};

use crate::world::World;

const HOME: &str = "http://s0.sim.test/";

fn world() -> World {
    World::new(WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() })
}

fn crawled() -> World {
    let world = world();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world
}

const READERS: [&[&str]; 12] = [
    &["history", HOME],
    &["show", HOME],
    &["changes"],
    &["explain", HOME],
    &["export", "directory", "--out", "pages"],
    &["status"],
    &["report", "adaptation"],
    &["report", "hazards"],
    &["decisions"],
    &["spider"],
    &["webhook", "dead"],
    &["block", "--list"],
];

#[test]
fn a_mistake_in_the_settings_keeps_nobody_from_what_was_collected() {
    let world = crawled();
    let file = world.folder.join("harvest.toml");
    let mistakes = [
        ("[etiquette]\ndelai = \"2s\"\n", ["line 2", "delai", "did you mean \"delay\"?"]),
        ("[store]\nkeep = \"soon\"\n", ["line 2", "store.keep", "\"none\""]),
        ("[crawl]\nscope = \"sight\"\n", ["line 2", "crawl.scope", "site"]),
        ("[crawl\n", ["line 1", "harvest.toml", "[section]"]),
    ];
    for (text, parts) in mistakes {
        fs::write(&file, text).unwrap();
        for args in READERS {
            world.run(args).exits(0);
        }
        for args in [&["history", HOME][..], &["show", HOME], &["changes"], &["explain", HOME]] {
            let done = world.run(args);
            done.says(&parts).says(&["warning: ", "until it is corrected"]);
            assert!(!done.out.is_empty(), "{done}");
        }
        let quiet = world.run(&["show", HOME, "--quiet"]);
        assert_eq!(quiet.exits(0).err, "", "{quiet}");
        let explained = world.run(&["explain", HOME]);
        assert!(explained.out.contains("cannot be said"), "{explained}");
        for args in [&["crawl"][..], &["run"], &["thin"], &["seed", HOME], &["webhook", "test"]] {
            world.run(args).exits(2).says(&parts[1..2]);
        }
        world.run(&["webhook"]).exits(2).says(&["no webhook could be read"]);
    }
}

#[test]
fn an_explanation_without_judgement_tells_what_is_recorded() {
    let world = crawled();
    fs::write(world.folder.join("harvest.toml"), "[crawl]\nfilter = \"gone.rhai\"\n").unwrap();
    let told = world.run(&["explain", HOME]);
    assert!(told.exits(0).out.contains("last visit "), "{told}");
    assert!(told.out.contains("gone.rhai"), "{told}");
    let told = world.run(&["explain", HOME, "--json"]).exits(0).json();
    assert_eq!((&told["spider"], &told["page"]["visits"]), (&Value::Null, &1.into()), "{told:#}");
    assert!(told["unjudged"]["what"].as_str().unwrap().contains("gone.rhai"), "{told:#}");
    fs::remove_file(world.folder.join("harvest.toml")).unwrap();
    let told = world.run(&["explain", HOME, "--json"]).exits(0).json();
    assert_eq!((&told["spider"], &told["unjudged"]), (&"default".into(), &Value::Null));
}

#[test]
fn warnings_beside_json_are_json_and_leave_standard_output_alone() {
    let world = crawled();
    let lines: String = (0..5).map(|n| format!("wrong{n} = 1\n")).collect();
    fs::write(world.folder.join("harvest.toml"), format!("[crawl]\n{lines}")).unwrap();
    let done = world.run(&["history", HOME, "--json"]);
    assert_eq!(done.exits(0).json()["url"], HOME);
    let warnings: Vec<Value> =
        done.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(warnings.len(), 3, "{done}");
    assert!(warnings[0]["warning"]["sentence"].as_str().unwrap().contains("line 2"), "{done}");
    world.run(&["history", HOME]).says(&["and 2 more: harvestman config check"]);
}

#[test]
fn a_dash_is_standard_output_wherever_a_file_is_asked_for() {
    let world = crawled();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let feed = world.run(&["changes", "--atom", "-"]);
    assert!(feed.exits(0).out.ends_with("</feed>\n"), "{feed}");
    let page = world.run(&["diff", HOME, "1", "1", "--html", "-"]);
    assert!(page.exits(0).out.starts_with("<!doctype html>"), "{page}");
    assert!(page.out.ends_with("</html>\n"), "{page}");
    let few = ["simulate", "--pages", "20", "--days", "3", "--budget", "b", "--policy", "uniform"];
    let drawing = world.run(&[&few[..], &["--svg", "-"]].concat());
    assert!(drawing.exits(0).out.starts_with("<svg"), "{drawing}");
    assert!(drawing.out.trim_end().ends_with("</svg>"), "{drawing}");
    let both: [&[&str]; 3] = [
        &["changes", "--atom", "-", "--json"],
        &["diff", HOME, "1", "1", "--html", "-", "--json"],
        &["simulate", "--pages", "20", "--days", "3", "--svg", "-", "--json"],
    ];
    for args in both {
        let done = world.run(args);
        done.exits(2).says(&["both want standard output"]);
        assert_eq!(done.out, "", "{done}");
    }
    let folders: [&[&str]; 3] =
        [&["export", "directory", "--out", "-"], &["man", "--out", "-"], &["batch", "export", "-"]];
    for args in folders {
        world.run(args).exits(2).says(&["standard output", "name a "]);
    }
    for dash in [world.folder.join("-"), world.folder.with_file_name("-")] {
        assert!(!dash.exists(), "nothing is called so");
    }
}

#[test]
fn a_feed_written_with_json_is_told_as_json() {
    let world = crawled();
    let file = world.folder.join("news.atom");
    let name = file.to_str().unwrap();
    let told = world.run(&["changes", "--atom", name, "--json"]).exits(0).json();
    assert_eq!((&told["file"], &told["changes"]), (&name.into(), &3.into()), "{told}");
    assert!(told["next"].as_i64() > Some(0) && told["more"] == false, "{told}");
    assert_eq!(told["earlier"], false, "{told}");
    assert!(fs::read_to_string(&file).unwrap().contains("<feed"));
    let told = world.run(&["changes", "--atom", name, "--json", "--limit", "2"]).exits(0).json();
    assert_eq!((&told["changes"], &told["earlier"]), (&2.into(), &true.into()), "{told}");
    let told = world.run(&["changes", "--atom", name, "--limit", "2"]);
    told.exits(0).says(&["2 changes written", "earlier ones are left out"]);
}

#[test]
fn no_listing_tells_a_time_as_a_number() {
    let world = world();
    let done =
        world.run(&["crawl", HOME, "--delay", "0", "--depth", "0", "--json"]).exits(0).json();
    let next = done["next_due"].as_str().unwrap_or_else(|| panic!("{done:#}"));
    assert!(next.starts_with("20") && next.ends_with('Z'), "{next}");
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    world.run(&["block", "s9.sim.test"]).exits(0);
    let listings: [&[&str]; 16] = [
        &["status"],
        &["decisions"],
        &["explain", HOME],
        &["explain", "http://s0.sim.test/none"],
        &["history", HOME],
        &["show", HOME],
        &["diff", HOME, "1", "1"],
        &["spider"],
        &["block", "--list"],
        &["batch", "list"],
        &["quarantine"],
        &["traps"],
        &["mirrors"],
        &["report", "adaptation"],
        &["report", "hazards"],
        &["webhook", "dead"],
    ];
    for args in listings {
        let told = world.run(&[args, &["--json"]].concat()).exits(0).json();
        no_epoch(&told, args);
    }
    let told = world.run(&["decisions", "--json"]).json();
    let last = told["rows"][0]["last"].as_str().unwrap_or_else(|| panic!("{told:#}"));
    assert!(last.starts_with("20") && last.ends_with('Z') && last.len() == 20, "{last}");
    let told = world.run(&["explain", HOME, "--json"]).json();
    assert!(told["page"]["visited"].as_str().unwrap().ends_with('Z'), "{told:#}");
}

/// Milliseconds since 1970 of our century; hashes, which are as large, have names of their own.
#[track_caller]
fn no_epoch(told: &Value, args: &[&str]) {
    match told {
        Value::Array(items) => items.iter().for_each(|item| no_epoch(item, args)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let hashed = ["fp", "duplicate_of", "near_of"].contains(&name.as_str());
            if !hashed && !name.ends_with("hash") {
                no_epoch(value, args);
            }
        }),
        Value::Number(number) => {
            let seconds = 1_000_000_000.0..5_000_000_000.0;
            let n = number.as_f64().unwrap();
            let is_time = seconds.contains(&n) || seconds.contains(&(n / 1_000.0));
            assert!(!is_time, "{args:?} tells {n}");
        }
        _ => {}
    }
}

#[test]
fn times_that_cannot_be_are_refused_and_far_ones_are_taken() {
    let world = crawled();
    for time in ["2026-11-16T20:00:00+25:00", "2026-02-30", "soon"] {
        world.run(&["changes", "--since", time]).exits(2).says(&[time]);
        world.run(&["show", HOME, "--at", time]).exits(2).says(&[time]);
    }
    world.run(&["changes", "--since", "9999-12-31"]).exits(0);
    world.run(&["show", HOME, "--at", "9999-12-31T23:59:59Z"]).exits(0);
}

#[test]
fn numbers_below_what_is_allowed_are_refused_with_what_is() {
    let world = crawled();
    let cases: [(&[&str], &[&str]); 12] = [
        (&["history", HOME, "--limit", "-1"], &["--limit", "-1 is not in 1.."]),
        (&["changes", "--limit", "-5"], &["--limit", "-5 is not in 1.."]),
        (&["changes", "--after", "-5"], &["--after", "-5 is not in 0.."]),
        (&["decisions", "--limit", "-1"], &["--limit", "-1 is not in 1.."]),
        (&["decisions", "--limit", "0"], &["--limit", "0 is not in 1.."]),
        (&["show", HOME, "--version", "-1"], &["--version", "-1 is not in 1.."]),
        (&["diff", HOME, "-1"], &["-1", "a number of those"]),
        (&["simulate", "--pages", "-5"], &["--pages", "whole number, 0 or more"]),
        (&["crawl", "--pages", "-1"], &["--pages", "whole number, 1 or more"]),
        (&["crawl", "--pages", "0"], &["--pages", "whole number, 1 or more", "\"none\""]),
        (&["run", "--for", "0s"], &["--for", "above zero", "\"none\""]),
        (&["run", "--for", "-5"], &["--for", "-5", "30s"]),
    ];
    for (args, parts) in cases {
        let done = world.run(args);
        done.exits(2).says(parts);
        assert!(!done.err.contains("unexpected argument"), "{done}");
    }
}

#[test]
fn pages_are_not_exported_among_the_files_of_the_collection() {
    let world = crawled();
    let inside = |name: &str| world.folder.join(name).to_str().unwrap().to_owned();
    for out in ["", "volumes", "volumes/x/y", "links", "directory", "other/../volumes"] {
        let done = world.run(&["export", "directory", "--out", &inside(out)]);
        done.exits(2).says(&["its own files", "--out"]);
    }
    #[cfg(unix)]
    {
        let link = world.folder.with_file_name("link");
        std::os::unix::fs::symlink(&world.folder, &link).unwrap();
        let out = link.join("volumes");
        world.run(&["export", "directory", "--out", out.to_str().unwrap()]).exits(2);
    }
    world.run(&["export", "directory", "--out", &inside("pages")]).exits(0);
    world.run(&["check"]).exits(0);
}

#[test]
fn what_is_not_there_is_said_alike_by_every_command() {
    let world = crawled();
    let listings: [&[&str]; 6] = [
        &["changes"],
        &["decisions"],
        &["report", "adaptation"],
        &["report", "hazards"],
        &["report", "duplicates"],
        &["export", "directory", "--out", "pages"],
    ];
    for args in listings {
        let done = world.run(&[args, &["--site", "nosuch.test"]].concat());
        done.exits(2).says(&["the site nosuch.test is not in this collection"]);
        world.run(&[args, &["--site", HOME]].concat()).exits(0);
    }
    let lifted = world.run(&["quarantine", "lift", "nosuch.test"]);
    lifted.exits(2).says(&["nothing of nosuch.test was noted", "harvestman quarantine"]);
}
