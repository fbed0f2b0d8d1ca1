//! A page that somebody asks about: under the name the collection has for it, or what may have been meant.

use model::{CrawlUrl, PageFacts, StoreError};
use seeder::{UrlForm, parse_seed};
use serde::Serialize;
use store::census::{Census, PageStory};

use crate::Error;

/// URLs of a site among which the nearest is looked for: some milliseconds.
const NEAR_MAX: u32 = 5_000;
/// Bytes that may differ between what was typed and what was meant.
const NEAR_DIFFERENCE_MAX: usize = 6;

pub fn url_of(typed: &str) -> Result<CrawlUrl, Error> {
    parse_seed(typed).map_err(|why| Error::NoUrl { given: typed.to_owned(), why: why.to_string() })
}

/// A URL as the collection writes it, and what is known of it. What somebody asks about may have been
/// copied from the collection, where it is written that way already: rewrites are made once.
pub fn known_as(
    census: &Census,
    form: &UrlForm,
    typed: CrawlUrl,
) -> Result<(CrawlUrl, Option<PageStory>), Error> {
    let url = form.apply(&typed);
    if let Some(story) = census.page(&url)? {
        return Ok((url, Some(story)));
    }
    Ok(match census.page(&typed)? {
        Some(story) => (typed, Some(story)),
        None => (url, None),
    })
}

/// The error that names what may have been meant.
pub fn unknown(census: &Census, url: &CrawlUrl) -> Result<Error, Error> {
    let near = match other_spelling(census, url)? {
        Some(near) => Some(near),
        None => {
            let known = census.urls_of(url.site().as_str(), NEAR_MAX)?;
            nearest(url.as_str(), &known).cloned()
        }
    };
    Ok(Error::PageUnknown { url: url.to_string(), near })
}

/// The other scheme, a slash at the end more or less, www more or less.
fn other_spelling(census: &Census, url: &CrawlUrl) -> Result<Option<String>, StoreError> {
    let text = url.as_str();
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let other = if scheme == "http" { "https" } else { "http" };
    let bare = rest.strip_prefix("www.").unwrap_or(rest);
    let slash = match rest.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => format!("{rest}/"),
    };
    for scheme in [scheme, other] {
        for rest in [rest, bare, &format!("www.{bare}"), &slash] {
            let Ok(candidate) = CrawlUrl::parse(&format!("{scheme}://{rest}")) else { continue };
            if candidate != *url && census.page(&candidate)?.is_some() {
                return Ok(Some(candidate.to_string()));
            }
        }
    }
    Ok(None)
}

/// The known URL that has most of its beginning and end in common with what was typed, if only a little in
/// the middle differs.
fn nearest<'a>(typed: &str, known: &'a [String]) -> Option<&'a String> {
    let differs = |known: &str| {
        let (a, b) = (typed.as_bytes(), known.as_bytes());
        let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[start..], &b[start..]);
        let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        (a.len().max(b.len()) - end, known.len())
    };
    let near = known.iter().min_by_key(|known| differs(known))?;
    (differs(near).0 <= NEAR_DIFFERENCE_MAX).then_some(near)
}

/// Whose duplicate a page is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Duplicate {
    /// The page that was there first.
    pub url: String,
    /// The same content, not only nearly.
    pub exact: bool,
}

impl Duplicate {
    pub fn of(
        census: &Census,
        url: &CrawlUrl,
        facts: &PageFacts,
    ) -> Result<Option<Duplicate>, StoreError> {
        let exact = facts.duplicate_of.is_some();
        let Some(fp) = facts.duplicate_of.or(facts.near_of) else { return Ok(None) };
        let first = census.url_on(url.site_text(), fp)?;
        Ok(first.map(|url| Duplicate { url, exact }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_page_that_was_meant_and_a_wild_guess_none() {
        let known =
            ["http://a.example/", "http://a.example/news/today.html", "http://a.example/p/12"]
                .map(str::to_owned);
        let near = |typed: &str| nearest(typed, &known).map(String::as_str);
        assert_eq!(
            near("http://a.example/news/tody.html"),
            Some("http://a.example/news/today.html")
        );
        assert_eq!(near("http://a.example/p/13"), Some("http://a.example/p/12"));
        assert_eq!(near("http://a.example/index"), Some("http://a.example/"));
        assert_eq!(near("http://a.example/something/else/entirely"), None);
        assert_eq!(nearest("http://b.example/", &[]), None);
    }
}
