//! Weeks of coming back in a moment: the whole pipeline, a real database and volumes, simulated time and a web
//! whose pages change by known rates. What is measured is measured from outside: the web's own truth and its log
//! of visits; the archive is read as anybody would.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::BufReader,
    sync::Arc,
    time::Duration,
};

use harvester::clock::SimClock;
use harvestman::pipeline::harvest::Ended;
use model::{Clock, Timestamp};
use rusqlite::Connection;
use simweb::{
    ChangeModel, Entry, LogOptions, PageCount, PageId, PageOptions, Request, SimFetcher, SimWeb,
    WebOptions, checks,
};
use store::warc::{Volumes, WarcReader, sha1};

use crate::simulated::{Errand, crawl, returns};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const PAUSE: Duration = Duration::from_secs(2);
const START: Timestamp = Timestamp(1_763_000_000_000);

#[test]
fn twenty_days_of_coming_back_keep_pages_fresh_within_the_budget_and_lose_no_version() {
    let stay = Stay::new(5, 40, 20, "");
    stay.is_sound();
    let (fresh, bound) = (stay.freshness(), stay.best());
    println!("freshness {fresh:.4}, the best possible {bound:.4}, {} visits", stay.visits.len());
    assert!(fresh > 0.9 * bound, "freshness {fresh:.3} where {bound:.3} is possible");
    let uniform = stay.uniform();
    assert!(
        fresh > uniform,
        "freshness {fresh:.3}; the same number of visits by turns {uniform:.3}"
    );
}

/// The figures of a stay as long as people would make; in a release build about two minutes.
#[test]
fn sixty_days_of_coming_back_to_fifty_sites() {
    if std::env::var_os("HARVESTMAN_LONG").is_none() {
        println!("skipped: HARVESTMAN_LONG is not set");
        return;
    }
    let begun = std::time::Instant::now();
    let stay = Stay::new(50, 200, 60, "");
    println!("{} visits in {:?}", stay.visits.len(), begun.elapsed());
    stay.is_sound();
    let (fresh, bound, uniform) = (stay.freshness(), stay.best(), stay.uniform());
    println!("freshness {fresh:.4}, the best possible {bound:.4}, by turns {uniform:.4}");
    if let Some(path) = std::env::var_os("HARVESTMAN_CHANGES") {
        // For `harvestman simulate`: what it predicts for these very changes.
        std::fs::write(path, stay.changes()).unwrap();
    }
    assert!(fresh > 0.9 * bound, "freshness {fresh:.3} where {bound:.3} is possible");
}

/// A crawl of many days, and what the servers saw of it.
struct Stay {
    web: Arc<SimWeb>,
    folder: tempfile::TempDir,
    days: u32,
    log: Vec<Entry>,
    /// Visits of each page, in order: when, and which version was there.
    visits: Vec<(PageId, Timestamp, u64)>,
    by_page: BTreeMap<PageId, Vec<Timestamp>>,
    end: Timestamp,
}

