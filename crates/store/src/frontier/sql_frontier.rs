//! `SqlFrontier`: the connection, its transactions, and the totals that every transaction keeps.
//!
//! - All of a verb happens or none: in the database, in the totals and in the caches. Several can be one
//!   (`begin_together`); after an error within such a row nothing more is written, for totals and caches are ahead.
//! - After a failed commit (other than for want of space) nothing more is written.

use std::{
    mem,
    path::{Path, PathBuf},
};

use model::{
    Candidate, CheckOut, Counts, CrawlUrl, Fingerprint, Frontier, Mark, Milestone, NextDue, Page,
    RecordLocation, Refill, Settlement, Site, SiteHabit, SiteId, SiteKey, SiteLease, SpiderId,
    StoreError, Timestamp,
};

use super::{
    admit,
    asleep::Asleep,
    batches,
    cache::{SiteIds, StoredFingerprints},
    check_in,
    check_out::{self, FRONTS, Places},
    clock::NEWEST_STEP,
    domains, habits, history, parts,
    rows::Fault,
    tally::{SpiderShares, load_newest, load_totals, save_totals},
};
use crate::{
    in_place::DatabaseFiles,
    links::LinkPosition,
    migrate::migrate,
    sql::{
        self, CHECKPOINT_PAGES, OptionalExtension, Sql, WAL_BYTES_MAX, is_disk_full, open_writer,
        store_error, wal_path,
    },
    state::StateFile,
};

pub struct SqlFrontier {
    pub(crate) connection: Sql,
    path: PathBuf,
    counts: Counts,
    stored: StoredFingerprints,
    site_ids: SiteIds,
    asleep: Asleep,
    /// The newest moment of a transaction …
    pub(super) newest: Timestamp,
    /// … and as it is written down.
    newest_stored: Timestamp,
    /// The last check-out was for parts of pages only.
    parts_only: bool,
    /// Sites that may be known, but for those that seeds name.
    pub(super) sites_max: Option<u64>,
    /// Where check-outs that pass sites go on.
    places: Places,
    /// The same for the hosts of one domain.
    pub(super) domain_hosts_max: Option<u64>,
    /// From so many hosts on a domain is asked for absurd names.
    pub(super) wildcard_hosts: Option<u64>,
    /// How much the journal may grow between two attempts to start it over.
    wal_step: u64,
    /// The size for the next attempt.
    wal_next: u64,
    /// What would be transactions of their own are one, which was begun.
    together: bool,
    poisoned: Option<String>,
    pub(crate) state: StateFile,
    files: DatabaseFiles,
}

impl SqlFrontier {
    /// Opens or makes the database. Whoever crawls holds the collection's lock.
    pub fn open(path: &Path) -> Result<SqlFrontier, StoreError> {
        SqlFrontier::over(open_writer(path)?, path)
    }

    pub fn open_in_memory() -> Result<SqlFrontier, StoreError> {
        let path = Path::new(":memory:");
        let connection = sql::open_in_memory().map_err(|e| store_error(path, e))?;
        SqlFrontier::over(connection, path)
    }

    fn over(connection: Sql, path: &Path) -> Result<SqlFrontier, StoreError> {
        migrate(&connection, path)?;
        let counts = load_totals(&connection).map_err(|e| store_error(path, e))?;
        let asleep = Asleep::load(&connection).map_err(|e| store_error(path, e))?;
        let newest = load_newest(&connection).map_err(|e| store_error(path, e))?;
        Ok(SqlFrontier {
            connection,
            path: path.to_owned(),
            counts,
            stored: StoredFingerprints::new(),
            site_ids: SiteIds::default(),
            asleep,
            newest,
            newest_stored: newest,
            parts_only: false,
            sites_max: None,
            places: FRONTS,
            domain_hosts_max: None,
            wildcard_hosts: None,
            wal_step: WAL_BYTES_MAX,
            wal_next: 2 * WAL_BYTES_MAX,
            together: false,
            poisoned: None,
            state: StateFile::default(),
            files: DatabaseFiles::of(path),
        })
    }

    /// An error when the database was deleted or replaced since it was opened.
    pub fn in_place(&mut self) -> Result<(), StoreError> {
        self.files.look()
    }

