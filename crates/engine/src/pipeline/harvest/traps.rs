//! The watch over the traps of sites in hand: what pages show is given to the seeder, which says what follows;
//! links into a trap are refused with the rule that did it. Only under the site's lease.

use model::{
    Candidate, Decision, Hazard, Looks, Measure, Page, PageState, PageTerms, PageUpdate, Refusal,
    RefusalReason, Sighting, SiteDelta, SiteKey, Timestamp, UrlTraps, Verdict,
};
use seeder::traps::{
    self, Found, Observation, TrapObjection, Tripped,
    pattern::Pattern,
    token,
    unwanted::{self, Turn},
};

use store::control::Command;

use super::{Harvest, TrapChange, refusals};
use crate::pipeline::{
    messages::{Order, Settle},
    soft_404::{Judged, Shown},
};

/// Lifts of one crawl, typed by people; those of the last hour would do.
const LIFTS_MAX: usize = 1_000;

impl Harvest {
    /// The site came in hand.
    pub(super) fn begin_watch(&mut self, site: &SiteKey) {
        let Some(held) = self.state.hand.get(site) else { return };
        let changes = self.state.lifts.iter().filter(|change| change.site == site.as_str());
        for TrapChange { pattern, watch, .. } in changes {
            match watch {
                true => drop(held.traps.urls.watch_again(pattern.as_deref())),
                false => drop(held.traps.lift(pattern.as_deref())),
            }
        }
        self.spiders.stops.set(site, &held.traps.urls, held.watch.remembered());
    }

    /// As URLs of the site are written since some of their parts proved idle; `None`: the page is known under
    /// another spelling. Where a redirect leads, the server wants it so.
    pub(super) fn without_idle_parts(
        &mut self,
        mut candidate: Candidate,
        site: &SiteKey,
    ) -> Option<Candidate> {
        if !self.spiders.of(candidate.spider).rules.traps.on {
            return Some(candidate);
        }
        let Some(held) = self.state.hand.get(site) else { return Some(candidate) };
        let tokens = &mut held.traps.urls.tokens;
        if tokens.is_empty() || candidate.seed || candidate.hops > 0 {
            return Some(candidate);
        }
        let Some((url, at)) = token::rewrite(&candidate.url, tokens) else {
            return Some(candidate);
        };
        let bench = &self.workbench;
        let is_known = |url: &model::CrawlUrl| {
            bench.known(site, url.fingerprint()) == harvester::workbench::Known::Yes
        };
        let known = is_known(&url);
        let elsewhere = !known && token::others(&url, tokens).any(|other| is_known(&other));
        let (page, referrer) = (&candidate.url, candidate.referrer);
        if token::note_mended(&mut tokens[at], page, referrer, known || elsewhere) {
            self.spiders.stops.let_through(site, page.fingerprint());
            return Some(candidate);
        }
        if elsewhere {
            return None;
        }
        candidate.url = url;
        Some(candidate)
    }

    /// Refuses a link into a trap, but for samples. Of one that may be known long since (`unsure`) nobody can say so.
    pub(super) fn is_trapped(
        &mut self,
        candidate: &Candidate,
        site: &SiteKey,
        unsure: bool,
        share: &mut Settle,
    ) -> bool {
        if candidate.seed {
            return false;
        }
        let rules = &self.spiders.of(candidate.spider).rules.traps;
        let Some(held) = self.state.hand.get(site) else { return false };
        let (url, led_by) = (&candidate.url, (!held.on_copy).then_some(candidate.terms.via));
        let found = traps::objection_to(url, led_by, &held.traps.urls, rules, false);
        let Some(objection) = found else { return false };
        held.learned |= held.watch.count_refusal();
        let urls = &mut held.traps.urls;
        if traps::note_refusal(urls, &objection, &candidate.url, candidate.referrer) {
            self.spiders.stops.let_through(site, candidate.url.fingerprint());
            return false;
        }
        if !unsure {
            let (decision, met) = refused(candidate, &objection);
            refusals::refuse(share, decision, met);
        }
        true
    }

    /// What a trap has against a candidate that came with the lease.
    pub(super) fn trap_of(&mut self, site: &SiteKey, page: &Page) -> Option<Refusal> {
        if page.seed || page.terms.requisite {
            return None;
        }
        let rules = &self.spiders.of(page.spider).rules.traps;
        let held = self.state.hand.get(site)?;
        let led_by = Some(page.terms.via);
        let refusal =
            traps::objection_to(&page.url, led_by, &held.traps.urls, rules, false)?.refusal();
        traps::note_held_back(&mut held.traps.urls, &refusal.rule);
        Some(refusal)
    }

    /// On a site of copies, whether the page is one: its links lead nowhere else than those of the other.
    pub(super) fn note_copy(&mut self, page: &Page, looks: &Looks, site: &SiteKey) {
        if let Some(held) = self.state.hand.get(site) {
            let is_stopped = held.traps.urls.stopped.is_some();
            held.on_copy = is_stopped && held.watch.is_copy(&page.url, looks);
        }
    }

