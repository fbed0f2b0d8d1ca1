//! What a page's references are resolved against: its own URL, or that of its `<base href>`.
//!
//! Made once a page. The commonest references are joined as text ([`plain`]), with the same answer as
//! the parser's; the others go through the parser, for which the base is parsed when the first of them comes.

use std::{borrow::Cow, cell::OnceCell};

use super::{CrawlUrl, UrlError, is_trimmed, plain, punycode::Parsed, refuse_other_scheme};

#[derive(Clone, Debug)]
pub struct UrlBase {
    url: CrawlUrl,
    /// Absent only when damaged text was taken for a stored URL.
    parsed: OnceCell<Option<Parsed>>,
}

impl UrlBase {
    pub(super) fn new(url: &CrawlUrl) -> UrlBase {
        UrlBase { parsed: OnceCell::new(), url: url.clone() }
    }

    /// Resolves `reference` as a browser would.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        match plain::join(&self.url, reference) {
            Some(url) => Ok(url),
            None => self.join_parsed(reference),
        }
    }

    /// The base that a page's `<base href>` asks for. An error means: go on with this one.
    pub fn with_href(&self, href: &str) -> Result<UrlBase, UrlError> {
        Ok(self.join(href)?.base())
    }

    pub fn url(&self) -> &CrawlUrl {
        &self.url
    }

    pub(super) fn join_parsed(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        refuse_other_scheme(reference)?;
        let reference = fold_slashes(reference);
        let parsed = self.parsed.get_or_init(|| Parsed::parse(self.url.as_str(), None).ok());
        CrawlUrl::canonical(Parsed::parse(&reference, parsed.as_ref()))
    }
}

/// WHATWG's "special authority ignore slashes state", which the `url` crate omits for relative
/// references: `///test` is `//test`. Tabs and line ends do not count anywhere in a URL.
fn fold_slashes(reference: &str) -> Cow<'_, str> {
    let is_skipped = |c: char| matches!(c, '/' | '\\' | '\t' | '\n' | '\r');
    let reference = reference.trim_start_matches(is_trimmed);
    let rest = reference.trim_start_matches(is_skipped);
    let head = &reference[..reference.len() - rest.len()];
    let slashes = head.bytes().filter(|b| matches!(b, b'/' | b'\\')).count();
    if slashes < 3 {
        return Cow::Borrowed(reference);
    }
    Cow::Owned(["//", rest].concat())
}
