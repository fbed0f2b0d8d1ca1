//! A clock that ran ahead for a while.

use std::time::Duration;

use model::{
    Change, Down, Frontier, Habit, PageUpdate, Release, RobotsAnswer, RobotsCopy, Settlement,
    SiteClock, SiteHabit, SiteLease, SiteTraps, Timestamp,
};

use super::super::{
    SqlFrontier,
    suite::{HOUR, ask, candidate, delta, settlement, visited},
};

const DAY: i64 = 24 * HOUR;
const NOW: i64 = 1_800_000_000_000;
const AHEAD: i64 = NOW + 365 * DAY;

/// Pages of two sites fetched under a clock a year ahead, to be seen again a day after; one waits for its first
/// visit in as long.
fn run_ahead(frontier: &mut SqlFrontier) {
    let pages: Vec<_> =
        (0..40).map(|n| candidate(&format!("http://s{}.example/{n}", n % 2), 0)).collect();
    frontier.admit(&pages, Timestamp(NOW)).unwrap();
    let deltas = frontier.check_out(&ask(NOW)).unwrap().iter().map(fetched_ahead).collect();
    frontier.check_in(&Settlement { now: Timestamp(AHEAD), ..settlement(AHEAD, deltas) }).unwrap();
}

fn fetched_ahead(lease: &SiteLease) -> model::SiteDelta {
    let mut delta = delta(lease, Release::NotBefore(Timestamp(AHEAD + HOUR)));
    let (last, others) = lease.pages.split_last().unwrap();
    delta.updates = others
        .iter()
        .map(|page| visited(page.url.fingerprint(), AHEAD, Change::First, Some(AHEAD + DAY)))
        .collect();
    let failed = visited(last.url.fingerprint(), AHEAD, Change::Failed, Some(AHEAD + DAY));
    delta.updates.push(failed);
    delta.robots = vec![RobotsCopy {
        origin: last.url.origin(),
        answer: RobotsAnswer::Unavailable { status: 404 },
        fetched: Timestamp(AHEAD),
        expires: Timestamp(AHEAD + DAY),
        unreachable_since: None,
        etag: None,
        last_modified: None,
    }];
    delta
}

#[test]
fn dues_of_a_clock_that_ran_ahead_are_spread_over_the_horizon() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    run_ahead(&mut frontier);
    assert_eq!(frontier.newest(), Timestamp(AHEAD));
    assert!(frontier.next_due().unwrap().unwrap() >= Timestamp(AHEAD));

    let horizon = Duration::from_secs(7 * 86_400);
    assert_eq!(frontier.cap_dues(Timestamp(NOW), horizon).unwrap(), 40);
    assert_eq!(frontier.newest(), Timestamp(NOW));
    let dues = frontier.next_dues().unwrap();
    assert!(dues.first.unwrap() < Timestamp(NOW + 7 * DAY), "not before the moment it was told");
    assert!(dues.again.unwrap() < Timestamp(NOW + 2 * DAY), "40 pages in seven days");
    assert_eq!(frontier.verify(true).unwrap(), []);
    let leases = frontier.check_out(&ask(NOW + 3 * DAY)).unwrap();
    let due: usize = leases.iter().map(|lease| lease.pages.len()).sum();
    assert!((5..35).contains(&due), "{due} of 40 within three of seven days");
    assert!(leases.iter().all(|lease| lease.site.robots[0].expires == Timestamp(NOW)));
    assert_eq!(frontier.cap_dues(Timestamp(NOW), horizon).unwrap(), 0);
}

#[test]
fn what_was_said_of_a_future_that_is_none_is_forgotten() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    run_ahead(&mut frontier);
    let lease = frontier.check_out(&ask(AHEAD + DAY)).unwrap().remove(0);
    let mut told = delta(&lease, Release::NotBefore(Timestamp(0)));
    let announced = Some(Timestamp(AHEAD));
    let fp = lease.pages[0].url.fingerprint();
    let visit = visited(fp, AHEAD, Change::Unchanged, Some(AHEAD + DAY));
    let habit = Habit { announced, signals: 1, ..Habit::default() };
    told.updates = vec![PageUpdate { habit: Some(habit), ..visit }];
    let mut habit = SiteHabit { factor: 2.0, ..SiteHabit::default() };
    habit.unmodified.distrusted_until = Timestamp(AHEAD + 30 * DAY);
    told.habit = Some(habit);
    frontier.check_in(&settlement(AHEAD + DAY, vec![told])).unwrap();
    frontier.cap_dues(Timestamp(NOW), Duration::from_secs(7 * 86_400)).unwrap();
    let leases = frontier.check_out(&ask(NOW + 7 * DAY)).unwrap();
    let lease = leases.iter().find(|other| other.site.id == lease.site.id).unwrap();
    assert_eq!(lease.site.habit.factor, 2.0, "what else is known of it stays");
    assert!(lease.site.habit.unmodified.distrusted_until <= Timestamp(NOW));
    let page = lease.pages.iter().find(|page| page.url.fingerprint() == fp).unwrap();
    assert_eq!((page.habit.announced, page.habit.signals), (None, 0));
}

#[test]
fn dues_within_the_horizon_stay() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    run_ahead(&mut frontier);
    let before = frontier.next_dues().unwrap();
    assert_eq!(frontier.cap_dues(Timestamp(AHEAD), Duration::from_secs(2 * 86_400)).unwrap(), 0);
    assert_eq!(frontier.next_dues().unwrap(), before);
}

