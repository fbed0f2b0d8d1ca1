//! The real clock; the simulated one is in `clock/simulated.rs`.
//!
//! [`RealClock`] gives one time for dates and for deadlines. It moves by the machine's steady clock, so that a delay is
//! as long as it says, and is set by the wall clock, so that dates are right:
//! - between two settings it never jumps and never goes back;
//! - when the wall clock is more than [`TOLERATED`] away from it, it says so ([`Clock::wall_step`]): the wall clock was
//!   set (a start before time synchronisation), or the machine slept, when the steady clock stood still;
//! - a crawl looks at that twice a second, puts everything down by the old time, sets the clock ([`Clock::resync`]),
//!   moves the waits it has stored by as much as the clock was set, and goes on. So no site is asked early and none
//!   waits longer than before, whatever the clock did. What passed while the machine slept did pass: it moves nothing;
//! - how long the machine slept is read from `/proc/uptime`, which counts it. Where there is none, sleep is taken for
//!   a clock that was set: waits are then longer than they need be, never shorter.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use model::{BoxFuture, Busy, Clock, Timestamp, WallStep};

mod simulated;

pub use simulated::SimClock;

/// Dates may be wrong by this much. Smaller steps are not worth putting a crawl down for; they add up until they are.
pub const TOLERATED: Duration = Duration::from_secs(2);
/// After a setting the next one is not before this: a wall clock that jumps about must not be all a crawl attends to.
const SETTLED: Duration = Duration::from_secs(600);

/// What a [`RealClock`] is made of; tests have one of their own.
pub trait TimeSource: Send + Sync {
    /// As the machine's calendar has it; may jump.
    fn wall(&self) -> Timestamp;

    /// Never jumps or goes back; may stand still while the machine sleeps.
    fn steady(&self) -> Instant;

    /// Time since the machine was started, sleep included, where that is known.
    fn awake_or_asleep(&self) -> Option<Duration>;
}

/// The machine's own clocks.
struct Machine;

impl TimeSource for Machine {
    fn wall(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::ZERO.plus(since_epoch)
    }

    fn steady(&self) -> Instant {
        Instant::now()
    }

    fn awake_or_asleep(&self) -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/uptime").ok()?;
        let seconds = text.split_ascii_whitespace().next()?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

/// Cheap to clone; all clones are one clock.
#[derive(Clone)]
pub struct RealClock {
    shared: Arc<Real>,
}

struct Real {
    source: Box<dyn TimeSource>,
    /// Where the steady clock was at the start.
    base: Instant,
    /// What this clock showed then, by the last setting: in milliseconds, as [`Timestamp`] has it.
    at_base: AtomicI64,
    set: Mutex<Setting>,
}

/// How the clocks stood when this one was last set.
#[derive(Clone, Copy)]
struct Setting {
    steady: Instant,
    awake_or_asleep: Option<Duration>,
    /// By [`Clock::resync`].
    again: bool,
}

impl RealClock {
    pub fn new() -> RealClock {
        RealClock::of(Box::new(Machine))
    }

    pub fn of(source: Box<dyn TimeSource>) -> RealClock {
        let (base, wall) = (source.steady(), source.wall());
        let awake_or_asleep = source.awake_or_asleep();
        let set = Mutex::new(Setting { steady: base, awake_or_asleep, again: false });
        RealClock { shared: Arc::new(Real { source, base, at_base: AtomicI64::new(wall.0), set }) }
    }
}

impl Default for RealClock {
    fn default() -> RealClock {
        RealClock::new()
    }
}

impl Real {
    /// By the steady clock.
    fn elapsed(&self) -> Duration {
        self.source.steady().saturating_duration_since(self.base)
    }

    fn at_base(&self) -> Timestamp {
        Timestamp(self.at_base.load(Ordering::Relaxed))
    }

    fn now(&self) -> Timestamp {
        self.at_base().plus(self.elapsed())
    }

