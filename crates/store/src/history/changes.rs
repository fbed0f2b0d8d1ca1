//! Changes of pages in the order of commits: new, changed, gone, returned.
//!
//! A read looks at a bounded stretch of `seq`, whatever it finds there; who wants more goes on from where it
//! ended. A page is gone once until it returns, also where that took several rows. Where only one site is asked
//! for and it has few of the visits in question, they are found by site.

use std::ops::RangeInclusive;

use model::{Change, RecordLocation, SpiderId, StoreError, Timestamp};
use serde::Serialize;

use crate::sql::{self, OptionalExtension, Row, params};
use crate::{census::Census, frontier::record_from_row};

/// Rows looked at in one read: some 5 MB of the table, a few milliseconds.
const STRETCH: i64 = 20_000;

/// A row found through the index of a site costs about as much as this many read one after the other.
const LOOK_UP_COST: i64 = 20;

/// Something happened to a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeEntry {
    pub seq: i64,
    pub change: Change,
    /// When it was seen.
    pub at: Timestamp,
    pub status: u16,
    pub site: String,
    pub url: String,
    pub spider: String,
    /// That it had then; what is told once stays as it was told.
    pub title: String,
    pub body_bytes: u64,
    pub record: Option<RecordLocation>,
    /// The version before, if there was one and it is kept.
    pub before: Option<RecordLocation>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeFilter {
    pub spider: Option<SpiderId>,
    /// Key of a site.
    pub site: Option<String>,
    /// Seen at this moment or later.
    pub since: Option<Timestamp>,
}

/// What one read found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangePiece {
    /// By `seq`; downwards when the newest were asked for.
    pub entries: Vec<ChangeEntry>,
    /// How far the read has looked: going on from here misses nothing and repeats nothing.
    pub reached: i64,
}

impl Census {
    /// The newest committed visit; 0 when there is none.
    pub fn last_seq(&self) -> Result<i64, StoreError> {
        self.ask(|sql| {
            sql.query_row("SELECT coalesce(max(seq), 0) FROM visits", [], |row| row.get(0))
        })
    }

    /// The first changes behind `after`, at most `max` (at least one) and none behind `upto`.
    pub fn changes_after(
        &self,
        after: i64,
        upto: i64,
        filter: &ChangeFilter,
        max: u32,
    ) -> Result<ChangePiece, StoreError> {
        let look = self.look(after + 1, upto, filter)?;
        let end = match look.by_site || upto.saturating_sub(after) <= STRETCH {
            true => upto,
            false => self.some_rows_on(after, ("seq >", "ASC"))?.map_or(upto, |end| end.min(upto)),
        };
        let entries = self.read(&look, after + 1..=end, filter, "ASC", max.max(1))?;
        let full = entries.len() as u64 >= u64::from(max.max(1));
        let reached = entries.last().filter(|_| full).map_or(end, |entry| entry.seq);
        Ok(ChangePiece { entries, reached })
    }

    /// The last changes before `before`, newest first, at most `max` (at least one) and all behind `after`.
    pub fn changes_before(
        &self,
        before: i64,
        after: i64,
        filter: &ChangeFilter,
        max: u32,
    ) -> Result<ChangePiece, StoreError> {
        let look = self.look(after + 1, before - 1, filter)?;
        let start = match look.by_site || before.saturating_sub(after) <= STRETCH {
            true => after,
            false => self
                .some_rows_on(before, ("seq <", "DESC"))?
                .map_or(after, |start| after.max(start - 1)),
        };
        let entries = self.read(&look, start + 1..=before - 1, filter, "DESC", max.max(1))?;
        let full = entries.len() as u64 >= u64::from(max.max(1));
        let reached = entries.last().filter(|_| full).map_or(start + 1, |entry| entry.seq);
        Ok(ChangePiece { entries, reached })
    }

    /// The number of the row that ends a stretch. Numbers may be missing, so that rows are counted.
    fn some_rows_on(
        &self,
        from: i64,
        (to, order): (&str, &str),
    ) -> Result<Option<i64>, StoreError> {
        let row =
            format!("SELECT seq FROM visits WHERE {to} ?1 ORDER BY seq {order} LIMIT 1 OFFSET ?2");
        self.ask(|sql| {
            sql.prepare(&row)?.query_row([from, STRETCH - 1], |row| row.get(0)).optional()
        })
    }