impl Stay {
    fn new(sites: usize, pages: usize, days: u32, revisit: &str) -> Stay {
        let page = PageOptions { bytes_mean: 3_000.0, links: 6, ..PageOptions::default() };
        let web = Arc::new(SimWeb::new(WebOptions {
            sites,
            pages: PageCount::Fixed(pages),
            page,
            change: lively(),
            ..WebOptions::default()
        }));
        let folder = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(START));
        let log = LogOptions::default();
        let fetcher =
            Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap());
        let end = START.plus(DAY * days);
        let errand = Errand { returns: returns(revisit), until: Some(end) };
        let outcome = crawl(&web, folder.path(), &clock, fetcher.clone(), &errand);
        assert!(matches!(outcome.ended, Ended::TimeLimit), "{:?}", outcome.ended);
        let log = fetcher.log().entries();
        let mut visits = Vec::new();
        let mut by_page: BTreeMap<PageId, Vec<Timestamp>> = BTreeMap::new();
        for entry in log.iter().filter(|entry| matches!(entry.status, 200 | 304)) {
            let url = model::CrawlUrl::parse(&entry.url()).unwrap();
            let Some(page) = web.page_of(&url) else { continue };
            visits.push((page, entry.at, web.version(page, entry.at)));
            by_page.entry(page).or_default().push(entry.at);
        }
        Stay { web, folder, days, log, visits, by_page, end }
    }

    #[track_caller]
    fn is_sound(&self) {
        let broken = checks::pauses(&self.log, PAUSE, Duration::ZERO);
        assert!(broken.is_empty(), "{broken:?}");
        for site in 0..self.web.sites() {
            let missing = checks::completeness(&self.log, &self.web, &self.web.host(site));
            assert!(missing.is_empty(), "{missing:?}");
        }
        self.keeps_the_budget();
        self.drifts_over_the_day();
        self.lost_no_version();
        self.folds_what_did_not_change();
    }

    /// A seventh of the known pages a day.
    #[track_caller]
    fn keeps_the_budget(&self) {
        let known = self.by_page.len() as f64;
        let again = self.visits.len() as f64 - known;
        let budget = known / 7.0 * f64::from(self.days);
        assert!(again <= 1.01 * budget, "{again} revisits of {budget:.0}");
        assert!(again >= 0.9 * budget, "only {again} revisits of {budget:.0}");
    }

    /// Nobody is visited at the same hour day after day.
    #[track_caller]
    fn drifts_over_the_day(&self) {
        for (page, visits) in &self.by_page {
            for pair in visits.windows(2) {
                let gap = pair[1].since(pair[0]);
                let past = gap.as_secs() % DAY.as_secs();
                let off = Duration::from_secs(past.min(DAY.as_secs() - past));
                let url = self.web.url(*page);
                assert!(gap <= 12 * HOUR || off >= HOUR, "{url}: {gap:?} after the last visit");
            }
        }
    }

    /// Every version that was there when a visit was made is in the archive, byte for byte.
    #[track_caller]
    fn lost_no_version(&self) {
        let mut archived: HashSet<(String, [u8; 20])> = HashSet::new();
        for volume in Volumes::new(self.folder.path().join("volumes")).list().unwrap() {
            for record in WarcReader::new(BufReader::new(File::open(&volume.path).unwrap())) {
                let record = record.unwrap();
                if record.kind() == "response" {
                    let url = record.field("WARC-Target-URI").unwrap().to_owned();
                    let body = record.body.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
                    archived.insert((url, sha1(&[&record.body[body + 4..]])));
                }
            }
        }
        for (page, at, version) in &self.visits {
            let url = self.web.url(*page);
            let parsed = model::CrawlUrl::parse(&url).unwrap();
            let request = Request::get(parsed.host(), parsed.path_and_query());
            let body = self.web.answer(&request, *at).body;
            let found = archived.contains(&(url.clone(), sha1(&[&body])));
            assert!(found, "version {version} of {url}, seen at {}, is not in the archive", at.0);
        }
    }

    /// A visit that found nothing new is a moment in the row of its version, and a record without a body.
    #[track_caller]
    fn folds_what_did_not_change(&self) {
        let database = Connection::open(self.folder.path().join("crawl.db")).unwrap();
        let number = |query: &str| -> i64 { database.query_row(query, [], |r| r.get(0)).unwrap() };
        let mut versions = 0;
        for page in self.by_page.keys() {
            let seen = self.visits.iter().filter(|(other, ..)| other == page);
            let mut seen: Vec<u64> = seen.map(|(.., version)| *version).collect();
            seen.dedup();
            versions += seen.len() as i64;
        }
        assert_eq!(number("SELECT count(*) FROM visits WHERE status IN (200, 304)"), versions);
        let counted = number("SELECT sum(count) FROM visits WHERE status IN (200, 304)");
        assert_eq!(counted, self.visits.len() as i64);
        let mut records = BTreeMap::new();
        for volume in Volumes::new(self.folder.path().join("volumes")).list().unwrap() {
            for record in WarcReader::new(BufReader::new(File::open(&volume.path).unwrap())) {
                *records.entry(record.unwrap().kind().to_owned()).or_insert(0_i64) += 1;
            }
        }
        let revisits = records.get("revisit").copied().unwrap_or_default();
        assert!(revisits <= counted - versions, "{records:?} for {counted} visits");
    }

    /// Share of the time, over all pages, in which the newest copy was what the page was; from the day after
    /// the start on. Pages count by their level, as they do for the crawler.
    fn freshness(&self) -> f64 {
        let begin = START.plus(DAY);
        let mut sum = (0.0, 0.0);
        for (page, visits) in &self.by_page {
            let weight = self.weight(*page);
            let mut fresh = Duration::ZERO;
            for (n, at) in visits.iter().enumerate() {
                let until = visits.get(n + 1).copied().unwrap_or(self.end);
                let changed = self.web.next_change(*page, *at).unwrap_or(self.end);
                fresh += until.min(changed).min(self.end).since((*at).max(begin));
            }
            sum.0 += weight * fresh.as_secs_f64() / self.end.since(begin).as_secs_f64();
            sum.1 += weight;
        }
        sum.0 / sum.1
    }

    /// What the same pages would be worth if each were visited at the same interval, as often in all.
    fn uniform(&self) -> f64 {
        let visits = self.visits.len() - self.by_page.len();
        let period = f64::from(self.days) * self.by_page.len() as f64 / visits.max(1) as f64;
        self.expected(|_| period)
    }

    /// What somebody would reach who knows every rate: one price for all, by bisection.
    fn best(&self) -> f64 {
        let visits = (self.visits.len() - self.by_page.len()) as f64 / f64::from(self.days);
        let (mut cheap, mut dear) = (1e-12_f64, 1e4_f64);
        for _ in 0..80 {
            let price = (cheap * dear).sqrt();
            let rate: f64 = self.by_page.keys().map(|page| 1.0 / self.period(*page, price)).sum();
            if rate > visits { cheap = price } else { dear = price }
        }
        self.expected(|page| self.period(page, dear))
    }

    /// Days after which a visit is worth the price: V(t) = w/r (1 - exp(-rt)(1 + rt)).
    fn period(&self, page: PageId, price: f64) -> f64 {
        let Some(rate) = self.rate(page) else { return f64::INFINITY };
        let worth = |days: f64| {
            let x = rate * days;
            self.weight(page) / rate * (1.0 - (-x).exp() * (1.0 + x))
        };
        let (mut short, mut long) = (1.0 / 24.0, 1e6_f64);
        if worth(long) < price {
            return f64::INFINITY;
        }
        for _ in 0..60 {
            let days = (short * long).sqrt();
            if worth(days) < price { short = days } else { long = days }
        }
        long
    }

    /// Mean freshness where each page is visited at an interval of so many days.
    fn expected(&self, period: impl Fn(PageId) -> f64) -> f64 {
        let mut sum = (0.0, 0.0);
        for page in self.by_page.keys() {
            let weight = self.weight(*page);
            let fresh = match self.rate(*page) {
                None => 1.0,
                Some(rate) => {
                    // Who is never visited again is fresh until the first change.
                    let days = period(*page).min(f64::from(self.days));
                    (1.0 - (-rate * days).exp()) / (rate * days)
                }
            };
            sum.0 += weight * fresh;
            sum.1 += weight;
        }
        sum.0 / sum.1
    }

    fn weight(&self, page: PageId) -> f64 {
        1.0 / (1.0 + f64::from(self.web.level(page.index)))
    }

    /// Changes a day.
    fn rate(&self, page: PageId) -> Option<f64> {
        let period = self.web.change_period(page)?;
        Some(DAY.as_secs_f64() / period.as_secs_f64())
    }

    /// Every change of the time as `url,seconds since the start,importance`.
    fn changes(&self) -> String {
        let mut lines = String::from("url,seconds,importance\n");
        for page in self.by_page.keys() {
            let (url, weight) = (self.web.url(*page), self.weight(*page));
            let mut at = START;
            while let Some(next) = self.web.next_change(*page, at).filter(|next| *next < self.end) {
                let seconds = next.since(START).as_secs_f64();
                lines.push_str(&format!("{url},{seconds},{weight}\n"));
                at = next;
            }
        }
        lines
    }
}

/// Rates as of a web that is worth coming back to: a tenth changes by the hour, a third stands still.
fn lively() -> ChangeModel {
    let days = |days: f64| Some(DAY.mul_f64(days));
    ChangeModel {
        classes: vec![
            (0.30, None),
            (0.25, days(30.0)),
            (0.20, days(7.0)),
            (0.15, days(2.0)),
            (0.10, days(0.1)),
        ],
    }
}
