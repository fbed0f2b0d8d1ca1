//! The index over the link segments: who links to a page, and where the links of a page are.
//!
//! It holds fingerprints and places, no text: every answer is read from the segments. It can be thrown away at any
//! moment and is then made again. Nobody has to keep it up to date: [`ask`] reads what was settled since the last time
//! ([`update`]), beside a running crawl as well, whose writer knows nothing of it. Files:
//!
//! - `NNNNNN.run` ([`run`]): a stretch of the segments, sorted by target and by source; never changed, and merged with
//!   its neighbours when they become many ([`merge`]).
//! - `manifest` ([`manifest`]): which runs count and how far they reach; replaced as a whole.
//! - `lock`: held by who changes any of it.
//!
//! A takedown rewrites segments and counts that in `meta` in the transaction that makes the new ones count. An index
//! made before is of no use from then on, and is removed by the takedown itself.

mod answers;
mod manifest;
mod merge;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod update;

pub use answers::{Edge, Entry, LinkCount, RecordNumber, Referrers};

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use model::StoreError;

use self::{
    manifest::Manifest,
    run::Run,
    update::{Limits, Stop, Update, lock, remove_strays, usable},
};
use super::LinkPosition;
use crate::{census::Census, collection::Collection};

/// What the database says of the segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// What lies behind it belongs to no settled page.
    pub mark: Option<LinkPosition>,
    /// How often takedowns have rewritten a segment.
    pub rewritten: u64,
    /// A takedown is under way, or was when its process died.
    pub removing: bool,
}

/// Told while the index is brought up to date; an error ends the work where it stands.
pub type Progress<'a> = &'a mut dyn FnMut(Step) -> Result<(), StoreError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes of segments that were read, of all there are to read.
    Reading(u64, u64),
    Writing,
    Merging,
    Publishing,
}

/// As it was at one moment; what is settled later is not in it.
#[derive(Debug)]
pub struct LinkIndex {
    links: PathBuf,
    manifest: Manifest,
    runs: Vec<Run>,
    /// Segments that were read from.
    files: Mutex<BTreeMap<u32, Arc<File>>>,
}

/// Takedowns that may come between an answer and its question before it is given up.
const TRIES: u32 = 5;

/// Brings the index up to date and asks it. Should a takedown rewrite the segments meanwhile, the question is asked
/// again: no answer names what was gone when it was given.
pub fn ask<T>(
    collection: &Collection,
    census: &Census,
    progress: Progress<'_>,
    mut question: impl FnMut(&LinkIndex) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let links = collection.links();
    let read_state = || census.link_state();
    for _ in 0..TRIES {
        let index = LinkIndex::open(&links, &read_state, Limits::default(), &mut *progress)?;
        let answer = question(&index);
        let now = read_state()?;
        if !now.removing && now.rewritten == index.manifest.rewritten {
            return answer;
        }
    }
    Err(StoreError::Removing { path: collection.dir().to_owned() })
}

impl LinkIndex {
    fn open(
        links: &Path,
        read_state: &dyn Fn() -> Result<LinkState, StoreError>,
        limits: Limits,
        progress: Progress<'_>,
    ) -> Result<LinkIndex, StoreError> {
        let dir = folder(links);
        for _ in 0..TRIES {
            let state = read_state()?;
            if state.removing {
                break;
            }
            if let Some(index) = LinkIndex::load(links, &dir, &state)?
                && state.mark.is_none_or(|mark| mark == index.manifest.covered)
            {
                return Ok(index);
            }
            let dir = dir.clone();
            let update = Update { links, dir, state, read_state, limits, progress: &mut *progress };
            match update.run() {
                Ok(()) => {}
                Err(Stop::Rewritten) => continue,
                Err(Stop::Failed(error)) => return Err(error),
            }
            if let Some(index) = LinkIndex::load(links, &folder(links), &state)? {
                return Ok(index);
            }
        }
        Err(StoreError::Removing { path: links.to_owned() })
    }

    fn load(links: &Path, dir: &Path, state: &LinkState) -> Result<Option<LinkIndex>, StoreError> {
        let found = usable(links, dir, state)?;
        let nothing = || state.mark.is_none().then(|| (Manifest::empty(state.rewritten), vec![]));
        Ok(found.or_else(nothing).map(|(manifest, runs)| LinkIndex {
            links: links.to_owned(),
            manifest,
            runs,
            files: Mutex::default(),
        }))
    }
}

/// Removes an index that was made before segments were rewritten, and what updates have left. Who calls has rewritten
/// the segments, and the database still says that a takedown is under way: so no update begins before this is done.
pub(crate) fn remove_outdated(links: &Path, rewritten: u64) -> Result<(), StoreError> {
    let dir = folder(links);
    if !dir.is_dir() {
        return Ok(());
    }
    let _lock = lock(&dir)?;
    let manifest = Manifest::load(&dir)?.filter(|manifest| manifest.rewritten == rewritten);
    if let Some(manifest) = manifest {
        return remove_strays(&dir, &manifest.runs);
    }
    // First: runs without it are strays, it without its runs is nothing, but why leave one.
    let path = dir.join("manifest");
    match fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io("remove", path, e));
        }
        _ => {}
    }
    remove_strays(&dir, &[])
}

fn folder(links: &Path) -> PathBuf {
    links.join("index")
}

/// Offsets within a segment have 40 bits here: 1 TB, where a segment ends at half a gigabyte.
const OFFSET_BITS: u32 = 40;

fn pack((segment, offset): LinkPosition) -> u64 {
    u64::from(segment) << OFFSET_BITS | (offset & ((1 << OFFSET_BITS) - 1))
}

fn unpack(position: u64) -> LinkPosition {
    ((position >> OFFSET_BITS) as u32, position & ((1 << OFFSET_BITS) - 1))
}
