//! All visits of a page as runs: when it was new, changed, gone, back, and how long it stayed as it
//! was.

use std::collections::HashMap;

use model::{Change, PageState, Timestamp};
use serde::Serialize;
use store::census::{Census, PageStory};

use crate::{
    Error,
    archived::Archived,
    versions::{Run, Versions},
};

/// Redirects whose target is read from the archive, the newest: each is a look into a volume.
const TARGETS_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct History {
    pub url: String,
    pub site: String,
    pub title: String,
    pub state: PageState,
    pub visits: u64,
    pub versions: usize,
    #[serde(serialize_with = "model::iso::time")]
    pub found: Timestamp,
    #[serde(serialize_with = "model::iso::option")]
    pub visited: Option<Timestamp>,
    #[serde(serialize_with = "model::iso::option")]
    pub due: Option<Timestamp>,
    /// The batch that has the page's site for now.
    pub batch: Option<BatchOut>,
    /// Runs there are.
    pub total: usize,
    /// The newest of them, oldest first.
    pub rows: Vec<Run>,
}

/// A batch that is being harvested elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BatchOut {
    pub id: i64,
    /// When its leases end.
    #[serde(serialize_with = "model::iso::time")]
    pub until: Timestamp,
}

/// `limit`: runs, the newest; `None` for all.
pub fn history(
    census: &Census,
    archived: &Archived<'_>,
    story: &PageStory,
    limit: Option<usize>,
    now: Timestamp,
) -> Result<History, Error> {
    let PageStory { page, facts, visits } = story;
    let versions = Versions::new(visits);
    let mut rows = versions.runs(&targets(archived, story));
    let total = rows.len();
    rows.drain(..total.saturating_sub(limit.unwrap_or(usize::MAX)));
    // Also where no check has found it yet.
    let lengths = archived.volume_lengths()?;
    rows.iter_mut().for_each(|run| run.lost |= run.record.is_some_and(|at| !lengths.holds(at)));
    let batch = census.batch_of(&page.site, now)?;
    Ok(History {
        url: page.url.clone(),
        site: page.site.clone(),
        title: facts.as_ref().map(|facts| facts.title.clone()).unwrap_or_default(),
        state: page.state,
        visits: page.visits,
        versions: versions.count(),
        found: page.found,
        visited: page.visited,
        due: page.due,
        batch: batch.map(|row| BatchOut { id: row.id, until: row.until }),
        total,
        rows,
    })
}

/// Where redirects led, by row.
fn targets(archived: &Archived<'_>, story: &PageStory) -> HashMap<i64, String> {
    let redirects = story.visits.iter().rev();
    redirects
        .filter(|visit| visit.change == Change::Redirected)
        .take(TARGETS_MAX)
        .filter_map(|visit| Some((visit.seq, archived.redirect(visit.record?)?)))
        .collect()
}
