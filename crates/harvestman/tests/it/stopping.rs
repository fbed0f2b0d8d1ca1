//! Ctrl-C: once finishes and settles, twice leaves at once; the same command goes on.

use std::time::Duration;

use simweb::{Hazard, Latency, PageCount, WebOptions, checks};

use crate::world::{Running, World};

const HOME: &str = "http://s0.sim.test/";

#[test]
fn one_ctrl_c_finishes_what_is_in_flight_and_the_same_command_goes_on() {
    for signal in ["INT", "TERM", "HUP"] {
        let world = World::new(WebOptions {
            pages: PageCount::Fixed(20),
            latency: Latency { base: Duration::from_millis(60), spread: Duration::ZERO },
            ..WebOptions::default()
        });
        let crawl = world.start(&["crawl", HOME, "--delay", "100ms"]);
        world.wait_for("five visits", |world| world.visits().len() >= 5);
        crawl.signal(signal);
        let done = crawl.wait(Duration::from_secs(30));
        done.exits(4).says(&["finishing what is in flight", "continue with: harvestman"]);
        let status = world.status();
        assert_eq!(status["state"], "stopped", "{signal}: {status:#}");
        let before = world.visits().len();
        assert!(before < 20, "stopped in the middle");
        assert_eq!(status["pages"]["fetched"], before, "{signal}: all that was fetched is settled");
        world.run(&["crawl", HOME, "--delay", "0"]).exits(0);
        let log = world.log();
        assert_eq!(checks::completeness(&log, &world.web, "s0.sim.test"), []);
        assert_eq!(checks::repeats(&log), [], "{signal}: nothing is fetched twice");
        world.run(&["check"]).exits(0);
    }
}

#[test]
fn a_second_ctrl_c_leaves_at_once() {
    let mut options = WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() };
    options.put("s0.sim.test", Hazard::Late { after: Duration::from_secs(50) });
    let world = World::new(options).variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "55s");
    let mut crawl = world.start(&["crawl", HOME, "--delay", "0"]);
    world.wait_for("robots.txt", |world| !world.log().is_empty());
    std::thread::sleep(Duration::from_millis(500));
    crawl.signal("INT");
    std::thread::sleep(Duration::from_millis(300));
    assert!(crawl.is_running(), "the first waits for the page in flight");
    crawl.signal("INT");
    let done = crawl.wait(Duration::from_secs(20));
    done.exits(4).says(&["exited at once"]);
}

#[test]
fn ctrl_c_does_not_sit_out_the_pauses() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(9), ..WebOptions::default() });
    let crawl = world.start(&["crawl", HOME, "--delay", "5m"]);
    world.wait_for("robots.txt", |world| !world.log().is_empty());
    std::thread::sleep(Duration::from_millis(300));
    crawl.signal("INT");
    crawl.wait(Duration::from_secs(15)).exits(4);
    assert_eq!(world.status()["state"], "stopped");
}

#[test]
fn a_crawl_that_was_started_to_survive_its_terminal_does() {
    let world = World::new(WebOptions { pages: PageCount::Fixed(9), ..WebOptions::default() });
    let program = world.command(&["crawl", HOME, "--delay", "150ms"]);
    // As nohup does it: the signal is ignored by the shell, and so by what it starts.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program.get_program());
    shell.args(program.get_args()).stdin(std::process::Stdio::null());
    let crawl = Running::new(&mut shell);
    world.wait_for("three visits", |world| world.visits().len() >= 3);
    crawl.signal("HUP");
    crawl.wait(Duration::from_secs(30)).exits(0);
    assert_eq!(world.visits().len(), 9);
}
