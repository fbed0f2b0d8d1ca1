//! Batches: sites lent out for days, to be harvested where the collection cannot be reached, and their way back.
//!
//! A site is out with a batch while it is leased and its holder is that batch. Such leases outlive the process
//! that gave them; when they run out, their sites are due again like any other.
//!
//! While a batch is being made, its row names the file that is to be written. The file stands under that name when
//! it is whole, and then the batch is out: a kill before leaves no batch, and one after it leaves a batch with its file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufReader, Read},
    path::Path,
    time::Duration,
};

use model::{CheckOut, CrawlUrl, FailureKind, Origin, SiteId, SiteKey, StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    check_out::{check_out, rouse, take_back},
    rows::{Fault, damaged, span, stored_fp},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{self, OptionalExtension, Row, Sql, params};
use crate::warc::draw;

/// Where the collection's own name is kept.
pub(crate) const COLLECTION_ID: &str = "collection-id";
/// Where a folder that harvests a batch keeps what the batch says of itself.
pub(crate) const HARVESTED: &str = "batch";
/// Of the first line of a batch's file: it names all blocks of the collection.
const HEAD_BYTES_MAX: u64 = 64 << 20;

/// A batch as the collection remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchRow {
    pub id: i64,
    pub made: Timestamp,
    /// When its leases end.
    pub until: Timestamp,
    pub state: BatchState,
    /// As they were lent.
    pub sites: u64,
    pub pages: u64,
    /// Sites that are out with it now.
    pub sites_out: u64,
    /// When it was imported or cancelled.
    pub ended: Option<Timestamp>,
    /// The newest of its visits that an import has been through: what is not newer was taken or named then.
    pub taken: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchState {
    /// Its file is not there yet.
    Making,
    Out,
    /// Its sites were given back, and some of its visits may be in.
    Importing,
    Imported,
    Cancelled,
}

impl BatchState {
    const ALL: [BatchState; 5] = [
        BatchState::Making,
        BatchState::Out,
        BatchState::Importing,
        BatchState::Imported,
        BatchState::Cancelled,
    ];

    pub fn word(self) -> &'static str {
        match self {
            BatchState::Making => "making",
            BatchState::Out => "out",
            BatchState::Importing => "importing",
            BatchState::Imported => "imported",
            BatchState::Cancelled => "cancelled",
        }
    }
}

/// A visit without an answer, of which there is no record.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedVisit {
    pub url: CrawlUrl,
    pub at: Timestamp,
    pub kind: FailureKind,
    pub elapsed: Duration,
}

impl SqlFrontier {
    /// What tells this collection from others, made when it is first asked for.
    pub fn collection_id(&mut self, now: Timestamp) -> Result<String, StoreError> {
        self.change(now, collection_id)
    }

