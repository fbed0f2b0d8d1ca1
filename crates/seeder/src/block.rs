//! A block as people write it: a URL, a URL prefix, a host, a domain, an address or a range of them.
//!
//! | written | keeps away from |
//! | --- | --- |
//! | `https://example.org/a?b` | this URL |
//! | `https://example.org/a*` | every URL that begins so |
//! | `example.org/a*` | the same with either scheme |
//! | `example.org`, `example.org:8080` | the host on every port, or on this one |
//! | `.example.org` | the domain and everything under it |
//! | `192.0.2.7`, `192.0.2.0/24` | addresses, whatever names lead to them |
//!
//! Reading what a block says of itself gives the same block: lists can be written out and read again.

use std::{fmt, net::IpAddr, str::FromStr, sync::Arc};

use model::{Cidr, CrawlUrl, limits};

use crate::UrlForm;

/// As long as the URLs that are crawled by default, so that a refusal can name the whole pattern.
pub const PATTERN_BYTES_MAX: usize = limits::URL_BYTES_MAX - "block: ".len();

const NEITHER: &str = "neither a host nor a URL nor an address: \
                       write a host such as example.org, a URL, or an address range";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    /// Canonical; begins with `//` when written without a scheme.
    Url(Arc<str>),
    /// The same, cut off before the star.
    Prefix(Arc<str>),
    /// As in a site's key: the port only when it is neither 80 nor 443.
    Host(Arc<str>),
    /// Without the dot at its front.
    Domain(Arc<str>),
    Addresses(Cidr),
}

impl Block {
    /// The error says what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Block, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("nothing to block".to_owned());
        }
        if text.contains(char::is_whitespace) {
            return Err("white space inside: write one a line, spaces as %20".to_owned());
        }
        let block = read(text)?;
        let written = block.to_string();
        if written.len() > PATTERN_BYTES_MAX {
            return Err(format!("longer than {PATTERN_BYTES_MAX} bytes: block a prefix of it"));
        }
        // Hosts such as `!.` are names to URL parsers alone.
        match read(&written) {
            Ok(again) if again == block => Ok(block),
            _ => Err(NEITHER.to_owned()),
        }
    }

    /// A URL as the collection writes it.
    #[must_use]
    pub fn with_form(self, form: &UrlForm) -> Block {
        match &self {
            Block::Url(text) if !text.starts_with("//") => match CrawlUrl::parse(text) {
                Ok(url) => Block::Url(Arc::from(form.apply(&url).as_str())),
                Err(_) => self,
            },
            _ => self,
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |text: &'_ str| text.strip_prefix("//").unwrap_or(text).to_owned();
        match self {
            Block::Url(text) => f.write_str(&bare(text)),
            Block::Prefix(text) => write!(f, "{}*", bare(text)),
            Block::Host(host) => f.write_str(host),
            Block::Domain(domain) => write!(f, ".{domain}"),
            Block::Addresses(range) => write!(f, "{range}"),
        }
    }
}

impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Block, String> {
        Block::parse(text)
    }
}

fn read(text: &str) -> Result<Block, String> {
    if let Some(range) = addresses(text) {
        return range;
    }
    let (body, is_prefix) = match text.strip_suffix('*') {
        Some(body) => (body, true),
        None => (text, false),
    };
    if body.contains('*') {
        let right = "write .example.org for a domain, https://example.org/path* for a prefix";
        return Err(format!("a * stands only at the end: {right}"));
    }
    if body.contains(['/', '?']) {
        let url = canonical_url(body)?;
        return Ok(if is_prefix { Block::Prefix(url) } else { Block::Url(url) });
    }
    if is_prefix {
        return Err("a prefix needs a host and a path: write https://example.org/path*".to_owned());
    }
    match body.strip_prefix('.') {
        Some(domain) => domain_of(domain),
        None => host_of(body),
    }
}

/// `None` when it does not begin with an address.
fn addresses(text: &str) -> Option<Result<Block, String>> {
    let (address, _) = text.split_once('/').unwrap_or((text, ""));
    let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']')).unwrap_or(address);
    bare.parse::<IpAddr>().ok()?;
    Some(text.parse().map(Block::Addresses).map_err(|error: model::CidrError| error.to_string()))
}

