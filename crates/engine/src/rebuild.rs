//! A collection made again from its volumes: every record is settled as crash recovery settles it, in the order they
//! were written, each as at the moment of its visit.
//!
//! First what `state.jsonl` holds enters a new database; then the records. All of it happens beside the old database and
//! links, which are moved aside when the new ones are whole. A rebuild that was cut off continues where it was.

use std::{
    collections::VecDeque,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use config::{Config, FlagValues, failure::Failure};
use harvester::clock::RealClock;
use manager::Planner;
use model::{Clock, Counts, Frontier, StoreError, Timestamp};
use seeder::Block;
use serde::Serialize;
use store::{
    collection::{Collection, CrawlLock},
    rebuild::Workshop,
    state::{self, Entry, Lifted, Restored},
    warc::{Adopted, VolumeFileName},
};

use crate::{
    batch::Moment,
    house::House,
    observe::Observer,
    offline::{Offline, with_saved},
    pipeline::adopt::{self, Adopter, Adoptions, Unknown},
    signals,
};

/// Records that are committed together: what a kill costs.
const TOGETHER: usize = 500;
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// What a rebuild came to.
#[derive(Debug, Default, Serialize)]
pub struct Rebuilt {
    pub volumes: u64,
    pub bytes: u64,
    /// Records that were read now; an earlier try may have read others.
    pub records: u64,
    pub sites: u64,
    /// Pages in the collection, and visits and versions of them.
    pub pages: u64,
    pub visits: u64,
    pub versions: u64,
    /// Of what `state.jsonl` held; `null` where there was none.
    pub restored: Option<Restored>,
    /// Pages that no link or seed led to: there was a record of them.
    pub without_link: u64,
    /// Records that belong to no page: of what was forgotten, or part of a robots.txt that redirects.
    pub left_out: u64,
    /// What could not be read.
    pub damage: Vec<String>,
    /// What volumes do not hold and is not known any more.
    pub unknown: Vec<Lost>,
    /// Where the old database and links are.
    pub moved_aside: Option<PathBuf>,
    pub seconds: f64,
}

/// What a rebuilt collection does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// There was no `state.jsonl`.
    State,
    /// Visits without an answer.
    FailedVisits,
    /// The budget's prices: when pages are due is computed again.
    Plans,
    /// What was learned of traps and mirrors, but for what was lifted.
    Traps,
    /// Earlier crawls, and commands that waited for one.
    Runs,
    /// How far webhooks had come: they begin with what is found from now on.
    Webhooks,
    /// Which sites were out with a batch.
    Batches,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub records: u64,
    pub bytes_read: u64,
    pub bytes: u64,
}

/// # Errors
/// Nothing to rebuild from, a crawl that runs, or trouble with files.
pub fn rebuild(
    folder: &Path,
    flags: FlagValues,
    observer: Arc<dyn Observer>,
    mut show: impl FnMut(Progress),
) -> Result<Rebuilt, Failure> {
    let clock = RealClock::new();
    let began = clock.micros();
    let config = Config::load(folder, flags.clone())?;
    let folders = config.store.volume_folders.iter().map(|text| folder.join(text));
    let work = Workshop::of(folder).with_volumes_in(folders);
    let (volumes, bytes) = work.volumes()?;
    if volumes.is_empty() {
        return Err(Failure::usage(
            format!("there are no volumes in {}", folder.join("volumes").display()),
            "name a collection that has volumes with -C",
        ));
    }
    let mut done = Rebuilt { volumes: volumes.len() as u64, bytes, ..Rebuilt::default() };
    let mut lock = work.lock()?;
    if !work.is_complete() {
        if work.discard_if_stale()? {
            observer.notice("volumes have changed since an earlier rebuild: it begins again");
        }
        let mut filling =
            Filling { work: &work, folder, flags, volumes: &volumes, show: &mut show };
        lock = filling.fill(observer, lock, &mut done)?;
        work.completed()?;
    }
    done.moved_aside = work.put_in_place()?;
    let mut frontier = Collection::open(folder)?.frontier()?;
    frontier.write_state()?;
    done.count(&frontier.counts()?);
    drop(lock);
    done.seconds = clock.micros().saturating_sub(began) as f64 / 1e6;
    Ok(done)
}

