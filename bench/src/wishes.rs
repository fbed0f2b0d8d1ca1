//! What is wanted of a run: the words behind `bench/run`.

use anyhow::{Context, bail};

#[derive(Debug, Default)]
pub struct Wishes {
    /// In the order in which they run.
    pub cases: Vec<String>,
    /// A trial of the cases themselves: a small web, one run, and figures that are printed but not kept.
    pub small: bool,
}

impl Wishes {
    pub fn of(words: &[&str]) -> anyhow::Result<Wishes> {
        let mut wishes = Wishes::default();
        for &word in words {
            match word {
                "--small" => wishes.small = true,
                word if word.starts_with("--") => bail!("no option {word}: there is --small"),
                case => wishes.cases.push(case.to_owned()),
            }
        }
        wishes.cases.first().context("name a case")?;
        Ok(wishes)
    }
}