    /// What the batch said of itself that this collection was made to harvest.
    pub fn harvested_batch(&self) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare("SELECT value FROM meta WHERE name = ?1")
            .and_then(|mut s| s.query_row([HARVESTED], |row| row.get(0)).optional())
            .map_err(|e| self.error(e))
    }

    pub fn harvests_batch(&mut self, text: &str, now: Timestamp) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.prepare(crate::frontier::PUT_META)?.execute([HARVESTED, text]).map(drop)
        })
    }

    /// Begins a batch that will be written to this file. Its sites are those that its [`BatchRow::holder`] checks
    /// out. Until [`SqlFrontier::batch_is_out`] the file itself says whether there is such a batch.
    pub fn begin_batch(
        &mut self,
        now: Timestamp,
        until: Timestamp,
        file: &Path,
    ) -> Result<i64, StoreError> {
        let file = file.to_string_lossy();
        self.change(now, |sql| {
            sql.prepare(
                "INSERT INTO batches (made, until, state, file) VALUES (?1, ?2, 'making', ?3) \
                 RETURNING id",
            )?
            .query_row(params![now.0, until.0, &*file], |row| row.get(0))
        })
    }

    /// Its file is whole and in its place; so much was lent.
    pub fn batch_is_out(
        &mut self,
        id: i64,
        (sites, pages): (u64, u64),
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change(now, |sql| mark_out(sql, id, sites, pages))
    }

    /// All batches, the newest first.
    pub fn batches(&self) -> Result<Vec<BatchRow>, StoreError> {
        list_batches(&self.connection).map_err(|e| self.error(e))
    }

    /// The batch ends, or goes over into another state: its sites are given back. Which of them were still out
    /// with it is the answer.
    pub fn close_batch(
        &mut self,
        id: i64,
        state: BatchState,
        now: Timestamp,
    ) -> Result<BTreeSet<SiteKey>, StoreError> {
        self.transact(now, |work| {
            let out = sites_of(work.sql, id)?;
            let ids: Vec<SiteId> = out.iter().map(|(id, _)| *id).collect();
            take_back(work, &ids)?;
            let ended = matches!(state, BatchState::Imported | BatchState::Cancelled);
            work.sql
                .prepare("UPDATE batches SET state = ?2, ended = ?3 WHERE id = ?1")?
                .execute(params![id, state.word(), ended.then_some(now.0)])?;
            Ok(out.into_iter().map(|(_, key)| key).collect())
        })
    }

    /// The batch was never made: its sites are given back, and nothing is left of it.
    pub fn forget_batch(&mut self, id: i64, now: Timestamp) -> Result<(), StoreError> {
        self.transact(now, |work| {
            let out: Vec<SiteId> = sites_of(work.sql, id)?.into_iter().map(|(id, _)| id).collect();
            take_back(work, &out)?;
            work.sql.prepare("DELETE FROM batches WHERE id = ?1")?.execute([id])?;
            Ok(())
        })
    }

    /// Part of the batch is in; these of its sites, if they are free, stay out with it until its leases end. So
    /// many do: with none the batch is over.
    pub fn keep_out(
        &mut self,
        row: &BatchRow,
        sites: &[SiteKey],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let (id, until) = (row.id, row.until);
        self.transact(now, |work| {
            let mut out = 0;
            if until > now {
                let only = Some(sites.to_vec());
                let lease = until.since(now);
                let holder = BatchRow::holder(id);
                let request = CheckOut { lease, only, ..CheckOut::at(now, holder) };
                out = check_out(work, &request)?.len() as u64;
            }
            let (state, ended) = match out {
                0 => (BatchState::Imported, Some(now.0)),
                _ => (BatchState::Out, None),
            };
            work.sql
                .prepare("UPDATE batches SET state = ?2, ended = ?3 WHERE id = ?1")?
                .execute(params![id, state.word(), ended])?;
            Ok(out)
        })
    }

    /// An import has been through the visits of a batch up to this one.
    pub fn batch_taken(
        &mut self,
        id: i64,
        newest: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.prepare("UPDATE batches SET taken = max(coalesce(taken, ?2), ?2) WHERE id = ?1")?
                .execute([id, newest.0])
                .map(drop)
        })
    }

    /// When a page was last visited; the outer `None`: there is no such page.
    pub fn last_visit(&self, url: &CrawlUrl) -> Result<Option<Option<Timestamp>>, StoreError> {
        let mut read = self
            .connection
            .prepare(
                "SELECT p.visited FROM pages p JOIN sites s ON s.id = p.site \
                 WHERE s.key = ?1 AND p.fp = ?2",
            )
            .map_err(|e| self.error(e))?;
        let key = url.site();
        let found = read.query_row(params![key.as_str(), stored_fp(url.fingerprint())], |row| {
            Ok(row.get::<Option<i64>>(0)?.map(Timestamp))
        });
        found.optional().map_err(|e| self.error(e))
    }

    /// When the copy of an origin's robots.txt was got.
    pub fn robots_fetched(&self, origin: &Origin) -> Result<Option<Timestamp>, StoreError> {
        let read = || -> sql::Result<Option<Timestamp>> {
            let mut statement = self.connection.prepare(
                "SELECT r.fetched FROM sites s JOIN robots r ON r.site = s.id \
                 WHERE s.key = ?1 AND r.origin = ?2",
            )?;
            let key = origin.robots_url().site();
            let found = statement
                .query_row([key.as_str(), origin.as_str()], |row| row.get(0).map(Timestamp));
            found.optional()
        };
        read().map_err(|e| self.error(e))
    }

    /// Of a folder that harvests a batch made then: how many pages of each site are still to be visited. Those
    /// are that have been due since, and those that were put off without a visit.
    pub fn still_due_since(&self, made: Timestamp) -> Result<Vec<(SiteKey, u64)>, StoreError> {
        let read = || -> sql::Result<Vec<(SiteKey, u64)>> {
            let mut statement = self.connection.prepare(
                "SELECT s.key, count(*) FROM pages p JOIN sites s ON s.id = p.site \
                 WHERE p.due IS NOT NULL AND p.state BETWEEN 1 AND 5 \
                 AND (p.due <= ?1 OR p.visited IS NULL OR p.visited <= ?1) GROUP BY s.id",
            )?;
            let sites = statement.query_map([made.0], |row| {
                let key = SiteKey::stored(row.text(0)?);
                Ok((key, row.get::<i64>(1)?.max(0) as u64))
            })?;
            sites.collect()
        };
        read().map_err(|e| self.error(e))
    }

    /// When each run began, the oldest first.
    pub fn run_starts(&self) -> Result<Vec<Timestamp>, StoreError> {
        let read = || -> sql::Result<Vec<Timestamp>> {
            let mut statement = self.connection.prepare("SELECT started FROM runs ORDER BY id")?;
            statement.query_map([], |row| row.get(0).map(Timestamp))?.collect()
        };
        read().map_err(|e| self.error(e))
    }

    /// Sites that have answered after `since`, and when: pages, refusals and robots.txt alike.
    pub fn answers(&self, since: Timestamp) -> Result<Vec<(SiteKey, Timestamp)>, StoreError> {
        let read = || -> sql::Result<Vec<(SiteKey, Timestamp)>> {
            let mut statement = self.connection.prepare(
                "SELECT s.key, v.last FROM visits v JOIN sites s ON s.id = v.site \
                 WHERE v.last > ?1 AND v.failure IS NULL \
                 UNION ALL SELECT s.key, r.fetched FROM robots r JOIN sites s ON s.id = r.site \
                 WHERE r.fetched > ?1 AND r.answer <> 'unreachable' AND r.unreachable_since IS NULL",
            )?;
            let answers = statement.query_map([since.0], |row| {
                Ok((SiteKey::stored(row.text(0)?), Timestamp(row.get(1)?)))
            })?;
            answers.collect()
        };
        read().map_err(|e| self.error(e))
    }

    /// These pages have been due since `made` as if they had not been visited after it. What their sites' clocks
    /// ask for stays; only where no server has answered (`false`) does a site wait for nothing else. `no-response`: nobody
    /// answered lately, so that nothing is known of robots.txt that could not be got.
    pub fn due_again(
        &mut self,
        pages: &[(CrawlUrl, bool)],
        silent: bool,
        made: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            let mut sites = BTreeSet::new();
            for (url, answered) in pages {
                let mut find = work.sql.prepare("SELECT id FROM sites WHERE key = ?1")?;
                let id: i64 = find.query_row([url.site().as_str()], |row| row.get(0))?;
                work.sql
                    .prepare("UPDATE pages SET due = ?3, price = 0 WHERE site = ?1 AND fp = ?2")?
                    .execute(params![id, stored_fp(url.fingerprint()), made.0])?;
                sites.insert((SiteId(id), *answered));
            }
            if silent {
                sites.extend(ask_for_robots(work, now)?.into_iter().map(|id| (id, false)));
            }
            for (id, answered) in sites {
                if !answered {
                    work.sql
                        .prepare("UPDATE sites SET not_before = 0 WHERE id = ?1")?
                        .execute([id.0])?;
                }
                rouse(work, id)?;
            }
            Ok(())
        })
    }

    /// Visits after `since` that brought no answer, in the order they were made.
    pub fn failed_visits(&self, since: Timestamp) -> Result<Vec<FailedVisit>, StoreError> {
        let read = || -> sql::Result<Vec<FailedVisit>> {
            let mut statement = self.connection.prepare(
                "SELECT p.url, v.first, v.failure, v.elapsed FROM visits v \
                 JOIN pages p ON p.site = v.site AND p.fp = v.fp \
                 WHERE v.failure IS NOT NULL AND v.first > ?1 ORDER BY v.seq",
            )?;
            statement.query_map([since.0], failed_visit)?.collect()
        };
        read().map_err(|e| self.error(e))
    }
}

