//! Webhooks: signed, at least once, in order; a receiver that is down loses nothing and is not overrun.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aws_lc_rs::hmac;
use serde_json::Value;
use simweb::WebOptions;
use store::testing;

use crate::{
    raw::{Asked, Raw, reply},
    world::{PATIENCE, World},
};

const SECRET: &str = "hush-hush";
/// How the receiver behaves.
const GOOD: usize = 0;
const FAILING: usize = 1;
const SILENT: usize = 2;
const GOOD_ONCE: usize = 3;

/// A site of twelve pages with editions, and a receiver that behaves as it is told.
struct Stage {
    world: World,
    site: Raw,
    receiver: Raw,
    edition: Arc<AtomicUsize>,
    mood: Arc<AtomicUsize>,
}

impl Stage {
    fn new(more: &str) -> Stage {
        Stage::of(12, more)
    }

    fn of(pages: usize, more: &str) -> Stage {
        let edition = Arc::new(AtomicUsize::new(1));
        let served = Arc::clone(&edition);
        let site = Raw::start(move |place, stream| {
            let (_, path) = place.split_once('/').unwrap();
            let edition = served.load(Ordering::Relaxed);
            match path {
                "robots.txt" => reply(stream, "404 Not Found", "Content-Type: text/plain", b""),
                "p3" if edition == 3 => {
                    reply(stream, "410 Gone", "Content-Type: text/html", b"gone")
                }
                _ => {
                    let links: String =
                        (1..pages).map(|n| format!("<a href=/p{n}>{n}</a>")).collect();
                    let body =
                        format!("<title>t{path}</title><p>{path} edition {edition}</p>{links}");
                    reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
                }
            }
        });
        let mood = Arc::new(AtomicUsize::new(GOOD));
        let felt = Arc::clone(&mood);
        let receiver = Raw::start(move |_, stream| match felt.load(Ordering::Relaxed) {
            GOOD => reply(stream, "200 OK", "Content-Type: text/plain", b"thanks"),
            GOOD_ONCE => {
                felt.store(FAILING, Ordering::Relaxed);
                reply(stream, "200 OK", "Content-Type: text/plain", b"thanks");
            }
            FAILING => reply(stream, "500 Oh", "Content-Type: text/plain", b"oh"),
            _ => std::thread::sleep(Duration::from_secs(30)),
        });
        let world = World::new(WebOptions::default());
        fs::create_dir_all(&world.folder).unwrap();
        let table = format!(
            "[[webhook]]\nname = 'mine'\nurl = 'http://127.0.0.1:{}/path-secret'\nsecret = '{SECRET}'\n{more}\n",
            receiver.port
        );
        fs::write(world.folder.join("harvest.toml"), table).unwrap();
        Stage { world, site, receiver, edition, mood }
    }

    fn crawl(&self) -> crate::world::Done {
        let url = format!("http://127.0.0.1:{}/", self.site.port);
        self.world.run(&["crawl", &url, "--fresh", "--delay", "0"])
    }

    fn posts(&self) -> Vec<Asked> {
        self.receiver.heard()
    }

    /// Every change that came, in order, with its kind.
    fn told(&self) -> Vec<(i64, String, String)> {
        let of = |change: &Value| {
            let text = |name: &str| change[name].as_str().unwrap().to_owned();
            (change["seq"].as_i64().unwrap(), text("kind"), text("url"))
        };
        let posts = self.posts();
        let bodies = posts.iter().map(|post| serde_json::from_str::<Value>(&post.body).unwrap());
        bodies
            .flat_map(|body| body["changes"].as_array().unwrap().iter().map(of).collect::<Vec<_>>())
            .collect()
    }

    /// What the history has to tell.
    fn expected(&self) -> BTreeSet<i64> {
        self.changes(&["new", "changed", "gone", "returned"])
    }

    fn changes(&self, kinds: &[&str]) -> BTreeSet<i64> {
        let mut changes = self.world.changes();
        changes.retain(|change| kinds.contains(&change["kind"].as_str().unwrap()));
        changes.iter().map(|change| change["seq"].as_i64().unwrap()).collect()
    }
}

