//! What is wanted of a run: the words behind `bench/run`.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::peers::PEERS;

#[derive(Debug)]
pub struct Wishes {
    /// In the order in which they run.
    pub cases: Vec<String>,
    /// Names of the crawlers of others that take part where they can: all, unless `--peers` says which.
    pub peers: Vec<String>,
    /// A trial of the cases themselves: a small web, one run, and figures that are printed but not kept.
    pub small: bool,
    /// `frontier` with a hundred million URLs instead of five.
    pub huge: bool,
    /// An earlier program of ours: the contests are between it and the one of today, and nobody else.
    pub before: Option<PathBuf>,
}

impl Wishes {
    pub fn of(words: &[&str]) -> anyhow::Result<Wishes> {
        let peers = PEERS.iter().map(|peer| peer.name.to_owned()).collect();
        let mut wishes =
            Wishes { cases: Vec::new(), peers, small: false, huge: false, before: None };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--small" => wishes.small = true,
                "--huge" => wishes.huge = true,
                "--before" => {
                    let program = words.next().context("--before PROGRAM")?;
                    wishes.before = Some(program.into());
                    wishes.peers.clear();
                }
                "--peers" => {
                    let names = words.next().context("--peers spider,wget or --peers none")?;
                    wishes.peers = list(names);
                }
                word if word.starts_with("--") => {
                    bail!("no option {word}: there are --small, --huge, --peers and --before")
                }
                case => wishes.cases.push(case.to_owned()),
            }
        }
        wishes.cases.first().context("name a case")?;
        Ok(wishes)
    }
}

fn list(names: &str) -> Vec<String> {
    names.split(',').filter(|name| !matches!(*name, "" | "none")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_peers_are_chosen_by_words_in_any_order() {
        let wishes = Wishes::of(&["one-site", "--peers", "spider,wget", "tls"]).unwrap();
        assert_eq!(wishes.cases, ["one-site", "tls"]);
        assert_eq!(wishes.peers, ["spider", "wget"]);
        assert!(!wishes.small);
        assert!(Wishes::of(&["tls", "--peers", "none"]).unwrap().peers.is_empty());
        assert_eq!(Wishes::of(&["--small", "tls"]).unwrap().peers.len(), PEERS.len());
        let wishes = Wishes::of(&["one-site", "--before", "old/harvestman"]).unwrap();
        assert!(wishes.before.is_some() && wishes.peers.is_empty());
    }

    #[test]
    fn unknown_options_and_no_case_are_refused() {
        assert!(Wishes::of(&["one-site", "--fast"]).is_err());
        assert!(Wishes::of(&["--small"]).is_err());
        assert!(Wishes::of(&["one-site", "--peers"]).is_err());
    }
}
