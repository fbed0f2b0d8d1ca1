//! A 64-bit fingerprint of a text's words: near duplicates differ in few bits.
//!
//! Charikar's simhash as Manku et al. used it for crawling (WWW 2007), over shingles of three words.
//! Words are hashed once and combined; the 64 counters are bit-sliced, so adding a shingle is a short
//! carry chain instead of 64 additions. Letters are compared without ASCII case. Scripts written
//! without spaces (kana, Han, Hangul) count each character as a word.

/// Bit `i` of plane `p` is bit `p` of the counter of hash bit `i`: counts up to 2^32 shingles.
const PLANES: usize = 32;

/// 0 for a text without words.
pub fn simhash(text: &str) -> u64 {
    let mut counters = Counters::default();
    let mut shingle = Shingle::default();
    let bytes = text.as_bytes();
    let mut start = 0;
    for end in memchr::memchr2_iter(b' ', b'\n', bytes).chain([bytes.len()]) {
        let word = &bytes[start..end];
        start = end + 1;
        if word.is_empty() {
            continue;
        }
        if word.iter().any(|&b| b >= UNSPACED_LEAD) {
            for piece in unspaced_words(word) {
                shingle.push(hash_word(piece), &mut counters);
            }
        } else {
            shingle.push(hash_word(word), &mut counters);
        }
    }
    shingle.finish(&mut counters);
    counters.majority()
}

/// Bits in which two fingerprints differ; up to 3 of 64 mean near duplicates (Manku et al.).
pub fn simhash_distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

/// UTF-8 lead byte from which characters (U+3000 and up) are words of their own.
const UNSPACED_LEAD: u8 = 0xe3;

/// Characters of unspaced scripts one by one, what is between them as it is.
fn unspaced_words(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_lead = |b: u8| b >= UNSPACED_LEAD;
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let length = if is_lead(first) {
            if first >= 0xf0 { 4 } else { 3 }
        } else {
            rest.iter().position(|&b| is_lead(b)).unwrap_or(rest.len())
        };
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        Some(piece)
    })
}

/// The last words seen, combined as they come.
#[derive(Default)]
struct Shingle {
    before: u64,
    last: u64,
    words: u32,
}

impl Shingle {
    #[inline]
    fn push(&mut self, word: u64, counters: &mut Counters) {
        self.words += 1;
        if self.words >= 3 {
            counters.add(mix(self.before.rotate_left(41) ^ self.last.rotate_left(17) ^ word));
        }
        self.before = self.last;
        self.last = word;
    }

    /// A text of one or two words is one shingle.
    fn finish(&self, counters: &mut Counters) {
        if matches!(self.words, 1 | 2) {
            counters.add(mix(self.before.rotate_left(17) ^ self.last));
        }
    }
}

/// 64 counters, one per bit of the hashes added.
struct Counters {
    planes: [u64; PLANES],
    added: u32,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { planes: [0; PLANES], added: 0 }
    }
}

impl Counters {
    /// Adds 1 to the counter of each bit that is set: a binary addition for all 64 at once, whose carry
    /// dies after two planes on average.
    #[inline]
    fn add(&mut self, hash: u64) {
        self.added += 1;
        let mut carry = hash;
        for plane in &mut self.planes {
            let next = *plane & carry;
            *plane ^= carry;
            carry = next;
            if carry == 0 {
                break;
            }
        }
    }

    /// The bits set in more than half of what was added.
    fn majority(&self) -> u64 {
        (0..64).fold(0, |bits, bit| {
            let count = self
                .planes
                .iter()
                .enumerate()
                .fold(0u64, |count, (p, plane)| count | ((plane >> bit & 1) << p));
            bits | (u64::from(count * 2 > u64::from(self.added)) << bit)
        })
    }
}

