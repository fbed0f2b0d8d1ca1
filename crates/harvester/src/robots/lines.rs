//! From the bytes of a robots.txt to its directives, line by line.
//!
//! Tolerant where a server's meaning is plain: byte order marks (also broken ones, several, and before later lines of
//! files that were put together), UTF-16, UTF-32, Latin-1, all line ends, blanks before the colon, no colon at all, and the misspellings that occur in the wild. Google
//! and crawler-commons accept the same. HTML around the lines is taken off by [`markup`].

use std::borrow::Cow;

use model::limits::ROBOTS_BYTES_MAX;

use super::markup;

/// A longer line is cut here: eight times the longest URL taken, Google's figure. What is cut off can
/// only make a rule match more, and rules this long are not written by people.
const LINE_BYTES_MAX: usize = 2_083 * 8 - 1;

/// A directive, and the line of the file it stood on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// From 1. In HTML several may stand on one.
    pub number: u32,
    pub key: Key,
    /// Trimmed and without comment.
    pub value: Cow<'a, str>,
    /// As written, with its comment and its tags.
    pub written: &'a str,
    /// It is not spelled as it should be: no colon, another key, tags around it.
    pub mended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
    /// Records that other crawlers read (section 2.2.4 lets them be): no mistake, and nothing to us.
    Extension,
    /// A key that nobody knows: passed over.
    Unknown,
    /// There is no key, and it is no comment either: a mistake.
    Nothing,
}

/// The text of a robots.txt as UTF-8, cut at 500 KiB. Bytes that are not UTF-8 are read as Latin-1: the
/// paths of a URL are always UTF-8, so that is what such a rule must become to match anything.
pub fn decode(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(ROBOTS_BYTES_MAX as usize)];
    match bytes {
        [0xff, 0xfe, 0, 0, rest @ ..] if is_utf32(rest, u32::from_le_bytes) => {
            utf32(rest, u32::from_le_bytes).collect()
        }
        [0, 0, 0xfe, 0xff, rest @ ..] if is_utf32(rest, u32::from_be_bytes) => {
            utf32(rest, u32::from_be_bytes).collect()
        }
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
    let page = markup::is_page(text);
    split_lines(text).zip(1..).flat_map(move |(line, number)| lines_in(line, number, page))
}

/// What one line of the file says: one thing, or in HTML several. `page`: it is part of a page.
fn lines_in(line: &str, number: u32, page: bool) -> impl Iterator<Item = Line<'_>> {
    // A line of tags alone means nothing either, and is one mistake however many there are.
    let (mut tagged, mut said) = (false, false);
    let mut pieces = markup::pieces(line).peekable();
    let mut rest = None;
    std::iter::from_fn(move || {
        loop {
            let piece = match rest.take() {
                Some(rest) => rest,
                None => {
                    let Some(piece) = pieces.next() else { break };
                    tagged |= pieces.peek().is_some();
                    piece
                }
            };
            let (piece, more) = if page { first_directive(piece) } else { (piece, None) };
            rest = more;
            if let Some(found) = line_of(cut(piece, LINE_BYTES_MAX), number, tagged, page) {
                said = true;
                return Some(found);
            }
        }
        let only_tags = tagged && !std::mem::replace(&mut said, true);
        only_tags.then_some(Line {
            number,
            key: Key::Nothing,
            value: "".into(),
            written: "",
            mended: false,
        })
    })
}

/// In a page blanks are all one, and whoever wrote lines there may have got one: `User-agent: * Disallow: /x`. What
/// begins with a key ends before the next; a sentence that speaks of keys does not begin with one.
fn first_directive(piece: &str) -> (&str, Option<&str>) {
    let mut keys =
        memchr::memchr_iter(b':', piece.as_bytes()).filter_map(|at| key_before(piece, at));
    let is_first = |at: &usize| markup::bare(&piece[..*at]).trim_matches(is_blank).is_empty();
    let next = keys.next().filter(is_first).and_then(|_| keys.next());
    // Looked for no further than that, or many keys on a line would cost their number times its length.
    match next.filter(|next| !piece[..*next].contains('#')) {
        Some(next) => (&piece[..next], Some(&piece[next..])),
        None => (piece, None),
    }
}

