//! Quarantine: pages whose reading broke down three times are left alone, and sites with three such pages.
//!
//! Nearly always nothing is in it, and asking costs one look at a flag. The store keeps the same list from the
//! sightings that this room makes: see `store/src/frontier/breakdowns.rs`.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use model::{CrawlUrl, Fingerprint, Hazard, Measure, Refusal, Sighting, limits::BREAKDOWNS_MAX};
use store::frontier::Breakdown;

/// How the reading of a page can break down, as reports say it.
pub const PANICKED: &str = "the parser failed";
pub const ABORTED: &str = "the process ended over it";
pub const STALLED: &str = "its reading did not end";
/// Of a page that was read after all.
const READ_WELL: &str = "read after all";

#[derive(Default)]
pub struct Quarantine {
    /// There is anything in the list.
    any: AtomicBool,
    list: RwLock<List>,
}

#[derive(Default)]
struct List {
    pages: HashMap<Fingerprint, Broken>,
    /// Pages in quarantine of each site that has any: asked for with every page and every link, so it is not counted
    /// each time.
    sites: HashMap<String, u32>,
}

struct Broken {
    url: String,
    site: String,
    count: u32,
}

impl Quarantine {
    /// What earlier processes left.
    pub fn load(&self, rows: &[Breakdown]) {
        let read = |row: &Breakdown| {
            let url = CrawlUrl::stored(&row.url).ok()?;
            let site = url.site_text().to_owned();
            Some((url.fingerprint(), Broken { url: row.url.clone(), site, count: row.count }))
        };
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        *list = List { pages: rows.iter().filter_map(read).collect(), ..List::default() };
        list.count_sites();
        self.any.store(!list.pages.is_empty(), Ordering::Release);
    }

    pub fn refuses(&self, url: &CrawlUrl) -> Option<Refusal> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        // Where no page of the site is in quarantine, this one is not.
        let of_site = *list.sites.get(url.site_text())?;
        if list.pages.get(&url.fingerprint()).is_some_and(Broken::is_in) {
            return Some(Refusal::quarantined(false));
        }
        (of_site >= BREAKDOWNS_MAX).then(|| Refusal::quarantined(true))
    }

    /// Reading the page broke down once more; what is to be told of it.
    pub fn broke_down(&self, url: &CrawlUrl, how: &str) -> Vec<Sighting> {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let site = url.site_text();
        let fresh = || Broken { url: url.as_str().to_owned(), site: site.to_owned(), count: 0 };
        let broken = list.pages.entry(url.fingerprint()).or_insert_with(fresh);
        broken.count += 1;
        let count = broken.count;
        self.any.store(true, Ordering::Release);
        let mut met = vec![Sighting::at(url, Hazard::ParserCrash, Measure::Noted).of(how)];
        if count == BREAKDOWNS_MAX {
            met.push(Sighting::at(url, Hazard::Quarantine, Measure::Refused).of("page"));
            let of_site = list.sites.entry(site.to_owned()).or_default();
            *of_site += 1;
            if *of_site == BREAKDOWNS_MAX {
                met.push(Sighting::at(url, Hazard::Quarantine, Measure::SiteStopped).of("site"));
            }
        }
        met
    }

    /// The page was read: what broke down before was not its doing, or is mended.
    pub fn read_well(&self, url: &CrawlUrl) -> Option<Sighting> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let fp = url.fingerprint();
        // Nearly no page is in the list, and every gather thread asks for every page: only a hit keeps the others out.
        if !self.list.read().unwrap_or_else(PoisonError::into_inner).pages.contains_key(&fp) {
            return None;
        }
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        list.pages.remove(&fp)?;
        list.count_sites();
        self.any.store(!list.pages.is_empty(), Ordering::Release);
        Some(Sighting::at(url, Hazard::ParserCrash, Measure::Corrected).of(READ_WELL))
    }

    /// A page by its URL, or all pages of a site, may be read again.
    pub fn lift(&self, what: &str) {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        list.pages.retain(|_, broken| broken.url != what && broken.site != what);
        list.count_sites();
        self.any.store(!list.pages.is_empty(), Ordering::Release);
    }
}

