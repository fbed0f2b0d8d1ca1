//! Canonical links that lead on to others, or in a circle: told where they are met. They keep no page from being
//! visited; what they fold is said by `store::history`.

use model::{CrawlUrl, Hazard, Measure, Page, PageUpdate, Sighting, SiteDelta};

use super::Harvest;
use crate::pipeline::messages::Settle;

/// Remembered of a site in hand: 16 bytes each.
const CANONICALS_MAX: usize = 4_096;

impl Harvest {
    pub(super) fn note_canonical(
        &mut self,
        page: &Page,
        update: &PageUpdate,
        delta: &SiteDelta,
        share: &mut Settle,
    ) {
        let named = update.facts.as_ref().and_then(|facts| facts.canonical.as_deref());
        let Some(Ok(target)) = named.map(CrawlUrl::parse) else { return };
        if target == page.url {
            return;
        }
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        let (own, target) = (page.url.fingerprint(), target.fingerprint());
        let what = match held.canonicals.get(&target) {
            Some(next) if *next == own => Some("in a circle"),
            Some(_) => Some("in a chain"),
            None => None,
        };
        if let Some(what) = what {
            let met = Sighting::at(&page.url, Hazard::CanonicalConflict, Measure::Refused);
            share.sightings.push(met.of(what));
        }
        if held.canonicals.len() >= CANONICALS_MAX {
            held.canonicals.clear();
        }
        held.canonicals.insert(own, target);
    }
}
