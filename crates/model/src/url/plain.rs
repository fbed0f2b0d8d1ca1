//! The short way for URLs that the parser would not change: most links of most pages.
//!
//! Each function either gives exactly what the parser gives (a property test compares them) or `None`,
//! which says nothing but: ask the parser. Only bytes pass that neither WHATWG nor [`super::escape`]
//! touches, and no segment that begins with a dot.

use std::sync::Arc;

use super::{CrawlUrl, is_trimmed};

/// A DNS name is at most this long; longer ones are left to the parser.
const HOST_BYTES_MAX: usize = 253;

/// `http://host/path?query`, host in plain lower case without a port.
pub(super) fn absolute(text: &str) -> Option<CrawlUrl> {
    let text = text.trim_matches(is_trimmed);
    let host_start = if text.starts_with("https://") { 8 } else { 7 };
    if host_start == 7 && !text.starts_with("http://") {
        return None;
    }
    let host_len = host_length(text.as_bytes().get(host_start..)?)?;
    let path_start = host_start + host_len;
    let length = path_start + length(&text.as_bytes()[path_start..])?;
    Some(CrawlUrl::from_canonical(Arc::from(&text[..length]), path_start))
}

/// `base.join(reference)`.
pub(super) fn join(base: &CrawlUrl, reference: &str) -> Option<CrawlUrl> {
    let reference = reference.trim_matches(is_trimmed);
    match reference.as_bytes() {
        [] | [b'#', ..] => Some(base.clone()),
        [b'/', b'/', ..] | [b'.', ..] => None,
        [b'/', ..] => Some(base.at(&[&reference[..length(reference.as_bytes())?]])),
        [b'?', ..] => {
            let length = query_length(&reference.as_bytes()[1..])? + 1;
            Some(base.at(&[base.path(), &reference[..length]]))
        }
        bytes if first_segment_has_colon(bytes) => absolute(reference),
        bytes => {
            let length = length(bytes)?;
            let folder = base.path().rfind('/')? + 1;
            Some(base.at(&[&base.path()[..folder], &reference[..length]]))
        }
    }
}

/// Such a reference is absolute, or looks as if it were.
fn first_segment_has_colon(reference: &[u8]) -> bool {
    let segment = reference.iter().take_while(|b| !matches!(b, b'/' | b'?' | b'#'));
    segment.into_iter().any(|&b| b == b':')
}

/// How many bytes of `rest` are its host, when a slash follows and the parser would take it as it is.
fn host_length(rest: &[u8]) -> Option<usize> {
    let is_host_byte =
        |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
    let length = rest.iter().take_while(|b| is_host_byte(b)).count();
    let host = &rest[..length];
    // A last label that begins with a letter makes the host no IPv4 address in disguise.
    let last_label = host.rsplit(|&b| b == b'.').next()?;
    let is_name = last_label.first().is_some_and(u8::is_ascii_lowercase);
    let is_plain = is_name
        && length <= HOST_BYTES_MAX
        && host[0] != b'.'
        && !host.windows(2).any(|pair| pair == b"..")
        // Punycode has to be proved valid.
        && !host.windows(4).any(|label| label == b"xn--");
    (is_plain && rest.get(length) == Some(&b'/')).then_some(length)
}

/// How long path and query are without the fragment; `None` when the parser has to look at them.
fn length(rest: &[u8]) -> Option<usize> {
    let mut previous = 0;
    for (i, &byte) in rest.iter().enumerate() {
        match PLAIN[usize::from(byte)] {
            Plain::Yes => {}
            Plain::Dot if previous != b'/' => {}
            Plain::PathOnly => {}
            Plain::Question => return Some(i + 1 + query_length(&rest[i + 1..])?),
            Plain::Hash => return Some(i),
            Plain::Dot | Plain::No => return None,
        }
        previous = byte;
    }
    Some(rest.len())
}

fn query_length(query: &[u8]) -> Option<usize> {
    for (i, &byte) in query.iter().enumerate() {
        match PLAIN[usize::from(byte)] {
            Plain::Yes | Plain::Dot | Plain::Question => {}
            Plain::Hash => return Some(i),
            Plain::PathOnly | Plain::No => return None,
        }
    }
    Some(query.len())
}

#[derive(Clone, Copy)]
enum Plain {
    Yes,
    /// May begin a dot segment.
    Dot,
    /// The apostrophe: as it is in a path, escaped in a query.
    PathOnly,
    Question,
    Hash,
    No,
}

const PLAIN: [Plain; 256] = plain_table();

const fn plain_table() -> [Plain; 256] {
    let mut table = [Plain::No; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'/' => Plain::Yes,
            b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => {
                Plain::Yes
            }
            b'.' => Plain::Dot,
            b'\'' => Plain::PathOnly,
            b'?' => Plain::Question,
            b'#' => Plain::Hash,
            _ => Plain::No,
        };
        byte += 1;
    }
    table
}
