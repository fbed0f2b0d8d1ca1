//! The clock of a site, and that of an address that many share.

use super::*;

#[test]
fn visits_start_a_pause_apart_however_quick_the_answer() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let first = bench.visit(START);
    bench.idle(at(10));
    bench.answer(&first, 200, at(50));
    assert_eq!(bench.wait(at(50)), at(2000));
    assert_eq!(bench.wait(at(1999)), at(2000));
    bench.visit(at(2000));
}

#[test]
fn no_visit_begins_before_the_answer_before_it_ended() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let first = bench.visit(START);
    bench.idle(at(60_000));
    bench.answer(&first, 200, at(60_000));
    bench.visit(at(60_000));
}

#[test]
fn a_slow_answer_earns_a_rest_as_long_as_it_took_up_to_a_bound() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2", "/3"], "")]);
    let first = bench.visit(START);
    bench.answer_with(&first, 200, &[], Duration::from_secs(10), at(10_000));
    assert_eq!(bench.wait(at(10_000)), at(20_000));
    let second = bench.visit(at(20_000));
    bench.answer_with(&second, 200, &[], Duration::from_secs(50), at(70_000));
    assert_eq!(bench.wait(at(70_000)), at(100_000));
}

#[test]
fn a_site_that_yields_to_others_waits_that_long_and_its_clock_does_not_tell() {
    let leases = ["a.example", "b.example"].map(|host| open_lease(host, &["/1", "/2"], ""));
    let mut bench = Bench::with(leases.into());
    let [first, other] = [bench.visit(START), bench.visit(START)];
    let (dear, cheap) = (first.site.key.clone(), other.site.key.clone());
    bench.answer(&first, 200, at(10));
    bench.answer(&other, 200, at(10));
    bench.bench.yield_to_others(&dear, at(5000), at(10));
    bench.bench.yield_to_others(&dear, at(3000), at(10));
    assert_eq!(bench.wait(at(10)), at(2000));
    assert_eq!(bench.visit(at(2000)).site.key, cheap);
    assert_eq!(bench.wait(at(2000)), at(5000));
    assert_eq!(bench.visit(at(5000)).site.key, dear);
    bench.bench.yield_to_others(&dear, at(50_000), at(5000));
    let removed = bench.bench.remove(&dear, at(5000)).expect("it is in hand");
    assert_eq!(removed.clock.remaining, Duration::from_secs(2), "what the server is owed");
}

#[test]
fn a_slow_connection_does_not_bring_two_requests_together() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let first = bench.visit(START);
    let exchange = answer(&first, 200, at(1500));
    bench.bench.release(first.id, Ok(&exchange), at(1600));
    assert_eq!(bench.wait(at(1600)), at(3500), "two seconds after the request went out");
}

#[test]
fn a_request_that_may_have_come_late_moves_the_next_by_as_much() {
    let pages = ["/1", "/2", "/3", "/4", "/5", "/6", "/7"];
    let mut bench = Bench::with(vec![open_lease("a.example", &pages, "")]);
    let took = [20, 20, 20, 20, 20, 33].map(Duration::from_millis);
    let (mut now, mut gaps) = (START, Vec::new());
    for took in took {
        let visit = bench.visit(now);
        let end = now.plus(took);
        bench.answer_with(&visit, 200, &[], took, end);
        let next = bench.wait(end);
        gaps.push(next.since(now).as_millis());
        now = next;
    }
    assert_eq!(gaps, [2020, 2020, 2020, 2020, 2010, 2023], "the first few count from their answer");
}

#[test]
fn a_visit_without_an_answer_counts_from_its_end() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let first = bench.visit(START);
    bench.fail(&first, FailureKind::BadHttp, at(700));
    assert_eq!(bench.wait(at(700)), at(2700), "nobody knows when it arrived");
}

#[test]
fn a_request_that_may_have_come_late_moves_the_line_of_its_address() {
    let leases = ["a", "b"].map(|name| open_lease(&format!("{name}.example"), &["/1"], ""));
    let mut bench = Bench::with(leases.into());
    bench.shared = Some(address(1));
    let first = bench.visit(START);
    let took = Duration::from_millis(30);
    bench.answer_with(&first, 200, &[], took, at(40));
    assert_eq!(bench.wait(at(40)), at(280), "a quarter of a second after it may have arrived");
    bench.visit(at(280));
}

