//! A text cut into lines, each as two hashes: of what it says, and of what it says whatever the numbers.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::LINES_MAX;

/// Letters and digits mixed, at least this long, are a token: a session, a nonce, a digest.
const TOKEN_BYTES_MIN: usize = 8;

/// Half a hash each: a mistake in four thousand million is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) template: u32,
    pub(super) content: u32,
}

pub(super) fn lines_of(text: &str) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut masked = String::new();
    let mut line = |text: &&str| Line::of(text, &mut masked);
    if lines.len() <= LINES_MAX {
        return lines.iter().map(line).collect();
    }
    let (head, tail) = (LINES_MAX / 2 - 1, lines.len() - LINES_MAX / 2);
    let mut found: Vec<Line> = lines[..head].iter().map(&mut line).collect();
    found.push(Line::of_all(&lines[head..tail]));
    found.extend(lines[tail..].iter().map(line));
    found
}

impl Line {
    pub(super) const MIDDLE: u32 = 0;

    fn of(text: &str, masked: &mut String) -> Line {
        let content = xxh3_64(text.as_bytes()) as u32;
        let digits = text.bytes().any(|b| b.is_ascii_digit());
        if !digits {
            return Line { template: content, content };
        }
        masked.clear();
        mask(text, masked);
        Line { template: xxh3_64(masked.as_bytes()) as u32, content }
    }

    /// Many lines as one. It has a template of its own, so that it is always compared with its like, and
    /// never becomes a restless place: it is most of the page.
    fn of_all(lines: &[&str]) -> Line {
        let mut hash = Xxh3::new();
        for line in lines {
            hash.update(line.as_bytes());
            hash.update(b"\n");
        }
        Line { template: Line::MIDDLE, content: hash.digest() as u32 }
    }
}

/// Numbers, with what stands inside them, become `#`, tokens `@`.
fn mask(text: &str, masked: &mut String) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let token = bytes[at..].iter().take_while(|b| is_of_token(**b)).count();
        let word = &bytes[at..at + token];
        if token >= TOKEN_BYTES_MIN
            && word.iter().any(u8::is_ascii_digit)
            && word.iter().any(u8::is_ascii_alphabetic)
        {
            masked.push('@');
            at += token;
            continue;
        }
        // At least one character, and no more of a long word than was looked at.
        let end = (at + token.max(1)).max(char_end(text, at));
        at = mask_numbers(text, at, end, masked);
    }
}

/// From `at` to `end`, and to the end of a number that goes on beyond it.
fn mask_numbers(text: &str, mut at: usize, end: usize, masked: &mut String) -> usize {
    let bytes = text.as_bytes();
    while at < end {
        if bytes[at].is_ascii_digit() {
            masked.push('#');
            at = number_end(bytes, at);
        } else {
            let next = char_end(text, at);
            masked.push_str(&text[at..next]);
            at = next;
        }
    }
    at
}

/// `1,234.50`, `12:03:44` and `2026-11-16` are one number each.
fn number_end(bytes: &[u8], mut at: usize) -> usize {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    while digit(at) || (bytes.get(at).is_some_and(|b| b".,:'/-".contains(b)) && digit(at + 1)) {
        at += 1;
    }
    at
}

fn char_end(text: &str, at: usize) -> usize {
    (at + 1..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len())
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(text: &str) -> String {
        let mut out = String::new();
        mask(text, &mut out);
        out
    }

    #[test]
    fn numbers_and_tokens_are_masked_and_words_are_not() {
        for (text, expected) in [
            ("visitors: 1,234", "visitors: #"),
            ("visitors: 9", "visitors: #"),
            ("at 12:03:44 on 2026-11-16.", "at # on #."),
            ("it costs 12.50 €, not 13", "it costs # €, not #"),
            ("csrf 9f86d081884c7d65", "csrf @"),
            ("csrf Zm9vYmFy+/0=", "csrf @"),
            (
                "internationalisation of well-known-things",
                "internationalisation of well-known-things",
            ),
            ("room 3b", "room #b"),
            ("é5ü", "é#ü"),
            ("2026-11-16T03:05:50Z", "@:#Z"),
            ("", ""),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
    }

    #[test]
    fn of_a_long_text_head_and_tail_are_kept_line_by_line() {
        let text = |middle: &str| {
            let mut lines: Vec<String> = (0..2_000).map(|n| format!("line {n}")).collect();
            lines[1_000] = middle.to_owned();
            lines.join("\n\n")
        };
        let (one, two) = (lines_of(&text("a")), lines_of(&text("b")));
        assert_eq!(one.len(), LINES_MAX);
        let differ = |n: &usize| one[*n] != two[*n];
        assert_eq!((0..LINES_MAX).filter(differ).collect::<Vec<_>>(), [LINES_MAX / 2 - 1]);
        assert_eq!(lines_of(" a \n\n\tb\n").len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_masked_and_holds_no_digit(text in "([0-9]|[a-z]{1,9}|[,.: é€]|\\PC){0,60}") {
            prop_assert!(!masked(&text).bytes().any(|b| b.is_ascii_digit()));
        }
    }
}
