//! Sites that have more URLs than pages: all their real pages come, the trap is bounded and named, and what was
//! stopped can be lifted. And ordinary sites, which must not be taken for such.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;
use simweb::{Hazard, LinkTo, PageCount, PageId, WebOptions, checks};
use store::testing;

use crate::{
    ask::strings,
    raw::{Raw, reply},
    world::World,
};

const HOST: &str = "s0.sim.test";

/// One site of so many pages with a hazard at a place below it; an empty place is all of it.
fn world(pages: usize, place: &str, hazard: Hazard) -> World {
    let mut options = WebOptions { pages: PageCount::Fixed(pages), ..WebOptions::default() };
    options.put(&format!("{HOST}{place}"), hazard);
    World::new(options)
}

fn crawl(world: &World) {
    world.run(&["crawl", &world.web.home(0), "--delay", "0"]).exits(0);
}

/// Requests whose target begins so.
fn asked(world: &World, start: &str) -> Vec<String> {
    let targets = world.visits().into_iter().map(|entry| entry.target);
    targets.filter(|target| target.starts_with(start)).collect()
}

fn complete(world: &World) {
    assert_eq!(checks::completeness(&world.log(), &world.web, HOST), []);
}

/// The row of the report on this hazard.
fn told(world: &World, hazard: &str) -> Value {
    let report = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    let rows = report.as_array().unwrap().clone();
    let found = rows.into_iter().find(|row| row["hazard"] == hazard);
    found.unwrap_or_else(|| panic!("{hazard} is not in {report:#}"))
}

fn traps(world: &World) -> Vec<Value> {
    world.run(&["traps", "--json"]).json()["rows"].as_array().unwrap().clone()
}

#[test]
fn a_calendar_is_stopped_told_and_lifted_while_all_real_pages_come() {
    let world = world(40, "/cal", Hazard::Calendar);
    crawl(&world);
    complete(&world);
    let months = asked(&world, "/cal").len();
    assert!((40..=60).contains(&months), "{months} months");
    let row = told(&world, "counter");
    assert_eq!(
        (&row["detail"], &row["action"]),
        (&"/cal?month=*".into(), &"pattern-stopped".into())
    );
    let stop = &traps(&world)[0];
    assert_eq!((&stop["site"], &stop["pattern"]), (&HOST.into(), &"/cal?month=*".into()));
    let url = format!("http://{HOST}/cal?month=9999");
    let why = world.run(&["explain", &url]);
    assert!(why.out.contains("trap: counter at /cal?month=*"), "{why}");
    assert!(why.out.contains("harvestman traps lift s0.sim.test '/cal?month=*'"), "{why}");

    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(asked(&world, "/cal").len(), months, "it stays stopped");
    world.run(&["traps", "lift", HOST, "/cal?month=*"]).exits(0).says(&["1 trap lifted"]);
    world.run(&["crawl", "--delay", "0", "--for", "1500ms"]).exits(0);
    let more = asked(&world, "/cal").len();
    assert!(more > months + 60, "{more} months: what was lifted is left alone");
    world.run(&["check"]).exits(0);
}

#[test]
fn a_trap_is_lifted_in_a_running_crawl() {
    let world =
        world(5, "/cal", Hazard::Calendar).variable("HARVESTMAN_HAZARDS_COUNTER_PAGES", "10");
    world.run(&["seed", &world.web.home(0)]).exits(0);
    let crawl = world.start(&["run", "--delay", "5ms", "--for", "40s"]);
    world.wait_for("the trap", |world| !traps(world).is_empty());
    let months = asked(&world, "/cal").len();
    assert!(months < 30, "{months} months");
    world.run(&["traps", "lift", HOST]).exits(0).says(&["lifted"]);
    world.wait_for("more months", |world| asked(world, "/cal").len() > months + 20);
    crawl.signal("INT");
    crawl.wait(crate::world::PATIENCE).exits(4);
}

