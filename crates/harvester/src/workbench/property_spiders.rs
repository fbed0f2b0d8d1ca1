//! Spiders that share sites, on random terms that change while they run. A small model keeps its own ledger of
//! what was handed out and brought; every visit is judged against it at the moment it begins.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use model::{
    CrawlUrl, FailureKind, Fingerprint, Page, Purpose, Resolution, RobotsCopy, SiteKey, Spent,
    SpiderId, Timestamp, testing::url,
};
use proptest::prelude::*;

use super::{
    Assignment, Offered, Options, Reason, SiteTerms, SpiderLimits, Step, Terms, Workbench,
    property::Dice,
    tests::{START, address, answer, failure, key, lease, page},
};
use crate::failure::PageAfter;

const SPIDERS: [SpiderId; 2] = [SpiderId(1), SpiderId(2)];
/// The most a server of this world sends: 60 bytes of head, the rest body.
const ANSWER: u64 = 300;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// The same on all sites, but for where a spider has to log in.
#[derive(Clone)]
struct Book(BTreeMap<SpiderId, SiteTerms>, BTreeSet<(SpiderId, String)>);

impl Terms for Book {
    fn of(&self, spider: SpiderId, _site: &SiteKey) -> SiteTerms {
        self.0[&spider].clone()
    }

    fn importance(&self, page: &Page) -> f32 {
        page.url.path().len() as f32
    }

    fn entry(&self, spider: SpiderId, site: &SiteKey) -> Option<CrawlUrl> {
        let guarded = self.1.contains(&(spider, site.as_str().to_owned()));
        guarded.then(|| url(&format!("http://{}/login/{}", site.as_str(), spider.0)))
    }
}

/// What was drawn and what is under way, as the limits should see it.
#[derive(Clone, Copy, Default)]
struct Ledger {
    done: Spent,
    out: Spent,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Account {
    All,
    Spider(SpiderId),
    Domain(String),
    Site(String),
}

struct Host {
    /// Pages of each spider.
    pages: u64,
    /// What the Global Frontier has: not yet met.
    waiting: BTreeMap<Fingerprint, Page>,
    known: HashSet<Fingerprint>,
    full: BTreeSet<SpiderId>,
    /// When it may be lent out again; `None`: it is in hand.
    lend_at: Option<Timestamp>,
    lent_at: Timestamp,
    visits_of_turn: u64,
    last_start: Option<(Timestamp, Duration)>,
    in_flight: usize,
    worked: (i64, Duration),
    robots: Option<RobotsCopy>,
}

struct World {
    dice: Dice,
    bench: Workbench,
    terms: Book,
    limits: BTreeMap<SpiderId, SpiderLimits>,
    in_all: (Option<u64>, Option<u64>),
    hosts: BTreeMap<String, Host>,
    ledger: BTreeMap<Account, Ledger>,
    in_flight: BTreeMap<SpiderId, usize>,
    flights: BinaryHeap<Reverse<(Timestamp, u64)>>,
    visits: HashMap<u64, (Assignment, Timestamp, Spent)>,
    open_levels: HashMap<(SiteKey, SpiderId), Vec<u16>>,
    /// Where a spider that has to log in is in.
    entered: BTreeSet<(SpiderId, String)>,
    now: Timestamp,
    /// Nothing is limited any more, and nothing changes.
    lifted: bool,
}

impl World {
    fn new(seed: u64) -> World {
        let mut dice = Dice(seed);
        let terms = random_terms(&mut dice);
        let in_all = (some(&mut dice, 3, 80), some(&mut dice, 3, 12_000));
        let options = Options {
            pages_max: in_all.0,
            bytes_max: in_all.1,
            fetches_max: 1 + dice.roll(6) as usize,
            site_queue_max: 4 + dice.roll(20) as usize,
            ..Options::default().with_pause(Duration::ZERO)
        };
        let bench = Workbench::new(options, Spent::default()).with_terms(Arc::new(terms.clone()));
        let hosts = 1 + dice.roll(6);
        let hosts = (0..hosts).map(|n| (host_name(n), host(&mut dice, n)));
        let mut world = World {
            bench,
            terms,
            limits: SPIDERS.map(|spider| (spider, SpiderLimits::default())).into(),
            in_all,
            hosts: hosts.collect(),
            ledger: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            flights: BinaryHeap::new(),
            visits: HashMap::new(),
            open_levels: HashMap::new(),
            entered: BTreeSet::new(),
            now: START,
            lifted: false,
            dice,
        };
        SPIDERS.iter().for_each(|spider| world.change_spider(*spider));
        world
    }

