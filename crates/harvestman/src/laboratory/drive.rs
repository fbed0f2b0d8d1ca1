//! The real thing: the product's policies by the path that a crawl takes, check-out, choice, visit, what it
//! teaches, check-in, with a frontier in memory and a clock that goes in ticks.
//!
//! A tick stands for the time between two check-outs of a running crawl; all its visits happen at its moment.

use std::time::Duration;

use manager::{
    Batch, Budget, Frequency, FrequencyOn, Planner, PlannerOptions, Policy, Profit, PurseId, Sight,
    Stake, Visited, after_visit, learn,
};
use model::{
    Candidate, CheckOut, CrawlUrl, Frontier, Page, PageState, PageTerms, PageUpdate, Release,
    Settlement, Signal, SignalSource, SiteDelta, SiteHabit, SiteKey, SiteLease, SpiderId,
    StoreError, Timestamp,
};
use store::frontier::MemoryFrontier;

use super::{
    Case,
    changes::DAY,
    comparators::Credit,
    world::{Look, Outcome, World},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    Value,
    /// A batch each day.
    Profit,
    /// A batch at every tick, and no least time between visits.
    ProfitFast,
    Frequency,
    Fixed,
}

/// Day 0: a Thursday, at midnight.
const START: i64 = 20_454 * DAY;
const SPIDER: SpiderId = SpiderId(1);
const PURSE: PurseId = PurseId(0);
/// Pages from which the start price is reckoned.
const SAMPLE: usize = 2_000;
/// More than a site without a limit is ever visited.
const NO_LIMIT: f64 = 1e6;

pub fn run(case: &Case, real: Real) -> Result<Outcome, StoreError> {
    let mut drive = Drive::new(case, real);
    drive.fetch_all()?;
    for now in case.ticks() {
        drive.tick(now)?;
    }
    Ok(drive.world.end())
}

struct Drive<'a> {
    case: &'a Case,
    policy: Policy,
    world: World<'a>,
    frontier: MemoryFrontier,
    planner: Planner,
    /// Visits that the next batch may hold.
    credit: Credit,
    batch: usize,
    next_batch: i64,
    next_poll: i64,
}

