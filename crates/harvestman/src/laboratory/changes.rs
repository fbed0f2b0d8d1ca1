//! When pages change: moments drawn once for a population and met by every policy.

use super::random::Random;

/// A day in the laboratory's unit of time, the millisecond since day 0.
pub const DAY: i64 = 86_400_000;

/// The moments of change of every page, each page's in order.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Where each page's moments begin; one more than pages.
    starts: Vec<u32>,
    times: Vec<i64>,
}

impl Changes {
    /// Of pages one by one; each page's moments rising.
    pub fn of(pages: impl Iterator<Item = Vec<i64>>) -> Changes {
        let mut changes = Changes { starts: vec![0], times: Vec::new() };
        for moments in pages {
            changes.times.extend(moments);
            changes.starts.push(changes.times.len() as u32);
        }
        changes
    }

    pub fn of_page(&self, page: usize) -> &[i64] {
        &self.times[self.starts[page] as usize..self.starts[page + 1] as usize]
    }
}

/// Every moment alike (Poisson), or in bursts by the time of day.
pub(super) fn generate(rates: &[f64], days: u32, seed: u64, bursts: bool) -> Changes {
    let end = i64::from(days) * DAY;
    let each = |(page, rate): (usize, &f64)| {
        let mut random = Random::part(seed, 1_000 + page as u64);
        if bursts { in_bursts(*rate, end, &mut random) } else { poisson(*rate, end, &mut random) }
    };
    Changes::of(rates.iter().enumerate().map(each))
}

pub(super) fn poisson(rate: f64, end: i64, random: &mut Random) -> Vec<i64> {
    let mut moments = Vec::new();
    let mut at = 0.0;
    loop {
        at += random.exponential() / rate * DAY as f64;
        if at >= end as f64 {
            return moments;
        }
        moments.push((at as i64).max(1));
    }
}

/// Chance that a change of a burst is followed by one more: three on average.
const ONE_MORE: f64 = 2.0 / 3.0;
/// Between the changes of a burst, on average: twenty minutes.
const WITHIN: f64 = DAY as f64 / 72.0;
/// How much busier than its mean the busiest hour of a page's day is; the quietest is as much quieter.
const RHYTHM: f64 = 0.9;

/// Bursts begin `rate` times a day on average, most of them in one half of the day.
fn in_bursts(rate: f64, end: i64, random: &mut Random) -> Vec<i64> {
    let phase = random.unit();
    let begins = poisson(rate * (1.0 + RHYTHM), end, random);
    let mut moments = Vec::new();
    for begin in begins {
        let hour = std::f64::consts::TAU * (begin as f64 / DAY as f64 + phase);
        if random.unit() * (1.0 + RHYTHM) > 1.0 + RHYTHM * hour.sin() {
            continue;
        }
        let mut at = begin as f64;
        moments.push(begin);
        while random.unit() < ONE_MORE {
            at += random.exponential() * WITHIN;
            moments.push(at as i64);
        }
    }
    moments.retain(|at| *at < end);
    moments.sort_unstable();
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_changes_come_as_the_rate_says() {
        let changes = generate(&[2.0; 500], 100, 3, false);
        let count: usize = (0..500).map(|page| changes.of_page(page).len()).sum();
        assert!((count as f64 / 100_000.0 - 1.0).abs() < 0.02, "{count}");
        assert!((0..500).all(|page| changes.of_page(page).is_sorted()));
    }

    #[test]
    fn bursts_begin_as_often_as_the_rate_says_and_hold_three_changes() {
        let changes = generate(&[0.2; 2_000], 100, 3, true);
        let count: usize = (0..2_000).map(|page| changes.of_page(page).len()).sum();
        assert!((count as f64 / 120_000.0 - 1.0).abs() < 0.05, "{count}");
        let gaps = (0..2_000).flat_map(|page| changes.of_page(page).windows(2));
        let close = gaps.filter(|pair| pair[1] - pair[0] < DAY / 24).count();
        assert!(close > count / 2, "{close} of {count} follow within the hour");
    }
}
