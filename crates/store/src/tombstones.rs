//! What was forgotten and stays out, as keyed hashes: the names themselves are not kept anywhere.
//!
//! This crate keeps the hashes and the key and makes neither from names: whoever asks does that.

use model::{StoreError, Timestamp};
use serde::Serialize;

use crate::sql::{self, OptionalExtension, Sql, params};
use crate::{census::Census, frontier::SqlFrontier, warc};

/// A random number of the collection that its hashes are made with.
pub type TombstoneKey = [u8; 16];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tombstone {
    /// `url`, `site` or `domain`.
    pub kind: String,
    pub hash: [u8; 16],
    pub created: Timestamp,
}

pub(crate) const KEY: &str = "tombstone-key";

impl SqlFrontier {
    /// The collection's key; made when first asked for.
    pub fn tombstone_key(&mut self, now: Timestamp) -> Result<TombstoneKey, StoreError> {
        let (high, low) = warc::draw();
        let fresh = format!("{high:016x}{low:016x}");
        let text = self.change(now, |sql| {
            sql.execute(
                "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
                [KEY, &fresh],
            )?;
            key_text(sql)
        })?;
        Ok(text.and_then(|text| parse_key(&text)).unwrap_or_default())
    }

    /// The key and all tombstones; `None` when nothing was ever forgotten.
    pub fn tombstones(&self) -> Result<Option<(TombstoneKey, Vec<Tombstone>)>, StoreError> {
        read(&self.connection).map_err(|e| self.error(e))
    }

    /// How many of these were there.
    pub fn lift_tombstones(
        &mut self,
        which: &[(String, [u8; 16])],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.change(now, |sql| {
            let mut delete = sql.prepare("DELETE FROM tombstones WHERE kind = ?1 AND hash = ?2")?;
            let mut lifted = 0;
            for (kind, hash) in which {
                lifted += delete.execute(params![kind, hash])? as u64;
            }
            if lifted > 0 {
                sql.execute(
                    "INSERT INTO meta (name, value) VALUES ('links-are-old', 'true') ON CONFLICT (name) DO NOTHING",
                    [],
                )?;
            }
            Ok(lifted)
        })
    }
}

impl Census {
    /// As [`SqlFrontier::tombstones`].
    pub fn tombstones(&self) -> Result<Option<(TombstoneKey, Vec<Tombstone>)>, StoreError> {
        self.ask(read)
    }
}

/// One that is there already keeps its time.
pub(crate) fn bury(sql: &Sql, tombstones: &[Tombstone]) -> sql::Result<()> {
    let mut insert = sql.prepare(
        "INSERT INTO tombstones (kind, hash, created) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )?;
    for Tombstone { kind, hash, created } in tombstones {
        insert.execute(params![kind, hash, created.0])?;
    }
    Ok(())
}

pub(crate) fn read(sql: &Sql) -> sql::Result<Option<(TombstoneKey, Vec<Tombstone>)>> {
    let Some(key) = key_text(sql)?.and_then(|text| parse_key(&text)) else { return Ok(None) };
    let mut statement =
        sql.prepare("SELECT kind, hash, created FROM tombstones ORDER BY created, kind, hash")?;
    let all = statement.query_map([], |row| {
        let created = Timestamp(row.get(2)?);
        Ok(Tombstone { kind: row.get(0)?, hash: row.get(1)?, created })
    })?;
    Ok(Some((key, all.collect::<Result<_, _>>()?)))
}

fn key_text(sql: &Sql) -> sql::Result<Option<String>> {
    sql.query_row("SELECT value FROM meta WHERE name = ?1", [KEY], |row| row.get(0)).optional()
}

fn parse_key(text: &str) -> Option<TombstoneKey> {
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_a_tombstone_keeps_its_first_time() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        assert_eq!(frontier.tombstones().unwrap(), None);
        let key = frontier.tombstone_key(Timestamp(1)).unwrap();
        assert_ne!(key, [0; 16]);
        assert_eq!(frontier.tombstone_key(Timestamp(2)).unwrap(), key);
        for created in [Timestamp(3), Timestamp(4)] {
            let stone = Tombstone { kind: "site".into(), hash: [7; 16], created };
            frontier.change(created, |sql| bury(sql, &[stone])).unwrap();
        }
        let (_, stones) = frontier.tombstones().unwrap().unwrap();
        assert_eq!((stones.len(), stones[0].created), (1, Timestamp(3)));
        let which = [("site".to_owned(), [7; 16]), ("url".to_owned(), [7; 16])];
        assert_eq!(frontier.lift_tombstones(&which, Timestamp(5)).unwrap(), 1);
        assert_eq!(frontier.tombstones().unwrap(), Some((key, Vec::new())));
    }
}