impl Rebuilt {
    fn count(&mut self, counts: &Counts) {
        self.sites = counts.sites_known;
        self.pages = counts.pages_known;
        self.visits = counts.visits;
        self.versions = counts.versions;
    }
}

/// Makes the database and the links.
struct Filling<'a> {
    work: &'a Workshop,
    folder: &'a Path,
    flags: FlagValues,
    volumes: &'a [VolumeFileName],
    show: &'a mut dyn FnMut(Progress),
}

impl Filling<'_> {
    /// Everything is closed when it returns, but for the lock.
    fn fill(
        &mut self,
        observer: Arc<dyn Observer>,
        lock: CrawlLock,
        done: &mut Rebuilt,
    ) -> Result<CrawlLock, Failure> {
        let moment = Arc::new(Moment::at(RealClock::new().now()));
        let collection = self.work.collection()?;
        let (lifted, entries) = restore(&collection, self.folder, &moment, done)?;
        let saved = done.restored.as_ref().map(|restored| restored.flags.clone());
        let flags = with_saved(self.flags.clone(), &saved.unwrap_or_default());
        let mut house = open((collection, lock), (self.folder, flags), observer, &moment)?;
        self.work.note_volumes()?;
        let marks = house.stage.watch.clone();
        let leaving = signals::leave_at_once("the collection was rebuilt", Some(marks));
        Reading::new(self.volumes, done.bytes, entries, self.show)
            .read(&mut house, &moment, done)?;
        state::lift(&mut house.frontier, &lifted, moment.now())?;
        house.links.sync()?;
        drop(leaving);
        Ok(house.lock)
    }
}

/// Seeds and blocks that are not in force yet.
type Entries = VecDeque<(Timestamp, Entry)>;

/// What people had entered is in the new database before the first record: what was forgotten stays out.
fn restore(
    collection: &Collection,
    folder: &Path,
    moment: &Moment,
    done: &mut Rebuilt,
) -> Result<(Vec<Lifted>, Entries), Failure> {
    let file = folder.join("state.jsonl");
    if !file.is_file() {
        // A collection of a time before there was such a file; where its database cannot be read, there is none.
        let _ = state::save_from(folder);
    }
    let mut frontier = collection.frontier()?;
    done.restored = state::restore(&mut frontier, &file, moment.now())?;
    done.unknown = match done.restored {
        Some(_) => Vec::new(),
        None => vec![Lost::State],
    };
    done.unknown.extend([Lost::FailedVisits, Lost::Plans, Lost::Traps, Lost::Runs]);
    done.unknown.extend([Lost::Webhooks, Lost::Batches]);
    let Some(restored) = &mut done.restored else { return Ok(Default::default()) };
    Ok((mem::take(&mut restored.lifted), mem::take(&mut restored.entries).into()))
}

/// As for a crawl that fetches nothing and writes no files of pages.
fn open(
    opened: (Collection, CrawlLock),
    (folder, flags): (&Path, FlagValues),
    observer: Arc<dyn Observer>,
    moment: &Arc<Moment>,
) -> Result<House, Failure> {
    let mut config = Config::load(folder, flags.clone())?;
    config.store.directory = false;
    let Offline { crawl, setup, mut steering } = Offline::new(folder, config, flags, observer)?;
    let clock: Arc<dyn Clock> = moment.clone();
    House::over(&crawl, &setup, &mut steering, &clock, opened)
}

/// The way through the volumes.
struct Reading<'a> {
    /// Bytes before each volume, by number.
    before: Vec<(u32, u64)>,
    entries: Entries,
    progress: Progress,
    show: &'a mut dyn FnMut(Progress),
    clock: RealClock,
    shown: Timestamp,
}

