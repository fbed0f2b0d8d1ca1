//! How pages change: what is kept with pages and sites, what others announce of them, and the looks at many pages
//! at once that planning needs.

use std::collections::{HashMap, HashSet};

use model::{
    Fingerprint, Habit, Milestone, Page, Signal, Site, SiteHabit, SiteId, SiteKey, SpiderId,
    Timestamp,
};

use super::{
    check_out::{load_site, rouse, stored},
    replicas::awake,
    rows::{Fault, fp_of, page_columns, page_from_row, site_habit_from_row, stored_fp},
    sql_frontier::Work,
};
use crate::sql::{self, OptionalExtension, Row, Sql, Statement, params};

/// What a visit or a verdict changes in the row of a page, …
macro_rules! update_row {
    ($habit:literal) => {
        concat!(
            "UPDATE pages SET state = ?3, due = ?4, failures = ?5, fetched = ?6, run = ?7, \
             visits = visits + ?8, visited = coalesce(?9, visited), turn = ?10",
            $habit,
            " WHERE site = ?1 AND fp = ?2"
        )
    };
}
pub(super) const UPDATE_ROW: &str = update_row!("");
/// … and the same with what was learned of it. What was announced meanwhile is kept.
pub(super) const UPDATE_ROW_AND_HABIT: &str = update_row!(
    ", shape = ?11, rate = ?12, first = ?13, seen = ?14, changed = ?15, compared = ?16, \
     changes = ?17, recent = ?18, fr_max = ?19, theta = ?20, signals = ?21, sources = ?22, \
     announced = coalesce(max(announced, ?23), announced, ?23), price = ?24"
);

/// What [`UPDATE_ROW_AND_HABIT`] has more than [`UPDATE_ROW`].
pub(super) fn bind(update: &mut Statement<'_>, habit: &Habit) -> sql::Result<()> {
    update.bind(11, habit.shape)?;
    update.bind(12, habit.rate)?;
    update.bind(13, stored(habit.first))?;
    update.bind(14, stored(habit.seen))?;
    update.bind(15, stored(habit.changed))?;
    update.bind(16, habit.compared)?;
    update.bind(17, habit.changes)?;
    update.bind(18, habit.recent)?;
    update.bind(19, habit.fr_max)?;
    update.bind(20, habit.theta)?;
    update.bind(21, habit.signals)?;
    update.bind(22, habit.sources)?;
    update.bind(23, stored(habit.announced))?;
    update.bind(24, habit.price)
}

pub(super) fn save_site(work: &Work<'_>, site: SiteId, habit: &SiteHabit) -> Result<(), Fault> {
    work.sql
        .prepare("UPDATE sites SET habit = ?2 WHERE id = ?1")?
        .execute(params![site.0, as_text(habit)])?;
    Ok(())
}

/// As it stands in the row of a site.
pub(super) fn as_text(habit: &SiteHabit) -> String {
    serde_json::to_string(habit).unwrap_or_default()
}

/// What [`Habit::hear`] says, for pages that are known. A believed one makes the page due, for its value has to
/// be reckoned anew; not one whose due was not reckoned by value (its visit would follow at once, whatever it is
/// worth), nor one that fails or is gone.
pub(super) fn announce(work: &Work<'_>, site: SiteId, signals: &[Signal]) -> Result<(), Fault> {
    if signals.is_empty() {
        return Ok(());
    }
    let mut sorted: Vec<&Signal> = signals.iter().filter(|signal| signal.at <= work.now).collect();
    // In the order of the table; of one page in the order of time, so that each is news that can be.
    sorted.sort_by_key(|signal| (stored_fp(signal.fp), signal.at));
    let mut note = work.sql.prepare(
        "UPDATE pages SET signals = min(signals + 1, ?4), sources = sources | ?5, announced = ?3 \
         WHERE site = ?1 AND fp = ?2 AND seen < ?3 AND (announced IS NULL OR announced < ?3)",
    )?;
    let mut hurry = work.sql.prepare(
        "UPDATE pages SET due = ?3 WHERE site = ?1 AND fp = ?2 AND due > ?3 \
         AND price > 0 AND state IN (2, 3)",
    )?;
    for signal in sorted {
        let fp = stored_fp(signal.fp);
        let (max, source) = (Habit::SIGNALS_MAX, signal.source.bit());
        let is_news = note.execute(params![site.0, fp, signal.at.0, max, source])? > 0;
        if is_news && signal.believed {
            hurry.execute(params![site.0, fp, work.now.0])?;
        }
    }
    Ok(())
}

