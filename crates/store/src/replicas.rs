//! Replicas as they are kept: which site serves what another serves, since when, and what is done about it.
//!
//! How they are found is not for this crate to say.

use model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::sql::{self, Row};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaRow {
    pub site: String,
    pub original: String,
    /// Of the original: scheme, host and port.
    pub origin: String,
    /// By its word.
    pub heuristic: String,
    /// Paths seen on both sites, and those among them with the same content.
    pub compared: u32,
    pub same: u32,
    pub since: Timestamp,
    /// When it last held; of a dropped one, when it did not.
    pub looked: Timestamp,
    pub state: ReplicaState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicaState {
    /// Told, and crawled like any other site.
    Reported,
    /// Links to it lead to the original, and its pages rest.
    Folded,
    /// It serves something of its own by now.
    Dropped,
    /// The user does not want it folded, ever.
    Lifted,
}

impl ReplicaState {
    pub const ALL: &[ReplicaState] = &[
        ReplicaState::Reported,
        ReplicaState::Folded,
        ReplicaState::Dropped,
        ReplicaState::Lifted,
    ];

    pub fn word(self) -> &'static str {
        match self {
            ReplicaState::Reported => "reported",
            ReplicaState::Folded => "folded",
            ReplicaState::Dropped => "dropped",
            ReplicaState::Lifted => "lifted",
        }
    }

    pub fn from_word(word: &str) -> Option<ReplicaState> {
        ReplicaState::ALL.iter().copied().find(|state| state.word() == word)
    }
}

/// A change of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicaChange {
    /// What a look at the collection has brought: new ones, those that still hold, those that do not. A few pages
    /// of a folded one are visited again after `again_ms`.
    Found { rows: Vec<ReplicaRow>, again_ms: u64 },
    /// Never fold this site.
    Lift { site: String },
}

/// The home page of a site is the one whose first slash behind the host is its last letter. Of `pages p`.
pub(crate) const IS_HOME: &str = "length(p.url) = 8 + instr(substr(p.url, 9), '/')";

pub(crate) const REPLICAS: &str = "SELECT site, original, origin, heuristic, compared, same, since, looked, \
     state FROM replicas";

pub(crate) fn replica_row(row: Row<'_>) -> sql::Result<ReplicaRow> {
    let state: String = row.get(8)?;
    Ok(ReplicaRow {
        site: row.get(0)?,
        original: row.get(1)?,
        origin: row.get(2)?,
        heuristic: row.get(3)?,
        compared: row.get(4)?,
        same: row.get(5)?,
        since: Timestamp(row.get(6)?),
        looked: Timestamp(row.get(7)?),
        // The table admits no other.
        state: ReplicaState::from_word(&state).unwrap_or(ReplicaState::Reported),
    })
}