impl<'a> Reading<'a> {
    fn new(
        volumes: &[VolumeFileName],
        bytes: u64,
        entries: Entries,
        show: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let mut sum = 0;
        let before = volumes.iter().map(|volume| {
            let length = std::fs::metadata(&volume.path).map_or(0, |data| data.len());
            sum += length;
            (volume.number, sum - length)
        });
        let before = before.collect();
        let progress = Progress { bytes, ..Progress::default() };
        Reading { before, entries, progress, show, clock: RealClock::new(), shown: Timestamp::ZERO }
    }

    fn read(
        mut self,
        house: &mut House,
        moment: &Arc<Moment>,
        done: &mut Rebuilt,
    ) -> Result<(), Failure> {
        let Some(recovery) = house.recovery.take() else { return Ok(()) };
        done.damage.extend(recovery.warnings.iter().cloned());
        let mut adoptions = Adoptions::default();
        let prices = adopt::prices(None, &house.stage.spiders, moment.now());
        let mut together = 0;
        for record in recovery.adopt {
            let adopted = match record {
                Ok(adopted) => adopted,
                Err(error @ StoreError::Corrupt { .. }) => {
                    done.damage.push(error.to_string());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if together == 0 {
                house.frontier.begin_together()?;
            }
            self.advance(&adopted);
            self.enter(house, adopted.exchange.started)?;
            moment.set(adopted.exchange.started.plus(adopted.exchange.timing.total));
            adopter(house, moment, &prices).adopt(adopted, &mut adoptions)?;
            together += 1;
            if together == TOGETHER {
                commit(house)?;
                together = 0;
            }
        }
        if together > 0 {
            commit(house)?;
        }
        self.enter(house, Timestamp(i64::MAX))?;
        done.records = self.progress.records;
        done.without_link = adoptions.admitted;
        done.left_out = adoptions.strays;
        Ok(())
    }

    /// What people entered up to this moment is in force from now on.
    fn enter(&mut self, house: &mut House, until: Timestamp) -> Result<(), Failure> {
        let due = self.entries.partition_point(|(at, _)| *at <= until);
        if due == 0 {
            return Ok(());
        }
        let entries: Vec<(Timestamp, Entry)> = self.entries.drain(..due).collect();
        state::enter(&mut house.frontier, &entries)?;
        let spiders = &house.stage.spiders;
        for (_, entry) in &entries {
            match entry {
                Entry::Seed(seed) => spiders.of(seed.spider).join(&seed.url),
                Entry::Block { pattern, .. } => {
                    spiders.blocks.add(Block::parse(pattern));
                }
            }
        }
        Ok(())
    }

    fn advance(&mut self, adopted: &Adopted) {
        self.progress.records += 1;
        let now = self.clock.now();
        if self.shown == Timestamp::ZERO {
            self.shown = now;
        }
        if now.since(self.shown) < SHOWN_EVERY {
            return;
        }
        let place = adopted.location;
        let volume = self.before.iter().find(|(number, _)| *number == place.volume);
        self.progress.bytes_read = volume.map_or(0, |(_, before)| before + place.offset);
        (self.show)(self.progress);
        self.shown = now;
    }
}

/// Links are on disk before the commit that names them.
fn commit(house: &mut House) -> Result<(), StoreError> {
    house.links.sync()?;
    house.frontier.commit_together()
}

fn adopter<'a>(house: &'a mut House, moment: &'a Arc<Moment>, prices: &'a Planner) -> Adopter<'a> {
    Adopter {
        prices,
        frontier: &mut house.frontier,
        archive: &house.archive,
        links: &mut house.links,
        stage: &house.stage,
        clock: &**moment,
        holder: "rebuild",
        body_bytes_max: house.body_bytes_max,
        // Never 0: it is for this module to commit.
        together: 1,
        unknown: Unknown::Admit,
    }
}
