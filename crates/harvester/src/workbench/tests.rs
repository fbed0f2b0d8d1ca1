//! Every rule of politeness, one by one.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use model::{
    Condition, CrawlUrl, Exchange, FailureKind, FetchFailure, Fingerprint, Headers, LastVersion,
    Origin, Page, PageState, Purpose, Resolution, RobotsAnswer, RobotsCopy, Site, SiteClock,
    SiteCounters, SiteId, SiteKey, SiteLease, Spent, SpiderId, Timestamp, Timing,
};

use super::{
    Assignment, AssignmentId, Drained, Known, Note, Offered, Options, Reason, Released, Step,
    Workbench,
};
use crate::failure::PageAfter;

pub(super) const START: Timestamp = Timestamp(1_800_000_000_000);

pub(super) fn at(ms: u64) -> Timestamp {
    START.plus(Duration::from_millis(ms))
}

pub(super) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("valid url")
}

pub(super) fn page(text: &str, level: u16) -> Page {
    Page {
        habit: model::Habit::default(),
        children: None,
        url: url(text),
        spider: SpiderId(0),
        state: PageState::Known,
        level,
        hops: 0,
        seed: false,
        terms: model::PageTerms::default(),
        due: START,
        failures: 0,
        last: None,
    }
}

pub(super) fn fetched_page(text: &str, level: u16) -> Page {
    let last = LastVersion {
        whole: true,
        visited: START,
        condition: Condition { etag: Some("\"1\"".to_owned()), last_modified: None },
        record_date: START,
        ..LastVersion::default()
    };
    Page { last: Some(last), state: PageState::Fetched, ..page(text, level) }
}

pub(super) fn rules(origin: &str, text: &str) -> RobotsCopy {
    RobotsCopy {
        origin: Origin::stored(origin),
        answer: RobotsAnswer::Rules(text.to_owned()),
        fetched: START,
        expires: START.plus(Duration::from_secs(24 * 3600)),
        unreachable_since: None,
        etag: Some("\"r\"".to_owned()),
        last_modified: None,
    }
}

pub(super) fn lease(host: &str, pages: Vec<Page>, robots: Vec<RobotsCopy>) -> SiteLease {
    SiteLease {
        site: Site {
            habit: model::SiteHabit::default(),
            traps: model::SiteTraps::default(),
            id: SiteId(1),
            key: SiteKey::stored(host),
            seeded: true,
            counters: SiteCounters::default(),
            clock: SiteClock::default(),
            robots,
        },
        fence: 7,
        until: at(1_000_000),
        pages,
        known: Some(Vec::new()),
        more: false,
        domain: Default::default(),
        worked_today: Default::default(),
    }
}

/// A lease of `host` with these paths at level 0 and a robots.txt that says `text`.
pub(super) fn open_lease(host: &str, paths: &[&str], text: &str) -> SiteLease {
    let origin = format!("http://{host}");
    let pages = paths.iter().map(|path| page(&format!("{origin}{path}"), 0)).collect();
    lease(host, pages, vec![rules(&origin, text)])
}

pub(super) fn answer(assignment: &Assignment, status: u16, started: Timestamp) -> Exchange {
    Exchange {
        url: assignment.url.clone(),
        purpose: assignment.purpose,
        started,
        address: assignment.addresses.first().copied(),
        request_head: Default::default(),
        response_head: Default::default(),
        status,
        headers: Headers::new(),
        wire_body: Default::default(),
        entity: Default::default(),
        body: Default::default(),
        stopped: None,
        met: Vec::new(),
        timing: Timing::default(),
        protocol: Default::default(),
    }
}

pub(super) fn failure(kind: FailureKind) -> FetchFailure {
    let detail = "it did not work".to_owned();
    FetchFailure { kind, detail, met: None, address: None, timing: Timing::default() }
}

pub(super) fn address(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, number])
}

pub(super) struct Bench {
    pub(super) bench: Workbench,
    /// The address of every name; `None`: one per host name's first letter.
    pub(super) shared: Option<IpAddr>,
    started: HashMap<AssignmentId, Timestamp>,
}

impl Bench {
    pub(super) fn new(options: Options) -> Bench {
        Bench {
            bench: Workbench::new(options, Spent::default()),
            shared: None,
            started: HashMap::new(),
        }
    }

    pub(super) fn with(leases: Vec<SiteLease>) -> Bench {
        let mut bench = Bench::new(Options::default());
        leases.into_iter().for_each(|lease| bench.bench.add(lease, START));
        bench
    }

