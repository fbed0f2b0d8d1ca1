//! The history of a page as people speak of it: versions by number, the version at hand at a moment, and
//! runs of visits that found the same.
//!
//! A version's number is its place among the versions of its page, the first being 1. Rows of the database
//! are not runs: visits that saw a version again are folded into its row, also when something failed in
//! between, and failures have a row each. Runs are put together from all visits in the order of their commits,
//! which is not that of their times where a clock was set back.

mod order;
mod read;
mod runs;

use model::{RecordLocation, Timestamp};
use store::census::VisitEntry;

pub use read::{Header, Instead, Version, version};
pub(crate) use read::{Opened, is_noarchive};
pub use runs::{Run, RunKind};

use crate::Error;

/// A version as somebody names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Number(usize),
    /// The version that the page had at this time.
    At(Timestamp),
}

/// A version and where it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picked<'a> {
    pub number: usize,
    /// When it was seen: for a moment, the last visit before.
    pub seen: Timestamp,
    pub record: RecordLocation,
    /// What the visit found, where that was not the version itself: then the page was gone, or led elsewhere.
    pub found: Option<&'a VisitEntry>,
}

pub struct Versions<'a> {
    visits: &'a [VisitEntry],
    /// Version of each row: for rows without content, the one at hand before them. 0: none yet.
    numbers: Vec<usize>,
}

impl<'a> Versions<'a> {
    /// `visits` as the census tells them, oldest first.
    pub fn new(visits: &'a [VisitEntry]) -> Versions<'a> {
        let mut number = 0;
        let count = |visit: &VisitEntry| {
            number += usize::from(visit.change.is_version());
            number
        };
        Versions { visits, numbers: visits.iter().map(count).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.numbers.last().copied().unwrap_or(0)
    }

    /// The newest that is kept.
    pub fn newest(&self) -> Option<Picked<'a>> {
        let kept =
            |(_, visit): &(usize, &VisitEntry)| visit.change.is_version() && visit.record.is_some();
        let (at, _) = self.visits.iter().enumerate().rev().find(kept)?;
        self.row(at)
    }

    pub fn pick(&self, which: Which) -> Result<Picked<'a>, Error> {
        match which {
            Which::Number(number) => self.numbered(number),
            Which::At(moment) => self.at(moment),
        }
    }

    fn numbered(&self, number: usize) -> Result<Picked<'a>, Error> {
        let is_it = |at: &usize| {
            self.visits[*at].change.is_version() && self.numbers[*at] == number && number > 0
        };
        let at = (0..self.visits.len())
            .find(is_it)
            .ok_or_else(|| Error::NoVersion { version: number, versions: self.count() })?;
        self.row(at).ok_or(Error::VersionNotKept { version: number })
    }

    /// The content that the last visit up to this moment saw, or that was at hand when it saw none.
    fn at(&self, moment: Timestamp) -> Result<Picked<'a>, Error> {
        let latest =
            |at: usize| self.visits[at].times.iter().copied().filter(|time| *time <= moment).max();
        let rows = || (0..self.visits.len()).filter_map(|at| Some((latest(at)?, at)));
        let content =
            rows().filter(|(_, at)| self.numbers[*at] > 0 && has_content(&self.visits[*at]));
        let Some((seen, at)) = content.max() else {
            let first = self.visits.iter().find(|visit| has_content(visit));
            return Err(match first.and_then(|visit| visit.times.first()) {
                Some(first) => Error::NotSeenYet { at: moment, first: *first },
                None => Error::NoContent,
            });
        };
        let number = self.numbers[at];
        // Other bytes that were no change may be kept no more where the version is.
        let record = self.record_of(at).or(self.record_of(self.kept_in(at)));
        let record = record.ok_or(Error::VersionNotKept { version: number })?;
        let found = rows().max().filter(|(time, other)| *other != at && *time >= seen);
        let found = found.map(|(_, other)| &self.visits[other]);
        Ok(Picked { number, seen, record, found: found.filter(|visit| !has_content(visit)) })
    }

    fn row(&self, at: usize) -> Option<Picked<'a>> {
        let visit = &self.visits[at];
        let seen = visit.times.first().copied().unwrap_or_default();
        Some(Picked { number: self.numbers[at], seen, record: self.record_of(at)?, found: None })
    }

    /// The row that speaks of what the visits of this one found: of content, that of the version, for what
    /// was archived since is the same by what is called a change.
    fn kept_in(&self, at: usize) -> usize {
        match has_content(&self.visits[at]) && self.numbers[at] > 0 {
            true => self.first_of(at),
            false => at,
        }
    }

    /// Where the content of a row is: when its own record is lost, the record of a later visit that
    /// found the same bytes and archived them again.
    fn record_of(&self, at: usize) -> Option<RecordLocation> {
        let visit = &self.visits[at];
        let again = || self.archived_again(at).and_then(|other| other.record);
        visit.record.map(|own| again().filter(|_| visit.lost).unwrap_or(own))
    }

    /// The content of a row is lost and nowhere else.
    fn is_lost(&self, at: usize) -> bool {
        self.visits[at].lost && self.archived_again(at).is_none()
    }

    fn archived_again(&self, at: usize) -> Option<&'a VisitEntry> {
        let hash = self.visits[at].content_hash;
        let is_same = |other: &&VisitEntry| {
            !other.lost && other.record.is_some() && other.content_hash == hash && hash != 0
        };
        self.visits[at + 1..].iter().find(is_same)
    }

    /// The row that made the version which this one has; numbers never fall.
    fn first_of(&self, at: usize) -> usize {
        self.numbers.partition_point(|number| *number < self.numbers[at])
    }
}

/// The visit saw the page's content, or was told that it is what it was.
fn has_content(visit: &VisitEntry) -> bool {
    visit.change.is_version() || visit.change.folds()
}

#[cfg(test)]
mod tests;
