//! Which page stands for another in exports: the one it names as canonical, once that has answered with similar
//! text. What contradicts itself is ignored, with a reason.

use model::{CrawlUrl, StoreError};

use crate::census::{Census, PageStory};

/// What became of the canonical link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Canonical {
    /// In exports this page stands for it.
    Folded(String),
    Ignored {
        target: String,
        why: &'static str,
    },
}

/// Bits of the simhash in which similar texts may differ: about one word in ten.
const SIMILAR_MAX: u32 = 10;

impl Census {
    /// `None`: it names none, or itself.
    pub fn canonical(&self, url: &CrawlUrl) -> Result<Option<Canonical>, StoreError> {
        let Some(story) = self.page(url)? else { return Ok(None) };
        let Some(named) = named(&story).filter(|named| *named != url.as_str()) else {
            return Ok(None);
        };
        let target = named.to_owned();
        let ignored = |why| Ok(Some(Canonical::Ignored { target: target.clone(), why }));
        if target.contains(' ') {
            return ignored("it names several, which contradict each other");
        }
        let other = CrawlUrl::parse(&target).ok().map(|url| self.page(&url)).transpose()?.flatten();
        let Some(other) = other else { return ignored("that page is not known") };
        match self::named(&other) {
            Some(back) if back == url.as_str() => return ignored("they name each other"),
            Some(on) if on != target => return ignored("that page names another"),
            _ => {}
        }
        match (texts(&story), texts(&other)) {
            (_, None) => ignored("that page has not answered with content"),
            (Some(own), Some(theirs)) if is_similar(own, theirs) => {
                Ok(Some(Canonical::Folded(target)))
            }
            _ => ignored("its text is another"),
        }
    }
}

fn named(story: &PageStory) -> Option<&str> {
    story.facts.as_ref()?.canonical.as_deref()
}

/// Hash and simhash of the newest version.
fn texts(story: &PageStory) -> Option<(u64, u64)> {
    let newest = story.visits.iter().rev().find(|visit| visit.change.is_version())?;
    Some((newest.text_hash, newest.simhash))
}

fn is_similar(one: (u64, u64), other: (u64, u64)) -> bool {
    let distance = (one.1 ^ other.1).count_ones();
    // Without words the simhash says nothing.
    one.0 == other.0 || (one.1 != 0 && other.1 != 0 && distance <= SIMILAR_MAX)
}
