//! Each checker finds what was planted for it, and nothing in a clean log.

use std::net::Ipv4Addr;

use super::*;
use crate::{RobotsPlan, WebOptions};

const SECOND: u64 = 1_000_000;
const PAUSE: Duration = Duration::from_secs(2);

fn entry(start_us: u64, end_us: u64, host: &str, target: &str) -> Entry {
    Entry {
        start_us,
        end_us,
        at: Timestamp(1_763_000_000_000 + (start_us / 1000) as i64),
        host: host.into(),
        target: target.to_owned(),
        status: 200,
        connection: 1,
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        tls: false,
        method: "GET".into(),
        agent: "Crawly/1.0".into(),
        conditional: false,
        bytes: 100,
        retry_after: None,
    }
}

fn seconds(host: &str, visits: &[(u64, &str)]) -> Vec<Entry> {
    let at = |&(start, target)| entry(start * SECOND, start * SECOND + 1000, host, target);
    visits.iter().map(at).collect()
}

fn web(robots: RobotsPlan) -> SimWeb {
    SimWeb::new(WebOptions { robots, sites: 2, ..WebOptions::default() })
}

fn private() -> RobotsPlan {
    RobotsPlan::Disallow(vec!["/private/".to_owned()])
}

const HOST: &str = "s0.sim.test";

#[test]
fn short_pauses_are_found() {
    let good = seconds(HOST, &[(0, "/robots.txt"), (2, "/"), (4, "/a")]);
    assert_eq!(pauses(&good, PAUSE, Duration::ZERO), []);
    let bad = seconds(HOST, &[(0, "/robots.txt"), (2, "/"), (3, "/a")]);
    let found = pauses(&bad, PAUSE, Duration::ZERO);
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().contains("/a: 1000000 µs after /"), "{}", found[0]);
    assert_eq!(pauses(&bad, PAUSE, Duration::from_secs(1)), [], "slack forgives");
}

#[test]
fn pauses_are_of_each_host_and_in_any_order_of_the_log() {
    let mut log = seconds(HOST, &[(2, "/"), (0, "/robots.txt")]);
    log.extend(seconds("s1.sim.test", &[(1, "/robots.txt"), (3, "/")]));
    assert_eq!(pauses(&log, PAUSE, Duration::ZERO), []);
}

#[test]
fn a_request_before_the_last_answer_ended_is_found() {
    let log = [entry(0, 5 * SECOND, HOST, "/slow"), entry(3 * SECOND, 4 * SECOND, HOST, "/b")];
    let found = pauses(&log, PAUSE, Duration::ZERO);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("before the last answer ended"));
}

#[test]
fn too_many_requests_at_once_are_found() {
    let log = [
        entry(0, 9 * SECOND, HOST, "/1"),
        entry(SECOND, 9 * SECOND, HOST, "/2"),
        entry(2 * SECOND, 9 * SECOND, "s1.sim.test", "/3"),
    ];
    assert_eq!(connections_at_once(&log, 2), []);
    assert_eq!(connections_at_once(&log, 1).len(), 1);
    assert_eq!(connections_at_address(&log, 3), []);
    assert_eq!(connections_at_address(&log, 2).len(), 1);
    let in_turn = seconds(HOST, &[(0, "/1"), (1, "/2"), (2, "/3")]);
    assert_eq!(connections_at_once(&in_turn, 1), []);
}

#[test]
fn forbidden_paths_are_found() {
    let web = web(private());
    let good = seconds(HOST, &[(0, "/robots.txt"), (2, "/"), (4, "/privately")]);
    assert_eq!(disallowed(&good, &web), []);
    let bad = seconds(HOST, &[(0, "/robots.txt"), (2, "/private/1")]);
    let found = disallowed(&bad, &web);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("forbids"), "{}", found[0]);
}

#[test]
fn pages_before_robots_and_robots_of_another_origin_are_found() {
    let web = web(private());
    let found = disallowed(&seconds(HOST, &[(0, "/"), (2, "/robots.txt")]), &web);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("not asked before"));
    let mut log = seconds(HOST, &[(0, "/robots.txt"), (2, "/")]);
    log[1].tls = true;
    assert_eq!(disallowed(&log, &web).len(), 1, "https has a robots.txt of its own");
    let mut log = seconds(HOST, &[(0, "/robots.txt"), (2, "/")]);
    log[1].host = "s1.sim.test".into();
    assert_eq!(disallowed(&log, &web).len(), 1);
}

