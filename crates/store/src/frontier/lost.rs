//! Records that can no longer be read: which visits name them, and the pages that are asked for
//! whole because of it.
//!
//! A row keeps where its record was: a volume that comes back from a copy brings its content back
//! ([`SqlFrontier::mark_found`]).

use std::collections::BTreeSet;

use crate::sql::{self, OptionalExtension, Row, params};
use model::{RecordLocation, SiteId, StoreError, Timestamp};

use super::{
    check_out::rouse,
    replicas::awake,
    rows::Fault,
    sql_frontier::{SqlFrontier, Work},
};

/// Rows that are marked in one transaction.
const TOGETHER: usize = 1_000;

/// A record that a row of the history names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRecord {
    /// The row.
    pub seq: i64,
    pub at: RecordLocation,
}

/// What was marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostMarks {
    pub records: u64,
    /// Pages whose version at hand is among them, and which are due now for it.
    pub pages: u64,
}

impl SqlFrontier {
    /// What the history names in these volumes, in the order it lies there, but for what is known
    /// to be lost.
    pub fn records_in(&self, volumes: &BTreeSet<u32>) -> Result<Vec<NamedRecord>, StoreError> {
        let numbers: Vec<String> = volumes.iter().map(u32::to_string).collect();
        self.named(&format!("lost IS NULL AND record_volume IN ({})", numbers.join(", ")))
    }

    /// Revisits, whose payload is elsewhere.
    pub fn revisit_records(&self) -> Result<Vec<NamedRecord>, StoreError> {
        self.named("lost IS NULL AND revisit = 1")
    }

    /// What is known to be lost.
    pub fn lost_records(&self) -> Result<Vec<NamedRecord>, StoreError> {
        self.named("lost IS NOT NULL")
    }

    fn named(&self, condition: &str) -> Result<Vec<NamedRecord>, StoreError> {
        let text = format!(
            "SELECT seq, record_volume, record_offset, record_length FROM visits \
             WHERE record_volume IS NOT NULL AND {condition} \
             ORDER BY record_volume, record_offset, seq"
        );
        let read = |row: Row<'_>| {
            let offset = row.get::<i64>(2)? as u64;
            let at = RecordLocation { volume: row.get(1)?, offset, length: row.get(3)? };
            Ok(NamedRecord { seq: row.get(0)?, at })
        };
        let mut statement = self.connection.prepare(&text).map_err(|e| self.error(e))?;
        let rows = statement.query_map([], read).map_err(|e| self.error(e))?;
        rows.collect::<Result<_, _>>().map_err(|e| self.error(e))
    }

    /// Of these rows, how many are the version at hand of a page that has content.
    pub fn pages_at_hand(&self, rows: &[i64]) -> Result<u64, StoreError> {
        let mut found = 0;
        for seq in rows {
            let page = page_at_hand(&self.connection, *seq).map_err(|e| self.error(e))?;
            found += u64::from(page.is_some());
        }
        Ok(found)
    }

    /// The records of these rows cannot be read. A page whose version at hand is one of them is due
    /// now, and is asked for whole then.
    pub fn mark_lost(&mut self, rows: &[i64], now: Timestamp) -> Result<LostMarks, StoreError> {
        let mut marks = LostMarks::default();
        for rows in rows.chunks(TOGETHER) {
            let pages = self.transact(now, |work| mark(work, rows, now))?;
            marks.records += rows.len() as u64;
            marks.pages += pages;
        }
        Ok(marks)
    }

    /// The records of these rows can be read again.
    pub fn mark_found(&mut self, rows: &[i64], now: Timestamp) -> Result<(), StoreError> {
        for rows in rows.chunks(TOGETHER) {
            self.change(now, |sql| {
                let mut found = sql.prepare("UPDATE visits SET lost = NULL WHERE seq = ?1")?;
                rows.iter().try_for_each(|seq| found.execute([seq]).map(drop))
            })?;
        }
        Ok(())
    }
}

