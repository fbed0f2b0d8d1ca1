//! Adoption: records that were archived but not settled when the process died are gathered and settled
//! now, not fetched again.
//!
//! Records come in the order they were written, and each is settled before the next is read: a page
//! found by one record may be the page of the next. Of what a crash left some hundreds are committed together: a commit
//! for each would take several times as long as the visits did.

use std::sync::{Arc, PoisonError};

use harvester::{
    failure::{SiteStep, after_visit},
    http::decode_body,
    robots,
    workbench::retry_after,
};
use manager::{Budget, Planner, PlannerOptions};
use model::{
    Archive, Candidate, CheckOut, Clock, CrawlUrl, EntryKind, Exchange, FetchFailure, Frontier,
    Page, PageState, PageTerms, Purpose, Refill, Release, Settlement, Sighting, SiteAddress,
    SiteClock, SiteDelta, SiteLease, Stopped, StoreError, Timestamp, Timing, limits,
};
use seeder::traps::{Watch, is_probe};
use store::{
    frontier::FailedVisit,
    links::LinkWriter,
    spiders::DEFAULT_SPIDER,
    warc::{Adopted, Recovery},
};

use collection::planner::PlannerSnapshot;

use super::{
    gather::{Filed, GatherStage, is_lost},
    marks::Bench,
    messages::PageReport,
    notices,
    returning::{self, Stakes},
    settle::{self, Seen},
    sightings,
    soft_404::{Judged, Shown},
    spiders::{Spider, Spiders},
};

/// Records that are committed together: a process that dies meanwhile has these to adopt again.
const TOGETHER: usize = 200;

/// The slot of what is being read, before there are gather threads.
const ADOPTING: usize = 0;

pub struct Adopter<'a> {
    /// What visits cost when the process died.
    pub prices: &'a Planner,
    pub frontier: &'a mut dyn Frontier,
    pub archive: &'a Arc<dyn Archive>,
    pub links: &'a mut LinkWriter,
    pub stage: &'a GatherStage,
    pub clock: &'a dyn Clock,
    pub holder: &'a str,
    pub body_bytes_max: u64,
    /// Records that are settled and not committed.
    pub together: usize,
    pub unknown: Unknown,
}

/// What becomes of a record whose page nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It stays in the archive.
    Leave,
    /// The archive is all there is: its page is let in.
    Admit,
}

/// The prices that an earlier process wrote down (`saved`); where it did not, those at which a usual page is seen
/// once a week. For nothing, every page would be worth a visit as often as may be.
pub fn prices(saved: Option<&str>, spiders: &Spiders, now: Timestamp) -> Planner {
    let purses = spiders.all().into_iter().map(|spider| (spider.returns.purse, Budget::default()));
    let options = PlannerOptions { purses: purses.collect(), ..PlannerOptions::default() };
    let mut planner = Planner::new(options, now);
    let saved = saved.and_then(|text| serde_json::from_str::<PlannerSnapshot>(text).ok());
    if let Some(saved) = saved {
        planner.restore(&saved.planner);
    }
    planner
}

/// What adoption did, for the log and the user.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Adoptions {
    pub pages: u64,
    /// Of these, those that did not bring one, as a crawl counts them.
    pub failed: u64,
    pub robots: u64,
    /// Records whose page nobody knows: they stay in the archive.
    pub strays: u64,
    /// Pages that were let in because there is a record of them.
    pub admitted: u64,
    /// Records that cannot be read: they stay where they are, their pages are fetched again.
    pub damage: Vec<String>,
}

