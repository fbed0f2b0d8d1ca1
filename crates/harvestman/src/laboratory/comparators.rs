//! Policies to compare with that are not the product's: plain loops over arrays, no frontier.

use manager::Belief;
use model::SiteHabit;

use super::{
    Case,
    changes::DAY,
    limits::Allowance,
    oracle,
    world::{Look, Outcome, World},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// Knows the true rates; the best pages by crawl value at every tick.
    Oracle,
    /// Round robin.
    Uniform,
    /// As often as a page is believed to change.
    Proportional,
}

/// Visits for a tick out of a budget by the day; what is left of one goes to the next.
pub struct Credit {
    per_tick: f64,
    saved: f64,
}

impl Credit {
    pub fn new(case: &Case) -> Credit {
        let per_tick = case.visits_per_day * case.tick as f64 / DAY as f64;
        Credit { per_tick, saved: 0.0 }
    }

    pub fn draw(&mut self) -> usize {
        self.saved += self.per_tick;
        let whole = self.saved.floor();
        self.saved -= whole;
        whole as usize
    }
}

pub fn compare(case: &Case, comparator: Comparator) -> Outcome {
    let population = &case.population;
    let mut world = World::new(population, case.failing, case.seed);
    let mut chooser = Chooser::new(case, comparator);
    let mut credit = Credit::new(case);
    for now in case.ticks() {
        for page in chooser.choose(&world, credit.draw(), now) {
            let age = (now - world.seen(page)) as f64 / DAY as f64;
            let look = world.visit(page, now);
            chooser.learn(page, age, look);
        }
    }
    world.end()
}

struct Chooser<'a> {
    case: &'a Case,
    comparator: Comparator,
    /// Of the round.
    turn: usize,
    beliefs: Vec<Belief>,
    allowance: Allowance<'a>,
    ranked: Vec<(f64, u32)>,
}

impl Chooser<'_> {
    fn new(case: &Case, comparator: Comparator) -> Chooser<'_> {
        Chooser {
            case,
            comparator,
            turn: 0,
            beliefs: vec![Belief::prior(&SiteHabit::default()); case.population.pages()],
            allowance: Allowance::new(case.limits.as_deref()),
            ranked: Vec::new(),
        }
    }

    fn choose(&mut self, world: &World<'_>, count: usize, now: i64) -> Vec<usize> {
        self.allowance.pass(self.case.tick as f64 / DAY as f64);
        match self.comparator {
            Comparator::Uniform => self.round(count),
            _ => self.best(world, count, now),
        }
    }

    fn round(&mut self, count: usize) -> Vec<usize> {
        let pages = self.case.population.pages();
        let mut chosen = Vec::with_capacity(count);
        for _ in 0..pages {
            if chosen.len() == count {
                break;
            }
            let page = self.turn;
            self.turn = (self.turn + 1) % pages;
            if self.allowance.take(self.case.population.site[page]) {
                chosen.push(page);
            }
        }
        chosen
    }

    fn best(&mut self, world: &World<'_>, count: usize, now: i64) -> Vec<usize> {
        let population = &self.case.population;
        self.ranked.clear();
        for page in 0..population.pages() {
            let age = (now - world.seen(page)) as f64 / DAY as f64;
            let worth = match self.comparator {
                Comparator::Oracle => {
                    oracle::value(population.rates[page], population.importance[page], age)
                }
                _ => self.beliefs[page].mean() * age,
            };
            self.ranked.push((worth, page as u32));
        }
        // With limits those behind may have to come up: all are put in order.
        let limited = self.case.limits.is_some();
        let sorted = if limited { population.pages() } else { count.min(population.pages()) };
        if 0 < sorted && sorted < self.ranked.len() {
            self.ranked.select_nth_unstable_by(sorted - 1, |a, b| b.0.total_cmp(&a.0));
        }
        self.ranked.truncate(sorted);
        if limited {
            self.ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        }
        let allowance = &mut self.allowance;
        let may = |page: &usize| allowance.take(population.site[*page]);
        self.ranked.iter().map(|(_, page)| *page as usize).filter(may).take(count).collect()
    }

    fn learn(&mut self, page: usize, age: f64, look: Look) {
        if self.comparator != Comparator::Proportional {
            return;
        }
        let belief = &mut self.beliefs[page];
        match look {
            Look::Changed => *belief = belief.changed(age),
            Look::Unchanged => *belief = belief.unchanged(age),
            Look::Failed => {}
        }
    }
}