/// Eight bytes at a time, ASCII letters without case.
#[inline]
fn hash_word(word: &[u8]) -> u64 {
    let mut hash = word.len() as u64;
    let (eights, tail) = word.as_chunks::<8>();
    for eight in eights {
        hash = fold(hash ^ without_case(u64::from_le_bytes(*eight)));
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
        hash = fold(hash ^ without_case(last));
    }
    hash
}

#[inline]
fn without_case(bytes: u64) -> u64 {
    bytes | 0x2020_2020_2020_2020
}

/// A multiplication of which both halves count.
#[inline]
fn fold(bits: u64) -> u64 {
    let wide = u128::from(bits ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
    (wide >> 64) as u64 ^ wide as u64
}

#[inline]
fn mix(bits: u64) -> u64 {
    fold(bits ^ 0xe703_7ed1_a0b4_28db)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Counters, simhash, simhash_distance};

    fn essay(words: usize) -> Vec<String> {
        (0..words).map(|i| format!("w{}", (i * 7919 + i * i * 31) % 997)).collect()
    }

    #[test]
    fn near_duplicates_are_near_and_others_far() {
        let words = essay(600);
        let one = simhash(&words.join(" "));
        let distances = (0..20).map(|i| {
            let mut changed = words.clone();
            changed[i * 30] = "changed".to_owned();
            simhash_distance(one, simhash(&changed.join(" ")))
        });
        // Three of 598 shingles change: a few of the counters near the middle tip over.
        assert!(distances.sum::<u32>() <= 20 * 4);
        let other: Vec<_> = (0..600).map(|i| format!("v{}", i * 31 % 613)).collect();
        assert!(simhash_distance(one, simhash(&other.join(" "))) >= 16);
    }

    #[test]
    fn unrelated_texts_differ_in_about_half_the_bits() {
        let hashes: Vec<u64> = (0..40u64)
            .map(|t| {
                simhash(
                    &(0..200u64).map(|i| format!("t{t}x{}", i * i)).collect::<Vec<_>>().join(" "),
                )
            })
            .collect();
        let pairs =
            hashes.iter().enumerate().flat_map(|(i, a)| hashes[..i].iter().map(move |b| (a, b)));
        let distances: Vec<u32> = pairs.map(|(a, b)| simhash_distance(*a, *b)).collect();
        let mean = f64::from(distances.iter().sum::<u32>()) / distances.len() as f64;
        assert!((28.0..36.0).contains(&mean), "{mean}");
    }

    #[test]
    fn case_and_line_ends_do_not_matter_but_order_does() {
        assert_eq!(simhash("The Quick brown fox"), simhash("the quick\nbrown FOX"));
        assert_ne!(simhash("one two three four five"), simhash("five four three two one"));
        assert_eq!(simhash(""), 0);
        assert_ne!(simhash("one"), simhash("two"));
    }

    #[test]
    fn a_text_without_spaces_is_near_its_near_duplicate() {
        let text: String =
            (0..400u32).filter_map(|i| char::from_u32(0x4e00 + i * i % 5000)).collect();
        let changed = text.replacen(text.chars().nth(200).expect("400 characters"), "変", 1);
        assert_ne!(text, changed);
        assert!(simhash_distance(simhash(&text), simhash(&changed)) <= 6);
    }

    proptest! {
        #[test]
        fn sliced_counters_count_as_64_plain_ones(hashes in prop::collection::vec(any::<u64>(), 0..100)) {
            let mut counters = Counters::default();
            hashes.iter().for_each(|&hash| counters.add(hash));
            let expected = (0..64).fold(0u64, |bits, bit| {
                let set = hashes.iter().filter(|&&hash| hash >> bit & 1 == 1).count();
                bits | (u64::from(set * 2 > hashes.len()) << bit)
            });
            prop_assert_eq!(counters.majority(), expected);
        }

        #[test]
        fn any_text_has_a_fingerprint(text in "[ a-zA-Zé漢かな\u{10348}\n]{0,80}") {
            simhash(&text);
        }
    }
}
