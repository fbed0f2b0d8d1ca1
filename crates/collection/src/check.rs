//! Whether database, volumes and link segments are whole and agree. Changes nothing unless asked to
//! repair.

mod lost;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use model::{StoreError, Timestamp};
use serde::{Deserialize, Serialize};
use store::{
    collection::{Collection, CrawlLock},
    forget::{self, Rewritten, rewrite_revisits},
    frontier::{RecordExtent, SqlFrontier},
    links::LinkReader,
    volumes::{self, VolumeRow, VolumeState},
    warc::{IndexState, Report, Verifier, VolumeFileName, hex, index_state, make_index},
};

pub use lost::LostContent;

use crate::Error;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Nothing was found.
    pub sound: bool,
    pub findings: Vec<Finding>,
    /// Counters and due times were set to what the rows say.
    pub repaired: bool,
    pub records: u64,
    pub volumes: u64,
    /// In the folder of a batch: revisits that refer to records of the collection it came from.
    pub references_home: u64,
    /// Revisits in a form that pywb replays blank.
    pub old_revisits: u64,
    /// Those among them that were rewritten, …
    pub rewritten_revisits: u64,
    /// … in so many volumes.
    pub rewritten_volumes: u64,
    /// Content that cannot be read from the volumes.
    pub lost: LostContent,
    /// A takedown that was interrupted was completed first.
    pub takedown_completed: bool,
    /// Indexes of volumes that are damaged or do not fit; they are not used.
    pub damaged_indexes: u64,
    /// Indexes that were made, for volumes without one or with a damaged one.
    pub made_indexes: u64,
    /// What was left as it is.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub part: Part,
    /// The file it is about.
    pub file: Option<PathBuf>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Database,
    Volumes,
    Links,
}

/// How far a check is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStep {
    /// A volume is being read.
    Reading(PathBuf),
    /// Volumes rewritten, of all that need it.
    Rewriting(usize, usize),
}

/// Of a folder that volumes lie in.
const AWAY: &str = "this folder of volumes cannot be reached; is its disk mounted?";

/// Who calls holds the lock: counters can be compared only while nobody changes them.
pub fn check(
    collection: &Collection,
    lock: &CrawlLock,
    repair: bool,
    now: Timestamp,
    progress: &mut dyn FnMut(CheckStep),
) -> Result<CheckReport, Error> {
    let takedown_completed = forget::finish(collection, lock, now, &mut |_| Ok(()))?;
    volumes::follow(collection, &collection.archive()?)?;
    let report = CheckReport { takedown_completed, ..CheckReport::default() };
    let mut frontier = collection.frontier()?;
    let (old_volumes, suspects) = (Vec::new(), BTreeSet::new());
    let mut check = Check { collection, report, repair, old_volumes, suspects };
    for finding in frontier.verify(true)? {
        check.found(Part::Database, None, finding.text);
    }
    let broken_counters = !check.report.findings.is_empty();
    let verifier = verifier(&frontier)?;
    check.volumes(&mut frontier, verifier, now, progress)?;
    check.records(&frontier)?;
    check.links(&frontier)?;
    let follow = frontier.harvested_batch()?.is_none();
    let marked = repair.then_some(now);
    check.report.lost = lost::look(collection, &mut frontier, &check.suspects, follow, marked)?;
    if repair && broken_counters {
        frontier.repair_counters(now)?;
        check.report.repaired = true;
    }
    drop(frontier);
    if repair && check.report.old_revisits > 0 {
        check.rewrite(lock, now, progress)?;
    }
    check.report.sound = check.report.findings.is_empty();
    Ok(check.report)
}

/// What the folder of a batch says of itself.
#[derive(Deserialize)]
struct HarvestedBatch {
    made: Timestamp,
}

fn verifier(frontier: &SqlFrontier) -> Result<Verifier, Error> {
    let text = frontier.harvested_batch()?;
    let batch = text.and_then(|text| serde_json::from_str::<HarvestedBatch>(&text).ok());
    Ok(batch.map_or_else(Verifier::default, |batch| Verifier::of_batch(batch.made)))
}

struct Check<'a> {
    collection: &'a Collection,
    report: CheckReport,
    repair: bool,
    /// Volumes with revisits of the old form.
    old_volumes: Vec<u32>,
    /// Volumes whose records may not all be readable.
    suspects: BTreeSet<u32>,
}

