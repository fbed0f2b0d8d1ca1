//! Random sites, answers and latencies driven through the workbench; what it did is judged from a log kept
//! by a tiny model of the servers, not from the workbench's own opinion.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, HashSet},
    net::IpAddr,
    time::Duration,
};

use model::{
    Exchange, FailureKind, FetchFailure, Fingerprint, Page, Purpose, Resolution, SiteKey, Spent,
    Timestamp, testing::url,
};
use proptest::prelude::*;

use super::{
    Assignment, Offered, Options, Reason, Step, Workbench,
    tests::{START, address, answer, failure, lease, page},
};
use crate::failure::PageAfter;

/// splitmix64: the world is computed from it, so a failing seed replays.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % sides
    }

    pub(super) fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

/// What the servers saw of one request.
#[derive(Clone, Debug)]
struct Seen {
    host: String,
    path: String,
    address: IpAddr,
    started: Timestamp,
    ended: Timestamp,
    status: u16,
    retry_after: Option<Duration>,
    level: Option<u16>,
}

struct Server {
    address: IpAddr,
    crawl_delay: u64,
    pages: u64,
    /// Where its robots.txt lies, if not here.
    robots_at: Option<String>,
    robots_fails: u64,
    trouble: u64,
}

struct World {
    dice: Dice,
    bench: Workbench,
    servers: BTreeMap<String, Server>,
    log: Vec<Seen>,
    /// What is under way, by its end.
    flights: BinaryHeap<Reverse<(Timestamp, u64)>>,
    visits: HashMap<u64, (Assignment, Timestamp)>,
    /// Pages not queued for lack of room, as the Global Frontier would keep them.
    overflow: HashMap<SiteKey, Vec<Page>>,
    open_levels: HashMap<SiteKey, Vec<u16>>,
    done: HashSet<Fingerprint>,
    excluded: HashSet<Fingerprint>,
    admitted: HashSet<Fingerprint>,
    limited: bool,
    now: Timestamp,
}

impl World {
    fn new(seed: u64, options: Options) -> World {
        let mut dice = Dice(seed);
        let hosts = 1 + dice.roll(6);
        let servers = (0..hosts).map(|n| (format!("h{n}.example"), server(&mut dice, hosts)));
        let servers: BTreeMap<String, Server> = servers.collect();
        let mut world = World {
            bench: Workbench::new(options, Spent::default()),
            log: Vec::new(),
            flights: BinaryHeap::new(),
            visits: HashMap::new(),
            overflow: HashMap::new(),
            open_levels: HashMap::new(),
            done: HashSet::new(),
            excluded: HashSet::new(),
            admitted: HashSet::new(),
            limited: false,
            now: START,
            servers,
            dice,
        };
        for host in world.servers.keys().cloned().collect::<Vec<_>>() {
            let root = page(&format!("http://{host}/0"), 0);
            world.admitted.insert(root.url.fingerprint());
            world.bench.add(lease(&host, vec![root], Vec::new()), START);
        }
        world
    }

    /// Until nothing is left to do anywhere.
    fn run(&mut self) {
        for _ in 0..200_000 {
            match self.bench.acquire(self.now) {
                Step::Barred { .. } => panic!("nobody logs in in this world"),
                Step::Resolve(site) => self.resolve(&site),
                Step::Visit(assignment) => self.begin(*assignment),
                Step::Exclude(excluded) => {
                    assert!(excluded.page.url.path().starts_with("/1"), "excluded without reason");
                    self.excluded.insert(excluded.page.url.fingerprint());
                }
                Step::Failed(assignment, _, released) => {
                    let after = released.page;
                    self.conclude(*assignment, after, Vec::new());
                }
                Step::Wait(until) => {
                    assert!(until > self.now, "waiting for a moment that has come");
                    self.pass(Some(until));
                }
                Step::Idle if !self.flights.is_empty() => self.pass(None),
                Step::Idle if self.refilled_or_removed() => {}
                Step::Idle => {
                    assert_eq!(self.bench.sites_in_hand(), 0, "stalled with sites in hand");
                    return;
                }
            }
        }
        panic!("no end");
    }

