//! The due pages of one site, breadth-first: by level, then due, then fingerprint (as stored, signed).
//!
//! The index is walked level by level, in two streams (never fetched, fetched before) that are merged;
//! nothing is sorted and no page that is not due is looked at.

use std::collections::HashSet;

use model::{Fingerprint, Page, SiteId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{
    Fault, LAST_VERSION, fp_of, last_version_from_row, page_columns, page_from_row, stored_fp,
};

/// Which pages of a site are asked for.
pub(super) struct Wanted {
    pub site: SiteId,
    pub until: Timestamp,
    pub revisits_only: bool,
    pub pages_max: usize,
}

/// What a site is lent out with.
pub(super) struct Lot {
    pub pages: Vec<Page>,
    /// There are more due pages.
    pub more: bool,
    /// All fingerprints of the site, where they came along.
    pub known: Option<Vec<Fingerprint>>,
}

/// A page and the visit that holds its version.
type Found = (Page, Option<i64>);

impl Wanted {
    /// The pages in order, and whether there are more.
    pub fn pages(
        &self,
        sql: &Connection,
        except: &HashSet<Fingerprint>,
    ) -> Result<(Vec<Page>, bool), Fault> {
        let mut found = self.stream(sql, true, except)?;
        if !self.revisits_only {
            found.extend(self.stream(sql, false, except)?);
        }
        self.first(sql, found)
    }

    /// The same by reading all of a small site, with its fingerprints; when nothing is due yet, what is
    /// due by `horizon`.
    pub fn scan(&self, sql: &Connection, horizon: Timestamp) -> Result<Lot, Fault> {
        let mut statement = sql.prepare_cached(concat!(
            "SELECT ",
            page_columns!(),
            ", fetched FROM pages WHERE site = ?1"
        ))?;
        let mut rows = statement.query([self.site.0])?;
        let (mut found, mut known) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            if !row.get::<_, bool>(10)? {
                known.push(fp_of(row.get(0)?));
            }
            let is_due = row.get::<_, Option<i64>>(7)?.is_some_and(|due| due <= horizon.0);
            if is_due && (!self.revisits_only || row.get(14)?) {
                found.push(page_from_row(row)?);
            }
        }
        if found.iter().any(|(page, _)| page.due <= self.until) {
            found.retain(|(page, _)| page.due <= self.until);
        }
        let (pages, more) = self.first(sql, found)?;
        Ok(Lot { pages, more, known: Some(known) })
    }

    fn first(&self, sql: &Connection, mut found: Vec<Found>) -> Result<(Vec<Page>, bool), Fault> {
        found.sort_unstable_by_key(|(page, _)| {
            (page.level, page.due, stored_fp(page.url.fingerprint()))
        });
        let more = found.len() > self.pages_max;
        found.truncate(self.pages_max);
        Ok((with_versions(sql, found)?, more))
    }

    /// One more than asked for, so that the caller sees whether there are more.
    fn stream(
        &self,
        sql: &Connection,
        fetched: bool,
        except: &HashSet<Fingerprint>,
    ) -> Result<Vec<Found>, Fault> {
        let mut found = Vec::new();
        let mut levels = Levels { site: self.site, fetched, from: 0 };
        while let Some((level, due)) = levels.next(sql)? {
            if due > self.until {
                continue;
            }
            self.level(sql, fetched, level, except, &mut found)?;
            if found.len() > self.pages_max {
                break;
            }
        }
        Ok(found)
    }

    fn level(
        &self,
        sql: &Connection,
        fetched: bool,
        level: i64,
        except: &HashSet<Fingerprint>,
        found: &mut Vec<Found>,
    ) -> Result<(), Fault> {
        let mut statement = sql.prepare_cached(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND fetched = ?2 AND level = ?3 \
             AND due IS NOT NULL AND due <= ?4 ORDER BY due, fp"
        ))?;
        let mut rows = statement.query(params![self.site.0, fetched, level, self.until.0])?;
        while let Some(row) = rows.next()? {
            if !except.contains(&fp_of(row.get(0)?)) {
                found.push(page_from_row(row)?);
            }
            if found.len() > self.pages_max {
                break;
            }
        }
        Ok(())
    }
}

/// Exactly these pages, due or not, as far as they are there.
pub(super) fn named_pages(
    sql: &Connection,
    site: SiteId,
    names: &[Fingerprint],
) -> Result<Vec<Page>, Fault> {
    let mut statement = sql.prepare_cached(concat!(
        "SELECT ",
        page_columns!(),
        " FROM pages WHERE site = ?1 AND fp = ?2"
    ))?;
    let mut found = Vec::with_capacity(names.len());
    for fp in names {
        found.extend(
            statement.query_row(params![site.0, stored_fp(*fp)], page_from_row).optional()?,
        );
    }
    with_versions(sql, found)
}

/// When the site is due next by its pages, and whether its limit keeps pages out of that.
pub(super) fn earliest(
    sql: &Connection,
    site: SiteId,
    revisits_only: bool,
) -> Result<(Option<Timestamp>, bool), Fault> {
    let revisit = earliest_of(sql, site, true)?;
    let new = earliest_of(sql, site, false)?;
    if revisits_only {
        return Ok((revisit, new.is_some()));
    }
    Ok((revisit.into_iter().chain(new).min(), false))
}

fn earliest_of(sql: &Connection, site: SiteId, fetched: bool) -> Result<Option<Timestamp>, Fault> {
    let mut levels = Levels { site, fetched, from: 0 };
    let mut earliest = None;
    while let Some((_, due)) = levels.next(sql)? {
        earliest = Some(earliest.map_or(due, |known: Timestamp| known.min(due)));
    }
    Ok(earliest)
}

/// The levels that have pages with a due, each with its earliest: one look at the index per level.
struct Levels {
    site: SiteId,
    fetched: bool,
    from: i64,
}

impl Levels {
    fn next(&mut self, sql: &Connection) -> Result<Option<(i64, Timestamp)>, Fault> {
        let next = sql
            .prepare_cached(
                "SELECT level, due FROM pages WHERE site = ?1 AND fetched = ?2 AND level >= ?3 \
                 AND due IS NOT NULL ORDER BY level, due LIMIT 1",
            )?
            .query_row(params![self.site.0, self.fetched, self.from], |row| {
                Ok((row.get(0)?, Timestamp(row.get(1)?)))
            })
            .optional()?;
        if let Some((level, _)) = next {
            self.from = level + 1;
        }
        Ok(next)
    }
}

pub(super) fn with_versions(sql: &Connection, found: Vec<Found>) -> Result<Vec<Page>, Fault> {
    let mut statement = sql.prepare_cached(LAST_VERSION)?;
    found
        .into_iter()
        .map(|(mut page, run)| {
            if let Some(seq) = run {
                page.last = statement.query_row([seq], last_version_from_row).optional()?;
            }
            Ok(page)
        })
        .collect()
}
