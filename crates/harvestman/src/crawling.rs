//! One crawl from its first to its last word: open the collection, recover, crawl, say how it went.
//!
//! `crawl`, `run` and `demo` are this with different plans.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use harvester::{clock::RealClock, workbench::Workbench};
use model::{Clock, CrawlUrl, Frontier, Timestamp, limits};
use seeder::SpiderRules;
use store::{
    census::{Census, DecisionEntry},
    collection::Collection,
    directory::Sitting,
    frontier::BatchRow,
    runs::{RunId, RunState},
    spiders::SpiderRow,
};
use tokio::sync::watch;

use crate::{
    access::Network,
    commands::{self, Context},
    config::{Config, FlagValues, Replicas, veiled},
    exit::{Exit, Failure},
    house::House,
    pipeline::{
        self, Mailbox, Outcome, Parts,
        door::Doorkeeper,
        harvest::{BEAT, Ended, Plan},
        preview::Preview,
        tally::{Progress, Tally},
    },
    progress::{Display, Mode, number, some},
    replicas,
    setup::Setup,
    show_progress::Watcher,
    signals,
    sittings::Sittings,
    steering::Steering,
    summary::{BatchOut, Refused, Summary},
    terminal::print,
    webhook::{Courier, Watch as Deliveries, Watched},
};

/// What a signal before the first visit cuts off.
const PREPARED: &str = "the crawl was prepared";
/// Open files asked for: sites in hand with a connection each, volumes, the database.
const DESCRIPTORS: u64 = 65_536;
/// Of the remarks about rules: enough to see what is wrong, too few to hide the rest.
const REMARKS_SHOWN: usize = 5;

/// What is to be crawled, and how long.
pub struct Crawl<'a> {
    pub context: &'a Context,
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

