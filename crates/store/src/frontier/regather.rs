//! Reading pages again from the archive: which there are, what today's parser makes of them, and how far it has come.

use model::{Fingerprint, PageFacts, SiteId, SiteKey, StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    rows::{Fault, fp_of, stored_fp},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{self, OptionalExtension, params};

const PLACE: &str = "regather";

/// How far it has come: pages are read in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegatherPlace {
    pub site: i64,
    pub fp: i64,
}

/// A page that has content in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToRegather {
    pub site: SiteKey,
    pub fp: Fingerprint,
    pub place: RegatherPlace,
}

/// What was read of a page.
#[derive(Clone, Debug)]
pub struct Regathered {
    pub site: SiteId,
    pub fp: Fingerprint,
    pub facts: PageFacts,
    pub content_hash: u64,
    pub text_hash: u64,
    pub simhash: u64,
    /// Its text is another than before.
    pub changed: bool,
}

impl SqlFrontier {
    /// Where a run that was cut off has to continue.
    pub fn regather_place(&self) -> Result<Option<RegatherPlace>, StoreError> {
        let read = || {
            let mut statement =
                self.connection.prepare("SELECT value FROM meta WHERE name = ?1")?;
            statement.query_row([PLACE], |row| row.get::<String>(0)).optional()
        };
        let text = read().map_err(|e| self.error(e))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// The next pages, of one site or of all.
    pub fn to_regather(
        &self,
        after: RegatherPlace,
        only: Option<&str>,
        pages_max: usize,
    ) -> Result<Vec<ToRegather>, StoreError> {
        let text = "SELECT p.site, p.fp, s.key FROM pages p JOIN sites s ON s.id = p.site \
                    WHERE (p.site, p.fp) > (?1, ?2) AND p.fetched = 1 AND p.run IS NOT NULL \
                    AND (CAST(?3 AS TEXT) IS NULL OR s.key = ?3) ORDER BY p.site, p.fp LIMIT ?4";
        let read = || {
            let mut statement = self.connection.prepare(text)?;
            let rows = statement.query_map(
                params![after.site, after.fp, only, pages_max as i64],
                |row| {
                    let place = RegatherPlace { site: row.get(0)?, fp: row.get(1)? };
                    let site = SiteKey::stored(row.text(2)?);
                    Ok(ToRegather { site, fp: fp_of(place.fp), place })
                },
            )?;
            rows.collect::<sql::Result<_>>()
        };
        read().map_err(|e| self.error(e))
    }

    /// Writes down what was read, and how far that is, if it is to be continued.
    pub fn regathered(
        &mut self,
        pages: &[Regathered],
        place: Option<RegatherPlace>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            pages.iter().try_for_each(|page| write(work, page))?;
            if let Some(place) = place {
                let text = serde_json::to_string(&place).unwrap_or_default();
                work.sql.execute(
                    "INSERT INTO meta (name, value) VALUES (?1, ?2) \
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    params![PLACE, text],
                )?;
            }
            Ok(())
        })
    }

    /// All pages were read: the next run begins with the first.
    pub fn regather_done(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.change(now, |sql| sql.execute("DELETE FROM meta WHERE name = ?1", [PLACE]).map(drop))
    }
}

/// What says how to ask for the page, and what it is a copy of, stays as it is. The next visit compares with what
/// today's parser reads: without that every page would seem to have changed.
fn write(work: &mut Work<'_>, page: &Regathered) -> Result<(), Fault> {
    let (facts, fp) = (&page.facts, stored_fp(page.fp));
    work.sql
        .prepare(
            "UPDATE page_facts SET media_type = ?3, charset = ?4, title = ?5, description = ?6, \
             language = ?7, canonical = ?8, text_bytes = ?9, links_internal = ?10, \
             links_external = ?11, noindex = ?12, noarchive = ?13, unavailable_after = ?14, \
             sketch = CASE WHEN ?15 = 1 THEN NULL ELSE sketch END WHERE site = ?1 AND fp = ?2",
        )?
        .execute(params![
            page.site.0,
            fp,
            facts.media_type,
            facts.charset,
            facts.title,
            facts.description,
            facts.language,
            facts.canonical,
            facts.text_bytes as i64,
            facts.links_internal,
            facts.links_external,
            facts.noindex,
            facts.noarchive,
            facts.unavailable_after.map(|at| at.0),
            page.changed,
        ])?;
    work.sql
        .prepare(
            "UPDATE visits SET content_hash = ?3, text_hash = ?4, simhash = ?5 WHERE seq = \
             (SELECT run FROM pages WHERE site = ?1 AND fp = ?2)",
        )?
        .execute(params![
            page.site.0,
            fp,
            page.content_hash as i64,
            page.text_hash as i64,
            page.simhash as i64,
        ])?;
    Ok(())
}
