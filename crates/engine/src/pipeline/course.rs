//! The course of a crawl: the spiders, their limits, and on what terms sites are visited. Set at the start, and
//! anew whenever a spider or the configuration is changed while the crawl runs.

use std::{sync::Arc, time::Duration};

use config::ReachFingerprint;
use harvester::workbench::{SpiderLimits, Terms};
use manager::{Budget, PurseId};
use model::{Spent, SpiderId};
use store::spiders::SpiderRow;

use super::spiders::Spider;

pub struct Course {
    pub spiders: Vec<(Spider, Bounds)>,
    pub terms: Arc<dyn Terms>,
    /// Of all spiders together.
    pub pages_max: Option<u64>,
    pub bytes_max: Option<u64>,
    pub fetches_max: usize,
    /// Sites that no seed names come after those that one does.
    pub seeded_first: bool,
    /// Another number, other limits, or others may enter.
    pub fingerprint: Fingerprints,
    pub budgets: Budgets,
}

/// What visits may cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budgets {
    /// The common purse, and those of spiders that have one of their own.
    pub purses: Vec<(PurseId, Budget)>,
    /// Part of what a site's pauses allow that revisits may take.
    pub site_share: f64,
}

/// Of the configuration, as far as it concerns the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// Of everything that limits depend on.
    pub terms: u64,
    /// Of what says who may enter.
    pub borders: u64,
    /// Of what says which servers can be reached, and how.
    pub reach: ReachFingerprint,
    /// Of the media types that are kept.
    pub types: u64,
    /// Of what says how many near duplicates are followed.
    pub near: u64,
    /// Of each spider, what says which of its pages come back by themselves.
    pub returning: Vec<(SpiderId, u64)>,
}

/// How much one spider may do.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub limits: SpiderLimits,
    /// Of each crawl; then the spider rests until the next.
    pub time: Option<Duration>,
    /// What it had brought when the course was set.
    pub spent: Spent,
}

impl Course {
    pub fn ids(&self) -> impl Iterator<Item = SpiderId> {
        self.spiders.iter().map(|(spider, _)| spider.id)
    }
}

/// Whoever knows the configuration.
pub trait Helm: Send {
    /// The course for these spiders; an error in words, when something in them cannot be.
    fn course(&mut self, spiders: &[SpiderRow]) -> Result<Course, String>;

    /// Whether the configuration is another than that of the last course; asked every second or so.
    fn has_changed(&mut self) -> bool;
}
