//! Lending: which sites go out under a lease, and which of their pages.
//!
//! A site stands in two queues, by the earliest due of what is to be judged or fetched for the first time and
//! by that of what is to be seen again. Either may be too early (pages were excluded, spiders are full or
//! paused): check-out then finds no due page, puts it right and passes on. It is never too late.

use std::{collections::HashSet, time::Duration};

use model::{
    CheckOut, Fingerprint, NextDue, Page, Refill, RobotsCopy, Site, SiteId, SiteKey, SiteLease,
    Spent, SpiderId, StoreError, Timestamp, Unpaid,
};

use super::{
    asleep::{self, Asleep},
    due::{Again, Closed, Dues, Lot, Wanted, earliest, named_pages},
    limits::full_from_text,
    parts,
    rows::{Fault, ROBOTS, SITE, SiteRow, day_of, fp_of, robots_from_row, site_from_row},
    sql_frontier::Work,
};
use crate::sql::{self, OptionalExtension, Sql, params};

/// Sites below this are read whole when something of them is new, for their fingerprints are wanted then anyway:
/// half the cost of going from the index to each row.
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
pub(super) fn refill(sql: &Sql, request: &Refill, asleep: &Asleep) -> Result<Vec<Page>, Fault> {
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
        unpaid: Unpaid::default(),
    };
    let wanted = Wanted {
        site: request.site,
        closed: &closed,
        pages_max: request.pages_max,
        firsts: Some(request.now),
        again: request.again.map(|until| Again { until, max: None, reason: false }),
    };
    wanted.pages(sql, &except).map(|lot| lot.pages)
}

/// Leases that end by `until` are over: their sites are due again, and owe a pause, because nobody
/// said how the last visit ended.
pub(super) fn release(work: &mut Work<'_>, until: Timestamp) -> Result<u64, Fault> {
    let over: Vec<SiteId> = {
        let mut statement =
            work.sql.prepare("SELECT id FROM sites WHERE leased = 1 AND due <= ?1")?;
        let found = statement.query_map([until.0], |row| row.get(0).map(SiteId))?;
        found.collect::<Result<_, _>>()?
    };
    take_back(work, &over)
}

/// The leases of these sites are over.
pub(super) fn take_back(work: &mut Work<'_>, over: &[SiteId]) -> Result<u64, Fault> {
    for id in over {
        let dues = earliest(work.sql, *id, &closed(work, *id)?)?;
        work.sql
            .prepare(
                "UPDATE sites SET leased = 0, interrupted = 1, due = ?2, due_again = ?3, \
                 resting = ?4 WHERE id = ?1",
            )?
            .execute(params![id.0, stored(dues.first), stored(dues.again), dues.left_out])?;
    }
    Ok(over.len() as u64)
}

/// A site not in hand becomes due by its pages.
pub(super) fn rouse(work: &Work<'_>, id: SiteId) -> Result<(), Fault> {
    let dues = earliest(work.sql, id, &closed(work, id)?)?;
    set_dues(work, id, dues)
}

fn set_dues(work: &Work<'_>, id: SiteId, dues: Dues) -> Result<(), Fault> {
    work.sql
        .prepare(
            "UPDATE sites SET due = max(?2, not_before), due_again = max(?3, not_before), \
             resting = ?4 WHERE id = ?1",
        )?
        .execute(params![id.0, stored(dues.first), stored(dues.again), dues.left_out])?;
    Ok(())
}

pub(super) fn stored(moment: Option<Timestamp>) -> Option<i64> {
    moment.map(|moment| moment.0)
}

pub(super) fn next_dues(sql: &Sql) -> sql::Result<NextDue> {
    let read = |query: &str| -> sql::Result<Option<Timestamp>> {
        let mut statement = sql.prepare(query)?;
        statement.query_row([], |row| row.get(0).map(Timestamp)).optional()
    };
    Ok(NextDue {
        first: read(
            "SELECT due FROM sites WHERE leased = 0 AND due IS NOT NULL ORDER BY due LIMIT 1",
        )?,
        again: read(
            "SELECT due_again FROM sites WHERE leased = 0 AND due_again IS NOT NULL \
             ORDER BY due_again LIMIT 1",
        )?,
    })
}

fn closed(work: &Work<'_>, id: SiteId) -> Result<Closed, Fault> {
    let full = work
        .sql
        .prepare("SELECT full_for FROM sites WHERE id = ?1")?
        .query_row([id.0], |row| Ok(full_from_text(row.text(0)?)))?;
    Ok(closed_by(work, full))
}

pub(super) fn closed_by(work: &Work<'_>, full: Vec<SpiderId>) -> Closed {
    let (asleep, removed) = (work.asleep.spiders(&[]), work.asleep.removed.clone());
    Closed { asleep, full, removed, unpaid: Unpaid::default() }
}