    /// Until all is met: limits stop it somewhere, then they are lifted.
    fn run(&mut self) {
        for step in 0..50_000 {
            if step == 1500 && !self.lifted {
                self.lift();
            }
            self.lend();
            if !self.lifted && self.dice.one_in(40) {
                self.change_something();
            }
            match self.bench.acquire(self.now) {
                Step::Resolve(site) => {
                    let addresses = vec![address(1)];
                    let expires = self.now.plus(Duration::from_secs(1_000_000));
                    self.bench.resolved(&site, Ok(Resolution { addresses, expires }), self.now);
                }
                Step::Visit(assignment) => self.begin(*assignment),
                Step::Wait(until) => {
                    assert!(until > self.now, "waiting for a moment that has come");
                    self.pass(Some(until));
                }
                Step::Idle if !self.flights.is_empty() => self.pass(None),
                Step::Idle if self.give_back() => {}
                Step::Idle => {
                    assert_eq!(self.bench.sites_in_hand(), 0, "stalled with sites in hand");
                    if let Some(next) = self.next_lending() {
                        self.now = self.now.max(next);
                    } else if self.lifted {
                        return;
                    } else {
                        self.lift();
                    }
                }
                step => panic!("{step:?} in a world without trouble"),
            }
        }
        let sites = self.bench.sites_in_hand();
        panic!("no end at {:?}: {sites} sites in hand, lifted: {}", self.now, self.lifted);
    }

    fn lendable(&self, host: &Host) -> Vec<Page> {
        let mut pages: Vec<Page> = host.waiting.values().cloned().collect();
        pages.retain(|page| {
            !is_paused(&self.limits[&page.spider]) && !host.full.contains(&page.spider)
        });
        pages.sort_by_key(|page| page.level);
        pages
    }

    fn next_lending(&self) -> Option<Timestamp> {
        let hosts = self.hosts.values().filter(|host| !self.lendable(host).is_empty());
        hosts.filter_map(|host| host.lend_at).min()
    }

    /// All that is due, as the Global Frontier would: some pages now, the others by refill.
    fn lend(&mut self) {
        for name in self.hosts.keys().cloned().collect::<Vec<_>>() {
            let host = &self.hosts[&name];
            let mut pages = self.lendable(host);
            if pages.is_empty() || host.lend_at.is_none_or(|at| at > self.now) {
                continue;
            }
            let more = pages.len() > 6;
            pages.truncate(6);
            let mut lease = lease(&name, pages, host.robots.iter().cloned().collect());
            lease.more = more;
            lease.known = Some(host.known.iter().copied().collect());
            let spent = |account| self.ledger.get(&account).copied().unwrap_or_default().done;
            let site = spent(Account::Site(name.clone()));
            (lease.site.counters.fetched, lease.site.counters.bytes) = (site.pages, site.bytes);
            lease.domain = spent(Account::Domain(domain(&name)));
            lease.worked_today = worked_today(host, self.now);
            self.bench.add(lease, self.now);
            self.entered.retain(|(_, site)| *site != name);
            let host = self.hosts.get_mut(&name).expect("just looked at");
            (host.lend_at, host.lent_at, host.visits_of_turn) = (None, self.now, 0);
        }
    }

    fn change_something(&mut self) {
        match self.dice.roll(8) {
            0 => {
                self.terms = random_terms(&mut self.dice);
                self.forget_full();
                self.entered.clear();
                self.bench.set_terms(Arc::new(self.terms.clone()), self.now);
            }
            1 => {
                self.in_all = (some(&mut self.dice, 3, 80), some(&mut self.dice, 3, 12_000));
                self.bench.set_limits(self.in_all.0, self.in_all.1);
            }
            n => {
                self.forget_full();
                self.change_spider(SPIDERS[n as usize % 2]);
            }
        }
    }

