//! Where webhooks stand: how far each has come in the changes, what is being tried, and what was given up.
//!
//! A webhook's place is a `seq` of `visits`. A batch is fixed (`upto`) before it is first sent, so that every
//! try sends the same changes under the same id; the place moves on in the commit that notes the delivery. What
//! is given up is kept as a stretch of `seq` and made again from the visits when it is wanted: a dead letter
//! takes no room, and what was forgotten meanwhile is not in it.
//!
//! One process delivers at a time: it holds a lock of its own beside the crawl's.

use std::{
    fs::{File, TryLockError},
    path::PathBuf,
    time::Duration,
};

use model::{StoreError, Timestamp};
use serde::Serialize;

use crate::{
    census::Census,
    collection::Collection,
    frontier::collection_id,
    sql::{self, OptionalExtension, Row, Sql, open_writer, params, store_error},
};

/// Dead letters of one webhook; beyond that two become one stretch, so that none is lost.
const DEAD_MAX: i64 = 10_000;
/// An answer's text is for people to look at.
const ERROR_BYTES_MAX: usize = 500;

/// Changes the places; held by whoever delivers.
#[derive(Debug)]
pub struct WebhookLedger {
    path: PathBuf,
    sql: Sql,
    _lock: File,
}

/// Where one webhook stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebhookPlace {
    pub name: String,
    /// Everything up to this `seq` is delivered, given up or of no interest.
    pub cursor: i64,
    /// The batch that is being tried ends here.
    pub upto: Option<i64>,
    /// Of that batch.
    pub tries: u32,
    pub since: Option<Timestamp>,
    /// Not to be tried before.
    pub next: Timestamp,
    /// What went wrong last; empty after a delivery.
    pub error: String,
    /// Changes that arrived, in all.
    pub delivered: u64,
    pub last: Option<Timestamp>,
}

/// Changes that were given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetter {
    pub id: i64,
    pub webhook: String,
    /// The changes behind this `seq` …
    pub after: i64,
    /// … and up to this one.
    pub upto: i64,
    pub changes: u64,
    /// When it was first tried, and when it was given up.
    pub since: Timestamp,
    pub at: Timestamp,
    pub tries: u32,
    pub error: String,
}

