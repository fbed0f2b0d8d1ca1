//! What scheduling costs: microseconds for each visit, for reckoning after it and for choosing it.
//!
//! Run with `--release`; the aim is at most 5 µs for a visit, both together.

use std::time::{Duration, Instant};

use manager::{
    Budget, Planner, PlannerOptions, Policy, PurseId, Sight, Stake, Value, Visited, after_visit,
    learn,
};
use model::{
    CrawlUrl, Habit, Page, PageState, PageTerms, Site, SiteClock, SiteCounters, SiteHabit, SiteId,
    SiteKey, SiteLease, Spent, SpiderId, Timestamp,
};

const SITES: usize = 200;
const PAGES: usize = 50;
const ROUNDS: usize = 50;

fn main() {
    let mut now = Timestamp(1_800_000_000_000);
    let budget = Budget { visits_per_day: Some(60_000.0), ..Budget::default() };
    let options = PlannerOptions {
        purses: vec![(PurseId::COMMON, budget)],
        tick_max: Duration::from_secs(7200),
        ..PlannerOptions::default()
    };
    let mut planner = Planner::new(options, now);
    planner.known(PurseId::COMMON, (SITES * PAGES) as u64);
    let policy = Policy::Value(Value::default());
    let stake = |_: &Page| Stake { policy, importance: 1.0, purse: PurseId::COMMON };
    let mut leases: Vec<SiteLease> = (0..SITES).map(|site| lease(site, now)).collect();
    let (mut after, mut choosing, mut visits) = (Duration::ZERO, Duration::ZERO, 0_u32);
    for _ in 0..ROUNDS {
        now = now.plus(Duration::from_secs(7200));
        planner.ask(now);
        let mut lent = leases.clone();
        let started = Instant::now();
        let chosen = planner.choose(&mut lent, &stake, &|_| 1e6, now);
        choosing += started.elapsed();
        visits += chosen.again as u32;
        let price = planner.price(PurseId::COMMON);
        let started = Instant::now();
        for lease in &mut lent {
            for page in &mut lease.pages {
                let changed = page.url.fingerprint().0 % 3 == 0;
                let sight =
                    if changed { Sight::Changed { modified: None } } else { Sight::Unchanged };
                let visited = Visited {
                    page,
                    state: PageState::Fetched,
                    failures: 0,
                    sight,
                    importance: 1.0,
                    site: &lease.site.habit,
                    price,
                    children: None,
                    now,
                };
                let next = after_visit(&policy, &visited);
                learn(&mut lease.site.habit, &page.habit, sight, now);
                page.habit = next.habit;
                page.due = next.due.unwrap_or(now);
            }
        }
        after += started.elapsed();
        for (kept, lent) in leases.iter_mut().zip(lent) {
            for page in lent.pages {
                let same = kept.pages.iter_mut().find(|known| known.url == page.url);
                *same.expect("it was lent") = page;
            }
        }
    }
    let per = |spent: Duration| spent.as_secs_f64() * 1e6 / f64::from(visits.max(1));
    println!(
        "{visits} visits: {:.2} µs after each, {:.2} µs for choosing each ({} pages looked at for each)",
        per(after),
        per(choosing),
        SITES * PAGES * ROUNDS / visits.max(1) as usize,
    );
}

fn lease(number: usize, now: Timestamp) -> SiteLease {
    let url = |page: usize| CrawlUrl::parse(&format!("http://site{number}.example/{page}"));
    let page = |at: usize| Page {
        url: url(at).expect("a URL"),
        spider: SpiderId(0),
        state: PageState::Fetched,
        level: 1,
        hops: 0,
        seed: false,
        due: now,
        failures: 0,
        terms: PageTerms::default(),
        habit: Habit { first: Some(now), seen: Some(now), price: 1.0, ..Habit::default() },
        children: None,
        last: None,
    };
    SiteLease {
        site: Site {
            id: SiteId(number as i64),
            key: SiteKey::stored(&format!("site{number}.example")),
            seeded: true,
            counters: SiteCounters::default(),
            clock: SiteClock::default(),
            habit: SiteHabit::default(),
            traps: model::SiteTraps::default(),
            robots: Vec::new(),
        },
        fence: 1,
        until: now,
        pages: (0..PAGES).map(page).collect(),
        known: None,
        more: false,
        domain: Spent::default(),
        worked_today: Duration::ZERO,
    }
}
