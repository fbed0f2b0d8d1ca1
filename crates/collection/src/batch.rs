//! Batches of a collection: which are out, and giving back the sites of one that will not return.
//! Making, harvesting and importing one is the engine's.

use model::Timestamp;
use serde::Serialize;
use store::{
    census::Census,
    collection::{Collection, CrawlLock},
    frontier::BatchState,
};

use crate::{Error, listing::Listing};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchRow {
    pub id: i64,
    pub state: BatchState,
    #[serde(serialize_with = "model::iso::time")]
    pub created: Timestamp,
    /// When its leases end.
    #[serde(serialize_with = "model::iso::time")]
    pub until: Timestamp,
    /// As they were exported.
    pub sites: u64,
    pub pages: u64,
    /// Sites that are out with it now.
    pub sites_out: u64,
    /// When it was imported or cancelled.
    #[serde(serialize_with = "model::iso::option")]
    pub ended: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CancelledBatch {
    pub batch: i64,
    /// Sites that were given back.
    pub sites: u64,
}

pub fn list(census: &Census) -> Result<Listing<BatchRow>, Error> {
    let row = |row: store::frontier::BatchRow| BatchRow {
        id: row.id,
        state: row.state,
        created: row.made,
        until: row.until,
        sites: row.sites,
        pages: row.pages,
        sites_out: row.sites_out,
        ended: row.ended,
    };
    Ok(Listing::whole(census.batches()?.into_iter().map(row).collect()))
}

/// Gives the sites of a batch back. Who calls holds the lock.
pub fn cancel(
    collection: &Collection,
    _lock: &CrawlLock,
    id: i64,
    now: Timestamp,
) -> Result<CancelledBatch, Error> {
    let mut frontier = collection.frontier()?;
    let row = frontier.batches()?.into_iter().find(|row| row.id == id);
    match row.ok_or(Error::BatchUnknown { id })?.state {
        BatchState::Out => {}
        state => return Err(Error::BatchNotOut { id, state: state.word() }),
    }
    let sites = frontier.close_batch(id, BatchState::Cancelled, now)?.len() as u64;
    Ok(CancelledBatch { batch: id, sites })
}
