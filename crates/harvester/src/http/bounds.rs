//! How much of an answer is taken at most, for either version of HTTP: the request's limits, and what they leave open.

use std::time::Duration;

use model::FetchLimits;

/// A rest of an unwanted body up to this size is read away to keep the connection: it costs less than
/// a new one with its TLS handshake.
pub const DRAIN_BYTES_MAX: u64 = 64 * 1024;
/// … if it comes at once.
pub const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Lines in a head: twice what the largest honest sites send.
pub const HEADER_LINES_MAX: usize = 256;
/// Interim answers (1xx) before the answer; honest servers send one or two.
pub const INTERIMS_MAX: usize = 16;
/// What framing may cost beside the body before it counts as an attack.
pub const FRAMING_BYTES_MAX: usize = 64 * 1024;

/// A body at its limit with all the framing that is let pass.
pub fn framed_body_max(limits: &FetchLimits) -> usize {
    let body_max = usize::try_from(limits.body_bytes_max).unwrap_or(usize::MAX);
    body_max.saturating_add(body_max / 8 + FRAMING_BYTES_MAX)
}

/// What is left for the whole answer. Nothing was said of it: no limit.
pub fn wire_bytes_max(limits: &FetchLimits) -> usize {
    let most = limits.wire_bytes_max.unwrap_or(u64::MAX);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// A head that does not fit into what is left is over the limit like any other: half a head is no answer.
pub fn head_bytes_max(limits: &FetchLimits) -> usize {
    limits.head_bytes_max.min(wire_bytes_max(limits))
}
