//! The rows of what is forgotten go in one transaction, together with all that other rows say of it; the
//! same transaction leaves the tombstones. And rows follow their records when volumes are written anew.
//!
//! Every table that can hold a name of the web is listed here: a new one needs a line in [`delete`] or
//! [`blank`].

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use model::{Mark, SiteTraps, StoreError, Timestamp};
use rusqlite::{Connection, OptionalExtension, functions::FunctionFlags, params};
use serde_json::Value;

use super::{
    rows::{Fault, stored_fp},
    sqlite::SqliteFrontier,
    tally::load_totals,
    verify,
};
use crate::{
    forget::{Journal, Targets},
    tombstones::{Tombstone, bury},
    warc::{Moved, Moves},
};

/// What the database holds of the targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowCounts {
    pub(crate) sites: u64,
    pub(crate) pages: u64,
    pub(crate) visits: u64,
}

impl SqliteFrontier {
    pub(crate) fn count_rows(&mut self, targets: &Targets) -> Result<RowCounts, StoreError> {
        let counted = mark_rows(&self.connection, targets);
        let counted = counted.and_then(|_| count(&self.connection));
        self.unmark().and(counted).map_err(|e| self.error(e))
    }

    /// Ids of the sites among the targets, ascending.
    pub(crate) fn ids_of(&mut self, targets: &Targets) -> Result<Vec<i64>, StoreError> {
        let ids = mark_rows(&self.connection, targets);
        self.unmark().and(ids).map_err(|e| self.error(e))
    }

    /// Removes the rows and writes the journal from which the rest can be finished.
    pub(crate) fn forget_rows(
        &mut self,
        targets: &Targets,
        tombstones: &[Tombstone],
        now: Timestamp,
    ) -> Result<(RowCounts, Journal), StoreError> {
        let done = self.transact(now, |work| {
            let sql = work.sql;
            let sites = mark_rows(sql, targets)?;
            let counts = count(sql)?;
            delete(sql)?;
            blank(sql, targets)?;
            bury(sql, tombstones)?;
            verify::recount_sites(sql, "WHERE id IN (SELECT site FROM temp.forgotten_pages)")?;
            verify::recount_totals(sql)?;
            work.counts = load_totals(sql)?;
            let targets = targets.list().to_vec();
            let journal = Journal::Removing { targets, sites };
            journal.write(sql).map_err(Fault::Store)?;
            Ok((counts, journal))
        });
        self.unmark().map_err(|e| self.error(e)).and(done)
    }

    /// The rows of these volumes' records, and the mark, follow their records; those at `whole` (by their
    /// old place) are no revisits any more. `files` are to take the place of the old ones, which is noted
    /// in the same transaction.
    pub(crate) fn move_records(
        &mut self,
        moves: &BTreeMap<u32, Moves>,
        whole: &HashSet<(u32, u64)>,
        files: &[String],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            move_visits(work.sql, moves, whole)?;
            move_mark(work.sql, moves)?;
            crate::volumes::rewritten(work.sql, moves)?;
            put_meta(work.sql, FILES, &files)
        })
    }

    pub(crate) fn move_links(
        &mut self,
        links: Option<crate::links::LinkPosition>,
        files: &[String],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            if let Some(position) = links {
                put_meta(work.sql, "links-mark", &position)?;
            }
            count_rewriting(work.sql)?;
            put_meta(work.sql, FILES, &files)
        })
    }

    fn unmark(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(
            "DROP TABLE IF EXISTS temp.forgotten_sites; DROP TABLE IF EXISTS temp.forgotten_pages",
        )
    }
}

/// The row of `meta` that counts how often segments were rewritten: an index of their offsets was made before or after.
pub(crate) const LINKS_REWRITTEN: &str = "links-rewritten";

fn count_rewriting(sql: &Connection) -> rusqlite::Result<()> {
    sql.execute(
        "INSERT INTO meta (name, value) VALUES (?1, '1') \
         ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        [LINKS_REWRITTEN],
    )
    .map(drop)
}

/// The row of `meta` with the files that wait to take their place.
pub(crate) const FILES: &str = "forget-files";

