//! A 64-bit fingerprint of a text's words: near duplicates differ in few bits.
//!
//! Charikar's simhash as Manku et al. used it for crawling (WWW 2007), over shingles of three
//! words. Letters are compared without ASCII case. Scripts written without spaces (kana, Han,
//! Hangul) count each character as a word. Digits count for nothing: pages that differ by a counter,
//! a date or a price are the same, however short they are.
//!
//! Made to be cheap. Where words end cannot be foreseen by a processor, so the loop over bytes has
//! no branch: each byte goes into the running hash, and a space stores it. The 64 counters are
//! bit-sliced, so that adding a shingle is one binary addition for all 64 at once.

/// 0 for a text without words.
pub fn simhash(text: &str) -> u64 {
    let mut counters = Counters::default();
    let mut shingle = Shingle::default();
    let bytes = &text.as_bytes()[..text.len().min(READ_MAX)];
    if bytes.iter().any(|&b| b >= UNSPACED_LEAD) {
        for word in bytes.split(|&b| is_space(b)) {
            let hashes = unspaced_words(word).map(hash_word).filter(|&hash| hash != 0);
            hashes.for_each(|hash| shingle.push(hash, &mut counters));
        }
    } else {
        each_word(bytes, |word| shingle.push(word, &mut counters));
    }
    shingle.finish(&mut counters);
    counters.majority()
}

/// Whether the text has at least so many words that count. Stops there.
pub fn has_words(text: &str, least: usize) -> bool {
    let counts = |word: &&[u8]| word.iter().any(|byte| !byte.is_ascii_digit());
    let words = text.as_bytes().split(|&b| is_space(b)).flat_map(unspaced_words);
    words.filter(|word| !word.is_empty()).filter(counts).take(least).count() == least
}

/// Bits in which two fingerprints differ; up to 3 of 64 mean near duplicates (Manku et al.).
pub fn simhash_distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

/// So much of a text is looked at, some forty thousand words: whether two texts are alike shows long before, and bodies
/// without end are mostly text.
const READ_MAX: usize = 256 << 10;

/// Bytes whose words are collected before they are used.
const BLOCK: usize = 64;

/// Hands the hash of each word to `push`.
fn each_word(bytes: &[u8], mut push: impl FnMut(u64)) {
    let mut words = [0u64; BLOCK];
    let mut hash = 0u64;
    for block in bytes.chunks(BLOCK) {
        let mut ended = 0;
        for &byte in block {
            let space = is_space(byte);
            // At most one word a byte ends, so this stays inside; without a space it is
            // overwritten.
            words[ended % BLOCK] = hash;
            ended += usize::from(space & (hash != 0));
            let keep = u64::from(space).wrapping_sub(1);
            hash = add_byte(hash, byte) & keep;
        }
        words[..ended].iter().for_each(|&word| push(word));
    }
    if hash != 0 {
        push(hash);
    }
}

fn hash_word(word: &[u8]) -> u64 {
    word.iter().fold(0, |hash, &byte| add_byte(hash, byte))
}

/// Seven bits a byte: nine ASCII letters before they overlap; [`mix`] does the mixing.
#[inline]
fn add_byte(hash: u64, byte: u8) -> u64 {
    let with = hash.rotate_left(7) ^ u64::from(byte | 0x20);
    if byte.is_ascii_digit() { hash } else { with }
}

#[inline]
fn is_space(byte: u8) -> bool {
    (byte == b' ') | (byte == b'\n')
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
            counters.add(mix(self.before.rotate_left(41) ^ self.last.rotate_left(19) ^ word));
        }
        self.before = self.last;
        self.last = word;
    }

    /// A text of one or two words is one shingle.
    fn finish(&self, counters: &mut Counters) {
        if matches!(self.words, 1 | 2) {
            counters.add(mix(self.before.rotate_left(19) ^ self.last));
        }
    }
}

/// 64 counters, one per bit of the hashes added.
struct Counters {
    /// Bit `i` of plane `p` is bit `p` of counter `i`, for what was added last …
    planes: [u64; PLANES],
    in_planes: u32,
    /// … and what was added before.
    sums: [u32; 64],
    added: u32,
}

/// Eight planes count to 255 before they are emptied into the sums.
const PLANES: usize = 8;

impl Default for Counters {
    fn default() -> Counters {
        Counters { planes: [0; PLANES], in_planes: 0, sums: [0; 64], added: 0 }
    }
}

