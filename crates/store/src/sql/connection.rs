//! A connection, its statements and their rows, as one engine has them.

#[cfg(debug_assertions)]
use std::cell::Cell;
use std::{fmt, ops::Deref};

use super::{Error, FromSql, Params, Result, ToSql, ValueRef, value::unfit};

/// One connection.
pub struct Sql {
    pub(super) engine: rusqlite::Connection,
    /// Rows of a statement are coming. SQLite would let others run meanwhile; not every engine does.
    #[cfg(debug_assertions)]
    pub(super) reading: Cell<bool>,
}

/// A prepared statement that the connection keeps for the next who asks for the same text.
pub struct Statement<'c> {
    held: rusqlite::CachedStatement<'c>,
    #[cfg(debug_assertions)]
    sql: &'c Sql,
}

/// Rows as they come; while they do, the connection may do nothing else.
pub struct Rows<'s> {
    rows: rusqlite::Rows<'s>,
    #[cfg(debug_assertions)]
    _reading: Reading<'s>,
}

/// The row at hand.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    row: &'a rusqlite::Row<'a>,
}

/// Rows made into something else, one by one.
pub struct Mapped<'s, F> {
    rows: Rows<'s>,
    read: F,
}

/// Several statements that happen together or not at all; dropped, they did not happen. For readers: one view of all.
pub struct Transaction<'c> {
    sql: &'c Sql,
    held: rusqlite::Transaction<'c>,
}

impl Sql {
    pub(super) fn over(engine: rusqlite::Connection) -> Sql {
        Sql {
            engine,
            #[cfg(debug_assertions)]
            reading: Cell::new(false),
        }
    }

    /// Parsed and planned once.
    #[cfg_attr(debug_assertions, track_caller)]
    #[inline]
    pub fn prepare(&self, text: &str) -> Result<Statement<'_>> {
        #[cfg(debug_assertions)]
        super::record::note(text);
        self.prepare_own(text)
    }

    /// A text with hints for this engine in comments, which to others are just that: `/*INDEXED BY name*/`.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn prepare_hinted(&self, text: &str) -> Result<Statement<'_>> {
        #[cfg(debug_assertions)]
        super::record::note(text);
        self.prepare_own(&text.replace("/*", "").replace("*/", ""))
    }

    /// The same for what only this engine understands.
    #[inline]
    pub(super) fn prepare_own(&self, text: &str) -> Result<Statement<'_>> {
        Ok(Statement {
            held: self.engine.prepare_cached(text)?,
            #[cfg(debug_assertions)]
            sql: self,
        })
    }

    /// How many rows it changed.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn execute(&self, text: &str, params: impl Params) -> Result<usize> {
        self.prepare(text)?.execute(params)
    }

    /// The first row.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn query_row<T>(
        &self,
        text: &str,
        params: impl Params,
        read: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare(text)?.query_row(params, read)
    }

    /// Statements without parameters, one after the other.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn execute_batch(&self, texts: &str) -> Result<()> {
        #[cfg(debug_assertions)]
        super::record::note(texts);
        Ok(self.engine.execute_batch(texts)?)
    }

    pub fn transaction(&self) -> Result<Transaction<'_>> {
        Ok(Transaction { sql: self, held: self.engine.unchecked_transaction()? })
    }

    pub fn is_in_transaction(&self) -> bool {
        !self.engine.is_autocommit()
    }
}

impl fmt::Debug for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sql").finish_non_exhaustive()
    }
}

