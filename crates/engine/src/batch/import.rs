//! A harvested batch comes home: its records enter the archive and are settled as those are that a crash left
//! behind, in the order they were made, each as at the moment of its visit.
//!
//! A page whose last visit at home is not older than a record has that record, or a newer one: so what was taken
//! is not taken again, however often an import is interrupted or given again; what was harvested since is taken. A
//! kill between archive and database leaves records that the next start of whatever command adopts.
//!
//! Sites with pages that are still to be visited stay out with the batch: two machines must not visit a site at once.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::File,
    io::BufReader,
    path::Path,
    sync::Arc,
};

use manager::Planner;
use model::{
    ArchiveEntry, Clock, CrawlUrl, EntryKind, Fingerprint, Gate, Purpose, SiteKey, StoreError,
    Timestamp,
};
use serde::Serialize;
use store::{
    collection::Collection,
    frontier::{BatchRow, BatchState, FailedVisit, SqlFrontier},
    warc::{Adopted, Pairs, ReadError, VolumeFileName},
};

use super::{Home, Moment, file::Header, outpost, reach::Reach};
use crate::{
    observe::Observer,
    pipeline::adopt::{self, Adopter, Adoptions, Unknown},
};
use config::{amounts::some, failure::Failure};

/// Records that are synced together: a sync each would take longer than all else.
const RECORDS_AT_ONCE: usize = 64;

