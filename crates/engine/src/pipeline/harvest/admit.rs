//! Admission: only here, under the site's lease, do candidates become pages. So limits are exact.

use harvester::workbench::{Known, Offered};
use model::{
    Candidate, Decision, Hazard, Measure, NewPage, Page, PageState, Refusal, RefusalReason,
    Sighting, SiteDelta, SiteKey, Timestamp, Verdict,
};

use seeder::Wildcards;

use super::{Harvest, refusals};
use crate::pipeline::{messages::Settle, settle};

impl Harvest {
    /// A candidate of a site in hand: admitted unless known, over the site's limit or part of a trap. Says whether
    /// it was new and is taken.
    pub(super) fn admit(
        &mut self,
        candidate: Candidate,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) -> bool {
        let site = &delta.key.clone();
        let Some(candidate) = self.without_idle_parts(candidate, site) else { return false };
        let fp = candidate.url.fingerprint();
        let known = self.workbench.known(site, fp);
        if known == Known::Yes {
            self.find_again(candidate, delta, now);
            return false;
        }
        let unsure = known == Known::Unsure;
        if unsure && !self.is_to_be_asked(site, &candidate) {
            return false;
        }
        if self.is_trapped(&candidate, site, unsure, share) {
            return false;
        }
        let spider = self.spiders.of(candidate.spider);
        let (max, purse) = (spider.rules.discovered_urls_max, spider.returns.purse);
        let waits = self.planning.holds_firsts(purse);
        if waits && self.state.hand.get(site).is_some_and(|held| !held.waiting.insert(fp)) {
            return false;
        }
        if self.is_full(site, candidate.seed, max) {
            // Of one that may be known long since nobody can say that it was refused.
            if !unsure {
                let met = Sighting::at(&candidate.url, Hazard::SiteLimit, Measure::SiteStopped);
                refusals::refuse(share, over_the_limit(&candidate, max), met);
            }
            return false;
        }
        delta.seeded |= candidate.seed;
        delta.admitted.push(new_row(&candidate, now));
        if let Some(held) = self.state.hand.get(site) {
            if unsure {
                held.count_unsure()
            } else {
                held.known += 1
            }
            held.drained = None;
            held.seeded |= candidate.seed;
            held.parts.remove(&fp);
        }
        match known {
            // It comes when it can be paid for.
            _ if waits => {}
            Known::No => drop(self.workbench.offer(site, new_page(candidate, now), now)),
            // Only the database can tell whether it is new: if so, it comes back with a refill.
            _ => self.workbench.expect_more(site, candidate.level, now),
        }
        true
    }

    /// A page seen before may wait at a higher level than this link gives it.
    fn find_again(&mut self, candidate: Candidate, delta: &mut SiteDelta, now: Timestamp) {
        let site = &delta.key;
        let row = new_row(&candidate, now);
        let as_page = self.leads_to_part(&candidate, site).then(|| candidate.clone());
        if self.workbench.offer(site, new_page(candidate, now), now) == Offered::Lowered {
            delta.admitted.push(row);
            if let Some((held, candidate)) = self.state.hand.get(site).zip(as_page) {
                held.parts.remove(&candidate.url.fingerprint());
            }
        } else if let Some(candidate) = as_page {
            self.wants_as_page(candidate, delta, now);
        }
    }

    /// A candidate of another site: admitted at once when that site is in hand, else left to its next holder.
    pub(super) fn admit_elsewhere(
        &mut self,
        candidate: Candidate,
        share: &mut Settle,
        now: Timestamp,
    ) {
        let site = candidate.url.site();
        match self.state.hand.get(&site).map(|held| held.delta(now)) {
            Some(mut delta) => {
                self.admit(candidate, &mut delta, share, now);
                if !delta.admitted.is_empty() {
                    share.deltas.push(delta);
                }
            }
            None => {
                self.state.check_at = Some(now);
                share.candidates.push(candidate);
            }
        }
    }