/// Visits looked at for each page that is wanted: one in so many must be the newest of its page.
const DRAWS_PER_PAGE: u64 = 64;

/// At a gap in the numbers one of so many visits on either side is taken: its ends would be drawn far too often.
const NEAR_A_GAP: u64 = 512;

/// Pages drawn with equal chances, whatever the sizes of their sites: of all rows of visits, each page that was
/// fetched has exactly one at hand. Rows are drawn until enough of them are such.
pub(super) fn sample(
    sql: &Sql,
    removed: &[SpiderId],
    pages_max: usize,
    draw: u64,
) -> Result<Vec<(Page, SiteHabit)>, Fault> {
    let draws = DRAWS_PER_PAGE.saturating_mul(pages_max as u64);
    let rows = Drawn::of(sql, draws)?;
    let mut habits = HashMap::new();
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for place in scattered(rows.places(), draw).take(draws as usize) {
        if found.len() >= pages_max {
            break;
        }
        let Some(visit) = rows.at(sql, place)?.filter(|visit| seen.insert(visit.seq)) else {
            continue;
        };
        let Some(page) = at_hand(sql, &visit)? else { continue };
        if !removed.contains(&page.spider) {
            found.push((page, site_habit(sql, visit.site, &mut habits)?));
        }
    }
    Ok(found)
}

/// Where visits are drawn from. Their numbers rise, but any may be missing.
enum Drawn {
    /// So few that each can be looked at.
    All(Vec<i64>),
    Between(i64, i64),
}

struct DrawnVisit {
    seq: i64,
    site: SiteId,
    fp: i64,
}

impl Drawn {
    fn of(sql: &Sql, draws: u64) -> Result<Drawn, Fault> {
        // A row is of one visit at least.
        let visits = sql.query_row("SELECT visits FROM totals", [], |row| row.get::<i64>(0))?;
        if visits.unsigned_abs() <= draws {
            let mut all = sql.prepare("SELECT seq FROM visits ORDER BY seq")?;
            return Ok(Drawn::All(
                all.query_map([], |row| row.get(0))?.collect::<sql::Result<_>>()?,
            ));
        }
        let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let ends: (Option<i64>, Option<i64>) =
            sql.query_row("SELECT min(seq), max(seq) FROM visits", [], read)?;
        Ok(ends.0.zip(ends.1).map_or(Drawn::All(Vec::new()), |(a, b)| Drawn::Between(a, b)))
    }

    fn places(&self) -> u64 {
        match self {
            Drawn::All(numbers) => numbers.len() as u64,
            Drawn::Between(first, last) => last.abs_diff(*first).saturating_add(1),
        }
    }

    /// Counted from 1.
    fn at(&self, sql: &Sql, place: u64) -> Result<Option<DrawnVisit>, Fault> {
        let number = match self {
            Drawn::All(numbers) => numbers[place as usize - 1],
            Drawn::Between(first, _) => first.wrapping_add((place - 1) as i64),
        };
        let found = visit_near(sql, UPWARDS, number, 0)?;
        if found.as_ref().is_none_or(|visit| visit.seq == number) {
            return Ok(found);
        }
        let chance = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let way = if chance & 1 == 0 { UPWARDS } else { DOWNWARDS };
        visit_near(sql, way, number, (chance >> 1) % NEAR_A_GAP)
    }
}

