//! Reads WARC files record by record: ours and other people's, gzip members, zstd frames or plain, from any
//! offset.
//!
//! Never panics and never holds more than [`BLOCK_BYTES_MAX`] of a block, whatever the bytes say. What
//! writers commonly get wrong is taken (bare line feeds, missing or extra empty lines, several records
//! in one member); where the file cannot be understood any more, reading ends with a [`ReadError`] that
//! tells damage from trouble of the machine: the first may be cut, the second must not.

use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;
use model::Headers;

use super::{
    dictionary::{may_begin_skippable, read_skippable},
    frame::Unpacker,
    http::HttpParts,
    not_modified,
    unpacked::Unpacked,
};

/// Blocks are kept up to here; the rest is passed over and the record says so. Far above any body limit
/// in use, far below the memory of a small machine.
pub const BLOCK_BYTES_MAX: u64 = 256 << 20;
/// The named fields of a record; ours take under 4 KB.
const FIELDS_BYTES_MAX: u64 = 256 << 10;

#[derive(Clone, Debug)]
pub struct Record {
    /// Where its gzip member or zstd frame (or, in a plain file, the record) begins.
    pub offset: u64,
    /// Bytes it takes in the file, up to where the next one begins.
    pub length: u64,
    /// It has its member or frame (or place in a plain file) to itself: it can be read at `offset`.
    pub own_member: bool,
    /// `1.1`.
    pub version: String,
    pub fields: Headers,
    pub block: Bytes,
    /// The block is longer than what is kept of it.
    pub cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// The file ends inside a record.
    #[error("it ends inside the record at {offset}")]
    Torn { offset: u64 },
    #[error("it cannot be read from {offset} on: {detail}")]
    Damaged { offset: u64, detail: String },
}

/// An iterator over the records of a file; ends after the first error.
pub struct WarcReader<R> {
    source: Source<R>,
    block_bytes_max: u64,
    /// Between two frames; has the dictionary of the file.
    unpacker: Option<Unpacker>,
}

impl Record {
    /// The value of a named field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or("")
    }

    /// The HTTP message of a request, response or revisit, wherever its head stands.
    pub fn http(&self) -> HttpParts {
        HttpParts::split(&not_modified::head(self).unwrap_or_else(|| self.block.clone()))
    }

    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}

impl<R: BufRead> WarcReader<R> {
    pub fn new(input: R) -> WarcReader<R> {
        WarcReader::starting_at(input, 0)
    }

    /// `input` stands at `offset` of its file; offsets of records are counted from there. A dictionary is seen
    /// only from the beginning of a file.
    pub fn starting_at(input: R, offset: u64) -> WarcReader<R> {
        let source = Source::Between(Counted { input, position: offset });
        WarcReader { source, block_bytes_max: BLOCK_BYTES_MAX, unpacker: None }
    }

    /// With what was made for this file before: from the middle of it a dictionary cannot be seen.
    pub(super) fn unpack_with(mut self, unpacker: Option<Unpacker>) -> WarcReader<R> {
        self.unpacker = unpacker;
        self
    }

    pub(super) fn into_unpacker(self) -> Option<Unpacker> {
        self.unpacker
    }

    #[must_use]
    pub fn keep_at_most(mut self, block_bytes_max: u64) -> WarcReader<R> {
        self.block_bytes_max = block_bytes_max;
        self
    }

    fn read_next(&mut self) -> Result<Option<Record>, Failure> {
        loop {
            match std::mem::replace(&mut self.source, Source::Ended) {
                Source::Ended => return Ok(None),
                Source::Between(mut input) => {
                    let start = input.position;
                    match input.fill_buf().map_err(|e| Failure::of(e, start))?.first() {
                        None => return Ok(None),
                        Some(0x1f) => self.source = Source::member(Unpacked::gzip(input), start),
                        Some(0x28) => {
                            let frame = Unpacked::zstd(input, self.unpacker.take());
                            let frame = frame.map_err(|e| Failure::of(e, start))?;
                            self.source = Source::member(frame, start);
                        }
                        Some(&first) if may_begin_skippable(first) => {
                            self.pass_skippable(&mut input).map_err(|e| Failure::of(e, start))?;
                            self.source = Source::Between(input);
                        }
                        Some(_) => return self.read_plain(input),
                    }
                }
                Source::Member(member) => {
                    if let Some(record) = self.read_in_member(*member)? {
                        return Ok(Some(record));
                    }
                }
            }
        }
    }

    /// Only at the beginning of a file does a dictionary count.
    fn pass_skippable(&mut self, input: &mut Counted<R>) -> io::Result<()> {
        let first = input.position == 0;
        if let Some(dictionary) = read_skippable(input)?.filter(|_| first) {
            self.unpacker = Some(Unpacker::new(&dictionary)?);
        }
        Ok(())
    }

    fn read_plain(&mut self, mut input: Counted<R>) -> Result<Option<Record>, Failure> {
        skip_blank(&mut input).map_err(|e| Failure::of(e, input.position))?;
        let offset = input.position;
        let parsed = parse(&mut input, self.block_bytes_max).map_err(|e| Failure::of(e, offset))?;
        skip_blank(&mut input).map_err(|e| Failure::of(e, offset))?;
        let length = input.position - offset;
        self.source = Source::Between(input);
        Ok(parsed.map(|parsed| parsed.at(offset, length, true)))
    }