fn canonical_url(body: &str) -> Result<Arc<str>, String> {
    if body.contains("://") {
        return CrawlUrl::parse(body).map(|url| Arc::from(url.as_str())).map_err(|e| e.to_string());
    }
    let bare = body.trim_start_matches('/');
    let host = bare.split(['/', '?']).next().unwrap_or_default();
    if !is_host(host) {
        return Err("a path alone is no block: write the host before it".to_owned());
    }
    let url = CrawlUrl::parse(&format!("http://{bare}")).map_err(|e| e.to_string())?;
    Ok(Arc::from(&url.as_str()["http:".len()..]))
}

fn domain_of(domain: &str) -> Result<Block, String> {
    if domain.contains([':', '@', '[']) || domain.starts_with('.') {
        return Err("a domain has neither port nor address: write .example.org".to_owned());
    }
    let name = site_of(domain)?;
    if name.parse::<IpAddr>().is_ok() {
        return Err("an address has nothing under it: write a range such as 192.0.2.0/24".into());
    }
    Ok(Block::Domain(Arc::from(name)))
}

fn host_of(host: &str) -> Result<Block, String> {
    if !is_host(host) {
        return Err(NEITHER.to_owned());
    }
    let site = site_of(host)?;
    // `0x7f.1` is an address in disguise.
    Ok(match addresses(&site) {
        Some(block) => block?,
        None => Block::Host(Arc::from(site)),
    })
}

fn is_host(host: &str) -> bool {
    let named = host.contains(['.', ':', '。']) || host == "localhost";
    named && !host.contains(['@', '#', '\\'])
}

fn site_of(host: &str) -> Result<String, String> {
    let url = CrawlUrl::parse(&format!("http://{host}/")).map_err(|e| e.to_string())?;
    Ok(url.site_text().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Block;

    fn written(text: &str) -> String {
        Block::parse(text).unwrap_or_else(|why| panic!("{text}: {why}")).to_string()
    }

    #[test]
    fn each_kind_is_read_and_written_in_its_canonical_form() {
        for (typed, canonical) in [
            ("HTTPS://Example.org/a#top", "https://example.org/a"),
            ("https://example.org/a*", "https://example.org/a*"),
            ("https://example.org*", "https://example.org/*"),
            ("Example.org/a/*", "example.org/a/*"),
            ("//example.org/a", "example.org/a"),
            ("example.org", "example.org"),
            ("http://example.org", "http://example.org/"),
            ("example.org:443", "example.org"),
            ("example.org:8080", "example.org:8080"),
            ("localhost", "localhost"),
            (".Example.org", ".example.org"),
            (".pt", ".pt"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("[2001:db8::1]", "2001:db8::1/128"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("0x7f.1", "127.0.0.1/32"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(written(typed), canonical, "{typed}");
            assert_eq!(written(canonical), canonical, "{typed} again");
        }
    }

    #[test]
    fn what_is_no_block_is_answered_with_what_would_be_one() {
        for (typed, part) in [
            ("", "nothing"),
            ("*", "prefix needs a host"),
            ("*.example.org", "write .example.org"),
            ("https://example.org/*/x", "only at the end"),
            ("a b.example", "white space"),
            ("word", "neither a host"),
            ("me@example.org", "neither a host"),
            ("/path/alone", "write the host"),
            ("ftp://example.org/", "only http and https"),
            ("10.1.2.3/8", "write 10.0.0.0/8"),
            ("10.0.0.0/99", "from 0 to 32"),
            (".example.org:80", "neither port"),
            (".10.0.0.1", "write a range"),
            (".", ""),
        ] {
            let why = Block::parse(typed).unwrap_err();
            assert!(why.contains(part), "{typed}: {why}");
        }
        let long = format!("https://example.org/{}", "x".repeat(3_000));
        assert!(Block::parse(&long).unwrap_err().contains("block a prefix"));
    }

    proptest! {
        #[test]
        fn whatever_is_read_can_be_written_and_read_again(
            text in r"(https?://)?[a-z0-9.\[\]:/*?%-]{0,40}|\PC{0,30}"
        ) {
            if let Ok(block) = Block::parse(&text) {
                prop_assert_eq!(Block::parse(&block.to_string()), Ok(block.clone()), "{}", text);
            }
        }
    }
}
