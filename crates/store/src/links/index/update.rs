//! Bringing the index up to date: what the segments hold behind the last run becomes a run, and runs of like size
//! become one.
//!
//! One process at a time (a file lock). Memory is bounded by [`Limits`]; each run is published as soon as it is
//! written, so that a process that is killed loses at most the run it was making. What it leaves is removed by the
//! next. Before anything is published it is made sure that no takedown has rewritten what was read.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use model::{Fingerprint, StoreError, Timestamp};

use super::{
    super::{FRAME_BYTES, HEADER_BYTES, reader::Segment, segment_path, segments},
    LinkState, Progress, Step,
    manifest::Manifest,
    merge::merge,
    pack,
    run::{RECORDS_MAX, Run, RunInfo, RunWriter, run_path},
    table::{Pair, RecordRow},
};

/// How much is held in memory, and how many runs there may be while many are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Links, of 16 bytes each.
    pub(super) pairs: usize,
    /// Records, of 40 bytes each.
    pub(super) records: usize,
    /// All of them are read at once when they are merged.
    pub(super) runs: usize,
}

impl Default for Limits {
    /// About 100 MB in all.
    fn default() -> Limits {
        Limits { pairs: 4_000_000, records: 1_000_000, runs: 64 }
    }
}

/// Records between two reports of progress.
const REPORT_EVERY: u64 = 2_000;

/// Why an update did not come to its end.
pub(super) enum Stop {
    /// A takedown rewrites segments, or did so meanwhile.
    Rewritten,
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Failed(error)
    }
}

pub(super) struct Update<'a> {
    pub(super) links: &'a Path,
    pub(super) dir: PathBuf,
    pub(super) state: LinkState,
    pub(super) read_state: &'a dyn Fn() -> Result<LinkState, StoreError>,
    pub(super) limits: Limits,
    pub(super) progress: Progress<'a>,
}

impl Update<'_> {
    pub(super) fn run(mut self) -> Result<(), Stop> {
        fs::create_dir_all(&self.dir).map_err(|e| StoreError::io("create", &self.dir, e))?;
        let _lock = lock(&self.dir)?;
        let (manifest, runs) = match usable(self.links, &self.dir, &self.state)? {
            Some(usable) => usable,
            None => {
                let manifest = Manifest::empty(self.state.rewritten);
                manifest.save(&self.dir)?;
                (manifest, Vec::new())
            }
        };
        remove_strays(&self.dir, &manifest.runs)?;
        let mut work = Work { update: &mut self, manifest, runs };
        work.read_segments()?;
        work.merge_alike()
    }
}

/// The index as it is on disk; `None` when there is none that fits the segments.
pub(super) fn usable(
    links: &Path,
    dir: &Path,
    state: &LinkState,
) -> Result<Option<(Manifest, Vec<Run>)>, StoreError> {
    let Some(manifest) = Manifest::load(dir)? else { return Ok(None) };
    let settled = state.mark.unwrap_or((1, HEADER_BYTES));
    // A mark that went back: a power cut took the last commits, and other records may follow now.
    let fits = manifest.rewritten == state.rewritten
        && (manifest.last.is_none() || manifest.covered <= settled)
        && manifest.still_holds(links);
    if !fits {
        return Ok(None);
    }
    let runs: Result<Option<Vec<Run>>, StoreError> =
        manifest.runs.iter().map(|info| Run::open(dir, *info)).collect();
    Ok(runs?.map(|runs| (manifest, runs)))
}

/// Held by who changes the index; the system releases it with the process.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join("lock");
    let error = |e| StoreError::io("lock", &path, e);
    let options = File::options().create(true).truncate(false).write(true).open(&path);
    let file = options.map_err(error)?;
    file.lock().map_err(error)?;
    Ok(file)
}

/// Removes what no manifest names, all of it but the manifest and the lock.
pub(super) fn remove_strays(dir: &Path, runs: &[RunInfo]) -> Result<(), StoreError> {
    let error = |e| StoreError::io("remove from", dir, e);
    let named = |path: &Path| {
        let is_run = runs.iter().any(|run| run_path(dir, run.number) == path);
        is_run || path.ends_with("manifest") || path.ends_with("lock")
    };
    for entry in fs::read_dir(dir).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if !named(&path) {
            fs::remove_file(&path).map_err(error)?;
        }
    }
    Ok(())
}

