//! What became of a command, as the crawl reports it: stored as JSON in `control.result`.

use serde::{Deserialize, Serialize};

/// The result of a [`Command`](super::Command). The JSON names are a promise to scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// It was done, and there is nothing to count.
    Done,
    /// `new`: of those taken, pages that the collection did not know.
    Seeds {
        taken: u64,
        #[serde(default)]
        new: u64,
        refused: u64,
        /// The first of those that were refused.
        #[serde(default)]
        reasons: Vec<RefusedSeed>,
    },
    /// Changes of the list of blocks, and how many pages are judged again for them.
    Blocks { added: u64, removed: u64, pages: u64 },
    /// Pages whose quarantine was lifted.
    Lifted { pages: u64 },
    /// Traps that were lifted, and the pages that are judged or read again for it.
    Traps { lifted: u64, pages: u64 },
    /// These names of traps are watched again.
    Watched { patterns: Vec<String> },
    /// Changes of the list of mirrors.
    Mirrors { changed: u64 },
    /// The spider, as the change has left it.
    Spider { spider: String, state: SpiderState },
    /// So many fetches may be under way at once from now on.
    Fetches { max: u64 },
    /// The page is due now.
    Visit { url: String },
    /// The collection does not know the page that was named.
    NotFound { url: String },
    /// The crawl that it was for ended before it came to it.
    Ended,
    /// Nothing was changed.
    Refused { why: String },
    /// The crawl that runs has not answered in the time it usually takes; it carries the command out when it can.
    Pending,
    /// The crawl is of another version of the program, and its answer cannot be read.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpiderState {
    Active,
    /// Its pages are not visited until it is resumed.
    Paused,
    Removed,
}

impl SpiderState {
    pub fn word(self) -> &'static str {
        match self {
            SpiderState::Active => "active",
            SpiderState::Paused => "paused",
            SpiderState::Removed => "removed",
        }
    }
}

/// A seed that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedSeed {
    /// As it was given; nothing of one that was forgotten.
    pub url: Option<String>,
    /// The rule that refuses it, or what is wrong with it.
    pub rule: String,
}

/// Why commands were refused is kept in so many bytes; a command can have a million lines.
const WHY_BYTES_MAX: usize = 2_048;
const REASONS_MAX: usize = 10;
const REASON_BYTES_MAX: usize = 300;

impl Outcome {
    pub fn refused(why: impl Into<String>) -> Outcome {
        Outcome::Refused { why: cut(why.into(), WHY_BYTES_MAX) }
    }

    /// The first of those refused are kept.
    pub fn seeds(taken: u64, new: u64, refused: Vec<RefusedSeed>) -> Outcome {
        Outcome::Seeds { taken, new, refused: 0, reasons: Vec::new() }.with_refused(refused)
    }

    /// Seeds with others that were refused before it came to them.
    #[must_use]
    pub fn with_refused(self, more: Vec<RefusedSeed>) -> Outcome {
        let count = more.len() as u64;
        let first = more.into_iter().take(REASONS_MAX).map(RefusedSeed::cut).collect();
        match self {
            Outcome::Seeds { .. } => {
                self.plus(Outcome::Seeds { taken: 0, new: 0, refused: count, reasons: first })
            }
            other => other,
        }
    }

    /// What two parts of one command came to.
    #[must_use]
    pub fn plus(self, other: Outcome) -> Outcome {
        use Outcome::{Blocks, Lifted, Mirrors, Seeds};
        match (self, other) {
            (
                Seeds { taken, new, refused, mut reasons },
                Seeds { taken: more, new: more_new, refused: more_refused, reasons: others },
            ) => {
                reasons.extend(others);
                reasons.truncate(REASONS_MAX);
                let (taken, new, refused) = (taken + more, new + more_new, refused + more_refused);
                Seeds { taken, new, refused, reasons }
            }
            (Blocks { added, removed, pages }, Blocks { added: a, removed: r, pages: p }) => {
                Blocks { added: added + a, removed: removed + r, pages: pages + p }
            }
            (Lifted { pages }, Lifted { pages: more }) => Lifted { pages: pages + more },
            (Mirrors { changed }, Mirrors { changed: more }) => Mirrors { changed: changed + more },
            // Nothing else comes in parts.
            (_, last) => last,
        }
    }

    /// As stored. What cannot be read was written by another version.
    pub(super) fn read(text: &str) -> Outcome {
        serde_json::from_str(text).unwrap_or(Outcome::Unknown)
    }
}

impl RefusedSeed {
    fn cut(self) -> RefusedSeed {
        let url = self.url.map(|url| cut(url, REASON_BYTES_MAX));
        RefusedSeed { url, rule: cut(self.rule, REASON_BYTES_MAX) }
    }
}

fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> RefusedSeed {
        RefusedSeed { url: Some(url.to_owned()), rule: "scope".to_owned() }
    }

    #[test]
    fn an_outcome_is_read_back_as_it_was() {
        for outcome in [
            Outcome::Done,
            Outcome::seeds(2, 1, vec![refused("http://a.example/")]),
            Outcome::Blocks { added: 1, removed: 2, pages: 3 },
            Outcome::Lifted { pages: 1_000 },
            Outcome::Traps { lifted: 1, pages: 2 },
            Outcome::Mirrors { changed: 4 },
            Outcome::Watched { patterns: vec!["/cal?*".into()] },
            Outcome::Spider { spider: "news".into(), state: SpiderState::Paused },
            Outcome::Pending,
            Outcome::Fetches { max: 7 },
            Outcome::Visit { url: "http://a.example/".into() },
            Outcome::NotFound { url: "http://a.example/".into() },
            Outcome::Ended,
            Outcome::refused("there is no spider \"x\""),
        ] {
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(Outcome::read(&text), outcome, "{text}");
        }
        assert_eq!(serde_json::to_string(&Outcome::Ended).unwrap(), r#"{"outcome":"ended"}"#);
    }

    #[test]
    fn the_parts_of_a_command_add_up() {
        let part = Outcome::seeds(2, 1, vec![refused("http://a.example/")]);
        let Outcome::Seeds { taken, new, refused, reasons } = part.clone().plus(part) else {
            panic!("seeds")
        };
        assert_eq!((taken, new, refused, reasons.len()), (4, 2, 2, 2));
    }

    #[test]
    fn the_answer_of_another_version_is_unknown_and_no_failure() {
        assert_eq!(Outcome::read("2 blocks removed, judged again: 5 pages"), Outcome::Unknown);
        assert_eq!(Outcome::read(r#"{"outcome":"sung","songs":3}"#), Outcome::Unknown);
    }

    #[test]
    fn long_lists_of_reasons_are_cut_and_counted() {
        let long = refused(&"é".repeat(999));
        let outcome = Outcome::seeds(0, 0, vec![long; 50]);
        let Outcome::Seeds { refused, reasons, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((refused, reasons.len()), (50, REASONS_MAX));
        assert!(reasons[0].url.as_ref().is_some_and(|url| url.len() <= REASON_BYTES_MAX));
        let Outcome::Refused { why } = Outcome::refused("x".repeat(9_999)) else { panic!("why") };
        assert_eq!(why.len(), WHY_BYTES_MAX);
    }
}
