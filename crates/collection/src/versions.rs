//! The history of a page as people speak of it: versions by number, the version at hand at a moment, and
//! runs of visits that found the same.
//!
//! A version's number is its place among the versions of its page, the first being 1. Rows of the database
//! are not runs: visits that saw a version again are folded into its row, also when something failed in
//! between, and failures have a row each. Runs are put together from all visits in the order of their commits,
//! which is not that of their times where a clock was set back.

mod order;

use std::{collections::HashMap, time::Duration};

use model::{Change, RecordLocation, Timestamp};
use store::census::VisitEntry;

use config::{
    failure::Failure,
    moments::Moment,
    times::{iso, span},
};

/// A version as somebody names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Number(usize),
    At(Moment),
}

impl Which {
    pub fn parse(text: &str, now: Timestamp) -> Result<Which, Failure> {
        if let Ok(number) = text.trim().parse() {
            return Ok(Which::Number(number));
        }
        Which::at(text, now)
    }

    /// By its time alone.
    pub fn at(text: &str, now: Timestamp) -> Result<Which, Failure> {
        Moment::parse(text, now).map(Which::At).map_err(|why| {
            Failure::usage(
                format!("cannot tell a version by {text:?}: {why}"),
                "give a time, or a number of those that harvestman history shows",
            )
        })
    }
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

    pub fn pick(&self, which: Which) -> Result<Picked<'a>, Failure> {
        match which {
            Which::Number(number) => self.numbered(number),
            Which::At(moment) => self.at(moment.to),
        }
    }

    fn numbered(&self, number: usize) -> Result<Picked<'a>, Failure> {
        let is_it = |at: &usize| {
            self.visits[*at].change.is_version() && self.numbers[*at] == number && number > 0
        };
        let at = (0..self.visits.len()).find(is_it).ok_or_else(|| {
            Failure::usage(
                format!("there is no version {number}: {}", self.how_many()),
                "see them with harvestman history",
            )
        })?;
        self.row(at).ok_or_else(|| no_longer_kept(number))
    }

    /// The content that the last visit up to this moment saw, or that was at hand when it saw none.
    fn at(&self, moment: Timestamp) -> Result<Picked<'a>, Failure> {
        let latest =
            |at: usize| self.visits[at].times.iter().copied().filter(|time| *time <= moment).max();
        let rows = || (0..self.visits.len()).filter_map(|at| Some((latest(at)?, at)));
        let content =
            rows().filter(|(_, at)| self.numbers[*at] > 0 && has_content(&self.visits[*at]));
        let Some((seen, at)) = content.max() else {
            let first = self.visits.iter().find(|visit| has_content(visit));
            return Err(match first.and_then(|visit| visit.times.first()) {
                Some(first) => Failure::usage(
                    format!("it was not seen yet at {}", iso(moment)),
                    format!("its first version is of {}", iso(*first)),
                ),
                None => Failure::usage("it has no content", "see why with harvestman history"),
            });
        };
        let number = self.numbers[at];
        // Other bytes that were no change may be kept no more where the version is.
        let record = self.visits[at].record.or(self.kept_in(at).record);
        let record = record.ok_or_else(|| no_longer_kept(number))?;
        let found = rows().max().filter(|(time, other)| *other != at && *time >= seen);
        let found = found.map(|(_, other)| &self.visits[other]);
        Ok(Picked { number, seen, record, found: found.filter(|visit| !has_content(visit)) })
    }

    fn row(&self, at: usize) -> Option<Picked<'a>> {
        let visit = &self.visits[at];
        let seen = visit.times.first().copied().unwrap_or_default();
        Some(Picked { number: self.numbers[at], seen, record: visit.record?, found: None })
    }

    fn how_many(&self) -> String {
        match self.count() {
            0 => "it has none".to_owned(),
            1 => "it has one".to_owned(),
            n => format!("it has {n}"),
        }
    }

    /// Visits one after the other that found the same, oldest first. `targets` says where redirects led, by
    /// the number of their row.
    pub fn runs(&self, targets: &HashMap<i64, String>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut shown = 0;
        for (time, at) in order::in_order(self.visits) {
            let found = self.found(at, targets, &mut shown);
            match runs.last_mut() {
                Some(run) if run.is_of(&found) => run.extend(&self.visits[at], time),
                _ => runs.push(Run::begin(&self.visits[at], self.kept_in(at), time, found)),
            }
        }
        runs
    }

    /// The row that speaks of what the visits of this one found: of content, that of the version, for what
    /// was archived since is the same by what is called a change.
    fn kept_in(&self, at: usize) -> &'a VisitEntry {
        match has_content(&self.visits[at]) && self.numbers[at] > 0 {
            true => &self.visits[self.first_of(at)],
            false => &self.visits[at],
        }
    }

    /// The row that made the version which this one has; numbers never fall.
    fn first_of(&self, at: usize) -> usize {
        self.numbers.partition_point(|number| *number < self.numbers[at])
    }

    /// What a visit of this row found. `shown`: the newest version that was told already.
    fn found(&self, at: usize, targets: &HashMap<i64, String>, shown: &mut usize) -> Found {
        let (visit, number) = (&self.visits[at], self.numbers[at]);
        match visit.change {
            Change::Redirected => Found::Elsewhere(targets.get(&visit.seq).cloned()),
            Change::Gone => Found::Gone,
            Change::Failed => Found::Nothing(visit.failure.clone()),
            _ if number == 0 => Found::Content { number, how: How::Again, same_as: None },
            _ if number <= *shown => Found::Content { number, how: How::Again, same_as: None },
            change => {
                *shown = number;
                let how = match change {
                    Change::Returned => How::Returned,
                    _ if number == 1 => How::First,
                    _ => How::Changed,
                };
                Found::Content { number, how, same_as: self.earlier_like(at) }
            }
        }
    }

    /// The last earlier version with the same bytes.
    fn earlier_like(&self, at: usize) -> Option<usize> {
        let hash = self.visits[at].content_hash;
        let before = self.visits[..at].iter().zip(&self.numbers);
        let mut alike = before.filter(|(visit, _)| {
            visit.change.is_version() && visit.content_hash == hash && hash != 0
        });
        alike.next_back().map(|(_, number)| *number)
    }
}

