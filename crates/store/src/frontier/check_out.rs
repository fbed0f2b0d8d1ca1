//! Lending: which sites go out under a lease, and which of their pages.
//!
//! A site's `due` may be too early (its pages were excluded, its limit is reached): check-out then finds
//! no due page, puts it right and passes on. It is never too late.

use std::{collections::HashSet, time::Duration};

use model::{
    CheckOut, Fingerprint, Page, Refill, RobotsCopy, Site, SiteId, SiteKey, SiteLease, Spent,
    StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    due::{Lot, Wanted, earliest, named_pages},
    parts,
    rows::{Fault, ROBOTS, SITE, SiteRow, fp_of, robots_from_row, site_from_row},
    sqlite::Work,
};

/// Sites below this are read whole when their fingerprints are wanted anyway: half the cost of going
/// from the index to each row.
const SCAN_PAGES: u64 = 2_000;

pub(super) fn check_out(work: &mut Work<'_>, request: &CheckOut) -> Result<Vec<SiteLease>, Fault> {
    release(work, request.now)?;
    match &request.only {
        Some(keys) => lend_named(work, request, keys),
        None if request.requisites_only => parts::lend(work, request),
        None => lend_due(work, request),
    }
}

/// More pages of a leased site; `limit` as in [`CheckOut::site_pages_max`].
pub(super) fn refill(
    sql: &Connection,
    request: &Refill,
    limit: Option<u64>,
) -> Result<Vec<Page>, Fault> {
    let site = load_site(sql, request.site)?.filter(|site| site.fence == request.fence);
    let Some(site) = site else {
        return Err(StoreError::Fenced { site: request.site.0.to_string() }.into());
    };
    if !request.only.is_empty() {
        return named_pages(sql, request.site, &request.only);
    }
    let except: HashSet<Fingerprint> = request.except.iter().copied().collect();
    let wanted = Wanted {
        site: request.site,
        until: request.now,
        revisits_only: is_full(&site, limit),
        pages_max: request.pages_max,
    };
    wanted.pages(sql, &except).map(|(pages, _)| pages)
}

/// Leases that end by `until` are over: their sites are due again, and owe a pause, because nobody
/// said how the last visit ended.
pub(super) fn release(work: &mut Work<'_>, until: Timestamp) -> Result<u64, Fault> {
    let over =
        ids(work.sql, "SELECT id, fetched FROM sites WHERE leased = 1 AND due <= ?1", until.0)?;
    for (id, fetched) in &over {
        let (due, resting) = earliest(work.sql, *id, reaches(*fetched, work.limit))?;
        work.sql
            .prepare_cached(
                "UPDATE sites SET leased = 0, interrupted = 1, due = ?2, resting = ?3 WHERE id = ?1",
            )?
            .execute(params![id.0, due.map(|due| due.0), resting])?;
    }
    Ok(over.len() as u64)
}

/// The limit is another than before: resting sites below it are due by all their pages again.
pub(super) fn wake(work: &mut Work<'_>) -> Result<(), Fault> {
    let limit = work.limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX);
    let below = ids(
        work.sql,
        "SELECT id, fetched FROM sites WHERE resting = 1 AND leased = 0 AND fetched < ?1",
        limit,
    )?;
    for (id, fetched) in below {
        rouse(work, id, fetched)?;
    }
    Ok(())
}

/// A site not in hand becomes due by its pages.
pub(super) fn rouse(work: &Work<'_>, id: SiteId, fetched: u64) -> Result<(), Fault> {
    let (due, resting) = earliest(work.sql, id, reaches(fetched, work.limit))?;
    work.sql
        .prepare_cached("UPDATE sites SET resting = ?3, due = max(?2, not_before) WHERE id = ?1")?
        .execute(params![id.0, due.map(|due| due.0), resting])?;
    Ok(())
}

