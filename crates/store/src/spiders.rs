//! Spiders as the collection knows them: names, settings, pauses, and what each has brought so far.
//!
//! - Number 1 is "default", is always there and cannot be removed.
//! - A name belongs to one living spider. A removed one keeps its number and its pages, as history.
//! - Settings are kept, not read: a key of the configuration and its value as TOML text.
//!
//! The verbs that change them are [`SqlFrontier`](crate::frontier::SqlFrontier)'s.

use std::collections::BTreeMap;

use model::{Spent, SpiderId, StoreError, Timestamp};
use serde::Serialize;

use crate::sql::{self, Row, Sql};

/// A living spider.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpiderRow {
    pub id: SpiderId,
    pub name: String,
    pub created: Timestamp,
    pub paused: bool,
    /// Why it is paused, in the user's words or ours.
    pub why: String,
    /// Key of the configuration to TOML value: `crawl.scope` to `"domain"`, quotes included.
    pub settings: BTreeMap<String, String>,
    pub counts: SpiderCounts,
    pub spent: Spent,
    pub visits: u64,
}

impl Default for SpiderRow {
    /// The first spider, as a new collection has it.
    fn default() -> SpiderRow {
        SpiderRow {
            id: DEFAULT_SPIDER,
            name: "default".to_owned(),
            created: Timestamp::ZERO,
            paused: false,
            why: String::new(),
            settings: BTreeMap::new(),
            counts: SpiderCounts::default(),
            spent: Spent::default(),
            visits: 0,
        }
    }
}

/// Pages that belong to a spider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpiderCounts {
    /// Admitted: neither candidates nor excluded.
    pub known: u64,
    /// Admitted and not yet answered.
    pub waiting: u64,
    /// Answered with content at least once.
    pub fetched: u64,
    /// Failing now.
    pub failed: u64,
    /// Parts of pages that were admitted; in none of the others.
    pub requisites: u64,
}

pub const DEFAULT_SPIDER: SpiderId = SpiderId(1);
/// Long enough for any word, short enough for a column of a listing.
pub const NAME_BYTES_MAX: usize = 64;
/// Each has rules and seeds in memory while a crawl runs.
pub const SPIDERS_MAX: usize = 1_000;
/// Settings are written by hand; as JSON they are a few hundred bytes.
pub const SETTINGS_BYTES_MAX: usize = 256 * 1024;

/// Whether a spider may be called so.
pub fn check_name(name: &str) -> Result<(), StoreError> {
    let allowed = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    let shown: String = name.chars().take(NAME_BYTES_MAX).collect();
    Err(refused(format!(
        "a spider cannot be called {shown:?}: use 1 to {NAME_BYTES_MAX} of a-z, 0-9, _ and -"
    )))
}

pub(crate) fn refused(why: String) -> StoreError {
    StoreError::Refused { why }
}

/// Living spiders, by number.
pub(crate) fn list(sql: &Sql) -> sql::Result<Vec<SpiderRow>> {
    let mut statement = sql.prepare(
        "SELECT id, name, created, paused, why, settings, known, waiting, fetched, failed, \
         requisites, visits, bytes FROM spiders WHERE removed IS NULL ORDER BY id",
    )?;
    let rows = statement.query_map([], spider_row)?;
    rows.collect()
}

fn spider_row(row: Row<'_>) -> sql::Result<SpiderRow> {
    let count = |column: usize| row.get::<i64>(column).map(|n| n.max(0) as u64);
    let settings = serde_json::from_str(row.text(5)?).map_err(|e| sql::Error::value(5, e))?;
    let counts = SpiderCounts {
        known: count(6)?,
        waiting: count(7)?,
        fetched: count(8)?,
        failed: count(9)?,
        requisites: count(10)?,
    };
    Ok(SpiderRow {
        id: SpiderId(row.get(0)?),
        name: row.get(1)?,
        created: Timestamp(row.get(2)?),
        paused: row.get(3)?,
        why: row.get(4)?,
        settings,
        counts,
        spent: Spent { pages: counts.fetched, bytes: count(12)? },
        visits: count(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for good in ["a", "default", "news_2026-11", &"x".repeat(64)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "News", "a b", "ä", "a/b", "a\n", &"x".repeat(65)] {
            let error = check_name(bad).unwrap_err();
            assert!(error.to_string().contains("use 1 to 64 of a-z"), "{error}");
        }
    }
}
