//! The price of a visit: so high that as many visits are worth it as there are to spend.
//!
//! It starts where the pages of a sample, each visited when it is worth the price, make up the rate that may
//! be spent, and then follows what is served: when pages come late the price rises, when there is nothing
//! due it falls. Neither is fast; where a purse stays full, a sample is taken anew.

use crate::{
    due::PRICE_MAX,
    value::{Bound, Worth, sound},
};

/// How fast the price follows: by this, in logarithms a day, when pages come late by one of their periods …
pub const GAIN_PER_DAY: f64 = 2.4;
/// … and at most by this.
pub const STEP_PER_DAY_MAX: f64 = 1.2;
/// No visit is free: from zero a price could not rise by a factor.
pub const PRICE_MIN: f64 = 1e-12;

/// Halvings for the start, on a scale of logarithms: from 1e-12 to 1e12 they leave a five-thousandth, and the price
/// moves on from there anyway.
const STEPS: u32 = 18;
/// Where the budget is more than all pages could take, the price is the one at which they take nearly all that:
/// a lower one would change nothing, and be far off when there are more pages.
const NEARLY_ALL: f64 = 0.95;
/// Pages that are not worth the price within this many of their longest periods count as never visited.
const NEVER: f64 = 100.0;

/// The price after `dt` days in which pages were late by `late` (negative: ahead of time), with `period` the
/// usual time between visits to them; all in days.
pub fn steer(price: f64, late: f64, period: f64, dt: f64) -> f64 {
    let pull = GAIN_PER_DAY * late / period.max(1e-6);
    let pull = if pull.is_nan() { 0.0 } else { pull.clamp(-STEP_PER_DAY_MAX, STEP_PER_DAY_MAX) };
    let step = pull * sound(dt, 1.0);
    (sound(price, PRICE_MAX) * step.exp()).clamp(PRICE_MIN, PRICE_MAX)
}

/// A page of the sample: what it is worth, and the bounds of its period in days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    pub worth: Worth,
    pub min: f64,
    pub max: f64,
}

/// The price at which pages like these have so many visits each a day, on average.
pub fn start(sample: &[Sampled], visits_per_page: f64) -> Option<f64> {
    if sample.is_empty() || visits_per_page.is_nan() || visits_per_page <= 0.0 {
        return None;
    }
    let kinds = kinds(sample);
    let visits = |price: f64| -> f64 {
        let rate = |(page, count): &(Sampled, f64)| {
            let period = page.worth.period(price, page.min, page.max * NEVER, None);
            if period.bound == Bound::Longest { 0.0 } else { count / period.days.max(1e-6) }
        };
        kinds.iter().map(rate).sum()
    };
    let wished = (visits_per_page * sample.len() as f64).min(NEARLY_ALL * visits(PRICE_MIN));
    let (mut low, mut high) = (PRICE_MIN, PRICE_MAX);
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if visits(middle) > wished {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((low * high).sqrt())
}

/// Pages of which the same is known, and how many: they are weighed once. In a first pass over a site that is all of
/// them.
fn kinds(sample: &[Sampled]) -> Vec<(Sampled, f64)> {
    let mut pages = sample.to_vec();
    pages.sort_unstable_by_key(Sampled::order);
    let mut kinds: Vec<(Sampled, f64)> = Vec::new();
    for page in pages {
        match kinds.last_mut() {
            Some((kind, count)) if *kind == page => *count += 1.0,
            _ => kinds.push((page, 1.0)),
        }
    }
    kinds
}

impl Sampled {
    /// Brings equals together; it says nothing else.
    fn order(&self) -> [u64; 5] {
        let belief = self.worth.belief;
        [belief.shape(), belief.rate(), self.worth.importance, self.min, self.max].map(f64::to_bits)
    }
}

#[cfg(test)]
mod tests;
