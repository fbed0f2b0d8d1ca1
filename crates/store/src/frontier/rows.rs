//! How our words are written into columns and read back.

use std::time::Duration;

use model::{
    Condition, CrawlUrl, Fingerprint, Habit, LastVersion, Origin, Page, PageFacts, PageState,
    PageTerms, RecordLocation, RobotsAnswer, RobotsCopy, SignalSource, SiteClock, SiteCounters,
    SiteHabit, SiteTraps, SpiderId, StoreError, Timestamp,
};

use super::limits::full_from_text;
use crate::sql::{self, Row};

/// Why a transaction came to nothing: SQLite said so, or we did.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(sql::Error),
    Store(StoreError),
}

impl From<sql::Error> for Fault {
    fn from(error: sql::Error) -> Fault {
        Fault::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
    }
}

/// A column holds what this program never writes.
pub(super) fn damaged(detail: String) -> sql::Error {
    sql::Error::value(0, detail)
}

pub(super) fn stored_fp(fp: Fingerprint) -> i64 {
    fp.0 as i64
}

pub(super) fn fp_of(stored: i64) -> Fingerprint {
    Fingerprint(stored as u64)
}

pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

pub(super) fn state_of(stored: i64) -> sql::Result<PageState> {
    u8::try_from(stored)
        .ok()
        .and_then(PageState::from_stored)
        .ok_or_else(|| damaged(format!("page state {stored} is unknown")))
}

/// The columns of [`page_from_row`], in its order.
macro_rules! page_columns {
    () => {
        "fp, url, spider, state, level, hops, seed, due, failures, run, requisite, outside, \
         depth, period, shape, rate, first, seen, changed, compared, changes, recent, fr_max, \
         theta, signals, sources, announced, price, notice, via"
    };
}
pub(super) use page_columns;

/// Where a column `turn` is that is asked for after [`page_columns`].
pub(super) const TURN: usize = 30;

/// A page without its last version, and the visit that holds it.
pub(super) fn page_from_row(row: Row<'_>) -> sql::Result<(Page, Option<i64>)> {
    let fp = fp_of(row.get(0)?);
    let text = row.text(1)?;
    let url = CrawlUrl::stored(text).map_err(|e| damaged(format!("page {text}: {e}")))?;
    if url.fingerprint() != fp {
        return Err(damaged(format!("page {text} has the fingerprint of another")));
    }
    let page = Page {
        url,
        spider: SpiderId(row.get(2)?),
        state: state_of(row.get(3)?)?,
        level: row.get(4)?,
        hops: row.get(5)?,
        seed: row.get(6)?,
        due: Timestamp(row.get::<Option<i64>>(7)?.unwrap_or(0)),
        failures: row.get(8)?,
        terms: PageTerms {
            requisite: row.get(10)?,
            notice: SignalSource::from_stored(row.get(28)?),
            outside: row.get(11)?,
            depth: row.get(12)?,
            period: row.get::<Option<i64>>(13)?.map(span),
            via: row.get(29)?,
            ..PageTerms::default()
        },
        habit: habit_from_row(row, 14)?,
        children: None,
        last: None,
    };
    Ok((page, row.get(9)?))
}

/// From `column` on, in the order of [`page_columns`].
fn habit_from_row(row: Row<'_>, column: usize) -> sql::Result<Habit> {
    let moment = |at: usize| Ok::<_, sql::Error>(row.get::<Option<i64>>(at)?.map(Timestamp));
    Ok(Habit {
        shape: row.get(column)?,
        rate: row.get(column + 1)?,
        first: moment(column + 2)?,
        seen: moment(column + 3)?,
        changed: moment(column + 4)?,
        compared: row.get(column + 5)?,
        changes: row.get(column + 6)?,
        recent: row.get(column + 7)?,
        fr_max: row.get(column + 8)?,
        theta: row.get(column + 9)?,
        signals: row.get(column + 10)?,
        sources: row.get(column + 11)?,
        announced: moment(column + 12)?,
        price: row.get(column + 13)?,
    })
}

