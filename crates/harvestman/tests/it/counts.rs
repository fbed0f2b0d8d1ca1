//! Figures that a crawl and `status` give: of pages, each once, and of one thing under one name.

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

const HOME: &str = "http://s0.sim.test/";

#[test]
fn a_crawl_of_everything_counts_each_page_once() {
    let world = World::new(WebOptions { sites: 1, ..WebOptions::default() });
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let known = world.status()["pages"]["known"].clone();
    // Now and then a page that is called unchanged is asked for whole, to see whether it is true.
    for _ in 0..8 {
        let done = world.run(&["crawl", HOME, "--delay", "0", "--fresh", "--json"]);
        let summary = done.exits(0).json();
        assert_eq!(summary["pages"]["fetched"], known, "{summary:#}");
    }
}

#[test]
fn failed_is_the_sum_of_the_classes_below_it() {
    let raw = Raw::start(|asked, stream| match asked {
        "a.raw.test/" => reply(stream, "200 OK", "Content-Type: text/html", b"<a href=/gone>x</a>"),
        "a.raw.test/robots.txt" => reply(stream, "404 Not Found", "Content-Length: 0", b""),
        "b.raw.test/robots.txt" => reply(stream, "500 Trouble", "Content-Length: 0", b""),
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let (a, b) =
        (format!("http://a.raw.test:{}/", raw.port), format!("http://b.raw.test:{}/", raw.port));
    let args = ["crawl", &a, &b, "--delay", "0", "--resolve", "*.raw.test=127.0.0.1", "--json"];
    let summary = world.run(&args).exits(0).json();
    assert_eq!(summary["pages"]["failed"], 1, "{summary:#}");
    assert_eq!(summary["errors"], serde_json::json!({ "status-404": 1 }), "{summary:#}");
    assert_eq!(summary["other_errors"]["robots-unreachable"], 1, "{summary:#}");
}

#[test]
fn seeds_that_wait_are_known_to_status_and_refusals_are_the_same_in_both() {
    let world = World::new(WebOptions { sites: 1, ..WebOptions::default() });
    world.run(&["seed", HOME, "http://s0.sim.test/other"]).exits(0);
    let pages = world.status()["pages"].clone();
    assert_eq!(pages["candidates"], 2, "{pages}");
    let summary = world.run(&["crawl", "--delay", "0", "--json"]).exits(0).json();
    let refused = summary["refused"].as_array().unwrap().iter();
    let refused: u64 = refused.map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!(world.status()["pages"]["refused"], refused);
    // The same URL is found on many pages: what is counted are links.
    let listed = world.run(&["decisions"]).exits(0).out.clone();
    assert!(listed.contains(&format!("scope: {refused} links; ")), "{listed}");
}

#[test]
fn every_field_of_the_summary_is_described() {
    let docs = include_str!("../../../../docs/json.md");
    let (_, section) = docs.split_once("\n## harvestman crawl\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let world = World::new(WebOptions { sites: 1, ..WebOptions::default() });
    let summary = world.run(&["crawl", HOME, "--delay", "0", "--json"]).exits(0).json();
    let mut paths = Vec::new();
    for (name, value) in summary.as_object().unwrap() {
        let inner = match value {
            Value::Object(inner) if !name.ends_with("errors") && name != "left_out" => inner,
            Value::Array(rows) => match rows.first().and_then(Value::as_object) {
                Some(row) => {
                    paths.extend(row.keys().map(|field| format!("{name}[].{field}")));
                    continue;
                }
                None => continue,
            },
            _ => {
                paths.push(name.clone());
                continue;
            }
        };
        paths.extend(inner.keys().map(|field| format!("{name}.{field}")));
    }
    assert!(paths.contains(&"pages.fetched".to_owned()), "{paths:?}");
    for path in paths {
        assert!(section.contains(&format!("| `{path}` |")), "{path} is not described");
    }
}
