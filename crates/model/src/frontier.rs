//! The Global Frontier's seam: every known page by site, lent out under leases with fencing numbers.
//!
//! - Only the holder of a site's lease admits pages of that site, so limits are exact.
//! - A [`Settlement`] is one transaction: all of it happens or none.
//! - A delta whose fence is not the site's newest is refused as a whole ([`StoreError::Fenced`]).
//! - A lease that runs out is simply due again.

use std::time::Duration;

use crate::{
    Candidate, CrawlUrl, Fingerprint, Mark, Page, PageTerms, PageUpdate, RecordLocation,
    RefusalReason, RobotsCopy, Sighting, Signal, Site, SiteAddress, SiteClock, SiteHabit, SiteId,
    SiteKey, SiteTraps, SpiderId, StoreError, Timestamp, limits,
};

pub trait Frontier: Send {
    /// Inserts what is absent, as candidates of their sites; returns how many were new. Sites are made
    /// as needed and become due.
    fn admit(&mut self, candidates: &[Candidate], now: Timestamp) -> Result<u64, StoreError>;

    /// Leases sites that have due pages, those due earliest first: as far as `firsts` asks for it those with
    /// something to be judged or fetched for the first time, then, within `again_max`, those with pages to be
    /// seen again. A site brings its due pages of both sorts, as far as they are asked for. May bring fewer than
    /// there are, even none, where many sites had nothing to lend after all: `next_due` then says so.
    fn check_out(&mut self, request: &CheckOut) -> Result<Vec<SiteLease>, StoreError>;

    /// More due pages of a site already leased, not counting those `except`.
    fn refill(&mut self, request: &Refill) -> Result<Vec<Page>, StoreError>;

    /// One atomic check-in of what happened.
    fn check_in(&mut self, settlement: &Settlement) -> Result<(), StoreError>;

