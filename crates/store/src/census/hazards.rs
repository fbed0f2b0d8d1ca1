//! A hazard as it is told: where it was met, how often, and what was done.

use model::Timestamp;
use serde::Serialize;

use crate::sql::{self, Row};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HazardEntry {
    pub site: String,
    pub hazard: String,
    /// Which one, where a site has several; may be empty.
    pub what: String,
    pub measure: String,
    pub count: u64,
    pub examples: Vec<String>,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl HazardEntry {
    pub(super) fn from_row(row: Row<'_>) -> sql::Result<HazardEntry> {
        let examples: String = row.get(5)?;
        Ok(HazardEntry {
            site: row.get(0)?,
            hazard: row.get(1)?,
            what: row.get(2)?,
            measure: row.get(3)?,
            count: row.get::<i64>(4)? as u64,
            examples: serde_json::from_str(&examples).unwrap_or_default(),
            first: Timestamp(row.get(6)?),
            last: Timestamp(row.get(7)?),
        })
    }
}
