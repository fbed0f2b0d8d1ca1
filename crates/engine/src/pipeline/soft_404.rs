//! What a site shows for a page that it does not have: the answer to the question for one is
//! learned, and pages that look like it lead nowhere. For answers of visits and of records that are
//! adopted.

use model::{Hazard, Looks, Measure, Page, PageState, PageUpdate, Sighting, Timestamp, UrlTraps};
use seeder::traps::{TrapRules, Watch, is_probe};

/// An answer that may be one.
pub struct Shown<'a> {
    pub page: &'a Page,
    pub looks: &'a Looks,
    pub rules: &'a TrapRules,
    pub now: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Nothing is known against it.
    Page,
    /// It was asked for to see what the site shows: that is learned now.
    Probe,
    /// It is what the site shows for what does not exist.
    Missing,
}

impl Shown<'_> {
    pub fn judge(
        &self,
        update: &mut PageUpdate,
        (watch, traps): (&mut Watch, &mut UrlTraps),
        sightings: &mut Vec<Sighting>,
    ) -> Judged {
        let Shown { page, looks, rules, now } = *self;
        let answered = update.state == PageState::Fetched;
        let soft_404 = Sighting::at(&page.url, Hazard::Soft404, Measure::Noted);
        if page.terms.requisite && is_probe(&page.url) {
            // Once is enough, whatever the policy says of other pages.
            update.due = None;
            watch.probe_answered(traps, answered.then_some(*looks), now);
            sightings.extend(answered.then_some(soft_404));
            return Judged::Probe;
        }
        let ordinary = !page.seed && page.level > 0 && !page.terms.requisite;
        if answered && ordinary && watch.is_missing(traps, rules, looks) {
            sightings.push(soft_404);
            return Judged::Missing;
        }
        Judged::Page
    }
}
