//! Which pages of a site are the same or nearly so.

use serde::Serialize;
use store::{census::Census, history::Duplicates};

use crate::{Error, listing::Listing};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateKind {
    /// The very same content.
    Exact,
    /// Texts that differ in next to nothing.
    Near,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DuplicateRow {
    pub site: String,
    pub kind: DuplicateKind,
    /// The page that was there first; `None` when it is no longer known.
    pub original: Option<String>,
    /// All of them, the original among them.
    pub pages: u64,
    /// Of the content of all but the original, as they were last seen.
    pub bytes: u64,
    /// Some of the others.
    pub examples: Vec<String>,
}

/// Those with most pages first; at most `limit` of either kind.
pub fn duplicates(
    census: &Census,
    site: Option<&str>,
    limit: u32,
) -> Result<Listing<DuplicateRow>, Error> {
    let rows: Vec<DuplicateRow> = census.duplicates(site, limit)?.into_iter().map(row).collect();
    let of = |kind| rows.iter().filter(|row| row.kind == kind).count() as u64;
    let all = of(DuplicateKind::Exact).max(of(DuplicateKind::Near)) < u64::from(limit);
    Ok(Listing { total: all.then_some(rows.len() as u64), rows, next: None })
}

fn row(family: Duplicates) -> DuplicateRow {
    DuplicateRow {
        site: family.site,
        kind: if family.exact { DuplicateKind::Exact } else { DuplicateKind::Near },
        original: Some(family.first).filter(|first| !first.is_empty()),
        pages: family.pages,
        bytes: family.bytes,
        examples: family.examples,
    }
}
