//! The promises. Each test lists every place that breaks one, so that a run shows all the work at once.

use std::{collections::BTreeMap, fs};

use tidy::{Source, code_only, root, sources, without_tests};

/// Which of our crates each may use. A new arrow needs an edit here and in ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 12] = [
    ("model", &[]),
    ("store", &["model"]),
    ("seeder", &["model"]),
    ("manager", &["model"]),
    ("harvester", &["model"]),
    ("gatherer", &["model"]),
    ("simweb", &["model"]),
    ("config", &["model", "store", "seeder", "manager", "harvester", "gatherer"]),
    ("collection", &["model", "config", "store", "seeder", "manager", "harvester", "gatherer"]),
    (
        "engine",
        &[
            "model",
            "config",
            "collection",
            "store",
            "seeder",
            "manager",
            "harvester",
            "gatherer",
            "simweb",
        ],
    ),
    (
        "harvestman",
        &[
            "model",
            "config",
            "collection",
            "engine",
            "store",
            "seeder",
            "manager",
            "harvester",
            "gatherer",
            "simweb",
        ],
    ),
    ("tidy", &[]),
];

/// The only places that may read the machine's clock: the clock itself, the network, the simulated web.
const CLOCK_READERS: [&str; 3] =
    ["crates/harvester/src/clock.rs", "crates/harvester/src/http/", "crates/simweb/"];

const LINES_MAX: usize = 1_000;

fn rust() -> Vec<Source> {
    let all = sources(&root(), ".rs");
    assert!(all.len() > 20, "the source was not found from {}", root().display());
    all
}

/// The lines of the product in this file that hold one of the words outside comments and strings.
fn uses(source: &Source, words: &[&str]) -> Vec<String> {
    let lines = code_only(&source.text);
    without_tests(&lines)
        .iter()
        .enumerate()
        .filter(|(_, line)| words.iter().any(|word| line.contains(word)))
        .map(|(at, line)| format!("{}:{}: {}", source.path, at + 1, line.trim()))
        .collect()
}

#[track_caller]
fn none(broken: Vec<String>, promise: &str) {
    assert!(broken.is_empty(), "{promise}:\n  {}", broken.join("\n  "));
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let opens = |text: &str| text.lines().next().is_some_and(|line| line.starts_with("//! "));
    let broken = rust().into_iter().filter(|s| !opens(&s.text)).map(|s| s.path).collect();
    none(broken, "files must open with //! and a sentence");
}

#[test]
fn no_file_is_longer_than_anybody_reads() {
    let long = |s: &Source| s.text.lines().count() > LINES_MAX;
    let broken = rust().into_iter().filter(long).map(|s| s.path).collect();
    none(broken, "files over 1,000 lines; look for the seam");
}

#[test]
fn only_the_clock_the_network_and_the_simulated_web_read_the_machines_time() {
    let may = |s: &Source| s.is_test() || CLOCK_READERS.iter().any(|p| s.path.starts_with(p));
    let words = ["SystemTime::now", "Instant::now", "Zoned::now", "jiff::Timestamp::now"];
    let broken = rust().iter().filter(|s| !may(s)).flat_map(|s| uses(s, &words)).collect();
    none(broken, "take `now` as an argument or ask model::Clock");
}

#[test]
fn only_the_sql_seam_of_the_store_names_an_engine() {
    let may = |s: &Source| {
        ["crates/store/src/sql/", "crates/tidy/"].iter().any(|folder| s.path.starts_with(folder))
    };
    let names = |s: &Source| {
        let lines = code_only(&s.text);
        let at = lines.iter().position(|line| line.contains("rusqlite"));
        at.map(|at| format!("{}:{}", s.path, at + 1))
    };
    let broken = rust().iter().filter(|s| !may(s)).filter_map(names).collect();
    none(broken, "ask the database through store::sql");
}

