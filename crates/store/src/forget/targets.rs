//! What is to be forgotten: URLs, sites, domains; and whether something else names it.

use std::collections::HashSet;

use model::{CrawlUrl, Fingerprint, SiteKey};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Without its scheme (`//example.org/a`) both are meant.
    Url(String),
    /// A host with all its ports, or `host:port`.
    Site(String),
    /// A domain with everything under it.
    Domain(String),
}

/// So many looks through a table cost about as much as having all its texts handed over.
const PARTS_MAX: usize = 8;

/// A list made to be asked for every record and link.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    urls: HashSet<String>,
    sites: HashSet<String>,
    domains: HashSet<String>,
    /// Their names without scheme, for a first look: text that holds none of them is not meant.
    needles: Vec<Needle>,
    list: Vec<Target>,
}

#[derive(Clone, Debug)]
struct Needle {
    text: String,
    kind: NeedleKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeedleKind {
    Url,
    Site,
    Domain,
}

impl Targets {
    pub fn new(list: Vec<Target>) -> Targets {
        let mut targets = Targets::default();
        for target in &list {
            let (kind, text) = match target {
                Target::Url(url) => {
                    targets.urls.insert(url.clone());
                    (NeedleKind::Url, url.split_once("//").map_or(url.as_str(), |(_, bare)| bare))
                }
                Target::Site(site) => {
                    targets.sites.insert(site.clone());
                    (NeedleKind::Site, site.as_str())
                }
                Target::Domain(domain) => {
                    targets.domains.insert(domain.clone());
                    (NeedleKind::Domain, domain.as_str())
                }
            };
            targets.needles.push(Needle { text: text.to_owned(), kind });
        }
        targets.list = list;
        targets
    }

    pub fn list(&self) -> &[Target] {
        &self.list
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn covers(&self, url: &CrawlUrl) -> bool {
        let text = url.as_str();
        let bare = &text[url.scheme().len() + 1..];
        self.urls.contains(text)
            || self.urls.contains(bare)
            || self.has_site(url.site_text(), url.host())
    }

    /// A URL as it was stored; text that is none is not meant.
    pub fn covers_text(&self, url: &str) -> bool {
        self.needles.iter().any(|needle| url.contains(&needle.text))
            && CrawlUrl::stored(url).is_ok_and(|url| self.covers(&url))
    }

    pub fn covers_site(&self, key: &str) -> bool {
        self.has_site(key, SiteKey::stored(key).host())
    }

    /// The pages that URLs among the targets can be.
    pub fn pages(&self) -> impl Iterator<Item = CrawlUrl> {
        let texts = self.urls.iter().flat_map(|url| match url.starts_with("//") {
            true => vec![format!("http:{url}"), format!("https:{url}")],
            false => vec![url.clone()],
        });
        texts.filter_map(|text| CrawlUrl::stored(&text).ok())
    }

    /// Fingerprints of those.
    pub fn fingerprints(&self) -> HashSet<Fingerprint> {
        self.pages().map(|url| url.fingerprint()).collect()
    }

    /// Whether a text (a rule, a message, a command) names one of them: as a whole name, not as a part of
    /// another.
    pub fn named_in(&self, text: &str) -> bool {
        self.needles.iter().any(|needle| needle.is_in(text))
    }

    /// Parts of texts: whatever names a target, or is of one, holds at least one of them. Of many targets a single
    /// empty one, which every text holds: one look at everything is quicker then than a look for each.
    pub fn parts(&self) -> Vec<&str> {
        match self.needles.len() {
            0..=PARTS_MAX => self.needles.iter().map(|needle| needle.text.as_str()).collect(),
            _ => vec![""],
        }
    }

    fn has_site(&self, key: &str, host: &str) -> bool {
        self.sites.contains(key) || self.sites.contains(host) || self.has_domain(host)
    }

    fn has_domain(&self, host: &str) -> bool {
        if self.domains.is_empty() {
            return false;
        }
        let mut rest = Some(host);
        while let Some(name) = rest {
            if self.domains.contains(name) {
                return true;
            }
            rest = name.split_once('.').map(|(_, rest)| rest);
        }
        false
    }
}

impl Needle {
    fn is_in(&self, text: &str) -> bool {
        text.match_indices(&self.text).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = &text[at + found.len()..];
            self.may_follow(before) && self.may_end_before(after)
        })
    }

    fn may_follow(&self, before: Option<char>) -> bool {
        match before {
            Some('.') => self.kind == NeedleKind::Domain,
            Some(c) => !is_name(c),
            None => true,
        }
    }

    fn may_end_before(&self, after: &str) -> bool {
        let mut next = after.chars();
        match (next.next(), self.kind) {
            (None, _) => true,
            // The full stop of a sentence is no part of a name.
            (Some('.'), _) => !next.next().is_some_and(|c| is_name(c) || c == '/'),
            (Some(c), NeedleKind::Url) => !is_name(c) && !"/?&=%~+:;,@!$'()#*".contains(c),
            (Some(c), _) => !is_name(c),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Targets {
        Targets::new(vec![
            Target::Site("a.example".into()),
            Target::Site("p.example:8080".into()),
            Target::Domain("b.example".into()),
            Target::Url("//c.example/x".into()),
            Target::Url("https://d.example/y".into()),
        ])
    }

    #[test]
    fn what_is_meant_is_covered_and_nothing_beside_it() {
        for (url, covered) in [
            ("http://a.example/", true),
            ("https://a.example:8443/deep?q", true),
            ("http://xa.example/", false),
            ("http://www.a.example/", false),
            ("http://p.example:8080/", true),
            ("http://p.example/", false),
            ("http://b.example/", true),
            ("http://very.deep.b.example/z", true),
            ("http://bb.example/", false),
            ("http://c.example/x", true),
            ("https://c.example/x", true),
            ("http://c.example/xy", false),
            ("https://d.example/y", true),
            ("http://d.example/y", false),
        ] {
            assert_eq!(targets().covers_text(url), covered, "{url}");
        }
        assert_eq!(targets().pages().count(), 3);
    }

    #[test]
    fn a_name_is_found_in_texts_only_as_a_whole() {
        for (text, named) in [
            ("block: a.example", true),
            ("a.example.", true),
            ("see http://a.example/p, again", true),
            ("a.example:8080", true),
            ("xa.example", false),
            ("www.a.example", false),
            ("a.example.org", false),
            ("a.example-b", false),
            ("www.b.example", true),
            (".b.example", true),
            ("wwwb.example", false),
            ("{\"url\":\"http://c.example/x\"}", true),
            ("http://c.example/x/y", false),
            ("", false),
        ] {
            assert_eq!(targets().named_in(text), named, "{text}");
        }
    }
}
