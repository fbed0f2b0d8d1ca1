//! What is known of the pages at both ends of links, and of the segments that hold them.

use model::{CrawlUrl, Fingerprint, PageState, SiteId, StoreError, Timestamp};
use serde::Serialize;

use super::{Census, unknown};
use crate::{
    frontier::LINKS_REWRITTEN,
    links::{LinkPosition, index::LinkState},
    sql::{self, OptionalExtension, Row, params},
};

/// A page as those see it who link to it, or to whom it links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageStanding {
    pub site: SiteId,
    pub fp: Fingerprint,
    pub url: String,
    pub state: PageState,
    /// Of its last visit; 0: it brought no answer. `None`: there was none.
    pub status: Option<u16>,
    /// Why the last visit brought no answer.
    pub failure: Option<String>,
    /// When its last answer was first given, …
    pub since: Option<Timestamp>,
    /// … and last.
    pub visited: Option<Timestamp>,
    /// The last visit that showed whether its content had changed.
    pub seen: Option<Timestamp>,
}

/// Which pages count as broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokenFilter {
    /// Key of a site.
    pub site: Option<String>,
    /// All whose last visit failed, whatever the reason; else those that answered 404 or 410.
    pub any: bool,
}

/// The last visit of a page, or nothing.
macro_rules! select_standing {
    ($rest:literal) => {
        concat!(
            "SELECT p.site, p.fp, p.url, p.state, v.status, v.failure, v.first, p.visited, p.seen \
             FROM pages p JOIN sites s ON s.id = p.site LEFT JOIN visits v ON v.seq = \
             CASE p.state WHEN 2 THEN p.run ELSE (SELECT seq FROM visits WHERE site = p.site \
             AND fp = p.fp ORDER BY last DESC, seq DESC LIMIT 1) END WHERE ",
            $rest
        )
    };
}

/// Last visits that count as broken: ?1 is `any`.
const BROKEN: &str = "p.requisite = 0 AND p.state IN (4, 5) \
                      AND (?1 = 1 OR v.status IN (404, 410))";

impl Census {
    pub fn link_state(&self) -> Result<LinkState, StoreError> {
        let names = ["links-mark", LINKS_REWRITTEN, "forget"];
        let rows: Vec<(String, String)> = self.ask(|sql| {
            sql.prepare("SELECT name, value FROM meta WHERE name IN (?1, ?2, ?3)")?
                .query_map(names, |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        let value = |name| rows.iter().find(|row| row.0 == name).map(|row| row.1.as_str());
        let mark: Option<LinkPosition> =
            value("links-mark").map(serde_json::from_str).transpose().map_err(|e| {
                let detail = format!("how far links are settled cannot be read: {e}");
                StoreError::Corrupt { path: self.path.clone(), detail }
            })?;
        Ok(LinkState {
            mark,
            rewritten: value(LINKS_REWRITTEN).and_then(|n| n.parse().ok()).unwrap_or(0),
            removing: value("forget").is_some_and(|journal| journal.contains(r#""removing""#)),
        })
    }

    pub fn standing(
        &self,
        site: SiteId,
        fp: Fingerprint,
    ) -> Result<Option<PageStanding>, StoreError> {
        self.ask(|sql| {
            sql.prepare(select_standing!("p.site = ?1 AND p.fp = ?2"))?
                .query_row(params![site.0, fp.0 as i64], standing)
                .optional()
        })
    }

    pub fn standing_of(&self, url: &CrawlUrl) -> Result<Option<PageStanding>, StoreError> {
        self.ask(|sql| {
            sql.prepare(select_standing!("s.key = ?1 AND p.fp = ?2"))?
                .query_row(params![url.site_text(), url.fingerprint().0 as i64], standing)
                .optional()
        })
    }

    /// Broken pages by site and fingerprint, behind `after`, at most `max`.
    pub fn broken(
        &self,
        filter: &BrokenFilter,
        after: Option<(SiteId, Fingerprint)>,
        max: u32,
    ) -> Result<Vec<PageStanding>, StoreError> {
        let (site, fp) = after.map_or((i64::MIN, i64::MIN), |(site, fp)| (site.0, fp.0 as i64));
        let question = format!(
            "{} {BROKEN} AND (p.site, p.fp) > (?3, ?4) ORDER BY p.site, p.fp LIMIT ?5",
            one_site(filter)
        );
        self.list(&question, params![filter.any, filter.site, site, fp, max], standing)
    }

    pub fn count_broken(&self, filter: &BrokenFilter) -> Result<u64, StoreError> {
        let question = format!("SELECT count(*) FROM ({} {BROKEN}) AS found", one_site(filter));
        let count =
            self.list(&question, params![filter.any, filter.site], |row| row.get::<i64>(0))?;
        Ok(count.first().map_or(0, |count| *count as u64))
    }
}

/// Of a single site the key comes first, so that no other site's pages are read.
fn one_site(filter: &BrokenFilter) -> &'static str {
    match filter.site {
        Some(_) => select_standing!("p.site = (SELECT id FROM sites WHERE key = ?2) AND"),
        None => select_standing!("CAST(?2 AS TEXT) IS NULL AND"),
    }
}

fn standing(row: Row<'_>) -> sql::Result<PageStanding> {
    let moment = |column: usize| row.get::<Option<i64>>(column).map(|at| at.map(Timestamp));
    Ok(PageStanding {
        site: SiteId(row.get(0)?),
        fp: Fingerprint(row.get::<i64>(1)? as u64),
        url: row.get(2)?,
        state: PageState::from_stored(row.get(3)?).ok_or_else(|| unknown(3))?,
        status: row.get(4)?,
        failure: row.get(5)?,
        since: moment(6)?,
        visited: moment(7)?,
        seen: moment(8)?,
    })
}
