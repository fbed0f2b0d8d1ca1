//! The harvest loop: the one place that knows what is under way.
//!
//! It asks the workbench who may be visited now, sends fetchers out, hands answers to the gather threads,
//! admits what they found, and checks everything in through the writer. It owns all crawl state, so that
//! limits are exact; it never blocks, because it takes on no more than the bounded channels can hold.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::RandomState,
    sync::{
        Arc, Weak,
        mpsc::{SyncSender, TrySendError},
    },
    time::Duration,
};

use harvester::{
    login::Login,
    workbench::{LimitInAll, Step, Workbench},
};
use model::{
    Archive, Clock, Counts, FetchLimits, Fingerprint, Purpose, Release, SiteAddress, SiteKey,
    SpiderId, StoreError, Timestamp, limits,
};
use store::{control::Request, spiders::SpiderRow};
use tokio::sync::{mpsc::Receiver, watch};

use super::{
    Spawner,
    course::{Bounds, Fingerprints, Helm},
    hand::Hand,
    marks::{Waits, Watch},
    messages::{Event, GatherJob, Order, Settle},
    sessions::{Lane, Sessions},
    spiders::Spiders,
    tally::{Progress, Tally},
};

mod admit;
mod answers;
mod door;
mod down;
mod families;
mod hearing;
mod leases;
mod login;
mod notices;
mod planning;
mod probe;
mod refusals;
mod requests;
mod requisites;
mod share;
mod steer;
#[cfg(test)]
mod tests;
mod traps;

pub use planning::Planning;
pub use requests::{judge_seeds, seed_candidate, seed_line};

/// A pass ends when nothing is due within this time: short waits (a retry, a pause) are sat out.
const PATIENCE: Duration = Duration::from_secs(30);
/// Check-ins that may wait for the writer before no more visits are begun: those of the largest commit, and as many
/// again as most have, so that nobody waits for a commit that is on time.
pub const UNSETTLED_MAX: usize = limits::SETTLE_PAGES_MAX + limits::SETTLE_PAGES;
/// How often leases are looked over, and the display and the run's row are refreshed, where somebody looks.
pub const BEAT: Duration = Duration::from_millis(500);
/// For how long answers are awaited that can be archived and not be settled.
const ANSWERS_AWAITED: Duration = Duration::from_secs(5);
/// What the display says of a crawl that the user holds.
const HELD: &str = "harvestman resume continues it";
const DAY: Duration = Duration::from_secs(86_400);

/// Orders that can wait for the writer at once. Visits are begun while fewer than [`UNSETTLED_MAX`]
/// check-ins wait, and each one under way leaves another; a site leaves one when it comes, one with a
/// refill, one when it goes, and has one refill under way. The rest is beats and other processes' requests.
pub(super) fn orders_max(plan: &Plan) -> usize {
    let visits = UNSETTLED_MAX + limits::GATHER_QUEUE + plan.fetches_room;
    visits + 4 * plan.sites_in_hand + UNSETTLED_MAX
}

/// What a crawl is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `run`: go on until stopped. `crawl`: end when nothing is due.
    pub forever: bool,
    /// Stop at this moment.
    pub deadline: Option<Timestamp>,
    /// Put everything down at this moment, for work that must not be done beside a crawl.
    pub rest_at: Option<Timestamp>,
    /// A single pass visits again what was due at this moment; `None`: now.
    pub pass_until: Option<Timestamp>,
    /// When the run began that this goes on with: times of spiders count from there. `None`: now.
    pub begun: Option<Timestamp>,
    /// Set by the user for the rest of the run, over `fetches_max`.
    pub fetches_asked: Option<u64>,
    pub fetches_max: usize,
    /// The most it can be raised to while the crawl runs: what the channels between the stages hold.
    pub fetches_room: usize,
    pub sites_in_hand: usize,
    pub seeded_first: bool,
    pub holder: String,
    /// [`BEAT`]; under simulated time, where nobody looks, only leases and what is due wake the loop.
    pub beat: Option<Duration>,
}

/// Why a crawl is over.
#[derive(Debug)]
pub enum Ended {
    /// Nothing is due (any more); when the next page is, if ever.
    Done { next_due: Option<Timestamp> },
    /// The user's limit on pages.
    PagesLimit,
    /// The user's limit on bytes.
    BytesLimit,
    /// The user's limit on time.
    TimeLimit,
    /// [`Plan::rest_at`]: the crawl is to go on, with [`Plan::fetches_asked`] as it is now.
    Rest { fetches: Option<u64> },
    /// The wall clock was set, or the machine slept: the crawl is to go on by the new time.
    Clock { fetches: Option<u64> },
    /// Ctrl-C, a signal, or `stop`.
    Stopped,
    /// Our own machine failed.
    Fault(StoreError),
}

