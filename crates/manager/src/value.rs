//! What a visit is worth, and from when on it is worth its price.
//!
//! For a page of importance μ whose copy of age t costs c(t), all objectives lead to one rule: visit it when
//! V(τ) = μ ∫₀^τ t c′(t) dt reaches the price of a visit. With the rate known only as a Gamma distribution of
//! shape a and rate b, S(t) = (b/(b+t))^a is the chance that the copy is still fresh, and all three have
//! closed forms:
//!
//! - freshness: G − τ S(τ), with G = ∫₀^τ S = b (1 − q^(a−1)) / (a−1), q = b/(b+τ);
//! - harmonic (missed changes cost 1 + 1/2 + 1/3 …): τ − G;
//! - age: τ²/2 − ∫₀^τ t S = τ²/2 − b² (q^(a−2) − 1) / (2−a) + b G.
//!
//! With announcements that are trusted (precision β, recall ρ, n of them) the freshness form is
//! (μ/λ) (1 − pf (1 + u + nβ)), u = (1−ρ) λ τ, pf = exp(−u) (1−β)^n, with the mean rate for λ. The two others
//! have no closed form then: the page is taken to age by its unannounced changes alone, and the announced
//! change counts, with its probability, as if it had come right after the last visit.

use serde::{Deserialize, Serialize};

use crate::{belief::Belief, trust::Heard};

/// More than any page may weigh, so that sums of values stay numbers.
pub const IMPORTANCE_MAX: f64 = 1e6;

/// A first visit counts for this many days …
const NEW_HORIZON_DAYS: f64 = 30.0;
/// … and this often, because of the links that are found there.
const NEW_BONUS: f64 = 2.0;

/// Halvings on a scale of logarithms: from 1 h to 90 d they leave a ten-thousandth.
const STEPS: u32 = 16;
/// A guess is looked around by this factor, which spares three halvings for the price of two values.
const WARM: f64 = 1.3;
const WARM_STEPS: u32 = 12;

/// What is to be small, on average over time and importance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The share of copies that are no longer what the page shows. Pages that change faster than can be
    /// followed are given up.
    #[default]
    Freshness,
    /// How long copies have been out of date.
    Age,
    /// Missed changes, each later one counting less. No page starves.
    Harmonic,
}

/// What decides the worth of a visit to one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    pub belief: Belief,
    pub importance: f64,
    pub objective: Objective,
    pub heard: Option<Heard>,
}

/// How long to wait until a visit is worth its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    pub days: f64,
    pub bound: Bound,
}

/// Whether the price decided, or a limit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Price,
    /// It would be worth its price even sooner.
    Shortest,
    /// It is not worth its price even then.
    Longest,
}

impl Worth {
    /// The worth of a visit when the copy is so many days old: nothing at first, ever more later.
    pub fn at(&self, days: f64) -> f64 {
        let days = if days > 0.0 { days } else { 0.0 };
        let importance = sound(self.importance, IMPORTANCE_MAX);
        let gain = match (self.heard, self.objective) {
            (None, _) => unannounced(self.belief, self.objective, days),
            (Some(heard), Objective::Freshness) => announced_freshness(self.belief, heard, days),
            (Some(heard), objective) => {
                let silent = (1.0 - heard.recall).max(1e-6);
                let slow = Belief::new(self.belief.shape(), self.belief.rate() / silent);
                let certain = if objective == Objective::Age { days * days / 2.0 } else { days };
                let stale = 1.0 - (1.0 - heard.precision).powi(i32::from(heard.count));
                let silently = unannounced(slow, objective, days);
                silently + stale * (certain - silently).max(0.0)
            }
        };
        importance * gain.max(0.0)
    }

    /// When the worth reaches `price`, between `min` and `max` days. A guess only saves time.
    pub fn period(&self, price: f64, min: f64, max: f64, guess: Option<f64>) -> Period {
        let max = max.max(min);
        let reaches = |days: f64| self.at(days) >= price;
        if !reaches(max) {
            return Period { days: max, bound: Bound::Longest };
        }
        if reaches(min) {
            return Period { days: min, bound: Bound::Shortest };
        }
        let warm = guess
            .map(|guess| ((guess / WARM).max(min), (guess * WARM).min(max)))
            .filter(|(low, high)| low < high && !reaches(*low) && reaches(*high));
        let ((mut low, mut high), steps) = match warm {
            Some(bracket) => (bracket, WARM_STEPS),
            None => ((min.max(1e-9), max), STEPS),
        };
        for _ in 0..steps {
            let middle = (low * high).sqrt();
            if reaches(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Period { days: (low * high).sqrt(), bound: Bound::Price }
    }
}

/// The worth of a first visit to a page of which only its site's habits are known: it is certainly stale.
pub fn worth_new(prior: Belief, importance: f64) -> f64 {
    NEW_BONUS * sound(importance, IMPORTANCE_MAX) * fresh_time(prior, NEW_HORIZON_DAYS)
}

/// A number from 0 to `max`, whatever came.
pub fn sound(x: f64, max: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, max) }
}

fn unannounced(belief: Belief, objective: Objective, days: f64) -> f64 {
    let (a, b) = (belief.shape(), belief.rate());
    let ratio = days / b;
    // Below, the closed forms would subtract numbers that are nearly equal.
    if ratio * (a + 2.0) < 1e-2 {
        let next = (a + 1.0) * ratio;
        return match objective {
            Objective::Freshness => a * ratio * days * (0.5 - next / 3.0),
            Objective::Harmonic => a * ratio * days * (0.5 - next / 6.0),
            Objective::Age => a * ratio * days * days * (1.0 / 3.0 - next / 8.0),
        };
    }
    let log_q = -ratio.ln_1p();
    match objective {
        Objective::Freshness => b * power(a - 1.0, log_q) - days * (a * log_q).exp(),
        Objective::Harmonic => days - b * power(a - 1.0, log_q),
        Objective::Age => {
            days * days / 2.0 - b * b * (power(a - 2.0, log_q) - power(a - 1.0, log_q))
        }
    }
}

fn announced_freshness(belief: Belief, heard: Heard, days: f64) -> f64 {
    let rate = belief.mean();
    let unannounced = (1.0 - heard.recall) * rate * days;
    let count = f64::from(heard.count);
    let fresh = (-unannounced).exp() * (1.0 - heard.precision).powi(i32::from(heard.count));
    (1.0 - fresh * (1.0 + unannounced + count * heard.precision)) / rate
}

/// How long a copy is expected to stay fresh within so many days: ∫₀^days S.
fn fresh_time(belief: Belief, days: f64) -> f64 {
    belief.rate() * power(belief.shape() - 1.0, -(days / belief.rate()).ln_1p())
}

/// (1 − q^k) / k, which is −ln q at k = 0.
fn power(k: f64, log_q: f64) -> f64 {
    if k.abs() < 1e-9 { -log_q } else { -(k * log_q).exp_m1() / k }
}

#[cfg(test)]
mod tests;
