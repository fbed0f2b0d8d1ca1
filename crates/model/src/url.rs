//! `CrawlUrl`: a canonical http(s) URL. Its parser is the only door for URLs into the product.
//!
//! Equal bytes mean the same page, and parsing is idempotent: what this type wrote parses to itself.
//! Parsing is WHATWG's; beyond it
//! - fragment and credentials are removed,
//! - percent-escapes are upper case, and those of unreserved characters (RFC 3986 section 6.2.2) are
//!   decoded ([`escape`]): nothing that has a meaning of its own, such as `%2F`, ever is,
//! - trailing dots of the host are removed.
//!
//! What a collection may configure on top (index names, query parameters) is a [`NormalForm`].
//!
//! Where the `url` crate (2.5) departs from the standard for http, and what is done so that no link is
//! lost:
//! - seven rows of WPT, all relative references of three or more slashes (`///test`,
//!   `///\//\//test`, `///example.org/path`, `///example.org/../path` and three like it): the crate
//!   finds an empty host. The slashes are folded to two before it sees them ([`base`]);
//! - seven rows with a plain host whose `xn--` label is no punycode (`http://a.b.c.xn--pokxncvks`,
//!   `https://xn--/` and their like): the crate refuses them, [`punycode`] takes them as they are;
//! - `^` in a path is not escaped; [`escape`] does it.
//!
//! What the normalizer of crawler-commons does and we do not, because it can change what a server
//! answers: doubled slashes in a path folded, an empty query removed, `a=` made `a`, a lone `%`
//! escaped as `%25`, `|`, `[`, `]` and their like escaped, the query sorted (that is a [`NormalForm`]).

mod base;
mod escape;
mod form;
mod plain;
mod punycode;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, fmt, hash, sync::Arc};

use serde::{Deserialize, Serialize};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use self::punycode::Parsed;
pub use self::{base::UrlBase, form::NormalForm};
use crate::{Origin, SiteKey, site::domain_of};

#[derive(Clone)]
pub struct CrawlUrl {
    text: Arc<str>,
    fp: Fingerprint,
    /// Where the authority ends and the path begins.
    path_start: u32,
    /// Where the path ends: at the question mark, or with the text. Both are asked for many times a link.
    path_end: u32,
}

/// Of the space in which URLs are put together: longer ones are rare.
const TEXT_BYTES_KEPT: usize = 4_096;

/// Stable across runs and machines: xxh3 of the canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub u64);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("only http and https can be crawled, not {0}")]
    Scheme(String),
    #[error("not a valid URL: {0}")]
    Invalid(String),
}

impl CrawlUrl {
    pub fn parse(text: &str) -> Result<CrawlUrl, UrlError> {
        if let Some(url) = plain::absolute(text) {
            return Ok(url);
        }
        refuse_other_scheme(text)?;
        CrawlUrl::canonical(Parsed::parse(text, None))
    }

