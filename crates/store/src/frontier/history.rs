//! Visits: a row per version, failure, redirect or disappearance; visits that saw the same again fold into
//! the row, and so do those that found the page gone still.
//!
//! A fold keeps `last`, `count` and the time between visits as zigzag varints. What the row says of the
//! payload stays true of every visit folded into it: a visit with the same text but other bytes gets a
//! row of its own, which then is the one at hand.

use model::{
    Change, CrawlUrl, FailureKind, Fingerprint, RecordLocation, SiteId, StoreError, Timestamp,
    Visit,
};

use super::{
    many::{Blank, Many, ROWS},
    rows::{Fault, millis, record_from_row, stored_fp},
    sql_frontier::Work,
};
use crate::sql::{self, OptionalExtension, Sql, Statement, params};

/// A row is rewritten at every fold, so it must stay small beside a database page (4 KB): at four bytes
/// for a day, 256 visits. A full one is followed by a row that carries the record on.
const TIMES_BYTES_MAX: usize = 1_024;

/// The statements of every visit, held for a whole settlement, and the new rows that wait for company.
pub(super) struct History<'a> {
    sql: &'a Sql,
    insert: Many<'a>,
    waiting: Vec<NewRow<'a>>,
    /// Of the next new row; `None`: to be asked for.
    next_seq: Option<i64>,
    load: Statement<'a>,
    extend: Statement<'a>,
    keep_title: Statement<'a>,
}

const INTO: &str = "visits (site, fp, change, status, failure, first, last, wire_bytes, \
     body_bytes, payload_digest, content_hash, text_hash, simhash, latency, elapsed, \
     record_volume, record_offset, record_length, record_id, revisit)";
const COLUMNS: usize = 20;
const LOAD: &str = "SELECT last, times, payload_digest, revisit, lost IS NOT NULL FROM visits \
     WHERE seq = ?1";
const EXTEND: &str = "UPDATE visits SET last = ?2, count = count + 1, times = ?3, \
     wire_bytes = wire_bytes + ?4 WHERE seq = ?1";
const KEEP_TITLE: &str = "UPDATE visits SET title = f.title FROM page_facts f \
     WHERE f.site = ?1 AND f.fp = ?2 AND f.title <> ?3 AND visits.site = ?1 AND visits.fp = ?2 \
     AND visits.title IS NULL AND visits.change IN (0, 1, 6, 7)";

