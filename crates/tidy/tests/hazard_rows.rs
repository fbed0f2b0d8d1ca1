//! `docs/hazard-rows.md` tells of every row of the shared list of hazards, and names tests that exist.

use std::{collections::BTreeSet, fs};

use tidy::{root, sources};

/// A row of the tables: its number and the tests it names.
struct Row {
    id: String,
    named: String,
    tests: Vec<String>,
    later: bool,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/hazard-rows.md")).expect("the table is there");
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 6, "{line}");
        if cells[0] == "row" {
            continue;
        }
        let tests = cells[5].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let (id, named) = (cells[0].to_owned(), cells[2].to_owned());
        rows.push(Row { id, named, tests, later: cells[5] == "later" });
    }
    rows
}

#[test]
fn every_row_of_the_shared_list_is_told_of_once() {
    let told: Vec<String> = rows().into_iter().map(|row| row.id).collect();
    let unique: BTreeSet<&String> = told.iter().collect();
    assert_eq!(unique.len(), told.len(), "a row is there twice");
    let Ok(text) = fs::read_to_string(root().join("../shared/conformance/hazards.json")) else {
        let wanted = std::env::var_os("HARVESTMAN_CONFORMANCE");
        assert!(wanted.is_none_or(|wanted| wanted != "required"), "hazards.json is not there");
        return println!("skipped: hazards.json is not there");
    };
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ids = list["hazards"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    let ids: BTreeSet<String> = ids.map(str::to_owned).collect();
    assert!(ids.len() > 90);
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), ids);
}

#[test]
fn every_row_names_tests_that_exist() {
    let functions = functions();
    let mut missing = Vec::new();
    for row in rows() {
        assert!(row.later || !row.tests.is_empty(), "{} names no test", row.id);
        for test in row.tests {
            if !functions.contains(&test) {
                missing.push(format!("{}: {test}", row.id));
            }
        }
    }
    assert!(missing.is_empty(), "named, but not in the source: {missing:#?}");
}

/// The names of all functions of the workspace.
fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for source in sources(&root().join("crates"), ".rs") {
        let heads = source.text.split("fn ").skip(1);
        names.extend(heads.filter_map(|head| Some(head.split_once('(')?.0.to_owned())));
    }
    names
}

/// What the report cannot say should not be promised: names are words of the model's list, or in brackets.
#[test]
fn every_name_is_one_that_the_report_knows() {
    let model = fs::read_to_string(root().join("crates/model/src/hazard.rs")).unwrap();
    for row in rows().iter().filter(|row| !row.named.starts_with('(')) {
        for word in row.named.split(", ") {
            assert!(model.contains(&format!("\"{word}\"")), "{}: {word} is no hazard", row.id);
        }
    }
}
