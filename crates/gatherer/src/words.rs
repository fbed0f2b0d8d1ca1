//! What of a text is words. Strings of more than 30 characters without a space are none (VN section 4.5):
//! encoded data, hashes, addresses. They say nothing of the language or of what a page is about.
//!
//! Scripts that do without spaces (Thai, Han, kana and all others from U+0800 on) are exempt.

use std::borrow::Cow;

const WORD_CHARS_MAX: usize = 30;
/// A shorter text may be one address, or a heading.
const WORDLESS_BYTES_MIN: usize = 1_000;

pub(crate) struct Words<'a> {
    pub(crate) text: Cow<'a, str>,
    /// More than half of the text was no words.
    pub(crate) wordless: bool,
}

impl<'a> Words<'a> {
    pub(crate) fn of(text: &'a str) -> Words<'a> {
        let bytes = text.as_bytes();
        let mut kept = String::new();
        let (mut from, mut left_out, mut at) = (0, 0, 0);
        while let Some((start, end)) = long_run(bytes, at) {
            at = end;
            if !is_word(&text[start..end]) {
                kept.push_str(&text[from..start]);
                left_out += end - start;
                from = end;
            }
        }
        if left_out == 0 {
            return Words { text: Cow::Borrowed(text), wordless: false };
        }
        kept.push_str(&text[from..]);
        let wordless = text.len() >= WORDLESS_BYTES_MIN && left_out * 2 > text.len();
        Words { text: Cow::Owned(kept), wordless }
    }
}

/// The next run of more than [`WORD_CHARS_MAX`] bytes without a space; `from` begins one, or is a space. It has a whole
/// block of sixteen without one, which few texts have.
fn long_run(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut from = from;
    loop {
        let (blocks, _) = bytes[from..].as_chunks::<16>();
        let has_space = |block: &[u8; 16]| block.iter().fold(false, |has, &b| has | is_space(b));
        let inside = from + blocks.iter().position(|block| !has_space(block))? * 16;
        let before = bytes[from..inside].iter().rposition(|&b| is_space(b));
        let start = before.map_or(from, |space| from + space + 1);
        let behind = bytes[inside..].iter().position(|&b| is_space(b));
        let end = behind.map_or(bytes.len(), |space| inside + space);
        if end - start > WORD_CHARS_MAX {
            return Some((start, end));
        }
        from = end;
    }
}

fn is_word(run: &str) -> bool {
    run.bytes().any(|b| b >= 0xe0) || run.chars().nth(WORD_CHARS_MAX).is_none()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Words;

    #[test]
    fn long_strings_are_no_words_but_scripts_without_spaces_are() {
        let long = "x".repeat(31);
        let text = format!("one {long} two\n{long}");
        assert_eq!(Words::of(&text).text, "one  two\n");
        for kept in ["é".repeat(30), "ไทย".repeat(30), "漢字".repeat(40), "x".repeat(30)] {
            assert_eq!(Words::of(&kept).text, kept);
        }
        assert_eq!(Words::of(&"é".repeat(31)).text, "");
    }

    #[test]
    fn a_text_is_wordless_when_most_of_it_is_no_words() {
        let noise = "4f3c9a".repeat(400);
        let prose = "words of a text ".repeat(100);
        assert!(Words::of(&noise).wordless);
        assert!(Words::of(&format!("{noise} {prose}")).wordless);
        assert!(!Words::of(&format!("{noise} {prose} {prose}")).wordless);
        assert!(!Words::of(&prose).wordless && !Words::of(&noise[..999]).wordless);
    }

    proptest! {
        #[test]
        fn what_is_left_is_what_a_plain_reading_leaves(text in "([a-cé漢]{0,50}[ \n]{0,2}){0,8}") {
            let is_word = |w: &&str| w.chars().count() <= 30 || w.contains('漢');
            let expected: Vec<&str> = text.split([' ', '\n']).filter(is_word).collect();
            let words = Words::of(&text);
            let left: Vec<&str> = words.text.split([' ', '\n']).collect();
            let full = |v: Vec<&str>| v.into_iter().filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(full(left), full(expected));
        }
    }
}
