//! An opened collection at the start of a crawl: locked, recovered, seeded.

use std::{
    fs, mem, path,
    sync::{Arc, Mutex},
};

use harvester::http::Guard;
use model::{
    Archive, Clock, CrawlUrl, Frontier, Mark, Page, Refusal, Settlement, Sighting, StoreError,
    Timestamp,
};
use seeder::Block;
use store::{
    collection::{Collection, CrawlLock},
    control::{Command, Outcome, RefusedSeed},
    directory::Directory,
    frontier::SqlFrontier,
    links::LinkWriter,
    readings::Readings,
    replicas::{ReplicaChange, ReplicaState},
    spiders::DEFAULT_SPIDER,
    state::Flags,
    thin,
    volumes::{self, Registrar},
    warc::{RecordIds, Recovery, WarcArchive},
};

use crate::{
    crawl::Crawl,
    pipeline::{
        adopt::{self, Adopter, Adoptions, Unknown},
        desk::Desk,
        gather::{self, GatherStage},
        guards::Guards,
        harvest::{judge_seeds, seed_line},
        marks::Watch,
        payloads::Payloads,
        quarantine,
        spiders::{Spider, Spiders},
    },
    steering::Steering,
    timekeeping,
    upkeep::{finish_forgetting, thin_at_start},
};
use config::{
    FlagValues, Replicas,
    amounts::some,
    failure::Failure,
    setup::{self, Setup},
};

/// The opened collection.
pub struct House {
    pub collection: Collection,
    pub lock: CrawlLock,
    pub frontier: SqlFrontier,
    pub archive: Arc<dyn Archive>,
    pub links: LinkWriter,
    pub stage: Arc<GatherStage>,
    pub recovery: Option<Recovery>,
    pub body_bytes_max: u64,
}

impl House {
    pub fn open(
        crawl: &Crawl,
        setup: &Setup,
        steering: &mut Steering,
        clock: &Arc<dyn Clock>,
    ) -> Result<House, Failure> {
        let folder = &crawl.folder;
        let collection = match crawl.seeds.is_empty() {
            true => Collection::open(folder)?,
            false => Collection::open_or_create(folder)?,
        };
        let lock = collection.lock()?;
        // First of all: every other change moves what the collection knows of time.
        let plausible = look_at_clock(crawl, &collection, clock.now())?;
        finish_forgetting(&*crawl.observer, &collection, &lock, clock.now())?;
        match crawl.forever {
            true if plausible => {
                thin_at_start(&*crawl.observer, &crawl.config, &collection, &lock, clock.now())?;
            }
            true => leave_versions(crawl, &collection, clock.now())?,
            false => {}
        }
        House::over(crawl, setup, steering, clock, (collection, lock))
    }