#[test]
fn a_longer_crawl_delay_replaces_the_pause_and_is_capped_with_a_note() {
    let delay = |seconds: &str| format!("User-agent: *\nCrawl-delay: {seconds}\n");
    let check = |seconds: &str, expected: u64, capped: bool| {
        let pages = vec![page("http://a.example/1", 0)];
        let mut bench = Bench::with(vec![lease("a.example", pages, Vec::new())]);
        let robots = bench.visit(START);
        let released = bench.robots(&robots, &delay(seconds), START);
        assert_eq!(bench.wait(START), at(expected), "{seconds}");
        let notes = [Note::CrawlDelayCapped {
            asked: Duration::from_secs(86_400),
            kept: Duration::from_secs(300),
        }];
        assert_eq!(released.notes, if capped { &notes[..] } else { &[] });
    };
    check("1", 2000, false);
    check("7.5", 7500, false);
    check("86400", 300_000, true);
}

#[test]
fn retry_after_freezes_the_site_not_the_url() {
    for (status, value, seconds) in [
        (429, "120", 120),
        (503, "120", 120),
        (503, "Fri, 15 Jan 2027 08:05:00 GMT", 300),
        (429, "Fri, 15 Jan 2027 07:00:00 GMT", 5),
        (429, "soon", 5),
        (503, "-1", 5),
        (429, "", 5),
    ] {
        let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
        let first = bench.visit(START);
        let released =
            bench.answer_with(&first, status, &[("Retry-After", value)], Duration::ZERO, START);
        assert_eq!(bench.wait(START), at(seconds * 1000), "{status} {value}");
        assert!(matches!(released.page, Some(PageAfter::Retry { .. })));
        assert_eq!(released.clock.remaining, Duration::from_secs(seconds));
    }
}

#[test]
fn a_retry_after_date_is_read_by_the_servers_own_clock() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let first = bench.visit(START);
    let headers = [
        ("Date", "Mon, 01 Jan 2001 00:00:00 GMT"),
        ("Retry-After", "Mon, 01 Jan 2001 00:01:00 GMT"),
    ];
    bench.answer_with(&first, 503, &headers, Duration::ZERO, START);
    assert_eq!(bench.wait(START), at(60_000));
}

#[test]
fn an_endless_retry_after_is_capped_with_a_note() {
    for endless in ["99999999", "99999999999999999999999"] {
        let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
        let first = bench.visit(START);
        let headers = [("Retry-After", endless)];
        let released = bench.answer_with(&first, 429, &headers, Duration::ZERO, START);
        assert!(matches!(released.notes[..], [Note::RetryAfterCapped { .. }]));
        assert_eq!(bench.wait(START), at(24 * 3600 * 1000));
        assert_eq!(bench.reasons(), [Reason::NotBefore(at(24 * 3600 * 1000))]);
    }
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let first = bench.visit(START);
    let ten_years = [("Retry-After", "Thu, 15 Jan 2037 08:00:00 GMT")];
    bench.answer_with(&first, 503, &ten_years, Duration::ZERO, START);
    assert_eq!(bench.wait(START), at(24 * 3600 * 1000));
}