/// Lists sites and single pages in two tables of this connection alone; the ids of the sites.
fn mark_rows(sql: &Connection, targets: &Targets) -> rusqlite::Result<Vec<i64>> {
    know(sql, targets)?;
    sql.execute_batch(
        "CREATE TEMP TABLE forgotten_sites (id INTEGER PRIMARY KEY, key TEXT NOT NULL);
         CREATE TEMP TABLE forgotten_pages (site INTEGER, fp INTEGER, PRIMARY KEY (site, fp)) \
         WITHOUT ROWID;
         INSERT INTO temp.forgotten_sites SELECT id, key FROM sites WHERE is_forgotten_site(key)",
    )?;
    let mut insert = sql.prepare(
        "INSERT OR IGNORE INTO temp.forgotten_pages SELECT p.site, p.fp FROM pages p \
         JOIN sites s ON s.id = p.site WHERE s.key = ?1 AND p.fp = ?2 \
         AND s.id NOT IN (SELECT id FROM temp.forgotten_sites)",
    )?;
    for url in targets.pages() {
        insert.execute(params![url.site_text(), stored_fp(url.fingerprint())])?;
    }
    let mut ids = sql.prepare("SELECT id FROM temp.forgotten_sites ORDER BY id")?;
    ids.query_map([], |row| row.get(0))?.collect()
}

/// Teaches the connection to recognise the targets.
fn know(sql: &Connection, targets: &Targets) -> rusqlite::Result<()> {
    type Question = fn(&Targets, &str) -> bool;
    let questions: [(&str, Question); 3] = [
        ("is_forgotten_site", |targets, key| targets.covers_site(key)),
        ("is_forgotten_url", |targets, url| targets.covers_text(url)),
        ("names_forgotten", |targets, text| targets.named_in(text)),
    ];
    let targets = Arc::new(targets.clone());
    for (name, question) in questions {
        let targets = targets.clone();
        sql.create_scalar_function(name, 1, FunctionFlags::SQLITE_UTF8, move |context| {
            let text = context.get_raw(0).as_str_or_null()?;
            Ok(text.is_some_and(|text| question(&targets, text)))
        })?;
    }
    Ok(())
}

fn count(sql: &Connection) -> rusqlite::Result<RowCounts> {
    let number = |query: &str| sql.query_row(query, [], |row| row.get::<_, i64>(0));
    let both = |what: &str, table: &str| -> rusqlite::Result<u64> {
        let of_sites = format!(
            "SELECT coalesce(sum({what}), 0) FROM {table} \
             WHERE site IN (SELECT id FROM temp.forgotten_sites)"
        );
        let of_pages = format!(
            "SELECT coalesce(sum({what}), 0) FROM {table} \
             WHERE (site, fp) IN (SELECT site, fp FROM temp.forgotten_pages)"
        );
        Ok((number(&of_sites)? + number(&of_pages)?) as u64)
    };
    Ok(RowCounts {
        sites: number("SELECT count(*) FROM temp.forgotten_sites")? as u64,
        pages: both("1", "pages")?,
        visits: both("count", "visits")?,
    })
}

/// Rows that are of the forgotten, or would say nothing without its name.
fn delete(sql: &Connection) -> rusqlite::Result<()> {
    for table in ["visits", "page_facts", "page_children", "resting_pages", "pages"] {
        sql.execute_batch(&format!(
            "DELETE FROM {table} WHERE site IN (SELECT id FROM temp.forgotten_sites);
             DELETE FROM {table} WHERE (site, fp) IN (SELECT site, fp FROM temp.forgotten_pages)"
        ))?;
    }
    sql.execute_batch(
        "DELETE FROM robots WHERE site IN (SELECT id FROM temp.forgotten_sites) \
         OR is_forgotten_url(origin || '/robots.txt');
         DELETE FROM decisions WHERE is_forgotten_site(site) OR names_forgotten(rule);
         DELETE FROM hazards WHERE is_forgotten_site(site) OR names_forgotten(what);
         DELETE FROM breakdowns WHERE is_forgotten_site(site) OR is_forgotten_url(url);
         DELETE FROM domain_hosts WHERE is_forgotten_site(domain) OR is_forgotten_site(newest);
         DELETE FROM replicas WHERE is_forgotten_site(site) OR is_forgotten_site(original);
         DELETE FROM blocks WHERE names_forgotten(pattern);
         DELETE FROM events WHERE is_forgotten_site(site) OR names_forgotten(text);
         DELETE FROM control WHERE done IS NOT NULL \
         AND (names_forgotten(command) OR names_forgotten(result));
         DELETE FROM page_children WHERE site IN (SELECT site FROM temp.forgotten_pages);
         DELETE FROM sites WHERE id IN (SELECT id FROM temp.forgotten_sites)",
    )
}

