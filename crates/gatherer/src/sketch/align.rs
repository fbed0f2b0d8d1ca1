//! Which lines of the old text are in the new one, in the same order: the longest such choice.
//!
//! What both begin and end with is taken at once; the middle costs the product of its two lengths, at most
//! that of the square of what a sketch holds (a quarter of a million steps).

/// Of each old line, where it is in the new text.
pub(super) struct Alignment {
    images: Vec<Option<usize>>,
    new_len: usize,
}

impl Alignment {
    pub(super) fn new(old: &[u32], new: &[u32]) -> Alignment {
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old_left, new_left) = (&old[head..], &new[head..]);
        let tail =
            old_left.iter().rev().zip(new_left.iter().rev()).take_while(|(a, b)| a == b).count();
        let mut images = vec![None; old.len()];
        for (at, image) in images[..head].iter_mut().enumerate() {
            *image = Some(at);
        }
        let middle = old_left.len() - tail;
        common(&old_left[..middle], &new_left[..new_left.len() - tail], |a, b| {
            images[head + a] = Some(head + b);
        });
        for (back, image) in images.iter_mut().rev().take(tail).enumerate() {
            *image = Some(new.len() - 1 - back);
        }
        Alignment { images, new_len: new.len() }
    }

    pub(super) fn of(&self, old: usize) -> Option<usize> {
        self.images.get(old).copied().flatten()
    }

    /// What stands now between the neighbours of the old lines `from .. to`, if both are still there.
    pub(super) fn between(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let start = match from.checked_sub(1) {
            None => 0,
            Some(before) => self.of(before)? + 1,
        };
        let end = if to == self.images.len() { self.new_len } else { self.of(to)? };
        Some((start, end))
    }

    /// Where lines of the old, of the new, or of both have no partner: old and new ranges.
    pub(super) fn gaps(&self) -> Vec<((usize, usize), (usize, usize))> {
        let (mut gaps, mut from, mut start) = (Vec::new(), 0, 0);
        let ends = self.images.iter().enumerate().filter_map(|(to, end)| Some((to, (*end)?)));
        for (to, end) in ends.chain([(self.images.len(), self.new_len)]) {
            if from < to || start < end {
                gaps.push(((from, to), (start, end)));
            }
            (from, start) = (to + 1, end + 1);
        }
        gaps
    }
}

/// The longest common subsequence; each pair of it is told, the last first.
fn common(old: &[u32], new: &[u32], mut pair: impl FnMut(usize, usize)) {
    if old.is_empty() || new.is_empty() {
        return;
    }
    let width = new.len() + 1;
    // longest[a * width + b]: of the first a old and the first b new lines.
    let mut longest = vec![0u16; (old.len() + 1) * width];
    for (a, line) in old.iter().enumerate() {
        for (b, other) in new.iter().enumerate() {
            let at = (a + 1) * width + b + 1;
            longest[at] = match line == other {
                true => longest[at - width - 1] + 1,
                false => longest[at - 1].max(longest[at - width]),
            };
        }
    }
    let (mut a, mut b) = (old.len(), new.len());
    while a > 0 && b > 0 {
        let at = a * width + b;
        if old[a - 1] == new[b - 1] {
            (a, b) = (a - 1, b - 1);
            pair(a, b);
        } else if longest[at - 1] >= longest[at - width] {
            b -= 1;
        } else {
            a -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_stays_is_found_around_what_comes_and_goes() {
        let aligned = Alignment::new(&[1, 2, 3, 4, 5], &[1, 9, 3, 5, 6]);
        let images: Vec<_> = (0..5).map(|old| aligned.of(old)).collect();
        assert_eq!(images, [Some(0), None, Some(2), None, Some(3)]);
        assert_eq!(aligned.gaps(), [((1, 2), (1, 2)), ((3, 4), (3, 3)), ((5, 5), (4, 5))]);
        assert_eq!(aligned.between(1, 2), Some((1, 2)));
        assert_eq!(aligned.between(3, 4), Some((3, 3)));
        assert_eq!(aligned.between(2, 3), None, "its neighbours are gone");
        assert_eq!(aligned.between(5, 5), Some((4, 5)));
    }

    proptest! {
        #[test]
        fn partners_are_equal_in_order_and_as_many_as_can_be(
            old in prop::collection::vec(0u32..5, 0..12), new in prop::collection::vec(0u32..5, 0..12)
        ) {
            let aligned = Alignment::new(&old, &new);
            let pairs: Vec<(usize, usize)> =
                (0..old.len()).filter_map(|a| Some((a, aligned.of(a)?))).collect();
            for pair in pairs.windows(2) {
                prop_assert!(pair[0].1 < pair[1].1);
            }
            for (a, b) in &pairs {
                prop_assert_eq!(old[*a], new[*b]);
            }
            prop_assert_eq!(pairs.len(), longest(&old, &new));
            let lost: usize = aligned.gaps().iter().map(|(old, _)| old.1 - old.0).sum();
            let came: usize = aligned.gaps().iter().map(|(_, new)| new.1 - new.0).sum();
            prop_assert_eq!((lost, came), (old.len() - pairs.len(), new.len() - pairs.len()));
        }
    }

    /// By trying everything.
    fn longest(old: &[u32], new: &[u32]) -> usize {
        let (Some((first, rest)), false) = (old.split_first(), new.is_empty()) else { return 0 };
        let with = new.iter().position(|line| line == first);
        let with = with.map_or(0, |at| 1 + longest(rest, &new[at + 1..]));
        with.max(longest(rest, new))
    }
}
