//! A 64-bit fingerprint of a text's words: near duplicates differ in few bits.
//!
//! Charikar's simhash as Manku et al. used it for crawling (WWW 2007), over shingles of three
//! words. Letters are compared without ASCII case. Scripts written without spaces (kana, Han,
//! Hangul) count each character as a word. Digits count for nothing: pages that differ by a counter,
//! a date or a price are the same, however short they are.
//!
//! Made to be cheap: a word is hashed eight bytes at a time, where it ends is found in the same eight
//! bytes without a branch for each, and the 64 counters are bit-sliced, so that adding eight shingles is
//! a few binary additions for all 64 at once. The same words make the skeleton.

/// 0 for a text without words.
pub fn simhash(text: &str) -> u64 {
    WordPrints::of(text).simhash
}

/// What the words of a text, without their digits and their case, leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordPrints {
    /// Near duplicates differ in few bits.
    pub simhash: u64,
    /// The same only where all words are: two months of a calendar. 0 for a text without words.
    pub skeleton: u64,
}

impl WordPrints {
    pub fn of(text: &str) -> WordPrints {
        WordPrints::telling(text, |_| ())
    }

    /// The same; `tell` is told each word without digits, by its hash, and each word with digits as it stands.
    pub fn telling(text: &str, mut tell: impl FnMut(Heard<'_>)) -> WordPrints {
        let mut listener = Listener::default();
        let mut rest = &text.as_bytes()[..text.len().min(READ_MAX)];
        while !rest.is_empty() {
            rest = match short_word(rest) {
                Some((word, behind)) => {
                    if word != 0 {
                        tell(Heard::Word(word));
                        listener.hear(word);
                    }
                    behind
                }
                None => each_word_of_next(rest, &mut |heard| {
                    listener.hear_any(heard);
                    if !matches!(heard, Heard::Rest(_)) {
                        tell(heard);
                    }
                }),
            };
        }
        listener.finish()
    }
}

/// Makes the prints of the words it hears.
#[derive(Default)]
struct Listener {
    counters: Counters,
    shingle: Shingle,
    skeleton: u64,
}

impl Listener {
    /// A word by its hash.
    #[inline(always)]
    fn hear(&mut self, word: u64) {
        self.skeleton = (self.skeleton.rotate_left(9) ^ word).wrapping_mul(WORD_FACTOR);
        self.shingle.push(word, &mut self.counters);
    }

    /// Not worth a place in the loop over short words.
    #[inline(never)]
    fn hear_any(&mut self, heard: Heard<'_>) {
        if let Heard::Word(word) | Heard::Rest(word) = heard {
            self.hear(word);
        }
    }

