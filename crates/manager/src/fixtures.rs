//! Pages, sites and leases for tests.

use std::time::Duration;

use model::{
    Habit, Page, PageState, Site, SiteClock, SiteCounters, SiteHabit, SiteId, SiteKey, SiteLease,
    Spent, Timestamp, testing,
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
    let habit = Habit { first: Some(NOW), seen: Some(NOW), ..Habit::default() };
    Page { state: PageState::Fetched, due: NOW, habit, ..testing::page(url) }
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
