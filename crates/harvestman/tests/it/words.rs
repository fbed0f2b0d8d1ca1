//! What the program says when something is not there: refused, not kept, mistyped. It names the reason that is the
//! reason, and writes nothing that pretends.

use std::{fs, path::Path};

use simweb::{PageCount, WebOptions};

use crate::{
    ask::strings,
    raw::{Raw, reply},
    world::World,
};

const HOME: &str = "http://s0.sim.test/";

fn small() -> World {
    World::new(WebOptions { sites: 1, pages: PageCount::Fixed(6), ..WebOptions::default() })
}

/// A crawl of six pages of whose bodies only so much is kept.
fn keeping(bytes: &str) -> World {
    let world = small().variable("HARVESTMAN_STORE_CONTENT_BYTES_MAX", bytes);
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world
}

fn files(folder: &Path) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path.metadata().unwrap().len()],
        })
        .collect()
}

#[test]
fn what_was_not_kept_is_not_shown_as_nothing() {
    let world = keeping("0");
    for args in [&["show", HOME][..], &["show", HOME, "--html"], &["show", HOME, "--json"]] {
        let shown = world.run(args);
        shown.exits(2).says(&["its content is not kept", "store.content_bytes_max"]);
        assert_eq!(shown.out, "", "{shown}");
    }
    let heads = world.run(&["show", HOME, "--headers"]);
    assert!(heads.exits(0).out.contains("200"), "{heads}");
    let out = world.temp.path().join("pages");
    let export = world.run(&["export", "directory", "--out", out.to_str().unwrap()]);
    export.exits(2).says(&["nothing was written: ", "archived without content", HOME]);
    assert_eq!(files(&out), [0; 0], "no file pretends to be a page");
}

#[test]
fn what_was_cut_is_shown_and_exported_with_a_word() {
    let world = keeping("300");
    let shown = world.run(&["show", HOME, "--html"]);
    shown.exits(0).says(&["only the beginning of its content is kept"]);
    assert!(!shown.out.is_empty(), "{shown}");
    let told = world.run(&["show", HOME, "--json"]).json();
    assert_eq!((&told["kept"], &told["stopped"]), (&"beginning".into(), &"length".into()));
    let out = world.temp.path().join("pages");
    let export = world.run(&["export", "directory", "--out", out.to_str().unwrap(), "--json"]);
    let told = export.exits(0).json();
    assert_eq!((&told["cut"]["versions"], &told["files"]), (&6.into(), &6.into()), "{told:#}");
    assert_eq!(files(&out).len(), 6);
    assert!(files(&out).iter().all(|bytes| *bytes > 0));
    let whole = keeping("1MB");
    let told = whole.run(&["show", HOME, "--json"]).json();
    assert_eq!((&told["kept"], &told["stopped"]), (&"whole".into(), &().into()), "{told:#}");
}

#[test]
fn an_export_of_which_some_has_no_content_names_that_and_writes_the_rest() {
    let world = keeping("0").variable("HARVESTMAN_STORE_CONTENT_BYTES_MAX", "1MB");
    let page = "/other.html";
    let raw = Raw::pages(&[(&format!("127.0.0.1{page}"), "<title>Other</title><p>words</p>")]);
    let url = format!("http://127.0.0.1:{}{page}", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let out = world.temp.path().join("pages");
    let export = world.run(&["export", "directory", "--out", out.to_str().unwrap()]);
    export.exits(0).says(&["left out: ", "its content is not kept", "1 version in 1 file"]);
    assert_eq!(files(&out).len(), 1);
}

#[test]
fn what_was_mistyped_is_told_as_what_it_is() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    for args in [
        &["traps", "--site", "nosuch"][..],
        &["traps", "lift", "nosuch"],
        &["report", "hazards", "--site", "nosuch"],
        &["export", "directory", "--out", "x", "--site", "nosuch"],
    ] {
        world.run(args).exits(2).says(&["the site nosuch is not in", "harvestman sites"]);
    }
    for (args, what) in [
        (&["explain", "garbage"][..], "\"garbage\" is no URL"),
        (&["show", "garbage"], "\"garbage\" is no URL"),
        (&["history", "/a/b"], "\"/a/b\" is no URL"),
        (&["decisions", "--site", "a b"], "\"a b\" is no site"),
    ] {
        let done = world.run(args);
        done.exits(2).says(&[what]);
        assert!(!done.err.contains("cannot crawl"), "{done}");
    }
    for (args, what) in [
        (&["batch", "import", "nosuch"][..], "nosuch holds no batch"),
        (&["block", "--file", "nosuch"], "name another file"),
        (&["seed", "--file", "nosuch"], "name another file"),
        (
            &["export", "directory", "--out", "x", "--from", "soon"],
            "cannot tell a time by \"soon\"",
        ),
    ] {
        let done = world.run(args);
        done.exits(2).says(&[what]);
        assert!(!done.err.contains("-C"), "{done}");
    }
    let outside = world.run(&["explain", "http://elsewhere.test/"]);
    assert!(outside.out.contains("not crawled: crawl.scope"), "{outside}");
    assert!(!outside.out.contains("robots.txt"), "it is never asked for: {outside}");
    world.run(&["crawl", "garbage"]).exits(2).says(&["cannot crawl \"garbage\""]);
}

