//! The state machine itself: who is next, what a visit changes, who waits for what.
//!
//! Every site in hand is in exactly one place: on the list of moments (`ready`), in an address's line, behind
//! an event (a visit under way, a name being resolved, a page not yet gathered, a slot), or drained.
//! `reschedule` puts it there; every call that tells something ends in it. All of it is O(log n) in the
//! number of sites.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use foldhash::quality::RandomState;
use model::{
    Exchange, FetchFailure, Fingerprint, Gate, OpenGate, Origin, Page, Resolution, SiteKey,
    SiteLease, Spent, Timestamp, Timing,
};

use super::{
    AssignmentId, Drained, Known, Offered, Options, Reason, Released, Removed, SiteRef, Step,
    Terms,
    account::{Account, Books, Payer, Share},
    address::Addresses,
    lines::{Line, Lines},
    pace::{Ended, Pace},
    seat::Seat,
    terms::Same,
};

pub struct Workbench {
    pub(super) options: Options,
    pub(super) gate: Arc<dyn Gate>,
    pub(super) terms: Arc<dyn Terms>,
    pub(super) seats: HashMap<SiteKey, Seat, RandomState>,
    /// Clocks and names: of the sites in hand, and for as long as they matter of those that were, or that
    /// a robots.txt was redirected to.
    pub(super) hosts: HashMap<SiteKey, Host, RandomState>,
    pub(super) addresses: Addresses,
    /// The list of moments: who is to be looked at when; the number keeps the order of arrival.
    pub(super) ready: BTreeSet<(Timestamp, u64, Who)>,
    pub(super) flights: HashMap<AssignmentId, Flight, RandomState>,
    pub(super) drained: BTreeMap<SiteKey, Reason>,
    pub(super) books: Books,
    pub(super) lines: Lines,
    /// Limits were changed: every site is to be looked at again.
    pub(super) changed: bool,
    pub(super) pages_in_hand: usize,
    pub(super) numbers: u64,
    pub(super) stopping: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Site(SiteKey),
    Address(IpAddr),
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) pace: Pace,
    pub(super) gap: Duration,
    pub(super) connections: usize,
    pub(super) in_flight: usize,
    /// It has had more than its share of this machine: others first, until then ([`Workbench::yield_to_others`]).
    pub(super) yields_until: Timestamp,
    /// What was drawn from limits on the site; it outlives the seat while visits are under way.
    pub(super) account: Account,
    pub(super) name: Name,
    /// Sites to look at when a visit ends or the name is resolved.
    pub(super) waiting: Vec<SiteKey>,
}

impl Host {
    /// The next moment at which it may be visited: its polite one, or later where it yields to others.
    pub(super) fn moment(&self) -> Timestamp {
        self.pace.moment(self.gap).max(self.yields_until)
    }
}

#[derive(Debug)]
pub(super) enum Name {
    Unknown,
    Resolving,
    Resolved(Resolution),
    Failed(FetchFailure),
}

/// A visit under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) site: SiteRef,
    pub(super) host: SiteKey,
    pub(super) started: Timestamp,
    pub(super) payer: Payer,
    /// What it reserved, when it is a page's.
    pub(super) share: Option<Share>,
    pub(super) errand: Errand,
}

#[derive(Debug)]
pub(super) enum Errand {
    Robots {
        origin: Origin,
        hops: u8,
    },
    Page {
        fp: Fingerprint,
        failures: u16,
    },
    /// What must be visited before the spider's pages.
    Login,
}

impl Workbench {
    /// `spent`: what the whole crawl has brought so far.
    pub fn new(options: Options, spent: Spent) -> Workbench {
        Workbench {
            gate: Arc::new(OpenGate),
            terms: Arc::new(Same::new(&options)),
            options,
            seats: HashMap::default(),
            hosts: HashMap::default(),
            addresses: Addresses::default(),
            ready: BTreeSet::new(),
            flights: HashMap::default(),
            drained: BTreeMap::new(),
            books: Books::new(spent),
            lines: Lines::default(),
            changed: false,
            pages_in_hand: 0,
            numbers: 0,
            stopping: false,
        }
    }

    /// Pages that `gate` refuses are excluded instead of visited, from the moment it refuses them.
    #[must_use]
    pub fn with_gate(self, gate: Arc<dyn Gate>) -> Workbench {
        Workbench { gate, ..self }
    }