impl Counters {
    /// Adds 1 to the counter of each bit that is set.
    #[inline]
    fn add(&mut self, hash: u64) {
        let mut carry = hash;
        for plane in &mut self.planes {
            let next = *plane & carry;
            *plane ^= carry;
            carry = next;
        }
        self.in_planes += 1;
        if self.in_planes == (1 << PLANES) - 1 {
            self.empty_planes();
        }
    }

    fn empty_planes(&mut self) {
        for (p, plane) in self.planes.iter_mut().enumerate() {
            for (bit, sum) in self.sums.iter_mut().enumerate() {
                *sum += ((*plane >> bit & 1) as u32) << p;
            }
            *plane = 0;
        }
        self.added += self.in_planes;
        self.in_planes = 0;
    }

    /// The bits set in more than half of what was added.
    fn majority(&mut self) -> u64 {
        self.empty_planes();
        self.sums.iter().enumerate().fold(0, |bits, (bit, &sum)| {
            bits | u64::from(u64::from(sum) * 2 > u64::from(self.added)) << bit
        })
    }
}

/// A multiplication of which both halves count.
#[inline]
fn mix(bits: u64) -> u64 {
    let wide = u128::from(bits ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
    (wide >> 64) as u64 ^ wide as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Counters, READ_MAX, has_words, simhash, simhash_distance};

    /// A number in letters, for digits do not count.
    fn word(number: usize) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
    }

    fn essay(words: usize) -> Vec<String> {
        (0..words).map(|i| format!("w{}", word((i * 7919 + i * i * 31) % 997))).collect()
    }

    #[test]
    fn pages_that_differ_by_a_counter_are_the_same_however_short() {
        let page =
            |n: u32| format!("Month {n}\nNothing happens in month {n} of 2026. next: {}", n + 1);
        assert_eq!(simhash(&page(9)), simhash(&page(10)));
        assert_eq!(simhash("第9章 終わり"), simhash("第10章 終わり"));
        assert_ne!(
            simhash(&page(9)),
            simhash("Month nine\nNothing happens in month nine. next: ten")
        );
        assert_eq!(simhash("1 2 3 4"), 0);
    }

    #[test]
    fn different_things_in_the_same_template_are_seldom_near() {
        let frame = essay(120).join(" ");
        let thing = |t: usize| -> String {
            let said: Vec<String> =
                (0..15).map(|i| format!("p{}", word(t * 1000 + i * i))).collect();
            format!("{} {frame} {} price {t}", said[0], said.join(" "))
        };
        let hashes: Vec<u64> = (0..60).map(|t| simhash(&thing(t))).collect();
        let pairs =
            hashes.iter().enumerate().flat_map(|(i, a)| hashes[..i].iter().map(move |b| (a, b)));
        let near = pairs.filter(|(a, b)| simhash_distance(**a, **b) <= 3).count();
        assert!(near <= 20, "{near} of 1,770 pairs with a tenth of the words differing");
    }

    #[test]
    fn of_a_text_without_end_only_the_beginning_is_looked_at() {
        let page = |text: &str| text.repeat(READ_MAX.div_ceil(text.len()));
        for text in ["and on it goes, for ever ", "終わりなき、"] {
            let long = page(text);
            assert_eq!(simhash(&long), simhash(&(long.clone() + &essay(500).join(" "))));
            assert_ne!(simhash(&long), simhash(&essay(500).join(" ")));
        }
    }

    #[test]
    fn numbers_are_no_words() {
        assert!(has_words("one two 33 three", 3) && !has_words("one two 33 three", 4));
        assert!(has_words("第9章終", 3) && !has_words(" \n 1 2", 1));
        assert!(has_words("", 0));
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
        let other: Vec<_> = (0..600).map(|i| format!("v{}", word(i * 31 % 613))).collect();
        assert!(simhash_distance(one, simhash(&other.join(" "))) >= 16);
    }

    #[test]
    fn unrelated_texts_differ_in_about_half_the_bits() {
        let hashes: Vec<u64> = (0..40usize)
            .map(|t| {
                let word = |i: usize| format!("t{}x{}", word(t), word(i * i));
                simhash(&(0..200).map(word).collect::<Vec<_>>().join(" "))
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
        fn sliced_counters_count_as_64_plain_ones(hashes in prop::collection::vec(any::<u64>(), 0..600)) {
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
