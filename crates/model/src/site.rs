//! Sites, origins and domains: the units of the clock, of robots.txt and cookies, and of quotas.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{CrawlUrl, RobotsCopy, SiteHabit, SiteTraps, Timestamp};

/// A host, decoded, lower case, without trailing dot; ports 80 and 443 and both schemes together, any
/// other port appended as `host:port`. Queue, clock and leases go by it. Made only by [`CrawlUrl::site`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SiteKey(Arc<str>);

impl SiteKey {
    pub(crate) fn from_text(key: &str) -> SiteKey {
        SiteKey(Arc::from(key))
    }

    /// A key that was stored earlier. Not for text from outside: that goes through [`CrawlUrl`].
    pub fn stored(key: &str) -> SiteKey {
        SiteKey(Arc::from(key))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host without its port.
    pub fn host(&self) -> &str {
        match self.0.rsplit_once(':') {
            Some((host, port))
                if !port.ends_with(']') && port.bytes().all(|b| b.is_ascii_digit()) =>
            {
                host
            }
            _ => &self.0,
        }
    }

    /// The registrable domain (public suffix list); the host itself for addresses and bare suffixes.
    pub fn domain(&self) -> &str {
        domain_of(self.host())
    }
}

pub(crate) fn domain_of(host: &str) -> &str {
    // An empty first label (`.example.org`) makes a name that nobody can register.
    if host.starts_with(['[', '.']) || host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

impl fmt::Display for SiteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Scheme, host and port: the unit of robots.txt and cookies. `https://example.org`, no default port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(Arc<str>);

impl Origin {
    pub(crate) fn from_text(origin: &str) -> Origin {
        Origin(Arc::from(origin))
    }

    pub fn stored(origin: &str) -> Origin {
        Origin(Arc::from(origin))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn robots_url(&self) -> CrawlUrl {
        CrawlUrl::robots_of(self)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SiteId(pub i64);

/// All we know of a site when it is checked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    pub id: SiteId,
    pub key: SiteKey,
    /// A seed (or what a seed redirected to) named it; discovered sites have tighter limits.
    pub seeded: bool,
    pub counters: SiteCounters,
    pub clock: SiteClock,
    pub habit: SiteHabit,
    pub traps: SiteTraps,
    /// One copy per origin of the site.
    pub robots: Vec<RobotsCopy>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCounters {
    /// Pages admitted (candidates and excluded pages are not counted).
    pub known: u64,
    /// Those that have not been answered yet.
    #[serde(default)]
    pub waiting: u64,
    /// Pages that have answered with content at least once.
    pub fetched: u64,
    pub failed: u64,
    /// Parts of pages that were admitted: in none of the counters of pages.
    #[serde(default)]
    pub requisites: u64,
    pub duplicates: u64,
    pub visits: u64,
    pub bytes: u64,
}

/// Where the name of a site led: the first of its addresses, and when it was resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteAddress {
    pub address: IpAddr,
    pub resolved: Timestamp,
}

/// The part of the politeness clock that outlives a process. Times to come are kept as what remains of
/// them, so that a jump of the wall clock freezes nobody; the loader caps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteClock {
    /// How long after `saved` the site may be visited again.
    pub remaining: Duration,
    pub saved: Timestamp,
    /// Doublings of the back-off in force (429, 503, 5xx, timeouts).
    pub backoff: u8,
    pub last_response: Duration,
    /// The site was in hand when its process died: its full pause is due from the start of the next.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn site(host: &str) -> Option<SiteKey> {
        CrawlUrl::parse(&format!("http://{host}/")).ok().map(|url| url.site())
    }

    #[test]
    fn a_port_is_part_of_the_site_and_not_of_the_host() {
        for (host, key, bare) in [
            ("example.org:80", "example.org", "example.org"),
            ("example.org:443", "example.org", "example.org"),
            ("example.org:8080", "example.org:8080", "example.org"),
            ("[::1]", "[::1]", "[::1]"),
            ("[::1]:8080", "[::1]:8080", "[::1]"),
            ("[2001:DB8::80]:80", "[2001:db8::80]", "[2001:db8::80]"),
        ] {
            let site = site(host).expect("a host");
            assert_eq!((site.as_str(), site.host()), (key, bare));
        }
    }

    #[test]
    fn addresses_and_bare_suffixes_are_their_own_domain() {
        for (host, domain) in [
            ("127.0.0.1:8080", "127.0.0.1"),
            ("[::1]:8080", "[::1]"),
            ("localhost", "localhost"),
            ("co.uk", "co.uk"),
            ("www.example.co.uk:8080", "example.co.uk"),
            ("a.b.github.io", "b.github.io"),
        ] {
            assert_eq!(site(host).expect("a host").domain(), domain);
        }
    }

    #[test]
    fn the_public_suffix_list_tests_pass() {
        let Some(path) = crate::testing::conformance("psl/tests.txt") else { return };
        let text = fs::read_to_string(path).unwrap();
        let mut checked = 0;
        for line in text.lines().filter(|line| !line.starts_with("//")) {
            let Some((host, expected)) = line.split_once(' ') else { continue };
            let Some(key) = site(host).filter(|_| host != "null") else { continue };
            let expected = site(expected).filter(|_| expected != "null").unwrap_or(key.clone());
            assert_eq!(key.domain(), expected.as_str(), "{host}");
            checked += 1;
        }
        assert!(checked > 70, "only {checked} rows were read");
    }
}
