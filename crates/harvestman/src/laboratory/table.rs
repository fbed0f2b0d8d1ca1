//! The figures: a table for people, rows for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Case, Contender, Score};
use config::{
    amounts::{number, some},
    units::time_text,
};

/// A policy's figures beside the oracle's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub freshness: f64,
    /// Share of the oracle's freshness, 0 to 1.
    pub of_oracle: f64,
    /// The same for the second half of the time.
    pub late: f64,
    pub downloads: u64,
    /// Of them, those that found nothing new …
    pub unchanged: u64,
    /// … and their share, 0 to 1.
    pub wasted: f64,
}

impl Figures {
    /// `scores` are all of one run; the oracle of the same case is among them.
    pub fn of(score: &Score, scores: &[Score]) -> Figures {
        let best = scores
            .iter()
            .find(|other| other.case == score.case && other.contender == Contender::Oracle);
        let best = best.unwrap_or(score);
        let outcome = &score.outcome;
        Figures {
            freshness: outcome.freshness(),
            of_oracle: outcome.freshness() / best.outcome.freshness(),
            late: outcome.late() / best.outcome.late(),
            downloads: outcome.downloads,
            unchanged: outcome.wasted,
            wasted: outcome.wasted as f64 / outcome.downloads.max(1) as f64,
        }
    }
}

pub fn text(cases: &[Case], scores: &[Score]) -> String {
    let mut text = String::new();
    for (at, case) in cases.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", title(case));
        let _ = writeln!(
            text,
            "{:<14}{:>10}{:>11}{:>10}{:>12}{:>9}",
            "policy", "freshness", "of oracle", "2nd half", "downloads", "wasted"
        );
        let mut rows: Vec<(Contender, Figures)> = scores
            .iter()
            .filter(|score| score.case == at)
            .map(|score| (score.contender, Figures::of(score, scores)))
            .collect();
        rows.sort_by(|(_, a), (_, b)| b.freshness.total_cmp(&a.freshness));
        for (contender, row) in rows {
            let _ = writeln!(
                text,
                "{:<14}{:>10.4}{:>9.1} %{:>8.1} %{:>12}{:>7.0} %",
                contender.word(),
                row.freshness,
                100.0 * row.of_oracle,
                100.0 * row.late,
                number(row.downloads),
                100.0 * row.wasted,
            );
        }
    }
    text
}

/// `D1 (b): 5,000 pages in 100 sites, 100 days, 4,893 visits a day, a choice every 2h`.
pub fn title(case: &Case) -> String {
    let population = &case.population;
    let tick = std::time::Duration::from_millis(case.tick.unsigned_abs());
    format!(
        "{} ({}): {} in {}, {}, {} a day, a choice every {}",
        population.name,
        case.budget,
        some(population.pages() as u64, "page"),
        some(population.sites() as u64, "site"),
        some(u64::from(population.days), "day"),
        some(case.visits_per_day.round() as u64, "visit"),
        time_text(tick),
    )
}

pub fn json(cases: &[Case], scores: &[Score]) -> Value {
    let rows: Vec<Value> = scores
        .iter()
        .map(|score| {
            let (case, row) = (&cases[score.case], Figures::of(score, scores));
            json!({
                "policy": score.contender.word(),
                "population": case.population.name,
                "budget": case.budget,
                "freshness": row.freshness,
                "of_oracle": row.of_oracle,
                "late": row.late,
                "downloads": row.downloads,
                "wasted": row.wasted,
                "unchanged": row.unchanged,
                "visits_per_day": case.visits_per_day,
            })
        })
        .collect();
    let pages = cases.first().map_or(0, |case| case.population.pages());
    let days = cases.first().map_or(0, |case| case.population.days);
    let tick = cases.first().map_or(0, |case| case.tick / 1_000);
    let seed = cases.first().map_or(0, |case| case.seed);
    json!({ "rows": rows, "pages": pages, "days": days, "tick_seconds": tick, "seed": seed })
}
