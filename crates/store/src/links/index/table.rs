//! Rows of a fixed width, one after the other in a part of a file; most tables are sorted.
//!
//! Fingerprints are hashes and so spread evenly: the first guesses of a search go by the value of the key and
//! mostly hit its page at once. Where they do not, because some keys have very many rows, halving takes over.

use std::{fs::File, io, marker::PhantomData, os::unix::fs::FileExt, sync::Arc};

/// What stands in a table.
pub(super) trait Row: Copy {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(&self, out: &mut Vec<u8>);
}

/// A fingerprint and the record of the run that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) key: u64,
    pub(super) record: u32,
}

/// A record of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordRow {
    /// See [`super::pack`].
    pub(super) position: u64,
    pub(super) source: u64,
    pub(super) at: i64,
}

impl Row for Pair {
    const BYTES: usize = 12;

    fn read(bytes: &[u8]) -> Pair {
        Pair { key: number(bytes, 0), record: number(bytes, 8) as u32 }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.key.to_le_bytes());
        out.extend(self.record.to_le_bytes());
    }
}

impl Row for RecordRow {
    const BYTES: usize = 24;

    fn read(bytes: &[u8]) -> RecordRow {
        let (position, source) = (number(bytes, 0), number(bytes, 8));
        RecordRow { position, source, at: number(bytes, 16) as i64 }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.position.to_le_bytes());
        out.extend(self.source.to_le_bytes());
        out.extend(self.at.to_le_bytes());
    }
}

/// Up to eight bytes from `start`, the least first.
fn number(bytes: &[u8], start: usize) -> u64 {
    let mut eight = [0; 8];
    for (to, from) in eight.iter_mut().zip(bytes.iter().skip(start)) {
        *to = *from;
    }
    u64::from_le_bytes(eight)
}

/// Rows that a search reads at once: about 4 KB.
pub(super) const PAGE_ROWS: u64 = 341;
/// Guesses by value before halving.
const GUESSES: u32 = 4;

#[derive(Clone, Debug)]
pub(super) struct Table<R> {
    file: Arc<File>,
    start: u64,
    pub(super) rows: u64,
    row: PhantomData<R>,
}

impl<R: Row> Table<R> {
    pub(super) fn new(file: Arc<File>, start: u64, rows: u64) -> Table<R> {
        Table { file, start, rows, row: PhantomData }
    }

    /// The rows of a range, which must lie within the table.
    pub(super) fn read(&self, from: u64, to: u64) -> io::Result<Vec<R>> {
        let count = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
        let mut bytes = vec![0; count * R::BYTES];
        self.file.read_exact_at(&mut bytes, self.start + from * R::BYTES as u64)?;
        Ok(bytes.chunks_exact(R::BYTES).map(R::read).collect())
    }

    pub(super) fn get(&self, at: u64) -> io::Result<R> {
        let mut bytes = [0; 24];
        let bytes = &mut bytes[..R::BYTES];
        self.file.read_exact_at(bytes, self.start + at * R::BYTES as u64)?;
        Ok(R::read(bytes))
    }

    /// The rows of a range one after the other, `chunk` of them read at a time.
    pub(super) fn walk(&self, from: u64, to: u64, chunk: u64) -> Walk<R> {
        let rows = Vec::new().into_iter();
        Walk { table: self.clone(), next: from, end: to.min(self.rows), chunk, rows }
    }

    /// The first row for which this no longer holds; it holds for those before and for none behind.
    pub(super) fn partition(&self, holds: impl Fn(&R) -> bool) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            match holds(&self.get(middle)?) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }
}

