//! Lifting traps: what a site has taught against its own URLs is taken back, the pages that were excluded for it
//! are judged anew, and those on which refused links stand are read again. What it refused is no longer counted as
//! refused.

use model::{RefusalReason, SiteId, SiteTraps, Stop, StoreError, Timestamp, UrlTraps};

use super::{
    admit, habits, hazards,
    limits::{Noted, noted},
    rows::{Fault, site_traps_from_row, stored_fp},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{self, OptionalExtension, Sql, params};

/// What became of traps that were to be lifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiftedTraps {
    pub stops: u64,
    /// Pages that wait for a new judgement, or are read again for their links.
    pub pages: u64,
}

impl SqlFrontier {
    /// Of one pattern, or of the whole site. A site that is not known has none, and where there is no such trap
    /// nothing is touched.
    pub fn lift_traps(
        &mut self,
        site: &str,
        pattern: Option<&str>,
        now: Timestamp,
    ) -> Result<LiftedTraps, StoreError> {
        self.transact(now, |work| lift(work, site, pattern))
    }

    /// What was lifted may be stopped again: under one name, or all of the site. Says what that was.
    pub fn watch_traps(
        &mut self,
        site: &str,
        pattern: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        self.transact(now, |work| {
            let Some((site, mut traps)) = taught(work, site)? else { return Ok(Vec::new()) };
            let again = traps.urls.watch_again(pattern);
            hazards::save_traps(work, site, &traps)?;
            Ok(again)
        })
    }

    /// Restores what [`lifted_traps`] told of: nothing is held against it from now on.
    pub fn leave_alone(
        &mut self,
        site: &str,
        pattern: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            let Some((site, mut traps)) = taught(work, site)? else { return Ok(()) };
            if !traps.urls.lifted.iter().any(|lifted| lifted == pattern) {
                traps.urls.lifted.push(pattern.to_owned());
                hazards::save_traps(work, site, &traps)?;
            }
            Ok(())
        })
    }

    /// The holder of the site has taken these back by itself: as if they were lifted, but for what the site has
    /// taught, which comes with its check-ins. What is read again is due since `due`: a crawl of one pass visits again
    /// what was due when it began.
    pub fn clear_traps(
        &mut self,
        site: &str,
        cleared: &[(String, Stop)],
        due: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            let found: Option<i64> = work
                .sql
                .prepare("SELECT id FROM sites WHERE key = ?1")?
                .query_row([site], |row| row.get(0))
                .optional()?;
            let Some(id) = found.map(SiteId) else { return Ok(()) };
            forget_refusals(work, site, cleared, false)?;
            admit::judge_again(work, id, false)?;
            read_again(work, id, cleared, due).map(drop)
        })
    }

    /// `fingerprint` is of how many near duplicates are followed. When it is another than the last time, those that
    /// were left for the old limit are followed again, as far as the new one goes.
    pub fn near_limit_changed(
        &mut self,
        fingerprint: u64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| match noted(work, "near-duplicates", fingerprint)? {
            Noted::Other => forget_worn(work),
            Noted::Same | Noted::First => Ok(()),
        })
    }
}

/// What users lifted: site and pattern.
pub(crate) fn lifted_traps(sql: &Sql) -> sql::Result<Vec<(String, String)>> {
    let text = "SELECT key, traps FROM sites WHERE traps LIKE '%\"lifted\":%' ORDER BY key";
    let mut statement = sql.prepare(text)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let site: String = row.get(0)?;
        let lifted = site_traps_from_row(row, 1)?.urls.lifted;
        all.extend(lifted.into_iter().map(|pattern| (site.clone(), pattern)));
    }
    Ok(all)
}

/// Due since ever: also in a pass that visits again only what was due when it began.
const AT_ONCE: Timestamp = Timestamp(0);

fn forget_worn(work: &mut Work<'_>) -> Result<(), Fault> {
    let sites: Vec<(SiteId, String, SiteTraps)> = work
        .sql
        .prepare("SELECT id, key, traps FROM sites WHERE instr(traps, '\"worn\":') > 0")?
        .query_map([], |row| Ok((SiteId(row.get(0)?), row.get(1)?, site_traps_from_row(row, 2)?)))?
        .collect::<Result<_, _>>()?;
    for (site, key, mut traps) in sites {
        let worn = traps.urls.forget_worn();
        hazards::save_traps(work, site, &traps)?;
        forget_refusals(work, &key, &worn, false)?;
        read_again(work, site, &worn, AT_ONCE)?;
    }
    Ok(())
}

