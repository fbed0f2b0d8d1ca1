//! Answers of `collection` as JSON, and what is said of one that has not come yet.

use serde::Serialize;

use crate::terminal::print;
use config::failure::Failure;

/// Said where a running crawl has not answered in the time it usually takes.
pub const PENDING: &str = "the running crawl has not answered yet; it carries that out when it can";

pub fn json(answer: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(answer)
        .map_err(|error| Failure::fault(format!("cannot write the answer: {error}"), ""))?;
    print(&format!("{text}\n"))
}