    fn finish(mut self) -> WordPrints {
        self.shingle.finish(&mut self.counters);
        WordPrints { simhash: self.counters.majority(), skeleton: self.skeleton }
    }
}

/// What is met in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A word without digits, by its hash.
    Word(u64),
    /// What is left of a word without its digits, by its hash.
    Rest(u64),
    /// A word with digits, as it stands.
    Digits(&'a [u8]),
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

/// The hash of the next word and what stands behind it, where the word is shorter than sixteen bytes, needs no closer look
/// and is not near the end: nearly all. 0 where two spaces follow each other. No branch asks whether the word ends within
/// its first eight bytes: two of three do, which is as bad to guess as can be.
#[inline(always)]
fn short_word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (halves, _) = bytes.first_chunk::<16>()?.as_chunks::<8>();
    let [one, two] = [halves[0], halves[1]].map(u64::from_le_bytes);
    let (space, space_behind) = (first_space(one), first_space(two));
    let is_long = space == 0;
    let one = one & if is_long { u64::MAX } else { before_first(space) };
    let two = if is_long { two & before_first(space_behind) } else { 0 };
    if space | space_behind == 0 || odd_bytes(one) | odd_bytes(two) != 0 {
        return None;
    }
    let length =
        if is_long { 8 + space_behind.trailing_zeros() / 8 } else { space.trailing_zeros() / 8 };
    let word = add_piece(0, one);
    let word = if length > 8 { add_piece(word, two) } else { word };
    let word = if length > 0 { word } else { 0 };
    Some((word, &bytes[length as usize + 1..]))
}

/// All bits of the bytes before that of the lowest bit of `space`.
#[inline(always)]
fn before_first(space: u64) -> u64 {
    (space & space.wrapping_neg()).wrapping_sub(1) >> 7
}

/// Hands the next word to `push`: its hash without digits, where there is anything else, and as it stands if it has any.
/// What stands behind it.
#[inline(never)]
fn each_word_of_next<'a>(bytes: &'a [u8], push: &mut dyn FnMut(Heard<'a>)) -> &'a [u8] {
    let Some((word, plain, behind)) = next_word(bytes) else { return &[] };
    match plain {
        Some(0) => {}
        Some(hash) => push(Heard::Word(hash)),
        None => {
            let is_whole = !word.iter().any(u8::is_ascii_digit);
            if !is_whole {
                push(Heard::Digits(word));
            }
            let hashes = unspaced_words(word).map(hash_word).filter(|&hash| hash != 0);
            let heard = if is_whole { Heard::Word } else { Heard::Rest };
            hashes.for_each(|hash| push(heard(hash)));
        }
    }
    behind
}

/// The bytes before the next space, their hash unless they need a closer look (a digit, an unspaced script),
/// and what stands behind the space.
#[inline]
fn next_word(bytes: &[u8]) -> Option<(&[u8], Option<u64>, &[u8])> {
    if bytes.is_empty() {
        return None;
    }
    let (mut hash, mut odd, mut at) = (0u64, 0u64, 0);
    loop {
        let eight = load(&bytes[at..]);
        let space = first_space(eight);
        // 8 when there is none.
        let length = (space.trailing_zeros() / 8) as usize;
        let piece = if length == 8 { eight } else { eight & ((1 << (8 * length)) - 1) };
        odd |= odd_bytes(piece);
        if length > 0 {
            hash = add_piece(hash, piece);
        }
        at += length;
        if length < 8 || at >= bytes.len() {
            let end = at.min(bytes.len());
            let behind = bytes.get(end + 1..).unwrap_or(&[]);
            return Some((&bytes[..end], (odd == 0).then_some(hash), behind));
        }
    }
}

/// The next eight bytes; spaces where there are no more.
#[inline]
fn load(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => {
            let mut eight = [b' '; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(eight)
        }
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);

/// The lowest bit that is set belongs to the first byte that is a space or a line's end.
#[inline]
fn first_space(eight: u64) -> u64 {
    zero_bytes(eight ^ (ONES * b' ' as u64)) | zero_bytes(eight ^ (ONES * b'\n' as u64))
}

/// Not 0 if and only if a byte is zero; the lowest bit that is set belongs to the first of them.
#[inline]
fn zero_bytes(eight: u64) -> u64 {
    eight.wrapping_sub(ONES) & !eight & HIGHS
}

/// Not 0 if a byte may be a digit (0x30 to 0x3f) or begins a character of an unspaced script (0xe0 and up).
#[inline]
fn odd_bytes(piece: u64) -> u64 {
    let digit = zero_bytes((piece & (ONES * 0xf0)) ^ (ONES * 0x30));
    let lead = piece & (piece << 1) & (piece << 2) & HIGHS;
    digit | lead
}

/// The same hash as [`next_word`] makes of bytes without digits.
fn hash_word(word: &[u8]) -> u64 {
    let (mut hash, mut piece, mut filled) = (0, 0u64, 0);
    for &byte in word.iter().filter(|byte| !byte.is_ascii_digit()) {
        piece |= u64::from(byte) << (8 * filled);
        filled += 1;
        if filled == 8 {
            hash = add_piece(hash, piece);
            (piece, filled) = (0, 0);
        }
    }
    if filled > 0 { add_piece(hash, piece) } else { hash }
}

/// Upper and lower case of ASCII letters are the same.
#[inline]
fn add_piece(hash: u64, piece: u64) -> u64 {
    (hash.rotate_left(23) ^ (piece | (ONES * 0x20))).wrapping_mul(WORD_FACTOR)
}

/// Odd, with its bits spread.
const WORD_FACTOR: u64 = 0x9fb2_1c65_1e98_df25;

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

/// The last words seen, combined as they come. What comes again and again ("add to cart" beside every article) counts
/// about once: it would outvote what the page says itself.
struct Shingle {
    before: u64,
    last: u64,
    words: u32,
    /// By the low bits of a shingle its high ones; forgotten when another one needs the place.
    seen: [u32; SEEN],
}

/// More than the different shingles of most pages; 16 KB.
const SEEN: usize = 4_096;

impl Default for Shingle {
    fn default() -> Shingle {
        Shingle { before: 0, last: 0, words: 0, seen: [0; SEEN] }
    }
}

impl Shingle {
    #[inline]
    fn push(&mut self, word: u64, counters: &mut Counters) {
        self.words += 1;
        if self.words >= 3 {
            let shingle = mix(self.before.rotate_left(41) ^ self.last.rotate_left(19) ^ word);
            let place = &mut self.seen[shingle as usize % SEEN];
            let tag = (shingle >> 32) as u32;
            if *place != tag {
                *place = tag;
                counters.add(shingle);
            }
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
    /// What was added last, until there are [`TOGETHER`] of them …
    waiting: [u64; TOGETHER],
    filled: usize,
    /// … bit `i` of plane `p` is bit `p` of counter `i`, for what was added before that …
    planes: [u64; PLANES],
    in_planes: u32,
    /// … and what was added still earlier.
    sums: [u32; 64],
    added: u32,
}

/// Eight at a time need a quarter of the steps that they need one by one.
const TOGETHER: usize = 8;
/// Eight planes count to 255 before they are emptied into the sums.
const PLANES: usize = 8;
const PLANES_HOLD: u32 = (1 << PLANES) - 1;

impl Default for Counters {
    fn default() -> Counters {
        let (waiting, planes) = ([0; TOGETHER], [0; PLANES]);
        Counters { waiting, filled: 0, planes, in_planes: 0, sums: [0; 64], added: 0 }
    }
}

impl Counters {
    /// Adds 1 to the counter of each bit that is set.
    #[inline]
    fn add(&mut self, hash: u64) {
        self.waiting[self.filled] = hash;
        self.filled += 1;
        if self.filled == TOGETHER {
            self.add_waiting();
        }
    }

    /// Carry-save addition: three numbers of one weight make one of it and one of twice the weight.
    fn add_waiting(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let [ones, twos, fours, ..] = self.planes;
        let (ones, two) = add_three(ones, a, b);
        let (ones, two_more) = add_three(ones, c, d);
        let (twos, four) = add_three(twos, two, two_more);
        let (ones, two) = add_three(ones, e, f);
        let (ones, two_more) = add_three(ones, g, h);
        let (twos, four_more) = add_three(twos, two, two_more);
        let (fours, mut carry) = add_three(fours, four, four_more);
        self.planes[..3].copy_from_slice(&[ones, twos, fours]);
        for plane in &mut self.planes[3..] {
            let next = *plane & carry;
            *plane ^= carry;
            carry = next;
        }
        self.in_planes += self.filled as u32;
        (self.waiting, self.filled) = ([0; TOGETHER], 0);
        if self.in_planes + TOGETHER as u32 > PLANES_HOLD {
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
        self.add_waiting();
        self.empty_planes();
        self.sums.iter().enumerate().fold(0, |bits, (bit, &sum)| {
            bits | u64::from(u64::from(sum) * 2 > u64::from(self.added)) << bit
        })
    }
}

/// The sum of three bits, for 64 of them at once: its lower and its upper bit.
#[inline]
fn add_three(a: u64, b: u64, c: u64) -> (u64, u64) {
    let odd = a ^ b;
    (odd ^ c, a & b | odd & c)
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

    use super::{
        Counters, Heard, READ_MAX, WordPrints, each_word_of_next, has_words, hash_word, is_space,
        short_word, simhash, simhash_distance, unspaced_words,
    };

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
    fn a_skeleton_is_the_words_in_their_order_without_digits() {
        let skeleton = |text: &str| WordPrints::of(text).skeleton;
        assert_eq!(skeleton("May 2026: 31 days"), skeleton("May 1999: 30 days"));
        assert_ne!(skeleton("May 2026: 31 days"), skeleton("days May 2026: 31"));
        assert_ne!(skeleton("May 2026: 31 days"), skeleton("June 2026: 31 days"));
        assert_eq!(skeleton("1 2 3"), 0);
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
    fn what_is_repeated_does_not_outvote_what_pages_say_themselves() {
        let story = |n: usize| -> String {
            let said: Vec<String> =
                (0..70).map(|i| format!("s{}", word(n * 7919 + i * i * 31))).collect();
            format!("{} {}", said.join(" "), "add to cart ".repeat(25))
        };
        let hashes: Vec<u64> = (0..40).map(|n| simhash(&story(n))).collect();
        let pairs =
            hashes.iter().enumerate().flat_map(|(i, a)| hashes[..i].iter().map(move |b| (a, b)));
        let near = pairs.filter(|(a, b)| simhash_distance(**a, **b) <= 3).count();
        assert_eq!(near, 0, "of 780 pairs of different stories");
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
        fn words_hashed_by_eights_are_those_hashed_byte_by_byte(
            text in "[ a-zA-Z0-9:?é漢\u{10348}\n\u{0}]{0,60}|([a-z]{0,17}[ \n]){0,6}",
        ) {
            let (mut found, mut rest) = (Vec::new(), text.as_bytes());
            while !rest.is_empty() {
                rest = match short_word(rest) {
                    Some((word, behind)) => {
                        found.extend(Some(word).filter(|&word| word != 0));
                        behind
                    }
                    None => each_word_of_next(rest, &mut |heard| match heard {
                        Heard::Word(word) | Heard::Rest(word) => found.push(word),
                        Heard::Digits(word) => assert!(word.iter().any(u8::is_ascii_digit)),
                    }),
                };
            }
            let words = text.as_bytes().split(|&b| is_space(b)).flat_map(unspaced_words);
            let expected: Vec<u64> = words.map(hash_word).filter(|&hash| hash != 0).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_text_has_a_fingerprint(text in "[ a-zA-Zé漢かな\u{10348}\n]{0,80}") {
            simhash(&text);
        }
    }
}
