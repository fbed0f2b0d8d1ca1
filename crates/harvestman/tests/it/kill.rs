//! Kill it anywhere, start it again: nothing lost, nothing doubled, nobody visited too soon.
//!
//! Moments are drawn from a seed that is printed; `HARVESTMAN_SEED` repeats a run's moments (not its
//! scheduling, which is the machine's). The ordinary run kills a few times, `./check --long` fifty times.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread::sleep,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use model::{Timestamp, limits};
use simweb::{
    Hazard, Latency, PageCount, PageOptions, RobotsPlan, ServerOptions, WebOptions, checks,
    faster_time,
};

use crate::{
    ask::{seconds, was_fetched},
    audit,
    world::{PATIENCE, World},
};

/// A request's moment is when the server has read it, and a busy server reads late.
const SLACK: Duration = Duration::from_millis(350);

/// One web and the command that crawls it, again and again.
struct Trial {
    world: World,
    args: Vec<String>,
    dice: Dice,
    kills: Vec<Timestamp>,
    /// Requests that can be under way at once.
    connections: usize,
}

impl Trial {
    fn new(sites: usize, pages: usize, flags: &[&str]) -> Trial {
        Trial::of(web(sites, pages), flags)
    }

    /// All sites are seeded.
    fn of(options: WebOptions, flags: &[&str]) -> Trial {
        let sites = options.sites;
        let seeds = (0..sites).map(|site| format!("http://{}/", options.host(site)));
        let seeds: Vec<String> = seeds.collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let mut args = vec!["crawl"];
        args.extend(seeds.iter().chain(flags));
        let per_site = if flags.contains(&"--connections") { 2 } else { 1 };
        Trial {
            args: args.into_iter().map(str::to_owned).collect(),
            // Small volumes, so that kills also fall on their boundaries.
            world: World::new(options).variable("HARVESTMAN_STORE_VOLUME_BYTES_MAX", "1MB"),
            dice: Dice::printed(),
            kills: Vec::new(),
            connections: sites * per_site,
        }
    }

    fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }

    /// Starts it and kills it some time between these (milliseconds); false when it was done before.
    fn life(&mut self, from: u64, to: u64) -> bool {
        let mut running = self.world.start(&self.args());
        sleep(Duration::from_millis(self.dice.between(from, to)));
        if !running.is_running() {
            running.wait(PATIENCE).exits(0);
            return false;
        }
        let done = running.kill();
        if done.status.code() == Some(0) {
            // It ended by itself in that very moment.
            return false;
        }
        assert_eq!(done.status.code(), None, "it was killed, so it had not failed: {done}");
        self.kills.push(now());
        true
    }

    fn lives(&mut self, count: usize, from: u64, to: u64) {
        for _ in 0..count {
            if !self.life(from, to) {
                break;
            }
        }
        println!("{} kills", self.kills.len());
    }

    /// A last life in peace.
    fn finish(&mut self) {
        self.world.start(&self.args()).wait(PATIENCE * 2).exits(0);
        audit::volumes_are_sealed(&self.world);
    }

    /// How many requests were for what was under way at a kill; any other repeat fails the test. At a kill
    /// at most one request per connection is unanswered, and as many answers again, those that wait for
    /// the gather threads, and 16 records of each thread are not written yet.
    fn repeated(&self) -> usize {
        let log = self.world.log();
        let (unanswered, unsettled) =
            audit::only_what_was_under_way_was_asked_again(&log, &self.kills);
        let in_flight = self.connections * self.kills.len();
        assert!(unanswered <= in_flight, "{unanswered} > {in_flight}");
        let unwritten = in_flight + (limits::GATHER_QUEUE + 16 * 8) * self.kills.len();
        assert!(unsettled <= unwritten, "{unsettled} > {unwritten}");
        println!("{} requests; again: {unanswered} unanswered, {unsettled} unsettled", log.len());
        unanswered + unsettled
    }
}

