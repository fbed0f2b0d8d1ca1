//! Lending: which sites go out under a lease, and which of their pages.
//!
//! A site's `due` may be too early (its pages were excluded, its spiders are full or paused): check-out
//! then finds no due page, puts it right and passes on. It is never too late.

use std::{collections::HashSet, time::Duration};

use model::{
    CheckOut, Fingerprint, Page, Refill, RobotsCopy, Site, SiteId, SiteKey, SiteLease, Spent,
    SpiderId, StoreError, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    asleep::{self, Asleep},
    due::{Closed, Lot, Wanted, earliest, named_pages},
    limits::full_from_text,
    parts,
    rows::{Fault, ROBOTS, SITE, SiteRow, day_of, fp_of, robots_from_row, site_from_row},
    sqlite::Work,
};

/// Sites below this are read whole when their fingerprints are wanted anyway: half the cost of going
/// from the index to each row.
const SCAN_PAGES: u64 = 2_000;

pub(super) fn check_out(work: &mut Work<'_>, request: &CheckOut) -> Result<Vec<SiteLease>, Fault> {
    release(work, request.now)?;
    match &request.only {
        Some(keys) => lend_named(work, request, keys),
        None => {
            asleep::ask(work, &request.paused)?;
            match request.requisites_only {
                true => parts::lend(work, request),
                false => lend_due(work, request),
            }
        }
    }
}

/// More pages of a leased site.
pub(super) fn refill(
    sql: &Connection,
    request: &Refill,
    asleep: &Asleep,
) -> Result<Vec<Page>, Fault> {
    let site = load_site(sql, request.site)?.filter(|site| site.fence == request.fence);
    let Some(site) = site else {
        return Err(StoreError::Fenced { site: request.site.0.to_string() }.into());
    };
    if !request.only.is_empty() {
        return named_pages(sql, request.site, &request.only);
    }
    let except: HashSet<Fingerprint> = request.except.iter().copied().collect();
    let closed = Closed {
        asleep: asleep.spiders(&request.paused),
        full: site.full,
        removed: asleep.removed.clone(),
    };
    let wanted = Wanted {
        site: request.site,
        until: request.now,
        closed: &closed,
        pages_max: request.pages_max,
    };
    wanted.pages(sql, &except).map(|(pages, _)| pages)
}

/// Leases that end by `until` are over: their sites are due again, and owe a pause, because nobody
/// said how the last visit ended.
pub(super) fn release(work: &mut Work<'_>, until: Timestamp) -> Result<u64, Fault> {
    let over: Vec<SiteId> = {
        let mut statement =
            work.sql.prepare_cached("SELECT id FROM sites WHERE leased = 1 AND due <= ?1")?;
        let found = statement.query_map([until.0], |row| row.get(0).map(SiteId))?;
        found.collect::<Result<_, _>>()?
    };
    for id in &over {
        let (due, resting) = earliest(work.sql, *id, &closed(work, *id)?)?;
        work.sql
            .prepare_cached(
                "UPDATE sites SET leased = 0, interrupted = 1, due = ?2, resting = ?3 WHERE id = ?1",
            )?
            .execute(params![id.0, due.map(|due| due.0), resting])?;
    }
    Ok(over.len() as u64)
}

/// A site not in hand becomes due by its pages.
pub(super) fn rouse(work: &Work<'_>, id: SiteId) -> Result<(), Fault> {
    let (due, resting) = earliest(work.sql, id, &closed(work, id)?)?;
    work.sql
        .prepare_cached("UPDATE sites SET resting = ?3, due = max(?2, not_before) WHERE id = ?1")?
        .execute(params![id.0, due.map(|due| due.0), resting])?;
    Ok(())
}

fn closed(work: &Work<'_>, id: SiteId) -> Result<Closed, Fault> {
    let full = work
        .sql
        .prepare_cached("SELECT full FROM sites WHERE id = ?1")?
        .query_row([id.0], |row| Ok(full_from_text(row.get_ref(0)?.as_str()?)))?;
    Ok(closed_by(work, full))
}

pub(super) fn closed_by(work: &Work<'_>, full: Vec<SpiderId>) -> Closed {
    Closed { asleep: work.asleep.spiders(&[]), full, removed: work.asleep.removed.clone() }
}

