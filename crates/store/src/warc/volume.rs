//! The volume that grows: a write buffer in front of a file that always ends at a whole pair.
//!
//! The buffer is written at once and as a whole, so the file's length after a good write is a place
//! between pairs. After a write that found no room the file is cut back to the last such place and the
//! buffer is kept: when there is room again the same bytes go to the same place.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use model::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    disk::{Disk, VolumeFile, is_full},
    hashed::Hashed,
    index::{Entry, IndexWriter},
};

/// Written in blocks of about this size: VN's disks drowned in small writes.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
/// What may wait in memory while the disk is full; above it `append` itself says so.
pub(super) const WAITING_BYTES_MAX: usize = 16 << 20;

pub(super) struct Volume {
    pub(super) number: u32,
    /// The name it has while it is open.
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn VolumeFile>,
    /// Bytes in the file.
    written: u64,
    /// Bytes known to be on disk.
    synced: u64,
    buffer: Vec<u8>,
    /// The last write found no room: only try again when asked to sync or out of space for waiting.
    full: bool,
    pairs: u64,
    /// When the newest exchange in it began.
    last: Timestamp,
    index: IndexWriter,
    /// Of the bytes in the file.
    hash: Sha256,
}

/// Why bytes could not be written.
#[derive(Debug)]
pub(super) enum WriteTrouble {
    /// Nothing is lost; try again later.
    Full,
    Failed(io::Error),
}

impl Volume {
    /// A new volume that begins with `head`, of which the last bytes are the record `info`.
    pub(super) fn new(
        number: u32,
        path: PathBuf,
        file: Arc<dyn VolumeFile>,
        head: &[u8],
        info: &Entry,
    ) -> Volume {
        let mut buffer = Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 4);
        buffer.extend_from_slice(head);
        let mut index = IndexWriter::new();
        index.push(info);
        let (written, synced, full, pairs, hash) = (0, 0, false, 0, Sha256::new());
        let last = Timestamp(0);
        Volume { number, path, file, written, synced, buffer, full, pairs, last, index, hash }
    }

    /// Where the next pair will begin.
    pub(super) fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub(super) fn pairs(&self) -> u64 {
        self.pairs
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a pair of this length would make the volume longer than it may be. A pair that is longer
    /// than a volume gets one to itself.
    pub(super) fn is_full_for(&self, length: usize, bytes_max: u64) -> bool {
        self.pairs > 0 && self.end() + length as u64 > bytes_max
    }

    /// Takes a whole pair; returns where it begins. Writes a block when one has gathered.
    pub(super) fn push(&mut self, pair: &[u8]) -> Result<u64, WriteTrouble> {
        self.make_room(pair.len())?;
        let start = self.end();
        self.buffer.extend_from_slice(pair);
        self.pairs += 1;
        Ok(start)
    }

    /// Notes a record of a pair that was taken.
    pub(super) fn note(&mut self, entry: &Entry) {
        self.index.push(entry);
    }

    pub(super) fn met(&mut self, at: Timestamp) {
        self.last = self.last.max(at);
    }

    pub(super) fn last(&self) -> Timestamp {
        self.last
    }

    /// What was noted, and the digest of the file; when all is written.
    pub(super) fn into_index(self) -> (IndexWriter, [u8; 32]) {
        (self.index, self.hash.finalize().into())
    }

    /// Writes what is in the file to another one and syncs that. Only the very bytes that were written count: a disk that
    /// fails may give others back.
    pub(super) fn copy_to(&self, disk: &dyn Disk, to: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        let mut old = Hashed::new(BufReader::new(File::open(&self.path)?.take(self.written)));
        let new = disk.create(to)?;
        let (mut part, mut at) = (vec![0; BLOCK_BYTES], 0);
        loop {
            let length = old.read(&mut part)?;
            if length == 0 {
                break;
            }
            write_all_at(&*new, &part[..length], at)?;
            at += length as u64;
        }
        if old.digest() != <[u8; 32]>::from(self.hash.clone().finalize()) {
            return Err(io::Error::other("what was written cannot be read back"));
        }
        new.sync()?;
        Ok(new)
    }

    /// The file with all that was written, synced, is this one now.
    pub(super) fn lies_at(&mut self, path: PathBuf, file: Arc<dyn VolumeFile>) {
        (self.path, self.file, self.synced, self.full) = (path, file, self.written, false);
    }

    /// The last write found no room.
    pub(super) fn is_stuck(&self) -> bool {
        self.full
    }

    /// Writes the buffer to the file.
    pub(super) fn flush(&mut self) -> Result<(), WriteTrouble> {
        if let Err(error) = self.write_buffer() {
            // Also when the write failed for another reason: a file that ends whole needs no recovery.
            self.file.set_len(self.written).map_err(WriteTrouble::Failed)?;
            if is_full(&error) {
                self.full = true;
                return Err(WriteTrouble::Full);
            }
            return Err(WriteTrouble::Failed(error));
        }
        self.full = false;
        self.written += self.buffer.len() as u64;
        self.hash.update(&self.buffer);
        self.buffer.clear();
        if self.buffer.capacity() > 4 * BLOCK_BYTES {
            self.buffer = Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 4);
        }
        Ok(())
    }

    /// The length to sync, when there is something that is not on disk yet.
    pub(super) fn unsynced(&self) -> Option<u64> {
        (self.written > self.synced).then_some(self.written)
    }

    pub(super) fn synced_to(&mut self, length: u64) {
        self.synced = self.synced.max(length);
    }

    fn make_room(&mut self, length: usize) -> Result<(), WriteTrouble> {
        if self.buffer.len() >= BLOCK_BYTES && !self.full {
            match self.flush() {
                // There is still room in memory: the next sync will say that the disk is full.
                Ok(()) | Err(WriteTrouble::Full) => {}
                failed => return failed,
            }
        }
        if self.buffer.len() + length > WAITING_BYTES_MAX && !self.buffer.is_empty() {
            self.flush()?;
        }
        Ok(())
    }

    fn write_buffer(&self) -> io::Result<()> {
        write_all_at(&*self.file, &self.buffer, self.written)
    }
}

fn write_all_at(file: &dyn VolumeFile, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], at + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