    /// What is opened is in order: nothing is left of takedowns, and its moments are those of the clock.
    pub fn over(
        crawl: &Crawl,
        setup: &Setup,
        steering: &mut Steering,
        clock: &Arc<dyn Clock>,
        (collection, lock): (Collection, CrawlLock),
    ) -> Result<House, Failure> {
        let mut frontier = collection.frontier()?;
        frontier.set_sites_max(crawl.config.crawl.sites);
        let hazards = &crawl.config.hazards;
        frontier.set_domain_hosts_max(Some(hazards.domain_hosts));
        // Where a pattern stands in for DNS, every name resolves by the user's own word.
        let patterns = crawl.config.fetch.resolve.iter().any(|rule| rule.starts_with('*'));
        frontier.set_wildcard_hosts((!patterns).then_some(hazards.wildcard_hosts));
        frontier.recover_leases(clock.now())?;
        frontier.each_block(|entry| {
            setup.blocks.add(Block::parse(&entry.pattern));
        })?;
        setup::keep_out_forgotten(&setup.blocks, frontier.tombstones()?);
        if let Some(preview) = &crawl.preview {
            setup.blocks.add(preview.blocks.iter().filter_map(|text| Block::parse(text).ok()));
            setup::keep_out_forgotten(&setup.blocks, preview.forgotten.clone());
        }
        let marks = frontier.marks()?;
        let links = LinkWriter::open(&collection.links(), marks.links)?;
        let (archive, recovery) =
            open_archive(crawl, setup, &collection, marks.archive.unwrap_or_default())?;
        let archive: Arc<dyn Archive> = Arc::new(archive);
        let course = steering.set(&frontier.spiders()?)?;
        // Before everything is made due: it may have to be read whole.
        let returns = |page: &Page| {
            let own = course.spiders.iter().find(|(spider, _)| spider.id == page.spider);
            own.is_some_and(|(spider, _)| spider.has_return(page))
        };
        frontier.limits_are(&course.fingerprint, &returns, clock.now())?;
        let spiders = course.spiders.into_iter().map(|(spider, _)| spider);
        let mut spiders = Spiders::new(setup.blocks.clone(), spiders);
        let guard = Guard::new(setup.http.allow.clone(), Arc::new(setup.blocks.clone()));
        spiders.guards = Guards::new(guard);
        match crawl.config.hazards.mirrors {
            Replicas::Fold => spiders.fold(&frontier.replicas()?),
            Replicas::Off | Replicas::Report => unfold_all(&mut frontier, clock.now())?,
        }
        for known in frontier.wildcards_in_force(clock.now())? {
            spiders.wildcards.add(&known.domain, known.let_in);
        }
        for seed in frontier.seeds()? {
            spiders.of(seed.spider).join(&seed.url);
        }
        if let Some(preview) = &crawl.preview {
            let first = spiders.of(DEFAULT_SPIDER);
            preview.seeds.iter().for_each(|seed| first.join(seed));
        }
        let limits = spiders
            .all()
            .into_iter()
            .map(|spider| spider.fetch_limits.body_bytes_max.max(spider.requisite_bytes_max));
        let body_bytes_max = limits.max().unwrap_or_default();
        // Before anything is adopted, which would break down over the same page again.
        spiders.quarantine.load(&frontier.breakdowns()?);
        let readings = breakdowns(crawl, &collection, &mut frontier, &spiders, clock.now())?;
        let stage = GatherStage {
            archive: archive.clone(),
            spiders: Arc::new(spiders),
            payloads: Mutex::new(Payloads::new(Payloads::ENTRIES_MAX)),
            stored_bytes_max: crawl.config.store.content_bytes_max,
            directory: directory(crawl, &collection, &frontier)?,
            ids: RecordIds::from_system(),
            clock: clock.clone(),
            preview: crawl.preview.clone(),
            watch: Arc::new(Watch::new(readings)),
            nap: gather::NAP,
        };
        Ok(House {
            collection,
            lock,
            frontier,
            archive,
            links,
            stage: Arc::new(stage),
            recovery: Some(recovery),
            body_bytes_max,
        })
    }

    /// Adopts what an earlier process archived but did not settle.
    pub fn recover(&mut self, crawl: &Crawl, clock: &Arc<dyn Clock>) -> Result<(), Failure> {
        let Some(recovery) = self.recovery.take() else { return Ok(()) };
        for warning in &recovery.warnings {
            crawl.say(&format!("recovery: {warning}"));
        }
        let saved = self.frontier.planner_state()?;
        let prices = adopt::prices(saved.as_deref(), &self.stage.spiders, clock.now());
        let mut adopter = Adopter {
            prices: &prices,
            frontier: &mut self.frontier,
            archive: &self.archive,
            links: &mut self.links,
            stage: &self.stage,
            clock: &**clock,
            holder: "recovery",
            body_bytes_max: self.body_bytes_max,
            together: 0,
            unknown: Unknown::Leave,
        };
        let mut told = false;
        let done = adopter.adopt_all(recovery, |done| {
            if !mem::replace(&mut told, true) {
                let pages = some(done.pages, "page");
                crawl.say(&format!(
                    "the last crawl did not end cleanly: {pages} taken from the archive, and more to come"
                ));
            }
        })?;
        if done != Adoptions::default() {
            let Adoptions { pages, robots, strays, damage, .. } = done;
            for what in damage {
                crawl.say(&format!("recovery: {what}"));
            }
            crawl.say(&format!(
                "recovered from an unclean end: {} and {robots} robots.txt taken from the archive",
                some(pages, "page")
            ));
            if strays > 0 {
                tracing::warn!(strays, "archived records belong to no known page");
            }
        }
        if crawl.fresh {
            self.frontier.make_all_due(clock.now())?;
        }
        Ok(())
    }