impl BatchRow {
    /// Who holds the sites of a batch.
    pub fn holder(id: i64) -> String {
        format!("batch:{id}")
    }

    fn from_row(row: Row<'_>) -> sql::Result<BatchRow> {
        let word = row.text(3)?;
        let state = BatchState::ALL.into_iter().find(|state| state.word() == word);
        Ok(BatchRow {
            id: row.get(0)?,
            made: Timestamp(row.get(1)?),
            until: Timestamp(row.get(2)?),
            state: state.ok_or_else(|| damaged(format!("batch state {word} is unknown")))?,
            sites: row.get::<i64>(4)?.max(0) as u64,
            pages: row.get::<i64>(5)?.max(0) as u64,
            ended: row.get::<Option<i64>>(6)?.map(Timestamp),
            sites_out: row.get::<i64>(7)?.max(0) as u64,
            taken: row.get::<Option<i64>>(8)?.map(Timestamp),
        })
    }
}

/// Made once, and the collection's for good.
pub(crate) fn collection_id(sql: &Sql) -> sql::Result<String> {
    let (high, low) = draw();
    let keep = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
    sql.prepare(keep)?.execute([COLLECTION_ID, &format!("{high:016x}{low:016x}")])?;
    let mut read = sql.prepare("SELECT value FROM meta WHERE name = ?1")?;
    read.query_row([COLLECTION_ID], |row| row.get(0))
}

