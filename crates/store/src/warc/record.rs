//! The text of WARC/1.1 records, written as ISO 28500:2017 asks.
//!
//! Payload digests are over the entity (transfer coding removed). Where a response is chunked the field
//! is left out: the standard makes it optional there, and `warcio check`, the checker most people use,
//! hashes the chunk framing with it and would call every such record broken. A revisit refers to its original by
//! URL and date, and names the digest as well where a response in its place would (`not_modified.rs` says why).
//! Whatever is left out stands in our own field, [`VISIT_FIELD`], together with what a rebuilt
//! [`model::Exchange`] needs and WARC has no word for.

use std::io::Write;

use model::{
    ArchiveEntry, EntryKind, Exchange, Protocol, Purpose, RecordId, RefersTo, Stopped, Timestamp,
};

use super::{
    date::date_text,
    digest::{digest_text, sha1},
    http,
    ids::{record_id_text, request_id},
    met::{self, MET_FIELD},
    not_modified,
    options::WarcOptions,
};

pub(super) const VISIT_FIELD: &str = "Harvestman-Visit";
/// In the block of a warcinfo: a page that the volume's dictionary was trained on.
pub(super) const DICTIONARY_PAGE: &str = "dictionary-page";
pub(super) const SAME_PAYLOAD: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
pub(super) const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The first record of every volume.
pub(super) fn warcinfo(
    out: &mut Vec<u8>,
    options: &WarcOptions,
    file: &str,
    dictionary_pages: &[String],
    id: RecordId,
    now: Timestamp,
) {
    let mut block = String::new();
    let fields = [
        ("software", options.software.as_str()),
        ("format", "WARC File Format 1.1"),
        (
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        ),
        ("http-header-user-agent", options.user_agent.as_str()),
        ("robots", options.robots.as_str()),
        ("operator", options.operator.as_str()),
    ];
    for (name, value) in fields {
        // A value that spans lines would become fields of its own.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() {
            block.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    for url in dictionary_pages {
        block.push_str(&format!("{DICTIONARY_PAGE}: {url}\r\n"));
    }
    begin(out, "warcinfo", id, now);
    field(out, "WARC-Filename", file);
    field(out, "WARC-Block-Digest", &digest_text(&sha1(&[block.as_bytes()])));
    field(out, "Content-Type", "application/warc-fields");
    finish(out, &[block.as_bytes()]);
}

pub(super) fn request(out: &mut Vec<u8>, entry: &ArchiveEntry<'_>) {
    let exchange = entry.exchange;
    begin(out, "request", request_id(entry.record_id), exchange.started);
    target(out, exchange);
    field(out, "WARC-Concurrent-To", &record_id_text(entry.record_id));
    field(out, "WARC-Block-Digest", &digest_text(&sha1(&[&exchange.request_head])));
    field(out, "Content-Type", "application/http; msgtype=request");
    finish(out, &[&exchange.request_head]);
}

/// The response, or the revisit that stands in its place.
pub(super) fn response(out: &mut Vec<u8>, entry: &ArchiveEntry<'_>) {
    let exchange = entry.exchange;
    let kind = if matches!(entry.kind, EntryKind::Response) { "response" } else { "revisit" };
    begin(out, kind, entry.record_id, exchange.started);
    target(out, exchange);
    field(out, "WARC-Concurrent-To", &record_id_text(request_id(entry.record_id)));
    match &entry.kind {
        EntryKind::Response => {}
        EntryKind::SamePayload(earlier) => revisit(out, SAME_PAYLOAD, earlier),
        EntryKind::NotModified(earlier) => revisit(out, NOT_MODIFIED, earlier),
    }
    if let Some(reason) = truncated(entry) {
        field(out, "WARC-Truncated", reason);
    }
    match &entry.kind {
        EntryKind::Response => message(out, entry, &exchange.wire_body),
        EntryKind::SamePayload(_) => message(out, entry, b""),
        EntryKind::NotModified(_) => {
            ours(out, exchange, Some(&digest_text(said_payload(entry))));
            not_modified::write_head(out, &exchange.response_head);
            finish(out, &[]);
        }
    }
}

/// The rest of a record whose block is an HTTP message.
fn message(out: &mut Vec<u8>, entry: &ArchiveEntry<'_>, body: &[u8]) {
    let exchange = entry.exchange;
    let payload = digest_text(said_payload(entry));
    let block = entry.block_digest.unwrap_or_else(|| sha1(&[&exchange.response_head, body]));
    field(out, "WARC-Block-Digest", &digest_text(&block));
    let chunked = http::is_chunked(&exchange.headers);
    if !chunked {
        field(out, "WARC-Payload-Digest", &payload);
    }
    ours(out, exchange, chunked.then_some(payload.as_str()));
    field(out, "Content-Type", "application/http; msgtype=response");
    finish(out, &[&exchange.response_head, body]);
}

/// The standard's four words. `length` also for what announced itself as too long; a body that was not
/// wanted, or could not be decoded, has no word of its own.
fn truncated(entry: &ArchiveEntry<'_>) -> Option<&'static str> {
    // ISO 28500 6.7.2: a body left out because it is identical counts as cut by length.
    if matches!(entry.kind, EntryKind::SamePayload(_)) {
        return Some("length");
    }
    entry.exchange.stopped.map(|stopped| match stopped {
        Stopped::Length | Stopped::Announced => "length",
        Stopped::Time => "time",
        Stopped::Disconnect => "disconnect",
        Stopped::Type | Stopped::Coding => "unspecified",
    })
}

fn said_payload<'a>(entry: &'a ArchiveEntry<'_>) -> &'a [u8; 20] {
    match &entry.kind {
        EntryKind::Response => &entry.payload_digest,
        EntryKind::SamePayload(earlier) | EntryKind::NotModified(earlier) => {
            &earlier.payload_digest
        }
    }
}

pub(super) fn purpose_word(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Page => "page",
        Purpose::Robots => "robots",
        Purpose::Sitemap => "sitemap",
        Purpose::Login => "login",
    }
}

pub(super) fn stopped_word(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Type => "type",
        Stopped::Announced => "announced",
        Stopped::Length => "length",
        Stopped::Time => "time",
        Stopped::Disconnect => "disconnect",
        Stopped::Coding => "coding",
    }
}