/// How an import went.
#[derive(Debug, Default, Serialize)]
pub struct Imported {
    pub batch: i64,
    /// It was imported then, and there was nothing new now.
    #[serde(serialize_with = "model::iso::option")]
    pub imported_before: Option<Timestamp>,
    /// Visits that brought a page, or said where it is.
    pub pages: u64,
    /// As a harvest counts them: no answer, or one that says that there is no such page now.
    pub failed: u64,
    pub robots: u64,
    /// Visits that an earlier import has been through.
    pub already_imported: u64,
    /// Sites whose lease was over: given to somebody else, or given back.
    pub lost_sites: Vec<String>,
    /// Visits that were not taken, and why.
    pub not_taken: Vec<NotTaken>,
    /// Pages of the batch that were not visited.
    pub not_visited: u64,
    /// Sites of theirs that stay out with the batch, and until when.
    pub sites_out: u64,
    #[serde(serialize_with = "model::iso::time")]
    pub until: Timestamp,
    /// Failed visits that were forgotten because no server of their site was ever reached, and their sites.
    pub unreached: u64,
    pub unreached_sites: BTreeSet<String>,
    pub damage: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotTaken {
    pub url: String,
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
    pub reason: NotTakenReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotTakenReason {
    VisitedSince,
    NotInCollection,
    Blocked,
    /// It refers to a record that was not taken.
    ReferenceMissing,
}

/// `partial`: also where pages are still to be visited.
pub fn import(
    folder: &Path,
    observer: Arc<dyn Observer>,
    dir: &Path,
    partial: bool,
    now: Timestamp,
) -> Result<Imported, Failure> {
    let away = Away::open(dir, now)?;
    let unfinished = away.frontier.still_due_since(away.header.made)?;
    let not_visited = unfinished.iter().map(|(_, pages)| pages).sum();
    let moment = Arc::new(Moment::at(now));
    let clock: Arc<dyn Clock> = moment.clone();
    let mut home = Home::open(folder, observer, &clock)?;
    let row = known(&mut home, &away.header, folder, now)?;
    if not_visited > 0 && !partial {
        return Err(Failure::usage(
            format!("of the batch, {} still to be visited", some_are(not_visited, "page")),
            match row.until > now && row.state != BatchState::Cancelled {
                true => {
                    "continue with harvestman batch harvest, or import what is there with --partial"
                }
                false => "its leases are over: bring home what is there with --partial",
            },
        ));
    }
    let (batch, until) = (row.id, row.until);
    let mut done = Imported { batch, not_visited, until, ..Imported::default() };
    let again = row.state == BatchState::Imported;
    let out = match again {
        true => BTreeSet::new(),
        false => home.house.frontier.close_batch(batch, BatchState::Importing, now)?,
    };
    if row.state != BatchState::Importing {
        let visited = away.sites(row.taken)?;
        done.lost_sites = visited.difference(&out).map(ToString::to_string).collect();
    }
    let newest = Importer::new(&mut home, &moment, &away, &row, &mut done)?.run()?;
    home.house.archive.seal()?;
    if again && done.is_nothing() {
        done.imported_before = row.ended.or(Some(now));
        return Ok(done);
    }
    let frontier = &mut home.house.frontier;
    if let Some(newest) = newest {
        frontier.batch_taken(batch, newest, now)?;
    }
    // Of a batch that was cancelled or is over, nothing goes out again.
    let stays = matches!(row.state, BatchState::Out | BatchState::Importing);
    let sites: Vec<SiteKey> = unfinished.into_iter().map(|(site, _)| site).collect();
    done.sites_out = frontier.keep_out(&row, if stays { &sites } else { &[] }, now)?;
    Ok(done)
}

/// `1 page is`, `2 pages are`.
pub fn some_are(n: u64, one: &str) -> String {
    format!("{} {}", some(n, one), if n == 1 { "is" } else { "are" })
}

impl Imported {
    fn is_nothing(&self) -> bool {
        self.pages + self.failed + self.robots == 0
            && self.not_taken.is_empty()
            && self.damage.is_empty()
    }
}

fn known(
    home: &mut Home,
    header: &Header,
    folder: &Path,
    now: Timestamp,
) -> Result<BatchRow, Failure> {
    let frontier = &mut home.house.frontier;
    let rows = frontier.batches()?;
    let same = frontier.collection_id(now)? == header.collection;
    rows.into_iter().find(|row| same && row.id == header.batch).ok_or_else(|| {
        Failure::usage(
            format!("this batch was not exported from {}", folder.display()),
            "name the collection that it was exported from with -C",
        )
    })
}

/// The folder in which the batch was harvested.
struct Away {
    header: Header,
    collection: Collection,
    frontier: SqlFrontier,
    reach: Reach,
    _lock: store::collection::CrawlLock,
}

impl Away {
    fn open(dir: &Path, now: Timestamp) -> Result<Away, Failure> {
        let no_batch = || {
            Failure::usage(
                format!("{} holds no batch", dir.display()),
                "name a folder that harvestman batch harvest has filled",
            )
        };
        let collection = match Collection::open(dir) {
            Err(StoreError::Missing { .. }) => return Err(no_batch()),
            opened => opened?,
        };
        let lock = collection.lock()?;
        let header = outpost::harvested(dir)?.ok_or_else(no_batch)?;
        let mut frontier = collection.frontier()?;
        let reach = Reach::of(&frontier, header.made)?;
        // A harvest that was killed has not done so itself.
        reach.offer_again(&mut frontier, now)?;
        Ok(Away { header, collection, frontier, reach, _lock: lock })
    }

    /// Its sites; after an earlier import those that were visited since, for the others were given back.
    fn sites(&self, taken: Option<Timestamp>) -> Result<BTreeSet<SiteKey>, Failure> {
        if let Some(taken) = taken {
            let since = self.frontier.answers(taken)?;
            return Ok(since.into_iter().map(|(site, _)| site).collect());
        }
        let seeds = self.frontier.seeds()?;
        Ok(seeds.iter().map(|seed| seed.url.site()).collect())
    }
}

struct Importer<'a> {
    home: &'a mut Home,
    moment: &'a Moment,
    away: &'a Away,
    done: &'a mut Imported,
    /// In the archive at home and not settled yet.
    taken: Vec<Adopted>,
    /// Visits that have no record, by page.
    failed: HashMap<Fingerprint, Vec<FailedVisit>>,
    /// URLs of which a record was not taken.
    left: HashSet<String>,
    /// How far an earlier import has come, and how far this one has.
    before: Option<Timestamp>,
    newest: Option<Timestamp>,
    prices: Planner,
}

impl<'a> Importer<'a> {
    fn new(
        home: &'a mut Home,
        moment: &'a Moment,
        away: &'a Away,
        row: &BatchRow,
        done: &'a mut Imported,
    ) -> Result<Importer<'a>, Failure> {
        let mut failed: HashMap<Fingerprint, Vec<FailedVisit>> = HashMap::new();
        for visit in away.frontier.failed_visits(away.header.made)? {
            if !away.reach.counts(&visit) {
                // Where somebody answered since, its pages were visited, or are still to be.
                let site = visit.url.site();
                if !away.reach.has_reached(&site) {
                    done.unreached += 1;
                    done.unreached_sites.insert(site.to_string());
                }
                continue;
            }
            failed.entry(visit.url.fingerprint()).or_default().push(visit);
        }
        failed.values_mut().for_each(|visits| visits.sort_by_key(|visit| visit.at));
        let (taken, left) = (Vec::new(), HashSet::new());
        let (before, newest) = (row.taken, None);
        let prices = adopt::prices(None, &home.house.stage.spiders, moment.now());
        Ok(Importer { prices, home, moment, away, done, taken, failed, left, before, newest })
    }