#[test]
fn nothing_is_left_to_be_done() {
    let words = ["todo!(", "unimplemented!(", "dbg!("];
    let broken = rust().iter().flat_map(|s| uses(s, &words)).collect();
    none(broken, "unfinished code");
}

#[test]
fn a_test_is_ignored_only_with_a_reason() {
    let broken = rust()
        .iter()
        .flat_map(|source| {
            let lines = code_only(&source.text);
            let bare = |line: &String| line.trim_start().starts_with("#[ignore]");
            let found: Vec<usize> =
                (0..lines.len()).filter(|at| bare(&lines[*at])).map(|at| at + 1).collect();
            found.into_iter().map(|line| format!("{}:{line}", source.path)).collect::<Vec<_>>()
        })
        .collect();
    none(broken, "write #[ignore = \"why\"]");
}

#[test]
fn no_path_of_somebodys_machine_is_in_the_project() {
    let machines = ["/home/", "/Users/", "/root/", "/work/", "C:\\Users"];
    let endings = [".rs", ".md", ".toml", ".sh", ".py", ".sql", ".txt", "check"];
    let mut broken = Vec::new();
    for source in endings.iter().flat_map(|ending| sources(&root(), ending)) {
        if source.path == "crates/tidy/tests/tidy.rs" {
            continue;
        }
        for (at, line) in source.text.lines().enumerate() {
            // A URL may have any path.
            let plain = line.split_whitespace().filter(|word| !word.contains("://"));
            let names = |word: &str| machines.iter().any(|m| starts_a_path(word, m));
            if plain.into_iter().any(names) {
                broken.push(format!("{}:{}: {}", source.path, at + 1, line.trim()));
            }
        }
    }
    none(broken, "absolute paths of machines");
}

/// Whether `machine` stands in `word` where a path begins, not in the middle of one.
fn starts_a_path(word: &str, machine: &str) -> bool {
    word.match_indices(machine)
        .any(|(at, _)| !word[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~*}".contains(c)))
}

#[test]
fn crates_use_only_those_that_the_architecture_lets_them() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let mut broken = Vec::new();
    let mut seen = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let manifest: toml::Table = text.parse().unwrap();
        let Some(may) = allowed.get(name.as_str()) else {
            broken.push(format!("{name} is a crate that ARROWS does not know"));
            continue;
        };
        for used in ours(&manifest, &allowed) {
            if !may.contains(&used.as_str()) {
                broken.push(format!("{name} uses {used}"));
            }
        }
        seen.push(name);
    }
    none(broken, "arrows between crates that are not allowed");
    assert_eq!(seen.len(), ARROWS.len(), "crates found: {seen:?}");
}

/// Our crates that a manifest names, whatever for: building, testing or running.
fn ours(manifest: &toml::Table, known: &BTreeMap<&str, &[&str]>) -> Vec<String> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|kind| manifest.get(*kind)?.as_table())
        .flat_map(|table| table.keys())
        .filter(|name| known.contains_key(name.as_str()))
        .cloned()
        .collect()
}

#[test]
fn the_architecture_tells_of_every_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let missing = |name: &&str| !text.contains(&format!("**{name}**"));
    let broken: Vec<String> =
        ARROWS.iter().map(|(name, _)| *name).filter(missing).map(str::to_owned).collect();
    none(broken, "crates without a paragraph in ARCHITECTURE.md");
}

#[test]
fn no_crate_names_a_dependency_that_it_does_not_use() {
    let sources = rust();
    let mut broken = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let manifest: toml::Table = text.parse().unwrap();
        for (dependency, only_tests) in dependencies(&manifest) {
            let folder = format!("crates/{name}/{}", if only_tests { "" } else { "src/" });
            let word = dependency.replace('-', "_");
            let own = |source: &&Source| source.path.starts_with(&folder);
            // Tidy reads manifests in its tests.
            let uses = |source: &Source| source.text.contains(&word) || name == "tidy";
            if !sources.iter().filter(own).any(uses) {
                broken.push(format!("{name} names {dependency}"));
            }
        }
    }
    none(broken, "dependencies that nothing uses");
}

