//! Which words a text has: one bit of 8,192 for each, by its hash.
//!
//! Exact counts would cost a sorted list of words by the page. So a page is compared with another in 128 steps; of new
//! words about one in seven is hidden by chance on the longest texts that are looked at, and none is ever made up.
//! The numbers of a text are kept likewise, by themselves.

/// The words of a text that is not too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordBits(Box<[u64; CELLS]>);

const CELLS: usize = 128;

impl WordBits {
    /// Longer texts would fill the bits.
    pub const TEXT_BYTES_MAX: usize = 8 << 10;

    /// Of no words; `None` for a text of too many bytes.
    pub fn for_text(bytes: usize) -> Option<WordBits> {
        (bytes <= WordBits::TEXT_BYTES_MAX).then(|| WordBits(Box::new([0; CELLS])))
    }

    /// A word, by a hash whose upper bits are good.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let bit = hash >> (64 - 13);
        self.0[(bit / 64) as usize % CELLS] |= 1 << (bit % 64);
    }

    /// Of no numbers: a text has few of them.
    pub fn for_numbers() -> WordBits {
        WordBits(Box::new([0; CELLS]))
    }

    /// A number, as it is written but for zeros before it.
    pub fn add_number(&mut self, written: &[u8]) {
        let zeros = written.iter().take_while(|byte| **byte == b'0').count();
        let step = |hash: u64, byte: &u8| {
            (hash.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        self.add(written[zeros..].iter().fold(0x51_7c_c1, step));
    }

    /// How many words of this text neither the other has nor these are.
    pub fn beyond_both(&self, other: &WordBits, these: &WordBits) -> u32 {
        let cells = self.0.iter().zip(other.0.iter()).zip(these.0.iter());
        cells.map(|((own, theirs), these)| (own & !theirs & !these).count_ones()).sum()
    }

    /// How many words of this text the other has not, as far as can be seen.
    pub fn beyond(&self, other: &WordBits) -> u32 {
        let pairs = self.0.iter().zip(other.0.iter());
        pairs.map(|(own, theirs)| (own & !theirs).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_the_other_lacks_are_counted_and_long_texts_are_not_looked_at() {
        let of = |words: &[u64]| {
            let mut bits = WordBits::for_text(100).expect("short");
            words.iter().for_each(|word| bits.add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            bits
        };
        let (one, other) = (of(&[1, 2, 3, 3]), of(&[3, 4]));
        assert_eq!((one.beyond(&other), other.beyond(&one), one.beyond(&one)), (2, 1, 0));
        assert_eq!(WordBits::for_text(WordBits::TEXT_BYTES_MAX + 1), None);
    }

    #[test]
    fn numbers_are_the_same_whatever_zeros_stand_before_them() {
        let of = |numbers: &[&str]| {
            let mut bits = WordBits::for_numbers();
            numbers.iter().for_each(|number| bits.add_number(number.as_bytes()));
            bits
        };
        let (one, other) = (of(&["07", "12", "1,234"]), of(&["7", "13"]));
        assert_eq!(one.beyond(&other), 2);
        assert_eq!(one.beyond_both(&other, &of(&["12"])), 1);
    }
}
