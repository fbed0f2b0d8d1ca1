//! Records in the volumes: which go, which are referred to by others, and the volumes without them.
//!
//! The database knows the records of versions, not those of visits that folded into them, nor those of
//! robots.txt. The indexes beside the volumes know all of them, with their targets and what revisits refer to: so these
//! are read, and of the volumes only what they name. Where an index is missing or does not fit, its volume is read whole
//! and has one from then on. Only volumes that hold something are rewritten, each with its index.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use model::StoreError;
use xxhash_rust::xxh3::xxh3_64;

use super::{Step, Work, journal};
use crate::warc::{
    Edit, Moved, Moves, Press, Record, VolumeFileName,
    index::{self, Entry, IndexReader, Kind, index_path},
    made_whole, record_at, referring_to, rewrite,
};

/// What the volumes hold of the targets.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(super) volumes: Vec<FoundIn>,
    /// Responses that go, by target and date: what others may refer to.
    payloads: HashMap<u64, (usize, u64)>,
}

#[derive(Debug)]
pub(super) struct FoundIn {
    pub(super) name: VolumeFileName,
    /// Records that go.
    goes: Vec<Edit>,
    /// Revisits of others that refer to what goes, and to what.
    referrers: Vec<(Edit, u64)>,
}

/// What one volume holds of the targets.
#[derive(Default)]
struct Looked {
    records: u64,
    goes: Vec<Edit>,
    referrers: Vec<(Edit, u64)>,
    /// Key and offset of responses that go.
    payloads: Vec<(u64, u64)>,
    /// Some of the records among them, to be compared with the volume.
    samples: Vec<Entry>,
}

/// All of few records are compared with the volume, and ever fewer of many.
const SAMPLES_ALL: usize = 16;

/// Volumes written anew before their rows follow: at most so many gigabytes lie there twice, and the
/// visits are looked through once for all of them.
pub(super) const VOLUMES_AT_ONCE: usize = 16;
/// How often reading is told of.
const TOLD_EVERY: u64 = 16 << 20;

