//! From a moment to a place in the order of commits.
//!
//! `visits.first` grows with `seq`, nearly: visits overlap by as long as one lasts, and a clock that was set
//! back or forward makes the times jump. So the place is not found by halving alone. The history is probed
//! at evenly spaced places, and the *first* stretch that reaches the moment is where to begin; only inside
//! it is halved. A stretch that lies before the moment by its times is passed, whatever comes behind it, and
//! what is read from there on is compared with the moment row by row: a jump costs reading, not results,
//! unless it lasted for less than a thousandth of the history.

use std::time::Duration;

use model::{StoreError, Timestamp};

use crate::census::Census;
use crate::sql::{self, OptionalExtension, Sql};

/// A thousand look-ups take some milliseconds.
const PROBES: i64 = 1_024;

/// Longer than a visit may wait between its first byte and its commit.
const OVERLAP: Duration = Duration::from_secs(3_600);

impl Census {
    /// A `seq` behind which everything lies that was seen at this moment or later, and little else.
    pub fn seq_before(&self, at: Timestamp) -> Result<i64, StoreError> {
        let wanted = at.minus(OVERLAP);
        self.ask(|sql| {
            let last: i64 =
                sql.query_row("SELECT coalesce(max(seq), 0) FROM visits", [], |row| row.get(0))?;
            let step = (last / PROBES).max(1);
            let mut below = 0;
            while below < last {
                match probe(sql, below.saturating_add(step).min(last))? {
                    Some((seq, first)) if first < wanted => below = seq,
                    _ => break,
                }
            }
            halve(sql, below, below.saturating_add(step).min(last), wanted)
        })
    }
}

/// `below` is before the moment, `above` is not.
fn halve(sql: &Sql, mut below: i64, mut above: i64, wanted: Timestamp) -> sql::Result<i64> {
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        match probe(sql, middle)? {
            Some((seq, first)) if first < wanted => below = seq,
            _ => above = middle,
        }
    }
    Ok(below)
}

/// The first visit at this place or behind it: numbers can be missing.
fn probe(sql: &Sql, seq: i64) -> sql::Result<Option<(i64, Timestamp)>> {
    sql.prepare("SELECT seq, first FROM visits WHERE seq >= ?1 ORDER BY seq LIMIT 1")?
        .query_row([seq], |row| Ok((row.get(0)?, Timestamp(row.get(1)?))))
        .optional()
}
