//! The form of every answer that is a list.

use serde::Serialize;

/// `total`: how many there are in all, where that is known; `next`: where to go on, where there are more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listing<T> {
    pub total: Option<u64>,
    pub rows: Vec<T>,
    pub next: Option<String>,
}

impl<T> Listing<T> {
    /// All there is.
    pub fn whole(rows: Vec<T>) -> Listing<T> {
        Listing { total: Some(rows.len() as u64), rows, next: None }
    }
}