#[test]
fn stopping_the_pattern_of_a_broken_part_keeps_what_stopping_the_site_loses() {
    let mut options = WebOptions { pages: PageCount::Fixed(200), ..WebOptions::default() };
    // A site of eight levels: most of it is not linked from the first pages.
    options.page.children = 2;
    options.put(&format!("{HOST}/shop/*"), Hazard::Broken);
    let world = World::new(options);
    crawl(&world);
    complete(&world);
    let errors = asked(&world, "/shop/").len();
    // Without pauses some are on their way before the tenth is read; and some are samples.
    assert!(errors <= 11 + 70 + 60, "{errors} of 1,000 error pages");
    assert_eq!(told(&world, "many-duplicates")["detail"], "/shop/p/*");
    let rows = traps(&world);
    let row = rows.iter().find(|row| row["pattern"] == "/shop/p/*").unwrap();
    let count = |name: &str| row[name].as_u64().unwrap();
    assert!(count("kept") >= 10, "{row:#}");
    assert!(count("held_back") + count("refused") > 800, "{row:#}");

    // VN would have taken no more links of the site after ten duplicates.
    let (mut duplicates, mut known) = (0, HashSet::from([0]));
    for entry in world.visits() {
        match world.web.index_of(0, &entry.target) {
            _ if duplicates == 10 => break,
            Some(index) => known.extend(linked(&world, index)),
            None => duplicates += u32::from(entry.target.starts_with("/shop/p/")),
        }
    }
    println!("200 pages beside a broken shop: {} if the site had been stopped", known.len());
    assert!(known.len() < 200, "{}", known.len());
}

fn linked(world: &World, index: usize) -> Vec<usize> {
    let links = world.web.links(PageId { site: 0, index }).into_iter();
    let to = |link| match link {
        LinkTo::Page(page) | LinkTo::Redirect { page, .. } => {
            (page.site == 0).then_some(page.index)
        }
        _ => None,
    };
    links.filter_map(to).collect()
}

#[test]
fn filters_of_a_shop_are_stopped_and_every_product_comes() {
    let world = world(10, "/shop*", Hazard::Facets { products: 100 });
    crawl(&world);
    complete(&world);
    let products: BTreeSet<String> = asked(&world, "/shop/item/").into_iter().collect();
    assert_eq!(products.len(), 100);
    let filters = asked(&world, "/shop?").len();
    assert!(filters < 900, "{filters} combinations");
    assert_eq!(told(&world, "variants")["detail"], "/shop?*");
}

#[test]
fn every_one_of_a_thousand_products_comes_out_of_their_filters() {
    if std::env::var_os("HARVESTMAN_LONG").is_none() {
        return println!("only with HARVESTMAN_LONG=1");
    }
    let world = world(10, "/shop*", Hazard::Facets { products: 1_000 });
    let crawl = world.start(&["crawl", &world.web.home(0), "--delay", "0"]);
    crawl.wait(std::time::Duration::from_secs(900)).exits(0);
    let products: BTreeSet<String> = asked(&world, "/shop/item/").into_iter().collect();
    let filters = asked(&world, "/shop?").len();
    println!("{} of 1,000 products by {filters} combinations", products.len());
    assert_eq!(products.len(), 1_000);
    assert!(filters < 5_000, "{filters} combinations");
}

/// Whoever asks without a session is sent on to a new one.
#[test]
fn a_session_that_the_server_insists_on_does_not_grow_from_crawl_to_crawl() {
    for name in ["PHPSESSID", "visitor"] {
        let count = std::sync::atomic::AtomicU64::new(1);
        let raw = Raw::start(move |place, stream| {
            let path = place.split_once('/').map_or("", |(_, path)| path);
            if path == "robots.txt" || path.starts_with("no-such") {
                return reply(stream, "404 Not Found", "Content-Type: text/html", b"none");
            }
            if !path.contains('=') {
                let n = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let to = format!("Location: /{path}?{name}=a{:016x}b7", n * 0x0123_4567_89ab);
                return reply(stream, "302 Found", &to, b"");
            }
            let at = path.split('?').next().unwrap_or_default();
            let links: String = (0..6).map(|n| format!("<a href=/p{n}>p</a> ")).collect();
            let body = format!("<p>Page {at}</p>{links}");
            reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        });
        let world = World::new(WebOptions::default());
        let url = format!("http://127.0.0.1:{}/", raw.port);
        let known = |world: &World| world.count(&[]);
        world.run(&["crawl", &url, "--delay", "0"]).exits(0);
        let first = known(&world);
        assert_eq!(first, 14, "{name}: each with its session and without");
        for _ in 0..2 {
            world.run(&["crawl", "--delay", "0", "--fresh"]).exits(0);
        }
        // The home page is a seed, and so is where it leads to.
        assert!(known(&world) <= first + 2, "{name}: {} pages", known(&world));
    }
}

