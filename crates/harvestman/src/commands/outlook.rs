//! What is believed of a page, what a visit to it is worth, and what visits cost: for `explain` and `status`.

use std::fmt::Write;

use manager::{Appraisal, Policy, Rule, Stake, appraise};
use model::{CrawlUrl, Page, SignalSource, SpiderId, Timestamp};
use serde_json::{Value, json};
use store::census::Census;

use super::announcements::Announcement;
use collection::planner::{BudgetUse, PlannerSnapshot};
use config::{
    Config, OwnLimits,
    amounts::{number, some},
    failure::Failure,
    setup::{
        returns as revisiting,
        returns::{COMMON, Returns},
    },
    times,
};

/// Longer than anybody watches: as good as never.
const NEVER_DAYS: f64 = 20.0 * 365.0;

/// A page that was visited, and when it comes back.
pub struct Outlook {
    page: Page,
    stake: Stake,
    appraisal: Appraisal,
    spending: Option<BudgetUse>,
    announced: Option<Announcement>,
    now: Timestamp,
}

impl Outlook {
    /// `None`: the page is not known. `name`, `id`: of the spider whose page it is.
    pub fn new(
        census: &Census,
        url: &CrawlUrl,
        (id, name): (SpiderId, &str),
        (config, own): (&Config, &OwnLimits),
        now: Timestamp,
    ) -> Result<Option<Outlook>, Failure> {
        let Some((page, site)) = census.outlook(url)? else { return Ok(None) };
        let (purse, budget) = revisiting::own_purse(id, own)
            .unwrap_or_else(|| (COMMON, revisiting::common_budget(&config.revisit)));
        let other = (!config.overrides.is_empty())
            .then(|| config.overrides.page(name, &page.url, page.level));
        let stake = Returns::new(config, purse).stake(&page, other.as_ref());
        let saved = saved(census)?;
        let price = saved.as_ref().map_or(f64::from(page.habit.price), |saved| saved.price(purse));
        let appraisal = appraise(&stake, &page, &site, price, now);
        // Pages with a rule of their own come when that says, unless somebody has set a budget.
        let pays = budget.is_explicit() || matches!(stake.policy, Policy::Value(_));
        let spending = saved.and_then(|saved| saved.spending(purse)).filter(|_| pays);
        let announced = Announcement::of(&page, &site);
        Ok(Some(Outlook { page, stake, appraisal, spending, announced, now }))
    }

    /// It is read for what it tells of other pages.
    pub fn notice(&self) -> Option<SignalSource> {
        self.page.terms.notice
    }

    /// Where it has no moment of its own: what it waits for.
    pub fn undated(&self) -> &'static str {
        match self.appraisal.rule {
            Rule::Batch => "in a batch that chooses it",
            Rule::GoesAlong => "along with its seed",
            _ => "not by itself",
        }
    }

    pub fn json(&self) -> Value {
        let appraisal = &self.appraisal;
        let by_value = matches!(self.stake.policy, Policy::Value(_));
        json!({
            "policy": self.stake.policy.word(),
            "compared": self.page.habit.compared,
            "changes": self.page.habit.changes,
            "changes_a_day": appraisal.rate,
            "changes_a_day_low": appraisal.rate_low,
            "changes_a_day_high": appraisal.rate_high,
            "fresh": appraisal.fresh,
            "importance": appraisal.importance,
            "value": appraisal.value,
            "price": by_value.then_some(appraisal.price),
            "period_seconds": appraisal.period.map(|period| period.as_secs()),
            "due": appraisal.due.map(times::iso),
            "rule": appraisal.rule,
            "why": appraisal.rule.words(),
            "announcements": self.page.habit.signals,
            "announced": self.announced.as_ref().map(Announcement::json),
            "budget": self.spending.map(|spending| budget_json(&spending)),
        })
    }

    /// Whether it is visited when a visit is worth it; a first visit is, where a budget has to pay for it.
    fn worth_decides(&self) -> bool {
        match self.appraisal.rule {
            Rule::Failing | Rule::Gone | Rule::Excluded | Rule::Once => false,
            Rule::Waiting => self.spending.is_some_and(|spending| spending.held),
            _ => true,
        }
    }

    pub fn write(&self, text: &mut String) {
        let (habit, appraisal) = (&self.page.habit, &self.appraisal);
        // Of a page that is visited once nothing is ever compared.
        let is_watched = habit.compared > 0 || self.stake.policy != Policy::Once;
        if habit.seen.is_some() && is_watched {
            let changes = some(u64::from(habit.changes), "change");
            let basis = match habit.compared {
                0 => "by what is usual on its site: visited once so far".to_owned(),
                1 => format!("{changes} at one revisit"),
                n => format!("{changes} at {} revisits", number(u64::from(n))),
            };
            let often = how_often(appraisal.rate, appraisal.rate_low, appraisal.rate_high);
            let _ = writeln!(text, "{often}; {basis}");
            let fresh = 100.0 * appraisal.fresh;
            let how = match self.stake.policy {
                Policy::Profit(_) => {
                    " (as this policy reckons: the first visit counts as a change)"
                }
                _ => "",
            };
            let _ = writeln!(text, "the copy is still what the page shows with {fresh:.0} %{how}");
        }
        if let Some(announced) = &self.announced {
            let _ = writeln!(text, "{}", announced.words(self.now));
        }
        let (value, importance) = (appraisal.value, short(appraisal.importance));
        let _ = match self.stake.policy {
            _ if !self.worth_decides() => Ok(()),
            Policy::Value(_) => writeln!(
                text,
                "a visit now is worth {} (importance {importance}); it is made when that reaches {}, the price \
                 at which the budget pays for all visits",
                short(value),
                short(appraisal.price)
            ),
            Policy::Profit(_) => writeln!(
                text,
                "its profit is {} now: importance {importance} times the chance that it has changed since it was seen, {:.0} %",
                short(value),
                100.0 * (1.0 - appraisal.fresh),
            ),
            _ => Ok(()),
        };
        let _ = writeln!(text, "policy {}: {}", self.stake.policy.word(), appraisal.rule.words());
        if let Some(spending) = self.spending.filter(|spending| spending.held) {
            let _ = writeln!(text, "budget {}", budget_text(&spending));
        }
    }
}

