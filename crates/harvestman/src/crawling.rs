//! One crawl from its first to its last word: open the collection, recover, crawl, say how it went.
//!
//! `crawl`, `run` and `demo` are this with different plans.

use std::{
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use harvester::{clock::RealClock, workbench::Workbench};
use model::{Archive, Candidate, Clock, CrawlUrl, Frontier, SpiderId, Timestamp, Verdict, limits};
use seeder::{Block, SeedSet, SpiderRules};
use store::{
    census::{Census, DecisionEntry},
    collection::{Collection, CrawlLock},
    control::Command,
    frontier::SqliteFrontier,
    links::LinkWriter,
    runs::{RunId, RunState},
    warc::{RecordIds, Recovery, WarcArchive},
};
use tokio::sync::watch;

use crate::{
    commands::{Context, finish_forgetting},
    config::Config,
    exit::{Exit, Failure},
    pipeline::{
        self, Mailbox, Outcome, Parts,
        adopt::{Adopter, Adoptions},
        desk::Desk,
        gather::GatherStage,
        harvest::{Ended, Plan, seed_candidate},
        messages::BlockChange,
        payloads::Payloads,
        preview::Preview,
        tally::{Progress, Tally},
    },
    progress::{Display, Mode},
    setup::{self, Setup},
    show_progress::Watcher,
    signals,
    summary::{Refused, Summary},
    terminal::print,
};

/// Open files asked for: sites in hand with a connection each, volumes, the database.
const DESCRIPTORS: u64 = 65_536;
/// Of the remarks about rules: enough to see what is wrong, too few to hide the rest.
const REMARKS_SHOWN: usize = 5;

/// What is to be crawled, and how long.
pub struct Crawl<'a> {
    pub context: &'a Context,
    pub config: Config,
    pub seeds: Vec<CrawlUrl>,
    /// Visit all known pages now.
    pub fresh: bool,
    pub forever: bool,
    /// Nothing is to be taken, only to be told.
    pub preview: Option<Arc<Preview>>,
}

