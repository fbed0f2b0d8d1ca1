//! A site's place at the workbench: its Local Frontier and the robots.txt of its origins.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use model::{
    Condition, CrawlUrl, Fingerprint, Gate, Origin, Page, Refusal, RefusalReason, RobotsAnswer,
    RobotsCopy, SiteKey, SiteLease, SpiderId, Timestamp,
};

use super::{
    Options, SiteRef, Terms,
    account::Entry,
    frontier::{Head, LocalFrontier},
    lane::Lane,
    lines::Line,
    turn::Turn,
};
use crate::robots::{self, Robots, Rules};

#[derive(Debug)]
pub(super) struct Seat {
    pub site: SiteRef,
    pub frontier: LocalFrontier,
    /// At most four: two schemes on two ports.
    origins: HashMap<Origin, OriginRules>,
    pub domain: Arc<str>,
    pub turn: Turn,
    /// Visits under way on this site's behalf.
    pub in_flight: usize,
    /// Its place on the list of moments.
    pub scheduled: Option<(Timestamp, u64)>,
    /// Its place in an address's line.
    pub in_line: Option<(IpAddr, u64)>,
    /// The address it had to wait for first, until that is told.
    pub waited_for: Option<IpAddr>,
    pub told_of_address: bool,
    /// Waits for a visit to end, or a name to be resolved, at this host.
    pub waits_for: Option<SiteKey>,
    /// The accounts' lines it stands in, and since when; kept until it begins a visit.
    pub lines: Vec<Line>,
    pub waiting_since: Option<u64>,
    /// It was called from this line, and has not been looked at yet.
    pub baton: Option<Line>,
    /// Its share of the pages in hand, as last counted.
    pub counted: usize,
}

#[derive(Debug, Default)]
struct OriginRules {
    copy: Option<RobotsCopy>,
    rules: Rules,
    /// A redirect to follow, or the fetch under way.
    hunt: Option<Hunt>,
    /// A rule of ours forbids every request to it.
    refusal: Option<Refusal>,
}

#[derive(Clone, Debug)]
pub(super) struct Hunt {
    pub url: CrawlUrl,
    pub hops: u8,
    pub under_way: bool,
}

/// What the site wants next.
#[derive(Debug)]
pub(super) enum Want {
    Robots {
        /// The page for whose sake it is asked for.
        fp: Fingerprint,
        /// For the sake of the entry to the page's lane.
        entry: bool,
        spider: SpiderId,
        origin: Origin,
        url: CrawlUrl,
        hops: u8,
    },
    Page {
        fp: Fingerprint,
        spider: SpiderId,
        url: CrawlUrl,
    },
    /// What must be visited before this page.
    Entry {
        fp: Fingerprint,
        spider: SpiderId,
        url: CrawlUrl,
    },
    Exclude {
        fp: Fingerprint,
        refusal: Refusal,
    },
    /// The entry of the spider's lane is forbidden.
    Bar {
        spider: SpiderId,
        refusal: Refusal,
    },
    /// A robots.txt is under way, or a page of a lower level is open.
    Event,
    Refill,
    Wait(Vec<Line>),
    /// What is left may not go out: see [`Head::Shut`].
    Shut(Entry),
    Later(Timestamp),
    /// Others have their turn.
    TurnOver,
    /// Enough for today: the next day begins then.
    Tomorrow(Timestamp),
    Nothing,
}

impl Seat {
    pub fn new(
        lease: SiteLease,
        domain: Arc<str>,
        terms: Arc<dyn Terms>,
        options: &Options,
        now: Timestamp,
    ) -> Seat {
        let site = lease.site;
        let pages_known = site.counters.known;
        let mut frontier = LocalFrontier::new(site.key.clone(), pages_known, terms, lease.known);
        frontier.refill(lease.pages, lease.more);
        let mut seat = Seat {
            site: SiteRef { key: site.key, id: site.id, fence: lease.fence },
            frontier,
            origins: HashMap::new(),
            domain,
            turn: Turn::new(lease.worked_today, now),
            in_flight: 0,
            scheduled: None,
            in_line: None,
            waited_for: None,
            told_of_address: false,
            waits_for: None,
            lines: Vec::new(),
            waiting_since: None,
            baton: None,
            counted: 0,
        };
        for copy in site.robots {
            let origin = copy.origin.clone();
            seat.robots_read(&origin, copy, &options.token);
        }
        seat
    }

    /// Nothing is under way, so nothing will happen by itself.
    pub fn is_quiet(&self) -> bool {
        self.in_flight == 0 && !self.frontier.has_open()
    }