fn lend_due(work: &mut Work<'_>, request: &CheckOut) -> Result<Vec<SiteLease>, Fault> {
    let mut lent = Lent { leases: Vec::new(), vain: 0 };
    if request.seeded_first {
        lent.add(work, request, DUE_SEEDED, request.now)?;
    }
    lent.add(work, request, DUE, request.now.plus(request.slack))?;
    Ok(lent.leases)
}

/// A check-out under way.
struct Lent {
    leases: Vec<SiteLease>,
    /// Sites that turned out to have nothing to lend.
    vain: usize,
}

/// After a pause a million sites may have nothing to lend. Check-ins must not wait for all of them (some
/// 20 µs each) to be put right: whoever asks sees by the next due that there is more.
pub(super) const VAIN_MAX: usize = 10_000;

const DUE: &str = "SELECT id FROM sites WHERE leased = 0 AND due IS NOT NULL AND due <= ?1 \
     ORDER BY due, id LIMIT ?2";
const DUE_SEEDED: &str = "SELECT id FROM sites WHERE leased = 0 AND due IS NOT NULL AND seeded = 1 \
     AND due <= ?1 ORDER BY due, id LIMIT ?2";

impl Lent {
    fn add(
        &mut self,
        work: &mut Work<'_>,
        request: &CheckOut,
        query: &str,
        horizon: Timestamp,
    ) -> Result<(), Fault> {
        while self.leases.len() < request.sites_max && self.vain < VAIN_MAX {
            let max = request.sites_max - self.leases.len();
            let sites = due_sites(work.sql, query, horizon, max)?;
            if sites.is_empty() {
                break;
            }
            for id in sites {
                match lend(work, request, id, horizon)? {
                    Some(lease) => self.leases.push(lease),
                    None => self.vain += 1,
                }
            }
        }
        Ok(())
    }
}

fn due_sites(
    sql: &Connection,
    query: &str,
    until: Timestamp,
    max: usize,
) -> Result<Vec<SiteId>, Fault> {
    let mut statement = sql.prepare_cached(query)?;
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
    let Some(mut site) = load_site(work.sql, id)? else { return Ok(None) };
    let closed = closed_by(work, std::mem::take(&mut site.full));
    let pages_max = request.pages_max;
    let mut wanted = Wanted { site: id, until: request.now, closed: &closed, pages_max };
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
        correct_due(work, id, &closed, horizon)?;
        return Ok(None);
    }
    lease(work, request, id, site, lot).map(Some)
}

fn correct_due(
    work: &mut Work<'_>,
    id: SiteId,
    closed: &Closed,
    horizon: Timestamp,
) -> Result<(), Fault> {
    let (due, resting) = earliest(work.sql, id, closed)?;
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
        let (due, _) = earliest(work.sql, id, &closed_by(work, site.full.clone()))?;
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
        None if row.pages < request.known_max => Some(known(work, id)?),
        known => known,
    };
    let site = Site {
        id,
        key: SiteKey::stored(&row.key),
        seeded: row.seeded,
        counters: row.counters,
        clock: row.clock,
        habit: row.habit,
        robots: robots(work.sql, id)?,
    };
    let (pages, more) = (lot.pages, lot.more);
    let domain = domain(work.sql, &row.domain)?;
    let is_today = row.worked_day == day_of(request.now);
    let worked_today = if is_today { row.worked } else { Duration::ZERO };
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

fn domain(sql: &Connection, domain: &str) -> Result<Spent, Fault> {
    let spent = sql
        .prepare_cached("SELECT fetched, bytes FROM domains WHERE domain = ?1")?
        .query_row([domain], |row| {
            let number = |column: usize| row.get::<_, i64>(column).map(|n| n.max(0) as u64);
            Ok(Spent { pages: number(0)?, bytes: number(1)? })
        })
        .optional()?;
    Ok(spent.unwrap_or_default())
}

/// Without pages of removed spiders: who finds them takes them over.
fn known(work: &Work<'_>, id: SiteId) -> Result<Vec<Fingerprint>, Fault> {
    let mut statement = work
        .sql
        .prepare_cached("SELECT fp, spider FROM pages WHERE site = ?1 AND requisite = 0")?;
    let mut rows = statement.query([id.0])?;
    let mut known = Vec::new();
    while let Some(row) = rows.next()? {
        if !work.asleep.removed.contains(&SpiderId(row.get(1)?)) {
            known.push(fp_of(row.get(0)?));
        }
    }
    Ok(known)
}