    fn change_spider(&mut self, spider: SpiderId) {
        let dice = &mut self.dice;
        let limits = SpiderLimits {
            paused: dice.one_in(3),
            fetches_max: some(dice, 2, 3).map(|max| max as usize),
            pages_max: some(dice, 3, 40),
            bytes_max: some(dice, 3, 6000),
        };
        self.bench.set_spider(spider, limits.clone(), None, self.now);
        self.limits.insert(spider, limits);
    }

    fn forget_full(&mut self) {
        self.hosts.values_mut().for_each(|host| host.full.clear());
    }

    fn lift(&mut self) {
        self.lifted = true;
        self.in_all = (None, None);
        self.bench.set_limits(None, None);
        for spider in SPIDERS {
            self.bench.set_spider(spider, SpiderLimits::default(), None, self.now);
            self.limits.insert(spider, SpiderLimits::default());
        }
        self.terms.0.values_mut().for_each(|terms| *terms = unlimited(terms));
        self.entered.clear();
        self.bench.set_terms(Arc::new(self.terms.clone()), self.now);
        self.forget_full();
        for host in self.hosts.values_mut() {
            host.lend_at = host.lend_at.map(|_| self.now);
        }
    }

    fn begin(&mut self, assignment: Assignment) {
        let (spider, name) = (assignment.spider, assignment.site.key.as_str().to_owned());
        let limits = self.limits[&spider].clone();
        assert!(!limits.paused, "a page of a paused spider");
        let busy = self.in_flight.entry(spider).or_default();
        *busy += 1;
        assert!(limits.fetches_max.is_none_or(|max| *busy <= max), "more visits than it may");
        self.check_clock(&name, assignment.purpose == Purpose::Login);
        let mut share = Spent::default();
        if let Some(page) = &assignment.page {
            let in_or_free = self.terms.entry(spider, &assignment.site.key).is_none()
                || self.entered.contains(&(spider, name.clone()));
            assert!(in_or_free, "{name}: a page before the login");
            share = self.check_limits(&assignment, page.clone(), &name);
            let levels = self.open_levels.entry((assignment.site.key.clone(), spider)).or_default();
            assert!(levels.iter().all(|level| *level >= page.level), "a level was not awaited");
            levels.push(page.level);
        }
        let latency = Duration::from_millis(self.dice.roll(3000));
        self.flights.push(Reverse((self.now.plus(latency), assignment.id.0)));
        self.visits.insert(assignment.id.0, (assignment, self.now, share));
    }

    /// Pause, connections, turn and day, each as the most careful spider with pages in hand asks.
    fn check_clock(&mut self, name: &str, login: bool) {
        // Waiting or under way: nothing else is in hand.
        let here: Vec<&SiteTerms> = SPIDERS
            .iter()
            .filter(|spider| self.in_hand(name, **spider))
            .map(|spider| &self.terms.0[spider])
            .collect();
        let pause = here.iter().map(|terms| terms.pause).max().expect("a spider that visits");
        let connections = here.iter().map(|terms| terms.connections).min().unwrap_or(1);
        let turn = here.iter().filter_map(|terms| terms.visit_time_max).min();
        let day = here.iter().filter_map(|terms| terms.day_time_max).min();
        let now = self.now;
        let host = self.hosts.get_mut(name).expect("a host of this world");
        if let Some((start, gap)) = host.last_start {
            assert!(now >= start.plus(pause.max(gap)), "{name}: too soon");
        }
        assert!(host.in_flight < connections, "{name}: too many at once");
        assert!(host.visits_of_turn == 0 || turn.is_none_or(|max| now < host.lent_at.plus(max)));
        assert!(day.is_none_or(|max| worked_today(host, now) < max), "{name}: enough for today");
        host.last_start = Some((now, pause));
        host.in_flight += 1;
        // Logins do not use up the visit that every turn has.
        host.visits_of_turn += u64::from(!login);
    }

