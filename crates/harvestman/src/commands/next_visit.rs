//! When a page is visited next, in words: also when its site is out with a batch, and nobody visits it here.

use model::Timestamp;

use collection::status::BatchOut;
use config::times;

/// `undated`: what is said of a page that has no due time.
pub fn next_visit(
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
