//! `MemoryFrontier`: the Global Frontier in maps, for the policy laboratory. It lives as long as its process
//! and does what the one on SQLite does, in about a microsecond a page instead of fifty.
//!
//! - Sites not in hand are noted under the moment each of their two queues is due; the notes are put right
//!   with every change, so nothing is lent in vain.
//! - A settlement is looked at as a whole before anything of it happens.
//!
//! Spiders are not kept here: one that was paused or removed in a store stays with its store.

mod site;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Bound,
    time::Duration,
};

use model::{
    Candidate, CheckOut, Counts, Fingerprint, Frontier, Milestone, NextDue, Page, Refill, Release,
    Settlement, Site, SiteDelta, SiteHabit, SiteId, SiteKey, SiteLease, Spent, SpiderId,
    StoreError, Timestamp,
};

use self::site::{DAY, Lot, MemorySite, Turn, Wish};

#[derive(Default)]
pub struct MemoryFrontier {
    /// The site numbered n is at n - 1.
    sites: Vec<MemorySite>,
    by_key: HashMap<SiteKey, usize>,
    /// Sites not in hand, by when a page of each queue is due.
    due: [BTreeSet<(Timestamp, usize)>; 2],
    /// Sites in hand, by when their lease ends.
    leases: BTreeSet<(Timestamp, usize)>,
    /// By the last check-out.
    asleep: Vec<SpiderId>,
    domains: HashMap<String, Spent>,
    counts: Counts,
}

/// The order in which sites are lent for one of their queues.
#[derive(Clone, Copy)]
struct Queue {
    turn: Turn,
    until: Timestamp,
    /// Sites that asked to be left alone beyond it are.
    now: Timestamp,
    /// Only sites that a seed names.
    seeded: bool,
}

impl MemoryFrontier {
    pub fn new() -> MemoryFrontier {
        MemoryFrontier::default()
    }

    fn site_of(&mut self, key: SiteKey) -> usize {
        if let Some(at) = self.by_key.get(&key) {
            return *at;
        }
        let at = self.sites.len();
        self.sites.push(MemorySite::new(SiteId(at as i64 + 1), key.clone()));
        self.by_key.insert(key, at);
        self.counts.sites_known += 1;
        at
    }

    fn at(&self, id: SiteId) -> Option<usize> {
        let at = usize::try_from(id.0.checked_sub(1)?).ok()?;
        (at < self.sites.len()).then_some(at)
    }

    /// The site is noted where its pages and its own state say.
    fn note(&mut self, at: usize) {
        let site = &mut self.sites[at];
        let free = site.leased.is_none() && !site.resting;
        for turn in [Turn::First, Turn::Again] {
            let due = free.then(|| site.earliest(turn, &self.asleep)).flatten();
            let due = due.map(|due| due.max(site.not_before));
            let noted = std::mem::replace(&mut site.noted[turn as usize], due);
            if noted == due {
                continue;
            }
            if let Some(old) = noted {
                self.due[turn as usize].remove(&(old, at));
            }
            if let Some(new) = due {
                self.due[turn as usize].insert((new, at));
            }
        }
    }

    fn take(&mut self, candidates: &[Candidate], now: Timestamp) -> u64 {
        let mut new = 0;
        for found in candidates {
            let at = self.site_of(found.url.site());
            let site = &mut self.sites[at];
            let (is_new, awake) = site.meet(found, &mut self.counts, now);
            new += u64::from(is_new);
            if awake {
                site.stirred |= site.leased.is_some();
                site.resting &= site.leased.is_some();
            }
            self.note(at);
        }
        new
    }

    /// Spiders asked to sleep; the sites of those that no longer do are due again.
    fn sleep(&mut self, asked: &[SpiderId]) {
        if self.asleep == asked {
            return;
        }
        self.asleep = asked.to_vec();
        for at in 0..self.sites.len() {
            self.note(at);
        }
    }

