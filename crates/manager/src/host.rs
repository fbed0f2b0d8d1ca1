//! What a single site bears: its allowance of revisits, and its own price.
//!
//! Revisits take at most a share of what the site's clock allows, spread over the day. A site whose pages
//! fall behind for it has a price of its own: dearer while they come late, and back to the common price
//! when they do not, so that its few visits go to its best pages and nobody queues for what cannot be had.

use model::{SiteHabit, Timestamp};

use crate::{days::between, value::sound};

/// An allowance is carried over for so long …
const CARRY_DAYS: f64 = 1.0 / 24.0;
/// … and amounts to a visit at least.
const ALLOWANCE_MIN: f64 = 1.0;
/// A page is far behind when it is late by so many of its periods.
pub const BEHIND_PERIODS: f64 = 2.0;
/// By how much the price rises in a minute of being behind, and falls in one without.
const RISE_PER_MINUTE: f64 = 1.05;
/// Looked at more seldom, it moves as if looked at so many minutes ago: one look is one piece of evidence.
const LOOK_MINUTES_MAX: f64 = 10.0;
const FACTOR_MAX: f64 = 1e6;
const MINUTES_PER_DAY: f64 = 1440.0;

/// Lets time pass; `per_day` revisits are allowed. Returns what may be spent now.
pub fn fill_allowance(site: &mut SiteHabit, per_day: f64, now: Timestamp) -> f64 {
    let per_day = sound(per_day, 1e9);
    let most = (per_day * CARRY_DAYS).max(ALLOWANCE_MIN);
    let left = if site.allowance_at == Timestamp::ZERO {
        most
    } else {
        let gained = per_day * between(site.allowance_at, now).min(1.0);
        (f64::from(sound_f32(site.allowance)) + gained).min(most)
    };
    site.allowance = left as f32;
    site.allowance_at = now;
    // Kept in few digits: a visit that is due to a rounding is due.
    left + 1e-4
}

pub fn spend_allowance(site: &mut SiteHabit, visits: usize) {
    site.allowance = (site.allowance - visits as f32).max(0.0);
}

/// Moves the site's own price: `behind` when its pages come far too late.
pub fn move_factor(site: &mut SiteHabit, behind: bool, now: Timestamp) {
    let minutes = (between(site.factor_at, now) * MINUTES_PER_DAY).min(LOOK_MINUTES_MAX);
    let minutes = if site.factor_at == Timestamp::ZERO { 0.0 } else { minutes };
    let change = RISE_PER_MINUTE.powf(if behind { minutes } else { -minutes });
    site.factor = (f64::from(sound_f32(site.factor)) * change).clamp(1.0, FACTOR_MAX) as f32;
    site.factor_at = now;
}

fn sound_f32(x: f32) -> f32 {
    if x.is_finite() { x.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests;
