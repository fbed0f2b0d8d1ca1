//! Character references (`&amp;`, `&#233;`) in text and attributes. The table is `htmlize`'s; the
//! few that make up nearly all of them are known here, so that ordinary pages never ask for
//! it.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// `&hellip;`.
const COMMON_BYTES_MAX: usize = 8;
/// The longest name in the table has 31 letters; with its `&`.
const NAME_BYTES_MAX: usize = 32;

pub(crate) fn decode_attribute(raw: &str) -> Cow<'_, str> {
    if memchr2(b'&', 0, raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    // No reference stands for a NUL, and none has one in it: either may be done first.
    match replace_nul(raw) {
        Cow::Borrowed(raw) => htmlize::unescape_attribute(raw),
        Cow::Owned(raw) => Cow::Owned(htmlize::unescape_attribute(raw).into_owned()),
    }
}

/// What the standard makes of a NUL in values, comments and raw text (13.2.5). In names of tags and attributes too,
/// which are compared as they stand: with a NUL or with U+FFFD in it, a name is none that is known.
pub(crate) fn replace_nul(text: &str) -> Cow<'_, str> {
    match memchr(0, text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace('\0', "\u{fffd}")),
    }
}

/// Hands `text` to `push` in pieces, references decoded.
pub(crate) fn push_decoded(text: &str, mut push: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        push(&rest[..at]);
        rest = &rest[at..];
        if let Some((length, plain)) = common(rest) {
            push(plain);
            rest = &rest[length..];
        } else {
            let length = reference_length(rest.as_bytes());
            push(&htmlize::unescape(&rest[..length]));
            rest = &rest[length..];
        }
    }
    push(rest);
}

/// Bytes used and what they stand for.
fn common(text: &str) -> Option<(usize, &'static str)> {
    let start = &text.as_bytes()[..text.len().min(COMMON_BYTES_MAX)];
    let length = start.iter().position(|&b| b == b';')? + 1;
    let plain = match &text.as_bytes()[1..length] {
        b"amp;" => "&",
        b"nbsp;" => "\u{a0}",
        b"quot;" => "\"",
        b"#39;" | b"apos;" => "'",
        b"lt;" => "<",
        b"gt;" => ">",
        b"ndash;" => "\u{2013}",
        b"mdash;" => "\u{2014}",
        b"lsquo;" => "\u{2018}",
        b"rsquo;" => "\u{2019}",
        b"ldquo;" => "\u{201c}",
        b"rdquo;" => "\u{201d}",
        b"laquo;" => "\u{ab}",
        b"raquo;" => "\u{bb}",
        b"hellip;" => "\u{2026}",
        b"copy;" => "\u{a9}",
        _ => return None,
    };
    Some((length, plain))
}

/// How far a reference can reach from its `&`: all that the standard would look at to decide it.
fn reference_length(bytes: &[u8]) -> usize {
    let numeric = bytes.get(1) == Some(&b'#');
    let first = if numeric { 2 } else { 1 };
    // A number may have any number of digits; a name is bounded.
    let longest = if numeric { bytes.len() } else { bytes.len().min(NAME_BYTES_MAX) };
    let body = bytes.get(first..longest).unwrap_or_default();
    let end = body.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(body.len()) + first;
    let end = if bytes.get(end) == Some(&b';') { end + 1 } else { end };
    end.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{decode_attribute, push_decoded};

    fn decoded(text: &str) -> String {
        let mut out = String::new();
        push_decoded(text, |piece| out.push_str(piece));
        out
    }

    #[test]
    fn text_is_decoded_as_the_whole_table_would() {
        let long = format!("&{};", "x".repeat(100));
        for text in [
            "a &amp; b",
            "&",
            "&&amp;&",
            "&notit; &not &notin;",
            "&#233;&#xe9;&#128;&#0;&#xD800;",
            "&#99999999999999999999;",
            "&amp",
            "&ampx",
            "&CounterClockwiseContourIntegral;",
            "é&eacute;é",
            "&#;&#x;&#",
            &long,
            "&#38;amp;",
            "&amp;&nbsp;&quot;&#39;&apos;&lt;&gt;&ndash;&mdash;&lsquo;&rsquo;&ldquo;&rdquo;",
            "&laquo;&raquo;&hellip;&copy;&hellip &copyright; &copy&ndash &ld",
        ] {
            assert_eq!(decoded(text), htmlize::unescape(text), "{text}");
        }
    }

    #[test]
    fn a_nul_in_a_value_is_a_sign_that_cannot_be_read() {
        assert_eq!(decode_attribute("a\0b"), "a\u{fffd}b");
        assert_eq!(decode_attribute("a\0&amp;&#0;&am\0p;"), "a\u{fffd}&\u{fffd}&am\u{fffd}p;");
        assert!(matches!(decode_attribute("ab"), Cow::Borrowed("ab")));
    }

    #[test]
    fn attributes_keep_what_looks_like_a_parameter() {
        assert_eq!(decode_attribute("?a=1&copy=2&amp;b=3&lt;"), "?a=1&copy=2&b=3<");
    }
}
