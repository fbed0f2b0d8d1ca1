//! What visits teach, and when the next one is due.

use proptest::prelude::*;

use super::*;
use crate::{
    Frequency, Objective, Profit,
    fixtures::{NOW, after, before, page},
};

const WEEKLY: Policy = Policy::Fixed { every: Duration::from_secs(7 * 24 * 3600) };
const SAME: Sight = Sight::Unchanged;
const OTHER: Sight = Sight::Changed { modified: None };

fn value() -> Policy {
    Policy::Value(Value::default())
}

/// A page that was seen so many days before now.
fn seen(days: f64) -> Page {
    let mut page = page("http://a.example/");
    page.habit.seen = Some(before(days));
    page
}

fn visit<'a>(page: &'a Page, sight: Sight, site: &'a SiteHabit) -> Visited<'a> {
    let state =
        if matches!(sight, Sight::Gone { .. }) { PageState::Gone } else { PageState::Fetched };
    Visited {
        page,
        state,
        failures: 0,
        sight,
        importance: 1.0,
        site,
        price: 0.3,
        children: None,
        now: NOW,
    }
}

fn next(policy: Policy, page: &Page, sight: Sight) -> Next {
    after_visit(&policy, &visit(page, sight, &SiteHabit::default()))
}

fn days_to(next: &Next) -> f64 {
    days(next.due.expect("due").since(NOW))
}

#[test]
fn a_first_visit_starts_from_what_is_usual_on_the_site() {
    let site = SiteHabit { prior_changes: 9.5, prior_days: 5.0, ..SiteHabit::default() };
    let new =
        Page { state: PageState::Known, habit: Habit::default(), ..page("http://a.example/") };
    let after = after_visit(&value(), &visit(&new, Sight::First { modified: None }, &site));
    assert_eq!(after.habit.first, Some(NOW));
    assert_eq!(after.habit.seen, Some(NOW));
    assert_eq!((after.habit.shape, after.habit.rate), (0.5, 0.5));
    assert_eq!((after.habit.compared, after.habit.changes), (0, 0));
}

#[test]
fn a_trusted_time_of_change_counts_at_the_first_visit_and_later() {
    let new =
        Page { state: PageState::Known, habit: Habit::default(), ..page("http://a.example/") };
    let first = next(value(), &new, Sight::First { modified: Some(before(10.0)) });
    assert_eq!((first.habit.shape, first.habit.rate), (1.5, 15.0));
    let known = seen(4.0);
    let later = next(value(), &known, Sight::Changed { modified: Some(before(1.0)) });
    assert_eq!((later.habit.shape, later.habit.rate), (1.5, 6.0));
    // Before the last visit, or still to come, it says nothing.
    for nonsense in [before(9.0), after(3.0)] {
        let plain = next(value(), &known, OTHER);
        let other = next(value(), &known, Sight::Changed { modified: Some(nonsense) });
        assert_eq!(other.habit, plain.habit);
    }
}

#[test]
fn comparisons_are_counted_and_remembered() {
    let mut known = seen(1.0);
    for (sight, recent, changes) in [(OTHER, 1, 1), (SAME, 2, 1), (OTHER, 5, 2)] {
        let habit = next(value(), &known, sight).habit;
        assert_eq!((habit.recent, habit.changes), (recent, changes));
        known.habit = Habit { seen: Some(before(1.0)), ..habit };
    }
    assert_eq!(known.habit.compared, 3);
    assert_eq!(known.habit.changed, Some(NOW));
}

#[test]
fn a_failed_visit_teaches_nothing() {
    let (known, site) = (seen(3.0), SiteHabit::default());
    let failing =
        Visited { state: PageState::Failing, failures: 4, ..visit(&known, Sight::Nothing, &site) };
    let after = after_visit(&value(), &failing);
    assert_eq!(Habit { price: 0.0, ..known.habit }, after.habit);
    assert_eq!(after.rule, Rule::Failing);
    assert!(days_to(&after) >= 0.9, "what does not answer is not asked every hour");
}

