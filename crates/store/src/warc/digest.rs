//! SHA-1 digests as WARC readers expect them: `sha1:` and 32 characters of base32 (RFC 4648).

use sha1::{Digest, Sha1};

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Digest of the parts as if they were one.
pub fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut hasher = Sha1::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// `sha1:` and the digest in base32, without padding (20 bytes are exactly 32 characters).
pub fn digest_text(digest: &[u8; 20]) -> String {
    let mut text = String::with_capacity(37);
    text.push_str("sha1:");
    for five in digest.chunks_exact(5) {
        let bits = five.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        for place in (0..8).rev() {
            text.push(char::from(ALPHABET[(bits >> (place * 5)) as usize & 31]));
        }
    }
    text
}

/// Reads `sha1:` digests in base32 or (as some writers do) in hexadecimal; `None` for any other.
pub fn parse_digest(text: &str) -> Option<[u8; 20]> {
    let (name, value) = text.trim().split_once(':')?;
    if !name.eq_ignore_ascii_case("sha1") {
        return None;
    }
    match value.len() {
        32 => from_base32(value.as_bytes()),
        40 => from_hex(value.as_bytes()),
        _ => None,
    }
}

fn from_base32(value: &[u8]) -> Option<[u8; 20]> {
    let mut digest = [0; 20];
    for (five, eight) in digest.chunks_exact_mut(5).zip(value.chunks_exact(8)) {
        let mut bits = 0u64;
        for character in eight {
            let upper = character.to_ascii_uppercase();
            bits = bits << 5 | ALPHABET.iter().position(|&a| a == upper)? as u64;
        }
        five.copy_from_slice(&bits.to_be_bytes()[3..]);
    }
    Some(digest)
}

fn from_hex(value: &[u8]) -> Option<[u8; 20]> {
    let mut digest = [0; 20];
    for (byte, two) in digest.iter_mut().zip(value.chunks_exact(2)) {
        let high = char::from(two[0]).to_digit(16)?;
        let low = char::from(two[1]).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_payload_has_the_digest_every_archive_knows() {
        let empty = sha1(&[]);
        assert_eq!(digest_text(&empty), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(parse_digest("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), Some(empty));
        assert_eq!(parse_digest("sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"), Some(empty));
    }

    #[test]
    fn parts_are_hashed_as_one() {
        assert_eq!(sha1(&[b"ab", b"", b"c"]), sha1(&[b"abc"]));
    }

    #[test]
    fn what_is_no_sha1_is_refused() {
        for text in ["", "sha1", "sha1:", "md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "sha1:3I42H3S6"] {
            assert_eq!(parse_digest(text), None, "{text}");
        }
        assert_eq!(parse_digest("sha1:1I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), None);
        assert_eq!(parse_digest("sha1:zz39a3ee5e6b4b0d3255bfef95601890afd80709"), None);
    }
}
