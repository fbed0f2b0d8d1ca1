//! Which words a text has: one bit of 8,192 for each, by its hash.
//!
//! Exact counts would cost a sorted list of words by the page. So a page is compared with another in 128 steps; of new
//! words about one in seven is hidden by chance on the longest texts that are looked at, and none is ever made up.
//! The numbers of a text are kept likewise, by themselves.

use std::borrow::Cow;

/// The words of a text that is not too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordBits(Bits);

/// A text has few numbers, and several of them are remembered for every site in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bits {
    /// Those that are set, in order.
    Few(Vec<u16>),
    All(Box<[u64; CELLS]>),
}

const CELLS: usize = 128;
/// An eighth of the room of all.
const FEW_MAX: usize = 64;

impl WordBits {
    /// Longer texts would fill the bits.
    pub const TEXT_BYTES_MAX: usize = 8 << 10;

    /// Of no words; `None` for a text of too many bytes.
    pub fn for_text(bytes: usize) -> Option<WordBits> {
        (bytes <= WordBits::TEXT_BYTES_MAX).then(|| WordBits(Bits::All(Box::new([0; CELLS]))))
    }

    /// A word, by a hash whose upper bits are good.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let bit = (hash >> (64 - 13)) as u16;
        match &mut self.0 {
            Bits::All(cells) => set(cells, bit),
            Bits::Few(_) => self.add_to_few(bit),
        }
    }

    fn add_to_few(&mut self, bit: u16) {
        let Bits::Few(few) = &mut self.0 else { return };
        let Err(place) = few.binary_search(&bit) else { return };
        few.insert(place, bit);
        if few.len() > FEW_MAX {
            let mut cells = Box::new([0; CELLS]);
            few.iter().for_each(|bit| set(&mut cells, *bit));
            self.0 = Bits::All(cells);
        }
    }

    /// Of no numbers: a text has few of them.
    pub fn for_numbers() -> WordBits {
        WordBits(Bits::Few(Vec::new()))
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
        match &self.0 {
            Bits::Few(few) => {
                few.iter().filter(|bit| !other.has(**bit) && !these.has(**bit)).count() as u32
            }
            Bits::All(own) => {
                let (others, these) = (other.cells(), these.cells());
                let cells = own.iter().zip(others.iter()).zip(these.iter());
                cells.map(|((own, other), these)| (own & !other & !these).count_ones()).sum()
            }
        }
    }

    /// How many words of this text the other has not, as far as can be seen.
    pub fn beyond(&self, other: &WordBits) -> u32 {
        match &self.0 {
            Bits::Few(few) => few.iter().filter(|bit| !other.has(**bit)).count() as u32,
            Bits::All(own) => {
                let others = other.cells();
                let pairs = own.iter().zip(others.iter());
                pairs.map(|(own, theirs)| (own & !theirs).count_ones()).sum()
            }
        }
    }

    fn cells(&self) -> Cow<'_, [u64; CELLS]> {
        match &self.0 {
            Bits::All(cells) => Cow::Borrowed(cells),
            Bits::Few(few) => {
                let mut cells = [0; CELLS];
                few.iter().for_each(|bit| set(&mut cells, *bit));
                Cow::Owned(cells)
            }
        }
    }

    fn has(&self, bit: u16) -> bool {
        match &self.0 {
            Bits::Few(few) => few.binary_search(&bit).is_ok(),
            Bits::All(cells) => cells[usize::from(bit / 64)] >> (bit % 64) & 1 == 1,
        }
    }
}

#[inline]
fn set(cells: &mut [u64; CELLS], bit: u16) {
    cells[usize::from(bit / 64) % CELLS] |= 1 << (bit % 64);
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
    fn few_bits_and_many_are_compared_alike() {
        let of = |count: u64| {
            let mut bits = WordBits::for_numbers();
            (0..count).for_each(|n| bits.add(n << (64 - 13)));
            bits
        };
        let (few, many) = (of(FEW_MAX as u64), of(200));
        assert!(matches!((&few.0, &many.0), (Bits::Few(_), Bits::All(_))));
        assert_eq!((few.beyond(&many), many.beyond(&few)), (0, 200 - FEW_MAX as u32));
        assert_eq!((many.beyond(&of(150)), of(150).beyond(&many)), (50, 0));
        assert_eq!((many.beyond_both(&few, &of(100)), few.beyond_both(&of(3), &of(5))), (100, 59));
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
