//! What two sequences have in common, in order: E. W. Myers' greedy algorithm (An O(ND) Difference Algorithm
//! and Its Variations, 1986), and where sequences are too long and too different for it, first divided at
//! what occurs once in both (patience diff).
//!
//! The work is bounded: a page may be megabytes of lines that all differ. What no bound suffices for counts
//! as replaced from end to end, and that is told.

use std::collections::HashMap;

/// Memory for the way back grows with its square: 4 MB.
const DIFFERENCES_MAX: usize = 1_000;

/// Steps of all kinds; a tenth of a second.
const WORK_MAX: u64 = 10_000_000;

/// A stretch that both sequences have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Same {
    pub old: usize,
    pub new: usize,
    pub length: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// In order, apart from each other, none empty.
    pub same: Vec<Same>,
    /// Some stretch was too different to be looked at closely.
    pub coarse: bool,
}

pub fn align(old: &[u32], new: &[u32]) -> Alignment {
    align_within(old, new, &mut WORK_MAX.clone())
}

/// The same with a bound that several calls share.
pub fn align_within(old: &[u32], new: &[u32], work: &mut u64) -> Alignment {
    let mut found = Alignment::default();
    let whole = Span { old: 0, new: 0, old_end: old.len(), new_end: new.len() };
    // A stack and no recursion: texts decide how deep it goes.
    let mut tasks = vec![Task::Look(whole)];
    while let Some(task) = tasks.pop() {
        match task {
            Task::Keep(same) => found.push(same),
            Task::Look(span) => look(old, new, span, work, &mut found, &mut tasks),
        }
    }
    found
}

impl Alignment {
    fn push(&mut self, same: Same) {
        match self.same.last_mut() {
            Some(last)
                if last.old + last.length == same.old && last.new + last.length == same.new =>
            {
                last.length += same.length;
            }
            _ if same.length > 0 => self.same.push(same),
            _ => {}
        }
    }
}

/// What is still to be done, from left to right.
enum Task {
    Look(Span),
    Keep(Same),
}

#[derive(Clone, Copy)]
struct Span {
    old: usize,
    new: usize,
    old_end: usize,
    new_end: usize,
}

fn look(
    old: &[u32],
    new: &[u32],
    mut span: Span,
    work: &mut u64,
    found: &mut Alignment,
    tasks: &mut Vec<Task>,
) {
    let both = |span: &Span| span.old < span.old_end && span.new < span.new_end;
    let start = span;
    while both(&span) && old[span.old] == new[span.new] {
        (span.old, span.new) = (span.old + 1, span.new + 1);
    }
    found.push(Same { old: start.old, new: start.new, length: span.old - start.old });
    while both(&span) && old[span.old_end - 1] == new[span.new_end - 1] {
        (span.old_end, span.new_end) = (span.old_end - 1, span.new_end - 1);
    }
    let length = start.old_end - span.old_end;
    tasks.push(Task::Keep(Same { old: span.old_end, new: span.new_end, length }));
    if !both(&span) {
        return;
    }
    let (a, b) = (&old[span.old..span.old_end], &new[span.new..span.new_end]);
    let kept = |same: Same| {
        Task::Keep(Same { old: span.old + same.old, new: span.new + same.new, ..same })
    };
    if let Some(path) = shortest_edit(a, b, work) {
        tasks.extend(path.into_iter().rev().map(kept));
        return;
    }
    let anchors = anchors(a, b);
    found.coarse |= anchors.is_empty();
    let mut end = (span.old_end, span.new_end);
    for (i, j) in anchors.into_iter().rev() {
        let (old, new) = (span.old + i, span.new + j);
        tasks.push(Task::Look(Span { old: old + 1, new: new + 1, old_end: end.0, new_end: end.1 }));
        tasks.push(Task::Keep(Same { old, new, length: 1 }));
        end = (old, new);
    }
    if end != (span.old_end, span.new_end) {
        tasks.push(Task::Look(Span { old_end: end.0, new_end: end.1, ..span }));
    }
}

/// Myers: for each number of differences the furthest point on each diagonal, until the end is reached; then
/// the way back. `None` when that takes too much.
fn shortest_edit(a: &[u32], b: &[u32], work: &mut u64) -> Option<Vec<Same>> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = DIFFERENCES_MAX.min(a.len() + b.len()) as isize;
    let width = 2 * most as usize + 3;
    let middle = most + 1;
    let mut furthest = vec![0_isize; width];
    let mut trace: Vec<Vec<isize>> = Vec::new();
    for d in 0..=most {
        trace.push(furthest[(middle - d - 1).max(0) as usize..=(middle + d + 1) as usize].to_vec());
        for k in (-d..=d).step_by(2) {
            let at = |k: isize| (middle + k) as usize;
            let down = k == -d || (k != d && furthest[at(k - 1)] < furthest[at(k + 1)]);
            let mut x = if down { furthest[at(k + 1)] } else { furthest[at(k - 1)] + 1 };
            let from = x;
            while x < n && x - k < m && a[x as usize] == b[(x - k) as usize] {
                x += 1;
            }
            *work = work.checked_sub(1 + (x - from) as u64)?;
            furthest[at(k)] = x;
            if x >= n && x - k >= m {
                return Some(way_back(&trace, d, n, m));
            }
        }
    }
    None
}

