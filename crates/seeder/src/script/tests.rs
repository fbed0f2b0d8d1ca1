//! What a script may do, and what becomes of one that does more.

use std::{sync::Arc, thread};

use proptest::prelude::*;

use super::*;

fn script(source: &str) -> Script {
    Script::compile("filter.rhai", source).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn wants(source: &str, url: &str) -> Result<bool, ScriptFault> {
    script(source).wants(&CrawlUrl::parse(url).expect("a URL"), 3, true)
}

#[test]
fn a_script_sees_every_part_of_a_url() {
    for test in [
        "url.url == 'https://www.example.org/a/b.PDF?x=1'",
        "url.scheme == 'https' && url.host == 'www.example.org' && url.domain == 'example.org'",
        "url.port == 443",
        "url.path == '/a/b.PDF' && url.query == 'x=1' && url.extension == 'pdf'",
        "url.level == 3 && url.dynamic",
        "url.path.contains('/a/') && url.host.ends_with('.org') && url.path.starts_with('/')",
        "url.extension in ['doc', 'pdf'] && url.path.split('/').len() == 3",
        "let n = 0; for i in 0..10 { n += i; } n == 45",
        "fine(url.path)",
    ] {
        let test = test.replace('\'', "\"");
        let source = format!("fn fine(path) {{ path.len > 1 }}\nfn crawl(url) {{ {test} }}");
        assert_eq!(wants(&source, "https://www.example.org/a/b.PDF?x=1"), Ok(true), "{test}");
    }
    let parts = "fn crawl(url) { url.query == \"\" && url.extension == \"\" && url.port == 80 }";
    let url = CrawlUrl::parse("http://a.org/").expect("a URL");
    assert_eq!(script(parts).wants(&url, 0, false), Ok(true));
}

#[test]
fn a_broken_script_is_refused_with_its_line() {
    for (source, what) in [
        ("fn crawl(url) {\n  url.path ==\n}", "line 3: "),
        ("fn crawl(url) {\n  let x = ;\n}", "line 2: "),
        ("fn crawl(url) {\n\n  url.pth == \"\"\n}", "line 3: "),
        ("fn crawl(url) {\n  sleep(5); true\n}", "line 2: "),
        ("fn crawl(url) {\n  eval(\"1\"); true\n}", "line 2: "),
        ("fn crawl(url) {\n  loop {}\n}", "more than 10000 steps for one URL"),
        ("fn crawl(url) { 5 }", "crawl(url) returns neither true nor false"),
        ("fn crawl(url, level) { true }", "it has no function crawl(url)"),
        ("true", "it has no function crawl(url)"),
        ("import \"x\" as x;\nfn crawl(url) { true }", "line 1: "),
    ] {
        let error = Script::compile("f", source).expect_err(source).to_string();
        assert!(error.contains(what), "{source}: {error}");
    }
    let huge = format!("fn crawl(url) {{ true }} //{}", "x".repeat(SCRIPT_BYTES_MAX));
    assert!(Script::compile("f", &huge).is_err());
}

#[test]
fn an_error_or_endless_work_while_judging_is_told_apart() {
    let judged = |body: &str| {
        let source = format!(
            "fn crawl(url) {{\nif url.host == \"www.example.org\" {{ return true; }}\n{body}\n}}"
        );
        wants(&source, "http://a.org/x")
    };
    assert_eq!(judged("loop {}"), Err(ScriptFault::Endless));
    assert_eq!(judged("let n = 1 / 0; true"), Err(ScriptFault::Error { line: 3 }));
    assert_eq!(judged("let s = \"xxxxxxxx\"; loop { s += s; }"), Err(ScriptFault::TooLarge));
    assert_eq!(judged("crawl(url)"), Err(ScriptFault::TooDeep));
    assert_eq!(judged("url.path"), Err(ScriptFault::NoBool));
    assert_eq!(judged("throw \"no\""), Err(ScriptFault::Error { line: 3 }));
}

#[test]
fn threads_share_a_script_and_nothing_else() {
    let shared = Arc::new(script("fn crawl(url) { let n = 0; n += 1; n == 1 && url.level < 2 }"));
    let ask = |level: u16| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let url = CrawlUrl::parse("http://a.org/").expect("a URL");
            (0..100).all(|_| shared.wants(&url, level, false) == Ok(level < 2))
        })
    };
    let threads: Vec<_> = (0..4).map(ask).collect();
    assert!(threads.into_iter().all(|thread| thread.join().expect("no panic")));
}

proptest! {
    #[test]
    fn no_source_panics(body in "\\PC{0,40}|((let|x|=|url|\\.path|[0-9]|[(){};+*!]|\"a\"|if|loop|fn) ?){0,14}") {
        let _ = Script::compile("f", &format!("fn crawl(url) {{ {body} }}"));
    }
}
