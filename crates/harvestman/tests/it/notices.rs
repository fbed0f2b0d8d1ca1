//! Sitemaps, feeds and robots.rdf: they bring pages that nobody links to, politely, and count as none.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use harvester::clock::SimClock;
use model::{Clock, Timestamp};
use simweb::{
    ChangeModel, Dates, Hazard, LogOptions, PageCount, PageId, RobotsPlan, SimFetcher, SimWeb,
    SitemapTrick, WebOptions, checks,
};

use crate::{
    ask::{Questions, strings},
    raw::{Raw, reply},
    simulated::{self, Errand},
    world::World,
};

const HOME: &str = "http://s0.sim.test/";

fn options(pages: usize) -> WebOptions {
    let mut options =
        WebOptions { pages: PageCount::Fixed(pages), sitemap: true, ..WebOptions::default() };
    options.page.bytes_mean = 3_000.0;
    options
}

/// Paths asked for that are no pages of the tree and not robots.txt.
fn special(world: &World) -> Vec<String> {
    let special = |path: &String| {
        ["/sitemap", "/feed", "/robots.rdf", "/unlinked"]
            .iter()
            .any(|start| path.starts_with(start))
    };
    let paths = world.visits().into_iter().map(|entry| entry.path().to_owned());
    paths.filter(special).collect()
}

#[test]
fn pages_that_only_a_sitemap_names_are_found_and_the_sitemap_is_no_page() {
    let mut options = options(8);
    options.notices.unlinked = 5;
    let world = World::new(options);
    let done = world.run(&["crawl", HOME, "--delay", "0", "--json"]);
    done.exits(0);
    let asked: BTreeSet<String> = special(&world).into_iter().collect();
    let mut wanted: BTreeSet<String> = (0..5).map(|n| format!("/unlinked/{n}")).collect();
    wanted.insert("/sitemap.xml".to_owned());
    assert_eq!(asked, wanted);
    assert_eq!(done.json()["pages"]["fetched"], 13, "{}", done.json());
    let log = world.log();
    assert!(checks::repeats(&log).is_empty(), "{:?}", checks::repeats(&log));
    let missing = checks::completeness(&log, &world.web, "s0.sim.test");
    assert!(missing.is_empty(), "{missing:?}");
    let parts = strings(&world.pages(&["--requisites"]), "url");
    assert_eq!(parts, ["http://s0.sim.test/sitemap.xml"]);
    assert_eq!(world.ask(&["explain", &parts[0]])["feed"], "sitemap");
    world.run(&["check"]).exits(0);
}

#[test]
fn what_is_switched_off_is_not_asked_for_and_robots_rdf_only_on_request() {
    let mut options = options(5);
    options.notices.unlinked = 3;
    options.notices.feed = true;
    options.notices.rdf = true;
    let world = World::new(options.clone())
        .variable("HARVESTMAN_CRAWL_SITEMAPS", "off")
        .variable("HARVESTMAN_CRAWL_FEEDS", "false");
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    assert_eq!(special(&world), Vec::<String>::new());
    let world = World::new(options).variable("HARVESTMAN_CRAWL_ROBOTS_RDF", "true");
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let asked: BTreeSet<String> = special(&world).into_iter().collect();
    for wanted in ["/sitemap.xml", "/feed.atom", "/robots.rdf", "/unlinked/0"] {
        assert!(asked.contains(wanted), "{wanted}: {asked:?}");
    }
}

#[test]
fn a_sitemap_is_guessed_only_when_asked_to() {
    let mut options = options(5);
    (options.sitemap, options.notices.unlinked) = (false, 2);
    let world = World::new(options.clone());
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    assert_eq!(special(&world), Vec::<String>::new());
    let world = World::new(options).variable("HARVESTMAN_CRAWL_SITEMAPS", "guess");
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    assert_eq!(special(&world).len(), 3);
}

#[test]
fn limits_pauses_and_robots_txt_hold_for_sitemaps_and_their_pages() {
    let mut options = options(10);
    options.notices.unlinked = 20;
    options.robots = RobotsPlan::Disallow(vec!["/unlinked/1".to_owned()]);
    let world = World::new(options.clone());
    let pause = Duration::from_millis(200);
    world.run(&["crawl", HOME, "--delay", "200ms", "--pages", "6"]).exits(0);
    let log = world.log();
    let broken = checks::pauses(&log, pause, Duration::from_millis(100));
    assert!(broken.is_empty(), "{broken:?}");
    assert!(checks::disallowed(&log, &world.web).is_empty());
    assert_eq!(world.fetched(), 6);
    assert_eq!(world.visits().len(), 7, "six pages and the sitemap");

    options.robots = RobotsPlan::Disallow(vec!["/sitemap".to_owned()]);
    let world = World::new(options);
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    assert_eq!(special(&world), Vec::<String>::new(), "robots.txt names it and forbids it");
}