    /// The newest visit there is.
    fn run(mut self) -> Result<Option<Timestamp>, Failure> {
        for volume in self.away.collection.archive()?.list()? {
            self.volume(&volume)?;
        }
        self.settle()?;
        let rest: Vec<FailedVisit> = self.failed.drain().flat_map(|(_, visits)| visits).collect();
        rest.iter().try_for_each(|visit| self.fail(visit))?;
        Ok(self.newest)
    }

    fn volume(&mut self, volume: &VolumeFileName) -> Result<(), Failure> {
        let path = &volume.path;
        let file = File::open(path).map_err(|e| StoreError::io("read", path, e))?;
        for pair in Pairs::starting_at(BufReader::new(file), 0) {
            let pair = match pair {
                Ok(pair) => pair,
                Err(ReadError::Io(e)) => return Err(StoreError::io("read", path, e).into()),
                // An open volume ends where its process was killed.
                Err(_) if !volume.sealed => break,
                Err(damage) => {
                    self.done.damage.push(format!("{}: {damage}", path.display()));
                    break;
                }
            };
            match Adopted::from_pair(volume.number, &pair) {
                Ok(adopted) => self.take(adopted)?,
                Err(what) => self.done.damage.push(format!("{}: {what}", path.display())),
            }
        }
        Ok(())
    }

    fn take(&mut self, adopted: Adopted) -> Result<(), Failure> {
        self.failures_before(&adopted.exchange.url, adopted.exchange.started)?;
        let archived = self.archive(adopted)?;
        self.taken.extend(archived);
        if self.taken.len() >= RECORDS_AT_ONCE { self.settle() } else { Ok(()) }
    }

    /// History tells a page's visits in the order they were made.
    fn failures_before(&mut self, url: &CrawlUrl, at: Timestamp) -> Result<(), Failure> {
        let Some(failed) = self.failed.get_mut(&url.fingerprint()) else { return Ok(()) };
        let later = failed.partition_point(|visit| visit.at < at);
        let earlier: Vec<FailedVisit> = failed.drain(..later).collect();
        if !earlier.is_empty() {
            self.settle()?;
        }
        earlier.iter().try_for_each(|visit| self.fail(visit))
    }

    /// A visit without an answer has no record.
    fn fail(&mut self, visit: &FailedVisit) -> Result<(), Failure> {
        if self.is_news(&visit.url, visit.at)? {
            self.moment.set(visit.at.plus(visit.elapsed));
            let settled = adopter(self.home, self.moment, &self.prices).fail(visit)?;
            self.done.failed += u64::from(settled);
        }
        Ok(())
    }