#[test]
fn a_crawl_killed_again_and_again_loses_and_doubles_nothing() {
    let long = std::env::var_os("HARVESTMAN_LONG").is_some();
    println!("{}", if long { "long" } else { "short: HARVESTMAN_LONG=1 kills 50 times" });
    let (sites, pages, kills, window) = if long { (50, 100, 50, 700) } else { (10, 40, 6, 500) };
    let flags = ["--delay", "20ms", "--connections", "2"];
    let mut trial = Trial::new(sites, pages, &flags);
    trial.lives(kills, 30, window);
    assert!(trial.kills.len() >= 4, "too quick to be killed: {:?}", trial.kills);
    trial.finish();
    audit::every_page_is_there_once(&trial.world);
    trial.repeated();
}

#[test]
fn killing_it_while_it_recovers_costs_nothing() {
    let mut trial = Trial::new(10, 40, &["--delay", "20ms", "--connections", "2"]);
    for _ in 0..3 {
        trial.lives(1, 300, 450);
        trial.lives(5, 5, 90);
    }
    trial.finish();
    audit::every_page_is_there_once(&trial.world);
    trial.repeated();
}

#[test]
fn no_site_is_visited_too_soon_after_a_kill() {
    let pause = Duration::from_millis(700);
    let mut trial = Trial::new(4, 8, &["--delay", "700ms"]);
    trial.lives(6, 150, 1_500);
    trial.finish();
    audit::every_page_is_there_once(&trial.world);
    let log = trial.world.log();
    let hasty = checks::pauses(&log, pause, SLACK);
    assert_eq!(hasty, [], "kills {:?}", trial.kills);
    trial.repeated();
}

#[test]
fn the_limit_on_pages_is_exact_however_often_it_is_killed() {
    let flags = ["--delay", "20ms", "--connections", "2", "--pages", "150"];
    let mut trial = Trial::new(8, 40, &flags);
    trial.lives(5, 100, 450);
    trial.finish();
    assert_eq!(trial.world.count(&["--state", "fetched"]), 150);
    audit::pages_are_settled_once(&trial.world);
    trial.repeated();
    let before = trial.world.log().len();
    trial.finish();
    assert_eq!(trial.world.log().len(), before, "nothing more is asked for");
}

#[test]
fn page_limits_of_all_kinds_are_exact_under_eight_connections_and_a_kill() {
    let long = std::env::var_os("HARVESTMAN_LONG").is_some();
    println!("{}", if long { "long" } else { "short: HARVESTMAN_LONG=1 runs 200 times" });
    let runs = if long { 200 } else { 4 };
    let limits = [
        ("crawl.pages", "pages = 25"),
        ("crawl.site_pages", "site_pages = 9"),
        ("crawl.domain_pages", "domain_pages = 23"),
    ];
    let (mut dice, mut kills) = (Dice::printed(), 0);
    for run in 0..runs {
        let (name, line) = limits[run % limits.len()];
        let mut trial = Trial::new(3, 40, &["--delay", "0", "--connections", "8"]);
        std::fs::create_dir_all(&trial.world.folder).unwrap();
        let file = trial.world.folder.join("harvest.toml");
        std::fs::write(file, format!("[crawl]\n{line}\n")).unwrap();
        trial.dice = Dice(dice.between(0, u64::MAX));
        trial.lives(1, 30, 350);
        kills += trial.kills.len();
        trial.finish();
        let pages = trial.world.pages(&[]);
        let mut per_site: BTreeMap<&str, i64> = BTreeMap::new();
        for page in pages.iter().filter(|page| was_fetched(page)) {
            *per_site.entry(page["site"].as_str().unwrap()).or_default() += 1;
        }
        let (all, most) = (per_site.values().sum::<i64>(), per_site.values().max().copied());
        match name {
            "crawl.pages" => assert_eq!(all, 25, "run {run}"),
            "crawl.domain_pages" => assert_eq!(all, 23, "run {run}"),
            _ => assert_eq!((all, most), (27, Some(9)), "run {run}"),
        }
        trial.world.run(&["check"]).exits(0);
    }
    // A few short lives may all end by themselves.
    assert!(!long || kills * 2 >= runs, "only {kills} of {runs} were killed");
}