#[test]
fn a_depth_is_kept_by_folders_where_no_link_is_known() {
    let mut options = options(8);
    options.notices.unlinked = 4;
    let world = World::new(options);
    world.run(&["crawl", HOME, "--delay", "0", "--depth", "1"]).exits(0);
    assert_eq!(special(&world), ["/sitemap.xml"], "/unlinked/0 lies two folders deep");
    let world = World::new(self::options(1));
    world.run(&["crawl", HOME, "--delay", "0", "--dry-run"]).exits(0);
}

#[test]
fn sitemaps_that_are_meant_to_hurt_are_read_as_far_as_they_are_honest() {
    let long = std::env::var_os("HARVESTMAN_LONG").is_some();
    println!("{}", if long { "long" } else { "short: HARVESTMAN_LONG=1 has the largest too" });
    let is_large = |trick| matches!(trick, SitemapTrick::ManyUrls | SitemapTrick::Bomb);
    let tricks: Vec<SitemapTrick> = Hazard::ALL
        .iter()
        .filter_map(|hazard| match hazard {
            Hazard::Sitemap(trick) => Some(*trick),
            _ => None,
        })
        .filter(|trick| long || !is_large(*trick))
        .collect();
    let mut options = WebOptions { sites: tricks.len(), ..options(3) };
    for (site, trick) in tricks.iter().enumerate() {
        let place = format!("{}/sitemap*", options.host(site));
        options.put(&place, Hazard::Sitemap(*trick));
    }
    let world = World::new(options).variable("HARVESTMAN_CRAWL_SITE_PAGES", "8");
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "0"];
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    let log = world.log();
    assert!(log.iter().all(|entry| entry.path() != "/canary" && *entry.host != *"other.test"));
    for (site, trick) in tricks.iter().enumerate() {
        let host = world.web.host(site);
        let asked = |start: &str| {
            let is_it =
                |entry: &&simweb::Entry| *entry.host == *host && entry.target.starts_with(start);
            log.iter().filter(is_it).count()
        };
        assert_eq!(asked("/sitemap.xml"), 1, "{}", trick.word());
        match trick {
            SitemapTrick::Circle => assert_eq!(asked("/sitemap-b.xml"), 1),
            SitemapTrick::Deep => assert_eq!((asked("/sitemap-3."), asked("/sitemap-4.")), (1, 0)),
            _ => assert!(asked("/sitemap-page") > 0, "{}", trick.word()),
        }
    }
    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    let told = |site: usize, hazard: &str, what: &str| {
        let host = world.web.host(site);
        told.as_array().unwrap().iter().any(|row| {
            row["site"] == host.as_str()
                && row["hazard"] == hazard
                && row["detail"].as_str().unwrap_or_default() == what
        })
    };
    for (site, trick) in tricks.iter().enumerate() {
        let (hazard, what) = match trick {
            SitemapTrick::Entities | SitemapTrick::LateDoctype => {
                ("hostile-xml", "declarations in its document type")
            }
            SitemapTrick::External => ("hostile-xml", "document type of another file"),
            SitemapTrick::Include => ("hostile-xml", "include of another file"),
            SitemapTrick::Circle => ("hostile-sitemap", "an index that names itself"),
            SitemapTrick::Deep => ("hostile-sitemap", "indexes in indexes"),
            SitemapTrick::ManyUrls | SitemapTrick::Bomb => {
                ("hostile-sitemap", "longer than is read")
            }
            SitemapTrick::OtherHosts => ("hostile-sitemap", "URLs of other hosts"),
        };
        assert!(told(site, hazard, what), "{}", trick.word());
        if *trick == SitemapTrick::Circle {
            assert!(told(site, hazard, "indexes in a circle"));
        }
    }
    world.run(&["check"]).exits(0);
}