impl Drive<'_> {
    fn new(case: &Case, real: Real) -> Drive<'_> {
        let policy = policy(case, real);
        // A batch is the budget.
        let gated = !matches!(policy, Policy::Profit(_));
        let visits_per_day = Some(case.visits_per_day);
        let budget = Budget { visits_per_day, bytes_per_day: None, requests_per_second: None };
        let options = PlannerOptions {
            purses: vec![(PURSE, budget)],
            gated,
            tick_max: Duration::from_millis(case.tick.unsigned_abs()),
            site_share: 1.0,
        };
        Drive {
            case,
            policy,
            world: World::new(&case.population, case.failing, case.seed),
            frontier: MemoryFrontier::new(),
            planner: Planner::new(options, moment(0)),
            credit: Credit::new(case),
            batch: 0,
            next_batch: 0,
            next_poll: DAY,
        }
    }

    /// Day 0: every page is found and fetched, whatever the budget.
    fn fetch_all(&mut self) -> Result<(), StoreError> {
        let now = moment(0);
        let population = &self.case.population;
        let candidates: Vec<Candidate> = (0..population.pages())
            .map(|page| candidate(population.site[page], page))
            .collect::<Result<_, _>>()?;
        self.frontier.admit(&candidates, now)?;
        self.planner.known(PURSE, candidates.len() as u64);
        let leases = self.frontier.check_out(&request(now))?;
        let sample = self.sample(&leases, now);
        let stake = stake(self.case, self.policy);
        self.planner.begin(&sample, &stake, now);
        let mut settled = Settlement { now, ..Settlement::default() };
        for lease in leases {
            let mut delta = back(&lease);
            for page in &lease.pages {
                let site = &lease.site.habit;
                delta.updates.push(self.visited(page, site, Sight::First { modified: None }, now));
            }
            settled.deltas.push(delta);
        }
        self.frontier.check_in(&settled)
    }

    /// Some of the pages as they will be once they were fetched.
    fn sample(&self, leases: &[SiteLease], now: Timestamp) -> Vec<(Page, SiteHabit)> {
        let step = self.case.population.pages().div_ceil(SAMPLE).max(1);
        let pages = leases
            .iter()
            .flat_map(|lease| lease.pages.iter().map(|page| (page, &lease.site.habit)));
        let after = |(page, site): (&Page, &SiteHabit)| {
            let update = self.visited(page, site, Sight::First { modified: None }, now);
            let habit = update.habit.unwrap_or(page.habit);
            (Page { habit, state: PageState::Fetched, ..page.clone() }, site.clone())
        };
        pages.step_by(step).map(after).collect()
    }

    fn tick(&mut self, at: i64) -> Result<(), StoreError> {
        let now = moment(at);
        if self.case.announcements.is_some() && at >= self.next_poll {
            self.poll(at)?;
            self.next_poll = at.div_euclid(DAY) * DAY + DAY;
        }
        self.make_batch(at)?;
        let ask = self.planner.ask(now);
        let mut leases = self.frontier.check_out(&CheckOut {
            firsts: ask.firsts,
            again_max: ask.again_max,
            slack: ask.slack,
            ..request(now)
        })?;
        let limits = self.case.limits.as_deref();
        let polite =
            |site: &model::Site| limits.map_or(NO_LIMIT, |l| l[number_of(&site.key)].min(NO_LIMIT));
        let stake = stake(self.case, self.policy);
        let chosen = self.planner.choose(&mut leases, &stake, &polite, now);
        let mut settled = Settlement { now, ..Settlement::default() };
        settled.deltas = leases.iter_mut().map(|lease| self.visit_site(lease, at)).collect();
        for (lease, update) in chosen.later {
            settled.deltas[lease].updates.push(update);
        }
        self.frontier.check_in(&settled)
    }

    fn visit_site(&mut self, lease: &mut SiteLease, at: i64) -> SiteDelta {
        let now = moment(at);
        let mut delta = back(lease);
        for page in &lease.pages {
            let sight = match self.world.visit(page_number(page), at) {
                Look::Changed => Sight::Changed { modified: None },
                Look::Unchanged => Sight::Unchanged,
                Look::Failed => Sight::Nothing,
            };
            learn(&mut lease.site.habit, &page.habit, sight, now);
            delta.updates.push(self.visited(page, &lease.site.habit, sight, now));
            self.planner.spent(PURSE, false, 0, now);
        }
        delta.habit = Some(lease.site.habit.clone());
        delta
    }

    fn visited(&self, page: &Page, site: &SiteHabit, sight: Sight, now: Timestamp) -> PageUpdate {
        let failed = matches!(sight, Sight::Nothing);
        let (state, failures) = match failed {
            true => (PageState::Failing, page.failures + 1),
            false => (PageState::Fetched, 0),
        };
        let next = after_visit(
            &self.policy,
            &Visited {
                page,
                state,
                failures,
                sight,
                importance: self.case.population.importance[page_number(page)],
                site,
                price: self.planner.price(PURSE),
                children: None,
                now,
            },
        );
        PageUpdate {
            fp: page.url.fingerprint(),
            state,
            due: next.due,
            failures,
            visit: None,
            habit: Some(next.habit),
            children: None,
            facts: None,
        }
    }

    /// WIRE's batch: as many of the most profitable pages as the budget has come to.
    fn make_batch(&mut self, at: i64) -> Result<(), StoreError> {
        let Policy::Profit(profit) = self.policy else { return Ok(()) };
        self.batch += self.credit.draw();
        let cycle = profit.cycle.as_millis() as i64;
        if self.next_batch == 0 {
            self.next_batch = cycle;
        }
        if at < self.next_batch {
            return Ok(());
        }
        self.next_batch += cycle;
        let size = std::mem::take(&mut self.batch) as u32;
        let mut batch = Batch::new(Profit { batch: size, ..profit }, moment(at));
        let importance = &self.case.population.importance;
        self.frontier.survey(SPIDER, &mut |site, page| {
            batch.look(site, page, importance[page_number(page)]);
        })?;
        self.frontier.call(&batch.chosen(), moment(at), moment(at)).map(drop)
    }

    /// Reads what was announced since the last time.
    fn poll(&mut self, at: i64) -> Result<(), StoreError> {
        let Some(announcements) = &self.case.announcements else { return Ok(()) };
        let told = announcements.on(at.div_euclid(DAY) as usize);
        let site_of = |page: u32| self.case.population.site[page as usize];
        let groups: Vec<&[(u32, i64)]> =
            told.chunk_by(|a, b| site_of(a.0) == site_of(b.0)).collect();
        let mut only = Vec::with_capacity(groups.len());
        for group in &groups {
            only.push(site_key(site_of(group[0].0))?);
        }
        let named = CheckOut { only: Some(only), ..request(moment(at)) };
        let leases = self.frontier.check_out(&named)?;
        let mut settled = Settlement { now: moment(at), ..Settlement::default() };
        for lease in &leases {
            let number = number_of(&lease.site.key) as u32;
            let group = groups.iter().find(|group| site_of(group[0].0) == number);
            let mut delta = back(lease);
            for (page, told) in group.into_iter().copied().flatten() {
                delta.signals.push(Signal {
                    fp: url(number, *page as usize)?.fingerprint(),
                    at: moment(*told),
                    source: SignalSource::Sitemap,
                    believed: manager::believed(&lease.site.habit.sitemap),
                });
            }
            settled.deltas.push(delta);
        }
        self.frontier.check_in(&settled)
    }
}