#[test]
fn a_crawl_told_to_stop_finishes_what_is_in_flight_and_goes_on_later() {
    for signal in ["TERM", "INT"] {
        let mut trial = Trial::new(10, 40, &["--delay", "20ms", "--connections", "2"]);
        let running = trial.world.start(&trial.args());
        trial.world.wait_for("some pages", |world| world.log().len() > 60);
        running.signal(signal);
        running.wait(PATIENCE).exits(4).says(&["stopped"]);
        audit::volumes_are_sealed(&trial.world);
        audit::pages_are_settled_once(&trial.world);
        trial.finish();
        audit::every_page_is_there_once(&trial.world);
        assert_eq!(trial.repeated(), 0, "a stop in order repeats nothing");
    }
}

#[test]
fn a_frozen_crawl_goes_on_when_it_is_thawed() {
    let pause = Duration::from_millis(600);
    let mut trial = Trial::new(6, 12, &["--delay", "600ms"]);
    let mut running = trial.world.start(&trial.args());
    for _ in 0..12 {
        sleep(Duration::from_millis(trial.dice.between(20, 200)));
        if !running.is_running() {
            break;
        }
        running.signal("STOP");
        // Longer than the pause: a request that was about to go out goes out late.
        sleep(Duration::from_millis(800));
        running.signal("CONT");
    }
    running.wait(PATIENCE).exits(0);
    audit::every_page_is_there_once(&trial.world);
    assert_eq!(trial.repeated(), 0);
    let log = trial.world.log();
    assert_eq!(checks::pauses(&log, pause, SLACK), []);
}

#[test]
fn a_crawl_delay_is_kept_after_a_kill() {
    let delay = Duration::from_millis(700);
    let robots = RobotsPlan::CrawlDelay(delay.as_secs_f64());
    let mut trial = Trial::of(WebOptions { robots, ..web(4, 8) }, &["--delay", "10ms"]);
    trial.lives(6, 150, 1_500);
    trial.finish();
    audit::every_page_is_there_once(&trial.world);
    // Who was killed before robots.txt was read does not know of the delay yet.
    let pages = trial.world.visits();
    assert_eq!(checks::pauses(&pages, delay, SLACK), [], "kills {:?}", trial.kills);
    trial.repeated();
}

#[test]
fn redirects_failures_and_duplicates_survive_kills_as_well() {
    let page = PageOptions {
        query_share: 0.2,
        redirect_share: 0.15,
        broken_share: 0.1,
        duplicate_share: 0.2,
        noindex_share: 0.1,
        chunked_share: 0.3,
        gzip: true,
        ..web(1, 1).page
    };
    let robots = RobotsPlan::Disallow(vec!["/market/".to_owned()]);
    let options = WebOptions { page, robots, ..web(5, 20) };
    let flags = ["--delay", "10ms", "--connections", "2"];
    // Not their levels: which site's link is found first is the network's to say.
    let states = |trial: &Trial| -> BTreeSet<String> {
        let pages = trial.world.pages_and_parts();
        pages.iter().map(|page| format!("{} {}", page["url"], page["state"])).collect()
    };
    let mut peaceful = Trial::of(options.clone(), &flags);
    peaceful.finish();
    let mut killed = Trial::of(options, &flags);
    killed.lives(6, 30, 400);
    killed.finish();
    let (peaceful, after) = (states(&peaceful), states(&killed));
    let differ: Vec<&String> = peaceful.symmetric_difference(&after).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    let mut twice = killed.world.pages_and_parts();
    twice.retain(|page| page["visits"].as_u64() > Some(1));
    assert!(twice.is_empty(), "{twice:?}");
    audit::volumes_are_sound(&killed.world);
    killed.world.run(&["check"]).exits(0);
    killed.repeated();
}

