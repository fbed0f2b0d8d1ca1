//! Sites as people name them.

use model::CrawlUrl;
use seeder::parse_seed;
use store::census::Census;

use crate::Error;

/// The site that is meant, if the collection knows it.
pub fn site_named(census: &Census, text: &str) -> Result<String, Error> {
    let site = site_of(text)?;
    match census.site(&site)? {
        Some(_) => Ok(site),
        None => Err(Error::SiteUnknown { site }),
    }
}

/// A site by its key, a host (on a private network also one of a single word), or a URL of it.
pub fn site_of(text: &str) -> Result<String, Error> {
    let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let word = || CrawlUrl::parse(&format!("http://{text}/")).ok().filter(|_| is_word);
    match parse_seed(text) {
        Ok(url) => Ok(url.site_text().to_owned()),
        Err(why) => match word() {
            Some(url) => Ok(url.site_text().to_owned()),
            None => Err(Error::NoSite { given: text.to_owned(), why }),
        },
    }
}
