//! Limits on pages are exact, and parts of pages are not counted.

use super::*;

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