impl Check<'_> {
    fn found(&mut self, part: Part, file: Option<PathBuf>, text: String) {
        self.report.findings.push(Finding { part, file, text });
    }

    fn volumes(
        &mut self,
        frontier: &mut SqlFrontier,
        mut verifier: Verifier,
        now: Timestamp,
        progress: &mut dyn FnMut(CheckStep),
    ) -> Result<(), Error> {
        let volumes = self.collection.archive()?;
        for folder in volumes.away() {
            self.found(Part::Volumes, Some(folder.clone()), AWAY.to_owned());
        }
        let rows = frontier.volume_rows(self.collection)?;
        let mut rows: BTreeMap<u32, VolumeRow> =
            rows.into_iter().map(|row| (row.number, row)).collect();
        for volume in volumes.list()? {
            progress(CheckStep::Reading(volume.path.clone()));
            let read = verifier.volume(&volume.path)?;
            self.report.volumes += 1;
            self.report.records += read.records;
            self.report.references_home += read.at_home;
            self.report.old_revisits += read.old_form;
            if read.old_form > 0 {
                self.old_volumes.push(volume.number);
            }
            if read.problem_count > 0 {
                self.suspects.insert(volume.number);
            }
            self.index(&volume, &read)?;
            if let Some(row) = rows.remove(&volume.number) {
                self.row(&volume, &read, &row, frontier, now)?;
            }
            for problem in &read.problems {
                self.found(Part::Volumes, Some(volume.path.clone()), problem.to_string());
            }
            let more = read.problem_count.saturating_sub(read.problems.len() as u64);
            if more > 0 {
                self.found(Part::Volumes, Some(volume.path), format!("{more} more"));
            }
        }
        self.missing(rows.into_values(), frontier)
    }

    /// The file is the one that was sealed, or rewritten since by this program.
    fn row(
        &mut self,
        volume: &VolumeFileName,
        read: &Report,
        row: &VolumeRow,
        frontier: &mut SqlFrontier,
        now: Timestamp,
    ) -> Result<(), Error> {
        let path = &volume.path;
        let bytes = path.metadata().map_err(|e| StoreError::io("read", path, e))?.len();
        let text = match (row.bytes, row.digest) {
            (Some(known), _) if known != bytes => {
                format!("it has {bytes} bytes; when it was sealed it had {known}")
            }
            // Where a record cannot be read, the rest was not.
            (_, Some(known)) if known != read.digest && read.is_sound() => {
                let known = hex(&known);
                format!("its content has changed: when it was sealed its SHA-256 was {known}")
            }
            (Some(_), None) if self.repair && read.is_sound() => {
                frontier.note_digest(row.number, &read.digest, now)?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.found(Part::Volumes, Some(path.clone()), text);
        Ok(())
    }

    /// Volumes that were sealed and are not there. Those that visits name are found by their records; of what is known
    /// to be lost there is nothing more to say.
    fn missing(
        &mut self,
        rows: impl Iterator<Item = VolumeRow>,
        frontier: &SqlFrontier,
    ) -> Result<(), Error> {
        let extents = frontier.record_extents()?;
        let named = extents.iter().map(|extent| extent.volume);
        let lost = frontier.lost_records()?.into_iter().map(|record| record.at.volume);
        let named: BTreeSet<u32> = named.chain(lost).collect();
        let is_found = |row: &VolumeRow| named.contains(&row.number);
        for row in rows.filter(|row| row.state == VolumeState::Sealed && !is_found(row)) {
            let path = row.folder.join(&row.name);
            self.found(Part::Volumes, Some(path), "it is missing".to_owned());
        }
        Ok(())
    }

    /// An index is made from its volume: one that is missing or does not fit is no damage.
    fn index(&mut self, volume: &VolumeFileName, read: &Report) -> Result<(), Error> {
        let path = &volume.path;
        if !volume.sealed || !read.is_sound() {
            return Ok(());
        }
        let state = index_state(path, &read.digest, read.records)
            .map_err(|e| StoreError::io("read the index of", path, e))?;
        self.report.damaged_indexes += u64::from(state == IndexState::Unfit);
        if self.repair && state != IndexState::Fit {
            self.report.made_indexes += u64::from(make_index(path)?);
        }
        Ok(())
    }

    /// Every record that a visit names lies in a volume that is there and long enough.
    fn records(&mut self, frontier: &SqlFrontier) -> Result<(), Error> {
        let volumes = self.collection.archive()?;
        for extent in frontier.record_extents()? {
            let RecordExtent { volume, end, records } = extent;
            let length = volumes.find(volume)?.and_then(|found| found.path.metadata().ok());
            let text = match length.map(|metadata| metadata.len()) {
                None => {
                    format!("volume {volume} is missing; {records} records of visits are in it")
                }
                Some(length) if length < end => {
                    format!("volume {volume} ends at {length}, but visits name records up to {end}")
                }
                Some(_) => continue,
            };
            self.suspects.insert(volume);
            self.found(Part::Volumes, None, text);
        }
        Ok(())
    }

    /// The link segments are whole up to the place that was settled last.
    fn links(&mut self, frontier: &SqlFrontier) -> Result<(), Error> {
        let Some((segment, offset)) = frontier.marks()?.links else { return Ok(()) };
        let folder = self.collection.links();
        if !folder.is_dir() {
            self.found(Part::Links, Some(folder), "the folder is missing".to_owned());
            return Ok(());
        }
        let mut reader = LinkReader::open(&folder, Some((segment, offset)))?;
        if let Some(error) = reader.by_ref().find_map(Result::err) {
            self.found(Part::Links, None, error.to_string());
        }
        for (segment, at) in reader.torn() {
            self.found(Part::Links, None, format!("segment {segment} is damaged at {at}"));
        }
        let length = LinkReader::segment_bytes(&folder, segment);
        if length < offset {
            let text = format!("segment {segment} ends at {length}, settled up to {offset}");
            self.found(Part::Links, None, text);
        }
        Ok(())
    }

    /// Revisits that pywb replays blank get the form that is written today.
    fn rewrite(
        &mut self,
        lock: &CrawlLock,
        now: Timestamp,
        progress: &mut dyn FnMut(CheckStep),
    ) -> Result<(), Error> {
        let mut steps = |step| {
            if let forget::Step::Writing(done, all) = step {
                progress(CheckStep::Rewriting(done, all));
            }
            Ok(())
        };
        let Rewritten { revisits, volumes, warnings } =
            rewrite_revisits(self.collection, lock, &self.old_volumes, now, &mut steps)?;
        self.report.rewritten_revisits = revisits;
        self.report.rewritten_volumes = volumes;
        self.report.warnings = warnings;
        Ok(())
    }
}