/// Where the key begins whose colon this is, if it is one of ours and stands behind a blank, a tag or `&nbsp;`.
fn key_before(text: &str, colon: usize) -> Option<usize> {
    let before = text[..colon].trim_end_matches(is_blank);
    if !before.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let from = before.floor_char_boundary(before.len().saturating_sub(KEY_BYTES_MAX + 1));
    let ends_another = |c: char| is_blank(c) || matches!(c, '>' | ';');
    let is_start = |at: &usize| before[..*at].chars().next_back().is_none_or(ends_another);
    let is_key = |at: &usize| {
        matches!(
            Key::of(&before[*at..]).0,
            Key::UserAgent | Key::Allow | Key::Disallow | Key::CrawlDelay | Key::Sitemap
        )
    };
    let places = before[from..].char_indices().map(|(at, _)| from + at);
    places.filter(is_start).find(is_key)
}

/// `None` for what is blank, and for comments.
fn line_of(piece: &str, number: u32, tagged: bool, page: bool) -> Option<Line<'_>> {
    let mut bare = markup::bare(piece);
    let dressed = matches!(bare, Cow::Owned(_));
    if page {
        bare = markup::without_entities(bare);
    }
    let (key, value, spelled) = match bare {
        Cow::Borrowed(bare) => {
            directive(bare).map(|(key, value, spelled)| (key, value.into(), spelled))?
        }
        Cow::Owned(bare) => {
            directive(&bare).map(|(key, value, spelled)| (key, value.to_owned().into(), spelled))?
        }
    };
    Some(Line {
        number,
        key,
        value,
        written: piece.trim(),
        mended: page || tagged || dressed || !spelled,
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

/// The key, the value, and whether they are spelled as they should be.
fn directive(line: &str) -> Option<(Key, &str, bool)> {
    let said = line.split('#').next().unwrap_or("").trim_matches(is_blank);
    let said = said.trim_start_matches(LATIN1_MARK).trim_start_matches(is_blank);
    if said.is_empty() {
        return None;
    }
    let Some((name, value, colon)) = split_key(said) else {
        return Some((Key::Nothing, "", false));
    };
    let (key, spelled) = Key::of(name);
    Some((key, value, colon && spelled))
}

/// `key: value`, or `key value` when those are the only two words of the line; and whether there is a colon.
fn split_key(line: &str) -> Option<(&str, &str, bool)> {
    if let Some((key, value)) = line.split_once(':') {
        return Some((key.trim_matches(is_blank), value.trim_matches(is_blank), true));
    }
    let (key, value) = line.split_once(is_blank)?;
    let value = value.trim_matches(is_blank);
    (!value.contains(is_blank)).then_some((key, value, false))
}

/// Byte order marks are blanks of no width.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\0' | '\u{b}' | '\u{c}' | '\u{a0}' | '\u{feff}')
}

/// A UTF-8 byte order mark in a file that is none otherwise.
const LATIN1_MARK: &str = "\u{ef}\u{bb}\u{bf}";

impl Key {
    /// The key that is meant, and whether it is spelled so.
    fn of(name: &str) -> (Key, bool) {
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        let found = SPELLINGS.iter().find(|(_, proper, others)| is(&[*proper]) || is(others));
        match found {
            Some((key, proper, _)) => (*key, is(&[*proper])),
            None if is(EXTENSIONS) => (Key::Extension, true),
            None => (Key::Unknown, true),
        }
    }
}

/// Each key, as it should be spelled, and how else it is.
const SPELLINGS: [(Key, &str, &[&str]); 5] = [
    (
        Key::UserAgent,
        "user-agent",
        &["useragent", "user agent", "user_agent", "use-agent", "useg-agent"],
    ),
    (Key::Allow, "allow", &["alow", "allaw"]),
    (
        Key::Disallow,
        "disallow",
        &["dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"],
    ),
    (Key::CrawlDelay, "crawl-delay", &["crawldelay", "crawl delay", "crawl_delay"]),
    (Key::Sitemap, "sitemap", &["site-map"]),
];

/// The longest spelling is `crawl-delay`.
const KEY_BYTES_MAX: usize = 11;

const EXTENSIONS: &[&str] = &[
    "host",
    "clean-param",
    "request-rate",
    "visit-time",
    "noindex",
    "nofollow",
    "content-signal",
    "content-usage",
    "license",
    "robot-version",
];

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

/// Four bytes can be anything; those of a character seldom by chance.
fn is_utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> bool {
    let wrong = utf32(bytes, unit).filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    wrong * 2 <= bytes.len() / 4
}

fn utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> impl Iterator<Item = char> {
    let units = bytes.chunks_exact(4).map(move |four| unit([four[0], four[1], four[2], four[3]]));
    units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
