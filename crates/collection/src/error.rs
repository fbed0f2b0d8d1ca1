//! Why a question about a collection could not be answered, or a change not be made.
//!
//! A value for programs: the console answers with a status by it. The sentence and the advice that go with
//! each stand here too, once for every front end.

use std::{fmt, path::PathBuf};

use config::failure::Failure;
use model::StoreError;
use serde::Serialize;

mod control;

/// JSON: `{"error": "page-unknown", "url": …}`.
#[derive(Debug, Serialize)]
#[serde(tag = "error", rename_all = "kebab-case")]
pub enum Error {
    /// What was given as a URL is none.
    NoUrl {
        given: String,
        why: String,
    },
    /// `near`: a page of the collection that may have been meant.
    PageUnknown {
        url: String,
        near: Option<String>,
    },
    SiteUnknown {
        site: String,
    },
    SpiderUnknown {
        name: String,
    },
    SpiderExists {
        name: String,
    },
    /// The spider has no value of its own for this key.
    SettingUnknown {
        spider: String,
        key: String,
    },
    NothingToChange,
    /// What was given as a seed is none.
    NoSeed {
        given: String,
        why: String,
    },
    /// What was given as something to block is none.
    NoBlock {
        given: String,
        why: String,
    },
    /// What was given as a site is none.
    NoSite {
        given: String,
        why: String,
    },
    /// No trap of this pattern, or none at all, is on the site. `lifted`: nothing of it is ever stopped.
    TrapUnknown {
        site: String,
        pattern: Option<String>,
        known: Vec<String>,
        lifted: bool,
    },
    /// Nothing of this pattern, or nothing at all, was lifted on the site.
    NotLifted {
        site: String,
        pattern: Option<String>,
        lifted: Vec<String>,
    },
    /// None of these pages and sites has a page that could not be read.
    NotQuarantined {
        given: Vec<String>,
    },
    /// None of these is on the list of blocks; the first of them.
    BlockUnknown {
        first: String,
        count: u64,
    },
    /// A list of seeds or blocks could be read only so far.
    ListBroken {
        file: String,
        line: u64,
        why: String,
        taken: u64,
    },
    /// A collection was named as the source of its own seeds.
    SameCollection {
        collection: PathBuf,
    },
    /// What was asked is for a running crawl, and none runs.
    NotRunning {
        collection: PathBuf,
    },
    /// It makes no sense as things are.
    Refused {
        why: String,
    },
    /// The crawl that runs is of another version, and its answer cannot be read.
    OtherVersion,
    /// The collection could not be read or written.
    Store {
        #[serde(serialize_with = "as_text")]
        source: StoreError,
    },
    /// The settings are wrong, or anything that already comes with its advice.
    Failed {
        #[serde(serialize_with = "as_text")]
        failure: Failure,
    },
}

fn as_text<S: serde::Serializer>(value: &impl fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

impl From<StoreError> for Error {
    fn from(source: StoreError) -> Error {
        Error::Store { source }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Failed { failure }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        error.advice()
    }
}

impl Error {
    /// What is wrong in one sentence, and what to do about it.
    pub fn advice(&self) -> Failure {
        match self {
            Error::NoUrl { given, why } => Failure::no_url(given, why),
            Error::PageUnknown { url, near } => {
                let why = format!(
                    "see why with: harvestman explain {url}; add it with: harvestman seed {url}"
                );
                let what_to_do = match near {
                    Some(near) => format!("did you mean {near}? else {why}"),
                    None => why,
                };
                Failure::usage(format!("{url} is not in this collection"), what_to_do)
            }
            Error::SiteUnknown { site } => Failure::usage(
                format!("the site {site} is not in this collection"),
                "see the sites of this collection with: harvestman sites",
            ),
            Error::SpiderUnknown { name } => Failure::usage(
                format!("there is no spider {name:?}"),
                "see the spiders of this collection with: harvestman spider",
            ),
            Error::Store { source } => source.into(),
            Error::Failed { failure } => failure.clone(),
            other => control::advice(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.advice().sentence)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_values_for_programs_and_sentences_for_people() {
        let error = Error::PageUnknown { url: "https://a.example/".into(), near: None };
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"error":"page-unknown","url":"https://a.example/","near":null}"#
        );
        let failure = Failure::from(error);
        assert_eq!(failure.sentence, "https://a.example/ is not in this collection");
        assert!(failure.what_to_do.contains("harvestman explain"), "{failure}");
    }
}