impl Crawl<'_> {
    pub fn run(self) -> Result<Exit, Failure> {
        let setup = Setup::new(&self.config, &self.context.folder)?;
        self.tell_of_rules(&setup.rules);
        // A connection is a descriptor: the usual 1,024 would be the tightest limit of all.
        if let Err(error) = rlimit::increase_nofile_limit(DESCRIPTORS) {
            tracing::info!(%error, "the limit on open files stays as it is");
        }
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        let network = setup.network(&self.config, &clock)?;
        let mut house = House::open(&self, &setup, &clock)?;
        house.recover(&self, &clock)?;
        let seeded = house.seed(&self, &clock)?;
        let plan = self.plan(clock.now());
        let counts = house.frontier.counts()?;
        let fetched = house.frontier.pages_ever_fetched()?;
        let known_before = counts.pages_known + counts.candidates;
        if known_before == 0 && seeded == 0 {
            return Err(self.nothing_to_do());
        }
        let run = house.frontier.start_run(std::process::id(), clock.now())?;
        let parts = Parts {
            desk: Box::new(house.frontier),
            archive: house.archive,
            links: house.links,
            run: Some(run),
            fetch: network.fetch,
            resolve: network.resolve,
            clock: clock.clone(),
            workbench: Workbench::new(setup.workbench, fetched)
                .with_gate(Arc::new(setup.rules.blocks.clone())),
            rules: house.stage.rules.clone(),
            seeds: house.stage.seeds.clone(),
            policy: setup.policy,
            stage: house.stage,
            gather_threads: setup.gather_threads,
            fetch_limits: setup.fetch_limits,
            settle_every: limits::SETTLE_EVERY,
        };
        let begun = clock.now();
        let outcome = self.drive(parts, plan)?;
        let elapsed = clock.now().since(begun);
        let exit = self.farewell(outcome, run, elapsed, &house.collection, clock.now());
        drop(house.lock);
        exit
    }

    /// Rules that never decide are no fault, but nobody means them so.
    fn tell_of_rules(&self, rules: &SpiderRules) {
        let remarks = rules.list.remarks();
        remarks.iter().take(REMARKS_SHOWN).for_each(|remark| self.context.say(remark));
        if let Some(more) = remarks.len().checked_sub(REMARKS_SHOWN).filter(|more| *more > 0) {
            self.context.say(&format!("{more} more rules of crawl.rules are never reached"));
        }
    }

    fn plan(&self, now: Timestamp) -> Plan {
        Plan {
            forever: self.forever,
            deadline: self.config.crawl.time.map(|time| now.plus(time)),
            fetches_max: self.config.etiquette.max_fetches,
            sites_in_hand: self.config.harvester.sites_in_hand,
            site_pages_max: self.config.crawl.site_pages,
            discovered_urls_max: self.config.crawl.discovered_urls,
            holder: format!("process {}", std::process::id()),
            cookies: self.config.fetch.cookies,
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
            signals::listen(mailbox.sender());
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
        elapsed: Duration,
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
        if let Ended::Fault(error) = ended {
            return Err(error.into());
        }
        if self.preview.is_some() {
            return nothing_fetched(&ended, &tally, now).map_or(Ok(Exit::Done), Err);
        }
        let next_due = match &ended {
            Ended::Done { next_due } => *next_due,
            _ => None,
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
        let refused = merged(census.decisions(None, 1_000)?);
        Ok(Summary {
            reason,
            elapsed,
            fetched: tally.fetched,
            versions: tally.versions,
            unchanged: tally.unchanged,
            redirected: tally.redirected,
            failed: tally.failed,
            bytes: tally.bytes,
            errors: tally.errors.clone().into_iter().collect(),
            refused,
            waiting,
            collection: collection.dir().display().to_string(),
            next_due: next_due.map(|at| crate::times::until(at, now)),
            resume: self.resume(),
            without_contact: self.config.etiquette.contact.is_none()
                && self.config.etiquette.user_agent.is_none(),
        })
    }

    /// The command as it was typed: the same one goes on, with the same flags.
    fn resume(&self) -> String {
        let words = std::env::args().skip(1).filter(|word| word != "--fresh");
        let words: Vec<String> = words.map(|word| shell_word(&word)).collect();
        format!("harvestman {}", words.join(" "))
    }
}

/// The opened collection.
struct House {
    collection: Collection,
    lock: CrawlLock,
    frontier: SqliteFrontier,
    archive: Arc<dyn Archive>,
    links: LinkWriter,
    stage: Arc<GatherStage>,
    recovery: Option<Recovery>,
    body_bytes_max: u64,
    spider: SpiderId,
}

impl House {
    fn open(crawl: &Crawl<'_>, setup: &Setup, clock: &Arc<dyn Clock>) -> Result<House, Failure> {
        let folder = &crawl.context.folder;
        let collection = match crawl.seeds.is_empty() {
            true => Collection::open(folder)?,
            false => Collection::open_or_create(folder)?,
        };
        let lock = collection.lock()?;
        finish_forgetting(crawl.context, &collection, &lock, clock.now())?;
        let mut frontier = SqliteFrontier::open(&collection.database())?;
        let spider = frontier.spider("default", clock.now())?;
        frontier.recover_leases(clock.now())?;
        frontier.each_block(|entry| {
            setup.rules.blocks.add(Block::parse(&entry.pattern));
        })?;
        setup::keep_out_forgotten(&setup.rules, frontier.tombstones()?);
        let marks = frontier.marks()?;
        let links = LinkWriter::open(&collection.links(), marks.links)?;
        let (archive, recovery) = WarcArchive::open(
            &collection.volumes(),
            setup.warc.clone(),
            marks.archive.unwrap_or_default(),
        )?;
        let archive: Arc<dyn Archive> = Arc::new(archive);
        let mut seeds = SeedSet::default();
        for seed in frontier.seeds()? {
            seeds.join(&seed);
        }
        if let Some(preview) = &crawl.preview {
            preview.seeds.iter().for_each(|seed| seeds.join(seed));
        }
        let stage = GatherStage {
            archive: archive.clone(),
            options: setup.gather.clone(),
            rules: Arc::new(setup.rules.clone()),
            seeds: Arc::new(RwLock::new(seeds)),
            policy: setup.policy,
            payloads: Mutex::new(Payloads::new(Payloads::ENTRIES_MAX)),
            ids: RecordIds::from_system(),
            clock: clock.clone(),
            preview: crawl.preview.clone(),
        };
        Ok(House {
            collection,
            lock,
            frontier,
            archive,
            links,
            stage: Arc::new(stage),
            recovery: Some(recovery),
            body_bytes_max: setup.fetch_limits.body_bytes_max,
            spider,
        })
    }

    /// Adopts what an earlier process archived but did not settle.
    fn recover(&mut self, crawl: &Crawl<'_>, clock: &Arc<dyn Clock>) -> Result<(), Failure> {
        let Some(recovery) = self.recovery.take() else { return Ok(()) };
        for warning in &recovery.warnings {
            crawl.context.say(&format!("recovery: {warning}"));
        }
        let mut adopter = Adopter {
            frontier: &mut self.frontier,
            archive: &self.archive,
            links: &mut self.links,
            stage: &self.stage,
            clock: &**clock,
            holder: "recovery",
            body_bytes_max: self.body_bytes_max,
        };
        let done = adopter.adopt_all(recovery)?;
        if done != Adoptions::default() {
            let Adoptions { pages, robots, strays, damage } = done;
            for what in damage {
                crawl.context.say(&format!("recovery: {what}"));
            }
            crawl.context.say(&format!(
                "recovered from an unclean end: {pages} pages and {robots} robots.txt taken from the archive"
            ));
            if strays > 0 {
                tracing::warn!(strays, "records in the archive belong to no known page");
            }
        }
        if crawl.fresh {
            self.frontier.make_all_due(clock.now())?;
        }
        Ok(())
    }

    /// The seeds of this command, and those that were left for it, enter the frontier.
    fn seed(&mut self, crawl: &Crawl<'_>, clock: &Arc<dyn Clock>) -> Result<usize, Failure> {
        let mut taken = 0;
        // Without this a crawl of a new collection would be over before it looked for them.
        loop {
            let waiting = Desk::requests(&mut self.frontier, clock.now())?;
            let mut more = false;
            for request in waiting {
                let result = match request.command {
                    Command::Seed { urls, .. } => {
                        let urls: Vec<CrawlUrl> =
                            urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect();
                        let entered = self.enter(crawl, &urls, clock.now())?;
                        taken += entered;
                        format!("{entered} taken")
                    }
                    Command::Block { patterns, reason, remove } => {
                        self.block(&BlockChange { patterns, reason, remove }, clock.now())?
                    }
                    _ => continue,
                };
                self.frontier.request_done(request.id, &result, clock.now())?;
                more = true;
            }
            if !more {
                break;
            }
        }
        taken += self.enter(crawl, &crawl.seeds, clock.now())?;
        Ok(taken)
    }

    /// A block that was left for a crawl that ended before it took it up.
    fn block(&mut self, change: &BlockChange, now: Timestamp) -> Result<String, Failure> {
        let read = change.patterns.iter().filter_map(|text| Block::parse(text).ok());
        let blocks = &self.stage.rules.blocks;
        if change.remove {
            blocks.remove(read)
        } else {
            blocks.add(read)
        };
        Ok(self.frontier.change_blocks(change, now)?)
    }

    /// Those that a rule refuses are named.
    fn enter(
        &mut self,
        crawl: &Crawl<'_>,
        urls: &[CrawlUrl],
        now: Timestamp,
    ) -> Result<usize, Failure> {
        let mut candidates: Vec<Candidate> = Vec::new();
        {
            let mut seeds = self.stage.seeds.write().unwrap_or_else(PoisonError::into_inner);
            let form = &self.stage.rules.form;
            let urls: Vec<CrawlUrl> = urls.iter().map(|url| form.apply(url)).collect();
            urls.iter().for_each(|url| seeds.join(url));
            for url in urls {
                let candidate = Candidate { spider: self.spider, ..seed_candidate(url) };
                match self.stage.rules.judge(&candidate, &seeds) {
                    Verdict::Accept => candidates.push(candidate),
                    Verdict::Reject(refusal) => {
                        let url = candidate.url;
                        crawl.context.say(&format!("seed refused: {url} ({})", refusal.rule));
                    }
                }
            }
        }
        self.frontier.admit(&candidates, now)?;
        Ok(candidates.len())
    }
}

/// As a shell reads it.
fn shell_word(word: &str) -> String {
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
        Ended::TimeLimit => (RunState::Limit, "time limit reached".to_owned()),
        Ended::Stopped => (RunState::Stopped, "stopped".to_owned()),
        Ended::Fault(error) if error.is_disk_full() => (RunState::DiskFull, error.to_string()),
        Ended::Fault(error) => (RunState::Failed, error.to_string()),
    }
}

/// Nothing came back although something was tried: an exit of its own, with the last trouble in words.
fn nothing_fetched(ended: &Ended, tally: &Tally, now: Timestamp) -> Option<Failure> {
    let tried = tally.failed + tally.excluded > 0 || !tally.errors.is_empty();
    let Ended::Done { next_due } = ended else { return None };
    if tally.fetched > 0 || tally.redirected > 0 || !tried {
        return None;
    }
    let when = next_due.map_or(String::new(), |at| format!(" {}", crate::times::until(at, now)));
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
