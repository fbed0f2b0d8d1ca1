//! `SqliteFrontier`: the connection, its transactions, and the totals that every transaction keeps.
//!
//! - All of a verb happens or none: in the database, in the totals and in the caches.
//! - After a failed commit (other than for want of space) nothing more is written.

use std::path::{Path, PathBuf};

use model::{
    Candidate, CheckOut, Counts, Frontier, Mark, Page, PageState, Refill, Settlement, SiteId,
    SiteLease, SpiderId, StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    admit,
    cache::{SiteIds, StoredFingerprints},
    check_in, check_out, parts,
    rows::Fault,
};
use crate::{
    database::{WAL_BYTES_MAX, is_disk_full, open_writer, prepare_writer, store_error, wal_path},
    links::LinkPosition,
    migrate::migrate,
};

pub struct SqliteFrontier {
    pub(crate) connection: Connection,
    path: PathBuf,
    counts: Counts,
    stored: StoredFingerprints,
    site_ids: SiteIds,
    /// The last check-out was for parts of pages only.
    pub(super) parts_only: bool,
    /// The page limit of the last check-out; `None` before the first one.
    limit: Option<Option<u64>>,
    /// How much the journal may grow between two attempts to start it over.
    wal_step: u64,
    /// The size for the next attempt.
    wal_next: u64,
    poisoned: Option<String>,
}

impl SqliteFrontier {
    /// Opens or makes the database. Whoever crawls holds the collection's lock.
    pub fn open(path: &Path) -> Result<SqliteFrontier, StoreError> {
        SqliteFrontier::over(open_writer(path)?, path)
    }

