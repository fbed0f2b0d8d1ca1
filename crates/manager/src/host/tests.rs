//! A site's allowance and its own price.

use super::*;
use crate::fixtures::{NOW, after, before};

#[test]
fn an_allowance_fills_over_the_day_and_holds_an_hour_s_worth() {
    let mut site = SiteHabit::default();
    assert_eq!(fill_allowance(&mut site, 240.0, NOW).floor(), 10.0);
    spend_allowance(&mut site, 10);
    assert_eq!(fill_allowance(&mut site, 240.0, NOW).floor(), 0.0);
    assert_eq!(fill_allowance(&mut site, 240.0, after(1.0 / 48.0)).floor(), 5.0);
    assert_eq!(fill_allowance(&mut site, 240.0, after(300.0)).floor(), 10.0);
    // A clock that is set back gives nothing, and from there on time passes again.
    spend_allowance(&mut site, 10);
    assert_eq!(fill_allowance(&mut site, 240.0, before(300.0)).floor(), 0.0);
    assert_eq!(fill_allowance(&mut site, 240.0, before(299.0)).floor(), 10.0);
}

#[test]
fn a_site_with_very_few_visits_a_day_still_has_them() {
    let mut site = SiteHabit::default();
    let mut visits = 0;
    for hour in 0..24 * 10 {
        if fill_allowance(&mut site, 2.0, after(f64::from(hour) / 24.0)) >= 1.0 {
            spend_allowance(&mut site, 1);
            visits += 1;
        }
    }
    assert!((19..=21).contains(&visits), "{visits}");
}

#[test]
fn a_site_that_is_behind_gets_dearer_and_comes_back_to_the_common_price() {
    let mut site = SiteHabit::default();
    let minute = |k: u32| after(f64::from(k) / 1440.0);
    for k in 0..=100 {
        move_factor(&mut site, true, minute(k));
    }
    assert!((f64::from(site.factor) / 1.05_f64.powi(100) - 1.0).abs() < 0.01, "{}", site.factor);
    for k in 101..100_000 {
        move_factor(&mut site, true, minute(k));
    }
    assert_eq!(f64::from(site.factor), FACTOR_MAX);
    for k in 100_000..101_000 {
        move_factor(&mut site, false, minute(k));
    }
    assert_eq!(site.factor, 1.0);
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    for odd in [f32::NAN, f32::INFINITY, -1.0] {
        let mut site = SiteHabit {
            factor: odd,
            factor_at: NOW,
            allowance: odd,
            allowance_at: NOW,
            ..SiteHabit::default()
        };
        assert!(fill_allowance(&mut site, f64::NAN, after(1.0)).is_finite());
        move_factor(&mut site, true, after(1.0));
        assert!(site.factor >= 1.0 && site.factor.is_finite());
    }
}
