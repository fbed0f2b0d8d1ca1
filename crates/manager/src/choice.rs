//! The choice among the pages that a check-out brought.
//!
//! First every page is looked at: is it due at the price of the moment, and what is a visit worth now? What is
//! not due after all goes back with its new moment. Then, purse by purse, the best are kept as far as the
//! purse and the sites' allowances go; the others are dropped from the leases and stay due in the store.
//! At last the price follows how late the served pages were.

use model::{Page, PageState, PageUpdate, Site, SiteLease, Timestamp};

use crate::{
    Belief, Chosen, Planner, Policy, Stake, Value,
    days::{DAY, between, days, wait},
    drift, due, host, price,
    value::{Bound, worth_new},
};

/// A due moment is reckoned anew when the price has moved by more, in logarithms.
const PRICE_MOVED: f64 = 0.02;
/// … and when a page that is due is worth less than this part of the price, jitter allowed for: what is believed
/// of its site has changed since (announcements are trusted now), and it must not stand before others.
const OVERTAKEN: f64 = 0.7;
/// A page has reached its longest period when it is this near to it: visits come up to a tenth early.
const NEARLY_LONGEST: f64 = 0.89;
/// Pages past their longest period that have to wait for their share come back after this part of it, so
/// that they do not stand before all others.
const FORCED_LATER: f64 = 0.05;
/// Pages that wait for their site come again after a minute at the earliest.
const SPREAD_LEAST_DAYS: f64 = 1.0 / 1440.0;
/// Where first visits and others share a budget and both wait, first visits have at least and at most so much.
const DISCOVERY_SHARE: (f64, f64) = (0.1, 0.6);

/// What is to become of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Keep,
    Drop,
    Later(Timestamp, f32),
}

/// A page that may be visited now.
#[derive(Clone, Copy, Debug)]
struct Offer {
    lease: u32,
    page: u32,
    worth: f64,
    due: Timestamp,
    /// Usual time between visits, in days.
    period: f64,
    first: bool,
    forced: bool,
}

/// All that was lent, looked at.
pub struct Choice {
    /// For each lease, for each page.
    fates: Vec<Vec<Fate>>,
    /// By purse.
    offers: Vec<Vec<Offer>>,
    /// Revisits that each lease's site still allows, and how many a day.
    allowances: Vec<f64>,
    rates: Vec<f64>,
    /// Pages to be seen again that came and may be chosen; that came and may not, for it is too soon or the
    /// hour of their last visit; and that have a rule of their own.
    came: usize,
    vain: usize,
    own_rules: usize,
}

impl Choice {
    pub fn look(
        planner: &Planner,
        leases: &mut [SiteLease],
        stake: &dyn Fn(&Page) -> Stake,
        polite: &dyn Fn(&Site) -> f64,
        now: Timestamp,
    ) -> Choice {
        let mut choice = Choice {
            fates: Vec::with_capacity(leases.len()),
            offers: vec![Vec::new(); planner.accounts.len()],
            allowances: Vec::with_capacity(leases.len()),
            rates: Vec::with_capacity(leases.len()),
            came: 0,
            vain: 0,
            own_rules: 0,
        };
        for (index, lease) in leases.iter_mut().enumerate() {
            let (allowance, per_day) = if planner.options.gated {
                let per_day = planner.options.site_share * polite(&lease.site);
                (host::fill_allowance(&mut lease.site.habit, per_day, now), per_day)
            } else {
                (f64::INFINITY, f64::INFINITY)
            };
            choice.allowances.push(allowance);
            choice.rates.push(per_day);
            choice.look_at_lease(planner, index as u32, lease, stake, now);
        }
        choice
    }

    fn look_at_lease(
        &mut self,
        planner: &Planner,
        index: u32,
        lease: &SiteLease,
        stake: &dyn Fn(&Page) -> Stake,
        now: Timestamp,
    ) {
        let mut fates = vec![Fate::Keep; lease.pages.len()];
        let glance = Glance { planner, site: &lease.site, now };
        for (at, page) in lease.pages.iter().enumerate() {
            let stake = stake(page);
            let account = planner.index(stake.purse);
            let seen = glance.page(page, &stake, account);
            match (seen.first, seen.own_rule, seen.offered) {
                (true, ..) => {}
                (_, true, _) => self.own_rules += 1,
                (_, _, true) => self.came += 1,
                (_, _, false) => self.vain += 1,
            }
            fates[at] = seen.fate;
            if seen.offered {
                let offer = Offer {
                    lease: index,
                    page: at as u32,
                    worth: seen.worth,
                    due: seen.due,
                    period: seen.period,
                    first: seen.first,
                    forced: seen.forced,
                };
                self.offers[account].push(offer);
            }
        }
        self.fates.push(fates);
    }
}

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
    planner.idle = chosen.again == 0;
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

/// One look at one page.
struct Glance<'a> {
    planner: &'a Planner,
    site: &'a Site,
    now: Timestamp,
}

