//! After a visit: what it taught about the page, and when to come back.
//!
//! Failed visits teach nothing; a page that is gone has changed once more and is then asked ever less, because
//! pages do come back. All waits drift over the hours of the day.

use std::time::Duration;

use model::{Fingerprint, Habit, Page, PageState, SiteHabit, Timestamp};

use crate::{
    Belief, Children, FrequencyOn, Policy, Rule, Value,
    days::{DAY, between, days, wait},
    drift, trust,
    value::{Bound, Period, Worth, sound},
};

/// A tombstone at rest is looked at so often, where no longest period is set.
const REST: Duration = Duration::from_secs(30 * 24 * 3600);
/// What robots.txt forbids may be allowed when its copy has been renewed several times.
const EXCLUDED: Duration = Duration::from_secs(7 * 24 * 3600);
/// After "410 gone": looked at after so long, then at rest.
const GONE_FOR_GOOD_DAYS: [f64; 2] = [7.0, 30.0];
/// After "404 not found": after 1, 3, 9 and 27 days, that is until so many days after it was first missed.
const MISSING_DAYS: f64 = 40.0;
/// A wait counts as over when this part of it is: visits come up to a tenth early.
const NEARLY: f64 = 0.8;
/// Prices that are no price: see [`Habit::price`].
pub const PRICE_MAX: f64 = 1e12;

/// What a visit showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Content for the first time, or again after the page was gone. The time of its last change, where it
    /// can be trusted.
    First {
        modified: Option<Timestamp>,
    },
    /// Other content than before. The time of its last change, where it can be trusted.
    Changed {
        modified: Option<Timestamp>,
    },
    Unchanged,
    Gone {
        status: u16,
    },
    /// Nothing was learned: no answer, or none that says anything.
    Nothing,
}

/// A settled visit.
#[derive(Clone, Copy, Debug)]
pub struct Visited<'a> {
    /// As it was lent: with the habit from before.
    pub page: &'a Page,
    /// After the visit.
    pub state: PageState,
    /// Visits that failed in a row, this one included.
    pub failures: u16,
    pub sight: Sight,
    pub importance: f64,
    pub site: &'a SiteHabit,
    /// Of a visit, from [`crate::Planner::price`].
    pub price: f64,
    pub children: Option<Children>,
    pub now: Timestamp,
}

/// What follows from a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    pub habit: Habit,
    /// `None`: not by itself.
    pub due: Option<Timestamp>,
    pub rule: Rule,
    /// The page's internal pages go along: they are to be called.
    pub call_children: bool,
}

/// What is now believed of the page, and when it is due again. A retry that the harvester has set goes
/// before it.
pub fn after_visit(policy: &Policy, visited: &Visited<'_>) -> Next {
    let (mut habit, compared) = observe(policy, visited);
    let mut call_children = false;
    let answered = matches!(visited.state, PageState::Fetched | PageState::Redirected);
    if let Policy::Frequency(frequency) = policy
        && answered
        && visited.sight != Sight::Nothing
        && (frequency.on == FrequencyOn::Pages || visited.page.seed)
    {
        call_children = frequency.follow(&mut habit, compared, visited.children);
    }
    let (due, rule) = due_after(policy, visited, &mut habit);
    Next { habit, due, rule, call_children }
}

/// The period at which visits to the page are worth their price, with the price that counts on its site.
pub fn period(value: &Value, worth: &Worth, price: f64, guess: Option<f64>) -> Period {
    worth.period(price, days(value.period_min), days(value.period_max), guess)
}

/// The moment at which a period from `seen` on is over, drifted.
pub fn due_from(value: &Value, fp: Fingerprint, seen: Timestamp, period: Period) -> Timestamp {
    let (min, max) = (value.period_min, value.period_max);
    seen.plus(drift::around(fp, seen, wait(period.days), min, max))
}

pub fn worth(value: &Value, habit: &Habit, site: &SiteHabit, importance: f64) -> Worth {
    Worth {
        belief: Belief::of(habit, site),
        importance,
        objective: value.objective,
        heard: trust::heard(habit, site),
    }
}

