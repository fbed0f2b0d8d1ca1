//! The clock of the machine, as far as the store has seen it: when it is set back, what was put off under the
//! clock that ran ahead must not wait until that moment comes.

use std::time::Duration;

use model::{SiteId, StoreError, Timestamp};

use super::{
    check_out::{load_site, rouse},
    habits::save_site,
    rows::{Fault, millis},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{OptionalExtension, params};

/// The newest moment is written down when it has moved on by this much: not every check-out need write.
pub(super) const NEWEST_STEP: Duration = Duration::from_secs(60);

/// Distrust never lasts longer: what ends later was said by a clock that ran ahead.
const DISTRUST_MAX: Duration = Duration::from_secs(30 * 86_400);

/// Sites put right in one transaction.
const SITES: i64 = 1_000;

impl SqlFrontier {
    /// The newest moment at which anything was changed, to within a minute before the last start. Where it is in
    /// the future, the clock was set back.
    pub fn newest(&self) -> Timestamp {
        self.newest
    }

    /// After the clock was set back: pages due later than `horizon` from now were given their due by a clock that
    /// ran ahead. They are spread over the horizon, each by its fingerprint; how many they were. Copies of
    /// robots.txt from the future are old; announcements and distrust from there are forgotten. `now` is the newest moment from here on.
    ///
    /// Looks at every page with a due: some seconds for ten million.
    pub fn cap_dues(&mut self, now: Timestamp, horizon: Duration) -> Result<u64, StoreError> {
        let (mut moved, mut after) = (0, Some(0));
        while let Some(from) = after {
            (moved, after) = self.transact(now, |work| {
                let (more, next) = cap_part(work, from, now, horizon)?;
                Ok((moved + more, next))
            })?;
        }
        // Last: whoever is interrupted before begins anew at the next start.
        self.begin_clock_at(now);
        self.change(now, |sql| {
            sql.execute("UPDATE robots SET expires = ?1 WHERE fetched > ?1", [now.0]).map(drop)
        })?;
        Ok(moved)
    }

    /// The clock showed `before` and was set to `now`, forward or back. What was to come at a moment after `before` is as
    /// far off as it was; what had come has come. That holds for the waits of sites, for first visits and their
    /// retries, and for copies of robots.txt. When pages are to be seen again is left as dates, save that none that was
    /// due becomes late. After a step back see [`SqlFrontier::cap_dues`] too.
    ///
    /// Looks at every page that waits: some seconds for ten million.
    pub fn clock_was_set(&mut self, before: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        let mut after = Some(0);
        while let Some(from) = after {
            after = self.transact(now, |work| move_part(work, from, before.0, now.0))?;
        }
        if now > before {
            // Else it would seem to have rested for all that time.
            self.begin_clock_at(now);
        }
        self.change(now, |sql| {
            sql.execute(
                "UPDATE robots SET \
                 expires = CASE WHEN expires > ?1 THEN expires + ?2 - ?1 ELSE min(expires, ?2) END, \
                 unreachable_since = min(unreachable_since + ?2 - ?1, ?2)",
                [before.0, now.0],
            )
            .map(drop)
        })
    }

    /// What the planner left to go on from.
    pub fn planner_state(&self) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare("SELECT value FROM meta WHERE name = 'planner'")
            .and_then(|mut s| s.query_row([], |row| row.get(0)).optional())
            .map_err(|e| self.error(e))
    }

    pub fn save_planner_state(&mut self, text: &str, now: Timestamp) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.prepare(
                "INSERT INTO meta (name, value) VALUES ('planner', ?1) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )?
            .execute([text])
            .map(drop)
        })
    }
}

