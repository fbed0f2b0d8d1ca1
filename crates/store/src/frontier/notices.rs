//! Notices (sitemaps, feeds, robots.rdf): which rows are read for what they tell of other pages.
//!
//! To be one is a mark on a row and says nothing about what else it is. Mostly it is a requisite; one that is
//! linked to, or was a page before, is a page and a notice.

use model::{CrawlUrl, Decision, PageTerms, RefusalReason, SignalSource, SiteId, limits};

use super::{
    check_in::count_decisions,
    rows::{Fault, stored_fp},
    sql_frontier::Work,
};
use crate::sql::params;

/// By name: SQLite would read all rows of the site.
const COUNT: &str =
    "SELECT count(*) FROM pages /*INDEXED BY pages_notices*/ WHERE site = ?1 AND notice > 0";

/// The site has as many as are taken of one: this one stays out, and that is told.
pub(super) fn refuses(
    work: &mut Work<'_>,
    site: SiteId,
    url: &CrawlUrl,
    terms: &PageTerms,
) -> Result<bool, Fault> {
    if terms.notice.is_none() || !is_one_too_many(work, site, stored_fp(url.fingerprint()))? {
        return Ok(false);
    }
    let decision = Decision {
        site: url.site_text().to_owned(),
        reason: RefusalReason::Limit,
        rule: format!("{} sitemaps and feeds of a site", limits::NOTICES_PER_SITE_MAX),
        count: 1,
        example: url.as_str().to_owned(),
        referrer: None,
    };
    count_decisions(work, &[decision])?;
    Ok(true)
}

fn is_one_too_many(work: &Work<'_>, site: SiteId, fp: i64) -> Result<bool, Fault> {
    let mut is_one =
        work.sql.prepare("SELECT 1 FROM pages WHERE site = ?1 AND fp = ?2 AND notice > 0")?;
    if is_one.exists(params![site.0, fp])? {
        return Ok(false);
    }
    let count: i64 = work.sql.prepare_hinted(COUNT)?.query_row([site.0], |row| row.get(0))?;
    Ok(count as u64 >= limits::NOTICES_PER_SITE_MAX)
}

/// Nothing takes the mark away: links know nothing of it.
pub(super) fn mark(work: &Work<'_>, site: SiteId, fp: i64, terms: &PageTerms) -> Result<(), Fault> {
    if terms.notice.is_some() {
        work.sql
            .prepare("UPDATE pages SET notice = ?3 WHERE site = ?1 AND fp = ?2")?
            .execute(params![site.0, fp, SignalSource::stored(terms.notice)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::{Candidate, Frontier, Timestamp};

    use super::{
        super::{SqlFrontier, suite::candidate},
        *,
    };

    #[test]
    fn what_is_too_many_is_told_once_with_its_count() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let notice = Some(SignalSource::Sitemap);
        let terms = PageTerms { requisite: true, notice, ..PageTerms::default() };
        let found: Vec<Candidate> = (0..limits::NOTICES_PER_SITE_MAX + 5)
            .map(|n| Candidate { terms, ..candidate(&format!("http://a.example/{n}.xml"), 0) })
            .collect();
        let admitted = frontier.admit(&found, Timestamp(0)).unwrap();
        assert_eq!(admitted, limits::NOTICES_PER_SITE_MAX);
        let told: (String, String, i64) = frontier
            .connection
            .query_row("SELECT reason, rule, sum(count) FROM decisions", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        assert_eq!(told, ("limit".into(), "1000 sitemaps and feeds of a site".into(), 5));
        let plan: String = frontier
            .connection
            .prepare_hinted(&format!("EXPLAIN QUERY PLAN {COUNT}"))
            .and_then(|mut plan| plan.query_row([1], |row| row.get(3)))
            .unwrap();
        assert!(plan.contains("COVERING INDEX pages_notices"), "{plan}");
    }
}