    /// The next step, names resolved on the way.
    pub(super) fn step(&mut self, now: Timestamp) -> Step {
        loop {
            match self.bench.acquire(now) {
                Step::Resolve(site) => {
                    let own = address(site.as_str().as_bytes()[0]);
                    let resolution = Resolution {
                        addresses: vec![self.shared.unwrap_or(own)],
                        expires: START.plus(Duration::from_secs(1_000_000)),
                    };
                    self.bench.resolved(&site, Ok(resolution), now);
                }
                step => return step,
            }
        }
    }

    pub(super) fn visit(&mut self, now: Timestamp) -> Assignment {
        match self.step(now) {
            Step::Visit(assignment) => {
                self.started.insert(assignment.id, now);
                *assignment
            }
            step => panic!("no visit at {now:?} but {step:?}"),
        }
    }

    pub(super) fn wait(&mut self, now: Timestamp) -> Timestamp {
        match self.step(now) {
            Step::Wait(until) => until,
            step => panic!("no wait at {now:?} but {step:?}"),
        }
    }

    pub(super) fn idle(&mut self, now: Timestamp) {
        let step = self.step(now);
        assert!(matches!(step, Step::Idle), "not idle at {now:?} but {step:?}");
    }

    /// Answers with a plain status, gathered at once.
    pub(super) fn answer(
        &mut self,
        assignment: &Assignment,
        status: u16,
        now: Timestamp,
    ) -> Released {
        self.answer_with(assignment, status, &[], Duration::ZERO, now)
    }

    pub(super) fn answer_with(
        &mut self,
        assignment: &Assignment,
        status: u16,
        headers: &[(&str, &str)],
        took: Duration,
        now: Timestamp,
    ) -> Released {
        let mut exchange = answer(assignment, status, self.started[&assignment.id]);
        headers.iter().for_each(|(name, value)| exchange.headers.push(name, value));
        exchange.timing.first_byte = took;
        let released = self.bench.release(assignment.id, Ok(&exchange), now);
        if let Some(page) = &assignment.page {
            self.bench.gathered(&assignment.site.key, page.url.fingerprint(), now);
        }
        released
    }

    pub(super) fn robots(
        &mut self,
        assignment: &Assignment,
        text: &str,
        now: Timestamp,
    ) -> Released {
        assert_eq!(assignment.purpose, Purpose::Robots);
        let mut exchange = answer(assignment, 200, self.started[&assignment.id]);
        exchange.body = text.to_owned().into();
        self.bench.release(assignment.id, Ok(&exchange), now)
    }

    pub(super) fn fail(
        &mut self,
        assignment: &Assignment,
        kind: FailureKind,
        now: Timestamp,
    ) -> Released {
        self.bench.release(assignment.id, Err(&failure(kind)), now)
    }

    pub(super) fn reasons(&mut self) -> Vec<Reason> {
        self.bench.drained().into_iter().map(|Drained { reason, .. }| reason).collect()
    }
}

pub(super) fn key(host: &str) -> SiteKey {
    SiteKey::stored(host)
}

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

#[test]
fn robots_txt_comes_first_and_obeys_the_clock() {
    let pages = vec![page("http://a.example/1", 0), page("https://a.example/2", 0)];
    let mut bench = Bench::with(vec![lease("a.example", pages, Vec::new())]);
    let robots = bench.visit(START);
    assert_eq!(robots.url.as_str(), "http://a.example/robots.txt");
    bench.idle(at(5000));
    let released = bench.robots(&robots, "User-agent: *\nDisallow: /x\n", at(100));
    assert!(matches!(released.robots.expect("a copy").answer, RobotsAnswer::Rules(_)));
    assert_eq!(bench.wait(at(100)), at(2000));
    let first = bench.visit(at(2000));
    assert_eq!(first.url.as_str(), "http://a.example/1");
    bench.answer(&first, 200, at(2000));
    let other = bench.visit(at(4000));
    assert_eq!(other.url.as_str(), "https://a.example/robots.txt", "each origin its own");
}

#[test]
fn robots_txt_is_asked_for_again_after_a_day_conditionally() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let day = 24 * 3600 * 1000;
    let robots = bench.visit(at(day));
    assert_eq!(robots.purpose, Purpose::Robots);
    assert_eq!(robots.condition.clone().and_then(|c| c.etag).as_deref(), Some("\"r\""));
    let released = bench.answer(&robots, 304, at(day));
    assert_eq!(released.robots.expect("renewed").expires, at(2 * day));
    assert_eq!(bench.visit(at(day + 2000)).url.path(), "/1");
}

