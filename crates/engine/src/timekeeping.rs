//! The machine's clock against what the collection has seen of time: a clock that was set wrong between two crawls
//! must neither freeze pages until a year has passed nor go unnoticed.

use std::time::Duration;

use model::{Clock, StoreError, Timestamp};
use store::{collection::Collection, frontier::SqlFrontier, thin};

use config::{amounts::some, units::time_text};

use crate::sittings::Sittings;

/// Machines that share a collection, or one that has slept, may be so far apart.
const TOLERATED: Duration = Duration::from_secs(3_600);
/// What a clock that ran ahead put off is seen again within this time: a round at the usual budget.
const ROUND: Duration = Duration::from_secs(7 * 86_400);
/// A collection that rested for longer is worth a word: perhaps it is the clock.
const LONG_REST: Duration = Duration::from_secs(180 * 86_400);

/// Whether the clock may be gone by where something is removed for its age: it is not behind what the collection
/// has seen, nor so far ahead that it may be wrong. `newest`: before anything was changed today.
pub fn is_plausible(newest: Timestamp, now: Timestamp) -> bool {
    newest == Timestamp::ZERO || newest <= now.plus(TOLERATED) && now.since(newest) <= LONG_REST
}

/// Puts right what a clock that was set back would freeze; what there is to say about the clock, if anything.
pub fn set_right(frontier: &mut SqlFrontier, now: Timestamp) -> Result<Option<String>, StoreError> {
    let newest = frontier.newest();
    if newest == Timestamp::ZERO {
        return Ok(None);
    }
    if newest > now.plus(TOLERATED) {
        let pages = frontier.cap_dues(now, ROUND)?;
        let ahead = days(newest.since(now));
        return Ok(Some(format!(
            "the clock is {ahead} behind the newest visit of this collection; what a clock that ran \
             ahead put off is seen again within {} ({})",
            days(ROUND),
            some(pages, "page")
        )));
    }
    let rest = now.since(newest);
    Ok((rest > LONG_REST).then(|| {
        format!(
            "by the clock this collection has rested for {}; if that is not so, set the clock right \
             before crawling",
            days(rest)
        )
    }))
}

/// Sets the clock by the wall clock, between two sittings, and moves what the collection has waiting by as much as the
/// wall clock was set. What passed while the machine slept moves nothing.
pub fn follow(
    collection: &Collection,
    sittings: &mut Sittings,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let Some(step) = clock.wall_step() else { return Ok(()) };
    let before = clock.now();
    clock.resync();
    let now = clock.now();
    sittings.clock_moved(now.0.saturating_sub(before.0));
    if step.set_ms() != 0 {
        let before = before.plus(step.slept);
        collection.frontier()?.clock_was_set(before, now)?;
    }
    if Duration::from_millis(step.set_ms().unsigned_abs()) > TOLERATED {
        // By their dates versions may seem older than they are.
        thin::put_off(collection, now)?;
    }
    Ok(())
}

fn days(span: Duration) -> String {
    let unit = if span < Duration::from_secs(2 * 86_400) { 3_600 } else { 86_400 };
    time_text(Duration::from_secs(span.as_secs() / unit * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_plausible_within_an_hour_back_and_half_a_year_on() {
        let newest = Timestamp::ZERO.plus(LONG_REST * 10);
        for (now, plausible) in [
            (newest, true),
            (newest.minus(TOLERATED), true),
            (newest.minus(TOLERATED * 2), false),
            (newest.plus(LONG_REST), true),
            (newest.plus(LONG_REST + TOLERATED), false),
        ] {
            assert_eq!(is_plausible(newest, now), plausible, "{newest:?} {now:?}");
        }
        assert!(is_plausible(Timestamp::ZERO, newest), "a new collection has seen nothing");
    }
}
