//! The papers' worked examples, and the fixed points that follow from them.

use proptest::prelude::*;

use super::*;

/// A habit of `compared` comparisons, the last `changes` of them changes.
fn habit(compared: u32, changes: u32, fr_max: u16) -> Habit {
    let recent = u32::MAX.checked_shr(32 - changes).unwrap_or(0);
    Habit { compared, changes, recent, fr_max, ..Habit::default() }
}

/// A change at every `every`-th visit for a long time; the period at the end.
fn settled(frequency: &Frequency, start: u16, every: u32) -> u16 {
    let mut habit = Habit { fr_max: start, ..Habit::default() };
    for k in 1..500 {
        habit.compared += 1;
        habit.recent = habit.recent << 1 | u32::from(k % every == 0);
        frequency.follow(&mut habit, true, None);
    }
    habit.fr_max
}

#[test]
fn bouras_45_records_with_10_changes_in_the_last_20_go_from_3_to_2() {
    assert_eq!(next_fr_max(3, &habit(45, 10, 3), 20), 2);
}

#[test]
fn bouras_table_2_page_1_with_9_changes_in_10_goes_from_2_to_1() {
    assert_eq!(next_fr_max(2, &habit(10, 9, 2), 10), 1);
}

#[test]
fn bouras_table_2_page_2_with_1_change_in_10_goes_from_2_to_6() {
    assert_eq!(next_fr_max(2, &habit(10, 1, 2), 10), 6);
}

#[test]
fn bouras_page_2_with_89_percent_of_its_internal_pages_changed_goes_from_6_to_3() {
    assert_eq!(for_busy_children(6, 0.89), 3);
    // And in its place: an unchanged visit to a page whose history alone would keep the 6.
    let rule = Frequency { children: true, recompute_every: 10, ..Frequency::default() };
    let mut page = habit(11, 0, 6);
    let children = Children { known: 718, seen: 100, changed: 89 };
    assert!(rule.follow(&mut page, true, Some(children)));
    assert_eq!(page.fr_max, 3);
    assert_eq!(page.theta, 45, "the threshold of 40 % moves towards 89 %");
}

#[test]
fn bouras_28_percent_fewer_downloads_are_two_pages_over_two_cycles() {
    // Page 1 has 586 links and fr_max 1, page 2 has 718 and fr_max 6: in two cycles it is skipped once.
    let (one, two, cycles) = (586.0, 718.0, 2.0);
    let saved: f64 = two / (cycles * (one + two));
    assert_eq!((saved * 100.0).round(), 28.0);
    // The counter loses one each cycle before it is looked at: with 6, the page is not visited in the next.
    let visits = |fr_max: u32| (1..=2).filter(|cycle| cycle % fr_max == 0).count();
    assert_eq!((visits(1), visits(6)), (2, 0));
}

#[test]
fn without_any_change_the_period_ends_one_below_the_limit() {
    assert_eq!(settled(&Frequency::default(), 2, u32::MAX), 19);
}

#[test]
fn the_floor_makes_the_end_depend_on_the_start() {
    // Every third visit a change, over a limit of 30: b = 3.
    let rule = Frequency { limit: 30, ..Frequency::default() };
    let calm = |start| {
        let page =
            Habit { recent: 0b0010_0100_1001_0010_0100_1001_0010_0100, ..habit(30, 0, start) };
        (0..50).fold(start, |fr_max, _| next_fr_max(fr_max, &page, rule.limit))
    };
    assert_eq!((calm(2), calm(3), calm(9)), (2, 3, 3));
}

#[test]
fn pages_that_change_on_four_of_five_visits_are_visited_every_cycle() {
    let page = Habit { recent: 0b1111_0111_1011_1101_1110, ..habit(20, 0, 0) };
    assert_eq!((0..50).fold(2, |fr_max, _| next_fr_max(fr_max, &page, 20)), 1);
}

#[test]
fn recomputed_every_ten_visits_the_paper_s_table_comes_out_in_one_step() {
    let rule = Frequency { limit: 10, recompute_every: 10, ..Frequency::default() };
    let mut page = Habit::default();
    let mut seen = Vec::new();
    for k in 1..=10 {
        page.compared += 1;
        page.recent = page.recent << 1 | u32::from(k == 5);
        rule.follow(&mut page, true, None);
        seen.push(page.fr_max);
    }
    assert_eq!(seen, [2, 2, 2, 2, 2, 2, 2, 2, 2, 6]);
}

#[test]
fn children_that_changed_too_little_or_were_seen_too_seldom_change_nothing() {
    let rule = Frequency { children: true, recompute_every: 10, ..Frequency::default() };
    let quiet = Children { known: 100, seen: 100, changed: 10 };
    let few = Children { known: 100, seen: 4, changed: 4 };
    for (children, theta) in [(quiet, 37), (few, 0)] {
        let mut page = habit(11, 0, 6);
        assert!(!rule.follow(&mut page, true, Some(children)));
        assert_eq!((page.fr_max, page.theta), (6, theta));
    }
}

#[test]
fn a_busy_page_with_calm_children_is_visited_without_them() {
    let rule = Frequency { children: true, ..Frequency::default() };
    let calm = Children { known: 50, seen: 50, changed: 2 };
    let mut busy = habit(20, 19, 1);
    assert!(!rule.follow(&mut busy, true, Some(calm)));
    // Changed, but not usually: they go along.
    let mut seldom = habit(20, 1, 6);
    assert!(rule.follow(&mut seldom, true, Some(calm)));
}

#[test]
fn without_the_rule_a_seed_takes_its_pages_along_and_other_pages_take_none() {
    let seeds = Frequency::default();
    let pages = Frequency { on: FrequencyOn::Pages, ..seeds };
    assert!(seeds.follow(&mut habit(20, 0, 6), true, None));
    assert!(!pages.follow(&mut habit(20, 1, 6), true, None));
}

proptest! {
    #[test]
    fn the_period_stays_within_its_bounds(
        fr_max in 1_u16..2000, compared: u32, recent: u32, limit: u8, share in -1.0_f64..2.0,
    ) {
        let page = Habit { compared, recent, ..Habit::default() };
        let next = next_fr_max(fr_max, &page, limit);
        prop_assert!(next >= 1 && next <= fr_max.max(32));
        let busy = for_busy_children(fr_max, share);
        prop_assert!(busy >= 1 && busy <= fr_max && busy >= fr_max / 2);
    }

    #[test]
    fn the_threshold_stays_between_a_tenth_and_nine(shares in prop::collection::vec(0.0_f64..=1.0, 0..100)) {
        let mut page = Habit::default();
        for share in shares {
            page.theta = follow_theta(theta(&page), share);
            prop_assert!((10..=90).contains(&page.theta));
        }
    }
}