#[test]
fn lifting_where_nothing_is_stopped_says_so_and_leaving_a_site_alone_can_be_taken_back() {
    let world = small();
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let lifted = || {
        let rows = world.list(&["traps"]);
        rows.iter().filter(|row| row["measure"] == "lifted").count()
    };
    let site = "s0.sim.test";
    let nothing = world.run(&["traps", "lift", site]);
    nothing.exits(2).says(&["nothing is stopped on s0.sim.test", "traps lift s0.sim.test '*'"]);
    assert_eq!(lifted(), 0, "and nothing is exempt");
    world.run(&["traps", "watch", site]).exits(2).says(&["nothing was lifted on s0.sim.test"]);
    world
        .run(&["traps", "lift", site, "*"])
        .exits(0)
        .says(&["from now on nothing is stopped on s0.sim.test", "traps watch s0.sim.test"]);
    assert_eq!(lifted(), 1);
    world.run(&["traps", "lift", site]).exits(2).says(&["nothing ever is: you lifted it"]);
    let listed = world.run(&["traps"]);
    assert!(listed.out.contains("nothing of it is ever stopped: you lifted it"), "{listed}");
    world.run(&["traps", "watch", site, "/x?*"]).exits(2).says(&["lifted are '*'"]);
    world.run(&["traps", "watch", site]).exits(0).says(&["watched again on s0.sim.test: '*'"]);
    assert_eq!(lifted(), 0);
    assert_eq!(world.run(&["traps", "--json"]).json()["rows"], serde_json::json!([]));
}

