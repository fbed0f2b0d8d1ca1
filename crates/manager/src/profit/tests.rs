//! Batches, the case of WIRE's figure among them.

use std::time::Duration;

use super::*;
use crate::{
    days::HOUR,
    fixtures::{NOW, before, page, site},
};

/// Visited `visits` times over `days`, with a change at `changes` of the comparisons, last seen `age` ago.
fn visited(url: &str, visits: u32, changes: u32, days: f64, age: f64) -> Page {
    let habit = Habit {
        first: Some(before(days)),
        seen: Some(before(age)),
        compared: visits - 1,
        changes,
        ..Habit::default()
    };
    Page { habit, ..page(url) }
}

fn unvisited(url: &str) -> Page {
    Page { state: PageState::Known, habit: Habit::default(), ..page(url) }
}

fn chosen(profit: Profit, pages: &[(i64, Page, f64)]) -> Vec<String> {
    let mut batch = Batch::new(profit, NOW);
    for (number, page, importance) in pages {
        batch.look(&site(*number), page, *importance);
    }
    let name = |fp: Fingerprint| {
        let (_, page, _) = pages.iter().find(|(_, p, _)| p.url.fingerprint() == fp).expect("ours");
        page.url.path().trim_start_matches('/').to_owned()
    };
    batch.chosen().into_iter().map(|(_, fp)| name(fp)).collect()
}

#[test]
fn wire_figure_7_1_with_two_places_p1_and_p3_are_chosen() {
    // The figure's numbers are not in the text: these are ours. P1: important and probably stale; P2:
    // important, but fresh; P3: never visited; P4: stale, but of little importance.
    let pages = [
        (1, visited("http://a.example/P1", 10, 5, 50.0, 10.0), 0.8),
        (2, visited("http://b.example/P2", 10, 1, 200.0, 1.0), 0.9),
        (3, unvisited("http://c.example/P3"), 0.5),
        (4, visited("http://d.example/P4", 10, 8, 50.0, 20.0), 0.1),
    ];
    let profit = |at: usize| pages[at].2 * (1.0 - fresh(&pages[at].1, NOW));
    assert!(profit(0) > 0.6 && profit(1) < 0.1 && profit(2) == 0.5 && profit(3) <= 0.1);
    let two = Profit { batch: 2, ..Profit::default() };
    assert_eq!(chosen(two, &pages), ["P1", "P3"]);
}

#[test]
fn what_was_never_fetched_failed_or_always_changed_is_certainly_stale() {
    assert_eq!(fresh(&unvisited("http://a.example/"), NOW), 0.0);
    let always = visited("http://a.example/", 10, 9, 50.0, 1.0);
    assert_eq!(fresh(&always, NOW), 0.0);
    let failing =
        Page { state: PageState::Failing, ..visited("http://a.example/", 10, 1, 50.0, 1.0) };
    assert_eq!(fresh(&failing, NOW), 0.0);
}

#[test]
fn pr_fresh_is_wire_s_with_the_first_visit_counted_as_a_change() {
    // N = 10, X = 5, S = 50 days: λ = −10 ln(1/2) / 50 = 0.1386 a day, five days ago.
    let rate: f64 = 10.0 * 2.0_f64.ln() / 50.0;
    let expected = (-rate * 5.0).exp();
    let page = visited("http://a.example/", 10, 4, 50.0, 5.0);
    assert!((fresh(&page, NOW) - expected).abs() < 1e-9);
}

#[test]
fn recent_deep_gone_and_excluded_pages_stay_out() {
    let at = |level, url: &str| Page { level, ..unvisited(url) };
    let state = |state, url: &str| Page { state, ..visited(url, 10, 5, 50.0, 10.0) };
    let pages = [
        (1, visited("http://a.example/recent", 10, 5, 50.0, 0.5), 1.0),
        (1, at(16, "http://a.example/deep"), 1.0),
        (1, at(15, "http://a.example/level"), 1.0),
        (1, at(6, "http://a.example/dynamic?q=1"), 1.0),
        (1, state(PageState::Gone, "http://a.example/gone"), 1.0),
        (1, state(PageState::Excluded, "http://a.example/excluded"), 1.0),
    ];
    assert_eq!(chosen(Profit::default(), &pages), ["level"]);
}

#[test]
fn a_page_seen_in_a_time_to_come_is_not_left_out() {
    let mut ahead = visited("http://a.example/ahead", 10, 5, 50.0, 1.0);
    ahead.habit.seen = Some(crate::fixtures::after(365.0));
    assert_eq!(chosen(Profit::default(), &[(1, ahead, 1.0)]).len(), 1);
}

#[test]
fn a_site_has_at_most_its_share_even_when_it_is_looked_at_in_parts() {
    let pages: Vec<(i64, Page, f64)> = (0..20)
        .map(|k| (k % 2, unvisited(&format!("http://s.example/{k}")), 1.0 + k as f64))
        .collect();
    let profit = Profit { site_max: 3, ..Profit::default() };
    assert_eq!(chosen(profit, &pages).len(), 6);
}

#[test]
fn a_batch_holds_the_best_of_all_whatever_the_order_of_looking() {
    let profit = Profit { batch: 5, ..Profit::default() };
    let mut pages: Vec<(i64, Page, f64)> = (0..50_i64)
        .map(|k| (k, unvisited(&format!("http://s{k}.example/{k}")), ((k * 37) % 50) as f64))
        .collect();
    let best = chosen(profit, &pages);
    pages.reverse();
    assert_eq!(chosen(profit, &pages), best);
    let importance = |name: &String| (name.parse::<i64>().expect("a number") * 37) % 50;
    assert_eq!(best.iter().map(importance).collect::<Vec<_>>(), [49, 48, 47, 46, 45]);
}

#[test]
fn importances_that_are_no_numbers_do_no_harm() {
    let pages = [
        (1, unvisited("http://a.example/nan"), f64::NAN),
        (2, unvisited("http://b.example/usual"), 1.0),
        (3, unvisited("http://c.example/negative"), -5.0),
    ];
    let one = Profit { batch: 1, ..Profit::default() };
    assert_eq!(chosen(one, &pages), ["usual"]);
}

#[test]
fn batches_are_not_made_at_the_same_hour_of_the_day() {
    let profit = Profit::default();
    let mut made = NOW;
    for _ in 0..50 {
        let next = profit.next_batch(made);
        let wait = next.since(made);
        assert!(wait <= profit.cycle && wait >= Duration::from_secs(21 * 3600));
        assert!(profit.cycle - wait >= HOUR);
        made = next;
    }
}

#[test]
fn what_only_the_limit_of_a_site_keeps_out_is_counted() {
    let over = |batch: u32, site_max: u32| {
        let mut best = Batch::new(Profit { batch, site_max, ..Profit::default() }, NOW);
        // Site 1 comes in two parts.
        for (number, of) in [(1, 0..4), (2, 0..3), (1, 4..6)] {
            for n in of {
                let page = unvisited(&format!("http://s{number}.example/{n}"));
                best.look(&site(number), &page, 1.0);
            }
        }
        (best.over_site_max(), best.chosen().len())
    };
    assert_eq!(over(100, 6), (0, 9));
    assert_eq!(over(100, 2), (5, 4));
    assert_eq!(over(6, 3), (0, 6), "there is no room");
    assert_eq!(over(7, 3), (1, 6));
}
