//! Notices (sitemaps, feeds, robots.rdf): which rows are read for what they tell of other pages.
//!
//! To be one is a mark on a row and says nothing about what else it is. Mostly it is a requisite; one that is
//! linked to, or was a page before, is a page and a notice.

use model::{PageTerms, SignalSource, SiteId};
use rusqlite::params;

use super::{rows::Fault, sqlite::Work};

/// Nothing takes the mark away: links know nothing of it.
pub(super) fn mark(work: &Work<'_>, site: SiteId, fp: i64, terms: &PageTerms) -> Result<(), Fault> {
    if terms.notice.is_some() {
        work.sql
            .prepare_cached("UPDATE pages SET notice = ?3 WHERE site = ?1 AND fp = ?2")?
            .execute(params![site.0, fp, SignalSource::stored(terms.notice)])?;
    }
    Ok(())
}
