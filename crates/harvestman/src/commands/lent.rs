//! What is said of a page whose site is out with a batch: nobody visits it here meanwhile.

use model::Timestamp;
use store::census::Census;

use collection::status::BatchOut;
use config::{failure::Failure, times};

/// The batch with which a site is out.
pub struct Lent(pub BatchOut);

impl Lent {
    pub fn of(census: &Census, site: &str, now: Timestamp) -> Result<Option<Lent>, Failure> {
        Ok(census.batch_of(site, now)?.as_ref().map(BatchOut::of).map(Lent))
    }
}

/// When a page is visited next; `undated`: what is said of one that has no due time.
pub fn next_visit(
    due: Option<Timestamp>,
    lent: Option<&Lent>,
    undated: &str,
    now: Timestamp,
) -> String {
    next_visit_with(due, lent.map(|lent| &lent.0), undated, now)
}

pub fn next_visit_with(
    due: Option<Timestamp>,
    batch: Option<&BatchOut>,
    undated: &str,
    now: Timestamp,
) -> String {
    let Some(BatchOut { id, until, .. }) = batch else {
        return due.map_or_else(|| undated.to_owned(), |due| times::until(due, now));
    };
    let end = times::until(*until, now);
    let out = format!("its site is out with batch {id} (the lease ends {end})");
    match due {
        Some(due) if due <= *until => format!("not here before batch {id} is back: {out}"),
        Some(due) => format!("{}; {out}", times::until(due, now)),
        None => format!("{undated}; {out}"),
    }
}
