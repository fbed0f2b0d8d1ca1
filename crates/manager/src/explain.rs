//! Why a page comes back when it does, for people who ask.

use std::time::Duration;

use model::{Page, PageState, SiteHabit, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Belief, FrequencyOn, Policy, Stake, Value,
    days::{between, wait},
    due, profit,
    value::{IMPORTANCE_MAX, Objective, Worth, sound},
};

/// The rule that decided when a page is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// It has not answered yet.
    Waiting,
    Once,
    Interval,
    Frequency,
    /// It comes along with its seed.
    GoesAlong,
    Batch,
    Value,
    /// Worth a visit sooner than it may be visited.
    Shortest,
    /// Not worth a visit, but looked at now and then.
    Longest,
    /// A source that is trusted says that it has changed.
    Announced,
    Failing,
    Gone,
    Excluded,
}

impl Rule {
    /// One sentence for people.
    pub fn words(self) -> &'static str {
        match self {
            Rule::Waiting => "it has not been visited yet and waits for its turn",
            Rule::Once => {
                "each page is visited once: when it has answered it does not come back by itself"
            }
            Rule::Interval => "it is visited at the interval that was asked for",
            Rule::Frequency => "the period follows how often its last visits saw a change",
            Rule::GoesAlong => "it comes along when its seed is visited",
            Rule::Batch => {
                "it comes back in the first batch that has it among the pages of the greatest profit"
            }
            Rule::Value => "it is visited when a visit is worth its price",
            Rule::Shortest => "a visit is worth its price sooner, but this is the shortest period",
            Rule::Longest => "a visit is not worth its price; the longest period brings it back",
            Rule::Announced => "a source that proved right says that it has changed",
            Rule::Failing => "it does not answer, and is asked ever less often",
            Rule::Gone => "it is gone, and is looked at seldom in case it returns",
            Rule::Excluded => "it may not be visited now; that is judged again later",
        }
    }
}

/// What is known and reckoned of a page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Appraisal {
    /// Changes a day, on average …
    pub rate: f64,
    /// … and between these with a probability of nine in ten.
    pub rate_low: f64,
    pub rate_high: f64,
    /// The chance that the copy is what the page shows now.
    pub fresh: f64,
    pub importance: f64,
    /// What a visit is worth now; with the policy "profit", its profit.
    pub value: f64,
    /// What a visit costs, on this site.
    pub price: f64,
    /// How long after its last visit it is worth another, where that decides.
    pub period: Option<Duration>,
    pub due: Option<Timestamp>,
    pub rule: Rule,
}

/// Everything that decides about the page, as it stands.
pub fn appraise(
    stake: &Stake,
    page: &Page,
    site: &SiteHabit,
    price: f64,
    now: Timestamp,
) -> Appraisal {
    let belief = Belief::of(&page.habit, site);
    let (rate_low, rate_high) = belief.interval();
    let age = page.habit.seen.map(|seen| between(seen, now));
    let value = match stake.policy {
        Policy::Value(value) => value,
        _ => Value::default(),
    };
    let worth = due::worth(&value, &page.habit, site, stake.importance);
    let price = due::price_here(price, site);
    let (rule, period) = rule(stake, page, &worth, price);
    Appraisal {
        rate: belief.mean(),
        rate_low,
        rate_high,
        fresh: match stake.policy {
            // The one by which its profit is reckoned.
            Policy::Profit(_) => profit::fresh(page, now),
            _ => age.map_or(0.0, |age| fresh(&worth, age)),
        },
        importance: sound(stake.importance, IMPORTANCE_MAX),
        value: worth_now(stake, page, site, &worth, now),
        price,
        period,
        due: next(stake, page),
        rule,
    }
}

/// The chance that the copy is fresh, announcements counted in.
fn fresh(worth: &Worth, age: f64) -> f64 {
    let Some(heard) = worth.heard else { return worth.belief.fresh(age) };
    let silent = (-(1.0 - heard.recall) * worth.belief.mean() * age).exp();
    silent * (1.0 - heard.precision).powi(i32::from(heard.count))
}

fn worth_now(stake: &Stake, page: &Page, site: &SiteHabit, worth: &Worth, now: Timestamp) -> f64 {
    if let Policy::Profit(_) = stake.policy {
        return sound(stake.importance, IMPORTANCE_MAX) * (1.0 - profit::fresh(page, now));
    }
    match page.habit.seen {
        Some(seen) => worth.at(between(seen, now)),
        None => crate::value::worth_new(Belief::prior(site), stake.importance),
    }
}

fn rule(stake: &Stake, page: &Page, worth: &Worth, price: f64) -> (Rule, Option<Duration>) {
    let of_state = match page.state {
        PageState::Candidate | PageState::Known => Some(Rule::Waiting),
        _ if stake.policy == Policy::Once => Some(Rule::Once),
        PageState::Failing => Some(Rule::Failing),
        PageState::Gone => Some(Rule::Gone),
        PageState::Excluded => Some(Rule::Excluded),
        PageState::Fetched | PageState::Redirected => None,
    };
    if let Some(rule) = of_state {
        return (rule, None);
    }
    match stake.policy {
        Policy::Once => (Rule::Once, None),
        Policy::Fixed { every } => (Rule::Interval, Some(every)),
        Policy::Frequency(f) if f.on == FrequencyOn::Seeds && !page.seed => (Rule::GoesAlong, None),
        Policy::Frequency(f) => {
            let cycles = u32::from(f.cycles(&page.habit));
            (Rule::Frequency, Some(f.cycle.saturating_mul(cycles)))
        }
        Policy::Profit(_) => (Rule::Batch, None),
        Policy::Value(value) => {
            let period = due::period(&value, worth, price, None);
            let announced = worth.heard.is_some_and(|heard| heard.count > 0)
                && worth.objective == Objective::Freshness;
            let rule = if announced { Rule::Announced } else { Rule::of_bound(period.bound) };
            (rule, Some(wait(period.days)))
        }
    }
}

/// The page as lent knows no "never": policies that leave a page alone say so here.
fn next(stake: &Stake, page: &Page) -> Option<Timestamp> {
    let answered = matches!(page.state, PageState::Fetched | PageState::Redirected);
    let never = match stake.policy {
        Policy::Once | Policy::Profit(_) => answered,
        Policy::Frequency(f) => answered && f.on == FrequencyOn::Seeds && !page.seed,
        _ => false,
    };
    (!never).then_some(page.due)
}

#[cfg(test)]
mod tests;
