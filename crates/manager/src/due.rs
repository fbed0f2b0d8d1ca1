//! The next due moment of a page, by policy.
//!
//! Waits carry a jitter of up to a tenth, drawn from the page's fingerprint and the visit's moment: what
//! was visited in one night does not come back in one hour, and visits drift over the hours of the day,
//! yet the same question always has the same answer.

use std::time::Duration;

use model::{Change, Fingerprint, PageState, Timestamp};
use serde::{Deserialize, Serialize};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Tombstones are looked at again, because pages do come back, but seldom.
const GONE: Duration = Duration::from_secs(30 * 24 * 3600);
/// What robots.txt forbids may be allowed when its copy has been renewed several times.
const EXCLUDED: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each page is visited until it has answered, then left alone.
    Once,
    /// Every page at the same interval.
    Fixed { every: Duration },
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::Fixed { every: 7 * DAY }
    }
}

/// What a settled visit (or a verdict without one) left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitedPage {
    pub fp: Fingerprint,
    pub state: PageState,
    /// How the visit's content compared with the version before; `None` without a visit.
    pub change: Option<Change>,
    /// Visits that failed in a row.
    pub failures: u16,
}

/// When the page is due again; `None`: not by itself. A retry that the harvester has set goes before it.
pub fn next_due(policy: Policy, page: &VisitedPage, now: Timestamp) -> Option<Timestamp> {
    let wait = match page.state {
        // Not answered yet: due as it stands.
        PageState::Candidate | PageState::Known => return Some(now),
        PageState::Fetched | PageState::Redirected => regular(policy)?,
        // The harvester's retries are used up: the next pass looks again, each time a little later, so
        // that what never answers costs ever less.
        PageState::Failing => regular(policy)?.saturating_mul(patience(page.failures)),
        PageState::Gone => regular(policy)?.max(GONE),
        PageState::Excluded => regular(policy)?.max(EXCLUDED),
    };
    Some(now.plus(wait.saturating_sub(jitter(page.fp, now, wait))))
}

fn regular(policy: Policy) -> Option<Duration> {
    match policy {
        Policy::Once => None,
        Policy::Fixed { every } => Some(every),
    }
}

fn patience(failures: u16) -> u32 {
    u32::from(failures / 4).clamp(1, 4)
}

/// Up to a tenth of the wait. Taken off, not added: an interval that was asked for is kept.
fn jitter(fp: Fingerprint, now: Timestamp, wait: Duration) -> Duration {
    let draw = mix(fp.0 ^ mix(now.0.unsigned_abs())) % 1001;
    wait / 10 * u32::try_from(draw).unwrap_or(0) / 1000
}

/// Spreads every bit over all others (the finaliser of splitmix64).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const WEEKLY: Policy = Policy::Fixed { every: Duration::from_secs(7 * 24 * 3600) };

    fn page(state: PageState) -> VisitedPage {
        VisitedPage { fp: Fingerprint(42), state, change: Some(Change::First), failures: 0 }
    }

    fn days(policy: Policy, page: &VisitedPage) -> f64 {
        let due = next_due(policy, page, NOW).expect("due");
        due.since(NOW).as_secs_f64() / 86_400.0
    }

    #[test]
    fn once_never_comes_back_by_itself_but_asks_until_answered() {
        use PageState::*;
        for state in [Fetched, Redirected, Failing, Gone, Excluded] {
            assert_eq!(next_due(Policy::Once, &page(state), NOW), None);
        }
        assert_eq!(next_due(Policy::Once, &page(Known), NOW), Some(NOW));
    }

    #[test]
    fn tombstones_and_excluded_pages_are_asked_seldom_but_not_more_often_than_the_rest() {
        assert!((27.0..=30.0).contains(&days(WEEKLY, &page(PageState::Gone))));
        assert!((6.3..=7.0).contains(&days(WEEKLY, &page(PageState::Excluded))));
        let yearly = Policy::Fixed { every: 365 * DAY };
        assert!(days(yearly, &page(PageState::Gone)) > 300.0);
        assert!(days(yearly, &page(PageState::Excluded)) > 300.0);
    }

    #[test]
    fn pages_that_keep_failing_are_asked_ever_less_within_a_bound() {
        let failing =
            |failures| days(WEEKLY, &VisitedPage { failures, ..page(PageState::Failing) });
        assert!((6.3..=7.0).contains(&failing(4)));
        assert!((12.6..=14.0).contains(&failing(8)));
        assert!((25.2..=28.0).contains(&failing(60_000)));
    }

    #[test]
    fn visits_of_one_moment_spread_over_the_days_before_the_next() {
        let due = |fp| {
            next_due(WEEKLY, &VisitedPage { fp: Fingerprint(fp), ..page(PageState::Fetched) }, NOW)
        };
        let mut hours: Vec<u64> =
            (0..1000).filter_map(|fp| Some(due(fp)?.since(NOW).as_secs() / 3600)).collect();
        hours.sort_unstable();
        hours.dedup();
        assert!(hours.len() >= 16, "{hours:?}");
    }

    proptest! {
        #[test]
        fn the_interval_is_kept_to_a_tenth_and_the_answer_repeats(
            fp: u64, now in 0_i64..4_000_000_000_000, seconds in 0_u64..40_000_000,
        ) {
            let every = Duration::from_secs(seconds);
            let (policy, now) = (Policy::Fixed { every }, Timestamp(now));
            let page = VisitedPage { fp: Fingerprint(fp), ..page(PageState::Fetched) };
            let due = next_due(policy, &page, now).expect("due");
            prop_assert!(due.since(now) <= every);
            prop_assert!(due.since(now) >= every.mul_f64(0.899));
            prop_assert_eq!(next_due(policy, &page, now), Some(due));
        }
    }
}
