//! One INSERT for many rows: a statement is begun, its cursors opened and the counter of an AUTOINCREMENT read and
//! written once for all of them.
//!
//! Statements say OR FAIL. With the usual ABORT, SQLite copies every page of the database before an insertion of several
//! rows first changes it, to be able to take back the rows before a bad one; here the whole transaction goes then.

use crate::sql::{self, Sql, Statement, ToSql};

/// Rows of one statement. At this number what is saved is nearly all, and few are left for the end.
pub(super) const ROWS: usize = 16;

pub(super) struct Many<'a> {
    one: Statement<'a>,
    many: Statement<'a>,
    columns: usize,
}

/// Takes the values of a row, in the order of the columns.
pub(super) struct Blank<'s, 'a> {
    statement: &'s mut Statement<'a>,
    at: usize,
}

impl<'a> Many<'a> {
    /// `into`: the table and its columns; `rest`: what follows the values.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn new(sql: &'a Sql, into: &str, columns: usize, rest: &str) -> sql::Result<Many<'a>> {
        let one = sql.prepare_hinted(&text(into, columns, 1, rest))?;
        Ok(Many { one, many: sql.prepare_hinted(&text(into, columns, ROWS, rest))?, columns })
    }

    /// How many were inserted.
    pub fn insert<T>(
        &mut self,
        rows: &[T],
        fill: impl Fn(&T, &mut Blank<'_, 'a>) -> sql::Result<()>,
    ) -> sql::Result<usize> {
        let (full, left) = rows.as_chunks::<ROWS>();
        let mut inserted = 0;
        for rows in full {
            for (n, row) in rows.iter().enumerate() {
                fill(row, &mut Blank { statement: &mut self.many, at: n * self.columns })?;
            }
            inserted += self.many.execute_bound()?;
        }
        for row in left {
            inserted += insert_one(&mut self.one, row, &fill)?;
        }
        Ok(inserted)
    }
}

impl Blank<'_, '_> {
    pub fn put(&mut self, value: impl ToSql) -> sql::Result<()> {
        self.at += 1;
        self.statement.bind(self.at, value)
    }
}

/// An INSERT of so many rows.
fn text(into: &str, columns: usize, rows: usize, rest: &str) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    format!("INSERT /*OR FAIL*/ INTO {into} VALUES {} {rest}", vec![&row[..]; rows].join(", "))
}

/// By a statement for one row.
pub(super) fn insert_one<'a, T>(
    statement: &mut Statement<'a>,
    row: &T,
    fill: impl Fn(&T, &mut Blank<'_, 'a>) -> sql::Result<()>,
) -> sql::Result<usize> {
    fill(row, &mut Blank { statement: &mut *statement, at: 0 })?;
    statement.execute_bound()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rows_is_inserted_and_those_that_are_there_are_left() {
        let sql = sql::open_in_memory().unwrap();
        sql.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL)").unwrap();
        let mut many = Many::new(&sql, "t (a, b)", 2, "ON CONFLICT DO NOTHING").unwrap();
        let mut insert = |rows: std::ops::Range<i64>| {
            let rows: Vec<i64> = rows.collect();
            many.insert(&rows, |row, blank| {
                blank.put(row)?;
                blank.put(row.to_string())
            })
            .unwrap()
        };
        assert_eq!(insert(0..0), 0);
        assert_eq!(insert(0..1), 1);
        assert_eq!(insert(1..20), 19);
        assert_eq!(insert(10..60), 40);
        let sum: (i64, i64) = sql
            .query_row("SELECT count(*), sum(a = b) FROM t", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(sum, (60, 60));
    }
}
