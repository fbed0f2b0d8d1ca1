//! Every rule of politeness, one by one.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use model::{
    Condition, Exchange, FailureKind, FetchFailure, Fingerprint, LastVersion, Origin, Page,
    PageState, Purpose, Resolution, RobotsAnswer, RobotsCopy, Site, SiteClock, SiteCounters,
    SiteId, SiteKey, SiteLease, Spent, Timestamp,
    testing::{self, url},
};

use super::{
    Assignment, AssignmentId, Drained, Known, Note, Offered, Options, Reason, Released, Step,
    Workbench,
};
use crate::failure::PageAfter;

mod clock;
mod limits;
mod robots;

pub(super) const START: Timestamp = Timestamp(1_800_000_000_000);

pub(super) fn at(ms: u64) -> Timestamp {
    START.plus(Duration::from_millis(ms))
}

pub(super) fn page(text: &str, level: u16) -> Page {
    Page { level, due: START, ..testing::page(text) }
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
    let (url, address) = (assignment.url.clone(), assignment.addresses.first().copied());
    let answer = testing::exchange(status, &[], b"");
    Exchange { url, purpose: assignment.purpose, started, address, ..answer }
}

pub(super) fn failure(kind: FailureKind) -> FetchFailure {
    let detail = "it did not work".to_owned();
    FetchFailure::new(kind, detail)
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
