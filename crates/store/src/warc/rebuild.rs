//! An exchange made again from its records, for adoption after a crash and for gathering anew.

use std::{str::FromStr, time::Duration};

use bytes::Bytes;
use model::{
    CrawlUrl, EntryKind, Exchange, Protocol, Purpose, RecordId, RecordLocation, RefersTo, Stopped,
    Timing,
};

use super::{
    date::parse_date,
    digest::{parse_digest, sha1},
    ids::parse_record_id,
    met,
    pairs::Pair,
    reader::Record,
    record::{NOT_MODIFIED, VISIT_FIELD, purpose_word, stopped_word},
};

/// A whole record that had no visit yet.
///
/// `exchange.entity` has the transfer coding removed; the content coding is not undone here, so
/// `exchange.body` is the entity: decode it before gathering. Of a revisit there is only the head.
#[derive(Clone, Debug)]
pub struct Adopted {
    pub location: RecordLocation,
    pub record_id: RecordId,
    pub exchange: Exchange,
    /// SHA-1 of the entity; for a revisit that of the payload it refers to.
    pub payload_digest: [u8; 20],
    pub kind: EntryKind,
}

impl Adopted {
    /// `Err` says what the records lack.
    pub fn from_pair(volume: u32, pair: &Pair) -> Result<Adopted, String> {
        let response = &pair.response;
        let length = u32::try_from(response.length).map_err(|_| "a record over 4 GB".to_owned())?;
        let id = response.field("WARC-Record-ID").and_then(parse_record_id);
        let exchange = exchange(pair)?;
        let payload_digest = said_digest(response).unwrap_or_else(|| sha1(&[&exchange.entity]));
        Ok(Adopted {
            location: RecordLocation { volume, offset: response.offset, length },
            record_id: id.ok_or("a record without an id")?,
            kind: kind(response, payload_digest)?,
            exchange,
            payload_digest,
        })
    }
}

fn exchange(pair: &Pair) -> Result<Exchange, String> {
    let response = &pair.response;
    let target = response.field("WARC-Target-URI").ok_or("a response without a target")?;
    let url = CrawlUrl::stored(target).map_err(|e| e.to_string())?;
    let date = response.field("WARC-Date").and_then(parse_date);
    let http = response.http();
    let entity = http.entity();
    let visit = VisitField::read(response);
    // Nothing of ours is that long; without the whole body this is a body cut at its length.
    let stopped = if response.cut { Some(Stopped::Length) } else { visit.stopped };
    Ok(Exchange {
        url,
        purpose: visit.purpose,
        started: date.ok_or("a response without a date")?,
        address: response.field("WARC-IP-Address").and_then(|address| address.parse().ok()),
        request_head: pair.request.as_ref().map_or(Bytes::new(), |request| request.block.clone()),
        response_head: http.head,
        status: http.status,
        headers: http.headers,
        wire_body: http.wire_body,
        body: entity.clone(),
        entity,
        stopped,
        met: met::read(response),
        timing: visit.timing,
        protocol: protocol(response),
    })
}

fn kind(record: &Record, payload_digest: [u8; 20]) -> Result<EntryKind, String> {
    if record.kind() != "revisit" {
        return Ok(EntryKind::Response);
    }
    let date = record.field("WARC-Refers-To-Date").and_then(parse_date);
    let target = record.field("WARC-Refers-To-Target-URI");
    let earlier = RefersTo {
        target_uri: target.ok_or("a revisit without what it refers to")?.to_owned(),
        date: date.ok_or("a revisit without the date it refers to")?,
        payload_digest,
    };
    let not_modified = record.field("WARC-Profile") == Some(NOT_MODIFIED);
    Ok(if not_modified { EntryKind::NotModified(earlier) } else { EntryKind::SamePayload(earlier) })
}

pub(super) fn said_digest(record: &Record) -> Option<[u8; 20]> {
    let said = record.field("WARC-Payload-Digest").or_else(|| word(record, "payload"));
    said.and_then(parse_digest)
}

/// What WARC has no word for; see `record::visit`.
struct VisitField {
    purpose: Purpose,
    stopped: Option<Stopped>,
    timing: Timing,
}

impl VisitField {
    fn read(record: &Record) -> VisitField {
        let time = |name| Duration::from_micros(number(record, name));
        VisitField {
            purpose: word(record, "purpose").and_then(purpose).unwrap_or(Purpose::Page),
            stopped: word(record, "stopped").and_then(stopped),
            timing: Timing {
                connect: time("connect"),
                tls: time("tls"),
                first_byte: time("first"),
                download: time("download"),
                total: time("total"),
                reused: number::<u8>(record, "reused") == 1,
            },
        }
    }
}

fn protocol(record: &Record) -> Protocol {
    match record.field("WARC-Protocol") {
        Some("h2") => Protocol::Http2,
        _ => Protocol::Http1,
    }
}

fn word<'a>(record: &'a Record, name: &str) -> Option<&'a str> {
    let words = record.field(VISIT_FIELD)?.split(' ');
    words.filter_map(|word| word.split_once('=')).find(|(n, _)| *n == name).map(|(_, value)| value)
}

fn number<T: FromStr + Default>(record: &Record, name: &str) -> T {
    word(record, name).and_then(|value| value.parse().ok()).unwrap_or_default()
}

fn purpose(word: &str) -> Option<Purpose> {
    let all = [Purpose::Page, Purpose::Robots, Purpose::Sitemap, Purpose::Login];
    all.into_iter().find(|&purpose| purpose_word(purpose) == word)
}

fn stopped(word: &str) -> Option<Stopped> {
    use Stopped::{Announced, Coding, Disconnect, Length, Time, Type};
    let all = [Type, Announced, Length, Time, Disconnect, Coding];
    all.into_iter().find(|&stopped| stopped_word(stopped) == word)
}