#[test]
fn listings_are_taken_in_one_order() {
    let world = world(5, "/files/*", Hazard::Listing);
    crawl(&world);
    let files = asked(&world, "/files/");
    assert_eq!(files.len(), 4 + 12, "{files:?}");
    assert!(files.iter().all(|target| !target.contains('?')), "{files:?}");
    assert_eq!(told(&world, "directory-order")["action"], "corrected");
}

#[test]
fn sessions_under_an_unknown_name_are_found_out() {
    let world = world(60, "", Hazard::UnknownSession);
    world.run(&["crawl", &world.web.home(0), "--delay", "20ms"]).exits(0);
    complete(&world);
    let visits = world.visits().len();
    assert!(visits < 200, "{visits} visits to 60 pages");
    assert_eq!(told(&world, "session-ids")["detail"], "?visitor=*");
}

#[test]
fn sessions_in_the_path_are_found_out() {
    let world = world(60, "", Hazard::PathSession);
    world.run(&["crawl", &world.web.home(0), "--delay", "20ms"]).exits(0);
    let plain = |target: &String| match target.strip_prefix("/s-") {
        Some(rest) => rest[rest.find('/').unwrap_or(0)..].to_owned(),
        None => target.clone(),
    };
    let targets = asked(&world, "/");
    let pages: BTreeSet<usize> =
        targets.iter().filter_map(|target| world.web.index_of(0, &plain(target))).collect();
    assert_eq!(pages.len(), 60);
    assert!(targets.len() < 240, "{} visits to 60 pages", targets.len());
    assert_eq!(told(&world, "session-ids")["detail"], "/s-*");
}

#[test]
fn cookies_make_sessions_go_out_of_urls() {
    let share = |cookies: &str| {
        let world = world(150, "", Hazard::CookielessSession)
            .variable("HARVESTMAN_FETCH_COOKIES", cookies)
            .variable("HARVESTMAN_HAZARDS_TRAPS", "false")
            .variable("HARVESTMAN_HAZARDS_SESSION_NAMES", "[]");
        world.run(&["crawl", &world.web.home(0), "--delay", "0", "--pages", "150"]).exits(0);
        let all = asked(&world, "/");
        let with = all.iter().filter(|target| target.contains("sid=")).count();
        with as f64 / all.len() as f64
    };
    let (off, on) = (share("off"), share("on"));
    println!("URLs with session ids: {off:.3} without cookies, {on:.3} with (VN: 0.27, 0.035)");
    assert!(off > 0.75 && on < 0.25, "{off} {on}");
}

#[test]
fn known_session_names_never_reach_the_frontier() {
    let world = world(40, "", Hazard::SessionIds);
    crawl(&world);
    complete(&world);
    assert_eq!(asked(&world, "/").iter().filter(|target| target.contains("sid=")).count(), 0);
    assert_eq!(told(&world, "session-ids")["action"], "corrected");
}

#[test]
fn urls_that_grow_are_cut_short() {
    for (place, hazard, name, max) in [
        ("/deep/*", Hazard::GrowingPath, "repeated-segments", 5),
        ("/search", Hazard::Reescape, "growing-url", 20),
        ("/offers", Hazard::History, "growing-url", 20),
    ] {
        let world = world(10, place, hazard);
        crawl(&world);
        complete(&world);
        let met = asked(&world, place.trim_end_matches('*'));
        assert!((1..=max).contains(&met.len()), "{place}: {met:?}");
        told(&world, name);
    }
}

