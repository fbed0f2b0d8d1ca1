//! One crawl from its first to its last word: open the collection, recover, crawl, say how it went.
//!
//! `crawl`, `run` and `demo` are this with different plans.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use harvester::{clock::RealClock, workbench::Workbench};
use model::{Clock, CrawlUrl, Frontier, Timestamp, limits};
use seeder::SpiderRules;
use store::{
    collection::Collection,
    directory::Sitting,
    runs::{RunId, RunState},
    spiders::SpiderRow,
};
use tokio::sync::watch;

use collection::{
    replicas,
    spiders::{self, PausedSpider},
    webhook::{self, Courier, Watch as Deliveries, Watched},
};
use config::{
    Config, FlagValues, Replicas,
    amounts::some,
    failure::{Exit, Failure},
    setup::Setup,
};

use crate::{
    house::House,
    network::Network,
    observe::{Finished, Observer},
    pipeline::{
        self, Mailbox, Outcome, Parts,
        door::Doorkeeper,
        harvest::{BEAT, Ended, Plan},
        preview::Preview,
        tally::Progress,
    },
    signals,
    sittings::Sittings,
    steering::Steering,
    timekeeping,
};

/// What a signal before the first visit cuts off.
const PREPARED: &str = "the crawl was prepared";
/// Open files asked for: sites in hand with a connection each, volumes, the database.
const DESCRIPTORS: u64 = 65_536;
/// Of the remarks about rules: enough to see what is wrong, too few to hide the rest.
const REMARKS_SHOWN: usize = 5;

/// What is to be crawled, and how long.
pub struct Crawl {
    /// The collection.
    pub folder: PathBuf,
    pub observer: Arc<dyn Observer>,
    pub config: Config,
    /// Where relative paths of the configuration start.
    pub paths: PathBuf,
    /// What was typed, for reading the configuration anew.
    pub flags: FlagValues,
    pub seeds: Vec<CrawlUrl>,
    /// Visit all known pages now.
    pub fresh: bool,
    pub forever: bool,
    /// Nothing is to be taken, only to be told.
    pub preview: Option<Arc<Preview>>,
}

/// Deliveries beside the crawl; hanging up asks for the last ones.
struct Telling {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Watched>,
}

impl Crawl {
    pub fn say(&self, line: &str) {
        self.observer.notice(line);
    }

