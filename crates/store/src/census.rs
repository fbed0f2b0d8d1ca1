//! Looking without touching: what the commands that list and explain read, also while a crawl runs.
//!
//! Every question is a short read of its own, so no answer keeps the crawl's journal from starting over.

mod hazards;
mod links;
mod moments;
mod pages;
mod replicas;
mod sites;

use std::path::PathBuf;

use model::{
    Change, Counts, CrawlUrl, Fingerprint, Page, PageFacts, PageState, RecordLocation, RobotsCopy,
    SiteCounters, SiteHabit, SiteId, SiteTraps, SpiderId, StoreError, Timestamp,
};
use serde::Serialize;

use crate::{
    blocks::{BlockEntry, block_entry, each_block},
    collection::Collection,
    frontier::{
        BatchRow, Breakdown, FACTS, HARVESTED, REACH_KEPT, ROBOTS, Seed, earliest_due,
        facts_from_row, list_batches, load_totals, record_from_row, robots_from_row, unpack_times,
    },
    migrate::{SCHEMA, migrate, schema_of},
    runs::Run,
    spiders::SpiderRow,
    sql::{self, OptionalExtension, Row, Sql, open_reader, open_writer, params, store_error},
};

pub use self::{
    hazards::HazardEntry,
    links::{BrokenFilter, PageStanding},
    moments::PageMoments,
    pages::{PageFilter, PagePlace, PageRow, PageSort, Period, SORTED_MAX, SortValue},
    replicas::{DocumentEntry, SiteStanding},
    sites::{SiteFilter, SitePlace, SiteRow, SiteSort, SiteState},
};

pub struct Census {
    collection: Collection,
    path: PathBuf,
    sql: Sql,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageEntry {
    pub site: String,
    pub url: String,
    pub fp: Fingerprint,
    pub state: PageState,
    pub level: u16,
    pub seed: bool,
    /// Whose page it is.
    pub spider: SpiderId,
    /// A part of a page, not a page.
    pub requisite: bool,
    /// What kind of page led to it; a number that says nothing to people.
    #[serde(skip)]
    pub via: u32,
    pub visits: u64,
    pub failures: u16,
    pub found: Timestamp,
    pub visited: Option<Timestamp>,
    /// Not before its site may be visited again.
    pub due: Option<Timestamp>,
}

/// Everything about one page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageStory {
    pub page: PageEntry,
    pub facts: Option<PageFacts>,
    /// Oldest first.
    pub visits: Vec<VisitEntry>,
}

