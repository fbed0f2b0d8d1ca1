//! What counts as a change of a page.

use std::sync::Arc;

use gatherer::Selection;

use crate::{ChangeBy, Config};

/// What a spider calls a change.
#[derive(Clone, Debug, Default)]
pub struct ChangeCriteria {
    pub by: ChangeBy,
    /// CSS selectors, checked.
    pub watch: Arc<[String]>,
    pub ignore: Arc<[String]>,
}

impl ChangeCriteria {
    pub fn new(config: &Config) -> ChangeCriteria {
        let revisit = &config.revisit;
        let (watch, ignore) = (revisit.watch.as_slice().into(), revisit.ignore.as_slice().into());
        ChangeCriteria { by: revisit.change, watch, ignore }
    }

    /// What of a page's text tells of changes; `None`: all of it.
    pub fn selection(&self) -> Option<Arc<Selection>> {
        if self.by != ChangeBy::Text || (self.watch.is_empty() && self.ignore.is_empty()) {
            return None;
        }
        // They were read when the configuration was.
        Selection::new(&self.watch, &self.ignore).ok().map(Arc::new)
    }
}
