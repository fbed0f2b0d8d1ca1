//! Near duplicates, under the site's lease: a page finds its family, and one that leads to nothing but more of the
//! same is not followed.

use harvester::workbench::Known;
use model::{
    Candidate, Decision, Hazard, Measure, Page, PageUpdate, RefusalReason, Sighting, SiteDelta,
};
use seeder::{Likeness, Worn, counter_pattern, family_of};

use super::{Harvest, refusals};
use crate::pipeline::messages::Settle;

impl Harvest {
    /// Says whether the page is one of a family. `near`: what it is like, if it says anything.
    pub(super) fn find_family(
        &mut self,
        page: &Page,
        update: &mut PageUpdate,
        near: Option<Likeness>,
        delta: &mut SiteDelta,
        share: &mut Settle,
    ) -> bool {
        let (Some(like), Some(facts)) = (near, &mut update.facts) else { return false };
        let Some(held) = self.state.hand.get(&delta.key) else { return false };
        if page.last.is_some() {
            // It was counted at its first visit.
            let fp = page.url.fingerprint();
            facts.near_of = family_of(&held.traps.families, like, fp);
            return facts.near_of.is_some();
        }
        let joined = held.loners.join(&mut held.traps.families, like, &page.url);
        let Some(kin) = joined else { return false };
        facts.near_of = Some(kin.first);
        // Each count is written with the page; the site's own copy, which holds all its families, seldomly.
        if kin.pages <= ALWAYS_WRITTEN || kin.pages % ALWAYS_WRITTEN == 0 {
            delta.traps = Some(held.traps.clone());
        }
        let met = Sighting::at(&page.url, Hazard::NearDuplicates, Measure::Noted);
        // The first is known to be one with the second.
        let count = if kin.pages == 2 { 2 } else { 1 };
        // A pattern is one that has given more than this page: else there would be as many as pages.
        let what = if kin.of_kind > 1 { counter_pattern(&page.url) } else { String::new() };
        share.sightings.push(Sighting { count, ..met.of(what) });
        true
    }

    /// The links of a page of a family, without those to further pages like it. Where it leads to anything else
    /// that is new, or may be, it is followed like any page.
    pub(super) fn leave_more_of_the_same(
        &mut self,
        (page, near): (&Page, Option<Likeness>),
        internal: Vec<Candidate>,
        delta: &SiteDelta,
        share: &mut Settle,
    ) -> Vec<Candidate> {
        let max = self.spiders.of(page.spider).rules.near_duplicates_max;
        let (Some(like), Some(held)) = (near, self.state.hand.get(&delta.key)) else {
            return internal;
        };
        let worn = Worn::of(&held.traps.families, like, max);
        if worn.is_empty() || held.traps.urls.is_lifted(Hazard::NearDuplicates.word()) {
            return internal;
        }
        let known = |link: &Candidate| self.workbench.known(&delta.key, link.url.fingerprint());
        let leads_on = |link: &Candidate| known(link) != Known::Yes && !worn.has(&link.url);
        if internal.iter().any(leads_on) {
            return internal;
        }
        let is_more =
            |link: &Candidate| !link.seed && known(link) != Known::Yes && worn.has(&link.url);
        let (more, rest): (Vec<Candidate>, Vec<Candidate>) =
            internal.into_iter().partition(is_more);
        for link in more.iter().filter(|link| known(link) == Known::No) {
            let pattern = counter_pattern(&link.url);
            let decision = refused(page, link, &pattern, max);
            let stopped = Sighting::at(&page.url, Hazard::NearDuplicates, Measure::PatternStopped);
            refusals::refuse(share, decision, Sighting { count: 0, ..stopped.of(pattern) });
        }
        rest
    }
}

/// Up to here a family is written with every page that joins it, then with every page that makes another ten.
const ALWAYS_WRITTEN: u32 = 10;

fn refused(page: &Page, link: &Candidate, pattern: &str, max: u32) -> Decision {
    Decision {
        site: link.url.site_text().to_owned(),
        reason: RefusalReason::Trap,
        rule: format!(
            "{pattern} has given {max} near duplicates and more (hazards.near_duplicates)"
        ),
        count: 1,
        example: link.url.as_str().to_owned(),
        referrer: Some(page.url.as_str().to_owned()),
    }
}
