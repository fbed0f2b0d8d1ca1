//! Two digests in hardly more than the time of one.
//!
//! A record names the digests of its payload and of its block, which is a head and, nearly always, the same payload. SHA-1
//! is one chain in which each step waits for the one before; a processor that has instructions for it has room for a
//! second chain meanwhile. Where there are none, one comes after the other.

use sha1::block_api::compress;

use super::digest::sha1;

type State = [u32; 5];

/// Bytes of which one step is made.
const BLOCK: usize = 64;
type Block = [u8; BLOCK];

/// FIPS 180-4, 5.3.1.
const START: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Digests of `payload`, and of `head` and `body` as if they were one.
pub fn sha1_pair(payload: &[u8], [head, body]: [&[u8]; 2]) -> ([u8; 20], [u8; 20]) {
    if body.len() < BLOCK {
        return (sha1(&[payload]), sha1(&[head, body]));
    }
    let (mut one, mut two) = (START, START);
    let taken = begin(&mut two, head, body);
    let (whole, _) = payload.as_chunks();
    let (other, _) = body[taken..].as_chunks();
    let both = whole.len().min(other.len());
    compress_two([&mut one, &mut two], [&whole[..both], &other[..both]]);
    let rests = [&payload[both * BLOCK..], &body[taken + both * BLOCK..]];
    (finish(one, rests[0], payload.len()), finish(two, rests[1], head.len() + body.len()))
}

/// Takes the head, and as much of the body as makes its last block whole; how much that is.
fn begin(state: &mut State, head: &[u8], body: &[u8]) -> usize {
    let (blocks, rest) = head.as_chunks();
    compress(state, blocks);
    if rest.is_empty() {
        return 0;
    }
    let taken = BLOCK - rest.len();
    let mut block: Block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()..].copy_from_slice(&body[..taken]);
    compress(state, &[block]);
    taken
}

