//! An index as it grows with its volume: blocks of entries, packed.
//!
//! Requests and responses of one exchange have the same target and date, which are written once. Dates are
//! written as differences in milliseconds where that gives the very same text back.

use std::{fs, io, path::Path};

use model::Timestamp;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use zstd::bulk::Compressor;

use super::{
    super::date::{date_text, parse_date},
    BLOCK_BYTES, BODY_BYTES_MAX, Entry, HEAD_BYTES, Identity, MAGIC, NEW, index_path,
};

pub(super) const SAME: u8 = 1 << 3;
pub(super) const REFERS: u8 = 1 << 4;
pub(super) const REFERS_TO_SELF: u8 = 1 << 5;
pub(super) const GAP: u8 = 1 << 6;

/// A URL has much of the one before it: higher levels gain little.
const LEVEL: i32 = 3;

pub(in crate::warc) struct IndexWriter {
    body: Vec<u8>,
    plain: Vec<u8>,
    before: Before,
    /// Where the last entry ended.
    end: u64,
    entries: u64,
    blocks: u64,
    packer: Option<Compressor<'static>>,
}

/// What the next entry of a block is compared with; every block begins without.
#[derive(Default)]
pub(super) struct Before {
    pub(super) uri: String,
    pub(super) date: String,
    pub(super) at: i64,
}

impl IndexWriter {
    pub(in crate::warc) fn new() -> IndexWriter {
        IndexWriter {
            body: Vec::new(),
            plain: Vec::new(),
            before: Before::default(),
            end: 0,
            entries: 0,
            blocks: 0,
            packer: Compressor::new(LEVEL).ok(),
        }
    }

    /// Entries come in the order of the file.
    pub(in crate::warc) fn push(&mut self, entry: &Entry) {
        if self.packer.is_none() {
            return;
        }
        let Some(gap) = entry.offset.checked_sub(self.end) else {
            // Records that overlap share a member: no index can tell them apart.
            self.packer = None;
            return;
        };
        self.add(entry, gap);
        self.end = entry.end();
        self.entries += 1;
        if self.plain.len() >= BLOCK_BYTES {
            self.pack();
        }
    }

    /// The volume can have none.
    pub(in crate::warc) fn give_up(&mut self) {
        self.packer = None;
    }

    /// The whole file; `None` when the volume can have no index.
    pub(in crate::warc) fn finish(mut self, identity: &Identity) -> Option<Vec<u8>> {
        self.pack();
        if self.packer.is_none() || self.entries == 0 || self.end != identity.bytes {
            return None;
        }
        let mut file = Vec::with_capacity(HEAD_BYTES + self.body.len());
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&identity.bytes.to_le_bytes());
        file.extend_from_slice(&identity.digest);
        for number in [identity.probe, self.entries, self.body.len() as u64] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        let sum = xxh3_64(&file);
        file.extend_from_slice(&sum.to_le_bytes());
        file.extend_from_slice(&self.body);
        Some(file)
    }

    fn add(&mut self, entry: &Entry, gap: u64) {
        let same = entry.uri == self.before.uri && entry.date == self.before.date;
        let to_self = entry.refers.as_ref().is_some_and(|(uri, _)| *uri == entry.uri);
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        self.plain.push(
            entry.kind.number()
                | flag(same, SAME)
                | flag(entry.refers.is_some(), REFERS)
                | flag(to_self, REFERS_TO_SELF)
                | flag(gap > 0, GAP),
        );
        if gap > 0 {
            put_number(&mut self.plain, gap);
        }
        put_number(&mut self.plain, entry.length);
        if !same {
            put_date(&mut self.plain, &entry.date, &mut self.before.at);
            put_text(&mut self.plain, &entry.uri);
            self.before.uri.clone_from(&entry.uri);
            self.before.date.clone_from(&entry.date);
        }
        if let Some((uri, date)) = &entry.refers {
            // Against the record's own date, which stays the one that the next is compared with.
            let mut at = self.before.at;
            put_date(&mut self.plain, date, &mut at);
            if !to_self {
                put_text(&mut self.plain, uri);
            }
        }
    }

    fn pack(&mut self) {
        if self.plain.is_empty() {
            return;
        }
        let packed = self.packer.as_mut().and_then(|packer| packer.compress(&self.plain).ok());
        let fits = |packed: &Vec<u8>| self.body.len() + packed.len() <= BODY_BYTES_MAX;
        match packed.filter(fits) {
            Some(packed) => {
                self.body.extend_from_slice(&(self.plain.len() as u32).to_le_bytes());
                self.body.extend_from_slice(&(packed.len() as u32).to_le_bytes());
                let sum = xxh3_64_with_seed(&packed, self.blocks);
                self.body.extend_from_slice(&sum.to_le_bytes());
                self.body.extend_from_slice(&packed);
                self.blocks += 1;
            }
            None => (self.packer, self.body) = (None, Vec::new()),
        }
        self.plain.clear();
        self.before = Before::default();
    }
}

/// Puts the index of a volume in its place, whole or not at all. It is not synced: after a power cut it may be
/// damaged, which is found and costs one reading of the volume.
pub(in crate::warc) fn write_file(volume: &Path, index: &[u8]) -> io::Result<()> {
    let path = index_path(volume);
    let mut name = path.as_os_str().to_owned();
    name.push(NEW);
    let new = Path::new(&name);
    let written = fs::write(new, index).and_then(|()| fs::rename(new, &path));
    if written.is_err() {
        // What is left of it would only take room.
        let _ = fs::remove_file(new);
    }
    written
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Even: twice the difference to `at` in milliseconds, with its sign in the lowest bit. Odd: twice the length
/// of a text that follows as it is.
fn put_date(out: &mut Vec<u8>, text: &str, at: &mut i64) {
    let moment = parse_date(text).filter(|moment| date_text(*moment) == text);
    let difference = moment.and_then(|Timestamp(ms)| ms.checked_sub(*at)).and_then(folded);
    match (moment, difference) {
        (Some(Timestamp(ms)), Some(difference)) => {
            put_number(out, difference << 1);
            *at = ms;
        }
        _ => {
            put_number(out, (text.len() as u64) << 1 | 1);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Small numbers of either sign become small numbers; `None` where two bits are not free.
fn folded(number: i64) -> Option<u64> {
    let folded = (number << 1 ^ number >> 63) as u64;
    (number.unsigned_abs() < 1 << 60).then_some(folded)
}
