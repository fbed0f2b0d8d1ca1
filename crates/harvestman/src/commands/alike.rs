//! Whose duplicate a page is, in words.

use model::{CrawlUrl, PageFacts};
use store::census::Census;

use collection::page::Duplicate;
use config::failure::Failure;

pub struct Alike(pub Duplicate);

impl Alike {
    pub fn of(
        census: &Census,
        url: &CrawlUrl,
        facts: &PageFacts,
    ) -> Result<Option<Alike>, Failure> {
        Ok(Duplicate::of(census, url, facts)?.map(Alike))
    }

    pub fn words(&self) -> String {
        words(&self.0)
    }
}

pub fn words(duplicate: &Duplicate) -> String {
    let Duplicate { url, exact } = duplicate;
    match exact {
        true => format!("a duplicate of {url}: the same content"),
        false => {
            format!("a near duplicate of {url}: followed only where it leads to something else")
        }
    }
}
