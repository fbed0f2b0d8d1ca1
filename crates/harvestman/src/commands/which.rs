//! A version as it is typed: a number, or a time.

use model::Timestamp;

use collection::versions::Which;
use config::{failure::Failure, moments::Moment};

/// By number or time.
pub fn parse(text: &str, now: Timestamp) -> Result<Which, Failure> {
    match text.trim().parse() {
        Ok(number) => Ok(Which::Number(number)),
        Err(_) => at(text, now),
    }
}

/// By its time alone.
pub fn at(text: &str, now: Timestamp) -> Result<Which, Failure> {
    Moment::parse(text, now).map(|moment| Which::At(moment.to)).map_err(|why| {
        Failure::usage(
            format!("cannot tell a version by {text:?}: {why}"),
            "give a time, or a number of those that harvestman history shows",
        )
    })
}