pub struct Harvest {
    pub plan: Plan,
    pub workbench: Workbench,
    pub clock: Arc<dyn Clock>,
    /// For looking what it still has.
    pub archive: Arc<dyn Archive>,
    pub spawner: Spawner,
    pub jobs: SyncSender<GatherJob>,
    pub orders: SyncSender<Box<Order>>,
    pub spiders: Arc<Spiders>,
    pub helm: Box<dyn Helm>,
    pub robots_limits: Arc<FetchLimits>,
    pub progress: watch::Sender<Progress>,
    pub planning: Planning,
    pub state: State,
    pub watch: Arc<Watch>,
}

/// What is under way.
#[derive(Default)]
pub struct State {
    pub hand: Hand,
    /// Long sitemaps that are being heard.
    hearings: hearing::Hearings,
    pub tally: Tally,
    pub counts: Counts,
    started: Timestamp,
    in_flight: usize,
    resolving: usize,
    gathering: usize,
    unsettled: usize,
    /// Domains that are being asked for absurd names, and what makes these.
    probing: BTreeSet<String>,
    secret: RandomState,
    /// Batches that are being made.
    batching: usize,
    checking_out: bool,
    /// The last check-out brought as many sites as one may: there are more.
    filling: bool,
    /// When it was last asked for.
    asked: Timestamp,
    /// Ask the frontier again at this moment.
    check_at: Option<Timestamp>,
    next_due: Option<Timestamp>,
    paused: Option<String>,
    held_by_user: bool,
    stopping: Option<Stopping>,
    /// The last request taken up.
    requested: i64,
    /// Requests that wait for a change of a spider to be written down.
    requests: VecDeque<Request>,
    changing: bool,
    /// The spiders as the collection has them.
    rows: Vec<SpiderRow>,
    bounds: BTreeMap<SpiderId, Bounds>,
    timed_out: BTreeSet<SpiderId>,
    /// Logins under way: at most one for each spider of a site in hand.
    logins: HashMap<Lane, Login>,
    sessions: Arc<Sessions>,
    /// Spiders that the crawl itself pauses (name and why), until the collection says so too.
    pausing: BTreeSet<SpiderId>,
    pauses: VecDeque<(String, String)>,
    /// Traps that were lifted since the crawl began, or watched again: a lease that was under way then does not know.
    lifts: Vec<TrapChange>,
    /// Pages to be asked for by name, and those whose sites are being checked out for it.
    called: Vec<(SiteKey, Fingerprint)>,
    calling: Vec<(SiteKey, Fingerprint)>,
    /// What reading pages costs lately.
    prices: share::Prices,
    /// Of the limits in force.
    fingerprint: Option<Fingerprints>,
    released: bool,
    /// All pages are in: only their parts are still to come.
    parts_only: bool,
    beat: Timestamp,
    /// Alive while the writer has not taken the last heartbeat.
    heartbeat: Weak<()>,
    /// An order that could not be given: the crawl ends.
    fault: Option<StoreError>,
}

impl State {
    /// `rows`: the spiders as the collection has them; `counts`: its pages.
    pub fn new(rows: Vec<SpiderRow>, counts: Counts) -> State {
        State { rows, counts, ..State::default() }
    }
}

/// Of one pattern of a site, or of all.
struct TrapChange {
    site: String,
    pattern: Option<String>,
    /// It may be stopped again; else it was lifted.
    watch: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    Limit(LimitInAll),
    Time,
    Asked,
    /// For a while; any other reason goes before it.
    Rest,
    /// The same, to go on by another time.
    Clock,
}

