//! What the user had forgotten: known by keyed hashes, so that nobody who looks into the collection finds
//! its names.
//!
//! The hash is HMAC-SHA-1 (RFC 2104) cut to 128 bits, with a random key of the collection: nothing here
//! rests on SHA-1 being free of collisions, only on its being a good keyed hash.

use std::{collections::HashSet, fmt, net::IpAddr};

use foldhash::fast::RandomState;
use model::CrawlUrl;
use sha1::{Digest, Sha1};

use crate::{Block, UrlForm};

type Hash = [u8; 16];
type Hashes = HashSet<Hash, RandomState>;

/// The hashes in force.
#[derive(Clone, Default)]
pub struct Forgotten {
    key: [u8; 16],
    urls: Hashes,
    sites: Hashes,
    domains: Hashes,
}

/// What can be forgotten, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grave {
    /// Without its scheme (`//example.org/a`) both are meant.
    Url(String),
    /// A host with all its ports, or `host:port`.
    Site(String),
    /// A domain with everything under it.
    Domain(String),
}

/// Whether anybody can register names right under it.
fn is_public_suffix(domain: &str) -> bool {
    let below = format!("x.{domain}");
    CrawlUrl::parse(&format!("http://{below}/")).is_ok_and(|url| url.domain() == below)
}

/// The address in `.192.0.2.7`. Blocks advise a range there, and ranges cannot be forgotten.
fn address_as_domain(text: &str) -> Option<&str> {
    let address = text.trim().strip_prefix('.')?;
    let is_one = matches!(Grave::parse(address), Ok(Grave::Site(site)) if is_address(&site));
    is_one.then_some(address)
}

fn is_address(site: &str) -> bool {
    site.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

impl Grave {
    /// Reads what somebody typed: a URL, a host, or a domain with a dot before it.
    pub fn parse(text: &str) -> Result<Grave, String> {
        if let Some(address) = address_as_domain(text) {
            return Err(format!(
                "an address has nothing under it: forget it as a site, with harvestman forget {address}"
            ));
        }
        match Block::parse(text)? {
            Block::Url(url) => Ok(Grave::Url(url.to_string())),
            Block::Host(host) => Ok(Grave::Site(host.to_string())),
            Block::Domain(domain) if is_public_suffix(&domain) => Err(format!(
                "{domain} is nobody's alone (a public suffix): name the domains under it one by one"
            )),
            Block::Domain(domain) => Ok(Grave::Domain(domain.to_string())),
            Block::Addresses(range) if range.edges().0 == range.edges().1 => {
                let address = range.edges().0;
                let brackets = address.is_ipv6();
                Ok(Grave::Site(if brackets { format!("[{address}]") } else { address.to_string() }))
            }
            Block::Prefix(_) | Block::Addresses(_) => {
                Err("only URLs, sites and domains can be forgotten; block the rest".to_owned())
            }
        }
    }

    /// A URL as the collection writes it.
    #[must_use]
    pub fn with_form(self, form: &UrlForm) -> Grave {
        match &self {
            Grave::Url(text) if !text.starts_with("//") => match CrawlUrl::parse(text) {
                Ok(url) => Grave::Url(form.apply(&url).as_str().to_owned()),
                Err(_) => self,
            },
            _ => self,
        }
    }

    /// `url`, `site` or `domain`.
    pub fn kind(&self) -> &'static str {
        match self {
            Grave::Url(_) => "url",
            Grave::Site(_) => "site",
            Grave::Domain(_) => "domain",
        }
    }

    pub fn hash(&self, key: [u8; 16]) -> Hash {
        match self {
            Grave::Url(name) | Grave::Site(name) | Grave::Domain(name) => {
                hash(key, self.kind(), name)
            }
        }
    }
}

impl Forgotten {
    /// Of a collection with this key.
    pub fn new(key: [u8; 16]) -> Forgotten {
        Forgotten { key, ..Forgotten::default() }
    }