#[test]
fn a_forbidden_page_is_excluded_without_a_request() {
    let text = "User-agent: *\nDisallow: /x\n";
    let mut bench = Bench::with(vec![open_lease("a.example", &["/x/1", "/y"], text)]);
    let Step::Exclude(excluded) = bench.step(START) else { panic!("not excluded") };
    assert_eq!(excluded.page.url.path(), "/x/1");
    assert_eq!(excluded.refusal.rule, "robots.txt: Disallow: /x");
    assert_eq!(bench.visit(START).url.path(), "/y");
}

#[test]
fn a_robots_redirect_obeys_the_clock_of_the_other_host_and_binds_the_first() {
    let pages = vec![page("http://a.example/1", 0)];
    let mut bench = Bench::with(vec![
        lease("a.example", pages, Vec::new()),
        open_lease("b.example", &["/1", "/2"], ""),
    ]);
    let (mut robots, mut other) = (bench.visit(START), bench.visit(START));
    if robots.purpose != Purpose::Robots {
        std::mem::swap(&mut robots, &mut other);
    }
    bench.answer_with(&robots, 301, &[("Location", "http://b.example/r")], Duration::ZERO, at(10));
    bench.idle(at(1000));
    bench.answer(&other, 200, at(3000));
    let hop = bench.visit(at(3000));
    let next = bench.step(at(3000));
    assert!(matches!(next, Step::Idle), "one connection to b, whoever asks: {next:?}");
    let (hop, page_of_b) = match hop.purpose {
        Purpose::Robots => {
            bench.robots(&hop, "User-agent: *\nDisallow: /1\n", at(3100));
            (hop, None)
        }
        _ => {
            bench.answer(&hop, 200, at(3100));
            let second = bench.visit(at(5000));
            bench.robots(&second, "User-agent: *\nDisallow: /1\n", at(5000));
            (second, Some(hop))
        }
    };
    assert_eq!(hop.url.as_str(), "http://b.example/r");
    assert_eq!(hop.site.key, key("a.example"));
    assert!(matches!(bench.step(at(5000)), Step::Exclude(e) if e.site.key == key("a.example")));
    if page_of_b.is_none() {
        assert_eq!(bench.visit(at(5000)).url.host(), "b.example");
    }
}

#[test]
fn an_unreachable_robots_txt_holds_the_pages_and_hands_the_site_back() {
    let pages = vec![page("http://a.example/1", 0)];
    let mut bench = Bench::with(vec![lease("a.example", pages, Vec::new())]);
    let robots = bench.visit(START);
    let released = bench.fail(&robots, FailureKind::ConnectRefused, START);
    assert!(matches!(released.robots.expect("told").answer, RobotsAnswer::Unreachable { .. }));
    assert_eq!(bench.reasons(), [Reason::RobotsUnreachable(at(60_000))]);
    assert_eq!(bench.wait(START), at(60_000));
    let again = bench.visit(at(60_000));
    assert_eq!(again.purpose, Purpose::Robots);
}

#[test]
fn rules_read_earlier_stay_in_use_while_the_server_is_unreachable() {
    let mut bench =
        Bench::with(vec![open_lease("a.example", &["/x", "/y"], "User-agent: *\nDisallow: /x")]);
    let day = 24 * 3600 * 1000;
    let robots = bench.visit(at(day));
    bench.answer(&robots, 503, at(day));
    assert!(matches!(bench.step(at(day + 5000)), Step::Exclude(_)));
    assert_eq!(bench.visit(at(day + 5000)).url.path(), "/y");
}

#[test]
fn a_name_that_does_not_resolve_fails_the_visit_before_it_begins() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let Step::Resolve(site) = bench.bench.acquire(START) else { panic!("no resolve") };
    assert!(matches!(bench.bench.acquire(START), Step::Idle));
    bench.bench.resolved(&site, Err(failure(FailureKind::DnsUnknown)), START);
    let Step::Failed(assignment, told, released) = bench.bench.acquire(START) else {
        panic!("no failure")
    };
    assert_eq!(told.kind, FailureKind::DnsUnknown);
    assert_eq!(assignment.page.expect("page").url.path(), "/1");
    assert!(matches!(released.page, Some(PageAfter::Retry { .. })));
    assert_eq!(bench.reasons(), [Reason::Done]);
    assert_eq!(bench.bench.in_flight(), 0);
}

