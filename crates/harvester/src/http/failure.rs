//! Why a request has no answer, in the words and by the name that the visit is told by.

use std::io;

use model::{FailureKind, FetchLimits, Hazard, Measure, Met};

use super::bounds::{HEADER_LINES_MAX, INTERIMS_MAX, head_bytes_max, wire_bytes_max};

pub struct HopFailure {
    pub kind: FailureKind,
    pub detail: String,
    /// The server closed before a byte of an answer.
    pub unanswered: bool,
    /// And before a byte of the request was given to the connection: it may be sent on another one at once.
    pub unsent: bool,
    /// By name, where that is more than the kind says.
    pub met: Option<Met>,
    /// What came of the answer.
    pub wire_bytes: u64,
}

impl HopFailure {
    /// With the system's own words for it.
    pub fn because(mut self, error: &io::Error) -> HopFailure {
        self.detail = format!("{}: {error}", self.detail);
        self
    }
}

pub fn bad_http(detail: String) -> HopFailure {
    failure(FailureKind::BadHttp, detail)
}

pub fn failure(kind: FailureKind, detail: String) -> HopFailure {
    HopFailure { kind, detail, unanswered: false, unsent: false, met: None, wire_bytes: 0 }
}

/// A head that does not fit. Where it is our own limit on the bytes of the crawl that it does not fit into, the server did
/// nothing wrong.
pub fn over_long(limits: &FetchLimits) -> HopFailure {
    let left = wire_bytes_max(limits);
    if left < limits.head_bytes_max {
        return bad_http(format!(
            "the headers are longer than the {left} bytes left in crawl.bytes"
        ));
    }
    flood(limits)
}

/// A head over the limit of bytes or lines.
pub fn flood(limits: &FetchLimits) -> HopFailure {
    let (bytes, lines) = (head_bytes_max(limits), HEADER_LINES_MAX);
    let failure =
        bad_http(format!("the headers exceed the limit of {bytes} bytes and {lines} lines"));
    HopFailure { met: Some(Met::new(Hazard::HeaderFlood, Measure::Refused)), ..failure }
}

pub fn interim_flood() -> HopFailure {
    let failure =
        bad_http(format!("more than {INTERIMS_MAX} interim responses came before the response"));
    HopFailure { met: Some(Met::new(Hazard::InterimFlood, Measure::Refused)), ..failure }
}
