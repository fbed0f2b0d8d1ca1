//! Every verb that changes a collection, against one that rests and against one that is crawled: the same answer, and the
//! same state afterwards.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use simweb::{PageCount, WebOptions};
use store::testing;

use crate::world::{Done, World};

const HOME: &str = "http://s0.sim.test/";

/// What a command shows of a collection, a line for each row.
type State = fn(&World) -> Vec<String>;

fn lines(rows: &[Value], fields: &[&str]) -> Vec<String> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = |row: &Value| fields.iter().map(|field| word(&row[field])).collect::<Vec<_>>();
    rows.iter().map(|row| line(row).join(" ")).collect()
}

fn spiders(world: &World) -> Vec<String> {
    lines(&world.list(&["spider", "list"]), &["spider", "state", "why", "settings"])
}

fn seeds(world: &World) -> Vec<String> {
    lines(&world.pages(&["--seed"]), &["spider", "url"])
}

fn blocks(world: &World) -> Vec<String> {
    let done = world.run(&["block", "--list", "--json"]);
    let rows = done.exits(0).out.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut blocks = lines(&rows.collect::<Vec<Value>>(), &["pattern", "reason"]);
    blocks.sort();
    blocks
}

fn home_pages(world: &World) -> Vec<String> {
    let mut pages = world.pages(&[]);
    pages.retain(|page| page["level"] == 0);
    lines(&pages, &["url", "visits"])
}

fn breakdowns(world: &World) -> Vec<String> {
    lines(&world.list(&["quarantine", "list"]), &["url"])
}

fn lifted(world: &World) -> Vec<String> {
    let mut rows = world.list(&["traps"]);
    rows.retain(|row| row["measure"] == "lifted");
    lines(&rows, &["site", "pattern"])
}

fn mirrors(world: &World) -> Vec<String> {
    lines(&world.list(&["mirrors"]), &["site", "state"])
}

fn world() -> World {
    World::new(WebOptions { sites: 3, pages: PageCount::Fixed(6), ..WebOptions::default() })
}

/// What a verb answered, and what the collection shows afterwards.
#[derive(Debug, PartialEq)]
struct Seen {
    exit: Option<i32>,
    answer: Value,
    state: Vec<String>,
}

impl Seen {
    fn answer(&self) -> &Value {
        &self.answer
    }
}

/// `prepare` is done to a collection of one crawled site, which is then there twice: one rests while `verb` is given and
/// is crawled afterwards, the other is crawled meanwhile.
#[track_caller]
fn both_ways(prepare: impl Fn(&World), verb: &[&str], state: State) -> Seen {
    let (rests, runs) = (world(), world());
    rests.run(&["crawl", HOME, "--delay", "0"]).exits(0);
    prepare(&rests);
    copy(&rests.folder, &runs.folder);
    let verb = [verb, &["--json"]].concat();

    let done = rests.run(&verb);
    assert_ne!(rests.run(&["crawl", "--delay", "0"]).status.code(), Some(3), "the next crawl runs");
    let at_rest = Seen { exit: done.status.code(), answer: answer(&done), state: state(&rests) };

    let mut run = runs.start(&["run", "--delay", "0"]);
    runs.wait_for("the run has begun", |world| world.status()["state"] == "running");
    let done = runs.run(&verb);
    // What the verb asks for is done within seconds.
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while state(&runs) != at_rest.state && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let in_crawl = Seen { exit: done.status.code(), answer: answer(&done), state: state(&runs) };
    assert!(run.is_running(), "the crawl goes on");
    runs.run(&["stop"]).exits(0);
    run.wait(Duration::from_secs(30)).exits(4);
    assert_eq!(in_crawl, at_rest, "{verb:?}");
    for world in [&rests, &runs] {
        world.run(&["check"]).exits(0);
        assert_eq!(testing::commands_waiting(&world.folder), 0);
    }
    at_rest
}

