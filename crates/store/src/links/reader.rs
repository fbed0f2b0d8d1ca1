//! Reading link segments in order; a torn end is the end.

use std::{
    fs::File,
    io::{BufReader, ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use model::{Fingerprint, StoreError, Timestamp};

use super::{
    FRAME_BYTES, HEADER_BYTES, LinkPosition, MAGIC,
    encoding::{LinkRecord, decode, frame, skim},
    segment_path, segments,
};

/// All records of a folder, oldest first. Where a segment stops making sense, reading goes on with the
/// next one; [`LinkReader::torn`] says where that was.
pub struct LinkReader {
    dir: PathBuf,
    /// Still to be read, last first.
    waiting: Vec<u32>,
    open: Option<Segment>,
    until: LinkPosition,
    torn: Vec<LinkPosition>,
}

/// One segment while it is read.
pub(super) struct Segment {
    number: u32,
    file: BufReader<File>,
    /// Where the next record begins.
    pub(super) offset: u64,
    /// The record read last as it stands in the file, with its frame.
    pub(super) bytes: Vec<u8>,
}

impl LinkReader {
    /// Records below `until`, usually the mark of the last settlement.
    pub fn open(dir: &Path, until: Option<LinkPosition>) -> Result<LinkReader, StoreError> {
        let mut waiting = segments(dir)?;
        waiting.reverse();
        let until = until.unwrap_or((u32::MAX, u64::MAX));
        Ok(LinkReader { dir: dir.to_owned(), waiting, open: None, until, torn: Vec::new() })
    }

    /// Length of a segment's file; 0 when it is not there.
    pub fn segment_bytes(dir: &Path, segment: u32) -> u64 {
        segment_path(dir, segment).metadata().map_or(0, |metadata| metadata.len())
    }

    /// Where segments were found torn so far.
    pub fn torn(&self) -> &[LinkPosition] {
        &self.torn
    }

    fn next_record(&mut self) -> Result<Option<LinkRecord>, StoreError> {
        loop {
            let Some(segment) = self.open.as_mut() else {
                let Some(number) = self.waiting.pop() else { return Ok(None) };
                self.open_segment(number)?;
                continue;
            };
            let at = (segment.number, segment.offset);
            let error = |e| StoreError::io("read", segment_path(&self.dir, at.0), e);
            if at >= self.until {
                return Ok(None);
            }
            match segment.read().map_err(error)? {
                Next::Record(record) => return Ok(Some(record)),
                Next::Torn => self.torn.push(at),
                Next::End => {}
            }
            self.open = None;
        }
    }

    fn open_segment(&mut self, number: u32) -> Result<(), StoreError> {
        self.open = Segment::open(&self.dir, number)?;
        if self.open.is_none() {
            self.torn.push((number, 0));
        }
        Ok(())
    }
}

impl Iterator for LinkReader {
    type Item = Result<LinkRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

pub(super) enum Next {
    Record(LinkRecord),
    Torn,
    End,
}

impl Segment {
    /// `None` when the file does not begin as a segment of this number does.
    pub(super) fn open(dir: &Path, number: u32) -> Result<Option<Segment>, StoreError> {
        let path = segment_path(dir, number);
        let error = |e| StoreError::io("read", &path, e);
        let mut file = BufReader::with_capacity(256 * 1024, File::open(&path).map_err(error)?);
        let mut header = [0; HEADER_BYTES as usize];
        let is_whole = fill(&mut file, &mut header).map_err(error)? == header.len()
            && header.starts_with(MAGIC)
            && header[MAGIC.len()..] == number.to_le_bytes();
        let bytes = Vec::new();
        Ok(is_whole.then_some(Segment { number, file, offset: HEADER_BYTES, bytes }))
    }

    /// The same, to be read from a record on that begins at `offset`.
    pub(super) fn open_at(
        dir: &Path,
        number: u32,
        offset: u64,
    ) -> Result<Option<Segment>, StoreError> {
        let Some(mut segment) = Segment::open(dir, number)? else { return Ok(None) };
        segment.offset = offset.max(HEADER_BYTES);
        let moved = segment.file.seek(SeekFrom::Start(segment.offset));
        moved.map_err(|e| StoreError::io("read", segment_path(dir, number), e))?;
        Ok(Some(segment))
    }

    pub(super) fn read(&mut self) -> std::io::Result<Next> {
        let sum = match self.fill_record()? {
            Filled::Record(sum) => sum,
            Filled::Torn => return Ok(Next::Torn),
            Filled::End => return Ok(Next::End),
        };
        let Some(record) = decode(&self.bytes[FRAME_BYTES..], sum) else { return Ok(Next::Torn) };
        self.offset += self.bytes.len() as u64;
        Ok(Next::Record(record))
    }

    /// As [`Segment::read`], without the texts; the targets replace what is in `targets`. `None` at the end of what
    /// can be read.
    pub(super) fn skim(
        &mut self,
        targets: &mut Vec<Fingerprint>,
    ) -> std::io::Result<Option<(Fingerprint, Timestamp)>> {
        let Filled::Record(sum) = self.fill_record()? else { return Ok(None) };
        let Some(found) = skim(&self.bytes[FRAME_BYTES..], sum, targets) else { return Ok(None) };
        self.offset += self.bytes.len() as u64;
        Ok(Some(found))
    }

    /// The next record's bytes and its checksum, not compared yet.
    fn fill_record(&mut self) -> std::io::Result<Filled> {
        let mut head = [0; FRAME_BYTES];
        match fill(&mut self.file, &mut head)? {
            0 => return Ok(Filled::End),
            FRAME_BYTES => {}
            _ => return Ok(Filled::Torn),
        }
        let Some((length, sum)) = frame(head) else { return Ok(Filled::Torn) };
        // Read as it comes: a torn length must not reserve memory for what is not there.
        self.bytes.clear();
        self.bytes.extend(head);
        (&mut self.file).take(length as u64).read_to_end(&mut self.bytes)?;
        // A wrong length at the end of a file would otherwise find the right bytes.
        let whole = self.bytes.len() == FRAME_BYTES + length;
        Ok(if whole { Filled::Record(sum) } else { Filled::Torn })
    }
}

enum Filled {
    Record(u32),
    Torn,
    End,
}

/// As many bytes as there are.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