/// The price of a visit on this site.
pub fn price_here(price: f64, site: &SiteHabit) -> f64 {
    let factor = if site.factor.is_finite() { f64::from(site.factor).max(1.0) } else { 1.0 };
    sound(sound(price, PRICE_MAX) * factor, PRICE_MAX)
}

/// The habit after the visit, and whether the visit could be compared with one before.
fn observe(policy: &Policy, visited: &Visited<'_>) -> (Habit, bool) {
    let Visited { page, sight, site, now, .. } = *visited;
    let mut habit = page.habit;
    let was_gone = page.state == PageState::Gone;
    let Some(seen) = habit.seen else {
        match sight {
            Sight::First { modified } | Sight::Changed { modified } => {
                begin(policy, &mut habit, visited, modified)
            }
            Sight::Unchanged => begin(policy, &mut habit, visited, None),
            Sight::Gone { .. } => habit.changed = habit.changed.or(Some(now)),
            Sight::Nothing => {}
        }
        return (habit, false);
    };
    let interval = between(seen, now).min(2.0 * longest_days(policy));
    let belief = Belief::of(&habit, site);
    match sight {
        Sight::Nothing => return (habit, false),
        Sight::Gone { .. } if was_gone => return (habit, false),
        Sight::First { modified } => {
            begin(policy, &mut habit, visited, modified);
            return (habit, false);
        }
        Sight::Changed { modified } if was_gone => {
            note(&mut habit, true, now);
            begin(policy, &mut habit, visited, modified);
        }
        Sight::Changed { modified } => {
            let known = modified.filter(|at| *at > seen && *at <= now);
            let after = match known {
                Some(at) => belief.changed_before(between(at, now).min(interval)),
                None => belief.changed(interval),
            };
            after.keep(&mut habit);
            note(&mut habit, true, now);
        }
        Sight::Gone { .. } => {
            belief.changed(interval).keep(&mut habit);
            note(&mut habit, true, now);
        }
        Sight::Unchanged => {
            belief.unchanged(interval).keep(&mut habit);
            note(&mut habit, false, now);
        }
    }
    (habit, true)
}

/// Content for the first time, or for the first time again: what is usual on the site is all that is known.
fn begin(policy: &Policy, habit: &mut Habit, visited: &Visited<'_>, modified: Option<Timestamp>) {
    let now = visited.now;
    let mut belief = Belief::prior(visited.site);
    if let Some(at) = modified.filter(|at| *at <= now) {
        belief = belief.changed_before(between(at, now).min(2.0 * longest_days(policy)));
    }
    belief.keep(habit);
    habit.first = habit.first.or(Some(now));
    seen(habit, now);
}

fn note(habit: &mut Habit, changed: bool, now: Timestamp) {
    habit.compared = habit.compared.saturating_add(1);
    habit.recent = habit.recent << 1 | u32::from(changed);
    if changed {
        habit.changes = habit.changes.saturating_add(1);
        habit.changed = Some(now);
    }
    seen(habit, now);
}

fn seen(habit: &mut Habit, now: Timestamp) {
    habit.seen = Some(now);
    habit.sources = trust::remembered(habit.sources);
    habit.signals = 0;
}

fn due_after(
    policy: &Policy,
    visited: &Visited<'_>,
    habit: &mut Habit,
) -> (Option<Timestamp>, Rule) {
    let Visited { page, state, now, .. } = *visited;
    let fp = page.url.fingerprint();
    let at = |span: Duration| Some(now.plus(drift::earlier(fp, now, span)));
    if matches!(state, PageState::Candidate | PageState::Known) {
        return (Some(now), Rule::Waiting);
    }
    if *policy == Policy::Once {
        return (None, Rule::Once);
    }
    habit.price = 0.0;
    match state {
        PageState::Failing => {
            // A batch looks at failing pages too.
            let usual =
                usual(policy, visited, habit).filter(|_| !matches!(policy, Policy::Profit(_)));
            (
                usual.and_then(|usual| at(usual.saturating_mul(patience(visited.failures)))),
                Rule::Failing,
            )
        }
        PageState::Gone => (at(gone_wait(policy, visited, habit)), Rule::Gone),
        PageState::Excluded => {
            let usual = usual(policy, visited, habit).unwrap_or(EXCLUDED);
            (at(usual.max(EXCLUDED)), Rule::Excluded)
        }
        _ => settled(policy, visited, habit),
    }
}

