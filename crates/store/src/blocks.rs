//! What the user keeps away from, as it outlives a crawl. This crate keeps patterns and does not read them.

use model::{StoreError, Timestamp};
use serde::Serialize;

use crate::frontier::SqlFrontier;
use crate::sql::{self, Row, Sql, params};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockEntry {
    pub pattern: String,
    /// The user's words, or nothing.
    pub reason: String,
    pub created: Timestamp,
}

impl SqlFrontier {
    /// How many were not there before. One that was keeps its time and gets the new reason, if there is one.
    pub fn block(
        &mut self,
        patterns: &[String],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.change(now, |sql| {
            let mut insert = sql.prepare(
                "INSERT INTO blocks (pattern, reason, created) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO NOTHING",
            )?;
            let mut explain = sql.prepare("UPDATE blocks SET reason = ?2 WHERE pattern = ?1")?;
            let mut new = 0;
            for pattern in patterns {
                let inserted = insert.execute(params![pattern, reason, now.0])?;
                if inserted == 0 && !reason.is_empty() {
                    explain.execute(params![pattern, reason])?;
                }
                new += inserted as u64;
            }
            Ok(new)
        })
    }

    /// All of them, one at a time.
    pub fn each_block(&self, take: impl FnMut(BlockEntry)) -> Result<(), StoreError> {
        each_block(&self.connection, take).map_err(|e| self.error(e))
    }
}

pub(crate) fn each_block(sql: &Sql, mut take: impl FnMut(BlockEntry)) -> sql::Result<()> {
    let mut statement =
        sql.prepare("SELECT pattern, reason, created FROM blocks ORDER BY pattern")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        take(block_entry(row)?);
    }
    Ok(())
}

pub(crate) fn block_entry(row: Row<'_>) -> sql::Result<BlockEntry> {
    let created = Timestamp(row.get(2)?);
    Ok(BlockEntry { pattern: row.get(0)?, reason: row.get(1)?, created })
}
