//! Revisit records written anew when what they refer to is taken away.
//!
//! The first of them gets the payload and becomes the response it once was on the wire; those behind it
//! refer to that one from then on. Ids, dates, heads and visit fields stay as they were.

use std::sync::Arc;

use super::{
    digest::{digest_text, sha1},
    encode::{arrived_compressed, pack_record},
    press::Press,
    reader::Record,
    rebuild::said_digest,
    record::{SAME_PAYLOAD, VISIT_FIELD},
};

/// The revisit as a whole response, with the payload of `original`, packed. `None` when that is another
/// payload than the revisit speaks of: wrong content is worse than none.
pub(crate) fn made_whole(
    press: &Arc<Press>,
    revisit: &Record,
    original: &Record,
) -> Option<Vec<u8>> {
    // The head of a 304 is that of no whole response.
    let said =
        said_digest(revisit).filter(|_| revisit.field("WARC-Profile") == Some(SAME_PAYLOAD))?;
    let entity = original.http().entity();
    if original.cut || sha1(&[&entity]) != said {
        return None;
    }
    let parts = revisit.http();
    let chunked = parts.is_chunked();
    let body = if chunked { in_one_chunk(&entity) } else { entity.to_vec() };
    let mut fields = Vec::new();
    for (name, value) in revisit.fields.iter() {
        let value = match name {
            "WARC-Type" => "response".to_owned(),
            "WARC-Profile"
            | "WARC-Refers-To-Target-URI"
            | "WARC-Refers-To-Date"
            | "WARC-Refers-To"
            | "WARC-Truncated" => continue,
            // As in every chunked response: the digest stands in our own field.
            "WARC-Payload-Digest" if chunked => continue,
            VISIT_FIELD if chunked => with_payload(value, &digest_text(&said)),
            "WARC-Block-Digest" => digest_text(&sha1(&[&parts.head, &body])),
            "Content-Length" => (parts.head.len() + body.len()).to_string(),
            _ => value.to_owned(),
        };
        fields.push((name, value));
    }
    let compressed = arrived_compressed(&parts.headers);
    Some(pack_record(press, &fields, &[&parts.head, &body], compressed))
}

/// The revisit with another record to refer to, or none, packed.
pub(crate) fn referring_to(
    press: &Arc<Press>,
    revisit: &Record,
    heir: Option<(&str, &str)>,
) -> Vec<u8> {
    let mut fields = Vec::new();
    for (name, value) in revisit.fields.iter() {
        let value = match (name, heir) {
            ("WARC-Refers-To-Target-URI", Some((uri, _))) => uri,
            ("WARC-Refers-To-Date", Some((_, date))) => date,
            ("WARC-Refers-To-Target-URI" | "WARC-Refers-To-Date", None) => continue,
            // Names the record that goes.
            ("WARC-Refers-To", _) => continue,
            _ => value,
        };
        fields.push((name, value.to_owned()));
    }
    pack_record(press, &fields, &[&revisit.block], false)
}

/// `purpose=… [stopped=…] [payload=…] connect=…`: before the timings.
pub(super) fn with_payload(visit: &str, digest: &str) -> String {
    if visit.contains(" payload=") {
        return visit.to_owned();
    }
    match visit.split_once(" connect=") {
        Some((before, after)) => format!("{before} payload={digest} connect={after}"),
        None => format!("{visit} payload={digest}"),
    }
}

/// The framing of the wire is gone with the original; any will do that says where the body ends.
fn in_one_chunk(entity: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(entity.len() + 32);
    if !entity.is_empty() {
        body.extend_from_slice(format!("{:x}\r\n", entity.len()).as_bytes());
        body.extend_from_slice(entity);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    body
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use bytes::Bytes;
    use model::Headers;

    use super::*;
    use crate::warc::{WarcReader, digest::parse_digest};

    static GZIP: LazyLock<Arc<Press>> = LazyLock::new(|| Arc::new(Press::Gzip));

    fn record(head: &str, fields: &[(&str, &str)], block: &[u8]) -> Record {
        let mut all = Headers::new();
        fields.iter().for_each(|(name, value)| all.push(name, value));
        let block = Bytes::from([head.as_bytes(), block].concat());
        let version = "1.1".to_owned();
        Record { offset: 0, length: 0, own_member: true, version, fields: all, block, cut: false }
    }

    fn revisit(head: &str, digest: &str) -> Record {
        let length = head.len().to_string();
        let fields = [
            ("WARC-Type", "revisit"),
            ("WARC-Record-ID", "<urn:uuid:00000000-0000-4000-8000-000000000001>"),
            ("WARC-Date", "2026-01-01T00:00:00.000Z"),
            ("WARC-Target-URI", "http://a.example/"),
            ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
            ("WARC-Refers-To-Target-URI", "http://gone.example/"),
            ("WARC-Refers-To-Date", "2025-01-01T00:00:00.000Z"),
            ("WARC-Truncated", "length"),
            ("WARC-Block-Digest", "sha1:x"),
            ("WARC-Payload-Digest", digest),
            (VISIT_FIELD, "purpose=page connect=1 tls=2"),
            ("Content-Type", "application/http; msgtype=response"),
            ("Content-Length", &length),
        ];
        record(head, &fields, b"")
    }

    fn read(member: &[u8]) -> Record {
        WarcReader::new(member).next().unwrap().unwrap()
    }

    #[test]
    fn a_revisit_gets_the_payload_in_its_own_framing_and_keeps_its_name() {
        let original = record("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &[], b"hello");
        let digest = digest_text(&sha1(&[b"hello"]));
        for head in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            let whole = made_whole(&GZIP, &revisit(head, &digest), &original);
            let whole = read(&whole.unwrap());
            assert_eq!(whole.kind(), "response");
            assert_eq!(whole.field("WARC-Target-URI"), Some("http://a.example/"));
            assert_eq!(&whole.http().entity()[..], b"hello");
            assert_eq!(whole.http().head, head.as_bytes());
            let block = whole.field("WARC-Block-Digest").and_then(parse_digest);
            assert_eq!(block, Some(sha1(&[&whole.block])));
            let all = format!("{:?}", whole.fields);
            assert!(!all.contains("gone.example") && !all.contains("Truncated"), "{all}");
            assert!(all.contains(&digest), "one of the fields has it: {all}");
            let chunked = whole.http().is_chunked();
            assert_eq!(whole.field("WARC-Payload-Digest").is_none(), chunked);
        }
    }

    #[test]
    fn another_payload_is_never_put_into_a_revisit() {
        let original = record("HTTP/1.1 200 OK\r\n\r\n", &[], b"something else");
        let digest = digest_text(&sha1(&[b"hello"]));
        let revisit = revisit("HTTP/1.1 200 OK\r\n\r\n", &digest);
        assert!(made_whole(&GZIP, &revisit, &original).is_none());
    }

    #[test]
    fn a_reference_is_turned_and_its_old_name_is_gone() {
        let old = revisit("HTTP/1.1 200 OK\r\n\r\n", "sha1:x");
        let heir = ("http://b.example/", "2025-06-01T00:00:00.000Z");
        let turned = read(&referring_to(&GZIP, &old, Some(heir)));
        assert_eq!(turned.field("WARC-Refers-To-Target-URI"), Some(heir.0));
        assert_eq!(turned.field("WARC-Refers-To-Date"), Some(heir.1));
        assert_eq!((turned.kind(), &turned.block), ("revisit", &old.block));
        let bare = read(&referring_to(&GZIP, &old, None));
        assert!(!format!("{:?}", bare.fields).contains("Refers-To"));
    }
}
