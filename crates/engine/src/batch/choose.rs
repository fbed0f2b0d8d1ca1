//! What goes into a batch: by profit where that is the spider's policy (WIRE's batch), else what is due now.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use harvester::workbench::Terms;
use manager::{Batch, Policy, Profit};
use model::{
    CheckOut, Fingerprint, Frontier, Gate, Page, PageState, Refill, Release, Settlement, Site,
    SiteDelta, SiteId, SiteKey, SiteLease, SpiderId, StoreError, Timestamp,
};
use store::frontier::{BatchRow, SqlFrontier};

use super::{
    file::{LINE_PAGES_MAX, PageLine, SiteLine},
    helpings::HELPING_FIRST,
};
use crate::pipeline::{
    door::Doorkeeper,
    spiders::{Spider, Spiders},
};
use config::failure::Failure;

/// Sites lent in one transaction.
const SITES_AT_ONCE: usize = 1_000;
/// Sites with nothing to visit that are looked at: where all is found and nothing judged, a batch is no help.
const IDLE_MAX: usize = 100_000;

pub struct Choice<'a> {
    pub spiders: &'a Arc<Spiders>,
    pub terms: &'a dyn Terms,
    /// Only of this one.
    pub spider: Option<SpiderId>,
    pub pages_max: Option<usize>,
    pub batch: i64,
    pub now: Timestamp,
    pub lease: Duration,
}

/// What went out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lent {
    pub sites: u64,
    pub pages: u64,
    /// Pages that would have had room, but for `revisit.batch_site_max`.
    pub over_site_max: u64,
}

/// Where sites go, as they are lent: a site may come several times, each time with other pages.
pub type Out<'a> = &'a mut dyn FnMut(&SiteLine) -> Result<(), Failure>;

impl Choice<'_> {
    /// Checks the sites out in the name of the batch; each goes out with what is to be visited of it.
    pub fn lend(&self, frontier: &mut SqlFrontier, out: Out<'_>) -> Result<Lent, Failure> {
        let (profitable, others): (Vec<_>, Vec<_>) = self
            .spiders
            .all()
            .into_iter()
            .filter(|spider| self.spider.is_none_or(|only| only == spider.id))
            .partition(|spider| profit_of(spider).is_some());
        let left = self.pages_max.unwrap_or_else(|| usual_pages(&profitable));
        let mut lending =
            Lending { choice: self, frontier, out, left, vain: 0, lent: Lent::default() };
        lending.best(&profitable)?;
        lending.due(&others)?;
        Ok(lending.lent)
    }

    /// The line of these pages of a site, as far as they may be visited and there is room.
    pub(super) fn line(&self, lease: &SiteLease, pages: &[Page], room: usize) -> SiteLine {
        let door = Doorkeeper(self.spiders.clone());
        // Candidates are judged at home, and what was refused is judged there again.
        let open = |page: &&Page| {
            !matches!(page.state, PageState::Candidate | PageState::Excluded)
                && door.refuses_page(page).is_none()
        };
        let pages: Vec<&Page> = pages.iter().filter(open).take(room).collect();
        let name = |page: &Page| self.spiders.of(page.spider).name.clone();
        SiteLine {
            key: lease.site.key.clone(),
            fence: lease.fence,
            pause: self.pause(&lease.site, &pages),
            clock: lease.site.clock,
            habit: lease.site.habit.clone(),
            robots: lease.site.robots.clone(),
            pages: pages.iter().map(|page| PageLine::new(page, &name(page))).collect(),
        }
    }

    /// The longest that any of its spiders keeps here.
    fn pause(&self, site: &Site, pages: &[&Page]) -> Duration {
        let of = |page: &&Page| {
            let terms = self.terms.of(page.spider, &site.key);
            let big = terms.pause_big.filter(|_| site.counters.known >= terms.big_site_pages);
            big.unwrap_or(terms.pause)
        };
        pages.iter().map(of).max().unwrap_or_default()
    }

    fn request(&self) -> CheckOut {
        CheckOut {
            lease: self.lease,
            sites_max: SITES_AT_ONCE,
            pages_max: HELPING_FIRST,
            ..CheckOut::at(self.now, BatchRow::holder(self.batch))
        }
    }
}

/// A batch while it is made.
pub(super) struct Lending<'a> {
    pub(super) choice: &'a Choice<'a>,
    pub(super) frontier: &'a mut SqlFrontier,
    out: Out<'a>,
    /// Pages for which there is room.
    pub(super) left: usize,
    /// Pages of further helpings that could not go.
    pub(super) vain: usize,
    lent: Lent,
}

