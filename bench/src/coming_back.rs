//! Two months of coming back, from the outside: the real pipeline on the simulated web in simulated time, beside what
//! `harvestman simulate` predicts for the very same changes.
//!
//! The stay itself is a test of the program, which also proves that no version is missing from the archive; it is
//! run here for its figures.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::cases::Place;

/// Between what is measured and what is predicted.
const AIM: f64 = 0.01;
/// Sites, pages of each, days.
const FULL: Stay = Stay { sites: 50, pages: 200, days: 60 };
const SMALL: Stay = Stay { sites: 5, pages: 60, days: 30 };
/// How often the laboratory lets a policy choose: its default, and nearly as often as a crawl that never rests.
const TICKS: [&str; 2] = ["2h", "10m"];

#[derive(Clone, Copy, Debug)]
struct Stay {
    sites: u64,
    pages: u64,
    days: u64,
}

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let stay = if place.small { SMALL } else { FULL };
    let changes = place.scratch.join("changes.csv");
    let told = stay.live(&changes)?;
    let seen =
        Seen::read(&told).with_context(|| format!("the test says something else: {told}"))?;
    let known = stay.sites * stay.pages;
    // The laboratory knows all pages from the beginning: what it may spend is the revisits.
    let budget = seen.visits.saturating_sub(known).div_ceil(stay.days);
    let mut text = format!(
        "The real pipeline and database on the simulated web in simulated time: {} sites of {} pages, {} days, a \
         seventh of the pages a day. {} visits; every version that was there at a visit is in the archive. The \
         prediction is that of `simulate` for the same changes and {budget} visits a day.\n\n\
         | | freshness | away from the pipeline | aim | |\n| --- | --- | --- | --- | --- |\n\
         | the pipeline, from the outside | {:.4} | | | |\n",
        stay.sites, stay.pages, stay.days, seen.visits, seen.freshness,
    );
    for tick in TICKS {
        let predicted = predict(place, &changes, budget, tick)?;
        let away = (predicted - seen.freshness).abs();
        let met = if away <= AIM { "met" } else { "**missed**" };
        let row = format!("| `simulate`, a choice every {tick} | {predicted:.4} | {away:.4} |");
        text += &format!("{row} {AIM} | {met} |\n");
    }
    text += &format!(
        "| as many visits by turns | {:.4} | | | |\n| somebody who knows all rates | {:.4} | | | |\n",
        seen.by_turns, seen.best
    );
    fs::remove_file(&changes)?;
    Ok(text)
}

impl Stay {
    /// Runs the test, which leaves the changes of the web at `changes`; what it printed.
    fn live(self, changes: &Path) -> anyhow::Result<String> {
        let here = std::env::current_dir()?;
        let size = format!("{}x{}x{}", self.sites, self.pages, self.days);
        // bench/run has built it.
        let output = Command::new("cargo")
            .args(["test", "--release", "--quiet", "-p", "harvestman", "--test", "it"])
            .args(["sixty_days", "--", "--nocapture"])
            .env("HARVESTMAN_LONG", size)
            .env("HARVESTMAN_CHANGES", here.join(changes))
            .output()
            .context("cargo test")?;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let why = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the test failed: {told}{why}");
        Ok(told)
    }
}

/// What the laboratory says of the same changes.
fn predict(place: &Place<'_>, changes: &Path, budget: u64, tick: &str) -> anyhow::Result<f64> {
    let output = Command::new(place.programs.join("harvestman"))
        .args(["--quiet", "--json", "simulate", "--policy", "value", "--tick", tick, "--csv"])
        .arg(changes)
        .args(["--budget", &budget.to_string()])
        .output()
        .context("simulate")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).context("simulate")?;
    let rows = answer["rows"].as_array().context("simulate gives rows")?;
    let row = rows.iter().find(|row| row["policy"] == "value").context("a row of value")?;
    row["freshness"].as_f64().context("freshness")
}

/// The figures of the stay.
#[derive(Debug, PartialEq)]
struct Seen {
    visits: u64,
    freshness: f64,
    best: f64,
    by_turns: f64,
}

impl Seen {
    /// From lines `N visits in TIME` and `freshness N, the best possible N, by turns N`.
    fn read(told: &str) -> Option<Seen> {
        let visits =
            told.lines().find_map(|line| line.split_once(" visits in ")?.0.parse().ok())?;
        let line = told.lines().find(|line| line.starts_with("freshness "))?;
        let mut figures = line.split(", ").filter_map(|part| part.rsplit(' ').next()?.parse().ok());
        let (freshness, best, by_turns) = (figures.next()?, figures.next()?, figures.next()?);
        Some(Seen { visits, freshness, best, by_turns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_stay_are_read_from_what_the_test_prints() {
        let told = "\nrunning 1 test\n96316 visits in 71.5s\n\
                    freshness 0.7083, the best possible 0.7540, by turns 0.6992\nin the second half 0.7\n";
        let (freshness, best, by_turns) = (0.7083, 0.7540, 0.6992);
        assert_eq!(Seen::read(told), Some(Seen { visits: 96_316, freshness, best, by_turns }));
        assert_eq!(Seen::read("skipped: HARVESTMAN_LONG is not set"), None);
    }
}
