//! The jitter and the rule about the same hour.

use proptest::prelude::*;

use super::*;

fn from_whole_days(wait: Duration) -> Duration {
    let rest = wait.as_millis() % DAY.as_millis();
    let rest = Duration::from_millis(u64::try_from(rest).expect("less than a day"));
    rest.min(DAY - rest)
}

#[test]
fn a_daily_page_is_not_seen_at_the_same_hour_and_goes_both_ways() {
    let waits: Vec<Duration> =
        (0..1000).map(|fp| around(Fingerprint(fp), Timestamp(0), DAY, HOUR, 90 * DAY)).collect();
    assert!(waits.iter().all(|wait| from_whole_days(*wait) >= SAME_HOUR));
    let later = waits.iter().filter(|wait| **wait > DAY).count();
    assert!((350..650).contains(&later), "{later}");
}

#[test]
fn where_the_bounds_leave_no_room_they_go_before_the_hour() {
    let wait = around(Fingerprint(1), Timestamp(0), DAY, DAY, DAY);
    assert_eq!(wait, DAY);
}

proptest! {
    #[test]
    fn waits_keep_their_bounds_and_avoid_the_same_hour(
        fp: u64, visited: i64, seconds in 0_u64..20_000_000,
    ) {
        let (min, max) = (HOUR, 90 * DAY);
        let wait = Duration::from_secs(seconds);
        let drifted = around(Fingerprint(fp), Timestamp(visited), wait, min, max);
        prop_assert!(drifted >= min && drifted <= max);
        let wished = wait.clamp(min, max).as_secs_f64();
        prop_assert!((drifted.as_secs_f64() - wished).abs() <= wished * 0.101 + 4.0 * 3600.0);
        if drifted > SAME_HOUR_FROM {
            prop_assert!(from_whole_days(drifted) >= SAME_HOUR, "{drifted:?}");
        }
        prop_assert_eq!(drifted, around(Fingerprint(fp), Timestamp(visited), wait, min, max));
    }

    #[test]
    fn an_interval_that_was_asked_for_is_kept_to_a_tenth_and_moves_over_the_day(
        fp: u64, visited: i64, seconds in 0_u64..40_000_000,
    ) {
        let every = Duration::from_secs(seconds);
        let drifted = earlier(Fingerprint(fp), Timestamp(visited), every);
        prop_assert!(drifted <= every && drifted >= every.mul_f64(0.899));
        if drifted > SAME_HOUR_FROM {
            prop_assert!(from_whole_days(drifted) >= SAME_HOUR, "{drifted:?}");
        }
    }
}
