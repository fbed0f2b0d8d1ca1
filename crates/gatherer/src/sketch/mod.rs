//! A sketch of a page's text: small enough to keep, enough to tell a clock from an edit.
//!
//! Of a page that changed at several visits in a row, the lines of the version at hand are kept as hashes,
//! each with that of its *template* (the line with numbers and tokens masked), and with them the *slots*:
//! places that differed from one visit to the next, each with the number of successive comparisons in which
//! it did. A difference in nothing but slots that differed at each of the last three comparisons is no
//! change; a slot that stands still for once is forgotten. So a clock, a counter, a token or an
//! advertisement is learned after a few visits, a price that moves now and then never is, and an edit
//! anywhere else is a change at once.
//!
//! Two kinds of slots: a *line* whose template stays (`visitors: 1,234`), which bears only what fits the
//! template, and a *gap* between two lines that stay (an advertisement), which bears any few lines, but not
//! more of them than it has had.
//!
//! Where everything is restless nothing is: if more than a quarter of the lines differ, or all of them, it
//! is a change, however often it happens.
//!
//! The rooms: `lines` cuts and masks, `align` finds what of the old is in the new, `packed` is the form that
//! is stored.

mod align;
mod lines;
mod packed;
#[cfg(test)]
mod tests;

use self::{
    align::Alignment,
    lines::{Line, lines_of},
};

/// Lines that are kept one by one: four kilobytes, the size of a page of the database. Of a longer text the
/// first and last lines are, where clocks and counters stand, and all between as one.
const LINES_MAX: usize = 512;
/// Restless places of one page; a page with more of them is restless as a whole.
const SLOTS_MAX: usize = 16;
/// Comparisons in a row in which a slot must have differed before its next difference is no change.
const STREAK_MIN: u8 = 3;
/// Lines of one advertisement; what is longer is content.
const GAP_LINES_MAX: usize = 3;

/// What a text is beside the sketch of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub changed: bool,
    /// Of the new text, with what was learned: to be kept instead.
    pub sketch: Vec<u8>,
}

/// The sketch of a text of which nothing was learned yet.
pub fn sketch(text: &str) -> Vec<u8> {
    Sketch { lines: lines_of(text), slots: Vec::new() }.pack()
}

/// Compares a text that is known to differ with the sketch of the one before. What is no sketch is taken
/// for that of another text.
pub fn compare_with_sketch(before: &[u8], text: &str) -> Comparison {
    match Sketch::unpack(before) {
        Some(before) => before.compare(lines_of(text)),
        None => Comparison { changed: true, sketch: sketch(text) },
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sketch {
    lines: Vec<Line>,
    slots: Vec<Slot>,
}

/// Lines `start .. start + len` differed from the text before, and at how many comparisons in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    start: usize,
    len: usize,
    /// The most lines that a gap has had; 0: a line, whose template has stayed.
    lines_max: usize,
    streak: u8,
}

impl Sketch {
    fn compare(&self, lines: Vec<Line>) -> Comparison {
        let templates = |lines: &[Line]| lines.iter().map(|line| line.template).collect::<Vec<_>>();
        let aligned = Alignment::new(&templates(&self.lines), &templates(&lines));
        let mut pass = Pass { old: self, new: &lines, aligned, found: Found::default() };
        let in_slots = pass.gaps_known();
        pass.lines_known(&in_slots);
        pass.gaps_unknown(&in_slots);
        let Found { mut slots, differing, unexpected } = pass.found;
        let bearable = (lines.len() / 4).max(2);
        // Something differs: if nothing was found, it lies where we do not look.
        let changed = unexpected
            || differing == 0
            || differing > bearable
            || differing >= lines.len().max(self.lines.len());
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.streak));
        slots.truncate(SLOTS_MAX);
        slots.sort_by_key(|slot| slot.start);
        Comparison { changed, sketch: Sketch { lines, slots }.pack() }
    }
}

/// What a comparison has found so far.
#[derive(Default)]
struct Found {
    slots: Vec<Slot>,
    /// Lines that differ, all told.
    differing: usize,
    /// Some of them where nothing was expected.
    unexpected: bool,
}

impl Found {
    fn slot(&mut self, slot: Slot, lines: usize, borne: bool) {
        self.differing += lines;
        self.unexpected |= !borne;
        self.slots.push(slot);
    }
}

struct Pass<'a> {
    old: &'a Sketch,
    new: &'a [Line],
    aligned: Alignment,
    found: Found,
}

impl Pass<'_> {
    /// Gaps known to be restless, whose neighbours are still there. Says which old lines are in them, and
    /// of each gap that has no line, where it is.
    fn gaps_known(&mut self) -> Vec<(usize, usize)> {
        let mut seen = Vec::new();
        for slot in self.old.slots.iter().filter(|slot| slot.lines_max > 0) {
            let (from, to) = (slot.start, slot.start + slot.len);
            let Some((start, end)) = self.aligned.between(from, to) else { continue };
            seen.push((from, to));
            let lines = end - start;
            let same = self.old.lines[from..to] == self.new[start..end];
            if same || lines > GAP_LINES_MAX {
                self.found.unexpected |= !same;
                self.found.differing += if same { 0 } else { lines };
                continue;
            }
            let borne = slot.streak >= STREAK_MIN && lines <= slot.lines_max;
            let lines_max = slot.lines_max.max(lines);
            let streak = slot.streak.saturating_add(1);
            let next = Slot { start, len: lines, lines_max, streak };
            self.found.slot(next, lines.max(slot.len), borne);
        }
        seen
    }

    /// Lines whose template is there again.
    fn lines_known(&mut self, in_slots: &[(usize, usize)]) {
        for (at, old) in self.old.lines.iter().enumerate() {
            let Some(start) = self.aligned.of(at) else { continue };
            if old.content == self.new[start].content
                || in_slots.iter().any(|(from, to)| (*from..*to).contains(&at))
            {
                continue;
            }
            if old.template == Line::MIDDLE {
                self.found.unexpected = true;
                continue;
            }
            let known = self.old.slots.iter().find(|slot| slot.lines_max == 0 && slot.start == at);
            let streak = known.map_or(0, |slot| slot.streak);
            let next = Slot { start, len: 1, lines_max: 0, streak: streak.saturating_add(1) };
            self.found.slot(next, 1, streak >= STREAK_MIN);
        }
    }

    /// Places where lines came, went, or became quite others.
    fn gaps_unknown(&mut self, in_slots: &[(usize, usize)]) {
        for ((from, to), (start, end)) in self.aligned.gaps() {
            if in_slots.iter().any(|known| known.0 <= from && to <= known.1) {
                continue;
            }
            let lines = (to - from).max(end - start);
            if lines > GAP_LINES_MAX {
                self.found.differing += lines;
                self.found.unexpected = true;
                continue;
            }
            // A restless line that has left its template, or a gap whose neighbours were edited, need not
            // start from nothing.
            let inside = |slot: &&Slot| from <= slot.start && slot.start + slot.len <= to;
            let known = self.old.slots.iter().filter(inside).map(|slot| slot.streak).max();
            let streak = known.unwrap_or(0).min(STREAK_MIN - 2) + 1;
            let slot = Slot { start, len: end - start, lines_max: lines, streak };
            self.found.slot(slot, lines, false);
        }
    }
}
