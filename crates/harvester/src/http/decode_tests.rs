//! What decoding promises, over every coding and every way of cutting the input.

use std::io::Write;

use model::Headers;
use proptest::prelude::*;

use super::*;

const LIMIT: u64 = 2 << 20;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 1).unwrap()
}

/// Brotli (RFC 7932) of uncompressed meta-blocks: window of 16 bits, blocks of up to 64 KB, an empty last.
fn brotli(data: &[u8]) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0, 1);
    for block in data.chunks(65_536) {
        bits.put(0, 1);
        bits.put(0, 2);
        bits.put(block.len() as u64 - 1, 16);
        bits.put(1, 1);
        bits.align();
        bits.bytes.extend_from_slice(block);
    }
    bits.put(3, 2);
    bits.align();
    bits.bytes
}

/// Brotli of `count` zeros: each meta-block is one literal copied 16 MB long, in a few bytes.
fn brotli_bomb(blocks: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0, 1);
    for _ in 0..blocks {
        bits.put(0, 1);
        bits.put(2, 2);
        bits.put((1 << 24) - 1, 24);
        bits.put(0, 1);
        // One block type each for literals, commands and distances; no postfix, no direct distances.
        bits.put(0, 3);
        bits.put(0, 6);
        // Literal context mode, one literal tree, one distance tree.
        bits.put(0, 2);
        bits.put(0, 2);
        // Literal code: simple, one symbol, 0.
        bits.put(0b0001, 4);
        bits.put(0, 8);
        // Command code: simple, one symbol: insert length code 23, copy length code 0 (8 + 56 * 8).
        bits.put(0b0001, 4);
        bits.put(504, 10);
        // Distance code: simple, one symbol, 0.
        bits.put(0b0001, 4);
        bits.put(0, 6);
        // Insert length 22594 + 24 extra bits, all of the block.
        bits.put((1 << 24) - 22_594, 24);
    }
    bits.put(3, 2);
    bits.align();
    bits.bytes
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }
}

fn decode(codings: &[Coding], wire: &[u8], pieces: usize) -> Decoded {
    let mut decoder = Decoder::new(codings, LIMIT, 100);
    let mut full = false;
    for piece in wire.chunks(pieces.max(1)) {
        match decoder.push(piece) {
            Flow::Go => {}
            Flow::Full => {
                full = true;
                break;
            }
            Flow::Broken => break,
            Flow::NeedsMemory => panic!("it was not limited"),
        }
    }
    let decoded = decoder.finish(wire);
    if full { Decoded { end: Flow::Full, ..decoded } } else { decoded }
}

fn page() -> Vec<u8> {
    (0..4_000).flat_map(|n| format!("<p>line {n} of a page</p>\n").into_bytes()).collect()
}

#[test]
fn every_coding_is_undone_however_the_bytes_are_cut() {
    let page = page();
    let cases: [(Coding, Vec<u8>); 5] = [
        (Coding::Gzip, gzip(&page)),
        (Coding::Deflate, zlib(&page)),
        (Coding::Deflate, deflate(&page)),
        (Coding::Brotli, brotli(&page)),
        (Coding::Zstd, zstd(&page)),
    ];
    for (coding, wire) in cases {
        for pieces in [1, 2, 3, 5, 1_000, wire.len()] {
            let decoded = decode(&[coding], &wire, pieces);
            assert_eq!(decoded.end, Flow::Go, "{coding:?} by {pieces}");
            assert!(decoded.body == page, "{coding:?} by {pieces}");
        }
    }
}

#[test]
fn two_codings_are_undone_and_three_are_refused() {
    let wire = gzip(&zstd(&page()));
    let decoded = decode(&[Coding::Gzip, Coding::Zstd], &wire, 7);
    assert!(decoded.body == page() && decoded.end == Flow::Go);
    let decoded = decode(&[Coding::Gzip; 3], &gzip(&gzip(&gzip(b"x"))), 100);
    assert_eq!((decoded.body.len(), decoded.end), (0, Flow::Broken));
}

#[test]
fn bombs_are_cut_at_the_limit() {
    let zeros = vec![0u8; 64 << 20];
    let cases = [
        (Coding::Gzip, gzip(&zeros)),
        (Coding::Zstd, zstd(&zeros)),
        (Coding::Brotli, brotli_bomb(64)),
    ];
    for (coding, wire) in cases {
        let mut decoder = Decoder::new(&[coding], LIMIT, u32::MAX);
        assert_eq!(decoder.push(&wire), Flow::Full, "{coding:?}");
        assert_eq!(decoder.finish(&wire).body.len() as u64, LIMIT, "{coding:?}");
        let mut decoder = Decoder::new(&[coding], u64::MAX, 10);
        assert_eq!(
            decoder.push(&wire[..wire.len().min(100_000)]),
            Flow::Full,
            "{coding:?} by ratio"
        );
        let size = decoder.finish(&wire).body.len();
        assert!(size > 1 << 20 && size < 2 << 20, "{coding:?}: {size}");
    }
}