#[test]
fn sitemaps_come_back_by_the_policy_and_one_that_has_not_changed_costs_a_revisit_record() {
    let world = World::new(options(3));
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    world.forget_log();
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert_eq!(special(&world), ["/sitemap.xml"]);
    let runs = world.history("http://s0.sim.test/sitemap.xml");
    assert_eq!((runs.len(), &runs[0]["visits"]), (1, &2.into()), "one version, seen twice");
}

#[test]
fn a_feed_of_a_hundred_thousand_entries_does_no_harm() {
    let mut feed = "<rss><channel>".to_owned();
    for n in 0..100_000 {
        feed += &format!("<item><link>/a/b/c/{n}</link></item>");
    }
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let page = "<link rel=alternate type='application/rss+xml' href=/feed><p>news</p>";
            reply(stream, "200 OK", "Content-Type: text/html", page.as_bytes());
        }
        "127.0.0.1/feed" => {
            reply(stream, "200 OK", "Content-Type: application/rss+xml", feed.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0", "--depth", "2"]).exits(0);
    assert_eq!(world.pages_and_parts().len(), 2);
    world.run(&["crawl", &url, "--delay", "0", "--fresh", "--pages", "20"]).exits(0);
    let told = world.run(&["decisions", "--json"]);
    assert!(told.out.contains("feed: longer than is read"), "{told}");
    let plain = world.run(&["decisions"]);
    assert!(plain.flat().contains("5,000 of a feed; no key changes that"), "{plain}");
    assert!(told.out.contains("\"count\":5000") || told.out.contains("\"count\": 5000"), "{told}");
}

#[test]
fn a_feed_that_announces_too_much_is_read_as_far_as_it_comes_and_no_key_is_blamed() {
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let page = "<link rel=alternate type='application/rss+xml' href=/feed><p>news</p>";
            reply(stream, "200 OK", "Content-Type: text/html", page.as_bytes());
        }
        "127.0.0.1/feed" => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n\
                        Content-Length: 30000000\r\nConnection: close\r\n\r\n<rss>";
            let _ = std::io::Write::write_all(stream, head.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let done = world.run(&["crawl", &url, "--delay", "0"]);
    done.exits(0).says(&["feed: names no page"]);
    assert!(!done.err.contains("bytes_max"), "{done}");
}

#[test]
fn a_broken_sitemap_is_told_and_costs_nothing() {
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/robots.txt" => {
            let text = b"Sitemap: /map.xml\nSitemap: /lost.xml\nSitemap: ::\n";
            reply(stream, "200 OK", "Content-Type: text/plain", text);
        }
        "127.0.0.1/map.xml" => {
            reply(stream, "200 OK", "Content-Type: text/xml", b"<urlset><url><loc>\xff<<<</url");
        }
        "127.0.0.1/" => reply(stream, "200 OK", "Content-Type: text/html", b"<p>home</p>"),
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let done = world.run(&["crawl", &url, "--delay", "0", "--json"]);
    done.exits(0);
    assert_eq!(
        (&done.json()["pages"]["fetched"], &done.json()["pages"]["failed"]),
        (&1.into(), &0.into())
    );
    let told = world.run(&["decisions"]);
    assert!(told.out.contains("sitemap: names no page"), "{told}");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_sitemap_that_tells_the_truth_brings_visits_forward_and_a_liar_earns_no_trust() {
    const DAYS: u32 = 50;
    let (start, day) = (Timestamp(1_763_000_000_000), Duration::from_secs(86_400));
    let mut options = options(40);
    (options.sites, options.change) = (2, ChangeModel::every(day * 12));
    options.notices.dates = Dates::True;
    options.notices.dates_of.insert("s1.sim.test".to_owned(), Dates::Lying);
    let web = Arc::new(SimWeb::new(options));
    let folder = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(start));
    let (agent, log) = ("harvestman", LogOptions::default());
    let fetcher = Arc::new(SimFetcher::new(web.clone(), clock.clone(), agent, log).unwrap());
    let errand = Errand::new("", Some(start.plus(day * DAYS)));
    simulated::crawl(&web, folder.path(), &clock, fetcher.clone(), &errand);

    let log = fetcher.log().entries();
    let polls = log.iter().filter(|entry| entry.path() == "/sitemap.xml").count();
    assert!((30..=300).contains(&polls), "{polls} visits to two sitemaps in {DAYS} days");
    let mut visits: BTreeMap<PageId, Vec<Timestamp>> = BTreeMap::new();
    for entry in log.iter().filter(|entry| matches!(entry.status, 200 | 304)) {
        let url = model::CrawlUrl::parse(&entry.url()).unwrap();
        if let Some(page) = web.page_of(&url) {
            visits.entry(page).or_default().push(entry.at);
        }
    }
    // How long a change waited for the visit that found it, in days, once there was time to learn.
    let waited = |site: usize| -> f64 {
        let mut waits = Vec::new();
        for (page, visits) in visits.iter().filter(|(page, _)| page.site == site) {
            for pair in visits.windows(2).filter(|pair| pair[0] > start.plus(day * (DAYS / 2))) {
                if let Some(changed) = web.next_change(*page, pair[0]).filter(|at| *at < pair[1]) {
                    waits.push(pair[1].since(changed).as_secs_f64() / day.as_secs_f64());
                }
            }
        }
        assert!(waits.len() > 20, "site {site}: {} changes were found", waits.len());
        waits.iter().sum::<f64>() / waits.len() as f64
    };
    let (honest, liar) = (waited(0), waited(1));
    println!("{polls} polls; changes waited {honest:.2} days, {liar:.2} where the sitemap lies");
    assert!(honest < 0.75 * liar, "changes waited {honest:.2} days, {liar:.2} with a liar");

    let collection = Questions::at(folder.path());
    let source = |site: &str| {
        let urls = strings(&collection.pages(&["--site", site]), "url");
        let mut answers = urls.iter().map(|url| collection.ask(&["explain", url]));
        let answer = answers.find(|answer| answer["revisit"]["announced"].is_object());
        answer.expect("one was announced")["revisit"]["announced"]["sources"][0].clone()
    };
    let (true_one, liar) = (source("s0.sim.test"), source("s1.sim.test"));
    assert_eq!((&true_one["source"], &liar["source"]), (&"sitemap".into(), &"sitemap".into()));
    let believed = (&true_one["believed"], &liar["believed"]);
    assert_eq!(believed, (&true.into(), &false.into()), "{true_one} {liar}");
}

