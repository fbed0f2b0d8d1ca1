//! Near duplicates, under the site's lease: a page finds its family, and one that leads to nothing but more of the
//! same is not followed.

use harvester::workbench::Known;
use model::{
    Candidate, Decision, Hazard, Measure, Page, PageUpdate, Sighting, SiteDelta, Timestamp,
};
use seeder::{
    Likeness, family_of,
    traps::{TrapObjection, Worn, near, pattern::Pattern},
};

use super::{Harvest, refusals};
use crate::pipeline::messages::Settle;

impl Harvest {
    /// Of how many pages the family of a page is, if it has one. `near`: what it is like, if it says anything.
    pub(super) fn find_family(
        &mut self,
        page: &Page,
        update: &mut PageUpdate,
        near: Option<Likeness>,
        delta: &mut SiteDelta,
        share: &mut Settle,
    ) -> Option<u32> {
        let (like, facts) = (near?, update.facts.as_mut()?);
        let held = self.state.hand.get(&delta.key)?;
        if page.last.is_some() {
            // It was counted at its first visit.
            let fp = page.url.fingerprint();
            let first = family_of(&held.traps.families, like, fp)?;
            facts.near_of = Some(first);
            let own = held.traps.families.iter().find(|family| family.first == first);
            return own.map(|family| family.pages);
        }
        let joined = held.loners.join(&mut held.traps.families, like, &page.url);
        let pages = joined.map_or(1, |kin| kin.pages);
        let again = near::note_page(&mut held.traps.urls, &page.url, pages);
        let kin = joined?;
        facts.near_of = Some(kin.first);
        // Each count is written with the page; the site's own copy, which holds all its families, seldomly.
        if kin.pages <= ALWAYS_WRITTEN || kin.pages % ALWAYS_WRITTEN == 0 {
            delta.traps = Some(held.traps.clone());
        }
        let met = Sighting::at(&page.url, Hazard::NearDuplicates, Measure::Noted);
        // The first is known to be one with the second.
        let count = if kin.pages == 2 { 2 } else { 1 };
        // A pattern is one that has given more than this page: else there would be as many as pages.
        let what = if again { Pattern::of(&page.url).text } else { String::new() };
        share.sightings.push(Sighting { count, ..met.of(what) });
        Some(kin.pages)
    }

    /// The links of a page of a family, without those to further pages like it. Where it leads to anything else
    /// that is new, or may be, it is followed like any page.
    pub(super) fn leave_more_of_the_same(
        &mut self,
        (page, family): (&Page, u32),
        internal: Vec<Candidate>,
        delta: &SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) -> Vec<Candidate> {
        let max = self.spiders.of(page.spider).rules.near_duplicates_max;
        let Some(held) = self.state.hand.get(&delta.key) else { return internal };
        let Some(worn) = Worn::of(&held.traps.urls, family, max) else { return internal };
        let known = |link: &Candidate| self.workbench.known(&delta.key, link.url.fingerprint());
        let mut rest = Vec::with_capacity(internal.len());
        let mut more = Vec::new();
        let mut leads_on = false;
        for link in internal {
            let standing = known(&link);
            let objection = match standing {
                Known::Yes => None,
                _ => worn.objection(&link.url).filter(|_| !link.seed),
            };
            leads_on |= standing != Known::Yes && objection.is_none() && worn.leads_on(&link.url);
            match objection {
                Some(objection) => more.push((link, objection, standing)),
                None => rest.push(link),
            }
        }
        if leads_on {
            rest.extend(more.into_iter().map(|(link, ..)| link));
            return rest;
        }
        let referrer = page.url.fingerprint();
        for (link, objection, standing) in more {
            let urls = &mut held.traps.urls;
            held.learned |= near::note_refusal(urls, &objection, &link.url, referrer, now);
            if standing == Known::No {
                let (decision, met) = refused(page, &link, &objection);
                refusals::refuse(share, decision, met);
            }
        }
        rest
    }
}

/// Up to here a family is written with every page that joins it, then with every page that makes another ten.
const ALWAYS_WRITTEN: u32 = 10;

fn refused(page: &Page, link: &Candidate, objection: &TrapObjection) -> (Decision, Sighting) {
    let (refusal, pattern) = (objection.refusal(), Pattern::of(&link.url).text);
    let decision = Decision {
        site: link.url.site_text().to_owned(),
        reason: refusal.reason,
        rule: refusal.rule,
        count: 1,
        example: link.url.as_str().to_owned(),
        referrer: Some(page.url.as_str().to_owned()),
    };
    let stopped = Sighting::at(&page.url, Hazard::NearDuplicates, Measure::PatternStopped);
    (decision, Sighting { count: 0, ..stopped.of(pattern) })
}