const UPWARDS: &str =
    "SELECT seq, site, fp FROM visits WHERE seq >= ?1 ORDER BY seq LIMIT 1 OFFSET ?2";
const DOWNWARDS: &str =
    "SELECT seq, site, fp FROM visits WHERE seq < ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2";

/// The nearest visit to this number, or one so many behind it.
fn visit_near(sql: &Sql, way: &str, number: i64, behind: u64) -> Result<Option<DrawnVisit>, Fault> {
    let read = |row: Row<'_>| {
        Ok(DrawnVisit { seq: row.get(0)?, site: SiteId(row.get(1)?), fp: row.get(2)? })
    };
    let mut near = sql.prepare(way)?;
    Ok(near.query_row([number, behind as i64], read).optional()?)
}

/// The numbers 1 to `count`, each once, in steps of about the golden section: any run of them is spread over
/// all.
fn scattered(count: u64, draw: u64) -> impl Iterator<Item = u64> {
    let common = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (count as f64 * 0.618_033_988_749_894_9) as u64;
    let step = (golden.max(1)..).find(|step| common(*step, count.max(1)) == 1).unwrap_or(1);
    let begin = draw % count.max(1);
    (0..count).scan(begin, move |at, _| {
        let here = *at;
        *at = (u128::from(here) + u128::from(step)).rem_euclid(u128::from(count)) as u64;
        Some(here + 1)
    })
}

/// The page whose version at hand this visit is.
fn at_hand(sql: &Sql, visit: &DrawnVisit) -> Result<Option<Page>, Fault> {
    let page = sql
        .prepare(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND fp = ?2 AND run = ?3 AND turn = 2 AND requisite = 0"
        ))?
        .query_row([visit.site.0, visit.fp, visit.seq], page_from_row)
        .optional()?;
    Ok(page.map(|(page, _)| page))
}

fn site_habit(
    sql: &Sql,
    site: SiteId,
    habits: &mut HashMap<SiteId, SiteHabit>,
) -> Result<SiteHabit, Fault> {
    if let Some(habit) = habits.get(&site) {
        return Ok(habit.clone());
    }
    let habit = sql
        .prepare("SELECT habit FROM sites WHERE id = ?1")?
        .query_row([site.0], |row| site_habit_from_row(row, 0))
        .optional()?
        .unwrap_or_default();
    habits.insert(site, habit.clone());
    Ok(habit)
}

/// A site's own row, and the way to its pages, cost as much as so many of these.
const SITE_ROWS: usize = 8;

/// One site after the other; no more than one page is in memory. Rows of others are read, too: they are counted.
pub(super) fn survey(
    sql: &Sql,
    spider: SpiderId,
    from: Milestone,
    rows_max: usize,
    look: &mut dyn FnMut(&Site, &Page),
) -> Result<Option<Milestone>, Fault> {
    let mut left = rows_max;
    let mut next = from.site.0;
    loop {
        let ids = surveyed_ids(sql, next)?;
        for id in &ids {
            if left == 0 {
                return Ok(Some(Milestone { site: *id, page: None }));
            }
            let Some(site) = surveyed_site(sql, *id)? else { continue };
            left = left.saturating_sub(SITE_ROWS).max(1);
            let after = from.page.filter(|_| *id == from.site).map_or(i64::MIN, stored_fp);
            if let Some(page) = survey_site(sql, spider, (&site, after), &mut left, look)? {
                return Ok(Some(Milestone { site: *id, page: Some(page) }));
            }
        }
        match ids.last() {
            Some(last) => next = last.0 + 1,
            None => return Ok(None),
        }
    }
}