    fn in_hand(&self, name: &str, spider: SpiderId) -> bool {
        let in_hand = self.bench.pages_of(&key(name));
        let out = self.visits.values().any(|(visit, ..)| {
            visit.spider == spider && visit.site.key.as_str() == name && visit.page.is_some()
        });
        // The page just handed out is open, so it is among them.
        let waiting = &self.hosts[name].waiting;
        out || in_hand.iter().any(|fp| waiting.get(fp).is_some_and(|page| page.spider == spider))
    }

    fn check_limits(&mut self, assignment: &Assignment, page: Page, name: &str) -> Spent {
        let (terms, limits) = (&self.terms.0[&page.spider], &self.limits[&page.spider]);
        let share = Spent {
            pages: u64::from(page.last.is_none() && !page.terms.requisite),
            bytes: assignment.wire_bytes_max.unwrap_or(ANSWER),
        };
        let maxima = [
            (Account::All, self.in_all.0, self.in_all.1),
            (Account::Spider(page.spider), limits.pages_max, limits.bytes_max),
            (Account::Domain(domain(name)), terms.domain_pages_max, None),
            (Account::Site(name.to_owned()), terms.pages_max, terms.bytes_max),
        ];
        let mut left = ANSWER;
        for (account, pages_max, bytes_max) in maxima {
            let ledger = self.ledger.entry(account).or_default();
            ledger.out.pages += share.pages;
            ledger.out.bytes += share.bytes;
            let pages = ledger.done.pages + ledger.out.pages;
            assert!(share.pages == 0 || pages_max.is_none_or(|max| pages <= max), "pages");
            let bytes = ledger.done.bytes + ledger.out.bytes;
            assert!(bytes_max.is_none_or(|max| bytes <= max), "bytes");
            left = left.min(bytes_max.map_or(ANSWER, |max| max - bytes + share.bytes));
        }
        assert_eq!(share.bytes, left, "cut needlessly, or not enough");
        share
    }

    /// Time goes on, to the next end of a visit but not past `until`.
    fn pass(&mut self, until: Option<Timestamp>) {
        match self.flights.peek() {
            Some(Reverse((end, _))) if until.is_none_or(|until| *end <= until) => {
                let Some(Reverse((end, id))) = self.flights.pop() else { return };
                self.now = end;
                self.finish(id);
            }
            _ => self.now = until.unwrap_or(self.now),
        }
        self.give_back();
    }

    fn finish(&mut self, id: u64) {
        let (assignment, started, share) = self.visits.remove(&id).expect("under way");
        *self.in_flight.get_mut(&assignment.spider).expect("counted") -= 1;
        let name = assignment.site.key.as_str().to_owned();
        let now = self.now;
        let host = self.hosts.get_mut(&name).expect("a host of this world");
        host.in_flight -= 1;
        host.worked = (now.0 / DAY_MS, worked_today(host, now) + now.since(started));
        let fails = assignment.purpose == Purpose::Page && self.dice.one_in(10);
        let mut exchange = answer(&assignment, 200, started);
        let bytes =
            (60 + self.dice.roll(ANSWER - 60)).min(assignment.wire_bytes_max.unwrap_or(ANSWER));
        exchange.response_head = vec![0; bytes.min(60) as usize].into();
        exchange.wire_body = vec![0; bytes.saturating_sub(60) as usize].into();
        let failure = failure(FailureKind::Reset);
        let reply = if fails { Err(&failure) } else { Ok(&exchange) };
        let released = self.bench.release(assignment.id, reply, now);
        assert_eq!(released.worked, now.since(started));
        if let Some(copy) = released.robots {
            self.hosts.get_mut(&name).expect("a host of this world").robots = Some(copy);
        }
        if assignment.purpose == Purpose::Login {
            self.step_in(&assignment);
        }
        if let Some(page) = assignment.page {
            if self.dice.one_in(20) {
                self.throw_out(&assignment.site.key, page.spider);
            }
            let drawn = if fails { Spent::default() } else { Spent { pages: share.pages, bytes } };
            self.settle(&name, page, share, drawn, released.page);
        }
    }

