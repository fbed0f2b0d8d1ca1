//! Where a crawl begins: seeds from every kind of list, and what a page would lead to before it is crawled.

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf, time::Duration};

use serde_json::Value;
use simweb::{PageCount, PageOptions, RobotsPlan, WebOptions};
use store::testing;

use crate::{ask::strings, world::World};

const HOME: &str = "http://s0.sim.test/";

#[test]
fn every_kind_of_list_is_recognised_and_its_seeds_are_crawled() {
    let world =
        World::new(WebOptions { sites: 6, pages: PageCount::Fixed(2), ..WebOptions::default() });
    for (name, text) in [
        ("top.csv", "rank,domain\n1,s0.sim.test\n2,s0.sim.test\n"),
        ("hosts", "127.0.0.1 localhost\n0.0.0.0 s1.sim.test\n"),
        (
            "zone.txt",
            "$ORIGIN sim.test.\n@ SOA a b ( 1 2\n3 4 5 )\n@ NS ns\ns2 NS ns.s2\ns2 NS ns2\n",
        ),
        ("map.xml", "<urlset><url><loc>http://s3.sim.test/</loc></url></urlset>"),
        (
            "feeds.opml",
            "<opml><body><outline xmlUrl='http://s4.sim.test/feed' htmlUrl='http://s4.sim.test/'/></body></opml>",
        ),
    ] {
        let file = file(&world, name, text);
        let done = world.run(&["seed", "--file", &file]);
        done.exits(0).says(&["1 seed taken", "the next crawl begins with it"]);
    }
    let zone = "s5 A 192.0.2.1\n";
    let file = file(&world, "sim.test.zone", zone);
    world.run(&["seed", "--from", "zone", "--file", &file]).exits(0);
    assert_eq!(world.log(), [], "seed asks nobody");
    let expected: Vec<String> = (0..6).map(|n| format!("http://s{n}.sim.test/")).collect();
    assert_eq!(seeds(&world), expected);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(world.status()["pages"]["fetched"], 12, "{:?}", world.visited());
    world.run(&["check"]).exits(0);
}

#[test]
fn another_collections_home_pages_are_seeds_and_it_is_not_touched() {
    let options = WebOptions { sites: 3, pages: PageCount::Fixed(3), ..WebOptions::default() };
    let world = World::new(options);
    world.run(&["crawl", HOME, "http://s1.sim.test/", "--delay", "0"]).exits(0);
    let known = world.sites(&[]).len();
    let old = world.temp.path().join("old");
    fs::rename(&world.folder, &old).unwrap();
    let before = fs::read(old.join("crawl.db")).unwrap();
    let old_name = old.to_str().unwrap();
    world.run(&["seed", "--from", "collection", "--file", old_name]).exits(0);
    assert_eq!(seeds(&world).len(), known);
    assert!(seeds(&world).contains(&"http://s1.sim.test/".to_owned()), "{:?}", seeds(&world));
    assert_eq!(fs::read(old.join("crawl.db")).unwrap(), before);
    let again = world.run(&["seed", "--file", old_name]);
    again.exits(0).says(&[&format!("{known} known before")]);
    let itself = world.run(&["seed", "--file", world.folder.to_str().unwrap()]);
    itself.exits(2).says(&["is the collection itself"]);
}