    fn resolve(&mut self, site: &SiteKey) {
        let answer = if self.dice.one_in(20) {
            Err(failure(FailureKind::DnsTrouble))
        } else {
            let addresses = vec![self.servers[site.host()].address];
            let life = Duration::from_secs(1 + self.dice.roll(600));
            Ok(Resolution { addresses, expires: self.now.plus(life) })
        };
        self.bench.resolved(site, answer, self.now);
    }

    fn begin(&mut self, assignment: Assignment) {
        if let Some(page) = &assignment.page {
            let open = self.open_levels.entry(assignment.site.key.clone()).or_default();
            assert!(open.iter().all(|level| *level >= page.level), "a level was not awaited");
            open.push(page.level);
        }
        let latency = match self.dice.roll(10) {
            0 => self.dice.roll(20_000),
            _ => self.dice.roll(1000),
        };
        let end = self.now.plus(Duration::from_millis(latency));
        self.flights.push(Reverse((end, assignment.id.0)));
        self.visits.insert(assignment.id.0, (assignment, self.now));
    }

    /// Time goes on, to the next end of a visit but not past `until`.
    fn pass(&mut self, until: Option<Timestamp>) {
        match self.flights.peek() {
            Some(Reverse((end, _))) if until.is_none_or(|until| *end <= until) => {
                let Some(Reverse((end, id))) = self.flights.pop() else { return };
                self.now = end;
                let (assignment, started) = self.visits.remove(&id).expect("under way");
                self.finish(assignment, started);
            }
            _ => self.now = until.unwrap_or(self.now),
        }
        self.refilled_or_removed();
    }

    fn finish(&mut self, assignment: Assignment, started: Timestamp) {
        let reply = self.reply(&assignment, started);
        let retry_after = reply.as_ref().ok().and_then(|exchange| {
            exchange.headers.get("retry-after")?.parse().ok().map(Duration::from_secs)
        });
        self.log.push(Seen {
            host: assignment.url.host().to_owned(),
            path: assignment.url.path().to_owned(),
            address: assignment.addresses[0],
            started,
            ended: self.now,
            status: reply.as_ref().map_or(0, |exchange| exchange.status),
            retry_after,
            level: assignment.page.as_ref().map(|page| page.level),
        });
        let links = self.links(&assignment, &reply);
        let released = self.bench.release(assignment.id, reply.as_ref(), self.now);
        self.conclude(assignment, released.page, links);
    }

    fn conclude(&mut self, assignment: Assignment, after: Option<PageAfter>, links: Vec<Page>) {
        let site = assignment.site.key;
        let Some(page) = assignment.page else { return };
        for link in links {
            self.offer(&site, link);
        }
        let (fp, level) = (page.url.fingerprint(), page.level);
        self.bench.gathered(&site, fp, self.now);
        if let Some(open) = self.open_levels.get_mut(&site)
            && let Some(place) = open.iter().position(|open| *open == level)
        {
            open.swap_remove(place);
        }
        match after {
            Some(PageAfter::Retry { at }) => {
                let page = Page { due: at, failures: page.failures + 1, ..page };
                self.bench.retry(&site, page, self.now);
            }
            _ => assert!(self.done.insert(fp), "visited twice"),
        }
    }

    fn offer(&mut self, site: &SiteKey, link: Page) {
        self.admitted.insert(link.url.fingerprint());
        if self.bench.offer(site, link.clone(), self.now) == Offered::Full {
            self.overflow.entry(site.clone()).or_default().push(link);
        }
    }

