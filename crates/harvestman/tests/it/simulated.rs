//! The whole pipeline on simulated time: hours of a polite crawl in a moment.

use std::{
    sync::{Arc, Mutex, RwLock},
    time::Duration,
};

use config::{
    Config,
    setup::returns::{COMMON, Returns, common_budget},
};
use engine::{
    pipeline::{
        self, Mailbox, Outcome, Parts,
        course::{Bounds, Budgets, Course, Fingerprints, Helm},
        gather::GatherStage,
        harvest::{Ended, Plan, seed_candidate},
        payloads::Payloads,
        spiders::{Spider, Spiders},
        tally::Progress,
    },
    timekeeping::set_right,
};
use harvester::{
    clock::SimClock,
    workbench::{self, SiteTerms, SpiderLimits, Terms, Workbench},
};
use manager::{Budget, PurseId};
use model::{
    Archive, Clock, CrawlUrl, Fetch, FetchLimits, Frontier, Resolve, SiteKey, Spent, SpiderId,
    Timestamp,
};
use seeder::{Blocks, Seed, SeedSet, SpiderRules};
use simweb::{LogOptions, PageCount, SimFetcher, SimResolver, SimWeb, WebOptions, checks};
use store::{
    frontier::SqlFrontier,
    links::LinkWriter,
    spiders::SpiderRow,
    warc::{RecordIds, WarcArchive, WarcOptions},
};

const PAUSE: Duration = Duration::from_secs(2);

#[test]
fn a_polite_crawl_of_simulated_sites_keeps_every_pause_and_misses_no_page() {
    let web = Arc::new(SimWeb::new(WebOptions {
        sites: 3,
        pages: PageCount::Fixed(30),
        ..WebOptions::default()
    }));
    let folder = tempfile::tempdir().unwrap();
    let clock = SimClock::new(Timestamp(1_800_000_000_000));
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let fetcher = Arc::new(
        SimFetcher::new(web.clone(), shared.clone(), "harvestman", LogOptions::default()).unwrap(),
    );
    let begun = clock.now();
    let once = Errand::new("policy = 'once'", None);
    let outcome = crawl(&web, folder.path(), &shared, fetcher.clone(), &once);
    assert!(matches!(outcome.ended, Ended::Done { .. }), "{:?}", outcome.ended);

    let log = fetcher.log().entries();
    for site in 0..web.sites() {
        let missing = checks::completeness(&log, &web, &web.host(site));
        assert!(missing.is_empty(), "{missing:?}");
    }
    let broken = checks::pauses(&log, PAUSE, Duration::ZERO);
    assert!(broken.is_empty(), "{broken:?}");
    assert!(checks::disallowed(&log, &web).is_empty());
    assert!(checks::repeats(&log).is_empty());
    assert!(clock.now().since(begun) >= PAUSE * 30, "simulated time did pass");
    assert_eq!(outcome.counts.pages_fetched, 90);
}

/// What a simulated crawl is to do.
pub struct Errand {
    pub returns: Returns,
    pub budget: Budget,
    /// Go on until this moment; else one pass is made.
    pub until: Option<Timestamp>,
    pub rules: SpiderRules,
    /// Besides the home pages of all sites.
    pub seeds: Vec<CrawlUrl>,
    /// Of one domain: those to know at most, and those from which on it is asked for absurd names.
    pub hosts: (Option<u64>, Option<u64>),
}

impl Errand {
    /// `lines`: of the section `[revisit]`.
    pub fn new(lines: &str, until: Option<Timestamp>) -> Errand {
        let config = config(lines);
        let returns = Returns::new(&config, COMMON);
        let (budget, rules) = (common_budget(&config.revisit), SpiderRules::default());
        Errand { returns, budget, until, rules, seeds: Vec::new(), hosts: (None, None) }
    }
}

fn config(lines: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("harvest.toml"), format!("[revisit]\n{lines}\n")).unwrap();
    Config::load(folder.path(), Vec::new()).unwrap()
}

/// A crawl of the whole web into `folder`, which may hold an earlier one.
pub fn crawl(
    web: &Arc<SimWeb>,
    folder: &std::path::Path,
    clock: &Arc<dyn Clock>,
    fetcher: Arc<SimFetcher>,
    errand: &Errand,
) -> Outcome {
    let resolve = Arc::new(SimResolver::new(web.clone(), clock.clone()));
    crawl_by(web, folder, clock, (fetcher, resolve), errand)
}

