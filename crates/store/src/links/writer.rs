//! Writing link segments: buffered, rotated by size, on disk after `sync`.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use model::{Fingerprint, Link, SiteId, StoreError, Timestamp};

use super::{HEADER_BYTES, LinkPosition, MAGIC, encoding::encode, segment_path, segments};

pub struct LinkWriter {
    dir: PathBuf,
    file: File,
    segment: u32,
    /// All of the file below this is written.
    written: u64,
    /// What comes after it.
    buffer: Vec<u8>,
    segment_bytes_max: u64,
    poisoned: Option<String>,
}

/// A segment is what a graph builder reads in one go; about a million pages.
const SEGMENT_BYTES_MAX: u64 = 512 << 20;
/// Written in large blocks: small writes drowned the disks of earlier crawlers.
const BUFFER_BYTES: usize = 256 * 1024;

impl LinkWriter {
    /// Opens the segments for appending and cuts off everything above `settled`, the mark of the last
    /// settlement (`None`: nothing was ever settled).
    pub fn open(dir: &Path, settled: Option<LinkPosition>) -> Result<LinkWriter, StoreError> {
        LinkWriter::with_segment_bytes(dir, settled, SEGMENT_BYTES_MAX)
    }

    pub fn with_segment_bytes(
        dir: &Path,
        settled: Option<LinkPosition>,
        segment_bytes_max: u64,
    ) -> Result<LinkWriter, StoreError> {
        fs::create_dir_all(dir).map_err(|e| StoreError::io("create", dir, e))?;
        let (segment, offset) = settled.unwrap_or((1, 0));
        let (file, segment, written) = match resume(dir, segment, offset)? {
            Some(file) => (file, segment, offset),
            None => (start_segment(dir, segment + 1)?, segment + 1, HEADER_BYTES),
        };
        Ok(LinkWriter {
            dir: dir.to_owned(),
            file,
            segment,
            written: written.max(HEADER_BYTES),
            buffer: Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4),
            segment_bytes_max,
            poisoned: None,
        })
    }

    /// Adds the links of a page; the answer is where the record ends. On an error nothing was added.
    pub fn append(
        &mut self,
        source: Fingerprint,
        site: SiteId,
        at: Timestamp,
        links: &[Link],
    ) -> Result<LinkPosition, StoreError> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        if self.position().1 >= self.segment_bytes_max {
            self.rotate()?;
        }
        encode(&mut self.buffer, source, site, at, links);
        Ok(self.position())
    }

    /// Everything appended is on disk when it returns.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.file.sync_data().map_err(|e| {
            // What the system kept of the failed pages is unknown: a second sync would lie.
            self.poisoned = Some(format!("cannot sync link segment {}: {e}", self.segment));
            StoreError::io("sync", segment_path(&self.dir, self.segment), e)
        })
    }

    /// Where the next record will begin.
    pub fn position(&self) -> LinkPosition {
        (self.segment, self.written + self.buffer.len() as u64)
    }

    /// Writes at a known place, so that after a full disk the same bytes are tried again.
    fn flush(&mut self) -> Result<(), StoreError> {
        if let Some(detail) = &self.poisoned {
            return Err(StoreError::Poisoned { detail: detail.clone() });
        }
        self.file
            .write_all_at(&self.buffer, self.written)
            .map_err(|e| StoreError::io("write", segment_path(&self.dir, self.segment), e))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn rotate(&mut self) -> Result<(), StoreError> {
        self.sync()?;
        self.file = start_segment(&self.dir, self.segment + 1)?;
        self.segment += 1;
        self.written = HEADER_BYTES;
        Ok(())
    }
}

/// Cuts the folder back to the mark; `None` when the segment does not reach it (a power cut took what
/// the settlement relied on): then what is there stays and writing goes on in a new segment.
fn resume(dir: &Path, segment: u32, offset: u64) -> Result<Option<File>, StoreError> {
    for later in segments(dir)?.into_iter().filter(|number| *number > segment) {
        let path = segment_path(dir, later);
        fs::remove_file(&path).map_err(|e| StoreError::io("remove", path, e))?;
    }
    let path = segment_path(dir, segment);
    if offset <= HEADER_BYTES {
        return start_segment(dir, segment).map(Some);
    }
    let error = |e| StoreError::io("open", &path, e);
    let file = match File::options().read(true).write(true).open(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), "a link segment is missing");
            return Ok(None);
        }
        other => other.map_err(error)?,
    };
    let length = file.metadata().map_err(error)?.len();
    if length < offset {
        tracing::warn!(path = %path.display(), length, offset, "a link segment lost its end");
        return Ok(None);
    }
    file.set_len(offset).map_err(error)?;
    Ok(Some(file))
}

fn start_segment(dir: &Path, segment: u32) -> Result<File, StoreError> {
    let path = segment_path(dir, segment);
    let error = |e| StoreError::io("create", &path, e);
    let file = File::create(&path).map_err(error)?;
    let mut header = MAGIC.to_vec();
    header.extend(segment.to_le_bytes());
    file.write_all_at(&header, 0).map_err(error)?;
    file.sync_data().map_err(error)?;
    // The name itself must last, too.
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(error)?;
    Ok(file)
}
