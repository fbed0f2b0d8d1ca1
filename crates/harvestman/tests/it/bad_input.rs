//! Mistakes and missing things: one plain sentence, what to do, the right exit code, nothing harmed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use simweb::{PageCount, WebOptions};
use store::testing;

use crate::world::{Done, World};

const HOME: &str = "http://s0.sim.test/";

#[test]
fn what_is_typed_wrong_is_told_plainly_and_makes_no_folder() {
    let cases: [(&[&str], &[&str]); 16] = [
        (&["crawl", "ftp://s0.sim.test/"], &["ftp", "https://example.org/"]),
        (&["crawl", "http://"], &["cannot crawl"]),
        (&["crawl", "http://a b/"], &["white space"]),
        (&["crawl", "http://[::1"], &["cannot crawl"]),
        (&["crawl", HOME, "--delay", "2x"], &["--delay", "2x"]),
        (&["crawl", HOME, "--for", "soon"], &["--for", "soon"]),
        (&["crawl", HOME, "--pages", "many"], &["--pages", "many"]),
        (&["crawl", HOME, "--connections", "0"], &["--connections"]),
        (&["crawl", HOME, "--scope", "sight"], &["--scope", "site"]),
        (&["crawl", HOME, "--external", "depp"], &["--external", "deep"]),
        (&["crawl", HOME, "--allow-address", "10.0.0.0/99"], &["--allow-address", "10.0.0.0/8"]),
        (&["crawl", HOME, "--resolve", "nothing"], &["--resolve", "127.0.0.1"]),
        (&["crawl", HOME, "--proxy", "socks://x"], &["--proxy", "http://"]),
        (&["crawl"], &["crawl"]),
        (&["status"], &["crawl URL"]),
        (&["show", HOME], &["crawl URL"]),
    ];
    let world = world();
    for (args, parts) in cases {
        let done = world.run(args);
        done.exits(2).says(parts);
        plain(&done);
        assert!(!world.folder.exists(), "{args:?} leaves nothing behind");
    }
    assert_eq!(world.log(), []);
}

#[test]
fn failures_as_json_name_the_exit_code_the_sentence_and_what_to_do() {
    let done = world().run(&["crawl", "ftp://x/", "--json"]);
    done.exits(2);
    let json: serde_json::Value = serde_json::from_str(done.err.trim()).unwrap();
    assert_eq!(json["error"]["exit"], 2);
    for name in ["sentence", "what_to_do"] {
        assert!(!json["error"][name].as_str().unwrap().is_empty(), "{json:#}");
    }
}

#[test]
fn what_is_wrong_in_the_configuration_is_told_with_its_place() {
    let cases: [(&str, &[&str]); 9] = [
        ("[etiquette]\ndelai = \"2s\"\n", &["delai", "did you mean \"delay\"?", "line 2"]),
        ("[etiqette]\ndelay = \"2s\"\n", &["etiqette", "etiquette"]),
        ("[etiquette]\ndelay = \"2 fortnights\"\n", &["etiquette.delay", "fortnights", "line 2"]),
        ("[fetch]\nbody_bytes_max = \"2 XB\"\n", &["fetch.body_bytes_max", "line 2"]),
        ("[reject]\npatterns = ['(']\n", &["reject.patterns", "line 2"]),
        ("[reject]\ndisable = ['nonsense']\n", &["nonsense"]),
        ("[fetch]\nallow_address = ['10.0.0.0/99']\n", &["fetch.allow_address", "line 2"]),
        ("[crawl]\nscope = \"sight\"\n", &["crawl.scope", "site"]),
        ("[crawl\n", &["harvest.toml", "line 1"]),
    ];
    let world = world();
    fs::create_dir(&world.folder).unwrap();
    for (text, parts) in cases {
        fs::write(world.folder.join("harvest.toml"), text).unwrap();
        let before = contents(&world.folder);
        let done = world.run(&["crawl", HOME, "--delay", "0"]);
        done.exits(2).says(parts);
        plain(&done);
        assert_eq!(contents(&world.folder), before, "{text:?} changes nothing");
    }
    assert_eq!(world.log(), []);
}

#[test]
fn a_wrong_variable_is_told_by_its_name() {
    let world = world().variable("HARVESTMAN_FETCH_TIMEOUT", "later");
    let done = world.run(&["crawl", HOME]);
    done.exits(2).says(&["HARVESTMAN_FETCH_TIMEOUT", "later"]);
    plain(&done);
    assert!(!world.folder.exists());
}

