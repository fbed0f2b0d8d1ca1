//! Revisits in a form that is no longer written get the form of today (`check --repair`).
//!
//! Nothing leaves the collection, so no journal is needed: volumes are written and switched as in a takedown, some at a
//! time, and what a crash left undone is found again by its form.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use model::{StoreError, Timestamp};

use super::{Progress, Step, Targets, Work, finish, journal, volumes::VOLUMES_AT_ONCE};
use crate::{
    collection::{Collection, CrawlLock},
    warc::{
        Edit, Moves, Press, ReadError, Record, VolumeFileName, WarcReader, in_new_form,
        is_old_form, rewrite,
    },
};

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    pub revisits: u64,
    pub volumes: u64,
    /// For people: what was left as it is.
    pub warnings: Vec<String>,
}

/// More than a head has.
const BLOCK_BYTES_MAX: u64 = 256 << 10;

/// Rewrites the volumes of these numbers. Whoever calls holds the collection's lock.
pub fn rewrite_revisits(
    collection: &Collection,
    lock: &CrawlLock,
    numbers: &[u32],
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Rewritten, StoreError> {
    finish(collection, lock, now, &mut *progress)?;
    let mut work = Work::open(collection, Targets::default(), now, progress)?;
    let mut volumes = collection.archive()?.list()?;
    volumes.retain(|volume| numbers.contains(&volume.number));
    let mut done = Rewritten::default();
    for (at, group) in volumes.chunks(VOLUMES_AT_ONCE).enumerate() {
        let (mut moves, mut files) = (BTreeMap::new(), Vec::<PathBuf>::new());
        for (n, volume) in (at * VOLUMES_AT_ONCE + 1..).zip(group) {
            if let Some(moved) = rewrite_one(volume, &mut done)? {
                moves.insert(volume.number, moved);
                files.push(volume.path.clone());
            }
            (work.progress)(Step::Writing(n, volumes.len()))?;
        }
        if !files.is_empty() {
            work.switch(&moves, &HashSet::new(), &files)?;
        }
    }
    Ok(done)
}

/// The volume beside the old one; `None` when there is nothing to do, or it cannot be read.
fn rewrite_one(volume: &VolumeFileName, done: &mut Rewritten) -> Result<Option<Moves>, StoreError> {
    let path = &volume.path;
    let edits = match old_revisits(path) {
        Ok(edits) if edits.is_empty() => return Ok(None),
        Ok(edits) => edits,
        Err(StoreError::Corrupt { detail, .. }) => {
            done.warnings.push(format!("{} was left as it is: {detail}", path.display()));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let press = Press::of(volume)?;
    let mut records = records(path)?;
    let moves = rewrite(path, &journal::beside(path), &edits, |edit| {
        let record = records.find(|record| !matches!(record, Ok(r) if r.offset != edit.offset));
        let torn = || read_error(path, ReadError::Torn { offset: edit.offset });
        Ok(Some(in_new_form(&press, &record.ok_or_else(torn)??)))
    })?;
    done.revisits += edits.len() as u64;
    done.volumes += 1;
    Ok(Some(moves))
}

fn old_revisits(path: &Path) -> Result<Vec<Edit>, StoreError> {
    let mut edits = Vec::new();
    for record in records(path)? {
        let record = record?;
        // What shares its member with others cannot be replaced alone; nothing of ours does.
        if record.own_member && !record.cut && is_old_form(&record) {
            edits.push(Edit { offset: record.offset, length: record.length });
        }
    }
    Ok(edits)
}

fn records(path: &Path) -> Result<impl Iterator<Item = Result<Record, StoreError>>, StoreError> {
    let file = File::open(path).map_err(|e| StoreError::io("read", path, e))?;
    let reader = WarcReader::new(BufReader::with_capacity(1 << 20, file));
    let records = reader.keep_at_most(BLOCK_BYTES_MAX);
    Ok(records.map(move |record| record.map_err(|error| read_error(path, error))))
}

fn read_error(path: &Path, error: ReadError) -> StoreError {
    match error {
        ReadError::Io(e) => StoreError::io("read", path, e),
        damage => StoreError::Corrupt { path: path.to_owned(), detail: damage.to_string() },
    }
}