    /// Lends for one queue, those due earliest first.
    fn lend_due(
        &mut self,
        request: &CheckOut,
        queue: Queue,
        again_left: &mut Option<usize>,
        lent: &mut Vec<SiteLease>,
    ) {
        let mut after = None;
        while lent.len() < request.sites_max
            && !(queue.turn == Turn::Again && *again_left == Some(0))
            && let Some((due, at)) = self.next_site(queue, after)
        {
            after = Some((due, at));
            let for_again = queue.turn == Turn::Again;
            let wish = Wish {
                asleep: &self.asleep,
                unpaid: Some(&request.unpaid),
                pages_max: request.pages_max,
                firsts: request.firsts.then_some(request.now),
                again: (*again_left != Some(0)).then_some(match for_again {
                    true => queue.until,
                    false => request.again_by(),
                }),
                again_max: *again_left,
                for_again,
                requisites_only: false,
            };
            let lot = self.sites[at].lot(&wish, &HashSet::new());
            let again = lot.pages.len() - lot.firsts;
            if (if for_again { again } else { lot.firsts }) == 0 {
                // All that is due of it is of spiders that cannot pay.
                continue;
            }
            *again_left = again_left.map(|left| left - again);
            lent.push(self.lease(request, at, lot));
        }
    }

    /// The next one behind this.
    fn next_site(
        &self,
        queue: Queue,
        after: Option<(Timestamp, usize)>,
    ) -> Option<(Timestamp, usize)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.due[queue.turn as usize]
            .range((from, Bound::Unbounded))
            .take_while(|(due, _)| *due <= queue.until)
            .filter(|(_, at)| self.sites[*at].not_before <= queue.now)
            .find(|(_, at)| !queue.seeded || self.sites[*at].site.seeded)
            .copied()
    }

    /// Parts of pages alone are asked for at the end of a crawl only: every site is looked at.
    fn lend_parts(&mut self, request: &CheckOut) -> Vec<SiteLease> {
        let mut lent = Vec::new();
        for at in 0..self.sites.len() {
            let site = &self.sites[at];
            if site.leased.is_some() || site.resting || site.not_before > request.now {
                continue;
            }
            let wish = Wish {
                asleep: &self.asleep,
                unpaid: None,
                pages_max: request.pages_max,
                firsts: Some(request.now),
                again: Some(request.now),
                again_max: None,
                for_again: false,
                requisites_only: true,
            };
            let lot = site.lot(&wish, &HashSet::new());
            if !lot.pages.is_empty() && lent.len() < request.sites_max {
                lent.push(self.lease(request, at, lot));
            }
        }
        lent
    }

    fn lend_named(&mut self, request: &CheckOut, keys: &[SiteKey]) -> Vec<SiteLease> {
        let mut lent = Vec::new();
        for key in keys {
            let Some(at) = self.by_key.get(key).copied() else { continue };
            let site = &self.sites[at];
            if site.leased.is_some() {
                continue;
            }
            let due = |turn| site.earliest(turn, &self.asleep);
            let more = [due(Turn::First), due(Turn::Again)];
            let more = more.into_iter().flatten().any(|due| due <= request.now);
            lent.push(self.lease(request, at, Lot { pages: Vec::new(), firsts: 0, more }));
        }
        lent
    }

    fn lease(&mut self, request: &CheckOut, at: usize, lot: Lot) -> SiteLease {
        let until = request.now.plus(request.lease);
        let site = &mut self.sites[at];
        site.fence += 1;
        (site.leased, site.not_before) = (Some(until), Timestamp::ZERO);
        (site.resting, site.stirred) = (false, false);
        self.leases.insert((until, at));
        self.note(at);
        let site = &self.sites[at];
        let is_today = site.worked.0 == request.now.0.div_euclid(DAY);
        let small = (site.len() as u64) < request.known_max;
        SiteLease {
            site: site.site.clone(),
            fence: site.fence,
            until,
            known: (small && lot.firsts > 0).then(|| site.known()),
            pages: lot.pages,
            more: lot.more,
            domain: self.domains.get(site.site.key.domain()).copied().unwrap_or_default(),
            worked_today: if is_today { site.worked.1 } else { Duration::ZERO },
        }
    }

    /// Everything that could be wrong with a settlement, before any of it happens.
    fn examine(&self, settlement: &Settlement) -> Result<(), StoreError> {
        for delta in &settlement.deltas {
            let site = self.at(delta.site).map(|at| &self.sites[at]);
            let held = site.filter(|site| site.fence == delta.fence && site.site.key == delta.key);
            let Some(site) = held else {
                return Err(StoreError::Fenced { site: delta.key.to_string() });
            };
            for update in &delta.updates {
                let admitted = || delta.admitted.iter().any(|n| n.url.fingerprint() == update.fp);
                if !site.has(update.fp) && !admitted() {
                    let detail = format!("{} has no page {:016x}", delta.key, update.fp.0);
                    return Err(StoreError::Database { detail });
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, delta: &SiteDelta, now: Timestamp) {
        let Some(at) = self.at(delta.site) else { return };
        let site = &mut self.sites[at];
        let before = site.site.counters;
        for page in &delta.admitted {
            site.accept(page, &mut self.counts);
        }
        for update in &delta.updates {
            site.update(update, &mut self.counts);
        }
        for signal in &delta.signals {
            site.announce(signal, &mut self.counts, now);
        }
        for (parent, since) in &delta.call_children {
            site.call_children(*parent, *since, &mut self.counts, now);
        }
        site.learn(delta, now);
        let after = site.site.counters;
        if (after.fetched, after.bytes) != (before.fetched, before.bytes) {
            let spent = self.domains.entry(site.site.key.domain().to_owned()).or_default();
            spent.pages = spent.pages + after.fetched - before.fetched;
            spent.bytes = spent.bytes + after.bytes - before.bytes;
        }
        self.give_back(at, delta);
    }

    fn give_back(&mut self, at: usize, delta: &SiteDelta) {
        let site = &mut self.sites[at];
        if let Some(until) = site.leased.take() {
            self.leases.remove(&(until, at));
        }
        match delta.release {
            Release::Renew(until) => {
                (site.leased, site.not_before, site.resting) =
                    (Some(until), Timestamp::ZERO, false);
                self.leases.insert((until, at));
            }
            Release::NotBefore(moment) => {
                (site.not_before, site.resting, site.stirred) = (moment, false, false);
                site.full.clone_from(&delta.full);
            }
            Release::Rest => {
                (site.not_before, site.resting) = (Timestamp::ZERO, !site.stirred);
                site.stirred = false;
                site.full.clone_from(&delta.full);
            }
        }
        self.note(at);
    }
}

impl Frontier for MemoryFrontier {
    fn admit(&mut self, candidates: &[Candidate], now: Timestamp) -> Result<u64, StoreError> {
        Ok(self.take(candidates, now))
    }

    fn check_out(&mut self, request: &CheckOut) -> Result<Vec<SiteLease>, StoreError> {
        self.release_expired(request.now)?;
        if let Some(keys) = &request.only {
            return Ok(self.lend_named(request, keys));
        }
        self.sleep(&request.paused);
        if request.requisites_only {
            return Ok(self.lend_parts(request));
        }
        let (now, mut again_left) = (request.now, request.again_max);
        let first = Queue { turn: Turn::First, until: now, now, seeded: false };
        let again = Queue { turn: Turn::Again, until: request.again_by(), ..first };
        let mut queues = Vec::with_capacity(4);
        if request.firsts && request.seeded_first {
            queues.push(Queue { seeded: true, ..first });
        }
        if request.firsts {
            queues.push(first);
        }
        queues.push(again);
        if request.again_until.is_none() {
            queues.push(Queue { until: now.plus(request.slack), ..again });
        }
        let mut lent = Vec::new();
        for queue in queues {
            self.lend_due(request, queue, &mut again_left, &mut lent);
        }
        Ok(lent)
    }

    fn refill(&mut self, request: &Refill) -> Result<Vec<Page>, StoreError> {
        let site = self.at(request.site).map(|at| &self.sites[at]);
        let Some(site) = site.filter(|site| site.fence == request.fence) else {
            return Err(StoreError::Fenced { site: request.site.0.to_string() });
        };
        if !request.only.is_empty() {
            return Ok(request.only.iter().filter_map(|fp| site.named(*fp)).collect());
        }
        let wish = Wish {
            asleep: &request.paused,
            unpaid: None,
            pages_max: request.pages_max,
            firsts: Some(request.now),
            again: request.again,
            again_max: None,
            for_again: false,
            requisites_only: false,
        };
        let except = request.except.iter().copied().collect();
        Ok(site.lot(&wish, &except).pages)
    }

    fn check_in(&mut self, settlement: &Settlement) -> Result<(), StoreError> {
        self.examine(settlement)?;
        for delta in &settlement.deltas {
            self.settle(delta, settlement.now);
        }
        self.take(&settlement.candidates, settlement.now);
        self.counts.refused += settlement.decisions.iter().map(|d| d.count).sum::<u64>();
        Ok(())
    }

    fn release_expired(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        let mut over = 0;
        while let Some((until, at)) = self.leases.first().copied().filter(|(end, _)| *end <= now) {
            self.leases.remove(&(until, at));
            let site = &mut self.sites[at];
            site.leased = None;
            site.site.clock.interrupted = true;
            self.note(at);
            over += 1;
        }
        Ok(over)
    }

    fn next_dues(&mut self) -> Result<NextDue, StoreError> {
        let earliest = |turn: Turn| self.due[turn as usize].first().map(|(due, _)| *due);
        Ok(NextDue { first: earliest(Turn::First), again: earliest(Turn::Again) })
    }

    fn sample(
        &mut self,
        pages_max: usize,
        draw: u64,
    ) -> Result<Vec<(Page, SiteHabit)>, StoreError> {
        let sites = self.sites.iter();
        let all: Vec<(&Page, &SiteHabit)> =
            sites.flat_map(|site| site.fetched().map(|page| (page, &site.site.habit))).collect();
        let wanted = all.len().min(pages_max);
        let begin = (draw % all.len().max(1) as u64) as usize;
        // Evenly over all of them, from a place that was drawn.
        let one = |n: usize| all[(begin + n * all.len() / wanted) % all.len()];
        Ok((0..wanted).map(one).map(|(page, habit)| (page.clone(), habit.clone())).collect())
    }

    fn survey_part(
        &mut self,
        spider: SpiderId,
        from: Milestone,
        rows_max: usize,
        look: &mut dyn FnMut(&Site, &Page),
    ) -> Result<Option<Milestone>, StoreError> {
        let mut left = rows_max;
        for site in self.sites.iter().skip_while(|site| site.site.id < from.site) {
            let after = from.page.filter(|_| site.site.id == from.site);
            for page in site.pages_behind(after) {
                if page.spider == spider
                    && !page.terms.requisite
                    && (1..=5).contains(&(page.state as u8))
                {
                    look(&site.site, page);
                }
                left = left.saturating_sub(1);
                if left == 0 {
                    let page = Some(page.url.fingerprint());
                    return Ok(Some(Milestone { site: site.site.id, page }));
                }
            }
        }
        Ok(None)
    }

    fn call(
        &mut self,
        pages: &[(SiteId, Fingerprint)],
        since: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut called = 0;
        for (id, fp) in pages {
            let Some(at) = self.at(*id) else { continue };
            let site = &mut self.sites[at];
            if site.call(*fp, &mut self.counts, since, now) {
                called += 1;
                site.resting &= site.leased.is_some();
                self.note(at);
            }
        }
        Ok(called)
    }

    fn counts(&mut self) -> Result<Counts, StoreError> {
        Ok(self.counts.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryFrontier;
    use crate::frontier::suite::frontier_suite;

    frontier_suite!((MemoryFrontier::new(), ()));
}
