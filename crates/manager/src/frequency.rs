//! Adaptive frequency, after Bouras et al.: a page is visited every `fr_max` cycles, and `fr_max` follows how
//! often the last visits saw a change.
//!
//! The papers leave some things open; they are read as follows.
//! - A counter starts at `fr_max`, each cycle takes one off first and then looks whether none is left: the
//!   period is `fr_max` cycles.
//! - x is the number of comparisons, at most `limit`; b = x without a change, else x / changes;
//!   `fr_max` becomes ⌊(fr_max + b) / 2⌋.
//! - With the children rule, after a visit that found the page unchanged, p is the share of its internal pages
//!   seen since its last visit that had changed (at least [`CHILDREN_MIN`] of them, no request is made for
//!   it). From the threshold θ on they go along and `fr_max` becomes ⌊fr_max (2 − p) / 2⌋: the printed formula
//!   with the share that did *not* change, the only reading that gives the printed 6 → 3 and never grows with
//!   busier children. θ starts at 40 % and follows p slowly.
//! - A page that changes often while its internal pages do not is visited, and they do not go along.

use std::time::Duration;

use model::Habit;
use serde::{Deserialize, Serialize};

use crate::days::DAY;

/// Fewer say nothing about a page's children.
pub const CHILDREN_MIN: u32 = 5;

const THETA_START: f64 = 0.40;
const THETA_STEP: f64 = 0.1;
const THETA_RANGE: (f64, f64) = (0.1, 0.9);
/// A page that changed in a larger share of its visits changes often …
const OFTEN: f64 = 0.8;
/// … and children of which a smaller share changed do so rarely.
const RARELY: f64 = 0.1;
/// As many comparisons as a habit remembers.
const LIMIT_MAX: u8 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frequency {
    pub cycle: Duration,
    /// Cycles between visits to a page of which nothing is known.
    pub fr_max: u16,
    /// Comparisons that count, at most 32.
    pub limit: u8,
    /// Reckon anew after so many visits.
    pub recompute_every: u8,
    pub on: FrequencyOn,
    /// Look at a page's internal pages too.
    pub children: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrequencyOn {
    /// Seeds have a frequency, their internal pages go along.
    Seeds,
    /// Every page has one.
    Pages,
}

impl Default for Frequency {
    fn default() -> Frequency {
        Frequency {
            cycle: DAY,
            fr_max: 2,
            limit: 20,
            recompute_every: 1,
            on: FrequencyOn::Seeds,
            children: false,
        }
    }
}

/// A page's internal links, since its last visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Children {
    pub known: u32,
    /// Visited or announced.
    pub seen: u32,
    /// Among those seen.
    pub changed: u32,
}

impl Children {
    /// The share that changed, where enough were seen.
    pub fn share(&self) -> Option<f64> {
        let share = f64::from(self.changed.min(self.seen)) / f64::from(self.seen.max(1));
        (self.seen >= CHILDREN_MIN).then_some(share)
    }
}

impl Frequency {
    /// The cycles until the next visit.
    pub fn cycles(&self, habit: &Habit) -> u16 {
        if habit.fr_max == 0 { self.fr_max.max(1) } else { habit.fr_max }
    }

    /// Follows a visit whose comparison, if there was one, is the newest in the habit. Says whether the
    /// internal pages go along.
    pub fn follow(&self, habit: &mut Habit, compared: bool, children: Option<Children>) -> bool {
        let mut fr_max = self.cycles(habit);
        if compared && habit.compared.is_multiple_of(u32::from(self.recompute_every.max(1))) {
            fr_max = next_fr_max(fr_max, habit, self.limit);
        }
        let changed = !compared || habit.recent & 1 == 1;
        let share = children.filter(|_| self.children).and_then(|c| c.share());
        let along = match share {
            Some(share) if !changed => {
                let theta = theta(habit);
                if share >= theta {
                    fr_max = for_busy_children(fr_max, share);
                }
                habit.theta = follow_theta(theta, share);
                share >= theta
            }
            Some(share) => !(share < RARELY && self.changes_often(habit)),
            // Without the rule a seed takes its pages along at every visit.
            None => self.on == FrequencyOn::Seeds && (changed || !self.children),
        };
        habit.fr_max = fr_max;
        along
    }

    fn changes_often(&self, habit: &Habit) -> bool {
        let (x, changes) = lately(habit, self.limit);
        x > 0 && f64::from(changes) > OFTEN * f64::from(x)
    }
}

/// ⌊(fr_max + b) / 2⌋, b = visits per change among the last `limit`.
pub fn next_fr_max(fr_max: u16, habit: &Habit, limit: u8) -> u16 {
    let (x, changes) = lately(habit, limit);
    let b = f64::from(x) / f64::from(changes.max(1));
    // At least 1 because both are: the clamp only guards the conversion.
    (f64::midpoint(f64::from(fr_max), b).floor()).clamp(1.0, f64::from(u16::MAX)) as u16
}

/// ⌊fr_max (2 − p) / 2⌋: nothing changes with p = 0, half remains with p = 1.
pub fn for_busy_children(fr_max: u16, share: f64) -> u16 {
    (f64::from(fr_max) * (2.0 - share.clamp(0.0, 1.0)) / 2.0).floor().max(1.0) as u16
}

/// Comparisons that count, and the changes among them.
fn lately(habit: &Habit, limit: u8) -> (u32, u32) {
    let x = habit.compared.min(u32::from(limit.clamp(1, LIMIT_MAX)));
    let mask = u32::MAX.checked_shr(32 - x).unwrap_or(0);
    (x, (habit.recent & mask).count_ones())
}

fn theta(habit: &Habit) -> f64 {
    if habit.theta == 0 { THETA_START } else { f64::from(habit.theta) / 100.0 }
}

fn follow_theta(theta: f64, share: f64) -> u8 {
    let (min, max) = THETA_RANGE;
    ((theta + THETA_STEP * (share - theta)).clamp(min, max) * 100.0).round() as u8
}

#[cfg(test)]
mod tests;
