//! Within changed lines: which words are others.

use std::{collections::HashMap, ops::Range};

use super::align::align_within;

/// Where fewer of the words are in both, the lines were replaced, and marks would only disturb.
const COMMON_MIN: f64 = 0.3;

/// A stretch of a line, and whether it is in the other version too.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Part {
    pub text: String,
    pub changed: bool,
}

/// What a changed stretch of lines comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    pub old: Vec<Vec<Part>>,
    pub new: Vec<Vec<Part>>,
    pub words_removed: usize,
    pub words_added: usize,
    pub coarse: bool,
}

/// Marks the words that differ between lines that replace each other. `work` is shared by all of a text.
pub fn mark(old: &[&str], new: &[&str], work: &mut u64) -> Marked {
    let (a, b) = (tokens(old), tokens(new));
    let mut names: HashMap<&str, u32> = HashMap::new();
    let (left, right) = (numbers(&a, &mut names), numbers(&b, &mut names));
    let alignment = align_within(&left, &right, work);
    let (mut in_a, mut in_b) = (vec![false; left.len()], vec![false; right.len()]);
    for same in &alignment.same {
        in_a[same.old..same.old + same.length].fill(true);
        in_b[same.new..same.new + same.length].fill(true);
    }
    let (in_a, in_b) = (with_spaces(&a, &in_a), with_spaces(&b, &in_b));
    let words = |tokens: &[Token<'_>], kept: &[bool], wanted: bool| {
        tokens.iter().zip(kept).filter(|(token, kept)| token.is_word() && **kept == wanted).count()
    };
    let (removed, added) = (words(&a, &in_a, false), words(&b, &in_b, false));
    let common = words(&a, &in_a, true);
    let most = (common + removed).max(common + added);
    let replaced = old.is_empty() || new.is_empty() || (common as f64) < most as f64 * COMMON_MIN;
    Marked {
        old: if replaced { whole(old) } else { parts(old.len(), &a, &in_a) },
        new: if replaced { whole(new) } else { parts(new.len(), &b, &in_b) },
        words_removed: removed,
        words_added: added,
        coarse: alignment.coarse,
    }
}

struct Token<'a> {
    line: usize,
    text: &'a str,
}

impl Token<'_> {
    fn is_word(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_alphanumeric)
    }

    fn is_space(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_whitespace)
    }
}

/// What is compared: all but white space, which is everywhere and would tie what has nothing in common.
fn numbers<'a>(tokens: &[Token<'a>], names: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let compared = tokens.iter().filter(|token| !token.is_space());
    compared
        .map(|token| {
            let next = names.len() as u32;
            *names.entry(token.text).or_insert(next)
        })
        .collect()
}

/// Whether each token is kept, from those that were compared. White space goes with a change when it stands
/// inside it: one mark reads better than two.
fn with_spaces(tokens: &[Token<'_>], kept: &[bool]) -> Vec<bool> {
    let mut compared = kept.iter().copied();
    let mut all: Vec<bool> =
        tokens.iter().map(|token| token.is_space() || compared.next().unwrap_or(true)).collect();
    for at in 1..tokens.len().saturating_sub(1) {
        let one_line = tokens[at - 1].line == tokens[at + 1].line;
        if tokens[at].is_space() && one_line && !all[at - 1] && !all[at + 1] {
            all[at] = false;
        }
    }
    all
}

/// Words, white space, and every other sign by itself; so too the signs of scripts without spaces.
fn tokens<'a>(lines: &[&'a str]) -> Vec<Token<'a>> {
    let mut found = Vec::new();
    for (line, text) in lines.iter().copied().enumerate() {
        let mut start = 0;
        for Range { end, .. } in breaks(text) {
            found.push(Token { line, text: &text[start..end] });
            start = end;
        }
    }
    found
}

fn breaks(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut last = Kind::Sign;
    for (at, c) in text.char_indices() {
        let (kind, end) = (kind(c), at + c.len_utf8());
        match ranges.last_mut() {
            Some(range) if kind == last && kind != Kind::Sign => range.end = end,
            _ => ranges.push(at..end),
        }
        last = kind;
    }
    ranges
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Space,
    Sign,
}

fn kind(c: char) -> Kind {
    match c {
        // From here on come the scripts of East Asia.
        '\u{2e80}'.. => Kind::Sign,
        _ if c.is_alphanumeric() => Kind::Word,
        _ if c.is_whitespace() => Kind::Space,
        _ => Kind::Sign,
    }
}

fn whole(lines: &[&str]) -> Vec<Vec<Part>> {
    let part = |line: &&str| vec![Part { text: (*line).to_owned(), changed: false }];
    lines.iter().map(part).collect()
}

fn parts(lines: usize, tokens: &[Token<'_>], kept: &[bool]) -> Vec<Vec<Part>> {
    let mut found: Vec<Vec<Part>> = vec![Vec::new(); lines];
    for (token, kept) in tokens.iter().zip(kept) {
        match found[token.line].last_mut() {
            Some(part) if part.changed != *kept => part.text.push_str(token.text),
            _ => found[token.line].push(Part { text: token.text.to_owned(), changed: !kept }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[Vec<Part>]) -> Vec<String> {
        let part = |part: &Part| match part.changed {
            true => format!("[{}]", part.text),
            false => part.text.clone(),
        };
        lines.iter().map(|line| line.iter().map(part).collect()).collect()
    }

    #[test]
    fn words_that_differ_are_marked() {
        let marked =
            mark(&["The old price is 10 euro."], &["The new price is 12.50 euro."], &mut 10_000);
        assert_eq!(shown(&marked.old), ["The [old] price is [10] euro."]);
        assert_eq!(shown(&marked.new), ["The [new] price is [12.50] euro."]);
        assert_eq!((marked.words_removed, marked.words_added), (2, 3));
    }

    #[test]
    fn a_change_that_moves_line_ends_marks_the_words_only() {
        let marked = mark(&["one two", "three four"], &["one two three", "five"], &mut 10_000);
        assert_eq!(shown(&marked.old), ["one two", "three [four]"]);
        assert_eq!(shown(&marked.new), ["one two three", "[five]"]);
    }

    #[test]
    fn lines_with_little_in_common_are_not_marked() {
        let marked = mark(&["alpha beta gamma delta"], &["one two beta four five"], &mut 10_000);
        assert_eq!(shown(&marked.old), ["alpha beta gamma delta"]);
        assert_eq!((marked.words_removed, marked.words_added), (3, 4));
    }

    #[test]
    fn scripts_without_spaces_are_compared_sign_by_sign() {
        let marked = mark(&["東京は雨です"], &["東京は晴です"], &mut 10_000);
        assert_eq!(shown(&marked.old), ["東京は[雨]です"]);
        assert_eq!(shown(&marked.new), ["東京は[晴]です"]);
    }
}
