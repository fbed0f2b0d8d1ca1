//! The pipeline: the one place where the roles meet, where tasks are born and channels are made.
//!
//! ```text
//!            check-out                assignments             exchanges
//! Frontier ───────────▶ harvest loop ───────────▶ fetchers ───────────▶ harvest loop
//!    ▲                   (workbench)                                        │ jobs
//!    │ one transaction                                                      ▼
//! writer ◀──────────── harvest loop ◀──────────────────────────────── gather threads
//!          check-ins                 reports: archived, gathered, judged
//! ```
//! One runtime thread fetches and runs the loop, a few threads gather, one writes. All channels are
//! bounded; the loop's own accounting keeps them from ever being full (see [`harvest`]).

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, mpsc},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use harvester::workbench::{Assignment, Workbench};
use model::{
    Archive, BoxFuture, Busy, Clock, Counts, FailureKind, Fetch, FetchFailure, FetchLimits,
    FetchRequest, Resolve, SiteKey, StoreError, Timing, limits,
};
use store::{links::LinkWriter, runs::RunId, spiders::SpiderRow};
use tokio::sync::{
    mpsc::{Receiver, Sender, channel},
    watch,
};

pub mod adopt;
pub mod change;
pub mod course;
pub mod desk;
pub mod door;
pub mod gather;
mod hand;
pub mod harvest;
pub mod lesson;
pub mod messages;
pub mod notices;
pub mod payloads;
pub mod preview;
pub mod returning;
pub mod sessions;
pub mod settle;
mod sightings;
pub mod spiders;
pub mod stops;
pub mod tally;
#[cfg(test)]
mod tests;
mod writer;

use course::Helm;
use desk::Desk;
use gather::GatherStage;
use harvest::{Ended, Harvest, Plan, Planning, Saved, State, UNSETTLED_MAX};
use messages::Event;
use spiders::Spiders;
use tally::{Progress, Tally};
use writer::Writer;

/// Everything a crawl is made of.
pub struct Parts {
    pub desk: Box<dyn Desk>,
    pub archive: Arc<dyn Archive>,
    pub links: LinkWriter,
    pub run: Option<RunId>,
    pub fetch: Arc<dyn Fetch>,
    pub resolve: Arc<dyn Resolve>,
    pub clock: Arc<dyn Clock>,
    pub workbench: Workbench,
    pub spiders: Arc<Spiders>,
    pub helm: Box<dyn Helm>,
    /// The spiders as the collection has them at the start.
    pub rows: Vec<SpiderRow>,
    pub stage: Arc<GatherStage>,
    pub gather_threads: usize,
    pub robots_limits: FetchLimits,
    /// Longest wait of a check-in for company; zero under simulated time.
    pub settle_every: Duration,
}

/// How a crawl went.
pub struct Outcome {
    pub ended: Ended,
    pub tally: Tally,
    pub counts: Counts,
    /// The store, for the last words about the run.
    pub desk: Box<dyn Desk>,
}

/// The loop's mailbox: where signals and other watchers of a crawl send to.
pub struct Mailbox {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

impl Mailbox {
    pub fn new(plan: &Plan) -> Mailbox {
        // Everything that can be under way at once, so that nobody who reports ever waits.
        let capacity = 2 * plan.fetches_room + limits::GATHER_QUEUE + UNSETTLED_MAX + 1_024;
        let (sender, receiver) = channel(capacity);
        Mailbox { sender, receiver }
    }

