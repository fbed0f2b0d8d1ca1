//! What follows from the answer to the question for robots.txt, or from none.

use std::time::Duration;

use model::{
    Exchange, FailureKind, FetchFailure, Purpose, RobotsAnswer, RobotsCopy, Stopped, Timestamp,
    testing::{self, url},
};

use super::super::{Next, Robots, answered, is_unreachable};

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn exchange(status: u16, body: &str, headers: &[(&str, &str)]) -> Exchange {
    let url = url("http://h.example/robots.txt");
    let answer = testing::exchange(status, headers, body.as_bytes());
    Exchange { url, purpose: Purpose::Robots, started: NOW, ..answer }
}

fn failure(kind: FailureKind) -> FetchFailure {
    FetchFailure::new(kind, "no")
}

fn ask(
    old: Option<&RobotsCopy>,
    outcome: Result<&Exchange, &FetchFailure>,
    hops: u8,
    now: Timestamp,
) -> Next {
    let url = url("http://h.example/");
    answered(old, &url.origin(), outcome, hops, now)
}

fn copy_of(next: Next) -> RobotsCopy {
    match next {
        Next::Copy(copy) => copy,
        Next::FollowTo(url) => panic!("no copy but {url}"),
    }
}

fn fetched(status: u16, body: &str) -> RobotsCopy {
    copy_of(ask(None, Ok(&exchange(status, body, &[])), 0, NOW))
}

fn allows(copy: &RobotsCopy, path: &str) -> bool {
    match &copy.answer {
        RobotsAnswer::Rules(text) => Robots::read(text).verdict("harvestman", path).allowed,
        RobotsAnswer::Unavailable { .. } => true,
        RobotsAnswer::Unreachable { .. } => false,
    }
}

const FORBID_X: &str = "User-agent: *\nDisallow: /x\n";

#[test]
fn f01_f49_success_is_parsed_for_a_day_and_an_empty_file_allows_all() {
    let copy = fetched(200, FORBID_X);
    assert!(!allows(&copy, "/x") && allows(&copy, "/y"));
    assert_eq!(copy.expires, NOW.plus(DAY));
    for empty in [fetched(204, ""), fetched(200, "")] {
        assert!(allows(&empty, "/x"));
    }
}

#[test]
fn f02_f03_five_redirects_are_followed_across_hosts_for_the_origin_first_asked() {
    for status in [301, 302, 303, 307, 308] {
        for hops in 0..5 {
            let moved = exchange(status, "", &[("Location", "https://other.example/r")]);
            let target = url("https://other.example/r");
            assert_eq!(ask(None, Ok(&moved), hops, NOW), Next::FollowTo(target));
        }
    }
    let mut answer = exchange(200, FORBID_X, &[]);
    answer.url = url("https://other.example/r");
    let copy = copy_of(ask(None, Ok(&answer), 5, NOW));
    assert_eq!(copy.origin.as_str(), "http://h.example");
    assert!(!allows(&copy, "/x"));
}

#[test]
fn f04_f05_the_sixth_redirect_and_those_that_lead_nowhere_are_unavailable() {
    let moved = exchange(302, "", &[("Location", "/robots.txt")]);
    assert!(allows(&copy_of(ask(None, Ok(&moved), 5, NOW)), "/x"));
    for headers in [&[][..], &[("Location", "ftp://x/")], &[("Location", "http://[")]] {
        let copy = copy_of(ask(None, Ok(&exchange(302, "", headers)), 0, NOW));
        assert_eq!(copy.answer, RobotsAnswer::Unavailable { status: 302 });
    }
}

#[test]
fn f10_to_f16_client_errors_allow_all_for_a_day() {
    for status in [400, 401, 403, 404, 410, 418, 451] {
        let copy = fetched(status, FORBID_X);
        assert_eq!(copy.answer, RobotsAnswer::Unavailable { status });
        assert_eq!(copy.expires, NOW.plus(DAY));
    }
}

#[test]
fn f20_f30_to_f34_server_errors_and_429_forbid_all_for_now() {
    for status in [429, 500, 502, 503, 504, 599] {
        let copy = fetched(status, FORBID_X);
        assert!(is_unreachable(&copy) && !allows(&copy, "/y"), "{status}");
        assert_eq!(copy.expires, NOW.plus(super::super::UNREACHABLE_FIRST_WAIT));
        assert_eq!(copy.unreachable_since, Some(NOW));
    }
}

#[test]
fn f40_network_failures_forbid_all_for_now() {
    use FailureKind::*;
    for kind in [ConnectRefused, DnsUnknown, DnsTrouble, Tls, Timeout, ConnectTimeout, Reset] {
        assert!(is_unreachable(&copy_of(ask(None, Err(&failure(kind)), 0, NOW))));
    }
}

