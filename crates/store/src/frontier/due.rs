//! The due pages of one site: of its first queue breadth-first (by level, then due, then fingerprint as stored,
//! signed), of its second by due alone.
//!
//! The index of the first is walked in streams (spider, turn), each level by level, that of the second in
//! streams alone, and merged; nothing is sorted but what was asked for, no page that is not due is looked at, and
//! closed streams are passed in one step.

use std::{collections::HashSet, path::Path};

use model::{Fingerprint, Page, SiteId, SpiderId, StoreError, Timestamp, Unpaid};

use super::{
    children,
    rows::{
        Fault, LAST_VERSION, TURN, fp_of, last_version_from_row, page_columns, page_from_row,
        stored_fp,
    },
    tally::{ANSWERED, SEEN_AGAIN},
};
use crate::sql::{self, OptionalExtension, Sql, params, store_error};

/// Which pages of a site are asked for.
pub(super) struct Wanted<'a> {
    pub site: SiteId,
    pub closed: &'a Closed,
    pub pages_max: usize,
    /// Of the first queue, what is due by this moment.
    pub firsts: Option<Timestamp>,
    pub again: Option<Again>,
}

/// Of the second queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// What is due by this moment.
    pub until: Timestamp,
    /// At most so many; `None`: all.
    pub max: Option<usize>,
    /// The site is lent for these: one comes in any case.
    pub reason: bool,
}

/// What of a site is not lent out.
#[derive(Debug, Default)]
pub(super) struct Closed {
    pub asleep: Vec<SpiderId>,
    /// Their pages that were never fetched.
    pub full: Vec<SpiderId>,
    /// As if their pages were not known: whoever finds them takes them over. They are asleep, too.
    pub removed: Vec<SpiderId>,
    /// As a single check-out asks; no site rests by it.
    pub unpaid: Unpaid,
}

/// What a site is lent out with.
#[derive(Default)]
pub(super) struct Lot {
    pub pages: Vec<Page>,
    /// How many of them are of the first queue; the others are seen again.
    pub firsts: usize,
    /// There are more due pages, of those that are not counted out.
    pub more: bool,
    /// All fingerprints of the site, where they came along.
    pub known: Option<Vec<Fingerprint>>,
}

/// When a site is due by its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dues {
    pub first: Option<Timestamp>,
    pub again: Option<Timestamp>,
    /// Pages are left out of that, because they are closed.
    pub left_out: bool,
}

/// A page and the visit that holds its version.
type Found = (Page, Option<i64>);

/// `pages.turn` of a page that is to be fetched for the first time.
const FIRST_FETCH: i64 = 1;

impl Closed {
    fn shuts(&self, spider: SpiderId, turn: i64) -> bool {
        // What would be its first content a limit on pages holds back.
        let counts = turn == FIRST_FETCH || turn == ANSWERED;
        let again = turn == SEEN_AGAIN || turn == ANSWERED;
        let unpaid = if again { &self.unpaid.again } else { &self.unpaid.firsts };
        self.asleep.contains(&spider)
            || counts && self.full.contains(&spider)
            || unpaid.contains(&spider)
    }
}

impl Lot {
    pub fn again(&self) -> usize {
        self.pages.len() - self.firsts
    }
}

