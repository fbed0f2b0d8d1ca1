//! What is believed of a page's change rate: a Gamma distribution, moved by each visit.
//!
//! Changes are taken for Poisson events. Over an interval in which nothing changed, and for a change whose
//! moment is known, the Gamma distribution is exact; for a change at an unknown moment the true posterior
//! is replaced by the Gamma distribution with its first two moments. Two numbers a page, intervals of any
//! length, and the uncertainty is there for whoever weighs a visit.
//!
//! The shape is held below [`SHAPE_MAX`]: what was seen long ago fades, and a page may change its ways.

use model::{Habit, SiteHabit};

/// Shape of the belief about a page that nobody has visited twice.
pub const PRIOR_SHAPE: f64 = 0.5;
/// A new page of a site of which nothing is known either changes every ten days: [`PRIOR_SHAPE`] over this.
const PRIOR_DAYS: f64 = 5.0;
const PRIOR_CHANGES: f64 = 0.5;

/// About as many changes are remembered. Rates that shift are followed, steady ones lose nothing by it.
pub const SHAPE_MAX: f64 = 10.0;
/// Bounds of what is kept, far outside of what visits can show: mean rates from one change in a thousand
/// years to some thousands a day.
const SHAPE_MIN: f64 = 1e-3;
const RATE_MIN: f64 = 1e-4;
const RATE_MAX: f64 = 1e6;

/// Changes a day, as far as known: a Gamma distribution of this shape and rate (in days).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    shape: f64,
    rate: f64,
}

impl Belief {
    /// Whatever the numbers, a proper distribution comes of them.
    pub fn new(shape: f64, rate: f64) -> Belief {
        let proper = |x: f64, min: f64, max: f64| if x.is_nan() { min } else { x.clamp(min, max) };
        let faded = if shape > SHAPE_MAX { SHAPE_MAX / shape } else { 1.0 };
        Belief {
            shape: proper(shape, SHAPE_MIN, SHAPE_MAX),
            rate: proper(rate * faded, RATE_MIN, RATE_MAX),
        }
    }

    /// What the page's habit says; what is usual on its site where there is none yet.
    pub fn of(habit: &Habit, site: &SiteHabit) -> Belief {
        if habit.shape > 0.0 && habit.rate > 0.0 {
            return Belief::new(f64::from(habit.shape), f64::from(habit.rate));
        }
        Belief::prior(site)
    }

    /// What to expect of a page of this site before it was seen twice.
    pub fn prior(site: &SiteHabit) -> Belief {
        let counted = |x: f32| if x.is_finite() { f64::from(x).max(0.0) } else { 0.0 };
        let mean =
            (counted(site.prior_changes) + PRIOR_CHANGES) / (counted(site.prior_days) + PRIOR_DAYS);
        Belief::new(PRIOR_SHAPE, PRIOR_SHAPE / mean)
    }

    pub fn keep(self, habit: &mut Habit) {
        habit.shape = self.shape as f32;
        habit.rate = self.rate as f32;
    }

    pub fn shape(self) -> f64 {
        self.shape
    }

    pub fn rate(self) -> f64 {
        self.rate
    }

    /// Changes a day, on average.
    pub fn mean(self) -> f64 {
        self.shape / self.rate
    }

    /// Nothing had changed for so many days.
    pub fn unchanged(self, days: f64) -> Belief {
        if days.is_nan() || days <= 0.0 {
            return self;
        }
        Belief::new(self.shape, self.rate + days)
    }

    /// Something had changed, nobody knows when. An interval of no length (a clock set back) says nothing.
    pub fn changed(self, days: f64) -> Belief {
        if days.is_nan() || days <= 0.0 {
            return self;
        }
        let (a, b) = (self.shape, self.rate);
        let log_q = -(days / b).ln_1p();
        // The chance of a change, and the same weighed by the rate and by its square.
        let [c0, c1, c2] = [0.0, 1.0, 2.0].map(|k| -((a + k) * log_q).exp_m1());
        let mean = a / b * c1 / c0;
        let square = a * (a + 1.0) / (b * b) * c2 / c0;
        let variance = (square - mean * mean).max(1e-12 * mean * mean);
        Belief::new(mean * mean / variance, mean / variance)
    }

    /// Something had changed, for the last time so many days ago.
    pub fn changed_before(self, days: f64) -> Belief {
        Belief::new(self.shape + 1.0, self.rate + days.max(0.0))
    }

    /// The chance that a copy of this age is still what the page shows.
    pub fn fresh(self, days: f64) -> f64 {
        (-self.shape * (days.max(0.0) / self.rate).ln_1p()).exp()
    }

    /// The rate is between these with a probability of nine in ten.
    pub fn interval(self) -> (f64, f64) {
        (self.quantile(0.05), self.quantile(0.95))
    }

    /// By halving; only for explaining, never on the way of a visit.
    fn quantile(self, share: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while gamma_share(self.shape, high) < share && high < 1e3 {
            high *= 2.0;
        }
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if gamma_share(self.shape, middle) < share {
                low = middle;
            } else {
                high = middle;
            }
        }
        high / self.rate
    }
}

/// The regularised lower incomplete gamma function: a series near zero, Lentz's continued fraction beyond.
fn gamma_share(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (shape * x.ln() - x - ln_gamma(shape)).exp();
    if x < shape + 1.0 {
        let mut term = 1.0 / shape;
        let mut sum = term;
        for k in 1..500 {
            term *= x / (shape + f64::from(k));
            sum += term;
            if term < sum * 1e-15 {
                break;
            }
        }
        return (front * sum).min(1.0);
    }
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut fraction = d;
    for k in 1..500 {
        let k = f64::from(k);
        let a = -k * (k - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (1.0 - front * fraction).clamp(0.0, 1.0)
}

/// Stirling's series, after moving the argument to where it is exact to twelve digits.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests;
