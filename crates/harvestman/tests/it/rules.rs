//! What a person says is wanted: rules, a script, rewrites; by what was asked of whom.

use std::fs;

use simweb::WebOptions;

use crate::{
    raw::Raw,
    world::{Done, World},
};

const PAGES: [(&str, &str); 9] = [
    (
        "a.raw.test/",
        "<a href='/docs/1'>1</a> <a href='/private/2'>2</a> <a href='/Upper'>u</a> <a href='/x?page=1'>x</a> \
         <a href='http://b.raw.test/part/3'>3</a> <a href='http://b.raw.test/other/4'>4</a>",
    ),
    ("a.raw.test/docs/1", "<a href='/docs/y?page=2'>y</a> <a href='/docs/5;jsessionid=12'>5</a>"),
    ("a.raw.test/docs/5", "five"),
    ("a.raw.test/docs/y?page=2", "two levels down, made on demand"),
    ("a.raw.test/private/2", "private"),
    ("a.raw.test/upper", "the server ignores case"),
    ("a.raw.test/x?page=1", "made on demand"),
    ("b.raw.test/part/3", "a part of another site"),
    ("b.raw.test/other/4", "the rest of it"),
];

/// A crawl of `PAGES` with this `harvest.toml`; what was asked for, and what was said.
fn crawl(world: &World, config: &str) -> (Vec<String>, Done) {
    fs::create_dir_all(&world.folder).unwrap();
    fs::write(world.folder.join("harvest.toml"), config).unwrap();
    let raw = Raw::pages(&PAGES);
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let done = world.run(&["crawl", "http://a.raw.test/", "--delay", "0", "--resolve", &rule]);
    (raw.asked(), done)
}

#[test]
fn rules_take_a_part_of_another_site_and_leave_a_part_of_the_seeds() {
    let world = World::new(WebOptions::default());
    let rules = "[crawl]\nrules = [\n  \"reject path ~ '^/private/' or path ~ '^/Upper'\",\n  \
                 \"accept host b.raw.test and prefix http://b.raw.test/part/\",\n  \
                 \"accept path ~ '^/private/'\",\n  \"reject path ~ 'jsession'\",\n]\ndepth_dynamic = 1\n";
    let (asked, done) = crawl(&world, rules);
    done.exits(0);
    let wanted = ["a.raw.test/", "a.raw.test/docs/1", "a.raw.test/x?page=1", "b.raw.test/part/3"];
    assert_eq!(asked, wanted);
    assert!(
        done.err.contains("crawl.rules 3 (accept path ~ '^/private/') is never reached"),
        "{}",
        done.err
    );

    let explained = world.run(&["explain", "http://a.raw.test/private/2"]);
    assert!(explained.out.contains("not crawled: crawl.rules 1: reject path"), "{}", explained.out);
    let explained = world.run(&["explain", "http://b.raw.test/part/3"]);
    assert!(explained.out.contains("accepts  crawl.rules 2: accept host"), "{}", explained.out);
    let reasons: Vec<String> = world.rows("SELECT DISTINCT reason FROM decisions ORDER BY reason");
    assert_eq!(reasons, ["depth", "rule", "scope"]);
}

#[test]
fn a_script_decides_and_an_endless_one_refuses() {
    let world = World::new(WebOptions::default());
    fs::create_dir_all(&world.folder).unwrap();
    let source = "fn crawl(url) {\n  if url.path == \"/Upper\" { loop {} }\n  url.level < 1 || url.path.contains(\"docs\")\n}\n";
    fs::write(world.folder.join("filter.rhai"), source).unwrap();
    let (asked, done) = crawl(&world, "[crawl]\nfilter = \"filter.rhai\"\n");
    done.exits(0);
    assert_eq!(asked[..2], ["a.raw.test/", "a.raw.test/docs/1"]);
    assert!(asked.iter().skip(1).all(|place| place.contains("docs")), "{asked:?}");
    let rules: Vec<String> =
        world.rows("SELECT DISTINCT rule FROM decisions WHERE reason = 'filter'");
    assert!(
        rules.contains(&"crawl.filter = \"filter.rhai\" stopped after 10000 steps".to_owned()),
        "{rules:?}"
    );
}

#[test]
fn urls_are_rewritten_before_they_are_asked_for_and_found_again() {
    let world = World::new(WebOptions::default());
    let config = "[url]\nrewrite = [';jsessionid=\\d+ => ', '/private/2$ => /docs/5']\nlowercase_paths = ['a.raw.test']\n";
    let (asked, done) = crawl(&world, config);
    done.exits(0);
    let wanted = [
        "a.raw.test/",
        "a.raw.test/docs/1",
        "a.raw.test/docs/5",
        "a.raw.test/docs/y?page=2",
        "a.raw.test/upper",
        "a.raw.test/x?page=1",
    ];
    assert_eq!(asked, wanted);
    let shown = world.run(&["show", "http://a.raw.test/docs/5;jsessionid=99"]);
    shown.exits(0);
    assert!(shown.out.contains("five"), "{}", shown.out);
}

#[test]
fn broken_rules_and_scripts_are_refused_before_anything_is_asked() {
    let world = World::new(WebOptions::default());
    fs::create_dir_all(&world.folder).unwrap();
    fs::write(world.folder.join("filter.rhai"), "fn crawl(url) {\n  url.path ==\n}\n").unwrap();
    for (config, told) in [
        (
            "[crawl]\nrules = [\n 'accept any',\n 'reject extention jpg',\n]\n",
            "line 4: crawl.rules = \"reject extention jpg\": at character 8: expected",
        ),
        ("[crawl]\nfilter = \"filter.rhai\"\n", "crawl.filter = \"filter.rhai\": line 3: "),
        ("[crawl]\nfilter = \"none.rhai\"\n", "it cannot be read"),
        ("[url]\nrewrite = ['(a) => $2']\n", "there is no group 2"),
    ] {
        let (asked, done) = crawl(&world, config);
        done.exits(2);
        assert!(done.err.contains(told), "{}", done.err);
        assert_eq!(asked, Vec::<String>::new());
    }
}