/// The sites after this number: how many pages were moved, and from where to go on.
fn cap_part(
    work: &mut Work<'_>,
    after: i64,
    now: Timestamp,
    horizon: Duration,
) -> Result<(u64, Option<i64>), Fault> {
    let sites: Vec<(SiteId, bool)> = work
        .sql
        .prepare("SELECT id, leased FROM sites WHERE id > ?1 ORDER BY id LIMIT ?2")?
        .query_map(params![after, SITES], |row| Ok((SiteId(row.get(0)?), row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let latest = now.plus(horizon).0;
    let mut moved = 0;
    for (site, leased) in &sites {
        let pages = cap_site(work, *site, now.0, millis(horizon).max(1))?;
        let waits = work
            .sql
            .prepare("UPDATE sites SET not_before = 0 WHERE id = ?1 AND not_before > ?2")?
            .execute(params![site.0, latest])?;
        if !leased && pages + waits > 0 {
            rouse(work, *site)?;
        }
        forget_future(work, *site, now)?;
        moved += pages as u64;
    }
    Ok((moved, sites.last().map(|(site, _)| site.0)))
}

/// The sites after this number; from where to go on.
fn move_part(work: &mut Work<'_>, after: i64, before: i64, now: i64) -> Result<Option<i64>, Fault> {
    let sites: Vec<(SiteId, bool)> = work
        .sql
        .prepare("SELECT id, leased FROM sites WHERE id > ?1 ORDER BY id LIMIT ?2")?
        .query_map(params![after, SITES], |row| Ok((SiteId(row.get(0)?), row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (site, leased) in &sites {
        move_site(work, *site, before, now)?;
        if !leased {
            rouse(work, *site)?;
        }
    }
    Ok(sites.last().map(|(site, _)| site.0))
}

fn move_site(work: &Work<'_>, site: SiteId, before: i64, now: i64) -> Result<(), Fault> {
    for sql in [
        "UPDATE sites SET pause_saved = pause_saved + ?3 - ?2, not_before = \
         CASE WHEN not_before > ?2 THEN not_before + ?3 - ?2 ELSE min(not_before, ?3) END \
         WHERE id = ?1",
        "UPDATE pages SET due = CASE WHEN due > ?2 THEN due + ?3 - ?2 ELSE ?3 END \
         WHERE site = ?1 AND turn NOT IN (2, 4) AND due IS NOT NULL AND due > min(?2, ?3)",
        "UPDATE pages SET due = ?3 \
         WHERE site = ?1 AND turn IN (2, 4) AND due IS NOT NULL AND due > ?3 AND due <= ?2",
    ] {
        work.sql.prepare(sql)?.execute(params![site.0, before, now])?;
    }
    move_down(work, site, now - before)
}

/// Since when it is down: how long it is left alone follows from that.
fn move_down(work: &Work<'_>, site: SiteId, by: i64) -> Result<(), Fault> {
    let stored: Option<String> = work
        .sql
        .prepare("SELECT traps FROM sites WHERE id = ?1 AND instr(traps, '\"down\":') > 0")?
        .query_row([site.0], |row| row.get(0))
        .optional()?;
    let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).ok();
    let Some(mut traps) = stored.and_then(read) else { return Ok(()) };
    let since = traps.pointer_mut("/down/since");
    let Some((since, at)) = since.and_then(|since| Some((since.as_i64()?, since))) else {
        return Ok(());
    };
    *at = (since + by).into();
    work.sql
        .prepare("UPDATE sites SET traps = ?2 WHERE id = ?1")?
        .execute(params![site.0, traps.to_string()])?;
    Ok(())
}

fn cap_site(work: &Work<'_>, site: SiteId, now: i64, horizon: i64) -> Result<usize, Fault> {
    // Both indexes are asked: neither knows of the other's pages.
    let mut moved = 0;
    for sql in [
        "UPDATE pages SET due = ?2 + (fp & 9223372036854775807) % ?3, price = 0 \
         WHERE site = ?1 AND turn NOT IN (2, 4) AND due IS NOT NULL AND due > ?4",
        "UPDATE pages SET due = ?2 + (fp & 9223372036854775807) % ?3, price = 0 \
         WHERE site = ?1 AND turn IN (2, 4) AND due IS NOT NULL AND due > ?4",
    ] {
        moved += work.sql.prepare(sql)?.execute(params![
            site.0,
            now,
            horizon,
            now.saturating_add(horizon)
        ])?;
    }
    Ok(moved)
}

/// Nothing would be news before a change that was announced for next year, and no 304 be believed until then.
fn forget_future(work: &Work<'_>, site: SiteId, now: Timestamp) -> Result<(), Fault> {
    work.sql
        .prepare(
            "UPDATE pages SET announced = NULL, signals = 0 WHERE site = ?1 AND announced > ?2",
        )?
        .execute(params![site.0, now.0])?;
    let Some(row) = load_site(work.sql, site)? else { return Ok(()) };
    let mut habit = row.habit;
    if habit.unmodified.distrusted_until > now.plus(DISTRUST_MAX) {
        habit.unmodified.distrusted_until = Timestamp::ZERO;
        save_site(work, site, &habit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
