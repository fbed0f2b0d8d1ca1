//! What the web did to the crawl, each by its name, where, how often, and what was done about it.

use model::{Hazard, Measure, Timestamp};
use serde::Serialize;
use store::census::{Census, HazardEntry};

use crate::{Error, listing::Listing};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HazardRow {
    pub hazard: String,
    /// In half a sentence; `None` for a hazard of a later version.
    pub meaning: Option<&'static str>,
    pub site: String,
    /// Which one, where a site has several: a pattern of URLs, a parameter, a media type.
    pub detail: Option<String>,
    /// What was done: `noted`, `corrected`, `truncated`, `refused`, `pattern-stopped`, `site-stopped`.
    pub action: String,
    pub count: u64,
    pub examples: Vec<String>,
    #[serde(serialize_with = "model::iso::time")]
    pub first: Timestamp,
    #[serde(serialize_with = "model::iso::time")]
    pub last: Timestamp,
}

/// Those met most often first.
pub fn hazards(
    census: &Census,
    hazard: Option<Hazard>,
    site: Option<&str>,
    limit: u32,
) -> Result<Listing<HazardRow>, Error> {
    let rows = census.hazards(hazard.map(Hazard::word), site, limit)?;
    Ok(Listing::limited(rows.into_iter().map(row).collect(), limit))
}

fn row(entry: HazardEntry) -> HazardRow {
    HazardRow {
        meaning: Hazard::from_word(&entry.hazard).map(Hazard::meaning),
        action: action(&entry.measure).to_owned(),
        hazard: entry.hazard,
        site: entry.site,
        detail: Some(entry.what).filter(|what| !what.is_empty()),
        count: entry.count,
        examples: entry.examples,
        first: entry.first,
        last: entry.last,
    }
}

/// An older collection that was only read since has other words for some of them.
fn action(measure: &str) -> &str {
    Measure::from_word(measure).map_or(measure, |known| known.word())
}