    pub fn open_in_memory() -> Result<SqliteFrontier, StoreError> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory().map_err(|e| store_error(path, e))?;
        prepare_writer(&connection).map_err(|e| store_error(path, e))?;
        SqliteFrontier::over(connection, path)
    }

    fn over(connection: Connection, path: &Path) -> Result<SqliteFrontier, StoreError> {
        migrate(&connection, path)?;
        let counts = load_totals(&connection).map_err(|e| store_error(path, e))?;
        Ok(SqliteFrontier {
            connection,
            path: path.to_owned(),
            counts,
            stored: StoredFingerprints::new(),
            site_ids: SiteIds::default(),
            parts_only: false,
            limit: None,
            wal_step: WAL_BYTES_MAX,
            wal_next: 2 * WAL_BYTES_MAX,
            poisoned: None,
        })
    }

    /// Before crawling: all leases are of a process that is dead (the caller holds the lock). Their
    /// sites are due again and owe their full pause.
    pub fn recover_leases(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| check_out::release(work, Timestamp(i64::MAX)))
    }

    /// Where the archive and the link segments were when the last settlement was made.
    pub fn marks(&self) -> Result<Marks, StoreError> {
        let read = |name| -> Result<Option<String>, StoreError> {
            self.connection
                .prepare_cached("SELECT value FROM meta WHERE name = ?1")
                .and_then(|mut s| s.query_row([name], |row| row.get(0)).optional())
                .map_err(|e| store_error(&self.path, e))
        };
        let archive = self.decode(read("mark")?)?;
        Ok(Marks { archive, links: self.decode(read("links-mark")?)? })
    }

    /// The id of the spider of this name, made if need be.
    pub fn spider(&mut self, name: &str, now: Timestamp) -> Result<SpiderId, StoreError> {
        self.transact(now, |work| {
            work.sql
                .prepare_cached(
                    "INSERT INTO spiders (name, created) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![name, now.0])?;
            let id = work
                .sql
                .prepare_cached("SELECT id FROM spiders WHERE name = ?1")?
                .query_row([name], |row| row.get(0))?;
            Ok(SpiderId(id))
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(test)]
    pub(super) fn set_wal_step(&mut self, bytes: u64) {
        (self.wal_step, self.wal_next) = (bytes, bytes);
    }

    /// A small change outside the frontier proper (runs, commands), as one transaction.
    pub(crate) fn change<T>(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.transact(now, |work| change(work.sql).map_err(Fault::Sql))
    }

    pub(crate) fn error(&self, error: rusqlite::Error) -> StoreError {
        store_error(&self.path, error)
    }

    fn decode<T: serde::de::DeserializeOwned>(
        &self,
        text: Option<String>,
    ) -> Result<Option<T>, StoreError> {
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|e| StoreError::Corrupt {
            path: self.path.clone(),
            detail: format!("the stored mark cannot be read: {e}"),
        })
    }

    /// Runs `verb` in one transaction. Totals and caches follow only a commit that succeeded.
    pub(super) fn transact<T>(
        &mut self,
        now: Timestamp,
        verb: impl FnOnce(&mut Work<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        if let Some(detail) = &self.poisoned {
            return Err(StoreError::Poisoned { detail: detail.clone() });
        }
        self.run("BEGIN IMMEDIATE").map_err(|e| store_error(&self.path, e))?;
        let mut work = Work {
            sql: &self.connection,
            now,
            counts: self.counts.clone(),
            limit: self.limit.flatten(),
            stored: &self.stored,
            newly_stored: Vec::new(),
            site_ids: &mut self.site_ids,
        };
        let outcome = verb(&mut work).and_then(|value| {
            if work.counts != self.counts {
                save_totals(work.sql, &work.counts)?;
            }
            Ok(value)
        });
        let Work { counts, newly_stored, .. } = work;
        let value = outcome.map_err(|fault| self.roll_back(fault))?;
        self.run("COMMIT").map_err(|error| self.failed_commit(error))?;
        self.counts = counts;
        for (fp, level) in newly_stored {
            self.stored.remember(fp, level);
        }
        self.bound_journal();
        Ok(value)
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    fn roll_back(&mut self, fault: Fault) -> StoreError {
        self.site_ids.forget_all();
        // After some errors SQLite has rolled back by itself.
        if !self.connection.is_autocommit()
            && let Err(error) = self.run("ROLLBACK")
        {
            self.poisoned = Some(format!("cannot roll back: {error}"));
        }
        match fault {
            Fault::Sql(error) => store_error(&self.path, error),
            Fault::Store(error) => error,
        }
    }

    fn failed_commit(&mut self, error: rusqlite::Error) -> StoreError {
        if !is_disk_full(&error) {
            self.poisoned = Some(format!("cannot commit: {error}"));
        }
        self.roll_back(Fault::Sql(error))
    }

    /// SQLite starts the journal over only in a moment without readers. When overlapping readers have
    /// kept it from that, wait for such a moment, briefly, and again each time it has grown as much.
    fn bound_journal(&mut self) {
        let size = || std::fs::metadata(wal_path(&self.path)).map_or(0, |file| file.len());
        let found = size();
        if found <= self.wal_next {
            return;
        }
        let short = std::time::Duration::from_millis(100);
        let cut = self.connection.busy_timeout(short).and_then(|()| {
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        });
        if let Err(error) = self.connection.busy_timeout(crate::database::BUSY) {
            tracing::warn!(%error, "cannot restore the time to wait for other writers");
        }
        self.wal_next = size() + self.wal_step;
        if cut != Ok(0) {
            tracing::warn!(bytes = found, "a long reader keeps the journal of crawl.db growing");
        }
    }
}

impl Frontier for SqliteFrontier {
    fn admit(&mut self, candidates: &[Candidate], now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| admit::admit(work, candidates))
    }

    fn check_out(&mut self, request: &CheckOut) -> Result<Vec<SiteLease>, StoreError> {
        let changed = self.limit != Some(request.site_pages_max);
        let leases = self.transact(request.now, |work| {
            work.limit = request.site_pages_max;
            if changed {
                check_out::wake(work)?;
            }
            check_out::check_out(work, request)
        })?;
        self.limit = Some(request.site_pages_max);
        self.parts_only = request.requisites_only;
        Ok(leases)
    }

    fn refill(&mut self, request: &Refill) -> Result<Vec<Page>, StoreError> {
        let limit = self.limit.flatten();
        check_out::refill(&self.connection, request, limit).map_err(|fault| match fault {
            Fault::Sql(error) => store_error(&self.path, error),
            Fault::Store(error) => error,
        })
    }

    fn check_in(&mut self, settlement: &Settlement) -> Result<(), StoreError> {
        self.transact(settlement.now, |work| check_in::settle(work, settlement))
    }

    fn release_expired(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| check_out::release(work, now))
    }

    fn next_due(&mut self) -> Result<Option<Timestamp>, StoreError> {
        if self.parts_only {
            return parts::next_due(&self.connection).map_err(|e| store_error(&self.path, e));
        }
        self.connection
            .prepare_cached(
                "SELECT due FROM sites WHERE leased = 0 AND due IS NOT NULL ORDER BY due LIMIT 1",
            )
            .and_then(|mut s| s.query_row([], |row| row.get(0)).optional())
            .map(|due| due.map(Timestamp))
            .map_err(|e| store_error(&self.path, e))
    }

    fn counts(&mut self) -> Result<Counts, StoreError> {
        Ok(self.counts.clone())
    }
}

/// How far archive and link segments were settled; `None` before the first settlement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub archive: Option<Mark>,
    pub links: Option<LinkPosition>,
}