    /// What follows happens together or not at all: it lasts once [`Frontier::commit_together`] has returned. After an
    /// error in between nothing more is done.
    fn begin_together(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn commit_together(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Where the answer of this page that was archived at this moment is, whole.
    fn record_of(
        &mut self,
        _url: &CrawlUrl,
        _date: Timestamp,
    ) -> Result<Option<RecordLocation>, StoreError> {
        Ok(None)
    }

    /// Leases that ran out become due again; returns how many.
    fn release_expired(&mut self, now: Timestamp) -> Result<u64, StoreError>;

    /// When the next unleased site is due, of each queue. After a check-out of `requisites_only`: for these.
    fn next_dues(&mut self) -> Result<NextDue, StoreError>;

    /// The earlier of both.
    fn next_due(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.next_dues().map(NextDue::earliest)
    }

    /// Pages that were fetched before, from all over the collection, with what is known of their sites: enough
    /// to reckon what a visit is worth. Which ones depends on `draw`.
    fn sample(&mut self, pages_max: usize, draw: u64)
    -> Result<Vec<(Page, SiteHabit)>, StoreError>;

    /// Shows every page of a spider that was fetched or may be fetched, site by site; a choice among all of
    /// them (a batch) is made by whoever looks. The pages come without their last version.
    fn survey(
        &mut self,
        spider: SpiderId,
        look: &mut dyn FnMut(&Site, &Page),
    ) -> Result<(), StoreError> {
        let mut place = Some(Milestone::default());
        while let Some(from) = place {
            place = self.survey_part(spider, from, usize::MAX, look)?;
        }
        Ok(())
    }

    /// The same from this place on, until about `rows_max` rows were read, so that others have their turn in
    /// between; from where to go on, if there is more.
    fn survey_part(
        &mut self,
        spider: SpiderId,
        from: Milestone,
        rows_max: usize,
        look: &mut dyn FnMut(&Site, &Page),
    ) -> Result<Option<Milestone>, StoreError>;

    /// These pages become due at `now`, but for those visited after `since`; those of sites in hand as soon as
    /// they are given back.
    fn call(
        &mut self,
        pages: &[(SiteId, Fingerprint)],
        since: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError>;

    fn counts(&mut self) -> Result<Counts, StoreError>;
}

/// How far a survey has come: behind this page of the site, or before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    pub site: SiteId,
    pub page: Option<Fingerprint>,
}

impl Default for Milestone {
    fn default() -> Milestone {
        Milestone { site: SiteId(0), page: None }
    }
}

#[derive(Clone, Debug)]
pub struct CheckOut {
    pub now: Timestamp,
    pub holder: String,
    pub lease: Duration,
    pub sites_max: usize,
    /// Of each site.
    pub pages_max: usize,
    /// Sites with pages to be seen again within this time come along when fewer are due now than were asked for.
    pub slack: Duration,
    /// Lend what is to be judged or fetched for the first time; else none of it. Where sites that have some
    /// could fill `sites_max`, pages to be seen again are asked for apart.
    pub firsts: bool,
    /// Lend at most so many pages to be seen again, in all; `None`: what is due.
    pub again_max: Option<usize>,
    /// Of pages to be seen again only those due by this moment (one pass visits what was due when it began);
    /// `None`: those due now.
    pub again_until: Option<Timestamp>,
    /// Above this many known URLs a site's fingerprints stay in the database.
    pub known_max: u64,
    /// Spiders whose pages stay where they are, besides those that the store itself knows to be paused. When
    /// one is no longer named here, its sites become due again.
    pub paused: Vec<SpiderId>,
    /// Spiders that cannot pay now: their pages stay where they are, this time, and make room for others.
    pub unpaid: Unpaid,
    /// Lend out only what is due of parts of pages ([`PageTerms::requisite`]), as far as it goes: the limit
    /// on pages is reached, and theirs are still to come.
    pub requisites_only: bool,
    /// Sites that a seed names come before all others, whatever is due first.
    pub seeded_first: bool,
    /// Lend out exactly these sites, due or not, with no pages (recovery asks for pages by fingerprint).
    pub only: Option<Vec<SiteKey>>,
}

impl CheckOut {
    /// Whatever is due at `now`, of every site, without fingerprints: what is to be otherwise is said beside it.
    pub fn at(now: Timestamp, holder: impl Into<String>) -> CheckOut {
        CheckOut {
            now,
            holder: holder.into(),
            lease: limits::LEASE,
            sites_max: usize::MAX,
            pages_max: usize::MAX,
            slack: Duration::ZERO,
            firsts: true,
            again_max: None,
            again_until: None,
            known_max: 0,
            paused: Vec::new(),
            unpaid: Unpaid::default(),
            requisites_only: false,
            seeded_first: false,
            only: None,
        }
    }

    /// The moment by which pages to be seen again must be due.
    pub fn again_by(&self) -> Timestamp {
        self.again_until.map_or(self.now, |until| until.min(self.now))
    }
}

/// Spiders whose purse is empty, for …
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpaid {
    /// … what is to be judged or fetched for the first time, …
    pub firsts: Vec<SpiderId>,
    /// … and for pages to be seen again.
    pub again: Vec<SpiderId>,
}

impl Unpaid {
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty() && self.again.is_empty()
    }
}

/// More pages of a leased site, in the site's order.
#[derive(Clone, Debug)]
pub struct Refill {
    pub site: SiteId,
    pub fence: u64,
    pub now: Timestamp,
    pub pages_max: usize,
    /// Also pages to be seen again, those due by this moment.
    pub again: Option<Timestamp>,
    /// As in [`CheckOut::paused`].
    pub paused: Vec<SpiderId>,
    /// Pages in hand that are not yet settled.
    pub except: Vec<Fingerprint>,
    /// When not empty: exactly these pages, whether due or not.
    pub only: Vec<Fingerprint>,
}

#[derive(Clone, Debug)]
pub struct SiteLease {
    pub site: Site,
    pub fence: u64,
    pub until: Timestamp,
    /// Due pages, candidates among them, in breadth-first order (level, then due, then fingerprint). Where
    /// there are too many, pages to be seen again (those due earliest) have half of the room at most.
    pub pages: Vec<Page>,
    /// All of the site's fingerprints but those of requisites, when it is below `known_max` and something of it
    /// is lent that was never fetched: only then many links are new. A requisite that is linked to becomes a
    /// page: the store knows, not the holder of the lease.
    pub known: Option<Vec<Fingerprint>>,
    /// There are more due pages than were handed out. Pages to be seen again count where no `again_max` is set.
    pub more: bool,
    /// What all sites of this one's registrable domain have brought so far, this one included.
    pub domain: Spent,
    /// How long the site was visited today (UTC): the sum of [`SiteDelta::worked`].
    pub worked_today: Duration,
}

/// When the next site not in hand is due, …
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextDue {
    /// … for something to be judged or fetched for the first time, …
    pub first: Option<Timestamp>,
    /// … and for pages to be seen again.
    pub again: Option<Timestamp>,
}

impl NextDue {
    pub fn earliest(self) -> Option<Timestamp> {
        [self.first, self.again].into_iter().flatten().min()
    }
}

/// What was drawn from a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Spent {
    /// Pages that have answered with content at least once.
    pub pages: u64,
    /// Bytes of answers, as they came over the wire.
    pub bytes: u64,
}