/// As a receiver would, with nothing but the documentation.
fn is_signed(post: &Asked) -> bool {
    let header = post.header("Harvestman-Signature").unwrap();
    let (t, v1) = header.split_once(',').unwrap();
    let (t, v1) = (t.strip_prefix("t=").unwrap(), v1.strip_prefix("v1=").unwrap());
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag: Vec<u8> = (0..v1.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&v1[at..at + 2], 16).unwrap())
        .collect();
    hmac::verify(&key, format!("{t}.{}", post.body).as_bytes(), &tag).is_ok()
}

#[test]
fn changes_are_told_signed_once_and_in_order() {
    let stage = Stage::new("");
    stage.crawl().exits(0);
    let first = stage.told();
    assert_eq!(first.len(), 12, "{first:?}");
    assert!(first.iter().all(|(_, kind, _)| kind == "new"), "{first:?}");
    stage.crawl().exits(0);
    assert_eq!(stage.told().len(), 12, "nothing changed, nothing to tell");
    stage.edition.store(2, Ordering::Relaxed);
    stage.crawl().exits(0);
    let all = stage.told();
    assert_eq!(all.len(), 24, "{all:?}");
    assert!(all[12..].iter().all(|(_, kind, _)| kind == "changed"), "{all:?}");
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order: {all:?}");
    for post in stage.posts() {
        assert!(post.method == "POST" && is_signed(&post), "{post:?}");
        assert_eq!(post.header("Content-Type"), Some("application/json"));
        let body: Value = serde_json::from_str(&post.body).unwrap();
        assert_eq!(post.header("Harvestman-Delivery"), body["id"].as_str());
        assert_eq!(body["version"], 1);
    }
    for words in [&["webhook"][..], &["webhook", "--json"], &["config"], &["webhook", "test", "-v"]]
    {
        let done = stage.world.run(words);
        let said = format!("{}{}", done.exits(0).out, done.err);
        assert!(!said.contains(SECRET) && !said.contains("path-secret"), "{words:?}: {said}");
    }
    let told = stage.world.run(&["webhook", "list", "--json"]).json()["rows"].clone();
    assert_eq!((&told[0]["delivered"], &told[0]["waiting"]), (&24.into(), &0.into()), "{told}");
    let test: Value = serde_json::from_str(&stage.posts().last().unwrap().body).unwrap();
    assert_eq!(test["test"], true);
}

#[test]
fn only_the_wanted_kinds_are_told() {
    let stage = Stage::new("kinds = ['gone', 'returned']");
    stage.crawl().exits(0);
    stage.edition.store(3, Ordering::Relaxed);
    stage.crawl().exits(0);
    let gone = stage.changes(&["gone", "returned"]);
    assert!(!gone.is_empty());
    let told = stage.told();
    assert_eq!(told.iter().map(|(seq, ..)| *seq).collect::<BTreeSet<_>>(), gone, "{told:?}");
}

#[test]
fn a_receiver_that_fails_gets_the_same_delivery_again_when_it_is_back() {
    let stage = Stage::new("");
    stage.mood.store(FAILING, Ordering::Relaxed);
    stage.crawl().exits(0).says(&["webhook mine does not take its deliveries", "500"]);
    stage.world.run(&["webhook", "deliver"]).exits(1);
    let failed = stage.posts();
    assert!(failed.len() >= 2, "{failed:?}");
    let listed = stage.world.run(&["webhook", "list", "--json"]).json()["rows"].clone();
    assert_eq!(
        (&listed[0]["waiting"], &listed[0]["delivered"]),
        (&12.into(), &0.into()),
        "{listed}"
    );
    stage.mood.store(GOOD, Ordering::Relaxed);
    stage.world.run(&["webhook", "deliver"]).exits(0).says(&["12 changes delivered"]);
    let posts = stage.posts();
    let ids: BTreeSet<&str> =
        posts.iter().filter_map(|p| p.header("Harvestman-Delivery")).collect();
    assert_eq!(ids.len(), 1, "every try has one id");
    stage.world.run(&["webhook", "deliver"]).exits(0).says(&["0 changes delivered"]);
    assert_eq!(stage.posts().len(), posts.len());
}