    fn reply(
        &mut self,
        assignment: &Assignment,
        started: Timestamp,
    ) -> Result<Exchange, FetchFailure> {
        let server = self.servers.get_mut(assignment.url.host()).expect("a host of this world");
        let mut exchange = answer(assignment, 200, started);
        exchange.timing.first_byte = self.now.since(started);
        if assignment.purpose == Purpose::Robots {
            if server.robots_fails > 0 {
                server.robots_fails -= 1;
                return Err(failure(FailureKind::Timeout));
            }
            match (&server.robots_at, assignment.url.path()) {
                (Some(elsewhere), "/robots.txt") => {
                    exchange.status = 302;
                    exchange.headers.push("Location", elsewhere);
                }
                _ => exchange.body = robots_txt(server.crawl_delay).into(),
            }
            return Ok(exchange);
        }
        if server.trouble > 0 && self.dice.one_in(4) {
            server.trouble -= 1;
            match self.dice.roll(4) {
                0 => return Err(failure(FailureKind::Reset)),
                1 => exchange.status = 500,
                2 => exchange.status = 404,
                _ => {
                    exchange.status = 429;
                    let seconds = self.dice.roll(100);
                    exchange.headers.push("Retry-After", &seconds.to_string());
                }
            }
        }
        Ok(exchange)
    }

    /// Page n links to 2n+1 and 2n+2, and at random elsewhere in the site.
    fn links(&mut self, from: &Assignment, reply: &Result<Exchange, FetchFailure>) -> Vec<Page> {
        let Some(page_from) = &from.page else { return Vec::new() };
        if !reply.as_ref().is_ok_and(|exchange| exchange.status == 200) {
            return Vec::new();
        }
        let host = from.url.host();
        let pages = self.servers[host].pages;
        let number: u64 = from.url.path()[1..].parse().expect("a page's path is its number");
        [2 * number + 1, 2 * number + 2, self.dice.roll(pages)]
            .into_iter()
            .filter(|number| *number < pages)
            .map(|number| page(&format!("http://{host}/{number}"), page_from.level + 1))
            .collect()
    }

    fn refilled_or_removed(&mut self) -> bool {
        let drained = self.bench.drained();
        let any = !drained.is_empty();
        for drained in drained {
            let site = drained.site.key;
            match drained.reason {
                Reason::NeedsRefill => {
                    let mut pages = self.overflow.remove(&site).unwrap_or_default();
                    pages.sort_by_key(|page| page.level);
                    let rest = pages.split_off(pages.len().min(3));
                    let more = !rest.is_empty();
                    self.overflow.insert(site.clone(), rest);
                    self.bench.refill(&site, pages, more, self.now);
                }
                Reason::Done | Reason::Limit => {
                    self.limited |= drained.reason == Reason::Limit;
                    let removed = self.bench.remove(&site, self.now).expect("in hand");
                    assert!(drained.reason == Reason::Limit || removed.pages.is_empty());
                }
                Reason::NotBefore(_) | Reason::RobotsUnreachable(_) => {}
                reason => panic!("{reason:?} without terms"),
            }
        }
        any
    }

    fn gap_of(&self, host: &str, options: &Options) -> Duration {
        let asked = Duration::from_secs(self.servers[host].crawl_delay);
        asked.min(options.crawl_delay_max).max(options.pause)
    }
}

fn server(dice: &mut Dice, hosts: u64) -> Server {
    let other = format!("http://h{}.example/r", dice.roll(hosts));
    Server {
        address: address(dice.roll(2) as u8),
        crawl_delay: [0, 0, 0, 5, 1000][dice.roll(5) as usize],
        pages: 1 + dice.roll(30),
        robots_at: dice.one_in(3).then_some(other),
        robots_fails: dice.roll(3) * dice.roll(2),
        trouble: dice.roll(10),
    }
}

/// Pages whose number begins with 1 are forbidden.
fn robots_txt(crawl_delay: u64) -> String {
    format!("User-agent: *\nDisallow: /1\nCrawl-delay: {crawl_delay}\n")
}