#[test]
fn a_site_that_has_everything_is_asked_once_for_nothing() {
    let mut options = WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() };
    options.page.broken_share = 0.3;
    options.put(HOST, Hazard::Soft404);
    let world = World::new(options);
    crawl(&world);
    complete(&world);
    assert_eq!(asked(&world, "/no-such-page-").len(), 1);
    let dead = asked(&world, "/missing/").len();
    println!("{dead} pages that do not exist were visited");
    told(&world, "soft-404");
    assert!(traps(&world).iter().any(|row| row["hazard"] == "soft-404"));
    let parts = strings(&world.pages(&["--requisites"]), "url");
    let counted = parts.iter().filter(|url| url.contains("no-such")).count();
    assert_eq!(counted, 1, "it is no page");
}

#[test]
fn a_long_way_is_no_trap_but_ends_at_the_depth_that_was_asked_for() {
    let deep = world(5, "/chain/*", Hazard::Chain { length: 100 });
    crawl(&deep);
    assert_eq!(asked(&deep, "/chain/").len(), 100);
    assert_eq!(traps(&deep), Vec::<Value>::new());
    let shallow = world(5, "/chain/*", Hazard::Chain { length: 100 });
    shallow.run(&["crawl", &shallow.web.home(0), "--delay", "0", "--depth", "15"]).exits(0);
    assert_eq!(asked(&shallow, "/chain/").len(), 15);
    told(&shallow, "depth-limit");
}

#[test]
fn a_discovered_site_without_end_stops_at_its_limit_or_when_it_takes_too_long() {
    for (limit, name) in [("40", "site-limit"), ("5000", "tarpit")] {
        let mut options =
            WebOptions { sites: 2, pages: PageCount::Fixed(5), ..WebOptions::default() };
        let after = std::time::Duration::from_millis(if limit == "40" { 0 } else { 100 });
        options.put("s1.sim.test/pit/*", Hazard::Tarpit { after });
        let world = World::new(options)
            .variable("HARVESTMAN_CRAWL_DISCOVERED_URLS", limit)
            .variable("HARVESTMAN_HAZARDS_SLOW_TIME", "1500ms");
        world.run(&["crawl", &world.web.home(0), "--scope", "any", "--delay", "0"]).exits(0);
        let visits = world.visits().iter().filter(|entry| &*entry.host == "s1.sim.test").count();
        assert!(visits <= 60, "{visits} visits");
        told(&world, name);
    }
}

