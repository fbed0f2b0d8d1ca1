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
use store::frontier::{BatchRow, SqliteFrontier};

use super::file::{PageLine, SiteLine};
use crate::pipeline::{
    door::Doorkeeper,
    spiders::{Spider, Spiders},
};

/// Of a site, where no policy says how many: WIRE's figure.
const SITE_PAGES: usize = 500;
/// Sites with nothing to visit that are looked at: where all is found and nothing judged, a batch is no help.
const IDLE_MAX: usize = 100_000;
/// Sites lent in one transaction.
const SITES_AT_ONCE: usize = 1_000;

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

impl Choice<'_> {
    /// Checks the sites out in the name of the batch; each comes with what is to be visited of it.
    pub fn lend(&self, frontier: &mut SqliteFrontier) -> Result<Vec<SiteLine>, StoreError> {
        let (profitable, others): (Vec<_>, Vec<_>) = self
            .spiders
            .all()
            .into_iter()
            .filter(|spider| self.spider.is_none_or(|only| only == spider.id))
            .partition(|spider| profit_of(spider).is_some());
        let mut left = self.pages_max.unwrap_or(Profit::default().batch as usize);
        let mut lines = Vec::new();
        let chosen = self.by_profit(frontier, &profitable, left)?;
        for sites in chosen.chunks(SITES_AT_ONCE) {
            let keys = sites.iter().map(|(key, _)| key.clone()).collect();
            let leases = frontier.check_out(&self.request(Some(keys), Vec::new(), left))?;
            let wanted: HashMap<&SiteKey, &Vec<Fingerprint>> =
                sites.iter().map(|(key, pages)| (key, pages)).collect();
            for lease in leases {
                let only = wanted.get(&lease.site.key).map(|pages| (*pages).clone());
                let pages = frontier.refill(&self.refill(&lease, only.unwrap_or_default()))?;
                self.take(frontier, SiteLease { pages, ..lease }, &mut left, &mut lines)?;
            }
        }
        self.due(frontier, &others, left, &mut lines)?;
        Ok(lines)
    }

    /// The best pages of these spiders, by site.
    fn by_profit(
        &self,
        frontier: &mut SqliteFrontier,
        spiders: &[Arc<Spider>],
        pages_max: usize,
    ) -> Result<Vec<(SiteKey, Vec<Fingerprint>)>, StoreError> {
        let mut keys: HashMap<SiteId, SiteKey> = HashMap::new();
        let mut by_site: BTreeMap<SiteKey, Vec<Fingerprint>> = BTreeMap::new();
        for spider in spiders {
            let Some(profit) = profit_of(spider) else { continue };
            let room = u32::try_from(pages_max).unwrap_or(u32::MAX);
            let batch = if self.pages_max.is_some() { room } else { profit.batch };
            let mut best = Batch::new(Profit { batch, ..profit }, self.now);
            frontier.survey(spider.id, &mut |site: &Site, page: &Page| {
                keys.entry(site.id).or_insert_with(|| site.key.clone());
                best.look(site, page, spider.stake_of(page).importance);
            })?;
            for (site, page) in best.chosen() {
                if let Some(key) = keys.get(&site) {
                    by_site.entry(key.clone()).or_default().push(page);
                }
            }
        }
        Ok(by_site.into_iter().collect())
    }

    /// What is due now of spiders with other policies.
    fn due(
        &self,
        frontier: &mut SqliteFrontier,
        spiders: &[Arc<Spider>],
        mut left: usize,
        lines: &mut Vec<SiteLine>,
    ) -> Result<(), StoreError> {
        let mine: HashSet<SpiderId> = spiders.iter().map(|spider| spider.id).collect();
        let all = self.spiders.all();
        let others: Vec<SpiderId> =
            all.iter().map(|spider| spider.id).filter(|id| !mine.contains(id)).collect();
        let mut idle = Vec::new();
        while left > 0 && !mine.is_empty() && idle.len() < IDLE_MAX {
            let leases = frontier.check_out(&self.request(None, others.clone(), left))?;
            if leases.is_empty() {
                break;
            }
            for lease in leases {
                // Given back only when all is lent, or it would be lent again and again.
                match left {
                    0 => idle.push(lease),
                    _ => idle.extend(self.took(lease, &mut left, lines)),
                }
            }
        }
        idle.iter().try_for_each(|lease| give_back(frontier, lease, self.now))
    }

    fn take(
        &self,
        frontier: &mut SqliteFrontier,
        lease: SiteLease,
        left: &mut usize,
        lines: &mut Vec<SiteLine>,
    ) -> Result<(), StoreError> {
        match self.took(lease, left, lines) {
            Some(lease) => give_back(frontier, &lease, self.now),
            None => Ok(()),
        }
    }

    /// Takes of the site what may be visited; the lease comes back where that is nothing.
    fn took(
        &self,
        lease: SiteLease,
        left: &mut usize,
        lines: &mut Vec<SiteLine>,
    ) -> Option<SiteLease> {
        let door = Doorkeeper(self.spiders.clone());
        // Candidates are judged at home, and what was refused is judged there again.
        let open = |page: &&Page| {
            !matches!(page.state, PageState::Candidate | PageState::Excluded)
                && door.refuses_page(page).is_none()
        };
        let pages: Vec<&Page> = lease.pages.iter().filter(open).take(*left).collect();
        if pages.is_empty() {
            return Some(lease);
        }
        *left -= pages.len();
        let name = |page: &Page| self.spiders.of(page.spider).name.clone();
        lines.push(SiteLine {
            key: lease.site.key.clone(),
            fence: lease.fence,
            pause: self.pause(&lease.site, &pages),
            clock: lease.site.clock,
            habit: lease.site.habit.clone(),
            robots: lease.site.robots.clone(),
            pages: pages.iter().map(|page| PageLine::new(page, &name(page))).collect(),
        });
        None
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

    fn request(&self, only: Option<Vec<SiteKey>>, paused: Vec<SpiderId>, left: usize) -> CheckOut {
        CheckOut {
            lease: self.lease,
            sites_max: left.min(SITES_AT_ONCE),
            pages_max: SITE_PAGES,
            paused,
            only,
            ..CheckOut::at(self.now, BatchRow::holder(self.batch))
        }
    }

    fn refill(&self, lease: &SiteLease, only: Vec<Fingerprint>) -> Refill {
        Refill {
            site: lease.site.id,
            fence: lease.fence,
            now: self.now,
            pages_max: only.len(),
            again: None,
            paused: Vec::new(),
            except: Vec::new(),
            only,
        }
    }
}

fn profit_of(spider: &Spider) -> Option<Profit> {
    match spider.returns.policies.chosen() {
        Policy::Profit(profit) => Some(profit),
        _ => None,
    }
}

fn give_back(
    frontier: &mut SqliteFrontier,
    lease: &SiteLease,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (site, key) = (lease.site.id, lease.site.key.clone());
    let release = Release::NotBefore(Timestamp::ZERO);
    let delta = SiteDelta::empty(site, key, lease.fence, release);
    frontier.check_in(&Settlement { now, deltas: vec![delta], ..Settlement::default() })
}
