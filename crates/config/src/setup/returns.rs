//! From `[revisit]` to what the manager takes: policies, budgets and purses.

use std::time::Duration;

use manager::{
    Budget, Frequency, FrequencyOn, Objective, Policy, Profit, PurseId, Stake, Value as ValuePolicy,
};
use model::{Page, SpiderId};

use crate as config;
use crate::{Config, OwnLimits, PageOverride, Revisit};

/// WIRE's bounds on the depth of pages in a batch, where the user sets none.
const DEPTH_STATIC: u16 = 15;
const DEPTH_DYNAMIC: u16 = 5;
/// Recomputing after every visit is the livelier reading of the paper; ten is the one of its table 2.
const RECOMPUTE_EVERY: u8 = 1;

/// An index stands for about so many sitemaps.
const SITEMAPS_OF_INDEX: f64 = 10.0;

/// When pages of one spider come back, as its configuration has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Returns {
    pub policies: Policies,
    /// How much its pages count, where nothing else is said of one.
    pub importance: f64,
    /// What pays for its visits.
    pub purse: PurseId,
}

impl Returns {
    pub fn new(config: &Config, purse: PurseId) -> Returns {
        let importance = config.revisit.importance;
        Returns { policies: Policies::new(config), importance, purse }
    }

    /// What the user wants of a page stands over what the spider does with others.
    pub fn policy(&self, page: &Page, other: Option<&PageOverride>) -> Policy {
        match (page.terms.period, other) {
            (Some(every), _) => Policy::Fixed { every },
            (None, Some(other)) => self.policies.with(other),
            (None, None) => self.policies.chosen(),
        }
    }

    /// What decides about a page besides its habit. The further from its site's entry, the less it counts.
    pub fn stake(&self, page: &Page, other: Option<&PageOverride>) -> Stake {
        let own = other.and_then(|other| other.importance);
        let stake = Stake {
            policy: self.policy(page, other),
            importance: own.unwrap_or(self.importance) / (1.0 + f64::from(page.level)),
            purse: self.purse,
        };
        if page.terms.notice.is_some() { of_notice(stake, page.terms.outside) } else { stake }
    }
}

/// A sitemap or feed is not wanted for itself but for what it tells: every change waits until it is read, so time
/// counts and not whether the copy is the latest one. (Measured by freshness, that of a busy site would not be
/// worth a visit.) It counts as much as its site's entry page, whose level it has; behind an index, as one of
/// many that share what the index counts, or the thousand sitemaps of a shop would crowd out its pages.
fn of_notice(mut stake: Stake, indexes: u8) -> Stake {
    stake.importance /= SITEMAPS_OF_INDEX.powi(i32::from(indexes));
    if let Policy::Value(value) = &mut stake.policy {
        value.objective = Objective::Age;
    }
    stake
}

/// Every policy as one spider's configuration has it, and which of them it chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policies {
    chosen: config::Policy,
    period: Duration,
    value: ValuePolicy,
    frequency: Frequency,
    profit: Profit,
}

impl Policies {
    pub fn new(config: &Config) -> Policies {
        let revisit = &config.revisit;
        let depth = config.crawl.depth;
        Policies {
            chosen: revisit.policy,
            period: revisit.period,
            value: ValuePolicy {
                objective: match revisit.objective {
                    config::Objective::Freshness => Objective::Freshness,
                    config::Objective::Age => Objective::Age,
                    config::Objective::Harmonic => Objective::Harmonic,
                },
                period_min: revisit.period_min,
                period_max: revisit.period_max.max(revisit.period_min),
            },
            frequency: frequency(revisit),
            profit: Profit {
                cycle: revisit.cycle,
                batch: revisit.batch,
                site_max: revisit.batch_site_max,
                period_min: revisit.period_min,
                depth_static: depth.unwrap_or(DEPTH_STATIC),
                depth_dynamic: config.crawl.depth_dynamic.or(depth).unwrap_or(DEPTH_DYNAMIC),
            },
        }
    }

    pub fn chosen(&self) -> Policy {
        self.of(self.chosen, self.period)
    }

    /// What is otherwise with some pages. A period that the user gives is kept.
    pub fn with(&self, other: &PageOverride) -> Policy {
        let mut mine = *self;
        if let Some(shortest) = other.period_min {
            mine.value.period_min = shortest;
            mine.profit.period_min = shortest;
        }
        mine.value.period_max =
            other.period_max.unwrap_or(mine.value.period_max).max(mine.value.period_min);
        match (other.policy, other.period) {
            (Some(word), every) => mine.of(word, every.unwrap_or(self.period)),
            (None, Some(every)) => Policy::Fixed { every },
            (None, None) => mine.chosen(),
        }
    }

    fn of(&self, word: config::Policy, period: Duration) -> Policy {
        match word {
            config::Policy::Value => Policy::Value(self.value),
            config::Policy::Frequency => Policy::Frequency(self.frequency),
            config::Policy::Profit => Policy::Profit(self.profit),
            config::Policy::Fixed => Policy::Fixed { every: period },
            config::Policy::Once => Policy::Once,
        }
    }
}

fn frequency(revisit: &Revisit) -> Frequency {
    Frequency {
        cycle: revisit.cycle,
        fr_max: revisit.frequency_cycles,
        limit: revisit.frequency_limit,
        recompute_every: RECOMPUTE_EVERY,
        on: if revisit.frequency_on_seeds { FrequencyOn::Seeds } else { FrequencyOn::Pages },
        children: revisit.children,
    }
}

/// The purse of all spiders that have no budget of their own.
pub const COMMON: PurseId = PurseId::COMMON;

/// What all spiders without a budget of their own may spend together.
pub fn common_budget(revisit: &Revisit) -> Budget {
    Budget {
        visits_per_day: revisit.visits_per_day.map(|visits| visits as f64),
        bytes_per_day: revisit.bytes_per_day,
        requests_per_second: revisit.requests_per_second,
    }
}

/// The spider's own purse, if it has a budget of its own. Spiders are numbered from one.
pub fn own_purse(spider: SpiderId, own: &OwnLimits) -> Option<(PurseId, Budget)> {
    let budget = Budget {
        visits_per_day: own.visits_per_day.map(|visits| visits as f64),
        bytes_per_day: own.bytes_per_day,
        requests_per_second: own.requests_per_second,
    };
    let given = own.visits_per_day.is_some()
        || own.bytes_per_day.is_some()
        || own.requests_per_second.is_some();
    given.then_some((PurseId(spider.0), budget))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemap_behind_an_index_counts_as_one_of_many() {
        let policy = Policy::Value(ValuePolicy::default());
        let page = Stake { policy, importance: 2.0, purse: COMMON };
        let of = [0, 1, 2].map(|indexes| of_notice(page, indexes));
        assert_eq!(of.map(|stake| stake.importance), [2.0, 0.2, 0.02]);
        for stake in of {
            assert!(matches!(stake.policy, Policy::Value(v) if v.objective == Objective::Age));
        }
    }
}
