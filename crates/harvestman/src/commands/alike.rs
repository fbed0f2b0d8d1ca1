//! Whose duplicate a page is, for those who ask about it.

use model::{CrawlUrl, PageFacts};
use serde_json::{Value, json};
use store::census::Census;

use config::failure::Failure;

pub struct Alike {
    /// The page that was there first.
    pub first: String,
    /// The very same content, not only nearly.
    pub exact: bool,
}

impl Alike {
    pub fn of(
        census: &Census,
        url: &CrawlUrl,
        facts: &PageFacts,
    ) -> Result<Option<Alike>, Failure> {
        let exact = facts.duplicate_of.is_some();
        let Some(fp) = facts.duplicate_of.or(facts.near_of) else { return Ok(None) };
        let first = census.url_on(url.site_text(), fp)?;
        Ok(first.map(|first| Alike { first, exact }))
    }

    pub fn words(&self) -> String {
        match self.exact {
            true => format!("a duplicate of {}: the very same content", self.first),
            false => format!(
                "a near duplicate of {}: followed only where it leads to something else",
                self.first
            ),
        }
    }

    pub fn json(&self) -> Value {
        json!({ "first": self.first, "exact": self.exact })
    }
}
