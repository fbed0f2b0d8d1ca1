//! The seam to the database: what a statement, a row, a value and an error are to the rest of the store.
//!
//! Only the files below `sql/` name the crate of an engine (`crates/tidy` holds that), so that a second one can be
//! added here and nowhere else. Statements are prepared once and kept. There is one engine today, SQLite (`lite.rs`);
//! what only it has (PRAGMAs, its journal, its file) has a name here that says what it is for.

mod connection;
mod error;
mod lite;
// What is prepared is recorded in debug builds only.
#[cfg(debug_assertions)]
#[cfg(test)]
mod portable;
#[cfg(debug_assertions)]
mod record;
mod value;

pub use connection::{Row, Rows, Sql, Statement};
pub use error::{Error, OptionalExtension, Result, Trouble};
pub use value::{FromSql, Params, ToSql, Value, ValueRef};

pub use lite::open_plain;

pub(crate) use error::{is_disk_full, store_error};
#[cfg(test)]
pub(crate) use lite::open_immutable;
pub(crate) use lite::{
    CHECKPOINT_PAGES, WAL_BYTES_MAX, open_in_memory, open_reader, open_writer, wal_path,
};

/// The values of a statement's parameters, of whatever types.
#[doc(hidden)]
#[macro_export]
macro_rules! params {
    () => { [] };
    ($($value:expr),+ $(,)?) => { &[$($crate::sql::ToSql::value(&$value)),+][..] };
}
pub use crate::params;