/// A record made of fields that were written before; they say the length of the block themselves.
pub(super) fn from_fields(out: &mut Vec<u8>, fields: &[(&str, String)], block: &[&[u8]]) {
    out.extend_from_slice(b"WARC/1.1\r\n");
    for (name, value) in fields {
        field(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
    for part in block {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n\r\n");
}

fn begin(out: &mut Vec<u8>, kind: &str, id: RecordId, date: Timestamp) {
    out.extend_from_slice(b"WARC/1.1\r\n");
    field(out, "WARC-Type", kind);
    field(out, "WARC-Record-ID", &record_id_text(id));
    field(out, "WARC-Date", &date_text(date));
}

fn target(out: &mut Vec<u8>, exchange: &Exchange) {
    field(out, "WARC-Target-URI", exchange.url.as_str());
    if let Some(address) = exchange.address {
        // Writing to memory cannot fail.
        let _ = write!(out, "WARC-IP-Address: {address}\r\n");
    }
    // Said only where the heads are not what was on the wire but what HTTP/1.1 would have written.
    if exchange.protocol == Protocol::Http2 {
        field(out, "WARC-Protocol", "h2");
    }
}

fn revisit(out: &mut Vec<u8>, profile: &str, earlier: &RefersTo) {
    field(out, "WARC-Profile", profile);
    field(out, "WARC-Refers-To-Target-URI", &earlier.target_uri);
    field(out, "WARC-Refers-To-Date", &date_text(earlier.date));
}

/// Our own fields.
fn ours(out: &mut Vec<u8>, exchange: &Exchange, payload: Option<&str>) {
    visit(out, exchange, payload);
    if let Some(met) = met::all(&exchange.met) {
        field(out, MET_FIELD, &met);
    }
}

/// `purpose=… [stopped=…] [payload=sha1:…] connect=… tls=… first=… download=… total=… reused=0|1`,
/// times in microseconds.
fn visit(out: &mut Vec<u8>, exchange: &Exchange, payload: Option<&str>) {
    let timing = &exchange.timing;
    // Writing to memory cannot fail.
    let _ = write!(out, "{VISIT_FIELD}: purpose={}", purpose_word(exchange.purpose));
    if let Some(stopped) = exchange.stopped {
        let _ = write!(out, " stopped={}", stopped_word(stopped));
    }
    if let Some(payload) = payload {
        let _ = write!(out, " payload={payload}");
    }
    let _ = write!(
        out,
        " connect={} tls={} first={} download={} total={} reused={}\r\n",
        timing.connect.as_micros(),
        timing.tls.as_micros(),
        timing.first_byte.as_micros(),
        timing.download.as_micros(),
        timing.total.as_micros(),
        u8::from(timing.reused),
    );
}

fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn finish(out: &mut Vec<u8>, block: &[&[u8]]) {
    let length: usize = block.iter().map(|part| part.len()).sum();
    // Writing to memory cannot fail.
    let _ = write!(out, "Content-Length: {length}\r\n\r\n");
    for part in block {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n\r\n");
}
