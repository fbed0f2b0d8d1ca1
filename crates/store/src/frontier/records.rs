//! Where the records of a page are, for revisits that refer to them.

use model::{CrawlUrl, RecordLocation, StoreError, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::{rows::stored_fp, sqlite::SqliteFrontier};

impl SqliteFrontier {
    /// The record of the page with this date that has a payload.
    pub fn record_of(
        &self,
        url: &CrawlUrl,
        date: Timestamp,
    ) -> Result<Option<RecordLocation>, StoreError> {
        let text = "SELECT v.record_volume, v.record_offset, v.record_length FROM visits v \
                    JOIN sites s ON s.id = v.site WHERE s.key = ?1 AND v.fp = ?2 \
                    AND coalesce(v.record_date, v.first) = ?3 AND v.revisit = 0 AND v.record_volume IS NOT NULL";
        let fp = stored_fp(url.fingerprint());
        self.connection
            .prepare_cached(text)
            .and_then(|mut statement| {
                let read = |row: &rusqlite::Row<'_>| {
                    let (offset, length) = (row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
                    let (offset, length) = (offset.cast_unsigned(), length as u32);
                    Ok(RecordLocation { volume: row.get(0)?, offset, length })
                };
                statement.query_row(params![url.site_text(), fp, date.0], read).optional()
            })
            .map_err(|e| self.error(e))
    }
}
