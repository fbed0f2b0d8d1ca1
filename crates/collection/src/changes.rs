//! What became of pages, in the order it was committed.
//!
//! Every change has a number (`seq`) that only grows. Who goes on behind the last number gets
//! everything once, whatever clocks did in between.

use config::Kind;
use gatherer::Gathered;
use model::{Change, Exchange, RecordLocation, StoreError, Timestamp};
use serde::Serialize;
use store::{
    census::Census,
    history::{ChangeEntry, ChangeFilter},
};

use crate::{
    Error,
    archived::{Archived, gathered},
    diff::{Counts, Diff},
};

/// Changes held at once when all are asked for.
const PIECE: u32 = 500;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeRow {
    pub seq: i64,
    pub kind: Kind,
    /// When it was seen.
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
    pub url: String,
    pub site: String,
    pub spider: String,
    pub status: u16,
    /// That the page had then.
    pub title: String,
    pub bytes: u64,
    pub record: Option<RecordLocation>,
    /// Against the version before; `None` unless words are counted and both versions can be read.
    pub words_added: Option<usize>,
    pub words_removed: Option<usize>,
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChangesEnd {
    /// The place behind which the next call begins.
    pub next: i64,
    /// There are changes behind it already.
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChangePage {
    /// In the order of commits.
    pub rows: Vec<ChangeRow>,
    /// There are earlier ones that would have fitted the question.
    pub earlier: bool,
    pub end: ChangesEnd,
}

/// A question about changes.
pub struct Changes<'a> {
    census: &'a Census,
    archived: &'a Archived<'a>,
    filter: ChangeFilter,
    /// Nothing at or before this place is part of the answer, …
    after: i64,
    /// … and nothing behind this one: what is committed meanwhile waits for the next call.
    upto: i64,
    /// The place was given: the first behind it are asked for, not the newest.
    from_start: bool,
    words: bool,
}

impl<'a> Changes<'a> {
    /// `after`: the place an earlier answer ended at. `words`: count those that came and went,
    /// which reads both versions of each page.
    pub fn new(
        census: &'a Census,
        archived: &'a Archived<'a>,
        filter: ChangeFilter,
        after: Option<i64>,
        words: bool,
    ) -> Result<Changes<'a>, Error> {
        let from_start = after.is_some();
        let after = match (after, filter.since) {
            (Some(after), _) => after,
            (None, Some(since)) => census.seq_before(since)?,
            (None, None) => 0,
        };
        let upto = census.last_seq()?.max(after);
        Ok(Changes { census, archived, filter, after, upto, from_start, words })
    }

    /// The newest, or behind a given place the first.
    pub fn page(&self, limit: u32) -> Result<ChangePage, Error> {
        let wanted = limit.saturating_add(1);
        let entries = match self.from_start {
            true => self.first(wanted)?,
            false => self.newest(wanted)?,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let over = entries.len() > limit;
        let kept: Vec<ChangeEntry> = match self.from_start {
            true => entries.into_iter().take(limit).collect(),
            false => entries.into_iter().skip(usize::from(over)).collect(),
        };
        let more = over && self.from_start;
        let next = match kept.last() {
            Some(last) if more => last.seq,
            _ => self.upto,
        };
        let rows = kept.into_iter().map(|entry| self.row(entry)).collect::<Result<_, _>>()?;
        let end = ChangesEnd { next, more };
        Ok(ChangePage { rows, earlier: over && !self.from_start, end })
    }

    /// All of them, some at a time.
    pub fn each<E: From<Error>>(
        &self,
        mut take: impl FnMut(Vec<ChangeRow>) -> Result<(), E>,
    ) -> Result<ChangesEnd, E> {
        let mut after = self.after;
        while after < self.upto {
            let (rows, reached) = self.piece(after)?;
            take(rows)?;
            after = reached;
        }
        Ok(ChangesEnd { next: self.upto, more: false })
    }

    fn piece(&self, after: i64) -> Result<(Vec<ChangeRow>, i64), Error> {
        let piece = self.census.changes_after(after, self.upto, &self.filter, PIECE)?;
        let rows = piece.entries.into_iter().map(|entry| self.row(entry));
        Ok((rows.collect::<Result<_, _>>()?, piece.reached))
    }

    fn first(&self, max: u32) -> Result<Vec<ChangeEntry>, Error> {
        let (mut entries, mut after) = (Vec::new(), self.after);
        while after < self.upto && entries.len() < max as usize {
            let left = max - entries.len() as u32;
            let piece = self.census.changes_after(after, self.upto, &self.filter, left)?;
            entries.extend(piece.entries);
            after = piece.reached;
        }
        Ok(entries)
    }

    fn newest(&self, max: u32) -> Result<Vec<ChangeEntry>, Error> {
        let (mut entries, mut before) = (Vec::new(), self.upto + 1);
        while before > self.after + 1 && entries.len() < max as usize {
            let left = max - entries.len() as u32;
            let piece = self.census.changes_before(before, self.after, &self.filter, left)?;
            entries.extend(piece.entries);
            before = piece.reached;
        }
        entries.reverse();
        Ok(entries)
    }

    fn row(&self, entry: ChangeEntry) -> Result<ChangeRow, Error> {
        let words = match self.words {
            true => self.words(&entry)?,
            false => None,
        };
        let (title, counts) = words.unzip();
        Ok(ChangeRow {
            seq: entry.seq,
            kind: Kind::of(entry.change).unwrap_or(Kind::Changed),
            at: entry.at,
            title: title.filter(|title| !title.is_empty()).unwrap_or(entry.title),
            url: entry.url,
            site: entry.site,
            spider: entry.spider,
            status: entry.status,
            bytes: entry.body_bytes,
            record: entry.record,
            words_added: counts.map(|counts| counts.words_added),
            words_removed: counts.map(|counts| counts.words_removed),
        })
    }

    /// The title, and what came and went between the version before and this one; of a new page,
    /// all its words.
    fn words(&self, entry: &ChangeEntry) -> Result<Option<(String, Counts)>, Error> {
        let archived = self.archived;
        let (Some(now), true) = (entry.record, entry.change.is_version()) else { return Ok(None) };
        let Some(new) = readable(archived.exchange(now))? else { return Ok(None) };
        let old = match (entry.before, entry.change) {
            (Some(before), _) => readable(archived.exchange(before))?.map(|old| old.text),
            (None, Change::First) => Some(String::new()),
            (None, _) => None,
        };
        let Some(old) = old else { return Ok(None) };
        let (old, lines): (Vec<&str>, Vec<&str>) =
            (old.lines().collect(), new.text.lines().collect());
        Ok(Some((new.title, Diff::of(&old, &lines, 0).counts)))
    }
}

/// What can be read from a version; `None` where it is no longer kept, which is no reason to stop.
fn readable(exchange: Result<Exchange, Error>) -> Result<Option<Gathered>, Error> {
    match exchange {
        Ok(exchange) => Ok(Some(gathered(&exchange))),
        Err(
            Error::ContentNotKept { .. }
            | Error::ContentLost { .. }
            | Error::Store { source: StoreError::Missing { .. } | StoreError::Removing { .. } },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