/// The visit at hand with what its page keeps for asking conditionally, and for comparing. A sketch
/// is of the last visit's text: where the version was seen again since, what it says of restless
/// parts is over, and all that is told is that there was one. Where the page came back to what it
/// had before, its record is a revisit (`w` holds the payload), and what sees it again refers to
/// the same. The CASE keeps SQLite from looking through the page's whole history for `w` where
/// there is none to be found. Where its record is lost the page is asked for whole.
pub(super) const LAST_VERSION: &str = "SELECT v.last, f.etag, f.last_modified, v.payload_digest, \
     v.content_hash, v.text_hash, coalesce(w.record_volume, v.record_volume), \
     coalesce(w.record_offset, v.record_offset), coalesce(w.record_length, v.record_length), \
     coalesce(w.record_date, w.first, v.record_date), \
     v.first, v.lost IS NOT NULL OR v.revisit = 1 AND w.seq IS NULL, v.body_bytes, \
     v.change = 1 AND v.count = 1, \
     CASE WHEN v.count = 1 AND v.record_date IS NULL THEN f.sketch \
     WHEN f.sketch IS NOT NULL THEN substr(f.sketch, 1, 0) END, \
     EXISTS (SELECT 1 FROM visits g WHERE g.site = v.site AND g.fp = v.fp AND g.seq > v.seq \
     AND g.change = 6), v.count, f.unavailable_after \
     FROM visits v LEFT JOIN page_facts f ON f.site = v.site AND f.fp = v.fp \
     LEFT JOIN visits w ON w.seq = CASE WHEN v.revisit = 1 THEN (SELECT max(o.seq) FROM visits o \
     WHERE o.site = v.site AND o.fp = v.fp AND o.payload_digest = v.payload_digest \
     AND o.revisit = 0 AND o.change IN (0, 1, 2, 7) AND o.record_volume IS NOT NULL \
     AND o.lost IS NULL) END \
     WHERE v.seq = ?1";

pub(super) fn last_version_from_row(row: Row<'_>) -> sql::Result<LastVersion> {
    let first = row.get(10)?;
    Ok(LastVersion {
        visited: Timestamp(row.get(0)?),
        condition: Condition { etag: row.get(1)?, last_modified: row.get(2)? },
        payload_digest: row.get::<Option<[u8; 20]>>(3)?.unwrap_or_default(),
        content_hash: row.get::<i64>(4)? as u64,
        text_hash: row.get::<i64>(5)? as u64,
        record: record_from_row(row, 6)?,
        record_date: Timestamp(row.get::<Option<i64>>(9)?.unwrap_or(first)),
        whole: !row.get::<bool>(11)?,
        body_bytes: row.get::<i64>(12)? as u64,
        fresh: row.get(13)?,
        sketch: row.get(14)?,
        gone: row.get(15)?,
        seen: row.get(16)?,
        unavailable_after: row.get::<Option<i64>>(17)?.map(Timestamp),
        audited: false,
    })
}

/// Volume, offset and length from `column` on.
pub(crate) fn record_from_row(row: Row<'_>, column: usize) -> sql::Result<Option<RecordLocation>> {
    let Some(volume) = row.get(column)? else { return Ok(None) };
    let offset = row.get::<i64>(column + 1)? as u64;
    Ok(Some(RecordLocation { volume, offset, length: row.get(column + 2)? }))
}

/// Counters and clock of a site, for [`site_from_row`].
pub(super) const SITE: &str = "SELECT key, seeded, known, fetched, failed, duplicates, visits, \
     bytes, pause_remaining, pause_saved, backoff, last_response, interrupted, pages, fence, \
     stirred, requisites, domain, full_for, worked_day, worked_ms, habit, traps, waiting, dynamic FROM sites WHERE id = ?1";

/// The same for a check-in, which needs neither habit nor traps: on a large site those are long texts. Then the end of
/// its lease, if it is lent out and nothing else is to be said of it.
pub(super) const SITE_AT_HAND: &str = "SELECT key, seeded, known, fetched, failed, duplicates, \
     visits, bytes, pause_remaining, pause_saved, backoff, last_response, interrupted, pages, \
     fence, stirred, requisites, domain, full_for, worked_day, worked_ms, NULL, NULL, \
     waiting, dynamic, CASE WHEN leased = 1 AND due_again IS NULL AND resting = 0 AND not_before = 0 THEN due END \
     FROM sites WHERE id = ?1";
pub(super) const SITE_AT_HAND_LEASE: usize = 25;

pub(super) struct SiteRow {
    pub key: String,
    pub domain: String,
    pub seeded: bool,
    pub counters: SiteCounters,
    pub clock: SiteClock,
    pub pages: u64,
    /// Those among the pages whose URL has a query.
    pub dynamic: u64,
    pub fence: u64,
    pub stirred: bool,
    /// Spiders that reached a limit on it.
    pub full: Vec<SpiderId>,
    /// The day (since 1970, UTC) of `worked`.
    pub worked_day: i64,
    pub worked: Duration,
    pub habit: SiteHabit,
    pub traps: SiteTraps,
}