impl Work<'_> {
    pub(crate) fn look(&mut self) -> Result<Found, StoreError> {
        let volumes = self.collection.archive()?.list()?;
        self.miss(&volumes)?;
        let mut sizes = Vec::new();
        for volume in &volumes {
            let path = &volume.path;
            sizes.push(path.metadata().map_err(|e| StoreError::io("read", path, e))?.len());
        }
        let (total, mut read) = (sizes.iter().sum(), 0);
        let mut found = Found::default();
        for (name, size) in volumes.into_iter().zip(sizes) {
            self.look_into(name, &mut found, (read, total))?;
            read += size;
        }
        (self.progress)(Step::Reading(read, total))?;
        Ok(found)
    }

    /// A volume that visits name may come back, from another disk or a copy, with what is forgotten now.
    fn miss(&mut self, volumes: &[VolumeFileName]) -> Result<(), StoreError> {
        for extent in self.frontier.record_extents()? {
            if volumes.iter().all(|volume| volume.number != extent.volume) {
                let what = format!("volume {} is not there", extent.volume);
                self.removed.warnings.push(not_looked_through(&what));
            }
        }
        Ok(())
    }

    fn look_into(
        &mut self,
        name: VolumeFileName,
        found: &mut Found,
        (before, total): (u64, u64),
    ) -> Result<(), StoreError> {
        (self.progress)(Step::Reading(before, total))?;
        let looked = match self.look_at_index(&name.path)? {
            Some(looked) => looked,
            None => self.look_at_records(&name.path, (before, total))?,
        };
        if looked.records == 0 {
            // Whole volumes have at least a warcinfo, whatever was taken out of them.
            let what = format!("{} is empty", name.path.display());
            self.removed.warnings.push(not_looked_through(&what));
            return Ok(());
        }
        let at = found.volumes.len();
        let Looked { goes, referrers, payloads, .. } = looked;
        found.payloads.extend(payloads.into_iter().map(|(key, offset)| (key, (at, offset))));
        found.volumes.push(FoundIn { name, goes, referrers });
        Ok(())
    }

    /// `None` when the volume has no index that can be gone by.
    fn look_at_index(&mut self, path: &Path) -> Result<Option<Looked>, StoreError> {
        let error = |e| StoreError::io("read", index_path(path), e);
        let Some(reader) = IndexReader::open(path).map_err(error)? else { return Ok(None) };
        let (bytes, mut looked) = (reader.bytes(), Looked::default());
        for entry in reader {
            match entry {
                Ok(entry) => self.look_at(&entry, &mut looked),
                Err(e) if e.raw_os_error().is_some() => return Err(error(e)),
                Err(_) => return Ok(None),
            }
        }
        // What would be cut out of a volume by an index that is not its own cannot be brought back.
        if !index::confirms(path, &looked.samples)? {
            return Ok(None);
        }
        self.removed.read.indexes += bytes;
        self.removed.read.volumes += looked.samples.iter().map(|entry| entry.length).sum::<u64>();
        Ok(Some(looked))
    }

    fn look_at_records(
        &mut self,
        path: &Path,
        (before, total): (u64, u64),
    ) -> Result<Looked, StoreError> {
        let (mut looked, mut shown) = (Looked::default(), 0);
        let made = index::make(path, &mut |entry| {
            if entry.offset >= shown + TOLD_EVERY {
                shown = entry.offset;
                (self.progress)(Step::Reading(before + shown, total))?;
            }
            self.removed.read.volumes += entry.length;
            self.look_at(entry, &mut looked);
            Ok(())
        });
        made.map_err(|error| match error {
            StoreError::Corrupt { path, detail } => {
                StoreError::Corrupt { path, detail: format!("{detail}; nothing was removed") }
            }
            other => other,
        })?;
        Ok(looked)
    }

    fn look_at(&self, entry: &Entry, looked: &mut Looked) {
        looked.records += 1;
        let edit = Edit { offset: entry.offset, length: entry.length };
        if self.goes(&entry.uri, &entry.date) {
            looked.sample(entry);
            looked.goes.push(edit);
            if entry.kind == Kind::Response {
                looked.payloads.push((capture_key(&entry.uri, &entry.date), entry.offset));
            }
        } else if let (Kind::Revisit, Some((uri, date))) = (entry.kind, &entry.refers)
            && self.goes(uri, date)
        {
            looked.sample(entry);
            looked.referrers.push((edit, capture_key(uri, date)));
        }
    }

    /// Whether the record of this target and date is to go.
    fn goes(&self, uri: &str, date: &str) -> bool {
        match &self.captures {
            Some(captures) => captures.contains(&capture_key(uri, date)),
            None => self.targets.covers_text(uri),
        }
    }

    /// What was found, for the report.
    pub(super) fn found(&mut self, found: &Found) {
        let goes = found.volumes.iter().flat_map(|volume| &volume.goes);
        (self.removed.records, self.removed.bytes) =
            goes.fold((0, 0), |(records, bytes), edit| (records + 1, bytes + edit.length));
        let touched = found.volumes.iter().filter(|volume| volume.is_touched());
        self.removed.volumes_rewritten = touched.count() as u64;
        let heirs = found.volumes.iter().flat_map(|volume| &volume.referrers);
        let heirs: HashSet<u64> = heirs.map(|(_, key)| *key).collect();
        self.removed.made_whole =
            heirs.iter().filter(|key| found.payloads.contains_key(key)).count() as u64;
    }

    /// The first revisit of each payload that goes gets the payload; the others refer to that one.
    pub(crate) fn make_whole(&mut self, found: &mut Found) -> Result<(), StoreError> {
        self.found(found);
        let mut heirs = Heirs::default();
        let holds = |found: &Found, at: &usize| !found.volumes[*at].referrers.is_empty();
        let todo: Vec<usize> = (0..found.volumes.len()).filter(|at| holds(found, at)).collect();
        for group in todo.chunks(VOLUMES_AT_ONCE) {
            let (mut moves, mut whole, mut files) =
                (BTreeMap::new(), HashSet::new(), Vec::<PathBuf>::new());
            for &at in group {
                let volume = &found.volumes[at];
                let edits: Vec<Edit> = volume.referrers.iter().map(|(edit, _)| *edit).collect();
                let keys: HashMap<u64, u64> =
                    volume.referrers.iter().map(|(edit, key)| (edit.offset, *key)).collect();
                let (path, press) = (&volume.name.path, Press::of(&volume.name)?);
                let moved = rewrite(path, &journal::beside(path), &edits, |edit| {
                    let record = record_at(path, edit.offset)?;
                    let key = keys[&edit.offset];
                    let (bytes, is_whole) = heirs.write(&press, &record, key, found)?;
                    if is_whole {
                        whole.insert((volume.name.number, edit.offset));
                    }
                    Ok(Some(bytes))
                })?;
                self.removed.read.rewritten += moved.bytes;
                moves.insert(volume.name.number, moved);
                files.push(path.clone());
            }
            self.switch(&moves, &whole, &files)?;
            group.iter().for_each(|&at| found.follow(at, &moves));
        }
        Ok(())
    }

    /// The volumes without the records that go.
    pub(crate) fn remove_records(&mut self, found: &Found) -> Result<(), StoreError> {
        let todo: Vec<&FoundIn> = found.volumes.iter().filter(|v| !v.goes.is_empty()).collect();
        let mut done = 0;
        for group in todo.chunks(VOLUMES_AT_ONCE) {
            let (mut moves, mut files) = (BTreeMap::new(), Vec::new());
            for volume in group {
                let path = &volume.name.path;
                let moved = rewrite(path, &journal::beside(path), &volume.goes, |_| Ok(None))?;
                self.removed.read.rewritten += moved.bytes;
                moves.insert(volume.name.number, moved);
                files.push(path.clone());
                done += 1;
                (self.progress)(Step::Writing(done, todo.len()))?;
            }
            self.switch(&moves, &HashSet::new(), &files)?;
        }
        Ok(())
    }

    /// Rows and files change together: what was named is put in place after a crash as well. `moves` and `files` are of
    /// the same volumes, in the order of their numbers.
    pub(super) fn switch(
        &mut self,
        moves: &BTreeMap<u32, Moves>,
        whole: &HashSet<(u32, u64)>,
        files: &[PathBuf],
    ) -> Result<(), StoreError> {
        let mut names = self.names(files);
        for (path, moves) in files.iter().zip(moves.values()) {
            names.extend(self.names(&[write_index(path, moves)?]));
        }
        journal::sync_folders(files)?;
        self.frontier.move_records(moves, whole, &names, self.now)?;
        (self.progress)(Step::Named)?;
        journal::put_in_place(self.collection)
    }

    /// Below the collection's folder.
    pub(super) fn names(&self, files: &[PathBuf]) -> Vec<String> {
        let below =
            |path: &PathBuf| path.strip_prefix(self.collection.dir()).unwrap_or(path).to_owned();
        files.iter().map(|path| below(path).to_string_lossy().into_owned()).collect()
    }
}