    /// Before crawling: all leases but those of batches are of a process that is dead (the caller holds the
    /// lock). Their sites are due again and owe their full pause.
    pub fn recover_leases(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| batches::release_others(work, now))
    }

    /// Where the archive and the link segments were when the last settlement was made.
    pub fn marks(&self) -> Result<Marks, StoreError> {
        let read = |name| -> Result<Option<String>, StoreError> {
            self.connection
                .prepare("SELECT value FROM meta WHERE name = ?1")
                .and_then(|mut s| s.query_row([name], |row| row.get(0)).optional())
                .map_err(|e| store_error(&self.path, e))
        };
        let archive = self.decode(read("mark")?)?;
        Ok(Marks { archive, links: self.decode(read("links-mark")?)? })
    }

    /// How often takedowns have rewritten link segments.
    pub(crate) fn links_rewritten(&self) -> Result<u64, StoreError> {
        let count: Option<i64> = self
            .connection
            .prepare("SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?1")
            .and_then(|mut s| s.query_row([super::LINKS_REWRITTEN], |row| row.get(0)).optional())
            .map_err(|e| store_error(&self.path, e))?;
        Ok(count.map_or(0, i64::unsigned_abs))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every candidate is looked up in the table again.
    pub(super) fn forget_stored(&mut self) {
        self.stored = StoredFingerprints::new();
    }

    /// The next transaction writes down that `now` is the newest moment, whatever was before.
    pub(super) fn begin_clock_at(&mut self, now: Timestamp) {
        (self.newest, self.newest_stored) = (now, Timestamp(i64::MIN));
    }

    #[cfg(test)]
    pub(super) fn set_wal_step(&mut self, bytes: u64) {
        (self.wal_step, self.wal_next) = (bytes, bytes);
    }

    /// A small change outside the frontier proper (runs, commands), as one transaction.
    pub(crate) fn change<T>(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&Sql) -> sql::Result<T>,
    ) -> Result<T, StoreError> {
        self.transact(now, |work| change(work.sql).map_err(Fault::Sql))
    }

    pub(crate) fn error(&self, error: sql::Error) -> StoreError {
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
        self.begin()?;
        let mut work = Work {
            sql: &self.connection,
            now,
            counts: self.counts.clone(),
            asleep: self.asleep.clone(),
            sites_max: self.sites_max,
            domain_hosts_max: self.domain_hosts_max,
            shares: SpiderShares::default(),
            stored: &self.stored,
            newly_stored: Vec::new(),
            site_ids: &mut self.site_ids,
            places: &mut self.places,
        };
        let newest = self.newest.max(now);
        let newer = newest > self.newest_stored.plus(NEWEST_STEP);
        let outcome = verb(&mut work).and_then(|value| {
            if newer || work.counts != self.counts {
                save_totals(work.sql, &work.counts, newest)?;
            }
            work.shares.save(work.sql)?;
            Ok(value)
        });
        let Work { counts, newly_stored, asleep, .. } = work;
        let stored = newer || counts != self.counts;
        let value = outcome.map_err(|fault| self.roll_back(fault))?;
        self.commit()?;
        (self.counts, self.asleep, self.newest) = (counts, asleep, newest);
        if stored {
            self.newest_stored = newest;
        }
        for (fp, level) in newly_stored {
            self.stored.remember(fp, level);
        }
        self.bound_journal();
        Ok(value)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if let Some(detail) = &self.poisoned {
            return Err(StoreError::Poisoned { detail: detail.clone() });
        }
        match self.together {
            true => Ok(()),
            false => self.connection.begin().map_err(|e| store_error(&self.path, e)),
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        match self.together {
            true => Ok(()),
            false => self.connection.commit().map_err(|error| self.failed_commit(error)),
        }
    }

    fn roll_back(&mut self, fault: Fault) -> StoreError {
        self.site_ids.forget_all();
        if mem::take(&mut self.together) {
            // What is remembered of the earlier ones is no longer true.
            self.poisoned = Some("what was to be settled together was rolled back".to_owned());
        }
        // After some errors SQLite has rolled back by itself.
        if self.connection.is_in_transaction()
            && let Err(error) = self.connection.roll_back()
        {
            self.poisoned = Some(format!("cannot roll back: {error}"));
        }
        match fault {
            Fault::Sql(error) => store_error(&self.path, error),
            Fault::Store(error) => error,
        }
    }

    fn failed_commit(&mut self, error: sql::Error) -> StoreError {
        if !is_disk_full(&error) {
            self.poisoned = Some(format!("cannot commit: {error}"));
        }
        self.roll_back(Fault::Sql(error))
    }

    /// SQLite starts the journal over only in a moment without readers. When overlapping readers have
    /// kept it from that, wait for such a moment, briefly, and again each time it has grown as much.
    fn bound_journal(&mut self) {
        if self.together {
            return;
        }
        let size = || std::fs::metadata(wal_path(&self.path)).map_or(0, |file| file.len());
        let found = size();
        if found <= self.wal_next {
            return;
        }
        let short = std::time::Duration::from_millis(100);
        let kept = self.connection.empty_journal_within(short);
        self.wal_next = size() + self.wal_step;
        if kept != Ok(false) {
            tracing::warn!(bytes = found, "a long reader keeps the journal of crawl.db growing");
        }
    }
}

impl SqlFrontier {
    /// How large a commit may leave the journal before it is written back; 0: it is left alone.
    fn checkpoint_after(&self, pages: u32) -> Result<(), StoreError> {
        self.connection.checkpoint_after(pages).map_err(|e| self.error(e))
    }

