//! Counts zstd frames without unpacking them: for volumes whose dictionary is lost, in which nothing else can be
//! told of a record than where it begins and ends.
//!
//! A frame's own fields say how long it is (RFC 8878, section 3.1.1). Where something else stands, it is looked for
//! byte by byte until a frame begins again.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom},
    path::Path,
};

use super::compression::Compression;

/// Blocks of this kind are one byte, however much they stand for; the next kind has no meaning yet.
const RUN: u32 = 1;
const RESERVED: u32 = 3;

/// Whole frames that end by `end`.
pub(super) fn count_frames(path: &Path, end: u64) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(64 << 10, File::open(path)?);
    let (mut at, mut frames) = (0, 0);
    while let Some(begin) = next_magic(&mut file, at, end)? {
        at = match frame_bytes(&mut file) {
            Ok(Some(length)) if begin + length <= end => {
                frames += 1;
                begin + length
            }
            Ok(_) => begin + 1,
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => begin + 1,
            Err(e) => return Err(e),
        };
    }
    Ok(frames)
}

/// Where from `at` on a frame may begin; the file stands there then.
fn next_magic(file: &mut BufReader<File>, at: u64, end: u64) -> io::Result<Option<u64>> {
    let magic = Compression::Zstd.magic();
    go_to(file, at)?;
    for begin in at..end {
        let held = file.fill_buf()?;
        if held.is_empty() {
            return Ok(None);
        }
        if held[0] == magic[0] {
            let mut found = [0; 4];
            let whole = file.read_exact(&mut found);
            go_to(file, begin)?;
            if whole.is_ok() && found[..] == *magic {
                return Ok(Some(begin));
            }
        }
        file.consume(1);
    }
    Ok(None)
}

/// Without leaving what is held of the file, where that is possible.
fn go_to(file: &mut BufReader<File>, at: u64) -> io::Result<()> {
    let here = file.stream_position()?;
    match (i64::try_from(at), i64::try_from(here)) {
        (Ok(at), Ok(here)) => file.seek_relative(at - here),
        _ => file.seek(SeekFrom::Start(at)).map(drop),
    }
}

/// The length of the frame that the file stands at; `None`: it is none.
fn frame_bytes(file: &mut BufReader<File>) -> io::Result<Option<u64>> {
    let [.., descriptor] = read::<5>(file)?;
    let is_single = descriptor & 0x20 != 0;
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => i64::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let rest = i64::from(!is_single) + dictionary_id + content_size;
    file.seek_relative(rest)?;
    let checksum = if descriptor & 4 != 0 { 4 } else { 0 };
    let mut length = 5 + rest.unsigned_abs() + checksum;
    loop {
        let [low, middle, high] = read::<3>(file)?;
        let block = u32::from_le_bytes([low, middle, high, 0]);
        let size = match block >> 1 & 3 {
            RESERVED => return Ok(None),
            RUN => 1,
            _ => block >> 3,
        };
        length += 3 + u64::from(size);
        if block & 1 != 0 {
            return Ok(Some(length));
        }
        file.seek_relative(i64::from(size))?;
    }
}

fn read<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