/// Counted as if nothing that was outgrown were ever given back.
#[test]
fn all_room_made_for_a_body_is_its_limit_and_a_megabyte_at_most() {
    for limit in [1_000, 100_000, 2_000_000, 4_000_000] {
        let mut out = Out {
            bytes: Vec::new(),
            wire: 1,
            body_bytes_max: limit,
            free_bytes: usize::MAX,
            ratio_max: u32::MAX,
            bomb: false,
        };
        let mut rooms = vec![0];
        let mut flow = Flow::Go;
        while flow == Flow::Go {
            flow = out.take(&[b'x'; STEP_BYTES]);
            if rooms.last() != Some(&out.bytes.capacity()) {
                rooms.push(out.bytes.capacity());
            }
        }
        assert_eq!(out.bytes.len() as u64, limit);
        let sum = rooms.iter().sum::<usize>() as u64;
        assert!(sum <= limit + (1 << 20), "{limit}: {rooms:?}");
        assert!(rooms.len() <= 7, "{limit}: {rooms:?}");
    }
}

#[test]
fn a_body_of_exactly_the_limit_is_whole() {
    let body = vec![b'x'; LIMIT as usize];
    let mut decoder = Decoder::new(&[Coding::Gzip], LIMIT, u32::MAX);
    let wire = gzip(&body);
    assert_eq!(decoder.push(&wire), Flow::Go);
    let decoded = decoder.finish(&wire);
    assert!(decoded.end == Flow::Go && decoded.body == body);
}

#[test]
fn cut_and_damaged_streams_keep_what_could_be_decoded() {
    let page = page();
    for (coding, wire) in [
        (Coding::Gzip, gzip(&page)),
        (Coding::Deflate, zlib(&page)),
        (Coding::Brotli, brotli(&page)),
        (Coding::Zstd, zstd(&page)),
    ] {
        let decoded = decode(&[coding], &wire[..wire.len() * 3 / 4], 1_000);
        assert_eq!(decoded.end, Flow::Broken, "{coding:?}");
        assert!(page.starts_with(&decoded.body), "{coding:?}");
    }
    let mut wire = gzip(&page);
    let crc = wire.len() - 6;
    wire[crc] ^= 0xff;
    let decoded = decode(&[Coding::Gzip], &wire, 1_000);
    assert!(decoded.end == Flow::Broken && decoded.body == page, "a wrong checksum is said");
}

#[test]
fn what_is_not_coded_is_taken_as_it_is() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let decoded = decode(&[coding], b"<html>plain</html>", 3);
        assert_eq!((decoded.body.as_slice(), decoded.end), (&b"<html>plain</html>"[..], Flow::Go));
        let decoded = decode(&[coding], b"hi", 1);
        assert_eq!((decoded.body.as_slice(), decoded.end), (&b"hi"[..], Flow::Go));
        assert_eq!(decode(&[coding], b"", 1).end, Flow::Go, "nothing coded is nothing");
    }
    let decoded = decode(&[Coding::Brotli], b"<html>plain</html>", 100);
    assert_eq!((decoded.body.as_slice(), decoded.end), (&b"<html>plain</html>"[..], Flow::Broken));
}

#[test]
fn further_members_are_read_and_junk_after_the_end_is_passed_over() {
    let mut wire = gzip(b"one ");
    wire.extend(gzip(b"two"));
    for pieces in [1, 9, 1_000] {
        let decoded = decode(&[Coding::Gzip], &wire, pieces);
        assert_eq!((decoded.body.as_slice(), decoded.end), (&b"one two"[..], Flow::Go), "{pieces}");
    }
    for (coding, wire) in [(Coding::Gzip, gzip(b"x")), (Coding::Zstd, zstd(b"x"))] {
        for pieces in [1, 1_000] {
            let junk = [wire.as_slice(), b"\0\0\0\0junk"].concat();
            let decoded = decode(&[coding], &junk, pieces);
            assert_eq!((decoded.body.as_slice(), decoded.end), (&b"x"[..], Flow::Go), "{coding:?}");
        }
    }
}

#[test]
fn a_zstd_window_above_8_mb_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(25).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(&page()).unwrap();
    let wire = encoder.finish().unwrap();
    let decoded = decode(&[Coding::Zstd], &wire, 1_000);
    assert_eq!((decoded.body.len(), decoded.end), (0, Flow::Broken));
}

#[test]
fn the_header_names_the_codings_last_first() {
    let codings = |value: &str| {
        let mut headers = Headers::new();
        headers.push("Content-Encoding", value);
        codings_of(&headers)
    };
    assert_eq!(codings("gzip, br"), Some(vec![Coding::Brotli, Coding::Gzip]));
    assert_eq!(codings("X-GZIP"), Some(vec![Coding::Gzip]));
    for none in ["", "identity", "UTF-8", "none", "aws-chunked"] {
        assert_eq!(codings(none), None, "{none}");
    }
}

proptest! {
    #[test]
    fn any_bytes_end_within_the_limit(
        bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
        start in 0..4usize,
        pieces in 1..300usize,
    ) {
        let marks: [&[u8]; 4] = [&[], &[0x1f, 0x8b, 8, 0], &[0x78, 0x9c], &[0x28, 0xb5, 0x2f, 0xfd]];
        let wire = [marks[start], &bytes].concat();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let decoded = decode(&[coding, Coding::Gzip], &wire, pieces);
            prop_assert!(decoded.body.len() as u64 <= LIMIT);
        }
    }
}
