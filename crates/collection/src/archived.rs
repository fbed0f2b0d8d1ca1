//! What was said on the wire, read back from the volumes: bodies decoded, and the payload of a revisit taken
//! from the record it refers to. A body may have been archived in part, or not at all ([`Kept`]).

use gatherer::{GatherOptions, Gathered, gather};
use harvester::http::decode_body;
use model::{CrawlUrl, EntryKind, Exchange, RecordLocation, RefersTo, Stopped, StoreError};
use store::{
    census::{Census, VisitEntry},
    collection::Collection,
    warc::{Adopted, Pair, Record, VolumeLengths, Volumes, verify_record},
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

    pub fn volume_lengths(&self) -> Result<VolumeLengths, Error> {
        Ok(VolumeLengths::read(&self.volumes)?)
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

    /// Whether the record at this place, and the one it refers to if it is a revisit, can be read
    /// and have the bytes that their digests say.
    pub fn is_intact(&self, at: RecordLocation) -> Result<bool, Error> {
        match self.referred(at) {
            Ok(None) => Ok(true),
            Ok(Some(refers)) => {
                let original = self.original(&refers, at).and_then(|at| self.referred(at));
                is_readable(original.map(|refers| refers.is_none()))
            }
            Err(error) => is_readable(Err(error)),
        }
    }

    /// What the intact record at this place refers to, if it is a revisit.
    fn referred(&self, at: RecordLocation) -> Result<Option<RefersTo>, Error> {
        Ok(match self.read(at)?.kind {
            EntryKind::Response => None,
            EntryKind::SamePayload(refers) | EntryKind::NotModified(refers) => Some(refers),
        })
    }

    fn read(&self, at: RecordLocation) -> Result<Adopted, Error> {
        adopted(at, self.record(at)?)
    }

    /// With the bytes that its digests say: damage that can be unpacked must not be taken for
    /// content.
    fn record(&self, at: RecordLocation) -> Result<Record, Error> {
        let record = self.volumes.read_at(at).map_err(|error| match error {
            error @ StoreError::Corrupt { .. } => lost(error.to_string()),
            error => error.into(),
        })?;
        match verify_record(&record) {
            true => Ok(record),
            false => Err(lost(format!("the record in volume {} is not what it was", at.volume))),
        }
    }

    /// The record that holds the payload of the revisit at `at`. Where that one is lost, another of
    /// its page with the same bytes.
    fn original(&self, refers: &RefersTo, at: RecordLocation) -> Result<RecordLocation, Error> {
        let url = CrawlUrl::stored(&refers.target_uri).ok();
        let story = url.map(|url| self.census.page(&url)).transpose()?.flatten();
        let visits = story.map(|story| story.visits).unwrap_or_default();
        let other = |visit: &&VisitEntry| visit.record.is_some_and(|record| record != at);
        let dated = |visit: &&VisitEntry| visit.record_date == Some(refers.date);
        let found = visits.iter().filter(other).find(dated);
        let again = found.filter(|found| found.lost).and_then(|found| {
            let is_same = |visit: &&VisitEntry| {
                !visit.lost && visit.content_hash == found.content_hash && found.content_hash != 0
            };
            visits.iter().filter(other).find(is_same)
        });
        let record = again.or(found).and_then(|visit| visit.record);
        record.ok_or_else(|| Error::ContentNotKept { url: refers.target_uri.clone() })
    }
}

fn adopted(at: RecordLocation, response: Record) -> Result<Adopted, Error> {
    Adopted::from_pair(at.volume, &Pair { request: None, response })
        .map_err(|what| lost(format!("the record in volume {} is damaged: {what}", at.volume)))
}

fn lost(why: String) -> Error {
    Error::ContentLost { version: None, why }
}

/// What cannot be read because of its bytes is no error here; trouble of the machine is.
fn is_readable(outcome: Result<bool, Error>) -> Result<bool, Error> {
    match outcome {
        Err(Error::ContentLost { .. } | Error::ContentNotKept { .. }) => Ok(false),
        other => other,
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
