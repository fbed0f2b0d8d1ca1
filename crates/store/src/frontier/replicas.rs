//! Folding a replica and unfolding it, each in one transaction with the list that says so.
//!
//! - Pages of a folded site rest: their dues, if they have one, are put aside and come back as they were; nothing else
//!   wakes them (`awake!`). What was never fetched of it
//!   is asked of the original instead. Seeds go on as ever; a site that a seed names is not folded at all.
//! - A few pages stay due, after a time, to see whether it still is a replica.
//! - A site in hand is put to rest by the next change, when it is not.

use model::{
    Candidate, CrawlUrl, Hazard, Measure, PageTerms, Sighting, SiteId, SpiderId, StoreError,
    Timestamp,
};

use super::{
    admit, check_out, hazards,
    rows::{Fault, span},
    sql_frontier::{SqlFrontier, Work},
};
use crate::replicas::{IS_HOME, REPLICAS, ReplicaChange, ReplicaRow, ReplicaState, replica_row};
use crate::sql::{self, OptionalExtension, params};

/// Pages of a replica by which it is known again: the home page and a few more.
const PROBES: i64 = 4;
/// Pages of one replica that are asked of its original instead: what is taken of a discovered site at most.
const MOVED_MAX: i64 = 5_000;

/// Of a row of `pages`: it does not rest. For whoever gives dues to pages without one.
macro_rules! awake {
    () => {
        "NOT EXISTS (SELECT 1 FROM resting_pages r WHERE r.site = pages.site AND r.fp = pages.fp)"
    };
}
pub(super) use awake;

impl SqlFrontier {
    /// Writes the change down; how many rows are other than before.
    pub fn change_replicas(
        &mut self,
        change: &ReplicaChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.transact(now, |work| match change {
            ReplicaChange::Found { rows, again_ms } => {
                let mut changed = 0;
                for row in rows {
                    changed += u64::from(note(work, row)?);
                }
                settle_folds(work, *again_ms)?;
                Ok(changed)
            }
            ReplicaChange::Lift { site } => lift(work, site).map(|()| 1),
        })
    }

    /// All of them, by site.
    pub fn replicas(&self) -> Result<Vec<ReplicaRow>, StoreError> {
        let read = || -> sql::Result<Vec<ReplicaRow>> {
            let mut statement = self.connection.prepare(&format!("{REPLICAS} ORDER BY site"))?;
            statement.query_map([], replica_row)?.collect()
        };
        read().map_err(|e| self.error(e))
    }
}

/// Says whether the row is other than before. What the user lifted stays so.
fn note(work: &mut Work<'_>, row: &ReplicaRow) -> Result<bool, Fault> {
    let before = row_of(work, &row.site)?;
    if before.as_ref().is_some_and(|before| before.state == ReplicaState::Lifted) {
        return Ok(false);
    }
    let state = match row.state {
        ReplicaState::Folded if is_seeded(work, &row.site)? => ReplicaState::Reported,
        state => state,
    };
    let same = |before: &&ReplicaRow| before.original == row.original && before.state == state;
    let since = before.as_ref().filter(same).map_or(row.since, |before| before.since);
    work.sql
        .prepare(
            "INSERT INTO replicas (site, original, origin, heuristic, compared, same, since, looked, \
             state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (site) DO UPDATE SET \
             original = ?2, origin = ?3, heuristic = ?4, compared = ?5, same = ?6, since = ?7, \
             looked = ?8, state = ?9, rests = CASE WHEN replicas.rests = 1 AND replicas.looked = ?8 THEN 1 ELSE 0 END",
        )?
        .execute(params![
            row.site,
            row.original,
            row.origin,
            row.heuristic,
            row.compared,
            row.same,
            since.0,
            row.looked.0,
            state.word(),
        ])?;
    let news = before.as_ref().filter(same).is_none();
    if news && state != ReplicaState::Dropped {
        hazards::count(work, &[sighting(row, state)])?;
    }
    if state != ReplicaState::Folded {
        wake(work, &row.site)?;
    }
    Ok(news)
}

fn sighting(row: &ReplicaRow, state: ReplicaState) -> Sighting {
    let folded = state == ReplicaState::Folded;
    Sighting {
        site: row.site.clone(),
        hazard: Hazard::MirrorSite,
        what: row.original.clone(),
        measure: if folded { Measure::Corrected } else { Measure::Noted },
        count: 1,
        example: format!("{}/", row.origin),
    }
}

fn lift(work: &mut Work<'_>, site: &str) -> Result<(), Fault> {
    work.sql
        .prepare(
            "INSERT INTO replicas (site, original, origin, heuristic, compared, same, since, looked, \
             state) VALUES (?1, '', '', '', 0, 0, ?2, ?2, 'lifted') \
             ON CONFLICT (site) DO UPDATE SET state = 'lifted', since = ?2, looked = ?2",
        )?
        .execute(params![site, work.now.0])?;
    wake(work, site)
}

