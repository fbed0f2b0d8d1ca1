//! Depths as overrides have them.

use model::CrawlUrl;
use seeder::{Depths, OtherDepth};

use crate::Overrides;

/// Depths as overrides have them for one spider.
#[derive(Debug)]
pub struct OverriddenDepths {
    pub overrides: Overrides,
    pub spider: String,
}

impl Depths for OverriddenDepths {
    fn of(&self, url: &CrawlUrl, level: u16) -> OtherDepth {
        let other = self.overrides.page(&self.spider, url, level);
        OtherDepth { all: other.depth, dynamic: other.depth_dynamic }
    }
}