/// Sites from this number on, some at a time: nothing else is asked while rows come.
fn surveyed_ids(sql: &Sql, from: i64) -> Result<Vec<SiteId>, Fault> {
    let mut ids =
        sql.prepare("SELECT id FROM sites WHERE known > 0 AND id >= ?1 ORDER BY id LIMIT 256")?;
    let ids = ids.query_map([from], |row| row.get(0).map(SiteId))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Its pages behind `after`; where it stopped when no more rows may be read.
fn survey_site(
    sql: &Sql,
    spider: SpiderId,
    (site, after): (&Site, i64),
    left: &mut usize,
    look: &mut dyn FnMut(&Site, &Page),
) -> Result<Option<Fingerprint>, Fault> {
    let mut statement = sql.prepare(concat!(
        "SELECT ",
        page_columns!(),
        " FROM pages WHERE site = ?1 AND fp > ?2 ORDER BY fp"
    ))?;
    let mut rows = statement.query([site.id.0, after])?;
    while let Some(row) = rows.next()? {
        let (of, state): (u32, u8) = (row.get(2)?, row.get(3)?);
        if of == spider.0 && (1..=5).contains(&state) && !row.get::<bool>(10)? {
            look(site, &page_from_row(row)?.0);
        }
        *left -= 1;
        if *left == 0 {
            return Ok(Some(fp_of(row.get(0)?)));
        }
    }
    Ok(None)
}

fn surveyed_site(sql: &Sql, id: SiteId) -> Result<Option<Site>, Fault> {
    Ok(load_site(sql, id)?.map(|row| Site {
        id,
        key: SiteKey::stored(&row.key),
        seeded: row.seeded,
        counters: row.counters,
        clock: row.clock,
        habit: row.habit,
        traps: row.traps,
        robots: Vec::new(),
    }))
}

/// A transaction of so many page rows takes a tenth of a second or two; more would keep readers' journal long.
pub(super) const CALL_PAGES: usize = 10_000;

/// Pages that a judgement keeps out are not called, nor those of folded replicas. Pages are best given site by site.
pub(super) fn call(
    work: &mut Work<'_>,
    pages: &[(SiteId, Fingerprint)],
    since: Timestamp,
    now: Timestamp,
) -> Result<u64, Fault> {
    let mut sorted: Vec<(SiteId, i64)> =
        pages.iter().map(|(site, fp)| (*site, stored_fp(*fp))).collect();
    sorted.sort_unstable();
    let mut called = 0;
    let mut sites = HashSet::new();
    let mut statement = work.sql.prepare(concat!(
        "UPDATE pages SET due = ?3, price = 0 WHERE site = ?1 AND fp = ?2 \
         AND state BETWEEN 1 AND 5 AND (due IS NULL OR due > ?3) \
         AND (visited IS NULL OR visited <= ?4 OR visited > ?3) AND ",
        awake!()
    ))?;
    for (site, fp) in sorted {
        if statement.execute(params![site.0, fp, now.0, since.0])? > 0 {
            called += 1;
            sites.insert(site);
        }
    }
    drop(statement);
    for site in sites {
        if !is_leased(work.sql, site)? {
            rouse(work, site)?;
        }
    }
    Ok(called)
}

pub(super) fn is_leased(sql: &Sql, site: SiteId) -> Result<bool, Fault> {
    let mut statement = sql.prepare("SELECT 1 FROM sites WHERE id = ?1 AND leased = 1")?;
    Ok(statement.exists([site.0])?)
}

/// A page as it would be lent, without its last version, and what is known of its site.
pub(crate) fn outlook(
    sql: &Sql,
    site: &str,
    fp: Fingerprint,
) -> sql::Result<Option<(Page, SiteHabit)>> {
    let habit = sql
        .prepare("SELECT id, habit FROM sites WHERE key = ?1")?
        .query_row([site], |row| Ok((row.get::<i64>(0)?, site_habit_from_row(row, 1)?)))
        .optional()?;
    let Some((id, habit)) = habit else { return Ok(None) };
    let page = sql
        .prepare(concat!("SELECT ", page_columns!(), " FROM pages WHERE site = ?1 AND fp = ?2"))?
        .query_row(params![id, stored_fp(fp)], page_from_row)
        .optional()?;
    Ok(page.map(|(page, _)| (page, habit)))
}

#[cfg(test)]
mod tests;