/// A host's requests in the order they came, checked pair by pair.
fn check_hosts(world: &World, options: &Options) -> Result<(), TestCaseError> {
    for host in world.servers.keys() {
        let mut seen: Vec<&Seen> = world.log.iter().filter(|seen| seen.host == *host).collect();
        seen.sort_by_key(|seen| seen.started);
        let mut ruled = false;
        for (n, now) in seen.iter().enumerate() {
            let at_once = seen[..n].iter().filter(|before| before.ended > now.started).count();
            prop_assert!(at_once < options.connections, "{host}: {now:?}");
            prop_assert!(now.level.is_none() || !now.path.starts_with("/1"), "forbidden: {now:?}");
            let Some(before) = n.checked_sub(1).map(|n| seen[n]) else { continue };
            prop_assert!(now.started >= before.started.plus(options.pause), "{before:?} {now:?}");
            // The delay binds once a page went out: then the host's own file has been read.
            if ruled && now.level.is_some() {
                let gap = world.gap_of(&delay_host(world, host), options);
                prop_assert!(now.started >= before.started.plus(gap), "{before:?} {now:?}");
            }
            ruled |= now.level.is_some();
            for before in &seen[..n] {
                if let Some(wait) = before.retry_after
                    && before.ended <= now.started
                {
                    prop_assert!(now.started >= before.ended.plus(wait), "{before:?} {now:?}");
                }
            }
        }
    }
    Ok(())
}

/// The host whose file speaks for this one.
fn delay_host(world: &World, host: &str) -> String {
    let elsewhere = world.servers[host].robots_at.as_deref();
    elsewhere.map_or(host.to_owned(), |elsewhere| url(elsewhere).host().to_owned())
}

fn check_addresses(world: &World, options: &Options) -> Result<(), TestCaseError> {
    let mut seen: Vec<&Seen> = world.log.iter().collect();
    seen.sort_by_key(|seen| seen.started);
    for (n, now) in seen.iter().enumerate() {
        let before = seen[..n].iter().rev().find(|before| before.address == now.address);
        let Some(before) = before.filter(|before| before.host != now.host) else { continue };
        let pause = options.address_pause();
        prop_assert!(now.started >= before.started.plus(pause), "{before:?} {now:?}");
    }
    Ok(())
}

fn check_robots_first(world: &World) -> Result<(), TestCaseError> {
    for host in world.servers.keys() {
        let of_host = |seen: &&Seen| seen.host == *host;
        let first_page = world.log.iter().filter(of_host).filter(|seen| seen.level.is_some());
        let Some(first_page) = first_page.map(|seen| seen.started).min() else { continue };
        let robots = world.log.iter().filter(of_host).find(|seen| {
            seen.path == "/robots.txt" && seen.status != 0 && seen.ended <= first_page
        });
        prop_assert!(robots.is_some(), "{host}");
    }
    Ok(())
}

fn check_limits(world: &World, options: &Options) -> Result<(), TestCaseError> {
    let content = |seen: &&Seen| seen.level.is_some() && seen.status == 200;
    let in_all = world.log.iter().filter(content).count() as u64;
    prop_assert!(options.pages_max.is_none_or(|max| in_all <= max));
    prop_assert_eq!(world.bench.spent().pages, in_all);
    for host in world.servers.keys() {
        let here = world.log.iter().filter(content).filter(|seen| seen.host == *host).count();
        prop_assert!(options.site_pages_max.is_none_or(|max| here as u64 <= max));
    }
    if options.pages_max.is_some_and(|max| in_all < max) && options.site_pages_max.is_none() {
        prop_assert!(!world.limited, "stopped below the limit");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_crawl_is_polite_exact_and_ends(
        seed: u64,
        pause in prop_oneof![Just(0_u64), Just(2000), 1_u64..5000],
        connections in 1_usize..3,
        fetches_max in 1_usize..5,
        pages_max in proptest::option::of(0_u64..60),
        site_pages_max in proptest::option::of(0_u64..20),
        site_queue_max in 1_usize..20,
    ) {
        let base = Options { connections, fetches_max, pages_max, site_pages_max, ..Options::default() };
        let options =
            Options { site_queue_max, ..base.with_pause(Duration::from_millis(pause)) };
        let mut world = World::new(seed, options.clone());
        world.run();
        check_hosts(&world, &options)?;
        check_addresses(&world, &options)?;
        check_robots_first(&world)?;
        check_limits(&world, &options)?;
        if !world.limited {
            let met = world.done.union(&world.excluded).count();
            prop_assert_eq!(met, world.admitted.len(), "a page was forgotten");
        }
        prop_assert_eq!(world.bench.pages_in_hand(), 0);
    }
}