    fn setting(&self) -> MutexGuard<'_, Setting> {
        // Nothing panics while the lock is held.
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self) -> Option<WallStep> {
        let ahead_ms = self.source.wall().0.saturating_sub(self.now().0);
        let tolerated = i64::try_from(TOLERATED.as_millis()).unwrap_or(i64::MAX);
        if ahead_ms.saturating_abs() <= tolerated {
            return None;
        }
        let set = *self.setting();
        let since = self.source.steady().saturating_duration_since(set.steady);
        if set.again && since < SETTLED {
            return None;
        }
        let slept = self.slept(set, since);
        // No more than the wall clock moved: what is beyond would be two readings that are not of one moment.
        let moved = Duration::from_millis(u64::try_from(ahead_ms).unwrap_or(0));
        Some(WallStep { ahead_ms, slept: slept.min(moved) })
    }

    fn slept(&self, set: Setting, awake: Duration) -> Duration {
        let before = set.awake_or_asleep;
        let all = before.and_then(|before| self.source.awake_or_asleep()?.checked_sub(before));
        let slept = all.unwrap_or_default().saturating_sub(awake);
        // The readings are hundredths of a second, and not of one moment.
        if slept < Duration::from_secs(1) { Duration::ZERO } else { slept }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        self.shared.now()
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.shared.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let deadline = self.shared.base + at.since(self.shared.at_base());
        Box::pin(tokio::time::sleep_until(deadline.into()))
    }

    fn wall_step(&self) -> Option<WallStep> {
        self.shared.step()
    }

    fn resync(&self) {
        let real = &*self.shared;
        let mut set = real.setting();
        let at_base = real.source.wall().minus(real.elapsed());
        real.at_base.store(at_base.0, Ordering::Relaxed);
        let awake_or_asleep = real.source.awake_or_asleep();
        *set = Setting { steady: real.source.steady(), awake_or_asleep, again: true };
    }

    fn busy(&self) -> Busy {
        Busy::none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_000_000);

    fn at(seconds: u64) -> Timestamp {
        START.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn the_real_clock_follows_the_wall_and_sleeps() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("runtime").block_on(async {
            let clock = RealClock::new();
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            let begin = clock.now();
            assert!(begin.since(Timestamp::ZERO.plus(wall)) < Duration::from_secs(1));
            clock.sleep_until(begin.plus(Duration::from_millis(30))).await;
            assert!(clock.now().since(begin) >= Duration::from_millis(30));
            clock.sleep_until(begin).await;
        });
    }

    /// Clocks that a test moves, each by itself.
    struct Hands {
        start: Instant,
        wall: AtomicI64,
        awake_ms: AtomicI64,
        asleep_ms: AtomicI64,
        tells_sleep: bool,
    }

    impl Hands {
        /// Started at this moment by the wall clock.
        fn clock(wall: Timestamp, tells_sleep: bool) -> (RealClock, Arc<Hands>) {
            let (wall, zero) = (AtomicI64::new(wall.0), || AtomicI64::new(0));
            let start = Instant::now();
            let (awake_ms, asleep_ms) = (zero(), zero());
            let hands = Arc::new(Hands { start, wall, awake_ms, asleep_ms, tells_sleep });
            (RealClock::of(Box::new(hands.clone())), hands)
        }

        fn set(&self, by_ms: i64) {
            self.wall.fetch_add(by_ms, Ordering::Relaxed);
        }

        fn pass(&self, ms: i64) {
            self.set(ms);
            self.awake_ms.fetch_add(ms, Ordering::Relaxed);
        }

        fn sleep(&self, ms: i64) {
            self.set(ms);
            self.asleep_ms.fetch_add(ms, Ordering::Relaxed);
        }

        fn passed(&self, ms: &AtomicI64) -> Duration {
            Duration::from_millis(ms.load(Ordering::Relaxed) as u64)
        }
    }

    impl TimeSource for Arc<Hands> {
        fn wall(&self) -> Timestamp {
            Timestamp(self.wall.load(Ordering::Relaxed))
        }

