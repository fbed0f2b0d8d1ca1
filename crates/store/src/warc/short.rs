//! Gzip members of short records: requests, heads, revisits.
//!
//! A compressor for all sizes clears 128 KB of tables and makes a code of its own for each record, which for a few
//! hundred bytes is nearly all it does. Here the code is the fixed one of RFC 1951 (3.2.6) and the table 2 KB: a
//! fifth of the time, for members that are an eighth larger. Beyond [`SHORT_BYTES_MAX`] the other one is better.

use libdeflater::Crc;

/// Heads and revisits of nearly all servers are shorter; a longer text gains more by a code of its own.
pub(super) const SHORT_BYTES_MAX: usize = 1_536;

/// Where each four bytes were last, by their hash.
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
        let start = out.len();
        // No byte takes more than nine bits, no repetition more than its bytes would; eight are written at a time.
        out.resize(start + plain.len() + plain.len() / 8 + 16, 0);
        let mut bits = Bits { out: &mut out[start..], at: 0, held: 0, count: 0 };
        bits.put(LAST_BLOCK_FIXED);
        let (mut at, mut said) = (0, 0);
        for start in word_starts(plain) {
            let Some(four) = plain[start..].first_chunk().filter(|_| start >= at) else { continue };
            let Some(from) = self.repeated(plain, start, *four) else { continue };
            bits.put_plain(&plain[said..start]);
            let length =
                REPEAT_MIN + same(&plain[from + REPEAT_MIN..], &plain[start + REPEAT_MIN..]);
            bits.put(LENGTHS[length]);
            bits.put(distance((start - from) as u32));
            at = start + length;
            said = at;
        }
        bits.put_plain(&plain[said..]);
        bits.put(END_OF_BLOCK);
        let end = start + bits.finish();
        out.truncate(end);
    }

    /// Where these four bytes stood before, if that is known; remembers that they stand here.
    #[inline]
    fn repeated(&mut self, plain: &[u8], at: usize, four: [u8; 4]) -> Option<usize> {
        let hash = u32::from_le_bytes(four).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
        let place = &mut self.places[hash as usize];
        let from = usize::from(*place);
        *place = at as u16;
        // Where nothing is known the place is 0, which is looked at like any other: that costs less than to ask.
        (plain[from..].first_chunk() == Some(&four)).then_some(from)
    }
}

/// Where words begin: behind the bytes below `0`, among which are all that stand between the words of a head but a few.
/// What is repeated there are names, addresses, dates: whole words. To look at every byte takes a third more
/// instructions and saves some thirty bytes of a request.
fn word_starts(plain: &[u8]) -> impl Iterator<Item = usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    let (eights, _) = plain.as_chunks();
    eights.iter().enumerate().flat_map(|(n, eight)| {
        let bytes = u64::from_le_bytes(*eight);
        // The high bit of every byte that is below, and of some behind them that are not, which does no harm.
        let mut below = bytes.wrapping_sub(ONES * u64::from(b'0')) & !bytes & HIGHS;
        std::iter::from_fn(move || {
            let place = below.trailing_zeros() as usize / 8;
            below &= below.wrapping_sub(1);
            (place < 8).then_some(n * 8 + place + 1)
        })
    })
}

/// How far the two are the same, as far as that can be said behind [`REPEAT_MIN`] bytes.
#[inline]
fn same(one: &[u8], other: &[u8]) -> usize {
    let most = one.len().min(other.len()).min(REPEAT_MAX - REPEAT_MIN);
    let (one, one_rest) = one[..most].as_chunks();
    let (other, other_rest) = other[..most].as_chunks();
    for (at, (a, b)) in one.iter().zip(other).enumerate() {
        let differs = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differs != 0 {
            return at * 8 + differs.trailing_zeros() as usize / 8;
        }
    }
    one.len() * 8 + one_rest.iter().zip(other_rest).take_while(|(a, b)| a == b).count()
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
    out: &'a mut [u8],
    /// Where the next byte goes.
    at: usize,
    /// Fewer than 8 between two codes; none has more than 18.
    held: u64,
    count: u32,
}

impl Bits<'_> {
    #[inline]
    fn put(&mut self, code: Code) {
        self.held |= u64::from(code.bits) << self.count;
        self.count += u32::from(code.count);
        // Also what is not whole yet: the next code writes over it. That costs less than to ask.
        self.out[self.at..][..8].copy_from_slice(&self.held.to_le_bytes());
        let whole = self.count / 8;
        self.at += whole as usize;
        self.held >>= whole * 8;
        self.count %= 8;
    }

    /// Byte for byte. The codes of ASCII are numbers of eight bits that follow each other: they are made and written
    /// eight at a time.
    #[inline]
    fn put_plain(&mut self, text: &[u8]) {
        let (eights, rest) = text.as_chunks();
        for eight in eights {
            let plain = u64::from_le_bytes(*eight);
            if plain & 0x8080_8080_8080_8080 == 0 {
                let codes = plain + 0x3030_3030_3030_3030;
                self.put_eight(codes.reverse_bits().swap_bytes());
            } else {
                eight.iter().for_each(|byte| self.put(LITERALS[*byte as usize]));
            }
        }
        rest.iter().for_each(|byte| self.put(LITERALS[*byte as usize]));
    }

    #[inline]
    fn put_eight(&mut self, bits: u64) {
        let written = self.held | bits << self.count;
        self.out[self.at..][..8].copy_from_slice(&written.to_le_bytes());
        self.at += 8;
        // In two steps, for there may be nothing held.
        self.held = bits >> 1 >> (63 - self.count);
    }

    /// How many bytes there are.
    fn finish(self) -> usize {
        self.at + usize::from(self.count > 0)
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
            comes_back(&vec![b'/'; length]);
            // All bytes once, then the first ones again.
            let all: Vec<u8> = (0..=255).chain(0..=255).take(256 + length.min(256)).collect();
            comes_back(&all);
        }
        for gap in 0..SHORT_BYTES_MAX - 18 {
            let noise = (0..gap as u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8);
            let far: Vec<u8> = b"-harvest!".iter().copied().chain(noise).collect();
            comes_back(&[&far[..], b"-harvest!"].concat());
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
