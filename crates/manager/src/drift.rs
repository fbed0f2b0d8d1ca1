//! Visits drift over the hours of the day.
//!
//! Every wait gets a jitter drawn from the page's fingerprint and the moment of its visit, so that what was
//! visited in one night does not come back in one hour, and yet the same question always has the same
//! answer. And a page that is seen every so many days is not seen at the same hour each time: a wait within
//! an hour of whole days moves by one to three hours, as far as its bounds allow.

use std::time::Duration;

use model::{Fingerprint, Timestamp};

use crate::days::{DAY, HOUR};

/// Part of the wait by which it may become shorter or longer.
const JITTER: f64 = 0.1;
/// From here on a page could be seen at the same hour every time.
const SAME_HOUR_FROM: Duration = Duration::from_secs(12 * 3600);
/// Nearer to whole days than this is "the same hour" …
const SAME_HOUR: Duration = HOUR;
/// A visit that is chosen may wait for its site's clock for so long.
const UNTIL_FREE: Duration = Duration::from_secs(600);
/// … and a wait is moved away from it by at most this.
const MOVE_MAX: Duration = Duration::from_secs(3 * 3600);

/// A tenth longer or shorter, between `min` and `max`.
pub fn around(
    fp: Fingerprint,
    visited: Timestamp,
    wait: Duration,
    min: Duration,
    max: Duration,
) -> Duration {
    let draw = Draw::new(fp, visited);
    let factor = 1.0 + JITTER * (2.0 * draw.first() - 1.0);
    // A wait of a century has nothing to gain from a jitter that could overflow.
    let jittered = if wait < 36_525 * DAY { wait.mul_f64(factor) } else { wait };
    off_the_hour(jittered.clamp(min.min(max), max), min.min(max), max, &draw)
}

/// Up to a tenth shorter, never longer: an interval that was asked for is kept.
pub fn earlier(fp: Fingerprint, visited: Timestamp, wait: Duration) -> Duration {
    let draw = Draw::new(fp, visited);
    let tenth = wait / 10;
    off_the_hour(wait - tenth.mul_f64(draw.first()), wait - tenth, wait, &draw)
}

/// Whether a visit after this wait would be at the hour of the last one, or so near that it may become so
/// before its site is free.
pub fn is_same_hour(wait: Duration) -> bool {
    let past = wait.as_millis() % DAY.as_millis();
    let off = past.min(DAY.as_millis() - past);
    wait > SAME_HOUR_FROM && off < (SAME_HOUR + UNTIL_FREE).as_millis()
}

fn off_the_hour(wait: Duration, min: Duration, max: Duration, draw: &Draw) -> Duration {
    if wait <= SAME_HOUR_FROM {
        return wait;
    }
    let half = DAY / 2;
    let whole_ms = (wait + half).as_millis() / DAY.as_millis() * DAY.as_millis();
    let whole = Duration::from_millis(u64::try_from(whole_ms).unwrap_or(u64::MAX));
    if wait.abs_diff(whole) >= SAME_HOUR {
        return wait;
    }
    let below = (whole.saturating_sub(MOVE_MAX).max(min), whole.saturating_sub(SAME_HOUR).min(max));
    let above = (whole.saturating_add(SAME_HOUR).max(min), whole.saturating_add(MOVE_MAX).min(max));
    let (wished, other) = if draw.sign() { (above, below) } else { (below, above) };
    // Where the bounds leave no room on either side, they go before the hour.
    let room = [wished, other].into_iter().find(|(low, high)| low <= high);
    room.map_or(wait, |(low, high)| low + (high - low).mul_f64(draw.second()))
}

/// Numbers from 0 to 1 that look like chance and are always the same for a visit.
struct Draw(u64);

impl Draw {
    fn new(fp: Fingerprint, visited: Timestamp) -> Draw {
        Draw(mix(fp.0 ^ mix(visited.0.cast_unsigned())))
    }

    fn first(&self) -> f64 {
        (self.0 % 1001) as f64 / 1000.0
    }

    fn second(&self) -> f64 {
        (mix(self.0) % 1001) as f64 / 1000.0
    }

    fn sign(&self) -> bool {
        mix(self.0) >> 63 == 1
    }
}

/// Spreads every bit over all others (the finaliser of splitmix64).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests;
