//! How far announcements of changes are believed, learned site by site and source by source.
//!
//! Precision β = (hits + 1) / (signals + 4) and recall ρ = announced / (changes + 6), used from four signals
//! on and when β is above 0.3; a new source starts from no trust. Both lean to distrust, recall more so:
//! silence that is taken for certainty costs most (in the laboratory 0.3 points of freshness with 2 in place
//! of 6). Both are counted at visits. A visit to an announced page would often have found a change anyway,
//! because the page changes a lot: only what the page's own rate does not explain speaks for the
//! announcement. So a visit counts for 1 − p where p was the chance of a change without it, and a change
//! counts as 1 − p, no change as −p, of a hit. A sitemap that stamps every page every day thus earns nothing,
//! however busy the pages are.
//!
//! Counts halve at a bound: a source that begins to lie has lost its trust after some tens of visits.

use model::{Habit, SignalSource, SiteHabit, Timestamp, Trust};

use crate::{Sight, belief::Belief, days::between};

/// Fewer say nothing: with two, a couple of lucky visits let a lying host have a page of each of its signals seen.
/// To wait for ten costs a thin budget a quarter of a point.
const SIGNALS_MIN: f32 = 4.0;
const PRECISION_MIN: f64 = 0.3;
/// Above it counts are halved, so that the last thirty or so visits decide.
const COUNT_MAX: f32 = 30.0;

/// Visits of a page that still tell what is usual on its site.
const PRIOR_VISITS: u32 = 4;
/// Above so many days counts of the prior are halved: sites change their ways too.
const PRIOR_DAYS_MAX: f32 = 20_000.0;
/// Longer gaps say no more about changes than this.
const INTERVAL_MAX_DAYS: f64 = 180.0;

/// Bits of [`Habit::sources`] from here on say who announced before the last visit.
const EARLIER: u32 = 4;

/// What trusted sources say of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    /// β, of the best source that has announced.
    pub precision: f64,
    /// ρ, of the best source that speaks of the page.
    pub recall: f64,
    /// Announcements since the last visit.
    pub count: u8,
}

/// What is to be believed of announcements on this page; `None` when no trusted source speaks of it.
pub fn heard(habit: &Habit, site: &SiteHabit) -> Option<Heard> {
    if habit.sources == 0 {
        return None;
    }
    let mut all: Option<Heard> = None;
    for source in SignalSource::ALL {
        let trust = site.trust(source);
        if !spoke_ever(habit, source) || !believed(trust) {
            continue;
        }
        let now = habit.signals > 0 && habit.sources & source.bit() != 0;
        let heard = all.get_or_insert(Heard { precision: 0.0, recall: 0.0, count: 0 });
        heard.recall = heard.recall.max(recall(trust));
        if now {
            heard.precision = heard.precision.max(precision(trust));
            heard.count = habit.signals.min(Habit::SIGNALS_MAX);
        }
    }
    all
}

/// A source whose announcements are acted upon.
pub fn believed(trust: &Trust) -> bool {
    trust.signals >= SIGNALS_MIN && precision(trust) > PRECISION_MIN
}

/// How many announcements were true.
pub fn precision(trust: &Trust) -> f64 {
    let share = (f64::from(trust.hits) + 1.0) / (f64::from(trust.signals) + 4.0);
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 0.99) }
}

/// How many changes were announced.
pub fn recall(trust: &Trust) -> f64 {
    let share = f64::from(trust.announced) / (f64::from(trust.changes) + 6.0);
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 0.99) }
}

/// What a visit teaches about its site: `before` is the page's habit as it was lent.
pub fn learn(site: &mut SiteHabit, before: &Habit, sight: Sight, now: Timestamp) {
    let changed = match sight {
        Sight::Changed { .. } => true,
        Sight::Unchanged => false,
        Sight::First { .. } | Sight::Gone { .. } | Sight::Nothing => return,
    };
    let Some(seen) = before.seen else { return };
    let interval = between(seen, now).min(INTERVAL_MAX_DAYS);
    let expected = 1.0 - Belief::of(before, site).fresh(interval);
    for source in SignalSource::ALL {
        learn_source(site.trust_mut(source), before, source, changed, expected);
    }
    if before.compared < PRIOR_VISITS && interval > 0.0 {
        site.prior_days += interval as f32;
        site.prior_changes += f32::from(u8::from(changed));
        if site.prior_days > PRIOR_DAYS_MAX {
            site.prior_days /= 2.0;
            site.prior_changes /= 2.0;
        }
    }
}

/// The sources of a page after a visit: who spoke is remembered, what was said is dealt with.
pub fn remembered(sources: u8) -> u8 {
    let sources_of = |bits: u8| bits & ((1 << EARLIER) - 1);
    (sources_of(sources) | sources_of(sources >> EARLIER)) << EARLIER
}

fn learn_source(
    trust: &mut Trust,
    before: &Habit,
    source: SignalSource,
    changed: bool,
    expected: f64,
) {
    let announced = before.signals > 0 && before.sources & source.bit() != 0;
    if announced {
        let hit = f64::from(u8::from(changed)) - expected;
        count(&mut trust.signals, &mut trust.hits, (1.0 - expected) as f32, hit as f32);
    }
    // The announcement by which a source is first heard of would make every source complete.
    if changed && before.sources & (source.bit() << EARLIER) != 0 {
        let announced = f32::from(u8::from(announced));
        count(&mut trust.changes, &mut trust.announced, 1.0, announced);
    }
}

fn count(all: &mut f32, good: &mut f32, weight: f32, share: f32) {
    let sound = |x: f32| if x.is_finite() { x.max(0.0) } else { 0.0 };
    *all = sound(*all + weight);
    *good = sound(*good + share).min(*all);
    if *all > COUNT_MAX {
        *all /= 2.0;
        *good /= 2.0;
    }
}

fn spoke_ever(habit: &Habit, source: SignalSource) -> bool {
    habit.sources & (source.bit() | source.bit() << EARLIER) != 0
}

#[cfg(test)]
mod tests;