impl Wanted<'_> {
    /// The pages by way of the indexes: what this costs follows from what is due.
    pub fn pages(&self, sql: &Sql, except: &HashSet<Fingerprint>) -> Result<Lot, Fault> {
        let firsts = match self.firsts {
            Some(until) => self.first_queue(sql, until, except)?,
            None => Vec::new(),
        };
        let again = match self.again {
            Some(again) => self.second_queue(sql, again, except)?,
            None => Vec::new(),
        };
        self.lot(sql, firsts, again)
    }

    /// The same by reading all of a small site, with its fingerprints.
    pub fn scan(&self, sql: &Sql) -> Result<Lot, Fault> {
        let mut statement =
            sql.prepare(concat!("SELECT ", page_columns!(), ", turn FROM pages WHERE site = ?1"))?;
        let mut rows = statement.query([self.site.0])?;
        let (mut firsts, mut again, mut known) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let (spider, turn) = (SpiderId(row.get(2)?), row.get(TURN)?);
            let is_part: bool = row.get(10)?;
            if !is_part && !self.closed.removed.contains(&spider) {
                known.push(fp_of(row.get(0)?));
            }
            let (queue, until) = match turn {
                SEEN_AGAIN | ANSWERED => (&mut again, self.again.map(|again| again.until)),
                _ => (&mut firsts, self.firsts),
            };
            let due = row.get::<Option<i64>>(7)?.map(Timestamp);
            let is_due = due.zip(until).is_some_and(|(due, until)| due <= until);
            if is_due && !self.closed.shuts(spider, turn) {
                queue.push(page_from_row(row)?);
            }
        }
        drop(rows);
        let lot = self.lot(sql, firsts, again)?;
        Ok(Lot { known: Some(known), ..lot })
    }

    /// As many of both as there is room for; of the second queue half at most where both want it all.
    fn lot(&self, sql: &Sql, mut firsts: Vec<Found>, mut again: Vec<Found>) -> Result<Lot, Fault> {
        let max = self.pages_max;
        let limit = self.again.and_then(|again| again.max);
        let for_again = self.again.is_some_and(|again| again.reason);
        let half = if for_again { max.div_ceil(2) } else { max / 2 };
        let kept_first = firsts.len().min(max);
        let kept_again = again.len().min(limit.unwrap_or(max)).min(half.max(max - kept_first));
        let kept_first = kept_first.min(max - kept_again);
        let more = firsts.len() > kept_first || limit.is_none() && again.len() > kept_again;
        firsts.sort_unstable_by_key(|(page, _)| in_order(page));
        firsts.truncate(kept_first);
        again.sort_unstable_by_key(|(page, _)| (page.due, stored_fp(page.url.fingerprint())));
        again.truncate(kept_again);
        firsts.append(&mut again);
        firsts.sort_unstable_by_key(|(page, _)| in_order(page));
        let pages = with_versions(sql, self.site, firsts)?;
        Ok(Lot { pages, firsts: kept_first, more, known: None })
    }

    fn first_queue(
        &self,
        sql: &Sql,
        until: Timestamp,
        except: &HashSet<Fingerprint>,
    ) -> Result<Vec<Found>, Fault> {
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
            if step.due <= until {
                self.level(sql, &step, until, except, enough, &mut found)?;
            }
            if found.len() >= enough {
                steps.pass(&step, self.closed);
            }
        }
        Ok(found)
    }

    fn level(
        &self,
        sql: &Sql,
        step: &Step,
        until: Timestamp,
        except: &HashSet<Fingerprint>,
        enough: usize,
        found: &mut Vec<Found>,
    ) -> Result<(), Fault> {
        let mut statement = sql.prepare(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND spider = ?2 AND turn NOT IN (2, 4) AND turn = ?3 AND level = ?4 \
             AND due IS NOT NULL AND due <= ?5 ORDER BY due, fp"
        ))?;
        let of = params![self.site.0, step.spider.0, step.turn, step.level, until.0];
        take(&mut statement.query(of)?, except, enough, found)
    }

    fn second_queue(
        &self,
        sql: &Sql,
        again: Again,
        except: &HashSet<Fingerprint>,
    ) -> Result<Vec<Found>, Fault> {
        let mut found = Vec::new();
        let max = again.max.unwrap_or(self.pages_max).min(self.pages_max);
        let mut after = (-1, 0);
        while let Some((spider, turn, due)) = next_again(sql, self.site, after)? {
            after = (i64::from(spider.0), turn);
            if due > again.until || self.closed.shuts(spider, turn) {
                continue;
            }
            let enough = found.len().saturating_add(max).saturating_add(1);
            let mut statement = sql.prepare(concat!(
                "SELECT ",
                page_columns!(),
                " FROM pages WHERE site = ?1 AND spider = ?2 AND turn IN (2, 4) AND turn = ?3 \
                 AND due IS NOT NULL AND due <= ?4 ORDER BY due, fp"
            ))?;
            let of = params![self.site.0, spider.0, turn, again.until.0];
            take(&mut statement.query(of)?, except, enough, &mut found)?;
        }
        Ok(found)
    }
}