/// Puts to rest what is folded and not in hand.
fn settle_folds(work: &mut Work<'_>, again_ms: u64) -> Result<(), Fault> {
    let waiting: Vec<(ReplicaRow, i64)> = {
        let sql = format!(
            "SELECT r.*, s.id FROM ({REPLICAS} WHERE state = 'folded' AND rests = 0) r \
             JOIN sites s ON s.key = r.site WHERE s.leased = 0"
        );
        let mut statement = work.sql.prepare(&sql)?;
        let rows = statement.query_map([], |row| Ok((replica_row(row)?, row.get(9)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for (row, id) in waiting {
        rest(work, SiteId(id), &row, again_ms)?;
    }
    Ok(())
}

fn rest(work: &mut Work<'_>, site: SiteId, row: &ReplicaRow, again_ms: u64) -> Result<(), Fault> {
    let moved = unfetched(work, site, &row.origin)?;
    work.sql
        .prepare(
            "INSERT INTO resting_pages (site, fp, due) SELECT site, fp, due FROM pages \
             WHERE site = ?1 AND seed = 0 AND (due IS NOT NULL OR state BETWEEN 1 AND 5) \
             ON CONFLICT DO NOTHING",
        )?
        .execute([site.0])?;
    work.sql
        .prepare("UPDATE pages SET due = NULL WHERE site = ?1 AND seed = 0 AND due IS NOT NULL")?
        .execute([site.0])?;
    let again = i64::try_from(again_ms).unwrap_or(i64::MAX / 4);
    // Without a price: due as it stands, and not reckoned anew.
    let probes = format!(
        "UPDATE pages SET due = ?2, price = 0 WHERE site = ?1 AND seed = 0 AND fp IN (SELECT p.fp \
         FROM pages p WHERE p.site = ?1 AND p.state = 2 AND p.requisite = 0 \
         ORDER BY {IS_HOME} DESC, p.level, p.url LIMIT ?3)"
    );
    work.sql.prepare(&probes)?.execute(params![
        site.0,
        row.looked.0.saturating_add(again),
        PROBES
    ])?;
    work.sql.prepare("UPDATE replicas SET rests = 1 WHERE site = ?1")?.execute([&row.site])?;
    check_out::rouse(work, site)?;
    admit::admit(work, &moved).map(drop)
}

/// Pages of the site that nobody has seen yet, as candidates of its original.
fn unfetched(work: &Work<'_>, site: SiteId, origin: &str) -> Result<Vec<Candidate>, Fault> {
    let mut statement = work.sql.prepare(
        "SELECT url, spider, level, hops, outside, depth, period FROM pages WHERE site = ?1 \
         AND fetched = 0 AND state <= 1 AND seed = 0 AND requisite = 0 AND due IS NOT NULL \
         ORDER BY level, url LIMIT ?2",
    )?;
    let mut rows = statement.query(params![site.0, MOVED_MAX])?;
    let mut moved = Vec::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(0)?;
        let Ok(url) = CrawlUrl::stored(&text) else { continue };
        let Ok(url) = CrawlUrl::parse(&[origin, url.path_and_query()].concat()) else { continue };
        let terms = PageTerms {
            outside: row.get(4)?,
            depth: row.get(5)?,
            period: row.get::<Option<i64>>(6)?.map(span),
            ..PageTerms::default()
        };
        moved.push(Candidate {
            url,
            spider: SpiderId(row.get(1)?),
            level: row.get(2)?,
            hops: row.get(3)?,
            seed: false,
            terms,
            referrer: None,
        });
    }
    Ok(moved)
}

/// What rested is due as it was.
fn wake(work: &mut Work<'_>, site: &str) -> Result<(), Fault> {
    let id: Option<(i64, bool)> = work
        .sql
        .prepare("SELECT id, leased FROM sites WHERE key = ?1")?
        .query_row([site], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, leased)) = id else { return Ok(()) };
    let woken = work
        .sql
        .prepare(
            "UPDATE pages SET due = r.due FROM resting_pages r WHERE pages.site = ?1 \
             AND r.site = ?1 AND r.fp = pages.fp",
        )?
        .execute([id])?;
    if woken == 0 {
        return Ok(());
    }
    work.sql.prepare("DELETE FROM resting_pages WHERE site = ?1")?.execute([id])?;
    work.sql.prepare("UPDATE replicas SET rests = 0 WHERE site = ?1")?.execute([site])?;
    match leased {
        // Its holder's release sees them.
        true => {
            work.sql.prepare("UPDATE sites SET stirred = 1 WHERE id = ?1")?.execute([id])?;
            Ok(())
        }
        false => check_out::rouse(work, SiteId(id)),
    }
}

fn row_of(work: &Work<'_>, site: &str) -> Result<Option<ReplicaRow>, Fault> {
    let sql = format!("{REPLICAS} WHERE site = ?1");
    Ok(work.sql.prepare(&sql)?.query_row([site], replica_row).optional()?)
}

fn is_seeded(work: &Work<'_>, site: &str) -> Result<bool, Fault> {
    let sql = "SELECT seeded FROM sites WHERE key = ?1";
    let seeded = work.sql.prepare(sql)?.query_row([site], |row| row.get(0)).optional()?;
    Ok(seeded.unwrap_or(false))
}

#[cfg(test)]
mod tests;
