//! Spiders that share sites: lanes, limits, pauses and turns, one by one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use model::{FailureKind, FetchFailure, Page, SiteKey, Spent, SpiderId, Timestamp};

use super::{
    Assignment, LimitInAll, Options, Reason, SiteTerms, SpiderLimits, Terms, Workbench,
    tests::{Bench, START, answer, at, failure, fetched_page, key, lease, open_lease, page, rules},
};

const A: SpiderId = SpiderId(1);
const B: SpiderId = SpiderId(2);

/// Terms by spider; pages whose path has `!` are important.
#[derive(Clone, Default)]
struct Book(HashMap<SpiderId, SiteTerms>);

impl Terms for Book {
    fn of(&self, spider: SpiderId, _site: &SiteKey) -> SiteTerms {
        self.0.get(&spider).cloned().unwrap_or_else(free)
    }

    fn importance(&self, page: &Page) -> f32 {
        if page.url.path().contains('!') { 5.0 } else { 1.0 }
    }
}

/// No pause, no limit, answers of at most 100 bytes.
fn free() -> SiteTerms {
    SiteTerms {
        pause: Duration::ZERO,
        pause_big: None,
        big_site_pages: 0,
        connections: 9,
        pages_max: None,
        bytes_max: None,
        domain_pages_max: None,
        visit_time_max: None,
        day_time_max: None,
        answer_bytes_max: 100,
    }
}