#[test]
fn an_address_where_nobody_listens_is_nothing_fetched() {
    let world = world();
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let done = world.run(&["crawl", &url, "--delay", "0"]);
    done.exits(1).says(&["nothing could be fetched", "127.0.0.1", "tries again in "]);
    plain(&done);
    let explained = world.run(&["explain", &url]);
    assert!(explained.out.contains("next visit in "), "the site has to wait: {explained}");
    let status = world.run(&["status"]);
    assert!(status.out.contains("next due    in "), "{status}");
}

#[test]
fn an_address_that_is_not_public_is_refused_and_the_way_out_is_said() {
    let world = world();
    let done = world.run(&["crawl", "http://10.0.0.1/", "--delay", "0"]);
    done.exits(1).says(&["10.0.0.1", "allow"]);
    plain(&done);
}

#[test]
fn tls_spoken_to_a_plain_port_is_nothing_fetched() {
    let world = world().variable("HARVESTMAN_FETCH_TLS_TIMEOUT", "1s");
    let url = format!("https://127.0.0.1:{}/", world.port());
    let done = world.run(&["crawl", &url, "--delay", "0"]);
    done.exits(1).says(&["nothing could be fetched", "TLS"]);
    plain(&done);
}

#[test]
fn a_file_in_the_way_of_the_folder_is_left_alone() {
    let world = world();
    fs::write(&world.folder, "mine").unwrap();
    for args in [&["crawl", HOME, "--delay", "0"][..], &["init"], &["seed", HOME]] {
        let done = world.run(args);
        assert!(matches!(done.status.code(), Some(2 | 3)), "{done}");
        done.says(&["harvest", "-C"]);
        plain(&done);
        assert_eq!(fs::read_to_string(&world.folder).unwrap(), "mine");
    }
}

#[test]
fn a_damaged_database_is_told_and_not_touched() {
    let world = world();
    fs::create_dir(&world.folder).unwrap();
    fs::write(world.folder.join("crawl.db"), "this is no database at all ".repeat(100)).unwrap();
    let before = contents(&world.folder);
    for args in [&["crawl", HOME, "--delay", "0"][..], &["status"], &["show", HOME]] {
        let done = world.run(args);
        done.exits(3).says(&["crawl.db"]);
        plain(&done);
        assert_eq!(contents(&world.folder), before, "{args:?}");
    }
    assert_eq!(world.log(), []);
}

#[test]
fn a_collection_of_a_newer_version_is_refused_and_not_touched() {
    let world = world();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    testing::pretend_newer(&world.folder);
    world.forget_log();
    let before = contents(&world.folder);
    for args in [&["crawl", HOME, "--delay", "0"][..], &["status"], &["seed", HOME], &["check"]] {
        let done = world.run(args);
        done.exits(2).says(&["newer"]);
        plain(&done);
        assert_eq!(contents(&world.folder), before, "{args:?}");
    }
    assert_eq!(world.log(), []);
}

#[test]
fn a_port_in_use_and_a_public_address_are_told_by_the_simulated_web() {
    let world = world();
    let here = format!("127.0.0.1:{}", world.port());
    let taken = world.run(&["simweb", "--listen", &here]);
    taken.exits(2).says(&["is in use", "--listen"]);
    plain(&taken);
    let public = world.run(&["simweb", "--listen", "0.0.0.0:0"]);
    public.exits(2).says(&["loopback"]);
    let nonsense = world.run(&["simweb", "--listen", "here"]);
    nonsense.exits(2).says(&["here", "127.0.0.1:8080"]);
}

fn world() -> World {
    World::new(WebOptions { pages: PageCount::Fixed(2), ..WebOptions::default() })
}

/// For people: no panic, no debug output, nothing on standard output.
#[track_caller]
fn plain(done: &Done) {
    for word in ["panicked", "RUST_BACKTRACE", "Os {", "Error(", "Some(", "unwrap"] {
        assert!(!done.err.contains(word), "{word} in {done}");
    }
    assert_eq!(done.out, "", "{done}");
}

/// Every file below a folder with its bytes; SQLite's helper files come and go with readers.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if !name.ends_with("-shm") && !name.ends_with("-wal") {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}