#[test]
fn bad_lines_and_refused_seeds_are_named_up_to_twenty_and_counted() {
    let world =
        World::new(WebOptions::default()).variable("HARVESTMAN_REJECT_PATTERNS", "/private/");
    let mut text = "http://s0.sim.test/a\nhttp://s0.sim.test/a\n".to_owned();
    for n in 0..30 {
        let _ = writeln!(text, "http://s0.sim.test/private/{n}\nnonsense{n}");
    }
    let list = file(&world, "seeds.txt", &text);
    let done = world.run(&["seed", "--file", &list]);
    done.exits(0).says(&[
        "line 4: neither a URL nor a host",
        "seed refused: http://s0.sim.test/private/19 (reject.patterns: /private/)",
        "… and 10 more lines",
        "… and 10 more seeds refused",
        "1 seed taken, 1 repeated, 30 refused, 30 bad",
    ]);
    assert!(!done.err.contains("private/20") && !done.err.contains("nonsense20"), "{done}");
    let json = world.run(&["seed", "--file", &list, "--json"]).json();
    for (name, count) in [("taken", 1), ("new", 0), ("repeated", 1), ("refused", 30), ("bad", 30)] {
        assert_eq!(json[name], count, "{name}: {json}");
    }
    assert_eq!(json["bad_lines"].as_array().unwrap().len(), 20);
    assert_eq!(json["refused_seeds"].as_array().unwrap().len(), 20);
    let only_refused = world.run(&["seed", "http://s0.sim.test/private/"]);
    only_refused.exits(2).says(&["0 seeds taken, 1 refused"]);
}

#[test]
fn the_files_that_a_sitemap_index_names_are_told_and_not_fetched() {
    let world = World::new(WebOptions::default());
    let text =
        "<sitemapindex><sitemap><loc>http://s0.sim.test/map1.xml</loc></sitemap></sitemapindex>";
    let done = world.run(&["seed", "--file", &file(&world, "index.xml", text)]);
    done.exits(2)
        .says(&["names another sitemap, which is not fetched: http://s0.sim.test/map1.xml"]);
    assert_eq!(world.log(), []);
    assert!(!world.folder.exists(), "nothing was taken, so nothing was made");
}

#[test]
fn a_long_list_of_hosts_is_taken_whole() {
    let world = World::new(WebOptions::default());
    let mut text = String::new();
    for n in 0..25_000 {
        let _ = writeln!(text, "{n},h{}.example", n % 24_000);
    }
    let done = world.run(&["seed", "--json", "--file", &file(&world, "top.csv", &text)]);
    done.exits(0);
    assert_eq!((&done.json()["new"], &done.json()["repeated"]), (&24_000.into(), &1_000.into()));
    assert_eq!(world.count(&["--seed"]), 24_000);
    assert_eq!(world.sites(&["--seeded"]).len(), 24_000);
    assert_eq!(testing::commands_waiting(&world.folder), 0);
    world.run(&["check"]).exits(0);
}

#[test]
fn a_running_crawl_is_left_long_seeds_in_commands_that_fit() {
    let world =
        World::new(WebOptions { sites: 2, pages: PageCount::Fixed(500), ..WebOptions::default() });
    let crawl = world.start(&["crawl", HOME, "--delay", "200ms"]);
    world.wait_for("a visit", |world| !world.visits().is_empty());
    let mut text = String::new();
    for n in 0..2_000 {
        let _ = writeln!(text, "http://s1.sim.test/{n}/{}", "a".repeat(1_500));
    }
    let done = world.run(&["seed", "--file", &file(&world, "seeds.txt", &text)]);
    done.exits(0).says(&["2,000 seeds taken", "the running crawl visits them"]);
    world.wait_for("the seeds are taken", |world| world.count(&["--seed"]) == 2_001);
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(30)).exits(4);
}

