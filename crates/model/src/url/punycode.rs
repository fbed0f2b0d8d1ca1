//! Hosts whose `xn--` labels decode to nothing valid.
//!
//! The standard takes a host of plain ASCII as it is, also when such a label is no punycode; the `url`
//! crate refuses it, and with it every link of a site that may well have an address. So the labels are
//! put behind a veil while the crate parses, and unveiled in the canonical text.

use url::{ParseError, Url};

/// Stands in for `xn--`. A host that already has it is not helped.
const VEIL: &str = "veil0veil0veil";

#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub(super) url: Url,
    pub(super) veiled: bool,
}

impl Parsed {
    pub(super) fn parse(text: &str, base: Option<&Parsed>) -> Result<Parsed, ParseError> {
        let parse = |text: &str| Url::options().base_url(base.map(|base| &base.url)).parse(text);
        match parse(text) {
            Ok(url) => {
                let veiled = base.is_some_and(|base| base.veiled)
                    && url.host_str().is_some_and(|host| host.contains(VEIL));
                Ok(Parsed { url, veiled })
            }
            Err(ParseError::IdnaError) => {
                let url = parse(&veil(text).ok_or(ParseError::IdnaError)?)?;
                Ok(Parsed { url, veiled: true })
            }
            Err(e) => Err(e),
        }
    }
}

/// The canonical text of a veiled URL, and where its path begins.
pub(super) fn unveil(text: &str, path_start: usize) -> (String, usize) {
    let (origin, rest) = text.split_at(path_start);
    let origin = origin.replace(VEIL, "xn--");
    let path_start = origin.len();
    (origin + rest, path_start)
}

/// `None` when the authority has no such label, or more than plain ASCII.
fn veil(text: &str) -> Option<String> {
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let start = text.find(is_slash)?;
    let start = start + text[start..].find(|c| !is_slash(c))?;
    let end = text[start..].find(['/', '\\', '?', '#']).map_or(text.len(), |i| start + i);
    let authority = text[start..end].to_ascii_lowercase();
    // Only graphic: what the parser takes out could make a veil of something else. Behind the authority a veil stays.
    let is_plain = authority.bytes().all(|b| b.is_ascii_graphic() && b != b'%');
    if !is_plain || authority.contains(VEIL) || !authority.contains("xn--") {
        return None;
    }
    Some([&text[..start], &authority.replace("xn--", VEIL), &text[end..]].concat())
}
