//! Picking: of all that was looked at the best are kept, purse by purse, as far as the purse and the sites'
//! allowances go; the others are dropped from the leases and stay due in the store. The price follows how late
//! the served pages were.

use model::{Page, PageUpdate, SiteLease, Timestamp};

use super::{Choice, Fate, Offer, is_first};
use crate::{
    Chosen, Planner,
    days::{DAY, between, days, wait},
    drift, host, price,
};

/// Pages past their longest period that have to wait for their share come back after this part of it, so
/// that they do not stand before all others.
const FORCED_LATER: f64 = 0.05;
/// Pages that wait for their site come again after a minute at the earliest.
const SPREAD_LEAST_DAYS: f64 = 1.0 / 1440.0;
/// Where first visits and others share a budget and both wait, first visits have at least and at most so much.
const DISCOVERY_SHARE: (f64, f64) = (0.1, 0.6);

/// Keeps the best, charges for them, moves the prices and clears the leases.
pub fn make(
    planner: &mut Planner,
    mut choice: Choice,
    leases: &mut [SiteLease],
    now: Timestamp,
) -> Chosen {
    let mut chosen = Chosen::default();
    if planner.options.gated {
        let mut wanted = 0;
        let mut blocked = Vec::new();
        for account in 0..choice.offers.len() {
            let mut offers = std::mem::take(&mut choice.offers[account]);
            let capacity = planner.accounts[account].purse.capacity();
            wanted += 2 * capacity;
            move_price(planner, account, &mut offers, &choice.allowances, capacity, now);
            pick(planner, account, &mut offers, &mut choice, &mut chosen, now);
            planner.accounts[account].rest(now);
            blocked.extend(offers.into_iter().filter(|offer| choice.is_blocked(offer)));
        }
        choice.spread(leases, &mut blocked, now);
        let came = choice.came.saturating_sub(blocked.len());
        if wanted > 0 {
            planner.move_slack(wanted, came);
        }
        let is_later = |fate: &&Fate| matches!(fate, Fate::Later(..));
        let later = choice.fates.iter().flatten().filter(is_later).count();
        planner.vain = later.max(choice.vain);
        planner.met_own_rules(choice.own_rules);
    }
    for (index, (lease, fates)) in leases.iter_mut().zip(&choice.fates).enumerate() {
        clear(index, lease, fates, planner.options.gated, &mut chosen);
    }
    // First visits count where a budget holds them too: more of them are waiting, mostly.
    let held = planner.accounts.iter().any(|account| account.purse.is_explicit());
    planner.idle = chosen.again == 0 && !(held && chosen.firsts + chosen.left > 0);
    chosen
}

/// Writes the fates into a lease.
fn clear(index: usize, lease: &mut SiteLease, fates: &[Fate], gated: bool, chosen: &mut Chosen) {
    let mut revisits = 0;
    let mut at = 0;
    lease.pages.retain(|page| {
        let fate = fates[at];
        at += 1;
        match fate {
            Fate::Keep => {
                let first = is_first(page);
                chosen.firsts += usize::from(first);
                chosen.again += usize::from(!first);
                revisits += usize::from(!first);
            }
            Fate::Drop => chosen.left += 1,
            Fate::Later(due, price) => chosen.later.push((index, later(page, due, price))),
        }
        fate == Fate::Keep
    });
    if gated {
        host::spend_allowance(&mut lease.site.habit, revisits);
    }
}

fn later(page: &Page, due: Timestamp, price: f32) -> PageUpdate {
    let mut habit = page.habit;
    habit.price = price;
    PageUpdate {
        fp: page.url.fingerprint(),
        state: page.state,
        due: Some(due),
        failures: page.failures,
        visit: None,
        habit: Some(habit),
        children: None,
        facts: None,
    }
}

/// Follows how late the last page is that can be paid for. Sites that allow no more have a price of their own.
fn move_price(
    planner: &mut Planner,
    account: usize,
    offers: &mut [Offer],
    allowances: &[f64],
    capacity: usize,
    now: Timestamp,
) {
    let slack = planner.slack;
    let tick_max = planner.options.tick_max;
    let account = &mut planner.accounts[account];
    if capacity == 0 {
        return;
    }
    let dt = between(account.moved, now).min(2.0 * days(tick_max));
    account.moved = now;
    let mut served: Vec<(Timestamp, f64)> = offers
        .iter()
        .filter(|offer| !offer.first && !offer.forced && allowances[offer.lease as usize] >= 1.0)
        .map(|offer| (offer.due, offer.period))
        .collect();
    let (last, period) = if served.len() >= capacity {
        served.select_nth_unstable_by_key(capacity - 1, |(due, _)| *due);
        let last = served[capacity - 1].0;
        (last, median_period(&mut served[..capacity]))
    } else {
        // Not enough to do, even with what is due only soon.
        (now.plus(slack), median_period(&mut served))
    };
    let late = between(last, now) - between(now, last);
    account.price = price::steer(account.price, late, period, dt);
    account.priced_for = account.purse.rate();
}

fn median_period(served: &mut [(Timestamp, f64)]) -> f64 {
    if served.is_empty() {
        return 1.0;
    }
    let middle = served.len() / 2;
    served.select_nth_unstable_by(middle, |a, b| a.1.total_cmp(&b.1)).1.1
}

