//! A version as it was archived: its text, its source, its headers.

use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8};
use gatherer::Gathered;
use model::{Exchange, Headers, Stopped, Timestamp};
use serde::Serialize;
use store::census::{PageStory, VisitEntry};

use super::{Picked, Versions, Which};
use crate::{
    Error,
    archived::{Archived, Kept, gathered, stopped_word},
};

#[derive(Clone, Debug, Serialize)]
pub struct Version {
    pub url: String,
    /// Its number, from 1, …
    pub version: usize,
    /// … and how many the page has.
    pub versions: usize,
    /// When it was seen: for a time that was asked for, the last visit before.
    #[serde(serialize_with = "model::iso::time")]
    pub seen: Timestamp,
    /// When the answer was archived.
    #[serde(serialize_with = "model::iso::time")]
    pub fetched: Timestamp,
    pub status: u16,
    pub media_type: String,
    pub charset: String,
    pub title: String,
    pub text: String,
    pub links: Vec<String>,
    /// Of the body, content coding removed.
    pub bytes: u64,
    pub kept: Kept,
    /// Why it is not whole.
    #[serde(serialize_with = "stopped_word")]
    pub stopped: Option<Stopped>,
    /// The page asks not to be shown from an archive, in this version or in its newest.
    pub noarchive: bool,
    pub headers: Vec<Header>,
    /// What the page had at the time that was asked for, where that was no content.
    pub instead: Option<Instead>,
    /// The body as text; `None` unless it is taken ([`Version::with_source`]).
    pub source: Option<String>,
    /// The body.
    #[serde(skip)]
    pub body: Bytes,
    /// Status line and headers as they were sent.
    #[serde(skip)]
    pub head: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    pub name: String,
    pub value: String,
}

/// A visit that found no content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instead {
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
    /// 0: no answer.
    pub status: u16,
    pub failure: Option<String>,
}

impl Instead {
    fn of(visit: &VisitEntry) -> Instead {
        Instead {
            at: visit.times.first().copied().unwrap_or_default(),
            status: visit.status,
            failure: visit.failure.clone(),
        }
    }
}

impl Version {
    /// Fails where the archive has no content of it.
    pub fn require_content(&self) -> Result<(), Error> {
        match (self.kept, self.stopped) {
            (Kept::Nothing, Some(stopped)) => {
                Err(Error::ContentCut { url: self.url.clone(), version: self.version, stopped })
            }
            _ => Ok(()),
        }
    }

    pub fn source_text(&self) -> String {
        decoded(&self.charset, &self.body)
    }

    /// The same with its source as text.
    pub fn with_source(self) -> Version {
        Version { source: Some(self.source_text()), ..self }
    }
}

/// The version that is asked for, else the newest.
pub fn version(
    archived: &Archived<'_>,
    story: &PageStory,
    which: Option<Which>,
) -> Result<Version, Error> {
    let versions = Versions::new(&story.visits);
    let newest = || Error::NeverFetched { url: story.page.url.clone() };
    let picked = match which {
        Some(which) if versions.count() > 0 => versions.pick(which)?,
        _ => versions.newest().ok_or_else(newest)?,
    };
    let Opened { exchange, gathered } = Opened::read(archived, &picked)?;
    let header = |(name, value): (&str, &str)| Header { name: name.into(), value: value.into() };
    Ok(Version {
        url: story.page.url.clone(),
        version: picked.number,
        versions: versions.count(),
        seen: picked.seen,
        fetched: exchange.started,
        status: exchange.status,
        links: gathered.links.iter().map(|link| link.url.as_str().to_owned()).collect(),
        bytes: exchange.body.len() as u64,
        kept: Kept::of(&exchange),
        stopped: exchange.stopped,
        noarchive: is_noarchive(story, &gathered),
        headers: Headers::parse(&exchange.response_head).iter().map(header).collect(),
        instead: picked.found.map(Instead::of),
        source: None,
        head: String::from_utf8_lossy(&exchange.response_head).replace('\r', ""),
        body: exchange.body,
        media_type: gathered.media_type,
        charset: gathered.charset,
        title: gathered.title,
        text: gathered.text,
    })
}

/// In its newest version, or in this one.
pub(crate) fn is_noarchive(story: &PageStory, version: &Gathered) -> bool {
    version.noarchive || story.facts.as_ref().is_some_and(|facts| facts.noarchive)
}

/// A version read from the archive.
pub(crate) struct Opened {
    pub exchange: Exchange,
    pub gathered: Gathered,
}

impl Opened {
    pub fn read(archived: &Archived<'_>, picked: &Picked<'_>) -> Result<Opened, Error> {
        let exchange = archived.exchange(picked.record).map_err(|error| match error {
            Error::ContentLost { why, .. } => {
                Error::ContentLost { version: Some(picked.number), why }
            }
            error => error,
        })?;
        let gathered = gathered(&exchange);
        Ok(Opened { exchange, gathered })
    }

    /// The body in the charset it is written in.
    pub fn source(&self) -> String {
        decoded(&self.gathered.charset, &self.exchange.body)
    }
}

fn decoded(charset: &str, body: &[u8]) -> String {
    let encoding = Encoding::for_label(charset.as_bytes()).unwrap_or(UTF_8);
    encoding.decode(body).0.into_owned()
}
