//! The internal pages of a page, for policies that ask whether these have changed: noted at its visit, counted by
//! keyed look-ups when its turn comes, and called up with it.

use model::{Children, Fingerprint, Page, SiteId, Timestamp};

use super::{
    rows::{Fault, stored_fp},
    sql_frontier::Work,
};
use crate::sql::{OptionalExtension, Sql, params};

/// Instead of those before.
pub(super) fn save(
    work: &Work<'_>,
    site: SiteId,
    fp: i64,
    children: &[Fingerprint],
) -> Result<(), Fault> {
    if children.is_empty() {
        work.sql
            .prepare("DELETE FROM page_children WHERE site = ?1 AND fp = ?2")?
            .execute(params![site.0, fp])?;
        return Ok(());
    }
    let kept = &children[..children.len().min(Children::MAX)];
    let packed: Vec<u8> = kept.iter().flat_map(|child| child.0.to_le_bytes()).collect();
    work.sql
        .prepare(
            "INSERT INTO page_children (site, fp, children) VALUES (?1, ?2, ?3) \
             ON CONFLICT (site, fp) DO UPDATE SET children = excluded.children",
        )?
        .execute(params![site.0, fp, packed])?;
    Ok(())
}

/// Tells the pages that have such a row what became of their children since they were last seen.
pub(super) fn count(sql: &Sql, site: SiteId, pages: &mut [Page]) -> Result<(), Fault> {
    let mut any = sql.prepare("SELECT 1 FROM page_children LIMIT 1")?;
    if pages.iter().all(|page| page.last.is_none()) || !any.exists([])? {
        return Ok(());
    }
    for page in pages.iter_mut().filter(|page| page.last.is_some()) {
        let since = page.habit.seen.unwrap_or(Timestamp::ZERO);
        page.children = look(sql, site, stored_fp(page.url.fingerprint()), since)?;
    }
    Ok(())
}

/// `None` where no children are noted.
fn look(sql: &Sql, site: SiteId, fp: i64, since: Timestamp) -> Result<Option<Children>, Fault> {
    let Some(packed) = load(sql, site, fp)? else { return Ok(None) };
    let mut statement = sql.prepare(
        "SELECT coalesce(visited, 0), coalesce(changed, 0), \
         CASE WHEN signals > 0 THEN coalesce(announced, 0) ELSE 0 END \
         FROM pages WHERE site = ?1 AND fp = ?2 AND state BETWEEN 1 AND 5",
    )?;
    let mut counted = Children::default();
    for child in unpack(&packed) {
        let found = statement.query_row(params![site.0, child], |row| {
            Ok([row.get::<i64>(0)?, row.get(1)?, row.get(2)?].map(|at| at > since.0))
        });
        let Some([visited, changed, announced]) = found.optional()? else { continue };
        counted.known += 1;
        counted.seen += u32::from(visited || announced);
        counted.changed += u32::from(changed || announced);
    }
    Ok(Some(counted))
}

/// Children of `parent` that were not visited since are due since then, so that they go along in one pass.
pub(super) fn call(
    work: &Work<'_>,
    site: SiteId,
    parent: Fingerprint,
    since: Timestamp,
) -> Result<(), Fault> {
    let Some(packed) = load(work.sql, site, stored_fp(parent))? else { return Ok(()) };
    let mut statement = work.sql.prepare(
        "UPDATE pages SET due = min(?3, ?4), price = 0 \
         WHERE site = ?1 AND fp = ?2 AND state BETWEEN 1 AND 5 \
         AND (due IS NULL OR due > ?3) AND (visited IS NULL OR visited <= ?4)",
    )?;
    for child in unpack(&packed) {
        statement.execute(params![site.0, child, work.now.0, since.0])?;
    }
    Ok(())
}

fn load(sql: &Sql, site: SiteId, fp: i64) -> Result<Option<Vec<u8>>, Fault> {
    let packed = sql
        .prepare("SELECT children FROM page_children WHERE site = ?1 AND fp = ?2")?
        .query_row(params![site.0, fp], |row| row.get(0))
        .optional()?;
    Ok(packed)
}

/// As they are stored in `pages`.
fn unpack(packed: &[u8]) -> impl Iterator<Item = i64> {
    packed.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests;
