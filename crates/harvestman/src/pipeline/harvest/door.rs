//! The door of a page whose rules wait for its media type: shut when the head of the answer is there and
//! its type is not wanted, so that the body is not read.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use model::{Page, TypeGate};
use seeder::{SeedSet, SpiderRules};

use super::Harvest;

struct Door {
    page: Page,
    rules: Arc<SpiderRules>,
    seeds: Arc<RwLock<SeedSet>>,
}

impl Harvest {
    /// Nothing for robots.txt, and for pages that no answer changes the verdict on: nearly all.
    pub(super) fn type_gate(&self, page: Option<&Page>) -> Option<Arc<dyn TypeGate>> {
        let page = page.filter(|page| self.rules.waits_for_type(page))?.clone();
        Some(Arc::new(Door { page, rules: self.rules.clone(), seeds: self.seeds.clone() }))
    }
}

impl TypeGate for Door {
    fn refuses_type(&self, media_type: &str) -> bool {
        let seeds = self.seeds.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.judge_answer(&self.page, media_type, &seeds).is_some()
    }
}

/// The rules and seeds of a crawl are too much to tell.
impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Door").field(&self.page.url.as_str()).finish()
    }
}