fn take(
    rows: &mut sql::Rows<'_>,
    except: &HashSet<Fingerprint>,
    enough: usize,
    found: &mut Vec<Found>,
) -> Result<(), Fault> {
    while found.len() < enough
        && let Some(row) = rows.next()?
    {
        if !except.contains(&fp_of(row.get(0)?)) {
            found.push(page_from_row(row)?);
        }
    }
    Ok(())
}

fn in_order(page: &Page) -> (u16, Timestamp, i64) {
    (page.level, page.due, stored_fp(page.url.fingerprint()))
}

/// Exactly these pages, due or not, as far as they are there.
pub(super) fn named_pages(
    sql: &Sql,
    site: SiteId,
    names: &[Fingerprint],
) -> Result<Vec<Page>, Fault> {
    let mut statement = sql.prepare(concat!(
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
    with_versions(sql, site, found)
}

/// When the site is due next by its pages, also those that are not visited at present: for those who only look.
pub(crate) fn earliest_due(
    sql: &Sql,
    site: SiteId,
    path: &Path,
) -> Result<Option<Timestamp>, StoreError> {
    let dues = earliest(sql, site, &Closed::default()).map_err(|fault| match fault {
        Fault::Sql(error) => store_error(path, error),
        Fault::Store(error) => error,
    })?;
    Ok([dues.first, dues.again].into_iter().flatten().min())
}

/// When the site is due next by its pages.
pub(super) fn earliest(sql: &Sql, site: SiteId, closed: &Closed) -> Result<Dues, Fault> {
    let earlier = |known: Option<Timestamp>, due| Some(known.map_or(due, |known| known.min(due)));
    let mut dues = Dues::default();
    let mut steps = Steps::of(site);
    while let Some(step) = steps.next(sql)? {
        if closed.shuts(step.spider, step.turn) {
            dues.left_out = true;
            steps.pass(&step, closed);
            continue;
        }
        dues.first = earlier(dues.first, step.due);
    }
    let mut after = (-1, 0);
    while let Some((spider, turn, due)) = next_again(sql, site, after)? {
        after = (i64::from(spider.0), turn);
        if closed.shuts(spider, turn) {
            dues.left_out = true;
        } else {
            dues.again = earlier(dues.again, due);
        }
    }
    Ok(dues)
}

/// The next spider and turn with pages to be seen again, and when the earliest of them is due.
fn next_again(
    sql: &Sql,
    site: SiteId,
    (spider, turn): (i64, i64),
) -> Result<Option<(SpiderId, i64, Timestamp)>, Fault> {
    let next = sql
        .prepare(
            "SELECT spider, turn, due FROM pages WHERE site = ?1 AND (spider, turn) > (?2, ?3) \
             AND turn IN (2, 4) AND due IS NOT NULL ORDER BY spider, turn, due LIMIT 1",
        )?
        .query_row(params![site.0, spider, turn], |row| {
            Ok((SpiderId(row.get(0)?), row.get(1)?, Timestamp(row.get(2)?)))
        })
        .optional()?;
    Ok(next)
}

/// A spider's pages of one turn and level, with the earliest due among them.
struct Step {
    spider: SpiderId,
    turn: i64,
    level: i64,
    due: Timestamp,
}

/// Those of the first queue that have pages with a due: one look at the index each.
struct Steps {
    site: SiteId,
    /// (spider, turn, level)
    after: (i64, i64, i64),
}

impl Steps {
    fn of(site: SiteId) -> Steps {
        Steps { site, after: (-1, 0, 0) }
    }

    fn next(&mut self, sql: &Sql) -> Result<Option<Step>, Fault> {
        let (spider, turn, level) = self.after;
        let step = sql
            .prepare(
                "SELECT spider, turn, level, due FROM pages WHERE site = ?1 \
                 AND (spider, turn, level) > (?2, ?3, ?4) AND turn NOT IN (2, 4) AND due IS NOT NULL \
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

pub(super) fn with_versions(
    sql: &Sql,
    site: SiteId,
    found: Vec<Found>,
) -> Result<Vec<Page>, Fault> {
    let mut statement = sql.prepare(LAST_VERSION)?;
    let mut pages = Vec::with_capacity(found.len());
    for (mut page, run) in found {
        if let Some(seq) = run {
            page.last = statement.query_row([seq], last_version_from_row).optional()?;
        }
        pages.push(page);
    }
    children::count(sql, site, &mut pages)?;
    Ok(pages)
}