fn lend_due(work: &mut Work<'_>, request: &CheckOut) -> Result<Vec<SiteLease>, Fault> {
    let mut lent = Lent { leases: Vec::new(), again_left: request.again_max, vain: 0, passed: 0 };
    if request.firsts && request.seeded_first {
        lent.add(work, request, &FIRSTS_SEEDED, request.now)?;
    }
    if request.firsts {
        lent.add(work, request, &FIRSTS, request.now)?;
    }
    lent.add(work, request, &AGAIN, request.again_by())?;
    if request.slack > Duration::ZERO && request.again_until.is_none() {
        lent.add(work, request, &AGAIN, request.now.plus(request.slack))?;
    }
    Ok(lent.leases)
}

/// A check-out under way.
struct Lent {
    leases: Vec<SiteLease>,
    /// Pages to be seen again that may still be lent; `None`: all.
    again_left: Option<usize>,
    /// Sites that turned out to have nothing to lend.
    vain: usize,
    /// Sites whose due pages cannot be paid for.
    passed: usize,
}

/// After a pause a million sites may have nothing to lend. Check-ins must not wait for all of them (some
/// 20 µs each) to be put right: whoever asks sees by the next due that there is more.
pub(super) const VAIN_MAX: usize = 10_000;
/// Nor for all sites of a spider whose purse is empty to be passed: the next check-out goes on behind these.
const PASSED_MAX: usize = 2_000;

/// A place in a queue of sites: a due and a site's number.
pub(super) type Place = (i64, i64);
const FRONT: Place = (i64::MIN, 0);
/// Where the next check-out goes on, by [`Queue::number`].
pub(super) type Places = [Place; 3];
pub(super) const FRONTS: Places = [FRONT; 3];

/// The order in which sites are lent for one of their queues.
struct Queue {
    number: usize,
    again: bool,
    sql: &'static str,
}

const FIRSTS: Queue = Queue {
    number: 0,
    again: false,
    sql: "SELECT id, due FROM sites WHERE leased = 0 AND due IS NOT NULL AND due <= ?1 \
          AND (due, id) > (?3, ?4) ORDER BY due, id LIMIT ?2",
};
const FIRSTS_SEEDED: Queue = Queue {
    number: 1,
    again: false,
    sql: "SELECT id, due FROM sites WHERE leased = 0 AND due IS NOT NULL AND seeded = 1 \
          AND due <= ?1 AND (due, id) > (?3, ?4) ORDER BY due, id LIMIT ?2",
};
const AGAIN: Queue = Queue {
    number: 2,
    again: true,
    // With slack the horizon lies ahead; what a site asked for (`Retry-After`) is kept all the same.
    sql: "SELECT id, due_again FROM sites WHERE leased = 0 AND due_again IS NOT NULL \
          AND due_again <= ?1 AND (due_again, id) > (?3, ?4) AND not_before <= ?5 \
          ORDER BY due_again, id LIMIT ?2",
};

impl Lent {
    fn add(
        &mut self,
        work: &mut Work<'_>,
        request: &CheckOut,
        queue: &Queue,
        horizon: Timestamp,
    ) -> Result<(), Fault> {
        let mut place = std::mem::replace(&mut work.places[queue.number], FRONT);
        if request.unpaid.is_empty() {
            place = FRONT;
        }
        while self.leases.len() < request.sites_max && self.vain < VAIN_MAX {
            if self.passed >= PASSED_MAX {
                work.places[queue.number] = place;
                break;
            }
            let mut max = request.sites_max - self.leases.len();
            if let (true, Some(left)) = (queue.again, self.again_left) {
                // Each brings one page at least, or is put right.
                max = max.min(left);
            }
            let sites = due_sites(work.sql, queue, horizon, max, (place, request.now))?;
            if sites.is_empty() {
                break;
            }
            for (id, due) in sites {
                if queue.again && self.again_left == Some(0) {
                    break;
                }
                self.lend(work, request, id, queue, horizon)?;
                place = (due, id.0);
            }
        }
        Ok(())
    }

    /// When nothing of the queue is due after all, the site's due is put past the horizon.
    fn lend(
        &mut self,
        work: &mut Work<'_>,
        request: &CheckOut,
        id: SiteId,
        queue: &Queue,
        horizon: Timestamp,
    ) -> Result<(), Fault> {
        let Some(mut site) = load_site(work.sql, id)? else { return Ok(()) };
        let mut closed = closed_by(work, std::mem::take(&mut site.full));
        closed.unpaid.clone_from(&request.unpaid);
        let until = if queue.again { horizon } else { request.again_by() };
        let wanted = Wanted {
            site: id,
            closed: &closed,
            pages_max: request.pages_max,
            firsts: request.firsts.then_some(request.now),
            again: (self.again_left != Some(0)).then_some(Again {
                until,
                max: self.again_left,
                reason: queue.again,
            }),
        };
        let lot = if !queue.again && site.pages < request.known_max.min(SCAN_PAGES) {
            wanted.scan(work.sql)?
        } else {
            wanted.pages(work.sql, &HashSet::new())?
        };
        let due = if queue.again { lot.again() } else { lot.firsts };
        if due == 0 {
            closed.unpaid = Unpaid::default();
            let dues = earliest(work.sql, id, &closed)?;
            let due = if queue.again { dues.again } else { dues.first };
            if !request.unpaid.is_empty() && due.is_some_and(|due| due <= horizon) {
                self.passed += 1;
                return Ok(());
            }
            self.vain += 1;
            return correct_due(work, id, dues, queue, horizon);
        }
        self.again_left = self.again_left.map(|left| left.saturating_sub(lot.again()));
        self.leases.push(lease(work, request, id, site, lot)?);
        Ok(())
    }
}

