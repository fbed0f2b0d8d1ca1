//! The writer: the one thread that changes the database.
//!
//! It groups the check-ins that wait into one transaction, every second or 2,000 pages, or less often where many sites
//! are in it (`pace.rs`). Volumes and link
//! segments are on disk before the commit that names them. A full disk makes it wait and try again; any
//! other failure ends the crawl, because after a failed write only a restart knows what is on disk.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use foldhash::fast::RandomState;
use model::{
    Archive, Busy, Clock, CrawlUrl, Fingerprint, NewPage, Page, Settlement, SiteDelta, SiteId,
    StoreError, Timestamp,
};
use store::{
    control::{Command, Outcome},
    links::LinkWriter,
    runs::RunId,
};
use tokio::sync::mpsc::Sender;

use super::{
    desk::Desk,
    marks::Watch,
    messages::{Apply, Event, Order, Settle},
    pace::Pace,
    spiders::Spiders,
    survey::Surveys,
};

/// How often a full disk is tried again.
const FULL_DISK_RETRY: Duration = Duration::from_secs(2);
/// How often other processes' commands are looked for.
const CONTROL_EVERY: Duration = Duration::from_secs(1);
/// How long check-ins may gather before they are looked at. What is asked for in between waits as long: no more than
/// a disk takes to answer.
const NAP: Duration = Duration::from_millis(5);

pub struct Writer {
    pub desk: Box<dyn Desk>,
    pub archive: Arc<dyn Archive>,
    pub links: LinkWriter,
    /// The run whose row is kept fresh; none in simulations.
    pub run: Option<RunId>,
    pub clock: Arc<dyn Clock>,
    pub events: Sender<Event>,
    pub pace: Pace,
    pub spiders: Arc<Spiders>,
    /// Batches that are being chosen.
    pub surveys: Surveys,
    pub watch: Arc<Watch>,
}

/// The check-ins that wait for the next transaction.
#[derive(Default)]
struct Batch {
    settlement: Settlement,
    /// Where each site's delta is in the settlement: a site's check-ins become one.
    by_site: HashMap<SiteId, usize, RandomState>,
    /// Pages that it updates.
    updated: HashSet<(SiteId, Fingerprint), RandomState>,
    pages: usize,
    pieces: Vec<Arc<()>>,
    busy: Vec<Busy>,
    since: Option<Timestamp>,
    /// Check-ins came since the writer last rested.
    grew: bool,
}

impl Writer {
    /// Serves orders until the harvest loop hangs up; then commits what is left and hands the desk back.
    pub fn run(self, orders: &Receiver<Box<Order>>) -> Box<dyn Desk> {
        let watch = self.watch.clone();
        let desk = self.serve(orders);
        watch.writer.end();
        desk
    }

    fn serve(mut self, orders: &Receiver<Box<Order>>) -> Box<dyn Desk> {
        let mut batch = Batch::default();
        let mut looked = Timestamp::ZERO;
        loop {
            self.watch.writer.turn("waiting for orders");
            let order = match self.next(orders, &mut batch) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let idle = order.is_none();
            let outcome = order.map_or(Ok(()), |order| self.obey(*order, &mut batch));
            let outcome = outcome.and_then(|()| self.commit_if_ripe(&mut batch));
            let outcome = outcome.and_then(|()| match self.surveys.have_a_turn(idle) {
                true => self.go_on_with_survey(&mut batch),
                false => Ok(()),
            });
            let outcome = outcome.and_then(|()| self.look_around(&mut looked));
            if let Err(error) = outcome {
                // Where the files are gone, that is what other errors come from.
                let error = self.in_place().err().unwrap_or(error);
                self.say(Event::Fault(error));
                return self.desk;
            }
        }
        if let Err(error) = self.commit(&mut batch) {
            self.say(Event::Fault(error));
        }
        self.save_state(None);
        self.desk
    }

    /// The next order. Nobody waits for a check-in, and where one comes, others follow: they are taken a few at a time,
    /// so that not each of them wakes this thread.
    fn next(
        &self,
        orders: &Receiver<Box<Order>>,
        batch: &mut Batch,
    ) -> Result<Box<Order>, RecvTimeoutError> {
        if let Ok(order) = orders.try_recv() {
            return Ok(order);
        }
        let patience = self.patience(batch);
        if mem::take(&mut batch.grew) && patience > NAP {
            thread::sleep(NAP);
        }
        orders.recv_timeout(self.patience(batch))
    }

    fn patience(&self, batch: &Batch) -> Duration {
        match batch.since {
            _ if !self.surveys.is_empty() => Duration::ZERO,
            Some(since) => {
                let waited = self.clock.now().since(since);
                self.pace.patience().saturating_sub(waited).min(CONTROL_EVERY)
            }
            None => CONTROL_EVERY,
        }
    }

