//! Why a question about a collection could not be answered, or a change not be made.
//!
//! A value for programs: the console answers with a status by it. The sentence and the advice that go with
//! each stand here too, once for every front end.

use std::{fmt, path::PathBuf};

use config::{amounts::number, failure::Failure};
use model::{Stopped, StoreError, Timestamp, iso};
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
    /// What was given as a site is none.
    NoSite {
        given: String,
        why: String,
    },
    SiteUnknown {
        site: String,
    },
    SpiderUnknown {
        name: String,
    },
    /// A word that is none of those that can be given.
    UnknownWord {
        what: &'static str,
        given: String,
        known: Vec<&'static str>,
    },
    /// A listing cannot go on from there.
    NoCursor {
        given: String,
    },
    /// A prefix is of another site than the one that was given.
    PrefixElsewhere {
        prefix: String,
        site: String,
    },
    /// Only so many rows are sorted for one answer.
    TooManyToSort {
        what: &'static str,
        sort: &'static str,
        most: u64,
    },
    /// The page is known, but none of its visits brought content that is kept.
    NeverFetched {
        url: String,
    },
    NoContent,
    NoVersion {
        version: usize,
        versions: usize,
    },
    /// Thinning or a takedown has removed it.
    VersionNotKept {
        version: usize,
    },
    /// The page was first seen later.
    NotSeenYet {
        #[serde(serialize_with = "model::iso::time")]
        at: Timestamp,
        #[serde(serialize_with = "model::iso::time")]
        first: Timestamp,
    },
    /// The content was archived once, with this page, and is no longer kept.
    ContentNotKept {
        url: String,
    },
    /// Only the head of the answer was archived.
    ContentCut {
        url: String,
        version: usize,
        #[serde(serialize_with = "as_stopped")]
        stopped: Stopped,
    },
    /// Its record is missing from the volumes, or damaged.
    ContentLost {
        version: Option<usize>,
        why: String,
    },
    /// There is nothing to compare it with.
    OneVersion {
        url: String,
    },
    /// It has no lines that could be compared.
    NotText {
        url: String,
        version: usize,
        media_type: String,
    },
    /// It has a source but no visible text.
    NoVisibleText {
        url: String,
        version: usize,
        media_type: String,
    },
    /// `None`: the configuration has no webhook at all.
    WebhookUnknown {
        name: Option<String>,
    },
    DeadLetterUnknown {
        id: i64,
    },
    BatchUnknown {
        id: i64,
    },
    /// It was imported or cancelled already.
    BatchNotOut {
        id: i64,
        state: &'static str,
    },
    /// Files of an export would lie among those of the collection.
    InsideCollection {
        folder: PathBuf,
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
    /// A rule keeps the page from being visited.
    NotVisited {
        url: String,
        rule: String,
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

fn as_stopped<S: serde::Serializer>(why: &Stopped, to: S) -> Result<S::Ok, S::Error> {
    crate::archived::stopped_word(&Some(*why), to)
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
    pub(crate) fn unknown_word(what: &'static str, given: &str, known: Vec<&'static str>) -> Error {
        Error::UnknownWord { what, given: given.to_owned(), known }
    }

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
            Error::NoSite { given, why } => Failure::usage(
                format!("{given:?} is no site: {why}"),
                "give a host, with its port if that is unusual: example.org or example.org:8080",
            ),
            Error::SiteUnknown { site } => Failure::usage(
                format!("the site {site} is not in this collection"),
                "see the sites of this collection with: harvestman sites",
            ),
            Error::UnknownWord { what, given, known } => {
                let all = format!("give one of {}", known.join(", "));
                Failure::usage(format!("{given:?} is no {what}"), all)
            }
            Error::NoCursor { given } => Failure::usage(
                format!("{given:?} is not a cursor of this listing"),
                "give the value of \"next\" with the same filters and order, or leave out --after",
            ),
            Error::PrefixElsewhere { prefix, site } => Failure::usage(
                format!("{prefix} is a URL of another site: {site}"),
                "leave out --site, or give both of the same site",
            ),
            Error::TooManyToSort { what, sort, most } => Failure::usage(
                format!("there are more than {} {what} to sort by {sort}", number(*most)),
                match *what {
                    "pages" => {
                        "add a filter such as --site HOST, --prefix URL, --state WORD or --seed, \
                         or use --sort id"
                    }
                    _ => "add a filter such as --domain NAME or --seeded, or use --sort site",
                },
            ),
            Error::SpiderUnknown { name } => Failure::usage(
                format!("there is no spider {name:?}"),
                "see the spiders of this collection with: harvestman spider",
            ),
            Error::NeverFetched { url } => Failure::usage(
                format!("{url} is known but has no content"),
                format!("see why with: harvestman explain {url}"),
            ),
            Error::NoContent => {
                Failure::usage("it has no content", "see why with: harvestman history")
            }
            Error::NoVersion { version, versions } => Failure::usage(
                format!("there is no version {version}: {}", has_versions(*versions)),
                "list the versions with: harvestman history",
            ),
            Error::VersionNotKept { version } => Failure::usage(
                format!("version {version} is no longer kept"),
                "see which versions are with: harvestman history",
            ),
            Error::NotSeenYet { at, first } => Failure::usage(
                format!("it was not seen yet at {}", iso::text(*at)),
                format!("its first version is of {}", iso::text(*first)),
            ),
            Error::ContentNotKept { url } => Failure::usage(
                format!("the content is no longer kept: it was archived with {url}"),
                "other versions may be: see harvestman history",
            ),
            Error::ContentCut { url, version, stopped } => Failure::usage(
                format!("version {version} of {url}: its content is not kept: {}", why(*stopped)),
                format!(
                    "see its headers with: harvestman show {url} --version {version} --headers"
                ),
            ),
            Error::ContentLost { version, why } => Failure::fault(
                match version {
                    Some(version) => format!("the content of version {version} is lost: {why}"),
                    None => format!("the content is lost: {why}"),
                },
                "have it fetched again by the next crawl with: harvestman check --repair; \
                 other versions may be readable: see harvestman history",
            ),
            Error::OneVersion { url } => Failure::usage(
                format!("{url} has one version: there is nothing to compare it with"),
                format!("see its visits with: harvestman history {url}"),
            ),
            Error::NotText { url, version, media_type } => Failure::usage(
                format!("version {version} of {url} is not text but {media_type}"),
                format!("get its bytes with: harvestman show {url} --version {version} --html"),
            ),
            Error::NoVisibleText { url, version, media_type } => Failure::usage(
                format!("version {version} of {url} is {media_type}, which has no visible text"),
                "compare what was served with --source",
            ),
            Error::WebhookUnknown { name } => Failure::usage(
                match name {
                    Some(name) => format!("there is no webhook {name:?}"),
                    None => "there is no webhook".to_owned(),
                },
                "write a [[webhook]] into harvest.toml: see docs/webhooks.md",
            ),
            Error::DeadLetterUnknown { id } => Failure::usage(
                format!("there is no dead letter {id}"),
                "list them with: harvestman webhook dead",
            ),
            Error::BatchUnknown { id } => Failure::usage(
                format!("there is no batch {id}"),
                "list them with: harvestman batch list",
            ),
            Error::BatchNotOut { id, state } => Failure::usage(
                format!("batch {id} is not out: it is {state}"),
                "nothing was changed",
            ),
            Error::InsideCollection { folder } => Failure::usage(
                format!("{} is where the collection keeps its own files", folder.display()),
                "name another folder with --out, such as ./pages",
            ),
            Error::Store { source } => source.into(),
            Error::Failed { failure } => failure.clone(),
            other => control::advice(other),
        }
    }
}

fn has_versions(count: usize) -> String {
    match count {
        0 => "it has none".to_owned(),
        1 => "it has one".to_owned(),
        n => format!("it has {n}"),
    }
}

/// Why a body is not whole, in half a sentence.
pub fn why(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Type => "its type was not wanted (fetch.media_types)",
        Stopped::Announced => "it was longer than is fetched (fetch.body_bytes_max)",
        Stopped::Length => {
            "it was longer than is fetched or kept (fetch.body_bytes_max, store.content_bytes_max)"
        }
        Stopped::Time => "it took longer than the time for a visit",
        Stopped::Disconnect => "the server hung up before its end",
        Stopped::Coding => "it cannot be decompressed any further",
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
