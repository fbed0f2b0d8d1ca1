//! Lines of a text of any length in bounded memory, with their numbers.

use std::io::{self, BufRead, Read};

use super::{SeedError, shown};

/// Longer lines are reported and skipped: four times the longest URL that is crawled by default.
pub const LINE_BYTES_MAX: usize = 4 * model::limits::URL_BYTES_MAX;

pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
    failed: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        Lines { reader, line: Vec::new(), number: 0, failed: false }
    }

    pub(super) fn inner(&self) -> &R {
        &self.reader
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line with its number, white space at its end taken off; what is no text, or too long, is
    /// an error. `None` at the end and after trouble with reading.
    pub(super) fn next_line(&mut self) -> Option<Result<(u64, &str), SeedError>> {
        if self.failed {
            return None;
        }
        match self.read_line() {
            Ok(false) => return None,
            Ok(true) => self.number += 1,
            Err(source) => {
                self.failed = true;
                return Some(Err(SeedError::Io { line: self.number, source }));
            }
        }
        Some(self.text())
    }

    fn text(&self) -> Result<(u64, &str), SeedError> {
        let bad = |what: String| {
            let text = shown(&String::from_utf8_lossy(&self.line));
            Err(SeedError::Bad { line: self.number, text, what })
        };
        if self.line.len() > LINE_BYTES_MAX {
            return bad(format!("longer than {LINE_BYTES_MAX} bytes"));
        }
        match str::from_utf8(&self.line) {
            Ok(text) => Ok((self.number, text.trim_start_matches('\u{feff}').trim_end())),
            // A comment in another encoding hides no seed.
            Err(_) if self.line.trim_ascii_start().starts_with(b"#") => Ok((self.number, "")),
            Err(_) => bad("not UTF-8 text".to_owned()),
        }
    }

    /// Reads a line into `self.line`; `Ok(false)` at the end of the text.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let bound = LINE_BYTES_MAX as u64 + 1;
        let read = self.reader.by_ref().take(bound).read_until(b'\n', &mut self.line)?;
        if read > LINE_BYTES_MAX && !self.line.ends_with(b"\n") {
            skip_line(&mut self.reader)?;
        }
        Ok(read > 0)
    }
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|&b| b == b'\n').map(|at| at + 1);
        let length = end.unwrap_or(buffer.len());
        reader.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}