#[test]
fn all_pages_of_a_name_that_is_not_registered_are_closed_at_once() {
    let paths: Vec<String> = (0..20).map(|n| format!("/{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut bench = Bench::with(vec![open_lease("a.example", &paths, "")]);
    let mut closed = 0;
    loop {
        match bench.bench.acquire(START) {
            // The resolver remembers a no, and asks nobody again.
            Step::Resolve(site) => {
                bench.bench.resolved(&site, Err(failure(FailureKind::DnsUnknown)), START);
            }
            Step::Failed(_, told, _) => {
                assert_eq!(told.kind, FailureKind::DnsUnknown);
                closed += 1;
            }
            _ => break,
        }
    }
    assert_eq!(closed, 20);
}

#[test]
fn a_name_is_resolved_again_when_its_time_is_over() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let Step::Resolve(site) = bench.bench.acquire(START) else { panic!("no resolve") };
    let resolution = Resolution { addresses: vec![address(1)], expires: at(1) };
    bench.bench.resolved(&site, Ok(resolution), START);
    assert!(matches!(bench.bench.acquire(at(1)), Step::Resolve(_)));
}

#[test]
fn pages_go_out_level_by_level_and_wait_for_the_links_of_the_level_before() {
    let mut bench = Bench::new(Options::default().with_pause(Duration::ZERO));
    bench.bench.add(open_lease("a.example", &["/"], ""), START);
    let site = key("a.example");
    let root = bench.visit(START);
    bench.bench.offer(&site, page("http://a.example/deep", 2), START);
    let exchange = answer(&root, 200, START);
    bench.bench.release(root.id, Ok(&exchange), START);
    bench.idle(START);
    bench.bench.offer(&site, page("http://a.example/one", 1), START);
    bench.idle(START);
    bench.bench.gathered(&site, root.url.fingerprint(), START);
    let one = bench.visit(START);
    assert_eq!(one.url.path(), "/one");
    bench.answer(&one, 200, START);
    assert_eq!(bench.visit(START).url.path(), "/deep");
}

#[test]
fn a_shorter_way_to_a_waiting_page_lowers_it() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/"], "")]);
    let site = key("a.example");
    let offer = |bench: &mut Bench, path: &str, level| {
        bench.bench.offer(&site, page(&format!("http://a.example{path}"), level), START)
    };
    assert_eq!(offer(&mut bench, "/x", 5), Offered::Queued);
    assert_eq!(offer(&mut bench, "/y", 3), Offered::Queued);
    assert_eq!(offer(&mut bench, "/x", 2), Offered::Lowered);
    assert_eq!(offer(&mut bench, "/x", 4), Offered::Known);
    let order: Vec<(String, u16)> = (0..3)
        .map(|n| {
            let visit = bench.visit(at(n * 2000));
            bench.answer(&visit, 200, at(n * 2000));
            let page = visit.page.expect("page");
            (page.url.path().to_owned(), page.level)
        })
        .collect();
    assert_eq!(order, [("/".to_owned(), 0), ("/x".to_owned(), 2), ("/y".to_owned(), 3)]);
    assert_eq!(offer(&mut bench, "/x", 0), Offered::Known, "visited is known");
}

#[test]
fn what_is_known_is_told_exactly_or_as_unsure() {
    let mut whole = open_lease("a.example", &["/1"], "");
    whole.known = Some(vec![Fingerprint(5)]);
    let mut part = open_lease("b.example", &["/1"], "");
    part.known = None;
    let bench = Bench::with(vec![whole, part]).bench;
    let one = |host: &str| url(&format!("http://{host}/1")).fingerprint();
    let known = |host: &str, fp| bench.known(&key(host), fp);
    assert_eq!(known("a.example", Fingerprint(5)), Known::Yes);
    assert_eq!(known("a.example", one("a.example")), Known::Yes);
    assert_eq!(known("a.example", Fingerprint(6)), Known::No);
    assert_eq!(known("b.example", one("b.example")), Known::Yes);
    assert_eq!(known("b.example", Fingerprint(6)), Known::Unsure);
    assert_eq!(known("c.example", Fingerprint(6)), Known::Unsure);
}