        fn steady(&self) -> Instant {
            self.start + self.passed(&self.awake_ms)
        }

        fn awake_or_asleep(&self) -> Option<Duration> {
            let all = self.passed(&self.awake_ms) + self.passed(&self.asleep_ms);
            self.tells_sleep.then_some(all)
        }
    }

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;

    #[test]
    fn a_wall_clock_that_is_set_is_noticed_and_followed_when_asked() {
        for by in [3 * YEAR, -DAY] {
            let (clock, hands) = Hands::clock(START, true);
            hands.pass(5_000);
            assert_eq!((clock.now(), clock.wall_step()), (at(5), None));
            hands.set(by);
            hands.pass(500);
            assert_eq!(clock.now(), Timestamp(at(5).0 + 500), "nobody's deadline moves");
            let step = clock.wall_step().expect("it is noticed");
            assert_eq!((step.ahead_ms, step.slept, step.set_ms()), (by, Duration::ZERO, by));
            clock.resync();
            assert_eq!(clock.now(), Timestamp(at(5).0 + 500 + by), "dates are right");
            assert_eq!(clock.wall_step(), None);
            hands.pass(1_000);
            assert_eq!(clock.now(), Timestamp(at(6).0 + 500 + by));
            assert_eq!(clock.micros(), 6_500_000, "what is measured does not jump");
        }
    }

    #[test]
    fn a_sleep_of_eight_hours_is_told_from_a_clock_that_was_set() {
        for (tells_sleep, slept) in [(true, 8 * HOUR), (false, 0)] {
            let (clock, hands) = Hands::clock(START, tells_sleep);
            hands.pass(5_000);
            hands.sleep(8 * HOUR);
            let step = clock.wall_step().expect("it is noticed");
            assert_eq!((step.ahead_ms, step.slept.as_millis() as i64), (8 * HOUR, slept));
            assert_eq!(step.set_ms(), 8 * HOUR - slept);
            clock.resync();
            assert_eq!((clock.now(), clock.wall_step()), (Timestamp(at(5).0 + 8 * HOUR), None));
        }
        let (clock, hands) = Hands::clock(START, true);
        hands.sleep(8 * HOUR);
        hands.set(-DAY);
        assert_eq!(clock.wall_step().expect("both").ahead_ms, 8 * HOUR - DAY);
    }

    #[test]
    fn small_steps_are_left_until_they_add_up_and_a_clock_that_jumps_about_is_not_followed_all_the_time()
     {
        let (clock, hands) = Hands::clock(START, true);
        hands.set(1_500);
        assert_eq!(clock.wall_step(), None);
        hands.set(1_500);
        assert_eq!(clock.wall_step().expect("three seconds").ahead_ms, 3_000);
        clock.resync();
        hands.set(-10_000);
        assert_eq!(clock.wall_step(), None, "it was set a moment ago");
        hands.pass(SETTLED.as_millis() as i64);
        assert_eq!(clock.wall_step().expect("by now").ahead_ms, -10_000);
    }

    #[test]
    fn the_machine_counts_its_sleep_where_it_is_linux() {
        if cfg!(target_os = "linux") {
            assert!(Machine.awake_or_asleep().expect("/proc/uptime") > Duration::ZERO);
        }
        assert_eq!(RealClock::new().wall_step(), None);
    }

    #[test]
    fn who_sleeps_through_a_setting_wakes_at_the_moment_that_was_meant() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("runtime").block_on(async {
            let (clock, hands) = Hands::clock(START, true);
            let sleep = clock.sleep_until(at(0).plus(Duration::from_millis(30)));
            hands.set(-DAY);
            clock.resync();
            tokio::time::timeout(Duration::from_secs(20), sleep).await.expect("no day later");
            hands.set(DAY);
            clock.resync();
            let sleep = clock.sleep_until(clock.now().plus(Duration::from_millis(30)));
            tokio::time::timeout(Duration::from_secs(20), sleep).await.expect("nor this one");
        });
    }
}