#[test]
fn an_answer_that_was_not_wanted_is_no_failure_in_the_history() {
    let raw = Raw::start(|place, stream| match place.ends_with("/i.png") {
        true => reply(stream, "200 OK", "Content-Type: image/png", b"\x89PNG\r\n\x1a\n...."),
        false => {
            reply(stream, "200 OK", "Content-Type: text/html", b"<a href=/i.png>a picture</a>")
        }
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let told = world.run(&["history", &format!("{url}i.png")]);
    assert!(told.out.contains("its answer was not wanted"), "{told}");
    assert!(!told.out.contains("failed"), "{told}");
    let told = world.run(&["explain", &format!("{url}i.png")]);
    assert!(told.out.contains("not crawled: its answer was not wanted"), "{told}");
    assert!(!told.out.contains("robots.txt or a rule"), "{told}");
}

/// Every page stands there twice, once to be printed.
fn printed(place: &str) -> Option<String> {
    let path = place.split_once('/')?.1;
    let path = path.strip_suffix("?view=paper").unwrap_or(path);
    if path.is_empty() {
        let links = |n: u32| format!("<a href=/p{n}>p</a> <a href='/p{n}?view=paper'>print</a> ");
        return Some((0..60).map(links).collect());
    }
    let n: u32 = path.strip_prefix('p')?.parse().ok()?;
    let words: String =
        (0..40).map(|k| format!("w{}x ", (n * 7919 + k * 104_729) % 9_973)).collect();
    Some(format!("<title>{words}</title><p>{words} page {n} of a long book, which has many.</p>"))
}

#[test]
fn a_page_that_was_left_as_a_variant_says_that_and_nothing_of_its_worth() {
    let raw = Raw::start(|place, stream| match printed(place) {
        Some(body) => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
        None => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let mut excluded = strings(&world.pages(&["--state", "excluded"]), "url");
    excluded.retain(|url| url.ends_with("view=paper"));
    assert!(excluded.len() > 10, "{} in print were left", excluded.len());
    let row = &world.run(&["traps", "--json"]).json()["rows"][0];
    assert_eq!(row["held_back"].as_u64(), Some(excluded.len() as u64), "{row:#}");
    let told = world.run(&["explain", &excluded[0]]);
    assert!(told.out.contains("not crawled: trap: variants at ?view=paper"), "{told}");
    assert!(
        told.flat().contains("makes no difference there: it is taken as http://127.0.0.1"),
        "{told}"
    );
    assert!(told.out.contains("'?view=paper'"), "{told}");
    for part in ["media_types", "forbade", "is worth", "the price", "next visit"] {
        assert!(!told.out.contains(part), "{part}: {told}");
    }
}

/// Words that nobody else has: six letters from a number.
fn own_words(from: u64, count: u64) -> String {
    let mut words = String::new();
    for n in 0..count {
        let mut mixed = (from * 1_000 + n).wrapping_mul(2_654_435_761) % 4_294_967_291;
        for _ in 0..6 {
            words.push(char::from(b'a' + (mixed % 26) as u8));
            mixed /= 26;
        }
        words.push(' ');
    }
    words
}

/// A gallery of one sentence, and behind thirty other pages a picture that has much to say.
fn gallery(place: &str) -> Option<String> {
    const SAME: &str = "There is nothing written on it that is not written on all the others, for whoever made \
        this book had one sentence to say and much paper, and so it stands on every leaf.";
    let path = place.split_once('/')?.1;
    if path.is_empty() {
        return Some("<a href=/c1>tour</a> <a href='/picture?n=1'>gallery</a>".to_owned());
    }
    if path == "picture?n=99999" {
        return Some(format!("<title>The last</title><p>{}</p>", own_words(77, 60)));
    }
    if let Some(n) = path.strip_prefix("picture?n=").and_then(|n| n.parse::<u64>().ok()) {
        let next = n + 1;
        return Some(format!(
            "<title>Picture {n}</title><p>{SAME}</p><a href='/picture?n={next}'>next</a>"
        ));
    }
    let n: u64 = path.strip_prefix('c')?.parse().ok()?;
    let next = if n < 30 { format!("/c{}", n + 1) } else { "/picture?n=99999".to_owned() };
    let words = own_words(n, 40);
    Some(format!("<title>{}</title><p>{words}</p><a href='{next}'>on</a>", &words[..13]))
}

#[test]
fn a_page_that_was_left_as_a_near_duplicate_says_so_also_when_its_kind_has_proved_worth_it_since() {
    let raw = Raw::start(|place, stream| match gallery(place) {
        Some(body) => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
        None => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let (site, pattern) = (format!("127.0.0.1:{}", raw.port), "/picture?n=*");
    world.run(&["crawl", &format!("http://{site}/"), "--delay", "0"]).exits(0);
    let asked = raw.asked();
    assert!(asked.iter().any(|place| place.ends_with("n=99999")), "the tour is taken to its end");
    let met = asked.iter().filter(|place| place.contains("picture?n=")).count() - 1;
    assert!((10..30).contains(&met), "{met} pictures");
    let told = world.run(&["explain", &format!("http://{site}/picture?n={}", met + 1)]);
    assert!(
        told.flat().contains(&format!("not crawled: trap: near-duplicates at {pattern}")),
        "{told}"
    );
    assert!(told.flat().contains(&format!("traps lift {site} '{pattern}'")), "{told}");
    assert!(!told.out.contains("no link or seed has led to it"), "{told}");
    let other = world.run(&["explain", &format!("http://{site}/picture?n=500")]);
    assert!(
        other.flat().contains(&format!("depends on trap: near-duplicates at {pattern}")),
        "{other}"
    );
    assert!(
        other.flat().contains(&format!("such as http://{site}/picture?n={}", met + 1)),
        "{other}"
    );
}