    /// Resolves `reference` as a browser would. For many links of one page make a [`UrlBase`] once.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        match plain::join(self, reference) {
            Some(url) => Ok(url),
            None => self.base().join_parsed(reference),
        }
    }

    /// What many references can be resolved against without parsing this URL each time.
    pub fn base(&self) -> UrlBase {
        UrlBase::new(self)
    }

    /// A URL that this type wrote earlier (from the database): trusted to be canonical, so not parsed
    /// again; only text that cannot be one is refused. Debug builds do look.
    pub fn stored(text: &str) -> Result<CrawlUrl, UrlError> {
        let damaged = || UrlError::Invalid("the stored text is damaged".to_owned());
        let host_start = if text.starts_with("https://") { 8 } else { 7 };
        let is_plain = text.bytes().all(|b| b.is_ascii_graphic());
        if !is_plain || !(text.starts_with("http://") || host_start == 8) {
            return Err(damaged());
        }
        let host_len = text[host_start..].find('/').filter(|&len| len > 0).ok_or_else(damaged)?;
        if cfg!(debug_assertions) && CrawlUrl::parse(text)?.as_str() != text {
            return Err(damaged());
        }
        Ok(CrawlUrl::from_canonical(Arc::from(text), host_start + host_len))
    }

    fn canonical(parsed: Result<Parsed, url::ParseError>) -> Result<CrawlUrl, UrlError> {
        let Parsed { mut url, veiled } = parsed.map_err(|e| UrlError::Invalid(e.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(url.scheme().to_owned()));
        }
        url.set_fragment(None);
        // These cannot fail on a URL that has a host, and every http URL has one.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        remove_trailing_dots(&mut url);
        let text = String::from(url);
        let host_start = if text.starts_with("https://") { 8 } else { 7 };
        let mut path_start = text[host_start..].find('/').map_or(text.len(), |i| i + host_start);
        let mut text = escape::normalize(text, path_start);
        if veiled {
            (text, path_start) = punycode::unveil(&text, path_start);
        }
        Ok(CrawlUrl::from_canonical(Arc::from(text), path_start))
    }

    fn from_canonical(text: Arc<str>, path_start: usize) -> CrawlUrl {
        let fp = Fingerprint(xxh3_64(text.as_bytes()));
        let path = text[path_start..].find('?');
        let path_end = path.map_or(text.len(), |length| path_start + length);
        // The url crate refuses texts of 4 GB and more.
        CrawlUrl { text, fp, path_start: path_start as u32, path_end: path_end as u32 }
    }

    /// The same page in the collection's own normal form.
    #[must_use]
    pub fn with_form(&self, form: &NormalForm) -> CrawlUrl {
        match form.rewrite(self.path(), self.query()) {
            None => self.clone(),
            Some(rest) => self.at(&[&rest]),
        }
    }

    /// Another place on the same origin; the parts together are a canonical path and query, and begin with a slash.
    pub(crate) fn at(&self, path_and_query: &[&str]) -> CrawlUrl {
        thread_local! {
            // Most URLs of a crawl are made here: each is to cost one allocation, that of its own text.
            static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
        }
        let text = TEXT.with_borrow_mut(|text| {
            text.clear();
            text.push_str(self.origin_text());
            path_and_query.iter().for_each(|part| text.push_str(part));
            let shared = Arc::from(text.as_str());
            text.shrink_to(TEXT_BYTES_KEPT);
            shared
        });
        CrawlUrl::from_canonical(text, self.path_start as usize)
    }

    /// `/robots.txt` of an origin.
    pub(crate) fn robots_of(origin: &Origin) -> CrawlUrl {
        let text = [origin.as_str(), "/robots.txt"].concat();
        CrawlUrl::from_canonical(Arc::from(text), origin.as_str().len())
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn fingerprint(&self) -> Fingerprint {
        self.fp
    }

    pub fn scheme(&self) -> &str {
        if self.is_https() { "https" } else { "http" }
    }

    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Host with its port, as in the `Host` header.
    pub fn authority(&self) -> &str {
        self.text.get(self.scheme().len() + 3..self.path_start as usize).unwrap_or_default()
    }

    /// `[::1]` keeps its brackets.
    pub fn host(&self) -> &str {
        split_port(self.authority()).0
    }

    /// The port written in the URL (never the scheme's default).
    pub fn port(&self) -> Option<u16> {
        split_port(self.authority()).1
    }

    pub fn port_or_default(&self) -> u16 {
        self.port().unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    /// Path and query, as in a request line.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.path_start as usize..]
    }

    pub fn path(&self) -> &str {
        &self.text[self.path_start as usize..self.path_end as usize]
    }

    pub fn query(&self) -> Option<&str> {
        self.text.get(self.path_end as usize + 1..)
    }

    /// What stands between the slashes of the path; `/a/` gives `a` and an empty one.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path().split('/').skip(1)
    }

    /// What follows the last dot of the last segment, as written: `html`, `PDF`.
    pub fn extension(&self) -> Option<&str> {
        let file = self.path().rsplit('/').next()?;
        let (stem, extension) = file.rsplit_once('.')?;
        (!stem.is_empty() && !extension.is_empty()).then_some(extension)
    }

    /// Likely made by a program on demand: it has a query, or the name of a script.
    pub fn is_dynamic(&self) -> bool {
        self.is_dynamic_by(|extension| {
            SCRIPT_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
        })
    }

    /// The same, where others say which extensions are those of scripts.
    pub fn is_dynamic_by(&self, is_script: impl Fn(&str) -> bool) -> bool {
        self.query().is_some()
            || self.extension().is_some_and(is_script)
            || self.segments().any(|segment| segment == "cgi-bin")
    }

    pub fn origin(&self) -> Origin {
        Origin::from_text(self.origin_text())
    }

    fn origin_text(&self) -> &str {
        &self.text[..self.path_start as usize]
    }

    pub fn site(&self) -> SiteKey {
        SiteKey::from_text(self.site_text())
    }

    /// The text of [`CrawlUrl::site`], without making a key of it: for lookups of many links.
    pub fn site_text(&self) -> &str {
        match split_port(self.authority()) {
            (host, None | Some(80 | 443)) => host,
            _ => self.authority(),
        }
    }

    /// The registrable domain, as [`SiteKey::domain`].
    pub fn domain(&self) -> &str {
        domain_of(self.host())
    }

    /// The site's entry page on the same origin.
    #[must_use]
    pub fn home(&self) -> CrawlUrl {
        self.at(&["/"])
    }
}