    pub fn sender(&self) -> Sender<Event> {
        self.sender.clone()
    }
}

/// Crawls to the end of the plan, then waits until every stage has put down its work.
pub async fn crawl(
    mut parts: Parts,
    plan: Plan,
    mailbox: Mailbox,
    progress: watch::Sender<Progress>,
) -> Result<Outcome, StoreError> {
    let Mailbox { sender: events, receiver: mut inbox } = mailbox;
    let archive = parts.archive.clone();
    let (orders, order_box) = mpsc::sync_channel(harvest::orders_max(&plan));
    let (jobs, job_box) = mpsc::sync_channel(limits::GATHER_QUEUE + plan.fetches_room);

    let (now, counts) = (parts.clock.now(), parts.desk.counts()?);
    let planning = Planning::new(plan.forever, saved(&mut *parts.desk)?, now);
    let gatherers = start_gatherers(parts.stage.clone(), job_box, parts.gather_threads, &events)?;
    let writer = Writer {
        desk: parts.desk,
        archive: parts.archive,
        links: parts.links,
        run: parts.run,
        clock: parts.clock.clone(),
        events: events.clone(),
        settle_every: parts.settle_every,
        spiders: parts.spiders.clone(),
    };
    let writer = start("writer", &events, move || writer.run(&order_box))?;

    let spawner = Spawner {
        fetch: parts.fetch,
        resolve: parts.resolve,
        clock: parts.clock.clone(),
        events: events.clone(),
    };
    drop(events);
    let harvest = Harvest {
        plan,
        workbench: parts.workbench,
        clock: parts.clock,
        spawner,
        jobs,
        orders,
        spiders: parts.spiders,
        helm: parts.helm,
        robots_limits: Arc::new(parts.robots_limits),
        progress,
        planning,
        state: State::new(parts.rows, counts),
    };
    let (ended, tally, counts) = harvest.run(&mut inbox).await;
    // The loop has hung up on the other stages; closing the inbox frees whoever still wants to report.
    drop(inbox);
    // Beside the runtime, which goes on listening: whoever asks twice may leave a disk that hangs.
    let whole = !matches!(ended, Ended::Fault(_));
    let closing = tokio::task::spawn_blocking(move || close(gatherers, writer, &*archive, whole));
    let Ok(closed) = closing.await else {
        return Err(StoreError::Poisoned { detail: "closing the collection panicked".to_owned() });
    };
    let Closed { desk, sealed } = closed?;
    let ended = match sealed {
        Ok(()) => ended,
        Err(error) => Ended::Fault(error),
    };
    Ok(Outcome { ended, tally, counts, desk })
}

/// What the last crawl left of its plans. What cannot be read was written by another version: prices are then
/// reckoned anew.
fn saved(desk: &mut dyn Desk) -> Result<Option<Saved>, StoreError> {
    let text = desk.planner_state()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// What is left when every stage has put down its work.
struct Closed {
    desk: Box<dyn Desk>,
    sealed: Result<(), StoreError>,
}

/// Waits until every stage has put down its work. That the volume could not be sealed does not keep the
/// desk from writing down how the run ended.
fn close(
    gatherers: Vec<thread::JoinHandle<()>>,
    writer: thread::JoinHandle<Box<dyn Desk>>,
    archive: &dyn Archive,
    whole: bool,
) -> Result<Closed, StoreError> {
    for thread in gatherers {
        if thread.join().is_err() {
            tracing::error!("a gather thread panicked");
        }
    }
    let Ok(desk) = writer.join() else {
        return Err(StoreError::Poisoned { detail: "the writer panicked".to_owned() });
    };
    let sealed = if whole { archive.seal() } else { Ok(()) };
    Ok(Closed { desk, sealed })
}

/// Sends fetchers and resolvers out; their reports come back as events.
pub struct Spawner {
    fetch: Arc<dyn Fetch>,
    resolve: Arc<dyn Resolve>,
    clock: Arc<dyn Clock>,
    events: Sender<Event>,
}

impl Spawner {
    fn fetch(&self, assignment: Assignment, request: FetchRequest) {
        let (fetch, clock, events) = (self.fetch.clone(), self.clock.clone(), self.events.clone());
        let begun = self.clock.busy();
        tokio::spawn(async move {
            let (answer, busy) = finish(fetch.fetch(request), &*clock, begun).await;
            let answer = Box::new(answer.unwrap_or_else(|| Err(panicked(FailureKind::BadHttp))));
            let assignment = Box::new(assignment);
            let _ = events.send(Event::Fetched { assignment, answer, busy }).await;
        });
    }

    fn resolve(&self, site: SiteKey) {
        let (resolve, clock, events) =
            (self.resolve.clone(), self.clock.clone(), self.events.clone());
        let guard = self.clock.busy();
        tokio::spawn(async move {
            let begun = clock.micros();
            let (outcome, busy) = finish(resolve.resolve(site.host()), &*clock, guard).await;
            let outcome = outcome.unwrap_or_else(|| Err(panicked(FailureKind::DnsTrouble)));
            let took = Duration::from_micros(clock.micros().saturating_sub(begun));
            let _ = events.send(Event::Resolved { site, outcome, took, busy }).await;
        });
    }
}

/// Waits for `work`. While it is at rest it is up to the work whether simulated time may pass; while it is at
/// work, and from its end on, time stands still: the guard comes back with what the work has brought. `None`
/// when it panicked: whatever a server sends, its visit ends and is told of, or the loop would wait for ever.
async fn finish<T>(
    mut work: BoxFuture<'_, T>,
    clock: &dyn Clock,
    begun: Busy,
) -> (Option<T>, Busy) {
    let mut begun = Some(begun);
    std::future::poll_fn(|context| {
        // A sleeper that was woken counts as busy until it is polled: no moment is left between.
        let guard = begun.take().unwrap_or_else(|| clock.busy());
        poll(&mut work, context).map(|done| (done, guard))
    })
    .await
}

fn poll<T>(work: &mut BoxFuture<'_, T>, context: &mut Context<'_>) -> Poll<Option<T>> {
    match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    }
}

fn panicked(kind: FailureKind) -> FetchFailure {
    let detail = "the program failed over this answer (a bug: please report the URL)".to_owned();
    FetchFailure { kind, detail, address: None, timing: Timing::default() }
}

fn start_gatherers(
    stage: Arc<GatherStage>,
    jobs: mpsc::Receiver<messages::GatherJob>,
    threads: usize,
    events: &Sender<Event>,
) -> Result<Vec<thread::JoinHandle<()>>, StoreError> {
    let jobs = Arc::new(Mutex::new(jobs));
    let spawn = |_| {
        let (stage, jobs, events) = (stage.clone(), jobs.clone(), events.clone());
        start("gatherer", &events.clone(), move || stage.run(&jobs, &events))
    };
    (0..threads.max(1)).map(spawn).collect()
}

/// Starts a thread that works beside a crawl; its panic is its own.
pub fn beside<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, StoreError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| StoreError::io("start a thread for", name, error))
}

/// Starts a thread whose panic ends the crawl: the loop would wait for its reports for ever.
fn start<T: Send + 'static>(
    name: &'static str,
    events: &Sender<Event>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, StoreError> {
    let events = events.clone();
    let watched = move || {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let detail = format!("the {name} panicked");
            let _ = events.blocking_send(Event::Fault(StoreError::Poisoned { detail }));
            resume_unwind(panic)
        })
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(watched);
    thread.map_err(|error| StoreError::io("start a thread for", name, error))
}
