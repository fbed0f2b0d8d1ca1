//! One path pattern of a rule, and the normal form in which patterns and paths are compared.
//!
//! RFC 9309 section 2.2.2: octets outside US-ASCII are percent-encoded, encoded unreserved octets decoded,
//! before comparing. Section 2.2.3: `*` stands for any octets, `$` at the end for the end, `%2A` and `%24`
//! for the characters themselves; so a literal `*` or `$` of a path is compared in its encoded form.
//!
//! Matching is linear in path and pattern: with `*` as the only wildcard, taking each literal piece at its
//! leftmost place is enough, so nothing is ever tried twice.

use memchr::memmem;

/// A pattern in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Literal pieces between the wildcards; the first is bound to the beginning of the path.
    pieces: Box<[Box<[u8]>]>,
    /// Ends in `$`: the last piece is bound to the end.
    anchored: bool,
    octets: usize,
}

impl Pattern {
    pub fn new(text: &str) -> Pattern {
        let (body, anchored) = match text.strip_suffix('$') {
            Some(body) => (body, true),
            None => (text, false),
        };
        let pieces: Box<[Box<[u8]>]> =
            body.split('*').map(|piece| normal(piece).into_boxed_slice()).collect();
        let octets = pieces.iter().map(|piece| piece.len()).sum::<usize>() + pieces.len() - 1;
        Pattern { pieces, anchored, octets: octets + usize::from(anchored) }
    }

    /// What "the most octets" of section 2.2.2 counts.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// `path` in the form [`normal`] gives.
    pub fn matches(&self, path: &[u8]) -> bool {
        let [first, later @ ..] = &*self.pieces else { return true };
        let Some(mut rest) = path.strip_prefix(&**first) else { return false };
        let Some((last, middle)) = later.split_last() else {
            return !self.anchored || rest.is_empty();
        };
        for piece in middle {
            match memmem::find(rest, piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        if self.anchored { rest.ends_with(last) } else { memmem::find(rest, last).is_some() }
    }
}

/// Path and query (or a piece of a pattern without its wildcards) in the form that is compared.
pub(super) fn normal(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() + 8);
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], escaped(&bytes[at..])) {
            (_, Some(octet)) => {
                push(&mut out, octet, is_unreserved(octet));
                at += 3;
            }
            (octet, None) => {
                push(&mut out, octet, is_plain(octet));
                at += 1;
            }
        }
    }
    out
}

/// The octet that `%XX` at the beginning of `bytes` stands for.
fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |b: u8| char::from(b).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

fn push(out: &mut Vec<u8>, octet: u8, plain: bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if plain {
        out.push(octet);
    } else {
        out.extend([b'%', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
    }
}

fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// Octets that stand for themselves when written plainly. `*`, `$` and `'` (which URL parsers write both
/// ways) do not, nor does what a URL may not contain; a stray `%` does.
fn is_plain(octet: u8) -> bool {
    is_unreserved(octet) || b"%:/?#[]@!&()+,;=".contains(&octet)
}