    fn obey(&mut self, order: Order, batch: &mut Batch) -> Result<(), StoreError> {
        self.watch.writer.turn(order.word());
        match order {
            Order::Settle(settle) => self.add(*settle, batch),
            Order::Flush => self.commit(batch),
            Order::Heartbeat(stats, planner, _token) => self.until_there_is_room(|writer| {
                let now = writer.clock.now();
                if let Some(state) = &planner {
                    writer.desk.save_planner(state, now)?;
                }
                writer.run.map_or(Ok(()), |run| writer.desk.heartbeat(run, &stats, now))
            }),
            Order::Sample(pages_max, busy) => {
                let draw = self.clock.now().0.unsigned_abs();
                let sample = self.desk.sample(pages_max, draw)?;
                self.say(Event::Sampled(sample, busy));
                Ok(())
            }
            Order::Batch(spider, profit, busy) => {
                // What waits may have been visited since.
                self.commit(batch)?;
                self.surveys.begin(spider, profit, self.clock.now(), busy);
                Ok(())
            }
            Order::RequestDone(id, result) => self.until_there_is_room(|writer| {
                writer.desk.request_done(id, &result, writer.clock.now())
            }),
            Order::Apply(apply) => {
                // What the command is about may be in a check-in that waits: a page that was excluded a moment ago,
                // a visit that would put a due off again.
                self.commit(batch)?;
                self.apply(*apply)
            }
            Order::Probed(domain, wildcard) => {
                let found = self.until_there_is_room(|writer| {
                    writer.desk.probed(&domain, wildcard, writer.clock.now())
                })?;
                self.say(Event::Wildcard { domain, found });
                Ok(())
            }
            Order::ClearTraps(site, cleared, due) => {
                // What the trap excluded a moment ago must be there to be judged again.
                self.commit(batch)?;
                self.until_there_is_room(|writer| {
                    writer.desk.clear_traps(&site, &cleared, due, writer.clock.now())
                })
            }
            Order::Limits(fingerprint) => {
                self.commit(batch)?;
                let spiders = self.spiders.clone();
                let returns = |page: &Page| spiders.of(page.spider).has_return(page);
                self.until_there_is_room(|writer| {
                    writer.desk.limits_are(&fingerprint, &returns, writer.clock.now())
                })
            }
            Order::CheckOut(request, busy) => {
                // What waits may change what is due.
                self.commit(batch)?;
                let leases = self.until_there_is_room(|writer| writer.desk.check_out(&request))?;
                let (full, next) = (leases.len() >= request.sites_max, self.desk.next_dues()?);
                self.say(Event::CheckedOut { leases, full, next, busy });
                Ok(())
            }
            Order::Refill(site, request, busy) => {
                self.commit(batch)?;
                let pages = self.desk.refill(&request)?;
                let more = pages.len() >= request.pages_max;
                self.say(Event::Refilled { site, pages, more, busy });
                Ok(())
            }
        }
    }

    fn add(&mut self, settle: Settle, batch: &mut Batch) -> Result<(), StoreError> {
        batch.since.get_or_insert(self.clock.now());
        batch.grew = true;
        if let Some(found) = settle.links {
            self.until_there_is_room(|writer| {
                writer.links.append(found.source, found.site, found.at, &found.links).map(drop)
            })?;
        }
        if let Some(location) = settle.record {
            self.archive.settled(location);
        }
        for delta in settle.deltas {
            batch.merge(delta);
        }
        batch.settlement.candidates.extend(settle.candidates);
        batch.settlement.decisions.extend(settle.decisions);
        batch.settlement.sightings.extend(settle.sightings);
        batch.pages += settle.pages;
        batch.pieces.extend(settle.piece);
        batch.busy.push(settle.busy);
        Ok(())
    }

    fn commit_if_ripe(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        let Some(since) = batch.since else { return Ok(()) };
        // The next piece of a notice waits for the last.
        let ripe = !batch.pieces.is_empty()
            || batch.pages >= self.pace.pages(batch.settlement.deltas.len())
            || self.clock.now().since(since) >= self.pace.patience();
        if ripe { self.commit(batch) } else { Ok(()) }
    }

    fn commit(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        if batch.since.is_none() {
            return Ok(());
        }
        self.watch.writer.turn("committing check-ins");
        super::poison::taste("writer:commit");
        self.in_place()?;
        let begun = self.clock.micros();
        batch.settlement.now = self.clock.now();
        self.until_there_is_room(|writer| {
            writer.archive.sync()?;
            writer.links.sync()?;
            batch.settlement.links = Some(writer.links.position());
            batch.settlement.mark = Some(writer.archive.mark());
            writer.desk.check_in(&batch.settlement)
        })?;
        let store = Duration::from_micros(self.clock.micros().saturating_sub(begun));
        self.pace.committed(store);
        tracing::trace!(pages = batch.pages, took = ?store, "committed");
        let done = std::mem::take(batch);
        let counts = self.desk.counts()?;
        self.look_for_suspects()?;
        // Before it is said: whoever hears it looks whether they are gone.
        drop(done.pieces);
        let (messages, busy) = (done.busy.len(), done.busy);
        self.say(Event::Settled { messages, counts, store, busy });
        Ok(())
    }

