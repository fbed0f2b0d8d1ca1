//! Crawls of a small simulated web in which one part of our own breaks.

use std::sync::{Mutex, RwLock};

use harvester::{
    clock::SimClock,
    workbench::{self, SiteTerms, SpiderLimits, Terms},
};
use model::{
    ArchiveEntry, CheckOut, CrawlUrl, Exchange, Frontier, Mark, NewPage, PageTerms, RecordLocation,
    Release, Resolution, Settlement, SiteDelta, SiteKey, Spent, SpiderId, Timestamp,
};
use seeder::{Blocks, Seed, SeedSet, SpiderRules};
use simweb::{LogOptions, PageCount, SimFetcher, SimResolver, SimWeb, WebOptions};
use store::{
    frontier::SqlFrontier,
    warc::{RecordIds, WarcArchive, WarcOptions},
};

use super::{
    course::{Bounds, Course, Fingerprints},
    harvest::seed_candidate,
    messages::Order,
    payloads::Payloads,
    spiders::Spider,
    *,
};

#[test]
fn a_writer_that_panics_ends_the_crawl() {
    let world = World::new();
    let mut parts = world.parts();
    parts.archive = Arc::new(Broken);
    let error = world.crawl(parts).err().expect("the crawl has no desk to hand back");
    assert!(error.to_string().contains("the writer panicked"), "{error}");
}

#[test]
fn a_gatherer_that_panics_ends_the_crawl() {
    let world = World::new();
    let mut parts = world.parts();
    parts.stage = Arc::new(world.stage(Arc::new(Broken)));
    let outcome = world.crawl(parts).expect("the writer is whole");
    let Ended::Fault(error) = outcome.ended else { panic!("{:?}", outcome.ended) };
    assert!(error.to_string().contains("the gatherer panicked"), "{error}");
}

#[test]
fn an_answer_over_which_the_fetcher_panics_is_a_visit_that_failed() {
    let world = World::new();
    let mut parts = world.parts();
    parts.fetch = Arc::new(Broken);
    let outcome = world.crawl(parts).expect("it ends");
    assert!(matches!(outcome.ended, Ended::Done { .. }), "{:?}", outcome.ended);
    let errors = &outcome.tally.other_errors;
    assert!(errors.contains_key("bad-http"), "{errors:?}");
}

#[test]
fn a_name_over_which_the_resolver_panics_is_a_visit_that_failed() {
    let world = World::new();
    let mut parts = world.parts();
    parts.resolve = Arc::new(Broken);
    let outcome = world.crawl(parts).expect("it ends");
    assert!(matches!(outcome.ended, Ended::Done { .. }), "{:?}", outcome.ended);
    let errors = &outcome.tally.other_errors;
    assert!(errors.contains_key("dns-error"), "{errors:?}");
}

#[test]
fn a_domain_whose_name_servers_never_answer_is_given_up() {
    let world = World::new();
    let Parts { fetch, spiders, clock, .. } = world.parts();
    let (events, mut said) = channel(1);
    let (blocked, patience) = (watch::Sender::new(()), Some(Duration::from_secs(60)));
    let resolve = Arc::new(Mute);
    let spawner = Spawner { fetch, resolve, clock, events, spiders, blocked, patience };
    let suspect = Suspect { domain: "w.test".to_owned(), host: "a.w.test".to_owned() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        spawner.probe(suspect, ["x.w.test".to_owned(), "y.w.test".to_owned()]);
        let told = tokio::time::timeout(Duration::from_secs(20), said.recv()).await;
        let told = told.expect("it is given up in simulated time");
        assert!(matches!(told, Some(Event::Probed { wildcard: None, .. })));
    });
}

#[test]
fn signals_are_heard_while_the_collection_is_closed() {
    let world = World::new();
    let mut parts = world.parts();
    let (tell, told) = mpsc::channel();
    parts.archive = Arc::new(SlowSeal { whole: parts.archive, told: Mutex::new(told) });
    world.crawl_beside(parts, async move { tell.send(()).unwrap() }).expect("the seal was told");
}

#[test]
fn simulated_time_stands_still_from_the_end_of_a_visit_until_its_guard_is_dropped() {
    let start = Timestamp(1_800_000_000_000);
    let clock = SimClock::new(start);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let begun = clock.busy();
        let other = clock.wake_at(start.plus(Duration::from_secs(2)));
        let sleep = clock.sleep_until(start.plus(Duration::from_secs(1)));
        let work: BoxFuture<'_, u8> = Box::pin(async move {
            sleep.await;
            7
        });
        let (done, guard) = finish(work, &clock, begun).await;
        assert_eq!((done, clock.now()), (Some(7), start.plus(Duration::from_secs(1))));
        drop(guard);
        drop(other.await);
        assert_eq!(clock.now(), start.plus(Duration::from_secs(2)));
    });
}