/// The pages that are due for it.
fn mark(work: &mut Work<'_>, rows: &[i64], now: Timestamp) -> Result<u64, Fault> {
    let mut sites = BTreeSet::new();
    let mut pages = 0;
    for seq in rows {
        work.sql
            .prepare("UPDATE visits SET lost = ?2 WHERE seq = ?1")?
            .execute(params![seq, now.0])?;
        let Some((site, fp)) = page_at_hand(work.sql, *seq)? else { continue };
        pages += 1;
        work.sql
            .prepare(concat!(
                "UPDATE pages SET due = ?3, price = 0 WHERE site = ?1 AND fp = ?2 \
                 AND (due IS NULL OR due > ?3) AND ",
                awake!()
            ))?
            .execute(params![site, fp, now.0])?;
        sites.insert(site);
    }
    for site in sites {
        let text = "SELECT leased = 0 FROM sites WHERE id = ?1";
        // The holder of a lease reckons the dues when it gives the site back.
        if work.sql.prepare(text)?.query_row([site], |row| row.get(0))? {
            rouse(work, SiteId(site))?;
        }
    }
    Ok(pages)
}

/// The page that shows content, and has it from this row.
fn page_at_hand(sql: &crate::sql::Sql, seq: i64) -> sql::Result<Option<(i64, i64)>> {
    sql.prepare(
        "SELECT p.site, p.fp FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp \
         WHERE v.seq = ?1 AND p.run = v.seq AND p.state = 2",
    )?
    .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
    .optional()
}

#[cfg(test)]
mod tests {
    use model::{Change, Frontier, Release};

    use super::*;
    use crate::frontier::suite::{HOUR, candidate, delta, lease_one, settlement, visited};

    #[test]
    fn a_page_whose_record_is_lost_is_due_now_and_its_next_whole_record_takes_the_place() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.admit(&[candidate("http://a.example/", 0)], Timestamp(0)).unwrap();
        let see = |frontier: &mut SqlFrontier, at: i64, change: Change, lost: bool| {
            let lease = lease_one(frontier, at);
            let last = lease.pages[0].last.clone();
            let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
            let fp = lease.pages[0].url.fingerprint();
            let mut update = visited(fp, at, change, Some(at + 9 * HOUR));
            update.visit.as_mut().unwrap().lost_before = lost;
            back.updates = vec![update];
            frontier.check_in(&settlement(at, vec![back])).unwrap();
            last
        };
        assert_eq!(see(&mut frontier, 1, Change::First, false), None);
        let named = frontier.records_in(&BTreeSet::from([1])).unwrap();
        let rows: Vec<i64> = named.iter().map(|named| named.seq).collect();
        assert_eq!((rows.len(), frontier.pages_at_hand(&rows).unwrap()), (1, 1));
        let marks = frontier.mark_lost(&rows, Timestamp(HOUR)).unwrap();
        assert_eq!(marks, LostMarks { records: 1, pages: 1 });
        assert_eq!(frontier.lost_records().unwrap(), named);
        assert_eq!(frontier.record_extents().unwrap(), []);
        assert_eq!(frontier.verify(true).unwrap(), []);

        let last = see(&mut frontier, HOUR, Change::Unchanged, false).unwrap();
        assert!(!last.whole, "a 304 would confirm what nobody has");
        let last = see(&mut frontier, 10 * HOUR, Change::Unchanged, true).unwrap();
        let at = |last: &model::LastVersion| last.record.map(|record| record.offset);
        assert_eq!((last.whole, at(&last)), (true, Some(HOUR as u64)));
        // The crawl has found that one to be lost as well.
        let last = see(&mut frontier, 19 * HOUR, Change::NotModified, false).unwrap();
        assert_eq!((last.whole, at(&last)), (true, Some(10 * HOUR as u64)));
        assert_eq!(frontier.lost_records().unwrap().len(), 2);
        assert_eq!(frontier.counts().unwrap().versions, 1);
        frontier.mark_found(&rows, Timestamp(20 * HOUR)).unwrap();
        assert_eq!(frontier.lost_records().unwrap().len(), 1);
        assert_eq!(frontier.verify(true).unwrap(), []);
    }
}