/// One row of history: a version with the visits that saw it again, a failure or a redirect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VisitEntry {
    pub seq: i64,
    pub change: Change,
    pub status: u16,
    pub failure: Option<String>,
    pub times: Vec<Timestamp>,
    pub wire_bytes: u64,
    pub body_bytes: u64,
    pub latency_ms: u64,
    pub elapsed_ms: u64,
    pub content_hash: u64,
    pub text_hash: u64,
    pub simhash: u64,
    pub record: Option<RecordLocation>,
    pub record_date: Option<Timestamp>,
    /// The record was found to be missing or damaged.
    pub lost: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteEntry {
    pub site: String,
    pub seeded: bool,
    #[serde(flatten)]
    pub counters: SiteCounters,
    pub in_hand: bool,
    pub resting: bool,
    pub due: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionEntry {
    pub site: String,
    pub reason: String,
    pub rule: String,
    pub count: u64,
    pub example: String,
    pub referrer: Option<String>,
    pub last: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    pub at: Timestamp,
    pub kind: String,
    pub site: Option<String>,
    pub text: String,
}

/// The columns of [`page_entry`], from pages p and sites s.
macro_rules! select_page {
    ($rest:literal) => {
        concat!(
            "SELECT s.key, p.url, p.fp, p.state, p.level, p.seed, p.visits, p.failures, p.found, \
             p.visited, max(p.due, s.not_before), p.spider, p.requisite, p.via FROM pages p JOIN sites s ON s.id = p.site ",
            $rest
        )
    };
}

impl Census {
    pub fn open(collection: &Collection) -> Result<Census, StoreError> {
        let path = collection.database();
        if !path.is_file() {
            return Err(StoreError::Missing { path: collection.dir().to_owned() });
        }
        let mut sql = open_reader(&path)?;
        // Some questions ask for columns that an older collection has not. One that is being crawled, or cannot be
        // written, is read as it is.
        if schema_of(&sql, &path)? < SCHEMA
            && !collection.is_crawled()
            && open_writer(&path).and_then(|writer| migrate(&writer, &path)).is_ok()
        {
            sql = open_reader(&path)?;
        }
        Ok(Census { collection: collection.clone(), path, sql })
    }

    /// All batches, the newest first.
    pub fn batches(&self) -> Result<Vec<BatchRow>, StoreError> {
        list_batches(&self.sql).map_err(|e| store_error(&self.path, e))
    }

    pub fn counts(&self) -> Result<Counts, StoreError> {
        load_totals(&self.sql).map_err(|e| self.error(e))
    }

    /// The newest run; one whose process died is `interrupted`.
    pub fn last_run(&self) -> Result<Option<Run>, StoreError> {
        Ok(self.runs(1)?.pop())
    }

    /// Newest first.
    pub fn runs(&self, max: u32) -> Result<Vec<Run>, StoreError> {
        let alive = self.collection.is_crawled();
        let sql = format!("{} ORDER BY id DESC LIMIT ?1", Run::SELECT);
        self.list(&sql, params![max], |row| Run::from_row(row, alive))
    }

    /// Pages in a state, or all.
    pub fn pages(&self, state: Option<PageState>, max: u32) -> Result<Vec<PageEntry>, StoreError> {
        match state {
            Some(state) => self.list(
                select_page!("WHERE p.state = ?2 LIMIT ?1"),
                params![max, state as u8],
                page_entry,
            ),
            None => self.list(select_page!("LIMIT ?1"), params![max], page_entry),
        }
    }

    /// What would be visited next by its time alone: found among the sites in hand and the earliest
    /// others, so that not every known page is looked at. Sites that are out with a batch are visited by nobody here.
    pub fn next_pages(&self, max: u32, now: Timestamp) -> Result<Vec<PageEntry>, StoreError> {
        self.list(
            select_page!(
                "WHERE p.due IS NOT NULL AND p.site IN (SELECT id FROM sites WHERE leased = 1 \
                 AND coalesce(holder, '') NOT IN (SELECT 'batch:' || id FROM batches \
                 WHERE state = 'out' AND until > ?2) \
                 UNION SELECT id FROM (SELECT id FROM sites WHERE leased = 0 AND due IS NOT NULL \
                 ORDER BY due LIMIT ?1) AS a UNION SELECT id FROM (SELECT id FROM sites WHERE leased = 0 \
                 AND due_again IS NOT NULL ORDER BY due_again LIMIT ?1) AS b) ORDER BY max(p.due, s.not_before) LIMIT ?1"
            ),
            params![max, now.0],
            page_entry,
        )
    }

    /// When the next page is due, by its time and that of its site alone: of the sites in hand and the earliest
    /// others. Sites that are out with a batch are visited by nobody here.
    pub fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let sites: Vec<(i64, i64)> = self.list(
            "SELECT id, not_before FROM sites WHERE leased = 1 AND coalesce(holder, '') NOT IN \
             (SELECT 'batch:' || id FROM batches WHERE state = 'out' AND until > ?1) \
             UNION SELECT * FROM (SELECT id, not_before FROM sites WHERE leased = 0 \
             AND due IS NOT NULL ORDER BY due LIMIT 1) AS a \
             UNION SELECT * FROM (SELECT id, not_before FROM sites WHERE leased = 0 \
             AND due_again IS NOT NULL ORDER BY due_again LIMIT 1) AS b",
            [now.0],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut next: Option<Timestamp> = None;
        for (site, not_before) in sites {
            let due = earliest_due(&self.sql, SiteId(site), &self.path)?;
            let due = due.map(|due| due.max(Timestamp(not_before)));
            next = [next, due].into_iter().flatten().min();
        }
        Ok(next)
    }

    /// The batch with which a site is out: until its end nobody visits the site here.
    pub fn batch_of(&self, site: &str, now: Timestamp) -> Result<Option<BatchRow>, StoreError> {
        let holder: Option<String> = self.ask(|sql| {
            sql.prepare("SELECT holder FROM sites WHERE key = ?1 AND leased = 1")?
                .query_row([site], |row| row.get(0))
                .optional()
                .map(Option::flatten)
        })?;
        let Some(holder) = holder.filter(|holder| holder.starts_with("batch:")) else {
            return Ok(None);
        };
        let is_it = |row: &BatchRow| row.until > now && BatchRow::holder(row.id) == holder;
        Ok(self.batches()?.into_iter().find(is_it))
    }

    /// Whether this is the folder in which a batch is harvested, and no collection of its own.
    pub fn is_of_batch(&self) -> Result<bool, StoreError> {
        self.ask(|sql| {
            sql.prepare("SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?1)")?
                .query_row([HARVESTED], |row| row.get(0))
        })
    }

    /// Living spiders by number, with what each has brought.
    pub fn spiders(&self) -> Result<Vec<SpiderRow>, StoreError> {
        crate::spiders::list(&self.sql).map_err(|e| self.error(e))
    }

    /// Pages of a spider that wait for their first visit, or to be judged for it.
    pub fn waiting_of(&self, spider: SpiderId) -> Result<u64, StoreError> {
        // As the index has it that holds exactly these.
        let sql = "SELECT count(*) FROM pages WHERE spider = ?1 AND turn IN (0, 1) \
                   AND turn NOT IN (2, 4) AND due IS NOT NULL";
        Ok(self.list(sql, [spider.0], |row| row.get::<i64>(0))?.first().map_or(0, |n| *n as u64))
    }

    /// The seeds of all living spiders, and what they redirected to.
    pub fn seeds(&self) -> Result<Vec<Seed>, StoreError> {
        crate::frontier::list_seeds(&self.sql).map_err(|e| self.error(e))
    }

    /// Those seeds that can matter for the scope of a URL: of its domain, and of its port if that is unusual.
    pub fn seeds_near(&self, url: &CrawlUrl) -> Result<Vec<Seed>, StoreError> {
        crate::frontier::list_seeds_near(&self.sql, url).map_err(|e| self.error(e))
    }

    /// All about a page, or `None` when it was never seen (see then [`Census::decisions_on`]).
    pub fn page(&self, url: &CrawlUrl) -> Result<Option<PageStory>, StoreError> {
        let (site, fp) = (url.site(), url.fingerprint().0 as i64);
        let query = || -> sql::Result<Option<PageStory>> {
            let page = self
                .sql
                .prepare(select_page!("WHERE s.key = ?1 AND p.fp = ?2"))?
                .query_row(params![site.as_str(), fp], page_entry)
                .optional()?;
            let Some(page) = page else { return Ok(None) };
            let id: i64 = self.sql.query_row(
                "SELECT id FROM sites WHERE key = ?1",
                [site.as_str()],
                |row| row.get(0),
            )?;
            let facts =
                self.sql.prepare(FACTS)?.query_row(params![id, fp], facts_from_row).optional()?;
            Ok(Some(PageStory { page, facts, visits: self.visits(id, fp)? }))
        };
        query().map_err(|e| self.error(e))
    }

    /// A page as a crawl would be lent it, without its last version, and what is known of its site.
    pub fn outlook(&self, url: &CrawlUrl) -> Result<Option<(Page, SiteHabit)>, StoreError> {
        crate::frontier::outlook(&self.sql, url.site().as_str(), url.fingerprint())
            .map_err(|e| self.error(e))
    }

    /// Before this time nobody may visit the site.
    pub fn clock_of(&self, site: &str) -> Result<Option<Timestamp>, StoreError> {
        self.ask(|sql| {
            sql.prepare("SELECT pause_saved + pause_remaining FROM sites WHERE key = ?1")?
                .query_row([site], |row| row.get(0))
                .optional()
        })
        .map(|at| at.map(Timestamp))
    }

    /// The latest of these times of all sites.
    pub fn latest_clock(&self) -> Result<Timestamp, StoreError> {
        let latest: Option<i64> = self.ask(|sql| {
            sql.query_row("SELECT max(pause_saved + pause_remaining) FROM sites", [], |row| {
                row.get(0)
            })
        })?;
        Ok(Timestamp(latest.unwrap_or_default()))
    }

    /// Of the settings by which the last crawl reached servers, without those of its command line; `None` before
    /// the first.
    pub fn reach_kept(&self) -> Result<Option<u64>, StoreError> {
        let text: Option<String> = self.ask(|sql| {
            sql.prepare("SELECT value FROM meta WHERE name = ?1")?
                .query_row([REACH_KEPT], |row| row.get(0))
                .optional()
        })?;
        Ok(text.and_then(|text| text.parse().ok()))
    }

    pub fn planner_state(&self) -> Result<Option<String>, StoreError> {
        self.sql
            .query_row("SELECT value FROM meta WHERE name = 'planner'", [], |row| row.get(0))
            .optional()
            .map_err(|e| self.error(e))
    }

    /// Sites by key; those with most pages first.
    pub fn sites(&self, max: u32) -> Result<Vec<SiteEntry>, StoreError> {
        self.list(
            "SELECT key, seeded, known, fetched, failed, duplicates, visits, bytes, requisites, \
             leased, resting, coalesce(min(due, due_again), due, due_again) FROM sites ORDER BY known DESC, key LIMIT ?1",
            params![max],
            site_entry,
        )
    }

    /// Home pages of sites, in short pieces: those after the site of this number (0 for the first), and the
    /// number to go on from, if there may be more. The scheme is that of a page of the site, one that
    /// answered if there is any.
    pub fn homes_after(
        &self,
        site: i64,
        max: u32,
    ) -> Result<(Vec<CrawlUrl>, Option<i64>), StoreError> {
        let rows = self.list(
            "SELECT id, key, coalesce(\
               (SELECT url FROM pages WHERE site = s.id AND state = 2 LIMIT 1), \
               (SELECT url FROM pages WHERE site = s.id LIMIT 1)) \
             FROM sites s WHERE id > ?1 ORDER BY id LIMIT ?2",
            params![site, max],
            |row| Ok((row.get::<i64>(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let last = rows.last().map(|(id, ..)| *id);
        let home = |(_, key, page): (i64, String, Option<String>)| {
            let page = page.and_then(|url| CrawlUrl::stored(&url).ok());
            page.or_else(|| CrawlUrl::parse(&format!("http://{key}/")).ok()).map(|url| url.home())
        };
        Ok((rows.into_iter().filter_map(home).collect(), last))
    }

    pub fn site(&self, key: &str) -> Result<Option<SiteEntry>, StoreError> {
        let mut found = self.list(
            "SELECT key, seeded, known, fetched, failed, duplicates, visits, bytes, requisites, \
             leased, resting, coalesce(min(due, due_again), due, due_again) FROM sites WHERE key = ?1",
            params![key],
            site_entry,
        )?;
        Ok(found.pop())
    }

    /// How many URLs were refused for each reason, most first.
    pub fn refusals(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.list(
            "SELECT reason, sum(count) AS n FROM decisions GROUP BY reason ORDER BY n DESC",
            [],
            |row| Ok((row.get(0)?, row.get::<i64>(1)? as u64)),
        )
    }

    /// Refusals with examples, of one reason or all, those that refused most first.
    pub fn decisions(
        &self,
        reason: Option<&str>,
        max: u32,
    ) -> Result<Vec<DecisionEntry>, StoreError> {
        self.list(
            "SELECT site, reason, rule, count, example, referrer, last FROM decisions \
             WHERE CAST(?2 AS TEXT) IS NULL OR reason = ?2 ORDER BY count DESC, site LIMIT ?1",
            params![max, reason],
            decision_entry,
        )
    }

    /// Refusals of URLs of this site.
    pub fn decisions_on(&self, site: &str, max: u32) -> Result<Vec<DecisionEntry>, StoreError> {
        self.list(
            "SELECT site, reason, rule, count, example, referrer, last FROM decisions \
             WHERE site = ?2 ORDER BY count DESC LIMIT ?1",
            params![max, site],
            decision_entry,
        )
    }

    /// Refusals of one reason or all, on one site or all, those that refused most first.
    pub fn refusals_of(
        &self,
        reason: Option<&str>,
        site: Option<&str>,
        max: u32,
    ) -> Result<Vec<DecisionEntry>, StoreError> {
        self.list(
            "SELECT site, reason, rule, count, example, referrer, last FROM decisions \
             WHERE (CAST(?2 AS TEXT) IS NULL OR reason = ?2) AND (CAST(?3 AS TEXT) IS NULL OR site = ?3) \
             ORDER BY count DESC, site, reason, rule LIMIT ?1",
            params![max, reason, site],
            decision_entry,
        )
    }

    /// How many URLs were refused for each reason on one site or all, most first.
    pub fn refusal_counts(&self, site: Option<&str>) -> Result<Vec<(String, u64)>, StoreError> {
        self.list(
            "SELECT reason, sum(count) AS n FROM decisions WHERE CAST(?1 AS TEXT) IS NULL OR site = ?1 \
             GROUP BY reason ORDER BY n DESC, reason",
            params![site],
            |row| Ok((row.get(0)?, row.get::<i64>(1)? as u64)),
        )
    }

    /// Hazards that were met, of one name or all, on one site or all, the most frequent first.
    pub fn hazards(
        &self,
        hazard: Option<&str>,
        site: Option<&str>,
        max: u32,
    ) -> Result<Vec<HazardEntry>, StoreError> {
        self.list(
            "SELECT site, hazard, what, measure, count, examples, first, last FROM hazards \
             WHERE (CAST(?2 AS TEXT) IS NULL OR hazard = ?2) AND (CAST(?3 AS TEXT) IS NULL OR site = ?3) \
             ORDER BY count DESC, hazard, site, what LIMIT ?1",
            params![max, hazard, site],
            HazardEntry::from_row,
        )
    }

    /// Pages whose reading broke down since it last went well, the most frequent first.
    pub fn breakdowns(&self) -> Result<Vec<Breakdown>, StoreError> {
        let sql =
            format!("SELECT {} FROM breakdowns ORDER BY count DESC, site, url", Breakdown::COLUMNS);
        self.list(&sql, [], Breakdown::from_row)
    }

    /// Sites that have taught something about their traps, by key, of all or one.
    pub fn traps(&self, site: Option<&str>) -> Result<Vec<(String, SiteTraps)>, StoreError> {
        self.list(
            "SELECT key, traps FROM sites WHERE traps IS NOT NULL AND (CAST(?1 AS TEXT) IS NULL OR key = ?1) \
             ORDER BY key",
            params![site],
            |row| Ok((row.get(0)?, crate::frontier::site_traps_from_row(row, 1)?)),
        )
    }

    /// What a site has taught about its traps, and whether it is down.
    pub fn site_traps(&self, site: &str) -> Result<SiteTraps, StoreError> {
        let sql = "SELECT traps FROM sites WHERE key = ?1";
        let text: Option<String> = self.list(sql, [site], |row| row.get(0))?.pop().flatten();
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Sites that have not answered when they were last asked.
    pub fn sites_down(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM sites WHERE instr(traps, '\"down\":') > 0";
        Ok(self.list(sql, [], |row| row.get::<i64>(0))?.first().map_or(0, |n| *n as u64))
    }

    /// Every block, by pattern: a list can have a million, so one at a time.
    pub fn each_block(&self, take: impl FnMut(BlockEntry)) -> Result<(), StoreError> {
        each_block(&self.sql, take).map_err(|e| self.error(e))
    }

    pub fn block(&self, pattern: &str) -> Result<Option<BlockEntry>, StoreError> {
        let sql = "SELECT pattern, reason, created FROM blocks WHERE pattern = ?1";
        Ok(self.list(sql, [pattern], block_entry)?.pop())
    }

    /// The copy of robots.txt in force for the origin of a URL.
    pub fn robots(&self, url: &CrawlUrl) -> Result<Option<RobotsCopy>, StoreError> {
        let origin = url.origin();
        let site: Option<i64> = self
            .sql
            .query_row("SELECT id FROM sites WHERE key = ?1", [url.site().as_str()], |r| r.get(0))
            .optional()
            .map_err(|e| self.error(e))?;
        let copies = self.list(ROBOTS, params![site], robots_from_row)?;
        Ok(copies.into_iter().find(|copy| copy.origin == origin))
    }

    /// Newest first.
    pub fn events(&self, max: u32) -> Result<Vec<Event>, StoreError> {
        self.list(
            "SELECT at, kind, site, text FROM events ORDER BY id DESC LIMIT ?1",
            params![max],
            |row| {
                Ok(Event {
                    at: Timestamp(row.get(0)?),
                    kind: row.get(1)?,
                    site: row.get(2)?,
                    text: row.get(3)?,
                })
            },
        )
    }

    fn visits(&self, site: i64, fp: i64) -> sql::Result<Vec<VisitEntry>> {
        let mut statement = self.sql.prepare(
            "SELECT seq, change, status, failure, first, times, wire_bytes, body_bytes, latency, \
             elapsed, content_hash, text_hash, simhash, record_volume, record_offset, \
             record_length, record_date, lost IS NOT NULL FROM visits \
             WHERE site = ?1 AND fp = ?2 ORDER BY seq",
        )?;
        let visits = statement.query_map(params![site, fp], visit_entry)?;
        visits.collect()
    }

    fn list<T>(
        &self,
        sql: &str,
        parameters: impl sql::Params,
        read: impl FnMut(Row<'_>) -> sql::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.sql
            .prepare_hinted(sql)
            .and_then(|mut statement| statement.query_map(parameters, read)?.collect())
            .map_err(|e| self.error(e))
    }

    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Sql) -> sql::Result<T>,
    ) -> Result<T, StoreError> {
        question(&self.sql).map_err(|e| self.error(e))
    }

    fn error(&self, error: sql::Error) -> StoreError {
        store_error(&self.path, error)
    }
}

fn page_entry(row: Row<'_>) -> sql::Result<PageEntry> {
    let state = PageState::from_stored(row.get(3)?).ok_or_else(|| unknown(3))?;
    Ok(PageEntry {
        site: row.get(0)?,
        url: row.get(1)?,
        fp: Fingerprint(row.get::<i64>(2)? as u64),
        state,
        level: row.get(4)?,
        seed: row.get(5)?,
        visits: row.get::<i64>(6)? as u64,
        failures: row.get(7)?,
        found: Timestamp(row.get(8)?),
        visited: row.get::<Option<i64>>(9)?.map(Timestamp),
        due: row.get::<Option<i64>>(10)?.map(Timestamp),
        spider: SpiderId(row.get(11)?),
        requisite: row.get(12)?,
        via: row.get(13)?,
    })
}

fn visit_entry(row: Row<'_>) -> sql::Result<VisitEntry> {
    let first = Timestamp(row.get(4)?);
    let number = |column: usize| row.get::<i64>(column).map(|n| n as u64);
    let record = record_from_row(row, 13)?;
    Ok(VisitEntry {
        seq: row.get(0)?,
        change: Change::from_stored(row.get(1)?).ok_or_else(|| unknown(1))?,
        status: row.get(2)?,
        failure: row.get(3)?,
        times: unpack_times(first, row.bytes(5)?),
        wire_bytes: number(6)?,
        body_bytes: number(7)?,
        latency_ms: number(8)?,
        elapsed_ms: number(9)?,
        content_hash: number(10)?,
        text_hash: number(11)?,
        simhash: number(12)?,
        record,
        record_date: record
            .map(|_| row.get::<Option<i64>>(16).map(|at| at.map_or(first, Timestamp)))
            .transpose()?,
        lost: row.get(17)?,
    })
}

fn site_entry(row: Row<'_>) -> sql::Result<SiteEntry> {
    let count = |column: usize| row.get::<i64>(column).map(|n| n as u64);
    Ok(SiteEntry {
        site: row.get(0)?,
        seeded: row.get(1)?,
        counters: SiteCounters {
            known: count(2)?,
            fetched: count(3)?,
            failed: count(4)?,
            duplicates: count(5)?,
            visits: count(6)?,
            bytes: count(7)?,
            requisites: count(8)?,
            ..SiteCounters::default()
        },
        in_hand: row.get(9)?,
        resting: row.get(10)?,
        due: row.get::<Option<i64>>(11)?.map(Timestamp),
    })
}

fn decision_entry(row: Row<'_>) -> sql::Result<DecisionEntry> {
    Ok(DecisionEntry {
        site: row.get(0)?,
        reason: row.get(1)?,
        rule: row.get(2)?,
        count: row.get::<i64>(3)? as u64,
        example: row.get(4)?,
        referrer: row.get(5)?,
        last: Timestamp(row.get(6)?),
    })
}

fn unknown(column: usize) -> sql::Error {
    sql::Error::value(column, "unknown number")
}

#[cfg(test)]
mod tests;