#[test]
fn back_off_doubles_to_its_ceiling_and_recovers_one_step_in_three_good_answers() {
    let paths: Vec<String> = (0..60).map(|n| format!("/{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut bench = Bench::with(vec![open_lease("a.example", &paths, "")]);
    let mut now = START;
    let mut gaps = Vec::new();
    for _ in 0..12 {
        let visit = bench.visit(now);
        bench.answer(&visit, 429, now);
        let next = bench.wait(now);
        gaps.push(next.since(now).as_secs());
        now = next;
    }
    assert_eq!(gaps, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    gaps.clear();
    for _ in 0..36 {
        let visit = bench.visit(now);
        bench.answer(&visit, 200, now);
        let next = bench.wait(now);
        gaps.push(next.since(now).as_secs());
        now = next;
    }
    assert_eq!(gaps[..5], [3600, 3600, 2560, 2560, 2560]);
    assert_eq!(gaps[34..], [2, 2]);
}

#[test]
fn trouble_backs_off_less_far_than_being_told() {
    let paths: Vec<String> = (0..20).map(|n| format!("/{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut bench = Bench::with(vec![open_lease("a.example", &paths, "")]);
    let mut now = START;
    let mut gap = 0;
    for round in 0..10 {
        let visit = bench.visit(now);
        match round % 2 {
            0 => bench.answer(&visit, 500, now),
            _ => bench.fail(&visit, FailureKind::Timeout, now),
        };
        let next = bench.wait(now);
        gap = next.since(now).as_secs();
        now = next;
    }
    assert_eq!(gap, 160);
}

#[test]
fn sites_on_one_address_keep_an_eighth_of_the_pause_between_them() {
    let leases = ["a", "b", "c"].map(|name| open_lease(&format!("{name}.example"), &["/1"], ""));
    let mut bench = Bench::with(leases.into());
    bench.shared = Some(address(1));
    let mut hosts = Vec::new();
    for ms in [0, 250, 500] {
        let visit = bench.visit(at(ms));
        bench.answer(&visit, 200, at(ms));
        hosts.push(visit.url.host().to_owned());
        if ms < 500 {
            assert_eq!(bench.wait(at(ms)), at(ms + 250));
        }
    }
    hosts.sort();
    assert_eq!(hosts, ["a.example", "b.example", "c.example"]);
}

#[test]
fn a_late_visit_moves_the_line_of_its_address() {
    let leases = ["a", "b", "c"].map(|name| open_lease(&format!("{name}.example"), &["/1"], ""));
    let mut bench = Bench::with(leases.into());
    bench.shared = Some(address(1));
    let first = bench.visit(START);
    bench.answer(&first, 200, START);
    assert_eq!(bench.wait(at(0)), at(250));
    let second = bench.visit(at(900));
    bench.answer(&second, 200, at(901));
    assert_eq!(bench.wait(at(901)), at(1150));
    bench.visit(at(1150));
}

#[test]
fn a_visit_that_is_slow_to_begin_brings_no_two_sites_of_an_address_together() {
    let leases = ["a", "b", "c"].map(|name| open_lease(&format!("{name}.example"), &["/1"], ""));
    let mut bench = Bench::with(leases.into());
    bench.shared = Some(address(1));
    let first = bench.visit(START);
    assert_eq!(bench.wait(START), at(500), "nobody knows yet when it went out");
    let late = answer(&first, 200, at(200));
    bench.bench.release(first.id, Ok(&late), at(210));
    assert_eq!(bench.wait(at(210)), at(450), "a quarter of a second after it went out");
    let second = bench.visit(at(450));
    bench.answer(&second, 200, at(460));
    assert_eq!(bench.wait(at(699)), at(700));
    bench.visit(at(700));
}

#[test]
fn a_site_that_never_answers_holds_its_address_for_twice_the_pause_only() {
    let leases = ["a", "b"].map(|name| open_lease(&format!("{name}.example"), &["/1"], ""));
    let mut bench = Bench::with(leases.into());
    bench.shared = Some(address(1));
    let silent = bench.visit(START);
    let other = bench.visit(at(500));
    assert_ne!(silent.url.host(), other.url.host());
}

#[test]
fn delay_zero_lifts_every_pause_but_not_what_the_server_says() {
    let options = Options::default().with_pause(Duration::ZERO);
    let mut bench = Bench::new(options);
    bench.shared = Some(address(1));
    let delay = "User-agent: *\nCrawl-delay: 10\n";
    bench.bench.add(open_lease("a.example", &["/1", "/2", "/3", "/4"], delay), START);
    bench.bench.add(open_lease("b.example", &["/1"], ""), START);
    let (first, second) = (bench.visit(START), bench.visit(START));
    let (a, b) = if first.url.host() == "a.example" { (first, second) } else { (second, first) };
    bench.answer(&b, 200, START);
    bench.answer_with(&a, 500, &[], Duration::from_secs(9), START);
    let visit = bench.visit(START);
    bench.fail(&visit, FailureKind::Timeout, START);
    let visit = bench.visit(START);
    bench.answer(&visit, 503, START);
    assert_eq!(bench.wait(START), at(5000), "503 backs off");
    let visit = bench.visit(at(5000));
    bench.answer_with(&visit, 429, &[("Retry-After", "60")], Duration::ZERO, at(5000));
    bench.bench.offer(&key("a.example"), page("http://a.example/5", 1), at(5000));
    assert_eq!(bench.wait(at(5000)), at(65_000), "Retry-After holds");
}

#[test]
fn more_connections_still_start_a_pause_apart() {
    let mut bench = Bench::new(Options { connections: 2, ..Options::default() });
    bench.bench.add(open_lease("a.example", &["/1", "/2", "/3"], ""), START);
    let first = bench.visit(START);
    assert_eq!(bench.wait(START), at(2000));
    bench.visit(at(2000));
    bench.idle(at(4000));
    bench.answer(&first, 200, at(5000));
    bench.visit(at(5000));
}

#[test]
fn the_number_of_visits_in_all_is_bounded_and_may_change() {
    let leases = ["a", "b", "c"].map(|name| open_lease(&format!("{name}.example"), &["/1"], ""));
    let mut bench = Bench::new(Options { fetches_max: 1, ..Options::default() });
    leases.into_iter().for_each(|lease| bench.bench.add(lease, START));
    bench.visit(START);
    bench.idle(START);
    bench.bench.set_fetches_max(2);
    bench.visit(START);
    bench.idle(START);
    assert_eq!(bench.bench.in_flight(), 2);
}

#[test]
fn big_sites_may_have_a_shorter_pause() {
    let options = Options { pause_big: Some(Duration::from_secs(1)), ..Options::default() };
    for (known, pause) in [(99, 2000), (100, 1000)] {
        let mut bench = Bench::new(options.clone());
        let mut lease = open_lease("a.example", &["/1", "/2"], "");
        lease.site.counters.known = known;
        bench.bench.add(lease, START);
        let visit = bench.visit(START);
        bench.answer(&visit, 200, START);
        assert_eq!(bench.wait(START), at(pause));
    }
}

#[test]
fn a_stored_clock_goes_on_where_it_was_and_freezes_nobody_for_ever() {
    let check = |remaining: u64, saved: Timestamp, interrupted: bool, expected: u64| {
        let mut bench = Bench::new(Options::default());
        let mut lease = open_lease("a.example", &["/1"], "");
        let remaining = Duration::from_secs(remaining);
        lease.site.clock = SiteClock { remaining, saved, interrupted, ..SiteClock::default() };
        bench.bench.add(lease, START);
        if expected == 0 {
            bench.visit(START);
        } else {
            assert_eq!(bench.wait(START), at(expected * 1000));
        }
    };
    check(100, START, false, 100);
    check(100, START.minus(Duration::from_secs(40)), false, 60);
    check(100, START.minus(Duration::from_secs(400)), false, 0);
    // The wall clock went back ten years: not ten years of waiting.
    check(100, START.plus(Duration::from_secs(300_000_000)), false, 100);
    check(300_000_000, START, false, 24 * 3600);
    check(0, START, true, 2);
    check(100, START, true, 100);
}

#[test]
fn what_is_stored_is_what_remains() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let visit = bench.visit(START);
    let released = bench.answer(&visit, 503, at(500));
    assert_eq!(released.clock.saved, at(500));
    assert_eq!(released.clock.remaining, Duration::from_secs(5));
    assert_eq!((released.clock.backoff, released.clock.interrupted), (1, false));
    let removed = bench.bench.remove(&key("a.example"), at(1500)).expect("in hand");
    assert_eq!(removed.clock.remaining, Duration::from_secs(4));
    assert_eq!(removed.pages.len(), 1);
    assert_eq!((removed.site.fence, bench.bench.pages_in_hand()), (7, 0));
}

#[test]
fn a_site_given_back_and_taken_again_keeps_its_clock() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let visit = bench.visit(START);
    bench.answer(&visit, 200, at(100));
    assert!(bench.bench.remove(&key("a.example"), at(100)).is_some());
    bench.bench.add(open_lease("a.example", &["/2"], ""), at(200));
    assert_eq!(bench.wait(at(200)), at(2000));
}