    /// Spiders and sites on terms of their own. Without them, those of the options hold for all.
    #[must_use]
    pub fn with_terms(self, terms: Arc<dyn Terms>) -> Workbench {
        Workbench { terms, ..self }
    }

    /// Takes a site in hand. Its candidates must have been judged: every page it brings may be visited as
    /// far as the seeder is concerned.
    ///
    /// # Panics
    /// When the site is already in hand: a lease is exclusive.
    pub fn add(&mut self, lease: SiteLease, now: Timestamp) {
        let (key, clock) = (lease.site.key.clone(), lease.site.clock);
        let counters = lease.site.counters;
        let domain = self.books.lend(&key, lease.domain);
        let seat = Seat::new(lease, domain, self.terms.clone(), &self.options, now);
        let host = self.host(&key);
        host.account.renew(Spent { pages: counters.fetched, bytes: counters.bytes });
        host.pace.restore(&clock, now);
        let earlier = self.seats.insert(key.clone(), seat);
        assert!(earlier.is_none(), "site {key} was added while in hand");
        self.reschedule(&key, now);
        self.prune(now);
    }

    /// More pages from the Global Frontier; `more`: there are still others.
    pub fn refill(&mut self, site: &SiteKey, pages: Vec<Page>, more: bool, now: Timestamp) {
        if let Some(seat) = self.seats.get_mut(site) {
            seat.frontier.refill(pages, more);
            self.reschedule(site, now);
        }
    }

    /// Gives the site back. Visits under way are still to be released; their clock goes on.
    pub fn remove(&mut self, site: &SiteKey, now: Timestamp) -> Option<Removed> {
        self.unschedule(site);
        self.refresh(site);
        let seat = self.seats.remove(site)?;
        self.pages_in_hand -= seat.counted;
        self.books.give_back(&seat.domain);
        let (clock, full) = (self.clock_of(site, now), seat.full());
        Some(Removed { site: seat.site, clock, pages: seat.frontier.into_pages(), full })
    }