    /// The site's start-to-start gap: origins and spiders share the clock, so the longest delay binds.
    /// `None`: no spider has pages here.
    pub fn gap(&self, options: &Options) -> Option<Duration> {
        let pause = self.busy_lanes().map(|lane| lane.pause).max()?;
        // One's own site: nobody asks for a pause, and none is kept.
        if pause.is_zero() {
            return Some(pause);
        }
        Some(self.crawl_delay().unwrap_or_default().min(options.crawl_delay_max).max(pause))
    }

    /// Visits at once: as many as the most careful spider allows, but one in any case.
    pub fn connections(&self) -> Option<usize> {
        self.busy_lanes().map(|lane| lane.terms.connections.max(1)).min()
    }

    /// When the turn is over, if it has an end.
    pub fn turn_ends(&self) -> Option<Timestamp> {
        self.turn.ends(self.busy_lanes().filter_map(|lane| lane.terms.visit_time_max).min())
    }

    /// Spiders that have used up a limit here, as of the last look.
    pub fn full(&self) -> Vec<SpiderId> {
        let full = self.frontier.lanes().iter().filter(|lane| lane.access.full);
        full.map(|lane| lane.spider).collect()
    }

    pub fn crawl_delay(&self) -> Option<Duration> {
        self.origins.values().filter_map(|origin| origin.rules.crawl_delay()).max()
    }

    /// Pages of an origin are held back because its robots.txt cannot be read.
    pub fn is_unreachable(&self, now: Timestamp) -> bool {
        let mut copies = self.origins.values().filter_map(|origin| origin.copy.as_ref());
        copies.any(|copy| copy.expires > now && robots::is_unreachable(copy))
    }

    /// What the next visit would be, without its clock, by the last look at the accounts.
    pub fn want(&mut self, now: Timestamp, gate: &dyn Gate, held_back_max: usize) -> Want {
        let want = self.want_in_time(now, gate, held_back_max);
        let has_time_to_spare = matches!(
            want,
            Want::Exclude { .. } | Want::Bar { .. } | Want::Event | Want::Shut(_) | Want::Nothing
        );
        if has_time_to_spare { want } else { self.out_of_time(now).unwrap_or(want) }
    }

    fn out_of_time(&self, now: Timestamp) -> Option<Want> {
        let day_max = self.busy_lanes().filter_map(|lane| lane.terms.day_time_max).min();
        if let Some(at) = self.turn.tomorrow(day_max, now) {
            return Some(Want::Tomorrow(at));
        }
        self.turn_ends().filter(|end| *end <= now).map(|_| Want::TurnOver)
    }

    /// Pages of an origin that is unreachable for now are put aside on the way. What the gate refuses is
    /// excluded before its robots.txt is asked for.
    fn want_in_time(&mut self, now: Timestamp, gate: &dyn Gate, held_back_max: usize) -> Want {
        self.frontier.promote(now);
        loop {
            let (page, entry) = match self.frontier.head(held_back_max) {
                Head::Page(page) => (page, None),
                Head::Entry(url, page) => (page, Some(url)),
                Head::Barrier => return Want::Event,
                Head::Refill => return Want::Refill,
                Head::Wait(lines) => return Want::Wait(lines),
                Head::Shut(entry) => return Want::Shut(entry),
                Head::Later(at) => return Want::Later(at),
                Head::Empty => return Want::Nothing,
            };
            let fp = page.url.fingerprint();
            let refusal = gate.refuses_url(&page.url).or_else(|| gate.refuses_page(page));
            if let Some(refusal) = refusal {
                return Want::Exclude { fp, refusal };
            }
            let goal = entry.unwrap_or(&page.url);
            if let Some(refusal) = entry.and_then(|url| gate.refuses_url(url)) {
                return Want::Bar { spider: page.spider, refusal };
            }
            let origin = goal.origin();
            match Standing::of(self.origins.get(&origin), &origin, now) {
                Standing::UnderWay => return Want::Event,
                Standing::Ask { url, hops } => {
                    // Without its robots.txt (which may be redirected elsewhere) no page is visited.
                    let (entry, spider) = (entry.is_some(), page.spider);
                    return match gate.refuses_url(&url) {
                        Some(refusal) if entry => Want::Bar { spider, refusal },
                        Some(refusal) => Want::Exclude { fp, refusal },
                        None => Want::Robots { fp, entry, spider, origin, url, hops },
                    };
                }
                Standing::HeldUntil(until) => {
                    let page = self.frontier.take(fp).expect("the head is in the queue");
                    self.frontier.hold(page, until);
                }
                Standing::Refused(refusal) => {
                    let (refusal, spider) = (refusal.clone(), page.spider);
                    return match entry.is_some() {
                        true => Want::Bar { spider, refusal },
                        false => Want::Exclude { fp, refusal },
                    };
                }
                Standing::Rules(rules) => return verdict(rules, page, entry),
            }
        }
    }

