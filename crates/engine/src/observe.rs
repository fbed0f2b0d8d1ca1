//! How a crawl reports to whoever started it: lines, counters while it runs, and what it came to.

use std::time::Duration;

use collection::spiders::PausedSpider;
use config::{Config, failure::Failure};
use model::{BoxFuture, Counts, Timestamp};
use store::collection::Collection;
use tokio::sync::watch;

use crate::{
    crawl::Crawl,
    pipeline::{
        harvest::Ended,
        tally::{Progress, Tally},
    },
};

pub trait Observer: Send + Sync {
    /// One line worth reading.
    fn notice(&self, line: &str);

    /// Follows the counters until their sender is gone, which is the end of the crawl.
    fn follow(
        &self,
        _config: &Config,
        _progress: watch::Receiver<Progress>,
    ) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The crawl is over, and not by a fault.
    fn finished(&self, _finished: &Finished<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a crawl came to.
pub struct Finished<'a> {
    pub crawl: &'a Crawl,
    pub ended: &'a Ended,
    /// Why it ended, in words.
    pub reason: String,
    /// Of all its parts, where it was interrupted to remove old versions.
    pub tally: Tally,
    pub counts: Counts,
    /// Spiders that are paused, with what waits for them.
    pub paused: Vec<PausedSpider>,
    pub elapsed: Duration,
    pub collection: &'a Collection,
    pub now: Timestamp,
}