/// The newest first. One that is being made is out when its file is there, and else none yet.
pub(crate) fn list_batches(sql: &Sql) -> sql::Result<Vec<BatchRow>> {
    let written: BTreeMap<i64, Option<Head>> = unfinished(sql)?.into_iter().collect();
    let mut statement = sql.prepare(
        "SELECT b.id, b.made, b.until, b.state, b.sites, b.pages, b.ended, \
         (SELECT count(*) FROM sites WHERE leased = 1 AND holder = 'batch:' || b.id), b.taken \
         FROM batches b ORDER BY b.id DESC",
    )?;
    let mut rows: Vec<BatchRow> =
        statement.query_map([], BatchRow::from_row)?.collect::<Result<_, _>>()?;
    for row in &mut rows {
        if let Some(Some(head)) = written.get(&row.id) {
            (row.state, row.sites, row.pages) = (BatchState::Out, head.sites, head.pages);
        }
    }
    rows.retain(|row| row.state != BatchState::Making);
    Ok(rows)
}

/// What the first line of a batch's file says, as far as it matters here.
#[derive(Deserialize)]
struct Head {
    collection: String,
    batch: i64,
    sites: u64,
    pages: u64,
}

impl Head {
    /// Of a file that may be none, or anything.
    fn read(path: &Path) -> Option<Head> {
        let file = BufReader::new(File::open(path).ok()?).take(HEAD_BYTES_MAX);
        serde_json::Deserializer::from_reader(file).into_iter().next()?.ok()
    }
}

