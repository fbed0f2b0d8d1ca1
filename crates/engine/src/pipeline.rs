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
//! One runtime thread fetches and runs the loop, a few threads gather, one writes, one watches over them. All channels are
//! bounded; the loop's own accounting keeps them from ever being full (see [`harvest`]).

use std::{
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, mpsc},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use harvester::workbench::{Assignment, Workbench};
use model::{
    Archive, BoxFuture, Busy, Clock, Counts, CrawlUrl, FailureKind, Fetch, FetchFailure,
    FetchLimits, FetchRequest, Gate, Hazard, Measure, Met, Resolution, Resolve, SiteKey,
    StoreError, limits,
};
use store::collection::Collection;
use store::{frontier::Suspect, links::LinkWriter, runs::RunId, spiders::SpiderRow};
use tokio::sync::{
    mpsc::{Receiver, Sender, channel},
    watch,
};

pub mod adopt;
pub mod answer_notes;
mod canonicals;
pub mod change;
pub mod course;
mod crew;
pub mod desk;
mod digests;
pub mod door;
pub mod gather;
pub mod guards;
mod hand;
pub mod harvest;
pub mod lesson;
pub mod marks;
pub mod messages;
pub mod notices;
mod pace;
pub mod payloads;
mod poison;
pub mod preview;
pub mod quarantine;
pub mod returning;
pub mod sessions;
pub mod settle;
mod sightings;
mod soft_404;
pub mod spiders;
pub mod stops;
mod survey;
pub mod tally;
#[cfg(test)]
mod tests;
mod trail;
pub mod watchdog;
mod writer;

use collection::planner::PlannerSnapshot;
use course::Helm;
use crew::Crew;
use desk::Desk;
use gather::GatherStage;
use harvest::{Ended, Harvest, Plan, Planning, State, UNSETTLED_MAX};
use messages::Event;
use pace::Pace;
use spiders::Spiders;
use survey::Surveys;
use tally::{Progress, Tally};
use watchdog::Watchdog;
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
    /// Whoever makes no progress for so long is given up; nobody under simulated time, which stands still
    /// while there is work.
    pub stalled_after: Option<Duration>,
    /// Where stalls are written down.
    pub collection: Option<Collection>,
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
    let watch = parts.stage.watch.clone();
    let crew = Crew::start(parts.stage, job_box, parts.gather_threads, &events)?;
    let watched = parts.stalled_after.map(|after| Watchdog {
        after,
        crew: crew.clone(),
        clock: parts.clock.clone(),
        events: events.clone(),
        collection: parts.collection,
    });
    let writer = Writer {
        desk: parts.desk,
        archive: parts.archive,
        links: parts.links,
        run: parts.run,
        clock: parts.clock.clone(),
        events: events.clone(),
        pace: Pace::new(parts.settle_every),
        spiders: parts.spiders.clone(),
        surveys: Surveys::default(),
        watch: watch.clone(),
    };
    let writer = start("writer", &events, move || writer.run(&order_box))?;

    let spawner = Spawner {
        fetch: parts.fetch,
        resolve: parts.resolve,
        clock: parts.clock.clone(),
        events: events.clone(),
        spiders: parts.spiders.clone(),
        blocked: watch::Sender::new(()),
        patience: parts.stalled_after,
    };
    drop(events);
    let harvest = Harvest {
        plan,
        workbench: parts.workbench,
        clock: parts.clock,
        archive: archive.clone(),
        spawner,
        jobs,
        orders,
        spiders: parts.spiders,
        helm: parts.helm,
        robots_limits: Arc::new(parts.robots_limits),
        progress,
        planning,
        state: State::new(parts.rows, counts),
        watch,
    };
    let watchdog = watched.map(start_watchdog).transpose()?;
    let (ended, tally, counts) = harvest.run(&mut inbox).await;
    // The loop has hung up on the other stages; closing the inbox frees whoever still wants to report.
    drop(inbox);
    // Beside the runtime, which goes on listening: whoever asks twice may leave a disk that hangs.
    let whole = matches!(&ended, Ended::Fault(StoreError::DatabaseLost { .. }))
        || !matches!(&ended, Ended::Fault(_));
    let closing = tokio::task::spawn_blocking(move || close(&crew, writer, &*archive, whole));
    let Ok(closed) = closing.await else {
        return Err(StoreError::Poisoned { detail: "closing the collection panicked".to_owned() });
    };
    // Only now: closing can hang too.
    drop(watchdog);
    let Closed { desk, sealed } = closed?;
    let ended = match sealed {
        Err(error) if !matches!(&ended, Ended::Fault(_)) => Ended::Fault(error),
        // Where all of the folder is gone there is no name to be given, and the bytes are on disk.
        _ => ended,
    };
    Ok(Outcome { ended, tally, counts, desk })
}

/// What the last crawl left of its plans. What cannot be read was written by another version: prices are then
/// reckoned anew.
fn saved(desk: &mut dyn Desk) -> Result<Option<PlannerSnapshot>, StoreError> {
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
    crew: &Crew,
    writer: thread::JoinHandle<Box<dyn Desk>>,
    archive: &dyn Archive,
    whole: bool,
) -> Result<Closed, StoreError> {
    crew.join();
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
    spiders: Arc<Spiders>,
    /// Told when something more is kept away from.
    blocked: watch::Sender<()>,
    /// For how long a fetch may outlive its own limits; for ever under simulated time.
    patience: Option<Duration>,
}

impl Spawner {
    /// Visits under way to what is kept away from by now are cut.
    fn cut_blocked(&self) {
        self.blocked.send_replace(());
    }