impl WebhookLedger {
    /// Refused while another process delivers.
    pub fn open(collection: &Collection) -> Result<WebhookLedger, StoreError> {
        let path = collection.dir().join("webhooks.lock");
        let io = |e| StoreError::io("lock", &path, e);
        let lock = File::options().write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Delivering { path: collection.dir().to_owned() });
            }
            Err(TryLockError::Error(e)) => return Err(io(e)),
        }
        let path = collection.database();
        let sql = open_writer(&path)?;
        Ok(WebhookLedger { path, sql, _lock: lock })
    }

    /// A webhook that is new is told of what happens from now on.
    pub fn enter(&mut self, name: &str) -> Result<WebhookPlace, StoreError> {
        self.sql
            .execute(
                "INSERT INTO webhooks (name, cursor) \
                 VALUES (?1, (SELECT coalesce(max(seq), 0) FROM visits)) ON CONFLICT (name) DO NOTHING",
                [name],
            )
            .and_then(|_| place(&self.sql, name))
            .map_err(|e| self.error(e))
    }

    /// What tells deliveries of this collection from those of others.
    pub fn collection_id(&mut self) -> Result<String, StoreError> {
        collection_id(&self.sql).map_err(|e| self.error(e))
    }

    /// What was given up makes nothing else wait once somebody begins to deliver: the wait was that of a batch
    /// which is no longer tried.
    pub fn begin_anew(&mut self, name: &str) -> Result<(), StoreError> {
        self.execute("UPDATE webhooks SET next = 0 WHERE name = ?1 AND upto IS NULL", [name])
    }

    /// The batch that is sent next ends here.
    pub fn take(&mut self, name: &str, upto: i64, now: Timestamp) -> Result<(), StoreError> {
        self.execute(
            "UPDATE webhooks SET upto = ?2, tries = 0, since = ?3 WHERE name = ?1",
            params![name, upto, now.0],
        )
    }

    /// Nothing of interest up to here.
    pub fn pass(&mut self, name: &str, seq: i64) -> Result<(), StoreError> {
        self.execute(
            "UPDATE webhooks SET cursor = ?2 WHERE name = ?1 AND upto IS NULL",
            params![name, seq],
        )
    }

    /// The batch arrived.
    pub fn delivered(
        &mut self,
        name: &str,
        changes: u64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute(
            "UPDATE webhooks SET cursor = coalesce(upto, cursor), upto = NULL, tries = 0, \
             since = NULL, next = 0, error = '', delivered = delivered + ?2, last = ?3 \
             WHERE name = ?1",
            params![name, changes as i64, now.0],
        )
    }

    pub fn failed(&mut self, name: &str, error: &str, next: Timestamp) -> Result<(), StoreError> {
        self.execute(
            "UPDATE webhooks SET tries = tries + 1, error = ?2, next = ?3 WHERE name = ?1",
            params![name, short(error), next.0],
        )
    }

    /// The batch is given up: it becomes a dead letter in the commit that moves on from it.
    pub fn bury(&mut self, name: &str, changes: u64, now: Timestamp) -> Result<(), StoreError> {
        let buried = (|| {
            let work = self.sql.transaction()?;
            work.execute(
                "INSERT INTO dead_letters (webhook, after, upto, changes, since, at, tries, error) \
                 SELECT name, cursor, upto, ?2, coalesce(since, ?3), ?3, tries, error \
                 FROM webhooks WHERE name = ?1 AND upto IS NOT NULL",
                params![name, changes as i64, now.0],
            )?;
            work.execute(
                "UPDATE webhooks SET cursor = coalesce(upto, cursor), upto = NULL, tries = 0, \
                 since = NULL WHERE name = ?1",
                [name],
            )?;
            merge_two(&work, name)?;
            work.commit()
        })();
        buried.map_err(|e| self.error(e))
    }

    /// A dead letter arrived after all, as far as this `seq` or whole, with so many changes since it was last
    /// told of. They count as delivered, and what went wrong with the webhook is over.
    pub fn risen(
        &mut self,
        letter: &DeadLetter,
        upto: i64,
        changes: u64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let risen = (|| {
            let work = self.sql.transaction()?;
            match upto >= letter.upto {
                true => work.execute("DELETE FROM dead_letters WHERE id = ?1", [letter.id])?,
                false => work.execute(
                    "UPDATE dead_letters SET after = ?2, changes = max(changes - ?3, 0) \
                     WHERE id = ?1",
                    params![letter.id, upto, changes as i64],
                )?,
            };
            if changes > 0 {
                work.execute(
                    "UPDATE webhooks SET delivered = delivered + ?2, last = ?3, \
                     error = CASE WHEN upto IS NULL THEN '' ELSE error END WHERE name = ?1",
                    params![letter.webhook, changes as i64, now.0],
                )?;
            }
            work.commit()
        })();
        risen.map_err(|e| self.error(e))
    }

    /// It was sent once more, and again in vain.
    pub fn missed_again(&mut self, letter: &DeadLetter, error: &str) -> Result<(), StoreError> {
        self.execute(
            "UPDATE dead_letters SET tries = tries + 1, error = ?2 WHERE id = ?1",
            params![letter.id, short(error)],
        )
    }

    fn execute(&self, sql: &str, values: impl sql::Params) -> Result<(), StoreError> {
        self.sql.execute(sql, values).map(drop).map_err(|e| self.error(e))
    }

    fn error(&self, error: sql::Error) -> StoreError {
        store_error(&self.path, error)
    }
}

impl Census {
    /// Where a webhook stands; `None` before its first crawl.
    pub fn webhook(&self, name: &str) -> Result<Option<WebhookPlace>, StoreError> {
        self.ask(|sql| place(sql, name).optional())
    }

    /// What was given up, of one webhook or of all, oldest first.
    pub fn dead_letters(&self, webhook: Option<&str>) -> Result<Vec<DeadLetter>, StoreError> {
        self.ask(|sql| {
            sql.prepare(
                "SELECT id, webhook, after, upto, changes, since, at, tries, error \
                 FROM dead_letters WHERE CAST(?1 AS TEXT) IS NULL OR webhook = ?1 ORDER BY id",
            )?
            .query_map([webhook], dead_letter)?
            .collect()
        })
    }
}

