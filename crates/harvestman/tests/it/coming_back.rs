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

use engine::pipeline::harvest::Ended;
use harvester::clock::SimClock;
use model::{Clock, Timestamp};
use simweb::{
    ChangeModel, Entry, Hazard, LogOptions, PageCount, PageId, PageOptions, Request, SimFetcher,
    SimWeb, WebOptions, checks,
};
use store::{
    testing,
    warc::{Volumes, WarcReader, sha1},
};

use crate::{
    ask::Questions,
    simulated::{Errand, crawl},
};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const PAUSE: Duration = Duration::from_secs(2);
const START: Timestamp = Timestamp(1_763_000_000_000);

#[test]
fn two_months_of_coming_back_keep_pages_fresh_within_the_budget_and_lose_no_version() {
    let begun = std::time::Instant::now();
    let stay = Stay::new(4, 25, 60, "");
    println!("{} visits in {:?}", stay.visits.len(), begun.elapsed());
    stay.is_sound();
    // Half of the time is for learning: pages are visited every week or so.
    let (fresh, bound, uniform) = (stay.freshness(30), stay.best(), stay.uniform());
    println!(
        "in all {:.4}, late {fresh:.4}, best {bound:.4}, by turns {uniform:.4}",
        stay.freshness(1)
    );
    assert!(fresh > 0.92 * bound, "freshness {fresh:.3} where {bound:.3} is possible");
    assert!(fresh > uniform, "freshness {fresh:.3}; as many visits by turns {uniform:.3}");
}

/// The figures of a stay as long as people would make: fifty sites of two hundred pages for sixty days, or as
/// HARVESTMAN_LONG says (`10x100x30`).
#[test]
fn sixty_days_of_coming_back_to_fifty_sites() {
    let Ok(wish) = std::env::var("HARVESTMAN_LONG") else {
        println!("skipped: HARVESTMAN_LONG is not set");
        return;
    };
    let figures: Vec<usize> = wish.split('x').filter_map(|figure| figure.parse().ok()).collect();
    let (sites, pages, days) = match figures[..] {
        [sites, pages, days] => (sites, pages, days as u32),
        _ => (50, 200, 60),
    };
    let begun = std::time::Instant::now();
    let stay = Stay::new(sites, pages, days, "");
    println!("{} visits in {:?}", stay.visits.len(), begun.elapsed());
    stay.is_sound();
    let (fresh, bound, uniform) = (stay.freshness(1), stay.best(), stay.uniform());
    println!("freshness {fresh:.4}, the best possible {bound:.4}, by turns {uniform:.4}");
    println!("in the second half {:.4}", stay.freshness(days / 2));
    if let Some(path) = std::env::var_os("HARVESTMAN_CHANGES") {
        // For `harvestman simulate`: what it predicts for these very changes.
        std::fs::write(path, stay.changes()).unwrap();
    }
    assert!(fresh > 0.9 * bound, "freshness {fresh:.3} where {bound:.3} is possible");
}

#[test]
fn a_clock_that_is_set_back_or_forward_by_a_year_makes_no_storm_and_freezes_nobody() {
    let year = DAY * 365;
    for start in [START.minus(year), START.plus(year)] {
        let mut stay = Stay::new(2, 20, 14, "");
        let before = stay.visits.len();
        stay.go_on(start, 14);
        let known = stay.by_page.len() as f64;
        let (again, budget) = ((stay.visits.len() - before) as f64, known / 7.0 * 14.0);
        assert!(again <= 1.01 * budget, "{again} visits where {budget:.0} are paid for");
        assert!(again >= 0.5 * budget, "only {again} visits of {budget:.0}");
        let seen: HashSet<PageId> = stay.visits[before..].iter().map(|(page, ..)| *page).collect();
        assert!(seen.len() as f64 > 0.5 * known, "only {} pages were seen again", seen.len());
        stay.lost_no_version();
    }
}