    /// The seeds of this command, and those that were left for it, enter the frontier. `begun`: when this crawl did;
    /// what was asked before of one that has ended is not for it.
    pub fn seed(
        &mut self,
        crawl: &Crawl,
        steering: &mut Steering,
        begun: Timestamp,
        clock: &Arc<dyn Clock>,
    ) -> Result<usize, Failure> {
        let mut taken = 0;
        // Without this a crawl of a new collection would be over before it looked for them.
        loop {
            let waiting = Desk::requests(&mut self.frontier, clock.now())?;
            let mut more = false;
            for request in waiting {
                let of_the_moment = request.command.is_of_the_moment();
                if of_the_moment && request.created >= begun {
                    continue;
                }
                let result = match of_the_moment {
                    true => Outcome::Ended,
                    false => self.carry_out(crawl, steering, request.command, clock.now())?,
                };
                if let Outcome::Seeds { taken: entered, .. } = result {
                    taken += entered as usize;
                }
                self.frontier.request_done(request.id, &result, clock.now())?;
                more = true;
            }
            if !more {
                break;
            }
        }
        let urls = crawl.seeds.iter().map(|url| url.as_str().to_owned()).collect();
        let command = Command::Seed { urls, seeds: Vec::new(), spider: None };
        if let Outcome::Seeds { taken: entered, .. } =
            self.carry_out(crawl, steering, command, clock.now())?
        {
            taken += entered as usize;
        }
        self.frontier.keep_flags(&rules_of(&crawl.flags), clock.now())?;
        // Also of a collection that comes from a time before there was such a file.
        if let Err(error) = self.frontier.write_state() {
            tracing::warn!(%error, "cannot write state.jsonl");
        }
        Ok(taken)
    }

    /// A command before the first visit: the seeds of this crawl, or what was left by one that ended before it came to it.
    /// Seeds that a rule refuses are named.
    fn carry_out(
        &mut self,
        crawl: &Crawl,
        steering: &mut Steering,
        command: Command,
        now: Timestamp,
    ) -> Result<Outcome, Failure> {
        let (command, refused) = match command {
            Command::Seed { urls, seeds, spider: name } => {
                let Some(spider) = self.spider_named(name.as_deref()) else {
                    let name = name.unwrap_or_default();
                    return Ok(Outcome::refused(format!("there is no spider {name:?}")));
                };
                let (candidates, refused) = judge_seeds(&urls, &seeds, &spider);
                for RefusedSeed { url, rule } in &refused {
                    let url = url.as_deref().unwrap_or("one");
                    let rule = Refusal::with_remedy(rule);
                    crawl.say(&format!("seed refused: {url} ({rule})"));
                }
                let seeds = candidates.iter().map(seed_line).collect();
                (Command::Seed { urls: Vec::new(), seeds, spider: name }, refused)
            }
            command => (command, Vec::new()),
        };
        let outcome = Desk::apply(&mut self.frontier, &command, now)?.with_refused(refused);
        self.follow(steering, &command, &outcome)?;
        Ok(outcome)
    }

    /// What is in memory already is as the command has left the database.
    fn follow(
        &mut self,
        steering: &mut Steering,
        command: &Command,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let spiders = &self.stage.spiders;
        match command {
            Command::Spider { .. } if matches!(outcome, Outcome::Spider { .. }) => {
                let course = steering.set(&self.frontier.spiders()?)?;
                course.spiders.into_iter().for_each(|(spider, _)| spiders.set(spider));
            }
            Command::LiftQuarantine { what } => spiders.quarantine.lift(what),
            Command::Block { patterns, remove, .. } => {
                let read = patterns.iter().filter_map(|text| Block::parse(text).ok());
                match remove {
                    true => spiders.blocks.remove(read),
                    false => spiders.blocks.add(read),
                };
            }
            Command::Replicas { .. } => spiders.fold(&self.frontier.replicas()?),
            _ => {}
        }
        Ok(())
    }

    fn spider_named(&self, name: Option<&str>) -> Option<Arc<Spider>> {
        match name {
            None => Some(self.stage.spiders.of(DEFAULT_SPIDER)),
            Some(name) => self.stage.spiders.named(name),
        }
    }
}

/// What the command line says of what is crawled. How servers are reached, and secrets with it, is not kept.
fn rules_of(flags: &FlagValues) -> Flags {
    let is_rule = |name: &&str| {
        let section = name.split_once('.').map_or("", |(section, _)| section);
        !matches!(section, "fetch" | "etiquette")
    };
    let rules = flags.iter().filter(|(name, values)| is_rule(name) && !values.is_empty());
    rules.map(|(name, values)| ((*name).to_owned(), values.clone())).collect()
}