/// What a visit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A version; `same_as` an earlier one with the same bytes.
    Content {
        number: usize,
        how: How,
        same_as: Option<usize>,
    },
    Gone,
    /// A redirect, and where it led if that is known.
    Elsewhere(Option<String>),
    /// No usable answer: the failure in a word, or an error status.
    Nothing(Option<String>),
}

/// How a version came to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    First,
    Changed,
    Returned,
    /// Something else was found in between.
    Again,
}

impl How {
    pub fn word(self) -> &'static str {
        match self {
            How::First => "first",
            How::Changed => "changed",
            How::Returned => "returned",
            How::Again => "again",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub found: Found,
    pub first: Timestamp,
    pub last: Timestamp,
    pub visits: usize,
    pub status: u16,
    /// Of the version, where it is one.
    pub body_bytes: u64,
    /// The same.
    pub record: Option<RecordLocation>,
    /// Of the row it begins with.
    pub seq: i64,
    /// From visit to visit; a clock that was set back takes nothing from it and adds nothing.
    lasted: Duration,
}

impl Run {
    /// `kept`: the row whose content it is.
    fn begin(visit: &VisitEntry, kept: &VisitEntry, time: Timestamp, found: Found) -> Run {
        Run {
            found,
            first: time,
            last: time,
            visits: 1,
            status: visit.status,
            body_bytes: kept.body_bytes,
            record: kept.record,
            seq: visit.seq,
            lasted: Duration::ZERO,
        }
    }

    /// A visit that found this belongs to the run.
    fn is_of(&self, found: &Found) -> bool {
        match (&self.found, found) {
            (Found::Content { number, .. }, Found::Content { number: other, how, .. }) => {
                number == other && *how == How::Again
            }
            (ours, theirs) => ours == theirs,
        }
    }

    fn extend(&mut self, visit: &VisitEntry, time: Timestamp) {
        self.lasted = self.lasted.saturating_add(time.since(self.last));
        self.last = time;
        self.visits += 1;
        // A 304 has a status of its own but says nothing of the content.
        if !has_content(visit) {
            self.status = visit.status;
        }
    }

    /// In words: `changed; unchanged for 3d`.
    pub fn words(&self) -> String {
        let lasted = span(self.lasted);
        let several = self.visits > 1;
        let (what, then) = match &self.found {
            Found::Content { number, how, same_as } => {
                let what = match (how, same_as) {
                    (How::First, _) => "first seen".to_owned(),
                    (How::Changed, None) => "changed".to_owned(),
                    (How::Changed, Some(n)) => format!("changed, back to version {n}"),
                    (How::Returned, None) => "returned, changed".to_owned(),
                    (How::Returned, Some(n)) => format!("returned, as version {n} was"),
                    (How::Again, _) if *number == 0 => {
                        "unchanged since before the history".to_owned()
                    }
                    (How::Again, _) => format!("again version {number}"),
                };
                (what, format!("unchanged for {lasted}"))
            }
            Found::Gone => ("gone".to_owned(), format!("still gone after {lasted}")),
            Found::Elsewhere(Some(target)) => {
                (format!("redirected to {target}"), format!("for {lasted}"))
            }
            Found::Elsewhere(None) => ("redirected".to_owned(), format!("for {lasted}")),
            Found::Nothing(Some(failure)) => {
                (format!("failed: {failure}"), format!("for {lasted}"))
            }
            Found::Nothing(None) if (200..300).contains(&self.status) => {
                ("its answer was not wanted".to_owned(), format!("for {lasted}"))
            }
            Found::Nothing(None) => {
                (format!("failed: status {}", self.status), format!("for {lasted}"))
            }
        };
        if several { format!("{what}; {then}") } else { what }
    }
}

/// The visit saw the page's content, or was told that it is what it was.
fn has_content(visit: &VisitEntry) -> bool {
    visit.change.is_version() || visit.change.folds()
}

fn no_longer_kept(number: usize) -> Failure {
    Failure::usage(
        format!("version {number} is no longer kept"),
        "see which are with harvestman history",
    )
}

#[cfg(test)]
mod tests;
