//! SQLite: how `crawl.db` is opened, what only this engine has, and what its errors mean.
//!
//! One writer, any number of readers. WAL with `synchronous=NORMAL`: a killed process loses nothing that
//! was committed; a power cut may take the last commits as a whole, never half of one.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use model::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{Error, Result, Sql, Trouble, store_error};

/// Other writers of ours (`seed`, `block` …) hold the lock for milliseconds; a person with a database tool
/// may hold it for longer, and is waited for.
const BUSY: Duration = Duration::from_secs(60);
/// Index and inner nodes of some 50 million pages; more would only double the system's own cache.
const CACHE_KIB: u32 = 64 * 1024;
/// 32 MB: large enough that hot pages are written back once for many changes.
pub(crate) const CHECKPOINT_PAGES: u32 = 8_192;
/// A journal above this is cut when it next starts over.
pub(crate) const WAL_BYTES_MAX: u64 = 64 << 20;
/// More than the statements this crate has, so that none is parsed twice.
const STATEMENTS: usize = 256;

/// For crawling and for commands that change things.
pub(crate) fn open_writer(path: &Path) -> std::result::Result<Sql, StoreError> {
    let open = || writer(Connection::open(path)?);
    open().map_err(|e| store_error(path, e))
}

/// A database of its own that ends with the connection.
pub(crate) fn open_in_memory() -> Result<Sql> {
    writer(Connection::open_in_memory()?)
}

/// As a stranger would open it, without our settings.
pub fn open_plain(path: &Path) -> Result<Sql> {
    Ok(Sql::over(Connection::open(path)?))
}

fn writer(connection: Connection) -> Result<Sql> {
    connection.busy_timeout(BUSY)?;
    keep_statements(&connection)?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 0;
         PRAGMA cache_size = -{CACHE_KIB}; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA journal_size_limit = {WAL_BYTES_MAX}; PRAGMA temp_store = MEMORY;"
    ))?;
    Ok(Sql::over(connection))
}

/// Statements are parsed and planned once. Without the guarantee that plans do not go by bound values SQLite does
/// it again at nearly every use, for a value that was taken away might have made another plan.
fn keep_statements(connection: &Connection) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// For looking only; works while a crawl runs, and on a medium that cannot be written.
pub(crate) fn open_reader(path: &Path) -> std::result::Result<Sql, StoreError> {
    let opened = reader(path, OpenFlags::empty());
    match opened.as_ref().map_err(Error::trouble) {
        // Without a journal and without the right to make one, the file cannot change either.
        Err(Some(Trouble::CannotOpen)) if path.exists() && !wal_path(path).exists() => {
            open_immutable(path)
        }
        Err(Some(Trouble::HalfMade)) => undo(path)
            .and_then(|()| reader(path, OpenFlags::empty()))
            .map_err(|e| store_error(path, e)),
        _ => opened.map_err(|e| store_error(path, e)),
    }
}

/// Rolls back what a dead process had begun; the database itself sees to it that nobody is at work there.
fn undo(path: &Path) -> Result<()> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?)
}

/// For a file that nobody changes.
pub(crate) fn open_immutable(path: &Path) -> std::result::Result<Sql, StoreError> {
    let name = format!("file:{}?immutable=1", uri_path(path));
    reader(Path::new(&name), OpenFlags::SQLITE_OPEN_URI).map_err(|e| store_error(path, e))
}

fn reader(name: &Path, more: OpenFlags) -> Result<Sql> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(BUSY)?;
    keep_statements(&connection)?;
    connection.execute_batch("PRAGMA query_only = 1; PRAGMA mmap_size = 0")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(Sql::over(connection))
}

/// What only SQLite has, by what it is for.
impl Sql {
    /// For a transaction that writes: taken at once, so that nobody comes between its reading and its writing.
    pub(crate) fn begin(&self) -> Result<()> {
        self.prepare_own("BEGIN IMMEDIATE")?.execute([]).map(drop)
    }

    pub(crate) fn commit(&self) -> Result<()> {
        self.prepare_own("COMMIT")?.execute([]).map(drop)
    }

    pub(crate) fn roll_back(&self) -> Result<()> {
        self.prepare_own("ROLLBACK")?.execute([]).map(drop)
    }

    /// How large a commit may leave the journal before it is written back; 0: it is left alone.
    pub(crate) fn checkpoint_after(&self, pages: u32) -> Result<()> {
        self.prepare_own(&format!("PRAGMA wal_autocheckpoint = {pages}"))?.query_row([], |_| Ok(()))
    }

    /// Writes the journal back and empties it; whether a reader kept us from that.
    pub(crate) fn empty_journal(&self) -> Result<bool> {
        self.prepare_own("PRAGMA wal_checkpoint(TRUNCATE)")?.query_row([], |row| row.get(0))
    }

    /// The same, but waits only so long for readers.
    pub(crate) fn empty_journal_within(&self, wait: Duration) -> Result<bool> {
        self.engine.busy_timeout(wait)?;
        let kept = self.empty_journal();
        self.engine.busy_timeout(BUSY)?;
        kept
    }

