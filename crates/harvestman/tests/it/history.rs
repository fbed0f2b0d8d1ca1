//! Looking back: every version can be had as it was served, what changed is told once, and nothing that a page
//! says of itself can spoil the telling.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use simweb::{PageCount, WebOptions};

use crate::{
    audit,
    raw::{Raw, reply},
    world::{Done, World},
};

/// A server whose page `/` is what the test says at the time: a status and a body.
struct Stage {
    world: World,
    url: String,
    play: Arc<Mutex<(&'static str, Vec<u8>)>>,
}

impl Stage {
    fn new() -> Stage {
        let play = Arc::new(Mutex::new(("200 OK", Vec::new())));
        let served = Arc::clone(&play);
        let raw = Raw::start(move |place, stream| {
            let (status, body) = served.lock().unwrap().clone();
            match place {
                "127.0.0.1/" if status == "-" => {}
                "127.0.0.1/" => {
                    let fields = "Content-Type: text/html; charset=utf-8\r\nLocation: /elsewhere";
                    reply(stream, status, fields, &body);
                }
                _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
            }
        });
        let url = format!("http://127.0.0.1:{}/", raw.port);
        Stage { world: World::new(WebOptions::default()), url, play }
    }

    /// A visit that finds this.
    fn visit(&self, status: &'static str, body: &str) {
        *self.play.lock().unwrap() = (status, body.as_bytes().to_vec());
        let known = self.world.folder.join("crawl.db").exists();
        let before = if known { self.visits() } else { 0 };
        let done = self.world.run(&["crawl", &self.url, "--fresh", "--delay", "0", "--depth", "0"]);
        assert!(matches!(done.status.code(), Some(0 | 1)), "{done}");
        assert!(self.visits() > before, "it was visited: {done}");
    }

    fn visits(&self) -> u64 {
        self.world.page(&self.url)["visits"].as_u64().unwrap()
    }

    fn ask(&self, command: &str, args: &[&str]) -> Done {
        self.world.run(&[&[command, &self.url], args].concat())
    }