    /// Logins take one step, or more.
    fn step_in(&mut self, login: &Assignment) {
        let (site, spider) = (&login.site.key, login.spider);
        if self.dice.one_in(2) {
            let next = url(&format!("{}/more", login.url));
            return self.bench.enter(site, spider, Some(next), self.now);
        }
        self.entered.insert((spider, site.as_str().to_owned()));
        self.bench.enter(site, spider, None, self.now);
    }

    /// The session is over, perhaps while pages of it are under way.
    fn throw_out(&mut self, site: &SiteKey, spider: SpiderId) {
        let under_way = self.visits.values().any(|(visit, ..)| {
            visit.purpose == Purpose::Login && visit.site.key == *site && visit.spider == spider
        });
        if let Some(entry) = self.terms.entry(spider, site).filter(|_| !under_way) {
            self.entered.remove(&(spider, site.as_str().to_owned()));
            self.bench.enter(site, spider, Some(entry), self.now);
        }
    }

    fn settle(
        &mut self,
        name: &str,
        page: Page,
        share: Spent,
        drawn: Spent,
        after: Option<PageAfter>,
    ) {
        let accounts = [
            Account::All,
            Account::Spider(page.spider),
            Account::Domain(domain(name)),
            Account::Site(name.to_owned()),
        ];
        for account in accounts {
            let ledger = self.ledger.get_mut(&account).expect("it reserved");
            ledger.out.pages -= share.pages;
            ledger.out.bytes -= share.bytes;
            ledger.done.pages += drawn.pages;
            ledger.done.bytes += drawn.bytes;
        }
        let (site, fp) = (key(name), page.url.fingerprint());
        if drawn.bytes > 0 {
            self.links(name, &page);
        }
        self.bench.gathered(&site, fp, self.now);
        let levels = self.open_levels.get_mut(&(site.clone(), page.spider)).expect("it was open");
        let place = levels.iter().position(|level| *level == page.level).expect("it was open");
        levels.swap_remove(place);
        match after {
            Some(PageAfter::Retry { at }) => {
                let page = Page { due: at, failures: page.failures + 1, ..page };
                self.bench.retry(&site, page, self.now);
            }
            _ => drop(self.hosts.get_mut(name).expect("in hand").waiting.remove(&fp)),
        }
    }

    /// Page n of a spider links to its pages 2n+1 and 2n+2; a few of them are parts of pages.
    fn links(&mut self, name: &str, from: &Page) {
        let number: u64 = from.url.path()[3..].parse().expect("a page's path ends in its number");
        for number in [2 * number + 1, 2 * number + 2] {
            let host = self.hosts.get_mut(name).expect("in hand");
            if number >= host.pages {
                continue;
            }
            let mut link = page_of(name, from.spider, number);
            link.level = from.level + 1;
            link.terms.requisite = number % 7 == 6;
            host.known.insert(link.url.fingerprint());
            host.waiting.insert(link.url.fingerprint(), link.clone());
            let offered = self.bench.offer(&key(name), link, self.now);
            assert!(matches!(offered, Offered::Queued | Offered::Full), "{offered:?}");
        }
    }

    fn give_back(&mut self) -> bool {
        let drained = self.bench.drained();
        let any = !drained.is_empty();
        for drained in drained {
            let name = drained.site.key.as_str().to_owned();
            let until = match drained.reason {
                Reason::NeedsRefill => {
                    self.refill(&name);
                    continue;
                }
                // It may also stay, and must go on by itself then.
                Reason::NotBefore(_) if self.dice.one_in(2) => continue,
                Reason::NotBefore(at) => at,
                Reason::RobotsUnreachable(_) => panic!("not in this world"),
                _ => self.now,
            };
            let removed = self.bench.remove(&drained.site.key, self.now).expect("in hand");
            if drained.reason == Reason::Limit && self.in_all == (None, None) {
                assert!(!removed.full.is_empty(), "limited by nobody");
            }
            let host = self.hosts.get_mut(&name).expect("a host of this world");
            host.full.extend(removed.full);
            if drained.reason == Reason::Done {
                assert!(removed.pages.is_empty());
            }
            // What the limits in all keep back is due again when they are lifted.
            let shut = matches!(drained.reason, Reason::Limit | Reason::Spent);
            host.lend_at = Some(if shut { self.now.plus(Duration::from_secs(60)) } else { until });
        }
        any
    }

