//! The web as the laboratory knows it: what a visit finds, and how fresh all copies are at every moment.
//!
//! A copy is fresh from its visit until the page's next change. That is reckoned exactly, from the moments of
//! visits and changes, weighted by importance, and summed up by day.

use super::{changes::DAY, population::Population, random::Random};

/// One policy's course through a population.
pub struct World<'a> {
    population: &'a Population,
    /// When each page was last fetched.
    seen: Vec<i64>,
    /// The first change after that, as a place among the page's changes.
    next: Vec<u32>,
    /// Importance times fresh days, by day.
    fresh: Vec<f64>,
    failing: f64,
    random: Random,
    pub downloads: u64,
    pub wasted: u64,
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Changed,
    Unchanged,
    /// No answer.
    Failed,
}

/// How a policy did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Share of importance that was fresh, by day.
    pub series: Vec<f64>,
    pub downloads: u64,
    /// Downloads that found nothing new.
    pub wasted: u64,
}

impl World<'_> {
    /// Every page was fetched at day 0. A share of visits fails.
    pub fn new(population: &Population, failing: f64, seed: u64) -> World<'_> {
        World {
            population,
            seen: vec![0; population.pages()],
            next: vec![0; population.pages()],
            fresh: vec![0.0; population.days as usize],
            failing,
            random: Random::part(seed, 2),
            downloads: 0,
            wasted: 0,
        }
    }

    pub fn seen(&self, page: usize) -> i64 {
        self.seen[page]
    }

    pub fn visit(&mut self, page: usize, now: i64) -> Look {
        self.downloads += 1;
        if self.failing > 0.0 && self.random.unit() < self.failing {
            self.wasted += 1;
            return Look::Failed;
        }
        let changed = self.look_back(page, now);
        self.wasted += u64::from(!changed);
        if changed { Look::Changed } else { Look::Unchanged }
    }

    /// Accounts for the time since the last visit; says whether the page changed in it.
    fn look_back(&mut self, page: usize, now: i64) -> bool {
        let changes = self.population.changes.of_page(page);
        let next = self.next[page] as usize;
        let stale = changes.get(next).copied().unwrap_or(i64::MAX);
        self.add(page, self.seen[page], stale.min(now));
        let met = changes[next..].iter().take_while(|change| **change <= now).count();
        self.next[page] += met as u32;
        self.seen[page] = now;
        met > 0
    }

    fn add(&mut self, page: usize, from: i64, until: i64) {
        let importance = self.population.importance[page];
        let mut from = from;
        while from < until {
            let day = from.div_euclid(DAY);
            let end = until.min((day + 1) * DAY);
            if let Some(fresh) = self.fresh.get_mut(day as usize) {
                *fresh += importance * (end - from) as f64 / DAY as f64;
            }
            from = end;
        }
    }

    pub fn end(mut self) -> Outcome {
        let end = i64::from(self.population.days) * DAY;
        for page in 0..self.population.pages() {
            self.look_back(page, end);
        }
        let all: f64 = self.population.importance.iter().sum();
        Outcome {
            series: self.fresh.iter().map(|fresh| fresh / all).collect(),
            downloads: self.downloads,
            wasted: self.wasted,
        }
    }
}

impl Outcome {
    pub fn freshness(&self) -> f64 {
        mean(&self.series)
    }

    /// In the second half of the time.
    pub fn late(&self) -> f64 {
        mean(&self.series[self.series.len() / 2..])
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laboratory::changes::Changes;

    /// Two pages, the first three times as important; it changes at 12 h and 36 h of three days.
    fn population() -> Population {
        Population {
            name: "two".into(),
            days: 3,
            rates: vec![1.0, 0.1],
            importance: vec![1.5, 0.5],
            site: vec![0, 0],
            changes: Changes::of([vec![DAY / 2, 3 * DAY / 2], vec![]].into_iter()),
        }
    }

    #[test]
    fn freshness_is_exact_to_the_moment() {
        let population = population();
        let mut world = World::new(&population, 0.0, 1);
        assert_eq!(world.visit(0, DAY), Look::Changed);
        assert_eq!(world.visit(0, 5 * DAY / 4), Look::Unchanged);
        assert_eq!(world.visit(1, 2 * DAY), Look::Unchanged);
        let outcome = world.end();
        // Day 0: half of the first page; day 1: from its visit to the second change; day 2: only the other.
        let wanted = [0.75 * 0.5 + 0.25, 0.75 * 0.5 + 0.25, 0.25];
        for (found, wanted) in outcome.series.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-9, "{:?}", outcome.series);
        }
        assert_eq!((outcome.downloads, outcome.wasted), (3, 2));
    }

    #[test]
    fn a_failed_visit_makes_nothing_fresh() {
        let population = population();
        let mut world = World::new(&population, 1.0, 1);
        assert_eq!(world.visit(0, DAY), Look::Failed);
        let outcome = world.end();
        assert!((outcome.series[1] - 0.25).abs() < 1e-9, "{:?}", outcome.series);
        assert_eq!((outcome.downloads, outcome.wasted), (1, 1));
    }
}