    fn changes(&self, args: &[&str]) -> (Vec<Value>, Value) {
        let done = self.world.run(&[&["changes", "--json"], args].concat());
        done.exits(0);
        let mut lines: Vec<Value> =
            done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cursor = lines.pop().unwrap();
        (lines, cursor)
    }
}

fn html(words: &str) -> String {
    format!(
        "<html><head><title>Prices</title></head><body>\n<p>one</p>\n<p>{words}</p>\n</body></html>"
    )
}

#[test]
fn every_version_is_shown_as_it_was_served() {
    let stage = Stage::new();
    let bodies = [html("the price is 10 euro"), html("the price is 12 euro"), html("sold — 売切")];
    for body in &bodies {
        stage.visit("200 OK", body);
        stage.visit("200 OK", body);
    }
    let history = stage.ask("history", &["--json"]).json();
    assert_eq!(history["versions"], 3, "{history:#}");
    assert_eq!(history["visits"], 6);
    let runs = history["rows"].as_array().unwrap();
    assert_eq!(runs.len(), 3, "{history:#}");
    for (at, run) in runs.iter().enumerate() {
        let number = (at + 1).to_string();
        assert_eq!(run["version"], at + 1);
        assert_eq!(run["visits"], 2, "{run:#}");
        assert_eq!(run["kind"], if at == 0 { "new" } else { "changed" });
        assert!(run["record"]["volume"].is_u64() && run["bytes"] == bodies[at].len());
        let shown = stage.ask("show", &["--version", &number, "--html"]);
        shown.exits(0);
        assert_eq!(shown.out, bodies[at], "version {number}");
        // The last visit of a run was before the next run's first, if by milliseconds alone.
        if runs.get(at + 1).is_none_or(|next| next["first"] != run["last"]) {
            let then = stage.ask("show", &["--at", run["last"].as_str().unwrap(), "--html"]);
            assert_eq!(then.out, bodies[at], "at {}", run["last"]);
        }
    }
    let text = stage.ask("show", &["--version", "3"]);
    assert!(text.out.contains("sold — 売切") && !text.out.contains('<'), "{text}");
    let heads = stage.ask("show", &["--version", "1", "--headers"]);
    assert!(heads.out.starts_with("HTTP/1.1 200 OK\n"), "{heads}");
    assert_eq!(stage.ask("show", &["--html"]).out, bodies[2], "the latest, as ever");

    stage.ask("show", &["--version", "4"]).exits(2).says(&["no version 4", "it has 3"]);
    stage.ask("show", &["--at", "2001-01-01"]).exits(2).says(&["not seen yet"]);
    stage.ask("show", &["--at", "soon"]).exits(2).says(&["3 days ago"]);
    stage.ask("show", &["--at", "3d"]).exits(2).says(&["3d ago"]);
}

#[test]
fn a_diff_shows_the_words_that_changed() {
    let stage = Stage::new();
    stage.visit("200 OK", &html("the price is 10 euro today"));
    stage.ask("diff", &[]).exits(2).says(&["one version"]);
    stage.visit("200 OK", &html("the price is 12 euro today"));
    stage.visit("200 OK", &html("the price is 12 euro today<script>alert(1)</script> &lt;b&gt;"));
    let plain = stage.ask("diff", &["1", "2"]);
    plain.exits(0);
    assert!(
        plain.out.contains("-the price is 10 euro today\n+the price is 12 euro today\n"),
        "{plain}"
    );
    assert!(plain.out.contains("1 word removed and 1 added"), "{plain}");
    assert!(!plain.out.contains('\u{1b}'), "no colours in a pipe");
    let coloured = stage.ask("diff", &["1", "2", "--color", "always"]);
    assert!(coloured.out.contains("\u{1b}[1;7m12\u{1b}[0m"), "{coloured}");
    let json = stage.ask("diff", &["1", "2", "--json"]).json();
    assert_eq!(json["counts"]["words_added"], 1, "{json:#}");
    assert_eq!(
        (&json["old"]["version"], &json["new"]["version"]),
        (&Value::from(1), &Value::from(2))
    );
    let last = stage.ask("diff", &["--json"]).json();
    assert_eq!(last["old"]["version"], 2, "the last two by default: {last:#}");

    let source = stage.ask("diff", &["--source"]);
    assert!(source.out.contains("<script>"), "{source}");
    let file = stage.world.temp.path().join("diff.html");
    stage.ask("diff", &["--source", "--html", file.to_str().unwrap()]).exits(0);
    let page = std::fs::read_to_string(file).unwrap();
    assert!(page.starts_with("<!doctype html>") && !page.contains("<script"), "{page}");
    assert!(page.contains("script&gt;alert(1)"), "{page}");

    let nowhere = stage.world.temp.path().join("no/such/folder/diff.html");
    let refused = stage.ask("diff", &["--html", nowhere.to_str().unwrap()]);
    refused.exits(2).says(&["cannot write", "make the folder"]);
    assert!(!refused.err.contains("-C"), "the collection is not to blame: {refused}");

    let same = stage.ask("diff", &["2", "2"]);
    assert!(same.exits(0).out.contains("the same"), "{same}");
    stage.ask("diff", &["1", "nonsense"]).exits(2).says(&["nonsense"]);
}

#[test]
fn changes_are_told_once_and_scripts_go_on_where_they_were() {
    let stage = Stage::new();
    stage.visit("200 OK", &html("ten words"));
    let (first, cursor) = stage.changes(&[]);
    let told = |lines: &[Value]| -> Vec<(String, String)> {
        let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
        lines.iter().map(|line| (text(line, "kind"), text(line, "url"))).collect()
    };
    assert_eq!(told(&first), [("new".to_owned(), stage.url.clone())]);
    assert_eq!(cursor["more"], false);
    let after = cursor["next"].to_string();
    stage.visit("200 OK", &html("ten words"));
    assert_eq!(
        stage.changes(&["--after", &after]).0,
        [Value::Null; 0],
        "an unchanged visit is none"
    );
    stage.visit("200 OK", &html("eleven words now"));
    stage.visit("403 Forbidden", "");
    let (second, cursor) = stage.changes(&["--after", &after, "--words"]);
    assert_eq!(told(&second), [("changed".to_owned(), stage.url.clone())]);
    assert_eq!((&second[0]["words_added"], &second[0]["words_removed"]), (&2.into(), &1.into()));
    assert_eq!(second[0]["title"], "Prices");
    let end = cursor["next"].to_string();
    assert_eq!(stage.changes(&["--after", &end]).0, [Value::Null; 0]);

    let (page, cursor) = stage.changes(&["--after", "0", "--limit", "1"]);
    assert_eq!((page.len(), &cursor["more"]), (1, &Value::from(true)));
    let (rest, cursor) = stage.changes(&["--after", &cursor["next"].to_string(), "--limit", "1"]);
    assert_eq!((rest.len(), &cursor["more"]), (1, &Value::from(false)));
    assert_eq!(stage.changes(&["--limit", "1"]).0, rest, "the newest by default");

    assert_eq!(stage.changes(&["--since", "1 hour ago"]).0.len(), 2);
    assert_eq!(stage.changes(&["--since", "now"]).0.len(), 0);
    let elsewhere = stage.world.run(&["changes", "--site", "elsewhere.example"]);
    elsewhere.exits(2).says(&["is not in this collection"]);
    assert_eq!(stage.changes(&["--spider", "default"]).0.len(), 2);
    let words = stage.world.run(&["changes"]);
    let again = "continue with: harvestman changes --after ";
    assert!(words.exits(0).out.contains(again), "{words}");
    let words = stage.world.run(&["changes", "--spider", "default"]);
    assert!(words.exits(0).out.contains("changes --spider default --after "), "{words}");
    stage.world.run(&["changes", "--spider", "nobody"]).exits(2).says(&["no spider"]);
    stage.world.run(&["changes", "--since", "soon"]).exits(2).says(&["yesterday"]);
}

#[test]
fn a_feed_is_atom_and_keeps_its_ids() {
    let stage = Stage::new();
    let nasty =
        "<html><head><title>A &amp; B &lt;x> \u{1}]]></title></head><body>one</body></html>";
    stage.visit("200 OK", nasty);
    stage.visit("200 OK", &html("two"));
    let file = stage.world.temp.path().join("feed.atom");
    let write = || {
        stage.world.run(&["changes", "--atom", file.to_str().unwrap()]).exits(0);
        std::fs::read_to_string(&file).unwrap()
    };
    let feed = write();
    let elements = elements(&feed);
    let texts = |name: &str| -> Vec<&str> {
        elements.iter().filter(|(tag, _)| tag == name).map(|(_, text)| text.as_str()).collect()
    };
    assert_eq!(elements[0].0, "feed");
    assert!(feed.contains("xmlns=\"http://www.w3.org/2005/Atom\""));
    assert_eq!(texts("entry").len(), 2, "{feed}");
    assert_eq!(texts("id").len(), 3, "the feed's and the entries': {feed}");
    assert!(texts("id").iter().all(|id| id.starts_with("urn:uuid:")));
    assert_eq!(texts("updated").len(), 3);
    let titles = texts("title");
    assert_eq!(titles[1], "Changed: Prices", "{feed}");
    assert!(titles[2].starts_with("New: A &amp; B &lt;x&gt; "), "as it was then: {feed}");
    assert_eq!(texts("name"), ["Harvestman"]);
    let href = format!("<link rel=\"alternate\" href=\"{}\"/>", stage.url);
    assert_eq!(feed.matches(&href).count(), 2, "{feed}");
    let words = stage.world.run(&["changes", "--words", "--atom", "-"]);
    assert!(words.out.contains("New: A &amp; B &lt;x&gt; "), "{words}");
    assert_eq!(write(), feed, "written anew it is the same");
    stage.visit("404 Not Found", "");
    stage.visit("200 OK", &html("three").replace("Prices", "Offers"));
    let later = write();
    for entry in feed.split("<entry>").skip(1).map(|entry| entry.trim_end_matches("</feed>\n")) {
        assert!(later.contains(entry), "{entry} stays: {later}");
    }
    assert!(later.contains("Gone: Prices") && later.contains("Returned: Offers"), "{later}");
}

/// Names and texts of all elements; fails where tags do not match or a sign is not escaped.
fn elements(xml: &str) -> Vec<(String, String)> {
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"utf-8\"?>").unwrap();
    let (mut found, mut open): (Vec<(String, String)>, Vec<usize>) = (Vec::new(), Vec::new());
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        assert!(!text.contains('>'), "{piece}");
        assert!(
            text.split('&').skip(1).all(|rest| rest.find(';').is_some_and(|at| at < 6)),
            "{piece}"
        );
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(found[open.pop().unwrap()].0, name);
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        found.push((name, text.to_owned()));
        if !tag.ends_with('/') {
            open.push(found.len() - 1);
        }
    }
    assert!(open.is_empty());
    found
}

