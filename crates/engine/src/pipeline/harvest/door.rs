//! The door of a page whose rules wait for its media type: shut when the head of the answer is there and
//! its type is not wanted, so that the body is not read.

use std::{fmt, sync::Arc};

use model::{Page, TypeGate};

use super::Harvest;
use crate::pipeline::spiders::Spider;

struct Door {
    page: Page,
    spider: Arc<Spider>,
}

impl Harvest {
    /// Nothing for robots.txt, and for pages that no answer changes the verdict on: nearly all.
    pub(super) fn type_gate(
        &self,
        spider: &Arc<Spider>,
        page: Option<&Page>,
    ) -> Option<Arc<dyn TypeGate>> {
        let page = page.filter(|page| spider.rules.waits_for_type(page))?.clone();
        Some(Arc::new(Door { page, spider: spider.clone() }))
    }
}

impl TypeGate for Door {
    fn refuses_type(&self, media_type: &str) -> bool {
        self.spider.judge_answer(&self.page, media_type).is_some()
    }
}

/// The rules and seeds of a spider are too much to tell.
impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Door").field(&self.page.url.as_str()).finish()
    }
}
