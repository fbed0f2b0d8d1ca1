//! Parts of pages (requisites): how they become pages, and how they are lent when no page may be.
//!
//! A row with `requisite` = 1 that was never fetched has a `turn` of its own: no limit on pages holds it back. No
//! counter of pages sees such rows.

use model::{Candidate, CheckOut, NewPage, NextDue, PageState, SiteId, SiteLease, Timestamp};

use super::{
    admit::Held,
    asleep::Asleep,
    check_out::{lease, load_site},
    due::{Lot, with_versions},
    rows::{Fault, TURN, millis, page_columns, page_from_row},
    sql_frontier::Work,
    tally::{SEEN_AGAIN, Share, Standing, change_site},
};
use crate::sql::{self, Sql, params};

/// If the row is a requisite, a link leads to it now: it is to be judged as a page. Says whether it is so.
pub(super) fn becomes_candidate(
    work: &mut Work<'_>,
    site: SiteId,
    fp: i64,
    candidate: &Candidate,
) -> Result<bool, Fault> {
    let before = Held::load(work, site, fp)?.standing;
    if !before.requisite {
        return Ok(false);
    }
    let page = NewPage {
        url: candidate.url.clone(),
        spider: candidate.spider,
        level: candidate.level,
        hops: candidate.hops,
        seed: candidate.seed,
        terms: candidate.terms,
        due: work.now,
    };
    let change = turn(work, site, fp, &page, before, PageState::Candidate)?;
    change_site(work, site, change)?;
    Ok(true)
}

/// The same under the site's lease: it was judged. What the site's counters change by.
pub(super) fn become_page(
    work: &mut Work<'_>,
    site: SiteId,
    fp: i64,
    page: &NewPage,
    before: Standing,
) -> Result<Share, Fault> {
    turn(work, site, fp, page, before, PageState::Known)
}

/// What its visits brought stays: they are its history. As a page it has no version yet: its first visit is
/// counted by the limits on pages, and reads it whole.
fn turn(
    work: &mut Work<'_>,
    site: SiteId,
    fp: i64,
    page: &NewPage,
    before: Standing,
    state: PageState,
) -> Result<Share, Fault> {
    let after = Standing { spider: page.spider, requisite: false, state, fetched: false };
    work.sql
        .prepare(
            "UPDATE pages SET requisite = 0, fetched = 0, failures = 0, state = ?3, spider = ?4, \
             level = ?5, hops = ?6, seed = max(seed, ?7), outside = ?8, depth = ?9, \
             period = ?10, due = ?11, turn = ?12, via = ?13, run = NULL WHERE site = ?1 AND fp = ?2",
        )?
        .execute(params![
            site.0,
            fp,
            state as u8,
            page.spider.0,
            page.level,
            page.hops,
            page.seed,
            page.terms.outside,
            page.terms.depth,
            page.terms.period.map(millis),
            page.due.0,
            after.turn(),
            page.terms.via,
        ])?;
    Ok(work.moved(Some(before), after))
}

/// Leases the sites that have due parts of pages, with these alone.
pub(super) fn lend(work: &mut Work<'_>, request: &CheckOut) -> Result<Vec<SiteLease>, Fault> {
    let mut leases = Vec::new();
    let asleep = as_text(&work.asleep);
    for id in due_sites(work.sql, request, &asleep)? {
        let Some(site) = load_site(work.sql, id)? else { continue };
        let lot = due_parts(work.sql, id, request, &asleep)?;
        leases.push(lease(work, request, id, site, lot)?);
    }
    Ok(leases)
}

/// When the next part of a site not in hand is due.
pub(super) fn next_dues(sql: &Sql, asleep: &Asleep) -> sql::Result<NextDue> {
    sql.prepare(
        "SELECT min(CASE WHEN p.turn <> 2 THEN max(p.due, s.not_before) END), \
         min(CASE WHEN p.turn = 2 THEN max(p.due, s.not_before) END) FROM pages p JOIN sites s ON s.id = p.site \
         WHERE p.requisite = 1 AND p.due IS NOT NULL AND s.leased = 0 \
         AND NOT (s.resting = 1 AND s.due IS NULL AND s.due_again IS NULL) \
         AND instr(?1, ',' || p.spider || ',') = 0",
    )?
    .query_row([as_text(asleep)], |row| {
        let due = |column: usize| row.get::<Option<i64>>(column).map(|due| due.map(Timestamp));
        Ok(NextDue { first: due(0)?, again: due(1)? })
    })
}

/// Spiders whose parts stay where they are, each between commas.
fn as_text(asleep: &Asleep) -> String {
    let ids: Vec<String> = asleep.spiders(&[]).iter().map(|id| id.0.to_string()).collect();
    format!(",{},", ids.join(","))
}

fn due_sites(sql: &Sql, request: &CheckOut, asleep: &str) -> Result<Vec<SiteId>, Fault> {
    let mut statement = sql.prepare(
        "SELECT DISTINCT p.site FROM pages p JOIN sites s ON s.id = p.site \
         WHERE p.requisite = 1 AND p.due <= ?1 AND s.leased = 0 AND s.not_before <= ?1 \
         AND NOT (s.resting = 1 AND s.due IS NULL AND s.due_again IS NULL) \
         AND instr(?3, ',' || p.spider || ',') = 0 LIMIT ?2",
    )?;
    let max = i64::try_from(request.sites_max).unwrap_or(i64::MAX);
    let sites =
        statement.query_map(params![request.now.0, max, asleep], |row| row.get(0).map(SiteId))?;
    Ok(sites.collect::<Result<_, _>>()?)
}

/// In the order of all pages.
fn due_parts(sql: &Sql, site: SiteId, request: &CheckOut, asleep: &str) -> Result<Lot, Fault> {
    let mut statement = sql.prepare(concat!(
        "SELECT ",
        page_columns!(),
        ", turn FROM pages WHERE site = ?1 AND requisite = 1 AND due <= ?2 \
         AND instr(?4, ',' || spider || ',') = 0 \
         ORDER BY level, due, fp LIMIT ?3"
    ))?;
    let max = i64::try_from(request.pages_max).unwrap_or(i64::MAX).saturating_add(1);
    let found = statement.query_map(params![site.0, request.now.0, max, asleep], |row| {
        Ok((page_from_row(row)?, row.get::<i64>(TURN)? != SEEN_AGAIN))
    })?;
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    let more = found.len() > request.pages_max;
    found.truncate(request.pages_max);
    let firsts = found.iter().filter(|(_, is_first)| *is_first).count();
    let pages = with_versions(sql, site, found.into_iter().map(|(found, _)| found).collect())?;
    Ok(Lot { pages, firsts, more, known: None })
}

#[cfg(test)]
mod tests;