/// What went to standard output, or, where the verb failed, why.
fn answer(done: &Done) -> Value {
    match done.out.is_empty() {
        false => done.json(),
        true => serde_json::from_str(done.err.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}\n{done}")),
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn nothing(_: &World) {}

fn given<'a>(verbs: &'a [&'a [&'a str]]) -> impl Fn(&World) + 'a {
    move |world| {
        for verb in verbs {
            world.run(verb).exits(0);
        }
    }
}

#[test]
fn seed_answers_the_same_and_leaves_the_same_both_ways() {
    let verb = ["seed", HOME, "http://s1.sim.test/", "http://s2.sim.test/"];
    let seen = both_ways(given(&[&["block", "s2.sim.test"]]), &verb, seeds);
    let answer = seen.answer();
    assert_eq!((&answer["taken"], &answer["new"]), (&2.into(), &1.into()), "{answer:#}");
    assert_eq!(answer["refused_seeds"][0]["rule"], "block: s2.sim.test", "{answer:#}");
    assert_eq!(seen.state, ["default http://s0.sim.test/", "default http://s1.sim.test/"]);
    let seen = both_ways(nothing, &["seed", "--spider", "nobody", HOME], seeds);
    assert_eq!(seen.exit, Some(2), "{seen:?}");
}

#[test]
fn block_answers_the_same_and_leaves_the_same_both_ways() {
    let verb = ["block", "ads.example", "http://s0.sim.test/x", "--reason", "too much"];
    let seen = both_ways(given(&[&["block", "ads.example"]]), &verb, blocks);
    let answer = seen.answer();
    assert_eq!((&answer["taken"], &answer["added"]), (&2.into(), &1.into()), "{answer:#}");
    assert_eq!(seen.state, ["ads.example too much", "http://s0.sim.test/x too much"]);
    let bad = both_ways(nothing, &["block", "*.example"], blocks);
    assert_eq!((bad.exit, bad.state.len()), (Some(2), 0), "{bad:?}");
}

#[test]
fn lifting_a_block_answers_the_same_and_leaves_the_same_both_ways() {
    let prepare = |world: &World| {
        world.run(&["block", "s1.sim.test"]).exits(0);
        // Refused as a link would be: what was blocked is judged again.
        world.run(&["spider", "edit", "default", "--set", "crawl.scope=any"]).exits(0);
        world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    };
    let verb = ["block", "s1.sim.test", "gone.example", "--remove"];
    let seen = both_ways(prepare, &verb, blocks);
    assert_eq!((&seen.answer()["removed"], &seen.answer()["taken"]), (&1.into(), &2.into()));
    let seen = both_ways(nothing, &["block", "gone.example", "--remove"], blocks);
    assert_eq!((seen.exit, &seen.answer()["removed"]), (Some(2), &0.into()), "{seen:?}");
}