pub(super) fn day_of(moment: Timestamp) -> i64 {
    moment.0.div_euclid(86_400_000)
}

pub(super) fn site_from_row(row: Row<'_>) -> sql::Result<SiteRow> {
    let count = |column: usize| row.get::<i64>(column).map(|n| n.max(0) as u64);
    Ok(SiteRow {
        key: row.get(0)?,
        seeded: row.get(1)?,
        counters: SiteCounters {
            known: count(2)?,
            waiting: count(23)?,
            fetched: count(3)?,
            failed: count(4)?,
            duplicates: count(5)?,
            visits: count(6)?,
            bytes: count(7)?,
            requisites: count(16)?,
        },
        clock: SiteClock {
            remaining: span(row.get(8)?),
            saved: Timestamp(row.get(9)?),
            backoff: row.get(10)?,
            last_response: span(row.get(11)?),
            interrupted: row.get(12)?,
        },
        pages: count(13)?,
        dynamic: count(24)?,
        fence: count(14)?,
        stirred: row.get(15)?,
        domain: row.get(17)?,
        full: full_from_text(row.text(18)?),
        worked_day: row.get(19)?,
        worked: span(row.get(20)?),
        habit: site_habit_from_row(row, 21)?,
        traps: site_traps_from_row(row, 22)?,
    })
}

/// What a newer program wrote, or nothing, is a site that has taught nothing.
pub(crate) fn site_traps_from_row(row: Row<'_>, column: usize) -> sql::Result<SiteTraps> {
    let text = row.get::<Option<String>>(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// What a newer program wrote, or nothing, is the habit of a site not yet known.
pub(super) fn site_habit_from_row(row: Row<'_>, column: usize) -> sql::Result<SiteHabit> {
    let text = row.get::<Option<String>>(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// The copies of a site, for [`robots_from_row`].
pub(crate) const ROBOTS: &str = "SELECT origin, answer, status, text, fetched, expires, \
     unreachable_since, etag, last_modified FROM robots WHERE site = ?1";

pub(crate) fn robots_from_row(row: Row<'_>) -> sql::Result<RobotsCopy> {
    let text = || Ok::<_, sql::Error>(row.get::<Option<String>>(3)?.unwrap_or_default());
    let answer = match row.text(1)? {
        "rules" => RobotsAnswer::Rules(text()?),
        "unavailable" => {
            RobotsAnswer::Unavailable { status: row.get::<Option<u16>>(2)?.unwrap_or(0) }
        }
        "unreachable" => RobotsAnswer::Unreachable { why: text()? },
        other => return Err(damaged(format!("robots answer {other} is unknown"))),
    };
    Ok(RobotsCopy {
        origin: Origin::stored(row.text(0)?),
        answer,
        fetched: Timestamp(row.get(4)?),
        expires: Timestamp(row.get(5)?),
        unreachable_since: row.get::<Option<i64>>(6)?.map(Timestamp),
        etag: row.get(7)?,
        last_modified: row.get(8)?,
    })
}

/// The facts of a page, for [`facts_from_row`].
pub(crate) const FACTS: &str = "SELECT media_type, charset, title, description, language, \
     canonical, etag, last_modified, location, text_bytes, links_internal, links_external, \
     noindex, noarchive, duplicate_of, sketch, near_of, unavailable_after FROM page_facts \
     WHERE site = ?1 AND fp = ?2";

pub(crate) fn facts_from_row(row: Row<'_>) -> sql::Result<PageFacts> {
    Ok(PageFacts {
        media_type: row.get(0)?,
        charset: row.get(1)?,
        title: row.get(2)?,
        description: row.get(3)?,
        language: row.get(4)?,
        canonical: row.get(5)?,
        etag: row.get(6)?,
        last_modified: row.get(7)?,
        location: row.get(8)?,
        text_bytes: row.get::<i64>(9)? as u64,
        links_internal: row.get(10)?,
        links_external: row.get(11)?,
        noindex: row.get(12)?,
        noarchive: row.get(13)?,
        duplicate_of: row.get::<Option<i64>>(14)?.map(fp_of),
        sketch: row.get(15)?,
        near_of: row.get::<Option<i64>>(16)?.map(fp_of),
        unavailable_after: row.get::<Option<i64>>(17)?.map(Timestamp),
    })
}