/// One transaction under way.
pub(super) struct Work<'a> {
    pub sql: &'a Connection,
    pub now: Timestamp,
    pub counts: Counts,
    /// Sites with this many fetched pages lend out revisits only.
    pub limit: Option<u64>,
    pub stored: &'a StoredFingerprints,
    pub newly_stored: Vec<(model::Fingerprint, u16)>,
    site_ids: &'a mut SiteIds,
}

impl Work<'_> {
    /// The site's id; the site is made if need be.
    pub fn site_id(&mut self, key: &str) -> Result<SiteId, Fault> {
        if let Some(id) = self.site_ids.find(key) {
            return Ok(id);
        }
        let found = self
            .sql
            .prepare_cached("SELECT id FROM sites WHERE key = ?1")?
            .query_row([key], |row| row.get(0).map(SiteId))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                self.counts.sites_known += 1;
                SiteId(
                    self.sql
                        .prepare_cached("INSERT INTO sites (key) VALUES (?1)")?
                        .insert([key])?,
                )
            }
        };
        self.site_ids.remember(key, id);
        Ok(id)
    }

    /// A page of the site goes from one state to another; `None` is "not there".
    pub fn moved(&mut self, from: Option<PageState>, to: PageState) {
        if let Some(from) = from {
            *tally(&mut self.counts, from) -= 1;
            self.counts.pages_known -= u64::from(is_known(from));
        }
        *tally(&mut self.counts, to) += 1;
        self.counts.pages_known += u64::from(is_known(to));
    }
}

/// Admitted: neither waiting for judgement nor excluded by one.
pub(super) fn is_known(state: PageState) -> bool {
    !matches!(state, PageState::Candidate | PageState::Excluded)
}

pub(super) fn tally(counts: &mut Counts, state: PageState) -> &mut u64 {
    match state {
        PageState::Candidate => &mut counts.candidates,
        PageState::Known => &mut counts.pages_waiting,
        PageState::Fetched => &mut counts.pages_fetched,
        PageState::Redirected => &mut counts.pages_redirected,
        PageState::Failing => &mut counts.pages_failed,
        PageState::Gone => &mut counts.pages_gone,
        PageState::Excluded => &mut counts.pages_excluded,
    }
}

pub(crate) fn load_totals(connection: &Connection) -> rusqlite::Result<Counts> {
    connection.query_row(
        "SELECT sites_known, candidates, pages_known, pages_waiting, pages_fetched, \
         pages_redirected, pages_failed, pages_gone, pages_excluded, refused, visits, versions, \
         bytes FROM totals",
        [],
        |row| {
            let count = |column: usize| row.get::<_, i64>(column).map(|n| n.max(0) as u64);
            Ok(Counts {
                sites_known: count(0)?,
                candidates: count(1)?,
                pages_known: count(2)?,
                pages_waiting: count(3)?,
                pages_fetched: count(4)?,
                pages_redirected: count(5)?,
                pages_failed: count(6)?,
                pages_gone: count(7)?,
                pages_excluded: count(8)?,
                refused: count(9)?,
                visits: count(10)?,
                versions: count(11)?,
                bytes: count(12)?,
            })
        },
    )
}

fn save_totals(connection: &Connection, counts: &Counts) -> rusqlite::Result<()> {
    let n = |count: u64| count as i64;
    connection
        .prepare_cached(
            "UPDATE totals SET sites_known = ?1, candidates = ?2, pages_known = ?3, \
             pages_waiting = ?4, pages_fetched = ?5, pages_redirected = ?6, pages_failed = ?7, \
             pages_gone = ?8, pages_excluded = ?9, refused = ?10, visits = ?11, versions = ?12, \
             bytes = ?13",
        )?
        .execute(params![
            n(counts.sites_known),
            n(counts.candidates),
            n(counts.pages_known),
            n(counts.pages_waiting),
            n(counts.pages_fetched),
            n(counts.pages_redirected),
            n(counts.pages_failed),
            n(counts.pages_gone),
            n(counts.pages_excluded),
            n(counts.refused),
            n(counts.visits),
            n(counts.versions),
            n(counts.bytes),
        ])
        .map(drop)
}
