//! References to links: resolved against the page or its `<base>`, through `CrawlUrl` only.

use std::{borrow::Cow, collections::HashSet};

use model::{CrawlUrl, Link, UrlBase, UrlError};

use crate::{Examples, GatherProblem, page::RawLink};

/// Resolves a page's references and keeps account of those that cannot be.
#[derive(Debug)]
pub(crate) struct Resolver {
    base: UrlBase,
    /// `<base href>` is in force: `#top` may then lead elsewhere.
    has_base: bool,
    url_bytes_max: usize,
    invalid: Examples,
    long: Examples,
    aliases: Examples,
}

impl Resolver {
    /// A `<base>` that is no URL is as if it were not there, and counted.
    pub(crate) fn new(page: &CrawlUrl, base_href: Option<&str>, url_bytes_max: usize) -> Resolver {
        let mut resolver = Resolver {
            base: page.base(),
            has_base: false,
            url_bytes_max,
            invalid: Examples::default(),
            long: Examples::default(),
            aliases: Examples::default(),
        };
        if let Some(url) = base_href.and_then(|href| resolver.resolve(href)) {
            resolver.base = url.base();
            resolver.has_base = true;
        }
        resolver
    }

    pub(crate) fn base(&self) -> &CrawlUrl {
        self.base.url()
    }

    /// `None` for what is no link (`mailto:` and the like) and for what is no URL, which is
    /// counted.
    pub(crate) fn resolve(&mut self, reference: &str) -> Option<CrawlUrl> {
        let reference = trim(reference);
        if reference.len() > self.url_bytes_max {
            // `data:` and `javascript:` are long by nature and were no links anyway.
            if !has_other_scheme(reference) {
                self.long.add(reference);
            }
            return None;
        }
        match self.base.join(reference) {
            Ok(url) => {
                if authority(reference).is_some_and(|written| written != url.authority()) {
                    self.aliases.add(reference);
                }
                Some(url)
            }
            Err(UrlError::Scheme(_)) => None,
            Err(UrlError::Invalid(_)) if has_other_scheme(reference) => None,
            Err(UrlError::Invalid(_)) => {
                self.invalid.add(reference);
                None
            }
        }
    }

    /// Links in the order given. One inside the page itself is none.
    pub(crate) fn links(&mut self, raw: Vec<RawLink<'_>>) -> Vec<Link> {
        let mut links = Vec::with_capacity(raw.len());
        for link in raw {
            if !self.has_base && trim(&link.reference).starts_with('#') {
                continue;
            }
            if let Some(url) = self.resolve(&link.reference) {
                let position = links.len() as u32;
                let RawLink { kind, rel, anchor, .. } = link;
                links.push(Link { url, kind, rel, anchor, position });
            }
        }
        links
    }

