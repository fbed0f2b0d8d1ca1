//! Whether the file of a database that is open is still the one that its path names.
//!
//! A file that is deleted or replaced stays what it is for those who have it open: commits succeed,
//! and are gone with the process. SQLite does not notice that where the journal is a write-ahead
//! log. A copy that is written *into* the file cannot be told from the database unless it is
//! shorter.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use model::StoreError;

use crate::sql::wal_path;

/// The files of an open database as they were when it was opened.
#[derive(Debug)]
pub(crate) struct DatabaseFiles {
    files: Vec<KnownFile>,
}

#[derive(Debug)]
struct KnownFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// It never gets shorter than it was; `None` for the journal, which does.
    length: Option<u64>,
}

impl DatabaseFiles {
    /// Of a database in memory there are none.
    pub(crate) fn of(path: &Path) -> DatabaseFiles {
        let main = KnownFile::of(path.to_owned(), true);
        let journal = main.as_ref().and_then(|_| KnownFile::of(wal_path(path), false));
        DatabaseFiles { files: main.into_iter().chain(journal).collect() }
    }

    pub(crate) fn look(&mut self) -> Result<(), StoreError> {
        for file in &mut self.files {
            if let Some(how) = file.lost()? {
                return Err(StoreError::DatabaseLost { path: file.path.clone(), how });
            }
        }
        Ok(())
    }
}

impl KnownFile {
    fn of(path: PathBuf, grows: bool) -> Option<KnownFile> {
        let found = fs::metadata(&path).ok()?;
        let length = grows.then_some(found.len());
        Some(KnownFile { path, device: found.dev(), inode: found.ino(), length })
    }

    fn lost(&mut self) -> Result<Option<&'static str>, StoreError> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(e) if is_gone(&e) => return Ok(Some("was deleted")),
            Err(e) => return Err(StoreError::io("look at", &self.path, e)),
        };
        if (found.dev(), found.ino()) != (self.device, self.inode) {
            return Ok(Some("was replaced"));
        }
        let Some(length) = &mut self.length else { return Ok(None) };
        if found.len() < *length {
            return Ok(Some("was truncated"));
        }
        *length = found.len();
        Ok(None)
    }
}

/// Also where something else has taken the place of a folder above it.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::SqlFrontier;

    fn how(frontier: &mut SqlFrontier) -> Option<&'static str> {
        match frontier.in_place() {
            Ok(()) => None,
            Err(StoreError::DatabaseLost { how, .. }) => Some(how),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_database_that_is_deleted_replaced_or_truncated_is_noticed_and_a_growing_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let [path, copy] = ["crawl.db", "copy.db"].map(|name| dir.path().join(name));
        let mut frontier = SqlFrontier::open(&path).unwrap();
        assert_eq!(how(&mut frontier), None);
        let grow = "CREATE TABLE t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 \
                    FROM n LIMIT 99) SELECT randomblob(4000) AS b FROM n; \
                    PRAGMA wal_checkpoint(TRUNCATE)";
        frontier.connection.execute_batch(grow).unwrap();
        assert_eq!(how(&mut frontier), None);
        fs::copy(&path, &copy).unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4_096).unwrap();
        assert_eq!(how(&mut frontier), Some("was truncated"));
        fs::rename(&copy, &path).unwrap();
        assert_eq!(how(&mut frontier), Some("was replaced"));
        fs::remove_file(&path).unwrap();
        assert_eq!(how(&mut frontier), Some("was deleted"));
    }

    #[test]
    fn a_journal_that_is_deleted_takes_its_commits_with_it_and_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawl.db");
        let mut frontier = SqlFrontier::open(&path).unwrap();
        fs::remove_file(wal_path(&path)).unwrap();
        assert_eq!(how(&mut frontier), Some("was deleted"));
        assert_eq!(how(&mut SqlFrontier::open_in_memory().unwrap()), None);
    }
}