    /// New hosts have come with the commit: some domain may have more than its share.
    fn look_for_suspects(&mut self) -> Result<(), StoreError> {
        let suspects = self.desk.suspects(self.clock.now())?;
        if !suspects.is_empty() {
            self.say(Event::Suspects(suspects, self.clock.busy()));
        }
        Ok(())
    }

    /// WIRE's batch: one more piece of the survey. At its end the best pages are called.
    fn go_on_with_survey(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        let Some(survey) = self.surveys.go_on(&mut *self.desk, &self.spiders)? else {
            return Ok(());
        };
        self.commit(batch)?;
        let (pages, since) = (survey.chosen.chosen(), survey.since);
        let now = self.clock.now();
        let due = self.until_there_is_room(|writer| writer.desk.call(&pages, since, now))?;
        self.say(Event::Batched(due, survey.busy));
        Ok(())
    }

    /// Carries a command out, tells the loop what has changed, and answers the request.
    fn apply(&mut self, apply: Apply) -> Result<(), StoreError> {
        let Apply { request, command, refused, busy: _busy } = apply;
        let outcome = self.until_there_is_room(|writer| {
            let now = writer.clock.now();
            writer.desk.apply(&command, now)
        })?;
        self.save_state(Some(self.clock.now()));
        match (&command, &outcome) {
            (Command::Spider { .. }, _) => {
                let rows = self.desk.spiders()?;
                self.say(Event::Spiders(rows));
            }
            (Command::Replicas { .. }, _) => {
                let rows = self.desk.replicas()?;
                self.say(Event::Replicas(rows));
            }
            (_, Outcome::Visit { url }) => {
                if let Ok(url) = CrawlUrl::stored(url) {
                    self.say(Event::Called(url));
                }
            }
            _ => {}
        }
        let Some(id) = request else { return Ok(()) };
        let outcome = outcome.with_refused(refused);
        self.until_there_is_room(|writer| {
            writer.desk.request_done(id, &outcome, writer.clock.now())
        })
    }

    /// Runs `write`; when the disk is full says so, waits, and runs it again.
    fn until_there_is_room<T>(
        &mut self,
        mut write: impl FnMut(&mut Writer) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut paused = false;
        loop {
            match write(self) {
                Err(error) if error.is_disk_full() && !self.events.is_closed() => {
                    self.watch.writer.turn("waiting for room on the disk");
                    paused = true;
                    self.say(Event::Paused(Some(error.to_string())));
                    std::thread::sleep(FULL_DISK_RETRY);
                }
                outcome => {
                    if paused {
                        self.say(Event::Paused(None));
                    }
                    return outcome;
                }
            }
        }
    }

    /// Every second: whether the files are still where they were, and what other processes ask for.
    fn look_around(&mut self, looked: &mut Timestamp) -> Result<(), StoreError> {
        let now = self.clock.now();
        if now.since(*looked) < CONTROL_EVERY {
            return Ok(());
        }
        *looked = now;
        self.in_place()?;
        match self.desk.requests(now) {
            Ok(requests) if requests.is_empty() => {}
            Ok(requests) => self.say(Event::Requests(requests)),
            Err(error) => tracing::warn!(%error, "cannot read commands of other processes"),
        }
        self.save_state(Some(self.clock.now()));
        Ok(())
    }

    /// A commit into a database that was deleted would succeed and be lost with the process. What
    /// was archived is put on disk before the crawl ends over it.
    fn in_place(&mut self) -> Result<(), StoreError> {
        let found = self.desk.in_place().and_then(|()| self.archive.look());
        if found.is_err() {
            let synced = self.archive.sync().and_then(|()| self.links.sync());
            if let Err(error) = synced {
                tracing::warn!(%error, "what was archived last may not be on disk");
            }
        }
        found
    }

    /// The database has it all: without the file only a rebuild would know less.
    fn save_state(&mut self, now: Option<Timestamp>) {
        if let Err(error) = self.desk.save_state(now) {
            tracing::warn!(%error, "cannot write state.jsonl");
        }
    }

    fn say(&self, event: Event) {
        // The loop is gone only when the crawl is over: then nobody needs to know.
        let _ = self.events.blocking_send(event);
    }
}