#[test]
fn pages_that_change_at_every_visit_do_not_eat_the_budget_of_the_others() {
    let change =
        ChangeModel { classes: vec![(0.2, Some(Duration::from_secs(5))), (0.8, Some(DAY * 7))] };
    let stay = Stay::of(web(2, 25, change), 40, "");
    stay.keeps_the_budget();
    let restless = |page: &PageId| stay.web.change_period(*page).unwrap() < HOUR;
    let many = stay.by_page.keys().filter(|page| restless(page)).count();
    let late = stay.visits.iter().filter(|(_, at, _)| *at > START.plus(DAY * 20));
    let (wasted, all) = late
        .fold((0, 0), |(wasted, all), (page, ..)| (wasted + usize::from(restless(page)), all + 1));
    assert!(many > 3 && all > 100, "{many} such pages, {all} visits");
    assert!(wasted * 5 < all, "{wasted} of {all} visits went to pages that cannot be kept fresh");
}

#[test]
fn a_page_that_never_answers_is_asked_ever_less_and_holds_nobody_up() {
    let mut options = options(2, 20, lively());
    let silent = SimWeb::new(options.clone()).url(PageId { site: 0, index: 7 });
    let place = silent.strip_prefix("http://").unwrap().to_owned();
    options.put(&place, Hazard::NoResponse);
    let stay = Stay::of(Arc::new(SimWeb::new(options)), 30, "");
    let asked: Vec<Timestamp> =
        stay.log.iter().filter(|entry| entry.url() == silent).map(|entry| entry.at).collect();
    assert!((3..40).contains(&asked.len()), "asked {} times in a month", asked.len());
    let late = asked.iter().filter(|at| **at > START.plus(DAY * 20)).count();
    assert!(late < asked.len() / 2, "{late} of {} in the last third", asked.len());
    assert_eq!(stay.by_page.len(), 39, "all others answered");
    stay.keeps_the_budget();
}

#[test]
fn a_lone_page_that_did_not_answer_is_asked_again() {
    for hazard in [Hazard::NoResponse, Hazard::ServerError, Hazard::RedirectLoop] {
        let mut options = options(1, 1, lively());
        let home = SimWeb::new(options.clone()).home(0);
        options.put(home.strip_prefix("http://").unwrap(), hazard);
        let stay = Stay::of(Arc::new(SimWeb::new(options)), 30, "");
        let asked = stay.log.iter().filter(|entry| entry.url() == home).count();
        assert!((2..100).contains(&asked), "{hazard:?}: asked {asked} times in a month");
    }
}

#[test]
fn a_spiders_own_budget_holds_its_first_visits_and_ends_nothing() {
    let (web, days) = (web(1, 60, lively()), 10);
    let folder = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(START));
    let log = LogOptions::default();
    let fetcher = Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap());
    let mut errand = Errand::new("visits_per_day = 10", Some(START.plus(DAY * days)));
    errand.returns.purse = manager::PurseId(1);
    crawl(&web, folder.path(), &clock, fetcher.clone(), &errand);
    let entries = fetcher.log().entries();
    let visits = entries.iter().filter(|entry| matches!(entry.status, 200 | 304));
    let visits = visits.filter(|entry| !entry.url().ends_with("/robots.txt")).count();
    assert!((90..=110).contains(&visits), "{visits} visits in ten days of ten");
}

#[test]
fn a_budget_that_is_given_holds_first_visits_too() {
    let stay = Stay::of(web(2, 40, lively()), 10, "visits_per_day = 20");
    let visits = stay.visits.len();
    assert!((160..=202).contains(&visits), "{visits} visits in ten days of twenty");
    let firsts = stay.by_page.len();
    assert_eq!(firsts, 80, "a budget makes discovery slow, not incomplete");
    let first_day = stay.visits.iter().filter(|(_, at, _)| *at < START.plus(DAY)).count();
    assert!(first_day <= 22, "{first_day} visits on the first day");
}

