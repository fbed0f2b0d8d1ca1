//! From the bytes of a robots.txt to its directives, line by line.
//!
//! Tolerant where a server's meaning is plain: byte order marks (also broken ones), UTF-16, Latin-1, all
//! line ends, blanks before the colon, no colon at all, HTML line breaks, and the misspellings that occur
//! in the wild. Google and crawler-commons accept the same.

use std::borrow::Cow;

use model::limits::ROBOTS_BYTES_MAX;

/// A longer line is cut here: eight times the longest URL taken, Google's figure. What is cut off can
/// only make a rule match more, and rules this long are not written by people.
const LINE_BYTES_MAX: usize = 2_083 * 8 - 1;

/// What a line says. Values are trimmed and without comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive<'a> {
    UserAgent(&'a str),
    Allow(&'a str),
    Disallow(&'a str),
    CrawlDelay(&'a str),
    Sitemap(&'a str),
    /// A key we do not know: passed over.
    Unknown(&'a str),
    /// It has no key, and is no comment either: a mistake.
    Nothing,
}

/// A directive, the line it stood on (from 1), and that line as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub number: u32,
    pub directive: Directive<'a>,
    pub written: &'a str,
}

/// The text of a robots.txt as UTF-8, cut at 500 KiB. Bytes that are not UTF-8 are read as Latin-1: the
/// paths of a URL are always UTF-8, so that is what such a rule must become to match anything.
pub fn decode(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(ROBOTS_BYTES_MAX as usize)];
    match bytes {
        // A mark that an editor left, or that was put before a file of another encoding: the bytes decide.
        [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] if !is_utf16(rest) => {
            utf8_or_latin1(without_mark(rest)).into_owned()
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => utf8_or_latin1(without_mark(bytes)).into_owned(),
    }
}

pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut number = 0;
    split_lines(text).filter_map(move |line| {
        number += 1;
        let written = cut(line, LINE_BYTES_MAX);
        directive(written).map(|directive| Line { number, directive, written: written.trim() })
    })
}

/// CR, LF and CRLF each end a line.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        match memchr::memchr2(b'\r', b'\n', text.as_bytes()) {
            None => {
                rest = None;
                Some(text)
            }
            Some(end) => {
                let both = text.as_bytes()[end..].starts_with(b"\r\n");
                rest = Some(&text[end + if both { 2 } else { 1 }..]);
                Some(&text[..end])
            }
        }
    })
}

fn directive(line: &str) -> Option<Directive<'_>> {
    let line = line.split('#').next().unwrap_or("");
    let before = before_tag(line).trim_matches(is_blank);
    let Some((key, value)) = split_key(before) else {
        return (!line.trim_matches(is_blank).is_empty()).then_some(Directive::Nothing);
    };
    Some(match Key::of(key) {
        Key::UserAgent => Directive::UserAgent(value),
        Key::Allow => Directive::Allow(value),
        Key::Disallow => Directive::Disallow(value),
        Key::CrawlDelay => Directive::CrawlDelay(value),
        Key::Sitemap => Directive::Sitemap(value),
        Key::Other => Directive::Unknown(key),
    })
}

/// `key: value`, or `key value` when those are the only two words of the line.
fn split_key(line: &str) -> Option<(&str, &str)> {
    if let Some((key, value)) = line.split_once(':') {
        return Some((key.trim_matches(is_blank), value.trim_matches(is_blank)));
    }
    let (key, value) = line.split_once(is_blank)?;
    let value = value.trim_matches(is_blank);
    (!value.contains(is_blank)).then_some((key, value))
}

/// Some servers send the file as HTML, each line ending in `<BR>`: what stands before the tag counts.
fn before_tag(line: &str) -> &str {
    let Some(close) = line.rfind('>') else { return line };
    let tag = line[..close]
        .match_indices('<')
        .find(|(at, _)| line[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/'));
    tag.map_or(line, |(at, _)| &line[..at])
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\0' | '\u{b}' | '\u{c}' | '\u{a0}')
}

enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
    Other,
}

impl Key {
    fn of(key: &str) -> Key {
        let is = |names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name));
        if is(&["user-agent", "useragent", "user agent", "user_agent", "use-agent", "useg-agent"]) {
            Key::UserAgent
        } else if is(&["allow", "alow", "allaw"]) {
            Key::Allow
        } else if is(&[
            "disallow",
            "dissallow",
            "dissalow",
            "disalow",
            "diasllow",
            "disallaw",
            "desallow",
        ]) {
            Key::Disallow
        } else if is(&["crawl-delay", "crawldelay", "crawl delay", "crawl_delay"]) {
            Key::CrawlDelay
        } else if is(&["sitemap", "site-map"]) {
            Key::Sitemap
        } else {
            Key::Other
        }
    }
}

/// Drops a UTF-8 byte order mark, also one that lost its last one or two bytes on the way.
fn without_mark(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] | [0xef, 0xbb, rest @ ..] => rest,
        [0xef, rest @ ..] if rest.first().is_some_and(u8::is_ascii) => rest,
        _ => bytes,
    }
}

fn utf8_or_latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        // The size limit may have cut the last character in two: that does not make it Latin-1.
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()])
        }
        Err(_) => Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect()),
    }
}

/// The keys, colons and line ends of the file are ASCII, so every second byte of them is zero; other encodings have none.
fn is_utf16(bytes: &[u8]) -> bool {
    bytes.contains(&0)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
