//! The optimum that policies are measured against: whoever knows every page's true rate of change and, at each
//! moment, visits the pages of the greatest crawl value.

/// Crawl value for freshness of a page with a known rate, at an age in days: what a visit buys.
pub fn value(rate: f64, importance: f64, age: f64) -> f64 {
    let x = rate * age;
    // The difference loses all digits for small x.
    let gain = if x < 1e-3 { 0.5 * x * x } else { 1.0 - (-x).exp() * (1.0 + x) };
    importance * gain / rate
}

/// Visits a day of each page under the best periodic policy: all pages with the same value at their visit,
/// none where even certainty of a change is not worth one (Cho & Garcia-Molina 2003).
pub fn best_rates(rates: &[f64], importance: &[f64], visits_per_day: f64) -> Vec<f64> {
    let at_price = |price: f64| -> Vec<f64> {
        let pages = rates.iter().zip(importance);
        pages.map(|(rate, importance)| visits(*rate, price * rate / importance)).collect()
    };
    let (mut cheap, mut dear) = (1e-9_f64, 1e9_f64);
    for _ in 0..80 {
        let price = (cheap * dear).sqrt();
        if at_price(price).iter().sum::<f64>() > visits_per_day {
            cheap = price;
        } else {
            dear = price;
        }
    }
    at_price(dear)
}

/// Visits a day so that the gain 1 - e^-x (1 + x) is `wanted` at each.
fn visits(rate: f64, wanted: f64) -> f64 {
    if wanted >= 1.0 {
        return 0.0;
    }
    let (mut low, mut high) = (1e-9_f64, 60.0_f64);
    for _ in 0..50 {
        let x = (low * high).sqrt();
        if value(1.0, 1.0, x) < wanted { low = x } else { high = x }
    }
    rate / (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_rises_with_age_up_to_importance_over_rate() {
        assert!(value(2.0, 3.0, 0.1) < value(2.0, 3.0, 0.2));
        assert!((value(2.0, 3.0, 100.0) - 1.5).abs() < 1e-9);
        let (small, large) = (value(1.0, 1.0, 0.999e-3), value(1.0, 1.0, 1.001e-3));
        assert!((large / small - 1.0).abs() < 0.01, "no step between the two formulas");
    }

    #[test]
    fn the_best_policy_gives_up_pages_that_change_too_fast() {
        let best = best_rates(&[0.1, 1.0, 50.0], &[1.0; 3], 1.0);
        assert!((best.iter().sum::<f64>() - 1.0).abs() < 0.01);
        assert!(best[1] > best[0] && best[2] == 0.0, "{best:?}");
    }
}
