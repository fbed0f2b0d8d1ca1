//! Documents that are neither HTML nor plain text: left out and said so, kept where that is asked for.

use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

const PAGE: &str = "<a href=/a.pdf>a</a><a href=/b.pdf>b</a><a href=/c.png>c</a>";

fn site() -> Raw {
    Raw::start(|asked, stream| {
        let (kind, body) = match asked.rsplit_once('.').map(|(_, extension)| extension) {
            Some("pdf") => ("application/pdf; version=1.7", &b"%PDF-1.7 a document"[..]),
            Some("png") => ("image/png", &b"\x89PNG\r\n\x1a\n"[..]),
            _ if asked.ends_with(".test/") => ("text/html", PAGE.as_bytes()),
            _ => return reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        };
        reply(stream, "200 OK", &format!("Content-Type: {kind}"), body);
    })
}

fn crawl<'a>(seed: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["crawl", seed, "--delay", "0", "--resolve", "*.raw.test=127.0.0.1"];
    [&args[..], more].concat()
}

#[test]
fn documents_of_other_types_are_counted_in_the_summary_and_kept_when_they_are_asked_for() {
    let raw = site();
    let world = World::new(WebOptions::default());
    let seed = format!("http://a.raw.test:{}/", raw.port);
    let done = world.run(&crawl(&seed, &[]));
    done.exits(0).says(&["left out: 2 application/pdf, 1 image/png; --all-types keeps them"]);
    assert_eq!(world.status()["pages"]["fetched"], 1);

    // The flag that is named takes them, without --fresh.
    let done = world.run(&crawl(&seed, &["--all-types"]));
    done.exits(0);
    assert!(!done.err.contains("left out") && !done.err.contains("refused:"), "{done}");
    assert_eq!(world.status()["pages"]["fetched"], 4);
    let shown = world.run(&["show", "--html", &format!("{seed}a.pdf")]);
    assert!(shown.exits(0).out.contains("%PDF-1.7 a document"), "{shown}");
}

#[test]
fn types_that_were_left_out_stand_in_the_json_of_the_summary() {
    let raw = site();
    let world = World::new(WebOptions::default());
    let seed = format!("http://a.raw.test:{}/", raw.port);
    let summary = world.run(&crawl(&seed, &["--json"])).exits(0).json();
    assert_eq!(summary["left_out"]["application/pdf"], 2, "{summary:#}");
    assert_eq!(summary["left_out"]["image/png"], 1, "{summary:#}");
}
