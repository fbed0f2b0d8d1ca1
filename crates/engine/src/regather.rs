//! Pages read again from the archive with today's parser and settings: titles, text, links and what is compared at the
//! next visit. Nothing is fetched, and the history stays as it is; pages that links newly lead to are known from then on.
//!
//! Some hundred pages at a time, with the place that was reached: a run that was cut off continues there.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use collection::{Error, archived::Archived};
use config::{Config, FlagValues, failure::Failure};
use harvester::{clock::RealClock, failure::after_visit};
use manager::Planner;
use model::{
    CheckOut, Clock, Exchange, Fingerprint, Frontier, LastVersion, Page, RecordId, Refill, Release,
    Settlement, SiteDelta, SiteKey, SiteLease, StoreError, limits,
};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    frontier::{RegatherPlace, Regathered, ToRegather},
};

use crate::{
    house::House,
    observe::Observer,
    offline::{Offline, with_saved},
    pipeline::{
        adopt, gather::Filed, marks::Bench, messages::PageReport, returning::Stakes, settle::Seen,
    },
    signals,
};

/// Pages that are read between two commits.
const TOGETHER: usize = 200;
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// The slot of what is being read: there are no gather threads.
const BENCH: usize = 0;

/// What it came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reread {
    /// Pages that were read now; an earlier run that was cut off may have read others.
    pub pages: u64,
    /// Those whose text is another than before.
    pub changed: u64,
    /// Pages that are known from now on.
    pub new_pages: u64,
    /// Their record could not be read, or holds only a part of what came, or they are in quarantine.
    pub unreadable: u64,
    /// Their site is out with a batch.
    pub out: u64,
    /// It continued a run that was cut off.
    pub continued: bool,
}

/// # Errors
/// No such collection, a crawl that runs, or trouble with files.
pub fn regather(
    folder: &Path,
    flags: FlagValues,
    only: Option<&str>,
    observer: Arc<dyn Observer>,
    show: &mut dyn FnMut(&Reread),
) -> Result<Reread, Failure> {
    let saved = Collection::open(folder)?.frontier()?.kept_flags()?;
    let flags = with_saved(flags, &saved);
    let mut config = Config::load(folder, flags.clone())?;
    config.store.directory = false;
    let Offline { crawl, setup, mut steering } = Offline::new(folder, config, flags, observer)?;
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let mut house = House::open(&crawl, &setup, &mut steering, &clock)?;
    house.recover(&crawl, &clock)?;
    let marks = house.stage.watch.clone();
    let _leaving = signals::leave_at_once("pages were read again", Some(marks));
    let prices = adopt::prices(None, &house.stage.spiders, clock.now());
    let census = Census::open(&house.collection)?;
    let archived = Archived::new(&house.collection, &census, house.body_bytes_max)?;
    Reader { house, archived, clock, prices, done: Reread::default() }.run(only, show)
}

struct Reader<'a> {
    house: House,
    archived: Archived<'a>,
    clock: Arc<dyn Clock>,
    prices: Planner,
    done: Reread,
}

