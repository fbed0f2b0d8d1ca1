//! Announcements of changes: a sitemap's `lastmod`, read once a day, as some hosts keep it well and some not.
//!
//! Of the pages, 36 % are on hosts that announce nine changes of ten and make one announcement of ten without a
//! change; 9 % are on hosts that stamp their pages about once a day, change or none (Bing's survey of 2023 has
//! 39 % and 9 %). The others announce nothing.

use super::{
    changes::{DAY, poisson},
    population::Population,
    random::Random,
};

/// What can be read, by day: the pages announced since the day before, by site, with the newest moment told.
#[derive(Clone, Debug, Default)]
pub struct Announcements {
    days: Vec<Vec<(u32, i64)>>,
}

const HONEST: f64 = 0.36;
const LYING: f64 = 0.09;
/// Share of changes that are announced, …
const RECALL: f64 = 0.9;
/// … and of announcements that are true, on an honest host.
const PRECISION: f64 = 0.9;

impl Announcements {
    /// What a poll at the beginning of `day` shows.
    pub fn on(&self, day: usize) -> &[(u32, i64)] {
        self.days.get(day).map_or(&[], Vec::as_slice)
    }

    pub fn generate(population: &Population, seed: u64) -> Announcements {
        let sites = population.sites();
        let mut order: Vec<usize> = (0..sites).collect();
        let mut random = Random::part(seed, 3);
        for last in (1..sites).rev() {
            order.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
        let honest = (HONEST * sites as f64).round() as usize;
        let lying = honest + (LYING * sites as f64).round() as usize;
        let mut days = vec![Vec::new(); population.days as usize + 1];
        for page in 0..population.pages() {
            // Any order does, as long as sites are honest or not as a whole.
            let place = order[population.site[page] as usize];
            let rate = population.rates[page];
            let invented = match place {
                place if place < honest => rate * RECALL * (1.0 - PRECISION) / PRECISION,
                place if place < lying => 1.0,
                _ => continue,
            };
            let mut random = Random::part(seed, 1_000_000_000 + page as u64);
            let end = i64::from(population.days) * DAY;
            let mut told = poisson(invented, end, &mut random);
            let changes = population.changes.of_page(page).iter();
            told.extend(changes.filter(|_| random.unit() < RECALL));
            told.sort_unstable();
            for of_day in told.chunk_by(|a, b| a.div_euclid(DAY) == b.div_euclid(DAY)) {
                let newest = of_day[of_day.len() - 1];
                days[newest.div_euclid(DAY) as usize + 1].push((page as u32, newest));
            }
        }
        Announcements { days }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laboratory::population::{Law, Recipe};

    #[test]
    fn announcements_are_as_good_as_they_are_meant_to_be() {
        let recipe = Recipe {
            law: Law::D2,
            pages: 5_000,
            sites: 100,
            days: 50,
            seed: 4,
            correlation: 0.0,
            bursts: false,
        };
        let population = recipe.make();
        let announcements = Announcements::generate(&population, 4);
        assert!(announcements.on(0).is_empty(), "nothing was told before the first day");
        let mut pages: Vec<u32> =
            (0..=50).flat_map(|day| announcements.on(day).iter().map(|(page, _)| *page)).collect();
        pages.sort_unstable();
        let mut lying = 0;
        for of_page in pages.chunk_by(|a, b| a == b) {
            lying += usize::from(of_page.len() > 25);
        }
        assert!((400..700).contains(&lying), "{lying} pages are stamped more than every other day");
        let mut sites: Vec<u32> =
            pages.iter().map(|page| population.site[*page as usize]).collect();
        sites.dedup();
        assert!((40..=45).contains(&sites.len()), "{} sites announce", sites.len());
    }
}
