//! Takedown: everything of a URL, a site or a domain leaves the collection, and stays out.
//!
//! In this order, so that a crash anywhere leaves a collection that is whole, and giving the same command
//! again (or the next crawl's start, [`finish`]) brings it to the same end:
//!
//! 1. The indexes of all volumes are read. Revisit records of others that refer to a payload that will go are made whole
//!    ([`volumes`]): nobody else loses a readable version.
//! 2. One transaction removes the rows, leaves the tombstones and writes the [`journal`]. From here on it is
//!    forgotten for everybody who asks; what follows is about its bytes.
//! 3. Volumes whose dictionary was trained on it are written anew without that ([`unlearn`]); then those that
//!    hold records of it without them, some at a time, and then the link
//!    segments ([`links`]). A file is written beside the old one and synced; one transaction moves the rows'
//!    offsets and names the file; then it takes the old one's place. A file that is named but not yet in
//!    place is put there by whoever opens the collection next ([`journal::put_in_place`]).
//! 4. The database is written anew and its journal emptied, so that no byte is left in free space.
//!
//! Pages of others that merely mention it in their text are theirs and stay as they are.

mod journal;
mod links;
mod revisits;
mod targets;
mod unlearn;
mod volumes;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use journal::{Journal, has_files, put_in_place};
pub use revisits::{Rewritten, rewrite_revisits};
pub use targets::{Target, Targets};
pub(crate) use volumes::capture_key;
use volumes::not_looked_through;

use std::{collections::HashSet, path::Path};

use model::{StoreError, Timestamp};
use serde::Serialize;

use crate::{
    collection::{Collection, CrawlLock},
    frontier::SqlFrontier,
    links::LinkWriter,
    rebuild::{self, Workshop},
    thin::captures_of,
    tombstones::Tombstone,
    volumes::follow,
    warc::{WarcArchive, WarcOptions},
};

/// What is to be done, and who is told how far it is.
pub struct Forget<'a> {
    pub targets: Targets,
    /// What keeps them out from now on.
    pub tombstones: Vec<Tombstone>,
    pub now: Timestamp,
    pub progress: Progress<'a>,
}

/// Told of every step; an error ends the work where it stands.
pub type Progress<'a> = &'a mut dyn FnMut(Step) -> Result<(), StoreError>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reading volumes: bytes so far, of all.
    Reading(u64, u64),
    /// Writing volumes anew: so many of all.
    Writing(usize, usize),
    Links(usize, usize),
    /// The rows are gone, and the tombstones are there.
    Rows,
    /// A new file is there and named, but not in its place.
    Named,
    Sweeping,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    pub sites: u64,
    pub pages: u64,
    pub visits: u64,
    /// Of volumes: requests, responses and revisits, robots.txt among them.
    pub records: u64,
    /// What they took on disk.
    pub bytes: u64,
    /// Links of its pages, and links of others to it.
    pub links: u64,
    pub volumes_rewritten: u64,
    /// Records of others that referred to a payload of it and have it themselves now.
    pub made_whole: u64,
    /// For people: what could not be looked into.
    pub warnings: Vec<String>,
    /// What finding it took.
    #[serde(skip)]
    pub read: BytesRead,
}

/// What of the archive was read, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesRead {
    pub indexes: u64,
    /// Records that were looked at.
    pub volumes: u64,
    /// Volumes that hold something of it, as they were copied without it.
    pub rewritten: u64,
}

/// Removes everything of the targets. Whoever calls holds the collection's lock.
pub fn forget(
    collection: &Collection,
    lock: &CrawlLock,
    request: Forget<'_>,
) -> Result<Removed, StoreError> {
    let Forget { targets, tombstones, now, progress } = request;
    finish(collection, lock, now, &mut *progress)?;
    let mut work = Work::open(collection, targets, now, progress)?;
    let mut found = work.look()?;
    work.make_whole(&mut found)?;
    let (rows, journal) = work.frontier.forget_rows(&work.targets, &tombstones, now)?;
    (work.removed.sites, work.removed.pages, work.removed.visits) =
        (rows.sites, rows.pages, rows.visits);
    (work.progress)(Step::Rows)?;
    work.unlearn(&mut found)?;
    work.remove(found, &journal)?;
    work.sweep()
}

/// What [`forget`] would remove; nothing is changed.
pub fn would_forget(
    collection: &Collection,
    lock: &CrawlLock,
    request: Forget<'_>,
) -> Result<Removed, StoreError> {
    let Forget { targets, now, progress, .. } = request;
    finish(collection, lock, now, &mut *progress)?;
    let mut work = Work::open(collection, targets, now, progress)?;
    let found = work.look()?;
    let rows = work.frontier.count_rows(&work.targets)?;
    let links = work.count_links()?;
    work.found(&found);
    Ok(Removed { links, sites: rows.sites, pages: rows.pages, visits: rows.visits, ..work.removed })
}