    fn fetch(&self, assignment: Assignment, request: FetchRequest) {
        let (fetch, clock, events) = (self.fetch.clone(), self.clock.clone(), self.events.clone());
        let begun = self.clock.busy();
        let cut = {
            let (url, addresses) = (assignment.url.clone(), assignment.addresses.clone());
            cut_off(self.spiders.clone(), self.blocked.subscribe(), url, addresses)
        };
        let overdue = self.overdue(request.limits.total);
        tokio::spawn(async move {
            let work = Box::pin(async {
                tokio::select! {
                    biased;
                    answer = async {
                        poison::linger(request.url.as_str()).await;
                        fetch.fetch(request).await
                    } => answer,
                    () = cut => Err(given_up(FailureKind::Aborted, "kept away from by now", None)),
                    () = overdue => Err(outlived(FailureKind::Timeout)),
                }
            });
            let (answer, busy) = finish(work, &*clock, begun).await;
            let answer = Box::new(answer.unwrap_or_else(|| Err(panicked(FailureKind::BadHttp))));
            let assignment = Box::new(assignment);
            let _ = events.send(Event::Fetched { assignment, answer, busy }).await;
        });
    }

    fn overdue(&self, limit: Duration) -> BoxFuture<'static, ()> {
        match self.patience {
            Some(patience) => {
                self.clock.sleep_until(self.clock.now().plus(limit.saturating_add(patience)))
            }
            None => Box::pin(std::future::pending()),
        }
    }

    /// Asks for two names that nobody has registered, and for one that is known.
    fn probe(&self, suspect: Suspect, absurd: [String; 2]) {
        let (resolve, clock, events) =
            (self.resolve.clone(), self.clock.clone(), self.events.clone());
        let guard = self.clock.busy();
        let overdue = self.overdue(Duration::ZERO);
        tokio::spawn(async move {
            let known = SiteKey::stored(&suspect.host);
            let ask = async {
                let mut answers = Vec::new();
                for name in [known.host(), &absurd[0], &absurd[1]] {
                    answers.push(resolve.resolve(name).await);
                }
                resolves_everything(&answers)
            };
            let work = Box::pin(async {
                tokio::select! {
                    biased;
                    wildcard = ask => wildcard,
                    // No answer: it is asked again another day.
                    () = overdue => None,
                }
            });
            let (wildcard, busy) = finish(work, &*clock, guard).await;
            let wildcard = wildcard.flatten();
            let domain = suspect.domain;
            let _ = events.send(Event::Probed { domain, wildcard, busy }).await;
        });
    }

    fn resolve(&self, site: SiteKey) {
        let (resolve, clock, events) =
            (self.resolve.clone(), self.clock.clone(), self.events.clone());
        let guard = self.clock.busy();
        let overdue = self.overdue(Duration::ZERO);
        tokio::spawn(async move {
            let begun = clock.micros();
            let work = Box::pin(async {
                tokio::select! {
                    biased;
                    outcome = resolve.resolve(site.host()) => outcome,
                    () = overdue => Err(outlived(FailureKind::DnsTrouble)),
                }
            });
            let (outcome, busy) = finish(work, &*clock, guard).await;
            let outcome = outcome.unwrap_or_else(|| Err(panicked(FailureKind::DnsTrouble)));
            let took = Duration::from_micros(clock.micros().saturating_sub(begun));
            let _ = events.send(Event::Resolved { site, outcome, took, busy }).await;
        });
    }
}

/// Ends when the page of a visit under way is kept away from.
async fn cut_off(
    spiders: Arc<Spiders>,
    mut blocked: watch::Receiver<()>,
    url: CrawlUrl,
    addresses: Vec<IpAddr>,
) {
    while blocked.changed().await.is_ok() {
        let refuses = |address: &IpAddr| spiders.blocks.refuses_address(*address).is_some();
        let everywhere = !addresses.is_empty() && addresses.iter().all(refuses);
        if everywhere || spiders.blocks.refuses_url(&url).is_some() {
            return;
        }
    }
    std::future::pending().await
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

/// The first answer is that of a known host, the others of absurd names: they lead to the same place. `None`: name
/// servers had trouble.
fn resolves_everything(answers: &[Result<Resolution, FetchFailure>]) -> Option<bool> {
    let (Ok(known), absurd) = answers.split_first()? else { return None };
    let mut all = true;
    for answer in absurd {
        match answer {
            Ok(found) => all &= found.addresses.iter().any(|at| known.addresses.contains(at)),
            Err(failure) if failure.kind == FailureKind::DnsUnknown => all = false,
            Err(_) => return None,
        }
    }
    Some(all)
}

fn poll<T>(work: &mut BoxFuture<'_, T>, context: &mut Context<'_>) -> Poll<Option<T>> {
    match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    }
}

fn panicked(kind: FailureKind) -> FetchFailure {
    given_up(kind, "the program failed over this answer (a bug: please report the URL)", None)
}

/// A fetch or look-up that is not over long after its own limits.
fn outlived(kind: FailureKind) -> FetchFailure {
    let met = Met::new(Hazard::Stalled, Measure::Truncated).of("fetching");
    given_up(kind, "it outlived its own limits and was given up", Some(met))
}

fn given_up(kind: FailureKind, detail: &str, met: Option<Met>) -> FetchFailure {
    let detail = detail.to_owned();
    FetchFailure { met, ..FetchFailure::new(kind, detail) }
}

/// Hanging up ends it.
fn start_watchdog(watchdog: Watchdog) -> Result<mpsc::Sender<()>, StoreError> {
    let (hold, stop) = mpsc::channel();
    beside("watchdog", move || watchdog.run(&stop))?;
    Ok(hold)
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