#[test]
fn a_full_queue_sends_the_rest_back_to_the_global_frontier() {
    let mut bench = Bench::new(Options { site_queue_max: 2, ..Options::default() });
    bench.bench.add(open_lease("a.example", &["/1"], ""), START);
    let site = key("a.example");
    let offer = |bench: &mut Bench, path: &str, level| {
        bench.bench.offer(&site, page(&format!("http://a.example{path}"), level), START)
    };
    assert_eq!(offer(&mut bench, "/2", 2), Offered::Queued);
    assert_eq!(offer(&mut bench, "/3", 1), Offered::Full);
    assert_eq!(bench.bench.pages_in_hand(), 2);
    let first = bench.visit(START);
    bench.answer(&first, 200, START);
    assert_eq!(bench.reasons(), [Reason::NeedsRefill], "level 1 before level 2");
    bench.bench.refill(&site, vec![page("http://a.example/3", 1)], false, START);
    assert_eq!(bench.visit(at(2000)).url.path(), "/3");
}

#[test]
fn a_drained_site_says_why() {
    let mut more = open_lease("a.example", &["/1"], "");
    more.more = true;
    let mut bench = Bench::with(vec![more, open_lease("b.example", &["/1"], "")]);
    let visits = [bench.visit(START), bench.visit(START)];
    for visit in &visits {
        bench.bench.release(visit.id, Ok(&answer(visit, 200, START)), START);
    }
    assert!(bench.reasons().is_empty(), "not before its links are offered");
    for visit in &visits {
        bench.bench.gathered(&visit.site.key, visit.url.fingerprint(), START);
    }
    assert_eq!(bench.reasons(), [Reason::NeedsRefill, Reason::Done]);
    assert!(bench.reasons().is_empty(), "told once");
    bench.bench.refill(&key("a.example"), Vec::new(), false, START);
    assert_eq!(bench.reasons(), [Reason::Done]);
}

#[test]
fn a_retry_waits_for_its_moment_and_does_not_hold_up_the_next_level() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let site = key("a.example");
    let first = bench.visit(START);
    let released = bench.answer(&first, 404, START);
    assert!(matches!(released.page, Some(PageAfter::GiveUp { state: PageState::Gone })));
    let again = Page { due: at(30_000), failures: 1, ..page("http://a.example/1", 0) };
    bench.bench.retry(&site, again, START);
    bench.bench.offer(&site, page("http://a.example/2", 1), START);
    assert_eq!(bench.visit(at(2000)).url.path(), "/2");
    bench.idle(at(2000));
}

#[test]
fn limits_are_exact_slots_come_back_and_revisits_are_free() {
    let mut bench = Bench::new(Options {
        pages_max: Some(2),
        connections: 5,
        ..Options::default().with_pause(Duration::ZERO)
    });
    let mut lease = open_lease("a.example", &["/1", "/2", "/3", "/4"], "");
    lease.pages.push(fetched_page("http://a.example/old", 1));
    bench.bench.add(lease, START);
    let (one, two) = (bench.visit(START), bench.visit(START));
    bench.idle(START);
    bench.answer(&one, 404, START);
    let three = bench.visit(START);
    bench.answer(&two, 200, START);
    assert!(!bench.bench.limit_reached());
    bench.answer(&three, 200, START);
    assert!(bench.bench.limit_reached());
    let old = bench.visit(START);
    assert_eq!(old.url.path(), "/old");
    assert!(old.condition.is_some());
    bench.answer(&old, 304, START);
    assert_eq!(bench.reasons(), [Reason::Limit]);
    assert_eq!(bench.bench.spent().pages, 2);
}

#[test]
fn a_site_limit_counts_what_was_fetched_before_and_leaves_other_sites_alone() {
    let mut bench = Bench::new(Options { site_pages_max: Some(3), ..Options::default() });
    let mut full = open_lease("a.example", &["/1", "/2"], "");
    full.site.counters.fetched = 2;
    bench.bench.add(full, START);
    bench.bench.add(open_lease("b.example", &["/1"], ""), START);
    let visits = [bench.visit(START), bench.visit(START)];
    visits.iter().for_each(|visit| drop(bench.answer(visit, 200, START)));
    let mut reasons = bench.reasons();
    reasons.sort_by_key(|reason| *reason == Reason::Done);
    assert_eq!(reasons, [Reason::Limit, Reason::Done]);
}

#[test]
fn a_site_waiting_for_a_slot_of_another_is_woken() {
    let mut bench = Bench::new(Options { pages_max: Some(1), ..Options::default() });
    bench.bench.add(open_lease("a.example", &["/1"], ""), START);
    bench.bench.add(open_lease("b.example", &["/1"], ""), START);
    let first = bench.visit(START);
    bench.idle(START);
    assert!(bench.reasons().is_empty());
    bench.fail(&first, FailureKind::Reset, START);
    let second = bench.visit(START);
    assert_ne!(second.site.key, first.site.key);
}

