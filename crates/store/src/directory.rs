//! The directory store (seed 000): `directory/DATE_TIME/host/path…` with the HTML of each page, for people and
//! for tools that know files and nothing else.
//!
//! A view, never the truth: what is here was archived before, and can be made again from the volumes
//! (`export directory`). A crawl has one folder, named by its start, that no other crawl has; crawls that never end
//! have one a day. An export that has several files of a page in one folder puts the later ones beside it.
//! [`file_name`] says where a page lies below it. A file is written beside its place and then renamed, so a
//! reader finds it whole or not at all, and no link is followed out of the folder: every folder on the way is
//! looked at before it is used.

mod names;
mod remove;
mod versions;

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use model::{CrawlUrl, StoreError, Timestamp};

use crate::warc::date_text;

pub use names::file_name;
pub(crate) use remove::remove;
pub use versions::{KeptVersion, Span};

/// Folders known to be ours; a larger number is forgotten and looked at again.
const SEEN_MAX: usize = 20_000;
const DAY: Duration = Duration::from_secs(86_400);

/// Pages as files below one folder.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    seen: HashSet<PathBuf>,
    /// Of files that are being written: no two have one name.
    written: u64,
    /// When crawls began, ascending, and whether each had a folder a day.
    crawls: Vec<Sitting>,
}

/// A crawl as far as its folders go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sitting {
    pub started: Timestamp,
    /// A folder for each day (UTC), not one for all.
    pub daily: bool,
}

impl Directory {
    /// `crawls` are those so far: pages that an earlier one archived may still have to be written.
    pub fn new(root: PathBuf, mut crawls: Vec<Sitting>) -> Directory {
        crawls.sort_by_key(|sitting| sitting.started);
        let inner = Inner { crawls, ..Inner::default() };
        Directory { root, inner: Mutex::new(inner) }
    }

    /// A crawl begins.
    pub fn begin(&self, sitting: Sitting) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.crawls.push(sitting);
    }

    /// The first moment whose files may lie in the same folder as those of this time.
    pub fn since(&self, at: Timestamp) -> Timestamp {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match sitting_of(&inner.crawls, at) {
            Some(Sitting { started, daily: false }) if *started <= at => *started,
            // The clock was set back: all that came before the first crawl is in its folder.
            Some(Sitting { daily: false, .. }) => Timestamp(i64::MIN),
            Some(Sitting { daily: true, .. }) | None => day_of(at),
        }
    }

    /// Writes what a page showed at this time; what it showed before in the same folder is replaced.
    pub fn write(&self, url: &CrawlUrl, at: Timestamp, body: &[u8]) -> Result<(), StoreError> {
        self.write_beside(url, at, 0, body)
    }

    /// The same, where `earlier` files of the page are to stay: it has a place of its own.
    pub fn write_beside(
        &self,
        url: &CrawlUrl,
        at: Timestamp,
        earlier: usize,
        body: &[u8],
    ) -> Result<(), StoreError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut name = folder_name(&inner.crawls, at);
        if earlier > 0 {
            // Four digits: a day has 1,440 minutes.
            name.push_str(&format!("_visit-{:04}", earlier + 1));
        }
        let path = Path::new(&name).join(file_name(url));
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        inner.make(&self.root, &folder)?;
        inner.written += 1;
        // No page's file begins so.
        let beside = format!("~{}-{}", std::process::id(), inner.written);
        drop(inner);
        let (beside, path) = (self.root.join(folder).join(beside), self.root.join(path));
        let io = |e| StoreError::io("write", &path, e);
        let written = write_new(&beside, body).and_then(|()| fs::rename(&beside, &path));
        written.map_err(|error| {
            let _ = fs::remove_file(&beside);
            io(error)
        })
    }
}

impl Inner {
    /// Makes the folders down to this one; anything else in their place, links above all, is refused.
    fn make(&mut self, root: &Path, folder: &Path) -> Result<(), StoreError> {
        if self.seen.contains(folder) && root.join(folder).is_dir() {
            return Ok(());
        }
        fs::create_dir_all(root).map_err(|e| StoreError::io("create", root, e))?;
        let mut path = root.to_owned();
        for part in folder {
            path.push(part);
            let made = match fs::create_dir(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => is_folder(&path),
                other => other,
            };
            made.map_err(|e| StoreError::io("create", &path, e))?;
        }
        if self.seen.len() >= SEEN_MAX {
            self.seen.clear();
        }
        self.seen.insert(folder.to_owned());
        Ok(())
    }
}

/// The folder of what was seen at this time: that of the last crawl that had begun.
pub fn folder_name(crawls: &[Sitting], at: Timestamp) -> String {
    match sitting_of(crawls, at) {
        Some(Sitting { started, daily: false }) => crawl_name(crawls, *started),
        // What came before all that is known of is kept by days.
        Some(Sitting { daily: true, .. }) | None => date_time(day_of(at)),
    }
}

fn sitting_of(crawls: &[Sitting], at: Timestamp) -> Option<&Sitting> {
    crawls.iter().rev().find(|sitting| sitting.started <= at).or(crawls.first())
}

/// Crawls of one second are told apart by a number, and the first second of a day is the day's.
fn crawl_name(crawls: &[Sitting], started: Timestamp) -> String {
    let name = date_time(started);
    let second = |at: Timestamp| at.0.div_euclid(1_000);
    let is_before = |other: &&Sitting| {
        !other.daily && other.started < started && second(other.started) == second(started)
    };
    let days = usize::from(second(day_of(started)) == second(started));
    let before = crawls.iter().filter(is_before).count() + days;
    // Two digits: a crawl takes some hundredths of a second at least.
    if before == 0 { name } else { format!("{name}_{:02}", before + 1) }
}

fn day_of(at: Timestamp) -> Timestamp {
    Timestamp(at.0 - at.0.rem_euclid(DAY.as_millis() as i64))
}

/// `2026-11-16_03-05-49`: sorts by time, and every disk can hold it.
fn date_time(at: Timestamp) -> String {
    let iso = date_text(at);
    let (date, time) = iso.split_once('T').unwrap_or((&iso, ""));
    format!("{date}_{}", time.split('.').next().unwrap_or_default().replace(':', "-"))
}

fn is_folder(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other("something else than a folder is in its place; take it away"))
}

fn write_new(path: &Path, body: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(body)
}

#[cfg(test)]
mod tests;