    fn look(&self, from: i64, upto: i64, filter: &ChangeFilter) -> Result<Look, StoreError> {
        let Some(key) = &filter.site else { return Ok(Look { site: None, by_site: false }) };
        let found: Option<(i64, i64)> = self.ask(|sql| {
            sql.prepare("SELECT id, visits FROM sites WHERE key = ?1")?
                .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })?;
        // A site that is not there has number 0, as no site has, and no visits.
        let (site, visits) = found.unwrap_or((0, 0));
        // A row is of one visit at least, and numbers may be missing.
        let all = self
            .ask(|sql| sql.query_row("SELECT visits FROM totals", [], |row| row.get::<i64>(0)))?;
        let by_site = visits.saturating_mul(LOOK_UP_COST) < upto.saturating_sub(from).min(all);
        Ok(Look { site: Some(site), by_site })
    }

    fn read(
        &self,
        look: &Look,
        seqs: RangeInclusive<i64>,
        filter: &ChangeFilter,
        order: &str,
        max: u32,
    ) -> Result<Vec<ChangeEntry>, StoreError> {
        // A plus keeps SQLite from choosing the index of that column.
        let (site, seq) = match (look.site, look.by_site) {
            (None, _) => ("CAST(?3 AS BIGINT) IS NULL", "v.seq"),
            (Some(_), true) => ("v.site = ?3", "+v.seq"),
            (Some(_), false) => ("+v.site = ?3", "v.seq"),
        };
        let question = format!(
            "SELECT v.seq, v.change, v.first, v.status, s.key, p.url, n.name, coalesce(v.title, f.title), \
             v.body_bytes, v.record_volume, v.record_offset, v.record_length, \
             b.record_volume, b.record_offset, b.record_length \
             FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp \
             JOIN sites s ON s.id = v.site LEFT JOIN spiders n ON n.id = p.spider \
             LEFT JOIN page_facts f ON f.site = v.site AND f.fp = v.fp \
             LEFT JOIN visits b ON b.seq = (SELECT max(w.seq) FROM visits w \
               WHERE w.site = v.site AND w.fp = v.fp AND w.seq < v.seq AND w.change IN (0, 1, 2, 7)) \
             WHERE {seq} BETWEEN ?1 AND ?2 AND v.change IN (0, 1, 6, 7) AND p.requisite = 0 \
             AND {site} AND (CAST(?4 AS BIGINT) IS NULL OR p.spider = ?4) \
             AND (CAST(?5 AS BIGINT) IS NULL OR v.first >= ?5) \
             AND NOT (v.change = 6 AND EXISTS (SELECT 1 FROM visits w WHERE w.site = v.site \
               AND w.fp = v.fp AND w.seq < v.seq AND w.seq > b.seq AND w.change = 6)) ORDER BY {seq} {order} LIMIT ?6"
        );
        let spider = filter.spider.map(|spider| spider.0);
        let since = filter.since.map(|at| at.0);
        let (from, upto) = seqs.into_inner();
        self.ask(|sql| {
            sql.prepare(&question)?
                .query_map(params![from, upto, look.site, spider, since, max], change_entry)?
                .collect()
        })
    }
}

/// How the visits in question are found.
struct Look {
    site: Option<i64>,
    by_site: bool,
}

fn change_entry(row: Row<'_>) -> sql::Result<ChangeEntry> {
    let unknown = || sql::Error::value(1, "unknown number");
    Ok(ChangeEntry {
        seq: row.get(0)?,
        change: Change::from_stored(row.get(1)?).ok_or_else(unknown)?,
        at: Timestamp(row.get(2)?),
        status: row.get(3)?,
        site: row.get(4)?,
        url: row.get(5)?,
        spider: row.get::<Option<String>>(6)?.unwrap_or_default(),
        title: row.get::<Option<String>>(7)?.unwrap_or_default(),
        body_bytes: row.get::<i64>(8)? as u64,
        record: record_from_row(row, 9)?,
        before: record_from_row(row, 12)?,
    })
}