#[test]
fn redirects_failures_and_silence_are_part_of_history() {
    let stage = Stage::new();
    stage.visit("-", "");
    let never = stage.ask("history", &["--json"]).json();
    assert_eq!((&never["versions"], &never["rows"][0]["kind"]), (&0.into(), &"failed".into()));
    assert!(never["rows"][0]["failure"].is_string(), "why: {never:#}");
    stage.ask("show", &["--at", "now"]).exits(2).says(&["has no content", "explain"]);
    stage.ask("diff", &[]).exits(2).says(&["has no content"]);
    stage.visit("301 Moved", "");
    stage.visit("200 OK", &html("here"));
    stage.visit("403 Forbidden", "");
    let words = stage.ask("history", &[]);
    words.exits(0);
    let elsewhere = format!("redirected to {}elsewhere", stage.url);
    for part in ["failed: ", elsewhere.as_str(), "first seen", "failed: status 403"] {
        assert!(words.out.contains(part), "{part} in {words}");
    }
    let short = stage.ask("history", &["--limit", "1"]);
    assert!(short.out.contains("3 earlier; --all"), "{short}");
    let then = stage.ask("show", &["--at", "now"]);
    then.exits(0).says(&["no content", "403"]);
    assert!(then.out.contains("here"), "what was at hand: {then}");
}

