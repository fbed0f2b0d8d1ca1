//! Whether database, volumes and link segments are whole and agree. Changes nothing unless asked to
//! repair.

use std::path::PathBuf;

use model::Timestamp;
use serde::{Deserialize, Serialize};
use store::{
    collection::{Collection, CrawlLock},
    forget::{self, Rewritten, rewrite_revisits},
    frontier::{RecordExtent, SqlFrontier},
    links::LinkReader,
    warc::{Verifier, Volumes},
};

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
    /// A takedown that was interrupted was completed first.
    pub takedown_completed: bool,
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

/// Who calls holds the lock: counters can be compared only while nobody changes them.
pub fn check(
    collection: &Collection,
    lock: &CrawlLock,
    repair: bool,
    now: Timestamp,
    progress: &mut dyn FnMut(CheckStep),
) -> Result<CheckReport, Error> {
    let takedown_completed = forget::finish(collection, lock, now, &mut |_| Ok(()))?;
    let report = CheckReport { takedown_completed, ..CheckReport::default() };
    let mut frontier = collection.frontier()?;
    let mut check = Check { collection, report, old_volumes: Vec::new() };
    for finding in frontier.verify(true)? {
        check.found(Part::Database, None, finding.text);
    }
    let broken_counters = !check.report.findings.is_empty();
    check.volumes(verifier(&frontier)?, progress)?;
    check.records(&frontier)?;
    check.links(&frontier)?;
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
    /// Volumes with revisits of the old form.
    old_volumes: Vec<u32>,
}

impl Check<'_> {
    fn found(&mut self, part: Part, file: Option<PathBuf>, text: String) {
        self.report.findings.push(Finding { part, file, text });
    }

    fn volumes(
        &mut self,
        mut verifier: Verifier,
        progress: &mut dyn FnMut(CheckStep),
    ) -> Result<(), Error> {
        for volume in Volumes::new(self.collection.volumes()).list()? {
            progress(CheckStep::Reading(volume.path.clone()));
            let read = verifier.volume(&volume.path)?;
            self.report.volumes += 1;
            self.report.records += read.records;
            self.report.references_home += read.at_home;
            self.report.old_revisits += read.old_form;
            if read.old_form > 0 {
                self.old_volumes.push(volume.number);
            }
            for problem in &read.problems {
                self.found(Part::Volumes, Some(volume.path.clone()), problem.to_string());
            }
            let more = read.problem_count.saturating_sub(read.problems.len() as u64);
            if more > 0 {
                self.found(Part::Volumes, Some(volume.path), format!("{more} more"));
            }
        }
        Ok(())
    }

    /// Every record that a visit names lies in a volume that is there and long enough.
    fn records(&mut self, frontier: &SqlFrontier) -> Result<(), Error> {
        let volumes = Volumes::new(self.collection.volumes());
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