    /// The next thing to do. Call until it says `Wait` or `Idle`.
    pub fn acquire(&mut self, now: Timestamp) -> Step {
        if std::mem::take(&mut self.changed) {
            self.look_at_all(now);
        }
        if self.stopping || self.flights.len() >= self.options.fetches_max {
            return Step::Idle;
        }
        loop {
            let Some((at, number, who)) = self.ready.pop_first() else { return Step::Idle };
            if at > now {
                self.ready.insert((at, number, who));
                return Step::Wait(at);
            }
            let step = match who {
                Who::Site(site) => self.step(&site, now),
                Who::Address(address) => self.next_in_line(address, now),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// The answer to [`Step::Resolve`].
    pub fn resolved(
        &mut self,
        site: &SiteKey,
        answer: Result<Resolution, FetchFailure>,
        now: Timestamp,
    ) {
        self.host(site).name = match answer {
            Ok(resolution) => Name::Resolved(resolution),
            Err(failure) => Name::Failed(failure),
        };
        self.wake(site, now);
    }

    /// A visit is over, well or badly.
    ///
    /// # Panics
    /// When the assignment was never made or is released twice: the count of connections would be wrong.
    pub fn release(
        &mut self,
        id: AssignmentId,
        answer: Result<&Exchange, &FetchFailure>,
        now: Timestamp,
    ) -> Released {
        let Some(flight) = self.flights.remove(&id) else { panic!("{id:?} is not under way") };
        let mut notes = Vec::new();
        let after = self.judge(&flight.errand, answer, now);
        let retry_after = self.retry_after(answer, now, &mut notes);
        let timing = timing_of(answer);
        let host = self.hosts.get_mut(&flight.host).expect("a host with visits is never forgotten");
        let arrived = match answer {
            Ok(exchange) => host.pace.arrived(exchange.started, timing.first_byte, host.gap),
            // Nobody knows when a request without an answer arrived, if it did: perhaps just now.
            Err(_) => now,
        };
        let response = timing.first_byte + timing.download;
        let ended = Ended { arrived, response, step: after.site, retry_after };
        host.in_flight -= 1;
        host.pace.ended(ended, host.gap.is_zero(), &self.options, now);
        if let Name::Resolved(resolution) = &host.name {
            let addresses = resolution.addresses.clone();
            self.answered_at(&flight.host, &addresses, arrived.min(now));
        }
        // A robots.txt that lies elsewhere kept another site busy.
        let here = flight.host == flight.site.key;
        let worked = if here { now.since(flight.started) } else { Duration::ZERO };
        if let Some(seat) = self.seats.get_mut(&flight.site.key) {
            // The seat may be of a later lease than the visit.
            seat.in_flight = seat.in_flight.saturating_sub(1);
            seat.turn.worked(worked, now);
        }
        self.books.end(flight.payer.spider);
        let released = self.conclude(&flight, answer, after.page, notes, now);
        self.wake(&flight.host, now);
        self.reschedule(&flight.site.key, now);
        self.pass_on(Line::Spider(flight.payer.spider));
        if flight.share.is_some() {
            self.pass_on(Line::InAll);
            self.pass_on(Line::Domain(flight.payer.domain));
        }
        Released { worked, ..released }
    }

    /// The links of a page have been offered. Only for pages that were answered.
    pub fn gathered(&mut self, site: &SiteKey, fp: Fingerprint, now: Timestamp) {
        if let Some(seat) = self.seats.get_mut(site) {
            seat.frontier.gathered(fp);
            self.stir(site, now);
        }
    }

    /// No visit of the site begins before `until`: its pages keep this machine busy while others wait. Says nothing of
    /// the site's own wishes, so it is not part of its clock.
    pub fn yield_to_others(&mut self, site: &SiteKey, until: Timestamp, now: Timestamp) {
        let host = self.host(site);
        host.yields_until = host.yields_until.max(until);
        self.reschedule(site, now);
    }

    /// A page handed out before goes back into the queue, for `page.due`.
    pub fn retry(&mut self, site: &SiteKey, page: Page, now: Timestamp) {
        if let Some(seat) = self.seats.get_mut(site) {
            seat.frontier.retry(page);
            self.reschedule(site, now);
        }
    }

    /// `Unsure` also for a site not in hand.
    pub fn known(&self, site: &SiteKey, fp: Fingerprint) -> Known {
        self.seats.get(site).map_or(Known::Unsure, |seat| seat.frontier.known(fp))
    }

    /// A page found while the site is in hand. Where [`Known::Unsure`], ask the Global Frontier first.
    pub fn offer(&mut self, site: &SiteKey, page: Page, now: Timestamp) -> Offered {
        let room = self.pages_in_hand < self.options.pages_in_hand_max;
        let queue_max = self.options.site_queue_max;
        let Some(seat) = self.seats.get_mut(site) else { return Offered::Full };
        let room = room && seat.frontier.len() < queue_max;
        let offered = seat.frontier.offer(page, room);
        if offered != Offered::Known {
            self.stir(site, now);
        }
        offered
    }

    /// A page of this level, of which only the Global Frontier knows whether it is new, was given to it:
    /// there may be something to refill.
    pub fn expect_more(&mut self, site: &SiteKey, level: u16, now: Timestamp) {
        if let Some(seat) = self.seats.get_mut(site) {
            seat.frontier.expect_more(level);
            self.stir(site, now);
        }
    }

    /// Sites with nothing to hand out. Each is told once, and again whenever something happened to it that
    /// left it so.
    pub fn drained(&mut self) -> Vec<Drained> {
        let drained = std::mem::take(&mut self.drained).into_iter();
        let told = drained.filter_map(|(key, reason)| {
            let seat = self.seats.get(&key)?;
            Some(Drained { site: seat.site.clone(), reason, full: seat.full() })
        });
        told.collect()
    }

    /// No more assignments: what is under way may end.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Pages waiting in memory.
    pub fn pages_in_hand(&self) -> usize {
        self.pages_in_hand
    }

    /// The pages of a site that a refill must leave out: waiting or open. The caller adds those gathered
    /// but not yet settled.
    pub fn pages_of(&self, site: &SiteKey) -> Vec<Fingerprint> {
        self.seats.get(site).map_or(Vec::new(), |seat| seat.frontier.in_hand().collect())
    }

    pub fn sites_in_hand(&self) -> usize {
        self.seats.len()
    }

    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    pub fn holds(&self, site: &SiteKey) -> bool {
        self.seats.contains_key(site)
    }
}

fn timing_of(answer: Result<&Exchange, &FetchFailure>) -> Timing {
    match answer {
        Ok(exchange) => exchange.timing,
        Err(failure) => failure.timing,
    }
}