fn part(text: &str, level: u16) -> Page {
    let terms = model::PageTerms { requisite: true, ..model::PageTerms::default() };
    Page { terms, ..page(text, level) }
}

#[test]
fn parts_of_pages_need_no_slot_and_take_none() {
    let mut bench =
        Bench::new(Options { pages_max: Some(1), ..Options::default().with_pause(Duration::ZERO) });
    let mut lease = open_lease("a.example", &["/1", "/2"], "");
    lease.pages.push(part("http://a.example/x.png", 0));
    lease.pages.push(part("http://a.example/y.png", 0));
    bench.bench.add(lease, START);
    let order: Vec<String> = (0..3)
        .map(|_| {
            let visit = bench.visit(START);
            bench.answer(&visit, 200, START);
            visit.url.path().to_owned()
        })
        .collect();
    assert_eq!(order, ["/1", "/x.png", "/y.png"]);
    assert_eq!(bench.reasons(), [Reason::Limit]);
    assert_eq!(bench.bench.spent().pages, 1);
}

#[test]
fn a_waiting_part_that_is_linked_to_is_visited_as_a_page() {
    let mut lease = open_lease("a.example", &["/1"], "");
    lease.pages.push(part("http://a.example/x", 0));
    let mut bench = Bench::with(vec![lease]);
    let (site, x) = (key("a.example"), page("http://a.example/x", 1));
    assert_eq!(bench.bench.offer(&site, part("http://a.example/x", 0), START), Offered::Known);
    assert_eq!(bench.bench.offer(&site, x.clone(), START), Offered::Lowered);
    let first = bench.visit(START);
    bench.answer(&first, 200, START);
    let second = bench.visit(at(2_000));
    assert_eq!(second.page, Some(x.clone()));
    // A part that was visited is no page yet: a link to it is to be taken up.
    bench.answer(&second, 200, at(2_000));
    assert_eq!(bench.bench.known(&site, x.url.fingerprint()), Known::Yes);
    bench.bench.refill(&site, vec![part("http://a.example/y", 1)], false, at(4_000));
    let third = bench.visit(at(4_000));
    assert_eq!(bench.bench.known(&site, third.url.fingerprint()), Known::Yes);
    bench.answer(&third, 200, at(4_000));
    assert_eq!(bench.bench.known(&site, third.url.fingerprint()), Known::No);
}

#[test]
fn after_stop_nothing_goes_out_and_what_is_out_may_end() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1", "/2"], "")]);
    let visit = bench.visit(START);
    bench.bench.stop();
    let released = bench.fail(&visit, FailureKind::Aborted, START);
    assert_eq!(released.page, Some(PageAfter::Unchanged));
    assert_eq!(released.clock.backoff, 0);
    bench.idle(at(100_000));
}

#[test]
#[should_panic(expected = "not under way")]
fn releasing_twice_is_a_mistake_that_is_not_hidden() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let stranger = Assignment { id: AssignmentId(99), ..bench.visit(START) };
    bench.fail(&stranger, FailureKind::Reset, START);
}

#[test]
fn ten_thousand_sites_cost_no_more_each_than_a_few() {
    let began = busy();
    let mut bench = Bench::new(Options { fetches_max: 20_000, ..Options::default() });
    for n in 0..10_000 {
        let host = format!("h{n}.example");
        bench.bench.add(open_lease(&host, &["/1", "/2"], ""), START);
    }
    bench.shared = Some(address(1));
    let mut now = START;
    let mut visits = 0;
    while visits < 20_000 {
        match bench.step(now) {
            Step::Visit(visit) => {
                bench.bench.release(visit.id, Ok(&answer(&visit, 200, now)), now);
                bench.bench.gathered(&visit.site.key, visit.url.fingerprint(), now);
                visits += 1;
            }
            Step::Wait(until) => now = until,
            step => panic!("{step:?} after {visits} visits"),
        }
    }
    // All on one address: 20,000 visits an eighth of the pause apart, but for two of a site in a row.
    assert!(now.since(START) > Duration::from_secs(4000));
    // Debug builds take about 1 s; anything quadratic takes minutes.
    let Some(took) = busy().zip(began).map(|(ended, began)| ended - began) else { return };
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// For how long this thread has had a processor, which does not depend on what else the machine does. Only Linux tells.
fn busy() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
