//! A gzip body undone in one go, as most of them can be: a crawl of gzipped pages takes a sixth less time by it.
//!
//! Only what is beyond doubt: one member, whole, that ends where the body ends and says how long its content is. Whatever
//! is odd about a body (cut, damaged, several members, something behind, large) is for [`super::decode::Decoder`] to go
//! through piece by piece, so that nothing is decided in two places.

use std::cell::RefCell;

use libdeflater::{Decompressor, crc32};
use memchr::memmem;

thread_local! {
    /// Its tables take longer to set up than a short body takes to decode.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// The first bytes of a member (RFC 1952): its mark, and the only method there is.
const MARK: &[u8] = &[0x1f, 0x8b, 8];
/// Checksum and length, behind the content.
const TRAILER_BYTES: usize = 8;

/// The content of `member`, of at most `bytes_max`.
pub fn inflate(member: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let (before, trailer) = member.split_last_chunk::<TRAILER_BYTES>()?;
    let [a, b, c, d, e, f, g, h] = *trailer;
    let (checksum, length) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let length = usize::try_from(length).ok().filter(|length| *length <= bytes_max)?;
    // A mark within may be chance or another member: the decompressor does not say where a member ends.
    if !before.starts_with(MARK) || memmem::find(&before[1..], MARK).is_some() {
        return None;
    }
    let mut content = vec![0; length];
    let inflated = DECOMPRESSOR.with_borrow_mut(|gzip| gzip.gzip_decompress(member, &mut content));
    // It has compared the checksum behind the content, which need not be the one at the end of the body.
    (inflated == Ok(length) && crc32(&content) == checksum).then_some(content)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::inflate;

    const MAX: usize = 1 << 20;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn one_whole_member_is_undone() {
        for content in [&b""[..], b"a", &b"some words, some words ".repeat(2_000)] {
            assert_eq!(inflate(&gzip(content), MAX).as_deref(), Some(content));
        }
    }

    #[test]
    fn whatever_is_odd_is_left_to_others() {
        let member = gzip(b"some words, some words");
        let twice = [&member[..], &member[..]].concat();
        let more = [&member[..], b"more"].concat();
        let same_end = [&member[..], b"\0\0", &member[member.len() - 8..]].concat();
        let mut damaged = member.clone();
        damaged[14] ^= 4;
        for odd in [&twice[..], &more, &damaged, &member[..member.len() - 1], &member[..5], b""] {
            assert_eq!(inflate(odd, MAX), None, "{odd:?}");
        }
        assert_eq!(inflate(&member, 21), None);
        // All that is lost is a word about the bytes behind.
        assert!(inflate(&same_end, MAX).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_or_are_left(content: Vec<u8>, bytes: Vec<u8>) {
            let member = gzip(&content);
            if let Some(back) = inflate(&member, MAX) {
                prop_assert_eq!(back, content);
            }
            inflate(&bytes, MAX);
        }
    }
}
