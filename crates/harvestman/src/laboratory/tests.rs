//! Small laboratories, the same figures every time.

use std::sync::Arc;

use super::{
    Case, Contender, Score,
    announce::Announcements,
    contest, curve, limits,
    population::{Law, Recipe},
    table::{self, Figures},
};

fn case(law: Law, share: f64) -> Case {
    let recipe =
        Recipe { law, pages: 1_000, sites: 20, days: 40, seed: 1, correlation: 0.0, bursts: false };
    let population = Arc::new(recipe.make());
    Case {
        visits_per_day: share * population.changes_per_day(),
        population,
        budget: "b".into(),
        tick: 2 * 3_600_000,
        seed: 1,
        failing: 0.0,
        limits: None,
        announcements: None,
    }
}

fn scores(cases: &[Case], contenders: &[Contender], threads: usize) -> Vec<Score> {
    contest::run(cases, contenders, threads, &mut |_, _| {}).unwrap()
}

fn figures(scores: &[Score], contender: Contender) -> Figures {
    let score = scores.iter().find(|score| score.contender == contender).unwrap();
    Figures::of(score, scores)
}

#[test]
fn value_is_near_the_oracle_and_before_profit_which_is_before_uniform() {
    let contenders = [Contender::Oracle, Contender::Value, Contender::Profit, Contender::Uniform];
    for law in Law::ALL {
        let case = case(law, 1.0);
        let scores = scores(std::slice::from_ref(&case), &contenders, 2);
        let [_, value, profit, uniform] = contenders.map(|c| figures(&scores, c));
        assert!(value.of_oracle >= 0.96, "{law:?}: {value:?}");
        assert!(value.freshness > profit.freshness, "{law:?}: {value:?} {profit:?}");
        if law == Law::D2 {
            assert!(profit.freshness > uniform.freshness, "{law:?}: {profit:?} {uniform:?}");
        }
        let budget = case.visits_per_day * 40.0;
        let spent = value.downloads as f64 / budget;
        assert!((0.98..1.01).contains(&spent), "{law:?}: {spent} of the budget was spent");
    }
}

#[test]
fn the_same_seed_gives_the_same_figures_on_any_number_of_threads() {
    let cases = [case(Law::D1, 0.3), case(Law::D2, 1.0)];
    let one = table::json(&cases, &scores(&cases, &Contender::ALL, 1));
    let four = table::json(&cases, &scores(&cases, &Contender::ALL, 4));
    assert_eq!(one, four);
    let rows = one["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * Contender::ALL.len());
    assert!(rows.iter().all(|row| row["of_oracle"].as_f64().is_some_and(|x| x > 0.3 && x <= 1.01)));
}

#[test]
fn limits_of_hosts_and_failing_visits_are_lived_with() {
    let mut case = case(Law::D2, 1.0);
    case.limits = Some(limits::draw(&case.population, case.visits_per_day, 1));
    case.failing = 0.02;
    let scores = scores(&[case], &[Contender::Oracle, Contender::Value], 2);
    let value = figures(&scores, Contender::Value);
    assert!(value.of_oracle >= 0.93, "{value:?}");
}

#[test]
fn announcements_help_once_they_are_trusted() {
    let silent = case(Law::D2, 0.3);
    let mut told = silent.clone();
    told.announcements = Some(Arc::new(Announcements::generate(&told.population, 1)));
    let scores = scores(&[silent, told], &[Contender::Value], 2);
    let [silent, told] = [0, 1].map(|at| scores[at].outcome.late());
    assert!(told > silent, "{told} with announcements, {silent} without");
}

#[test]
fn the_drawing_has_a_panel_for_each_case_and_a_line_for_each_policy() {
    let cases = [case(Law::D1, 1.0), case(Law::D2, 1.0)];
    let contenders = [Contender::Oracle, Contender::Uniform];
    let svg = curve::svg(&cases, &scores(&cases, &contenders, 2));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<g ").count(), 2);
    assert_eq!(svg.matches("<polyline class=\"line oracle\"").count(), 3, "and one in the legend");
    assert!(svg.contains("prefers-color-scheme: dark") && !svg.contains("NaN"));
}