/// How long to wait after so many tries: a second, doubled up to an hour.
pub fn wait_after(tries: u32) -> Duration {
    Duration::from_secs(1 << tries.min(12)).min(Duration::from_secs(3_600))
}

fn merge_two(sql: &Sql, name: &str) -> sql::Result<()> {
    let count: i64 =
        sql.query_row("SELECT count(*) FROM dead_letters WHERE webhook = ?1", [name], |row| {
            row.get(0)
        })?;
    if count <= DEAD_MAX {
        return Ok(());
    }
    let Some((first, second)) = neighbours(sql, name)? else { return Ok(()) };
    sql.execute(
        "UPDATE dead_letters AS d SET after = min(d.after, o.after), upto = max(d.upto, o.upto), \
         changes = d.changes + o.changes, since = min(d.since, o.since) \
         FROM dead_letters AS o WHERE o.id = ?1 AND d.id = ?2",
        params![first, second],
    )?;
    sql.execute("DELETE FROM dead_letters WHERE id = ?1", [first]).map(drop)
}

/// The oldest two with nothing between them, so that nothing that arrived is sent again; where there are no such,
/// the oldest two.
fn neighbours(sql: &Sql, name: &str) -> sql::Result<Option<(i64, i64)>> {
    let letters: Vec<(i64, i64, i64)> = sql
        .prepare("SELECT id, after, upto FROM dead_letters WHERE webhook = ?1 ORDER BY after, id")?
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut pairs = letters.windows(2);
    let touching = pairs.find(|pair| pair[0].2 == pair[1].1);
    Ok(touching.or(letters.get(..2)).map(|pair| (pair[0].0, pair[1].0)))
}

fn place(sql: &Sql, name: &str) -> sql::Result<WebhookPlace> {
    sql.prepare(
        "SELECT name, cursor, upto, tries, since, next, error, delivered, last \
         FROM webhooks WHERE name = ?1",
    )?
    .query_row([name], |row| {
        let moment = |column| row.get::<Option<i64>>(column).map(|at| at.map(Timestamp));
        Ok(WebhookPlace {
            name: row.get(0)?,
            cursor: row.get(1)?,
            upto: row.get(2)?,
            tries: row.get(3)?,
            since: moment(4)?,
            next: Timestamp(row.get(5)?),
            error: row.get(6)?,
            delivered: row.get::<i64>(7)? as u64,
            last: moment(8)?,
        })
    })
}

