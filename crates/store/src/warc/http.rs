//! The little HTTP that archives need: where a head ends, and what chunk framing hides.
//!
//! Both take any bytes: what is cut or malformed gives what could be read up to there.

use bytes::Bytes;
use model::Headers;

/// An HTTP message as it stands in a record's block.
#[derive(Clone, Debug)]
pub struct HttpParts {
    /// With the empty line that ends it.
    pub head: Bytes,
    /// As on the wire, chunk framing included.
    pub wire_body: Bytes,
    pub status: u16,
    pub headers: Headers,
}

impl HttpParts {
    /// Splits a block without copying it. A block without an empty line is all head.
    pub fn split(block: &Bytes) -> HttpParts {
        let end = head_end(block);
        let head = block.slice(..end);
        HttpParts {
            status: status(&head),
            headers: Headers::parse(&head),
            wire_body: block.slice(end..),
            head,
        }
    }

    pub fn is_chunked(&self) -> bool {
        is_chunked(&self.headers)
    }

    /// The body with the transfer coding removed and the content coding kept: what payload digests
    /// are made of.
    pub fn entity(&self) -> Bytes {
        if self.is_chunked() {
            Bytes::from(dechunk(&self.wire_body))
        } else {
            self.wire_body.clone()
        }
    }
}

/// Whether the body of a message with these fields is framed in chunks (RFC 9112 section 6.1: chunked
/// is always the last coding).
pub(super) fn is_chunked(headers: &Headers) -> bool {
    headers.all("transfer-encoding").last().is_some_and(|value| {
        value.rsplit(',').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("chunked"))
    })
}

/// Removes chunk framing (RFC 9112 section 7.1); a torn or false chunk ends the body with what it held.
pub fn dechunk(mut wire: &[u8]) -> Vec<u8> {
    let mut entity = Vec::with_capacity(wire.len());
    while let Some(line_end) = wire.iter().position(|&b| b == b'\n') {
        let Some(size) = chunk_size(&wire[..line_end]) else { break };
        wire = &wire[line_end + 1..];
        if size == 0 {
            break;
        }
        let taken = size.min(wire.len());
        entity.extend_from_slice(&wire[..taken]);
        wire = &wire[taken..];
        wire = wire.strip_prefix(b"\r").unwrap_or(wire);
        wire = wire.strip_prefix(b"\n").unwrap_or(wire);
    }
    entity
}

fn chunk_size(line: &[u8]) -> Option<usize> {
    let line = line.split(|&b| b == b';').next().unwrap_or(line).trim_ascii();
    let digits = std::str::from_utf8(line).ok()?;
    // `from_str_radix` would take a sign.
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    usize::from_str_radix(digits, 16).ok()
}

/// Just behind the first empty line; the whole length when there is none. Bare line feeds count too:
/// a server that sends them must not lose its body.
fn head_end(block: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = block[at..].iter().position(|&b| b == b'\n') {
        let line = &block[at..at + length];
        at += length + 1;
        if line.is_empty() || line == b"\r" {
            return at;
        }
    }
    block.len()
}

fn status(head: &[u8]) -> u16 {
    let line = head.split(|&b| b == b'\n').next().unwrap_or(head);
    let code = line.split(|&b| b == b' ').nth(1).unwrap_or(b"");
    std::str::from_utf8(code.trim_ascii()).ok().and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn head_and_body_part_at_the_empty_line() {
        let check = |block: &'static [u8], head: usize| {
            assert_eq!(HttpParts::split(&Bytes::from_static(block)).head.len(), head, "{block:?}");
        };
        check(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n", 25);
        check(b"HTTP/1.1 200 OK\nA: b\n\nbody", 22);
        check(b"HTTP/1.1 200 OK\r\nA: b", 21);
        check(b"", 0);
    }

    #[test]
    fn chunks_are_joined_and_torn_ones_give_what_they_held() {
        let check = |wire: &[u8], entity: &[u8]| assert_eq!(dechunk(wire), entity, "{wire:?}");
        check(b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", b"hello world");
        check(b"5\nhello\n0\n\n", b"hello");
        check(b"A\r\nhel", b"hel");
        check(b"5\r\nhello\r\nzz\r\nmore", b"hello");
        check(b"+5\r\nhello\r\n", b"");
        check(b"fffffffffffffffffffffff\r\nhello", b"");
        check(b"5", b"");
    }

    #[test]
    fn only_a_last_coding_of_chunked_means_chunks() {
        let check = |head: &[u8], chunked: bool| {
            assert_eq!(is_chunked(&Headers::parse(head)), chunked);
        };
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n", true);
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", false);
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_split_and_dechunked(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let block = Bytes::from(bytes);
            let parts = HttpParts::split(&block);
            prop_assert_eq!(parts.head.len() + parts.wire_body.len(), block.len());
            prop_assert!(dechunk(&block).len() <= block.len());
        }
    }
}
