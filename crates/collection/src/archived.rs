//! What was said on the wire, read back from the volumes: bodies decoded, and the payload of a revisit taken
//! from the record it refers to. A body may have been archived in part, or not at all ([`Kept`]).

use gatherer::{GatherOptions, Gathered, gather};
use harvester::http::decode_body;
use model::{CrawlUrl, EntryKind, Exchange, RecordLocation, RefersTo, Stopped};
use store::{
    census::Census,
    collection::Collection,
    warc::{Adopted, Pair, Volumes},
};

use serde::{Serialize, Serializer};

use crate::Error;

pub struct Archived<'a> {
    census: &'a Census,
    volumes: Volumes,
    /// No body is decoded further: a small one may unpack to a very large one.
    bytes_max: u64,
}

impl<'a> Archived<'a> {
    pub fn new(
        collection: &Collection,
        census: &'a Census,
        bytes_max: u64,
    ) -> Result<Archived<'a>, Error> {
        Ok(Archived { census, volumes: collection.archive()?, bytes_max })
    }

    /// The exchange with its body decoded.
    pub fn exchange(&self, at: RecordLocation) -> Result<Exchange, Error> {
        let Adopted { mut exchange, kind, .. } = self.read(at)?;
        if let EntryKind::SamePayload(refers) | EntryKind::NotModified(refers) = &kind {
            let original = self.read(self.original(refers, at)?)?.exchange;
            // Its coding is told by its own head, which a 304 does not repeat.
            if matches!(kind, EntryKind::NotModified(_)) {
                exchange.headers = original.headers;
            }
            (exchange.entity, exchange.body) = (original.entity, original.body);
            exchange.stopped = original.stopped;
        }
        decode_body(&mut exchange, self.bytes_max);
        Ok(exchange)
    }

    /// Where an answer with this record led to, if it was a redirect.
    pub fn redirect(&self, at: RecordLocation) -> Option<String> {
        let exchange = self.read(at).ok()?.exchange;
        let written = exchange.headers.get("location")?;
        Some(exchange.url.join(written).map_or_else(|_| written.to_owned(), |url| url.to_string()))
    }

    fn read(&self, at: RecordLocation) -> Result<Adopted, Error> {
        let response = self.volumes.read_at(at)?;
        let pair = Pair { request: None, response };
        Adopted::from_pair(at.volume, &pair)
            .map_err(|what| Error::RecordUnreadable { volume: at.volume, why: what.to_string() })
    }

    /// The record that holds the payload of the revisit at `at`.
    fn original(&self, refers: &RefersTo, at: RecordLocation) -> Result<RecordLocation, Error> {
        let url = CrawlUrl::stored(&refers.target_uri).ok();
        let story = url.map(|url| self.census.page(&url)).transpose()?.flatten();
        let found = story.iter().flat_map(|story| &story.visits).find(|visit| {
            visit.record_date == Some(refers.date)
                && visit.record.is_some_and(|record| record != at)
        });
        found
            .and_then(|visit| visit.record)
            .ok_or_else(|| Error::ContentNotKept { url: refers.target_uri.clone() })
    }
}

/// How much of a body the archive has; `stopped` of the exchange says why not the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    Whole,
    Beginning,
    /// The head alone.
    Nothing,
}

impl Kept {
    /// Of an exchange as [`Archived::exchange`] gives it. An empty body that nothing stopped is whole.
    pub fn of(exchange: &Exchange) -> Kept {
        match exchange.stopped {
            None => Kept::Whole,
            Some(_) if exchange.body.is_empty() => Kept::Nothing,
            Some(_) => Kept::Beginning,
        }
    }
}

/// As a word in answers.
pub(crate) fn stopped_word<S: Serializer>(
    stopped: &Option<Stopped>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let word = stopped.map(|stopped| match stopped {
        Stopped::Type => "type",
        Stopped::Announced => "announced",
        Stopped::Length => "length",
        Stopped::Time => "time",
        Stopped::Disconnect => "disconnect",
        Stopped::Coding => "coding",
    });
    word.serialize(to)
}

/// What can be read from an exchange, links and all.
pub fn gathered(exchange: &Exchange) -> Gathered {
    gather(exchange, &GatherOptions::default())
}