struct Work<'u, 'a> {
    update: &'u mut Update<'a>,
    manifest: Manifest,
    runs: Vec<Run>,
}

impl Work<'_, '_> {
    fn read_segments(&mut self) -> Result<(), Stop> {
        let Some(mark) = self.update.state.mark else { return Ok(()) };
        let (first, offset) = self.manifest.covered;
        let links = self.update.links;
        let all = segments(links)?;
        let waiting: Vec<u32> =
            all.into_iter().filter(|number| (first..=mark.0).contains(number)).collect();
        let length = |number: &u32| match *number == mark.0 {
            true => mark.1,
            false => segment_path(links, *number).metadata().map_or(0, |file| file.len()),
        };
        let total = waiting.iter().map(length).sum::<u64>().saturating_sub(offset);
        let mut batch = Batch::default();
        let mut behind = 0u64;
        for number in waiting {
            let start = if number == first { offset } else { HEADER_BYTES };
            let Some(mut segment) = Segment::open_at(links, number, start)? else { continue };
            let until = if number == mark.0 { mark.1 } else { u64::MAX };
            while segment.offset < until && self.take(&mut segment, number, &mut batch)? {
                if batch.count.is_multiple_of(REPORT_EVERY) {
                    let done = behind + (segment.offset - start);
                    (self.update.progress)(Step::Reading(done, total))?;
                }
                if batch.is_full(&self.update.limits) {
                    self.flush(&mut batch)?;
                }
            }
            behind += segment.offset - start;
        }
        self.flush(&mut batch)
    }

    /// One record; false when there is none that can be read.
    fn take(
        &mut self,
        segment: &mut Segment,
        number: u32,
        batch: &mut Batch,
    ) -> Result<bool, Stop> {
        let at = segment.offset;
        let mut targets = std::mem::take(&mut batch.targets);
        let found = segment.skim(&mut targets);
        batch.targets = targets;
        let error = |e| StoreError::io("read", segment_path(self.update.links, number), e);
        let Some((source, time)) = found.map_err(error)? else { return Ok(false) };
        batch.add(pack((number, at)), source, time);
        self.manifest.covered = (number, segment.offset);
        let frame = segment.bytes.first_chunk::<FRAME_BYTES>();
        self.manifest.last = frame.map(|frame| ((number, at), *frame));
        Ok(true)
    }

    /// What was read becomes a run.
    fn flush(&mut self, batch: &mut Batch) -> Result<(), Stop> {
        if batch.records.is_empty() {
            return Ok(());
        }
        batch.by_source.sort_unstable();
        batch.by_target.sort_unstable();
        (self.update.progress)(Step::Writing)?;
        self.supersede(&batch.by_source)?;
        let info = RunInfo {
            number: self.manifest.next_run,
            records: batch.records.len() as u64,
            targets: batch.by_target.len() as u64,
        };
        let dir = &self.update.dir;
        let mut writer = RunWriter::create(dir, info)?;
        batch.records.drain(..).try_for_each(|row| writer.put(row))?;
        batch.by_source.drain(..).try_for_each(|row| writer.put(row))?;
        batch.by_target.drain(..).try_for_each(|row| writer.put(row))?;
        (self.update.progress)(Step::Writing)?;
        writer.finish(dir)?;
        self.publish(self.runs.len(), info)?;
        match self.runs.len() >= self.update.limits.runs {
            true => self.merge_alike(),
            false => Ok(()),
        }
    }

    /// Marks the records that those of a new run (by source) follow: in the runs before, and among themselves.
    fn supersede(&mut self, new: &[Pair]) -> Result<(), StoreError> {
        let manifest = &mut self.manifest;
        let mut base = 0;
        for run in &self.runs {
            let mut finder = run.by_source.finder();
            for pair in new {
                let found =
                    finder.each(pair.key, |record| manifest.supersede(base + u64::from(record)));
                let path = || run_path(&self.update.dir, run.info.number);
                found.map_err(|e| StoreError::io("read", path(), e))?;
            }
            base += run.info.records;
        }
        for two in new.windows(2).filter(|two| two[0].key == two[1].key) {
            manifest.supersede(base + u64::from(two[0].record));
        }
        Ok(())
    }