impl Harvest {
    /// Runs to the end. Dropping the channels afterwards tells the other stages that it is over.
    pub async fn run(mut self, events: &mut Receiver<Event>) -> (Ended, Tally, Counts) {
        // Simulated time stands still while the loop is at work: it holds a guard except while it waits.
        let mut awake = self.clock.busy();
        self.state.started = self.clock.now();
        self.state.check_at = Some(self.state.started);
        let asked = self.plan.fetches_asked;
        self.steer(self.state.started);
        if let Some(fetches) = asked {
            self.set_fetches(fetches);
        }
        let ended = loop {
            let wake = self.advance();
            self.watch.harvest.turn(self.waits());
            if let Some(ended) = self.over() {
                break ended;
            }
            let alarm = self.clock.wake_at(wake);
            drop(awake);
            let first;
            (first, awake) = tokio::select! {
                biased;
                event = events.recv() => (event, self.clock.busy()),
                guard = alarm => (None, guard),
            };
            if let Some(ended) = self.take(first, events) {
                break ended;
            }
        };
        drop(awake);
        if let Ended::Fault(StoreError::DatabaseLost { .. }) = &ended {
            self.await_answers(events).await;
        }
        self.watch.harvest.turns.end();
        self.beat(true);
        (ended, self.state.tally, self.state.counts)
    }

    /// The database is lost and the volumes are not: answers that are under way are archived still,
    /// so that nobody has to be asked again for them.
    async fn await_answers(&mut self, events: &mut Receiver<Event>) {
        self.stop(Stopping::Asked);
        let until = self.clock.now().plus(ANSWERS_AWAITED);
        while self.state.in_flight > 0 && self.clock.now() < until {
            self.watch.harvest.turn(Waits::Idle);
            let (event, _awake) = tokio::select! {
                biased;
                event = events.recv() => (event, self.clock.busy()),
                guard = self.clock.wake_at(until) => (None, guard),
            };
            if let Some(event @ Event::Fetched { .. }) = event {
                self.handle(event);
            }
        }
    }