    fn refill(&mut self, name: &str) {
        let in_hand: HashSet<_> = self.bench.pages_of(&key(name)).into_iter().collect();
        let mut pages = self.lendable(&self.hosts[name]);
        pages.retain(|page| !in_hand.contains(&page.url.fingerprint()));
        let more = pages.len() > 3;
        pages.truncate(3);
        self.bench.refill(&key(name), pages, more, self.now);
    }
}

/// None at once is as good as paused.
fn is_paused(limits: &SpiderLimits) -> bool {
    limits.paused || limits.fetches_max == Some(0)
}

fn host(dice: &mut Dice, n: u64) -> Host {
    let name = host_name(n);
    let roots = SPIDERS.map(|spider| page_of(&name, spider, 0));
    let roots = roots.map(|page| (page.url.fingerprint(), page));
    Host {
        pages: 1 + dice.roll(25),
        known: roots.iter().map(|(fp, _)| *fp).collect(),
        waiting: roots.into(),
        full: BTreeSet::new(),
        lend_at: Some(START),
        lent_at: START,
        visits_of_turn: 0,
        last_start: None,
        in_flight: 0,
        worked: (0, Duration::ZERO),
        robots: None,
    }
}

fn host_name(n: u64) -> String {
    format!("h{n}.d{}.example", n % 2)
}

fn page_of(host: &str, spider: SpiderId, number: u64) -> Page {
    Page { spider, ..page(&format!("http://{host}/{}/{number}", spider.0), 0) }
}

fn domain(host: &str) -> String {
    host.split_once('.').map(|(_, domain)| domain.to_owned()).expect("three labels")
}

fn worked_today(host: &Host, now: Timestamp) -> Duration {
    if host.worked.0 == now.0 / DAY_MS { host.worked.1 } else { Duration::ZERO }
}

/// One in `sides` times a number from 0 to `below`, otherwise none.
fn some(dice: &mut Dice, sides: u64, below: u64) -> Option<u64> {
    dice.one_in(sides).then(|| dice.roll(below))
}

fn random_terms(dice: &mut Dice) -> Book {
    let mut terms = || SiteTerms {
        pause: Duration::from_millis([0, 500, 2000, 10_000][dice.roll(4) as usize]),
        pause_big: None,
        big_site_pages: 0,
        connections: 1 + dice.roll(3) as usize,
        pages_max: some(dice, 3, 20),
        bytes_max: some(dice, 3, 3000),
        domain_pages_max: some(dice, 3, 40),
        visit_time_max: some(dice, 3, 30).map(Duration::from_secs),
        day_time_max: some(dice, 4, 30).map(|n| Duration::from_secs(n + 1)),
        answer_bytes_max: ANSWER,
    };
    let terms = SPIDERS.map(|spider| (spider, terms())).into();
    let lanes = SPIDERS.iter().flat_map(|spider| (0..6).map(|n| (*spider, host_name(n))));
    Book(terms, lanes.filter(|_| dice.one_in(3)).collect())
}

fn unlimited(terms: &SiteTerms) -> SiteTerms {
    SiteTerms {
        pages_max: None,
        bytes_max: None,
        domain_pages_max: None,
        day_time_max: None,
        ..terms.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn spiders_share_sites_within_every_limit_and_nothing_is_forgotten(seed: u64) {
        let mut world = World::new(seed);
        world.run();
        for (name, host) in &world.hosts {
            prop_assert!(host.waiting.is_empty(), "{name}: {} forgotten", host.waiting.len());
            let met = host.known.len() as u64;
            prop_assert!(met <= 2 * host.pages);
        }
        let all = world.ledger.get(&Account::All).copied().unwrap_or_default();
        prop_assert_eq!(world.bench.spent(), all.done);
        prop_assert_eq!(world.bench.pages_in_hand(), 0);
    }
}