#[test]
fn spider_add_answers_the_same_and_leaves_the_same_both_ways() {
    let verb = ["spider", "add", "news", "http://s1.sim.test/", "--set", "crawl.depth=1"];
    let seen = both_ways(nothing, &verb, spiders);
    let answer = seen.answer();
    assert_eq!((&answer["outcome"], &answer["state"]), (&"spider".into(), &"active".into()));
    assert_eq!(
        (&answer["seeds"]["taken"], &answer["seeds"]["spider"]),
        (&1.into(), &"news".into())
    );
    assert_eq!(seen.state[1], r#"news active  {"crawl.depth":"1"}"#);
    for wrong in [&["Bad Name"][..], &["default"], &["news", "--set", "crawl.dept=1"]] {
        let seen = both_ways(nothing, &[&["spider", "add"], wrong].concat(), spiders);
        assert_eq!((seen.exit, seen.state.len()), (Some(2), 1), "{seen:?}");
    }
}

#[test]
fn spider_edit_answers_the_same_and_leaves_the_same_both_ways() {
    let verb = ["spider", "edit", "default", "--set", "crawl.pages=20", "--set", "crawl.depth=3"];
    let seen = both_ways(nothing, &verb, spiders);
    let expected = json!({ "outcome": "spider", "spider": "default", "state": "active" });
    assert_eq!(*seen.answer(), expected);
    assert_eq!(seen.state, [r#"default active  {"crawl.depth":"3","crawl.pages":"20"}"#]);
    for wrong in [&["--unset", "crawl.depth"][..], &[], &["--set", "crawl.depth=deep"]] {
        let seen = both_ways(nothing, &[&["spider", "edit", "default"], wrong].concat(), spiders);
        assert_eq!((seen.exit, seen.state.len()), (Some(2), 1), "{seen:?}");
    }
}

#[test]
fn spider_pause_and_resume_answer_the_same_and_leave_the_same_both_ways() {
    let pause: &[&str] = &["spider", "pause", "default", "--reason", "enough"];
    let seen = both_ways(nothing, pause, spiders);
    assert_eq!(seen.answer()["state"], "paused");
    assert_eq!(seen.state, ["default paused enough {}"]);
    let seen = both_ways(given(&[pause]), &["spider", "resume", "default"], spiders);
    assert_eq!(seen.answer()["state"], "active");
    assert_eq!(seen.state, ["default active  {}"]);
    let seen = both_ways(nothing, &["spider", "pause", "nobody"], spiders);
    assert_eq!(seen.exit, Some(2), "{seen:?}");
}

#[test]
fn spider_remove_answers_the_same_and_leaves_the_same_both_ways() {
    let add: &[&str] = &["spider", "add", "news", "http://s1.sim.test/"];
    let seen = both_ways(given(&[add]), &["spider", "remove", "news"], spiders);
    assert_eq!(seen.answer()["state"], "removed");
    assert_eq!(seen.state, ["default active  {}"], "it is not listed any more");
    let seen = both_ways(nothing, &["spider", "remove", "default"], spiders);
    assert_eq!(seen.exit, Some(2), "the first spider stays: {seen:?}");
}

#[test]
fn visit_answers_the_same_and_leaves_the_same_both_ways() {
    let seen = both_ways(nothing, &["visit", "s0.sim.test"], home_pages);
    assert_eq!(*seen.answer(), json!({ "outcome": "visit", "url": HOME }));
    assert_eq!(seen.state, ["http://s0.sim.test/ 2"]);
    let seen = both_ways(nothing, &["visit", "http://s0.sim.test/unknown"], home_pages);
    assert_eq!((seen.exit, seen.state), (Some(2), vec!["http://s0.sim.test/ 1".to_owned()]));
}

#[test]
fn lifting_a_quarantine_answers_the_same_and_leaves_the_same_both_ways() {
    let prepare = |world: &World| testing::add_breakdown(&world.folder, HOME);
    let verb = ["quarantine", "lift", HOME, "s1.sim.test"];
    let seen = both_ways(prepare, &verb, breakdowns);
    let expected = json!({ "pages": 1, "unknown": ["s1.sim.test"], "pending": false });
    assert_eq!(*seen.answer(), expected);
    assert_eq!(seen.state, [""; 0]);
    let seen = both_ways(nothing, &["quarantine", "lift", HOME], breakdowns);
    assert_eq!(seen.exit, Some(2), "{seen:?}");
}

#[test]
fn lifting_a_trap_and_watching_it_again_answer_the_same_and_leave_the_same_both_ways() {
    let lift: &[&str] = &["traps", "lift", "s0.sim.test", "*"];
    let seen = both_ways(nothing, lift, lifted);
    assert_eq!(*seen.answer(), json!({ "outcome": "traps", "lifted": 0, "pages": 0 }));
    assert_eq!(seen.state, ["s0.sim.test *"]);
    let seen = both_ways(given(&[lift]), &["traps", "watch", "s0.sim.test"], lifted);
    assert_eq!(*seen.answer(), json!({ "outcome": "watched", "patterns": ["*"] }));
    assert_eq!(seen.state, [""; 0]);
    let seen = both_ways(nothing, &["traps", "lift", "s0.sim.test", "/none?*"], lifted);
    assert_eq!(seen.exit, Some(2), "{seen:?}");
}

#[test]
fn keeping_a_mirror_apart_answers_the_same_and_leaves_the_same_both_ways() {
    let seen = both_ways(nothing, &["mirrors", "lift", HOME], mirrors);
    assert_eq!(*seen.answer(), json!({ "outcome": "mirrors", "changed": 1 }));
    assert_eq!(seen.state, ["s0.sim.test lifted"]);
    let seen = both_ways(nothing, &["mirrors", "find"], mirrors);
    assert_eq!(*seen.answer(), json!({ "found": 0, "changed": 0, "pending": false }));
}

#[test]
fn pause_resume_and_stop_need_a_running_crawl_and_say_so() {
    let world = world();
    world.run(&["seed", HOME]).exits(0);
    for verb in ["pause", "resume", "stop"] {
        let done = world.run(&[verb, "--json"]);
        let sentence = answer(done.exits(2))["error"]["sentence"].as_str().unwrap().to_owned();
        assert!(sentence.starts_with("no crawl is running"), "{sentence}");
    }
    let run = world.start(&["run", "--delay", "0"]);
    world.wait_for("the run has begun", |world| world.status()["state"] == "running");
    for verb in ["pause", "resume", "stop"] {
        assert_eq!(world.run(&[verb, "--json"]).exits(0).json(), json!({ "outcome": "done" }));
    }
    run.wait(Duration::from_secs(30)).exits(4);
}

/// The limits of a crawl are settings of its spiders.
#[test]
fn a_limit_on_pages_is_set_for_the_default_spider_before_a_crawl_and_during_it() {
    let limit = ["spider", "edit", "default", "--set", "crawl.pages=4"];
    for running in [false, true] {
        let world = world();
        world.run(&["seed", HOME]).exits(0);
        if running {
            let crawl = world.start(&["crawl", "--delay", "700ms"]);
            world.wait_for("a visit", |world| !world.visits().is_empty());
            world.run(&limit).exits(0);
            crawl.wait(Duration::from_secs(60)).exits(0);
        } else {
            world.run(&limit).exits(0);
            world.run(&["crawl", "--delay", "0"]).exits(0);
        }
        assert_eq!(world.fetched(), 4, "while a crawl runs: {running}");
        world.run(&["spider", "edit", "default", "--unset", "crawl.pages"]).exits(0);
        world.run(&["crawl", "--delay", "0"]).exits(0);
        assert_eq!(world.fetched(), 6);
    }
}

#[test]
fn a_crawl_whose_spider_is_paused_says_what_waits_and_goes_on_when_it_is_resumed() {
    let world = world();
    let crawl = world.start(&["crawl", HOME, "--delay", "500ms", "--json"]);
    world.wait_for("two visits", |world| world.visits().len() >= 2);
    world.run(&["spider", "pause", "default", "--reason", "enough"]).exits(0);
    let done = crawl.wait(Duration::from_secs(60));
    let summary = done.exits(0).json();
    assert_eq!(summary["reason"], "done but for paused spiders", "{summary:#}");
    let paused = &summary["paused"][0];
    assert_eq!((&paused["spider"], &paused["why"]), (&"default".into(), &"enough".into()));
    assert!(paused["waiting"].as_u64() > Some(0), "{summary:#}");

    let again = world.run(&["crawl", "--delay", "0"]);
    again.exits(0).says(&[
        "done but for paused spiders",
        "spider default is paused (enough): ",
        "harvestman spider resume default",
        "then continue with: harvestman ",
    ]);
    assert!(!again.err.contains("all done"), "{again}");
    assert!(world.visits().len() < 6, "nothing was visited meanwhile");
    world.run(&["spider", "resume", "default"]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0).says(&["all done"]);
    assert_eq!(world.visits().len(), 6);
}

#[test]
fn a_seed_of_a_paused_spider_is_no_crawl_that_is_all_done() {
    let world = world();
    world.run(&["seed", HOME]).exits(0);
    world.run(&["spider", "pause", "default"]).exits(0);
    let done = world.run(&["crawl", "--delay", "0"]);
    done.exits(0).says(&["spider default is paused: 1 page waits"]);
    assert!(!done.err.contains("all done"), "{done}");
}