/// Extensions of scripts, as VN and WIRE count dynamic pages.
const SCRIPT_EXTENSIONS: [&str; 20] = [
    "php", "php3", "php4", "php5", "php7", "phtml", "asp", "aspx", "ashx", "asmx", "jsp", "jspx",
    "do", "action", "cgi", "pl", "fcgi", "cfm", "cfml", "dll",
];

/// A reference that names another scheme needs no parsing: many are long (`data:`) and all are refused.
fn refuse_other_scheme(text: &str) -> Result<(), UrlError> {
    let text = text.trim_matches(is_trimmed);
    let is_scheme_byte = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let length = text.bytes().take_while(|b| is_scheme_byte(b)).count();
    let is_scheme = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.as_bytes().get(length) == Some(&b':');
    let scheme = &text[..length];
    if !is_scheme || ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    // Long enough for every registered scheme; the rest is somebody's joke.
    Err(UrlError::Scheme(scheme[..length.min(40)].to_ascii_lowercase()))
}

/// WHATWG trims C0 controls and spaces at both ends of its input.
fn is_trimmed(c: char) -> bool {
    c <= ' '
}

/// `example.org.` is `example.org`. Where the dots hide what would be no host (the bare root, a number
/// that is no address) they stay.
fn remove_trailing_dots(url: &mut Url) {
    let Some(host) = url.host_str().filter(|host| host.ends_with('.')) else { return };
    let bare = host.trim_end_matches('.').to_owned();
    // An error leaves the URL as it is.
    let _ = url.set_host(Some(&bare));
}

/// Asked of every link several times, and most have no port: the end is looked at, not searched.
fn split_port(authority: &str) -> (&str, Option<u16>) {
    let digits = authority.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (host, port) = authority.split_at(authority.len() - digits);
    match host.strip_suffix(':') {
        Some(host) if digits > 0 => (host, port.parse().ok()),
        _ => (authority, None),
    }
}

impl PartialEq for CrawlUrl {
    fn eq(&self, other: &CrawlUrl) -> bool {
        self.fp == other.fp && self.text == other.text
    }
}

impl Eq for CrawlUrl {}

impl PartialOrd for CrawlUrl {
    fn partial_cmp(&self, other: &CrawlUrl) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CrawlUrl {
    fn cmp(&self, other: &CrawlUrl) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl hash::Hash for CrawlUrl {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.fp.hash(state);
    }
}

impl fmt::Display for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.text)
    }
}
