//! Buckets fill with time, hold little and cause no storms.

use super::*;
use crate::{
    days::{DAY, HOUR},
    fixtures::{NOW, after, before},
};

const MINUTE: Duration = Duration::from_secs(60);

fn purse(budget: Budget) -> Purse {
    Purse::new(budget, NOW)
}

fn visits(per_day: f64) -> Budget {
    Budget { visits_per_day: Some(per_day), ..Budget::default() }
}

#[test]
fn over_a_day_as_many_visits_as_there_are_in_the_budget() {
    for per_day in [10.0, 143.0, 100_000.0] {
        let mut purse = purse(visits(per_day));
        let mut spent = 0;
        for minute in 1..=1440 {
            purse.fill(after(f64::from(minute) / 1440.0), MINUTE);
            spent += purse.capacity();
            purse.pay(purse.capacity() as f64);
        }
        assert!((spent as f64 - per_day).abs() <= 1.0, "{spent} of {per_day}");
    }
}

#[test]
fn after_a_year_of_sleep_there_is_no_storm() {
    let mut purse = purse(visits(14_400.0));
    purse.fill(after(365.0), MINUTE);
    assert_eq!(purse.capacity(), 20, "two ticks of ten visits");
    // The clock is set back: nothing comes and nothing is taken.
    purse.fill(before(365.0), MINUTE);
    assert_eq!(purse.capacity(), 20);
    purse.pay(20.0);
    purse.fill(before(364.0), MINUTE);
    assert_eq!(purse.capacity(), 20);
}

#[test]
fn the_default_budget_is_a_seventh_of_what_is_known() {
    let mut purse = purse(Budget::default());
    assert_eq!(purse.rate(), 0.0);
    purse.know(700);
    assert_eq!(purse.rate(), 100.0);
    assert!(!purse.is_explicit());
}

#[test]
fn the_tightest_limit_decides() {
    let budget =
        Budget { visits_per_day: Some(1e6), requests_per_second: Some(0.5), bytes_per_day: None };
    assert_eq!(purse(budget).rate(), 43_200.0);
}

#[test]
fn bytes_are_paid_when_they_come_and_a_debt_waits() {
    let budget = Budget { bytes_per_day: Some(24_000_000), ..Budget::default() };
    let mut purse = purse(budget);
    purse.fill(NOW.plus(HOUR), HOUR);
    let first = purse.capacity();
    assert!((20..50).contains(&first), "a megabyte of answers of 30 kB: {first}");
    for _ in 0..first {
        purse.pay(1.0);
        purse.weigh(100_000);
    }
    assert_eq!(purse.capacity(), 0);
    assert!(purse.until_one() > 0.0);
    purse.fill(NOW.plus(2 * HOUR), HOUR);
    assert_eq!(purse.capacity(), 0, "the debt is not yet paid");
    purse.fill(NOW.plus(DAY), 12 * HOUR);
    assert!(purse.capacity() > 0);
    purse.weigh(u64::MAX);
    for hour in 25..96 {
        purse.fill(NOW.plus(hour * HOUR), HOUR);
    }
    assert!(purse.bytes.left > 0.0, "a debt of more than a day is forgiven");
}

#[test]
fn bytes_of_visits_under_way_are_set_aside() {
    let budget = Budget { bytes_per_day: Some(24_000_000), ..Budget::default() };
    let mut purse = purse(budget);
    purse.fill(NOW.plus(HOUR), HOUR);
    let first = purse.capacity();
    purse.pay(first as f64);
    assert_eq!(purse.capacity(), 0, "the same bytes do not pay twice");
    purse.pay(-3.0);
    assert_eq!(purse.capacity(), 3, "what did not take place is given back");
    purse.pay(3.0);
    for _ in 0..first {
        purse.weigh(0);
    }
    assert!(purse.capacity() >= first, "answers that weigh nothing leave all of it");
    purse.pay(purse.capacity() as f64);
    for hour in 2..72 {
        purse.fill(NOW.plus(hour * HOUR), HOUR);
    }
    assert!(purse.capacity() >= first, "what is never heard of is not waited for for ever");
}

#[test]
fn budgets_that_are_no_numbers_pay_for_nothing() {
    for odd in [f64::NAN, -5.0, 0.0] {
        let mut purse = purse(visits(odd));
        purse.fill(after(10.0), MINUTE);
        assert_eq!(purse.capacity(), 0);
    }
    let mut endless = purse(visits(f64::INFINITY));
    endless.fill(after(10.0), MINUTE);
    assert!(endless.capacity() > 0);
}
