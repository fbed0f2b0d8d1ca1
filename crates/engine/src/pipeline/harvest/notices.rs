//! Sitemaps, feeds and robots.rdf: admitted beside pages, like parts of pages, and what they say is heard.

use harvester::workbench::Known;
use model::{Candidate, Hazard, Measure, RobotsCopy, Sighting, SiteDelta, SpiderId, Timestamp};
use seeder::SortedNotice;

use super::Harvest;
use crate::pipeline::{messages::Settle, notices};

impl Harvest {
    /// A copy of robots.txt came: the notices it leads to are asked for.
    pub(super) fn admit_notices_of(
        &mut self,
        copy: &RobotsCopy,
        spider: SpiderId,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        let spider = self.spiders.of(spider);
        for candidate in notices::named_by(copy, spider.id, &spider.rules.notices) {
            self.spiders.vouchers.note(delta.key.as_str(), &candidate.url);
            if spider.judge(&candidate) == model::Verdict::Accept {
                self.admit_requisite(candidate, delta, share, now);
            }
        }
    }

    /// What a page of the site that `delta` is about leads to by way of notices, or says as one.
    pub(super) fn hear(
        &mut self,
        told: SortedNotice,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        for candidate in told.notices {
            if candidate.terms.outside > 1 && self.leads_to_part(&candidate, &delta.key.clone()) {
                // Named by an index that another index names, and met before.
                let met = Sighting::at(&candidate.url, Hazard::HostileSitemap, Measure::Noted);
                share.sightings.push(met.of("indexes in a circle"));
            }
            self.admit_requisite(candidate, delta, share, now);
        }
        for candidate in told.pages {
            self.admit_announced(candidate, delta, share, now);
        }
        if !told.signals.is_empty()
            && let Some(held) = self.state.hand.get(&delta.key)
        {
            delta.signals.extend(notices::judged(told.signals, &held.habit));
        }
    }

    /// Its level is a guess: what is known already was found by better ways.
    pub(super) fn admit_announced(
        &mut self,
        candidate: Candidate,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        if candidate.url.site_text() != delta.key.as_str() {
            return self.admit_elsewhere(candidate, share, now);
        }
        if self.workbench.known(&delta.key, candidate.url.fingerprint()) != Known::Yes {
            self.admit(candidate, delta, share, now);
        }
    }
}
