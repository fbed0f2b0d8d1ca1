//! Near duplicates, under the site's lease: a page finds its family, and one that leads to nothing but more of the
//! same is not followed.

use harvester::workbench::Known;
use model::{
    Candidate, Decision, Hazard, Measure, Page, PageState, PageUpdate, Sighting, SiteDelta,
    Timestamp,
};
use seeder::{
    Gist, Likeness, Novelty, family_of,
    traps::{
        Bearing, TrapObjection, Worn, near,
        pattern::{Pattern, via},
    },
};

use super::{Harvest, refusals};
use crate::pipeline::messages::{Content, Settle};

/// What an answer says of itself.
pub(super) struct Told {
    /// What it is like.
    pub near: Option<Likeness>,
    pub gist: Option<Gist>,
    pub content: Content,
    /// It leads to what is not wanted, and was not known.
    pub lists_barred: bool,
    /// It is the same as another, or the page for what does not exist.
    pub copy: bool,
}

/// What a page is among those of its site.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kin {
    /// Of how many pages its family is, if it has one; 1 where it has none, and next to nothing of its own.
    pub family: Option<u32>,
    /// It is like others but for its numbers, and these are content.
    pub numbered: bool,
}

impl Harvest {
    /// Finds the family of a page, if it has one.
    pub(super) fn find_family(
        &mut self,
        page: &Page,
        update: &mut PageUpdate,
        told: Told,
        delta: &mut SiteDelta,
        share: &mut Settle,
    ) -> Kin {
        let mut kin = Kin::default();
        if !page.terms.requisite {
            kin.family = self.family(page, update, told, &mut kin.numbered, (delta, share));
        }
        kin
    }

    fn family(
        &mut self,
        page: &Page,
        update: &mut PageUpdate,
        told: Told,
        numbered: &mut bool,
        (delta, share): (&mut SiteDelta, &mut Settle),
    ) -> Option<u32> {
        let held = self.state.hand.get(&delta.key)?;
        if update.state != PageState::Fetched || told.copy {
            if page.last.is_none() && brings_nothing(update) {
                near::note_page(&mut held.traps.urls, &page.url, Bearing::Dull);
            }
            return None;
        }
        let kind = Pattern::of(&page.url).text;
        let novelty = held.loners.novelty(&kind, &page.url, told.gist);
        *numbered = novelty == Novelty::Numbered;
        if novelty == Novelty::Pictured {
            // A page of a picture book. It proves nothing either way: a banner may be another one each time.
            return None;
        }
        if page.last.is_some() {
            // It was counted at its first visit.
            return match family_again(&held.traps.families, page, update, told.near) {
                _ if *numbered || told.lists_barred => None,
                None => (novelty == Novelty::Thin).then_some(1),
                family => family,
            };
        }
        let joined =
            told.near.and_then(|like| held.loners.join(&mut held.traps.families, like, &page.url));
        let bearing = match (joined, novelty) {
            (_, Novelty::Numbered) | (None, Novelty::Own) => Bearing::Own,
            (_, Novelty::Thin) | (Some(_), _) if told.lists_barred => Bearing::Unlike,
            (Some(kin), _) => Bearing::Near(kin.pages),
            (None, Novelty::Thin) => Bearing::Thin,
            (None, Novelty::Unsaid | Novelty::Pictured) => match told.content {
                Content::Text => Bearing::Unlike,
                Content::File => Bearing::File,
                Content::Data => Bearing::Dull,
            },
        };
        let noted = near::note_page(&mut held.traps.urls, &page.url, bearing);
        if !noted.cleared.is_empty() {
            held.watch.take_back(noted.cleared);
            self.spiders.stops.set(&delta.key, &held.traps.urls, held.watch.remembered());
        }
        let Some(kin) = joined else { return (bearing == Bearing::Thin).then_some(1) };
        if let Some(facts) = update.facts.as_mut() {
            facts.near_of = Some(kin.first);
        }
        // Each count is written with the page; the site's own copy, which holds all its families, seldomly.
        if kin.pages <= ALWAYS_WRITTEN || kin.pages % ALWAYS_WRITTEN == 0 {
            delta.traps = Some(held.traps.clone());
        }
        let met = Sighting::at(&page.url, Hazard::NearDuplicates, Measure::Noted);
        // The first is known to be one with the second.
        let count = if kin.pages == 2 { 2 } else { 1 };
        // A pattern is one that has given more than this page: else there would be as many as pages.
        let what = if noted.again { kind } else { String::new() };
        share.sightings.push(Sighting { count, ..met.of(what) });
        let is_followed = *numbered || told.lists_barred;
        (!is_followed).then_some(kin.pages)
    }

    /// Whether the page led to URLs that nobody knew.
    pub(super) fn note_breed(&mut self, page: &Page, bred: bool, delta: &SiteDelta) {
        if bred
            && page.last.is_none()
            && let Some(held) = self.state.hand.get(&delta.key)
        {
            near::note_breed(&mut held.traps.urls, &page.url);
        }
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
        let own = near::pattern_of(&held.traps.urls, &page.url);
        let is_lead = |link: &Candidate| {
            near::is_fruitful(&held.traps.urls, &link.url, &own, max)
                && self.workbench.known(&delta.key, link.url.fingerprint()) != Known::Yes
        };
        if internal.iter().any(is_lead) {
            near::note_lead(&mut held.traps.urls, &page.url);
            return internal;
        }
        let Some(worn) = Worn::of(&held.traps.urls, family, max) else { return internal };
        let worn = worn.on(&page.url);
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
        let mut is_news = false;
        for (link, objection, standing) in more {
            let urls = &mut held.traps.urls;
            is_news |= near::note_refusal(urls, &objection, &link.url, referrer, now);
            held.learned |= held.watch.count_refusal();
            if standing == Known::No {
                let (decision, met) = refused(page, &link, &objection);
                refusals::refuse(share, decision, met);
            }
        }
        if is_news {
            held.learned = true;
            self.spiders.stops.set(&delta.key, &held.traps.urls, held.watch.remembered());
        }
        rest
    }
}

/// Says of links that they stand on a near duplicate.
pub(super) fn mark_poor(family: u32, links: &mut [Candidate]) {
    if family > 1 {
        links.iter_mut().for_each(|link| link.terms.via |= via::POOR);
    }
}

/// The family of a page that is visited again.
fn family_again(
    families: &[model::Family],
    page: &Page,
    update: &mut PageUpdate,
    near: Option<Likeness>,
) -> Option<u32> {
    let first = family_of(families, near?, page.url.fingerprint())?;
    update.facts.as_mut()?.near_of = Some(first);
    families.iter().find(|family| family.first == first).map(|family| family.pages)
}

/// An error that is no passing trouble of the server, a redirect, a copy, or what is not wanted.
fn brings_nothing(update: &PageUpdate) -> bool {
    let status = update.visit.as_ref().map_or(0, |visit| visit.status);
    (200..429).contains(&status) || (430..500).contains(&status)
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
