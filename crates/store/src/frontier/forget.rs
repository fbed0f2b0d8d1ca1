//! The rows of what is forgotten go in one transaction, together with all that other rows say of it; the
//! same transaction leaves the tombstones. And rows follow their records when volumes are written anew.
//!
//! Every table that can hold a name of the web is listed here: a new one needs a line in [`OF_PAGES`] or
//! [`PLACES`].

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::{Mark, SiteTraps, StoreError, Timestamp};
use serde_json::Value;

use super::{
    rows::{Fault, stored_fp},
    sql_frontier::SqlFrontier,
    tally::load_totals,
    verify,
};
use crate::{
    forget::{Journal, Targets},
    sql::{self, OptionalExtension, Row, Sql, params},
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

impl SqlFrontier {
    pub(crate) fn count_rows(&mut self, targets: &Targets) -> Result<RowCounts, StoreError> {
        let counted = find(&self.connection, targets).and_then(|it| it.count(&self.connection));
        counted.map_err(|e| self.error(e))
    }

    /// Ids of the sites among the targets, ascending.
    pub(crate) fn ids_of(&mut self, targets: &Targets) -> Result<Vec<i64>, StoreError> {
        find_sites(&self.connection, targets).map_err(|e| self.error(e))
    }

    /// Removes the rows and writes the journal from which the rest can be finished.
    pub(crate) fn forget_rows(
        &mut self,
        targets: &Targets,
        tombstones: &[Tombstone],
        now: Timestamp,
    ) -> Result<(RowCounts, Journal), StoreError> {
        self.transact(now, |work| {
            let sql = work.sql;
            let found = find(sql, targets)?;
            let counts = found.count(sql)?;
            found.delete(sql)?;
            for place in PLACES {
                place.clear(sql, targets)?;
            }
            found.blank(sql)?;
            blank_stats(sql, targets)?;
            blank_commands(sql, targets)?;
            bury(sql, tombstones)?;
            for site in found.sites_of_pages() {
                verify::recount_sites(sql, Some(site))?;
            }
            verify::recount_totals(sql)?;
            work.counts = load_totals(sql)?;
            let targets = targets.list().to_vec();
            let journal = Journal::Removing { targets, sites: found.sites };
            journal.write(sql).map_err(Fault::Store)?;
            Ok((counts, journal))
        })
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
}

/// The row of `meta` that counts how often segments were rewritten: an index of their offsets was made before or after.
pub(crate) const LINKS_REWRITTEN: &str = "links-rewritten";

fn count_rewriting(sql: &Sql) -> sql::Result<()> {
    sql.execute(
        "INSERT INTO meta (name, value) VALUES (?1, '1') \
         ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)",
        [LINKS_REWRITTEN],
    )
    .map(drop)
}

/// The row of `meta` with the files that wait to take their place.
pub(crate) const FILES: &str = "forget-files";

/// Whole sites, ascending, and single pages of others.
struct Found {
    sites: Vec<i64>,
    pages: BTreeSet<(i64, i64)>,
}

/// Tables with rows of pages.
const OF_PAGES: [&str; 5] = ["visits", "page_facts", "page_children", "resting_pages", "pages"];

fn find(sql: &Sql, targets: &Targets) -> sql::Result<Found> {
    let sites = find_sites(sql, targets)?;
    let mut pages = BTreeSet::new();
    let mut page = sql.prepare(
        "SELECT p.site, p.fp FROM pages p JOIN sites s ON s.id = p.site \
         WHERE s.key = ?1 AND p.fp = ?2",
    )?;
    for url in targets.pages() {
        let (key, fp) = (url.site_text(), stored_fp(url.fingerprint()));
        let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found = page.query_row(params![key, fp], read).optional()?;
        pages.extend(found.filter(|(site, _)| sites.binary_search(site).is_err()));
    }
    Ok(Found { sites, pages })
}

fn find_sites(sql: &Sql, targets: &Targets) -> sql::Result<Vec<i64>> {
    let mut ids = BTreeSet::new();
    let mut statement = sql.prepare("SELECT id, key FROM sites WHERE instr(key, ?1) > 0")?;
    for part in targets.parts() {
        let mut rows = statement.query([part])?;
        while let Some(row) = rows.next()? {
            if targets.covers_site(row.text(1)?) {
                ids.insert(row.get(0)?);
            }
        }
    }
    Ok(ids.into_iter().collect())
}

impl Found {
    fn count(&self, sql: &Sql) -> sql::Result<RowCounts> {
        let (mut pages, mut visits) = (0, 0);
        for site in &self.sites {
            pages += number(sql, "SELECT count(*) FROM pages WHERE site = ?1", &[*site])?;
            let sum = "SELECT coalesce(sum(count), 0) FROM visits WHERE site = ?1";
            visits += number(sql, sum, &[*site])?;
        }
        for (site, fp) in &self.pages {
            pages += 1;
            let sum = "SELECT coalesce(sum(count), 0) FROM visits WHERE site = ?1 AND fp = ?2";
            visits += number(sql, sum, &[*site, *fp])?;
        }
        Ok(RowCounts { sites: self.sites.len() as u64, pages, visits })
    }

    fn delete(&self, sql: &Sql) -> sql::Result<()> {
        for table in OF_PAGES {
            let mut of_site = sql.prepare(&format!("DELETE FROM {table} WHERE site = ?1"))?;
            for site in &self.sites {
                of_site.execute([*site])?;
            }
            let mut of_page =
                sql.prepare(&format!("DELETE FROM {table} WHERE site = ?1 AND fp = ?2"))?;
            for (site, fp) in &self.pages {
                of_page.execute([*site, *fp])?;
            }
        }
        for site in &self.sites {
            sql.execute("DELETE FROM robots WHERE site = ?1", [*site])?;
            sql.execute("DELETE FROM sites WHERE id = ?1", [*site])?;
        }
        // Those of other pages of the site may name the page by its fingerprint.
        for site in self.sites_of_pages() {
            sql.execute("DELETE FROM page_children WHERE site = ?1", [site])?;
        }
        Ok(())
    }

    /// What refers to a page by its fingerprint no longer does.
    fn blank(&self, sql: &Sql) -> sql::Result<()> {
        for column in ["duplicate_of", "near_of"] {
            let mut refers = sql.prepare(&format!(
                "UPDATE page_facts SET {column} = NULL WHERE site = ?1 AND {column} = ?2"
            ))?;
            for (site, fp) in &self.pages {
                refers.execute([*site, *fp])?;
            }
        }
        self.sites_of_pages().into_iter().try_for_each(|site| self.blank_families(sql, site))
    }

    /// Families of near duplicates whose first page is forgotten begin again.
    fn blank_families(&self, sql: &Sql, site: i64) -> sql::Result<()> {
        let text: Option<String> = sql
            .query_row("SELECT traps FROM sites WHERE id = ?1", [site], |row| row.get(0))
            .optional()?
            .flatten();
        let Some(text) = text else { return Ok(()) };
        let mut traps: SiteTraps = serde_json::from_str(&text).unwrap_or_default();
        traps.families.retain(|family| !self.pages.contains(&(site, stored_fp(family.first))));
        let text = serde_json::to_string(&traps).ok().filter(|_| !traps.is_empty());
        sql.execute("UPDATE sites SET traps = ?2 WHERE id = ?1", params![site, text]).map(drop)
    }

    fn sites_of_pages(&self) -> BTreeSet<i64> {
        self.pages.iter().map(|(site, _)| *site).collect()
    }
}

fn number(sql: &Sql, text: &str, of: &[i64]) -> sql::Result<u64> {
    sql.query_row(text, of, |row| row.get::<i64>(0)).map(i64::unsigned_abs)
}

/// A text that may name a target, and what becomes of its row then.
struct Place {
    table: &'static str,
    key: &'static str,
    /// A column, or what is made of it.
    text: &'static str,
    is_meant: fn(&Targets, &str) -> bool,
    then: Then,
}

enum Then {
    /// The row is of the forgotten, or would say nothing without its name.
    Delete,
    /// The column loses the name: its new value.
    Set(&'static str),
}

const fn place(
    (table, key): (&'static str, &'static str),
    text: &'static str,
    is_meant: fn(&Targets, &str) -> bool,
    then: Then,
) -> Place {
    Place { table, key, text, is_meant, then }
}

const PLACES: [Place; 25] = {
    use Then::{Delete, Set};
    let (decisions, hazards) =
        (("decisions", "site, reason, rule"), ("hazards", "site, hazard, what"));
    let (facts, events, control) =
        (("page_facts", "site, fp"), ("events", "id"), ("control", "id"));
    let (replicas, hosts) = (("replicas", "site"), ("domain_hosts", "domain"));
    let (blocks, breakdowns) = (("blocks", "pattern"), ("breakdowns", "site, fp"));
    [
        place(("robots", "site, origin"), "origin || '/robots.txt'", Targets::covers_text, Delete),
        place(decisions, "site", Targets::covers_site, Delete),
        place(decisions, "rule", Targets::named_in, Delete),
        place(decisions, "example", Targets::named_in, Set("''")),
        place(decisions, "referrer", Targets::named_in, Set("NULL")),
        place(hazards, "site", Targets::covers_site, Delete),
        place(hazards, "what", Targets::named_in, Delete),
        place(hazards, "examples", Targets::named_in, Set("'[]'")),
        place(breakdowns, "site", Targets::covers_site, Delete),
        place(breakdowns, "url", Targets::covers_text, Delete),
        place(hosts, "domain", Targets::covers_site, Delete),
        place(hosts, "newest", Targets::covers_site, Delete),
        place(replicas, "site", Targets::covers_site, Delete),
        place(replicas, "original", Targets::covers_site, Delete),
        place(blocks, "pattern", Targets::named_in, Delete),
        place(blocks, "reason", Targets::named_in, Set("''")),
        place(events, "site", Targets::covers_site, Delete),
        place(events, "text", Targets::named_in, Delete),
        // Of a command that still waits only the parts that name it go: `blank_commands`.
        place(control, "CASE WHEN done IS NOT NULL THEN command END", Targets::named_in, Delete),
        place(control, "CASE WHEN done IS NOT NULL THEN result END", Targets::named_in, Delete),
        place(facts, "canonical", Targets::named_in, Set("NULL")),
        place(facts, "location", Targets::named_in, Set("NULL")),
        place(("sites", "id"), "traps", Targets::named_in, Set("NULL")),
        place(("runs", "id"), "reason", Targets::named_in, Set("''")),
        place(("spiders", "id"), "why", Targets::named_in, Set("''")),
    ]
};

impl Place {
    /// The database looks for parts of names, which is quick and finds too much; what is meant is seen here.
    fn clear(&self, sql: &Sql, targets: &Targets) -> sql::Result<()> {
        let Place { table, key, text, .. } = self;
        let columns = key.split(", ").count();
        let mut meant = Vec::new();
        let mut look =
            sql.prepare(&format!("SELECT {key}, {text} FROM {table} WHERE instr({text}, ?1) > 0"))?;
        for part in targets.parts() {
            let mut rows = look.query([part])?;
            while let Some(row) = rows.next()? {
                if (self.is_meant)(targets, row.text(columns)?) {
                    let key = (0..columns).map(|column| row.get(column));
                    meant.push(key.collect::<sql::Result<Vec<sql::Value>>>()?);
                }
            }
        }
        let mut act = sql.prepare(&self.act())?;
        meant.iter().try_for_each(|key| act.execute(&key[..]).map(drop))
    }

    fn act(&self) -> String {
        let key: Vec<String> =
            (1..).zip(self.key.split(", ")).map(|(n, column)| format!("{column} = ?{n}")).collect();
        let (table, key) = (self.table, key.join(" AND "));
        match self.then {
            Then::Delete => format!("DELETE FROM {table} WHERE {key}"),
            Then::Set(value) => format!("UPDATE {table} SET {} = {value} WHERE {key}", self.text),
        }
    }
}

fn blank_stats(sql: &Sql, targets: &Targets) -> Result<(), Fault> {
    for (id, text) in named(sql, "SELECT id, stats FROM runs ORDER BY id", targets)? {
        let mut stats: Value = serde_json::from_str(&text).unwrap_or_default();
        scrub(&mut stats, targets);
        sql.execute("UPDATE runs SET stats = ?2 WHERE id = ?1", params![id, stats.to_string()])?;
    }
    Ok(())
}

/// Of commands that still wait only the parts that name it go.
fn blank_commands(sql: &Sql, targets: &Targets) -> Result<(), Fault> {
    for (id, text) in named(sql, "SELECT id, command FROM control ORDER BY id", targets)? {
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

/// The rows among those whose text names a target.
fn named(sql: &Sql, query: &str, targets: &Targets) -> sql::Result<Vec<(i64, String)>> {
    let mut found = Vec::new();
    let mut statement = sql.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if targets.named_in(row.text(1)?) {
            found.push((row.get(0)?, row.get(1)?));
        }
    }
    Ok(found)
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
    sql: &Sql,
    moves: &BTreeMap<u32, Moves>,
    whole: &HashSet<(u32, u64)>,
) -> sql::Result<()> {
    let numbers: Vec<String> = moves.keys().map(u32::to_string).collect();
    // Read whole before the first is changed: a row must not be met twice.
    let rows: Vec<(i64, u32, i64)> = sql
        .prepare(&format!(
            "SELECT seq, record_volume, record_offset FROM visits WHERE record_volume IN ({})",
            numbers.join(", ")
        ))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut to = sql.prepare("UPDATE visits SET record_offset = ?2 WHERE seq = ?1")?;
    let mut anew = sql.prepare(
        "UPDATE visits SET record_offset = ?2, record_length = ?3, revisit = min(revisit, ?4) \
         WHERE seq = ?1",
    )?;
    let mut gone = sql.prepare(
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

fn move_mark(sql: &Sql, moves: &BTreeMap<u32, Moves>) -> Result<(), Fault> {
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

/// A row of `meta`, whether it is there or not.
pub(crate) const PUT_META: &str = "INSERT INTO meta (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";

pub(crate) fn put_meta(sql: &Sql, name: &str, value: &impl serde::Serialize) -> Result<(), Fault> {
    let text = serde_json::to_string(value)
        .map_err(|e| StoreError::Database { detail: format!("cannot store {name}: {e}") })?;
    sql.prepare(PUT_META)?.execute(params![name, text])?;
    Ok(())
}