/// What a look showed.
struct Seen {
    fate: Fate,
    /// It is to be kept if it is among the best.
    offered: bool,
    first: bool,
    own_rule: bool,
    forced: bool,
    worth: f64,
    due: Timestamp,
    period: f64,
}

impl Glance<'_> {
    fn page(&self, page: &Page, stake: &Stake, account: usize) -> Seen {
        let account = &self.planner.accounts[account];
        let price = due::price_here(account.price, &self.site.habit);
        if is_first(page) {
            return self.first(page, stake, account.purse.is_explicit());
        }
        match (&stake.policy, page.habit.seen) {
            // Seen at a moment still to come (the clock was set back): its age is unknown, its due stands.
            (Policy::Value(value), Some(seen)) if is_settled(page) && seen <= self.now => {
                self.by_value(page, stake, value, price, seen)
            }
            (policy, _) => {
                let own_rule = !matches!(policy, Policy::Value(_));
                self.by_own_rule(page, own_rule, price, account.purse.is_explicit())
            }
        }
    }

    fn first(&self, page: &Page, stake: &Stake, shared: bool) -> Seen {
        let shared = shared && self.planner.options.gated;
        Seen {
            fate: if shared { Fate::Drop } else { Fate::Keep },
            offered: shared,
            first: true,
            own_rule: false,
            forced: false,
            worth: if shared {
                worth_new(Belief::prior(&self.site.habit), stake.importance)
            } else {
                0.0
            },
            due: page.due,
            period: 1.0,
        }
    }

    fn by_value(
        &self,
        page: &Page,
        stake: &Stake,
        value: &Value,
        price: f64,
        seen: Timestamp,
    ) -> Seen {
        let gated = self.planner.options.gated;
        let worth = due::worth(value, &page.habit, &self.site.habit, stake.importance);
        let age = between(seen, self.now);
        let now_worth = worth.at(age);
        let mut due = page.due;
        let mut bound = None;
        let overtaken = worth.heard.is_some() && due <= self.now && now_worth < OVERTAKEN * price;
        if page.habit.price > 0.0 && (overtaken || moved(price, page)) {
            let guess = Some(between(seen, page.due)).filter(|guess| *guess > 0.0);
            let period = due::period(value, &worth, price, guess);
            bound = Some(period.bound);
            due = due::due_from(value, page.url.fingerprint(), seen, period);
        }
        let is_due = due <= self.now;
        let too_soon = age < days(value.period_min) && !is_due;
        // The budget decides when it comes: not at the hour of its last visit. One pass comes when it is called.
        let same_hour = gated && drift::is_same_hour(self.now.since(seen));
        let longest = bound.map_or(now_worth < price, |bound| bound == Bound::Longest);
        Seen {
            fate: match is_due {
                true if !gated => Fate::Keep,
                false if due != page.due => Fate::Later(due, price as f32),
                _ => Fate::Drop,
            },
            // What is not due yet may fill up a purse that is not empty: it would be due soon.
            offered: gated && !too_soon && !same_hour,
            first: false,
            own_rule: false,
            forced: longest && age >= NEARLY_LONGEST * days(value.period_max),
            worth: now_worth,
            // Nobody could know before it was announced.
            due: if page.habit.signals > 0 { due.max(page.due) } else { due },
            period: between(seen, due).max(days(value.period_min)),
        }
    }

    /// The due moment was set by another rule than value (an interval, a failure, a tombstone): it stands. In a
    /// comparison the page is worth its price when it is due, and more the longer it waits.
    fn by_own_rule(&self, page: &Page, own_rule: bool, price: f64, explicit: bool) -> Seen {
        let gated = self.planner.options.gated && (explicit || !own_rule);
        let period = page.habit.seen.map_or(1.0, |seen| between(seen, page.due)).max(1e-3);
        let is_due = page.due <= self.now;
        let waited = 1.0 + between(page.due, self.now) / period;
        Seen {
            fate: if is_due && !gated { Fate::Keep } else { Fate::Drop },
            offered: is_due && gated,
            first: false,
            own_rule,
            forced: false,
            worth: price * waited * waited,
            due: page.due,
            period,
        }
    }
}

/// The due moment was reckoned with another price, or before an announcement. (A page without a price was
/// called, and is due as it stands.)
fn moved(price: f64, page: &Page) -> bool {
    let used = f64::from(page.habit.price);
    page.habit.signals > 0 || (price / used).ln().abs() > PRICE_MOVED
}

/// Whether a visit would be the first that shows the page. One that never answered is still to be seen for the
/// first time: no budget of revisits grows with it, and none would ever pay for it.
pub fn is_first(page: &Page) -> bool {
    match page.state {
        PageState::Candidate | PageState::Known => true,
        PageState::Fetched => false,
        PageState::Redirected | PageState::Failing | PageState::Gone | PageState::Excluded => {
            page.last.is_none() && page.habit.seen.is_none()
        }
    }
}

fn is_settled(page: &Page) -> bool {
    matches!(page.state, PageState::Fetched | PageState::Redirected)
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
