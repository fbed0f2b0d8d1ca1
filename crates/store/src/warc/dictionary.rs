//! The dictionary of a volume: the first thing in its file, in a skippable frame that other readers of zstd
//! pass over ("WARC Zstandard" 1.0). A volume is read with its own dictionary and nothing else.

use std::io::{self, BufRead, Read};

use super::frame::{Frame, Unpacker};

/// Magic number of the frame, 0x184D2A5D, as it stands in the file.
const FRAME_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// What every skippable frame has behind its first byte.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
/// A dictionary of zstd begins so: 0xEC30A437.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];
/// Ours have 64 KB, those of other crawlers up to 1 MB.
const DICTIONARY_BYTES_MAX: u64 = 16 << 20;

/// Whether a skippable frame may begin with this byte. There are sixteen kinds; one of them begins with a W,
/// as a plain record does, and is not looked for.
pub(super) fn may_begin_skippable(first: u8) -> bool {
    matches!(first, 0x50..=0x5f) && first != b'W'
}

/// The dictionary of the file whose beginning `input` stands at, if it has one.
pub(super) fn read_first(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    if input.fill_buf()?.first() == Some(&FRAME_MAGIC[0]) {
        read_skippable(input)
    } else {
        Ok(None)
    }
}

/// Takes the skippable frame that `input` stands at; the dictionary, if it is one.
pub(super) fn read_skippable(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 8];
    // Byte by byte: a plain text may end sooner, and is then no frame that is torn.
    for (at, place) in head.iter_mut().enumerate() {
        input.read_exact(std::slice::from_mut(place))?;
        if (1..4).contains(&at) && *place != SKIPPABLE[at - 1] {
            return Err(bad("no WARC record"));
        }
    }
    let [magic, length] =
        [[head[0], head[1], head[2], head[3]], [head[4], head[5], head[6], head[7]]];
    let length = u64::from(u32::from_le_bytes(length));
    if magic != FRAME_MAGIC {
        return skip(input, length).map(|()| None);
    }
    if length > DICTIONARY_BYTES_MAX {
        return Err(bad("a dictionary that is too large"));
    }
    let mut content = Vec::new();
    input.take(length).read_to_end(&mut content)?;
    if (content.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    unpacked(content).map(Some)
}

/// A frame of its own, raw: packing it would save a few KB a volume.
pub(super) fn skippable(dictionary: &[u8]) -> Vec<u8> {
    let length = u32::try_from(dictionary.len()).expect("dictionaries have 64 KB");
    [&FRAME_MAGIC, &length.to_le_bytes()[..], dictionary].concat()
}

/// Other writers may have packed it.
fn unpacked(content: Vec<u8>) -> io::Result<Vec<u8>> {
    if content.starts_with(&DICTIONARY_MAGIC) {
        return Ok(content);
    }
    let mut dictionary = Vec::new();
    let frame = Frame::new(&content[..], Unpacker::new(&[])?)?;
    let read = frame.take(DICTIONARY_BYTES_MAX + 1).read_to_end(&mut dictionary);
    let whole = read.is_ok_and(|length| length as u64 <= DICTIONARY_BYTES_MAX);
    if !whole || !dictionary.starts_with(&DICTIONARY_MAGIC) {
        return Err(bad("a dictionary of no known kind"));
    }
    Ok(dictionary)
}

fn skip(input: &mut impl BufRead, length: u64) -> io::Result<()> {
    if io::copy(&mut input.take(length), &mut io::sink())? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn bad(detail: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}