    /// Admits a page's links to its own site; how many of them nobody knew.
    pub(super) fn admit_found(
        &mut self,
        page: &Page,
        links: Vec<Candidate>,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) -> Found {
        let mut found = Found::default();
        let mut own = None;
        for candidate in links {
            if self.is_sent_round(page, &candidate) {
                share.sightings.push(Sighting::at(
                    &page.url,
                    Hazard::SessionIds,
                    Measure::Corrected,
                ));
                continue;
            }
            let (url, redirected) = (candidate.url.clone(), candidate.hops > 0);
            if !self.admit(candidate, delta, share, now) || redirected {
                continue;
            }
            let pattern = Pattern::of(&url);
            let own = own.get_or_insert_with(|| Pattern::of(&page.url));
            match own.path() == pattern.path() {
                true => found.inside += 1,
                false => found.outside += 1,
            }
            if let Some(held) = self.state.hand.get(&delta.key) {
                traps::note_taken(&mut held.traps.urls, &pattern);
            }
        }
        found
    }

    /// The server sends on to the same page with a session in its URL, a new one each time it is asked: where it has
    /// done so before, the page is known under that one.
    fn is_sent_round(&self, page: &Page, target: &Candidate) -> bool {
        let is_again = page.state == PageState::Redirected && target.hops > page.hops;
        is_again && {
            let form = &self.spiders.of(page.spider).rules.form;
            let plain = form.mend(&target.url).map(|(url, ..)| form.apply_to_redirect(&url));
            plain.as_ref() == Some(&page.url) || token::adds_identifier(&page.url, &target.url)
        }
    }

    /// The page is the one that the site shows for what it does not have, or was asked for to learn that.
    pub(super) fn is_missing_page(
        &mut self,
        page: &Page,
        update: &mut PageUpdate,
        looks: &Looks,
        (delta, share): (&mut SiteDelta, &mut Settle),
        now: Timestamp,
    ) -> bool {
        let Some(held) = self.state.hand.get(&delta.key) else { return false };
        let rules = &self.spiders.of(page.spider).rules.traps;
        let shown = Shown { page, looks, rules, now };
        let learned = (&mut held.watch, &mut held.traps.urls);
        let judged = shown.judge(update, learned, &mut share.sightings);
        if judged == Judged::Probe {
            held.watch.has_news();
            delta.traps = Some(held.traps.clone());
        }
        judged == Judged::Missing
    }

    /// Whether pages of its kind give nothing but what is not wanted.
    pub(super) fn note_type(&mut self, page: &Page, delta: &SiteDelta, share: &Settle) {
        let rules = &self.spiders.of(page.spider).rules.traps;
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        if !rules.on || page.last.is_some() || page.terms.requisite || page.seed {
            return;
        }
        let is_refused = |told: &Decision| {
            told.reason == RefusalReason::MediaType && told.example == page.url.as_str()
        };
        let is_unwanted = share.decisions.iter().any(is_refused);
        let turn = unwanted::note_answer(&mut held.traps.urls, &page.url, is_unwanted);
        if turn == Turn::Nothing {
            return;
        }
        if turn == Turn::Back {
            held.watch.judge_again();
        }
        self.spiders.stops.set(&delta.key, &held.traps.urls, held.watch.remembered());
    }

    /// Shows a page to the watch of its site, the first time it comes, and does what follows.
    pub(super) fn watch(
        &mut self,
        page: &Page,
        update: &PageUpdate,
        (looks, found, numbered): (Looks, Found, bool),
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        let first = page.last.is_none() && update.state == PageState::Fetched;
        let Some(visit) = update.visit.as_ref().filter(|_| first && !page.terms.requisite) else {
            return;
        };
        let spider = self.spiders.of(page.spider);
        let rules = &spider.rules.traps;
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        if held.watch.is_missing(&held.traps.urls, rules, &looks) {
            return;
        }
        let (seed, seeded, elapsed) = (page.seed, held.seeded, visit.elapsed);
        let via = page.terms.via;
        let seen = Observation { looks, via, numbered, seed, seeded, found, elapsed, now };
        let tripped = held.watch.observe(&mut held.traps.urls, rules, &page.url, &seen);
        for Tripped { hazard, what, measure } in tripped {
            tracing::info!(site = %delta.key, hazard = hazard.word(), %what, "a trap");
            share.sightings.push(Sighting::at(&page.url, hazard, measure).of(what));
        }
        let again = held.watch.wants_again();
        let wants_probe = held.watch.wants_probe(&held.traps.urls, rules);
        if again {
            self.spiders.stops.let_through(&delta.key, page.url.fingerprint());
            self.visit_once_more(&delta.key, Page { due: now, ..page.clone() }, now);
        }
        if wants_probe {
            self.ask_for_nothing(page, delta, share, now);
        }
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        if held.watch.has_news() {
            delta.traps = Some(held.traps.clone());
            let seen = held.watch.remembered();
            self.spiders.stops.set(&delta.key, &held.traps.urls, seen);
        }
    }