#[test]
fn a_long_sitemap_is_taken_in_pieces_and_a_kill_between_them_loses_and_doubles_nothing() {
    const URLS: u64 = 20_000;
    let raw = Raw::hearing(move |asked, stream| {
        let host = asked.header("host").unwrap_or_default().to_owned();
        match asked.place.as_str() {
            "127.0.0.1/robots.txt" => {
                let robots = format!("Sitemap: http://{host}/map.xml\n");
                reply(stream, "200 OK", "Content-Type: text/plain", robots.as_bytes());
            }
            "127.0.0.1/map.xml" => {
                let entry = |n: u64| {
                    let day = 1 + n % 28;
                    format!(
                        "<url><loc>http://{host}/p{n}</loc><lastmod>2025-01-{day:02}</lastmod></url>"
                    )
                };
                let entries: String = (0..URLS).map(entry).collect();
                let map = format!("<?xml version='1.0'?><urlset>{entries}</urlset>");
                reply(stream, "200 OK", "Content-Type: text/xml", map.as_bytes());
            }
            place => {
                let page = format!("<p>the page at {place}");
                reply(stream, "200 OK", "Content-Type: text/html", page.as_bytes());
            }
        }
    });
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    let world = World::new(WebOptions::default());
    let args = ["crawl", &seed, "--delay", "100ms", "--pages", "30"];
    let named = |world: &World| world.count(&["--prefix", &format!("{seed}p")]);
    let heard = |world: &World| world.page(&format!("{seed}map.xml"))["visits"].as_u64().unwrap();
    let crawl = world.start(&args);
    world.wait_for("it is asked for", |_| raw.asked().iter().any(|at| at.ends_with("/map.xml")));
    world.wait_for("the first pieces are in", |world| named(world) > 1_000);
    crawl.kill();
    let there = named(&world);
    assert!(there < URLS, "all {there} came at once");
    assert_eq!(heard(&world), 0, "it is read with its last piece, and not before");
    world.run(&args).exits(0);
    assert_eq!((named(&world), heard(&world)), (URLS, 1));
    let asked = raw.asked();
    let again = asked.iter().filter(|place| place.ends_with("/map.xml")).count();
    assert_eq!(again, 1, "it was archived: nobody asks for it a second time");
    let urls = strings(&world.pages_and_parts(), "url");
    assert_eq!(urls.iter().collect::<BTreeSet<_>>().len(), urls.len(), "no page is there twice");
    world.run(&["check"]).exits(0);
}