#[test]
fn batches_visit_every_page_once_a_cycle_at_most_and_so_many_in_all() {
    let stay = Stay::of(web(2, 20, lively()), 12, "policy = 'profit'\ncycle = '2d'\nbatch = 10");
    let again = stay.visits.len() - stay.by_page.len();
    assert!((40..=60).contains(&again), "{again} revisits in six batches of ten");
    for (page, visits) in &stay.by_page {
        let gaps = visits.windows(2).map(|pair| pair[1].since(pair[0]));
        assert!(gaps.min().is_none_or(|gap| gap > DAY), "{}: {visits:?}", stay.web.url(*page));
    }
    stay.lost_no_version();
}

#[test]
fn with_frequency_on_seeds_the_pages_of_a_site_go_along_with_its_seed() {
    let lines = "policy = 'frequency'\nfrequency_on = 'seeds'\ncycle = '1d'";
    let stay = Stay::of(web(1, 12, ChangeModel::every(HOUR)), 8, lines);
    let home = &stay.by_page[&PageId { site: 0, index: 0 }];
    assert!(home.len() >= 4, "the seed changes at every visit: {home:?}");
    for (page, visits) in &stay.by_page {
        let missed = home.len().abs_diff(visits.len());
        assert!(missed <= 1, "{}: {} of {}", stay.web.url(*page), visits.len(), home.len());
    }
}

#[test]
fn with_the_children_rule_a_page_that_stands_still_is_visited_for_what_is_behind_it() {
    let change = ChangeModel { classes: vec![(0.4, None), (0.6, Some(HOUR * 12))] };
    let page = |index| PageId { site: 0, index };
    let restless = |web: &SimWeb| (1..14).filter(|n| web.change_period(page(*n)).is_some()).count();
    // A home page that never changes, and pages most of which do.
    let web = (0..100)
        .map(|seed| WebOptions { seed, ..options(1, 14, change.clone()) })
        .map(|options| Arc::new(SimWeb::new(options)))
        .find(|web| web.change_period(page(0)).is_none() && restless(web) >= 9)
        .expect("one of a hundred webs is like that");
    let stay = |children: bool| {
        let lines = "policy = 'frequency'\nfrequency_on = 'pages'\ncycle = '1d'\nchildren = ";
        Stay::of(web.clone(), 40, &format!("{lines}{children}"))
    };
    let (with, without) = (stay(true), stay(false));
    let (often, seldom) = (with.by_page[&page(0)].len(), without.by_page[&page(0)].len());
    assert!(seldom >= 5, "it is visited ever less, {seldom} times in forty days");
    assert!(often * 2 >= seldom * 3, "{often} visits where {seldom} are made for its own sake");
    // Pages that stand still go along with it, and nobody is asked twice in a turn.
    let still = |stay: &Stay| -> usize {
        let quiet = (1..14).filter(|n| stay.web.change_period(page(*n)).is_none());
        quiet.map(|n| stay.by_page[&page(n)].len()).sum()
    };
    assert!(still(&with) > still(&without), "{} and {}", still(&with), still(&without));
    // (A "304 not modified" that is looked at again is one visit to those who count turns.)
    for (page, visits) in &with.by_page {
        let gaps = visits.windows(2).map(|pair| pair[1].since(pair[0]));
        let turns = gaps.filter(|gap| *gap > PAUSE * 30);
        assert!(turns.min().is_none_or(|gap| gap > HOUR * 6), "{}: {visits:?}", web.url(*page));
    }
}