impl Lending<'_> {
    /// The best pages of spiders whose policy that is.
    fn best(&mut self, spiders: &[Arc<Spider>]) -> Result<(), Failure> {
        for sites in self.by_profit(spiders)?.chunks(SITES_AT_ONCE) {
            let keys = sites.iter().map(|(key, _)| key.clone()).collect();
            let request = CheckOut { only: Some(keys), ..self.choice.request() };
            let wanted: HashMap<&SiteKey, &Vec<Fingerprint>> =
                sites.iter().map(|(key, pages)| (key, pages)).collect();
            for lease in self.frontier.check_out(&request)? {
                let pages = wanted.get(&lease.site.key).map_or(&[][..], |pages| pages);
                match self.named(&lease, pages)? {
                    0 => give_back(self.frontier, &lease, self.choice.now)?,
                    _ => self.lent.sites += 1,
                }
            }
        }
        Ok(())
    }

    /// Takes these pages of a site; how many is the answer.
    fn named(&mut self, lease: &SiteLease, pages: &[Fingerprint]) -> Result<usize, Failure> {
        let mut taken = 0;
        for only in pages.chunks(LINE_PAGES_MAX) {
            let request = Refill {
                site: lease.site.id,
                fence: lease.fence,
                now: self.choice.now,
                pages_max: only.len(),
                again: None,
                paused: Vec::new(),
                except: Vec::new(),
                only: only.to_vec(),
            };
            let pages = self.frontier.refill(&request)?;
            taken += self.take(lease, &pages)?;
        }
        Ok(taken)
    }

    /// The best pages of these spiders, by site.
    fn by_profit(
        &mut self,
        spiders: &[Arc<Spider>],
    ) -> Result<Vec<(SiteKey, Vec<Fingerprint>)>, StoreError> {
        let mut keys: HashMap<SiteId, SiteKey> = HashMap::new();
        let mut by_site: BTreeMap<SiteKey, Vec<Fingerprint>> = BTreeMap::new();
        for spider in spiders {
            let Some(profit) = profit_of(spider) else { continue };
            let asked = self.choice.pages_max.map(|max| u32::try_from(max).unwrap_or(u32::MAX));
            let batch = asked.unwrap_or(profit.batch);
            let mut best = Batch::new(Profit { batch, ..profit }, self.choice.now);
            self.frontier.survey(spider.id, &mut |site: &Site, page: &Page| {
                keys.entry(site.id).or_insert_with(|| site.key.clone());
                best.look(site, page, spider.stake_of(page).importance);
            })?;
            self.lent.over_site_max += best.over_site_max();
            for (site, page) in best.chosen() {
                if let Some(key) = keys.get(&site) {
                    by_site.entry(key.clone()).or_default().push(page);
                }
            }
        }
        Ok(by_site.into_iter().collect())
    }

    /// What is due now of spiders with other policies: a helping of each site, and where that is not enough, more.
    fn due(&mut self, spiders: &[Arc<Spider>]) -> Result<(), Failure> {
        let mine: HashSet<SpiderId> = spiders.iter().map(|spider| spider.id).collect();
        let all = self.choice.spiders.all();
        let paused: Vec<SpiderId> =
            all.iter().map(|spider| spider.id).filter(|id| !mine.contains(id)).collect();
        let (mut idle, mut open) = (Vec::new(), Vec::new());
        while self.left > 0 && !mine.is_empty() && idle.len() < IDLE_MAX {
            let sites_max = self.left.min(SITES_AT_ONCE);
            let request = CheckOut { sites_max, paused: paused.clone(), ..self.choice.request() };
            let leases = self.frontier.check_out(&request)?;
            if leases.is_empty() {
                break;
            }
            for lease in leases {
                let site = self.first(lease, &paused)?;
                // Given back only when all is lent, or it would be lent again and again.
                if site.taken == 0 {
                    idle.push(site.lease);
                    continue;
                }
                self.lent.sites += 1;
                if site.has_more {
                    open.push(site);
                }
            }
        }
        self.rounds(open, &paused)?;
        let now = self.choice.now;
        Ok(idle.iter().try_for_each(|lease| give_back(self.frontier, lease, now))?)
    }

    /// Takes of these pages what may be visited; how many is the answer.
    pub(super) fn take(&mut self, lease: &SiteLease, pages: &[Page]) -> Result<usize, Failure> {
        let line = self.choice.line(lease, pages, self.left);
        let taken = line.pages.len();
        if taken > 0 {
            (self.out)(&line)?;
        }
        self.left -= taken;
        self.lent.pages += taken as u64;
        Ok(taken)
    }
}

/// Where nobody says how many.
fn usual_pages(profitable: &[Arc<Spider>]) -> usize {
    let batches = profitable.iter().filter_map(|spider| profit_of(spider));
    let sum: usize = batches.map(|profit| profit.batch as usize).sum();
    sum.max(Profit::default().batch as usize)
}

fn profit_of(spider: &Spider) -> Option<Profit> {
    match spider.returns.policies.chosen() {
        Policy::Profit(profit) => Some(profit),
        _ => None,
    }
}

fn give_back(
    frontier: &mut SqlFrontier,
    lease: &SiteLease,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (site, key) = (lease.site.id, lease.site.key.clone());
    let release = Release::NotBefore(Timestamp::ZERO);
    let delta = SiteDelta::empty(site, key, lease.fence, release);
    frontier.check_in(&Settlement { now, deltas: vec![delta], ..Settlement::default() })
}
