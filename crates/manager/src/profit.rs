//! Batches by profit, as WIRE's manager makes them: the K pages whose visit adds most to the collection.
//!
//! The value of a copy is importance × Pr(fresh), of a page never visited nothing; after a visit it is the
//! importance. The profit is the difference: importance × (1 − Pr(fresh)). Left out is what was visited less
//! than `period_min` ago and what lies too deep; a site has at most `site_max` pages in a batch.
//!
//! Pr(fresh) is reckoned as WIRE's program does it, counting the first visit as a change: zero for what was
//! never fetched, did not answer last time, or changed at every visit; else exp(−λ age) with
//! λ = −N ln(1 − X/N) / S, for N visits, X of them with a change, S since the first. Where a page gives the
//! time of its last change WIRE divides by a product of two times; that cannot be a rate and is not done here.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use model::{Fingerprint, Habit, Page, PageState, Site, SiteId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    days::{DAY, between},
    drift,
    value::{IMPORTANCE_MAX, sound},
};

/// More do not fit into memory at a tenth of a kilobyte each.
const BATCH_MAX: usize = 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profit {
    /// From one batch to the next.
    pub cycle: Duration,
    /// Pages of a batch.
    pub batch: u32,
    /// Of one site.
    pub site_max: u32,
    pub period_min: Duration,
    pub depth_static: u16,
    pub depth_dynamic: u16,
}

impl Default for Profit {
    fn default() -> Profit {
        Profit {
            cycle: DAY,
            batch: 100_000,
            site_max: 500,
            period_min: DAY,
            depth_static: 15,
            depth_dynamic: 5,
        }
    }
}

impl Profit {
    /// When the batch after this one is made: not at the same hour of the day.
    pub fn next_batch(&self, made: Timestamp) -> Timestamp {
        made.plus(drift::earlier(Fingerprint(0), made, self.cycle))
    }

    fn takes(&self, page: &Page, now: Timestamp) -> bool {
        let depth = if page.url.is_dynamic() { self.depth_dynamic } else { self.depth_static };
        // Seen at a moment still to come: the clock ran ahead, and nobody knows how long ago it was.
        let is_recent = |seen| seen <= now && now.since(seen) < self.period_min;
        let recent = page.habit.seen.is_some_and(is_recent);
        // Tombstones, and what may not be visited, come back by a rule of their own.
        let open = !matches!(page.state, PageState::Gone | PageState::Excluded);
        open && !recent && page.level <= depth
    }
}

/// The best pages so far, of all that were looked at.
#[derive(Clone, Debug)]
pub struct Batch {
    profit: Profit,
    now: Timestamp,
    best: Best,
    /// The site that is being looked at: pages come site by site.
    site: Option<SiteId>,
    of_site: Best,
    /// Pages of sites that were looked at in parts, so that their limit still holds.
    taken: HashMap<SiteId, u32>,
    /// Pages that were too many of their site.
    over: u64,
}

impl Batch {
    pub fn new(profit: Profit, now: Timestamp) -> Batch {
        let room = usize::try_from(profit.batch).unwrap_or(BATCH_MAX).min(BATCH_MAX);
        let site_room = usize::try_from(profit.site_max).unwrap_or(BATCH_MAX).min(room);
        Batch {
            profit,
            now,
            best: Best::new(room),
            site: None,
            of_site: Best::new(site_room),
            taken: HashMap::new(),
            over: 0,
        }
    }

    pub fn look(&mut self, site: &Site, page: &Page, importance: f64) {
        if self.site != Some(site.id) {
            self.close_site();
            self.site = Some(site.id);
        }
        if !self.profit.takes(page, self.now) {
            return;
        }
        self.over += u64::from(self.of_site.is_full());
        let profit = sound(importance, IMPORTANCE_MAX) * (1.0 - fresh(page, self.now));
        self.of_site.offer(Offer { profit, site: site.id, fp: page.url.fingerprint() });
    }

    /// Pages looked at that would have had room, but for the limit of their site.
    pub fn over_site_max(&mut self) -> u64 {
        self.close_site();
        let room = self.best.room - self.best.heap.len();
        self.over.min(room as u64)
    }

    /// The pages of the batch, the most profitable first.
    pub fn chosen(mut self) -> Vec<(SiteId, Fingerprint)> {
        self.close_site();
        let sorted = self.best.heap.into_sorted_vec();
        sorted.into_iter().map(|offer| (offer.site, offer.fp)).collect()
    }

    fn close_site(&mut self) {
        let Some(site) = self.site.take() else { return };
        let max = self.of_site.room;
        let taken = self.taken.entry(site).or_default();
        let mut offers = std::mem::take(&mut self.of_site.heap).into_sorted_vec();
        let (all, room) = (offers.len(), max.saturating_sub(*taken as usize));
        offers.truncate(room);
        self.over += (all - offers.len()) as u64;
        *taken += offers.len() as u32;
        for offer in offers {
            self.best.offer(offer);
        }
    }
}

/// The chance that the copy at hand is what the page shows, as WIRE's program reckons it.
pub fn fresh(page: &Page, now: Timestamp) -> f64 {
    let answered = matches!(page.state, PageState::Fetched | PageState::Redirected);
    if !answered { 0.0 } else { fresh_by(&page.habit, now) }
}

fn fresh_by(habit: &Habit, now: Timestamp) -> f64 {
    let (Some(first), Some(seen)) = (habit.first, habit.seen) else { return 0.0 };
    // The first visit counts as one, and as a change.
    let visits = f64::from(habit.compared) + 1.0;
    let changes = f64::from(habit.changes.min(habit.compared)) + 1.0;
    if changes >= visits {
        return 0.0;
    }
    let span = between(first, now);
    if span <= 0.0 {
        return 1.0;
    }
    let rate = -visits * (-changes / visits).ln_1p() / span;
    (-rate * between(seen, now)).exp()
}

/// At most so many offers, the best: the heap has the least of them on top.
#[derive(Clone, Debug)]
struct Best {
    room: usize,
    heap: BinaryHeap<Offer>,
}

impl Best {
    fn new(room: usize) -> Best {
        Best { room, heap: BinaryHeap::new() }
    }

    fn is_full(&self) -> bool {
        self.heap.len() >= self.room
    }

    fn offer(&mut self, offer: Offer) {
        if !self.is_full() {
            self.heap.push(offer);
        } else if self.heap.peek().is_some_and(|least| offer < *least) {
            self.heap.pop();
            self.heap.push(offer);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Offer {
    profit: f64,
    site: SiteId,
    fp: Fingerprint,
}

impl Eq for Offer {}

/// The better offer is the lesser, so that the least profitable comes off the heap first; among equals the
/// fingerprint decides, so that a batch does not depend on the order of looking.
impl Ord for Offer {
    fn cmp(&self, other: &Offer) -> Ordering {
        let by_profit = other.profit.total_cmp(&self.profit);
        by_profit.then_with(|| (self.fp.0, self.site.0).cmp(&(other.fp.0, other.site.0)))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
