//! Gzip members of short records: requests, heads, revisits.
//!
//! A compressor for all sizes clears 128 KB of tables and makes a code of its own for each record, which for a few
//! hundred bytes is nearly all it does. Here the code is the fixed one of RFC 1951 (3.2.6) and the table 2 KB: a
//! fifth of the time, for members that are an eighth larger. Beyond [`SHORT_BYTES_MAX`] the other one is better.

use libdeflater::Crc;

/// Heads and revisits of nearly all servers are shorter; a longer text gains more by a code of its own.
pub(super) const SHORT_BYTES_MAX: usize = 1_536;

/// Where each four bytes were last, by their hash; one more than that, so that 0 is nowhere.
pub(super) struct ShortPacker {
    places: [u16; 1 << HASH_BITS],
}

const HASH_BITS: u32 = 10;
/// RFC 1952: gzip, deflate, no flags, no time, nothing said of the level, system unknown.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// Shortest repetition that is looked for, and the longest that can be said.
const REPEAT_MIN: usize = 4;
const REPEAT_MAX: usize = 258;

impl ShortPacker {
    pub(super) fn new() -> ShortPacker {
        ShortPacker { places: [0; 1 << HASH_BITS] }
    }

    /// Appends `plain` as one member to `out`.
    pub(super) fn pack(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        debug_assert!(plain.len() <= SHORT_BYTES_MAX, "places are numbers of 16 bits");
        out.extend_from_slice(&GZIP_HEAD);
        self.deflate(plain, out);
        let mut sum = Crc::new();
        sum.update(plain);
        out.extend_from_slice(&sum.sum().to_le_bytes());
        out.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    }

    /// One block of fixed codes: what was there a moment ago is said as a repetition, the rest byte for byte.
    fn deflate(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.places.fill(0);
        let mut bits = Bits { out, held: 0, count: 0 };
        bits.put(LAST_BLOCK_FIXED);
        let mut at = 0;
        while let Some(four) = plain[at..].first_chunk() {
            match self.repeated(plain, at, *four) {
                Some(from) => {
                    let length =
                        REPEAT_MIN + same(&plain[from + REPEAT_MIN..], &plain[at + REPEAT_MIN..]);
                    bits.put(LENGTHS[length]);
                    bits.put(distance((at - from) as u32));
                    at += length;
                }
                None => {
                    bits.put(LITERALS[plain[at] as usize]);
                    at += 1;
                }
            }
        }
        for byte in &plain[at..] {
            bits.put(LITERALS[*byte as usize]);
        }
        bits.put(END_OF_BLOCK);
        bits.finish();
    }

    /// Where these four bytes stood before, if that is known; remembers that they stand here.
    #[inline]
    fn repeated(&mut self, plain: &[u8], at: usize, four: [u8; 4]) -> Option<usize> {
        let hash = u32::from_le_bytes(four).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
        let place = &mut self.places[hash as usize];
        let before = usize::from(*place).checked_sub(1);
        *place = at as u16 + 1;
        before.filter(|&from| plain[from..].starts_with(&four))
    }
}

/// How far the two are the same, as far as that can be said behind [`REPEAT_MIN`] bytes.
#[inline]
fn same(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take(REPEAT_MAX - REPEAT_MIN).take_while(|(a, b)| a == b).count()
}

/// Bits as they stand in the stream, the first one lowest, and how many.
#[derive(Clone, Copy)]
struct Code {
    bits: u32,
    count: u8,
}

const LAST_BLOCK_FIXED: Code = Code { bits: 0b011, count: 3 };
const END_OF_BLOCK: Code = Code { bits: 0, count: 7 };

/// Codes stand in the stream with their highest bit first.
const fn code(value: u32, count: u8) -> Code {
    Code { bits: value.reverse_bits() >> (32 - count as u32), count }
}

/// `extra` more bits behind a code.
const fn with_extra(code: Code, value: u32, extra: u32) -> Code {
    Code { bits: code.bits | value << code.count, count: code.count + extra as u8 }
}

static LITERALS: [Code; 256] = {
    let mut table = [END_OF_BLOCK; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte {
            0..144 => code(0x30 + byte as u32, 8),
            _ => code(0x190 + byte as u32 - 144, 9),
        };
        byte += 1;
    }
    table
};