#[test]
fn a_page_that_was_gone_and_came_back_is_told_so() {
    let stage = Stage::new();
    stage.visit("200 OK", &html("here"));
    stage.visit("404 Not Found", "");
    stage.visit("410 Gone", "");
    stage.visit("200 OK", &html("here again"));
    let history = stage.ask("history", &["--json"]).json();
    let runs = history["rows"].as_array().unwrap();
    let whats: Vec<&str> = runs.iter().map(|run| run["kind"].as_str().unwrap()).collect();
    assert_eq!(whats, ["new", "gone", "returned"], "{history:#}");
    assert_eq!((&runs[1]["visits"], &runs[1]["status"]), (&2.into(), &410.into()), "{history:#}");
    let (changes, _) = stage.changes(&["--words"]);
    let kinds: Vec<&str> = changes.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["new", "gone", "returned"], "gone once, by whatever status");
    assert_eq!(changes[2]["words_added"], 1, "against what it was before: {:#}", changes[2]);
    assert!(stage.ask("diff", &[]).exits(0).out.contains("+here again"));
}

#[test]
fn what_came_back_as_it_was_is_stored_once_however_often_it_is_seen() {
    let stage = Stage::new();
    stage.visit("200 OK", &html("here"));
    stage.visit("404 Not Found", "");
    (0..3).for_each(|_| stage.visit("200 OK", &html("here")));
    let history = stage.ask("history", &["--json"]).json();
    let runs = history["rows"].as_array().unwrap();
    let told: Vec<(&str, i64)> = runs
        .iter()
        .map(|run| (run["kind"].as_str().unwrap(), run["visits"].as_i64().unwrap()))
        .collect();
    assert_eq!(told, [("new", 1), ("gone", 1), ("returned", 3)], "{history:#}");
    let (whole, refers) = (Some("response".to_owned()), Some("revisit".to_owned()));
    let kinds = || audit::kinds_of_records(&stage.world);
    assert_eq!(kinds(), [whole.clone(), whole.clone(), refers], "here, not found, here again");
    assert_eq!(stage.ask("show", &["--html"]).exits(0).out, html("here"));
    // The one that holds the payload goes, and those that refer to it have it.
    let file = stage.world.folder.join("harvest.toml");
    let settings = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, format!("{settings}\n[store]\nversions_bytes_max = 1\n")).unwrap();
    stage.world.run(&["thin"]).exits(0);
    assert_eq!(stage.ask("show", &["--html"]).exits(0).out, html("here"));
    stage.visit("200 OK", &html("here"));
    assert_eq!(
        kinds(),
        [None, whole.clone(), whole],
        "thinned, not found, and what has the payload"
    );
    stage.world.run(&["check"]).exits(0);
}

