//! What can go wrong with our own machine, sorted by what the caller can do about it.
//!
//! Trouble of the web is never here: that is [`crate::FetchFailure`], a value.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Pause, say so, try again when there is room.
    #[error("no space left on the disk that holds {path}")]
    DiskFull { path: PathBuf },
    #[error("cannot {doing} {path}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    /// The collection was made by a later version of the program.
    #[error("{path} was written by a newer version (schema {found}, this program knows {known})")]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{path} is damaged: {detail}")]
    Corrupt { path: PathBuf, detail: String },
    /// Another crawl holds the collection.
    #[error("another crawl is using {path} (process {holder})")]
    Busy { path: PathBuf, holder: String },
    /// Another process delivers the changes of the collection.
    #[error("another process is delivering the webhooks of {path}")]
    Delivering { path: PathBuf },
    /// What is asked for may name what is being removed.
    #[error("a takedown of {path} is not finished")]
    Removing { path: PathBuf },
    #[error("there is no collection at {path}")]
    Missing { path: PathBuf },
    /// The database was deleted or replaced while a crawl had it open: what is committed is in no
    /// file that has a name. `how`: "was deleted".
    #[error("{path} {how} while the crawl was running")]
    DatabaseLost { path: PathBuf, how: &'static str },
    /// The same of the volumes: of their folder, or of the one that is being written.
    #[error("{path} {how} while the crawl was running")]
    VolumesLost { path: PathBuf, how: &'static str },
    /// The lease was taken over by somebody else: the delta was refused.
    #[error("the lease on site {site} is no longer ours")]
    Fenced { site: String },
    /// A write or sync failed earlier; nothing more is written until a restart recovers.
    #[error("the store stopped after an earlier failed write: {detail}")]
    Poisoned { detail: String },
    /// What was asked for cannot be, and nothing was changed: tell whoever asked.
    #[error("{why}")]
    Refused { why: String },
    #[error("database: {detail}")]
    Database { detail: String },
}

impl StoreError {
    pub fn io(doing: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> StoreError {
        let path = path.into();
        if source.kind() == std::io::ErrorKind::StorageFull {
            return StoreError::DiskFull { path };
        }
        StoreError::Io { doing, path, source }
    }

    pub fn is_disk_full(&self) -> bool {
        matches!(self, StoreError::DiskFull { .. })
    }
}
