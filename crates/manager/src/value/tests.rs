//! Values against their integrals, and the period as their root.

use proptest::prelude::*;

use super::*;

const ALL: [Objective; 3] = [Objective::Freshness, Objective::Age, Objective::Harmonic];

fn worth(shape: f64, rate: f64, objective: Objective) -> Worth {
    Worth { belief: Belief::new(shape, rate), importance: 1.0, objective, heard: None }
}

/// ∫ t c′(t) dt by steps, with what c′ is under a Gamma belief.
fn by_steps(shape: f64, rate: f64, objective: Objective, days: f64) -> f64 {
    let steps = 200_000;
    let width = days / f64::from(steps);
    let fresh = |t: f64| (rate / (rate + t)).powf(shape);
    (0..steps)
        .map(|k| {
            let t = (f64::from(k) + 0.5) * width;
            let cost = match objective {
                Objective::Freshness => t * shape / (rate + t) * fresh(t),
                Objective::Harmonic => 1.0 - fresh(t),
                Objective::Age => t * (1.0 - fresh(t)),
            };
            cost * width
        })
        .sum()
}

#[test]
fn the_closed_forms_are_the_integrals() {
    for objective in ALL {
        for (shape, rate) in [(0.5, 5.0), (1.0, 3.0), (1.000_001, 3.0), (2.0, 0.1), (7.3, 400.0)] {
            for days in [0.001, 0.3, 7.0, 90.0] {
                let value = worth(shape, rate, objective).at(days);
                let steps = by_steps(shape, rate, objective, days);
                let close = (value - steps).abs() <= 2e-4 * steps + 1e-15;
                assert!(close, "{objective:?} {shape} {rate} {days}: {value} {steps}");
            }
        }
    }
}

#[test]
fn with_a_certain_rate_the_values_are_those_of_the_papers() {
    // The sharpest belief that is kept is still a little blurred: a tenth.
    let (rate, days) = (0.5_f64, 1.0_f64);
    let x = rate * days;
    let fresh = (1.0 - (-x).exp() * (1.0 + x)) / rate;
    let harmonic = days - (1.0 - (-x).exp()) / rate;
    for (objective, exact) in [(Objective::Freshness, fresh), (Objective::Harmonic, harmonic)] {
        let value = worth(10.0, 20.0, objective).at(days);
        assert!((value / exact - 1.0).abs() < 0.1, "{objective:?} {value} {exact}");
    }
}

#[test]
fn pages_too_fast_to_follow_are_given_up_for_freshness_alone() {
    let fast = |objective| worth(10.0, 0.1, objective).at(1000.0);
    assert!(fast(Objective::Freshness) < 0.02);
    assert!(fast(Objective::Harmonic) > 900.0 && fast(Objective::Age) > 400_000.0);
}

#[test]
fn uncertain_pages_are_worth_a_look_where_certain_ones_are_not() {
    let sure = worth(10.0, 1.0, Objective::Freshness).at(30.0);
    let unsure = worth(0.5, 0.05, Objective::Freshness).at(30.0);
    assert!(unsure > 3.0 * sure, "{unsure} {sure}");
}

#[test]
fn a_trusted_announcement_makes_a_visit_worth_at_once_what_it_would_be_much_later() {
    let quiet = worth(2.0, 20.0, Objective::Freshness);
    for objective in ALL {
        let heard = |count| Worth {
            heard: Some(Heard { precision: 0.9, recall: 0.9, count }),
            objective,
            ..quiet
        };
        assert!(heard(1).at(0.5) > 5.0 * heard(0).at(0.5), "{objective:?}");
        assert!(heard(3).at(0.5) >= heard(1).at(0.5));
    }
    // A source that announces everything, always rightly: without its word nothing has changed.
    let complete = Heard { precision: 0.99, recall: 0.99, count: 0 };
    assert!(Worth { heard: Some(complete), ..quiet }.at(10.0) < quiet.at(10.0) / 5.0);
}

#[test]
fn a_first_visit_is_worth_more_than_any_other_to_the_same_page() {
    let prior = Belief::new(0.5, 5.0);
    let again =
        Worth { belief: prior, importance: 1.0, objective: Objective::Freshness, heard: None };
    assert!(worth_new(prior, 1.0) > again.at(30.0));
    assert!((worth_new(prior, 3.0) / worth_new(prior, 1.0) - 3.0).abs() < 1e-9);
}

#[test]
fn at_the_period_the_worth_is_the_price() {
    for objective in ALL {
        let page = worth(0.5, 5.0, objective);
        for guess in [None, Some(7.0), Some(7.2), Some(0.001), Some(1e9), Some(f64::NAN)] {
            let price = page.at(7.0);
            let period = page.period(price, 1.0 / 24.0, 90.0, guess);
            assert_eq!(period.bound, Bound::Price);
            assert!((period.days / 7.0 - 1.0).abs() < 1e-3, "{objective:?} {guess:?} {period:?}");
        }
    }
}

#[test]
fn nothing_is_too_cheap_or_too_dear_for_the_bounds() {
    let page = worth(0.5, 5.0, Objective::Freshness);
    let free = page.period(0.0, 1.0 / 24.0, 90.0, None);
    assert_eq!(free, Period { days: 1.0 / 24.0, bound: Bound::Shortest });
    let dear = page.period(1e12, 1.0 / 24.0, 90.0, None);
    assert_eq!(dear, Period { days: 90.0, bound: Bound::Longest });
    let unimportant = Worth { importance: 0.0, ..page };
    assert_eq!(unimportant.period(1e-12, 1.0 / 24.0, 90.0, None).bound, Bound::Longest);
}

fn objective() -> impl Strategy<Value = Objective> {
    prop::sample::select(ALL.to_vec())
}

proptest! {
    #[test]
    fn the_worth_never_falls_with_age_nor_with_importance(
        shape in 0.001_f64..10.0, rate in 1e-4_f64..1e5, objective in objective(),
        days in 1e-4_f64..1e3, longer in 1.0_f64..10.0, count in 0_u8..8, trusted: bool,
    ) {
        let heard = trusted.then_some(Heard { precision: 0.7, recall: 0.6, count });
        let page = Worth { heard, ..worth(shape, rate, objective) };
        let (young, old) = (page.at(days), page.at(days * longer));
        prop_assert!(old >= young * (1.0 - 1e-6) - 1e-12, "{young} {old}");
        let weightier = Worth { importance: 2.0, ..page };
        prop_assert!(weightier.at(days) >= young);
    }

    #[test]
    fn no_number_breaks_a_value_or_a_period(
        shape in prop::num::f64::ANY, rate in prop::num::f64::ANY, objective in objective(),
        importance in prop::num::f64::ANY, days in prop::num::f64::ANY, price in prop::num::f64::ANY,
        heard in prop::option::of((0.0_f64..0.99, 0.0_f64..0.99, 0_u8..8)),
    ) {
        let heard = heard.map(|(precision, recall, count)| Heard { precision, recall, count });
        let page = Worth { belief: Belief::new(shape, rate), importance, objective, heard };
        let value = page.at(days.min(1e6));
        prop_assert!(value.is_finite() && value >= 0.0, "{value}");
        let period = page.period(price, 1.0 / 24.0, 90.0, Some(days));
        prop_assert!((0.99 / 24.0..=90.01).contains(&period.days), "{period:?}");
    }
}