#[test]
fn what_is_given_up_is_kept_and_can_be_sent_again_without_a_storm() {
    let stage = Stage::new("tries = 1");
    stage.mood.store(FAILING, Ordering::Relaxed);
    stage.crawl().exits(0).says(&["given up"]);
    stage.edition.store(2, Ordering::Relaxed);
    stage.crawl().exits(0);
    // The crawl may have left it waiting: the receiver failed a moment ago.
    stage.world.run(&["webhook", "deliver"]);
    let dead = stage.world.run(&["webhook", "dead", "--json"]).json()["rows"].clone();
    let changes = dead.as_array().unwrap().iter().map(|letter| letter["changes"].as_u64().unwrap());
    assert_eq!(changes.sum::<u64>(), 24, "{dead}");
    stage.world.run(&["webhook", "retry", "--all"]).exits(1);
    stage.world.run(&["webhook", "retry", "9999"]).exits(2);
    stage.mood.store(GOOD, Ordering::Relaxed);
    let before = stage.posts().len();
    let begun = Instant::now();
    stage.world.run(&["webhook", "retry", "--all"]).exits(0).says(&["24 changes delivered"]);
    let sent = &stage.posts()[before..];
    assert!(begun.elapsed() >= Duration::from_secs(sent.len() as u64 - 1), "one a second");
    let expected = stage.expected();
    let told: BTreeSet<i64> = stage.told()[..].iter().map(|(seq, ..)| *seq).collect();
    assert_eq!(told, expected);
    assert_eq!(
        stage.world.run(&["webhook", "dead", "--json"]).json()["rows"].clone(),
        serde_json::json!([])
    );
}

#[test]
fn what_is_sent_again_counts_as_delivered_as_far_as_it_arrived() {
    let stage = Stage::of(130, "tries = 1");
    stage.mood.store(FAILING, Ordering::Relaxed);
    stage.crawl().exits(0);
    while stage.world.run(&["webhook", "deliver"]).status.code() == Some(1) {}
    // As what is given up for months becomes one long stretch.
    testing::merge_dead_letters(&stage.world.folder);
    let counters = || {
        let listed = stage.world.run(&["webhook", "list", "--json"]).json()["rows"].clone();
        let of = |name: &str| listed[0][name].as_u64().unwrap();
        (of("delivered"), of("given_up"), of("waiting"))
    };
    assert_eq!(counters(), (0, 130, 0));
    stage.mood.store(GOOD_ONCE, Ordering::Relaxed);
    let told = stage.world.run(&["webhook", "retry", "--all"]);
    told.exits(1).says(&["100 changes delivered", "did not accept"]);
    assert_eq!(counters(), (100, 30, 0));
    stage.mood.store(GOOD, Ordering::Relaxed);
    stage.world.run(&["webhook", "retry", "--all"]).exits(0).says(&["30 changes delivered"]);
    assert_eq!(counters(), (130, 0, 0));
    let listed = stage.world.run(&["webhook", "list", "--json"]).json()["rows"].clone();
    assert!(listed[0]["error"].is_null() && listed[0]["last_delivered"].is_string(), "{listed}");
}

#[test]
fn only_one_process_delivers_and_the_other_is_told_so_plainly() {
    let stage = Stage::new("");
    stage.mood.store(SILENT, Ordering::Relaxed);
    let url = format!("http://127.0.0.1:{}/", stage.site.port);
    let running = stage.world.start(&["crawl", &url, "--delay", "0"]);
    stage.world.wait_for("a delivery under way", |_| !stage.posts().is_empty());
    let refused = stage.world.run(&["webhook", "deliver"]);
    refused.exits(2).says(&["another process is delivering the webhooks of", "by itself"]);
    running.kill();
}