/// What a site has taught, if there is such a site.
fn taught(work: &mut Work<'_>, key: &str) -> Result<Option<(SiteId, SiteTraps)>, Fault> {
    let mut statement = work.sql.prepare("SELECT id, traps FROM sites WHERE key = ?1")?;
    let row =
        statement.query_row([key], |row| Ok((SiteId(row.get(0)?), site_traps_from_row(row, 1)?)));
    Ok(row.optional()?)
}

/// A block was lifted that refused links of the site: whether its pages lead nowhere is to be seen anew. How many are
/// read again for that.
pub(super) fn forget_dead_ends(work: &mut Work<'_>, site: SiteId) -> Result<u64, Fault> {
    let found: Option<(String, SiteTraps)> = work
        .sql
        .prepare("SELECT key, traps FROM sites WHERE id = ?1")?
        .query_row([site.0], |row| Ok((row.get(0)?, site_traps_from_row(row, 1)?)))
        .optional()?;
    let Some((key, mut traps)) = found else { return Ok(0) };
    let ends = traps.urls.forget_dead_ends();
    if ends.is_empty() {
        return Ok(0);
    }
    hazards::save_traps(work, site, &traps)?;
    forget_refusals(work, &key, &ends, false)?;
    read_again(work, site, &ends, AT_ONCE)
}

fn lift(work: &mut Work<'_>, key: &str, pattern: Option<&str>) -> Result<LiftedTraps, Fault> {
    let Some((site, mut traps)) = taught(work, key)? else { return Ok(LiftedTraps::default()) };
    if pattern.is_some_and(|name| !traps.has(name)) {
        return Ok(LiftedTraps::default());
    }
    let lifted = traps.lift(pattern);
    hazards::save_traps(work, site, &traps)?;
    forget_refusals(work, key, &lifted, pattern.is_none_or(|name| name == UrlTraps::SITE))?;
    let pages = admit::judge_again(work, site, false)? + read_again(work, site, &lifted, AT_ONCE)?;
    Ok(LiftedTraps { stops: lifted.len() as u64, pages })
}

/// What was refused for these is refused no more; `all`: for any trap of the site. If something else speaks against
/// it, it is counted again.
fn forget_refusals(
    work: &mut Work<'_>,
    key: &str,
    lifted: &[(String, Stop)],
    all: bool,
) -> Result<(), Fault> {
    let reason = RefusalReason::Trap.word();
    let rules: Vec<(String, i64)> = work
        .sql
        .prepare("SELECT rule, count FROM decisions WHERE site = ?1 AND reason = ?2")?
        .query_map(params![key, reason], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let is_lifted = |rule: &str| {
        let is_urls = !rule.starts_with("trap: dns wildcard");
        all && is_urls || lifted.iter().any(|(name, stop)| Stop::rule(stop.hazard, name) == rule)
    };
    for (rule, count) in rules.iter().filter(|(rule, _)| is_lifted(rule)) {
        work.sql
            .prepare("DELETE FROM decisions WHERE site = ?1 AND reason = ?2 AND rule = ?3")?
            .execute(params![key, reason, rule])?;
        work.counts.refused = work.counts.refused.saturating_sub(*count as u64);
    }
    Ok(())
}

/// The pages on which links stand that were refused.
fn read_again(
    work: &mut Work<'_>,
    site: SiteId,
    lifted: &[(String, Stop)],
    due: Timestamp,
) -> Result<u64, Fault> {
    let mut pages = 0;
    for (_, stop) in lifted {
        for fp in &stop.referrers {
            // Answered with "not modified", its links would not be read.
            work.sql
                .prepare(
                    "UPDATE page_facts SET etag = NULL, last_modified = NULL \
                     WHERE site = ?1 AND fp = ?2",
                )?
                .execute(params![site.0, stored_fp(*fp)])?;
        }
        let again: Vec<_> = stop.referrers.iter().map(|fp| (site, *fp)).collect();
        let now = work.now;
        pages += habits::call(work, &again, now, due)?;
    }
    Ok(pages)
}