    fn fault(&self, fault: Fault) -> StoreError {
        match fault {
            Fault::Sql(error) => self.error(error),
            Fault::Store(error) => error,
        }
    }
}

impl Frontier for SqlFrontier {
    fn admit(&mut self, candidates: &[Candidate], now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| admit::admit(work, candidates))
    }

    fn check_out(&mut self, request: &CheckOut) -> Result<Vec<SiteLease>, StoreError> {
        self.parts_only = request.requisites_only;
        // Who waits for pages does not wait for the journal to be written back: the next check-in does that.
        self.checkpoint_after(0)?;
        let leases = self.transact(request.now, |work| check_out::check_out(work, request));
        self.checkpoint_after(CHECKPOINT_PAGES)?;
        leases
    }

    fn refill(&mut self, request: &Refill) -> Result<Vec<Page>, StoreError> {
        // One view for all that is read: without it each of several look-ups a page takes and gives back its lock.
        let own = (!self.together).then(|| self.connection.transaction());
        let view = own.transpose().map_err(|e| self.error(e))?;
        let pages = check_out::refill(&self.connection, request, &self.asleep);
        drop(view);
        pages.map_err(|fault| self.fault(fault))
    }

    fn check_in(&mut self, settlement: &Settlement) -> Result<(), StoreError> {
        self.transact(settlement.now, |work| check_in::settle(work, settlement))
    }

    fn record_of(
        &mut self,
        url: &CrawlUrl,
        date: Timestamp,
    ) -> Result<Option<RecordLocation>, StoreError> {
        history::record_of(&self.connection, url, date).map_err(|e| self.error(e))
    }

    fn begin_together(&mut self) -> Result<(), StoreError> {
        self.begin()?;
        self.together = true;
        Ok(())
    }

    fn commit_together(&mut self) -> Result<(), StoreError> {
        self.connection.commit().map_err(|error| self.failed_commit(error))?;
        self.together = false;
        self.bound_journal();
        Ok(())
    }

    fn release_expired(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| check_out::release(work, now))
    }

    fn next_dues(&mut self) -> Result<NextDue, StoreError> {
        let dues = if self.parts_only {
            parts::next_dues(&self.connection, &self.asleep)
        } else {
            check_out::next_dues(&self.connection)
        };
        dues.map_err(|e| self.error(e))
    }

    fn sample(
        &mut self,
        pages_max: usize,
        draw: u64,
    ) -> Result<Vec<(Page, SiteHabit)>, StoreError> {
        let view = self.connection.transaction().map_err(|e| self.error(e))?;
        let sample = habits::sample(&view, &self.asleep.removed, pages_max, draw);
        drop(view);
        sample.map_err(|fault| self.fault(fault))
    }

    fn survey_part(
        &mut self,
        spider: SpiderId,
        from: Milestone,
        rows_max: usize,
        look: &mut dyn FnMut(&Site, &Page),
    ) -> Result<Option<Milestone>, StoreError> {
        let place = habits::survey(&self.connection, spider, from, rows_max, look);
        place.map_err(|fault| self.fault(fault))
    }

    fn call(
        &mut self,
        pages: &[(SiteId, Fingerprint)],
        since: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut called = 0;
        for part in pages.chunks(habits::CALL_PAGES) {
            called += self.transact(now, |work| habits::call(work, part, since, now))?;
        }
        Ok(called)
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
    pub sql: &'a Sql,
    pub now: Timestamp,
    pub counts: Counts,
    pub asleep: Asleep,
    pub sites_max: Option<u64>,
    pub domain_hosts_max: Option<u64>,
    pub shares: SpiderShares,
    pub stored: &'a StoredFingerprints,
    pub newly_stored: Vec<(model::Fingerprint, u16)>,
    pub places: &'a mut Places,
    site_ids: &'a mut SiteIds,
}

impl Work<'_> {
    /// The site's id; the site is made if need be. `None` where that would be one too many, unless it
    /// `must` be.
    pub fn site_id(&mut self, key: &str, must: bool) -> Result<Option<SiteId>, Fault> {
        if let Some(id) = self.site_ids.find(key) {
            return Ok(Some(id));
        }
        let found = self
            .sql
            .prepare("SELECT id FROM sites WHERE key = ?1")?
            .query_row([key], |row| row.get(0).map(SiteId))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None if !must && self.sites_max.is_some_and(|max| self.counts.sites_known >= max) => {
                return Ok(None);
            }
            None => {
                let site = SiteKey::stored(key);
                if !must {
                    if domains::is_full(self, site.domain())? {
                        return Ok(None);
                    }
                    domains::count_host(self, site.domain(), key)?;
                }
                self.counts.sites_known += 1;
                self.sql
                    .prepare("INSERT INTO sites (key, domain) VALUES (?1, ?2) RETURNING id")?
                    .query_row([key, site.domain()], |row| row.get(0).map(SiteId))?
            }
        };
        self.site_ids.remember(key, id);
        Ok(Some(id))
    }
}
