//! A run: what the index knows of a stretch of the segments, in a file that is written once.
//!
//! A header, then three tables: the records of the stretch in their order; their numbers by source; their
//! numbers by the targets of their links, each target once a record.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use model::StoreError;

use super::table::{Pair, RecordRow, Row, Table};

const MAGIC: &[u8; 8] = b"HVLRUN01";
const HEADER_BYTES: u64 = 24;

/// Records have numbers of 32 bits within their run.
pub(super) const RECORDS_MAX: u64 = u32::MAX as u64;

/// What the manifest says of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunInfo {
    pub(super) number: u64,
    pub(super) records: u64,
    /// Rows of the table by target.
    pub(super) targets: u64,
}

impl RunInfo {
    fn bytes(&self) -> u64 {
        let rows = |count: u64, bytes: usize| count.saturating_mul(bytes as u64);
        HEADER_BYTES
            .saturating_add(rows(self.records, RecordRow::BYTES + Pair::BYTES))
            .saturating_add(rows(self.targets, Pair::BYTES))
    }
}

pub(super) fn run_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.run"))
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) info: RunInfo,
    /// By number.
    pub(super) records: Table<RecordRow>,
    pub(super) by_source: Table<Pair>,
    pub(super) by_target: Table<Pair>,
}

impl Run {
    /// `None` when it is not there, or not as it was written.
    pub(super) fn open(dir: &Path, info: RunInfo) -> Result<Option<Run>, StoreError> {
        let path = run_path(dir, info.number);
        let error = |e| StoreError::io("read", &path, e);
        let file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(error)?,
        };
        if file.metadata().map_err(error)?.len() != info.bytes() {
            return Ok(None);
        }
        let mut begins = vec![0; HEADER_BYTES as usize];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut begins, 0).map_err(error)?;
        if begins != header(info.records, info.targets) {
            return Ok(None);
        }
        let file = Arc::new(file);
        let by_source = HEADER_BYTES + info.records * RecordRow::BYTES as u64;
        let by_target = by_source + info.records * Pair::BYTES as u64;
        Ok(Some(Run {
            info,
            records: Table::new(Arc::clone(&file), HEADER_BYTES, info.records),
            by_source: Table::new(Arc::clone(&file), by_source, info.records),
            by_target: Table::new(file, by_target, info.targets),
        }))
    }
}

fn header(records: u64, targets: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(records.to_le_bytes());
    bytes.extend(targets.to_le_bytes());
    bytes
}

/// Writes a run, table by table, under a name that says it is not done.
pub(super) struct RunWriter {
    path: PathBuf,
    info: RunInfo,
    file: BufWriter<File>,
    bytes: Vec<u8>,
}

pub(super) const UNDONE: &str = ".new";

impl RunWriter {
    pub(super) fn create(dir: &Path, info: RunInfo) -> Result<RunWriter, StoreError> {
        let mut path = run_path(dir, info.number).into_os_string();
        path.push(UNDONE);
        let path = PathBuf::from(path);
        let error = |e| StoreError::io("write", &path, e);
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(error)?);
        file.write_all(&header(info.records, info.targets)).map_err(error)?;
        Ok(RunWriter { path, info, file, bytes: Vec::new() })
    }

    pub(super) fn put<R: Row>(&mut self, row: R) -> Result<(), StoreError> {
        self.bytes.clear();
        row.write(&mut self.bytes);
        self.file.write_all(&self.bytes).map_err(|e| StoreError::io("write", &self.path, e))
    }

    /// On disk and under its name when this returns.
    pub(super) fn finish(self, dir: &Path) -> Result<RunInfo, StoreError> {
        let RunWriter { path, info, file, .. } = self;
        let error = |e| StoreError::io("write", &path, e);
        let file = file.into_inner().map_err(|e| error(e.into_error()))?;
        file.sync_all().map_err(error)?;
        std::fs::rename(&path, run_path(dir, info.number)).map_err(error)?;
        Ok(info)
    }
}