#[test]
fn a_page_that_comes_back_with_the_same_etag_has_returned() {
    let play = Arc::new(Mutex::new("here"));
    let served = Arc::clone(&play);
    let raw = Raw::hearing(move |asked, stream| {
        let words = *served.lock().unwrap();
        let fields = format!("Content-Type: text/html\r\nETag: \"{words}\"");
        let known = asked.header("if-none-match") == Some(format!("\"{words}\"").as_str());
        match (asked.place.as_str(), words) {
            ("127.0.0.1/", "gone") => reply(stream, "404 Not Found", "X-No: content", b""),
            ("127.0.0.1/", "304") => reply(stream, "304 Not Modified", "X-No: content", b""),
            ("127.0.0.1/", _) if known => reply(stream, "304 Not Modified", &fields, b""),
            ("127.0.0.1/", words) => reply(stream, "200 OK", &fields, html(words).as_bytes()),
            _ => reply(stream, "404 Not Found", "X-No: content", b""),
        }
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let visit = |words: &'static str| {
        *play.lock().unwrap() = words;
        world.run(&["crawl", &url, "--fresh", "--delay", "0", "--depth", "0"]);
    };
    let whats = || -> Vec<String> {
        let history = world.run(&["history", &url, "--json"]).json();
        let runs = history["rows"].as_array().unwrap();
        runs.iter().map(|run| run["kind"].as_str().unwrap().to_owned()).collect()
    };
    ["here", "here", "gone", "here"].into_iter().for_each(visit);
    assert_eq!(whats(), ["new", "gone", "returned"]);
    // Nobody asked this server whether anything was modified.
    ["other", "gone", "304"].into_iter().for_each(visit);
    assert_eq!(whats()[3..], ["changed", "gone", "returned"]);
    for args in [&[][..], &["--at", "now"]] {
        let shown = world.run(&[&["show", &url, "--html"], args].concat());
        assert_eq!(shown.exits(0).out, html("other"), "what its record refers to: {args:?}");
    }
    visit("third");
    assert_eq!(whats()[6..], ["changed"], "and not returned once more");
    world.run(&["check"]).exits(0);
}

#[test]
fn unchanged_visits_by_304_are_one_run() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() });
    let home = "http://s0.sim.test/";
    for _ in 0..3 {
        world.run(&["crawl", home, "--fresh", "--delay", "0"]).exits(0);
    }
    assert!(world.visits().iter().any(|visit| visit.status == 304), "the server says 304");
    let history = world.run(&["history", home, "--json"]).json();
    assert_eq!(history["rows"].as_array().unwrap().len(), 1, "{history:#}");
    assert_eq!((&history["rows"][0]["visits"], &history["versions"]), (&3.into(), &1.into()));
    let now = world.run(&["show", home, "--at", "now", "--html"]);
    assert_eq!(now.out, world.run(&["show", home, "--html"]).out);
    world.forget_log();
    let changes = world.run(&["changes", "--json"]);
    assert_eq!(changes.out.lines().count(), 4, "three new pages and the cursor: {changes}");
    let report = world.run(&["report", "adaptation"]);
    assert!(report.exits(0).out.contains(home), "{report}");
    assert!(report.out.lines().all(|line| line.chars().count() <= 80), "{report}");
    let rows = world.run(&["report", "adaptation", "--pages", "--json"]).json()["rows"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 3, "{rows:#}");
    assert_eq!(world.log(), [], "looking back asks nobody");
}