fn way_back(trace: &[Vec<isize>], differences: isize, n: isize, m: isize) -> Vec<Same> {
    let (mut x, mut y) = (n, m);
    let mut path = Vec::new();
    for d in (0..=differences).rev() {
        // Each layer holds the diagonals -d-1 to d+1.
        let furthest = |k: isize| trace[d as usize][(k + d + 1) as usize];
        let k = x - y;
        let down = k == -d || (k != d && furthest(k - 1) < furthest(k + 1));
        let before = if down { k + 1 } else { k - 1 };
        let (bx, by) = if d == 0 { (0, 0) } else { (furthest(before), furthest(before) - before) };
        let start = match (d, down) {
            (0, _) => 0,
            (_, true) => bx,
            (_, false) => bx + 1,
        };
        if x > start {
            let length = (x - start) as usize;
            path.push(Same { old: start as usize, new: (start - k) as usize, length });
        }
        (x, y) = (bx, by);
    }
    path.reverse();
    path
}

/// What occurs once in both, as far as it comes in the same order in both.
fn anchors(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut places: HashMap<u32, (u32, usize, u32, usize)> = HashMap::with_capacity(a.len());
    for (i, &item) in a.iter().enumerate() {
        let place = places.entry(item).or_default();
        (place.0, place.1) = (place.0 + 1, i);
    }
    for (j, item) in b.iter().enumerate() {
        if let Some(place) = places.get_mut(item) {
            (place.2, place.3) = (place.2 + 1, j);
        }
    }
    let mut pairs: Vec<(usize, usize)> =
        places.values().filter(|p| p.0 == 1 && p.2 == 1).map(|p| (p.1, p.3)).collect();
    pairs.sort_unstable();
    longest_rise(&pairs)
}

/// The longest subsequence whose second numbers rise, by patience sorting.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut tops: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let pile = tops.partition_point(|&top| pairs[top].1 < pair.1);
        before.push(pile.checked_sub(1).map(|left| tops[left]));
        if pile == tops.len() { tops.push(at) } else { tops[pile] = at }
    }
    let mut rise = Vec::with_capacity(tops.len());
    let mut at = tops.last().copied();
    while let Some(here) = at {
        rise.push(pairs[here]);
        at = before[here];
    }
    rise.reverse();
    rise
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every stretch is the same in both, and they follow one another.
    fn holds(old: &[u32], new: &[u32], found: &Alignment) -> bool {
        let mut end = (0, 0);
        found.same.iter().all(|same| {
            let apart = same.old >= end.0 && same.new >= end.1 && same.length > 0;
            end = (same.old + same.length, same.new + same.length);
            apart
                && end.0 <= old.len()
                && end.1 <= new.len()
                && old[same.old..end.0] == new[same.new..end.1]
        })
    }

    fn common(found: &Alignment) -> usize {
        found.same.iter().map(|same| same.length).sum()
    }

    /// The textbook's table.
    fn longest_common(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut corner = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { corner + 1 } else { above.max(row[j]) };
                corner = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn the_alignment_is_a_longest_one(
            old in proptest::collection::vec(0_u32..6, 0..40),
            new in proptest::collection::vec(0_u32..6, 0..40),
        ) {
            let found = align(&old, &new);
            prop_assert!(holds(&old, &new, &found), "{:?}", found);
            prop_assert_eq!(common(&found), longest_common(&old, &new));
            prop_assert!(!found.coarse);
        }

        #[test]
        fn with_little_work_it_still_holds(
            old in proptest::collection::vec(0_u32..50, 0..120),
            new in proptest::collection::vec(0_u32..50, 0..120),
            work in 0_u64..500,
        ) {
            let found = align_within(&old, &new, &mut work.clone());
            prop_assert!(holds(&old, &new, &found), "{:?}", found);
        }
    }

    #[test]
    fn long_sequences_are_divided_at_what_is_in_both_once() {
        // 2,500 differences, more than are looked for at once, spread over 20,000 items.
        let old: Vec<u32> = (0..20_000).collect();
        let new: Vec<u32> =
            (0..20_000).map(|n| if n % 8 == 0 { n + 1_000_000 } else { n }).collect();
        let found = align(&old, &new);
        assert!(holds(&old, &new, &found) && !found.coarse);
        assert_eq!(common(&found), 17_500);
    }

    #[test]
    fn what_has_nothing_in_common_is_replaced_within_the_bound() {
        let old: Vec<u32> = (0..300_000).map(|n| n % 7).collect();
        let new: Vec<u32> = (0..300_000).map(|n| 10 + n % 5).collect();
        let found = align(&old, &new);
        assert!(found.coarse && found.same.is_empty());
        assert_eq!(
            align(&old, &old),
            Alignment { same: vec![Same { old: 0, new: 0, length: 300_000 }], coarse: false }
        );
    }
}