/// What the last crawl, or the one that runs, has written down of its plans.
pub fn saved(census: &Census) -> Result<Option<PlannerSnapshot>, Failure> {
    Ok(census.planner_state()?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// What a budget is, and what was spent of it.
pub fn budget_text(spending: &BudgetUse) -> String {
    let day = times::iso(spending.day);
    let day = day.split('T').next().unwrap_or_default();
    format!(
        "{} visits a day; {} and {} made on {day} (UTC); a visit is made when it is worth {} (the price)",
        short(spending.rate),
        some(spending.revisits, "revisit"),
        some(spending.firsts, "first visit"),
        short(spending.price)
    )
}

pub fn budget_json(spending: &BudgetUse) -> Value {
    json!({
        "visits_a_day": spending.rate, "day": times::iso(spending.day),
        "revisits": spending.revisits, "first_visits": spending.firsts, "bytes": spending.bytes,
        "price": spending.price, "held": spending.held,
    })
}

/// `changes about every 3 days (between 1 and 9)`.
fn how_often(rate: f64, low: f64, high: f64) -> String {
    let days = |rate: f64| if rate > 0.0 { 1.0 / rate } else { f64::INFINITY };
    let (least, most) = (span(days(high)), span(days(low)));
    let between = match (least, most) {
        (_, None) if days(high) >= NEVER_DAYS => String::new(),
        (Some((n, unit)), None) => format!(" (between {n} {unit} and never)"),
        (Some((n, unit)), Some((m, other))) if unit == other => {
            format!(" (between {n} and {m})")
        }
        (Some((n, unit)), Some((m, other))) => format!(" (between {n} {unit} and {m} {other})"),
        (None, _) => String::new(),
    };
    match span(days(rate)) {
        None => "changes hardly ever".to_owned(),
        Some((1, unit)) => {
            format!("changes about every {}{between}", unit.trim_end_matches('s'))
        }
        Some((n, unit)) => format!("changes about every {n} {unit}{between}"),
    }
}

/// A number of days as people say it; `None`: never.
fn span(days: f64) -> Option<(u64, &'static str)> {
    let (amount, unit) = match days {
        d if d.is_nan() || d >= NEVER_DAYS => return None,
        d if d >= 730.0 => (d / 365.0, "years"),
        d if d >= 90.0 => (d / 30.4, "months"),
        d if d >= 1.5 => (d, "days"),
        d if d >= 1.5 / 24.0 => (d * 24.0, "hours"),
        d => (d * 1_440.0, "minutes"),
    };
    Some(((amount.round() as u64).max(1), unit))
}

/// Three digits are enough of anything that is only compared.
fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if (0.01..1_000.0).contains(&a) => {
            let text = format!("{x:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        a if (1_000.0..1e9).contains(&a) => number(x.round() as u64),
        _ => format!("{x:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_a_page_changes_is_said_as_people_would() {
        let told =
            |days: f64, least: f64, most: f64| how_often(1.0 / days, 1.0 / most, 1.0 / least);
        assert_eq!(told(3.0, 1.6, 9.0), "changes about every 3 days (between 2 and 9)");
        assert_eq!(
            told(1.0, 0.2, 4.0),
            "changes about every 24 hours (between 5 hours and 4 days)"
        );
        assert_eq!(
            told(60.0, 20.0, 1e9),
            "changes about every 60 days (between 20 days and never)"
        );
        assert_eq!(told(1e9, 1e8, 1e10), "changes hardly ever");
        assert_eq!(how_often(0.0, 0.0, 0.0), "changes hardly ever");
        assert_eq!(how_often(f64::NAN, f64::NAN, f64::NAN), "changes hardly ever");
    }

    #[test]
    fn figures_that_are_only_compared_are_short() {
        let told = [0.0, 0.125, 12.0, 0.00012, 123_456.7].map(short);
        assert_eq!(told, ["0", "0.125", "12", "1.20e-4", "123,457"]);
    }
}