    /// The runs from `from` on are replaced by this one, for everybody who asks from now on.
    fn publish(&mut self, from: usize, info: RunInfo) -> Result<(), Stop> {
        (self.update.progress)(Step::Publishing)?;
        let now = (self.update.read_state)()?;
        if now.removing || now.rewritten != self.manifest.rewritten {
            return Err(Stop::Rewritten);
        }
        let dir = &self.update.dir;
        self.manifest.next_run = info.number + 1;
        let old: Vec<RunInfo> = self.manifest.runs.splice(from.., [info]).collect();
        self.manifest.save(dir)?;
        let opened = Run::open(dir, info)?.ok_or_else(|| StoreError::Corrupt {
            path: run_path(dir, info.number),
            detail: "it is not as it was just written".to_owned(),
        })?;
        self.runs.splice(from.., [opened]);
        (self.update.progress)(Step::Publishing)?;
        for run in old {
            let path = run_path(dir, run.number);
            fs::remove_file(&path).map_err(|e| StoreError::io("remove", path, e))?;
        }
        Ok(())
    }

    /// Merges the newest runs while those behind a run are together as large as it is: so each is larger than
    /// all behind it, and there are few.
    fn merge_alike(&mut self) -> Result<(), Stop> {
        let Some(from) = first_to_merge(&self.manifest.runs) else { return Ok(()) };
        (self.update.progress)(Step::Merging)?;
        let number = self.manifest.next_run;
        let info = merge(&self.update.dir, number, &self.runs[from..], self.update.progress)?;
        self.publish(from, info)
    }
}

fn first_to_merge(runs: &[RunInfo]) -> Option<usize> {
    let rows = |runs: &[RunInfo]| runs.iter().map(|run| run.records + run.targets).sum::<u64>();
    let records = |runs: &[RunInfo]| runs.iter().map(|run| run.records).sum::<u64>();
    (0..runs.len().saturating_sub(1)).find(|at| {
        let (run, behind) = (&runs[*at..=*at], &runs[at + 1..]);
        rows(run) <= rows(behind) && records(&runs[*at..]) < RECORDS_MAX
    })
}

/// What was read and is in no run yet.
#[derive(Default)]
struct Batch {
    records: Vec<RecordRow>,
    by_source: Vec<Pair>,
    by_target: Vec<Pair>,
    /// Of the record read last.
    targets: Vec<Fingerprint>,
    /// Records of all batches.
    count: u64,
}

impl Batch {
    fn add(&mut self, position: u64, source: Fingerprint, at: Timestamp) {
        let record = self.records.len() as u32;
        self.records.push(RecordRow { position, source: source.0, at: at.0 });
        self.by_source.push(Pair { key: source.0, record });
        self.targets.sort_unstable();
        self.targets.dedup();
        self.by_target.extend(self.targets.iter().map(|fp| Pair { key: fp.0, record }));
        self.count += 1;
    }

    fn is_full(&self, limits: &Limits) -> bool {
        self.by_target.len() >= limits.pairs || self.records.len() >= limits.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(sizes: &[u64]) -> Vec<RunInfo> {
        sizes.iter().map(|size| RunInfo { number: 1, records: 0, targets: *size }).collect()
    }

    #[test]
    fn every_run_stays_larger_than_all_behind_it() {
        let from = |sizes: &[u64]| first_to_merge(&runs(sizes));
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[5]), None);
        assert_eq!(from(&[20, 1]), None);
        assert_eq!(from(&[4, 4, 4, 4, 1]), Some(0));
        assert_eq!(from(&[20, 2, 1, 1]), Some(1));
        let full = RunInfo { number: 1, records: RECORDS_MAX - 1, targets: 0 };
        assert_eq!(first_to_merge(&[full, full]), None, "numbers of records have 32 bits");
    }
}