fn policy(case: &Case, real: Real) -> Policy {
    let tick = Duration::from_millis(case.tick.unsigned_abs());
    match real {
        Real::Value => Policy::Value(manager::Value::default()),
        Real::Profit => Policy::Profit(Profit { site_max: u32::MAX, ..Profit::default() }),
        Real::ProfitFast => Policy::Profit(Profit {
            cycle: tick,
            period_min: tick,
            site_max: u32::MAX,
            ..Profit::default()
        }),
        Real::Frequency => {
            Policy::Frequency(Frequency { on: FrequencyOn::Pages, ..Frequency::default() })
        }
        Real::Fixed => {
            let days = case.population.pages() as f64 / case.visits_per_day;
            Policy::Fixed { every: Duration::from_secs_f64(days * 86_400.0) }
        }
    }
}

fn stake(case: &Case, policy: Policy) -> impl Fn(&Page) -> Stake {
    move |page| {
        let importance = case.population.importance[page_number(page)];
        Stake { policy, importance, purse: PURSE }
    }
}

fn request(now: Timestamp) -> CheckOut {
    CheckOut { lease: Duration::from_secs(60), ..CheckOut::at(now, "laboratory") }
}

fn back(lease: &SiteLease) -> SiteDelta {
    let release = Release::NotBefore(Timestamp::ZERO);
    SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
}

fn moment(at: i64) -> Timestamp {
    Timestamp(START + at)
}

fn candidate(site: u32, page: usize) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        url: url(site, page)?,
        spider: SPIDER,
        level: 0,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        referrer: None,
    })
}

fn url(site: u32, page: usize) -> Result<CrawlUrl, StoreError> {
    CrawlUrl::stored(&format!("http://{site}.test/{page}"))
        .map_err(|error| StoreError::Database { detail: error.to_string() })
}

fn site_key(site: u32) -> Result<SiteKey, StoreError> {
    url(site, 0).map(|url| url.site())
}

/// The page that [`url`] names.
fn page_number(page: &Page) -> usize {
    leading_number(page.url.as_str().rsplit('/').next().unwrap_or_default())
}

fn number_of(key: &SiteKey) -> usize {
    leading_number(key.as_str())
}

fn leading_number(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'))
}