/// By length; below 3 there are none.
static LENGTHS: [Code; REPEAT_MAX + 1] = {
    let mut table = [END_OF_BLOCK; REPEAT_MAX + 1];
    let mut length = 3;
    while length <= REPEAT_MAX {
        let (symbol, value, extra) = length_symbol(length as u32);
        let code = match symbol {
            0..280 => code(symbol - 256, 7),
            _ => code(0xc0 + symbol - 280, 8),
        };
        table[length] = with_extra(code, value, extra);
        length += 1;
    }
    table
};

/// RFC 1951, 3.2.5: the symbol of a length, what stands behind it, and in how many bits.
const fn length_symbol(length: u32) -> (u32, u32, u32) {
    let more = length - 3;
    if length == 258 {
        (285, 0, 0)
    } else if more < 8 {
        (257 + more, 0, 0)
    } else {
        let extra = more.ilog2() - 2;
        (261 + 4 * extra + ((more >> extra) & 3), more & ((1 << extra) - 1), extra)
    }
}

/// The same for a distance: always five bits.
#[inline]
fn distance(distance: u32) -> Code {
    let more = distance - 1;
    if more < 4 {
        return code(more, 5);
    }
    let extra = more.ilog2() - 1;
    let symbol = 2 * (extra + 1) + ((more >> extra) & 1);
    with_extra(code(symbol, 5), more & ((1 << extra) - 1), extra)
}

struct Bits<'a> {
    out: &'a mut Vec<u8>,
    /// Fewer than 32 between two codes; none has more than 18.
    held: u64,
    count: u32,
}

impl Bits<'_> {
    #[inline]
    fn put(&mut self, code: Code) {
        self.held |= u64::from(code.bits) << self.count;
        self.count += u32::from(code.count);
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }

    fn finish(self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.held.to_le_bytes()[..bytes]);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use libdeflater::Decompressor;
    use proptest::prelude::*;

    use super::*;

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        ShortPacker::new().pack(plain, &mut out);
        assert!(out.starts_with(b"before"));
        out.split_off(6)
    }

    /// By two libraries that are not ours.
    fn comes_back(plain: &[u8]) {
        let packed = packed(plain);
        let mut back = vec![0; plain.len()];
        let length = Decompressor::new().gzip_decompress(&packed, &mut back);
        assert_eq!(length, Ok(plain.len()));
        assert_eq!(back, plain);
        let mut back = Vec::new();
        let mut reader = flate2::read::GzDecoder::new(&packed[..]);
        reader.read_to_end(&mut back).expect("a member that another library reads");
        assert_eq!(back, plain);
    }

    #[test]
    fn every_length_and_distance_comes_back() {
        comes_back(b"");
        for length in 1..=300 {
            comes_back(&vec![b'a'; length]);
            // All bytes once, then the first ones again.
            let all: Vec<u8> = (0..=255).chain(0..=255).take(256 + length.min(256)).collect();
            comes_back(&all);
        }
        for gap in 0..SHORT_BYTES_MAX - 16 {
            let noise = (0..gap as u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8);
            let far: Vec<u8> = b"harvest!".iter().copied().chain(noise).collect();
            comes_back(&[&far[..], b"harvest!"].concat());
        }
    }

    #[test]
    fn a_head_becomes_much_shorter() {
        let head = "HTTP/1.1 304 Not Modified\r\nServer: example\r\nETag: \"12\"\r\n".repeat(8);
        assert!(packed(head.as_bytes()).len() < head.len() / 3);
    }

    #[test]
    fn a_packer_remembers_nothing_of_the_record_before() {
        let mut packer = ShortPacker::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        packer.pack(b"some words, some words, some words", &mut first);
        packer.pack(b"some words, some words, some words", &mut second);
        assert_eq!(first, second);
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(plain in prop::collection::vec(any::<u8>(), 0..SHORT_BYTES_MAX)) {
            comes_back(&plain);
        }

        #[test]
        fn bytes_that_repeat_themselves_come_back(
            plain in prop::collection::vec(prop::sample::select(b"abc: \r\n".to_vec()), 0..SHORT_BYTES_MAX)
        ) {
            comes_back(&plain);
        }
    }
}
