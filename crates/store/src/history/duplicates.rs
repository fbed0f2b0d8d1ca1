//! Duplicates: pages with the content of another page of their site, and families of near duplicates.

use model::StoreError;
use serde::Serialize;

use crate::census::Census;
use crate::sql::{self, OptionalExtension, Row, Sql, params};

/// Pages of a site that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    pub site: String,
    /// The very same content; else texts that differ in next to nothing.
    pub exact: bool,
    /// The page that was there first; empty when it is no longer known.
    pub first: String,
    /// All of them, the first among them.
    pub pages: u64,
    /// Of the content of all but the first, as they were last seen.
    pub bytes: u64,
    /// Some of those that came after the first.
    pub examples: Vec<String>,
}

/// Of each.
const EXAMPLES_MAX: u32 = 3;

impl Census {
    /// Of one site or all, the most numerous first; at most `max` of either kind.
    pub fn duplicates(&self, site: Option<&str>, max: u32) -> Result<Vec<Duplicates>, StoreError> {
        let mut found = self.ask(|sql| alike(sql, true, site, max))?;
        found.extend(self.ask(|sql| alike(sql, false, site, max))?);
        found.sort_by(|a, b| (b.pages, &a.site, &a.first).cmp(&(a.pages, &b.site, &b.first)));
        Ok(found)
    }

    /// The page that this one repeats, if it is known.
    pub fn url_on(&self, site: &str, fp: model::Fingerprint) -> Result<Option<String>, StoreError> {
        self.ask(|sql| {
            let question = "SELECT p.url FROM pages p JOIN sites s ON s.id = p.site \
                            WHERE s.key = ?1 AND p.fp = ?2";
            sql.prepare(question)?
                .query_row(params![site, fp.0 as i64], |row| row.get(0))
                .optional()
        })
    }
}

fn alike(sql: &Sql, exact: bool, site: Option<&str>, max: u32) -> sql::Result<Vec<Duplicates>> {
    let (column, index) = match exact {
        true => ("duplicate_of", "page_facts_same"),
        false => ("near_of", "page_facts_near"),
    };
    let question = format!(
        "SELECT f.site, min(s.key), f.{column}, count(*), coalesce(sum(v.body_bytes), 0), \
         (SELECT url FROM pages o WHERE o.site = f.site AND o.fp = f.{column}) \
         FROM page_facts f /*INDEXED BY {index}*/ JOIN sites s ON s.id = f.site \
         JOIN pages p ON p.site = f.site AND p.fp = f.fp LEFT JOIN visits v ON v.seq = p.run \
         WHERE f.{column} IS NOT NULL AND (CAST(?1 AS TEXT) IS NULL OR s.key = ?1) \
         GROUP BY f.site, f.{column} ORDER BY 4 DESC, 2, 3 LIMIT ?2"
    );
    let read = |row: Row<'_>| {
        let found = Duplicates {
            site: row.get(1)?,
            exact,
            first: row.get::<Option<String>>(5)?.unwrap_or_default(),
            pages: row.get::<i64>(3)? as u64 + 1,
            bytes: row.get::<i64>(4)? as u64,
            examples: Vec::new(),
        };
        Ok((row.get(0)?, row.get(2)?, found))
    };
    let rows: Vec<(i64, i64, Duplicates)> = sql
        .prepare_hinted(&question)?
        .query_map(params![site, max], read)?
        .collect::<sql::Result<_>>()?;
    let with_examples = |(id, first, found)| {
        Ok(Duplicates { examples: examples(sql, column, id, first)?, ..found })
    };
    rows.into_iter().map(with_examples).collect()
}

fn examples(sql: &Sql, column: &str, site: i64, first: i64) -> sql::Result<Vec<String>> {
    let question = format!(
        "SELECT p.url FROM page_facts f JOIN pages p ON p.site = f.site AND p.fp = f.fp \
         WHERE f.site = ?1 AND f.{column} = ?2 ORDER BY f.fp LIMIT ?3"
    );
    sql.prepare(&question)?
        .query_map(params![site, first, EXAMPLES_MAX], |row| row.get(0))?
        .collect()
}