/// One site of three pages at `at`: fetched and due again in seven days, failed and to be tried in a minute, and never
/// visited; it is to be left alone for an hour, is down, and its robots.txt cannot be reached.
fn in_trouble(frontier: &mut SqlFrontier, at: i64) {
    let pages: Vec<_> = (0..3).map(|n| candidate(&format!("http://a.example/{n}"), 0)).collect();
    frontier.admit(&pages, Timestamp(at - HOUR)).unwrap();
    let lease = frontier.check_out(&ask(at)).unwrap().remove(0);
    let mut left = delta(&lease, Release::NotBefore(Timestamp(at + HOUR)));
    let [first, second, _] = &lease.pages[..] else { panic!("three pages") };
    left.updates = vec![
        visited(first.url.fingerprint(), at, Change::First, Some(at + 7 * DAY)),
        visited(second.url.fingerprint(), at, Change::Failed, Some(at + 60_000)),
    ];
    left.clock = Some(SiteClock {
        remaining: Duration::from_secs(3_600),
        saved: Timestamp(at),
        ..SiteClock::default()
    });
    left.traps = Some(SiteTraps {
        down: Some(Down { since: Timestamp(at - HOUR), tries: 3 }),
        ..SiteTraps::default()
    });
    left.robots = vec![RobotsCopy {
        origin: first.url.origin(),
        answer: RobotsAnswer::Unreachable { why: "status 500".to_owned() },
        fetched: Timestamp(at),
        expires: Timestamp(at + 60_000),
        unreachable_since: Some(Timestamp(at - HOUR)),
        etag: None,
        last_modified: None,
    }];
    frontier.check_in(&settlement(at, vec![left])).unwrap();
}

#[test]
fn waits_are_as_long_after_the_clock_was_set_as_before() {
    for set in [3 * 365 * DAY, 8 * HOUR, -DAY, -3 * 365 * DAY] {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        in_trouble(&mut frontier, NOW);
        let now = NOW + set;
        frontier.clock_was_set(Timestamp(NOW), Timestamp(now)).unwrap();
        assert_eq!(frontier.verify(true).unwrap(), [], "{set}");
        assert!(frontier.check_out(&ask(now + HOUR - 1)).unwrap().is_empty(), "{set}: early");
        let lease = frontier.check_out(&ask(now + HOUR)).unwrap().remove(0);
        let dues: Vec<i64> = lease.pages.iter().map(|page| page.due.0 - now).collect();
        assert!(dues.contains(&60_000), "{set}: the retry is a minute off: {dues:?}");
        assert!(dues.iter().filter(|due| **due <= 0).count() >= 1, "{set}: {dues:?}");
        assert_eq!(lease.site.clock.saved, Timestamp(now), "{set}: all of the pause is left");
        let down = lease.site.traps.down.unwrap();
        assert_eq!((down.since, down.tries), (Timestamp(now - HOUR), 3), "{set}");
        let robots = &lease.site.robots[0];
        assert_eq!(robots.expires, Timestamp(now + 60_000), "{set}: not asked for early");
        assert_eq!(robots.unreachable_since, Some(Timestamp(now - HOUR)), "{set}");
        assert_eq!(frontier.newest() > Timestamp(now + HOUR), set < -HOUR, "{set}");
    }
}

#[test]
fn what_was_due_again_is_due_after_the_clock_was_set_back() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    in_trouble(&mut frontier, NOW);
    let before = NOW + 8 * DAY;
    frontier.clock_was_set(Timestamp(before), Timestamp(NOW + DAY)).unwrap();
    let lease = frontier.check_out(&ask(NOW + DAY)).unwrap().remove(0);
    assert_eq!(lease.pages.len(), 3, "nothing waits for the days to pass twice");
    assert_eq!(lease.pages.iter().map(|page| page.due.0).max(), Some(NOW + DAY));
}

#[test]
fn the_newest_moment_outlives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.db");
    let mut frontier = SqlFrontier::open(&path).unwrap();
    run_ahead(&mut frontier);
    drop(frontier);
    let mut frontier = SqlFrontier::open(&path).unwrap();
    assert_eq!(frontier.newest(), Timestamp(AHEAD));
    frontier.release_expired(Timestamp(AHEAD + DAY)).unwrap();
    frontier.release_expired(Timestamp(NOW)).unwrap();
    drop(frontier);
    let mut frontier = SqlFrontier::open(&path).unwrap();
    assert_eq!(frontier.newest(), Timestamp(AHEAD + DAY), "also without anything to count");
    frontier.cap_dues(Timestamp(NOW), Duration::from_secs(86_400)).unwrap();
    drop(frontier);
    assert_eq!(SqlFrontier::open(&path).unwrap().newest(), Timestamp(NOW));
}

#[test]
fn the_planner_finds_what_it_left() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    assert_eq!(frontier.planner_state().unwrap(), None);
    frontier.save_planner_state("{\"price\":1}", Timestamp(1)).unwrap();
    frontier.save_planner_state("{\"price\":2}", Timestamp(2)).unwrap();
    assert_eq!(frontier.planner_state().unwrap().as_deref(), Some("{\"price\":2}"));
}
