//! The index beside a sealed volume (`….warc.gz.idx`): target, date, kind and place of every record, so that
//! takedown, thinning and others read what they need instead of the whole volume.
//!
//! It is derived and can be deleted at any time: one that is missing, damaged or not of this volume is made again
//! from the volume ([`make`]). It is never trusted blindly. Its head names the volume by size, digest and
//! a probe of its first and last bytes; each block has a checksum; and the places of its entries must fill the
//! volume from the first byte to the last. Only who has read it to its end without an error may act by it.
//!
//! The digest is compared where the volume is read anyway (`check`); the rest at every use.
//!
//! The format is described in `docs/formats.md`.

mod make;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use make::{IndexState, index_state, make_index, sealed_identity};
pub(crate) use make::{confirms, make, rewritten};
pub(crate) use read::IndexReader;
pub(super) use write::{IndexWriter, write_file};

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use model::{ArchiveEntry, EntryKind, Timestamp};
use xxhash_rust::xxh3::Xxh3;

use super::{date::date_text, encode::Packed, press::Press, reader::Record};

/// Ends the name of the index of a volume.
pub(crate) const ENDING: &str = ".idx";

/// Ends the name of an index that is being written.
const NEW: &str = ".new";

const MAGIC: &[u8; 8] = b"HVVIDX01";
/// Magic, size, digest, probe, number of entries, length of the body, checksum of all these.
const HEAD_BYTES: usize = 8 + 8 + 32 + 8 + 8 + 8 + 8;
/// Length plain and packed, checksum.
const BLOCK_HEAD_BYTES: usize = 4 + 4 + 8;
/// A block is packed when it has reached this.
const BLOCK_BYTES: usize = 256 << 10;
/// An entry has two URIs at the most, each as long as the fields of a record may be.
const BLOCK_BYTES_MAX: usize = 1 << 20;
/// Held in memory while a volume grows. Some ten times what a volume of the usual size takes; a volume that
/// needs more has no index and is read whole.
const BODY_BYTES_MAX: usize = 64 << 20;
/// At both ends of a volume.
const PROBE_BYTES: u64 = 4 << 10;

/// One record of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) kind: Kind,
    /// The very texts of the fields; empty where there is none.
    pub(crate) uri: String,
    pub(crate) date: String,
    /// Target and date of the record that a revisit refers to.
    pub(crate) refers: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Other,
    Info,
    Request,
    Response,
    Revisit,
}

/// Which file an index is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub bytes: u64,
    /// SHA-256 of the whole file.
    pub digest: [u8; 32],
    /// Checksum of its first and last bytes, which costs nothing to compare.
    pub(super) probe: u64,
}

impl Entry {
    pub(crate) fn of(record: &Record) -> Entry {
        let text = |name| record.field(name).unwrap_or_default().to_owned();
        let (uri, date) = (text("WARC-Refers-To-Target-URI"), text("WARC-Refers-To-Date"));
        Entry {
            offset: record.offset,
            length: record.length,
            kind: Kind::of(record.kind()),
            uri: text("WARC-Target-URI"),
            date: text("WARC-Date"),
            refers: (!uri.is_empty() || !date.is_empty()).then_some((uri, date)),
        }
    }

    /// The request and the response of an entry that begins at `start`.
    pub(super) fn of_pair(entry: &ArchiveEntry<'_>, start: u64, packed: &Packed<'_>) -> [Entry; 2] {
        let (all, first) = (packed.bytes.len() as u64, packed.response_at as u64);
        let (uri, date) = (entry.exchange.url.as_str(), date_text(entry.exchange.started));
        let request = Entry {
            offset: start,
            length: first,
            kind: Kind::Request,
            uri: uri.to_owned(),
            date,
            refers: None,
        };
        let (kind, refers) = match &entry.kind {
            EntryKind::Response => (Kind::Response, None),
            EntryKind::SamePayload(earlier) | EntryKind::NotModified(earlier) => {
                (Kind::Revisit, Some((earlier.target_uri.clone(), date_text(earlier.date))))
            }
        };
        let (offset, length) = (start + first, all - first);
        let response = Entry { offset, length, kind, refers, ..request.clone() };
        [request, response]
    }

    /// The warcinfo of a volume that begins with so many bytes.
    pub(super) fn of_info(press: &Press, head: usize, now: Timestamp) -> Entry {
        let offset = press.preamble().len() as u64;
        let (length, date) = (head as u64 - offset, date_text(now));
        Entry { offset, length, kind: Kind::Info, date, ..Entry::default() }
    }

    pub(crate) fn end(&self) -> u64 {
        self.offset + self.length
    }
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Other, Kind::Info, Kind::Request, Kind::Response, Kind::Revisit];

    fn of(word: &str) -> Kind {
        match word {
            "warcinfo" => Kind::Info,
            "request" => Kind::Request,
            "response" => Kind::Response,
            "revisit" => Kind::Revisit,
            _ => Kind::Other,
        }
    }

    fn number(self) -> u8 {
        match self {
            Kind::Other => 0,
            Kind::Info => 1,
            Kind::Request => 2,
            Kind::Response => 3,
            Kind::Revisit => 4,
        }
    }

    fn from_number(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }
}

impl Identity {
    /// Of a file that is written: its digest is known to who wrote it.
    pub(crate) fn of(path: &Path, digest: [u8; 32]) -> io::Result<Identity> {
        let (bytes, probe) = probe(path)?;
        Ok(Identity { bytes, digest, probe })
    }
}

pub(crate) fn index_path(volume: &Path) -> PathBuf {
    let mut name = volume.as_os_str().to_owned();
    name.push(ENDING);
    PathBuf::from(name)
}

/// Removes what names records of volumes that are not there (any more), and what was not written to its end.
pub(crate) fn remove_stray_indexes(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let half_made = name.ends_with(&format!("{ENDING}{NEW}"));
        if half_made || name.ends_with(ENDING) && !path.with_extension("").exists() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Size of the file, and a checksum of its first and last bytes.
fn probe(path: &Path) -> io::Result<(u64, u64)> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut hash = Xxh3::new();
    let mut part = vec![0; PROBE_BYTES.min(bytes) as usize];
    for at in [0, bytes.saturating_sub(PROBE_BYTES)] {
        file.read_exact_at(&mut part, at)?;
        hash.update(&part);
    }
    Ok((bytes, hash.digest()))
}
