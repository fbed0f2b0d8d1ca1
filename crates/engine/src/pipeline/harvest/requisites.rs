//! Parts of pages (images, styles, scripts, fonts): admitted beside pages, never instead of one.
//!
//! The workbench does not know which parts a site has: every one goes to the store, which knows, and comes
//! back with a refill if it is due. So a part known to the collection is fetched once, by its own due, and
//! one that is linked to can become a page.

use harvester::workbench::{Known, LimitInAll};
use model::{
    Candidate, Fingerprint, Page, PageState, PageUpdate, SiteDelta, SiteKey, Timestamp, limits,
};

use super::{
    Harvest, PATIENCE, Stopping,
    admit::{new_page, new_row},
};
use crate::pipeline::messages::Settle;

impl Harvest {
    /// A part of a page of the site that `delta` is about; the part may be of any site.
    pub(super) fn admit_requisite(
        &mut self,
        candidate: Candidate,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        let site = candidate.url.site();
        if site == delta.key {
            return self.admit_part(&candidate, delta, now);
        }
        match self.state.hand.get(&site).map(|held| held.delta(now)) {
            Some(mut other) => {
                self.admit_part(&candidate, &mut other, now);
                if !other.admitted.is_empty() {
                    share.deltas.push(other);
                }
            }
            None => {
                self.state.check_at = Some(now);
                share.candidates.push(candidate);
            }
        }
    }

    fn admit_part(&mut self, candidate: &Candidate, delta: &mut SiteDelta, now: Timestamp) {
        let fp = candidate.url.fingerprint();
        let known = self.workbench.known(&delta.key, fp) == Known::Yes;
        let Some(held) = self.state.hand.get(&delta.key).filter(|_| !known) else { return };
        if held.parts.contains(&fp) {
            return;
        }
        held.note_part(fp);
        held.drained = None;
        delta.admitted.push(new_row(candidate, now));
        self.workbench.expect_more(&delta.key, candidate.level, now);
    }

    /// Parts that came from the store are remembered, so that a link to one is seen as what it is.
    pub(super) fn note_parts(&mut self, site: &SiteKey, pages: &[Page]) {
        if let Some(held) = self.state.hand.get(site) {
            let parts = pages.iter().filter(|page| page.terms.requisite);
            parts.for_each(|page| held.note_part(page.url.fingerprint()));
        }
    }

    /// Met as a part since check-out.
    pub(super) fn leads_to_part(&mut self, candidate: &Candidate, site: &SiteKey) -> bool {
        let fp = candidate.url.fingerprint();
        self.state.hand.get(site).is_some_and(|held| held.parts.contains(&fp))
    }

    /// A link leads to a part that is being visited as one. Its row becomes a page at once, so that nothing
    /// is lost with us; the visit as a page follows when the one under way is over.
    pub(super) fn wants_as_page(
        &mut self,
        candidate: Candidate,
        delta: &mut SiteDelta,
        now: Timestamp,
    ) {
        if let Some(held) = self.state.hand.get(&delta.key) {
            held.parts.remove(&candidate.url.fingerprint());
            held.known += 1;
            delta.admitted.push(new_row(&candidate, now));
            held.promoted.push(candidate);
        }
    }

    /// The visit of a part is over. If a link led to it meanwhile, what it brought is history, and the page
    /// is still to be fetched: given back to be offered.
    pub(super) fn promote(
        &mut self,
        update: &mut PageUpdate,
        site: &SiteKey,
        now: Timestamp,
    ) -> Option<Page> {
        let held = self.state.hand.get(site)?;
        let is_it = |other: &Candidate| other.url.fingerprint() == update.fp;
        let at = held.promoted.iter().position(is_it)?;
        let candidate = held.promoted.swap_remove(at);
        (update.state, update.due, update.failures) = (PageState::Known, Some(now), 0);
        update.facts = None;
        Some(new_page(candidate, now))
    }

    /// The limit on pages is reached; their parts are no pages and are still fetched.
    pub(super) fn all_pages_are_in(&mut self, now: Timestamp) {
        if !self.spiders.all().iter().any(|spider| spider.gather.requisites) {
            self.stop(Stopping::Limit(LimitInAll::Pages));
        } else if !std::mem::replace(&mut self.state.parts_only, true) {
            self.state.check_at = Some(now);
        }
    }

    /// Nothing is under way, and no part is due soon.
    pub(super) fn parts_are_in(&self, quiet: bool) -> bool {
        let horizon = self.clock.now().plus(PATIENCE);
        let idle = self.state.check_at.is_none_or(|at| at > horizon);
        quiet && idle && self.state.hand.is_empty()
    }
}

impl crate::pipeline::hand::Held {
    /// Beyond the bound a part is given to the store again, which knows it.
    fn note_part(&mut self, fp: Fingerprint) {
        if (self.parts.len() as u64) < limits::KNOWN_IN_MEMORY_MAX {
            self.parts.insert(fp);
        }
    }
}