/// One transaction.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    pub now: Timestamp,
    pub deltas: Vec<SiteDelta>,
    /// URLs of sites not in hand.
    pub candidates: Vec<Candidate>,
    pub decisions: Vec<Decision>,
    pub sightings: Vec<Sighting>,
    /// From [`crate::Archive::mark`].
    pub mark: Option<Mark>,
    /// (segment, offset) below which every link record belongs to a settled page.
    pub links: Option<(u32, u64)>,
}

/// What happened to one leased site since its last check-in.
#[derive(Clone, Debug)]
pub struct SiteDelta {
    pub site: SiteId,
    pub key: SiteKey,
    pub fence: u64,
    pub updates: Vec<PageUpdate>,
    /// Pages admitted by the lease holder: inserted if absent. A row that was a candidate becomes known.
    pub admitted: Vec<NewPage>,
    pub robots: Vec<RobotsCopy>,
    pub clock: Option<SiteClock>,
    /// Present when something was learned of the site.
    pub habit: Option<SiteHabit>,
    /// Present when something was learned of its traps.
    pub traps: Option<SiteTraps>,
    /// What a sitemap or feed says of the site's pages; of pages that are not known nothing is kept.
    pub signals: Vec<Signal>,
    /// Pages whose internal pages ([`PageUpdate::children`]) are to be visited now, but for those that were
    /// visited since the moment given.
    pub call_children: Vec<(Fingerprint, Timestamp)>,
    /// Present when its name was resolved.
    pub address: Option<SiteAddress>,
    /// A seed redirected here: the site joins the seeded ones.
    pub seeded: bool,
    pub duplicates: u64,
    /// Time that visits to the site took since the last check-in.
    pub worked: Duration,
    /// Spiders that have reached a limit on this site: until it is lifted, their pages of it that were never
    /// fetched are not due (candidates are: they wait for a judgement). Read when the site is given back,
    /// and then instead of what was said before.
    pub full: Vec<SpiderId>,
    /// `None`: the lease goes on and is renewed to this moment.
    pub release: Release,
}

impl SiteDelta {
    /// Nothing happened: only the lease goes on or ends.
    pub fn empty(site: SiteId, key: SiteKey, fence: u64, release: Release) -> SiteDelta {
        SiteDelta {
            site,
            key,
            fence,
            updates: Vec::new(),
            admitted: Vec::new(),
            robots: Vec::new(),
            clock: None,
            habit: None,
            traps: None,
            signals: Vec::new(),
            call_children: Vec::new(),
            address: None,
            seeded: false,
            duplicates: 0,
            worked: Duration::ZERO,
            full: Vec::new(),
            release,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Keep the lease until this moment.
    Renew(Timestamp),
    /// Give the site back; it is due when its earliest page is, but not before this moment.
    NotBefore(Timestamp),
    /// Give the site back; it is not due until somebody admits pages or lifts its limit.
    Rest,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewPage {
    pub url: CrawlUrl,
    pub spider: SpiderId,
    pub level: u16,
    pub hops: u8,
    pub seed: bool,
    pub terms: PageTerms,
    pub due: Timestamp,
}

/// Why URLs were refused: counted by (site, reason, rule), with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The site in whose name it was refused: of the page that links to it, or of the page itself where a
    /// known one is refused. Not of every foreign host that is linked to: those have no end.
    pub site: String,
    pub reason: RefusalReason,
    pub rule: String,
    pub count: u64,
    pub example: String,
    /// A page that links to it.
    pub referrer: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    pub sites_known: u64,
    /// Admitted: all states but candidate and excluded.
    pub pages_known: u64,
    /// In this state now, like the next five; [`crate::SiteCounters::fetched`] counts "ever".
    pub pages_fetched: u64,
    pub pages_redirected: u64,
    pub pages_failed: u64,
    pub pages_gone: u64,
    /// Admitted and not yet answered.
    pub pages_waiting: u64,
    pub pages_excluded: u64,
    /// Parts of pages that were admitted: in none of the counts of pages and candidates.
    pub requisites: u64,
    pub candidates: u64,
    pub refused: u64,
    pub visits: u64,
    pub versions: u64,
    pub bytes: u64,
}
