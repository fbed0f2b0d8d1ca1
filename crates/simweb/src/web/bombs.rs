//! Small bodies that unpack to very many bytes, and codings that are broken: written by hand, as no honest
//! coder makes them.

use std::io::Write;

use flate2::{Compression, write::DeflateEncoder};

/// A megabyte of zeros in deflate, without an end, so that copies of it can follow each other.
pub(super) fn deflate_block() -> Vec<u8> {
    let mut coder = DeflateEncoder::new(Vec::new(), Compression::best());
    coder.write_all(&vec![0u8; 1 << 20]).expect("writing to memory cannot fail");
    // A sync flush ends the block on a byte.
    coder.flush().expect("writing to memory cannot fail");
    coder.get_ref().clone()
}

/// RFC 1950: a head, the blocks, an empty last block and the Adler checksum of zeros.
pub(super) fn zlib(megabytes: u32) -> Vec<u8> {
    let mut body = vec![0x78, 0xda];
    body.extend(deflate_block().repeat(megabytes as usize));
    body.extend_from_slice(&[3, 0]);
    // The first sum stays 1, the second counts the bytes.
    let second = (u64::from(megabytes) << 20) % 65_521;
    body.extend_from_slice(&((second as u32) << 16 | 1).to_be_bytes());
    body
}

/// RFC 8878: one frame of blocks of one byte repeated, 128 KB each.
pub(super) fn zstd(megabytes: u32) -> Vec<u8> {
    const BLOCK_BYTES: u32 = 128 * 1024;
    // A window of 1 MB: ten bits and ten more.
    let mut body = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    let blocks = megabytes * 8;
    for block in 0..blocks {
        let last = u32::from(block + 1 == blocks);
        let head = BLOCK_BYTES << 3 | 1 << 1 | last;
        body.extend_from_slice(&head.to_le_bytes()[..3]);
        body.push(0);
    }
    body
}

/// A frame with a window of 128 MB around a few words.
pub(super) fn zstd_with_large_window(text: &[u8]) -> Vec<u8> {
    let mut body = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3];
    let head = (text.len() as u32) << 3 | 1;
    body.extend_from_slice(&head.to_le_bytes()[..3]);
    body.extend_from_slice(text);
    body
}

/// RFC 7932: each block of 16 MB is one literal, inserted as often as a block can be long.
pub(super) fn brotli(blocks: u32) -> Vec<u8> {
    /// All of a block: what the insert length code 23 begins at, and its extra bits.
    const BLOCK_BYTES: u64 = 1 << 24;
    const INSERT_FROM: u64 = 22_594;
    let mut bits = Bits::default();
    // A window of 16 bits.
    bits.put(0, 1);
    for _ in 0..blocks {
        // Not the last, six nibbles of length, coded.
        bits.put(0, 1);
        bits.put(2, 2);
        bits.put(BLOCK_BYTES - 1, 24);
        bits.put(0, 1);
        // One type of block each, plain distances, one context mode, one tree each.
        bits.put(0, 13);
        // Trees of a single symbol: literal 0, the command with that insert length, distance 0.
        for (symbol, width) in [(0, 8), (504, 10), (0, 6)] {
            bits.put(1, 4);
            bits.put(symbol, width);
        }
        bits.put(BLOCK_BYTES - INSERT_FROM, 24);
    }
    // Last and empty.
    bits.put(3, 2);
    bits.put(0, 8);
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
}
