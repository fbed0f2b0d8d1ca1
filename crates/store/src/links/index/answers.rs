//! What can be asked of the index.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use model::{Fingerprint, StoreError, Timestamp};

use super::{
    super::{
        FRAME_BYTES, LinkPosition, LinkRecord,
        encoding::{decode, frame},
        segment_path,
    },
    LinkIndex,
    merge::Merged,
    pack,
    run::{Run, run_path},
    table::{Pair, Walk},
    unpack,
};

/// Which record of all: they are numbered in the order they were settled in, from 0. It holds as long as the index
/// it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

/// The links of a page at one visit, as a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: RecordNumber,
    /// Where the record begins.
    pub position: LinkPosition,
    pub source: Fingerprint,
    pub at: Timestamp,
    /// No later visit brought other links of the page.
    pub latest: bool,
}

/// How many records lead to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// The latest of their pages: as many pages as link to it now.
    pub latest: u64,
    /// Of earlier visits.
    pub earlier: u64,
}

/// A page links to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub target: Fingerprint,
    pub source: RecordNumber,
}

/// Rows of an answer that are read at once: few at first, most pages have few.
const ROWS: u64 = 64;
/// Rows of a table that is read as a whole.
const ROWS_OF_ALL: u64 = 8_192;
/// Most records are read with one call.
const RECORD_BYTES: usize = 4_096;

impl LinkIndex {
    /// Records of all pages, also of earlier visits.
    pub fn len(&self) -> u64 {
        self.manifest.records()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records with a link to this page, oldest first, those of earlier visits among them; `after`: those behind
    /// this place.
    pub fn linking_to(&self, target: Fingerprint, after: Option<LinkPosition>) -> Referrers<'_> {
        Referrers { index: self, target, after: after.map(pack), run: 0, base: 0, rows: None }
    }

    pub fn count_linking_to(&self, target: Fingerprint) -> Result<LinkCount, StoreError> {
        let mut count = LinkCount::default();
        for (base, run) in self.based() {
            let error = |e| self.error(run, e);
            let (from, to) = run.by_target.range(target.0).map_err(error)?;
            for pair in run.by_target.walk(from, to, ROWS_OF_ALL) {
                let record = base + u64::from(pair.map_err(error)?.record);
                match self.manifest.is_superseded(record) {
                    true => count.earlier += 1,
                    false => count.latest += 1,
                }
            }
        }
        Ok(count)
    }

