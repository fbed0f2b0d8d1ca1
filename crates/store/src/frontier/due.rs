//! The due pages of one site, breadth-first: by level, then due, then fingerprint (as stored, signed).
//!
//! The index is walked in streams (spider, turn), each level by level, and merged; nothing is sorted but
//! what was asked for, no page that is not due is looked at, and closed streams are passed in one step.

use std::collections::HashSet;

use model::{Fingerprint, Page, SiteId, SpiderId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{
    Fault, LAST_VERSION, fp_of, last_version_from_row, page_columns, page_from_row, stored_fp,
};

/// Which pages of a site are asked for.
pub(super) struct Wanted<'a> {
    pub site: SiteId,
    pub until: Timestamp,
    pub closed: &'a Closed,
    pub pages_max: usize,
}

/// What of a site is not lent out.
#[derive(Debug, Default)]
pub(super) struct Closed {
    pub asleep: Vec<SpiderId>,
    /// Their pages that were never fetched.
    pub full: Vec<SpiderId>,
    /// As if their pages were not known: whoever finds them takes them over. They are asleep, too.
    pub removed: Vec<SpiderId>,
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

/// `pages.turn` of a page that is neither to be judged nor to be seen again.
const FIRST_FETCH: i64 = 1;

impl Closed {
    fn shuts(&self, spider: SpiderId, turn: i64) -> bool {
        self.asleep.contains(&spider) || turn == FIRST_FETCH && self.full.contains(&spider)
    }
}

impl Wanted<'_> {
    /// The pages in order, and whether there are more.
    pub fn pages(
        &self,
        sql: &Connection,
        except: &HashSet<Fingerprint>,
    ) -> Result<(Vec<Page>, bool), Fault> {
        let mut found = Vec::new();
        let mut steps = Steps::of(self.site);
        let (mut stream, mut begin) = ((SpiderId(0), 0), 0);
        while let Some(step) = steps.next(sql)? {
            if self.closed.shuts(step.spider, step.turn) {
                steps.pass(&step, self.closed);
                continue;
            }
            if stream != (step.spider, step.turn) {
                (stream, begin) = ((step.spider, step.turn), found.len());
            }
            // One more than asked for of each stream, so that the caller sees whether there are more.
            let enough = begin.saturating_add(self.pages_max).saturating_add(1);
            if step.due <= self.until {
                self.level(sql, &step, except, enough, &mut found)?;
            }
            if found.len() >= enough {
                steps.pass(&step, self.closed);
            }
        }
        self.first(sql, found)
    }

    /// The same by reading all of a small site, with its fingerprints; when nothing is due yet, what is
    /// due by `horizon`.
    pub fn scan(&self, sql: &Connection, horizon: Timestamp) -> Result<Lot, Fault> {
        let mut statement = sql.prepare_cached(concat!(
            "SELECT ",
            page_columns!(),
            ", turn FROM pages WHERE site = ?1"
        ))?;
        let mut rows = statement.query([self.site.0])?;
        let (mut found, mut known) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let spider = SpiderId(row.get(2)?);
            let is_part: bool = row.get(10)?;
            if !is_part && !self.closed.removed.contains(&spider) {
                known.push(fp_of(row.get(0)?));
            }
            let is_due = row.get::<_, Option<i64>>(7)?.is_some_and(|due| due <= horizon.0);
            if is_due && !self.closed.shuts(spider, row.get(27)?) {
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

    fn level(
        &self,
        sql: &Connection,
        step: &Step,
        except: &HashSet<Fingerprint>,
        enough: usize,
        found: &mut Vec<Found>,
    ) -> Result<(), Fault> {
        let mut statement = sql.prepare_cached(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND spider = ?2 AND turn = ?3 AND level = ?4 \
             AND due IS NOT NULL AND due <= ?5 ORDER BY due, fp"
        ))?;
        let (site, until) = (self.site.0, self.until.0);
        let mut rows =
            statement.query(params![site, step.spider.0, step.turn, step.level, until])?;
        while found.len() < enough
            && let Some(row) = rows.next()?
        {
            if !except.contains(&fp_of(row.get(0)?)) {
                found.push(page_from_row(row)?);
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

/// When the site is due next by its pages, and whether pages are left out of that.
pub(super) fn earliest(
    sql: &Connection,
    site: SiteId,
    closed: &Closed,
) -> Result<(Option<Timestamp>, bool), Fault> {
    let mut steps = Steps::of(site);
    let (mut earliest, mut left_out) = (None, false);
    while let Some(step) = steps.next(sql)? {
        if closed.shuts(step.spider, step.turn) {
            left_out = true;
            steps.pass(&step, closed);
            continue;
        }
        earliest = Some(earliest.map_or(step.due, |known: Timestamp| known.min(step.due)));
    }
    Ok((earliest, left_out))
}

/// A spider's pages of one turn and level, with the earliest due among them.
struct Step {
    spider: SpiderId,
    turn: i64,
    level: i64,
    due: Timestamp,
}

/// Those that have pages with a due: one look at the index each.
struct Steps {
    site: SiteId,
    /// (spider, turn, level)
    after: (i64, i64, i64),
}

impl Steps {
    fn of(site: SiteId) -> Steps {
        Steps { site, after: (-1, 0, 0) }
    }

    fn next(&mut self, sql: &Connection) -> Result<Option<Step>, Fault> {
        let (spider, turn, level) = self.after;
        let step = sql
            .prepare_cached(
                "SELECT spider, turn, level, due FROM pages WHERE site = ?1 \
                 AND (spider, turn, level) > (?2, ?3, ?4) AND due IS NOT NULL \
                 ORDER BY spider, turn, level, due LIMIT 1",
            )?
            .query_row(params![self.site.0, spider, turn, level], |row| {
                Ok(Step {
                    spider: SpiderId(row.get(0)?),
                    turn: row.get(1)?,
                    level: row.get(2)?,
                    due: Timestamp(row.get(3)?),
                })
            })
            .optional()?;
        if let Some(step) = &step {
            self.after = (i64::from(step.spider.0), step.turn, step.level);
        }
        Ok(step)
    }

    /// Over the rest of this stream, or over all of the spider where it is asleep.
    fn pass(&mut self, step: &Step, closed: &Closed) {
        let turn = if closed.asleep.contains(&step.spider) { i64::MAX } else { step.turn };
        self.after = (i64::from(step.spider.0), turn, i64::MAX);
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