#[test]
fn a_proxy_that_is_down_for_months_neither_allows_nor_forgets_anything() {
    let down = failure(FailureKind::Proxy);
    let (mut none, mut rules) = (None, fetched(200, FORBID_X));
    let mut now = rules.expires;
    for _ in 0..200 {
        let copy = copy_of(ask(none.as_ref(), Err(&down), 0, now));
        assert!(is_unreachable(&copy) && copy.unreachable_since.is_none());
        assert_eq!(copy.expires, now.plus(super::super::UNREACHABLE_FIRST_WAIT));
        none = Some(copy);
        rules = copy_of(ask(Some(&rules), Err(&down), 0, now));
        assert!(!allows(&rules, "/x") && allows(&rules, "/y"));
        now = now.plus(DAY);
    }
}

#[test]
fn f41_rules_read_earlier_stay_in_use_while_unreachable_also_after_months() {
    let mut copy = fetched(200, FORBID_X);
    let mut now = copy.expires;
    for _ in 0..500 {
        copy = copy_of(ask(Some(&copy), Ok(&exchange(503, "", &[])), 0, now));
        assert!(!allows(&copy, "/x") && allows(&copy, "/y"));
        assert_eq!(copy.fetched, NOW);
        assert!(copy.expires > now);
        now = copy.expires;
    }
    assert!(now > NOW.plus(60 * DAY));
}

#[test]
fn f30_without_a_copy_the_wait_grows_and_after_30_days_all_is_allowed() {
    let mut copy = fetched(503, "");
    let mut waits = Vec::new();
    while is_unreachable(&copy) {
        let now = copy.expires;
        assert!(now < NOW.plus(46 * DAY));
        copy = copy_of(ask(Some(&copy), Err(&failure(FailureKind::Timeout)), 0, now));
        waits.push(copy.expires.since(now).as_secs());
    }
    assert_eq!(waits[..4], [60, 120, 240, 480]);
    assert!(waits.is_sorted() && waits.contains(&(6 * 3600)), "{waits:?}");
    assert!(waits.len() < 25, "asked {} times in a month", waits.len());
    assert!(copy.expires > NOW.plus(30 * DAY));
    let still = copy_of(ask(Some(&copy), Ok(&exchange(500, "", &[])), 0, copy.expires));
    assert!(allows(&still, "/x"), "still away: still given up");
    let back = copy_of(ask(Some(&still), Ok(&exchange(200, FORBID_X, &[])), 0, still.expires));
    assert!(!allows(&back, "/x") && back.unreachable_since.is_none());
}

#[test]
fn a_missing_file_is_no_copy_that_could_stay_in_use() {
    let missing = fetched(404, "");
    let now = missing.expires;
    let copy = copy_of(ask(Some(&missing), Ok(&exchange(503, "", &[])), 0, now));
    assert!(is_unreachable(&copy));
}

#[test]
fn f43_f44_f46_the_first_500_kib_count_and_a_cut_at_our_limit_is_an_answer() {
    let mut body = "User-agent: *\n#".to_owned();
    body.push_str(&"x".repeat(511_880 - body.len()));
    body.push_str("\nDisallow: /x\n");
    assert!(body.len() <= 512_000);
    assert!(!allows(&fetched(200, &body), "/x"));
    let mut endless = exchange(200, &body, &[]);
    endless.stopped = Some(Stopped::Length);
    assert!(!allows(&copy_of(ask(None, Ok(&endless), 0, NOW)), "/x"));
}

#[test]
fn f45_an_html_page_forbids_nothing() {
    let copy = fetched(200, "<!DOCTYPE html><html><body><p>Not found: sorry</p></body></html>");
    assert!(allows(&copy, "/x"));
}

#[test]
fn f47_an_answer_cut_off_is_no_answer() {
    for stopped in [Stopped::Disconnect, Stopped::Time, Stopped::Coding] {
        let mut half = exchange(200, "User", &[]);
        half.stopped = Some(stopped);
        assert!(is_unreachable(&copy_of(ask(None, Ok(&half), 0, NOW))));
    }
}

#[test]
fn f42_f48_a_304_renews_the_copy_for_another_day() {
    let first = exchange(200, FORBID_X, &[("ETag", "\"1\"")]);
    let copy = copy_of(ask(None, Ok(&first), 0, NOW));
    assert_eq!(copy.etag.as_deref(), Some("\"1\""));
    let later = copy.expires;
    let renewed = copy_of(ask(Some(&copy), Ok(&exchange(304, "", &[])), 0, later));
    assert_eq!((renewed.fetched, renewed.expires), (later, later.plus(DAY)));
    assert!(!allows(&renewed, "/x"));
    assert!(is_unreachable(&copy_of(ask(None, Ok(&exchange(304, "", &[])), 0, NOW))));
}

#[test]
fn f50_each_scheme_host_and_port_has_its_own_file() {
    let origin = |text: &str| url(text).origin().robots_url();
    let urls = ["http://h.example/a", "https://h.example/a", "http://h.example:8080/a"];
    let files: Vec<String> = urls.iter().map(|url| origin(url).to_string()).collect();
    assert_eq!(
        files,
        [
            "http://h.example/robots.txt",
            "https://h.example/robots.txt",
            "http://h.example:8080/robots.txt"
        ]
    );
}