impl List {
    /// After pages left the list, which is rare.
    fn count_sites(&mut self) {
        self.sites.clear();
        for broken in self.pages.values().filter(|broken| broken.is_in()) {
            *self.sites.entry(broken.site.clone()).or_default() += 1;
        }
    }
}

impl Broken {
    fn is_in(&self) -> bool {
        self.count >= BREAKDOWNS_MAX
    }
}

#[cfg(test)]
mod tests {
    use model::testing::url;

    use super::*;

    fn hazards(met: &[Sighting]) -> Vec<(Hazard, &str)> {
        met.iter().map(|sighting| (sighting.hazard, sighting.what.as_str())).collect()
    }

    #[test]
    fn a_page_is_left_alone_from_the_third_time_on_and_a_site_from_the_third_page_on() {
        let quarantine = Quarantine::default();
        let once = (Hazard::ParserCrash, PANICKED);
        for page in ["http://a.example/1", "http://a.example/2", "http://a.example/3"] {
            assert_eq!(hazards(&quarantine.broke_down(&url(page), PANICKED)), [once]);
            assert_eq!(hazards(&quarantine.broke_down(&url(page), PANICKED)), [once]);
            assert_eq!(quarantine.refuses(&url(page)), None);
            let third = quarantine.broke_down(&url(page), PANICKED);
            assert_eq!(hazards(&third)[..2], [once, (Hazard::Quarantine, "page")]);
            assert_eq!(quarantine.refuses(&url(page)), Some(Refusal::quarantined(false)));
            let site = hazards(&third).contains(&(Hazard::Quarantine, "site"));
            assert_eq!(site, page.ends_with('3'));
        }
        let other = url("http://a.example/good");
        assert_eq!(quarantine.refuses(&other), Some(Refusal::quarantined(true)));
        assert_eq!(quarantine.refuses(&url("http://b.example/")), None);
        quarantine.lift("http://a.example/2");
        assert_eq!(quarantine.refuses(&other), None);
        assert_eq!(quarantine.refuses(&url("http://a.example/2")), None);
        quarantine.lift("a.example");
        assert_eq!(quarantine.refuses(&url("http://a.example/1")), None);
    }

    #[test]
    fn a_reading_that_goes_well_begins_the_count_anew() {
        let (quarantine, page) = (Quarantine::default(), url("http://a.example/1"));
        assert_eq!(quarantine.read_well(&page), None);
        quarantine.broke_down(&page, ABORTED);
        quarantine.broke_down(&page, ABORTED);
        let mended = quarantine.read_well(&page).unwrap();
        assert_eq!((mended.hazard, mended.measure), (Hazard::ParserCrash, Measure::Corrected));
        quarantine.broke_down(&page, ABORTED);
        assert_eq!(quarantine.refuses(&page), None);
    }

    #[test]
    fn what_an_earlier_process_left_counts_for_its_site_until_a_page_is_read() {
        let row = |n: u32, count| {
            let (url, site) = (format!("http://a.example/{n}"), "a.example".to_owned());
            let (how, times) = (PANICKED.to_owned(), model::Timestamp::default());
            Breakdown { url, site, how, count, first: times, last: times }
        };
        let quarantine = Quarantine::default();
        quarantine.load(&[row(1, 3), row(2, 4), row(3, 2)]);
        let good = url("http://a.example/good");
        assert_eq!(quarantine.refuses(&good), None);
        quarantine.broke_down(&url("http://a.example/3"), PANICKED);
        assert_eq!(quarantine.refuses(&good), Some(Refusal::quarantined(true)));
        assert_eq!(quarantine.read_well(&good), None);
        quarantine.read_well(&url("http://a.example/2")).unwrap();
        assert_eq!(quarantine.refuses(&good), None);
        let first = url("http://a.example/1");
        assert_eq!(quarantine.refuses(&first), Some(Refusal::quarantined(false)));
    }
}