#[test]
fn a_dry_run_fetches_the_page_alone_and_tells_what_a_crawl_would_take() {
    let page = PageOptions { nofollow_share: 0.3, ..PageOptions::default() };
    let options =
        WebOptions { sites: 3, pages: PageCount::Fixed(40), page, ..WebOptions::default() };
    let (world, temporary) = with_temporary(options);
    let done = world.run(&["crawl", HOME, "--dry-run", "--json", "--delay", "0"]);
    done.exits(0);
    assert_eq!(world.visited(), ["s0.sim.test/"], "one page");
    assert_eq!(world.log()[0].target, "/robots.txt");
    assert!(!world.folder.exists(), "no collection is made");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left behind");
    let json = done.json();
    let told = &json["pages"][0];
    assert_eq!((&told["url"], &told["answer"]), (&HOME.into(), &"status 200".into()));
    let taken = urls(&told["taken"], 1);
    assert!(!taken.is_empty(), "{json}");
    let people = world.run(&["crawl", HOME, "--dry-run", "--delay", "0"]);
    people.exits(0).says(&["nothing was stored"]);
    assert!(people.out.contains(&format!("would take {} of this site at level 1", taken.len())));
    world.run(&["crawl", HOME, "--depth", "1", "--delay", "0"]).exits(0);
    let mut crawled = world.pages_and_parts();
    crawled.retain(|page| page["level"] == 1);
    let crawled = strings(&crawled, "url");
    assert_eq!(taken, crawled.into_iter().collect(), "what is told is what happens");
    let outside = told["refused"].as_array().unwrap().iter();
    assert!(outside.clone().any(|refused| refused["reason"] == "scope"), "{told}");
    let example = outside.map(|refused| refused["example"].as_str().unwrap()).next().unwrap();
    assert!(example.starts_with("http"), "{example}");
}

#[test]
fn a_dry_run_obeys_robots_txt_follows_the_pages_own_redirect_and_keeps_the_collection_as_it_is() {
    let robots = RobotsPlan::Disallow(vec!["/private/".to_owned()]);
    let options = WebOptions { pages: PageCount::Fixed(5), robots, ..WebOptions::default() };
    let (world, _temporary) = with_temporary(options);
    world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    let before = fs::read(world.folder.join("crawl.db")).unwrap();
    world.forget_log();
    let refused =
        world.run(&["crawl", "http://s0.sim.test/private/x", "--dry-run", "--delay", "0"]);
    refused.exits(1);
    assert!(refused.out.contains("not visited: robots.txt"), "{refused}");
    assert_eq!(world.visits(), []);
    let missing = world.run(&["crawl", "http://s0.sim.test/no/page", "--dry-run", "--delay", "0"]);
    assert!(missing.out.contains("404"), "{missing}");
    assert_eq!(fs::read(world.folder.join("crawl.db")).unwrap(), before);
    world.forget_log();
    let moved = world.run(&["crawl", "http://www.s0.sim.test/", "--dry-run", "--delay", "0"]);
    moved.exits(0);
    assert_eq!(world.visited(), ["www.s0.sim.test/", "s0.sim.test/"]);
    assert!(moved.out.contains("of this site at level 1"), "{moved}");
    fs::write(world.folder.join("none.rhai"), "fn crawl(url) { false }").unwrap();
    fs::write(world.folder.join("harvest.toml"), "[crawl]\nfilter = \"none.rhai\"\n").unwrap();
    let filtered = world.run(&["crawl", HOME, "--dry-run", "--delay", "0"]);
    assert!(
        filtered.err.contains("seed refused") && filtered.err.contains("none.rhai"),
        "{filtered}"
    );
    fs::remove_file(world.folder.join("harvest.toml")).unwrap();
    world.run(&["block", "s0.sim.test"]).exits(0);
    world.forget_log();
    let blocked = world.run(&["crawl", HOME, "--dry-run", "--delay", "0"]);
    assert!(blocked.err.contains("seed refused"), "{blocked}");
    assert_eq!(world.log(), [], "a block holds for a dry run too");
    let without = world.run(&["crawl", "--dry-run"]);
    without.exits(2);
}

fn with_temporary(options: WebOptions) -> (World, PathBuf) {
    let world = World::new(options);
    let temporary = world.temp.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let world = world.variable("TMPDIR", temporary.to_str().unwrap());
    (world, temporary)
}

fn file(world: &World, name: &str, text: &str) -> String {
    let path = world.temp.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn seeds(world: &World) -> Vec<String> {
    strings(&world.pages(&["--seed"]), "url")
}

fn urls(taken: &Value, level: u64) -> BTreeSet<String> {
    let groups = taken.as_array().unwrap().iter().filter(|group| group["level"] == level);
    let urls = groups.flat_map(|group| group["urls"].as_array().unwrap());
    urls.map(|url| url.as_str().unwrap().to_owned()).collect()
}
