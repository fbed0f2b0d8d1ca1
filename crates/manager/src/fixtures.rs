//! Pages, sites and leases for tests.

use std::time::Duration;

use model::{
    CrawlUrl, Habit, Page, PageState, PageTerms, Site, SiteClock, SiteCounters, SiteHabit, SiteId,
    SiteKey, SiteLease, Spent, SpiderId, Timestamp,
};

use crate::days::wait;

pub const NOW: Timestamp = Timestamp(1_800_000_000_000);

pub fn after(days: f64) -> Timestamp {
    NOW.plus(wait(days))
}

pub fn before(days: f64) -> Timestamp {
    NOW.minus(wait(days))
}

/// Fetched, never compared.
pub fn page(url: &str) -> Page {
    Page {
        url: CrawlUrl::parse(url).expect("a URL"),
        spider: SpiderId(0),
        state: PageState::Fetched,
        level: 0,
        hops: 0,
        seed: false,
        due: NOW,
        failures: 0,
        terms: PageTerms::default(),
        habit: Habit { first: Some(NOW), seen: Some(NOW), ..Habit::default() },
        children: None,
        last: None,
    }
}

pub fn site(number: i64) -> Site {
    Site {
        id: SiteId(number),
        key: SiteKey::stored(&format!("s{number}.example")),
        seeded: true,
        counters: SiteCounters::default(),
        clock: SiteClock::default(),
        habit: SiteHabit::default(),
        traps: model::SiteTraps::default(),
        robots: Vec::new(),
    }
}

pub fn lease(site: Site, pages: Vec<Page>) -> SiteLease {
    SiteLease {
        site,
        fence: 1,
        until: NOW,
        pages,
        known: None,
        more: false,
        domain: Spent::default(),
        worked_today: Duration::ZERO,
    }
}