#[test]
fn a_visit_deals_with_announcements() {
    let mut known = seen(3.0);
    known.habit.announce(model::SignalSource::Feed);
    let habit = next(value(), &known, OTHER).habit;
    assert_eq!(habit.signals, 0);
    assert_eq!(habit.sources & 0b111, 0);
}

#[test]
fn dearer_visits_come_later_and_a_dear_site_s_later_still() {
    let known = seen(3.0);
    let site = SiteHabit::default();
    let dear_site = SiteHabit { factor: 4.0, ..SiteHabit::default() };
    let due = |price, site: &SiteHabit| {
        after_visit(&value(), &Visited { price, ..visit(&known, SAME, site) })
    };
    let [cheap, dear, dearer] = [due(0.1, &site), due(0.3, &site), due(0.3, &dear_site)];
    assert!(days_to(&cheap) < days_to(&dear) && days_to(&dear) < days_to(&dearer));
    assert_eq!(dear.rule, Rule::Value);
    assert!((dearer.habit.price - 1.2).abs() < 1e-6, "the price on the site is kept");
}

#[test]
fn a_page_that_changes_at_every_visit_ends_at_a_sane_period() {
    for objective in [Objective::Freshness, Objective::Age, Objective::Harmonic] {
        let value = Value { objective, ..Value::default() };
        let mut known = seen(1.0);
        let mut now = NOW;
        for _ in 0..2000 {
            let site = SiteHabit::default();
            let visited = Visited { now, ..visit(&known, OTHER, &site) };
            let next = after_visit(&Policy::Value(value), &visited);
            let due = next.due.expect("due");
            assert!(due.since(now) >= value.period_min && due.since(now) <= value.period_max);
            known.habit = next.habit;
            now = due;
        }
        let rate = known.habit.shape / known.habit.rate;
        assert!(rate.is_finite() && rate > 0.01, "{objective:?} {rate}");
    }
}

#[test]
fn a_missing_page_is_looked_for_after_1_3_9_and_27_days_and_then_at_the_longest_period() {
    let mut known = seen(3.0);
    let mut now = NOW;
    let mut waits = Vec::new();
    for _ in 0..6 {
        let site = SiteHabit::default();
        let visited = Visited { now, ..visit(&known, Sight::Gone { status: 404 }, &site) };
        let next = after_visit(&value(), &visited);
        assert_eq!(next.rule, Rule::Gone);
        known.habit = next.habit;
        known.state = PageState::Gone;
        let due = next.due.expect("due");
        waits.push(days(due.since(now)));
        now = due;
    }
    for (wait, expected) in waits.iter().zip([1.0, 3.0, 9.0, 27.0, 90.0, 90.0]) {
        assert!(*wait <= expected * 1.01 && *wait >= expected * 0.7, "{waits:?}");
    }
    assert_eq!(known.habit.changes, 1, "it vanished once");
}

#[test]
fn a_page_gone_for_good_is_looked_for_after_7_and_30_days() {
    let mut known = seen(3.0);
    let mut now = NOW;
    for expected in [7.0, 30.0, 90.0] {
        let site = SiteHabit::default();
        let visited = Visited { now, ..visit(&known, Sight::Gone { status: 410 }, &site) };
        let next = after_visit(&value(), &visited);
        let due = next.due.expect("due");
        let wait = days(due.since(now));
        assert!(wait <= expected && wait >= expected * 0.89, "{wait} {expected}");
        (known.habit, known.state, now) = (next.habit, PageState::Gone, due);
    }
}

#[test]
fn a_page_that_returns_is_a_new_page_with_its_history() {
    let mut gone = seen(20.0);
    gone.state = PageState::Gone;
    gone.habit = Habit { shape: 9.0, rate: 900.0, compared: 7, changes: 2, ..gone.habit };
    let back = next(value(), &gone, OTHER);
    assert_eq!((back.habit.shape, back.habit.rate), (0.5, 5.0));
    assert_eq!((back.habit.compared, back.habit.changes), (8, 3));
}

