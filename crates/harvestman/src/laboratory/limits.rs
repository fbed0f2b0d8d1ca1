//! Hosts that allow too few visits: a tenth of them, at half of what they would be given.

use super::{oracle, population::Population, random::Random};

/// Of the hosts.
const SATURATED: f64 = 0.1;
/// Of the visits they would get.
const ALLOWED: f64 = 0.5;

/// Visits a day that each site allows; infinite where there is no limit that matters.
pub fn draw(population: &Population, visits_per_day: f64, seed: u64) -> Vec<f64> {
    let wanted = wanted(population, visits_per_day);
    let mut random = Random::part(seed, 5);
    let mut order: Vec<(u64, usize)> =
        (0..wanted.len()).filter(|site| wanted[*site] > 0.0).map(|s| (random.next(), s)).collect();
    order.sort_unstable();
    let mut limits = vec![f64::INFINITY; wanted.len()];
    let saturated = (SATURATED * wanted.len() as f64).round() as usize;
    for (_, site) in order.into_iter().take(saturated) {
        limits[site] = ALLOWED * wanted[site];
    }
    limits
}

/// Visits a day that each site gets from the best policy without limits.
fn wanted(population: &Population, visits_per_day: f64) -> Vec<f64> {
    let mut wanted = vec![0.0; population.sites()];
    let rates = oracle::best_rates(&population.rates, &population.importance, visits_per_day);
    for (page, rate) in rates.into_iter().enumerate() {
        wanted[population.site[page] as usize] += rate;
    }
    wanted
}

/// What the limits leave at a moment: a site saves up at most a day's worth.
pub struct Allowance<'a> {
    limits: Option<&'a [f64]>,
    left: Vec<f64>,
}

impl Allowance<'_> {
    pub fn new(limits: Option<&[f64]>) -> Allowance<'_> {
        Allowance { limits, left: vec![0.0; limits.map_or(0, <[f64]>::len)] }
    }

    pub fn pass(&mut self, days: f64) {
        for (left, limit) in self.left.iter_mut().zip(self.limits.into_iter().flatten()) {
            *left = (*left + limit * days).min(limit.max(1.0));
        }
    }

    /// Takes a visit from the site's allowance, if there is one left.
    pub fn take(&mut self, site: u32) -> bool {
        let Some(left) = self.left.get_mut(site as usize) else { return true };
        let may = *left >= 1.0;
        if may {
            *left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laboratory::population::{Law, Recipe};

    #[test]
    fn a_tenth_of_the_hosts_allows_half_of_what_they_would_get() {
        let recipe = Recipe {
            law: Law::D1,
            pages: 2_000,
            sites: 40,
            days: 1,
            seed: 1,
            correlation: 0.0,
            bursts: false,
        };
        let population = recipe.make();
        let limits = draw(&population, 1_000.0, 1);
        let wanted = wanted(&population, 1_000.0);
        assert!((wanted.iter().sum::<f64>() - 1_000.0).abs() < 5.0);
        let bound: Vec<usize> = (0..40).filter(|site| limits[*site].is_finite()).collect();
        assert_eq!(bound.len(), 4);
        assert!(bound.iter().all(|site| limits[*site] == wanted[*site] / 2.0));
        let mut allowance = Allowance::new(Some(&limits));
        assert!(!allowance.take(bound[0] as u32), "nothing was saved up yet");
        allowance.pass(2.0);
        let mut taken = 0.0;
        while allowance.take(bound[0] as u32) {
            taken += 1.0;
        }
        assert!(taken <= limits[bound[0]].max(1.0), "{taken} at once");
    }
}
