//! Records packed for a volume, outside every lock, with the thread's own compressors: what is put into
//! gzip members is in `member.rs`, what into zstd frames in `frame.rs`.

use std::{cell::RefCell, sync::Arc};

use model::{ArchiveEntry, EntryKind, Headers, RecordId, Timestamp};

use super::{
    frame::FramePacker, member::MemberPacker, options::WarcOptions, press::Press, record,
    room::Room,
};

/// One entry's records, request first.
pub(super) struct Packed<'a> {
    pub(super) bytes: &'a [u8],
    /// Where in `bytes` the response begins.
    pub(super) response_at: usize,
    /// Of the response before it was packed.
    pub(super) plain_bytes: u64,
}

/// Packs the entry and lends the bytes to `then`.
pub(super) fn pack<T>(
    press: &Arc<Press>,
    entry: &ArchiveEntry<'_>,
    then: impl FnOnce(Packed<'_>) -> T,
) -> T {
    DESK.with_borrow_mut(|desk| {
        desk.packed.clear();
        desk.add(press, Level::Fast, |plain| record::request(plain, entry));
        let response_at = desk.packed.len();
        desk.add(press, level(entry), |plain| record::response(plain, entry));
        let plain_bytes = desk.plain.len() as u64;
        let result = then(Packed { bytes: desk.packed.bytes(), response_at, plain_bytes });
        desk.shrink();
        result
    })
}

/// What a volume begins with: its dictionary, if it has one, and a warcinfo.
pub(super) fn pack_head(
    press: &Arc<Press>,
    options: &WarcOptions,
    file: &str,
    id: RecordId,
    now: Timestamp,
) -> Vec<u8> {
    // Not the thread's own desk, which may be lending its bytes just now.
    let mut desk = Desk::new();
    desk.add(press, Level::Fast, |plain| {
        record::warcinfo(plain, options, file, press.pages(), id, now);
    });
    let mut head = press.preamble();
    head.extend_from_slice(desk.packed.bytes());
    head
}

/// A record of these fields (Content-Length among them) and this block, packed.
pub(super) fn pack_record(
    press: &Arc<Press>,
    fields: &[(&str, String)],
    block: &[&[u8]],
    compressed: bool,
) -> Vec<u8> {
    DESK.with_borrow_mut(|desk| {
        desk.packed.clear();
        let level = if compressed { Level::Stored } else { Level::Fast };
        desk.add(press, level, |plain| record::from_fields(plain, fields, block));
        let packed = desk.packed.bytes().to_vec();
        desk.shrink();
        packed
    })
}

/// A thread's working space; kept between records, because setting up a compressor costs more than a
/// small record.
struct Desk {
    plain: Vec<u8>,
    packed: Room,
    members: MemberPacker,
    /// Made for this way of packing; each volume may have a dictionary of its own.
    frames: Option<(Arc<Press>, FramePacker)>,
}

/// Space kept by a thread after a large record.
const DESK_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk::new());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Fast,
    /// As it is, or nearly: it arrived compressed.
    Stored,
}

impl Desk {
    fn new() -> Desk {
        Desk {
            plain: Vec::new(),
            packed: Room::default(),
            members: MemberPacker::new(),
            frames: None,
        }
    }

    fn add(&mut self, press: &Arc<Press>, level: Level, write: impl FnOnce(&mut Vec<u8>)) {
        self.plain.clear();
        write(&mut self.plain);
        match &**press {
            Press::Gzip => self.members.pack(&self.plain, level, &mut self.packed),
            Press::Zstd(_) => {
                let frames = frames_for(&mut self.frames, press);
                frames.pack(&self.plain, level, &mut self.packed);
            }
        }
    }

    fn shrink(&mut self) {
        if self.plain.capacity() > DESK_BYTES_MAX {
            self.plain = Vec::new();
        }
        self.packed.shrink(DESK_BYTES_MAX);
    }
}

fn frames_for<'a>(
    kept: &'a mut Option<(Arc<Press>, FramePacker)>,
    press: &Arc<Press>,
) -> &'a mut FramePacker {
    if kept.as_ref().is_some_and(|(of, _)| !Arc::ptr_eq(of, press)) {
        *kept = None;
    }
    let (_, packer) = kept.get_or_insert_with(|| {
        let dictionary = press.dictionary().map(|dictionary| &dictionary.bytes[..]);
        let packer = FramePacker::new(dictionary);
        (press.clone(), packer.expect("dictionaries are tried before they are used"))
    });
    packer
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
