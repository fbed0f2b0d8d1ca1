//! Finding the words of the shipped list in a URL: one pass over its segments and parameters.
//!
//! A table of first letters and lengths lets nearly every segment go by without a lookup; what remains
//! is folded (case, `_`) into a small buffer and searched for in a sorted list.

use std::sync::LazyLock;

use model::CrawlUrl;

use super::shipped::{CONTENT, SHIPPED};

/// No word of the list is longer, a test says; also the number of bits in the table of lengths.
const WORD_BYTES_MAX: usize = 31;

/// Endings of scripts and pages: `login.php` is `login`. Others (`login.png`) are files of their own.
const ENDINGS: [&[u8]; 15] = [
    b"php", b"html", b"htm", b"asp", b"aspx", b"jsp", b"do", b"action", b"cgi", b"pl", b"shtml",
    b"xhtml", b"cfm", b"jsf", b"php5",
];

/// The index of the first enabled rule that the URL falls under.
pub(super) fn find(url: &CrawlUrl, enabled: u64) -> Option<usize> {
    find_segment(url.path(), enabled)
        .or_else(|| url.query().and_then(|query| find_parameter(query, enabled)))
}

static WORDS: LazyLock<Words> = LazyLock::new(Words::of_shipped);

struct Words {
    segments: Index,
    parameters: Index,
}

struct Index {
    /// For each first letter, the lengths of the words that begin with it, as bits.
    lengths: [u32; 256],
    /// Sorted by text.
    words: Vec<Word>,
}

struct Word {
    text: &'static str,
    /// Of a parameter, when the pattern names one.
    value: Option<&'static str>,
    last_only: bool,
    rule: usize,
}

impl Words {
    fn of_shipped() -> Words {
        let (mut segments, mut parameters) = (Vec::new(), Vec::new());
        for (rule, shipped) in SHIPPED.iter().enumerate() {
            for pattern in shipped.patterns {
                match pattern.strip_prefix('?') {
                    Some(parameter) => parameters.push(Word::parameter(parameter, rule)),
                    None => segments.push(Word::segment(pattern, rule)),
                }
            }
        }
        Words { segments: Index::new(segments), parameters: Index::new(parameters) }
    }
}

impl Word {
    fn segment(pattern: &'static str, rule: usize) -> Word {
        let text = pattern.trim_start_matches('/');
        let bare = text.trim_end_matches('$');
        Word { text: bare, value: None, last_only: bare.len() < text.len(), rule }
    }

    fn parameter(pattern: &'static str, rule: usize) -> Word {
        let (text, value) = match pattern.split_once('=') {
            Some((text, value)) => (text, Some(value)),
            None => (pattern, None),
        };
        Word { text, value, last_only: false, rule }
    }
}

impl Index {
    fn new(mut words: Vec<Word>) -> Index {
        words.sort_by_key(|word| word.text);
        let mut lengths = [0; 256];
        for word in &words {
            let first = usize::from(word.text.as_bytes()[0]);
            lengths[first] |= 1 << word.text.len();
            lengths[usize::from(word.text.as_bytes()[0].to_ascii_uppercase())] |=
                1 << word.text.len();
        }
        Index { lengths, words }
    }

    /// All words spelt like `text`.
    fn get(&self, text: &[u8]) -> &[Word] {
        let is_likely = text.len() <= WORD_BYTES_MAX
            && text.first().is_some_and(|&b| self.lengths[usize::from(b)] & (1 << text.len()) != 0);
        if !is_likely {
            return &[];
        }
        let mut buffer = [0; WORD_BYTES_MAX];
        let folded = fold(text, &mut buffer);
        let start = self.words.partition_point(|word| word.text.as_bytes() < folded);
        let same = self.words[start..].iter().take_while(|word| word.text.as_bytes() == folded);
        &self.words[start..start + same.count()]
    }
}

fn find_segment(path: &str, enabled: u64) -> Option<usize> {
    let path = path.trim_end_matches('/').as_bytes();
    let path = path.get(1..)?;
    let mut rest = path;
    loop {
        let end = rest.iter().position(|&b| b == b'/');
        let segment = &rest[..end.unwrap_or(rest.len())];
        let bare = without_ending(segment);
        let words = WORDS.segments.get(bare).iter();
        let mut hits = words
            .filter(|word| enabled & (1 << word.rule) != 0 && (!word.last_only || end.is_none()));
        // A script is one wherever it lies, and so is a page of the wiki's own machinery.
        let is_script = bare.len() < segment.len() || bare.contains(&b':');
        let counts = |word: &&Word| {
            is_script || SHIPPED[word.rule].variant || !is_content(&path[..path.len() - rest.len()])
        };
        if let Some(word) = hits.find(counts) {
            return Some(word.rule);
        }
        rest = &rest[end? + 1..];
    }
}

/// Whether a folder of content is among these.
fn is_content(folders: &[u8]) -> bool {
    let is_it = |folder: &[u8]| CONTENT.iter().any(|w| folder.eq_ignore_ascii_case(w.as_bytes()));
    folders.split(|&b| b == b'/').any(is_it)
}

pub(super) fn find_parameter(query: &str, enabled: u64) -> Option<usize> {
    query.split('&').find_map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let words = WORDS.parameters.get(name.as_bytes());
        let hit = words.iter().find(|word| {
            enabled & (1 << word.rule) != 0 && word.value.is_none_or(|wanted| same(wanted, value))
        });
        hit.map(|word| word.rule)
    })
}

fn without_ending(segment: &[u8]) -> &[u8] {
    let segment = segment.split(|&b| b == b';').next().unwrap_or(segment);
    let Some(dot) = segment.iter().position(|&b| b == b'.') else { return segment };
    let ending = &segment[dot + 1..];
    let is_page = ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
    if is_page { &segment[..dot] } else { segment }
}

/// Lower case, `_` as `-`, in `buffer`, which is at least as long.
fn fold<'b>(text: &[u8], buffer: &'b mut [u8; WORD_BYTES_MAX]) -> &'b [u8] {
    for (to, from) in buffer.iter_mut().zip(text) {
        *to = folded(*from);
    }
    &buffer[..text.len()]
}

fn folded(byte: u8) -> u8 {
    if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }
}

fn same(word: &str, text: &str) -> bool {
    word.len() == text.len() && word.bytes().zip(text.bytes()).all(|(a, b)| a == folded(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_a_folded_word_that_fits() {
        assert!(SHIPPED.len() <= 64, "a bit for each rule");
        let indexes = [&WORDS.segments, &WORDS.parameters];
        for word in indexes.iter().flat_map(|index| &index.words) {
            assert!(!word.text.is_empty() && word.text.len() <= WORD_BYTES_MAX, "{}", word.text);
            for text in [Some(word.text), word.value].into_iter().flatten() {
                assert!(same(text, text), "{text} is written in lower case, with -");
            }
        }
        for rule in SHIPPED {
            assert!(rule.patterns.iter().all(|p| p.starts_with(['/', '?'])), "{}", rule.name);
        }
    }
}