fn options() -> Options {
    Options::default().with_pause(Duration::ZERO)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn bench(options: Options, terms: &[(SpiderId, SiteTerms)]) -> Bench {
    let mut bench = Bench::new(options.clone());
    let book = Book(terms.iter().cloned().collect());
    bench.bench = Workbench::new(options, Spent::default()).with_terms(Arc::new(book));
    bench
}

fn of(spider: SpiderId, page: Page) -> Page {
    Page { spider, ..page }
}

/// Adds `host` with pages of spiders, all at level 0 unless the path begins with digits of its level.
fn add(bench: &mut Bench, host: &str, pages: &[(SpiderId, &str)]) {
    let level = |path: &str| path[1..2].parse().unwrap_or(0);
    let pages = pages
        .iter()
        .map(|(spider, path)| of(*spider, page(&format!("http://{host}{path}"), level(path))));
    let robots = vec![rules(&format!("http://{host}"), "")];
    bench.bench.add(lease(host, pages.collect(), robots), START);
}

fn set(bench: &mut Bench, spider: SpiderId, limits: SpiderLimits) {
    bench.bench.set_spider(spider, limits, None, START);
}

/// An answer of this many bytes, gathered.
fn bring(bench: &mut Bench, visit: &Assignment, bytes: usize, now: Timestamp) {
    let mut exchange = answer(visit, 200, now);
    exchange.wire_body = vec![0; bytes].into();
    bench.bench.release(visit.id, Ok(&exchange), now);
    bench.bench.gathered(&visit.site.key, visit.url.fingerprint(), now);
}

fn full(bench: &mut Bench) -> Vec<(Reason, Vec<SpiderId>)> {
    bench.bench.drained().into_iter().map(|drained| (drained.reason, drained.full)).collect()
}

#[test]
fn of_one_level_the_more_important_pages_go_first_whoever_wants_them() {
    let mut bench = bench(options(), &[]);
    add(&mut bench, "a.example", &[(A, "/0"), (A, "/1!"), (B, "/0!"), (B, "/1")]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let visit = bench.visit(START);
        seen.push((visit.spider, visit.url.path().to_owned()));
        bring(&mut bench, &visit, 1, START);
    }
    let expected = [(B, "/0!"), (A, "/0"), (A, "/1!"), (B, "/1")];
    assert_eq!(seen, expected.map(|(spider, path)| (spider, path.to_owned())));
}

#[test]
fn a_level_is_awaited_within_a_lane_only() {
    let mut bench = bench(options(), &[]);
    add(&mut bench, "a.example", &[(A, "/0"), (A, "/1"), (B, "/2")]);
    let first = bench.visit(START);
    assert_eq!(first.spider, A);
    let other = bench.visit(START);
    assert_eq!(other.spider, B, "links followed by another spider are no reason to wait");
    bench.idle(START);
    bring(&mut bench, &first, 1, START);
    assert_eq!(bench.visit(START).url.path(), "/1");
}

#[test]
fn a_paused_spider_gets_nothing_and_holds_up_nobody() {
    let mut bench = bench(options(), &[]);
    add(&mut bench, "a.example", &[(A, "/0"), (B, "/1")]);
    set(&mut bench, A, SpiderLimits { paused: true, ..SpiderLimits::default() });
    let visit = bench.visit(START);
    assert_eq!(visit.spider, B);
    bring(&mut bench, &visit, 1, START);
    bench.idle(START);
    assert_eq!(bench.reasons(), [Reason::Paused]);
    set(&mut bench, A, SpiderLimits::default());
    assert_eq!(bench.visit(START).spider, A);
}

#[test]
fn robots_txt_is_asked_for_on_behalf_of_a_spider_and_not_of_a_paused_one() {
    let mut bench = bench(options(), &[]);
    let pages = vec![of(A, page("http://a.example/1", 0)), of(B, page("http://a.example/2", 0))];
    bench.bench.add(lease("a.example", pages, Vec::new()), START);
    set(&mut bench, A, SpiderLimits { paused: true, ..SpiderLimits::default() });
    assert_eq!(bench.visit(START).spider, B);
}

#[test]
fn a_spider_has_no_more_visits_under_way_than_it_may_and_every_site_has_its_turn() {
    let mut bench = bench(options(), &[]);
    set(&mut bench, A, SpiderLimits { fetches_max: Some(2), ..SpiderLimits::default() });
    for host in ["a.example", "b.example", "c.example", "d.example"] {
        add(&mut bench, host, &[(A, "/1"), (A, "/2")]);
    }
    let mut out = vec![bench.visit(START), bench.visit(START)];
    let mut met = Vec::new();
    while let Some(visit) = (!out.is_empty()).then(|| out.remove(0)) {
        bench.idle(START);
        met.push(visit.site.key.clone());
        bring(&mut bench, &visit, 1, START);
        if met.len() < 7 {
            out.push(bench.visit(START));
        }
    }
    assert_eq!(met.len(), 8);
    met.truncate(4);
    met.sort();
    met.dedup();
    assert!(met.len() >= 3, "who waited longest is called first: {met:?}");
}

#[test]
fn raising_the_visits_of_a_spider_wakes_who_waited() {
    let mut bench = bench(options(), &[]);
    set(&mut bench, A, SpiderLimits { fetches_max: Some(1), ..SpiderLimits::default() });
    for host in ["a.example", "b.example", "c.example"] {
        add(&mut bench, host, &[(A, "/1")]);
    }
    bench.visit(START);
    bench.idle(START);
    set(&mut bench, A, SpiderLimits { fetches_max: Some(3), ..SpiderLimits::default() });
    bench.visit(START);
    bench.visit(START);
    set(&mut bench, A, SpiderLimits { fetches_max: Some(0), ..SpiderLimits::default() });
    bench.idle(START);
}

#[test]
fn a_room_that_the_first_in_line_cannot_use_goes_to_the_next() {
    let mut bench = bench(options(), &[]);
    set(&mut bench, A, SpiderLimits { fetches_max: Some(1), ..SpiderLimits::default() });
    for host in ["a.example", "b.example", "c.example"] {
        add(&mut bench, host, &[(A, "/1")]);
    }
    let first = bench.visit(START);
    bench.idle(START);
    bring(&mut bench, &first, 1, START);
    // Called, but taken away before it was looked at.
    let others = ["a.example", "b.example", "c.example"].map(key);
    let waiting = others.into_iter().filter(|site| *site != first.site.key).collect::<Vec<_>>();
    bench.bench.remove(&waiting[0], START);
    assert_eq!(bench.visit(START).site.key, waiting[1]);
}

#[test]
fn a_full_spider_is_told_and_its_revisits_go_on() {
    let mut bench = bench(options(), &[(A, SiteTerms { pages_max: Some(1), ..free() })]);
    add(&mut bench, "a.example", &[(A, "/1"), (A, "/2"), (B, "/3")]);
    let old = of(A, fetched_page("http://a.example/old", 0));
    bench.bench.offer(&key("a.example"), old, START);
    let mut paths = Vec::new();
    for _ in 0..3 {
        let visit = bench.visit(START);
        bring(&mut bench, &visit, 1, START);
        paths.push(visit.url.path().to_owned());
    }
    paths.sort();
    assert_eq!(paths, ["/1", "/3", "/old"]);
    assert_eq!(full(&mut bench), [(Reason::Limit, vec![A])]);
    let removed = bench.bench.remove(&key("a.example"), START).expect("in hand");
    assert_eq!((removed.full, removed.pages.len()), (vec![A], 1));
}

#[test]
fn a_spiders_own_limit_counts_what_it_had_and_what_its_other_sites_bring() {
    let mut bench = bench(options(), &[]);
    let limits = SpiderLimits { pages_max: Some(5), ..SpiderLimits::default() };
    bench.bench.set_spider(A, limits, Some(Spent { pages: 3, bytes: 0 }), START);
    for host in ["a.example", "b.example", "c.example"] {
        add(&mut bench, host, &[(A, "/1"), (B, "/2")]);
    }
    let visits: Vec<Assignment> = (0..5).map(|_| bench.visit(START)).collect();
    bench.idle(START);
    assert_eq!(visits.iter().filter(|visit| visit.spider == A).count(), 2);
    let failed = visits.iter().find(|visit| visit.spider == A).expect("two of them");
    bench.fail(failed, FailureKind::Reset, START);
    let again = bench.visit(START);
    assert_eq!(again.spider, A, "a page that brought nothing returns its slot");
    for visit in visits.iter().filter(|visit| visit.id != failed.id).chain([&again]) {
        bring(&mut bench, visit, 1, START);
    }
    assert_eq!(bench.bench.spent_by(A).pages, 5);
    assert_eq!(bench.bench.spent_by(B).pages, 3);
    bench.idle(START);
}

#[test]
fn sites_of_a_domain_share_its_limit_and_the_newest_figure_is_ours() {
    let terms = SiteTerms { domain_pages_max: Some(4), ..free() };
    let mut bench = bench(options(), &[(A, terms)]);
    let lend = |host: &str, pages: u64| {
        let mut lease = open_lease(host, &["/1", "/2"], "");
        lease.pages.iter_mut().for_each(|page| page.spider = A);
        lease.domain.pages = pages;
        lease
    };
    bench.bench.add(lend("a.example.org", 2), START);
    let first = bench.visit(START);
    bring(&mut bench, &first, 1, START);
    bench.bench.add(lend("b.example.org", 2), START);
    bench.bench.add(lend("example.com", 0), START);
    let hosts = [bench.visit(START), bench.visit(START), bench.visit(START)];
    let ours = hosts.iter().filter(|visit| visit.url.host().ends_with("example.org"));
    assert_eq!(ours.count(), 1, "one of four was left");
    bench.idle(START);
}

#[test]
fn a_spider_that_is_full_on_a_shared_account_does_not_wait_for_what_others_reserve() {
    let mut bench = bench(options(), &[(A, SiteTerms { domain_pages_max: Some(1), ..free() })]);
    add(&mut bench, "a.example.org", &[(A, "/01"), (A, "/02")]);
    let visit = bench.visit(START);
    bring(&mut bench, &visit, 1, START);
    add(&mut bench, "b.example.org", &[(B, "/01")]);
    assert_eq!(bench.visit(START).spider, B);
    bench.idle(START);
    let removed = bench.bench.remove(&key("a.example.org"), START).expect("in hand");
    assert_eq!(removed.full, [A]);
}

#[test]
fn the_last_visits_under_a_byte_limit_are_cut_to_what_is_left() {
    let mut bench = bench(Options { bytes_max: Some(250), ..options() }, &[]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02"), (A, "/03"), (A, "/04")]);
    let (one, two) = (bench.visit(START), bench.visit(START));
    assert_eq!((one.wire_bytes_max, two.wire_bytes_max), (Some(100), Some(100)));
    bench.idle(START);
    bring(&mut bench, &one, 30, START);
    let three = bench.visit(START);
    assert_eq!(three.wire_bytes_max, Some(100), "what was not brought is there again");
    bring(&mut bench, &two, 100, START);
    bench.idle(START);
    bring(&mut bench, &three, 90, START);
    let four = bench.visit(START);
    assert_eq!(four.wire_bytes_max, Some(30), "nobody else may draw, so it gets the rest");
    assert!(!bench.bench.limit_reached());
    bring(&mut bench, &four, 30, START);
    assert_eq!(bench.bench.which_limit(), Some(LimitInAll::Bytes));
    assert_eq!(bench.bench.spent(), Spent { pages: 4, bytes: 250 });
}

#[test]
fn a_byte_limit_that_no_head_fits_into_is_used_up() {
    let mut bench = bench(options(), &[(A, SiteTerms { bytes_max: Some(7), ..free() })]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02")]);
    let visit = bench.visit(START);
    assert_eq!(visit.wire_bytes_max, Some(7));
    let cut = FetchFailure { wire_bytes: 7, ..failure(FailureKind::BadHttp) };
    bench.bench.release(visit.id, Err(&cut), START);
    bench.idle(START);
    assert_eq!(full(&mut bench), [(Reason::Spent, vec![A])]);
}

#[test]
fn byte_limits_bind_revisits_and_parts_of_pages_too_but_page_limits_do_not() {
    let terms = SiteTerms { bytes_max: Some(100), pages_max: Some(0), ..free() };
    let mut bench = bench(options(), &[(A, terms)]);
    let mut image = of(A, page("http://a.example/i.png", 0));
    image.terms.requisite = true;
    let old = of(A, fetched_page("http://a.example/old", 0));
    let robots = vec![rules("http://a.example", "")];
    bench.bench.add(lease("a.example", vec![image, old], robots), START);
    let visit = bench.visit(START);
    bench.idle(START);
    bring(&mut bench, &visit, 60, START);
    let visit = bench.visit(START);
    assert_eq!(visit.wire_bytes_max, Some(40));
    bring(&mut bench, &visit, 40, START);
    assert_eq!(bench.bench.spent(), Spent { pages: 0, bytes: 100 });
}

#[test]
fn a_spider_that_has_brought_all_its_bytes_says_so_and_leaves_others_alone() {
    let mut bench = bench(options(), &[]);
    let limits =
        SpiderLimits { bytes_max: Some(50), pages_max: Some(1), ..SpiderLimits::default() };
    set(&mut bench, A, limits);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02"), (B, "/03")]);
    let (one, other) = (bench.visit(START), bench.visit(START));
    assert_eq!((one.wire_bytes_max, other.wire_bytes_max), (Some(50), None));
    bring(&mut bench, &one, 20, START);
    assert_eq!(bench.bench.which_limit_of(A), Some(LimitInAll::Pages));
    let old = of(A, fetched_page("http://a.example/old", 0));
    bench.bench.offer(&key("a.example"), old, START);
    let again = bench.visit(START);
    bring(&mut bench, &again, 30, START);
    assert_eq!(bench.bench.which_limit_of(A), Some(LimitInAll::Bytes));
    assert_eq!((bench.bench.which_limit_of(B), bench.bench.which_limit()), (None, None));
    bring(&mut bench, &other, 1, START);
    assert_eq!(full(&mut bench), [(Reason::Spent, vec![A])]);
}

#[test]
fn lifting_the_limits_in_all_wakes_every_site() {
    let mut bench = bench(Options { pages_max: Some(1), ..options() }, &[]);
    add(&mut bench, "a.example", &[(A, "/1")]);
    add(&mut bench, "b.example", &[(A, "/1")]);
    let visit = bench.visit(START);
    bring(&mut bench, &visit, 1, START);
    bench.idle(START);
    assert_eq!(bench.bench.which_limit(), Some(LimitInAll::Pages));
    bench.bench.set_limits(Some(2), None);
    assert!(!bench.bench.limit_reached());
    bench.visit(START);
}

#[test]
fn the_longest_pause_of_the_spiders_of_a_site_holds_while_they_have_pages_there() {
    let pause = |length| SiteTerms { pause: seconds(length), ..free() };
    let mut bench = bench(options(), &[(A, pause(1)), (B, pause(10))]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02"), (B, "/03"), (A, "/04"), (A, "/05")]);
    let mut now = START;
    let mut gaps = Vec::new();
    for _ in 0..4 {
        let visit = bench.visit(now);
        bring(&mut bench, &visit, 1, now);
        let next = bench.wait(now);
        gaps.push(next.since(now).as_secs());
        now = next;
    }
    assert_eq!(gaps, [10, 10, 10, 1], "after the last page of the careful one too");
}

#[test]
fn the_fewest_connections_of_the_spiders_of_a_site_hold() {
    let mut bench = bench(options(), &[(B, SiteTerms { connections: 1, ..free() })]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02"), (B, "/03")]);
    bench.visit(START);
    bench.idle(START);
}

#[test]
fn other_terms_hold_from_the_next_look_on() {
    let mut bench = bench(options(), &[(A, SiteTerms { pages_max: Some(1), ..free() })]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02"), (A, "/03!")]);
    let visit = bench.visit(START);
    assert_eq!(visit.url.path(), "/03!");
    bring(&mut bench, &visit, 1, START);
    bench.idle(START);
    bench.bench.set_terms(Arc::new(Book::default()), START);
    bench.visit(START);
    bench.visit(START);
}

#[test]
fn a_turn_ends_after_its_time_but_not_before_one_visit() {
    let terms = SiteTerms { visit_time_max: Some(seconds(5)), pause: seconds(2), ..free() };
    let mut bench = bench(options(), &[(A, terms)]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02"), (A, "/03")]);
    let late = at(6000);
    let visit = bench.visit(late);
    bring(&mut bench, &visit, 1, late);
    bench.idle(at(100_000));
    assert_eq!(bench.reasons(), [Reason::TurnOver]);
}

#[test]
fn a_turn_that_ends_within_a_pause_ends_on_time() {
    let terms = SiteTerms { visit_time_max: Some(seconds(5)), pause: seconds(60), ..free() };
    let mut bench = bench(options(), &[(A, terms)]);
    add(&mut bench, "a.example", &[(A, "/01"), (A, "/02")]);
    let visit = bench.visit(START);
    bring(&mut bench, &visit, 1, at(100));
    assert_eq!(bench.wait(at(100)), at(5000));
    bench.idle(at(5000));
    assert_eq!(bench.reasons(), [Reason::TurnOver]);
}

#[test]
fn a_days_time_on_a_site_is_not_exceeded_and_comes_back_at_midnight() {
    let terms = SiteTerms { day_time_max: Some(seconds(10)), connections: 1, ..free() };
    let mut bench = bench(options(), &[(A, terms)]);
    let mut lease = open_lease("a.example", &["/1", "/2", "/3"], "");
    lease.pages.iter_mut().for_each(|page| page.spider = A);
    lease.worked_today = seconds(7);
    bench.bench.add(lease, START);
    let visit = bench.visit(START);
    let released = bench.answer(&visit, 200, at(2000));
    assert_eq!(released.worked, seconds(2));
    let visit = bench.visit(at(2000));
    bench.answer(&visit, 200, at(4000));
    let day = 24 * 3600 * 1000;
    let midnight = Timestamp((START.0 / day + 1) * day);
    assert_eq!(bench.wait(at(4000)), midnight);
    assert_eq!(bench.reasons(), [Reason::NotBefore(midnight)]);
    bench.visit(midnight);
}

#[test]
fn a_visit_that_outlives_its_lease_still_counts_on_its_site() {
    let mut bench = bench(options(), &[(A, SiteTerms { pages_max: Some(1), ..free() })]);
    add(&mut bench, "a.example", &[(A, "/01")]);
    let visit = bench.visit(START);
    bench.bench.remove(&key("a.example"), START);
    add(&mut bench, "a.example", &[(A, "/02")]);
    bench.idle(START);
    bring(&mut bench, &visit, 1, START);
    bench.idle(START);
    assert_eq!(full(&mut bench), [(Reason::Limit, vec![A])]);
    let stranger = bench.bench.remove(&key("a.example"), START).expect("in hand");
    assert_eq!(stranger.full, [A]);
}

#[test]
fn a_spider_with_few_visits_and_thousands_of_sites_costs_one_look_each() {
    let began = std::time::Instant::now();
    let mut bench = bench(options(), &[]);
    set(&mut bench, A, SpiderLimits { fetches_max: Some(10), ..SpiderLimits::default() });
    for n in 0..5_000 {
        add(&mut bench, &format!("h{n}.example"), &[(A, "/1"), (A, "/2")]);
    }
    let mut out: Vec<Assignment> = (0..10).map(|_| bench.visit(START)).collect();
    for _ in 10..10_000 {
        let visit = out.remove(0);
        bring(&mut bench, &visit, 1, START);
        out.push(bench.visit(START));
    }
    // Debug builds take well under a second; a look at every waiting site per visit takes minutes.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