    /// What was held against URLs of the site may have been wrong: what was left out for it is to be taken up again.
    /// After the check-in of the page that said so, for its own links may be among that.
    pub(super) fn clear_traps(&mut self, site: &SiteKey, now: Timestamp) {
        let Some(held) = self.state.hand.get(site) else { return };
        let (cleared, again) = (held.watch.take_cleared(), held.watch.take_judge_again());
        if cleared.is_empty() && !again {
            return;
        }
        for (what, stop) in &cleared {
            tracing::info!(%site, hazard = stop.hazard.word(), %what, "no trap after all");
        }
        let started = self.state.started;
        self.order(Order::ClearTraps(site.as_str().to_owned(), cleared, started));
        self.state.check_at = Some(now);
    }

    /// A block was lifted: where sites in hand had links to what is not wanted, whether their pages lead nowhere is to be
    /// seen anew.
    pub(super) fn forget_dead_ends(&mut self) {
        let now = self.clock.now();
        for site in self.state.hand.keys() {
            let Some(held) = self.state.hand.get(&site).filter(|held| held.watch.has_barred())
            else {
                continue;
            };
            let ends = held.traps.urls.forget_dead_ends();
            held.learned |= !ends.is_empty();
            held.watch.take_back(ends);
            self.spiders.stops.set(&site, &held.traps.urls, held.watch.remembered());
            self.clear_traps(&site, now);
        }
    }

    /// Asks for a page that cannot exist: by the site's clock, its robots.txt and the gate like any other, archived,
    /// and counted as none.
    fn ask_for_nothing(
        &mut self,
        page: &Page,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        let Some(held) = self.state.hand.get(&delta.key) else { return };
        held.watch.probe_asked(&mut held.traps.urls, now);
        let Some(url) = traps::probe(&page.url) else { return };
        let terms = PageTerms { requisite: true, ..PageTerms::default() };
        let (spider, level) = (page.spider, page.level);
        let candidate =
            Candidate { url, spider, level, hops: 0, seed: false, terms, referrer: None };
        if self.spiders.of(spider).judge(&candidate) == Verdict::Accept {
            self.admit_requisite(candidate, delta, share, now);
        }
    }

    /// Somebody says that a trap is none: in force from here on, and written down by the writer.
    pub(super) fn lift_trap(&mut self, request: i64, site: String, pattern: Option<String>) {
        let key = SiteKey::stored(&site);
        self.note_change(&site, pattern.as_deref(), false);
        // The pages on which refused links stand are read again: all that are known, not those written down so far.
        let now = self.clock.now();
        if let Some(held) = self.state.hand.get(&key) {
            let traps = Some(held.traps.clone());
            let (deltas, busy) = (vec![SiteDelta { traps, ..held.delta(now) }], self.clock.busy());
            self.settle(Settle { deltas, busy, ..Settle::default() });
        }
        self.begin_watch(&key);
        self.apply(Some(request), Command::LiftTrap { site, pattern });
        // Of a site in hand, the store is asked for them.
        self.workbench.expect_more(&key, 0, now);
        // What is judged again may be due now.
        self.state.check_at = Some(self.clock.now());
    }

    /// What was lifted may be stopped again.
    pub(super) fn watch_trap(&mut self, request: i64, site: String, pattern: Option<String>) {
        self.note_change(&site, pattern.as_deref(), true);
        self.begin_watch(&SiteKey::stored(&site));
        self.apply(Some(request), Command::WatchTrap { site, pattern });
    }

    fn note_change(&mut self, site: &str, pattern: Option<&str>, watch: bool) {
        if self.state.lifts.len() < LIFTS_MAX {
            let (site, pattern) = (site.to_owned(), pattern.map(str::to_owned));
            self.state.lifts.push(TrapChange { site, pattern, watch });
        }
    }
}

/// Why a link into a trap is refused, and what is told of the trap.
fn refused(candidate: &Candidate, objection: &TrapObjection) -> (Decision, Sighting) {
    let Refusal { reason, rule } = objection.refusal();
    let (site, example) = (candidate.url.site_text().to_owned(), candidate.url.as_str().to_owned());
    let decision = Decision { site, reason, rule, count: 1, example, referrer: None };
    let word = objection.hazard.word();
    let (what, measure) = match objection.pattern.as_str() {
        UrlTraps::SITE => ("", Measure::SiteStopped),
        pattern if pattern == word => ("", Measure::Refused),
        pattern => (pattern, Measure::PatternStopped),
    };
    (decision, Sighting::at(&candidate.url, objection.hazard, measure).of(what))
}