impl<'a> History<'a> {
    pub fn new(sql: &'a Sql) -> sql::Result<History<'a>> {
        Ok(History {
            sql,
            insert: Many::new(sql, INTO, COLUMNS, "")?,
            waiting: Vec::with_capacity(ROWS),
            next_seq: None,
            load: sql.prepare(LOAD)?,
            extend: sql.prepare(EXTEND)?,
            keep_title: sql.prepare(KEEP_TITLE)?,
        })
    }

    /// Records the visit; the answer is the row that holds the version at hand from now on. Of the same page
    /// nothing may wait ([`History::flush`]).
    pub fn record(
        &mut self,
        work: &mut Work<'_>,
        site: SiteId,
        fp: Fingerprint,
        at_hand: Option<i64>,
        visit: &'a Visit,
    ) -> Result<Option<i64>, Fault> {
        work.counts.visits += 1;
        work.counts.versions += u64::from(visit.change.is_version());
        work.counts.bytes += visit.wire_bytes;
        if let Some(seq) = at_hand.filter(|_| visit.lost_before) {
            self.lose(seq, visit.at)?;
        }
        if visit.change.folds()
            && let Some(seq) = at_hand
            && let Some(run) = self.load(seq)?
            && run.shows(visit)
        {
            return self.extend(run, visit).map(Some);
        }
        if visit.change == Change::Gone
            && let Some(run) = self.gone(site, fp, at_hand, visit.status)?
        {
            self.extend(run, visit)?;
            return Ok(at_hand);
        }
        let seq = self.insert(site, fp, visit)?;
        let shows_content = visit.change.is_version() || visit.change == Change::Unchanged;
        Ok(if shows_content { Some(seq) } else { at_hand })
    }

    /// Before the page has another title: its versions, and what became of them, keep the one they had. Most pages
    /// never have another, so that the rows need no title of their own until then.
    pub fn keep_title(&mut self, site: SiteId, fp: Fingerprint, coming: &str) -> Result<(), Fault> {
        self.keep_title.execute(params![site.0, stored_fp(fp), coming])?;
        Ok(())
    }

    /// The record of this row can no longer be read.
    fn lose(&mut self, seq: i64, now: Timestamp) -> Result<(), Fault> {
        let text = "UPDATE visits SET lost = ?2 WHERE seq = ?1 AND lost IS NULL";
        self.sql.prepare(text)?.execute(params![seq, now.0])?;
        Ok(())
    }

    fn load(&mut self, seq: i64) -> Result<Option<Run>, Fault> {
        let run = self
            .load
            .query_row([seq], |row| {
                Ok(Run {
                    seq,
                    last: Timestamp(row.get(0)?),
                    times: row.get::<Option<Vec<u8>>>(1)?.unwrap_or_default(),
                    payload_digest: row.get(2)?,
                    revisit: row.get(3)?,
                    lost: row.get(4)?,
                })
            })
            .optional()?;
        Ok(run)
    }

    /// The row that says the page is gone, if nothing but failures came after it.
    fn gone(
        &mut self,
        site: SiteId,
        fp: Fingerprint,
        at_hand: Option<i64>,
        status: u16,
    ) -> Result<Option<Run>, Fault> {
        let found = self
            .sql
            .prepare(
                "SELECT seq, change, status FROM visits WHERE site = ?1 AND fp = ?2 AND seq > ?3 \
                 AND change <> 4 ORDER BY seq DESC LIMIT 1",
            )?
            .query_row(params![site.0, stored_fp(fp), at_hand.unwrap_or(0)], |row| {
                Ok((row.get::<i64>(0)?, row.get::<u8>(1)?, row.get::<u16>(2)?))
            })
            .optional()?;
        match found {
            Some((seq, change, said)) if change == Change::Gone as u8 && said == status => {
                self.load(seq)
            }
            _ => Ok(None),
        }
    }

    fn extend(&mut self, mut run: Run, visit: &Visit) -> Result<i64, Fault> {
        if run.times.len() >= TIMES_BYTES_MAX {
            return self.carry_on(&run, visit);
        }
        pack_time(&mut run.times, run.last, visit.at);
        self.extend.execute(params![run.seq, visit.at.0, run.times, visit.wire_bytes as i64])?;
        Ok(run.seq)
    }

    /// A new row for the same version, with the record that the full one has.
    fn carry_on(&mut self, run: &Run, visit: &Visit) -> Result<i64, Fault> {
        // SQLite numbers this one: after those that have their numbers.
        self.flush()?;
        self.next_seq = None;
        let seq = self
            .sql
            .prepare(
                "INSERT INTO visits (site, fp, change, status, first, last, wire_bytes, \
                 body_bytes, payload_digest, content_hash, text_hash, simhash, latency, elapsed, \
                 record_volume, record_offset, record_length, record_id, record_date, revisit, lost) \
                 SELECT site, fp, ?2, ?3, ?4, ?4, ?5, body_bytes, payload_digest, content_hash, \
                 text_hash, simhash, ?6, ?7, record_volume, record_offset, record_length, \
                 record_id, coalesce(record_date, first), revisit, lost FROM visits WHERE seq = ?1 \
                 RETURNING seq",
            )?
            .query_row(
                params![
                    run.seq,
                    visit.change as u8,
                    visit.status,
                    visit.at.0,
                    visit.wire_bytes as i64,
                    millis(visit.latency),
                    millis(visit.elapsed),
                ],
                |row| row.get(0),
            )?;
        Ok(seq)
    }

    fn insert(&mut self, site: SiteId, fp: Fingerprint, visit: &'a Visit) -> Result<i64, Fault> {
        let seq = match self.next_seq {
            Some(seq) => seq,
            None => self.sql.next_visit()?,
        };
        self.next_seq = Some(seq + 1);
        self.waiting.push(NewRow { seq, site, fp, visit });
        if self.waiting.len() >= ROWS {
            self.flush()?;
        }
        Ok(seq)
    }

    pub fn awaits(&self, site: SiteId) -> bool {
        self.waiting.iter().any(|row| row.site == site)
    }

    /// Writes the rows that wait.
    pub fn flush(&mut self) -> Result<(), Fault> {
        let Some(last) = self.waiting.last().map(|row| row.seq) else { return Ok(()) };
        self.insert.insert(&self.waiting, NewRow::fill)?;
        self.waiting.clear();
        let numbered: i64 =
            self.sql.prepare("SELECT max(seq) FROM visits")?.query_row([], |row| row.get(0))?;
        if numbered != last {
            let detail = format!("visit {last} was numbered {numbered}");
            return Err(StoreError::Database { detail }.into());
        }
        Ok(())
    }
}

/// A row that is to be written, and the number that SQLite will give it.
struct NewRow<'a> {
    seq: i64,
    site: SiteId,
    fp: Fingerprint,
    visit: &'a Visit,
}

