//! Times as programs and people read them: UTC, to the second, `2026-11-15T20:00:00Z`.
//!
//! For the answers of `collection`, whose JSON is a promise: `#[serde(serialize_with = "iso::time")]`. What is
//! stored keeps milliseconds.

use jiff::{SignedDuration, civil};
use serde::{Serializer, ser::SerializeSeq};

use crate::Timestamp;

/// 1970, in the calendar: it has every day up to the end of 9999, which moments of jiff have not.
pub const EPOCH: civil::DateTime = civil::datetime(1970, 1, 1, 0, 0, 0, 0);

pub fn text(at: Timestamp) -> String {
    let at = EPOCH.saturating_add(SignedDuration::from_millis(at.0));
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub fn time<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text(*at))
}

/// `null` for `None`.
pub fn option<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => time(at, to),
        None => to.serialize_none(),
    }
}

pub fn list<S: Serializer>(times: &[Timestamp], to: S) -> Result<S::Ok, S::Error> {
    let mut list = to.serialize_seq(Some(times.len()))?;
    for at in times {
        list.serialize_element(&text(*at))?;
    }
    list.end()
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct Answer {
        #[serde(serialize_with = "super::time")]
        at: Timestamp,
        #[serde(serialize_with = "super::option")]
        due: Option<Timestamp>,
        #[serde(serialize_with = "super::list")]
        all: Vec<Timestamp>,
    }

    #[test]
    fn times_are_text_in_answers() {
        let answer = Answer { at: Timestamp(0), due: None, all: vec![Timestamp(1_000)] };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            r#"{"at":"1970-01-01T00:00:00Z","due":null,"all":["1970-01-01T00:00:01Z"]}"#
        );
    }

    #[test]
    fn every_number_is_a_time() {
        assert_eq!(text(Timestamp(253_402_300_799_000)), "9999-12-31T23:59:59Z");
        assert_eq!(text(Timestamp(i64::MAX)), "9999-12-31T23:59:59Z");
    }
}
