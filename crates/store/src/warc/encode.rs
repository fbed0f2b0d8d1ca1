//! Records into gzip members, outside every lock, with the thread's own compressor.
//!
//! What arrived compressed goes into stored deflate blocks: a second compression would cost the time of
//! the first and gain nothing. The rest is compressed at level 1 (measured: ratio 0.38 on HTML), what is short by a
//! packer of its own.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor};
use model::{ArchiveEntry, EntryKind, Headers, RecordId, Timestamp};

use super::{
    archive::WarcOptions,
    record,
    short::{SHORT_BYTES_MAX, ShortPacker},
};

/// One entry's members, request first.
pub(super) struct Packed<'a> {
    pub(super) bytes: &'a [u8],
    /// Where in `bytes` the response's member begins.
    pub(super) response_at: usize,
}

/// Packs the entry and lends the bytes to `then`.
pub(super) fn pack<T>(entry: &ArchiveEntry<'_>, then: impl FnOnce(Packed<'_>) -> T) -> T {
    DESK.with_borrow_mut(|desk| {
        desk.clear();
        desk.add(Level::Fast, |plain| record::request(plain, entry));
        let response_at = desk.packed_len;
        desk.add(level(entry), |plain| record::response(plain, entry));
        let result = then(Packed { bytes: &desk.packed[..desk.packed_len], response_at });
        desk.shrink();
        result
    })
}

pub(super) fn pack_warcinfo(
    options: &WarcOptions,
    file: &str,
    id: RecordId,
    now: Timestamp,
) -> Vec<u8> {
    let mut desk = Desk::new();
    desk.add(Level::Fast, |plain| record::warcinfo(plain, options, file, id, now));
    desk.packed.truncate(desk.packed_len);
    desk.packed
}

/// A record of these fields (Content-Length among them) and this block, packed.
pub(super) fn pack_record(fields: &[(&str, String)], block: &[&[u8]], compressed: bool) -> Vec<u8> {
    let mut desk = Desk::new();
    let level = if compressed { Level::Stored } else { Level::Fast };
    desk.add(level, |plain| record::from_fields(plain, fields, block));
    desk.packed.truncate(desk.packed_len);
    desk.packed
}

/// A thread's working space; kept between records, because setting up a compressor costs more than a
/// small record.
struct Desk {
    plain: Vec<u8>,
    /// Only the first `packed_len` bytes count: clearing would mean zeroing them again for each record.
    packed: Vec<u8>,
    packed_len: usize,
    short: ShortPacker,
    /// A short member, before it stands behind the others.
    member: Vec<u8>,
    fast: Compressor,
    stored: Compressor,
}

/// Space kept by a thread after a large record.
const DESK_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk::new());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Fast,
    Stored,
}

impl Desk {
    fn new() -> Desk {
        let level = |level| CompressionLvl::new(level).unwrap_or_default();
        Desk {
            plain: Vec::new(),
            packed: Vec::new(),
            packed_len: 0,
            short: ShortPacker::new(),
            member: Vec::new(),
            fast: Compressor::new(level(1)),
            stored: Compressor::new(level(0)),
        }
    }

    fn clear(&mut self) {
        self.packed_len = 0;
    }

    fn add(&mut self, level: Level, write: impl FnOnce(&mut Vec<u8>)) {
        self.plain.clear();
        write(&mut self.plain);
        if level == Level::Fast && self.plain.len() <= SHORT_BYTES_MAX {
            return self.add_short();
        }
        let compressor = match level {
            Level::Fast => &mut self.fast,
            Level::Stored => &mut self.stored,
        };
        let bound = compressor.gzip_compress_bound(self.plain.len());
        make_room(&mut self.packed, self.packed_len + bound);
        self.packed_len += compressor
            .gzip_compress(&self.plain, &mut self.packed[self.packed_len..])
            .expect("the compressor itself said that this is room enough");
    }

    fn add_short(&mut self) {
        self.member.clear();
        self.short.pack(&self.plain, &mut self.member);
        let (start, end) = (self.packed_len, self.packed_len + self.member.len());
        make_room(&mut self.packed, end);
        self.packed[start..end].copy_from_slice(&self.member);
        self.packed_len = end;
    }

    fn shrink(&mut self) {
        for space in [&mut self.plain, &mut self.packed] {
            if space.capacity() > DESK_BYTES_MAX {
                *space = Vec::new();
            }
        }
    }
}

fn make_room(space: &mut Vec<u8>, bytes: usize) {
    if space.len() < bytes {
        space.resize(bytes, 0);
    }
}

fn level(entry: &ArchiveEntry<'_>) -> Level {
    let whole = matches!(entry.kind, EntryKind::Response);
    if whole && arrived_compressed(&entry.exchange.headers) { Level::Stored } else { Level::Fast }
}

pub(super) fn arrived_compressed(headers: &Headers) -> bool {
    let coded = headers.all("content-encoding").any(|value| {
        value.split(',').any(|coding| {
            let coding = coding.trim().to_ascii_lowercase();
            !coding.is_empty() && coding != "identity"
        })
    });
    coded || headers.get("content-type").is_some_and(is_compressed_type)
}

fn is_compressed_type(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    match essence.as_str() {
        // Text or raw samples in spite of their family.
        "image/svg+xml" | "image/bmp" | "image/x-ms-bmp" | "image/tiff" | "audio/wav"
        | "audio/x-wav" => false,
        "application/zip"
        | "application/gzip"
        | "application/x-gzip"
        | "application/x-bzip2"
        | "application/x-7z-compressed"
        | "application/x-xz"
        | "application/zstd"
        | "font/woff"
        | "font/woff2" => true,
        other => ["image/", "audio/", "video/"].iter().any(|family| other.starts_with(family)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_arrived_compressed_is_stored_as_it_is() {
        let check = |head: &str, stored: bool| {
            let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
            assert_eq!(arrived_compressed(&Headers::parse(head.as_bytes())), stored, "{head}");
        };
        check("Content-Encoding: gzip", true);
        check("content-encoding: identity, BR", true);
        check("Content-Encoding: identity", false);
        check("Content-Type: text/html; charset=utf-8", false);
        check("Content-Type: Image/PNG", true);
        check("Content-Type: image/svg+xml", false);
        check("Content-Type: application/pdf", false);
        check("Server: x", false);
    }
}