/// Where a clock may be made: the real one, the simulated one, that of a record's moment, and that of tests.
const CLOCKS: &[&str] = &[
    "crates/harvester/src/clock.rs",
    "crates/harvester/src/clock/simulated.rs",
    "crates/harvester/examples/fetch_floor.rs",
    "crates/engine/src/batch/moment.rs",
    "crates/model/src/testing.rs",
];

#[test]
fn what_tests_of_many_crates_need_is_in_model_testing_alone() {
    let mut broken = Vec::new();
    // The store has helpers of its own still.
    let others = |source: &&Source| {
        let free = ["crates/store/", "crates/tidy/"].iter().any(|at| source.path.starts_with(at));
        source.path.starts_with("crates/") && !free && !CLOCKS.contains(&&*source.path)
    };
    for source in rust().iter().filter(others) {
        let copies = ["impl Clock for ", "fn url(text: &str) -> CrawlUrl"];
        let found = copies.iter().filter(|copy| source.text.contains(*copy));
        broken.extend(found.map(|copy| format!("{}: {copy}", source.path)));
    }
    none(broken, "helpers of tests that model::testing has");
}

/// Files with `unsafe` in the product, and how often.
const UNSAFE: &[(&str, usize)] = &[
    // The scheduler's policy, which rustix does not set, and a setting of the allocator.
    ("crates/harvestman/src/main.rs", 2),
    // Instructions of the processor for SHA-1, behind a look at whether it has them.
    ("crates/store/src/warc/digest_pair.rs", 2),
];

#[test]
fn unsafe_code_is_where_the_list_says_and_gives_its_reason() {
    let mut broken = Vec::new();
    for source in rust().iter().filter(|source| source.path.contains("/src/")) {
        let blocks = uses(source, &["unsafe {", "unsafe fn ", "unsafe impl "]);
        let listed = UNSAFE.iter().find(|(path, _)| source.path == *path);
        let allowed = listed.map_or(0, |(_, blocks)| *blocks);
        let reasons = source.text.matches("// SAFETY: ").count();
        if source.path.starts_with("crates/") && (blocks.len() != allowed || reasons < allowed) {
            broken.extend([format!("{}: {allowed} are listed", source.path)]);
            broken.extend(blocks);
        }
    }
    none(broken, "unsafe code that the list does not name, or without a reason");
}

/// Tests of the program ask the program; what it neither shows nor does is in `store::testing`.
#[test]
fn only_the_store_knows_that_the_database_is_sqlite() {
    let mut broken = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let manifest: toml::Table = text.parse().unwrap();
        let knows = dependencies(&manifest).iter().any(|(dependency, _)| dependency == "rusqlite");
        if knows && name != "store" {
            broken.push(format!("{name} names rusqlite"));
        }
    }
    let queries = ["\"SELECT ", "\"UPDATE ", "\"INSERT INTO ", "\"DELETE FROM "];
    for source in rust().iter().filter(|source| source.path.starts_with("crates/")) {
        let free = ["crates/store/", "crates/tidy/"].iter().any(|at| source.path.starts_with(at))
            || source.path.ends_with("tests/it/views.rs");
        if !free && queries.iter().any(|query| source.text.contains(query)) {
            broken.push(format!("{} has a query", source.path));
        }
    }
    none(broken, "SQL outside the store");
}

/// Those of all platforms, and whether only tests have them.
fn dependencies(manifest: &toml::Table) -> Vec<(String, bool)> {
    let mut tables = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    let mut found = Vec::new();
    for table in tables {
        for (kind, only_tests) in [("dependencies", false), ("dev-dependencies", true)] {
            let names = table.get(kind).and_then(toml::Value::as_table);
            let names = names.into_iter().flat_map(|names| names.keys());
            found.extend(names.map(|name| (name.clone(), only_tests)));
        }
    }
    found
}
