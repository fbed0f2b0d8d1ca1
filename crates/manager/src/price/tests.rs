//! The start, and the way prices go.

use super::*;
use crate::{Belief, Objective};

fn sampled(importance: f64, shape: f64, rate: f64) -> Sampled {
    let belief = Belief::new(shape, rate);
    let worth = Worth { belief, importance, objective: Objective::Freshness, heard: None };
    Sampled { worth, min: 1.0 / 24.0, max: 90.0 }
}

#[test]
fn the_start_price_makes_the_sample_spend_what_there_is() {
    let pages: Vec<Sampled> =
        (1..200).map(|k| sampled(f64::from(k % 17 + 1), 0.5, f64::from(k % 29 + 1))).collect();
    for visits in [0.05, 0.3, 2.0] {
        let price = start(&pages, visits).expect("a price");
        let spent: f64 = pages
            .iter()
            .map(|page| page.worth.period(price, page.min, page.max * NEVER, None))
            .filter(|period| period.bound != Bound::Longest)
            .map(|period| 1.0 / period.days)
            .sum();
        assert!((spent / (visits * pages.len() as f64) - 1.0).abs() < 0.02, "{visits} {spent}");
    }
}

#[test]
fn a_budget_that_nobody_can_spend_makes_visits_no_cheaper_than_need_be() {
    let pages: Vec<Sampled> = (1..50).map(|k| sampled(1.0, 0.5, f64::from(k))).collect();
    let enough = start(&pages, 22.8).expect("a price");
    let endless = start(&pages, 1e6).expect("a price");
    assert!((endless / enough).ln().abs() < 0.01, "{endless} where {enough} is all it takes");
}

#[test]
fn without_pages_or_without_a_budget_there_is_no_start() {
    assert_eq!(start(&[], 1.0), None);
    assert_eq!(start(&[sampled(1.0, 0.5, 5.0)], 0.0), None);
    assert_eq!(start(&[sampled(1.0, 0.5, 5.0)], f64::NAN), None);
}

#[test]
fn late_pages_make_visits_dearer_and_idle_time_makes_them_cheaper() {
    assert!(steer(1.0, 0.5, 2.0, 0.1) > 1.0);
    assert!(steer(1.0, -0.5, 2.0, 0.1) < 1.0);
    assert_eq!(steer(1.0, 0.0, 2.0, 0.1), 1.0);
    let day = steer(1.0, 1e9, 2.0, 1.0);
    assert!((day.ln() - STEP_PER_DAY_MAX).abs() < 1e-9, "at most so much a day");
}

#[test]
fn a_price_is_always_a_number_above_zero() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300] {
        for price in
            [steer(odd, 1.0, 1.0, 1.0), steer(1.0, odd, 1.0, 1.0), steer(1.0, 1.0, odd, odd)]
        {
            assert!(price.is_finite() && price > 0.0, "{odd} {price}");
        }
    }
}
