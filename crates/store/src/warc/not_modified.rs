//! How unchanged visits are recorded, so that the readers in use show the page and not an empty answer.
//!
//! A 304 is a `revisit` of profile server-not-modified without a block: its payload is that of the record it refers to
//! (ISO 28500:2017, 6.7.3), and so are its status and head. A block with the head of the 304 is allowed as well, and was
//! written at first; but pywb answers with that head and nothing else, and so does wabac from an index. The head stands
//! in [`HEAD_FIELD`] instead.
//!
//! A revisit of identical payload carries its own head. pywb looks for the original by its digest where one is given;
//! of a chunked response it has another (see `record.rs`), so there the digest stands in our own field as well, and the
//! original is found by its URL and date.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    digest::parse_digest,
    encode::pack_record,
    press::Press,
    reader::Record,
    record::{NOT_MODIFIED, SAME_PAYLOAD, VISIT_FIELD},
    whole::with_payload,
};

/// The head of a 304 as it came, in one line: control characters, `%` and what is not ASCII are written as `%XX`.
pub(super) const HEAD_FIELD: &str = "Harvestman-Not-Modified";

/// Writes the field.
pub(super) fn write_head(out: &mut Vec<u8>, head: &[u8]) {
    out.extend_from_slice(HEAD_FIELD.as_bytes());
    out.extend_from_slice(b": ");
    escape(out, head);
    out.extend_from_slice(b"\r\n");
}

/// The head that stands in the field of a record without a block.
pub(super) fn head(record: &Record) -> Option<Bytes> {
    record.field(HEAD_FIELD).filter(|_| record.block.is_empty()).map(unescape)
}

/// A revisit in a form that is no longer written. Of the block its head is needed.
pub(crate) fn is_old_form(record: &Record) -> bool {
    if record.kind() != "revisit" || record.field(VISIT_FIELD).is_none() {
        return false;
    }
    match record.field("WARC-Profile") {
        Some(NOT_MODIFIED) => !record.block.is_empty(),
        Some(SAME_PAYLOAD) => {
            let digest = record.field("WARC-Payload-Digest").and_then(parse_digest);
            digest.is_some() && record.http().is_chunked()
        }
        _ => false,
    }
}

/// The same revisit in the form of today, packed; its id, date and all it says stay.
pub(crate) fn in_new_form(press: &Arc<Press>, record: &Record) -> Vec<u8> {
    match record.field("WARC-Profile") {
        Some(NOT_MODIFIED) => without_block(press, record),
        _ => without_digest(press, record),
    }
}

fn without_block(press: &Arc<Press>, record: &Record) -> Vec<u8> {
    let mut head = Vec::new();
    escape(&mut head, &record.block);
    let mut fields = Vec::new();
    for (name, value) in record.fields.iter() {
        match name {
            "WARC-Block-Digest" | "Content-Type" => {}
            "Content-Length" => {
                let head = String::from_utf8_lossy(&head).into_owned();
                fields.push((HEAD_FIELD, head));
                fields.push((name, "0".to_owned()));
            }
            _ => fields.push((name, value.to_owned())),
        }
    }
    pack_record(press, &fields, &[], false)
}

fn without_digest(press: &Arc<Press>, record: &Record) -> Vec<u8> {
    let digest = record.field("WARC-Payload-Digest").unwrap_or_default();
    let mut fields = Vec::new();
    for (name, value) in record.fields.iter() {
        match name {
            "WARC-Payload-Digest" => {}
            VISIT_FIELD => fields.push((name, with_payload(value, digest))),
            _ => fields.push((name, value.to_owned())),
        }
    }
    pack_record(press, &fields, &[&record.block], false)
}

/// As it was written at first, to see that it is still read.
#[cfg(test)]
pub(crate) fn in_old_form(press: &Arc<Press>, record: &Record) -> Vec<u8> {
    use super::{digest::digest_text, rebuild::said_digest, sha1};
    let head = record.http().head;
    let mut fields = Vec::new();
    for (name, value) in record.fields.iter() {
        match name {
            HEAD_FIELD | "WARC-Block-Digest" | "WARC-Payload-Digest" | "Content-Type" => {}
            "Content-Length" => {
                fields.push(("WARC-Block-Digest", digest_text(&sha1(&[&head]))));
                if record.field("WARC-Profile") == Some(SAME_PAYLOAD) {
                    let digest = said_digest(record).expect("every revisit of ours has one");
                    fields.push(("WARC-Payload-Digest", digest_text(&digest)));
                }
                fields.push(("Content-Type", "application/http; msgtype=response".to_owned()));
                fields.push((name, head.len().to_string()));
            }
            _ => fields.push((name, value.to_owned())),
        }
    }
    pack_record(press, &fields, &[&head], false)
}

fn escape(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        match byte {
            b'%' | 0..0x20 | 0x7f.. => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend_from_slice(&[b'%', HEX[high], HEX[low]]);
            }
            plain => out.push(plain),
        }
    }
}

/// What is no escape stands for itself.
fn unescape(text: &str) -> Bytes {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| behind.first_chunk().and_then(hex)).flatten();
        out.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    Bytes::from(out)
}

fn hex(digits: &[u8; 2]) -> Option<u8> {
    let value = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
    Some(value(digits[0])? << 4 | value(digits[1])?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_head_comes_back_from_one_line(head in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut line = Vec::new();
            escape(&mut line, &head);
            prop_assert!(line.iter().all(|byte| (0x20..0x7f).contains(byte)));
            let line = String::from_utf8(line).unwrap();
            prop_assert_eq!(&unescape(&line)[..], &head[..]);
        }

        #[test]
        fn any_line_is_read(line in any::<String>()) {
            prop_assert!(unescape(&line).len() <= line.len());
        }
    }

    #[test]
    fn a_head_stays_readable() {
        let mut line = Vec::new();
        escape(&mut line, b"HTTP/1.1 304 Not Modified\r\nETag: \"100%\"\r\n\r\n");
        let wanted = "HTTP/1.1 304 Not Modified%0D%0AETag: \"100%25\"%0D%0A%0D%0A";
        assert_eq!(String::from_utf8(line).unwrap(), wanted);
        assert_eq!(&unescape("50% and %4 and %zz")[..], b"50% and %4 and %zz");
    }
}