#[test]
fn a_fixed_period_is_kept_by_every_page_whatever_the_usual_budget() {
    let stay = Stay::of(web(1, 15, lively()), 9, "period = '2d'");
    for (page, visits) in &stay.by_page {
        assert!((5..=6).contains(&visits.len()), "{}: {visits:?}", stay.web.url(*page));
    }
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
        Stay::of(web(sites, pages, lively()), days, revisit)
    }

    /// `revisit`: lines of that section of the configuration.
    fn of(web: Arc<SimWeb>, days: u32, revisit: &str) -> Stay {
        let folder = tempfile::tempdir().unwrap();
        let (visits, by_page) = (Vec::new(), BTreeMap::new());
        let mut stay = Stay { web, folder, days, log: Vec::new(), visits, by_page, end: START };
        stay.crawl(START, days, revisit);
        stay
    }

    /// Another crawl of the same collection, by a clock that stands at `start`.
    fn go_on(&mut self, start: Timestamp, days: u32) {
        self.crawl(start, days, "");
    }

    fn crawl(&mut self, start: Timestamp, days: u32, revisit: &str) {
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(start));
        let (web, log) = (self.web.clone(), LogOptions::default());
        let fetcher = Arc::new(SimFetcher::new(web, clock.clone(), "harvestman", log).unwrap());
        self.end = start.plus(DAY * days);
        let errand = Errand::new(revisit, Some(self.end));
        let outcome = crawl(&self.web, self.folder.path(), &clock, fetcher.clone(), &errand);
        assert!(matches!(outcome.ended, Ended::TimeLimit), "{:?}", outcome.ended);
        let log = fetcher.log().entries();
        for entry in log.iter().filter(|entry| matches!(entry.status, 200 | 304)) {
            let url = model::CrawlUrl::parse(&entry.url()).unwrap();
            let Some(page) = self.web.page_of(&url) else { continue };
            self.visits.push((page, entry.at, self.web.version(page, entry.at)));
            self.by_page.entry(page).or_default().push(entry.at);
        }
        self.log.extend(log);
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
        let known = (0..self.web.sites()).map(|site| self.web.pages(site)).sum::<usize>() as f64;
        let again = (self.visits.len() - self.by_page.len()) as f64;
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
                    let body = record.block.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
                    archived.insert((url, sha1(&[&record.block[body + 4..]])));
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
        let collection = Questions::at(self.folder.path());
        let mut versions = 0;
        for page in self.by_page.keys() {
            let seen = self.visits.iter().filter(|(other, ..)| other == page);
            let mut seen: Vec<u64> = seen.map(|(.., version)| *version).collect();
            seen.dedup();
            versions += seen.len();
        }
        let rows = testing::archived_visits(self.folder.path());
        assert_eq!(rows.iter().filter(|row| matches!(row.status, 200 | 304)).count(), versions);
        let pages = collection.pages(&[]);
        let counted: u64 = pages.iter().filter_map(|page| page["visits"].as_u64()).sum();
        assert_eq!(counted, self.visits.len() as u64);
        let mut records = BTreeMap::new();
        for volume in Volumes::new(self.folder.path().join("volumes")).list().unwrap() {
            for record in WarcReader::new(BufReader::new(File::open(&volume.path).unwrap())) {
                *records.entry(record.unwrap().kind().to_owned()).or_insert(0_usize) += 1;
            }
        }
        let revisits = records.get("revisit").copied().unwrap_or_default();
        assert!(revisits <= self.visits.len() - versions, "{records:?} for {counted} visits");
    }

    /// Share of the time from this day on, over all pages, in which the newest copy was what the page was. Pages
    /// count by their level, as they do for the crawler.
    fn freshness(&self, from_day: u32) -> f64 {
        let begin = START.plus(DAY * from_day);
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

    /// Every change of the time as `url,days since the start,importance`, as the laboratory reads it.
    fn changes(&self) -> String {
        let mut lines = String::from("page,change_time,importance\n");
        for page in self.by_page.keys() {
            let (url, weight) = (self.web.url(*page), self.weight(*page));
            let mut at = START;
            // One that never changes is a page, too.
            lines.push_str(&format!("{url},,{weight}\n"));
            while let Some(next) = self.web.next_change(*page, at).filter(|next| *next < self.end) {
                let days = next.since(START).as_secs_f64() / DAY.as_secs_f64();
                lines.push_str(&format!("{url},{days:.6},{weight}\n"));
                at = next;
            }
        }
        lines
    }
}

fn web(sites: usize, pages: usize, change: ChangeModel) -> Arc<SimWeb> {
    Arc::new(SimWeb::new(options(sites, pages, change)))
}

fn options(sites: usize, pages: usize, change: ChangeModel) -> WebOptions {
    WebOptions {
        sites,
        pages: PageCount::Fixed(pages),
        page: PageOptions { bytes_mean: 3_000.0, links: 6, ..PageOptions::default() },
        change,
        ..WebOptions::default()
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
