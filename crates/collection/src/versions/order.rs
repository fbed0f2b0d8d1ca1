//! All visits of a page in the order they were committed.
//!
//! Rows have that order in their numbers, and the visits of a row in its times; what is not written down is how
//! the visits that were folded into a row lie between those of the rows behind it. That much is known: nothing
//! folds into a row once a later one has content. Between two such rows times decide, and where a clock was
//! set back, the visits before that come before those after it.

use model::Timestamp;
use store::census::VisitEntry;

use super::has_content;

/// Time and row of every visit; `rows` by their number.
pub fn in_order(rows: &[VisitEntry]) -> Vec<(Timestamp, usize)> {
    let mut told = Vec::new();
    let mut begin = 0;
    for end in 1..=rows.len() {
        if end == rows.len() || has_content(&rows[end]) {
            Stretch { rows, next: begin, end, open: Vec::new() }.tell(&mut told);
            begin = end;
        }
    }
    told
}

/// Rows into which visits may have been folded by turns.
struct Stretch<'a> {
    rows: &'a [VisitEntry],
    /// The next that has not begun: none begins before those with a lower number.
    next: usize,
    end: usize,
    /// Rows that have begun and what is left of their times: seldom more than two.
    open: Vec<(usize, &'a [Timestamp])>,
}

impl Stretch<'_> {
    fn tell(mut self, told: &mut Vec<(Timestamp, usize)>) {
        let mut now = Timestamp(i64::MIN);
        self.begin();
        while let Some((place, time)) = self.nearest(now) {
            let (row, times) = &mut self.open[place];
            told.push((time, *row));
            now = time;
            *times = &times[1..];
            let (begun, ended) = (*row + 1 == self.next, times.is_empty());
            if ended {
                self.open.remove(place);
            }
            if begun && self.next < self.end {
                self.begin();
            }
        }
    }

    fn begin(&mut self) {
        self.open.push((self.next, &self.rows[self.next].times));
        self.next += 1;
    }

    /// The earliest from now on; when there is none, the clock was set back, and it is the earliest of all.
    fn nearest(&self, now: Timestamp) -> Option<(usize, Timestamp)> {
        let heads = self.open.iter().enumerate();
        let heads = heads.filter_map(|(place, (_, times))| Some((place, *times.first()?)));
        heads.min_by_key(|(_, time)| (*time < now, *time))
    }
}