#[test]
fn check_ins_go_on_while_a_batch_is_chosen() {
    let world = World::new();
    let (parts, mut frontier) = (world.parts(), world.frontier());
    let now = world.clock.now();
    let lease = frontier.check_out(&CheckOut::at(now, "test")).unwrap().remove(0);
    let page = |n: usize| NewPage {
        url: lease.pages[0].url.join(&format!("/{n}")).unwrap(),
        spider: SpiderId(1),
        level: 1,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        due: Timestamp(i64::MAX),
    };
    let release = Release::NotBefore(now);
    let empty = SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release);
    let delta = SiteDelta { admitted: (0..40).map(page).collect(), ..empty };
    frontier.check_in(&Settlement { now, deltas: vec![delta], ..Settlement::default() }).unwrap();
    let (events, mut said) = channel(100);
    let (orders, order_box) = mpsc::sync_channel(100);
    let profit = manager::Profit::default();
    orders.send(Box::new(Order::Batch(SpiderId(1), profit, world.clock.busy()))).unwrap();
    for _ in 0..3 {
        orders.send(Box::new(Order::Settle(Box::default()))).unwrap();
    }
    let writer = Writer {
        desk: Box::new(frontier),
        archive: parts.archive,
        links: parts.links,
        run: None,
        clock: world.clock.clone(),
        events,
        pace: Pace::new(Duration::ZERO),
        spiders: parts.spiders,
        surveys: Surveys::in_pieces_of(1),
        watch: Arc::default(),
    };
    let writer = thread::spawn(move || drop(writer.run(&order_box)));
    let mut settled = 0;
    let due = loop {
        match said.blocking_recv().expect("the batch is made") {
            Event::Settled { messages, .. } => settled += messages,
            Event::Batched(due, _) => break due,
            _ => {}
        }
    };
    assert_eq!((settled, due), (3, 40), "all check-ins came before the end of the survey");
    drop(orders);
    writer.join().unwrap();
}