#[test]
fn the_limit_on_discovered_sites_is_exact_however_often_it_is_killed() {
    let options =
        WebOptions { page: PageOptions { internal_share: 0.6, ..web(1, 1).page }, ..web(8, 40) };
    let mut trial =
        Trial::of(options, &["--delay", "10ms", "--connections", "2", "--scope", "any"]);
    // One site is seeded, the others are found.
    trial.args.retain(|arg| !arg.starts_with("http://") || arg.contains("//s0."));
    trial.world = trial.world.variable("HARVESTMAN_CRAWL_DISCOVERED_URLS", "12");
    trial.lives(6, 100, 450);
    trial.finish();
    let sites = trial.world.sites(&[]);
    let found = sites.iter().filter(|site| site["seeded"] == false);
    assert_eq!(found.map(|site| site["known"].as_u64().unwrap()).collect::<Vec<_>>(), [12; 7]);
    audit::volumes_are_sound(&trial.world);
    trial.world.run(&["check"]).exits(0);
    trial.repeated();
}

#[test]
fn retry_after_is_kept_after_a_kill() {
    let mut options = web(1, 6);
    let spell = Duration::from_secs(3);
    let hazard = Hazard::TooManyRequests { every: Duration::from_secs(3600), lasting: spell };
    options.put("s0.sim.test", hazard);
    // The spell is the first three seconds of the web's own time.
    let now = faster_time(options.origin, 1.0);
    let world = World::with(options, ServerOptions { now, ..ServerOptions::default() })
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_FIRST", "100ms");
    let args = ["crawl", "http://s0.sim.test/", "--delay", "50ms"];
    let running = world.start(&args);
    // Archived, and most often not yet settled: recovery must know of it by the record alone.
    let until = Instant::now() + PATIENCE;
    while !audit::read_so_far(&world).iter().any(|record| record.http().status == 429) {
        assert!(Instant::now() < until, "no record of the 429");
    }
    running.kill();
    world.run(&args).exits(0);
    assert_eq!(checks::retry_after(&world.log(), SLACK), []);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
}

#[test]
fn pages_taken_from_the_archive_come_back_when_others_would() {
    let world = World::new(web(1, 12));
    archive_without_settling(&world);
    let done = world.run(&["crawl", "--delay", "0"]);
    done.exits(0).says(&["taken from the archive"]);
    assert_eq!(world.visits().len(), 0, "{done}");
    let pages = world.pages(&["--state", "fetched"]);
    let waits = pages.iter().map(|page| seconds(&page["visited"], &page["due"]));
    let soonest = waits.min().unwrap() / 3_600;
    assert!(soonest >= 24, "after {soonest} hours, as if visits cost nothing");
}

#[test]
fn what_was_archived_cut_is_asked_for_again_after_a_crash_so_that_no_link_is_lost() {
    for limit in ["0", "300B"] {
        let world = World::new(web(1, 12)).variable("HARVESTMAN_STORE_CONTENT_BYTES_MAX", limit);
        archive_without_settling(&world);
        world.run(&["crawl", "--delay", "0"]).exits(0);
        assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
        world.run(&["check"]).exits(0);
    }
}

/// The archive is there afterwards, and nothing of it was settled.
fn archive_without_settling(world: &World) {
    world.run(&["seed", "http://s0.sim.test/"]).exits(0);
    let (database, kept) = (world.folder.join("crawl.db"), world.folder.join("kept"));
    std::fs::copy(&database, &kept).unwrap();
    world.run(&["crawl", "--delay", "0"]).exits(0);
    for file in ["crawl.db-wal", "crawl.db-shm"] {
        let _ = std::fs::remove_file(world.folder.join(file));
    }
    std::fs::rename(&kept, &database).unwrap();
    world.forget_log();
}

/// Pages of a few kilobytes that take their time.
fn web(sites: usize, pages: usize) -> WebOptions {
    WebOptions {
        sites,
        pages: PageCount::Fixed(pages),
        page: PageOptions { bytes_mean: 5_000.0, ..PageOptions::default() },
        latency: Latency { base: Duration::from_millis(5), spread: Duration::from_millis(60) },
        ..WebOptions::default()
    }
}

/// SplitMix64: moments that can be had again.
struct Dice(u64);

impl Dice {
    fn printed() -> Dice {
        let given = std::env::var("HARVESTMAN_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| now().0.unsigned_abs());
        println!("HARVESTMAN_SEED={seed}");
        Dice(seed)
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (z ^ (z >> 31)) % (to - from)
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}