/// Finishes what a process that died in the middle has left; says whether there was something.
pub fn finish(
    collection: &Collection,
    _lock: &CrawlLock,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<bool, StoreError> {
    put_in_place(collection)?;
    journal::remove_strays(collection)?;
    let frontier = collection.frontier()?;
    let Some(journal) = Journal::read(&frontier)? else { return Ok(false) };
    drop(frontier);
    let targets = match &journal {
        Journal::Thinning { at } => {
            let mut work = Work::of_captures(collection, HashSet::new(), *at, progress)?;
            let captures = captures_of(&work.frontier.connection, *at);
            work.captures = Some(captures.map_err(|e| work.frontier.error(e))?);
            let mut found = work.look()?;
            work.make_whole(&mut found)?;
            work.remove_records(&found)?;
            work.thinned()?;
            return Ok(true);
        }
        Journal::Removing { targets, .. } => targets.clone(),
        Journal::Sweeping => Vec::new(),
    };
    let mut work = Work::open(collection, Targets::new(targets), now, progress)?;
    if let Journal::Removing { .. } = journal {
        let mut found = work.look()?;
        work.make_whole(&mut found)?;
        work.unlearn(&mut found)?;
        work.remove(found, &journal)?;
    }
    work.sweep()?;
    Ok(true)
}

/// The collection while something is taken out of it.
pub(crate) struct Work<'a> {
    collection: &'a Collection,
    pub(crate) frontier: SqlFrontier,
    targets: Targets,
    /// Single records instead of targets, when versions are thinned: keys of target and date.
    captures: Option<HashSet<u64>>,
    now: Timestamp,
    pub(crate) progress: Progress<'a>,
    removed: Removed,
}

impl<'a> Work<'a> {
    /// Volumes that a crash left open are sealed, and links that belong to no settled page are cut off:
    /// as every crawl does at its start.
    fn open(
        collection: &'a Collection,
        targets: Targets,
        now: Timestamp,
        progress: Progress<'a>,
    ) -> Result<Work<'a>, StoreError> {
        let frontier = collection.frontier()?;
        // The commit that names a new file must not be lost to a power cut when the file's name is not.
        frontier.connection.sync_commits().map_err(|e| frontier.error(e))?;
        let marks = frontier.marks()?;
        let mut removed = Removed::default();
        let volumes = collection.archive()?;
        if volumes.list()?.iter().any(|volume| !volume.sealed) {
            let (options, mark) = (WarcOptions::default(), marks.archive.unwrap_or_default());
            let own = vec![collection.volumes()];
            let (_, recovery) = WarcArchive::open_in(&volumes, own, options, mark)?;
            removed.warnings.extend(recovery.warnings);
        }
        follow(collection, &volumes)?;
        if marks.links.is_some() {
            drop(LinkWriter::open(&collection.links(), marks.links)?);
        }
        for folder in volumes.away() {
            let what = format!("the folder of volumes {} cannot be reached", folder.display());
            removed.warnings.push(not_looked_through(&what));
        }
        for folder in volumes.folders() {
            removed.warnings.extend(saved_tails(folder));
        }
        Ok(Work { collection, frontier, targets, captures: None, now, progress, removed })
    }

    /// The same for single records.
    pub(crate) fn of_captures(
        collection: &'a Collection,
        captures: HashSet<u64>,
        now: Timestamp,
        progress: Progress<'a>,
    ) -> Result<Work<'a>, StoreError> {
        let work = Work::open(collection, Targets::default(), now, progress)?;
        Ok(Work { captures: Some(captures), ..work })
    }

    /// The last step of thinning: nothing is left to do.
    pub(crate) fn thinned(mut self) -> Result<Removed, StoreError> {
        journal::close(&mut self.frontier, self.now)?;
        Ok(self.removed)
    }

    /// Step 4. What is told is what was removed in all.
    fn sweep(mut self) -> Result<Removed, StoreError> {
        (self.progress)(Step::Sweeping)?;
        self.frontier.write_state()?;
        if let Some(dir) = self.frontier.path().parent() {
            Workshop::of(dir).discard()?;
            self.removed.warnings.extend(moved_aside(dir));
        }
        let busy = journal::sweep(&mut self.frontier, self.now)?;
        if busy {
            self.removed.warnings.push(
                "another program is reading crawl.db, so its journal could not be emptied: end it \
                 and give the same command again"
                    .to_owned(),
            );
        }
        Ok(self.removed)
    }
}

/// Files that rebuilds have replaced.
fn moved_aside(dir: &Path) -> Vec<String> {
    let aside = rebuild::moved_aside(dir).into_iter();
    aside
        .map(|path| {
            format!("{} was kept by a rebuild and was not searched: delete it", path.display())
        })
        .collect()
}

/// Pieces of damaged volumes that recovery kept aside cannot be read record by record.
fn saved_tails(volumes: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(volumes).into_iter().flatten().flatten();
    let tails = entries.filter(|entry| entry.file_name().to_string_lossy().contains(".damaged-"));
    tails
        .map(|entry| {
            let path = entry.path();
            format!("{} is a damaged piece kept aside and was not searched", path.display())
        })
        .collect()
}