impl Crawl<'_> {
    pub fn run(mut self) -> Result<Exit, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        let mut sittings = Sittings::new(self.config.crawl.time, clock.now());
        loop {
            if let Some(exit) = self.sit(&mut sittings, &clock)? {
                return Ok(exit);
            }
            self.seeds.clear();
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
    ) -> Result<Option<Exit>, Failure> {
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
        let seeded = house.seed(self, &mut steering, clock)?;
        let plan = self.plan(sittings);
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
            database: Some(house.collection.database()),
        };
        drop(leaving);
        let telling = self.tell_others(courier)?;
        let watching = self.watch_replicas(&house.collection, clock)?;
        let outcome = self.drive(parts, plan);
        drop(watching);
        telling.into_iter().for_each(|telling| self.told_others(telling));
        let outcome = outcome?;
        let finished =
            !matches!(outcome.ended, Ended::Fault(_) | Ended::Stopped | Ended::Rest { .. });
        // Without a visit nothing is other than when replicas were last looked for.
        let visited = sittings.is_resumed() || outcome.tally.requests > 0;
        let exit = match matches!(outcome.ended, Ended::Rest { .. }) {
            true => self.pause(outcome, run, sittings, clock.now()).map(|()| None),
            false => {
                self.farewell(outcome, run, sittings, &house.collection, clock.now()).map(Some)
            }
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
        let (state, reason) = words(&ended);
        let stats = serde_json::to_value(&tally).unwrap_or_default();
        desk.end_run(run, (state, &reason), &stats, now)?;
        sittings.add(tally);
        if let Ended::Rest { fetches } = ended {
            sittings.fetches_asked = fetches;
        }
        self.context.say("a pause: old versions are removed now, as once a day; then it goes on");
        Ok(())
    }

    /// Under `run`, once a day; dropping what is returned ends it.
    fn watch_replicas(
        &self,
        collection: &Collection,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<mpsc::Sender<()>>, Failure> {
        let hazards = self.config.hazards.clone();
        if !self.forever || hazards.replicas == Replicas::Off || self.preview.is_some() {
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
        if hazards.replicas == Replicas::Off || self.preview.is_some() {
            return;
        }
        match replicas::settle_findings(collection, hazards, now) {
            Ok(0) => {}
            Ok(changed) => self.context.say(&format!(
                "{} in the list of sites that serve what another serves: harvestman replicas",
                some(changed, "change")
            )),
            Err(error) => tracing::warn!(%error, "replicas could not be looked for"),
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
        match commands::courier(&self.config, setup, collection, clock) {
            // Another process is at it; what is wrong with the tables was found before.
            Err(failure) if failure.code == Exit::Usage => {
                self.context.say(&format!("webhooks are not delivered: {}", failure.sentence));
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
            self.context.say(&format!(
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
        remarks.iter().take(REMARKS_SHOWN).for_each(|remark| self.context.say(remark));
        if let Some(more) = remarks.len().checked_sub(REMARKS_SHOWN).filter(|more| *more > 0) {
            let (rules, are) =
                (some(more as u64, "more rule"), if more == 1 { "is" } else { "are" });
            self.context.say(&format!("{rules} of crawl.rules {are} never reached"));
        }
    }

    fn plan(&self, sittings: &Sittings) -> Plan {
        Plan {
            forever: self.forever,
            deadline: sittings.deadline(),
            rest_at: sittings.thin_at(),
            begun: Some(sittings.begun()),
            fetches_asked: sittings.fetches_asked,
            fetches_max: self.config.etiquette.max_fetches,
            sites_in_hand: self.config.harvester.sites_in_hand,
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
        let display = Display::new(Mode::choose(self.context.quiet, self.context.verbose));
        let watcher = Watcher::new(display, &self.config);
        runtime.block_on(async {
            signals::listen(mailbox.sender(), parts.stage.watch.clone());
            let shown = tokio::spawn(watcher.run(watched));
            let outcome = pipeline::crawl(parts, plan, mailbox, progress).await;
            let _ = shown.await;
            outcome.map_err(Failure::from)
        })
    }

    fn nothing_to_do(&self) -> Failure {
        if self.preview.is_some() {
            return Failure::usage(
                "a rule refuses every given URL",
                "give another URL, or change the rule",
            );
        }
        Failure::usage(
            format!("{} knows no pages yet", self.context.folder.display()),
            "say where to begin: harvestman crawl https://example.org",
        )
    }

    fn farewell(
        &self,
        outcome: Outcome,
        run: RunId,
        sittings: &Sittings,
        collection: &Collection,
        now: Timestamp,
    ) -> Result<Exit, Failure> {
        let Outcome { ended, tally, counts, mut desk } = outcome;
        let (state, reason) = words(&ended);
        let stats = serde_json::to_value(&tally).unwrap_or_default();
        if let Err(error) = desk.end_run(run, (state, &reason), &stats, now) {
            tracing::warn!(%error, "the end of the run could not be written down");
        }
        drop(desk);
        let (tally, elapsed) = (sittings.all(tally), sittings.elapsed(now));
        if let Ended::Fault(error) = ended {
            return Err(error.into());
        }
        if self.preview.is_some() {
            return nothing_fetched(&ended, &tally, now).map_or(Ok(Exit::Done), Err);
        }
        let next_due = match &ended {
            Ended::Done { next_due } => *next_due,
            // It ended before all was done: what is due is left to fetch.
            _ => Census::open(collection)?.next_pages(1, now)?.first().and_then(|page| page.due),
        };
        let summary = self.summary(
            &tally,
            reason,
            elapsed,
            collection,
            (counts.pages_waiting, next_due),
            now,
        )?;
        if self.context.json {
            print(&format!("{}\n", summary.json()))?;
        } else {
            self.context.say(&summary.text());
        }
        for (spider, why) in &tally.paused {
            self.context.say(&format!("spider {spider} is paused: {why}"));
            self.context.say(&format!("mend it, then: {}", resume_spider(spider)));
        }
        self.tell_of_pauses(collection)?;
        if matches!(ended, Ended::PagesLimit) {
            self.context
                .say("crawl.pages counts all pages of the collection; a higher one goes on");
        }
        nothing_fetched(&ended, &tally, now).map_or(Ok(Exit::Done), Err)
    }

    fn summary(
        &self,
        tally: &Tally,
        reason: String,
        elapsed: Duration,
        collection: &Collection,
        (waiting, next_due): (u64, Option<Timestamp>),
        now: Timestamp,
    ) -> Result<Summary, Failure> {
        let census = Census::open(collection)?;
        let mut refused = merged(census.decisions(None, 1_000)?);
        let of_batch = census.is_of_batch()?;
        if of_batch {
            // A batch follows no links: they are judged when it is back.
            refused.retain(|refused| refused.reason != model::RefusalReason::Scope);
        }
        Ok(Summary {
            reason,
            elapsed,
            fetched: tally.fetched,
            versions: tally.versions,
            unchanged: tally.unchanged,
            redirected: tally.redirected,
            failed: tally.failed,
            requisites: tally.requisites,
            requisites_failed: tally.requisites_failed,
            bytes: tally.bytes,
            errors: tally.errors.clone().into_iter().collect(),
            refused,
            waiting,
            collection: collection.dir().display().to_string(),
            next_due: next_due.map(|at| (at, crate::times::until(at, now))),
            out: batches_out(&census, now)?,
            resume: self.resume(),
            forever: self.forever,
            of_batch,
            without_contact: self.config.etiquette.contact.is_none()
                && self.config.etiquette.user_agent.is_none(),
        })
    }

    /// Pages that wait for a spider to be resumed are no reason to think that all is done.
    fn tell_of_pauses(&self, collection: &Collection) -> Result<(), Failure> {
        for row in Census::open(collection)?.spiders()? {
            if row.paused && row.counts.waiting > 0 {
                let (name, waiting) = (&row.name, number(row.counts.waiting));
                self.context.say(&format!(
                    "spider {name} is paused and {waiting} of its pages wait; \
                     to go on with it: harvestman spider resume {name}"
                ));
            }
        }
        Ok(())
    }

    /// The command as it was typed: the same one goes on, with the same flags.
    fn resume(&self) -> String {
        let words = std::env::args().skip(1).filter(|word| word != "--fresh");
        // A proxy's password is for nobody's eyes.
        let words = words.map(|word| match word.contains("://") {
            true => veiled(&word),
            false => word,
        });
        let words: Vec<String> = words.map(|word| shell_word(&word)).collect();
        format!("harvestman {}", words.join(" "))
    }
}

/// Batches that keep sites from being visited here.
fn batches_out(census: &Census, now: Timestamp) -> Result<Vec<BatchOut>, Failure> {
    let rows = census.batches()?.into_iter().filter(|row| row.sites_out > 0 && row.until > now);
    let out = |row: BatchRow| BatchOut {
        id: row.id,
        pages: row.pages,
        sites: row.sites_out,
        until: (row.until, crate::times::until(row.until, now)),
    };
    Ok(rows.map(out).collect())
}

/// As a shell reads it.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn words(ended: &Ended) -> (RunState, String) {
    match ended {
        Ended::Done { .. } => (RunState::Done, "all done".to_owned()),
        Ended::PagesLimit => (RunState::Limit, "page limit reached".to_owned()),
        Ended::BytesLimit => (RunState::Limit, "byte limit reached".to_owned()),
        Ended::TimeLimit => (RunState::Limit, "time limit reached".to_owned()),
        Ended::Rest { .. } => (RunState::Done, "a pause to remove old versions".to_owned()),
        Ended::Stopped => (RunState::Stopped, "stopped".to_owned()),
        Ended::Fault(error) if error.is_disk_full() => (RunState::DiskFull, error.to_string()),
        Ended::Fault(error) => (RunState::Failed, error.to_string()),
    }
}

/// Nothing came back although something was tried: an exit of its own, with the last trouble in words.
fn nothing_fetched(ended: &Ended, tally: &Tally, now: Timestamp) -> Option<Failure> {
    let tried =
        tally.failed + tally.excluded > 0 || !tally.errors.is_empty() || !tally.paused.is_empty();
    let Ended::Done { next_due } = ended else { return None };
    if tally.fetched > 0 || tally.redirected > 0 || !tried {
        return None;
    }
    let when = next_due.map_or(String::new(), |at| format!(" {}", crate::times::until(at, now)));
    if let Some((spider, why)) = tally.paused.first_key_value() {
        return Some(Failure::nothing_fetched(
            format!("nothing could be fetched: spider {spider} is paused: {why}"),
            format!("mend it, then: {}", resume_spider(spider)),
        ));
    }
    Some(match &tally.last_failure {
        Some((url, detail)) => Failure::nothing_fetched(
            format!("nothing could be fetched; the last trouble was {url}: {detail}"),
            format!("check the URL and the network; the same command tries again{when}"),
        ),
        None if tally.excluded > 0 => Failure::nothing_fetched(
            "nothing could be fetched: everything known is refused",
            "see why with: harvestman explain URL",
        ),
        None => Failure::nothing_fetched(
            "nothing could be fetched: no page answered with content",
            "see why with: harvestman explain URL",
        ),
    })
}

fn resume_spider(name: &str) -> String {
    format!("harvestman spider resume {}", shell_word(name))
}

/// Refusals by one rule are one line, whatever the number of sites.
fn merged(entries: Vec<DecisionEntry>) -> Vec<Refused> {
    let mut merged: Vec<Refused> = Vec::new();
    for entry in entries {
        let Some(reason) = model::RefusalReason::from_word(&entry.reason) else { continue };
        match merged.iter_mut().find(|known| known.reason == reason && known.rule == entry.rule) {
            Some(known) => known.count += entry.count,
            None => {
                let DecisionEntry { rule, count, example, .. } = entry;
                merged.push(Refused { reason, rule, count, example });
            }
        }
    }
    merged.sort_by_key(|refused| std::cmp::Reverse(refused.count));
    merged
}
