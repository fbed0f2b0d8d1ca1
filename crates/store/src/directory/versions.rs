//! The versions of HTML pages in a span of time, for writing them down as files.

use model::{CrawlUrl, RecordLocation, StoreError, Timestamp};

use super::Sitting;
use crate::{
    census::Census,
    frontier::{record_from_row, unpack_times},
    runs::list_sittings,
    sql::{self, Row, params},
};

/// Which versions are asked for.
#[derive(Clone, Debug, Default)]
pub struct Span {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// By name.
    pub spider: Option<String>,
    /// By key.
    pub site: Option<String>,
}

/// A version with its record.
#[derive(Clone, Debug)]
pub struct KeptVersion {
    /// To go on behind it.
    pub seq: i64,
    pub url: CrawlUrl,
    site: i64,
    fp: i64,
    /// The page asked not to be shown from an archive when it was last seen; an older version may have asked too.
    pub noarchive: bool,
    pub record: RecordLocation,
    /// Every visit that saw it, oldest first.
    pub times: Vec<Timestamp>,
}

impl Census {
    /// When crawls began, oldest first.
    pub fn sittings(&self) -> Result<Vec<Sitting>, StoreError> {
        self.ask(list_sittings)
    }

    /// Versions of HTML pages behind `after` that were seen in the span, in the order they were settled.
    /// Versions that are kept no more are left out.
    pub fn kept_versions(
        &self,
        after: i64,
        span: &Span,
        max: u32,
    ) -> Result<Vec<KeptVersion>, StoreError> {
        self.ask(|sql| {
            sql.prepare(
                "SELECT v.seq, p.url, v.first, v.times, v.record_volume, v.record_offset, \
                 v.record_length, v.site, v.fp, f.noarchive FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp \
                 JOIN sites s ON s.id = v.site LEFT JOIN spiders n ON n.id = p.spider \
                 JOIN page_facts f ON f.site = v.site AND f.fp = v.fp \
                 WHERE v.seq > ?1 AND v.change IN (0, 1, 2, 7) AND v.record_volume IS NOT NULL \
                 AND v.status BETWEEN 200 AND 299 AND p.requisite = 0 \
                 AND f.media_type IN ('text/html', 'application/xhtml+xml') \
                 AND (CAST(?2 AS BIGINT) IS NULL OR v.last >= ?2) AND (CAST(?3 AS BIGINT) IS NULL OR v.first <= ?3) \
                 AND (CAST(?4 AS TEXT) IS NULL OR n.name = ?4) AND (CAST(?5 AS TEXT) IS NULL OR s.key = ?5) \
                 ORDER BY v.seq LIMIT ?6",
            )?
            .query_map(
                params![
                    after,
                    span.from.map(|at| at.0),
                    span.to.map(|at| at.0),
                    span.spider,
                    span.site,
                    max
                ],
                kept_version,
            )?
            .collect()
        })
    }

    /// The visits of this page since a moment, before those of this version: how often each older version was
    /// seen then, the newest first.
    pub fn seen_before(
        &self,
        version: &KeptVersion,
        since: Timestamp,
    ) -> Result<Vec<usize>, StoreError> {
        self.ask(|sql| {
            let mut statement = sql.prepare(
                "SELECT first, times, last FROM visits WHERE site = ?1 AND fp = ?2 AND seq < ?3 \
                 AND change IN (0, 1, 2, 7) AND status BETWEEN 200 AND 299 ORDER BY seq DESC",
            )?;
            let mut rows = statement.query(params![version.site, version.fp, version.seq])?;
            let mut seen = Vec::new();
            while let Some(row) = rows.next()? {
                if row.get::<i64>(2)? < since.0 {
                    break;
                }
                let packed = row.bytes(1)?;
                let times = unpack_times(Timestamp(row.get(0)?), packed);
                seen.push(times.iter().filter(|at| **at >= since).count());
            }
            Ok(seen)
        })
    }
}

fn kept_version(row: Row<'_>) -> sql::Result<KeptVersion> {
    let url = CrawlUrl::stored(row.text(1)?).map_err(|error| unreadable(1, error))?;
    let first = Timestamp(row.get(2)?);
    let packed = row.bytes(3)?;
    let record = record_from_row(row, 4)?;
    Ok(KeptVersion {
        seq: row.get(0)?,
        url,
        record: record.ok_or_else(|| unreadable(4, "no record"))?,
        times: unpack_times(first, packed),
        site: row.get(7)?,
        fp: row.get(8)?,
        noarchive: row.get(9)?,
    })
}

fn unreadable(column: usize, error: impl std::fmt::Display) -> sql::Error {
    sql::Error::value(column, error)
}
