//! What the seeds cover: their sites, registrable domains, folders and ports.
//!
//! Asked once for every link of every page, so a lookup makes nothing: a URL's site, domain and folders
//! are slices of its text.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use model::{CrawlUrl, Fingerprint};

use crate::Scope;

#[derive(Clone, Debug, Default)]
pub struct SeedSet {
    sites: HashMap<Box<str>, Folders, RandomState>,
    domains: HashSet<Box<str>, RandomState>,
    /// The seeds themselves, 8 bytes each.
    pages: HashSet<Fingerprint, RandomState>,
    /// Unusual ports only; few.
    ports: Vec<u16>,
}

/// The folders of a site that its seeds lie in.
#[derive(Clone, Debug)]
enum Folders {
    /// A seed lies in the root.
    All,
    These(HashSet<Box<str>, RandomState>),
}

impl SeedSet {
    /// Adds a seed, or what a seed redirected to (http to https, bare to www).
    pub fn join(&mut self, url: &CrawlUrl) {
        let folders = self
            .sites
            .entry(Box::from(url.site_text()))
            .or_insert_with(|| Folders::These(HashSet::default()));
        folders.add(folder(url));
        if !self.domains.contains(url.domain()) {
            self.domains.insert(Box::from(url.domain()));
        }
        self.pages.insert(url.fingerprint());
        if let Some(port) = unusual_port(url)
            && !self.ports.contains(&port)
        {
            self.ports.push(port);
        }
    }

    /// A seed names this URL's site.
    pub fn has_site(&self, url: &CrawlUrl) -> bool {
        self.sites.contains_key(url.site_text())
    }

    pub fn covers(&self, url: &CrawlUrl, scope: Scope) -> bool {
        match scope {
            Scope::Site => self.has_site(url),
            Scope::Domain => self.has_site(url) || self.domains.contains(url.domain()),
            Scope::Prefix => {
                self.sites.get(url.site_text()).is_some_and(|folders| folders.hold(url.path()))
            }
            Scope::Listed => self.pages.contains(&url.fingerprint()),
            Scope::Any => true,
        }
    }

    /// The usual ports, and those that a seed names.
    pub fn allows_port(&self, url: &CrawlUrl) -> bool {
        unusual_port(url).is_none_or(|port| self.ports.contains(&port))
    }

    /// How many sites there are.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }
}

impl<'a> FromIterator<&'a CrawlUrl> for SeedSet {
    fn from_iter<I: IntoIterator<Item = &'a CrawlUrl>>(seeds: I) -> SeedSet {
        let mut set = SeedSet::default();
        set.extend(seeds);
        set
    }
}

impl<'a> Extend<&'a CrawlUrl> for SeedSet {
    fn extend<I: IntoIterator<Item = &'a CrawlUrl>>(&mut self, seeds: I) {
        seeds.into_iter().for_each(|seed| self.join(seed));
    }
}

impl Folders {
    fn add(&mut self, folder: &str) {
        match self {
            _ if folder == "/" => *self = Folders::All,
            Folders::All => {}
            Folders::These(folders) => {
                folders.insert(Box::from(folder));
            }
        }
    }

    /// One lookup for each folder above the path, however many seeds the site has.
    fn hold(&self, path: &str) -> bool {
        match self {
            Folders::All => true,
            Folders::These(folders) => {
                path.match_indices('/').any(|(slash, _)| folders.contains(&path[..=slash]))
            }
        }
    }
}

/// The path up to its last slash.
fn folder(url: &CrawlUrl) -> &str {
    let path = url.path();
    path.rfind('/').map_or("/", |slash| &path[..=slash])
}

pub(crate) fn unusual_port(url: &CrawlUrl) -> Option<u16> {
    url.port().filter(|port| !matches!(port, 80 | 443))
}

#[cfg(test)]
mod tests {
    use model::testing::url;

    use super::*;

    fn check(seeds: &[&str], scope: Scope, covered: &[&str], not: &[&str]) {
        let seeds: Vec<CrawlUrl> = seeds.iter().map(|seed| url(seed)).collect();
        let set: SeedSet = seeds.iter().collect();
        for text in covered {
            assert!(set.covers(&url(text), scope), "{text} is in {scope:?}");
        }
        for text in not {
            assert!(!set.covers(&url(text), scope), "{text} is not in {scope:?}");
        }
    }

    #[test]
    fn a_site_is_one_host_over_both_schemes() {
        check(
            &["http://example.org/a/b", "http://[::1]:8080/"],
            Scope::Site,
            &["https://example.org/", "http://EXAMPLE.org.:443/x", "http://[::1]:8080/x"],
            &["http://www.example.org/", "http://example.org:8080/", "http://[::1]/"],
        );
    }

    #[test]
    fn a_domain_is_the_registrable_one() {
        check(
            &["http://www.example.co.uk/"],
            Scope::Domain,
            &["http://example.co.uk/", "https://a.b.example.co.uk/x"],
            &["http://co.uk/", "http://other.co.uk/", "http://example.co.uk.org/"],
        );
    }

    #[test]
    fn a_prefix_is_the_folder_of_a_seed() {
        check(
            &["http://example.org/a/b/index.html", "http://example.org/c/", "http://root.org/x"],
            Scope::Prefix,
            &["https://example.org/a/b/", "http://example.org/c/d?q", "http://root.org/y/z"],
            &["http://example.org/a/", "http://example.org/a/bc", "http://example.org/c"],
        );
    }

    #[test]
    fn listed_is_the_seeds_alone() {
        check(
            &["http://example.org/a/b", "http://example.org/"],
            Scope::Listed,
            &["http://example.org/a/b", "http://example.org/"],
            &["http://example.org/a/", "https://example.org/a/b", "http://example.org/a/b?c"],
        );
    }

    #[test]
    fn what_a_seed_redirects_to_joins() {
        let mut set: SeedSet = [&url("http://example.org/")].into_iter().collect();
        assert!(!set.covers(&url("https://www.example.org/"), Scope::Site));
        set.join(&url("https://www.example.org:8443/"));
        assert!(set.covers(&url("https://www.example.org:8443/x"), Scope::Site));
        assert!(set.allows_port(&url("http://other.org:8443/")));
        assert!(!set.allows_port(&url("http://other.org:8080/")));
        assert_eq!(set.len(), 2);
    }
}