    pub fn hunt(&mut self, origin: &Origin, url: CrawlUrl, hops: u8, under_way: bool) {
        let entry = self.origins.entry(origin.clone()).or_default();
        entry.hunt = Some(Hunt { url, hops, under_way });
    }

    /// The fetch came to nothing that counts: ask afresh.
    pub fn hunt_over(&mut self, origin: &Origin) {
        if let Some(entry) = self.origins.get_mut(origin) {
            entry.hunt = None;
        }
    }

    pub fn robots_read(&mut self, origin: &Origin, copy: RobotsCopy, token: &str) {
        let entry = self.origins.entry(origin.clone()).or_default();
        let unchanged = entry.copy.as_ref().is_some_and(|old| old.answer == copy.answer);
        if !unchanged {
            entry.rules = match &copy.answer {
                RobotsAnswer::Rules(text) => Robots::read(text).rules(token),
                RobotsAnswer::Unavailable { .. } | RobotsAnswer::Unreachable { .. } => {
                    Rules::default()
                }
            };
        }
        entry.copy = Some(copy);
        entry.hunt = None;
        entry.refusal = None;
    }

    /// No page of the origin may be visited, unless rules that were read earlier still stand: then its pages are
    /// judged one by one.
    pub fn refuse(&mut self, origin: &Origin, refusal: Refusal) {
        let entry = self.origins.entry(origin.clone()).or_default();
        let without_rules = entry.copy.as_ref().is_none_or(robots::is_unreachable);
        entry.refusal = without_rules.then_some(refusal);
    }

    pub fn copy_of(&self, origin: &Origin) -> Option<&RobotsCopy> {
        self.origins.get(origin)?.copy.as_ref()
    }

    /// For asking whether the file has changed.
    pub fn condition_of(&self, origin: &Origin) -> Option<Condition> {
        let copy = self.copy_of(origin)?;
        let condition =
            Condition { etag: copy.etag.clone(), last_modified: copy.last_modified.clone() };
        let holds = matches!(copy.answer, RobotsAnswer::Rules(_));
        (holds && condition != Condition::default()).then_some(condition)
    }

    /// Of spiders that have pages in hand here.
    fn busy_lanes(&self) -> impl Iterator<Item = &Lane> {
        self.frontier.lanes().iter().filter(|lane| lane.pages > 0)
    }
}

/// Where an origin stands with its robots.txt.
enum Standing<'a> {
    UnderWay,
    Ask { url: CrawlUrl, hops: u8 },
    HeldUntil(Timestamp),
    Refused(&'a Refusal),
    Rules(&'a Rules),
}

impl<'a> Standing<'a> {
    fn of(entry: Option<&'a OriginRules>, origin: &Origin, now: Timestamp) -> Standing<'a> {
        let Some(entry) = entry else {
            return Standing::Ask { url: origin.robots_url(), hops: 0 };
        };
        if let Some(refusal) = &entry.refusal {
            return Standing::Refused(refusal);
        }
        match (&entry.hunt, &entry.copy) {
            (Some(hunt), _) if hunt.under_way => Standing::UnderWay,
            (Some(hunt), _) => Standing::Ask { url: hunt.url.clone(), hops: hunt.hops },
            (None, Some(copy)) if copy.expires > now => {
                if robots::is_unreachable(copy) {
                    Standing::HeldUntil(copy.expires)
                } else {
                    Standing::Rules(&entry.rules)
                }
            }
            (None, _) => Standing::Ask { url: origin.robots_url(), hops: 0 },
        }
    }
}

/// `entry`: what is to be visited before the page.
fn verdict(rules: &Rules, page: &Page, entry: Option<&CrawlUrl>) -> Want {
    let (fp, spider) = (page.url.fingerprint(), page.spider);
    let url = entry.unwrap_or(&page.url);
    let verdict = rules.verdict(url.path_and_query());
    let refusal = || {
        let rule = format!("robots.txt: {}", verdict.rule.unwrap_or_default());
        Refusal { reason: RefusalReason::Robots, rule }
    };
    match (verdict.allowed, entry.is_some()) {
        (true, true) => Want::Entry { fp, spider, url: url.clone() },
        (true, false) => Want::Page { fp, spider, url: url.clone() },
        (false, true) => Want::Bar { spider, refusal: refusal() },
        (false, false) => Want::Exclude { fp, refusal: refusal() },
    }
}