    /// From here on a commit is on the disk before it is answered.
    pub(crate) fn sync_commits(&self) -> Result<()> {
        Ok(self.engine.execute_batch("PRAGMA synchronous = FULL")?)
    }

    /// Writes the database again without its free space, in a file: a large one has no room in memory.
    pub(crate) fn compact(&self) -> Result<()> {
        Ok(self.engine.execute_batch("PRAGMA temp_store = FILE; VACUUM")?)
    }

    /// What is wrong with the file; a single "ok" for nothing.
    pub(crate) fn damage(&self, full: bool) -> Result<Vec<String>> {
        let check = if full { "PRAGMA integrity_check" } else { "PRAGMA quick_check" };
        self.prepare_own(check)?.query_map([], |row| row.get(0))?.collect()
    }

    /// The number that the next row of `visits` will have. (We do not give numbers: one that is given might be none,
    /// for which SQLite would make copies of what an insertion of several rows changes.)
    pub(crate) fn next_visit(&self) -> Result<i64> {
        let newest = "SELECT 1 + max(coalesce((SELECT max(seq) FROM visits), 0), \
             coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'visits'), 0))";
        self.prepare_own(newest)?.query_row([], |row| row.get(0))
    }

    pub(crate) fn has_table(&self, name: &str) -> Result<bool> {
        Ok(self.engine.table_exists(None, name)?)
    }

    /// How many tables, indexes and views there are.
    pub(crate) fn objects(&self) -> Result<i64> {
        self.prepare_own("SELECT count(*) FROM sqlite_schema")?.query_row([], |row| row.get(0))
    }

    /// The number of the schema; 0: of none.
    pub(crate) fn schema(&self) -> Result<i64> {
        self.prepare_own("PRAGMA user_version")?.query_row([], |row| row.get(0))
    }

    /// Of whose making the file says it is.
    pub(crate) fn application(&self) -> Result<i64> {
        self.prepare_own("PRAGMA application_id")?.query_row([], |row| row.get(0))
    }

    /// A step of the schema and its number, in one transaction.
    pub(crate) fn migrate(&self, texts: &str, application: i64, schema: i64) -> Result<()> {
        let done = self.engine.execute_batch(&format!(
            "BEGIN IMMEDIATE; {texts}; PRAGMA application_id = {application}; \
             PRAGMA user_version = {schema}; COMMIT"
        ));
        Ok(done.inspect_err(|_| drop(self.engine.execute_batch("ROLLBACK")))?)
    }
}

pub(crate) fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

impl From<rusqlite::Error> for Error {
    #[cold]
    fn from(error: rusqlite::Error) -> Error {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Error::NoRow,
            error => Error::Engine { trouble: trouble(&error), detail: error.to_string() },
        }
    }
}

fn trouble(error: &rusqlite::Error) -> Trouble {
    // The shared-memory file of the journal could not be made larger: the disk is full there too.
    const SHM_SIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
    const HALF_MADE: i32 = rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
    match error.sqlite_error().map(|error| error.extended_code) {
        Some(SHM_SIZE) => return Trouble::DiskFull,
        Some(HALF_MADE) => return Trouble::HalfMade,
        _ => {}
    }
    let detail = error.to_string();
    // Our own statements name only what a whole database has.
    if detail.starts_with("no such table") || detail.starts_with("no such column") {
        return Trouble::Corrupt;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Trouble::DiskFull,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Trouble::Corrupt,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Busy,
        Some(ErrorCode::CannotOpen) => Trouble::CannotOpen,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Trouble::ReadOnly,
        Some(ErrorCode::SystemIoFailure) => Trouble::Io,
        _ => Trouble::Other,
    }
}

fn uri_path(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_database_is_called_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawl.db");
        std::fs::write(&path, "this is not a database, whatever its name says ".repeat(50))
            .unwrap();
        let error = open_writer(&path).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        let error = open_reader(&path).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }

    #[test]
    fn what_a_killed_process_had_begun_is_undone_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let [path, copy] = ["crawl.db", "copy.db"].map(|name| dir.path().join(name));
        let begun = Connection::open(&path).unwrap();
        begun
            .execute_batch(
                "CREATE TABLE kept (x); PRAGMA cache_size = 1; BEGIN; CREATE TABLE begun (x);
                 WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200)
                 INSERT INTO begun SELECT randomblob(4000) FROM n;",
            )
            .unwrap();
        std::fs::copy(&path, &copy).unwrap();
        let journal = |path: &Path| PathBuf::from(format!("{}-journal", path.display()));
        std::fs::copy(journal(&path), journal(&copy)).unwrap();
        let error = reader(&copy, OpenFlags::empty()).unwrap_err();
        assert_eq!(error.trouble(), Some(Trouble::HalfMade), "{error:?}");
        let read = open_reader(&copy).unwrap();
        let tables: i64 =
            read.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1);
    }

    #[test]
    fn a_missing_folder_is_an_io_error_that_names_the_file() {
        let error = open_writer(Path::new("/nonexistent/folder/crawl.db")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/folder/crawl.db"), "{error}");
        assert!(matches!(error, StoreError::Io { .. }));
    }
}
