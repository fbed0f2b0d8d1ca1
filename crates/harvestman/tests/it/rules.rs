//! What a person says is wanted: rules, a script, rewrites; by what was asked of whom.

use std::{collections::BTreeSet, fs};

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    ask::strings,
    raw::{Raw, reply},
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
    let reasons: BTreeSet<String> = strings(&world.decisions(&[]), "reason").into_iter().collect();
    assert_eq!(reasons, BTreeSet::from(["depth", "rule", "scope"].map(str::to_owned)));
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
    let rules = strings(&world.decisions(&["--reason", "filter"]), "rule");
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

/// A crawl of `a.raw.test` as `serve` answers it, with this `harvest.toml`; what was asked for.
fn crawl_raw(world: &World, raw: &Raw, config: &str) -> Vec<String> {
    fs::create_dir_all(&world.folder).unwrap();
    fs::write(world.folder.join("harvest.toml"), config).unwrap();
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    world.run(&["crawl", "http://a.raw.test/", "--delay", "0", "--resolve", &rule]).exits(0);
    raw.asked()
}

#[test]
fn a_rule_on_the_media_type_decides_when_the_head_is_there_and_stops_the_rest() {
    let raw = Raw::start(|place, stream| {
        let (kind, body): (&str, &[u8]) = match place {
            "a.raw.test/" => (
                "text/html",
                b"<a href='/picture'>1</a> <a href='/text'>2</a> <a href='/go'>3</a> \
                  <a href='http://b.raw.test/page'>4</a> <a href='http://b.raw.test/text'>5</a>",
            ),
            "a.raw.test/go" => {
                let fields = "Content-Type: image/png\r\nLocation: /text2";
                return reply(stream, "302 Found", fields, b"moved");
            }
            "a.raw.test/picture" => ("image/png", &[7; 200_000]),
            "b.raw.test/page" => ("text/html; charset=utf-8", b"<a href='/2'>2</a>"),
            "b.raw.test/2" => ("text/html", b"another page of the other site"),
            _ => ("text/plain", b"plain"),
        };
        reply(stream, "200 OK", &format!("Content-Type: {kind}"), body);
    });
    let world = World::new(WebOptions::default());
    let config = "[fetch]\nmedia_types = ['*/*']\n[crawl]\nrules = [\n  \"reject type image/*\",\n  \
                  \"accept host b.raw.test and type text/html\",\n]\n";
    let asked = crawl_raw(&world, &raw, config);
    let wanted = [
        "a.raw.test/",
        "a.raw.test/go",
        "a.raw.test/picture",
        "a.raw.test/text",
        "a.raw.test/text2",
        "b.raw.test/2",
        "b.raw.test/page",
        "b.raw.test/text",
    ];
    assert_eq!(asked, wanted, "the type is known by asking, and a redirect has none that counts");
    let kept = strings(&world.pages(&["--state", "fetched"]), "url");
    assert_eq!(
        kept,
        [
            "http://a.raw.test/",
            "http://a.raw.test/text",
            "http://a.raw.test/text2",
            "http://b.raw.test/2",
            "http://b.raw.test/page"
        ]
    );
    let line = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap();
        format!("{} {} {}", text("reason"), text("rule"), text("example"))
    };
    let mut rules: Vec<String> = world.decisions(&[]).iter().map(line).collect();
    rules.sort();
    assert_eq!(
        rules,
        [
            "rule crawl.rules 1: reject type image/* http://a.raw.test/picture",
            "scope crawl.scope = \"site\" http://b.raw.test/text",
        ]
    );
    let known = world.pages_and_parts();
    for page in known.iter().filter(|page| !page["visited"].is_null()) {
        let runs = world.history(page["url"].as_str().unwrap());
        assert!(runs.iter().all(|run| run["bytes"].as_u64() < Some(200_000)), "{runs:?}");
    }

    let explained = world.run(&["explain", "http://a.raw.test/picture"]);
    assert!(explained.out.contains("not crawled: crawl.rules 1"), "{}", explained.out);
    let explained = world.run(&["explain", "http://a.raw.test/unknown"]);
    assert!(explained.out.contains("decided when the answer comes"), "{}", explained.out);
}

#[test]
fn a_rule_on_the_text_of_links_decides_where_they_are_found() {
    let raw = Raw::pages(&[
        (
            "a.raw.test/",
            "<a href='/1'>Notícias</a> <a href='/2'>Old</a> <a href='/3'>Old</a> \
             <a href='/3'><img alt='News'></a> <a href='http://b.raw.test/n'>news</a> \
             <a href='http://b.raw.test/o'>old</a>",
        ),
        ("a.raw.test/1", "one"),
        ("a.raw.test/2", "two"),
        ("a.raw.test/3", "three"),
        ("b.raw.test/n", "news elsewhere"),
        ("b.raw.test/o", "old elsewhere"),
    ]);
    let world = World::new(WebOptions::default());
    let config =
        "[crawl]\nrules = [\"accept anchor ~ '(?i)^(news|notícias)$'\", \"reject level > 0\"]\n";
    let asked = crawl_raw(&world, &raw, config);
    assert_eq!(asked, ["a.raw.test/", "a.raw.test/1", "a.raw.test/3", "b.raw.test/n"]);
}

#[test]
fn logged_links_are_counted_with_examples_and_never_asked_for() {
    let raw = Raw::pages(&[
        (
            "a.raw.test/",
            "<a href='/x.JPG'>1</a> <a href='/y.jpg'>2</a> <a href='/z.mp3'>3</a> <a href='/p.pdf'>4</a> \
             <a href='/2'>2</a> <img src='/deep/pic.php'> <img src='/2'> <iframe src='/frame'></iframe>",
        ),
        ("a.raw.test/2", "two"),
    ]);
    let world = World::new(WebOptions::default());
    let config = "[crawl]\nlog_extensions = ['images', 'audio', '.pdf']\n\
                  [parse]\nlog_tags = ['img/src', 'iframe/src']\n";
    let asked = crawl_raw(&world, &raw, config);
    assert_eq!(asked, ["a.raw.test/", "a.raw.test/2"]);
    let listed = world.run(&["decisions", "--reason", "logged", "--json"]);
    listed.exits(0);
    let decisions = listed.json()["rows"].clone();
    let counts: Vec<(String, u64)> = decisions
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["rule"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap()))
        .collect();
    for (rule, count) in [
        ("crawl.log_extensions: images (jpg)", 2),
        ("crawl.log_extensions: audio (mp3)", 1),
        ("crawl.log_extensions: .pdf (pdf)", 1),
        ("parse.log_tags", 2),
    ] {
        assert!(counts.contains(&(rule.to_owned(), count)), "{rule} {count}: {counts:?}");
    }
    assert_eq!(counts.len(), 4);
    let text = world.run(&["decisions", "--reason", "logged"]);
    assert!(text.out.contains("logged: 6 links; counted only"), "{}", text.out);
    assert!(text.out.contains("such as http://a.raw.test/x.JPG"), "{}", text.out);
}