fn ids(sql: &Connection, query: &str, bound: i64) -> Result<Vec<(SiteId, u64)>, Fault> {
    let mut statement = sql.prepare_cached(query)?;
    let found = statement
        .query_map([bound], |row| Ok((SiteId(row.get(0)?), row.get::<_, i64>(1)? as u64)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn reaches(fetched: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| fetched >= limit)
}

fn is_full(site: &SiteRow, limit: Option<u64>) -> bool {
    reaches(site.counters.fetched, limit)
}

fn lend_due(work: &mut Work<'_>, request: &CheckOut) -> Result<Vec<SiteLease>, Fault> {
    let horizon = request.now.plus(request.slack);
    let mut leases = Vec::new();
    while leases.len() < request.sites_max {
        let sites = due_sites(work.sql, horizon, request.sites_max - leases.len())?;
        if sites.is_empty() {
            break;
        }
        for id in sites {
            leases.extend(lend(work, request, id, horizon)?);
        }
    }
    Ok(leases)
}

fn due_sites(sql: &Connection, until: Timestamp, max: usize) -> Result<Vec<SiteId>, Fault> {
    let mut statement = sql.prepare_cached(
        "SELECT id FROM sites WHERE leased = 0 AND due IS NOT NULL AND due <= ?1 \
         ORDER BY due, id LIMIT ?2",
    )?;
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let sites = statement.query_map(params![until.0, max], |row| row.get(0).map(SiteId))?;
    Ok(sites.collect::<Result<_, _>>()?)
}

/// `None` when no page is due after all; the site's due is then past the horizon.
fn lend(
    work: &mut Work<'_>,
    request: &CheckOut,
    id: SiteId,
    horizon: Timestamp,
) -> Result<Option<SiteLease>, Fault> {
    let Some(site) = load_site(work.sql, id)? else { return Ok(None) };
    let revisits_only = is_full(&site, work.limit);
    let mut wanted =
        Wanted { site: id, until: request.now, revisits_only, pages_max: request.pages_max };
    let lot = if site.pages < request.known_max.min(SCAN_PAGES) {
        wanted.scan(work.sql, horizon)?
    } else {
        let (mut pages, mut more) = wanted.pages(work.sql, &HashSet::new())?;
        if pages.is_empty() && horizon > request.now {
            wanted.until = horizon;
            (pages, more) = wanted.pages(work.sql, &HashSet::new())?;
        }
        Lot { pages, more, known: None }
    };
    if lot.pages.is_empty() {
        correct_due(work, id, revisits_only, horizon)?;
        return Ok(None);
    }
    lease(work, request, id, site, lot).map(Some)
}

fn correct_due(
    work: &mut Work<'_>,
    id: SiteId,
    revisits_only: bool,
    horizon: Timestamp,
) -> Result<(), Fault> {
    let (due, resting) = earliest(work.sql, id, revisits_only)?;
    // Past the horizon in any case, so that check-out always moves on.
    let due = due.map(|due| due.0.max(horizon.0.saturating_add(1)));
    work.sql
        .prepare_cached("UPDATE sites SET due = max(?2, not_before), resting = ?3 WHERE id = ?1")?
        .execute(params![id.0, due, resting])?;
    Ok(())
}

fn lend_named(
    work: &mut Work<'_>,
    request: &CheckOut,
    keys: &[SiteKey],
) -> Result<Vec<SiteLease>, Fault> {
    let mut leases = Vec::new();
    for key in keys {
        let free = work
            .sql
            .prepare_cached("SELECT id FROM sites WHERE key = ?1 AND leased = 0")?
            .query_row([key.as_str()], |row| row.get(0).map(SiteId))
            .optional()?;
        let Some(id) = free else { continue };
        let Some(site) = load_site(work.sql, id)? else { continue };
        let (due, _) = earliest(work.sql, id, is_full(&site, work.limit))?;
        let more = due.is_some_and(|due| due <= request.now);
        let lot = Lot { pages: Vec::new(), more, known: None };
        leases.push(lease(work, request, id, site, lot)?);
    }
    Ok(leases)
}

pub(super) fn lease(
    work: &mut Work<'_>,
    request: &CheckOut,
    id: SiteId,
    row: SiteRow,
    lot: Lot,
) -> Result<SiteLease, Fault> {
    let until = request.now.plus(request.lease);
    work.sql
        .prepare_cached(
            "UPDATE sites SET leased = 1, due = ?2, holder = ?3, fence = fence + 1, \
             not_before = 0, resting = 0, stirred = 0 WHERE id = ?1",
        )?
        .execute(params![id.0, until.0, request.holder])?;
    let known = match lot.known {
        None if row.pages < request.known_max => Some(known(work.sql, id)?),
        known => known,
    };
    let site = Site {
        id,
        key: SiteKey::stored(&row.key),
        seeded: row.seeded,
        counters: row.counters,
        clock: row.clock,
        robots: robots(work.sql, id)?,
    };
    let (pages, more) = (lot.pages, lot.more);
    let (domain, worked_today) = (Spent::default(), Duration::ZERO);
    Ok(SiteLease { site, fence: row.fence + 1, until, pages, known, more, domain, worked_today })
}

pub(super) fn load_site(sql: &Connection, id: SiteId) -> Result<Option<SiteRow>, Fault> {
    Ok(sql.prepare_cached(SITE)?.query_row([id.0], site_from_row).optional()?)
}

fn robots(sql: &Connection, id: SiteId) -> Result<Vec<RobotsCopy>, Fault> {
    let mut statement = sql.prepare_cached(ROBOTS)?;
    let copies = statement.query_map([id.0], robots_from_row)?;
    Ok(copies.collect::<Result<_, _>>()?)
}

fn known(sql: &Connection, id: SiteId) -> Result<Vec<Fingerprint>, Fault> {
    let mut statement =
        sql.prepare_cached("SELECT fp FROM pages WHERE site = ?1 AND requisite = 0")?;
    let all = statement.query_map([id.0], |row| row.get(0).map(fp_of))?;
    Ok(all.collect::<Result<_, _>>()?)
}