#[test]
fn a_crawl_killed_while_it_delivers_loses_nothing_and_repeats_only_what_was_under_way() {
    let stage = Stage::new("");
    stage.mood.store(SILENT, Ordering::Relaxed);
    let url = format!("http://127.0.0.1:{}/", stage.site.port);
    let running = stage.world.start(&["crawl", &url, "--delay", "0"]);
    stage.world.wait_for("a delivery under way", |_| !stage.posts().is_empty());
    running.kill();
    let under_way = stage.posts().len();
    stage.mood.store(GOOD, Ordering::Relaxed);
    stage.world.start(&["crawl", &url, "--delay", "0"]).wait(PATIENCE);
    stage.world.run(&["webhook", "deliver"]).exits(0);
    let posts = stage.posts();
    assert_eq!(
        posts[0].header("Harvestman-Delivery"),
        posts[under_way].header("Harvestman-Delivery"),
        "the one under way comes again under its id"
    );
    let told: Vec<i64> = stage.told().iter().map(|(seq, ..)| *seq).collect();
    let arrived: Vec<i64> = {
        let first: Value = serde_json::from_str(&posts[0].body).unwrap();
        told[first["changes"].as_array().unwrap().len()..].to_vec()
    };
    assert_eq!(arrived.iter().copied().collect::<BTreeSet<_>>(), stage.expected());
    assert_eq!(arrived.len(), stage.expected().len(), "each once after the kill");
}

#[test]
fn a_secret_that_is_missing_is_told_before_anything_is_fetched() {
    let stage = Stage::new("");
    let path = stage.world.folder.join("harvest.toml");
    let text = fs::read_to_string(&path).unwrap().replace(SECRET, "env:NOT_SET_ANYWHERE");
    fs::write(&path, text).unwrap();
    stage.crawl().exits(2).says(&["NOT_SET_ANYWHERE"]);
    assert_eq!(stage.site.heard().len(), 0);
}

#[test]
fn deliveries_of_two_collections_have_different_ids() {
    let ids = |stage: &Stage| -> BTreeSet<String> {
        stage.crawl().exits(0);
        let posts = stage.posts();
        posts.iter().map(|p| p.header("Harvestman-Delivery").unwrap().to_owned()).collect()
    };
    let (one, other) = (ids(&Stage::of(1, "")), ids(&Stage::of(1, "")));
    assert!(!one.is_empty() && one.is_disjoint(&other), "{one:?} {other:?}");
}

#[test]
fn the_last_delivery_of_a_crawl_keeps_its_distance_from_the_one_before() {
    let stage = Stage::of(120, "");
    let url = format!("http://127.0.0.1:{}/", stage.site.port);
    let mut running = stage.world.start(&["crawl", &url, "--delay", "20ms"]);
    let (mut seen, mut at): (usize, Vec<Instant>) = (0, Vec::new());
    while running.is_running() {
        let now = stage.posts().len();
        at.extend(std::iter::repeat_n(Instant::now(), now - seen));
        seen = now;
        std::thread::sleep(Duration::from_millis(5));
    }
    running.wait(PATIENCE).exits(0);
    assert!(at.len() > 1, "{at:?}");
    for pair in at.windows(2) {
        assert!(pair[1] - pair[0] > Duration::from_millis(900), "{at:?}");
    }
}

#[test]
fn the_next_crawl_tries_what_waits_behind_what_was_given_up() {
    let stage = Stage::new("tries = 1");
    stage.mood.store(FAILING, Ordering::Relaxed);
    stage.crawl().exits(0).says(&["given up"]);
    // As after many tries.
    testing::postpone_webhooks(&stage.world.folder, Duration::from_secs(1_800));
    let listed = stage.world.run(&["webhook"]);
    assert!(listed.exits(0).out.contains("or with the next crawl"), "{listed}");
    stage.mood.store(GOOD, Ordering::Relaxed);
    let before = stage.told().len();
    stage.edition.store(2, Ordering::Relaxed);
    stage.crawl().exits(0);
    let told: Vec<i64> = stage.told()[before..].iter().map(|(seq, ..)| *seq).collect();
    let newest = stage.expected().into_iter().rev().take(12).collect::<BTreeSet<_>>();
    assert!(newest.iter().all(|seq| told.contains(seq)), "what is new arrives: {told:?}");
}

#[test]
fn with_a_mistake_in_the_settings_nobody_is_told_that_there_is_no_webhook() {
    let stage = Stage::new("");
    stage.world.run(&["init"]);
    let path = stage.world.folder.join("harvest.toml");
    let text = fs::read_to_string(&path).unwrap().replace("url = 'http:", "url = 'http");
    fs::write(&path, text).unwrap();
    let told = stage.world.run(&["webhook"]);
    told.exits(2).says(&["no webhook could be read", "config check"]);
    assert!(!told.err.contains("there is no webhook"), "{told}");
}
