//! What an engine's error means to the caller.

use std::{fmt, io, path::Path};

use model::StoreError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A row was asked for, and there is none.
    NoRow,
    /// A column holds what this program never writes there.
    Value { column: usize, detail: String },
    /// The engine refused or failed.
    Engine { trouble: Trouble, detail: String },
}

/// What is wrong, as far as something can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    DiskFull,
    /// Damaged, no database at all, or without what ours have.
    Corrupt,
    /// Somebody else held it for longer than is waited.
    Busy,
    CannotOpen,
    /// There is no right to write.
    ReadOnly,
    /// The process that made it was killed at it: only a writer can undo what was begun.
    HalfMade,
    Io,
    Other,
}

impl Error {
    pub fn value(column: usize, detail: impl fmt::Display) -> Error {
        Error::Value { column, detail: detail.to_string() }
    }

    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Error::Engine { trouble, .. } => Some(*trouble),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoRow => f.write_str("a row that should be there is missing"),
            Error::Value { column, detail } => write!(f, "column {column}: {detail}"),
            Error::Engine { detail, .. } => f.write_str(detail),
        }
    }
}

impl std::error::Error for Error {}

/// For a row that may be missing.
pub trait OptionalExtension<T> {
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    #[inline]
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Error::NoRow) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn is_disk_full(error: &Error) -> bool {
    error.trouble() == Some(Trouble::DiskFull)
}

/// What the caller can do about it decides the variant.
pub(crate) fn store_error(path: &Path, error: Error) -> StoreError {
    let (path, detail) = (path.to_owned(), error.to_string());
    match error.trouble() {
        Some(Trouble::DiskFull) => StoreError::DiskFull { path },
        Some(Trouble::Corrupt) => StoreError::Corrupt { path, detail },
        Some(Trouble::CannotOpen) => {
            StoreError::Io { doing: "open", path, source: io::Error::other(detail) }
        }
        Some(Trouble::ReadOnly) => {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, detail);
            StoreError::Io { doing: "write", path, source }
        }
        Some(Trouble::Io) => {
            StoreError::Io { doing: "read or write", path, source: io::Error::other(detail) }
        }
        _ => StoreError::Database { detail },
    }
}