/// Takes the rest and what follows the last byte: a one, noughts, and the number of bits (FIPS 180-4, 5.1.1).
fn finish(mut state: State, rest: &[u8], bytes: usize) -> [u8; 20] {
    let (blocks, rest) = rest.as_chunks();
    compress(&mut state, blocks);
    let mut last = [0; 2 * BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let end = if rest.len() + 9 <= BLOCK { BLOCK } else { 2 * BLOCK };
    last[end - 8..end].copy_from_slice(&(bytes as u64 * 8).to_be_bytes());
    compress(&mut state, last[..end].as_chunks().0);
    let mut digest = [0; 20];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// As many blocks of the one as of the other.
fn compress_two(states: [&mut State; 2], blocks: [&[Block]; 2]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sha")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("sse4.1")
    {
        #[allow(unsafe_code)]
        // SAFETY: the processor was just asked for what the function needs.
        return unsafe { x86::compress_two(states, blocks) };
    }
    for (state, blocks) in states.into_iter().zip(blocks) {
        compress(state, blocks);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_extract_epi32, _mm_loadu_si128, _mm_set_epi32, _mm_set_epi64x,
        _mm_sha1msg1_epu32, _mm_sha1msg2_epu32, _mm_sha1nexte_epu32, _mm_sha1rnds4_epu32,
        _mm_shuffle_epi8, _mm_xor_si128,
    };

    use super::{Block, State};

    /// One of the two chains within a block: the last four words of the schedule, the state, and that of four rounds
    /// before.
    #[derive(Clone, Copy)]
    struct Chain {
        words: [__m128i; 4],
        now: __m128i,
        before: __m128i,
    }

    impl Chain {
        #[inline]
        #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
        fn begin(abcd: __m128i, e: __m128i, block: &Block) -> Chain {
            let words = words_of(block);
            let now = _mm_sha1rnds4_epu32::<0>(abcd, _mm_add_epi32(e, words[0]));
            Chain { words, now, before: abcd }
        }

        /// Four rounds with words that are there.
        #[inline]
        #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
        fn rounds<const PART: i32>(&mut self, at: usize) {
            let with_words = _mm_sha1nexte_epu32(self.before, self.words[at % 4]);
            self.before = self.now;
            self.now = _mm_sha1rnds4_epu32::<PART>(self.now, with_words);
        }

        /// Four rounds with words made of those of the sixteen before.
        #[inline]
        #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
        fn go_on<const PART: i32>(&mut self, at: usize) {
            let old = |back: usize| self.words[(at + 4 - back) % 4];
            let mixed = _mm_xor_si128(_mm_sha1msg1_epu32(old(4), old(3)), old(2));
            self.words[at % 4] = _mm_sha1msg2_epu32(mixed, old(1));
            self.rounds::<PART>(at);
        }
    }

    /// Written out, so that everything stays in registers; chain by chain, so that neither waits.
    macro_rules! both {
        ($chains:ident, $step:ident, $part:literal: $($at:literal)*) => {
            $($chains[0].$step::<$part>($at); $chains[1].$step::<$part>($at);)*
        };
    }

    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    pub(super) fn compress_two(states: [&mut State; 2], blocks: [&[Block]; 2]) {
        let [mut abcd, mut e] = [[_mm_set_epi32(0, 0, 0, 0); 2]; 2];
        for (lane, state) in states.iter().enumerate() {
            let [a, b, c, d, last] = state.map(|word| word as i32);
            (abcd[lane], e[lane]) = (_mm_set_epi32(a, b, c, d), _mm_set_epi32(last, 0, 0, 0));
        }
        for (one, two) in blocks[0].iter().zip(blocks[1]) {
            let mut chains = [Chain::begin(abcd[0], e[0], one), Chain::begin(abcd[1], e[1], two)];
            both!(chains, rounds, 0: 1 2 3);
            both!(chains, go_on, 0: 4);
            both!(chains, go_on, 1: 5 6 7 8 9);
            both!(chains, go_on, 2: 10 11 12 13 14);
            both!(chains, go_on, 3: 15 16 17 18 19);
            for lane in 0..2 {
                abcd[lane] = _mm_add_epi32(abcd[lane], chains[lane].now);
                e[lane] = _mm_sha1nexte_epu32(chains[lane].before, e[lane]);
            }
        }
        for (lane, state) in states.into_iter().enumerate() {
            *state = [
                _mm_extract_epi32::<3>(abcd[lane]),
                _mm_extract_epi32::<2>(abcd[lane]),
                _mm_extract_epi32::<1>(abcd[lane]),
                _mm_extract_epi32::<0>(abcd[lane]),
                _mm_extract_epi32::<3>(e[lane]),
            ]
            .map(|word| word as u32);
        }
    }

    /// Words are written highest byte first, and the instructions want the first of four highest: all 16 bytes turn round.
    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn words_of(block: &Block) -> [__m128i; 4] {
        let turned = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let (quarters, _) = block.as_chunks::<16>();
        [0, 1, 2, 3].map(|at| {
            #[allow(unsafe_code)]
            // SAFETY: 16 bytes are there, and any bytes will do, wherever they lie.
            let quarter = unsafe { _mm_loadu_si128(quarters[at].as_ptr().cast()) };
            _mm_shuffle_epi8(quarter, turned)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_length_has_the_digest_of_the_library() {
        let bytes: Vec<u8> =
            (0..1_000u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        for length in 0..400 {
            for head in [0, 1, 55, 56, 63, 64, 65, 200] {
                let (payload, head) = (&bytes[..length], &bytes[..head]);
                let expected = (sha1(&[payload]), sha1(&[head, payload]));
                assert_eq!(sha1_pair(payload, [head, payload]), expected, "{length}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_two_texts_have_the_digests_of_the_library(
            payload in prop::collection::vec(any::<u8>(), 0..2_000),
            head in prop::collection::vec(any::<u8>(), 0..300),
            body in prop::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let expected = (sha1(&[&payload]), sha1(&[&head, &body]));
            prop_assert_eq!(sha1_pair(&payload, [&head, &body]), expected);
        }
    }
}