/// What else names it loses the name.
fn blank(sql: &Connection, targets: &Targets) -> Result<(), Fault> {
    sql.execute_batch(
        "UPDATE page_facts SET canonical = NULL WHERE names_forgotten(canonical);
         UPDATE page_facts SET location = NULL WHERE names_forgotten(location);
         UPDATE page_facts SET duplicate_of = NULL \
         WHERE (site, duplicate_of) IN (SELECT site, fp FROM temp.forgotten_pages);
         UPDATE page_facts SET near_of = NULL \
         WHERE (site, near_of) IN (SELECT site, fp FROM temp.forgotten_pages);
         UPDATE decisions SET example = '' WHERE names_forgotten(example);
         UPDATE decisions SET referrer = NULL WHERE names_forgotten(referrer);
         UPDATE hazards SET examples = '[]' WHERE names_forgotten(examples);
         UPDATE sites SET traps = NULL WHERE names_forgotten(traps);
         UPDATE blocks SET reason = '' WHERE names_forgotten(reason);
         UPDATE runs SET reason = '' WHERE names_forgotten(reason);
         UPDATE spiders SET why = '' WHERE names_forgotten(why)",
    )?;
    blank_families(sql)?;
    blank_stats(sql, targets)?;
    blank_commands(sql, targets)
}

/// Families of near duplicates whose first page is forgotten begin anew.
fn blank_families(sql: &Connection) -> Result<(), Fault> {
    let with = "SELECT id, traps FROM sites WHERE traps IS NOT NULL \
                AND id IN (SELECT site FROM temp.forgotten_pages)";
    for (id, text) in named(sql, with)? {
        let mut traps: SiteTraps = serde_json::from_str(&text).unwrap_or_default();
        let mut asked =
            sql.prepare_cached("SELECT 1 FROM temp.forgotten_pages WHERE site = ?1 AND fp = ?2")?;
        let mut kept = Vec::new();
        for family in traps.families {
            if !asked.exists(params![id, family.first.0 as i64])? {
                kept.push(family);
            }
        }
        traps.families = kept;
        let text = serde_json::to_string(&traps).ok().filter(|_| !traps.is_empty());
        sql.execute("UPDATE sites SET traps = ?2 WHERE id = ?1", params![id, text])?;
    }
    Ok(())
}

fn blank_stats(sql: &Connection, targets: &Targets) -> Result<(), Fault> {
    for (id, text) in named(sql, "SELECT id, stats FROM runs WHERE names_forgotten(stats)")? {
        let mut stats: Value = serde_json::from_str(&text).unwrap_or_default();
        scrub(&mut stats, targets);
        sql.execute("UPDATE runs SET stats = ?2 WHERE id = ?1", params![id, stats.to_string()])?;
    }
    Ok(())
}

/// Of commands that still wait only the parts that name it go.
fn blank_commands(sql: &Connection, targets: &Targets) -> Result<(), Fault> {
    for (id, text) in named(sql, "SELECT id, command FROM control WHERE names_forgotten(command)")?
    {
        let mut command: Value = serde_json::from_str(&text).unwrap_or_default();
        scrub(&mut command, targets);
        let lists = ["urls", "patterns", "seeds"];
        let left = lists.iter().filter_map(|name| command.get(name)?.as_array());
        if left.map(Vec::len).sum::<usize>() == 0 {
            sql.execute("DELETE FROM control WHERE id = ?1", [id])?;
        } else {
            let text = command.to_string();
            sql.execute("UPDATE control SET command = ?2 WHERE id = ?1", params![id, text])?;
        }
    }
    Ok(())
}

