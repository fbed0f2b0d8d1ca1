//! Kill it anywhere, start it again: nothing lost, nothing doubled, nobody visited too soon.
//!
//! Moments are drawn from a seed that is printed; `HARVESTMAN_SEED` repeats a run's moments (not its
//! scheduling, which is the machine's). The ordinary run kills a few times, `./check --long` fifty times.

use std::{
    thread::sleep,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use model::{Timestamp, limits};
use simweb::{Latency, PageCount, PageOptions, WebOptions, checks};

use crate::{
    audit,
    world::{PATIENCE, World},
};

/// A request's moment is when the server has read it, and a busy server reads late.
const SLACK: Duration = Duration::from_millis(60);

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
        let options = WebOptions {
            sites,
            pages: PageCount::Fixed(pages),
            page: PageOptions { bytes_mean: 5_000.0, ..PageOptions::default() },
            latency: Latency { base: Duration::from_millis(5), spread: Duration::from_millis(60) },
            ..WebOptions::default()
        };
        let seeds: Vec<String> =
            (0..sites).map(|site| format!("http://{}/", options.host(site))).collect();
        // Small volumes, so that kills also fall on their boundaries.
        let world = World::new(options).variable("HARVESTMAN_STORE_VOLUME_BYTES_MAX", "1MB");
        let mut args = vec!["crawl".to_owned()];
        args.extend(seeds);
        args.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let per_site = if flags.contains(&"--connections") { 2 } else { 1 };
        let connections = sites * per_site;
        Trial { world, args, dice: Dice::printed(), kills: Vec::new(), connections }
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
    let pause = Duration::from_millis(300);
    let mut trial = Trial::new(4, 8, &["--delay", "300ms"]);
    trial.lives(6, 150, 900);
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
    assert_eq!(trial.world.number("SELECT count(*) FROM pages WHERE state = 2"), 150);
    audit::pages_are_settled_once(&trial.world);
    trial.repeated();
    let before = trial.world.log().len();
    trial.finish();
    assert_eq!(trial.world.log().len(), before, "nothing more is asked for");
}

#[test]
fn a_crawl_told_to_stop_finishes_what_is_in_flight_and_goes_on_later() {
    for signal in ["TERM", "INT"] {
        let mut trial = Trial::new(10, 40, &["--delay", "20ms", "--connections", "2"]);
        let running = trial.world.start(&trial.args());
        trial.world.wait_for("some pages", |world| world.log().len() > 60);
        running.signal(signal);
        running.wait(PATIENCE).exits(0).says(&["stopped"]);
        audit::volumes_are_sealed(&trial.world);
        audit::pages_are_settled_once(&trial.world);
        trial.finish();
        audit::every_page_is_there_once(&trial.world);
        assert_eq!(trial.repeated(), 0, "a stop in order repeats nothing");
    }
}

#[test]
fn a_frozen_crawl_goes_on_when_it_is_thawed() {
    let pause = Duration::from_millis(200);
    let mut trial = Trial::new(6, 12, &["--delay", "200ms"]);
    let mut running = trial.world.start(&trial.args());
    for _ in 0..12 {
        sleep(Duration::from_millis(trial.dice.between(20, 200)));
        if !running.is_running() {
            break;
        }
        running.signal("STOP");
        // Longer than the pause: a request that was about to go out goes out late.
        sleep(Duration::from_millis(350));
        running.signal("CONT");
    }
    running.wait(PATIENCE).exits(0);
    audit::every_page_is_there_once(&trial.world);
    assert_eq!(trial.repeated(), 0);
    let log = trial.world.log();
    assert_eq!(checks::pauses(&log, pause, SLACK), []);
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
