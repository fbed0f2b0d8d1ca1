//! A diff for a terminal, in the form everybody knows from `diff -u`.

use std::fmt::Write;

use super::{Diff, Line, LineKind, Part};
use model::printable;

/// An unchanged stretch inside a changed line is shown up to here; a paragraph can be a screen long.
const STRETCH_MAX: usize = 160;
const STRETCH_ENDS: usize = 60;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const MARK: &str = "\x1b[1;7m";
const PLAIN: &str = "\x1b[0m";

impl Diff {
    /// The hunks, without a head. No byte of the texts can steer the terminal.
    pub fn text(&self, coloured: bool) -> String {
        let mut text = String::new();
        for hunk in &self.hunks {
            let place = format!(
                "@@ -{},{} +{},{} @@",
                hunk.old_line, hunk.old_count, hunk.new_line, hunk.new_count
            );
            let _ = match coloured {
                true => writeln!(text, "{CYAN}{place}{PLAIN}"),
                false => writeln!(text, "{place}"),
            };
            for line in &hunk.lines {
                write_line(&mut text, line, coloured);
            }
        }
        text
    }
}

fn write_line(text: &mut String, line: &Line, coloured: bool) {
    let (sign, colour) = match line.kind {
        LineKind::Same => (' ', ""),
        LineKind::Removed => ('-', RED),
        LineKind::Added => ('+', GREEN),
    };
    let coloured = coloured && line.kind != LineKind::Same;
    text.push_str(if coloured { colour } else { "" });
    text.push(sign);
    let several = line.parts.len() > 1;
    for part in &line.parts {
        let shown = shortened(part, several);
        let shown = printable(&shown);
        let _ = match part.changed && coloured {
            true => write!(text, "{MARK}{shown}{PLAIN}{colour}"),
            false => write!(text, "{shown}"),
        };
    }
    text.push_str(if coloured { PLAIN } else { "" });
    text.push('\n');
}

fn shortened(part: &Part, several: bool) -> String {
    let length = part.text.chars().count();
    if part.changed || !several || length <= STRETCH_MAX {
        return part.text.clone();
    }
    let start: String = part.text.chars().take(STRETCH_ENDS).collect();
    let end: String = part.text.chars().skip(length - STRETCH_ENDS).collect();
    format!("{start} … {end}")
}