#[test]
fn an_unknown_page_is_told_with_what_may_have_been_meant() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() });
    world.run(&["seed", "http://s0.sim.test/"]).exits(0);
    let waiting = world.run(&["history", "http://s0.sim.test/"]);
    assert!(waiting.exits(0).out.contains("no visit yet"), "an empty history: {waiting}");
    let none = world.run(&["changes"]);
    assert!(none.exits(0).out.contains("no changes"), "{none}");
    for command in ["history", "show", "diff"] {
        let near = world.run(&[command, "https://s0.sim.test/"]);
        near.exits(2).says(&["not in this collection", "did you mean http://s0.sim.test/"]);
        let far = world.run(&[command, "http://other.example/"]);
        far.exits(2).says(&["not in this collection", "explain"]);
        world.run(&[command, "::::"]).exits(2);
    }
}

#[test]
fn a_page_that_says_noarchive_is_shown_and_compared_with_a_remark() {
    let stage = Stage::new();
    stage.visit("200 OK", "<meta name=robots content=noarchive><p>secret one</p>");
    stage.visit("200 OK", "<p>open</p>");
    let shown = stage.ask("show", &["--version", "1"]);
    assert_eq!(shown.exits(0).says(&["the page says noarchive"]).out, "secret one\n");
    let compared = stage.ask("diff", &[]);
    let out = &compared.exits(0).says(&["the page says noarchive"]).out;
    assert!(out.contains("secret") && out.contains("open"), "{compared}");
    let newest = stage.ask("show", &[]);
    assert!(!newest.exits(0).err.contains("noarchive"), "{newest}");
}

#[test]
fn what_is_no_text_is_shown_byte_by_byte_and_not_compared() {
    let edition = Arc::new(Mutex::new(b'1'));
    let served = Arc::clone(&edition);
    let raw = Raw::start(move |_, stream| {
        let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe\0".to_vec();
        picture.push(*served.lock().unwrap());
        reply(stream, "200 OK", "Content-Type: text/html", &picture);
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for byte in *b"12" {
        *edition.lock().unwrap() = byte;
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]);
    }
    for args in [&[][..], &["--source"]] {
        world.run(&[&["diff", &url], args].concat()).exits(2).says(&["not text", "show"]);
    }
    world.run(&["show", &url, "--version", "1", "--html"]).exits(0);
    let shown = world.run(&["show", &url]);
    shown.exits(0).says(&["no visible text", " --version 2 --html"]);
    assert_eq!(shown.out, "", "{shown}");
}

#[test]
fn content_that_is_stored_once_is_shown_for_every_page_that_had_it() {
    let same = html(&"word for word the same, ".repeat(400));
    let links = "<a href=/a>a</a> <a href=/b>b</a>";
    let raw = Raw::pages(&[("127.0.0.1/", links), ("127.0.0.1/a", &same), ("127.0.0.1/b", &same)]);
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for _ in 0..2 {
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
    }
    let kinds = audit::kinds_of_records(&world);
    assert!(kinds.contains(&Some("revisit".to_owned())), "one refers to the other: {kinds:?}");
    for page in ["a", "b"] {
        let page = format!("{url}{page}");
        for args in [&["--version", "1"][..], &["--at", "now"], &[]] {
            let shown = world.run(&[&["show", &page, "--html"], args].concat());
            assert_eq!(shown.exits(0).out, same, "{args:?}");
        }
    }
}

#[test]
fn history_can_be_read_while_a_crawl_writes_it() {
    let options = WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() };
    let world = World::new(options);
    let home = "http://s0.sim.test/";
    let crawl = world.start(&["crawl", home, "--delay", "50ms"]);
    world.wait_for("three visits", |world| world.visits().len() >= 3);
    world.wait_for("twenty are told", |world| {
        world.run(&["history", home]).exits(0);
        world.run(&["changes", "--json", "--after", "0"]).exits(0).out.lines().count() > 20
    });
    crawl.wait(std::time::Duration::from_secs(60)).exits(0);
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let done = world.run(&["changes", "--json", "--limit", "7", "--after", &after.to_string()]);
        let mut lines: Vec<Value> =
            done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cursor = lines.pop().unwrap();
        seen.extend(lines.iter().map(|line| line["url"].as_str().unwrap().to_owned()));
        after = cursor["next"].as_i64().unwrap();
        if cursor["more"] == false {
            break;
        }
    }
    seen.sort();
    let count = seen.len();
    seen.dedup();
    assert_eq!((seen.len(), count), (60, 60), "every page once");
}
