//! What must survive a crash in the middle: how far forgetting came, and which new files wait for their
//! place. All of it is in `meta`, written in the transactions it belongs to.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use model::{StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use super::Target;
use crate::{
    collection::Collection,
    frontier::{FILES, SqlFrontier},
    sql::{self, OptionalExtension, Sql, open_writer, store_error},
    warc::index::remove_stray_indexes,
};

/// Not finished yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "stage")]
pub(crate) enum Journal {
    /// The rows are gone, their records and links may be there. The names stand here until they are gone.
    Removing {
        targets: Vec<Target>,
        /// Ids the sites had.
        sites: Vec<i64>,
    },
    /// Rows that were thinned at this moment have no record any more; their records may be there.
    Thinning { at: Timestamp },
    /// Everything is gone but for what free space of the database holds.
    Sweeping,
}

const NAME: &str = "forget";

impl Journal {
    pub(super) fn read(frontier: &SqlFrontier) -> Result<Option<Journal>, StoreError> {
        let text = meta(&frontier.connection, NAME).map_err(|e| frontier.error(e))?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|e| StoreError::Corrupt {
            path: frontier.path().to_owned(),
            detail: format!("what was being forgotten cannot be read: {e}"),
        })
    }

    pub(crate) fn write(&self, sql: &Sql) -> Result<(), StoreError> {
        let database = |detail| StoreError::Database { detail };
        let text = serde_json::to_string(self).map_err(|e| database(e.to_string()))?;
        sql.execute(crate::frontier::PUT_META, [NAME, &text])
            .map_err(|e| database(e.to_string()))?;
        Ok(())
    }
}

/// The name of a file that is to take the place of another.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ENDING);
    PathBuf::from(name)
}

const ENDING: &str = ".rewritten";

/// New files that a transaction has named take the place of the old ones. Whoever calls holds the lock.
pub(crate) fn put_in_place(collection: &Collection) -> Result<(), StoreError> {
    let database = collection.database();
    let sql = open_writer(&database)?;
    let error = |e| store_error(&database, e);
    let Some(text) = meta(&sql, FILES).map_err(error)? else { return Ok(()) };
    // A list that comes back after a power cut would put half a file in place: it must be gone for good
    // before the next file is begun.
    sql.sync_commits().map_err(error)?;
    let files: Vec<String> = serde_json::from_str(&text).map_err(|e| StoreError::Corrupt {
        path: database.clone(),
        detail: format!("the list of files to replace cannot be read: {e}"),
    })?;
    let files: Vec<PathBuf> = files.iter().map(|file| collection.dir().join(file)).collect();
    for path in &files {
        match fs::rename(beside(path), path) {
            // Done before the crash. Where the folder itself is away, it must come back first.
            Err(e) if e.kind() == io::ErrorKind::NotFound && path.exists() => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound && is_own(collection, path) => {}
            other => other.map_err(|e| StoreError::io("replace", path, e))?,
        }
    }
    sync_folders(&files)?;
    sql.execute("DELETE FROM meta WHERE name = ?1", [FILES]).map_err(error)?;
    Ok(())
}

/// Makes names in a folder last.
pub(super) fn sync(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|e| StoreError::io("sync", folder, e))
}

/// Makes the names of these files last.
pub(super) fn sync_folders(files: &[PathBuf]) -> Result<(), StoreError> {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    folders.into_iter().try_for_each(sync)
}

/// Below the folder of the collection, which is there.
fn is_own(collection: &Collection, path: &Path) -> bool {
    path.starts_with(collection.dir())
}

/// Whether such files wait.
pub(crate) fn has_files(sql: &Sql) -> bool {
    meta(sql, FILES).is_ok_and(|files| files.is_some())
}

/// New files that no transaction has named: their writing was cut short.
pub(super) fn remove_strays(collection: &Collection) -> Result<(), StoreError> {
    let volumes = collection.archive()?;
    for folder in volumes.folders().iter().chain([&collection.links()]) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|e| e.file_name().to_string_lossy().ends_with(ENDING)) {
            let path = entry.path();
            fs::remove_file(&path).map_err(|e| StoreError::io("remove", path, e))?;
        }
    }
    for folder in volumes.folders() {
        let removed = remove_stray_indexes(folder);
        removed.map_err(|e| StoreError::io("remove an index in", folder, e))?;
    }
    Ok(())
}

/// Writes the database anew without its free space and empties its journal; says whether a reader kept us
/// from the latter.
pub(super) fn sweep(frontier: &mut SqlFrontier, now: Timestamp) -> Result<bool, StoreError> {
    frontier.change(now, |sql| {
        sql.execute("DELETE FROM meta WHERE name = ?1", [FILES])?;
        let text = r#"{"stage":"sweeping"}"#;
        sql.execute(crate::frontier::PUT_META, [NAME, text])
    })?;
    let sql = &frontier.connection;
    let busy = || -> sql::Result<bool> {
        sql.compact()?;
        let busy = sql.empty_journal()?;
        if !busy {
            sql.execute("DELETE FROM meta WHERE name = ?1", [NAME])?;
        }
        Ok(busy)
    };
    busy().map_err(|e| frontier.error(e))
}

/// Nothing is left to do.
pub(super) fn close(frontier: &mut SqlFrontier, now: Timestamp) -> Result<(), StoreError> {
    frontier.change(now, |sql| sql.execute("DELETE FROM meta WHERE name = ?1", [NAME]).map(drop))
}

/// A database whose making was cut short has no tables yet.
fn meta(sql: &Sql, name: &str) -> sql::Result<Option<String>> {
    if !sql.has_table("meta")? {
        return Ok(None);
    }
    sql.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
}
