//! An index read entry by entry. Its bytes may be damaged: everything is bounded, and what does not fit is an error.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use model::Timestamp;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use zstd::bulk::Decompressor;

use super::{
    super::date::date_text,
    BLOCK_BYTES_MAX, BLOCK_HEAD_BYTES, BODY_BYTES_MAX, Entry, HEAD_BYTES, Identity, Kind, MAGIC,
    index_path, probe,
    write::{Before, GAP, REFERS, REFERS_TO_SELF, SAME},
};

/// An iterator that ends after the first error. What it gave before is worth nothing then.
pub(crate) struct IndexReader {
    input: BufReader<File>,
    identity: Identity,
    /// Of the file.
    bytes: u64,
    entries: u64,
    body_left: u64,
    blocks: u64,
    plain: Vec<u8>,
    at: usize,
    before: Before,
    end: u64,
    ended: bool,
}

impl IndexReader {
    /// `None` when there is none that fits the volume as it is now.
    pub(crate) fn open(volume: &Path) -> io::Result<Option<IndexReader>> {
        let file = match File::open(index_path(volume)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let bytes = file.metadata()?.len();
        let mut input = BufReader::with_capacity(64 << 10, file);
        let mut head = [0; HEAD_BYTES];
        match input.read_exact(&mut head) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let Some((identity, entries, body)) = parse_head(&head) else { return Ok(None) };
        let fits = bytes == HEAD_BYTES as u64 + body && body <= BODY_BYTES_MAX as u64;
        if !fits || probe(volume)? != (identity.bytes, identity.probe) {
            return Ok(None);
        }
        Ok(Some(IndexReader {
            input,
            identity,
            bytes,
            entries,
            body_left: body,
            blocks: 0,
            plain: Vec::new(),
            at: 0,
            before: Before::default(),
            end: 0,
            ended: false,
        }))
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn advance(&mut self) -> io::Result<Option<Entry>> {
        if self.at == self.plain.len() && !self.next_block()? {
            // Whole only if it has all its entries, and these fill the volume.
            let whole = self.entries == 0 && self.end == self.identity.bytes;
            return if whole { Ok(None) } else { Err(bad("it does not fill its volume")) };
        }
        self.entries = self.entries.checked_sub(1).ok_or_else(|| bad("it has too many entries"))?;
        let entry = self.entry()?;
        self.end = entry.end();
        Ok(Some(entry))
    }

    fn next_block(&mut self) -> io::Result<bool> {
        if self.body_left == 0 {
            return Ok(false);
        }
        let mut head = [0; BLOCK_HEAD_BYTES];
        self.input.read_exact(&mut head)?;
        let [a, b, c, d, e, f, g, h, sum @ ..] = head;
        let plain = u32::from_le_bytes([a, b, c, d]) as usize;
        let packed = u32::from_le_bytes([e, f, g, h]) as usize;
        let taken = (BLOCK_HEAD_BYTES + packed) as u64;
        if plain == 0 || plain > BLOCK_BYTES_MAX || taken > self.body_left {
            return Err(bad("a block has a length that cannot be"));
        }
        self.body_left -= taken;
        let mut bytes = vec![0; packed];
        self.input.read_exact(&mut bytes)?;
        if xxh3_64_with_seed(&bytes, self.blocks) != u64::from_le_bytes(sum) {
            return Err(bad("a block has another checksum"));
        }
        self.plain = Decompressor::new()?.decompress(&bytes, plain)?;
        if self.plain.len() != plain {
            return Err(bad("a block has another length"));
        }
        (self.at, self.before) = (0, Before::default());
        self.blocks += 1;
        Ok(true)
    }

    fn entry(&mut self) -> io::Result<Entry> {
        let flags = self.take(1)?[0];
        let kind = Kind::from_number(flags & 7).ok_or_else(|| bad("a kind that is not known"))?;
        let gap = if flags & GAP != 0 { self.number()? } else { 0 };
        let length = self.number()?;
        let offset =
            self.end.checked_add(gap).filter(|offset| offset.checked_add(length).is_some());
        let offset = offset.ok_or_else(|| bad("a place that cannot be"))?;
        if flags & SAME == 0 {
            let mut at = self.before.at;
            self.before.date = self.date(&mut at)?;
            self.before.at = at;
            self.before.uri = self.text()?;
        }
        let mut entry = Entry {
            offset,
            length,
            kind,
            uri: self.before.uri.clone(),
            date: self.before.date.clone(),
            refers: None,
        };
        if flags & REFERS != 0 {
            let mut at = self.before.at;
            let date = self.date(&mut at)?;
            let to_self = flags & REFERS_TO_SELF != 0;
            let uri = if to_self { entry.uri.clone() } else { self.text()? };
            entry.refers = Some((uri, date));
        }
        Ok(entry)
    }

    fn take(&mut self, length: usize) -> io::Result<&[u8]> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.plain.len());
        let end = end.ok_or_else(|| bad("a block ends inside an entry"))?;
        let taken = &self.plain[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(bad("a number that is too large"))
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.number()?;
        self.text_of(length)
    }

    fn text_of(&mut self, length: u64) -> io::Result<String> {
        let length = usize::try_from(length).map_err(|_| bad("a text that is too long"))?;
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| bad("a text that is none"))
    }

    fn date(&mut self, at: &mut i64) -> io::Result<String> {
        let number = self.number()?;
        if number & 1 != 0 {
            return self.text_of(number >> 1);
        }
        let folded = number >> 1;
        let difference = (folded >> 1) as i64 ^ -((folded & 1) as i64);
        *at = at.checked_add(difference).ok_or_else(|| bad("a date that cannot be"))?;
        Ok(date_text(Timestamp(*at)))
    }
}

impl Iterator for IndexReader {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<io::Result<Entry>> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Whose index it is, how many entries, and how many bytes follow.
fn parse_head(head: &[u8; HEAD_BYTES]) -> Option<(Identity, u64, u64)> {
    let (said, sum) = head.split_at(HEAD_BYTES - 8);
    let numbers = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| head[at + n]));
    let is_whole = said.starts_with(MAGIC) && sum == xxh3_64(said).to_le_bytes();
    let digest = std::array::from_fn(|n| head[16 + n]);
    let identity = Identity { bytes: numbers(8), digest, probe: numbers(48) };
    is_whole.then(|| (identity, numbers(56), numbers(64)))
}

fn bad(detail: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}