#[test]
fn each_policy_names_its_rule() {
    let seed = Page { seed: true, ..seen(2.0) };
    let frequency = Policy::Frequency(Frequency::default());
    for (policy, page, rule, due) in [
        (Policy::Once, &seed, Rule::Once, false),
        (WEEKLY, &seed, Rule::Interval, true),
        (frequency, &seed, Rule::Frequency, true),
        (frequency, &seen(2.0), Rule::GoesAlong, false),
        (Policy::Profit(Profit::default()), &seed, Rule::Batch, false),
        (value(), &seed, Rule::Value, true),
    ] {
        let next = next(policy, page, SAME);
        assert_eq!((next.rule, next.due.is_some()), (rule, due));
        assert!(!next.rule.words().is_empty());
    }
}

#[test]
fn a_seed_of_the_policy_frequency_comes_back_after_its_cycles_and_takes_its_pages_along() {
    let seed = Page { seed: true, ..seen(2.0) };
    let next = next(Policy::Frequency(Frequency::default()), &seed, OTHER);
    assert!(next.call_children);
    assert_eq!(next.habit.fr_max, 1, "one visit, one change: (2 + 1) / 2");
    assert!((0.85..1.15).contains(&days_to(&next)));
}

#[test]
fn a_clock_that_jumps_a_year_teaches_nothing_wrong() {
    let known = seen(3.0);
    let site = SiteHabit::default();
    let back = Visited { now: before(365.0), ..visit(&known, OTHER, &site) };
    let after_back = after_visit(&value(), &back);
    assert_eq!(after_back.habit.seen, Some(before(365.0)), "ages count from here");
    assert_eq!(Belief::of(&after_back.habit, &site), Belief::prior(&site));
    let forward = Visited { now: after(3650.0), ..visit(&known, SAME, &site) };
    let after_forward = after_visit(&value(), &forward);
    assert!(
        after_forward.habit.rate <= 5.0 + 180.0,
        "an interval counts at most twice the longest period"
    );
}

/// When the page is due after it was left like this.
fn due_in(policy: Policy, page: &Page, state: PageState, failures: u16) -> Option<Timestamp> {
    let site = SiteHabit::default();
    let sight = match state {
        PageState::Gone => Sight::Gone { status: 404 },
        PageState::Fetched => SAME,
        _ => Sight::Nothing,
    };
    after_visit(&policy, &Visited { state, failures, ..visit(page, sight, &site) }).due
}

fn interval(policy: Policy, page: &Page, state: PageState, failures: u16) -> f64 {
    days(due_in(policy, page, state, failures).expect("due").since(NOW))
}

#[test]
fn once_never_comes_back_by_itself_but_asks_until_answered() {
    use PageState::*;
    let page = seen(1.0);
    for state in [Fetched, Redirected, Failing, Gone, Excluded] {
        assert_eq!(due_in(Policy::Once, &page, state, 0), None);
    }
    assert_eq!(due_in(Policy::Once, &page, Known, 0), Some(NOW));
}

#[test]
fn tombstones_and_excluded_pages_are_asked_seldom_but_not_more_often_than_the_rest() {
    let mut page = seen(100.0);
    (page.state, page.habit.changed) = (PageState::Gone, Some(before(100.0)));
    assert!((27.0..=30.0).contains(&interval(WEEKLY, &page, PageState::Gone, 0)));
    assert!((6.3..=7.0).contains(&interval(WEEKLY, &page, PageState::Excluded, 0)));
    let yearly = Policy::Fixed { every: 365 * DAY };
    assert!(interval(yearly, &page, PageState::Gone, 0) > 300.0);
    assert!(interval(yearly, &page, PageState::Excluded, 0) > 300.0);
}

#[test]
fn pages_that_keep_failing_are_asked_ever_less_within_a_bound() {
    let failing = |failures| interval(WEEKLY, &seen(1.0), PageState::Failing, failures);
    assert!((6.3..=7.0).contains(&failing(4)));
    assert!((12.6..=14.0).contains(&failing(8)));
    assert!((25.2..=28.0).contains(&failing(60_000)));
}

