//! Questions to the program about a collection, answered with `--json`.
//!
//! What a test wants to know of a collection it asks as a user would: [`World`](crate::world::World) has
//! all of this for its own folder, and [`Questions::at`] is for any other.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::world::{Done, PATIENCE, Running};

/// More rows than any listing of a test has, and as many as a call gives.
const ALL: &str = "100000";

pub struct Questions {
    /// Not made before the program makes it.
    pub folder: PathBuf,
}

impl Questions {
    pub fn at(folder: impl Into<PathBuf>) -> Questions {
        Questions { folder: folder.into() }
    }

    fn run_json(&self, args: &[&str]) -> Done {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harvestman"));
        command.arg("-C").arg(&self.folder).args(args).arg("--json").stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HARVESTMAN_")) {
            command.env_remove(name);
        }
        Running::new(&mut command).wait(PATIENCE)
    }

    /// What a command answers to `--json`.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> Value {
        let done = self.run_json(args);
        done.exits(0);
        done.json()
    }

    /// The rows of a listing, which has to be whole.
    #[track_caller]
    pub fn list(&self, args: &[&str]) -> Vec<Value> {
        let answer = self.ask(args);
        assert!(answer["next"].is_null(), "not all of it: {args:?}");
        answer["rows"].as_array().unwrap_or_else(|| panic!("{args:?}: {answer}")).clone()
    }

    /// `status`.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.ask(&["status"])
    }

    /// Visits that were settled, of pages and of their parts.
    #[track_caller]
    pub fn visits_total(&self) -> u64 {
        self.status()["visits"].as_u64().unwrap()
    }

    /// All pages that these filters of `pages` leave, by URL.
    #[track_caller]
    pub fn pages(&self, filters: &[&str]) -> Vec<Value> {
        self.list(&[&["pages", "--limit", ALL], filters].concat())
    }

    /// How many pages these filters of `pages` leave.
    #[track_caller]
    pub fn count(&self, filters: &[&str]) -> u64 {
        let answer = self.ask(&[&["pages", "--limit", "1"], filters].concat());
        answer["total"].as_u64().unwrap()
    }

    /// Pages, and the parts of pages behind them.
    #[track_caller]
    pub fn pages_and_parts(&self) -> Vec<Value> {
        let mut all = self.pages(&[]);
        all.extend(self.pages(&["--requisites"]));
        all
    }

    /// A page, or part of pages, that has to be known.
    #[track_caller]
    pub fn page(&self, url: &str) -> Value {
        let page = self.ask(&["explain", url])["page"].take();
        assert!(page.is_object(), "{url} is not known");
        page
    }

    /// Pages that were fetched at least once.
    #[track_caller]
    pub fn fetched(&self) -> usize {
        self.pages(&[]).iter().filter(|page| was_fetched(page)).count()
    }

    /// All sites that these filters of `sites` leave.
    #[track_caller]
    pub fn sites(&self, filters: &[&str]) -> Vec<Value> {
        self.list(&[&["sites", "--sort", "site", "--limit", ALL], filters].concat())
    }

    /// The runs of visits of a page, oldest first.
    #[track_caller]
    pub fn history(&self, url: &str) -> Vec<Value> {
        self.ask(&["history", url, "--all"])["rows"].as_array().unwrap().clone()
    }

    /// All changes of pages, in the order of commits.
    #[track_caller]
    pub fn changes(&self) -> Vec<Value> {
        let done = self.run_json(&["changes"]);
        let lines = done.exits(0).out.lines();
        let rows = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter(|row| row["url"].is_string()).collect()
    }

    /// Rules that refused links and what they refused, as these filters of `decisions` leave them.
    #[track_caller]
    pub fn decisions(&self, filters: &[&str]) -> Vec<Value> {
        let answer = self.ask(&[&["decisions", "--limit", ALL], filters].concat());
        answer["rows"].as_array().unwrap().clone()
    }
}

pub fn was_fetched(page: &Value) -> bool {
    !page["first_fetched"].is_null()
}

/// One field of every row.
#[track_caller]
pub fn strings(rows: &[Value], field: &str) -> Vec<String> {
    rows.iter()
        .map(|row| row[field].as_str().unwrap_or_else(|| panic!("{row}")).to_owned())
        .collect()
}

/// The seconds from one time of an answer to another.
#[track_caller]
pub fn seconds(from: &Value, to: &Value) -> i64 {
    let moment = |at: &Value| at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    moment(to) - moment(from)
}
