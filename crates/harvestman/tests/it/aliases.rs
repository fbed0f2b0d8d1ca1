//! One host under many spellings, many hosts on one address, one page under two names: by what servers were asked.

use std::time::Duration;

use simweb::{PageCount, WebOptions, checks};

use crate::{
    ask::strings,
    raw::{Asked, Raw, reply},
    world::World,
};

/// What sockets and schedulers of a busy machine may take from a pause: a request that is read late seems to be followed too
/// soon. Without a pause there would be next to nothing between two.
const SLACK: Duration = Duration::from_millis(600);
const PAUSE: Duration = Duration::from_millis(1_000);

#[test]
fn all_spellings_of_a_host_are_one_queue_with_one_robots_txt_and_one_pause() {
    let raw = Raw::pages(&[
        (
            "a.raw.test/",
            "<a href='http://B.RAW.test/1'>1</a> <a href='http://b.raw.test./2'>2</a> \
             <a href='http://b.r%61w.test/3'>3</a> <a href='http://b.raw.test:80/4'>4</a> \
             <a href='http://b&uuml;cher.raw.test/5'>5</a> <a href='//b.raw.test/7'>7</a> \
             <a href='http://xn--bcher-kva.raw.test/6'>6</a>",
        ),
        ("b.raw.test/1", "one"),
        ("b.raw.test/2", "two"),
        ("b.raw.test/3", "three"),
        ("b.raw.test/4", "four"),
        ("xn--bcher-kva.raw.test/5", "five"),
        ("xn--bcher-kva.raw.test/6", "six"),
        ("b.raw.test/7", "seven"),
    ]);
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let flags = ["--scope", "any", "--delay", "1s", "--resolve", &rule];
    world.run(&[&["crawl", "http://a.raw.test/"], &flags[..]].concat()).exits(0);
    let heard = raw.heard();
    for (host, pages) in [("b.raw.test", 5), ("xn--bcher-kva.raw.test", 2)] {
        let start = format!("{host}/");
        let to_host: Vec<&Asked> =
            heard.iter().filter(|asked| asked.place.starts_with(&start)).collect();
        let robots = to_host.iter().filter(|asked| asked.place.ends_with("/robots.txt")).count();
        assert_eq!((robots, to_host.len()), (1, pages + 1), "{host}: {heard:?}");
        for two in to_host.windows(2) {
            let gap = two[1].at.duration_since(two[0].at);
            assert!(gap + SLACK >= PAUSE, "{} came {gap:?} after {}", two[1].place, two[0].place);
        }
    }
    let hosts = strings(&world.sites(&[]), "site");
    assert_eq!(hosts, ["a.raw.test", "b.raw.test", "xn--bcher-kva.raw.test"]);
    let told = world.run(&["report", "hazards", "--hazard", "host-alias", "--json"]).json()["rows"]
        .clone();
    assert_eq!((&told[0]["site"], &told[0]["count"]), (&"a.raw.test".into(), &5.into()), "{told}");
}

#[test]
fn sites_that_wait_for_each_other_on_one_address_are_told() {
    let world =
        World::new(WebOptions { sites: 5, pages: PageCount::Fixed(1), ..WebOptions::default() });
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "2400ms"];
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    let log = world.log();
    assert_eq!(log.len(), 10);
    // An eighth between any two of different sites; single gaps may jitter. The first five are one of each site, so that no
    // site's own pause is among them.
    let span = Duration::from_micros(log[4].start_us - log[0].start_us);
    assert!(span + SLACK >= Duration::from_millis(1_200), "5 requests within {span:?}");
    assert_eq!(checks::connections_at_once(&log, 1), []);
    let told =
        world.run(&["report", "hazards", "--hazard", "shared-address", "--json"]).json()["rows"]
            .clone();
    let told = told.as_array().unwrap();
    assert!((1..=5).contains(&told.len()), "{told:?}");
    assert!(told.iter().all(|row| row["detail"] == "127.0.0.1" && row["count"] == 1), "{told:?}");
}

#[test]
fn an_index_page_is_a_duplicate_by_default_and_the_same_page_where_its_name_is_removed() {
    for (names, asked, duplicates) in [
        ("[]", vec!["a.raw.test/", "a.raw.test/index.html"], 1),
        ("index.html", vec!["a.raw.test/"], 0),
    ] {
        let raw = Raw::start(|place, stream| match place {
            "a.raw.test/" | "a.raw.test/index.html" => {
                let text = "the same words in both, again and again. ".repeat(60);
                let body = format!("<a href='/index.html'>home</a><p>{text}</p>");
                reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
            }
            _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        });
        let world = World::new(WebOptions::default()).variable("HARVESTMAN_URL_INDEX_NAMES", names);
        let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
        world.run(&["crawl", "http://a.raw.test/", "--delay", "0", "--resolve", &rule]).exits(0);
        assert_eq!(raw.asked(), asked, "{names}");
        let sites = world.sites(&[]);
        let found: u64 = sites.iter().filter_map(|site| site["duplicates"].as_u64()).sum();
        assert_eq!(found, duplicates, "{names}");
    }
}