impl Looked {
    fn sample(&mut self, entry: &Entry) {
        let met = self.goes.len() + self.referrers.len();
        if met < SAMPLES_ALL || met.is_power_of_two() {
            self.samples.push(entry.clone());
        }
    }
}

impl FoundIn {
    /// It has to be written anew for its records.
    pub(super) fn is_touched(&self) -> bool {
        !self.goes.is_empty() || !self.referrers.is_empty()
    }
}

impl Found {
    /// Places in a volume that was written anew.
    pub(super) fn follow(&mut self, at: usize, moves: &BTreeMap<u32, Moves>) {
        let volume = &mut self.volumes[at];
        let Some(moves) = moves.get(&volume.name.number) else { return };
        for edit in &mut volume.goes {
            match moves.of(edit.offset) {
                Moved::To(offset) => edit.offset = offset,
                Moved::Anew { offset, length } => *edit = Edit { offset, length },
                Moved::Gone => {}
            }
        }
        for (index, offset) in self.payloads.values_mut() {
            if *index == at {
                *offset = moved(moves, *offset);
            }
        }
    }
}

/// The index of the new volume, beside the old one. It may be empty, which is none: the old one must not stay.
fn write_index(path: &Path, moves: &Moves) -> Result<PathBuf, StoreError> {
    let index = index_path(path);
    let bytes = index::rewritten(path, &journal::beside(path), moves)?;
    let beside = journal::beside(&index);
    fs::write(&beside, bytes).map_err(|e| StoreError::io("write", &beside, e))?;
    Ok(index)
}

pub(super) fn not_looked_through(what: &str) -> String {
    format!(
        "{what} and could not be looked through: harvestman check says what is lost; should it come back, \
         give the same command again"
    )
}

fn moved(moves: &Moves, offset: u64) -> u64 {
    match moves.of(offset) {
        Moved::To(offset) | Moved::Anew { offset, .. } => offset,
        Moved::Gone => offset,
    }
}

/// Who has which payload from now on: target and date of the first that referred to it.
#[derive(Default)]
struct Heirs {
    by_payload: HashMap<u64, (String, String)>,
}

impl Heirs {
    /// The revisit anew, and whether it is whole now.
    fn write(
        &mut self,
        press: &Arc<Press>,
        revisit: &Record,
        key: u64,
        found: &Found,
    ) -> Result<(Vec<u8>, bool), StoreError> {
        if let Some((uri, date)) = self.by_payload.get(&key) {
            return Ok((referring_to(press, revisit, Some((uri, date))), false));
        }
        let original = found.payloads.get(&key).map(|(at, offset)| {
            let volume = &found.volumes[*at];
            record_at(&volume.name.path, *offset)
        });
        let whole =
            original.transpose()?.and_then(|original| made_whole(press, revisit, &original));
        let Some(bytes) = whole else {
            // What it refers to is not there: it had no payload before either.
            return Ok((referring_to(press, revisit, None), false));
        };
        let field = |name| revisit.field(name).unwrap_or_default().to_owned();
        self.by_payload.insert(key, (field("WARC-Target-URI"), field("WARC-Date")));
        Ok((bytes, true))
    }
}

/// A record by its target and date, the very texts of its fields.
pub(crate) fn capture_key(uri: &str, date: &str) -> u64 {
    xxh3_64(format!("{date} {uri}").as_bytes())
}