impl Table<Pair> {
    /// The first row that is not below `wanted`. `from` and `from_key`: a row before which all are below `wanted`,
    /// and a key that none behind it is below.
    pub(super) fn lower_bound(
        &self,
        wanted: Pair,
        (from, from_key): (u64, u64),
    ) -> io::Result<u64> {
        let (mut low, mut high) = (from, self.rows);
        let (mut low_key, mut high_key) = (from_key.min(wanted.key), u64::MAX);
        let mut guesses = 0;
        while high - low > PAGE_ROWS {
            let inside = match guesses < GUESSES {
                true => share(wanted.key - low_key, high_key - low_key, high - low),
                false => (high - low) / 2,
            };
            guesses += 1;
            let start = (low + inside).saturating_sub(PAGE_ROWS / 2).clamp(low, high - PAGE_ROWS);
            let page = self.read(start, start + PAGE_ROWS)?;
            let below = page.partition_point(|row| *row < wanted) as u64;
            match below {
                0 => (high, high_key) = (start, page.first().map_or(high_key, |row| row.key)),
                PAGE_ROWS => {
                    (low, low_key) =
                        (start + PAGE_ROWS, page.last().map_or(low_key, |row| row.key));
                }
                _ => return Ok(start + below),
            }
        }
        let page = self.read(low, high)?;
        Ok(low + page.partition_point(|row| *row < wanted) as u64)
    }

    /// The rows of a key.
    pub(super) fn range(&self, key: u64) -> io::Result<(u64, u64)> {
        let from = self.lower_bound(Pair { key, record: 0 }, (0, 0))?;
        let page = self.read(from, self.rows.min(from + 8))?;
        // Most keys have few rows.
        if let Some(other) = page.iter().position(|row| row.key != key) {
            return Ok((from, from + other as u64));
        }
        let to = match key.checked_add(1) {
            Some(next) => self.lower_bound(Pair { key: next, record: 0 }, (from, key))?,
            None => self.rows,
        };
        Ok((from, to))
    }

    pub(super) fn contains(&self, pair: Pair) -> io::Result<bool> {
        let at = self.lower_bound(pair, (0, 0))?;
        Ok(at < self.rows && self.get(at)? == pair)
    }

    /// For look-ups with rising keys.
    pub(super) fn finder(&self) -> Finder {
        Finder { table: self.clone(), page: Vec::new(), start: 0 }
    }
}

/// How far into `length` a key is that lies `above` the first of `span` keys.
fn share(above: u64, span: u64, length: u64) -> u64 {
    let share = u128::from(above) * u128::from(length) / (u128::from(span) + 1);
    u64::try_from(share).unwrap_or(length)
}

/// Finds rows by keys that rise: where they lie close together every page is read about once.
pub(super) struct Finder {
    table: Table<Pair>,
    page: Vec<Pair>,
    /// Of the page.
    start: u64,
}

impl Finder {
    /// Calls `take` for every row of the key.
    pub(super) fn each(&mut self, key: u64, mut take: impl FnMut(u32)) -> io::Result<()> {
        let wanted = Pair { key, record: 0 };
        if self.page.last().is_none_or(|last| *last < wanted) {
            let known = self.page.last().map_or(0, |last| last.key);
            let from = self.start + self.page.len() as u64;
            let at = self.table.lower_bound(wanted, (from, known))?;
            self.turn(at)?;
        }
        let mut at = self.page.partition_point(|row| *row < wanted);
        while let Some(row) = self.page.get(at).copied() {
            if row.key != key {
                break;
            }
            take(row.record);
            at += 1;
            if at == self.page.len() {
                self.turn(self.start + at as u64)?;
                at = 0;
            }
        }
        Ok(())
    }

    fn turn(&mut self, at: u64) -> io::Result<()> {
        self.page = self.table.read(at, self.table.rows.min(at + PAGE_ROWS))?;
        self.start = at;
        Ok(())
    }
}

/// Rows in their order.
pub(super) struct Walk<R> {
    table: Table<R>,
    next: u64,
    end: u64,
    chunk: u64,
    rows: std::vec::IntoIter<R>,
}

impl<R: Row> Iterator for Walk<R> {
    type Item = io::Result<R>;

    fn next(&mut self) -> Option<io::Result<R>> {
        if let Some(row) = self.rows.next() {
            return Some(Ok(row));
        }
        if self.next >= self.end {
            return None;
        }
        let to = self.end.min(self.next + self.chunk);
        match self.table.read(self.next, to) {
            Ok(rows) => {
                self.next = to;
                self.rows = rows.into_iter();
                self.rows.next().map(Ok)
            }
            Err(error) => {
                self.next = self.end;
                Some(Err(error))
            }
        }
    }
}
