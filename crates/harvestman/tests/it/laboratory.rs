//! `simulate`, asked of the real binary: what it prints, what it refuses, and that it is the same every time.

use std::fs;

use serde_json::Value;
use simweb::{PageCount, WebOptions};
use store::testing;

use crate::world::World;

fn world() -> World {
    World::new(WebOptions { pages: PageCount::Fixed(3), ..WebOptions::default() })
}

const SMALL: [&str; 8] =
    ["simulate", "--pages", "200", "--days", "20", "--population", "D2", "--budget"];

#[test]
fn rows_have_the_promised_names_and_the_same_seed_gives_them_again() {
    let world = world();
    let words: Vec<&str> = SMALL.into_iter().chain(["b,c", "--json", "--quiet"]).collect();
    let first = world.run(&words).json();
    let rows = first["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 16, "eight policies, two budgets");
    for row in rows {
        assert_eq!(row["population"], "D2");
        assert!(["b", "c"].contains(&row["budget"].as_str().unwrap()), "{row}");
        assert!(row["policy"].is_string(), "{row}");
        for name in ["freshness", "of_oracle", "late"] {
            let share = row[name].as_f64().unwrap();
            assert!((0.0..=1.2).contains(&share), "{name} in {row}");
        }
        let (all, unchanged) = (row["downloads"].as_f64(), row["unchanged"].as_u64().unwrap());
        let wasted = row["wasted"].as_f64().unwrap();
        assert!(row["downloads"].is_u64() && (0.0..=1.0).contains(&wasted), "a share: {row}");
        assert!((wasted * all.unwrap() - unchanged as f64).abs() < 1e-6, "{row}");
    }
    assert_eq!(world.run(&words).json(), first);
    let other: Vec<&str> = words.iter().copied().chain(["--seed", "7"]).collect();
    assert_ne!(world.run(&other).json()["rows"], first["rows"]);
}

#[test]
fn a_table_and_a_drawing_come_out_and_progress_goes_to_standard_error() {
    let world = world();
    let file = world.temp.path().join("curve.svg");
    let words: Vec<&str> = SMALL
        .into_iter()
        .chain(["b", "--policy", "value,uniform", "--svg", file.to_str().unwrap()])
        .collect();
    let told = world.run(&words);
    told.exits(0);
    for word in ["D2 (b)", "of oracle", "value", "uniform", "oracle"] {
        assert!(told.out.contains(word), "{word} in {told}");
    }
    assert!(!told.out.contains("profit"), "{told}");
    assert!(told.err.contains("[3/3]"), "{told}");
    assert!(fs::read_to_string(file).unwrap().contains("</svg>"));
    let refused = world.run(&["simulate", "--svg", "no/such/folder/curve.svg"]);
    refused.exits(2).says(&["cannot write no/such/folder/curve.svg", "make the folder"]);
}

#[test]
fn a_list_of_changes_is_lived_through_and_a_bad_one_refused_with_its_line() {
    let world = world();
    let file = world.temp.path().join("changes.csv");
    let path = file.to_str().unwrap().to_owned();
    let mut lines = String::from("page,change_time\n");
    for day in 1..20 {
        lines += &format!("http://a.example/{},{day}.5\n", day % 5);
    }
    fs::write(&file, &lines).unwrap();
    let json = world.run(&["simulate", "--csv", &path, "--json", "--budget", "2"]).json();
    assert_eq!(json["rows"][0]["population"], "changes.csv");
    assert_eq!(json["pages"], 5);

    fs::write(&file, format!("{lines}http://a.example/,yesterday\n")).unwrap();
    let told = world.run(&["simulate", "--csv", &path]);
    told.exits(2).says(&["line 21", "yesterday", "2026-05-01"]);
    fs::write(&file, [0xff, 0xfe, b'\n']).unwrap();
    world.run(&["simulate", "--csv", &path]).exits(2);
    world.run(&["simulate", "--csv", "nowhere.csv"]).exits(2).says(&["nowhere.csv"]);
}

#[test]
fn what_makes_no_sense_is_refused_in_plain_words() {
    let world = world();
    for (words, said) in [
        (&["--policy", "luck"][..], "profit-fast"),
        (&["--population", "D9"], "D1"),
        (&["--budget", "z"], "visits a day"),
        (&["--tick", "1s"], "10m"),
        (&["--pages", "0"], "between 2"),
        (&["--sites", "9000"], "between 1 and 5000"),
        (&["--failing", "99"], "between 0 and 90"),
        (&["--correlation", "-2"], "between -1 and 1"),
    ] {
        let words: Vec<&str> = ["simulate"].into_iter().chain(words.iter().copied()).collect();
        world.run(&words).exits(2).says(&[said]);
    }
    world.run(&["simulate", "--history"]).exits(2);
}

#[test]
fn a_history_without_a_change_is_refused_and_one_with_changes_lived_through() {
    let world = world();
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    world.run(&["simulate", "--history"]).exits(2).says(&["no page ever changed"]);
    for days in [2, 5, 9] {
        testing::add_changes(&world.folder, days);
    }
    let json = world.run(&["simulate", "--history", "--json", "--budget", "1"]).json();
    assert_eq!((&json["days"], &json["pages"]), (&Value::from(10), &Value::from(3)));
    assert_eq!(json["rows"][0]["population"], "history");
}
