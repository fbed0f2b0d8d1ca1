//! How often pages changed, how often those below them, and how the time between visits has followed
//! (Table 2 of Bouras et al.).

use std::time::Duration;

use model::{PageState, Timestamp};
use serde::Serialize;
use store::{
    census::Census,
    history::{Adaptation, AdaptationFilter},
};

use crate::{Error, listing::Listing};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdaptationRow {
    pub url: String,
    pub spider: String,
    pub seed: bool,
    pub state: PageState,
    pub links: u64,
    pub links_internal: u32,
    pub links_external: u32,
    pub visits: u64,
    /// The last 10 comparisons, or as many as there were, …
    pub compared: u32,
    /// … and those among them that showed a change.
    pub changes: u32,
    /// Pages of the site at deeper levels that were compared at least once, …
    pub below_pages: u32,
    /// … their last 10 comparisons, …
    pub below_compared: u64,
    /// … and those among them that showed a change.
    pub below_changes: u64,
    /// Under the policy "frequency": cycles between two visits.
    pub cycles: Option<u16>,
    /// Between the last two visits.
    pub before_seconds: Option<f64>,
    /// From the last visit to the next.
    pub now_seconds: Option<f64>,
    #[serde(serialize_with = "model::iso::option")]
    pub visited: Option<Timestamp>,
    #[serde(serialize_with = "model::iso::option")]
    pub due: Option<Timestamp>,
}

/// Seeds or pages that were fetched, by site and level.
pub fn adaptation(
    census: &Census,
    filter: &AdaptationFilter,
    limit: u32,
) -> Result<Listing<AdaptationRow>, Error> {
    let rows = census.adaptation(filter, limit)?;
    Ok(Listing::limited(rows.into_iter().map(row).collect(), limit))
}

fn row(row: Adaptation) -> AdaptationRow {
    let seconds = |ms: Option<u64>| ms.map(|ms| Duration::from_millis(ms).as_secs_f64());
    AdaptationRow {
        links: u64::from(row.links_internal) + u64::from(row.links_external),
        url: row.url,
        spider: row.spider,
        seed: row.seed,
        state: row.state,
        links_internal: row.links_internal,
        links_external: row.links_external,
        visits: row.visits,
        compared: row.compared,
        changes: row.changes,
        below_pages: row.internal_pages,
        below_compared: row.internal_compared,
        below_changes: row.internal_changes,
        cycles: Some(row.fr_max).filter(|cycles| *cycles > 0),
        before_seconds: seconds(row.period_before_ms),
        now_seconds: seconds(row.period_now_ms),
        visited: row.visited,
        due: row.due,
    }
}
