//! One page's links as bytes.

use model::{Fingerprint, Link, LinkKind, LinkRel, SiteId, Timestamp};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::{BODY_BYTES_MAX, FRAME_BYTES};

/// The links of a page as one visit found them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkRecord {
    pub source: Fingerprint,
    pub site: SiteId,
    pub at: Timestamp,
    pub links: Vec<StoredLink>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredLink {
    pub url: String,
    pub fp: Fingerprint,
    pub kind: LinkKind,
    pub rel: LinkRel,
    pub anchor: String,
    pub position: u32,
}

/// Appends a framed record.
pub(super) fn encode(
    out: &mut Vec<u8>,
    source: Fingerprint,
    site: SiteId,
    at: Timestamp,
    links: &[Link],
) {
    let parts = links.iter().map(|link| Parts {
        url: link.url.as_str(),
        fp: link.url.fingerprint(),
        kind: link.kind,
        rel: link.rel,
        anchor: &link.anchor,
        position: link.position,
    });
    encode_parts(out, (source, site, at), parts);
}

/// Appends a record that was read before.
pub(super) fn encode_again(out: &mut Vec<u8>, record: &LinkRecord) {
    let parts = record.links.iter().map(|link| Parts {
        url: &link.url,
        fp: link.fp,
        kind: link.kind,
        rel: link.rel,
        anchor: &link.anchor,
        position: link.position,
    });
    encode_parts(out, (record.source, record.site, record.at), parts);
}

struct Parts<'a> {
    url: &'a str,
    fp: Fingerprint,
    kind: LinkKind,
    rel: LinkRel,
    anchor: &'a str,
    position: u32,
}

fn encode_parts<'a>(
    out: &mut Vec<u8>,
    (source, site, at): (Fingerprint, SiteId, Timestamp),
    links: impl ExactSizeIterator<Item = Parts<'a>>,
) {
    let start = out.len();
    out.extend([0; FRAME_BYTES]);
    out.extend(source.0.to_le_bytes());
    put_signed(out, site.0);
    put_signed(out, at.0);
    put(out, links.len() as u64);
    let mut before: &str = "";
    for link in links {
        let shared = shared_prefix(before, link.url);
        out.extend([link.kind as u8, link.rel.0]);
        out.extend(link.fp.0.to_le_bytes());
        put(out, u64::from(link.position));
        put(out, shared as u64);
        put_text(out, &link.url[shared..]);
        put_text(out, link.anchor);
        before = link.url;
    }
    let body = start + FRAME_BYTES;
    let length = (out.len() - body) as u32;
    let sum = checksum(&out[body..]);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..body].copy_from_slice(&sum.to_le_bytes());
}

/// The length and checksum of a record; `None` when no record can begin so.
pub(super) fn frame(bytes: [u8; FRAME_BYTES]) -> Option<(usize, u32)> {
    let [a, b, c, d, e, f, g, h] = bytes;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    (length <= BODY_BYTES_MAX && length > 0).then_some((length, u32::from_le_bytes([e, f, g, h])))
}

/// `None` when the bytes are not what was written.
pub(super) fn decode(body: &[u8], sum: u32) -> Option<LinkRecord> {
    if checksum(body) != sum {
        return None;
    }
    let mut rest = body;
    let source = Fingerprint(u64::from_le_bytes(take(&mut rest)?));
    let site = SiteId(take_signed(&mut rest)?);
    let at = Timestamp(take_signed(&mut rest)?);
    let count = take_number(&mut rest)?;
    let mut links: Vec<StoredLink> = Vec::new();
    for _ in 0..count {
        let before = links.last().map_or("", |link| link.url.as_str());
        let link = take_link(&mut rest, before)?;
        links.push(link);
    }
    rest.is_empty().then_some(LinkRecord { source, site, at, links })
}

/// What the index needs of a record: its source, its time, and the targets of all its links, in their order and
/// with repetitions. No text is copied. `None` when the bytes are not what was written.
pub(super) fn skim(
    body: &[u8],
    sum: u32,
    targets: &mut Vec<Fingerprint>,
) -> Option<(Fingerprint, Timestamp)> {
    targets.clear();
    if checksum(body) != sum {
        return None;
    }
    let mut rest = body;
    let source = Fingerprint(u64::from_le_bytes(take(&mut rest)?));
    take_signed(&mut rest)?;
    let at = Timestamp(take_signed(&mut rest)?);
    for _ in 0..take_number(&mut rest)? {
        let _kind_and_rel: [u8; 2] = take(&mut rest)?;
        targets.push(Fingerprint(u64::from_le_bytes(take(&mut rest)?)));
        take_number(&mut rest)?;
        take_number(&mut rest)?;
        skip_text(&mut rest)?;
        skip_text(&mut rest)?;
    }
    rest.is_empty().then_some((source, at))
}

fn take_link(rest: &mut &[u8], before: &str) -> Option<StoredLink> {
    let [kind, rel] = take(rest)?;
    let fp = Fingerprint(u64::from_le_bytes(take(rest)?));
    let position = u32::try_from(take_number(rest)?).ok()?;
    let shared = usize::try_from(take_number(rest)?).ok()?;
    let mut url = before.get(..shared)?.to_owned();
    url.push_str(take_text(rest)?);
    let anchor = take_text(rest)?.to_owned();
    let kind = LinkKind::from_stored(kind)?;
    Some(StoredLink { url, fp, kind, rel: LinkRel(rel), anchor, position })
}

fn checksum(body: &[u8]) -> u32 {
    (xxh3_64(body) >> 32) as u32
}

fn shared_prefix(before: &str, text: &str) -> usize {
    let same = before.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    text.floor_char_boundary(same)
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take_signed(rest: &mut &[u8]) -> Option<i64> {
    let value = take_number(rest)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (text, left) = rest.split_at_checked(length)?;
    *rest = left;
    std::str::from_utf8(text).ok()
}

fn skip_text(rest: &mut &[u8]) -> Option<()> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    *rest = rest.get(length..)?;
    Some(())
}
