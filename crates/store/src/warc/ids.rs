//! Record ids: UUIDs that are unique across threads, runs and machines.
//!
//! A maker draws 122 bits from the operating system once and counts on from there: within a run ids
//! differ by the count, across runs by the draw. The request of a pair needs no id of its own from the
//! caller: it takes its response's with the highest bit turned, a half of the space that the maker
//! never hands out.

use std::{
    collections::hash_map::RandomState,
    fs::File,
    hash::{BuildHasher, Hasher},
    io::Read,
    sync::atomic::{AtomicU64, Ordering},
};

use model::RecordId;

/// Hands out record ids; share one per process.
#[derive(Debug)]
pub struct RecordIds {
    high: u64,
    low: AtomicU64,
}

/// An odd constant: multiplying by it permutes the 62 bits, so that neighbours in time do not look alike.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
const LOW_BITS: u64 = (1 << 62) - 1;
const REQUEST_BIT: u128 = 1 << 127;

impl RecordIds {
    pub fn from_system() -> RecordIds {
        let (high, low) = draw();
        RecordIds { high, low: AtomicU64::new(low) }
    }

    /// The same ids every time, for simulations that must repeat.
    pub fn from_seed(seed: u64) -> RecordIds {
        RecordIds { high: seed.wrapping_mul(SPREAD), low: AtomicU64::new(seed) }
    }

    pub fn make(&self) -> RecordId {
        let count = self.low.fetch_add(1, Ordering::Relaxed);
        // RFC 9562: version 4 in bits 48..52, variant 10 in bits 64..66; the top bit marks requests.
        let high = self.high & 0x7FFF_FFFF_FFFF_0FFF | 0x4000;
        let low = count.wrapping_mul(SPREAD) & LOW_BITS | 1 << 63;
        RecordId(u128::from(high) << 64 | u128::from(low))
    }
}

/// `<urn:uuid:…>` as it stands in a record.
pub fn record_id_text(id: RecordId) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(47);
    text.push_str("<urn:uuid:");
    for (at, byte) in id.0.to_be_bytes().into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    text.push('>');
    text
}

/// Reads `<urn:uuid:…>`, with or without the angle brackets.
pub fn parse_record_id(text: &str) -> Option<RecordId> {
    let text = text.trim();
    let text = text.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(text);
    let hex = text.strip_prefix("urn:uuid:")?;
    let digits = hex.bytes().filter(|&b| b != b'-').count();
    if digits != 32 || hex.len() != 36 || !hex.is_ascii() {
        return None;
    }
    let mut value = 0u128;
    for character in hex.chars().filter(|&c| c != '-') {
        value = value << 4 | u128::from(character.to_digit(16)?);
    }
    Some(RecordId(value))
}

/// The id of the request record that belongs to this response or revisit.
pub(super) fn request_id(id: RecordId) -> RecordId {
    RecordId(id.0 ^ REQUEST_BIT)
}

/// 128 bits from the operating system.
pub(crate) fn draw() -> (u64, u64) {
    let mut bytes = [0; 16];
    let urandom = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if urandom.is_err() {
        // Where there is no such device, the keys of the standard hasher come from the system as well.
        return (
            RandomState::new().build_hasher().finish(),
            RandomState::new().build_hasher().finish(),
        );
    }
    let value = u128::from_le_bytes(bytes);
    ((value >> 64) as u64, value as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_of_pairs_and_runs_never_meet() {
        let (one, two) = (RecordIds::from_system(), RecordIds::from_system());
        let mut seen = HashSet::new();
        for maker in [&one, &two] {
            for _ in 0..10_000 {
                let id = maker.make();
                assert!(seen.insert(id.0) && seen.insert(request_id(id).0));
            }
        }
    }

    #[test]
    fn an_id_is_a_version_4_uuid_and_reads_back() {
        let id = RecordIds::from_system().make();
        let text = record_id_text(id);
        assert_eq!(&text[24..25], "4", "{text}");
        assert!(matches!(&text[29..30], "8" | "9" | "a" | "b"), "{text}");
        assert_eq!(parse_record_id(&text), Some(id));
        let known = RecordId(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(record_id_text(known), "<urn:uuid:01234567-89ab-cdef-0011-223344556677>");
        assert_eq!(parse_record_id("<urn:uuid:zz>"), None);
        assert_eq!(parse_record_id("urn:uuid:é2345678-1234-1234-1234-12345678901"), None);
    }
}
