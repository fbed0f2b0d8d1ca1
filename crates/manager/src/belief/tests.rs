//! The filter against the posterior that is reckoned by brute force, and its bounds.

use proptest::prelude::*;

use super::*;

/// One observation: days, and whether there was a change.
type Seen = (f64, bool);

/// Mean and variance of the true posterior of a Gamma prior, summed over a fine grid of rates.
fn posterior(shape: f64, rate: f64, seen: &[Seen]) -> (f64, f64) {
    let steps = 200_000;
    let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
    for k in 0..steps {
        // Even on a scale of logarithms, from 1e-12 to 1e3.
        let log = -12.0 + 15.0 * (f64::from(k) + 0.5) / f64::from(steps);
        let x = 10_f64.powf(log);
        let mut weight = (shape * x.ln() - rate * x).exp();
        for (days, changed) in seen {
            let unchanged = (-x * days).exp();
            weight *= if *changed { 1.0 - unchanged } else { unchanged };
        }
        sum += weight;
        first += weight * x;
        second += weight * x * x;
    }
    let mean = first / sum;
    (mean, second / sum - mean * mean)
}

fn filter(start: Belief, seen: &[Seen]) -> Belief {
    seen.iter().fold(
        start,
        |belief, (days, changed)| {
            if *changed { belief.changed(*days) } else { belief.unchanged(*days) }
        },
    )
}

fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b.abs()
}

#[test]
fn one_change_at_an_unknown_moment_keeps_mean_and_variance_of_the_true_posterior() {
    for (shape, rate, days) in
        [(0.5, 5.0, 1.0), (0.5, 5.0, 60.0), (2.0, 1.0, 0.2), (5.0, 50.0, 7.0)]
    {
        let (mean, variance) = posterior(shape, rate, &[(days, true)]);
        let belief = Belief::new(shape, rate).changed(days);
        assert!(near(belief.mean(), mean, 1e-3), "{belief:?} {mean}");
        assert!(near(belief.mean() / belief.rate(), variance, 2e-3), "{belief:?} {variance}");
    }
}

#[test]
fn after_many_visits_the_mean_stays_near_the_true_posterior() {
    let seen = [(3.0, true), (1.0, false), (10.0, true), (2.0, false), (0.5, false), (4.0, true)];
    let (mean, _) = posterior(0.5, 5.0, &seen);
    let belief = filter(Belief::new(0.5, 5.0), &seen);
    assert!(near(belief.mean(), mean, 0.05), "{} {mean}", belief.mean());
}

#[test]
fn an_unchanged_interval_and_a_change_of_known_moment_are_exact() {
    let (mean, _) = posterior(0.5, 5.0, &[(12.0, false)]);
    let belief = Belief::new(0.5, 5.0).unchanged(12.0);
    assert!(near(belief.mean(), mean, 2e-3), "{} {mean}", belief.mean());
    // A change two days ago and none since: shape + 1, two more days without a change.
    let belief = Belief::new(0.5, 5.0).changed_before(2.0);
    assert_eq!((belief.shape(), belief.rate()), (1.5, 7.0));
}

#[test]
fn what_was_seen_long_ago_fades() {
    let mut belief = Belief::new(0.5, 5.0);
    for _ in 0..200 {
        belief = belief.changed_before(0.1);
    }
    assert!(belief.shape() <= SHAPE_MAX && near(belief.mean(), 10.0, 0.05), "{belief:?}");
    for _ in 0..60 {
        belief = belief.unchanged(1.0);
    }
    assert!(belief.mean() < 0.2, "{belief:?}");
}

#[test]
fn a_page_that_changes_at_every_visit_is_believed_fast_within_reason() {
    let mut belief = Belief::new(0.5, 5.0);
    for _ in 0..10_000 {
        belief = belief.changed(1.0 / 24.0);
    }
    assert!(belief.mean() > 24.0 && belief.mean() < 2_000.0, "{belief:?}");
}

#[test]
fn a_new_page_is_expected_to_change_as_its_site_does() {
    let mut site = SiteHabit::default();
    assert!(near(Belief::prior(&site).mean(), 0.1, 1e-9));
    (site.prior_changes, site.prior_days) = (99.5, 95.0);
    assert!(near(Belief::prior(&site).mean(), 1.0, 1e-9));
    assert_eq!(Belief::prior(&site).shape(), PRIOR_SHAPE);
    (site.prior_changes, site.prior_days) = (f32::NAN, f32::NEG_INFINITY);
    assert!(near(Belief::prior(&site).mean(), 0.1, 1e-9));
}

#[test]
fn the_interval_of_the_rate_holds_nine_in_ten() {
    // An exponential distribution has quantiles in closed form.
    let (low, high) = Belief::new(1.0, 2.0).interval();
    assert!(near(low, -(0.95_f64.ln()) / 2.0, 1e-6) && near(high, -(0.05_f64.ln()) / 2.0, 1e-6));
    // From tables: chi-squared with one degree of freedom is Gamma(1/2, 1/2).
    let (low, high) = Belief::new(0.5, 0.5).interval();
    assert!(near(low, 0.003_932_14, 1e-4) && near(high, 3.841_458_8, 1e-6), "{low} {high}");
    // And with twenty: Gamma(10, 1/2).
    let (low, high) = Belief::new(10.0, 0.5).interval();
    assert!(near(low, 10.850_81, 1e-5) && near(high, 31.410_43, 1e-5), "{low} {high}");
}

proptest! {
    #[test]
    fn a_belief_is_always_a_distribution(
        shape in prop::num::f64::ANY, rate in prop::num::f64::ANY,
        visits in prop::collection::vec((prop::num::f64::ANY, 0_u8..3), 0..20),
    ) {
        let mut belief = Belief::new(shape, rate);
        for (days, kind) in visits {
            belief = match kind {
                0 => belief.unchanged(days),
                1 => belief.changed(days),
                _ => belief.changed_before(days),
            };
            prop_assert!(belief.shape() > 0.0 && belief.shape() <= SHAPE_MAX, "{belief:?}");
            prop_assert!(belief.rate() > 0.0 && belief.rate().is_finite(), "{belief:?}");
            let fresh = belief.fresh(days);
            prop_assert!((0.0..=1.0).contains(&fresh), "{fresh}");
        }
        let (low, high) = belief.interval();
        prop_assert!(low.is_finite() && high.is_finite() && low <= high);
    }

    #[test]
    fn a_change_raises_the_rate_and_its_absence_lowers_it(
        shape in 0.05_f64..9.0, rate in 0.01_f64..1e3, days in 0.01_f64..100.0,
    ) {
        let belief = Belief::new(shape, rate);
        prop_assert!(belief.changed(days).mean() >= belief.mean() * 0.999_999);
        prop_assert!(belief.unchanged(days).mean() < belief.mean());
    }
}