    /// Handles the event that woke us and all that came with it.
    fn take(&mut self, first: Option<Event>, events: &mut Receiver<Event>) -> Option<Ended> {
        let mut next = first;
        while let Some(event) = next {
            if let Event::Fault(error) = event {
                return Some(Ended::Fault(error));
            }
            self.watch.harvest.hear();
            self.handle(event);
            next = events.try_recv().ok();
        }
        None
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Resolved { site, outcome, took, busy: _busy } => {
                self.state.resolving -= 1;
                self.state.tally.time.dns_ms += took.as_millis() as u64;
                tracing::trace!(%site, ?took, ?outcome, "resolved");
                let now = self.clock.now();
                if let (Ok(found), Some(held)) = (&outcome, self.state.hand.get(&site)) {
                    let first = found.addresses.first();
                    held.address =
                        first.map(|address| SiteAddress { address: *address, resolved: now });
                }
                self.workbench.resolved(&site, outcome, now);
            }
            Event::Fetched { assignment, answer, busy } => {
                super::poison::taste_in_loop(assignment.url.as_str());
                self.fetched(*assignment, *answer, busy);
            }
            Event::Gathered(report) => self.reported(report),
            Event::CheckedOut { leases, full, next, busy: _busy } => {
                self.checked_out(leases, full, next);
            }
            Event::Sampled(sample, _busy) => self.sampled(&sample),
            Event::Batched(due, _busy) => {
                tracing::info!(due, "a batch was made");
                self.state.batching -= 1;
                self.state.check_at = Some(self.clock.now());
            }
            Event::Refilled { site, pages, more, busy: _busy } => {
                if let Some(held) = self.state.hand.get(&site) {
                    held.refilling = false;
                }
                let pages = self.judge_candidates(&site, pages);
                self.workbench.refill(&site, pages, more, self.clock.now());
            }
            Event::Settled { messages, counts, store, busy: _busy } => {
                self.state.unsettled -= messages;
                self.state.counts = counts;
                self.count_known();
                self.state.tally.time.store_us += store.as_micros() as u64;
            }
            Event::Requests(requests) => self.take_requests(requests),
            Event::Called(url) => self.called(&url),
            Event::Spiders(rows) => self.spiders_changed(rows),
            Event::Suspects(suspects, _busy) => self.probe(suspects),
            Event::Probed { domain, wildcard, busy: _busy } => self.probed(domain, wildcard),
            Event::Wildcard { domain, found } => self.wildcard(&domain, found),
            Event::Replicas(rows) => {
                self.spiders.fold(&rows);
                self.state.check_at = Some(self.clock.now());
            }
            Event::Paused(why) => self.state.paused = why,
            Event::Stop => self.stop(Stopping::Asked),
            Event::Fault(_) => unreachable!("faults end the loop before they are handled"),
        }
    }

    /// Does all that can be done now; says when to look again if nothing happens before.
    fn advance(&mut self) -> Timestamp {
        let now = self.clock.now();
        if self.plan.deadline.is_some_and(|deadline| now >= deadline) {
            self.stop(Stopping::Time);
        }
        // Not while there is no room for what is at hand, nor while the user holds the crawl.
        if self.plan.rest_at.is_some_and(|at| now >= at) && self.may_begin() {
            self.stop(Stopping::Rest);
        }
        // Leases first: after a long sleep of the machine a check-out would find ours run out, and lend
        // the sites in hand to ourselves a second time.
        if now.since(self.state.beat) >= self.beat_every() {
            self.beat(false);
            self.end_times(now);
            self.look_at_helm(now);
            if self.may_begin() && self.clock.wall_step().is_some() {
                self.stop(Stopping::Clock);
            }
        }
        let mut wake = if self.hear_on() { now } else { now.plus(self.beat_every()) };
        if self.may_begin() {
            wake = wake.min(self.acquire(now));
            self.give_back_drained(now);
            self.make_batches(now);
            self.fetch_called(now);
            self.check_out(now);
        }
        self.finish_if_stopping(now);
        let (deadline, rest_at) = (self.plan.deadline, self.plan.rest_at);
        let (check_at, again_at) = (self.state.check_at, self.planning.again_at);
        let soonest = [check_at, again_at, deadline, rest_at, self.next_batch()];
        soonest.into_iter().flatten().filter(|at| *at > now).fold(wake, Timestamp::min)
    }

    /// What the loop waits for that has no limit in time of its own: fetches and look-ups have.
    fn waits(&self) -> Waits {
        let state = &self.state;
        let due = || {
            let now = self.clock.now();
            self.may_begin() && !self.hand_is_full() && state.check_at.is_some_and(|at| at <= now)
        };
        if state.paused.is_some() || state.in_flight > 0 || state.resolving > 0 {
            Waits::Idle
        } else if state.unsettled > 0 || state.checking_out || state.batching > 0 {
            Waits::Writer
        } else if state.gathering > 0 {
            Waits::Gatherers
        } else if due() {
            Waits::Due
        } else {
            Waits::Idle
        }
    }

    /// So full that no more sites are asked for.
    fn hand_is_full(&self) -> bool {
        let (max, held) = (self.plan.sites_in_hand, self.state.hand.len());
        held > 0 && max.saturating_sub(held) < max.div_ceil(4)
    }

    fn beat_every(&self) -> Duration {
        match self.plan.beat {
            Some(every) => every,
            None if self.state.hand.is_empty() => DAY,
            None => limits::LEASE / 4,
        }
    }

    fn may_begin(&self) -> bool {
        let state = &self.state;
        state.stopping.is_none() && state.paused.is_none() && !state.held_by_user
    }

    fn has_room(&self) -> bool {
        let state = &self.state;
        state.in_flight < self.plan.fetches_max
            && state.gathering < limits::GATHER_QUEUE
            && state.unsettled < UNSETTLED_MAX
    }

    fn acquire(&mut self, now: Timestamp) -> Timestamp {
        while self.has_room() {
            match self.workbench.acquire(now) {
                Step::Resolve(site) => {
                    self.state.resolving += 1;
                    self.spawner.resolve(site);
                }
                Step::Visit(assignment) => self.visit(*assignment, now),
                Step::Exclude(excluded) => self.exclude(*excluded, now),
                Step::Barred { site, spider, refusal } => {
                    self.login_failed(&site.key, spider, &refusal.rule, now);
                }
                Step::Failed(login, failure, released) if login.purpose == Purpose::Login => {
                    let busy = self.clock.busy();
                    self.login_answered(&login, Err(&failure), &released, busy, now);
                }
                Step::Failed(assignment, failure, released) => {
                    let busy = self.clock.busy();
                    self.no_answer(*assignment, &failure, *released, busy, now);
                }
                Step::Wait(until) => return until,
                Step::Idle => break,
            }
        }
        now.plus(self.beat_every())
    }

    fn stop(&mut self, why: Stopping) {
        if matches!(self.state.stopping, None | Some(Stopping::Rest | Stopping::Clock)) {
            self.state.stopping = Some(why);
        }
        self.workbench.stop();
    }

    /// Stopping: once nothing is in flight, every site is given back and the writer told to hurry.
    fn finish_if_stopping(&mut self, now: Timestamp) {
        if self.state.stopping.is_none()
            && let Some(limit) = self.workbench.which_limit()
        {
            match limit {
                LimitInAll::Pages => self.all_pages_are_in(now),
                LimitInAll::Bytes => self.stop(Stopping::Limit(limit)),
            }
        }
        let quiet =
            self.state.in_flight == 0 && self.state.gathering == 0 && !self.state.checking_out;
        if self.state.stopping.is_none() || !quiet || self.state.released {
            return;
        }
        for site in self.state.hand.keys() {
            self.give_back(&site, Release::NotBefore(now), now);
        }
        self.order(Order::Flush);
        self.state.released = true;
    }

    fn over(&mut self) -> Option<Ended> {
        if let Some(fault) = self.state.fault.take() {
            return Some(Ended::Fault(fault));
        }
        let state = &self.state;
        let quiet = state.in_flight == 0
            && state.resolving == 0
            && state.gathering == 0
            && !state.checking_out
            && state.batching == 0
            && state.pauses.is_empty()
            && state.unsettled == 0;
        match state.stopping {
            // A full disk may never have room again: what is archived is adopted at the next start.
            Some(Stopping::Asked) if state.paused.is_some() && state.in_flight == 0 => {
                Some(Ended::Stopped)
            }
            Some(Stopping::Time) if state.paused.is_some() && state.in_flight == 0 => {
                Some(Ended::TimeLimit)
            }
            Some(why) if state.released && quiet => Some(match why {
                Stopping::Limit(LimitInAll::Pages) => Ended::PagesLimit,
                Stopping::Limit(LimitInAll::Bytes) => Ended::BytesLimit,
                Stopping::Time => Ended::TimeLimit,
                Stopping::Asked => Ended::Stopped,
                Stopping::Rest => Ended::Rest { fetches: self.plan.fetches_asked },
                Stopping::Clock => Ended::Clock { fetches: self.plan.fetches_asked },
            }),
            Some(_) => None,
            None if state.parts_only => self.parts_are_in(quiet).then_some(Ended::PagesLimit),
            None if self.plan.forever || !quiet || !state.hand.is_empty() => None,
            None => {
                let horizon = self.clock.now().plus(PATIENCE);
                let idle = state.check_at.is_none_or(|at| at > horizon);
                idle.then_some(Ended::Done { next_due: state.next_due })
            }
        }
    }

    /// Refreshes leases, the display and the run's row.
    fn beat(&mut self, last: bool) {
        let now = self.clock.now();
        self.state.beat = now;
        // A writer that waits for room, or for a slow disk, takes no orders: what comes by the clock would
        // fill its channel. Leases are looked over before every check-out as well. The last one is for good.
        if last || self.state.heartbeat.strong_count() == 0 {
            if !last {
                self.renew_leases(now);
            }
            let token = Arc::new(());
            self.state.heartbeat = Arc::downgrade(&token);
            let figures = serde_json::to_value(&self.state.tally).unwrap_or_default();
            let planner = self.planner_state(last, now);
            self.order(Order::Heartbeat(figures, planner, token));
        }
        let state = &self.state;
        self.progress.send_replace(Progress {
            budget: self.waits_for_budget().map(|at| at.since(now)),
            started: state.started,
            elapsed: now.since(state.started),
            tally: state.tally.clone(),
            counts: state.counts.clone(),
            sites_in_hand: state.hand.len(),
            pages_in_hand: self.workbench.pages_in_hand(),
            in_flight: state.in_flight,
            paused: state.paused.clone().or_else(|| state.held_by_user.then(|| HELD.to_owned())),
            stopping: state.stopping == Some(Stopping::Asked),
        });
    }

    fn settle(&mut self, mut settle: Settle) {
        self.state.unsettled += 1;
        self.state.hand.sent(&mut settle.deltas);
        self.order(Order::Settle(Box::new(settle)));
    }

    fn order(&mut self, order: Order) {
        // In a box: room is kept for thousands of them, and some are large.
        match self.orders.try_send(Box::new(order)) {
            Ok(()) => {}
            // Its fault is already in our event queue.
            Err(TrySendError::Disconnected(_)) => tracing::debug!("the writer has gone"),
            // The channel holds more than the loop ever has under way. Should that be wrong, a check-in
            // would be lost, and nobody may go on as if it were not.
            Err(TrySendError::Full(_)) => {
                let detail = "more check-ins wait for the writer than can".to_owned();
                self.state.fault.get_or_insert(StoreError::Database { detail });
            }
        }
    }
}