    /// Parts of the page in the order given, each once, the page itself left out.
    pub(crate) fn requisites(&mut self, page: &CrawlUrl, raw: &[Cow<'_, str>]) -> Vec<CrawlUrl> {
        let mut seen = HashSet::from([page.fingerprint()]);
        let resolved = raw.iter().filter_map(|reference| self.resolve(reference));
        resolved.filter(|url| seen.insert(url.fingerprint())).collect()
    }

    pub(crate) fn into_problems(self) -> impl Iterator<Item = GatherProblem> {
        let invalid = (self.invalid.count > 0).then_some(GatherProblem::InvalidUrls(self.invalid));
        let long = (self.long.count > 0).then_some(GatherProblem::LongUrls(self.long));
        let aliases = (self.aliases.count > 0).then_some(GatherProblem::HostAliases(self.aliases));
        invalid.into_iter().chain(long).chain(aliases)
    }
}

/// Host and port as they are written in an absolute reference, without credentials.
fn authority(reference: &str) -> Option<&str> {
    let rest = match reference.strip_prefix("//") {
        Some(rest) => rest,
        None => {
            let (scheme, rest) = reference.split_once("://")?;
            let is_ours = ["http", "https"].iter().any(|ours| scheme.eq_ignore_ascii_case(ours));
            is_ours.then_some(rest)?
        }
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    Some(rest[..end].rsplit_once('@').map_or(&rest[..end], |(_, host)| host))
}

/// As the URL standard does before anything else.
fn trim(reference: &str) -> &str {
    reference.trim_matches(|c| c <= ' ')
}

/// Whether the reference names a scheme that cannot be crawled.
fn has_other_scheme(reference: &str) -> bool {
    other_scheme(reference).is_some()
}

fn other_scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    (is_scheme && !is_web).then_some(scheme)
}

/// The scheme of a reference that cannot be crawled, lower case, at most as long as any real one.
pub(crate) fn foreign_scheme(reference: &str) -> Option<String> {
    const SCHEME_CHARS_MAX: usize = 20;
    let scheme = other_scheme(trim(reference))?;
    Some(scheme.chars().take(SCHEME_CHARS_MAX).collect::<String>().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use model::CrawlUrl;

    use super::{GatherProblem, Resolver};

    fn resolver(base: Option<&str>) -> Resolver {
        let page = CrawlUrl::parse("http://a.test/dir/page").expect("a valid URL");
        Resolver::new(&page, base, 100)
    }

    #[test]
    fn other_schemes_are_no_links_and_no_problem() {
        let mut resolver = resolver(None);
        let long_data = format!("data:,{}", "x".repeat(200));
        for reference in [
            "javascript:void(0)",
            " mailto:a@b.test",
            "tel:+1",
            "data:text/html,x",
            "ftp://a.test/",
            "about:blank",
            "JavaScript:",
            "whatsapp://send?x",
            long_data.as_str(),
        ] {
            assert_eq!(resolver.resolve(reference), None, "{reference}");
        }
        assert_eq!(resolver.into_problems().count(), 0);
    }

    #[test]
    fn what_is_no_url_is_counted_with_examples() {
        let mut resolver = resolver(None);
        for i in 0..8 {
            assert_eq!(resolver.resolve(&format!("http://[{i}")), None);
        }
        assert_eq!(resolver.resolve(&"y".repeat(101)), None);
        let problems: Vec<_> = resolver.into_problems().collect();
        let [GatherProblem::InvalidUrls(invalid), GatherProblem::LongUrls(long)] = &problems[..]
        else {
            panic!("{problems:?}");
        };
        assert_eq!((invalid.count, invalid.first.len(), long.count), (8, 5, 1));
        assert_eq!(invalid.first[0], "http://[0");
    }

    #[test]
    fn a_base_counts_unless_it_is_no_url() {
        let url = |base: &str| resolver(Some(base)).resolve("x").map(|u| u.to_string());
        assert_eq!(url("/other/").as_deref(), Some("http://a.test/other/x"));
        assert_eq!(url("http://[").as_deref(), Some("http://a.test/dir/x"));
        assert_eq!(url("data:,").as_deref(), Some("http://a.test/dir/x"));
    }

    #[test]
    fn other_spellings_of_a_host_are_counted_and_its_one_form_is_not() {
        let page = CrawlUrl::parse("http://a.example/").unwrap();
        let mut resolver = Resolver::new(&page, None, 2_083);
        for plain in [
            "/x",
            "x?u=http://B.example/",
            "http://b.example/",
            "//b.example/x",
            "http://me@b.example",
        ] {
            resolver.resolve(plain).unwrap();
        }
        assert_eq!(resolver.aliases.count, 0, "{:?}", resolver.aliases);
        for alias in
            ["http://B.example/", "//b.example./", "HTTP://b.ex%61mple/", "http://b.example:80"]
        {
            assert_eq!(resolver.resolve(alias).unwrap().as_str(), "http://b.example/");
        }
        assert_eq!(resolver.aliases.count, 4);
    }
}
