//! Databases as tests need them: damaged, aged, or left as another version or a crash would leave them.
//!
//! With the feature `testing` only. Tests of the program ask the program; what it can neither show nor do
//! is here, so that nobody but the store knows the tables. Each function opens `crawl.db` in the folder of a
//! collection for itself and panics where that does not work.

// A panic is how tests speak.
#![allow(clippy::unwrap_used)]

mod settled;

use std::{path::Path, time::Duration};

use crate::sql::{self, Params, Sql, params};
use model::{RecordLocation, Timestamp};

pub use settled::settled;

/// A visit that has a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedVisit {
    pub url: String,
    pub status: u16,
    pub record: RecordLocation,
    pub record_id: Vec<u8>,
}

/// All visits that were answered, with where their records are.
pub fn archived_visits(folder: &Path) -> Vec<ArchivedVisit> {
    let database = open(folder);
    let sql = "SELECT p.url, v.status, v.record_volume, v.record_offset, v.record_length, v.record_id \
               FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp WHERE v.status > 0";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let offset = row.get::<i64>(3)?.unsigned_abs();
        let record = RecordLocation { volume: row.get(2)?, offset, length: row.get(4)? };
        let (url, status) = (row.get(0)?, row.get(1)?);
        Ok(ArchivedVisit { url, status, record, record_id: row.get(5)? })
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// How many rows a query finds that users may ask.
pub fn rows_of(folder: &Path, query: &str) -> usize {
    let database = open(folder);
    let mut statement = database.prepare(query).unwrap();
    statement.query_map([], |_| Ok(())).unwrap().map(Result::unwrap).count()
}

/// Commands that were left for a crawl and are not carried out.
pub fn commands_waiting(folder: &Path) -> u64 {
    let sql = "SELECT count(*) FROM control WHERE done IS NULL";
    open(folder).query_row(sql, [], |row| row.get::<i64>(0)).unwrap().unsigned_abs()
}

/// Sites of which families of near duplicates, or what they show for missing pages, are remembered.
pub fn sites_that_remember(folder: &Path) -> u64 {
    let sql = "SELECT count(*) FROM sites WHERE traps LIKE '%\"families\":%' OR traps LIKE '%\"missing\":%'";
    open(folder).query_row(sql, [], |row| row.get::<i64>(0)).unwrap().unsigned_abs()
}

/// The last run has shown no sign of life for so long.
pub fn silence_run(folder: &Path, silent: Duration) {
    change(folder, "UPDATE runs SET heartbeat = heartbeat - ?1", [millis(silent)]);
}

/// Sites count pages that are not there.
pub fn spoil_known_counters(folder: &Path) {
    change(folder, "UPDATE sites SET known = known + 5", []);
}

/// The collection in which a batch was harvested becomes one like any other.
pub fn forget_batch(folder: &Path) {
    change(folder, "DELETE FROM meta WHERE name = 'batch'", []);
}

/// A try that failed just before the last visit of the page.
pub fn add_failed_visit(folder: &Path, url: &str) {
    let sql = "INSERT INTO visits (site, fp, change, status, failure, first, last, wire_bytes, body_bytes, \
               content_hash, text_hash, simhash, latency, elapsed) \
               SELECT site, fp, 4, 0, 'reset', visited - 1, visited - 1, 0, 0, 0, 0, 0, 0, 0 \
               FROM pages WHERE url = ?1";
    change(folder, sql, [url]);
}

/// A change of every page of the collection, this many days after its first visit.
pub fn add_changes(folder: &Path, days: i64) {
    let sql = "INSERT INTO visits (site, fp, change, status, first, last, wire_bytes, body_bytes, \
               content_hash, text_hash, simhash, latency, elapsed) \
               SELECT site, fp, 1, 200, first + 86400000 * ?1, last + 86400000 * ?1, 1, 1, 0, 0, 0, 0, 0 \
               FROM visits WHERE change = 0";
    change(folder, sql, [days]);
}

/// Three times the process ended while it read this page.
pub fn add_breakdown(folder: &Path, url: &str) {
    let sql = "INSERT INTO breakdowns (site, fp, url, count, how, first, last) \
               SELECT s.key, p.fp, p.url, 3, 'panicked', 1, 2 \
               FROM pages p JOIN sites s ON s.id = p.site WHERE p.url = ?1";
    change(folder, sql, [url]);
}

/// The collection is as the version before left it that knew of no register of volumes.
pub fn drop_register(folder: &Path) {
    let undo = "DROP TABLE volumes; ALTER TABLE sites RENAME COLUMN full_for TO full; \
                PRAGMA user_version = 4";
    open(folder).execute_batch(undo).unwrap();
}

/// Sealed volumes in the register whose digest is known, and those whose is not.
pub fn registered(folder: &Path) -> (u64, u64) {
    let sql =
        "SELECT count(digest), count(*) - count(digest) FROM volumes WHERE state = 1 AND bytes > 0";
    let count = |row: sql::Row<'_>, n| row.get::<i64>(n).map(i64::unsigned_abs);
    open(folder).query_row(sql, [], |row| Ok((count(row, 0)?, count(row, 1)?))).unwrap()
}

/// Every page has been due since 1970.
pub fn make_all_due(folder: &Path) {
    change(folder, "UPDATE pages SET due = 1", []);
}

/// All deliveries that were given up become one long one, as after months.
pub fn merge_dead_letters(folder: &Path) {
    let widen = "UPDATE dead_letters SET after = (SELECT min(after) FROM dead_letters), \
                 changes = (SELECT sum(changes) FROM dead_letters) \
                 WHERE id = (SELECT max(id) FROM dead_letters)";
    change(folder, widen, []);
    let others = "DELETE FROM dead_letters WHERE id < (SELECT max(id) FROM dead_letters)";
    change(folder, others, []);
}

/// Webhooks wait so much longer for their next try.
pub fn postpone_webhooks(folder: &Path, longer: Duration) {
    change(folder, "UPDATE webhooks SET next = next + ?1", [millis(longer)]);
}

/// Old versions were last removed at this time.
pub fn set_thinned(folder: &Path, at: Timestamp) {
    let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES ('thinned', CAST(?1 AS TEXT))";
    change(folder, sql, [at.0]);
}

/// All visits were made so much earlier.
pub fn age_visits(folder: &Path, earlier: Duration) {
    let earlier = millis(earlier);
    change(folder, "UPDATE totals SET newest = newest - ?1", [earlier]);
    change(folder, "UPDATE visits SET first = first - ?1, last = last - ?1", [earlier]);
}

/// The database says that a later version of the program has written it.
pub fn pretend_newer(folder: &Path) {
    let database = open(folder);
    database.execute_batch("PRAGMA user_version = 99").unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

/// Records of a volume that was rewritten: from which offset to which, with their new lengths, and where it
/// ends now.
pub fn move_records(folder: &Path, volume: u32, moves: &[(u64, u64, u64)], end: u64) {
    let database = open(folder);
    // From the end, so that no row is met twice.
    for (from, to, length) in moves.iter().rev() {
        let sql = "UPDATE visits SET record_offset = ?3, record_length = ?4 \
                   WHERE record_volume = ?1 AND record_offset = ?2";
        let (from, to, length) = (signed(*from), signed(*to), signed(*length));
        database.execute(sql, params![volume, from, to, length]).unwrap();
    }
    let sql = "UPDATE meta SET value = json_set(value, '$.offset', ?2) \
               WHERE name = 'mark' AND json_extract(value, '$.volume') = ?1";
    database.execute(sql, params![volume, signed(end)]).unwrap();
}

fn open(folder: &Path) -> Sql {
    sql::open_plain(&folder.join("crawl.db")).unwrap()
}

/// A statement that has to change something.
fn change(folder: &Path, sql: &str, values: impl Params) {
    let changed = open(folder).execute(sql, values).unwrap();
    assert!(changed > 0, "there was nothing to change: {sql}");
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}