#[test]
fn visits_of_one_moment_spread_over_the_days_before_the_next() {
    let due = |n| {
        let page = page(&format!("http://a.example/{n}"));
        due_in(WEEKLY, &page, PageState::Fetched, 0)
    };
    let mut hours: Vec<u64> =
        (0..1000).filter_map(|n| Some(due(n)?.since(NOW).as_secs() / 3600)).collect();
    hours.sort_unstable();
    hours.dedup();
    assert!(hours.len() >= 15, "{hours:?}");
}

fn sight() -> impl Strategy<Value = Sight> {
    let moment = || prop::option::of(any::<i64>().prop_map(Timestamp));
    prop_oneof![
        moment().prop_map(|modified| Sight::First { modified }),
        moment().prop_map(|modified| Sight::Changed { modified }),
        Just(Sight::Unchanged),
        any::<u16>().prop_map(|status| Sight::Gone { status }),
        Just(Sight::Nothing),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let frequency = Frequency { children: true, on: FrequencyOn::Pages, ..Frequency::default() };
    let objectives = vec![Objective::Freshness, Objective::Age, Objective::Harmonic];
    prop_oneof![
        Just(Policy::Once),
        any::<u64>().prop_map(|s| Policy::Fixed { every: Duration::from_secs(s) }),
        Just(Policy::Frequency(frequency)),
        Just(Policy::Profit(Profit::default())),
        prop::sample::select(objectives)
            .prop_map(|objective| Policy::Value(Value { objective, ..Value::default() })),
    ]
}

proptest! {
    #[test]
    fn no_habit_no_clock_and_no_number_breaks_a_visit(
        policy in policy(), state in prop::sample::select(PageState::ALL.to_vec()),
        before_state in prop::sample::select(PageState::ALL.to_vec()),
        shape in prop::num::f32::ANY, rate in prop::num::f32::ANY, first: Option<i64>,
        seen: Option<i64>, changed: Option<i64>, now in -4_000_000_000_000_i64..8_000_000_000_000,
        importance in prop::num::f64::ANY, price in prop::num::f64::ANY, factor in prop::num::f32::ANY,
        sight in sight(), signals: u8, sources: u8, failures: u16,
        children in prop::option::of((any::<u32>(), any::<u32>())),
    ) {
        let mut page = page("http://a.example/");
        page.state = before_state;
        page.habit = Habit {
            shape, rate, signals, sources,
            first: first.map(Timestamp), seen: seen.map(Timestamp), changed: changed.map(Timestamp),
            ..Habit::default()
        };
        let site = SiteHabit { factor, ..SiteHabit::default() };
        let children = children.map(|(seen, changed)| Children { known: seen, seen, changed });
        let now = Timestamp(now);
        let visited = Visited {
            page: &page, state, failures, sight, importance, site: &site, price, children, now,
        };
        let next = after_visit(&policy, &visited);
        prop_assert!(next.due.is_none_or(|due| due >= now));
        prop_assert!(next.habit.price.is_finite() && next.habit.price >= 0.0);
        if next.habit.seen == Some(now) && seen != Some(now.0) {
            prop_assert!(next.habit.shape > 0.0 && next.habit.shape.is_finite());
            prop_assert!(next.habit.rate > 0.0 && next.habit.rate.is_finite());
        }
        if let (Policy::Value(value), Some(due), PageState::Fetched) = (policy, next.due, state) {
            prop_assert!(due.since(now) >= value.period_min && due.since(now) <= value.period_max);
        }
    }

    #[test]
    fn the_interval_is_kept_to_a_tenth_and_the_answer_repeats(
        n: u64, now in 0_i64..4_000_000_000_000, seconds in 0_u64..40_000_000,
    ) {
        let every = Duration::from_secs(seconds);
        let (policy, now) = (Policy::Fixed { every }, Timestamp(now));
        let (page, site) = (page(&format!("http://a.example/{n}")), SiteHabit::default());
        let visited = Visited { now, ..visit(&page, SAME, &site) };
        let due = after_visit(&policy, &visited).due.expect("due");
        prop_assert!(due.since(now) <= every);
        prop_assert!(due.since(now) >= every.mul_f64(0.899));
        prop_assert_eq!(after_visit(&policy, &visited).due, Some(due));
    }
}