    /// Kinds that this version does not know are passed over.
    pub fn add(&mut self, kind: &str, hash: Hash) {
        match kind {
            "url" => self.urls.insert(hash),
            "site" => self.sites.insert(hash),
            "domain" => self.domains.insert(hash),
            _ => false,
        };
    }

    pub fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.sites.is_empty() && self.domains.is_empty()
    }

    pub fn holds(&self, url: &CrawlUrl) -> bool {
        let has = |hashes: &Hashes, kind: &str, name: &str| {
            !hashes.is_empty() && hashes.contains(&hash(self.key, kind, name))
        };
        let (text, host, site) = (url.as_str(), url.host(), url.site_text());
        let bare = &text[url.scheme().len() + 1..];
        has(&self.sites, "site", host)
            || (site != host && has(&self.sites, "site", site))
            || self.holds_domain(host)
            || has(&self.urls, "url", text)
            || has(&self.urls, "url", bare)
    }

    fn holds_domain(&self, host: &str) -> bool {
        let mut rest = Some(host).filter(|_| !self.domains.is_empty());
        while let Some(name) = rest {
            if self.domains.contains(&hash(self.key, "domain", name)) {
                return true;
            }
            rest = name.split_once('.').map(|(_, rest)| rest);
        }
        false
    }
}

impl fmt::Debug for Forgotten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.urls.len() + self.sites.len() + self.domains.len();
        write!(f, "Forgotten({count})")
    }
}

fn hash(key: [u8; 16], kind: &str, name: &str) -> Hash {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha1::new()
        .chain_update(padded(0x36))
        .chain_update(kind)
        .chain_update([0])
        .chain_update(name)
        .finalize();
    let outer = Sha1::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
    let mut short = [0; 16];
    short.copy_from_slice(&outer[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 16] = [7; 16];

    fn forgotten(graves: &[&str]) -> Forgotten {
        let mut forgotten = Forgotten::new(KEY);
        for grave in graves {
            let grave = Grave::parse(grave).unwrap();
            forgotten.add(grave.kind(), grave.hash(KEY));
        }
        forgotten
    }

    #[test]
    fn what_was_forgotten_is_known_by_its_hash_and_nothing_beside_it_is() {
        let forgotten =
            forgotten(&["A.example", "p.example:8080", ".b.example", "c.example/x", "192.0.2.7"]);
        for (url, held) in [
            ("http://a.example/", true),
            ("https://a.example:8443/deep?q", true),
            ("http://www.a.example/", false),
            ("http://p.example:8080/", true),
            ("http://p.example/", false),
            ("http://b.example/", true),
            ("http://very.deep.b.example/z", true),
            ("http://bb.example/", false),
            ("http://c.example/x", true),
            ("https://c.example/x", true),
            ("http://c.example/", false),
            ("http://192.0.2.7/", true),
        ] {
            assert_eq!(forgotten.holds(&CrawlUrl::parse(url).unwrap()), held, "{url}");
        }
    }

    #[test]
    fn hashes_depend_on_the_key_and_on_the_kind() {
        let (site, domain) = (Grave::Site("a".into()), Grave::Domain("a".into()));
        assert_ne!(site.hash(KEY), domain.hash(KEY));
        assert_ne!(site.hash(KEY), site.hash([8; 16]));
        // As another implementation has it:
        // python3 -c 'import hmac; print(hmac.new(b"\7"*16, b"site\0a", "sha1").hexdigest()[:32])'
        let hex: String = site.hash(KEY).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ffb244bbe75a8b1be8de15eeafb4ea2f");
    }

    #[test]
    fn what_cannot_be_forgotten_is_answered_with_what_to_do() {
        for text in ["http://a.example/x*", "10.0.0.0/8"] {
            assert!(Grave::parse(text).unwrap_err().contains("block the rest"), "{text}");
        }
        for (text, right) in [(".192.0.2.7", "192.0.2.7"), (".[2001:db8::7]", "[2001:db8::7]")] {
            let why = Grave::parse(text).unwrap_err();
            assert!(why.ends_with(&format!("harvestman forget {right}")), "{text}: {why}");
            assert!(Grave::parse(right).is_ok(), "{right}");
        }
    }
}
