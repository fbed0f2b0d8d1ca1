//! Populations: how often pages change, how much they matter, which site they are on.
//!
//! D1 has the classes of Cho & Garcia-Molina (2000), log-uniform inside each; D2 is lognormal with a median of
//! one change in thirty days. Rates of one site's pages are correlated (0.7); importance is Pareto (1.1), as
//! PageRank is, and independent of the rate unless a correlation is asked for.

use super::{
    changes::{self, Changes},
    random::{Random, normal_quantiles},
};

/// Pages and what happens to them, the same for every policy.
#[derive(Clone, Debug)]
pub struct Population {
    /// `D1`, `D2`, `history`, or the name of a file.
    pub name: String,
    pub days: u32,
    /// True changes a day: what only the oracle knows.
    pub rates: Vec<f64>,
    /// Of each page; one on average.
    pub importance: Vec<f64>,
    /// Of each page, rising.
    pub site: Vec<u32>,
    pub changes: Changes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Cho & Garcia-Molina's classes.
    D1,
    /// Lognormal.
    D2,
}

/// What a generated population is made from.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub law: Law,
    pub pages: usize,
    pub sites: usize,
    pub days: u32,
    pub seed: u64,
    /// Of importance with the rate of change.
    pub correlation: f64,
    /// Changes come in bursts and by the time of day instead of at any moment.
    pub bursts: bool,
}

/// Correlation of the rates of pages of one site: a page's part and its site's, in squares, make one.
const OF_SITE: f64 = 0.7;
/// Importance: the exponent of the Pareto distribution.
const PARETO: f64 = 1.1;

impl Law {
    pub const ALL: [Law; 2] = [Law::D1, Law::D2];

    pub fn word(self) -> &'static str {
        match self {
            Law::D1 => "D1",
            Law::D2 => "D2",
        }
    }

    /// Changes a day of pages in the order of how often they change.
    fn rates(self, count: usize) -> Vec<f64> {
        match self {
            Law::D1 => (0..count).map(|n| class_rate((n as f64 + 0.5) / count as f64)).collect(),
            Law::D2 => {
                let rate = |z: f64| (2.0 * z - 30f64.ln()).exp().clamp(1e-4, 24.0);
                normal_quantiles(count).into_iter().map(rate).collect()
            }
        }
    }
}

/// Shares of pages, from the slowest class up, and the changes a day between which each class lies.
const CLASSES: [(f64, f64, f64); 5] = [
    (0.30, 1.0 / 1000.0, 1.0 / 120.0),
    (0.16, 1.0 / 120.0, 1.0 / 30.0),
    (0.16, 1.0 / 30.0, 1.0 / 7.0),
    (0.15, 1.0 / 7.0, 1.0),
    (0.23, 1.0, 10.0),
];

fn class_rate(mut share: f64) -> f64 {
    for (part, slow, fast) in CLASSES {
        if share < part {
            return slow * (fast / slow).powf(share / part);
        }
        share -= part;
    }
    CLASSES[4].2
}

impl Recipe {
    pub fn make(&self) -> Population {
        let mut random = Random::part(self.seed, 1);
        let site: Vec<u32> =
            (0..self.pages).map(|page| (page * self.sites / self.pages) as u32).collect();
        let of_site: Vec<f64> = (0..self.sites).map(|_| random.normal()).collect();
        let own = (1.0 - OF_SITE * OF_SITE).sqrt();
        let speed: Vec<f64> = site
            .iter()
            .map(|site| OF_SITE * of_site[*site as usize] + own * random.normal())
            .collect();
        let by_rank = self.law.rates(self.pages);
        let rates: Vec<f64> = ranks(&speed).into_iter().map(|rank| by_rank[rank]).collect();
        let importance = self.importance(&speed, &mut random);
        let changes = changes::generate(&rates, self.days, self.seed, self.bursts);
        let name = self.law.word().to_owned();
        Population { name, days: self.days, rates, importance, site, changes }
    }

    fn importance(&self, speed: &[f64], random: &mut Random) -> Vec<f64> {
        let count = speed.len() as f64;
        let spread = (speed.iter().map(|z| z * z).sum::<f64>() / count).sqrt();
        let own = (1.0 - self.correlation * self.correlation).sqrt();
        let weight: Vec<f64> =
            speed.iter().map(|z| self.correlation * z / spread + own * random.normal()).collect();
        let pareto = |rank: usize| (1.0 - (rank as f64 + 0.5) / count).powf(-1.0 / PARETO);
        averaging_one(ranks(&weight).into_iter().map(pareto).collect())
    }
}

impl Population {
    pub fn pages(&self) -> usize {
        self.rates.len()
    }

    pub fn sites(&self) -> usize {
        self.site.last().map_or(0, |last| *last as usize + 1)
    }

    /// Changes a day of all pages together.
    pub fn changes_per_day(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// Scaled so that the mean is one.
pub fn averaging_one(mut weights: Vec<f64>) -> Vec<f64> {
    let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    weights.iter_mut().for_each(|weight| *weight /= mean);
    weights
}

/// The place of each value among all, from the smallest.
fn ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(law: Law) -> Recipe {
        Recipe { law, pages: 20_000, sites: 400, days: 1, seed: 1, correlation: 0.0, bursts: false }
    }

    #[test]
    fn the_populations_have_the_rates_of_the_specification() {
        for (law, mean, median) in [(Law::D1, 0.98, 0.048), (Law::D2, 0.234, 1.0 / 30.0)] {
            let mut rates = recipe(law).make().rates;
            rates.sort_by(f64::total_cmp);
            let found = rates.iter().sum::<f64>() / rates.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.02, "{law:?}: mean {found}");
            assert!((rates[10_000] / median - 1.0).abs() < 0.03, "{law:?}: {}", rates[10_000]);
        }
    }

    #[test]
    fn a_hundredth_of_the_pages_has_about_half_the_weight() {
        let mut weights = recipe(Law::D1).make().importance;
        weights.sort_by(|a, b| b.total_cmp(a));
        let top = weights[..200].iter().sum::<f64>() / weights.iter().sum::<f64>();
        assert!((0.44..0.52).contains(&top), "{top}");
    }

    #[test]
    fn pages_of_one_site_change_alike_and_importance_does_not_care() {
        let population = recipe(Law::D2).make();
        let logs: Vec<f64> = population.rates.iter().map(|rate| rate.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let spread = |part: &[f64]| {
            let middle = part.iter().sum::<f64>() / part.len() as f64;
            (middle - mean).powi(2)
        };
        let between = logs.chunks(50).map(spread).sum::<f64>() / 400.0;
        let total = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((0.40..0.60).contains(&(between / total)), "{}", between / total);
        let important = population.importance.iter().zip(&logs);
        let covariance = important.map(|(mu, log)| mu.ln() * (log - mean)).sum::<f64>() / 20_000.0;
        assert!((covariance / total).abs() < 0.05, "{covariance}");
    }
}