    /// Candidates that came with a lease are judged by its holder: admitted, or excluded with a reason.
    pub(super) fn judge_candidates(&mut self, site: &SiteKey, pages: Vec<Page>) -> Vec<Page> {
        let now = self.clock.now();
        self.note_parts(site, &pages);
        let (candidates, mut pages): (Vec<Page>, Vec<Page>) =
            pages.into_iter().partition(|page| page.state == PageState::Candidate);
        if candidates.is_empty() {
            return pages;
        }
        let Some(mut delta) = self.state.hand.get(site).map(|held| held.delta(now)) else {
            return pages;
        };
        let mut decisions = Vec::new();
        for page in candidates {
            match self.judge(site, &page) {
                Verdict::Accept => {
                    delta.seeded |= page.seed;
                    delta.admitted.push(new_row(&Candidate::from(&page), now));
                    if let Some(held) = self.state.hand.get(site) {
                        held.known += u64::from(!page.terms.requisite);
                    }
                    pages.push(Page { state: PageState::Known, ..page });
                }
                Verdict::Reject(refusal) => {
                    self.refund(&page);
                    delta.updates.push(settle::refused(&page));
                    decisions.push(settle::decision(&page, refusal));
                }
            }
        }
        let busy = self.clock.busy();
        self.settle(Settle { deltas: vec![delta], decisions, busy, ..Settle::default() });
        pages
    }

    fn judge(&mut self, site: &SiteKey, page: &Page) -> Verdict {
        let spider = self.spiders.of(page.spider);
        let max = spider.rules.discovered_urls_max;
        if !page.terms.requisite && self.is_full(site, page.seed, max) {
            let rule = limit_rule(max);
            return Verdict::Reject(Refusal { reason: RefusalReason::Limit, rule });
        }
        let held_back = !page.seed && self.spiders.wildcards.holds_back(&page.url);
        if held_back && !self.state.hand.get(site).is_some_and(|held| held.seeded) {
            return Verdict::Reject(Wildcards::refusal(&page.url));
        }
        if let Some(refusal) = self.trap_of(site, page) {
            return Verdict::Reject(refusal);
        }
        spider.judge(&Candidate::from(page))
    }

    fn is_to_be_asked(&mut self, site: &SiteKey, candidate: &Candidate) -> bool {
        let (fp, level) = (candidate.url.fingerprint(), candidate.level);
        let held = self.state.hand.get(site);
        candidate.seed || held.is_some_and(|held| held.ask_store(fp, level))
    }

    /// Sites that no seed named take only so many URLs (VN: 5,000).
    fn is_full(&mut self, site: &SiteKey, seed: bool, max: u64) -> bool {
        self.state.hand.get(site).is_some_and(|held| !held.seeded && !seed && held.known >= max)
    }
}

pub(super) fn new_row(candidate: &Candidate, now: Timestamp) -> NewPage {
    NewPage {
        url: candidate.url.clone(),
        spider: candidate.spider,
        level: candidate.level,
        hops: candidate.hops,
        seed: candidate.seed,
        terms: candidate.terms,
        due: now,
    }
}

pub(super) fn new_page(candidate: Candidate, now: Timestamp) -> Page {
    Page {
        url: candidate.url,
        spider: candidate.spider,
        state: PageState::Known,
        level: candidate.level,
        hops: candidate.hops,
        seed: candidate.seed,
        due: now,
        failures: 0,
        terms: candidate.terms,
        habit: model::Habit::default(),
        children: None,
        last: None,
    }
}

fn limit_rule(max: u64) -> String {
    format!("crawl.discovered_urls = {max}")
}

fn over_the_limit(candidate: &Candidate, max: u64) -> Decision {
    Decision {
        site: candidate.url.site_text().to_owned(),
        reason: RefusalReason::Limit,
        rule: limit_rule(max),
        count: 1,
        example: candidate.url.as_str().to_owned(),
        referrer: None,
    }
}