/// In the folders that volumes may be written to, with the register of the collection.
fn open_archive(
    crawl: &Crawl,
    setup: &Setup,
    collection: &Collection,
    mark: Mark,
) -> Result<(WarcArchive, Recovery), Failure> {
    let own = collection.volumes();
    let mut folders = Vec::new();
    for text in &crawl.config.store.volume_folders {
        let folder = collection.dir().join(text);
        let is_own = folder == own;
        let absolute = || path::absolute(&folder).map_err(|e| StoreError::io("find", &folder, e));
        folders.push(if is_own { folder } else { absolute()? });
    }
    if folders.is_empty() || folders.contains(&own) {
        fs::create_dir_all(&own).map_err(|e| StoreError::io("create", &own, e))?;
    }
    if folders.is_empty() {
        folders.push(own);
    }
    let volumes = collection.archive()?.and_in(folders.clone());
    for folder in volumes.away() {
        crawl.say(&format!(
            "the folder of volumes {} cannot be reached; is its disk mounted?",
            folder.display()
        ));
    }
    let (archive, recovery) = WarcArchive::open_in(&volumes, folders, setup.warc.clone(), mark)?;
    volumes::follow(collection, &volumes)?;
    let observer = crawl.observer.clone();
    let archive = archive.registered(Arc::new(Registrar::open(collection)?));
    Ok((archive.telling(Box::new(move |line| observer.notice(line))), recovery))
}

/// What an earlier process was reading when it ended is counted against it; and the file for what is read now.
fn breakdowns(
    crawl: &Crawl,
    collection: &Collection,
    frontier: &mut SqlFrontier,
    spiders: &Spiders,
    now: Timestamp,
) -> Result<Readings, Failure> {
    let (readings, left) = Readings::open(&collection.readings())?;
    let met = left.iter().filter_map(|url| CrawlUrl::stored(url).ok());
    let sightings: Vec<Sighting> = met
        .flat_map(|url| {
            crawl.say(&format!("the last crawl crashed while it parsed {url}: recorded"));
            spiders.quarantine.broke_down(&url, quarantine::ABORTED)
        })
        .collect();
    // Before it is counted: whoever is killed between the two counts a page once too seldom, which costs one more try;
    // the other way round, kills at start-up would put pages in quarantine that did nothing.
    readings.clear();
    if !sightings.is_empty() {
        frontier.check_in(&Settlement { now, sightings, ..Settlement::default() })?;
    }
    Ok(readings)
}

/// Puts right what a clock that was set wrong has done, and says so; whether the clock may be gone by.
fn look_at_clock(crawl: &Crawl, collection: &Collection, now: Timestamp) -> Result<bool, Failure> {
    let mut frontier = collection.frontier()?;
    let plausible = timekeeping::is_plausible(frontier.newest(), now);
    if let Some(word) = timekeeping::set_right(&mut frontier, now)? {
        crawl.say(&word);
    }
    Ok(plausible)
}

/// What is removed for its age by a clock that is wrong cannot be brought back.
fn leave_versions(crawl: &Crawl, collection: &Collection, now: Timestamp) -> Result<(), Failure> {
    let store = &crawl.config.store;
    if store.keep.is_some() || store.versions_bytes_max.is_some() {
        thin::put_off(collection, now)?;
        crawl.say(
            "because of the clock old versions are not removed now; when it is right, \
             \"harvestman thin\" does it, or a start of run a day later",
        );
    }
    Ok(())
}

/// Nothing is to be folded any more: what rests is due as it was.
fn unfold_all(frontier: &mut SqlFrontier, now: Timestamp) -> Result<(), Failure> {
    let mut rows = frontier.replicas()?;
    rows.retain(|row| row.state == ReplicaState::Folded);
    rows.iter_mut().for_each(|row| row.state = ReplicaState::Reported);
    if !rows.is_empty() {
        frontier.change_replicas(&ReplicaChange::Found { rows, again_ms: 0 }, now)?;
    }
    Ok(())
}

/// Pages as files too, where that is asked for; what is only looked at is kept nowhere.
fn directory(
    crawl: &Crawl,
    collection: &Collection,
    frontier: &SqlFrontier,
) -> Result<Option<Arc<Directory>>, Failure> {
    if !crawl.config.store.directory || crawl.preview.is_some() {
        return Ok(None);
    }
    let directory = Directory::new(collection.directory(), frontier.sittings()?);
    Ok(Some(Arc::new(directory)))
}