fn due_sites(
    sql: &Sql,
    queue: &Queue,
    until: Timestamp,
    max: usize,
    (place, now): (Place, Timestamp),
) -> Result<Vec<(SiteId, i64)>, Fault> {
    let mut statement = sql.prepare(queue.sql)?;
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let all = [until.0, max, place.0, place.1, now.0];
    let bound = if queue.again { &all[..] } else { &all[..4] };
    let sites = statement.query_map(bound, |row| Ok((SiteId(row.get(0)?), row.get(1)?)))?;
    Ok(sites.collect::<Result<_, _>>()?)
}

fn correct_due(
    work: &Work<'_>,
    id: SiteId,
    mut dues: Dues,
    queue: &Queue,
    horizon: Timestamp,
) -> Result<(), Fault> {
    // Past the horizon in any case, so that check-out always moves on.
    let due = if queue.again { &mut dues.again } else { &mut dues.first };
    *due = due.map(|due| due.max(Timestamp(horizon.0.saturating_add(1))));
    set_dues(work, id, dues)
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
            .prepare("SELECT id FROM sites WHERE key = ?1 AND leased = 0")?
            .query_row([key.as_str()], |row| row.get(0).map(SiteId))
            .optional()?;
        let Some(id) = free else { continue };
        let Some(site) = load_site(work.sql, id)? else { continue };
        let dues = earliest(work.sql, id, &closed_by(work, site.full.clone()))?;
        let due = [dues.first, dues.again].into_iter().flatten().min();
        let lot = Lot { more: due.is_some_and(|due| due <= request.now), ..Lot::default() };
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
        .prepare(
            "UPDATE sites SET leased = 1, due = ?2, due_again = NULL, holder = ?3, \
             fence = fence + 1, not_before = 0, resting = 0, stirred = 0 WHERE id = ?1",
        )?
        .execute(params![id.0, until.0, request.holder])?;
    let known = match lot.known {
        None if lot.firsts > 0 && row.pages < request.known_max => Some(known(work, id)?),
        known => known,
    };
    let site = Site {
        id,
        key: SiteKey::stored(&row.key),
        seeded: row.seeded,
        counters: row.counters,
        clock: row.clock,
        habit: row.habit,
        traps: row.traps,
        robots: robots(work.sql, id)?,
    };
    let (pages, more) = (lot.pages, lot.more);
    let domain = domain(work.sql, &row.domain)?;
    let is_today = row.worked_day == day_of(request.now);
    let worked_today = if is_today { row.worked } else { Duration::ZERO };
    Ok(SiteLease { site, fence: row.fence + 1, until, pages, known, more, domain, worked_today })
}

pub(super) fn load_site(sql: &Sql, id: SiteId) -> Result<Option<SiteRow>, Fault> {
    Ok(sql.prepare(SITE)?.query_row([id.0], site_from_row).optional()?)
}

fn robots(sql: &Sql, id: SiteId) -> Result<Vec<RobotsCopy>, Fault> {
    let mut statement = sql.prepare(ROBOTS)?;
    let copies = statement.query_map([id.0], robots_from_row)?;
    Ok(copies.collect::<Result<_, _>>()?)
}

fn domain(sql: &Sql, domain: &str) -> Result<Spent, Fault> {
    let spent = sql
        .prepare("SELECT fetched, bytes FROM domains WHERE domain = ?1")?
        .query_row([domain], |row| {
            let number = |column: usize| row.get::<i64>(column).map(|n| n.max(0) as u64);
            Ok(Spent { pages: number(0)?, bytes: number(1)? })
        })
        .optional()?;
    Ok(spent.unwrap_or_default())
}

/// Without pages of removed spiders: who finds them takes them over.
fn known(work: &Work<'_>, id: SiteId) -> Result<Vec<Fingerprint>, Fault> {
    let mut statement =
        work.sql.prepare("SELECT fp, spider FROM pages WHERE site = ?1 AND requisite = 0")?;
    let mut rows = statement.query([id.0])?;
    let mut known = Vec::new();
    while let Some(row) = rows.next()? {
        if !work.asleep.removed.contains(&SpiderId(row.get(1)?)) {
            known.push(fp_of(row.get(0)?));
        }
    }
    Ok(known)
}
