//! What changed between two texts: lines, and within changed lines words.
//!
//! [`Diff::of`] compares two texts, [`compare`] two versions of a page. The work is bounded whatever the texts
//! are: see [`align`].

mod align;
mod html;
mod pages;
mod show;
mod words;

use std::collections::HashMap;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use align::{Same, align};
pub use words::Part;
use words::mark;

pub use html::page;
pub use pages::{ComparedVersion, Of, PageDiff, compare};

/// Steps spent on words; the same bound as for lines, and shared by all changed stretches.
const WORDS_WORK_MAX: u64 = 10_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    pub counts: Counts,
    /// Some stretch was too long and too different: it is shown as replaced from end to end.
    pub coarse: bool,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub lines_removed: usize,
    pub lines_added: usize,
    pub words_removed: usize,
    pub words_added: usize,
}

/// Changed lines with some unchanged ones around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its first line, counted from 1, and how many: in the old text and in the new.
    pub old_line: usize,
    pub old_count: usize,
    pub new_line: usize,
    pub new_count: usize,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    pub parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    Same,
    Removed,
    Added,
}

impl Diff {
    /// `context`: unchanged lines shown around changed ones.
    pub fn of(old: &[&str], new: &[&str], context: usize) -> Diff {
        let mut names: HashMap<&str, u32> = HashMap::new();
        let mut number = |line| {
            let next = names.len() as u32;
            *names.entry(line).or_insert(next)
        };
        let left: Vec<u32> = old.iter().map(|line| number(*line)).collect();
        let right: Vec<u32> = new.iter().map(|line| number(*line)).collect();
        let alignment = align(&left, &right);
        let mut diff = Diff { coarse: alignment.coarse, ..Diff::default() };
        let edits = edits(&alignment.same, old.len(), new.len());
        let mut work = WORDS_WORK_MAX;
        for group in groups(&edits, context) {
            let hunk = diff.hunk(group, old, new, context, &mut work);
            diff.hunks.push(hunk);
        }
        diff
    }

    fn hunk(
        &mut self,
        edits: &[Edit],
        old: &[&str],
        new: &[&str],
        context: usize,
        work: &mut u64,
    ) -> Hunk {
        let (first, last) = (&edits[0], &edits[edits.len() - 1]);
        let before = context.min(first.old.0);
        let after = context.min(old.len() - last.old.1);
        let (old_start, new_start) = (first.old.0 - before, first.new.0 - before);
        let mut lines = Vec::new();
        let mut at = old_start;
        for edit in edits {
            lines.extend(old[at..edit.old.0].iter().map(|line| Line::same(line)));
            let (gone, come) = (&old[edit.old.0..edit.old.1], &new[edit.new.0..edit.new.1]);
            let marked = mark(gone, come, work);
            self.counts.lines_removed += gone.len();
            self.counts.lines_added += come.len();
            self.counts.words_removed += marked.words_removed;
            self.counts.words_added += marked.words_added;
            self.coarse |= marked.coarse;
            let line = |kind| move |parts| Line { kind, parts };
            lines.extend(marked.old.into_iter().map(line(LineKind::Removed)));
            lines.extend(marked.new.into_iter().map(line(LineKind::Added)));
            at = edit.old.1;
        }
        lines.extend(old[at..at + after].iter().map(|line| Line::same(line)));
        Hunk {
            old_line: old_start + 1,
            old_count: at + after - old_start,
            new_line: new_start + 1,
            new_count: last.new.1 + after - new_start,
            lines,
        }
    }
}

/// With its whole text, for those who do not care which words changed.
impl Serialize for Line {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text: String = self.parts.iter().map(|part| part.text.as_str()).collect();
        let mut line = to.serialize_struct("Line", 3)?;
        line.serialize_field("kind", &self.kind)?;
        line.serialize_field("text", &text)?;
        line.serialize_field("parts", &self.parts)?;
        line.end()
    }
}

impl Line {
    fn same(text: &str) -> Line {
        let parts = vec![Part { text: text.to_owned(), changed: false }];
        Line { kind: LineKind::Same, parts }
    }
}

/// Lines `old` were replaced by lines `new`: starts and ends.
#[derive(Clone, Copy, Debug)]
struct Edit {
    old: (usize, usize),
    new: (usize, usize),
}

/// What lies between the common stretches.
fn edits(same: &[Same], old: usize, new: usize) -> Vec<Edit> {
    let end = Same { old, new, length: 0 };
    let mut at = (0, 0);
    let mut edits = Vec::new();
    for same in same.iter().chain([&end]) {
        if at != (same.old, same.new) {
            edits.push(Edit { old: (at.0, same.old), new: (at.1, same.new) });
        }
        at = (same.old + same.length, same.new + same.length);
    }
    edits
}

/// Edits so near that their contexts would meet are shown together.
fn groups(edits: &[Edit], context: usize) -> Vec<&[Edit]> {
    edits.chunk_by(|a, b| b.old.0 - a.old.1 <= 2 * context).collect()
}

#[cfg(test)]
mod tests;