    /// All records of a page, oldest first.
    pub fn records_of(&self, source: Fingerprint) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        for (base, run) in self.based() {
            let error = |e| self.error(run, e);
            let (from, to) = run.by_source.range(source.0).map_err(error)?;
            for pair in run.by_source.walk(from, to, ROWS) {
                entries.push(self.entry(run, base, pair.map_err(error)?.record)?);
            }
        }
        Ok(entries)
    }

    /// Whether this record has a link to that page.
    pub fn leads_to(&self, record: RecordNumber, target: Fingerprint) -> Result<bool, StoreError> {
        let found = self.based().find(|(base, run)| record.0 < base + run.info.records);
        let Some((base, run)) = found else { return Ok(false) };
        let pair = Pair { key: target.0, record: (record.0 - base) as u32 };
        run.by_target.contains(pair).map_err(|e| self.error(run, e))
    }

    /// The record itself; `None` when it cannot be read, because the segment is damaged there.
    pub fn read(&self, entry: &Entry) -> Result<Option<LinkRecord>, StoreError> {
        let (segment, offset) = entry.position;
        let found = self.segment(segment).and_then(|file| read_record(&file, offset));
        let record = match found {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            other => {
                other.map_err(|e| StoreError::io("read", segment_path(&self.links, segment), e))?
            }
        };
        Ok(record.filter(|record| record.source == entry.source))
    }

    /// Every record in order: for who reads all of them.
    pub fn records(&self) -> impl Iterator<Item = Result<Entry, StoreError>> {
        self.based().flat_map(move |(base, run)| {
            let rows = run.records.walk(0, run.info.records, ROWS_OF_ALL);
            (base..).zip(rows).map(move |(number, row)| {
                let row = row.map_err(|e| self.error(run, e))?;
                Ok(self.entry_of(number, &row))
            })
        })
    }

    /// Every link from the latest record of a page, by target; several from one page to another are one.
    pub fn edges(&self) -> Result<impl Iterator<Item = Result<Edge, StoreError>>, StoreError> {
        let error = |e| StoreError::io("read", super::folder(&self.links), e);
        let tables = self.runs.iter().map(|run| (run.info.records, &run.by_target));
        let pairs = Merged::new(tables).map_err(error)?;
        Ok(pairs.filter_map(move |pair| match pair {
            Ok((_, record)) if self.manifest.is_superseded(record) => None,
            Ok((key, record)) => {
                Some(Ok(Edge { target: Fingerprint(key), source: RecordNumber(record) }))
            }
            Err(e) => Some(Err(error(e))),
        }))
    }

    /// The runs, and how many records there are before each.
    fn based(&self) -> impl Iterator<Item = (u64, &Run)> {
        self.runs.iter().scan(0, |base, run| {
            let before = *base;
            *base += run.info.records;
            Some((before, run))
        })
    }

    fn entry(&self, run: &Run, base: u64, record: u32) -> Result<Entry, StoreError> {
        let row = run.records.get(u64::from(record)).map_err(|e| self.error(run, e))?;
        Ok(self.entry_of(base + u64::from(record), &row))
    }

    fn entry_of(&self, number: u64, row: &super::table::RecordRow) -> Entry {
        Entry {
            number: RecordNumber(number),
            position: unpack(row.position),
            source: Fingerprint(row.source),
            at: Timestamp(row.at),
            latest: !self.manifest.is_superseded(number),
        }
    }

    fn segment(&self, number: u32) -> io::Result<Arc<File>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(&number) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(File::open(segment_path(&self.links, number))?);
        files.insert(number, Arc::clone(&file));
        Ok(file)
    }

    fn error(&self, run: &Run, error: io::Error) -> StoreError {
        let path: PathBuf = run_path(&super::folder(&self.links), run.info.number);
        StoreError::io("read", path, error)
    }
}

fn read_record(file: &File, offset: u64) -> io::Result<Option<LinkRecord>> {
    let mut bytes = vec![0; RECORD_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    let Some((length, sum)) = bytes.first_chunk().and_then(|head| frame(*head)) else {
        return Ok(None);
    };
    let whole = FRAME_BYTES + length;
    if whole > bytes.len() && bytes.len() == RECORD_BYTES {
        bytes.resize(whole, 0);
        match file.read_exact_at(&mut bytes[RECORD_BYTES..], offset + RECORD_BYTES as u64) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
    }
    Ok(bytes.get(FRAME_BYTES..whole).and_then(|body| decode(body, sum)))
}

/// Records that lead to a page.
pub struct Referrers<'a> {
    index: &'a LinkIndex,
    target: Fingerprint,
    after: Option<u64>,
    /// The one to be opened next.
    run: usize,
    base: u64,
    rows: Option<(u64, &'a Run, Walk<Pair>)>,
}

impl<'a> Referrers<'a> {
    fn advance(&mut self) -> Result<Option<Entry>, StoreError> {
        loop {
            if let Some((base, run, rows)) = &mut self.rows {
                if let Some(pair) = rows.next() {
                    let pair = pair.map_err(|e| self.index.error(run, e))?;
                    return self.index.entry(run, *base, pair.record).map(Some);
                }
                self.rows = None;
            }
            let Some(run) = self.index.runs.get(self.run) else { return Ok(None) };
            self.rows = Some(self.open(run).map_err(|e| self.index.error(run, e))?);
            self.run += 1;
            self.base += run.info.records;
        }
    }

    fn open(&self, run: &'a Run) -> io::Result<(u64, &'a Run, Walk<Pair>)> {
        let (mut from, to) = run.by_target.range(self.target.0)?;
        if let Some(after) = self.after.filter(|_| from < to) {
            let record = run.records.partition(|row| row.position <= after)?;
            let record = u32::try_from(record).unwrap_or(u32::MAX);
            let wanted = Pair { key: self.target.0, record };
            from = run.by_target.lower_bound(wanted, (from, self.target.0))?.min(to);
        }
        Ok((self.base, run, run.by_target.walk(from, to, ROWS)))
    }
}

impl Iterator for Referrers<'_> {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
