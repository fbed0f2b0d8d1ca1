//! Days, the unit of time of all reckoning here, and the way to them from moments and durations.
//!
//! A clock may be set back or forward at any time: a span that would be negative is zero, and a wait is
//! never longer than [`WAIT_MAX_DAYS`], so that nothing overflows and nothing is lost for ever.

use std::time::Duration;

use model::Timestamp;

pub const HOUR: Duration = Duration::from_secs(3600);
pub const DAY: Duration = Duration::from_secs(24 * 3600);

/// A hundred years: longer than any period that anybody sets.
const WAIT_MAX_DAYS: f64 = 36_525.0;
const SECONDS: f64 = 86_400.0;

pub fn days(span: Duration) -> f64 {
    span.as_secs_f64() / SECONDS
}

/// From the earlier moment to the later; zero when it is not the later.
pub fn between(earlier: Timestamp, later: Timestamp) -> f64 {
    days(later.since(earlier))
}

/// The duration of so many days; what is no number is no wait.
pub fn wait(days: f64) -> Duration {
    let days = if days.is_nan() { 0.0 } else { days.clamp(0.0, WAIT_MAX_DAYS) };
    Duration::from_secs_f64(days * SECONDS)
}