    /// The next record of a member; `None` when it holds no more.
    fn read_in_member(&mut self, mut member: Member<R>) -> Result<Option<Record>, Failure> {
        let offset = member.start;
        let parsed = parse(&mut member.plain, self.block_bytes_max);
        let parsed = parsed.map_err(|e| Failure::of(e, offset))?;
        skip_blank(&mut member.plain).map_err(|e| Failure::of(e, offset))?;
        // At the end of a member the decoder has compared its checksum.
        let at_end = member.plain.fill_buf().map_err(|e| Failure::of(e, offset))?.is_empty();
        let length = member.plain.get_ref().input().position - offset;
        let own = at_end && member.records == 0;
        member.records += 1;
        self.source = if at_end {
            let (input, unpacker) = member.plain.into_inner().into_parts();
            self.unpacker = unpacker.or(self.unpacker.take());
            Source::Between(input)
        } else {
            Source::Member(Box::new(member))
        };
        Ok(parsed.map(|parsed| parsed.at(offset, length, own)))
    }
}

impl<R: BufRead> Iterator for WarcReader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.read_next().map_err(|failure| failure.0).transpose()
    }
}

enum Source<R> {
    /// At the beginning of a member or frame, or anywhere in a plain file.
    Between(Counted<R>),
    Member(Box<Member<R>>),
    Ended,
}

/// A gzip member or zstd frame.
struct Member<R> {
    start: u64,
    records: u32,
    plain: BufReader<Unpacked<Counted<R>>>,
}

impl<R: BufRead> Source<R> {
    fn member(plain: Unpacked<Counted<R>>, start: u64) -> Source<R> {
        let plain = BufReader::with_capacity(32 << 10, plain);
        Source::Member(Box::new(Member { start, records: 0, plain }))
    }
}

/// Counts what is taken from the file; the decoder takes no byte past its member.
struct Counted<R> {
    input: R,
    position: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.position += count as u64;
        self.input.consume(count);
    }
}

struct Parsed {
    version: String,
    fields: Headers,
    block: Bytes,
    cut: bool,
}

impl Parsed {
    fn at(self, offset: u64, length: u64, own_member: bool) -> Record {
        let Parsed { version, fields, block, cut } = self;
        Record { offset, length, own_member, version, fields, block, cut }
    }
}

/// Wraps the error so that `?` cannot pass an `io::Error` by without its offset.
struct Failure(ReadError);

impl Failure {
    fn of(error: io::Error, offset: u64) -> Failure {
        Failure(match error.kind() {
            io::ErrorKind::UnexpectedEof => ReadError::Torn { offset },
            // The operating system's own errors carry its number; the decoder's and ours do not.
            _ if error.raw_os_error().is_some() => ReadError::Io(error),
            _ => ReadError::Damaged { offset, detail: error.to_string() },
        })
    }
}

/// Reads one record up to the end of its block; `None` at the end of the input.
fn parse(input: &mut impl BufRead, block_bytes_max: u64) -> io::Result<Option<Parsed>> {
    skip_blank(input)?;
    let head = read_fields(input)?;
    if head.is_empty() {
        return Ok(None);
    }
    let first = head.split(|&b| b == b'\n').next().unwrap_or(&head).trim_ascii();
    let Some(version) = first.strip_prefix(b"WARC/") else { return Err(bad("no WARC record")) };
    let fields = Headers::parse(&head);
    let length = fields.get("Content-Length").and_then(|length| length.parse::<u64>().ok());
    let Some(length) = length else { return Err(bad("a record without a Content-Length")) };
    let kept = length.min(block_bytes_max);
    // Grows with what comes, not with what is announced.
    let mut block = Vec::new();
    input.take(kept).read_to_end(&mut block)?;
    let passed = io::copy(&mut input.take(length - kept), &mut io::sink())?;
    if block.len() as u64 + passed < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let version = String::from_utf8_lossy(version).into_owned();
    Ok(Some(Parsed { version, fields, block: Bytes::from(block), cut: length > kept }))
}

/// The lines up to and with the empty one; empty at the end of the input.
fn read_fields(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut input = input.take(FIELDS_BYTES_MAX);
    loop {
        let before = head.len();
        input.read_until(b'\n', &mut head)?;
        let line = &head[before..];
        if before == 0 && line.is_empty() {
            return Ok(head);
        }
        // Said at once: the tail of a file that is not WARC may have no line end for a gigabyte.
        if before == 0 && !head.starts_with(&b"WARC/"[..head.len().min(5)]) {
            return Err(bad("no WARC record"));
        }
        if !line.ends_with(b"\n") {
            let full = input.limit() == 0;
            return Err(if full {
                bad("endless fields")
            } else {
                io::ErrorKind::UnexpectedEof.into()
            });
        }
        if line.trim_ascii().is_empty() {
            return Ok(head);
        }
    }
}

fn skip_blank(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let blank = buffer.iter().take_while(|&&b| matches!(b, b'\r' | b'\n')).count();
        let all = blank == buffer.len();
        if blank == 0 {
            return Ok(());
        }
        input.consume(blank);
        if !all {
            return Ok(());
        }
    }
}

fn bad(detail: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}
