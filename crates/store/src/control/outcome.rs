//! What became of a command, as the crawl reports it: stored as JSON in `control.result`.

use serde::{Deserialize, Serialize};

/// The result of a [`Command`](super::Command). The JSON names are a promise to scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// It was done, and there is nothing to count.
    Done,
    Seeds {
        taken: u64,
        refused: u64,
        /// Why the first of them were refused.
        reasons: Vec<String>,
    },
    /// Changes of the list of blocks, and how many pages are judged again for them.
    Blocks {
        added: u64,
        removed: u64,
        pages: u64,
    },
    /// Pages whose quarantine was lifted.
    Lifted {
        pages: u64,
    },
    /// Traps that were lifted, and the pages that are judged or read again for it.
    Traps {
        lifted: u64,
        pages: u64,
    },
    Replicas {
        changed: u64,
    },
    /// So many fetches may be under way at once from now on.
    Fetches {
        max: u64,
    },
    /// The page is due now.
    Visit {
        url: String,
    },
    /// The collection does not know the page that was named.
    NotFound,
    /// Nothing was changed.
    Refused {
        why: String,
    },
    /// The crawl is of another version of the program, and its answer cannot be read.
    #[serde(other)]
    Unknown,
}

/// Why commands were refused is kept in so many bytes; a command can have a million lines.
const WHY_BYTES_MAX: usize = 2_048;
const REASONS_MAX: usize = 10;
const REASON_BYTES_MAX: usize = 300;

impl Outcome {
    pub fn refused(why: impl Into<String>) -> Outcome {
        Outcome::Refused { why: cut(why.into(), WHY_BYTES_MAX) }
    }

    /// `refused`: one sentence for each seed that was not taken; the first of them are kept.
    pub fn seeds(taken: u64, refused: Vec<String>) -> Outcome {
        let count = refused.len() as u64;
        let first = refused.into_iter().take(REASONS_MAX);
        let reasons = first.map(|why| cut(why, REASON_BYTES_MAX)).collect();
        Outcome::Seeds { taken, refused: count, reasons }
    }

    /// As stored. What cannot be read was written by another version.
    pub(super) fn read(text: &str) -> Outcome {
        serde_json::from_str(text).unwrap_or(Outcome::Unknown)
    }
}

fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_read_back_as_it_was() {
        for outcome in [
            Outcome::Done,
            Outcome::seeds(2, vec!["http://a.example/: scope".into()]),
            Outcome::Blocks { added: 1, removed: 2, pages: 3 },
            Outcome::Lifted { pages: 1_000 },
            Outcome::Traps { lifted: 1, pages: 2 },
            Outcome::Replicas { changed: 4 },
            Outcome::Fetches { max: 7 },
            Outcome::Visit { url: "http://a.example/".into() },
            Outcome::NotFound,
            Outcome::refused("there is no spider \"x\""),
        ] {
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(Outcome::read(&text), outcome, "{text}");
        }
        assert_eq!(
            serde_json::to_string(&Outcome::NotFound).unwrap(),
            r#"{"outcome":"not-found"}"#
        );
    }

    #[test]
    fn the_answer_of_another_version_is_unknown_and_no_failure() {
        assert_eq!(Outcome::read("2 blocks removed, judged again: 5 pages"), Outcome::Unknown);
        assert_eq!(Outcome::read(r#"{"outcome":"sung","songs":3}"#), Outcome::Unknown);
    }

    #[test]
    fn long_lists_of_reasons_are_cut_and_counted() {
        let Outcome::Seeds { refused, reasons, .. } = Outcome::seeds(0, vec!["é".repeat(999); 50])
        else {
            panic!("seeds")
        };
        assert_eq!((refused, reasons.len()), (50, REASONS_MAX));
        assert!(reasons[0].len() <= REASON_BYTES_MAX);
        let Outcome::Refused { why } = Outcome::refused("x".repeat(9_999)) else { panic!("why") };
        assert_eq!(why.len(), WHY_BYTES_MAX);
    }
}