/// Keeps offers while the purse and the sites' allowances last: those past their longest period first, as far
/// as their share goes, then the best.
fn pick(
    planner: &mut Planner,
    account: usize,
    offers: &mut [Offer],
    choice: &mut Choice,
    chosen: &mut Chosen,
    now: Timestamp,
) {
    let account = &mut planner.accounts[account];
    let mut left = account.purse.capacity();
    offers
        .sort_unstable_by(|a, b| b.forced.cmp(&a.forced).then_with(|| b.worth.total_cmp(&a.worth)));
    let forced = offers.partition_point(|offer| offer.forced);
    let mut rest = Vec::with_capacity(offers.len());
    for offer in &offers[..forced] {
        if left > 0 && account.forced.left >= 1.0 && choice.keep(offer) {
            account.forced.left -= 1.0;
            account.purse.pay(1.0);
            left -= 1;
            chosen.forced += 1;
        } else {
            rest.push(*offer);
        }
    }
    // Those that found no place among the forced ones compete like all others.
    let mut ordered = rest;
    ordered.extend_from_slice(&offers[forced..]);
    ordered.sort_unstable_by(|a, b| b.worth.total_cmp(&a.worth));
    let mut lines = Lines::new(&ordered);
    while left > 0 {
        let Some(offer) = lines.next(account.firsts, account.visits) else { break };
        if choice.keep(offer) {
            account.purse.pay(1.0);
            left -= 1;
            lines.kept(offer);
        }
    }
    for offer in ordered.iter().filter(|offer| offer.forced) {
        choice.postpone(offer, now);
    }
}

impl Choice {
    /// Keeps the page if its site allows another revisit.
    fn keep(&mut self, offer: &Offer) -> bool {
        let allowance = &mut self.allowances[offer.lease as usize];
        if !offer.first && *allowance < 1.0 {
            return false;
        }
        if !offer.first {
            *allowance -= 1.0;
        }
        self.fates[offer.lease as usize][offer.page as usize] = Fate::Keep;
        true
    }

    /// A page past its longest period whose share is used up steps out of the way.
    fn postpone(&mut self, offer: &Offer, now: Timestamp) {
        let fate = &mut self.fates[offer.lease as usize][offer.page as usize];
        if *fate == Fate::Drop {
            let span = wait(offer.period * FORCED_LATER).max(DAY);
            let fp = model::Fingerprint(u64::from(offer.page) << 32 | u64::from(offer.lease));
            *fate = Fate::Later(now.plus(drift::earlier(fp, now, span)), 0.0);
        }
    }

    /// The page waits for its site's allowance.
    fn is_blocked(&self, offer: &Offer) -> bool {
        let fate = self.fates[offer.lease as usize][offer.page as usize];
        !offer.first && fate != Fate::Keep && self.allowances[offer.lease as usize] < 1.0
    }

    /// Pages that their site has no visits for come again when it has, the best first: they must not stand before
    /// the pages of others until then. And visits become dearer there, so that fewer are due.
    fn spread(&mut self, leases: &mut [SiteLease], blocked: &mut [Offer], now: Timestamp) {
        blocked.sort_unstable_by(|a, b| {
            a.lease.cmp(&b.lease).then_with(|| b.worth.total_cmp(&a.worth))
        });
        for of_site in blocked.chunk_by(|a, b| a.lease == b.lease) {
            let lease = of_site[0].lease as usize;
            let mut visits = 1.0 - self.allowances[lease];
            for offer in of_site.iter().filter(|offer| offer.due <= now) {
                let page = &leases[lease].pages[offer.page as usize];
                let most = offer.period.max(1.0);
                let days = (visits / self.rates[lease].max(1e-9)).clamp(SPREAD_LEAST_DAYS, most);
                let fate = &mut self.fates[lease][offer.page as usize];
                let price = Some(page.habit.price).filter(|price| price.is_finite());
                *fate = Fate::Later(now.plus(wait(days)), price.unwrap_or(0.0));
                visits += 1.0;
            }
        }
        let mut behind = vec![false; leases.len()];
        for offer in blocked.iter().filter(|offer| offer.due <= now) {
            behind[offer.lease as usize] = true;
        }
        for (lease, behind) in leases.iter_mut().zip(behind) {
            if lease.pages.iter().any(|page| !is_first(page)) {
                host::move_factor(&mut lease.site.habit, behind, now);
            }
        }
    }
}

/// First visits and others, each in the order of their worth, and whose turn it is.
struct Lines<'a> {
    offers: &'a [Offer],
    first: usize,
    again: usize,
    kept_firsts: f64,
    kept: f64,
}

impl<'a> Lines<'a> {
    fn new(offers: &'a [Offer]) -> Lines<'a> {
        Lines { offers, first: 0, again: 0, kept_firsts: 0.0, kept: 0.0 }
    }

    /// The better of both, unless the share of first visits is out of its bounds.
    fn next(&mut self, firsts: f64, visits: f64) -> Option<&'a Offer> {
        let offers = self.offers;
        while offers.get(self.first).is_some_and(|offer| !offer.first) {
            self.first += 1;
        }
        while offers.get(self.again).is_some_and(|offer| offer.first) {
            self.again += 1;
        }
        let (first, again) = (offers.get(self.first), offers.get(self.again));
        let share = (firsts + self.kept_firsts) / (visits + self.kept).max(1.0);
        let (least, most) = DISCOVERY_SHARE;
        let take_first = match (first, again) {
            (None, None) => return None,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(_), Some(_)) if share < least => true,
            (Some(_), Some(_)) if share > most => false,
            (Some(first), Some(again)) => first.worth > again.worth,
        };
        if take_first {
            self.first += 1;
            first
        } else {
            self.again += 1;
            again
        }
    }

    fn kept(&mut self, offer: &Offer) {
        self.kept += 1.0;
        self.kept_firsts += f64::from(u8::from(offer.first));
    }
}
