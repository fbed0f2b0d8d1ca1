//! What is said of a page whose site is out with a batch: nobody visits it here meanwhile.

use model::Timestamp;
use serde_json::{Value, json};
use store::{census::Census, frontier::BatchRow};

use config::{failure::Failure, times};

/// The batch with which a site is out.
pub struct Lent(BatchRow);

impl Lent {
    pub fn of(census: &Census, site: &str, now: Timestamp) -> Result<Option<Lent>, Failure> {
        Ok(census.batch_of(site, now)?.map(Lent))
    }

    pub fn json(&self) -> Value {
        json!({ "id": self.0.id, "until": times::iso(self.0.until) })
    }

    /// When a page is visited next that is due then.
    fn next_visit(&self, due: Option<Timestamp>, undated: &str, now: Timestamp) -> String {
        let (id, end) = (self.0.id, times::until(self.0.until, now));
        let out = format!("its site is out with batch {id} (the lease ends {end})");
        match due {
            Some(due) if due <= self.0.until => {
                format!("not here before batch {id} is back: {out}")
            }
            Some(due) => format!("{}; {out}", times::until(due, now)),
            None => format!("{undated}; {out}"),
        }
    }
}

/// When a page is visited next; `undated`: what is said of one that has no moment of its own.
pub fn next_visit(
    due: Option<Timestamp>,
    lent: Option<&Lent>,
    undated: &str,
    now: Timestamp,
) -> String {
    match (lent, due) {
        (Some(lent), _) => lent.next_visit(due, undated, now),
        (None, Some(due)) => times::until(due, now),
        (None, None) => undated.to_owned(),
    }
}