impl Statement<'_> {
    /// How many rows it changed.
    #[inline]
    pub fn execute(&mut self, params: impl Params) -> Result<usize> {
        params.bind(self)?;
        self.execute_bound()
    }

    #[inline]
    pub fn query(&mut self, params: impl Params) -> Result<Rows<'_>> {
        params.bind(self)?;
        Ok(Rows {
            #[cfg(debug_assertions)]
            _reading: Reading::begin(self.sql),
            rows: self.held.raw_query(),
        })
    }

    #[inline]
    pub fn query_map<T, F>(&mut self, params: impl Params, read: F) -> Result<Mapped<'_, F>>
    where
        F: FnMut(Row<'_>) -> Result<T>,
    {
        Ok(Mapped { rows: self.query(params)?, read })
    }

    /// The first row.
    #[inline]
    pub fn query_row<T>(
        &mut self,
        params: impl Params,
        read: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<T> {
        read(self.query(params)?.next()?.ok_or(Error::NoRow)?)
    }

    /// Whether there is a row.
    #[inline]
    pub fn exists(&mut self, params: impl Params) -> Result<bool> {
        Ok(self.query(params)?.next()?.is_some())
    }

    /// Parameters are counted from 1.
    #[inline]
    pub fn bind(&mut self, at: usize, value: impl ToSql) -> Result<()> {
        Ok(self.held.raw_bind_parameter(at, Bound(value.value()))?)
    }

    /// With the values that were bound.
    #[inline]
    pub fn execute_bound(&mut self) -> Result<usize> {
        #[cfg(debug_assertions)]
        drop(Reading::begin(self.sql));
        Ok(self.held.raw_execute()?)
    }

    #[inline]
    pub(super) fn has_parameters(&self, count: usize) -> Result<()> {
        match self.held.parameter_count() {
            expected if expected == count => Ok(()),
            expected => Err(rusqlite::Error::InvalidParameterCount(count, expected).into()),
        }
    }
}

impl Rows<'_> {
    /// Not an iterator's: the row is gone with the next.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(self.rows.next()?.map(|row| Row { row }))
    }
}

impl<T, F: FnMut(Row<'_>) -> Result<T>> Iterator for Mapped<'_, F> {
    type Item = Result<T>;

    #[inline]
    fn next(&mut self) -> Option<Result<T>> {
        match self.rows.next() {
            Ok(row) => row.map(&mut self.read),
            Err(error) => Some(Err(error)),
        }
    }
}

impl<'a> Row<'a> {
    #[inline]
    pub fn get<T: FromSql>(self, column: usize) -> Result<T> {
        let value = self.value(column)?;
        T::read(value).ok_or_else(|| unfit(column, value))
    }

    #[inline]
    pub fn text(self, column: usize) -> Result<&'a str> {
        match self.value(column)? {
            ValueRef::Text(text) => Ok(text),
            value => Err(unfit(column, value)),
        }
    }

    /// None where there is nothing.
    #[inline]
    pub fn bytes(self, column: usize) -> Result<&'a [u8]> {
        match self.value(column)? {
            ValueRef::Null => Ok(&[]),
            ValueRef::Blob(bytes) => Ok(bytes),
            value => Err(unfit(column, value)),
        }
    }

    #[inline]
    fn value(self, column: usize) -> Result<ValueRef<'a>> {
        Ok(match self.row.get_ref(column)? {
            rusqlite::types::ValueRef::Null => ValueRef::Null,
            rusqlite::types::ValueRef::Integer(number) => ValueRef::Integer(number),
            rusqlite::types::ValueRef::Real(number) => ValueRef::Real(number),
            rusqlite::types::ValueRef::Text(text) => {
                let text = str::from_utf8(text);
                ValueRef::Text(text.map_err(|error| Error::value(column, error))?)
            }
            rusqlite::types::ValueRef::Blob(bytes) => ValueRef::Blob(bytes),
        })
    }
}

impl Transaction<'_> {
    pub fn commit(self) -> Result<()> {
        Ok(self.held.commit()?)
    }
}

impl Deref for Transaction<'_> {
    type Target = Sql;

    fn deref(&self) -> &Sql {
        self.sql
    }
}

/// Holds callers to one statement at a time.
#[cfg(debug_assertions)]
struct Reading<'s>(&'s Sql);

#[cfg(debug_assertions)]
impl Reading<'_> {
    fn begin(sql: &Sql) -> Reading<'_> {
        assert!(!sql.reading.replace(true), "a statement runs while rows of another are read");
        Reading(sql)
    }
}

#[cfg(debug_assertions)]
impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.reading.set(false);
    }
}

/// A value of ours as the engine's crate wants it.
struct Bound<'a>(ValueRef<'a>);

impl rusqlite::ToSql for Bound<'_> {
    #[inline]
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::ValueRef as Theirs;
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match self.0 {
            ValueRef::Null => Theirs::Null,
            ValueRef::Integer(number) => Theirs::Integer(number),
            ValueRef::Real(number) => Theirs::Real(number),
            ValueRef::Text(text) => Theirs::Text(text.as_bytes()),
            ValueRef::Blob(bytes) => Theirs::Blob(bytes),
        }))
    }
}