/// The page answered.
fn settled(policy: &Policy, visited: &Visited<'_>, habit: &mut Habit) -> (Option<Timestamp>, Rule) {
    let Visited { page, now, .. } = *visited;
    let fp = page.url.fingerprint();
    match policy {
        Policy::Once => (None, Rule::Once),
        Policy::Fixed { every } => {
            (Some(now.plus(drift::earlier(fp, now, *every))), Rule::Interval)
        }
        Policy::Frequency(f) if f.on == FrequencyOn::Seeds && !page.seed => (None, Rule::GoesAlong),
        Policy::Frequency(f) => {
            let cycles = f.cycle.saturating_mul(u32::from(f.cycles(habit)));
            let max = cycles.saturating_add(cycles / 10);
            (Some(now.plus(drift::around(fp, now, cycles, Duration::ZERO, max))), Rule::Frequency)
        }
        Policy::Profit(_) => (None, Rule::Batch),
        Policy::Value(value) => {
            let price = price_here(visited.price, visited.site);
            let worth = worth(value, habit, visited.site, visited.importance);
            let period = period(value, &worth, price, None);
            habit.price = price as f32;
            (Some(due_from(value, fp, now, period)), Rule::of_bound(period.bound))
        }
    }
}

/// How often the policy would visit the page, were all well with it.
fn usual(policy: &Policy, visited: &Visited<'_>, habit: &Habit) -> Option<Duration> {
    match policy {
        Policy::Once => None,
        Policy::Fixed { every } => Some(*every),
        Policy::Frequency(f) if f.on == FrequencyOn::Seeds && !visited.page.seed => None,
        Policy::Frequency(f) => Some(f.cycle.saturating_mul(u32::from(f.cycles(habit)))),
        Policy::Profit(profit) => Some(profit.period_min),
        Policy::Value(value) => {
            let worth = worth(value, habit, visited.site, visited.importance);
            let price = price_here(visited.price, visited.site);
            // Nothing that does not answer is asked every hour.
            Some(wait(period(value, &worth, price, None).days).max(DAY).min(value.period_max))
        }
    }
}

fn gone_wait(policy: &Policy, visited: &Visited<'_>, habit: &Habit) -> Duration {
    let (floor, rest) = match policy {
        Policy::Value(value) => (value.period_min, value.period_max),
        Policy::Fixed { every } => (*every, REST.max(*every)),
        Policy::Frequency(f) => (f.cycle, REST.max(f.cycle)),
        Policy::Profit(p) => (p.period_min, REST.max(p.period_min)),
        Policy::Once => (REST, REST),
    };
    let missed = habit.changed.map_or(0.0, |since| between(since, visited.now));
    let [soon, late] = GONE_FOR_GOOD_DAYS;
    let next = match visited.sight {
        // Given up without an answer.
        Sight::Gone { status: 410 } if missed < soon * NEARLY => wait(soon),
        Sight::Gone { status: 410 } if missed < (soon + late) * NEARLY => wait(late),
        // 1, 3, 9, 27: each wait is one day more than twice the time since it was first missed.
        Sight::Gone { status } if status != 410 && missed < MISSING_DAYS * NEARLY => {
            wait(1.0 + 2.0 * missed)
        }
        _ => rest,
    };
    next.max(floor).min(rest)
}

/// The longest period of a policy: longer intervals between visits show no more.
fn longest_days(policy: &Policy) -> f64 {
    match policy {
        Policy::Value(value) => days(value.period_max),
        Policy::Fixed { every } => days((*every).max(REST)),
        _ => days(3 * REST),
    }
}

fn patience(failures: u16) -> u32 {
    u32::from(failures / 4).clamp(1, 4)
}

impl Rule {
    pub(crate) fn of_bound(bound: Bound) -> Rule {
        match bound {
            Bound::Price => Rule::Value,
            Bound::Shortest => Rule::Shortest,
            Bound::Longest => Rule::Longest,
        }
    }
}

#[cfg(test)]
mod tests;