impl Reader<'_> {
    fn run(mut self, only: Option<&str>, show: &mut dyn FnMut(&Reread)) -> Result<Reread, Failure> {
        let known = self.known()?;
        // Of one site there is little to continue, and its place is none of the whole.
        let place = match only {
            None => self.house.frontier.regather_place()?,
            Some(_) => None,
        };
        self.done.continued = place.is_some();
        let (mut place, mut shown) = (place.unwrap_or_default(), self.clock.now());
        loop {
            let pages = self.house.frontier.to_regather(place, only, TOGETHER)?;
            let Some(last) = pages.last() else { break };
            place = last.place;
            self.read_all(pages, only.is_none().then_some(place))?;
            if self.clock.now().since(shown) >= SHOWN_EVERY {
                show(&self.done);
                shown = self.clock.now();
            }
        }
        if only.is_none() {
            self.house.frontier.regather_done(self.clock.now())?;
        }
        self.house.links.sync()?;
        self.done.new_pages = self.known()?.saturating_sub(known);
        Ok(self.done)
    }

    /// With those that are still to be judged.
    fn known(&mut self) -> Result<u64, StoreError> {
        let counts = self.house.frontier.counts()?;
        Ok(counts.pages_known + counts.candidates)
    }

    /// All of these in one transaction, with the place that is reached with them.
    fn read_all(
        &mut self,
        pages: Vec<ToRegather>,
        place: Option<RegatherPlace>,
    ) -> Result<(), StoreError> {
        let mut by_site: BTreeMap<SiteKey, Vec<Fingerprint>> = BTreeMap::new();
        for page in pages {
            by_site.entry(page.site).or_default().push(page.fp);
        }
        self.house.frontier.begin_together()?;
        let mut read = Vec::new();
        for (site, pages) in by_site {
            self.read_site(&site, pages, &mut read)?;
        }
        let now = self.clock.now();
        self.house.frontier.regathered(&read, place, now)?;
        self.house.links.sync()?;
        self.house.frontier.commit_together()
    }

    fn read_site(
        &mut self,
        site: &SiteKey,
        pages: Vec<Fingerprint>,
        read: &mut Vec<Regathered>,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let only = Some(vec![site.clone()]);
        let asked = CheckOut { only, ..CheckOut::at(now, "regather") };
        let Some(lease) = self.house.frontier.check_out(&asked)?.pop() else {
            self.done.out += pages.len() as u64;
            return Ok(());
        };
        let refill = Refill {
            site: lease.site.id,
            fence: lease.fence,
            now,
            pages_max: pages.len(),
            again: None,
            paused: Vec::new(),
            except: Vec::new(),
            only: pages,
        };
        let release = Release::NotBefore(lease.until.minus(limits::LEASE));
        let (id, key) = (lease.site.id, lease.site.key.clone());
        let mut settlement = Settlement {
            now,
            deltas: vec![SiteDelta::empty(id, key, lease.fence, release)],
            ..Settlement::default()
        };
        for page in self.house.frontier.refill(&refill)? {
            self.read_page(page, &lease, &mut settlement, read)?;
        }
        settlement.links = Some(self.house.links.position());
        self.house.frontier.check_in(&settlement)
    }

    fn read_page(
        &mut self,
        page: Page,
        lease: &SiteLease,
        settlement: &mut Settlement,
        read: &mut Vec<Regathered>,
    ) -> Result<(), StoreError> {
        let Some(last) = page.last.clone() else { return Ok(()) };
        // What crashed the parser is not read, and what is known of it stays.
        let is_quarantined = self.house.stage.spiders.quarantine.refuses(&page.url).is_some();
        let exchange = if is_quarantined { None } else { self.exchange(&last)? };
        let Some(exchange) = exchange else {
            self.done.unreadable += 1;
            return Ok(());
        };
        let Some(report) = self.report(page, &last, &exchange, lease) else { return Ok(()) };
        let (Some(facts), Some(visit)) = (&report.update.facts, &report.update.visit) else {
            return Ok(());
        };
        let changed = visit.text_hash != last.text_hash;
        self.done.pages += 1;
        self.done.changed += u64::from(changed);
        let fp = report.page.url.fingerprint();
        if !report.links.is_empty() {
            self.house.links.append(fp, lease.site.id, last.visited, &report.links)?;
        }
        read.push(Regathered {
            site: lease.site.id,
            fp,
            facts: facts.clone(),
            content_hash: visit.content_hash,
            text_hash: visit.text_hash,
            simhash: visit.simhash,
            changed,
        });
        let notice = report.notice;
        let found = report.internal.into_iter().chain(report.external).chain(report.requisites);
        settlement.candidates.extend(found.chain(notice.notices).chain(notice.pages));
        Ok(())
    }

    /// The answer that the version at hand is from, also where its payload was archived with another page.
    fn exchange(&self, last: &LastVersion) -> Result<Option<Exchange>, StoreError> {
        let Some(record) = last.record else { return Ok(None) };
        match self.archived.exchange(record) {
            // More came than was archived: what was read of it then is more than can be read now.
            Ok(exchange) if exchange.stopped.is_some() => Ok(None),
            Ok(exchange) => Ok(Some(exchange)),
            Err(Error::Store { source }) if !matches!(source, StoreError::Corrupt { .. }) => {
                Err(source)
            }
            Err(_) => Ok(None),
        }
    }

    /// As if it had never been read.
    fn report(
        &self,
        page: Page,
        last: &LastVersion,
        exchange: &Exchange,
        lease: &SiteLease,
    ) -> Option<PageReport> {
        let stage = &self.house.stage;
        let after = after_visit(Ok(exchange.status), page.failures, self.clock.now()).page;
        let stake = stage.spiders.of(page.spider).stake_of(&page);
        let price = self.prices.price(stake.purse);
        let stakes = Stakes { stake, price, site: lease.site.habit.clone() };
        let filed = Filed {
            location: last.record?,
            record_id: RecordId(0),
            digest: last.payload_digest,
            seen: Seen::New,
            revisit: false,
            lost: false,
        };
        let page = Page { last: None, ..page };
        let bench = Bench::new(BENCH);
        let read = stage.read(&bench, exchange, page, &filed, after, &stakes);
        stage.watch.end(&bench);
        read.map(|(report, _)| report)
    }
}