fn named(sql: &Connection, query: &str) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = sql.prepare(query)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Takes out of lists and objects whatever names a target; a text of its own becomes empty.
fn scrub(value: &mut Value, targets: &Targets) {
    let names = |value: &Value| value.as_str().is_some_and(|text| targets.named_in(text));
    let goes = |value: &Value| names(value) || value.get("url").is_some_and(names);
    match value {
        Value::String(text) if targets.named_in(text) => text.clear(),
        Value::Array(items) => {
            items.retain(|item| !goes(item));
            items.iter_mut().for_each(|item| scrub(item, targets));
        }
        Value::Object(fields) => {
            fields.retain(|name, _| !targets.named_in(name));
            fields.iter_mut().for_each(|(_, item)| scrub(item, targets));
        }
        _ => {}
    }
}

fn move_visits(
    sql: &Connection,
    moves: &BTreeMap<u32, Moves>,
    whole: &HashSet<(u32, u64)>,
) -> rusqlite::Result<()> {
    let numbers: Vec<String> = moves.keys().map(u32::to_string).collect();
    // Read whole before the first is changed: a row must not be met twice.
    let rows: Vec<(i64, u32, i64)> = sql
        .prepare(&format!(
            "SELECT seq, record_volume, record_offset FROM visits WHERE record_volume IN ({})",
            numbers.join(", ")
        ))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut to = sql.prepare_cached("UPDATE visits SET record_offset = ?2 WHERE seq = ?1")?;
    let mut anew = sql.prepare_cached(
        "UPDATE visits SET record_offset = ?2, record_length = ?3, revisit = min(revisit, ?4) \
         WHERE seq = ?1",
    )?;
    let mut gone = sql.prepare_cached(
        "UPDATE visits SET record_volume = NULL, record_offset = NULL, record_length = NULL, \
         record_id = NULL WHERE seq = ?1",
    )?;
    for (seq, volume, old) in rows {
        let Some(moves) = moves.get(&volume) else { continue };
        match moves.of(old as u64) {
            Moved::To(new) if new as i64 == old => 0,
            Moved::To(new) => to.execute(params![seq, new as i64])?,
            Moved::Anew { offset, length } => {
                let is_revisit = !whole.contains(&(volume, old as u64));
                anew.execute(params![seq, offset as i64, length as i64, is_revisit])?
            }
            Moved::Gone => gone.execute([seq])?,
        };
    }
    Ok(())
}

fn move_mark(sql: &Connection, moves: &BTreeMap<u32, Moves>) -> Result<(), Fault> {
    let text: Option<String> = sql
        .query_row("SELECT value FROM meta WHERE name = 'mark'", [], |row| row.get(0))
        .optional()?;
    let Some(text) = text else { return Ok(()) };
    let mut mark: Mark = serde_json::from_str(&text).map_err(|e| StoreError::Database {
        detail: format!("the stored mark cannot be read: {e}"),
    })?;
    if let Some(moves) = moves.get(&mark.volume) {
        mark.offset = moves.boundary(mark.offset);
    }
    mark.above.retain_mut(|(volume, offset)| match moves.get(volume).map(|m| m.of(*offset)) {
        None => true,
        Some(Moved::Gone) => false,
        Some(Moved::To(new) | Moved::Anew { offset: new, .. }) => {
            *offset = new;
            true
        }
    });
    put_meta(sql, "mark", &mark)
}

pub(crate) fn put_meta(
    sql: &Connection,
    name: &str,
    value: &impl serde::Serialize,
) -> Result<(), Fault> {
    let text = serde_json::to_string(value)
        .map_err(|e| StoreError::Database { detail: format!("cannot store {name}: {e}") })?;
    sql.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)")?
        .execute(params![name, text])?;
    Ok(())
}
