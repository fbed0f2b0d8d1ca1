//! How visits have adapted to pages: the columns of Bouras' table 2 (seed 000), for seeds or for all pages.
//!
//! The paper counts changes in the last 10 crawls, of the page and of its internal pages. Which pages a page
//! links to is in the link segments; here its internal pages are the pages of its site that lie deeper, which
//! for a seed (a site's entry page) are the same ones.

use std::time::Duration;

use model::{PageState, SpiderId, StoreError, Timestamp};
use serde::Serialize;

use crate::sql::{self, Row, Sql, params};
use crate::{census::Census, frontier::unpack_times};

/// Of the paper's table.
const LAST: u32 = 10;

/// Internal pages looked at: a share of 10,000 is as good as one of a million.
const INTERNAL_MAX: u32 = 10_000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Adaptation {
    pub url: String,
    pub spider: String,
    pub seed: bool,
    pub state: PageState,
    pub links_internal: u32,
    pub links_external: u32,
    pub visits: u64,
    /// The last 10 comparisons, or as many as there were, …
    pub compared: u32,
    /// … and those among them that showed a change.
    pub changes: u32,
    /// Internal pages that were compared at least once, …
    pub internal_pages: u32,
    /// … their last 10 comparisons, …
    pub internal_compared: u64,
    /// … and those among them that showed a change.
    pub internal_changes: u64,
    /// Of the policy "frequency"; 0 under others.
    pub fr_max: u16,
    /// Between the last two visits.
    pub period_before_ms: Option<u64>,
    /// From the last visit to the next.
    pub period_now_ms: Option<u64>,
    pub visited: Option<Timestamp>,
    pub due: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdaptationFilter {
    pub spider: Option<SpiderId>,
    /// Key of a site.
    pub site: Option<String>,
    /// Every page that was fetched, not the seeds alone.
    pub all: bool,
}

impl Census {
    /// Seeds or pages that were fetched, by site and level; at most `max`.
    pub fn adaptation(
        &self,
        filter: &AdaptationFilter,
        max: u32,
    ) -> Result<Vec<Adaptation>, StoreError> {
        let mut rows = self.ask(|sql| {
            let question = format!(
                "SELECT p.site, p.fp, p.level, p.recent, p.compared, p.url, n.name, p.seed, \
                 p.state, coalesce(f.links_internal, 0), coalesce(f.links_external, 0), p.visits, \
                 p.fr_max, p.visited, p.due FROM {} JOIN sites s ON s.id = p.site \
                 LEFT JOIN spiders n ON n.id = p.spider \
                 LEFT JOIN page_facts f ON f.site = p.site AND f.fp = p.fp \
                 WHERE p.requisite = 0 AND {} AND (CAST(?1 AS BIGINT) IS NULL OR p.spider = ?1) \
                 AND (CAST(?2 AS TEXT) IS NULL OR s.key = ?2) ORDER BY p.site, p.level, p.url LIMIT ?3",
                if filter.all { "pages p" } else { "pages p /*INDEXED BY pages_seed*/" },
                if filter.all { "p.fetched = 1" } else { "p.seed = 1" },
            );
            sql.prepare_hinted(&question)?
                .query_map(params![filter.spider.map(|id| id.0), filter.site, max], page)?
                .collect::<sql::Result<Vec<Found>>>()
        })?;
        for row in &mut rows {
            self.ask(|sql| row.look_around(sql))?;
        }
        Ok(rows.into_iter().map(|row| row.told).collect())
    }
}

/// A page on the way to its line.
struct Found {
    site: i64,
    fp: i64,
    level: u16,
    told: Adaptation,
}

impl Found {
    /// Its internal pages and its last two visits.
    fn look_around(&mut self, sql: &Sql) -> sql::Result<()> {
        let mut statement = sql.prepare(
            "SELECT recent, compared FROM pages WHERE site = ?1 AND level > ?2 AND fp <> ?3 \
             AND compared > 0 AND requisite = 0 LIMIT ?4",
        )?;
        let mut rows = statement.query(params![self.site, self.level, self.fp, INTERNAL_MAX])?;
        while let Some(row) = rows.next()? {
            let (compared, changes) = last_ten(row.get(0)?, row.get(1)?);
            self.told.internal_pages += 1;
            self.told.internal_compared += u64::from(compared);
            self.told.internal_changes += u64::from(changes);
        }
        drop(rows);
        let last = last_two(sql, self.site, self.fp)?;
        if let [before, now] = last[..] {
            self.told.period_before_ms = Some(millis(now.since(before)));
        }
        self.told.period_now_ms = match (self.told.due, self.told.visited) {
            (Some(due), Some(visited)) => Some(millis(due.since(visited))),
            _ => None,
        };
        Ok(())
    }
}

fn page(row: Row<'_>) -> sql::Result<Found> {
    let (compared, changes) = last_ten(row.get(3)?, row.get(4)?);
    let moment = |column: usize| row.get::<Option<i64>>(column).map(|at| at.map(Timestamp));
    let told = Adaptation {
        url: row.get(5)?,
        spider: row.get::<Option<String>>(6)?.unwrap_or_default(),
        seed: row.get(7)?,
        state: PageState::from_stored(row.get(8)?).unwrap_or(PageState::Known),
        links_internal: row.get(9)?,
        links_external: row.get(10)?,
        visits: row.get::<i64>(11)? as u64,
        compared,
        changes,
        internal_pages: 0,
        internal_compared: 0,
        internal_changes: 0,
        fr_max: row.get(12)?,
        period_before_ms: None,
        period_now_ms: None,
        visited: moment(13)?,
        due: moment(14)?,
    };
    Ok(Found { site: row.get(0)?, fp: row.get(1)?, level: row.get(2)?, told })
}

/// How many of the last ten comparisons there were, and how many showed a change.
fn last_ten(recent: u32, compared: u32) -> (u32, u32) {
    let looked = compared.min(LAST);
    (looked, (recent & ((1 << looked) - 1)).count_ones())
}

/// The last two visits that were an answer or none, in order of time.
fn last_two(sql: &Sql, site: i64, fp: i64) -> sql::Result<Vec<Timestamp>> {
    let mut statement = sql.prepare(
        "SELECT first, times FROM visits WHERE site = ?1 AND fp = ?2 ORDER BY seq DESC LIMIT 2",
    )?;
    let mut times = Vec::new();
    let mut rows = statement.query([site, fp])?;
    while let Some(row) = rows.next()? {
        let packed = row.bytes(1)?;
        times.extend(unpack_times(Timestamp(row.get(0)?), packed));
    }
    times.sort_unstable();
    Ok(times.split_off(times.len().saturating_sub(2)))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
