//! When a page changes: a Poisson process that can be asked about any moment without walking there.
//!
//! The number of changes in the whole span is drawn once; halving the span again and again, the left half
//! gets Binomial(n, 1/2) of its parent's changes. That is exactly a Poisson process, and a question costs
//! 40 steps at most. Above 256 changes in a node the binomial is taken as normal.

use std::time::Duration;

use crate::dice::{Dice, mix, unit};

/// 2^40 ms: 34.8 years from the web's origin. Before and after it nothing changes.
const SPAN_BITS: u32 = 40;

/// Shares of pages and the mean time between their changes (`None`: never); the shares need not sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeModel {
    pub classes: Vec<(f64, Option<Duration>)>,
}

impl ChangeModel {
    /// Nothing ever changes.
    pub fn still() -> ChangeModel {
        ChangeModel { classes: vec![(1.0, None)] }
    }

    /// Every page changes at the same mean rate.
    pub fn every(period: Duration) -> ChangeModel {
        ChangeModel { classes: vec![(1.0, Some(period))] }
    }

    /// A mixture like that of the open web: much stands still, little changes by the day.
    pub fn mixed() -> ChangeModel {
        let days = |n: u64| Some(Duration::from_secs(n * 86_400));
        let classes = vec![
            (0.30, None),
            (0.20, days(365)),
            (0.20, days(90)),
            (0.15, days(30)),
            (0.10, days(7)),
            (0.04, days(1)),
            (0.01, Some(Duration::from_secs(3600))),
        ];
        ChangeModel { classes }
    }

    /// The mean time between changes of the page with this hash.
    pub(crate) fn period(&self, page: u64) -> Option<Duration> {
        let total: f64 = self.classes.iter().map(|(share, _)| share).sum();
        let mut left = unit(mix(page, 0xC4A7)) * total;
        for (share, period) in &self.classes {
            left -= share;
            if left < 0.0 {
                return *period;
            }
        }
        None
    }
}

/// The changes of one page.
pub(crate) struct Changes {
    seed: u64,
    total: u64,
}

impl Changes {
    pub fn new(page: u64, period: Option<Duration>) -> Changes {
        let seed = mix(page, 0x0907);
        let total = match period {
            Some(period) if !period.is_zero() => {
                let mean = (1u64 << SPAN_BITS) as f64 / (period.as_secs_f64() * 1e3);
                poisson(mean, &mut Dice::new(seed))
            }
            _ => 0,
        };
        Changes { seed, total }
    }

    /// Changes up to and including `at` ms after the origin.
    pub fn count(&self, at: i64) -> u64 {
        let Ok(at) = u64::try_from(at) else { return 0 };
        if at >= 1 << SPAN_BITS {
            return self.total;
        }
        let (mut n, mut before, mut start, mut node) = (self.total, 0, 0u64, 1u64);
        for bits in (0..SPAN_BITS).rev() {
            if n == 0 {
                break;
            }
            let left = binomial_half(n, mix(self.seed, node));
            if at - start >= 1 << bits {
                before += left;
                n -= left;
                start += 1 << bits;
                node = 2 * node + 1;
            } else {
                n = left;
                node *= 2;
            }
        }
        before + n
    }

    /// When the `k`-th change (from 1) happened, in ms after the origin; 0 for `k` = 0.
    pub fn moment(&self, k: u64) -> i64 {
        if k == 0 || k > self.total {
            return 0;
        }
        let (mut n, mut k, mut start, mut node) = (self.total, k, 0i64, 1u64);
        for bits in (0..SPAN_BITS).rev() {
            let left = binomial_half(n, mix(self.seed, node));
            if k > left {
                k -= left;
                n -= left;
                start += 1 << bits;
                node = 2 * node + 1;
            } else {
                n = left;
                node *= 2;
            }
        }
        start
    }
}

fn binomial_half(n: u64, hash: u64) -> u64 {
    let mut dice = Dice::new(hash);
    if n > 256 {
        let z = n as f64 / 2.0 + (n as f64).sqrt() / 2.0 * dice.normal();
        return (z.round().max(0.0) as u64).min(n);
    }
    let (mut left, mut heads) = (n, 0);
    while left > 0 {
        let coins = left.min(64);
        heads += u64::from((dice.next() >> (64 - coins)).count_ones());
        left -= coins;
    }
    heads
}

fn poisson(mean: f64, dice: &mut Dice) -> u64 {
    if mean > 50.0 {
        return (mean + mean.sqrt() * dice.normal()).round().max(0.0) as u64;
    }
    let (limit, mut product, mut k) = ((-mean).exp(), dice.unit(), 0);
    while product > limit {
        product *= dice.unit();
        k += 1;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    #[test]
    fn changes_come_at_the_rate_asked_for() {
        let period = Some(Duration::from_secs(86_400));
        let total: u64 = (0..400).map(|page| Changes::new(page, period).count(100 * DAY)).sum();
        assert!((38_800..41_200).contains(&total), "{total} instead of about 40,000");
    }

    #[test]
    fn the_moment_of_a_change_is_where_the_count_steps() {
        for page in 0..50 {
            let changes = Changes::new(page, Some(Duration::from_secs(3 * 86_400)));
            for k in 1..20 {
                let at = changes.moment(k);
                assert!(changes.count(at) >= k);
                assert!(changes.count(at - 1) < k);
            }
        }
    }

    #[test]
    fn gaps_between_changes_are_exponential() {
        let changes = Changes::new(7, Some(Duration::from_secs(86_400)));
        let gaps: Vec<f64> = (1..3000)
            .map(|k| (changes.moment(k + 1) - changes.moment(k)) as f64 / DAY as f64)
            .collect();
        let over_one = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
        assert!((over_one - 0.368).abs() < 0.03, "share of gaps above the mean: {over_one}");
    }

    #[test]
    fn a_still_page_never_changes() {
        let changes = Changes::new(1, ChangeModel::still().period(99));
        assert_eq!(changes.count(i64::MAX), 0);
        assert_eq!(changes.moment(1), 0);
    }
}