impl NewRow<'_> {
    fn fill(&self, row: &mut Blank<'_, '_>) -> sql::Result<()> {
        let visit = self.visit;
        row.put(self.site.0)?;
        row.put(stored_fp(self.fp))?;
        row.put(visit.change as u8)?;
        row.put(visit.status)?;
        row.put(visit.failure.map(FailureKind::word))?;
        row.put(visit.at.0)?;
        row.put(visit.at.0)?;
        row.put(visit.wire_bytes as i64)?;
        row.put(visit.body_bytes as i64)?;
        row.put(digest(visit))?;
        row.put(visit.content_hash as i64)?;
        row.put(visit.text_hash as i64)?;
        row.put(visit.simhash as i64)?;
        row.put(millis(visit.latency))?;
        row.put(millis(visit.elapsed))?;
        row.put(visit.record.map(|record| record.volume))?;
        row.put(visit.record.map(|record| record.offset as i64))?;
        row.put(visit.record.map(|record| record.length))?;
        row.put(visit.record_id.map(|id| id.0.to_be_bytes()))?;
        row.put(visit.revisit)
    }
}

/// Where the answer of this page that was archived at this moment is, whole.
pub(super) fn record_of(
    sql: &Sql,
    url: &CrawlUrl,
    date: Timestamp,
) -> sql::Result<Option<RecordLocation>> {
    sql.prepare(
        "SELECT v.record_volume, v.record_offset, v.record_length FROM visits v \
         JOIN sites s ON s.id = v.site WHERE s.key = ?1 AND v.fp = ?2 \
         AND coalesce(v.record_date, v.first) = ?3 AND v.revisit = 0 AND v.lost IS NULL \
         AND v.record_volume IS NOT NULL ORDER BY v.seq DESC LIMIT 1",
    )?
    .query_row(params![url.site().as_str(), stored_fp(url.fingerprint()), date.0], |row| {
        record_from_row(row, 0)
    })
    .optional()
    .map(Option::flatten)
}

/// The times of all visits of a row, from its `first` and `times` columns. Stops where the bytes make
/// no sense.
pub fn unpack_times(first: Timestamp, packed: &[u8]) -> Vec<Timestamp> {
    let mut times = vec![first];
    let (mut at, mut value, mut shift) = (first.0, 0u64, 0u32);
    for byte in packed {
        if shift > 63 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            at = at.wrapping_add((value >> 1) as i64 ^ -((value & 1) as i64));
            times.push(Timestamp(at));
            (value, shift) = (0, 0);
        }
    }
    times
}

fn pack_time(packed: &mut Vec<u8>, before: Timestamp, at: Timestamp) {
    let delta = at.0.wrapping_sub(before.0);
    let mut value = ((delta << 1) ^ (delta >> 63)) as u64;
    while value >= 0x80 {
        packed.push(value as u8 | 0x80);
        value >>= 7;
    }
    packed.push(value as u8);
}

/// The row at hand.
struct Run {
    seq: i64,
    last: Timestamp,
    times: Vec<u8>,
    payload_digest: Option<[u8; 20]>,
    revisit: bool,
    /// Its record can no longer be read.
    lost: bool,
}

impl Run {
    /// A 304 has no payload of its own: the server says it is this one. A visit that archived the
    /// payload whole, where the row has but a revisit or a record that is lost, gets a row of its
    /// own: later ones may refer to it.
    fn shows(&self, visit: &Visit) -> bool {
        let better = (self.revisit || self.lost) && !visit.revisit;
        visit.change == Change::NotModified || (self.payload_digest == digest(visit) && !better)
    }
}

/// No payload is NULL, not twenty zeros.
fn digest(visit: &Visit) -> Option<[u8; 20]> {
    (visit.payload_digest != [0; 20]).then_some(visit.payload_digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_times_come_back(times in prop::collection::vec(any::<i64>(), 1..40)) {
            let mut packed = Vec::new();
            for pair in times.windows(2) {
                pack_time(&mut packed, Timestamp(pair[0]), Timestamp(pair[1]));
            }
            let back: Vec<i64> =
                unpack_times(Timestamp(times[0]), &packed).iter().map(|t| t.0).collect();
            prop_assert_eq!(back, times);
        }

        #[test]
        fn any_bytes_unpack_without_harm(packed in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(unpack_times(Timestamp(0), &packed).len() <= packed.len() + 1);
        }
    }
}