#[test]
fn ordinary_sites_are_not_taken_for_traps() {
    let raw = Raw::start(|place, stream| {
        let path = place.split_once('/').map_or("", |(_, path)| path);
        let number = |start: &str| path.strip_prefix(start).and_then(|n| n.parse::<u64>().ok());
        let words = |n: u64| -> String {
            let list = ["river", "stone", "bread", "lamp", "mill", "cloud", "tree", "road"];
            (0..30)
                .map(|k| format!("{} ", list[(n * 7 + k * (n % 5 + 1) + n / 8) as usize % 8]))
                .collect()
        };
        let body = if path.is_empty() {
            let parts: String = (0..120).map(|n| format!("<a href=/part/{n}>p</a>")).collect();
            format!("<p>Welcome</p><a href=/post/0>blog</a><a href=/wiki/0>wiki</a>{parts}")
        } else if let Some(n) = number("post/").filter(|n| *n < 120) {
            format!("<p>Post {n} {}</p><a href=/post/{}>next</a>", words(n), n + 1)
        } else if let Some(n) = number("part/") {
            format!("<p>Part {n} costs {} and is on stock, order it now please.</p>", n * 3)
        } else if let Some(n) = number("wiki/").filter(|n| *n < 120) {
            let text = if n % 3 == 0 {
                "There is no such article yet.".to_owned()
            } else {
                words(n + 900)
            };
            format!("<p>{text}</p><a href=/wiki/{}>a</a><a href=/wiki/{}>b</a>", n + 1, n + 2)
        } else {
            return reply(stream, "404 Not Found", "Content-Type: text/html", b"none");
        };
        reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    assert_eq!(traps(&world), Vec::<Value>::new());
    let asked = raw.asked();
    for kind in ["post", "part", "wiki"] {
        let met = asked.iter().filter(|place| place.contains(&format!("/{kind}/"))).count();
        assert!((120..=122).contains(&met), "{met} of 120 {kind}s");
    }
}

/// Sixty articles, each leading to the next and to itself in print, which is the same.
fn articles() -> Raw {
    Raw::start(|place, stream| {
        let path = place.split_once('/').map_or("", |(_, path)| path);
        let page = path.split('?').next().unwrap_or_default();
        let at: u64 = page.strip_prefix("a").and_then(|n| n.parse().ok()).unwrap_or(0);
        let text = ["moss", "reed", "mud", "frog"][at as usize % 4].repeat(at as usize + 10);
        let body = format!(
            "<p>Article {at}: {text}, and so on.</p><a href=/a{}>next</a> <a href=/a{at}?look=plain>print</a>",
            (at + 1).min(59)
        );
        reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
    })
}

#[test]
fn print_buttons_that_change_nothing_are_left_out() {
    let raw = articles();
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let asked = raw.asked();
    let printed = asked.iter().filter(|place| place.ends_with("look=plain")).count();
    // Some are looked at in spite of it, lest one be another.
    assert!(printed <= 18, "{printed} of 60 in print");
    let pages: BTreeSet<&String> = asked.iter().filter(|place| !place.contains('?')).collect();
    assert!(pages.len() >= 60, "{} articles", pages.len());
    assert_eq!(told(&world, "variants")["detail"], "?look=plain");
}

#[test]
fn what_was_learned_is_not_applied_where_the_watch_is_off() {
    let raw = articles();
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0", "--pages", "30"]).exits(0);
    assert!(traps(&world).iter().any(|row| row["pattern"] == "?look=plain"));
    let world = world.variable("HARVESTMAN_HAZARDS_TRAPS", "false");
    world.run(&["crawl", "--delay", "0"]).exits(0);
    let printed = raw.asked().iter().filter(|place| place.ends_with("look=plain")).count();
    assert!(printed > 30, "{printed} of 60 in print");
}

#[test]
fn lifting_a_site_forgets_what_it_shows_for_nothing_and_its_families() {
    let mut options = WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() };
    options.page.broken_share = 0.3;
    options.put(HOST, Hazard::Soft404);
    let world = World::new(options);
    crawl(&world);
    assert!(traps(&world).iter().any(|row| row["hazard"] == "soft-404"));
    assert_eq!(testing::sites_that_remember(&world.folder), 1);
    let why = world.run(&["traps"]);
    assert!(why.out.contains("harvestman traps lift s0.sim.test soft-404"), "{why}");
    world.run(&["traps", "lift", HOST, "soft-404"]).exits(0).says(&["1 trap lifted"]);
    assert!(traps(&world).iter().all(|row| row["hazard"] != "soft-404"));
    world.run(&["crawl", "--delay", "0", "--fresh"]).exits(0);
    assert!(traps(&world).iter().all(|row| row["hazard"] != "soft-404"), "it is not asked again");
    world.run(&["traps", "lift", HOST, "*"]).exits(0);
    assert_eq!(testing::sites_that_remember(&world.folder), 0);
}

#[test]
fn a_seed_with_a_session_in_it_is_taken_as_it_is_written() {
    let seed = "/?PHPSESSID=0123456789abcdef";
    let at = format!("127.0.0.1{seed}");
    let raw =
        Raw::pages(&[(&at, "<a href='/b?PHPSESSID=0123456789abcdef'>b</a>"), ("127.0.0.1/b", "b")]);
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}{seed}", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    assert_eq!(raw.asked(), [at, "127.0.0.1/b".to_owned()]);
    world.run(&["explain", &url]).exits(0);
}
