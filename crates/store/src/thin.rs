//! Thinning: old versions leave the volumes by rule or to keep within a budget; history keeps their visits.
//!
//! The way is that of a takedown ([`crate::forget`]), with other records: volumes are read, revisits of what
//! stays that refer to a payload that goes are made whole, one transaction marks the rows (`visits.thinned`,
//! no record any more) and writes the journal, and then the volumes are written anew without the records. A
//! crash anywhere leaves a whole collection, and the next start ends the work. The newest version of a page
//! never goes, whatever the rule and the budget say.
//!
//! A large collection is thinned in several passes, so that memory has a bound.

mod choose;
mod rule;

#[cfg(test)]
mod histories;
#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeMap, time::Duration};

use model::{StoreError, Timestamp};
use serde::Serialize;

pub use rule::KeepRule;

use crate::{
    census::Census,
    collection::{Collection, CrawlLock},
    forget::{self, Journal, Progress, Step, Work},
    frontier::SqlFrontier,
    sql::{self, OptionalExtension, params},
};
pub(crate) use choose::captures_of;

/// What is to be kept.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    pub rule: Option<KeepRule>,
    /// Most bytes of archived versions; the oldest go first.
    pub versions_bytes_max: Option<u64>,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thinned {
    /// As `status` and `history` count them.
    pub versions: u64,
    /// Other bytes that a page had at visits that saw no change: archived, but no versions.
    pub copies: u64,
    /// Of the answers that held them: those that `left_bytes` and `versions_bytes_max` count, too.
    pub bytes: u64,
    /// Of volumes: requests, responses and revisits, also those of visits that found it unchanged.
    pub records: u64,
    /// What those records took on disk.
    pub records_bytes: u64,
    pub volumes_rewritten: u64,
    /// Versions that stay and had their payload in one that went: they have it themselves now.
    pub made_whole: u64,
    /// Bytes of the versions that stay, as they were before: with `bytes`, all there was. Of these, a record that is
    /// written anew for one that goes may have another length afterwards.
    pub left_bytes: u64,
    /// Those that lost most first.
    pub sites: Vec<ThinnedSite>,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThinnedSite {
    pub site: String,
    pub versions: u64,
    pub bytes: u64,
}

/// Visits of what one pass removes: 8 bytes each, twice that while the set grows.
const PASS_VISITS_MAX: usize = 4_000_000;

/// Removes what is not to be kept. Whoever calls holds the collection's lock.
pub fn thin(
    collection: &Collection,
    lock: &CrawlLock,
    keep: &Keep,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Thinned, StoreError> {
    forget::finish(collection, lock, now, &mut *progress)?;
    let (mut done, mut sites) = (Thinned::default(), BTreeMap::new());
    for pass in 0.. {
        let frontier = collection.frontier()?;
        let chosen = frontier.choose_versions(keep, now, PASS_VISITS_MAX)?;
        drop(frontier);
        done.left_bytes = match pass {
            0 => chosen.left_bytes,
            _ => done.left_bytes.saturating_sub(chosen.bytes),
        };
        if chosen.rows.is_empty() {
            break;
        }
        done.versions += chosen.versions;
        done.copies += chosen.copies;
        done.bytes += chosen.bytes;
        chosen.add_sites(&mut sites);
        // Each pass has a moment of its own, by which a crash finds its rows again.
        let at = Timestamp(now.0.saturating_add(pass));
        one_pass(collection, chosen, at, &mut *progress, &mut done)?;
    }
    done.sites = ranked(sites);
    note_done(&mut collection.frontier()?, now)?;
    Ok(done)
}

/// Whether a day has passed since it was last done.
pub fn is_due(collection: &Collection, now: Timestamp) -> Result<bool, StoreError> {
    // A clock that was set back must not put it off for years.
    Ok(last(collection)?.is_none_or(|last| now.since(last) >= DAY || last > now))
}

/// When it is due again.
pub fn next(collection: &Collection, now: Timestamp) -> Result<Timestamp, StoreError> {
    Ok(last(collection)?.filter(|last| *last <= now).unwrap_or(now).plus(DAY))
}

fn last(collection: &Collection) -> Result<Option<Timestamp>, StoreError> {
    let frontier = collection.frontier()?;
    let last: Option<String> = frontier
        .connection
        .query_row("SELECT value FROM meta WHERE name = ?1", [LAST], |row| row.get(0))
        .optional()
        .map_err(|e| frontier.error(e))?;
    Ok(last.and_then(|text| text.parse().ok()).map(Timestamp))
}

/// It is not due before another day has passed.
pub fn put_off(collection: &Collection, now: Timestamp) -> Result<(), StoreError> {
    note_done(&mut collection.frontier()?, now)
}

fn note_done(frontier: &mut SqlFrontier, now: Timestamp) -> Result<(), StoreError> {
    frontier.change(now, |sql| {
        let text = now.0.to_string();
        sql.execute(crate::frontier::PUT_META, [LAST, &text]).map(drop)
    })
}

/// The row of `meta` that says when it was last done.
const LAST: &str = "thinned";
const DAY: Duration = Duration::from_secs(86_400);

/// What [`thin`] would remove; nothing is changed. How many records of volumes that means is known only when
/// they have been read.
pub fn would_thin(
    collection: &Collection,
    _lock: &CrawlLock,
    keep: &Keep,
    now: Timestamp,
) -> Result<Thinned, StoreError> {
    let frontier = collection.frontier()?;
    let chosen = frontier.choose_versions(keep, now, usize::MAX)?;
    let mut sites = BTreeMap::new();
    chosen.add_sites(&mut sites);
    Ok(Thinned {
        versions: chosen.versions,
        copies: chosen.copies,
        bytes: chosen.bytes,
        left_bytes: chosen.left_bytes,
        sites: ranked(sites),
        ..Thinned::default()
    })
}

fn one_pass(
    collection: &Collection,
    chosen: choose::Chosen,
    at: Timestamp,
    progress: Progress<'_>,
    done: &mut Thinned,
) -> Result<(), StoreError> {
    let mut work = Work::of_captures(collection, chosen.captures, at, progress)?;
    let mut found = work.look()?;
    work.make_whole(&mut found)?;
    work.frontier.thin_rows(&chosen.rows, at)?;
    (work.progress)(Step::Rows)?;
    work.remove_records(&found)?;
    let removed = work.thinned()?;
    done.records += removed.records;
    done.records_bytes += removed.bytes;
    done.volumes_rewritten += removed.volumes_rewritten;
    done.made_whole += removed.made_whole;
    done.warnings.extend(removed.warnings);
    Ok(())
}

impl SqlFrontier {
    /// The rows lose their records and say when; the journal says that the records may still be there.
    fn thin_rows(&mut self, rows: &[i64], at: Timestamp) -> Result<(), StoreError> {
        self.change(at, |sql| {
            let mut thin = sql.prepare(
                "UPDATE visits SET thinned = ?2, record_volume = NULL, record_offset = NULL, \
                 record_length = NULL, record_id = NULL WHERE seq = ?1",
            )?;
            for seq in rows {
                thin.execute(params![seq, at.0])?;
            }
            let journal = Journal::Thinning { at };
            journal.write(sql).map_err(|error| sql::Error::value(0, error))
        })
    }
}

impl Census {
    /// Versions that were seen and are archived no more.
    pub fn versions_thinned(&self) -> Result<u64, StoreError> {
        self.ask(|sql| {
            let count = "SELECT count(*) FROM visits \
                         WHERE thinned IS NOT NULL AND change IN (0, 1, 7)";
            sql.query_row(count, [], |row| row.get::<i64>(0)).map(|count| count as u64)
        })
    }
}

fn ranked(sites: BTreeMap<String, (u64, u64)>) -> Vec<ThinnedSite> {
    let of = |(site, (versions, bytes))| ThinnedSite { site, versions, bytes };
    let mut list: Vec<ThinnedSite> = sites.into_iter().map(of).collect();
    list.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.site.cmp(&b.site)));
    list
}
