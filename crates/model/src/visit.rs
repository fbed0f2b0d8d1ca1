//! A visit: one fetch of a page and what it showed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{FailureKind, RecordId, RecordLocation, Timestamp};

#[derive(Clone, Debug)]
pub struct Visit {
    pub at: Timestamp,
    /// HTTP status; 0 when no answer came.
    pub status: u16,
    pub failure: Option<FailureKind>,
    pub change: Change,
    pub record: Option<RecordLocation>,
    pub record_id: Option<RecordId>,
    /// The record is a `revisit`: its payload is where it refers to.
    pub revisit: bool,
    /// The record of the version before it was looked for and is lost: this one does not refer to
    /// it.
    pub lost_before: bool,
    /// Bytes that came over the wire, head included.
    pub wire_bytes: u64,
    /// Decoded body.
    pub body_bytes: u64,
    pub payload_digest: [u8; 20],
    pub content_hash: u64,
    pub text_hash: u64,
    pub simhash: u64,
    pub latency: Duration,
    pub elapsed: Duration,
}

/// How this visit's content compares with the version before. `Unchanged` and `NotModified` fold into
/// the run of the last version; the others open a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Change {
    First = 0,
    Changed = 1,
    Unchanged = 2,
    NotModified = 3,
    /// No answer, or an error status: recorded, but not a version.
    Failed = 4,
    /// The page answered with a redirect.
    Redirected = 5,
    /// 404 or 410, where there was content before. Later ones fold into its row.
    Gone = 6,
    /// Content again, after the page was gone: a version, also when it is the one from before.
    Returned = 7,
}

impl Change {
    pub fn from_stored(number: u8) -> Option<Change> {
        use Change::*;
        [First, Changed, Unchanged, NotModified, Failed, Redirected, Gone, Returned]
            .get(usize::from(number))
            .copied()
    }

    /// This visit made a version of its own.
    pub fn is_version(self) -> bool {
        matches!(self, Change::First | Change::Changed | Change::Returned)
    }

    /// This visit saw the version at hand again.
    pub fn folds(self) -> bool {
        matches!(self, Change::Unchanged | Change::NotModified)
    }
}