/// Batches whose export has not said that they are out; with what their files say, where these are in their places.
fn unfinished(sql: &Sql) -> sql::Result<Vec<(i64, Option<Head>)>> {
    let mut statement = sql.prepare("SELECT id, file FROM batches WHERE state = 'making'")?;
    let rows: Vec<(i64, Option<String>)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut read = sql.prepare("SELECT value FROM meta WHERE name = ?1")?;
    let own: Option<String> = read.query_row([COLLECTION_ID], |row| row.get(0)).optional()?;
    let of = |(id, file): (i64, Option<String>)| {
        let head = file.and_then(|file| Head::read(Path::new(&file)));
        let is_it = |head: &Head| head.batch == id && Some(&head.collection) == own.as_ref();
        (id, head.filter(is_it))
    };
    Ok(rows.into_iter().map(of).collect())
}

fn mark_out(sql: &Sql, id: i64, sites: u64, pages: u64) -> sql::Result<()> {
    sql.prepare("UPDATE batches SET state = 'out', sites = ?2, pages = ?3 WHERE id = ?1")?
        .execute(params![id, sites as i64, pages as i64])
        .map(drop)
}

/// Leases of processes that are dead, and of batches whose time is over or whose export was killed before its file
/// was there.
pub(super) fn release_others(work: &mut Work<'_>, now: Timestamp) -> Result<u64, Fault> {
    for (id, found) in unfinished(work.sql)? {
        match found {
            Some(head) => mark_out(work.sql, id, head.sites, head.pages)?,
            None => {
                work.sql
                    .prepare("UPDATE sites SET holder = NULL WHERE leased = 1 AND holder = ?1")?
                    .execute([BatchRow::holder(id)])?;
                work.sql.prepare("DELETE FROM batches WHERE id = ?1")?.execute([id])?;
            }
        }
    }
    let over: Vec<SiteId> = {
        let mut statement = work.sql.prepare(
            "SELECT id FROM sites WHERE leased = 1 \
             AND (due <= ?1 OR holder IS NULL OR holder NOT LIKE 'batch:%')",
        )?;
        let found = statement.query_map([now.0], |row| row.get(0).map(SiteId))?;
        found.collect::<Result<_, _>>()?
    };
    take_back(work, &over)
}

/// Copies of robots.txt that could not be got are old; whose they are.
fn ask_for_robots(work: &Work<'_>, now: Timestamp) -> Result<Vec<SiteId>, Fault> {
    let mut statement = work.sql.prepare(
        "UPDATE robots SET expires = ?1 \
         WHERE answer = 'unreachable' OR unreachable_since IS NOT NULL RETURNING site",
    )?;
    let sites = statement.query_map([now.0], |row| row.get(0).map(SiteId))?;
    Ok(sites.collect::<Result<_, _>>()?)
}

fn sites_of(sql: &Sql, id: i64) -> Result<Vec<(SiteId, SiteKey)>, Fault> {
    let mut statement =
        sql.prepare("SELECT id, key FROM sites WHERE leased = 1 AND holder = ?1")?;
    let sites = statement.query_map([BatchRow::holder(id)], |row| {
        Ok((SiteId(row.get(0)?), SiteKey::stored(row.text(1)?)))
    })?;
    Ok(sites.collect::<Result<_, _>>()?)
}

fn failed_visit(row: Row<'_>) -> sql::Result<FailedVisit> {
    let (text, word) = (row.text(0)?, row.text(2)?);
    Ok(FailedVisit {
        url: CrawlUrl::stored(text).map_err(|e| damaged(format!("page {text}: {e}")))?,
        at: Timestamp(row.get(1)?),
        kind: FailureKind::from_word(word)
            .ok_or_else(|| damaged(format!("failure {word} is unknown")))?,
        elapsed: span(row.get(3)?),
    })
}

#[cfg(test)]
mod tests;
