//! Reads volumes whole and says what is wrong with them: what `check` asks, and more than any one of the
//! public checkers sees (they pass torn files, repeated ids and dangling references).
//!
//! Give the volumes of a collection to one [`Verifier`] in their order: revisits refer backwards, also
//! into earlier volumes. It remembers 8 bytes for each record id and each capture. Where a batch is harvested, the
//! records that were there before the batch are at home ([`Verifier::of_batch`]).

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::File,
    io::BufReader,
    path::Path,
};

use model::{StoreError, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    date::parse_date,
    digest::{parse_digest, sha1},
    hashed::Hashed,
    not_modified::is_old_form,
    reader::{ReadError, Record, WarcReader},
};

/// Problems listed for one volume; all are counted.
const PROBLEMS_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub struct Verifier {
    ids: HashSet<u64>,
    captures: HashSet<u64>,
    /// Records up to this moment may lie in another collection.
    at_home_to: Option<Timestamp>,
}

#[derive(Debug, Default)]
pub struct Report {
    pub records: u64,
    /// Responses and revisits.
    pub captures: u64,
    pub problem_count: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// Digests that could not be compared: of another algorithm, or a block too long to keep.
    pub unverified: u64,
    /// Revisits that refer to records at home, of which nothing can be said here.
    pub at_home: u64,
    /// Revisits in a form that some readers do not replay ([`crate::forget::rewrite_revisits`]).
    pub old_form: u64,
    /// SHA-256 of the file, as far as it was read: of all of it, if it is sound.
    pub digest: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Of the record it is about.
    pub offset: u64,
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record at {}: {}", self.offset, self.detail)
    }
}

/// Verifies one volume alone: a revisit may then only refer into it.
pub fn verify_volume(path: &Path) -> Result<Report, StoreError> {
    Verifier::default().volume(path)
}

/// Whether a record has the bytes that its digests say.
pub fn verify_record(record: &Record) -> bool {
    let mut report = Report::default();
    digests(record, &mut report);
    report.is_sound()
}

impl Verifier {
    /// Of a folder that harvests a batch made then: what its revisits refer to may be older, and at home.
    pub fn of_batch(made: Timestamp) -> Verifier {
        Verifier { at_home_to: Some(made), ..Verifier::default() }
    }

    /// Damage is in the report; only trouble with reading is an error.
    pub fn volume(&mut self, path: &Path) -> Result<Report, StoreError> {
        let file = File::open(path).map_err(|e| StoreError::io("open", path, e))?;
        let mut file = Hashed::new(BufReader::with_capacity(1 << 20, file));
        let reader = WarcReader::new(&mut file);
        let mut report = Report::default();
        let mut concurrent = Concurrent::default();
        for record in reader {
            match record {
                Ok(record) => {
                    if report.records == 0 && record.kind() != "warcinfo" {
                        report.add(record.offset, "the first record is no warcinfo");
                    }
                    report.records += 1;
                    self.record(&record, &mut report, &mut concurrent);
                }
                Err(ReadError::Io(e)) => return Err(StoreError::io("read", path, e)),
                Err(ReadError::Torn { offset }) => report.add(offset, "the file ends inside it"),
                Err(ReadError::Damaged { offset, detail }) => report.add(offset, detail),
            }
        }
        if report.records == 0 {
            report.add(0, "there is none");
        }
        concurrent.report(&mut report);
        report.digest = file.digest();
        Ok(report)
    }

    fn record(&mut self, record: &Record, report: &mut Report, concurrent: &mut Concurrent) {
        if !record.own_member {
            report.add(record.offset, "it shares its compressed member with another record");
        }
        self.id(record, report, concurrent);
        if record.field("WARC-Date").and_then(parse_date).is_none() {
            report.add(record.offset, "it has no readable date");
        }
        match record.kind() {
            "response" => {
                report.captures += 1;
                self.captures.insert(capture(record, "WARC-Target-URI", "WARC-Date"));
            }
            "revisit" => {
                report.captures += 1;
                report.old_form += u64::from(is_old_form(record));
                self.revisit(record, report);
            }
            _ => {}
        }
        digests(record, report);
    }

    fn id(&mut self, record: &Record, report: &mut Report, concurrent: &mut Concurrent) {
        let Some(id) = record.field("WARC-Record-ID") else {
            report.add(record.offset, "it has no record id");
            return;
        };
        if !self.ids.insert(xxh3_64(id.as_bytes())) {
            report.add(record.offset, format!("its id {id} is taken"));
        }
        concurrent.ids.insert(xxh3_64(id.as_bytes()));
        for other in record.fields.all("WARC-Concurrent-To") {
            concurrent.wanted.entry(xxh3_64(other.as_bytes())).or_insert(record.offset);
        }
        concurrent.forget_met();
    }

    fn revisit(&self, record: &Record, report: &mut Report) {
        let target = capture(record, "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date");
        if !self.captures.contains(&target) {
            match self.is_at_home(record) {
                true => report.at_home += 1,
                false => report.add(record.offset, "what it refers to is in no volume before it"),
            }
        }
        if record.field("WARC-Profile").is_none() {
            report.add(record.offset, "it is a revisit without a profile");
        }
    }

    fn is_at_home(&self, revisit: &Record) -> bool {
        let date = revisit.field("WARC-Refers-To-Date").and_then(parse_date);
        date.zip(self.at_home_to).is_some_and(|(date, to)| date <= to)
    }
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    fn add(&mut self, offset: u64, detail: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { offset, detail: detail.into() });
        }
    }
}

/// References between the records of one capture, which lie near each other in one volume.
#[derive(Default)]
struct Concurrent {
    ids: HashSet<u64>,
    /// Id to the record that names it.
    wanted: HashMap<u64, u64>,
}

impl Concurrent {
    /// Keeps the map as small as the references that are still open.
    fn forget_met(&mut self) {
        if self.wanted.len() > 1_000 {
            self.wanted.retain(|id, _| !self.ids.contains(id));
        }
    }

    fn report(&self, report: &mut Report) {
        let mut open: Vec<u64> = self
            .wanted
            .iter()
            .filter(|(id, _)| !self.ids.contains(id))
            .map(|(_, &at)| at)
            .collect();
        open.sort_unstable();
        for offset in open {
            report.add(offset, "the record it is concurrent to is missing");
        }
    }
}

fn capture(record: &Record, uri: &str, date: &str) -> u64 {
    let (uri, date) = (record.field(uri).unwrap_or(""), record.field(date).unwrap_or(""));
    xxh3_64(format!("{date} {uri}").as_bytes())
}

fn digests(record: &Record, report: &mut Report) {
    let block = record.field("WARC-Block-Digest");
    let payload = record.field("WARC-Payload-Digest").filter(|_| record.kind() == "response");
    if record.cut {
        report.unverified += u64::from(block.is_some()) + u64::from(payload.is_some());
        return;
    }
    if let Some(said) = block {
        compare(record, "block", said, || sha1(&[&record.block]), report);
    }
    if let Some(said) = payload {
        compare(record, "payload", said, || sha1(&[&record.http().entity()]), report);
    }
}

fn compare(
    record: &Record,
    what: &str,
    said: &str,
    found: impl FnOnce() -> [u8; 20],
    report: &mut Report,
) {
    match parse_digest(said) {
        None => report.unverified += 1,
        Some(said) if said == found() => {}
        Some(_) => report.add(record.offset, format!("its {what} digest does not match")),
    }
}
