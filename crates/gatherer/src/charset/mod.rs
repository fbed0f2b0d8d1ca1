//! Which encoding a body is in, and its text as UTF-8.
//!
//! BOM, then the `Content-Type` header, then `<meta>` in the first 1,024 bytes, then the bytes
//! themselves: UTF-16 by its NULs, UTF-8 if it is valid, else a guess on the first 16 KB (guessing
//! is slow: 25 MB/s). Bytes that are already UTF-8 are borrowed, not copied.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

pub(crate) use prescan::prescan;

/// A page says its encoding in its first kilobyte (HTML standard, 13.2.3.2).
const PRESCAN_BYTES: usize = 1024;
const GUESS_BYTES: usize = 16 * 1024;
/// Bytes whose NULs tell UTF-16.
const WIDE_BYTES: usize = 64;

#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) charset: &'static str,
    /// Some bytes were not valid.
    pub(crate) malformed: bool,
    /// Labelled with an encoding that must not be decoded.
    pub(crate) refused: bool,
    /// What the server named, and what it is.
    pub(crate) lie: Option<(&'static str, &'static str)>,
}

/// `is_html`: whether `<meta>` may speak. `tld` helps the guess.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    label: Option<&str>,
    is_html: bool,
    tld: Option<&str>,
) -> Decoded<'a> {
    let (encoding, bom_bytes) = match Encoding::for_bom(body) {
        Some((encoding, length)) => (encoding, length),
        None => (without_bom(body, label, is_html, tld), 0),
    };
    let (text, malformed) = encoding.decode_without_bom_handling(&body[bom_bytes..]);
    let refused = encoding == REPLACEMENT;
    let text = if refused { Cow::Borrowed("") } else { text };
    let lie =
        label.and_then(|label| lie(label, encoding, malformed && is_foreign(&text), body, tld));
    Decoded { text, charset: encoding.name(), malformed: malformed && !refused, refused, lie }
}

/// Whether the server named another encoding than the bytes are in. `foreign`: they are not in the one
/// that was taken.
fn lie(
    label: &str,
    taken: &'static Encoding,
    foreign: bool,
    body: &[u8],
    tld: Option<&str>,
) -> Option<(&'static str, &'static str)> {
    match Encoding::for_label(label.as_bytes()) {
        None => Some(("no encoding", taken.name())),
        Some(named) if named != taken => Some((named.name(), taken.name())),
        Some(named) if foreign => Some(guess(body, tld))
            .filter(|guessed| *guessed != named)
            .map(|guessed| (named.name(), guessed.name())),
        Some(_) => None,
    }
}

/// Whether more characters are broken than good, of those that show an encoding at all.
fn is_foreign(text: &str) -> bool {
    let (mut broken, mut good) = (0u64, 0u64);
    for c in text.chars().filter(|c| !c.is_ascii()) {
        *(if c == char::REPLACEMENT_CHARACTER { &mut broken } else { &mut good }) += 1;
    }
    broken > good
}

fn without_bom(
    body: &[u8],
    label: Option<&str>,
    is_html: bool,
    tld: Option<&str>,
) -> &'static Encoding {
    label
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| is_html.then(|| declared_in_page(body)).flatten())
        .or_else(|| wide(body))
        .unwrap_or_else(|| guess(body, tld))
}

/// What the page's own `<meta>` says.
pub(crate) fn declared_in_page(body: &[u8]) -> Option<&'static Encoding> {
    let encoding = prescan(&body[..body.len().min(PRESCAN_BYTES)])?;
    // Whoever can be read byte by byte up to here is not UTF-16.
    Some(match encoding {
        e if e == UTF_16LE || e == UTF_16BE => UTF_8,
        e if e == X_USER_DEFINED => WINDOWS_1252,
        other => other,
    })
}

/// UTF-16 without a BOM: every other byte of the beginning is NUL, as markup is ASCII.
fn wide(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(WIDE_BYTES) & !1];
    if head.len() < 4 {
        return None;
    }
    let nul_at = |odd: usize| head.iter().skip(odd).step_by(2).all(|&b| b == 0);
    match (nul_at(0), nul_at(1)) {
        (false, true) => Some(UTF_16LE),
        (true, false) => Some(UTF_16BE),
        _ => None,
    }
}

fn guess(body: &[u8], tld: Option<&str>) -> &'static Encoding {
    match std::str::from_utf8(body) {
        Ok(_) => return UTF_8,
        // Only cut in the middle of a character.
        Err(error) if error.error_len().is_none() => return UTF_8,
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&body[..body.len().min(GUESS_BYTES)], body.len() <= GUESS_BYTES);
    // The detector takes lower-case ASCII without dots only.
    let tld = tld.filter(|tld| !tld.is_empty() && tld.bytes().all(|b| b.is_ascii_lowercase()));
    detector.guess(tld.map(str::as_bytes), Utf8Detection::Allow)
}

#[cfg(test)]
mod tests;