#[test]
fn pages_without_a_copy_or_with_an_old_one_are_found() {
    let failing = web(RobotsPlan::Status(503));
    let mut log = seconds(HOST, &[(0, "/robots.txt"), (2, "/")]);
    log[0].status = 503;
    assert!(disallowed(&log, &failing)[0].what.contains("could not be had (status 503)"));
    let missing = web(RobotsPlan::Status(404));
    log[0].status = 404;
    assert_eq!(disallowed(&log, &missing), [], "a missing file allows all");

    let web = web(private());
    let day = 24 * 3600;
    let stale = seconds(HOST, &[(0, "/robots.txt"), (day + 1, "/")]);
    assert!(disallowed(&stale, &web)[0].what.contains("24 h old"));
    let mut kept = seconds(HOST, &[(0, "/robots.txt"), (day, "/robots.txt"), (day + 2, "/")]);
    kept[1].status = 500;
    assert_eq!(disallowed(&kept, &web), [], "an old copy stays in use while the server fails");
    kept[2].target = "/private/1".to_owned();
    assert_eq!(disallowed(&kept, &web).len(), 1, "and keeps forbidding");
}

#[test]
fn the_copy_last_given_counts_not_the_newest_file() {
    let every = Duration::from_secs(10);
    let plans = vec![RobotsPlan::AllowAll, RobotsPlan::ForbidAll];
    let web = web(RobotsPlan::Changing { every, plans });
    let phase = (1_763_000_000_000 - web.options().origin.0) % 20_000;
    assert_eq!(phase, 0, "the log begins in an allowing turn");
    let held = seconds(HOST, &[(0, "/robots.txt"), (12, "/a")]);
    assert_eq!(disallowed(&held, &web), []);
    let renewed = seconds(HOST, &[(0, "/robots.txt"), (11, "/robots.txt"), (12, "/a")]);
    assert_eq!(disallowed(&renewed, &web).len(), 1);
}

#[test]
fn repeats_are_found_and_retries_are_not() {
    let mut log = seconds(HOST, &[(0, "/robots.txt"), (1, "/a"), (2, "/robots.txt"), (3, "/b")]);
    assert_eq!(repeats(&log), []);
    log.extend(seconds(HOST, &[(4, "/a")]));
    let found = repeats(&log);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("fetched 2 times: 1.000 s, 4.000 s"), "{}", found[0]);
    log[1].status = 503;
    assert_eq!(repeats(&log), []);
}

#[test]
fn missing_pages_are_found() {
    let web = web(private());
    let paths: Vec<String> = (0..40).map(|index| web.path(0, index)).collect();
    let visits: Vec<(u64, &str)> = (0..).zip(paths.iter().map(String::as_str)).collect();
    let mut log = seconds(HOST, &visits);
    assert_eq!(completeness(&log, &web, HOST), []);
    log[7].status = 500;
    let found = completeness(&log, &web, HOST);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("page 7 on level 1"), "{}", found[0]);
    assert_eq!(completeness(&log, &web, "s1.sim.test").len(), 40);
    assert_eq!(completeness(&log, &web, "nobody.test").len(), 1);
}

#[test]
fn returning_before_retry_after_is_found() {
    let mut log = seconds(HOST, &[(0, "/a"), (5, "/b"), (20, "/c")]);
    log[0].retry_after = Some(10);
    assert_eq!(retry_after(&log, Duration::ZERO).len(), 1);
    log.remove(1);
    assert_eq!(retry_after(&log, Duration::ZERO), []);
}

#[test]
fn requests_without_a_name_are_found() {
    let mut log = seconds(HOST, &[(0, "/a")]);
    assert_eq!(nameless(&log), []);
    log[0].agent = "".into();
    assert_eq!(nameless(&log).len(), 1);
}

#[test]
fn hosts_of_one_address_are_kept_apart_and_one_host_is_not_measured_so() {
    let pause = Duration::from_secs(1);
    let mut log = seconds(HOST, &[(0, "/"), (4, "/b")]);
    log.extend(seconds("s1.sim.test", &[(1, "/"), (6, "/c")]));
    assert_eq!(address_pauses(&log, pause, Duration::ZERO), []);
    log.push(entry(4 * SECOND + 500_000, 5 * SECOND, "s1.sim.test", "/early"));
    let found = address_pauses(&log, pause, Duration::ZERO);
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().contains("/early: 500000 µs after s0.sim.test"), "{}", found[0]);
    log[4].address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    assert_eq!(address_pauses(&log, pause, Duration::ZERO), [], "on another address");
    let own = seconds(HOST, &[(0, "/"), (0, "/b")]);
    assert_eq!(address_pauses(&own, pause, Duration::ZERO), [], "that is the host's own pause");
}

#[test]
fn a_robots_txt_asked_for_twice_a_day_is_found() {
    let day = 24 * 3600;
    let good = seconds(HOST, &[(0, "/robots.txt"), (2, "/"), (day, "/robots.txt")]);
    assert_eq!(robots_too_often(&good), []);
    let bad = seconds(HOST, &[(0, "/robots.txt"), (2, "/"), (day - 1, "/robots.txt")]);
    assert_eq!(robots_too_often(&bad).len(), 1);
    let mut other = bad.clone();
    other[2].tls = true;
    assert_eq!(robots_too_often(&other), [], "another origin");
    let mut failed = bad;
    failed[0].status = 503;
    assert_eq!(robots_too_often(&failed), [], "the first could not be had");
}