struct World {
    web: Arc<SimWeb>,
    clock: Arc<dyn Clock>,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let options = WebOptions { sites: 1, pages: PageCount::Fixed(3), ..WebOptions::default() };
        World {
            web: Arc::new(SimWeb::new(options)),
            clock: Arc::new(SimClock::new(Timestamp(1_800_000_000_000))),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn seeds(&self) -> Vec<CrawlUrl> {
        vec![CrawlUrl::parse(&self.web.home(0)).unwrap()]
    }

    fn frontier(&self) -> SqlFrontier {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let candidates: Vec<_> = self
            .seeds()
            .into_iter()
            .map(|url| seed_candidate(Seed::from(url), &spider(&[])))
            .collect();
        frontier.admit(&candidates, self.clock.now()).unwrap();
        frontier
    }

    fn stage(&self, archive: Arc<dyn Archive>) -> GatherStage {
        GatherStage {
            archive,
            spiders: Arc::new(Spiders::new(Blocks::default(), [spider(&self.seeds())])),
            payloads: Mutex::new(Payloads::new(100)),
            stored_bytes_max: None,
            directory: None,
            ids: RecordIds::from_seed(1),
            clock: self.clock.clone(),
            preview: None,
            watch: Arc::default(),
            nap: Duration::ZERO,
        }
    }

    fn parts(&self) -> Parts {
        let (web, clock) = (self.web.clone(), self.clock.clone());
        let volumes = self.folder.path().join("volumes");
        let archive = WarcArchive::open(&volumes, WarcOptions::default(), Mark::default());
        let archive: Arc<dyn Archive> = Arc::new(archive.unwrap().0);
        let stage = Arc::new(self.stage(archive.clone()));
        let log = LogOptions::default();
        Parts {
            desk: Box::new(self.frontier()),
            archive,
            links: LinkWriter::open(&self.folder.path().join("links"), None).unwrap(),
            run: None,
            fetch: Arc::new(
                SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap(),
            ),
            resolve: Arc::new(SimResolver::new(web, clock.clone())),
            clock,
            workbench: Workbench::new(workbench::Options::default(), Spent::default()),
            spiders: stage.spiders.clone(),
            helm: Box::new(Steady(self.seeds())),
            rows: Vec::new(),
            stage,
            gather_threads: 1,
            robots_limits: fetch_limits(),
            settle_every: Duration::ZERO,
            stalled_after: None,
            collection: None,
        }
    }

    fn crawl(&self, parts: Parts) -> Result<Outcome, StoreError> {
        self.crawl_beside(parts, std::future::ready(()))
    }

    /// `after`: what somebody else on the runtime does when the loop has ended.
    fn crawl_beside(
        &self,
        parts: Parts,
        after: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Outcome, StoreError> {
        let plan = plan();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mailbox = Mailbox::new(&plan);
        let (progress, mut watched) = watch::channel(Progress::default());
        let crawl = crawl(parts, plan, mailbox, progress);
        let patience = Duration::from_secs(20);
        runtime.block_on(async {
            tokio::spawn(async move {
                while watched.changed().await.is_ok() {}
                after.await;
            });
            tokio::time::timeout(patience, crawl).await.expect("a hang")
        })
    }
}

pub(super) fn plan() -> Plan {
    Plan {
        begun: None,
        fetches_asked: None,
        forever: false,
        deadline: None,
        rest_at: None,
        pass_until: None,
        fetches_max: 10,
        sites_in_hand: 10,
        fetches_room: 10,
        seeded_first: false,
        holder: "test".to_owned(),
        beat: None,
    }
}

fn once() -> config::Config {
    let mut config = config::Config::defaults();
    config.revisit.policy = config::Policy::Once;
    config
}

pub(super) fn spider(seeds: &[CrawlUrl]) -> Spider {
    Spider {
        notion: config::setup::ChangeCriteria::default(),
        id: SpiderId(1),
        name: "default".to_owned(),
        rules: SpiderRules::default(),
        seeds: Arc::new(RwLock::new(seeds.iter().collect::<SeedSet>())),
        returns: config::setup::returns::Returns::new(&once(), config::setup::returns::COMMON),
        overrides: config::Overrides::default(),
        gather: gatherer::GatherOptions::default(),
        fetch_limits: Arc::new(fetch_limits()),
        cookies: Some(Arc::new([])),
        credentials: Vec::new(),
        requisite_bytes_max: 10_000_000,
        logins: Vec::new(),
    }
}

pub(super) fn fetch_limits() -> FetchLimits {
    let patience = Duration::from_secs(20);
    FetchLimits {
        body_bytes_max: 2_000_000,
        head_bytes_max: 65_536,
        connect: patience,
        tls: patience,
        first_byte: patience,
        idle: patience,
        total: patience,
        media_types: vec!["text/html".to_owned()],
        ratio_max: 200,
        wire_bytes_max: None,
    }
}

/// One spider, and nothing ever changes.
pub(super) struct Steady(pub(super) Vec<CrawlUrl>);

impl Helm for Steady {
    fn course(&mut self, _: &[SpiderRow]) -> Result<Course, String> {
        let bounds =
            Bounds { limits: SpiderLimits::default(), time: None, spent: Spent::default() };
        Ok(Course {
            spiders: vec![(spider(&self.0), bounds)],
            terms: Arc::new(Same(Duration::from_secs(2))),
            pages_max: None,
            bytes_max: None,
            fetches_max: 10,
            seeded_first: false,
            fingerprint: Fingerprints::default(),
            budgets: Default::default(),
        })
    }

    fn has_changed(&mut self) -> bool {
        false
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

/// Is not sealed before somebody says so.
struct SlowSeal {
    whole: Arc<dyn Archive>,
    told: Mutex<mpsc::Receiver<()>>,
}

impl Archive for SlowSeal {
    fn append(&self, entry: &ArchiveEntry<'_>) -> Result<RecordLocation, StoreError> {
        self.whole.append(entry)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.whole.sync()
    }

    fn settled(&self, location: RecordLocation) {
        self.whole.settled(location);
    }

    fn mark(&self) -> Mark {
        self.whole.mark()
    }

    fn seal(&self) -> Result<(), StoreError> {
        let told = self.told.lock().unwrap().recv_timeout(Duration::from_secs(5));
        told.map_err(|e| StoreError::Database { detail: e.to_string() })?;
        self.whole.seal()
    }
}

/// Panics whatever it is asked.
pub struct Broken;

impl Fetch for Broken {
    fn fetch(&self, _: FetchRequest) -> BoxFuture<'_, Result<Exchange, FetchFailure>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("as if a decoder met its match")
        })
    }
}

impl Resolve for Broken {
    fn resolve(&self, _: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        Box::pin(async { panic!("as if a name were worse than imagined") })
    }
}

/// Never answers.
struct Mute;

impl Resolve for Mute {
    fn resolve(&self, _: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        Box::pin(std::future::pending())
    }
}

impl Archive for Broken {
    fn append(&self, _: &ArchiveEntry<'_>) -> Result<RecordLocation, StoreError> {
        panic!("as if a record were worse than imagined")
    }

    fn sync(&self) -> Result<(), StoreError> {
        panic!("as if the disk were worse than imagined")
    }

    fn settled(&self, _: RecordLocation) {}

    fn mark(&self) -> Mark {
        Mark::default()
    }

    fn seal(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
