//! How `crawl.db` is opened, and what SQLite's errors mean to the caller.
//!
//! One writer, any number of readers. WAL with `synchronous=NORMAL`: a killed process loses nothing that
//! was committed; a power cut may take the last commits as a whole, never half of one.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use model::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

/// Other writers of ours (`seed`, `block` …) hold the lock for milliseconds; a person with a database tool
/// may hold it for longer, and is waited for.
pub(crate) const BUSY: Duration = Duration::from_secs(60);
/// Index and inner nodes of some 50 million pages; more would only double the system's own cache.
const CACHE_KIB: u32 = 64 * 1024;
/// 32 MB: large enough that hot pages are written back once for many changes.
pub(crate) const CHECKPOINT_PAGES: u32 = 8_192;
/// A journal above this is cut when it next starts over.
pub(crate) const WAL_BYTES_MAX: u64 = 64 << 20;
/// More than the statements this crate has, so that none is parsed twice.
const STATEMENTS: usize = 128;

/// For crawling and for commands that change things.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path).map_err(|e| store_error(path, e))?;
    prepare_writer(&connection).map_err(|e| store_error(path, e))?;
    Ok(connection)
}

pub(crate) fn prepare_writer(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    keep_statements(connection)?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 0;
         PRAGMA cache_size = -{CACHE_KIB}; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA journal_size_limit = {WAL_BYTES_MAX}; PRAGMA temp_store = MEMORY;"
    ))
}

/// Statements are parsed and planned once. Without the guarantee that plans do not go by bound values SQLite does
/// it again at nearly every use, for a value that was taken away might have made another plan.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// For looking only; works while a crawl runs, and on a medium that cannot be written.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    match reader(path, OpenFlags::empty()) {
        // Without a journal and without the right to make one, the file cannot change either.
        Err(error)
            if is_code(&error, ErrorCode::CannotOpen)
                && path.exists()
                && !wal_path(path).exists() =>
        {
            open_immutable(path)
        }
        // Who made the file was killed before it had its journal: only a writer can undo what was begun.
        Err(error) if is_half_made(&error) => undo(path)
            .and_then(|()| reader(path, OpenFlags::empty()))
            .map_err(|e| store_error(path, e)),
        other => other.map_err(|e| store_error(path, e)),
    }
}

fn is_half_made(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

/// Rolls back what a dead process had begun; the database itself sees to it that nobody is at work there.
fn undo(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// For a file that nobody changes.
pub(crate) fn open_immutable(path: &Path) -> Result<Connection, StoreError> {
    let name = format!("file:{}?immutable=1", uri_path(path));
    reader(Path::new(&name), OpenFlags::SQLITE_OPEN_URI).map_err(|e| store_error(path, e))
}

fn reader(name: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(BUSY)?;
    keep_statements(&connection)?;
    connection.execute_batch("PRAGMA query_only = 1; PRAGMA mmap_size = 0")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

pub(crate) fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// What the caller can do about it decides the variant.
pub(crate) fn store_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    if is_disk_full(&error) {
        return StoreError::DiskFull { path };
    }
    let detail = error.to_string();
    // Our own statements name only what a whole database has.
    if detail.starts_with("no such table") || detail.starts_with("no such column") {
        return StoreError::Corrupt { path, detail };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path, detail }
        }
        Some(ErrorCode::CannotOpen) => {
            StoreError::Io { doing: "open", path, source: io::Error::other(detail) }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, detail);
            StoreError::Io { doing: "write", path, source }
        }
        Some(ErrorCode::SystemIoFailure) => {
            StoreError::Io { doing: "read or write", path, source: io::Error::other(detail) }
        }
        _ => StoreError::Database { detail },
    }
}

pub(crate) fn is_disk_full(error: &rusqlite::Error) -> bool {
    // The shared-memory file of the journal could not be made larger: the disk is full there too.
    const SHM_SIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
    is_code(error, ErrorCode::DiskFull)
        || error.sqlite_error().is_some_and(|e| e.extended_code == SHM_SIZE)
}

fn is_code(error: &rusqlite::Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
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
        assert!(is_half_made(&error), "{error:?}");
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
