//! Visits one after the other that found the same.

use std::{collections::HashMap, time::Duration};

use model::{Change, RecordLocation, Timestamp};
use serde::{Serialize, Serializer};
use store::census::VisitEntry;

use super::{Versions, has_content, order};

/// What the visits of a run found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// The first version.
    New,
    Changed,
    /// Content after the page was gone.
    Returned,
    /// A version seen before, after something else was found in between.
    Again,
    Gone,
    Redirected,
    /// No usable answer.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    pub kind: RunKind,
    /// `None`: no content, or content from before the history begins.
    pub version: Option<usize>,
    /// An earlier version with the same bytes.
    pub same_as: Option<usize>,
    /// Where a redirect led, if that is known.
    pub target: Option<String>,
    /// Why there was no answer.
    pub failure: Option<String>,
    /// 0: no answer.
    pub status: u16,
    #[serde(serialize_with = "model::iso::time")]
    pub first: Timestamp,
    #[serde(serialize_with = "model::iso::time")]
    pub last: Timestamp,
    /// From visit to visit; a clock that was set back takes nothing from it and adds nothing.
    #[serde(rename = "lasted_seconds", serialize_with = "seconds")]
    pub lasted: Duration,
    pub visits: usize,
    /// Of the version, where it is one.
    pub bytes: u64,
    /// The same; `None` where it is no longer kept.
    pub record: Option<RecordLocation>,
    /// The record is missing or damaged.
    pub lost: bool,
    /// Of the row it begins with.
    pub seq: i64,
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(time.as_secs())
}

/// What one visit found.
struct Found {
    kind: RunKind,
    version: Option<usize>,
    same_as: Option<usize>,
    target: Option<String>,
    failure: Option<String>,
}

impl Found {
    fn bare(kind: RunKind) -> Found {
        Found { kind, version: None, same_as: None, target: None, failure: None }
    }
}

impl Versions<'_> {
    /// Oldest first. `targets` says where redirects led, by the number of their row.
    pub fn runs(&self, targets: &HashMap<i64, String>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut shown = 0;
        for (time, at) in order::in_order(self.visits) {
            let found = self.found(at, targets, &mut shown);
            match runs.last_mut() {
                Some(run) if run.is_of(&found) => run.extend(&self.visits[at], time),
                _ => runs.push(self.begin(at, time, found)),
            }
        }
        runs
    }

    fn begin(&self, at: usize, time: Timestamp, found: Found) -> Run {
        let (visit, kept) = (&self.visits[at], self.kept_in(at));
        Run {
            kind: found.kind,
            version: found.version,
            same_as: found.same_as,
            target: found.target,
            failure: found.failure,
            status: visit.status,
            first: time,
            last: time,
            lasted: Duration::ZERO,
            visits: 1,
            bytes: self.visits[kept].body_bytes,
            record: self.record_of(kept),
            lost: self.is_lost(kept),
            seq: visit.seq,
        }
    }

    /// What a visit of this row found. `shown`: the newest version of the runs so far.
    fn found(&self, at: usize, targets: &HashMap<i64, String>, shown: &mut usize) -> Found {
        let (visit, number) = (&self.visits[at], self.numbers[at]);
        match visit.change {
            Change::Redirected => Found {
                target: targets.get(&visit.seq).cloned(),
                ..Found::bare(RunKind::Redirected)
            },
            Change::Gone => Found::bare(RunKind::Gone),
            Change::Failed => {
                Found { failure: visit.failure.clone(), ..Found::bare(RunKind::Failed) }
            }
            _ if number <= *shown => Found {
                version: Some(number).filter(|number| *number > 0),
                ..Found::bare(RunKind::Again)
            },
            change => {
                *shown = number;
                let kind = match change {
                    Change::Returned => RunKind::Returned,
                    _ if number == 1 => RunKind::New,
                    _ => RunKind::Changed,
                };
                let same_as = self.earlier_like(at);
                Found { version: Some(number), same_as, ..Found::bare(kind) }
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

impl Run {
    /// The page had content.
    pub fn has_content(&self) -> bool {
        !matches!(self.kind, RunKind::Gone | RunKind::Redirected | RunKind::Failed)
    }

    /// A visit that found this belongs to the run.
    fn is_of(&self, found: &Found) -> bool {
        match self.has_content() {
            true => found.kind == RunKind::Again && self.version == found.version,
            false => {
                self.kind == found.kind
                    && self.target == found.target
                    && self.failure == found.failure
            }
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
}
