//! How pages and sites change: what visits have taught is written, announcements of changes are noted, and
//! whoever reckons what visits are worth may look at pages that are not in hand.

use model::{
    Fingerprint, Habit, Page, Signal, Site, SiteHabit, SiteId, SiteKey, SpiderId, Timestamp,
};
use rusqlite::{Connection, params};

use super::{
    check_out::{load_site, rouse},
    rows::{Fault, page_columns, page_from_row, stored_fp},
    sqlite::Work,
};

pub(super) fn save(work: &Work<'_>, site: SiteId, fp: i64, habit: &Habit) -> Result<(), Fault> {
    let moment = |at: Option<Timestamp>| at.map(|at| at.0);
    work.sql
        .prepare_cached(
            "UPDATE pages SET shape = ?3, rate = ?4, first = ?5, seen = ?6, changed = ?7, \
             compared = ?8, changes = ?9, recent = ?10, fr_max = ?11, theta = ?12, signals = ?13, \
             sources = ?14, price = ?15 WHERE site = ?1 AND fp = ?2",
        )?
        .execute(params![
            site.0,
            fp,
            habit.shape,
            habit.rate,
            moment(habit.first),
            moment(habit.seen),
            moment(habit.changed),
            habit.compared,
            habit.changes,
            habit.recent,
            habit.fr_max,
            habit.theta,
            habit.signals,
            habit.sources,
            habit.price,
        ])?;
    Ok(())
}

pub(super) fn save_site(work: &Work<'_>, site: SiteId, habit: &SiteHabit) -> Result<(), Fault> {
    let text = serde_json::to_string(habit).unwrap_or_default();
    work.sql
        .prepare_cached("UPDATE sites SET habit = ?2 WHERE id = ?1")?
        .execute(params![site.0, text])?;
    Ok(())
}

/// Noted if the page is known, was seen before that moment, and the moment has come. A believed one makes
/// the page due, for its value has to be reckoned anew.
pub(super) fn announce(work: &Work<'_>, site: SiteId, signal: &Signal) -> Result<(), Fault> {
    work.sql
        .prepare_cached(
            "UPDATE pages SET signals = min(signals + 1, ?4), sources = sources | ?5, \
             due = CASE WHEN ?6 THEN min(due, ?7) ELSE due END \
             WHERE site = ?1 AND fp = ?2 AND seen < ?3 AND ?3 <= ?7",
        )?
        .execute(params![
            site.0,
            stored_fp(signal.fp),
            signal.at.0,
            Habit::SIGNALS_MAX,
            signal.source.bit(),
            signal.believed,
            work.now.0,
        ])?;
    Ok(())
}

/// Pages of this many sites or more make a sample, so that no site speaks for all.
const SAMPLE_SITES: usize = 250;

pub(super) fn sample(
    sql: &Connection,
    pages_max: usize,
    draw: u64,
) -> Result<Vec<(Page, SiteHabit)>, Fault> {
    let last: i64 =
        sql.query_row("SELECT coalesce(max(id), 0) FROM sites", [], |row| row.get(0))?;
    if last == 0 {
        return Ok(Vec::new());
    }
    let each = pages_max.div_ceil(SAMPLE_SITES).max(1);
    let mut found = Vec::new();
    let mut state = draw;
    // Sites without pages to revisit are drawn in vain, within a bound.
    for _ in 0..4 * SAMPLE_SITES {
        if found.len() >= pages_max {
            break;
        }
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = SiteId((state >> 16) as i64 % last + 1);
        let Some(site) = load_site(sql, id)? else { continue };
        let mut statement = sql.prepare_cached(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND fp >= ?2 AND turn = 2 AND requisite = 0 LIMIT ?3"
        ))?;
        let from = (state.rotate_left(32) as i64).min(i64::MAX / 2);
        let mut rows = statement.query(params![id.0, from, each as i64])?;
        while let Some(row) = rows.next()? {
            found.push((page_from_row(row)?.0, site.habit.clone()));
        }
    }
    found.truncate(pages_max);
    Ok(found)
}

pub(super) fn survey(
    sql: &Connection,
    spider: SpiderId,
    look: &mut dyn FnMut(&Site, &Page),
) -> Result<(), Fault> {
    let mut ids = sql.prepare_cached("SELECT id FROM sites ORDER BY id")?;
    let mut ids = ids.query([])?;
    while let Some(row) = ids.next()? {
        let id = SiteId(row.get(0)?);
        let Some(row) = load_site(sql, id)? else { continue };
        let site = Site {
            id,
            key: SiteKey::stored(&row.key),
            seeded: row.seeded,
            counters: row.counters,
            clock: row.clock,
            habit: row.habit,
            robots: Vec::new(),
        };
        let mut statement = sql.prepare_cached(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND spider = ?2 AND requisite = 0 AND state BETWEEN 1 AND 5"
        ))?;
        let mut rows = statement.query(params![id.0, spider.0])?;
        while let Some(row) = rows.next()? {
            look(&site, &page_from_row(row)?.0);
        }
    }
    Ok(())
}

pub(super) fn call(
    work: &mut Work<'_>,
    pages: &[(SiteId, Fingerprint)],
    now: Timestamp,
) -> Result<u64, Fault> {
    let mut called = 0;
    for (site, fp) in pages {
        called += work
            .sql
            .prepare_cached("UPDATE pages SET due = ?3 WHERE site = ?1 AND fp = ?2")?
            .execute(params![site.0, stored_fp(*fp), now.0])?;
    }
    let mut sites: Vec<SiteId> = pages.iter().map(|(site, _)| *site).collect();
    sites.sort_unstable_by_key(|site| site.0);
    sites.dedup();
    for site in sites {
        let leased: bool = work
            .sql
            .prepare_cached("SELECT leased FROM sites WHERE id = ?1")?
            .query_row([site.0], |row| row.get(0))?;
        if !leased {
            rouse(work, site)?;
        }
    }
    Ok(called as u64)
}