fn dead_letter(row: Row<'_>) -> sql::Result<DeadLetter> {
    Ok(DeadLetter {
        id: row.get(0)?,
        webhook: row.get(1)?,
        after: row.get(2)?,
        upto: row.get(3)?,
        changes: row.get::<i64>(4)? as u64,
        since: Timestamp(row.get(5)?),
        at: Timestamp(row.get(6)?),
        tries: row.get(7)?,
        error: row.get(8)?,
    })
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(ERROR_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house() -> (tempfile::TempDir, Collection) {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(&dir.path().join("harvest")).unwrap();
        (dir, collection)
    }

    #[test]
    fn what_is_given_up_is_kept_in_the_commit_that_moves_on() {
        let (_dir, collection) = house();
        let mut ledger = WebhookLedger::open(&collection).unwrap();
        assert_eq!(ledger.enter("a").unwrap().cursor, 0);
        ledger.take("a", 7, Timestamp(5)).unwrap();
        ledger.pass("a", 99).unwrap();
        ledger.failed("a", "no answer", Timestamp(9)).unwrap();
        let place = ledger.enter("a").unwrap();
        assert_eq!(
            (place.cursor, place.upto, place.tries),
            (0, Some(7), 1),
            "it waits for its batch"
        );
        ledger.bury("a", 3, Timestamp(20)).unwrap();
        let census = Census::open(&collection).unwrap();
        let [letter] = &census.dead_letters(Some("a")).unwrap()[..] else { panic!("one") };
        assert_eq!((letter.after, letter.upto, letter.changes, letter.tries), (0, 7, 3, 1));
        assert_eq!((letter.since, letter.error.as_str()), (Timestamp(5), "no answer"));
        assert_eq!(ledger.enter("a").unwrap().cursor, 7);
        ledger.missed_again(letter, "still not").unwrap();
        ledger.risen(letter, 4, 2, Timestamp(30)).unwrap();
        let [left] = &census.dead_letters(None).unwrap()[..] else { panic!("one") };
        assert_eq!((left.after, left.changes, left.tries), (4, 1, 2));
        assert_eq!(left.error, "still not");
        ledger.risen(left, 7, 1, Timestamp(40)).unwrap();
        assert_eq!(census.dead_letters(None).unwrap(), []);
        let place = ledger.enter("a").unwrap();
        assert_eq!((place.delivered, place.last), (3, Some(Timestamp(40))));
        assert_eq!(place.error, "", "it takes its deliveries again");
    }

    #[test]
    fn too_many_dead_letters_become_stretches_and_none_is_lost() {
        let (_dir, collection) = house();
        let mut ledger = WebhookLedger::open(&collection).unwrap();
        ledger.enter("a").unwrap();
        ledger
            .sql
            .execute(
                "INSERT INTO dead_letters (webhook, after, upto, changes, since, at, tries, error) \
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
                 SELECT 'a', i - 1, i, 1, i, i, 1, '' FROM n",
                [DEAD_MAX],
            )
            .unwrap();
        ledger.pass("a", DEAD_MAX).unwrap();
        for n in DEAD_MAX + 1..=DEAD_MAX + 5 {
            ledger.take("a", n, Timestamp(n)).unwrap();
            ledger.bury("a", 1, Timestamp(n)).unwrap();
        }
        let census = Census::open(&collection).unwrap();
        let letters = census.dead_letters(Some("a")).unwrap();
        assert_eq!(letters.len() as i64, DEAD_MAX);
        assert_eq!(letters.iter().map(|letter| letter.changes as i64).sum::<i64>(), DEAD_MAX + 5);
        assert!(letters.windows(2).all(|pair| pair[0].upto == pair[1].after), "no gap");
        assert_eq!(letters[0].after, 0);
    }

    #[test]
    fn what_was_delivered_between_two_dead_letters_is_not_sent_again() {
        let (_dir, collection) = house();
        let mut ledger = WebhookLedger::open(&collection).unwrap();
        ledger.enter("a").unwrap();
        // Every second batch arrived, but for two failures in a row in the middle.
        let odd = DEAD_MAX / 2;
        ledger
            .sql
            .execute(
                "INSERT INTO dead_letters (webhook, after, upto, changes, since, at, tries, error) \
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
                 SELECT 'a', 2 * i - (i > ?2), 2 * i + 1 - (i > ?2), 1, i, i, 1, '' FROM n",
                params![DEAD_MAX, odd],
            )
            .unwrap();
        ledger.pass("a", 3 * DEAD_MAX).unwrap();
        ledger.take("a", 3 * DEAD_MAX + 1, Timestamp(9)).unwrap();
        ledger.bury("a", 1, Timestamp(9)).unwrap();
        let letters = Census::open(&collection).unwrap().dead_letters(Some("a")).unwrap();
        assert_eq!(letters.len() as i64, DEAD_MAX);
        let covered: i64 = letters.iter().map(|letter| letter.upto - letter.after).sum();
        assert_eq!(covered, DEAD_MAX + 1, "no more than what was given up");
    }

    #[test]
    fn only_one_process_delivers() {
        let (_dir, collection) = house();
        let ledger = WebhookLedger::open(&collection).unwrap();
        let error = WebhookLedger::open(&collection).unwrap_err();
        assert!(matches!(error, StoreError::Delivering { .. }), "{error}");
        drop(ledger);
        WebhookLedger::open(&collection).unwrap();
    }

    #[test]
    fn waits_grow_to_an_hour_and_no_further() {
        let waits: Vec<u64> = (0..14).map(|tries| wait_after(tries).as_secs()).collect();
        assert_eq!(waits[..4], [1, 2, 4, 8]);
        assert_eq!(waits[12..], [3_600, 3_600]);
    }
}