    /// Copies the record into the archive at home, if it is news there.
    fn archive(&mut self, adopted: Adopted) -> Result<Option<Adopted>, Failure> {
        if !self.is_wanted(&adopted)? {
            return Ok(None);
        }
        let entry = ArchiveEntry {
            exchange: &adopted.exchange,
            record_id: adopted.record_id,
            payload_digest: adopted.payload_digest,
            block_digest: None,
            kind: adopted.kind.clone(),
        };
        let location = self.home.house.archive.append(&entry)?;
        Ok(Some(Adopted { location, ..adopted }))
    }

    fn is_wanted(&mut self, adopted: &Adopted) -> Result<bool, Failure> {
        let (url, at) = (&adopted.exchange.url, adopted.exchange.started);
        match adopted.exchange.purpose {
            Purpose::Robots => {
                return Ok(url.path() == "/robots.txt" && self.is_new_robots(url, at)?);
            }
            Purpose::Login => return Ok(false),
            Purpose::Page | Purpose::Sitemap => {}
        }
        if !self.is_news(url, at)? {
            return Ok(false);
        }
        if let EntryKind::SamePayload(refers) = &adopted.kind
            && refers.target_uri != url.as_str()
            && self.left.contains(&refers.target_uri)
        {
            self.leave(url, at, NotTakenReason::ReferenceMissing);
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether the page is there, may be, and has not been visited since.
    fn is_news(&mut self, url: &CrawlUrl, at: Timestamp) -> Result<bool, Failure> {
        if self.home.house.stage.spiders.blocks.refuses_url(url).is_some() {
            self.leave(url, at, NotTakenReason::Blocked);
            return Ok(false);
        }
        self.newest = self.newest.max(Some(at));
        let away = self.away.frontier.last_visit(url)?;
        match self.home.house.frontier.last_visit(url)? {
            None => self.leave(url, at, NotTakenReason::NotInCollection),
            Some(last) if last < Some(at) => return Ok(true),
            // The newest of the batch is in, so those before it are.
            Some(last) if last == Some(at) || last == away.flatten() => {
                self.done.already_imported += 1
            }
            Some(_) if Some(at) <= self.before => self.done.already_imported += 1,
            Some(_) => self.leave(url, at, NotTakenReason::VisitedSince),
        }
        Ok(false)
    }

    fn is_new_robots(&self, url: &CrawlUrl, at: Timestamp) -> Result<bool, Failure> {
        let found = self.home.house.frontier.robots_fetched(&url.origin())?;
        Ok(found.is_none_or(|fetched| fetched < at))
    }

    fn leave(&mut self, url: &CrawlUrl, at: Timestamp, reason: NotTakenReason) {
        self.left.insert(url.as_str().to_owned());
        self.done.not_taken.push(NotTaken { url: url.as_str().to_owned(), at, reason });
    }

    /// On disk first, then each in a transaction of its own.
    fn settle(&mut self) -> Result<(), Failure> {
        self.home.house.archive.sync()?;
        let mut adoptions = Adoptions::default();
        for adopted in self.taken.drain(..) {
            let exchange = &adopted.exchange;
            self.moment.set(exchange.started.plus(exchange.timing.total));
            adopter(self.home, self.moment, &self.prices).adopt(adopted, &mut adoptions)?;
        }
        self.done.pages += adoptions.pages - adoptions.failed;
        self.done.failed += adoptions.failed;
        self.done.robots += adoptions.robots;
        Ok(())
    }
}

fn adopter<'a>(home: &'a mut Home, moment: &'a Moment, prices: &'a Planner) -> Adopter<'a> {
    let house = &mut home.house;
    Adopter {
        prices,
        frontier: &mut house.frontier,
        archive: &house.archive,
        links: &mut house.links,
        stage: &house.stage,
        clock: moment,
        holder: "import",
        body_bytes_max: house.body_bytes_max,
        together: 0,
        unknown: Unknown::Leave,
    }
}
