//! Canonical links that lead on to others, or in a circle: reported where they are met. They keep no
//! page from being visited; what they fold is said by `store::history`.

use std::collections::HashMap;

use model::{CrawlUrl, Fingerprint, Hazard, Measure, Page, PageUpdate, Sighting};

/// 16 bytes each; when there are more, all are forgotten.
const CANONICALS_MAX: usize = 65_536;

#[derive(Default)]
pub struct Canonicals(HashMap<Fingerprint, Fingerprint>);

impl Canonicals {
    /// What the canonical page that an answer names shows together with those that were named
    /// before.
    pub fn note(&mut self, page: &Page, update: &PageUpdate) -> Option<Sighting> {
        let named = update.facts.as_ref()?.canonical.as_deref()?;
        let target = CrawlUrl::parse(named).ok().filter(|target| *target != page.url)?;
        let (own, target) = (page.url.fingerprint(), target.fingerprint());
        let what = match self.0.get(&target) {
            Some(next) if *next == own => Some("in a circle"),
            Some(_) => Some("in a chain"),
            None => None,
        };
        if self.0.len() >= CANONICALS_MAX {
            self.0.clear();
        }
        self.0.insert(own, target);
        let met = Sighting::at(&page.url, Hazard::CanonicalConflict, Measure::Refused);
        what.map(|what| met.of(what))
    }
}
