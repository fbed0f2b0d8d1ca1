//! How late a server may have seen a request: the pause is kept by its log, not by ours.
//!
//! A request arrives somewhere between being sent and the first byte of its answer. When one is held up on the way
//! (a full queue, a busy server) and the next is not, the two come closer together than they were sent. To count
//! every pause from the answer would be safe, but would add the whole time of an answer to each. What takes
//! equally long each time moves all arrivals alike, though: only what this answer took longer than the quickest
//! of late can have held its request up, and that is added to the pause.
//!
//! So, seen by the server: no pause is short while one of the last [`SPAN`] visits was held up by no more than a
//! two-hundredth of the gap, as far as the delay is under the bound.

use std::time::Duration;

/// Quickest of the last 32 to 63 visits: enough that one went through in spite of bursts, few enough that
/// a quick robots.txt before slow pages is forgotten.
const SPAN: u8 = 32;
/// Of so few visits all may have been held up, as in the rush at the start of a crawl: their whole time counts.
const FEW: u8 = 4;
/// At most this part of the gap is added: answers differ more by what is asked than by how late it came, and
/// no site is visited less than 95 % as often as it allows for that.
const GAP_PART: u32 = 20;

/// This part of the gap is given away, where answers take that long: at a server that is always busy even the
/// quickest was held up a little.
const SPARE_PART: u32 = 200;

#[derive(Clone, Debug, Default)]
pub(super) struct Lateness {
    /// Of the present span, with how many visits it has had.
    quickest: Duration,
    visits: u8,
    /// Of the span before.
    quickest_before: Option<Duration>,
}

impl Lateness {
    /// How late the request may have been that was answered after `first_byte`, in whole milliseconds.
    pub fn of(&mut self, first_byte: Duration, gap: Duration) -> Duration {
        let usual = self.usual(first_byte).saturating_sub(gap / SPARE_PART);
        whole_milliseconds(first_byte.saturating_sub(usual)).min(gap / GAP_PART)
    }

    /// What answers take here that are not held up; this one is counted in.
    fn usual(&mut self, first_byte: Duration) -> Duration {
        if self.visits == SPAN {
            self.quickest_before = Some(self.quickest);
            self.visits = 0;
        }
        self.quickest = if self.visits == 0 { first_byte } else { self.quickest.min(first_byte) };
        self.visits += 1;
        match self.quickest_before {
            Some(before) => before.min(self.quickest),
            None if self.visits <= FEW => Duration::ZERO,
            None => self.quickest,
        }
    }
}

/// Rounded up: the clock counts in milliseconds, and would cut.
fn whole_milliseconds(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GAP: Duration = Duration::from_secs(2);

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// As after `FEW` visits of 20 ms.
    fn known() -> Lateness {
        let mut lateness = Lateness::default();
        for _ in 0..FEW {
            assert_eq!(lateness.of(ms(20), GAP), ms(20), "nobody knows yet what is usual");
        }
        lateness
    }

    #[test]
    fn what_an_answer_took_longer_than_the_quickest_is_lateness() {
        let mut lateness = known();
        assert_eq!(lateness.of(ms(20), GAP), ms(10), "what is given away");
        assert_eq!(lateness.of(ms(31), GAP), ms(10 + 11));
        assert_eq!(lateness.of(Duration::from_micros(20_001), GAP), ms(10 + 1), "rounded up");
        assert_eq!(lateness.of(ms(15), GAP), ms(10));
        assert_eq!(lateness.of(ms(20), GAP), ms(10 + 5));
        assert_eq!(lateness.of(ms(4), GAP), ms(4), "no more than it took");
    }

    #[test]
    fn lateness_is_a_twentieth_of_the_gap_at_most_and_nothing_on_ones_own_site() {
        let mut lateness = known();
        assert_eq!(lateness.of(ms(3_000), GAP), ms(100));
        assert_eq!(lateness.of(ms(3_000), ms(250)), Duration::from_micros(12_500));
        assert_eq!(lateness.of(ms(3_000), Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_server_that_has_become_slower_is_not_late_for_ever() {
        let mut lateness = known();
        let late = (0..100).take_while(|_| lateness.of(ms(60), GAP) > ms(10)).count();
        assert!((usize::from(SPAN)..usize::from(2 * SPAN)).contains(&late), "{late}");
    }

    /// When the server saw requests that were held up so long, each sent the moment its pause was over.
    fn seen(delays: &[u64], work: u64) -> Vec<u64> {
        let mut lateness = Lateness::default();
        let mut sent = 0;
        let mut seen = Vec::new();
        for delay in delays {
            seen.push(sent + delay);
            let late = lateness.of(Duration::from_micros(delay + work), GAP);
            sent += u64::try_from((GAP + late).as_micros()).expect("small");
        }
        seen
    }

    proptest! {
        /// Every eighth request at least goes nearly through; the others are held up by up to 100 ms.
        #[test]
        fn the_server_sees_no_pause_short_whatever_holds_requests_up(
            spans in prop::collection::vec(prop::collection::vec(0_u64..=100_000, 0..8), 1..20),
            work in 0_u64..1_000_000,
            quick in 0_u64..=10_000,
        ) {
            let delays: Vec<u64> = spans.into_iter().flat_map(|mut span| {
                span.push(quick);
                span
            }).collect();
            // Before the first of these only the few at the start are known to be late.
            let first = delays.iter().position(|delay| *delay <= quick).unwrap_or_default();
            prop_assume!(first <= usize::from(FEW));
            for pair in seen(&delays, work).windows(2) {
                prop_assert!(pair[1] - pair[0] >= 2_000_000, "{} µs", pair[1] - pair[0]);
            }
        }
    }
}
