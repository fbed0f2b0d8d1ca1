//! Rows of which there may be more than were asked for.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listing<T> {
    /// How many there are; `None` where that was not counted: there may be more than these rows.
    pub total: Option<u64>,
    pub rows: Vec<T>,
    /// Where to go on, where there are more.
    pub next: Option<String>,
}

impl<T> Listing<T> {
    /// All there are.
    pub fn whole(rows: Vec<T>) -> Listing<T> {
        Listing { total: Some(rows.len() as u64), rows, next: None }
    }

    /// At most `limit` were asked for.
    pub fn limited(rows: Vec<T>, limit: u32) -> Listing<T> {
        let count = rows.len() as u64;
        Listing { total: Some(count).filter(|count| *count < u64::from(limit)), rows, next: None }
    }
}
