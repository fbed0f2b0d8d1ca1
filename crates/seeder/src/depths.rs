//! Other depths for some pages: whoever knows the user's overrides says what they are.

use std::fmt::Debug;

use model::CrawlUrl;

/// What is otherwise; the inner `None` lifts a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherDepth {
    pub all: Option<Option<u16>>,
    pub dynamic: Option<Option<u16>>,
}

pub trait Depths: Debug + Send + Sync {
    fn of(&self, url: &CrawlUrl, level: u16) -> OtherDepth;
}