/// The same by way of somebody who fetches and resolves in his own manner.
pub fn crawl_by(
    web: &Arc<SimWeb>,
    folder: &std::path::Path,
    clock: &Arc<dyn Clock>,
    (fetch, resolve): (Arc<dyn Fetch>, Arc<dyn Resolve>),
    errand: &Errand,
) -> Outcome {
    let homes = (0..web.sites()).map(|site| CrawlUrl::parse(&web.home(site)).unwrap());
    let seeds: Vec<CrawlUrl> = homes.chain(errand.seeds.iter().cloned()).collect();
    let spider = |seeds: &[CrawlUrl]| spider(seeds, errand.returns, errand.rules.clone());
    let mut frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    frontier.set_domain_hosts_max(errand.hosts.0);
    frontier.set_wildcard_hosts(errand.hosts.1);
    set_right(&mut frontier, clock.now()).unwrap();
    let candidates: Vec<_> =
        seeds.iter().map(|url| seed_candidate(Seed::from(url.clone()), &spider(&[]))).collect();
    frontier.admit(&candidates, clock.now()).unwrap();
    let marks = frontier.marks().unwrap();
    let mark = marks.archive.unwrap_or_default();
    let (archive, _) =
        WarcArchive::open(&folder.join("volumes"), WarcOptions::default(), mark).unwrap();
    let archive: Arc<dyn Archive> = Arc::new(archive);
    let stage = Arc::new(GatherStage {
        archive: archive.clone(),
        spiders: Arc::new(Spiders::new(Blocks::default(), [spider(&seeds)])),
        payloads: Mutex::new(Payloads::new(1_000)),
        stored_bytes_max: None,
        directory: None,
        ids: RecordIds::from_seed(1),
        clock: clock.clone(),
        preview: None,
        watch: Arc::default(),
        nap: Duration::ZERO,
    });
    let parts = Parts {
        desk: Box::new(frontier),
        archive,
        links: LinkWriter::open(&folder.join("links"), marks.links).unwrap(),
        run: None,
        fetch,
        resolve,
        clock: clock.clone(),
        workbench: Workbench::new(
            workbench::Options::default().with_pause(PAUSE),
            Spent::default(),
        ),
        spiders: stage.spiders.clone(),
        helm: Box::new(Steady(seeds, errand.returns, errand.budget, errand.rules.clone())),
        rows: Vec::new(),
        stage,
        gather_threads: 2,
        robots_limits: limits(),
        settle_every: Duration::ZERO,
        stalled_after: None,
        collection: None,
    };
    let plan = Plan {
        begun: None,
        fetches_asked: None,
        forever: errand.until.is_some(),
        deadline: errand.until,
        rest_at: None,
        pass_until: None,
        fetches_max: 10,
        sites_in_hand: 10,
        fetches_room: 10,
        seeded_first: false,
        holder: "test".to_owned(),
        beat: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mailbox = Mailbox::new(&plan);
    let (progress, _watched) = tokio::sync::watch::channel(Progress::default());
    runtime.block_on(pipeline::crawl(parts, plan, mailbox, progress)).unwrap()
}

fn limits() -> FetchLimits {
    FetchLimits {
        body_bytes_max: 2_000_000,
        head_bytes_max: 65_536,
        connect: Duration::from_secs(10),
        tls: Duration::from_secs(10),
        first_byte: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        total: Duration::from_secs(60),
        media_types: vec!["text/html".to_owned(), "text/plain".to_owned()],
        ratio_max: 200,
        wire_bytes_max: None,
    }
}

fn spider(seeds: &[CrawlUrl], returns: Returns, rules: SpiderRules) -> Spider {
    Spider {
        notion: config::setup::ChangeCriteria::default(),
        id: SpiderId(1),
        name: "default".to_owned(),
        rules,
        seeds: Arc::new(RwLock::new(seeds.iter().collect::<SeedSet>())),
        returns,
        overrides: config::Overrides::default(),
        gather: gatherer::GatherOptions::default(),
        fetch_limits: Arc::new(limits()),
        cookies: Some(Arc::new([])),
        credentials: Vec::new(),
        requisite_bytes_max: 10_000_000,
        logins: Vec::new(),
    }
}

/// One spider, and nothing ever changes.
struct Steady(Vec<CrawlUrl>, Returns, Budget, SpiderRules);

impl Helm for Steady {
    fn course(&mut self, _: &[SpiderRow]) -> Result<Course, String> {
        let bounds =
            Bounds { limits: SpiderLimits::default(), time: None, spent: Spent::default() };
        Ok(Course {
            spiders: vec![(spider(&self.0, self.1, self.3.clone()), bounds)],
            terms: Arc::new(Same(PAUSE)),
            pages_max: None,
            bytes_max: None,
            fetches_max: 10,
            seeded_first: false,
            fingerprint: Fingerprints::default(),
            budgets: Budgets { purses: purses(self.1.purse, self.2), site_share: 0.1 },
        })
    }

    fn has_changed(&mut self) -> bool {
        false
    }
}

/// The common purse has the usual budget where the spider has one of its own.
fn purses(of_spider: PurseId, budget: Budget) -> Vec<(PurseId, Budget)> {
    match of_spider {
        COMMON => vec![(COMMON, budget)],
        own => vec![(COMMON, Budget::default()), (own, budget)],
    }
}

struct Same(Duration);

impl Terms for Same {
    fn of(&self, _: SpiderId, _: &SiteKey) -> SiteTerms {
        SiteTerms {
            pause: self.0,
            pause_big: None,
            big_site_pages: 100,
            connections: 1,
            pages_max: None,
            bytes_max: None,
            domain_pages_max: None,
            visit_time_max: None,
            day_time_max: None,
            answer_bytes_max: 4_000_000,
        }
    }
}
