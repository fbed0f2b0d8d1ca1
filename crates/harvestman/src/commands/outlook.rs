//! When a page comes back and why then, in words: for `explain` and `status`.

use collection::{explain::Revisit, status::BudgetStatus};
use config::{
    amounts::{number, some},
    times,
};
use manager::Rule;
use model::Timestamp;

use super::announcements;

/// Longer than anybody watches: as good as never.
const NEVER_DAYS: f64 = 20.0 * 365.0;

/// Where a page has no due time: what it waits for.
pub fn undated(revisit: &Revisit) -> &'static str {
    match revisit.rule {
        Rule::Batch => "in a batch that chooses it",
        Rule::GoesAlong => "along with its seed",
        _ => "not by itself",
    }
}

/// Why the next visit is when it is, in a line.
pub fn reason(revisit: &Revisit) -> String {
    let by_changes = matches!(revisit.rule, Rule::Value | Rule::Frequency);
    let why = match by_changes && revisit.is_watched {
        true => format!("the page {}", how_often(revisit.changes_a_day)),
        false => revisit.why.to_owned(),
    };
    let hint = if revisit.is_watched { "; --verbose shows the numbers" } else { "" };
    format!("{why} (policy \"{}\"{hint})", revisit.policy)
}

/// What else is known, a line each; `verbose` with every number.
pub fn lines(revisit: &Revisit, verbose: bool, now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    if revisit.is_watched {
        let current = 100.0 * revisit.freshness;
        lines.push(format!("probability that the stored copy is current: {current:.0} %"));
    }
    lines.extend(revisit.announced.as_ref().map(|announced| announcements::words(announced, now)));
    if verbose {
        lines.extend(numbers(revisit));
    }
    lines
}

fn numbers(revisit: &Revisit) -> Vec<String> {
    let mut lines = Vec::new();
    if revisit.is_watched {
        let changes = some(revisit.changes, "change");
        let basis = match revisit.compared {
            0 => "by what is usual on its site, visited once so far".to_owned(),
            1 => format!("{changes} at one revisit"),
            n => format!("{changes} at {} revisits", number(n)),
        };
        let often = how_often(revisit.changes_a_day);
        let between = between(revisit.changes_a_day_low, revisit.changes_a_day_high);
        lines.push(format!("{often}{between}: {basis}"));
    }
    let (value, importance) = (short(revisit.value), short(revisit.importance));
    match (revisit.by_value, revisit.price) {
        (true, Some(price)) => lines.push(format!(
            "a visit now is worth {value} (importance {importance}); it is made when that \
             reaches the price, {}",
            short(price)
        )),
        (true, None) if revisit.policy == "profit" => lines.push(format!(
            "profit of a visit now: {value} = importance {importance} × probability of a \
             change, {:.0} % (the first visit counts as a change)",
            100.0 * (1.0 - revisit.freshness)
        )),
        _ => {}
    }
    lines.push(format!("policy {}: {}", revisit.policy, revisit.why));
    if let Some(budget) = revisit.budget.as_ref().filter(|budget| budget.held) {
        lines.push(format!("budget: {}", budget_text(budget)));
    }
    lines
}

/// What a budget is, and what was spent of it.
pub fn budget_text(budget: &BudgetStatus) -> String {
    let day = times::iso(budget.day);
    let day = day.split('T').next().unwrap_or_default();
    format!(
        "{} visits a day; {} and {} made on {day} (UTC); price of a visit: {}",
        short(budget.visits_a_day),
        some(budget.revisits, "revisit"),
        some(budget.first_visits, "first visit"),
        short(budget.price)
    )
}

/// `changes about every 3 days`.
fn how_often(rate: f64) -> String {
    match span(days(rate)) {
        None => "changes hardly ever".to_owned(),
        Some((1, unit)) => format!("changes about every {}", unit.trim_end_matches('s')),
        Some((n, unit)) => format!("changes about every {n} {unit}"),
    }
}

/// ` (between 1 and 9)`: the limits of a rate, as the time between changes.
fn between(low: f64, high: f64) -> String {
    match (span(days(high)), span(days(low))) {
        (_, None) if days(high) >= NEVER_DAYS => String::new(),
        (Some((n, unit)), None) => format!(" (between {n} {unit} and never)"),
        (Some((n, unit)), Some((m, other))) if unit == other => format!(" (between {n} and {m})"),
        (Some((n, unit)), Some((m, other))) => format!(" (between {n} {unit} and {m} {other})"),
        (None, _) => String::new(),
    }
}

fn days(rate: f64) -> f64 {
    if rate > 0.0 { 1.0 / rate } else { f64::INFINITY }
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
        let said = |days: f64, least: f64, most: f64| {
            format!("{}{}", how_often(1.0 / days), between(1.0 / most, 1.0 / least))
        };
        assert_eq!(said(3.0, 1.6, 9.0), "changes about every 3 days (between 2 and 9)");
        assert_eq!(
            said(1.0, 0.2, 4.0),
            "changes about every 24 hours (between 5 hours and 4 days)"
        );
        assert_eq!(
            said(60.0, 20.0, 1e9),
            "changes about every 60 days (between 20 days and never)"
        );
        assert_eq!(said(1e9, 1e8, 1e10), "changes hardly ever");
        assert_eq!(how_often(0.0), "changes hardly ever");
        assert_eq!(how_often(f64::NAN), "changes hardly ever");
    }

    #[test]
    fn figures_that_are_only_compared_are_short() {
        let said = [0.0, 0.125, 12.0, 0.00012, 123_456.7].map(short);
        assert_eq!(said, ["0", "0.125", "12", "1.20e-4", "123,457"]);
    }
}