    pub fn run(mut self) -> Result<Ended, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        let mut sittings = Sittings::new(self.config.crawl.time, clock.now());
        loop {
            if let Some(ended) = self.sit(&mut sittings, &clock)? {
                return Ok(ended);
            }
            self.seeds.clear();
            // Everything was made due once.
            self.fresh = false;
            // As far as a running crawl could, it followed the file; now for the rest. One with a mistake in it
            // was told then.
            if let Ok(config) = Config::load(&self.paths, self.flags.clone()) {
                self.config = config;
            }
        }
    }

    /// From opening the collection to closing it; `None`: only for a pause.
    fn sit(
        &self,
        sittings: &mut Sittings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Ended>, Failure> {
        let thinning = || signals::leave_at_once("old versions were removed", None);
        let leaving = sittings.is_resumed().then(thinning);
        let setup = Setup::new(&self.config, &self.paths)?;
        // A connection is a descriptor: the usual 1,024 would be the tightest limit of all.
        if let Err(error) = rlimit::increase_nofile_limit(DESCRIPTORS) {
            tracing::info!(%error, "the limit on open files stays as it is");
        }
        self.config.webhooks.iter().try_for_each(|webhook| webhook.key().map(drop))?;
        let network = Network::new(&setup, &self.config, clock)?;
        let mut steering = self.steering(&setup, &network)?;
        let mut house = House::open(self, &setup, &mut steering, clock)?;
        if self.forever {
            sittings.opened(&self.config, &house.collection, clock.now())?;
        }
        let marks = house.stage.watch.clone();
        let leaving = leaving.unwrap_or_else(|| signals::leave_at_once(PREPARED, Some(marks)));
        house.recover(self, clock)?;
        let seeded = house.seed(self, &mut steering, sittings.begun(), clock)?;
        let plan = self.plan(sittings, clock.now());
        let counts = house.frontier.counts()?;
        let (spent, rows) = (house.frontier.spent()?, house.frontier.spiders()?);
        let known_before = counts.pages_known + counts.candidates;
        if known_before == 0 && seeded == 0 {
            return Err(self.nothing_to_do());
        }
        let door = Arc::new(Doorkeeper(house.stage.spiders.clone()));
        let courier = self.courier(&setup, &house.collection, clock)?;
        let run = self.start_run(&mut house, clock.now())?;
        let parts = Parts {
            desk: Box::new(house.frontier),
            archive: house.archive,
            links: house.links,
            run: Some(run),
            fetch: network.fetch(),
            resolve: network.resolve(),
            clock: clock.clone(),
            workbench: Workbench::new(setup.workbench, spent).with_gate(door),
            spiders: house.stage.spiders.clone(),
            helm: Box::new(steering),
            rows,
            stage: house.stage,
            gather_threads: setup.gather_threads,
            robots_limits: setup.robots_limits,
            settle_every: limits::SETTLE_EVERY,
            stalled_after: Some(self.config.hazards.stalled_after),
            collection: Some(house.collection.clone()),
        };
        drop(leaving);
        let telling = self.tell_others(courier)?;
        let watching = self.watch_replicas(&house.collection, clock)?;
        let outcome = self.drive(parts, plan);
        drop(watching);
        telling.into_iter().for_each(|telling| self.told_others(telling));
        let outcome = outcome?;
        let finished =
            !matches!(outcome.ended, Ended::Fault(_) | Ended::Stopped) && !is_pause(&outcome.ended);
        // Without a visit nothing is other than when replicas were last looked for.
        let visited = sittings.is_resumed() || outcome.tally.requests > 0;
        let by_clock = matches!(outcome.ended, Ended::Clock { .. });
        let exit = match is_pause(&outcome.ended) {
            true => {
                self.pause(outcome, run, sittings, clock.now())?;
                if by_clock {
                    timekeeping::follow(&house.collection, sittings, &**clock)?;
                }
                Ok(None)
            }
            false => self.finish(outcome, run, sittings, &house.collection, clock.now()).map(Some),
        };
        if finished && visited {
            self.look_for_replicas(&house.collection, clock.now());
        }
        drop(house.lock);
        exit
    }

    /// The run goes on when old versions have been removed.
    fn pause(
        &self,
        outcome: Outcome,
        run: RunId,
        sittings: &mut Sittings,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let Outcome { ended, tally, mut desk, .. } = outcome;
        let (state, reason) = words(&ended, 0, &[]);
        let stats = serde_json::to_value(&tally).unwrap_or_default();
        desk.end_run(run, (state, &reason), &stats, now)?;
        sittings.add(tally);
        if let Ended::Rest { fetches } | Ended::Clock { fetches } = ended {
            sittings.fetches_asked = fetches;
        }
        self.say(match ended {
            Ended::Clock { .. } => {
                "the clock was set or the machine slept: the crawl continues with the new time"
            }
            _ => "daily maintenance: old versions are deleted now, then the crawl continues",
        });
        Ok(())
    }

    /// Under `run`, once a day; dropping what is returned ends it.
    fn watch_replicas(
        &self,
        collection: &Collection,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<mpsc::Sender<()>>, Failure> {
        let hazards = self.config.hazards.clone();
        if !self.forever || hazards.mirrors == Replicas::Off || self.preview.is_some() {
            return Ok(None);
        }
        let (stop, stopped) = mpsc::channel();
        let watch =
            replicas::Watch { collection: collection.clone(), hazards, clock: clock.clone() };
        pipeline::beside("replicas", move || watch.run(&stopped))?;
        Ok(Some(stop))
    }

    /// At the end of a pass, when all of it is settled. A list that could not be made is no failed crawl.
    fn look_for_replicas(&self, collection: &Collection, now: Timestamp) {
        let hazards = &self.config.hazards;
        if hazards.mirrors == Replicas::Off || self.preview.is_some() {
            return;
        }
        match replicas::settle_findings(collection, hazards, now) {
            Ok(0) => {}
            Ok(changed) => self.say(&format!(
                "{} in the list of mirror sites: harvestman mirrors",
                some(changed, "change")
            )),
            Err(error) => tracing::warn!(%error, "mirror sites could not be looked for"),
        }
    }

    /// Before the first visit, so that a new webhook is told of it.
    fn courier(
        &self,
        setup: &Setup,
        collection: &Collection,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Courier>, Failure> {
        if self.preview.is_some() {
            return Ok(None);
        }
        match webhook::courier(&self.config, setup, collection, clock) {
            // Another process is at it; what is wrong with the tables was found before.
            Err(failure) if failure.code == Exit::Usage => {
                self.say(&format!("webhooks are not delivered: {}", failure.sentence));
                Ok(None)
            }
            other => other,
        }
    }

    fn tell_others(&self, courier: Option<Courier>) -> Result<Option<Telling>, Failure> {
        let Some(courier) = courier else { return Ok(None) };
        let (stop, stopped) = mpsc::channel();
        let thread = pipeline::beside("courier", move || Deliveries(courier).run(&stopped))?;
        Ok(Some(Telling { stop, thread }))
    }

    /// Everything is settled: what waits goes out, or is said to wait.
    fn told_others(&self, telling: Telling) {
        drop(telling.stop);
        let Ok(watched) = telling.thread.join() else {
            tracing::error!("the thread that delivers webhooks panicked");
            return;
        };
        for (name, why) in watched.failing {
            self.say(&format!(
                "webhook {name} does not take its deliveries: {why}; they wait: see harvestman webhook"
            ));
        }
    }

    fn start_run(&self, house: &mut House, now: Timestamp) -> Result<RunId, Failure> {
        let run = house.frontier.start_run(std::process::id(), now)?;
        if self.forever {
            house.frontier.run_is_daily(run, now)?;
        }
        if let Some(directory) = &house.stage.directory {
            directory.begin(Sitting { started: now, daily: self.forever });
        }
        Ok(run)
    }

    /// What is wrong with the configuration is found here, before anything on disk is touched.
    fn steering(&self, setup: &Setup, network: &Network) -> Result<Steering, Failure> {
        let (folder, flags) = (self.paths.clone(), self.flags.clone());
        let (config, blocks) = (self.config.clone(), setup.blocks.clone());
        let mut steering = Steering::new(folder, flags, config, blocks, network.clone());
        let course = steering.set(&[SpiderRow::default()])?;
        course.spiders.iter().for_each(|(spider, _)| self.tell_of_rules(&spider.rules));
        Ok(steering)
    }

    /// Rules that never decide are no fault, but nobody means them so.
    fn tell_of_rules(&self, rules: &SpiderRules) {
        let remarks = rules.list.remarks();
        remarks.iter().take(REMARKS_SHOWN).for_each(|remark| self.say(remark));
        if let Some(more) = remarks.len().checked_sub(REMARKS_SHOWN).filter(|more| *more > 0) {
            let (rules, are) =
                (some(more as u64, "more rule"), if more == 1 { "is" } else { "are" });
            self.say(&format!("{rules} of crawl.rules {are} never reached"));
        }
    }

    fn plan(&self, sittings: &mut Sittings, now: Timestamp) -> Plan {
        let pass_began = sittings.pass_began(now);
        Plan {
            forever: self.forever,
            deadline: sittings.deadline(),
            rest_at: sittings.thin_at(),
            // The first sitting goes by the start of its loop, as a pass without a break does.
            pass_until: sittings.is_resumed().then_some(pass_began),
            begun: Some(sittings.begun()),
            fetches_asked: sittings.fetches_asked,
            fetches_max: self.config.etiquette.max_fetches,
            sites_in_hand: self.config.crawl.active_sites,
            fetches_room: (2 * self.config.etiquette.max_fetches).max(1_000),
            seeded_first: false,
            holder: format!("process {}", std::process::id()),
            beat: Some(BEAT),
        }
    }

    /// One runtime thread: fetching is waiting, and what it takes of CPU is small beside gathering.
    fn drive(&self, parts: Parts, plan: Plan) -> Result<Outcome, Failure> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| {
                Failure::fault(
                    format!("cannot start: {e}"),
                    "check the limits on open files and threads",
                )
            })?;
        let (progress, watched) = watch::channel(Progress::default());
        let mailbox = Mailbox::new(&plan);
        runtime.block_on(async {
            signals::listen(mailbox.sender(), parts.stage.watch.clone());
            let shown = tokio::spawn(self.observer.follow(&self.config, watched));
            let outcome = pipeline::crawl(parts, plan, mailbox, progress).await;
            let _ = shown.await;
            outcome.map_err(Failure::from)
        })
    }

    fn nothing_to_do(&self) -> Failure {
        if self.preview.is_some() || !self.seeds.is_empty() {
            return Failure::usage(
                "a rule refuses every given URL",
                "give another URL, or change the rule",
            );
        }
        Failure::usage(
            format!("{} knows no pages yet", self.folder.display()),
            "say where to begin: harvestman crawl https://example.org",
        )
    }

    /// The run is over and said to be so; what it came to is for the observer.
    fn finish(
        &self,
        outcome: Outcome,
        run: RunId,
        sittings: &Sittings,
        collection: &Collection,
        now: Timestamp,
    ) -> Result<Ended, Failure> {
        let Outcome { ended, tally, counts, mut desk } = outcome;
        let paused = spiders::paused(collection).unwrap_or_else(|error| {
            tracing::warn!(%error, "whether spiders are paused could not be read");
            Vec::new()
        });
        let (state, reason) = words(&ended, counts.pages_waiting, &paused);
        let stats = serde_json::to_value(&tally).unwrap_or_default();
        if let Err(error) = desk.end_run(run, (state, &reason), &stats, now) {
            tracing::warn!(%error, "the end of the run could not be recorded");
        }
        drop(desk);
        let (tally, elapsed) = (sittings.all(tally), sittings.elapsed(now));
        if let Ended::Fault(error) = ended {
            return Err(error.into());
        }
        let finished = Finished {
            crawl: self,
            ended: &ended,
            reason,
            tally,
            counts,
            paused,
            elapsed,
            collection,
            now,
        };
        self.observer.finished(&finished)?;
        Ok(ended)
    }
}