impl Adopter<'_> {
    /// `tell` is told how far it is whenever there is a commit and more to come.
    pub fn adopt_all(
        &mut self,
        recovery: Recovery,
        mut tell: impl FnMut(&Adoptions),
    ) -> Result<Adoptions, StoreError> {
        let mut done = Adoptions::default();
        for adopted in recovery.adopt {
            match adopted {
                Ok(adopted) => {
                    if self.together == TOGETHER {
                        self.commit_together()?;
                        tell(&done);
                    }
                    if self.together == 0 {
                        self.frontier.begin_together()?;
                    }
                    self.together += 1;
                    self.adopt(adopted, &mut done)?;
                }
                // One damaged volume must not keep the crawl from ever starting again.
                Err(error @ StoreError::Corrupt { .. }) => done.damage.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        if self.together > 0 {
            self.commit_together()?;
        }
        Ok(done)
    }

    /// Links are on disk before the commit that names them.
    fn commit_together(&mut self) -> Result<(), StoreError> {
        self.together = 0;
        self.links.sync()?;
        self.frontier.commit_together()
    }

    pub fn adopt(&mut self, mut adopted: Adopted, done: &mut Adoptions) -> Result<(), StoreError> {
        let complete = self.complete(&mut adopted)?;
        decode_body(&mut adopted.exchange, self.body_bytes_max);
        let lease = self.lease_of(&adopted, done)?;
        let Some(lease) = lease else {
            done.strays += 1;
            return self.settle(&adopted, None, Settlement::default());
        };
        if adopted.exchange.url.path() == "/robots.txt" {
            done.robots += 1;
            return self.adopt_robots(&adopted, &lease);
        }
        let is_fetched_again = !complete || self.is_cut(&adopted);
        let page = match is_fetched_again && self.unknown == Unknown::Leave {
            true => None,
            false => self.page_of(&adopted, &lease, done)?,
        };
        match page {
            Some(page) => {
                done.pages += 1;
                let brought = self.adopt_page(&adopted, page, &lease)?;
                done.failed += u64::from(!brought);
                Ok(())
            }
            None => {
                done.strays += 1;
                let settlement = Settlement {
                    deltas: vec![self.delta(&adopted, &lease)],
                    ..Settlement::default()
                };
                self.settle(&adopted, None, settlement)
            }
        }
    }

    /// A revisit gets the payload that it refers to: it came over the wire, and is read like any
    /// other. Whether all is there; what is under another URL and cannot be found is to be had from
    /// the site alone.
    fn complete(&mut self, adopted: &mut Adopted) -> Result<bool, StoreError> {
        let EntryKind::SamePayload(refers) = &adopted.kind else { return Ok(true) };
        let Ok(url) = CrawlUrl::stored(&refers.target_uri) else { return Ok(false) };
        let own = url == adopted.exchange.url;
        let Some(at) = self.frontier.record_of(&url, refers.date)? else { return Ok(own) };
        let original = self.archive.exchange(at)?;
        let whole = original.filter(|original| original.stopped != Some(Stopped::Length));
        let Some(original) = whole else { return Ok(own) };
        let exchange = &mut adopted.exchange;
        (exchange.wire_body, exchange.entity) = (original.wire_body, original.entity);
        (exchange.body, exchange.stopped) = (original.body, original.stopped);
        Ok(true)
    }

    /// Only the beginning of what came was archived: the links behind it are to be had from the site alone.
    fn is_cut(&self, adopted: &Adopted) -> bool {
        let exchange = &adopted.exchange;
        let whole = matches!(adopted.kind, EntryKind::SamePayload(_) | EntryKind::NotModified(_));
        let kept = exchange.wire_body.len() as u64;
        let is_long = self.stage.stored_bytes_max.is_some_and(|max| kept >= max);
        !whole && is_long && exchange.stopped == Some(Stopped::Length)
    }

    fn lease_of(
        &mut self,
        adopted: &Adopted,
        done: &mut Adoptions,
    ) -> Result<Option<SiteLease>, StoreError> {
        let url = &adopted.exchange.url;
        match self.lease(url)? {
            None if self.admit(adopted, done)? => self.lease(url),
            lease => Ok(lease),
        }
    }

    fn page_of(
        &mut self,
        adopted: &Adopted,
        lease: &SiteLease,
        done: &mut Adoptions,
    ) -> Result<Option<Page>, StoreError> {
        let url = &adopted.exchange.url;
        match self.page(url, lease)? {
            None if self.admit(adopted, done)? => self.page(url, lease),
            page => Ok(page),
        }
    }

    /// Lets the page of a record in, where that is wanted. What was forgotten stays out.
    fn admit(&mut self, adopted: &Adopted, done: &mut Adoptions) -> Result<bool, StoreError> {
        let Exchange { url, purpose, started, .. } = &adopted.exchange;
        let wanted = self.unknown == Unknown::Admit && *purpose == Purpose::Page;
        if !wanted || self.stage.spiders.blocks.is_forgotten(url) {
            return Ok(false);
        }
        let terms = PageTerms { requisite: is_probe(url), ..PageTerms::default() };
        let (url, spider) = (url.clone(), self.spider_at(url).id);
        let candidate =
            Candidate { url, spider, level: 0, hops: 0, seed: false, terms, referrer: None };
        done.admitted += self.frontier.admit(&[candidate], *started)?;
        Ok(true)
    }

    fn lease(&mut self, url: &CrawlUrl) -> Result<Option<SiteLease>, StoreError> {
        let only = Some(vec![url.site()]);
        let request = CheckOut { only, ..CheckOut::at(self.clock.now(), self.holder) };
        Ok(self.frontier.check_out(&request)?.pop())
    }

    fn page(&mut self, url: &CrawlUrl, lease: &SiteLease) -> Result<Option<Page>, StoreError> {
        let request = Refill {
            site: lease.site.id,
            fence: lease.fence,
            now: self.clock.now(),
            pages_max: 1,
            again: None,
            paused: Vec::new(),
            except: Vec::new(),
            only: vec![url.fingerprint()],
        };
        Ok(self.frontier.refill(&request)?.pop())
    }

    fn adopt_robots(&mut self, adopted: &Adopted, lease: &SiteLease) -> Result<(), StoreError> {
        let origin = adopted.exchange.url.origin();
        let old = lease.site.robots.iter().find(|copy| copy.origin == origin);
        let now = adopted.exchange.started;
        let next = robots::answered(old, &origin, Ok(&adopted.exchange), 0, now);
        let mut delta = self.delta(adopted, lease);
        let mut candidates = Vec::new();
        let mut sightings = sightings::of_exchange(&adopted.exchange);
        // A redirected robots.txt is asked for again: its further hops may not have been archived.
        if let robots::Next::Copy(copy) = next {
            let spider = self.spider_at(&adopted.exchange.url);
            candidates = notices::named_by(&copy, spider.id, &spider.rules.notices);
            let note = |notice: &Candidate| {
                self.stage.spiders.vouchers.note(lease.site.key.as_str(), &notice.url);
            };
            candidates.iter().for_each(note);
            sightings.extend(sightings::of_robots(&copy));
            delta.robots.push(copy);
        }
        let deltas = vec![delta];
        let settlement = Settlement { deltas, candidates, sightings, ..Settlement::default() };
        self.settle(adopted, None, settlement)
    }

    /// Whoever crawls this site: the record does not say who asked.
    fn spider_at(&self, url: &CrawlUrl) -> Arc<Spider> {
        let all = self.stage.spiders.all();
        let has = |spider: &&Arc<Spider>| {
            spider.seeds.read().unwrap_or_else(PoisonError::into_inner).has_site(url)
        };
        all.iter().find(has).cloned().unwrap_or_else(|| self.stage.spiders.of(DEFAULT_SPIDER))
    }

    /// Whether the visit brought something.
    fn adopt_page(
        &mut self,
        adopted: &Adopted,
        page: Page,
        lease: &SiteLease,
    ) -> Result<bool, StoreError> {
        let exchange = &adopted.exchange;
        let after = after_visit(Ok(exchange.status), page.failures, self.clock.now()).page;
        let seen = seen(adopted);
        let filed = Filed {
            location: adopted.location,
            record_id: adopted.record_id,
            digest: adopted.payload_digest,
            seen,
            revisit: !matches!(adopted.kind, EntryKind::Response),
            lost: page.last.as_ref().is_some_and(|last| is_lost(&**self.archive, last)),
        };
        let spider = self.stage.spiders.of(page.spider);
        let (stake, turn) = (spider.stake_of(&page), spider.turn_of(&page));
        let price = self.prices.price(stake.purse);
        let mut site = lease.site.habit.clone();
        let (before, is_known) = (page.habit, page.last.is_some());
        let stakes = Stakes { stake, price, site: site.clone() };
        // Nobody watches this bench, so nobody gives it up.
        let bench = Bench::new(ADOPTING);
        let read = self.stage.read(&bench, exchange, page, &filed, after, &stakes);
        self.stage.watch.end(&bench);
        let Some((mut report, decisions)) = read else { return Ok(true) };
        self.stage.keep_file(exchange, &report)?;
        let now = self.clock.now();
        manager::learn(&mut site, &before, report.decided.sight, now);
        report.lesson.learn(&mut site, now);
        let mut delta = SiteDelta { habit: Some(site), ..self.delta(adopted, lease) };
        let mut sightings = Vec::new();
        self.stage.spiders.notes.add(&mut report, &mut delta, &mut sightings);
        self.look_for_missing(&mut report, lease, &mut delta, &mut sightings);
        let mut update = report.update.clone();
        // Of a payload that could not be read, what is known stays.
        if !matches!(adopted.kind, EntryKind::Response) && exchange.body.is_empty() {
            update.facts = update.facts.filter(|_| !is_known);
        }
        // What was like no other before the crash is forgotten; families are not.
        if let (Some(like), Some(facts)) = (report.near, &mut update.facts) {
            facts.near_of = seeder::family_of(&lease.site.traps.families, like, update.fp);
        }
        delta.updates.push(update);
        if report.decided.call_children {
            delta.call_children.push((report.update.fp, now.minus(turn)));
        }
        // As candidates: their sites' next holder admits them, so that limits stay exact.
        let notice = &report.notice;
        delta.signals = notices::judged(notice.signals.clone(), &lease.site.habit);
        let found = report.internal.iter().chain(&report.external).chain(&report.requisites);
        let found = found.chain(&notice.notices).chain(&notice.pages);
        let candidates = found.cloned().collect();
        let settlement = Settlement {
            deltas: vec![delta],
            candidates,
            decisions,
            sightings,
            ..Settlement::default()
        };
        self.settle(adopted, Some((&report, lease)), settlement)?;
        Ok(matches!(
            report.update.state,
            PageState::Fetched | PageState::Redirected | PageState::Excluded
        ))
    }

    /// Links of what the site shows for pages that it does not have lead nowhere.
    fn look_for_missing(
        &self,
        report: &mut PageReport,
        lease: &SiteLease,
        delta: &mut SiteDelta,
        sightings: &mut Vec<Sighting>,
    ) {
        let spider = self.stage.spiders.of(report.page.spider);
        let mut traps = lease.site.traps.clone();
        let PageReport { page, looks, update, .. } = report;
        let shown = Shown { page, looks, rules: &spider.rules.traps, now: self.clock.now() };
        match shown.judge(update, (&mut Watch::default(), &mut traps.urls), sightings) {
            Judged::Page => {}
            Judged::Probe => delta.traps = Some(traps),
            Judged::Missing => {
                report.internal.clear();
                report.external.clear();
            }
        }
    }

    /// Settles a visit that was made elsewhere and brought no answer; `false` where its page is not there.
    pub fn fail(&mut self, visit: &FailedVisit) -> Result<bool, StoreError> {
        let Some(lease) = self.lease(&visit.url)? else { return Ok(false) };
        let now = self.clock.now();
        let mut delta = self.back(&lease);
        let page = self.page(&visit.url, &lease)?;
        if let Some(page) = &page {
            let after = after_visit(Err(visit.kind), page.failures, now).page;
            let timing = Timing { total: visit.elapsed, ..Timing::default() };
            let failure = FetchFailure { timing, ..FetchFailure::new(visit.kind, "") };
            let mut update = settle::failed(page, &failure, &after, now);
            let stake = self.stage.spiders.of(page.spider).stake_of(page);
            let price = f64::from(page.habit.price);
            let stakes = Stakes { stake, price, site: lease.site.habit.clone() };
            returning::decide(page, &mut update, &after, None, &stakes, now);
            delta.updates.push(update);
        }
        let deltas = vec![delta];
        self.frontier.check_in(&Settlement { now, deltas, ..Settlement::default() })?;
        Ok(page.is_some())
    }

    fn back(&self, lease: &SiteLease) -> SiteDelta {
        let release = Release::NotBefore(lease.until.minus(limits::LEASE));
        SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
    }

    /// Gives the site back at once; that its pause is owed in full was noted when its lease was released, or is now, in
    /// a database that has never lent it.
    fn delta(&self, adopted: &Adopted, lease: &SiteLease) -> SiteDelta {
        let Exchange { address, started, .. } = &adopted.exchange;
        let address = address.map(|address| SiteAddress { address, resolved: *started });
        let now = self.clock.now();
        let owed = SiteClock { interrupted: true, saved: now, ..lease.site.clock };
        let is_rebuilt = self.unknown == Unknown::Admit;
        let clock = told(adopted, &lease.site.clock, now).or(is_rebuilt.then_some(owed));
        SiteDelta { clock, address, ..self.back(lease) }
    }

    fn settle(
        &mut self,
        adopted: &Adopted,
        found: Option<(&PageReport, &SiteLease)>,
        mut settlement: Settlement,
    ) -> Result<(), StoreError> {
        if let Some((report, lease)) = found.filter(|(report, _)| !report.links.is_empty()) {
            let source = report.page.url.fingerprint();
            self.links.append(source, lease.site.id, adopted.exchange.started, &report.links)?;
        }
        self.archive.settled(adopted.location);
        if self.together == 0 {
            self.links.sync()?;
        }
        settlement.now = self.clock.now();
        settlement.links = Some(self.links.position());
        settlement.mark = Some(self.archive.mark());
        self.frontier.check_in(&settlement)
    }
}

fn seen(adopted: &Adopted) -> Seen {
    let url = &adopted.exchange.url;
    match &adopted.kind {
        EntryKind::Response => Seen::New,
        EntryKind::NotModified(_) => Seen::Before,
        EntryKind::SamePayload(refers) if refers.target_uri == url.as_str() => Seen::Before,
        EntryKind::SamePayload(refers) => {
            let original = CrawlUrl::stored(&refers.target_uri).ok();
            let original = original.filter(|original| original.site() == url.site());
            Seen::Elsewhere(original.map(|original| original.fingerprint()))
        }
    }
}

/// What the site's clock must know of an answer that told us to slow down.
fn told(adopted: &Adopted, before: &SiteClock, now: Timestamp) -> Option<SiteClock> {
    let exchange = &adopted.exchange;
    let asked = retry_after(exchange.status, &exchange.headers, now);
    let told = after_visit(Ok(exchange.status), 0, now).site == SiteStep::Told;
    if asked.is_none() && !told {
        return None;
    }
    let ended = exchange.started.plus(exchange.timing.total);
    let owed = before.remaining.saturating_sub(now.since(before.saved));
    Some(SiteClock {
        remaining: ended.plus(asked.unwrap_or_default()).since(now).max(owed),
        saved: now,
        backoff: before.backoff.saturating_add(u8::from(told)),
        last_response: before.last_response,
        interrupted: true,
    })
}
