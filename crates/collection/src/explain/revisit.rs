//! What is believed of a page, what a visit to it is worth, and by which rule it comes back.

use config::{
    Config, OwnLimits,
    setup::{
        returns as revisiting,
        returns::{COMMON, Returns},
    },
};
use manager::{Policy, Rule, Stake, appraise};
use model::{CrawlUrl, Page, SignalSource, SpiderId, Timestamp};
use serde::Serialize;
use store::census::Census;

use super::announcement::Announcement;
use crate::{
    Error,
    status::{BudgetStatus, plans},
};

/// When a page comes back, and why then.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Revisit {
    /// The word of the policy, as `revisit.policy` has it.
    pub policy: &'static str,
    /// What set the next visit, …
    pub rule: Rule,
    /// … in a sentence.
    pub why: &'static str,
    #[serde(serialize_with = "model::iso::option")]
    pub due: Option<Timestamp>,
    /// Visits that could be compared with the one before, and those that showed a change.
    pub compared: u64,
    pub changes: u64,
    /// Changes a day as they are believed, and the limits between which they lie with 90 %.
    pub changes_a_day: f64,
    pub changes_a_day_low: f64,
    pub changes_a_day_high: f64,
    /// Its changes matter for the next visit, and something is known of them.
    pub is_watched: bool,
    /// Probability that the stored copy is current.
    pub freshness: f64,
    pub importance: f64,
    /// What a visit is worth now; with the policy `profit`, its profit.
    pub value: f64,
    /// What a visit has to be worth to be made, where that decides.
    pub price: Option<f64>,
    /// Whether value and price decide about the next visit.
    pub by_value: bool,
    /// How long after its last visit it is worth another.
    pub period_seconds: Option<u64>,
    /// Changes that were announced and not looked at yet.
    pub announcements: u64,
    pub announced: Option<Announcement>,
    pub budget: Option<BudgetStatus>,
    /// It is read for what it says of other pages: a sitemap, a feed, robots.rdf.
    pub feed: Option<SignalSource>,
}

impl Revisit {
    /// `None`: the page is not known. `name`, `id`: of the spider whose page it is.
    pub(super) fn new(
        census: &Census,
        url: &CrawlUrl,
        (id, name): (SpiderId, &str),
        (config, own): (&Config, &OwnLimits),
        now: Timestamp,
    ) -> Result<Option<Revisit>, Error> {
        let Some((page, site)) = census.outlook(url)? else { return Ok(None) };
        let (purse, budget) = revisiting::own_purse(id, own)
            .unwrap_or_else(|| (COMMON, revisiting::common_budget(&config.revisit)));
        let other = (!config.overrides.is_empty())
            .then(|| config.overrides.page(name, &page.url, page.level));
        let stake = Returns::new(config, purse).stake(&page, other.as_ref());
        let saved = plans(census)?;
        let price = saved.as_ref().map_or(f64::from(page.habit.price), |saved| saved.price(purse));
        let appraisal = appraise(&stake, &page, &site, price, now);
        // Pages with a rule of their own come when that says, unless somebody has set a budget.
        let pays = budget.is_explicit() || matches!(stake.policy, Policy::Value(_));
        let spending = saved.and_then(|saved| saved.spending(purse)).filter(|_| pays);
        let is_held = spending.is_some_and(|spending| spending.held);
        Ok(Some(Revisit {
            policy: stake.policy.word(),
            rule: appraisal.rule,
            why: appraisal.rule.words(),
            due: appraisal.due,
            compared: u64::from(page.habit.compared),
            changes: u64::from(page.habit.changes),
            changes_a_day: appraisal.rate,
            changes_a_day_low: appraisal.rate_low,
            changes_a_day_high: appraisal.rate_high,
            is_watched: is_watched(&page, &stake),
            freshness: appraisal.fresh,
            importance: appraisal.importance,
            value: appraisal.value,
            price: matches!(stake.policy, Policy::Value(_)).then_some(appraisal.price),
            by_value: is_by_value(appraisal.rule, is_held),
            period_seconds: appraisal.period.map(|period| period.as_secs()),
            announcements: u64::from(page.habit.signals),
            announced: Announcement::of(&page, &site),
            budget: spending.as_ref().map(BudgetStatus::of),
            feed: page.terms.notice,
        }))
    }
}

/// Of a page that is visited once nothing is ever compared.
fn is_watched(page: &Page, stake: &Stake) -> bool {
    page.habit.seen.is_some() && (page.habit.compared > 0 || stake.policy != Policy::Once)
}

/// Whether it is visited when a visit is worth it; a first visit is, where a budget has to pay for it.
fn is_by_value(rule: Rule, is_held: bool) -> bool {
    match rule {
        Rule::Failing | Rule::Gone | Rule::Excluded | Rule::Once => false,
        Rule::Waiting => is_held,
        _ => true,
    }
}
