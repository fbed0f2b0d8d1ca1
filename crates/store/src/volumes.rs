//! The register of volumes: where each lies, its size and digest, and the number of the next.
//!
//! The archive asks for a number before it makes a file, and says when one is sealed ([`Register`]). What a crash or
//! an older program has left out is taken from the folders ([`follow`]): files count, rows follow them. A row whose file
//! is gone stays, so that its number is not given again.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::sql::{self, Sql, params};
use model::{StoreError, Timestamp};

use crate::{
    collection::Collection,
    frontier::SqlFrontier,
    sql::{open_writer, store_error},
    warc::{Identity, Moves, Register, VolumeFileName, Volumes, sealed_identity},
};

/// What is known of a volume that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRow {
    pub number: u32,
    pub folder: PathBuf,
    /// As it is called when it is sealed.
    pub name: String,
    pub state: VolumeState,
    pub bytes: Option<u64>,
    /// SHA-256; nobody may have read the file yet.
    pub digest: Option<[u8; 32]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeState {
    Open,
    Sealed,
    /// Its number was given, but nothing came to be written.
    Empty,
}

/// Gives numbers to an archive, on a connection of its own.
pub struct Registrar {
    sql: Mutex<Sql>,
    database: PathBuf,
    own: PathBuf,
}

impl Registrar {
    pub fn open(collection: &Collection) -> Result<Registrar, StoreError> {
        let database = collection.database();
        let sql = Mutex::new(open_writer(&database)?);
        Ok(Registrar { sql, database, own: collection.volumes() })
    }

    fn write<T>(&self, write: impl FnOnce(&Sql) -> sql::Result<T>) -> Result<T, StoreError> {
        let sql = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        let done = || {
            sql.begin()?;
            let written = write(&sql).and_then(|written| {
                sql.commit()?;
                Ok(written)
            });
            if written.is_err() && sql.is_in_transaction() {
                sql.roll_back()?;
            }
            written
        };
        done().map_err(|e| store_error(&self.database, e))
    }
}

impl Register for Registrar {
    fn begin(
        &self,
        at_least: u32,
        folder: &Path,
        name: &dyn Fn(u32) -> String,
    ) -> Result<u32, StoreError> {
        self.write(|sql| {
            let last: Option<u32> =
                sql.query_row("SELECT max(number) FROM volumes", [], |row| row.get(0))?;
            let number = at_least.max(last.unwrap_or(0) + 1);
            insert(sql, number, &stored_folder(folder, &self.own), &name(number))?;
            Ok(number)
        })
    }

    fn moved(&self, number: u32, folder: &Path) -> Result<(), StoreError> {
        let folder = stored_folder(folder, &self.own);
        self.write(|sql| {
            sql.execute("UPDATE volumes SET folder = ?2 WHERE number = ?1", params![number, folder])
                .map(drop)
        })
    }

    fn sealed(&self, number: u32, file: &Identity, at: Timestamp) -> Result<(), StoreError> {
        self.write(|sql| seal(sql, number, file.bytes, Some(&file.digest), Some(at)))
    }
}

/// The rows follow what lies in the folders. Who calls holds the lock, and no volume is open.
pub fn follow(collection: &Collection, volumes: &Volumes) -> Result<(), StoreError> {
    let frontier = SqlFrontier::open(&collection.database())?;
    let mut rows: BTreeMap<u32, VolumeRow> =
        frontier.volume_rows(collection)?.into_iter().map(|row| (row.number, row)).collect();
    let registrar = Registrar::open(collection)?;
    for volume in volumes.list()? {
        follow_file(&registrar, &volume, rows.remove(&volume.number))?;
    }
    let left_open = rows.values().filter(|row| row.state == VolumeState::Open);
    for row in left_open.filter(|row| row.folder.is_dir()) {
        registrar.write(|sql| {
            sql.execute("UPDATE volumes SET state = 2 WHERE number = ?1", [row.number])
        })?;
    }
    Ok(())
}