impl Batch {
    fn merge(&mut self, delta: SiteDelta) {
        // Within a check-in what is admitted comes before what is updated: a page that was visited before
        // it is admitted (a requisite that becomes one) needs another.
        let visited = |page: &NewPage| self.updated.contains(&(delta.site, page.url.fingerprint()));
        let again = !self.updated.is_empty() && delta.admitted.iter().any(visited);
        self.updated.extend(delta.updates.iter().map(|update| (delta.site, update.fp)));
        let deltas = &mut self.settlement.deltas;
        match self.by_site.get(&delta.site) {
            Some(&place) if deltas[place].fence == delta.fence && !again => {
                absorb(&mut deltas[place], delta)
            }
            _ => {
                self.by_site.insert(delta.site, deltas.len());
                deltas.push(delta);
            }
        }
    }
}

fn absorb(into: &mut SiteDelta, delta: SiteDelta) {
    into.updates.extend(delta.updates);
    into.admitted.extend(delta.admitted);
    into.robots.extend(delta.robots);
    into.clock = delta.clock.or(into.clock);
    into.habit = delta.habit.or(into.habit.take());
    into.traps = delta.traps.or(into.traps.take());
    into.signals.extend(delta.signals);
    into.call_children.extend(delta.call_children);
    into.address = delta.address.or(into.address);
    into.seeded |= delta.seeded;
    into.duplicates += delta.duplicates;
    into.worked += delta.worked;
    into.full.extend(delta.full);
    into.release = delta.release;
}

#[cfg(test)]
mod tests {
    use model::{
        CrawlUrl, PageState, PageTerms, PageUpdate, Release, SiteId, SiteKey, SpiderId, Timestamp,
    };

    use super::*;

    #[test]
    fn what_was_learned_of_a_site_last_is_what_is_written() {
        let renew = Release::Renew(Timestamp(1));
        let empty = || SiteDelta::empty(SiteId(1), SiteKey::stored("a.example"), 1, renew);
        let habit = |factor| Some(model::SiteHabit { factor, ..Default::default() });
        let mut into = SiteDelta { habit: habit(2.0), ..empty() };
        absorb(&mut into, SiteDelta { habit: habit(3.0), ..empty() });
        absorb(&mut into, empty());
        assert_eq!(into.habit, habit(3.0));
    }

    #[test]
    fn a_page_that_was_visited_before_it_is_admitted_has_its_check_ins_in_that_order() {
        let url = CrawlUrl::parse("http://a.example/x").unwrap();
        let renew = Release::Renew(Timestamp(1));
        let empty = || SiteDelta::empty(SiteId(1), SiteKey::stored("a.example"), 1, renew);
        let fp = url.fingerprint();
        let update = PageUpdate {
            fp,
            state: PageState::Fetched,
            due: None,
            failures: 0,
            visit: None,
            habit: None,
            children: None,
            facts: None,
        };
        let visited = SiteDelta { updates: vec![update], ..empty() };
        let page = NewPage {
            url,
            spider: SpiderId(1),
            level: 1,
            hops: 0,
            seed: false,
            terms: PageTerms::default(),
            due: Timestamp(0),
        };
        let admitted = SiteDelta { admitted: vec![page], ..empty() };
        let mut batch = Batch::default();
        batch.merge(empty());
        batch.merge(visited.clone());
        assert_eq!(batch.settlement.deltas.len(), 1);
        batch.merge(admitted.clone());
        batch.merge(empty());
        let shape: Vec<_> = batch
            .settlement
            .deltas
            .iter()
            .map(|delta| (delta.updates.len(), delta.admitted.len()))
            .collect();
        assert_eq!(shape, [(1, 0), (0, 1)]);
        let mut batch = Batch::default();
        batch.merge(admitted);
        batch.merge(visited);
        assert_eq!(batch.settlement.deltas.len(), 1, "the usual order needs one");
    }

    #[test]
    fn check_ins_of_one_site_add_up() {
        let (site, key) = (SiteId(1), SiteKey::stored("a.example"));
        let renew = Release::Renew(Timestamp(5));
        let first = SiteDelta {
            worked: Duration::from_secs(2),
            ..SiteDelta::empty(site, key.clone(), 1, renew)
        };
        let last = SiteDelta {
            worked: Duration::from_secs(3),
            full: vec![SpiderId(1)],
            ..SiteDelta::empty(site, key, 1, Release::Rest)
        };
        let mut batch = Batch::default();
        batch.merge(first);
        batch.merge(last);
        let [delta] = &batch.settlement.deltas[..] else { panic!("one site, one check-in") };
        assert_eq!((delta.worked, &delta.full[..]), (Duration::from_secs(5), &[SpiderId(1)][..]));
        assert_eq!(delta.release, Release::Rest);
    }
}