/// The run goes on.
fn is_pause(ended: &Ended) -> bool {
    matches!(ended, Ended::Rest { .. } | Ended::Clock { .. })
}

/// `waiting`: pages that are not visited yet, because their site rests or their spider is paused.
fn words(ended: &Ended, waiting: u64, paused: &[PausedSpider]) -> (RunState, String) {
    let is_waiting = |spider: &PausedSpider| spider.waiting > 0;
    match ended {
        Ended::Done { .. } if paused.iter().any(is_waiting) => {
            (RunState::Done, "done but for paused spiders".to_owned())
        }
        Ended::Done { .. } if waiting > 0 => (RunState::Done, "done for now".to_owned()),
        Ended::Done { .. } => (RunState::Done, "all done".to_owned()),
        Ended::PagesLimit => (RunState::Limit, "page limit reached".to_owned()),
        Ended::BytesLimit => (RunState::Limit, "byte limit reached".to_owned()),
        Ended::TimeLimit => (RunState::Limit, "time limit reached".to_owned()),
        Ended::Rest { .. } => (RunState::Done, "interrupted to delete old versions".to_owned()),
        Ended::Clock { .. } => (RunState::Done, "interrupted to follow the clock".to_owned()),
        Ended::Stopped => (RunState::Stopped, "stopped".to_owned()),
        Ended::Fault(error) if error.is_disk_full() => (RunState::DiskFull, error.to_string()),
        Ended::Fault(error) => (RunState::Failed, error.to_string()),
    }
}