fn follow_file(
    registrar: &Registrar,
    volume: &VolumeFileName,
    row: Option<VolumeRow>,
) -> Result<(), StoreError> {
    let folder = volume.path.parent().unwrap_or(Path::new(""));
    let name = volume.path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".open");
    let is_known = row.as_ref().is_some_and(|row| row.folder == folder && row.name == name);
    let is_sealed = row.is_some_and(|row| row.state == VolumeState::Sealed);
    if is_known && (is_sealed || !volume.sealed) {
        return Ok(());
    }
    // The digest is that of its index; reading the file for it can wait until somebody reads it anyway.
    let path = &volume.path;
    let found = sealed_identity(path).map_err(|e| StoreError::io("read", path, e))?;
    let bytes = fs::metadata(path).map_err(|e| StoreError::io("read", path, e))?.len();
    registrar.write(|sql| {
        insert(sql, volume.number, &stored_folder(folder, &registrar.own), name)?;
        match volume.sealed && !is_sealed {
            true => seal(sql, volume.number, bytes, found.map(|file| file.digest).as_ref(), None),
            false => Ok(()),
        }
    })
}

/// Volumes that were rewritten, in the transaction that moves their records.
pub(crate) fn rewritten(sql: &Sql, moves: &BTreeMap<u32, Moves>) -> sql::Result<()> {
    for (number, moves) in moves {
        let bytes = moves.bytes as i64;
        sql.execute(
            "UPDATE volumes SET bytes = ?2, digest = ?3 WHERE number = ?1",
            params![number, bytes, &moves.digest[..]],
        )?;
    }
    Ok(())
}

/// Folders that volumes lie in besides the collection's own.
pub(crate) fn other_folders(sql: &Sql) -> sql::Result<Vec<PathBuf>> {
    let mut folders =
        sql.prepare("SELECT DISTINCT folder FROM volumes WHERE folder <> '' ORDER BY folder")?;
    folders.query_map([], |row| row.get::<String>(0).map(PathBuf::from))?.collect()
}

impl SqlFrontier {
    /// By number.
    pub fn volume_rows(&self, collection: &Collection) -> Result<Vec<VolumeRow>, StoreError> {
        let own = collection.volumes();
        let read = || -> sql::Result<Vec<VolumeRow>> {
            let mut rows = self.connection.prepare(
                "SELECT number, folder, name, state, bytes, digest FROM volumes ORDER BY number",
            )?;
            rows.query_map([], |row| {
                let folder: String = row.get(1)?;
                Ok(VolumeRow {
                    number: row.get(0)?,
                    folder: if folder.is_empty() { own.clone() } else { PathBuf::from(folder) },
                    name: row.get(2)?,
                    state: match row.get::<i64>(3)? {
                        0 => VolumeState::Open,
                        1 => VolumeState::Sealed,
                        _ => VolumeState::Empty,
                    },
                    bytes: row.get::<Option<i64>>(4)?.map(|bytes| bytes as u64),
                    digest: row.get(5)?,
                })
            })?
            .collect()
        };
        read().map_err(|e| self.error(e))
    }

    /// The digest of a volume that somebody has read whole; one that is known stays.
    pub fn note_digest(
        &mut self,
        number: u32,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.execute(
                "UPDATE volumes SET digest = ?2 WHERE number = ?1 AND digest IS NULL",
                params![number, &digest[..]],
            )
            .map(drop)
        })
    }
}

fn insert(sql: &Sql, number: u32, folder: &str, name: &str) -> sql::Result<()> {
    sql.execute(
        "INSERT INTO volumes (number, folder, name, state) VALUES (?1, ?2, ?3, 0) \
         ON CONFLICT (number) DO UPDATE SET folder = excluded.folder, name = excluded.name",
        params![number, folder, name],
    )
    .map(drop)
}

fn seal(
    sql: &Sql,
    number: u32,
    bytes: u64,
    digest: Option<&[u8; 32]>,
    at: Option<Timestamp>,
) -> sql::Result<()> {
    sql.execute(
        "UPDATE volumes SET state = 1, bytes = ?2, digest = ?3, sealed = ?4 WHERE number = ?1",
        params![number, bytes as i64, digest.map(|digest| &digest[..]), at.map(|at| at.0)],
    )
    .map(drop)
}

/// A collection may be moved with the volumes in its own folder; others lie where they lie.
fn stored_folder(folder: &Path, own: &Path) -> String {
    if folder == own { String::new() } else { folder.to_string_lossy().into_owned() }
}
