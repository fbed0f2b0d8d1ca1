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

use config::failure::{Exit, Failure};

pub struct Archived<'a> {
    census: &'a Census,
    volumes: Volumes,
    /// No body is decoded further: a small one may unpack to a very large one.
    bytes_max: u64,
}

impl<'a> Archived<'a> {
    pub fn new(collection: &Collection, census: &'a Census, bytes_max: u64) -> Archived<'a> {
        Archived { census, volumes: Volumes::new(collection.volumes()), bytes_max }
    }

    /// The exchange with its body decoded.
    pub fn exchange(&self, at: RecordLocation) -> Result<Exchange, Failure> {
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

    fn read(&self, at: RecordLocation) -> Result<Adopted, Failure> {
        let response = self.volumes.read_at(at)?;
        let pair = Pair { request: None, response };
        Adopted::from_pair(at.volume, &pair).map_err(|what| {
            Failure::fault(
                format!("the record in volume {} cannot be read: {what}", at.volume),
                "run harvestman check",
            )
        })
    }

    /// The record that holds the payload of the revisit at `at`.
    fn original(&self, refers: &RefersTo, at: RecordLocation) -> Result<RecordLocation, Failure> {
        let url = CrawlUrl::stored(&refers.target_uri).ok();
        let story = url.map(|url| self.census.page(&url)).transpose()?.flatten();
        let found = story.iter().flat_map(|story| &story.visits).find(|visit| {
            visit.record_date == Some(refers.date)
                && visit.record.is_some_and(|record| record != at)
        });
        found.and_then(|visit| visit.record).ok_or_else(|| Failure {
            code: Exit::Usage,
            sentence: format!(
                "the content is no longer kept: it was archived with {}",
                refers.target_uri
            ),
            what_to_do: "other versions may be: see harvestman history".to_owned(),
        })
    }
}

/// How much of a body the archive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Whole,
    /// Its beginning, and why not the rest.
    Beginning(Stopped),
    /// The head alone, and why no body.
    Nothing(Stopped),
}

impl Kept {
    /// Of an exchange as [`Archived::exchange`] gives it. An empty body that nothing stopped is whole.
    pub fn of(exchange: &Exchange) -> Kept {
        match exchange.stopped {
            None => Kept::Whole,
            Some(why) if exchange.body.is_empty() => Kept::Nothing(why),
            Some(why) => Kept::Beginning(why),
        }
    }

    /// What is missing, for people; nothing of a whole one.
    pub fn words(self) -> Option<String> {
        let (what, why) = match self {
            Kept::Whole => return None,
            Kept::Beginning(why) => ("only the beginning of its content is kept", why),
            Kept::Nothing(why) => ("its content is not kept", why),
        };
        Some(format!("{what}: {}", missing_for(why)))
    }
}

fn missing_for(why: Stopped) -> &'static str {
    match why {
        Stopped::Type => "its type was not wanted (fetch.media_types)",
        Stopped::Announced => "it was longer than is fetched (fetch.body_bytes_max)",
        Stopped::Length => {
            "it was longer than what is fetched or kept (fetch.body_bytes_max, store.content_bytes_max)"
        }
        Stopped::Time => "it took longer than the time for a visit",
        Stopped::Disconnect => "the server hung up before its end",
        Stopped::Coding => "it cannot be unpacked any further",
    }
}

/// What can be read from an exchange, links and all.
pub fn gathered(exchange: &Exchange) -> Gathered {
    gather(exchange, &GatherOptions::default())
}
