//! `CrawlUrl`: a canonical http(s) URL. Its parser is the only door for URLs into the product.
//!
//! Equal bytes mean the same page. Parsing is WHATWG's; beyond it the fragment and credentials are
//! removed, unreserved percent-escapes decoded, escapes upper-cased, a trailing dot of the host removed.
//! What a collection may configure on top (index names, query parameters) is a [`NormalForm`].

use std::{fmt, hash, sync::Arc};

use serde::{Deserialize, Serialize};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Origin, SiteKey};

/// Stable across runs and machines: xxh3 of the canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub u64);

#[derive(Clone)]
pub struct CrawlUrl {
    text: Arc<str>,
    fp: Fingerprint,
    /// Where the authority ends and the path begins.
    path_start: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("only http and https can be crawled, not {0}")]
    Scheme(String),
    #[error("not a valid URL: {0}")]
    Invalid(String),
}

/// What may be changed about a URL only where the user says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalForm {
    /// File names that mean their folder: `index.html`.
    pub index_names: Vec<String>,
    pub sort_query: bool,
    /// Query parameters to remove, `*` at the end stands for any rest: `utm_*`.
    pub strip_query: Vec<String>,
}

impl CrawlUrl {
    pub fn parse(text: &str) -> Result<CrawlUrl, UrlError> {
        let url = Url::parse(text).map_err(|e| UrlError::Invalid(e.to_string()))?;
        CrawlUrl::canonical(url)
    }

    /// Resolves `reference` as a browser would.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        let base = Url::parse(&self.text).map_err(|e| UrlError::Invalid(e.to_string()))?;
        let url = base.join(reference).map_err(|e| UrlError::Invalid(e.to_string()))?;
        CrawlUrl::canonical(url)
    }

    /// A URL that this type wrote earlier (from the database): trusted to be canonical.
    pub fn stored(text: &str) -> Result<CrawlUrl, UrlError> {
        CrawlUrl::parse(text)
    }

    fn canonical(mut url: Url) -> Result<CrawlUrl, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(url.scheme().to_owned()));
        }
        url.set_fragment(None);
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let text: String = url.into();
        let path_start = text.find("://").map(|i| i + 3).unwrap_or(0);
        let path_start = text[path_start..].find('/').map_or(text.len(), |i| i + path_start);
        Ok(CrawlUrl::from_canonical(text, path_start))
    }

    fn from_canonical(text: String, path_start: usize) -> CrawlUrl {
        let fp = Fingerprint(xxh3_64(text.as_bytes()));
        CrawlUrl { text: Arc::from(text), fp, path_start: path_start as u32 }
    }

    #[must_use]
    pub fn with_form(&self, _form: &NormalForm) -> CrawlUrl {
        self.clone()
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
        &self.text[self.scheme().len() + 3..self.path_start as usize]
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
        let rest = self.path_and_query();
        rest.split_once('?').map_or(rest, |(path, _)| path)
    }

    pub fn query(&self) -> Option<&str> {
        self.path_and_query().split_once('?').map(|(_, query)| query)
    }

    pub fn origin(&self) -> Origin {
        Origin::from_text(&self.text[..self.path_start as usize])
    }

    pub fn site(&self) -> SiteKey {
        SiteKey::from_host(self.host(), self.port())
    }

    /// The site's entry page on the same origin.
    #[must_use]
    pub fn home(&self) -> CrawlUrl {
        let text = format!("{}/", &self.text[..self.path_start as usize]);
        CrawlUrl::from_canonical(text, self.path_start as usize)
    }
}

fn split_port(authority: &str) -> (&str, Option<u16>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    }
}

impl PartialEq for CrawlUrl {
    fn eq(&self, other: &CrawlUrl) -> bool {
        self.text == other.text
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
