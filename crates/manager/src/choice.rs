//! The choice among the pages that a check-out brought.
//!
//! First every page is looked at: is it due at the price of the moment, and what is a visit worth now? What is
//! not due after all goes back with its new moment. Then the best are picked, in `pick`.

mod pick;

use model::{Page, PageState, Site, SiteLease, Timestamp};

pub use self::pick::make;
use crate::{
    Belief, Planner, Policy, Stake, Value,
    days::{between, days},
    drift, due, host,
    value::{Bound, worth_new},
};

/// A due moment is reckoned anew when the price has moved by more, in logarithms.
const PRICE_MOVED: f64 = 0.02;
/// … and when a page that is due is worth less than this part of the price, jitter allowed for: what is believed
/// of its site has changed since (announcements are trusted now), and it must not stand before others.
const OVERTAKEN: f64 = 0.7;
/// A page has reached its longest period when it is this near to it: visits come up to a tenth early.
const NEARLY_LONGEST: f64 = 0.89;

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
/// first time: no budget of revisits grows with it, and none would ever pay for it. To be elsewhere or gone is
/// an answer.
pub fn is_first(page: &Page) -> bool {
    match page.state {
        PageState::Candidate | PageState::Known => true,
        PageState::Fetched | PageState::Redirected | PageState::Gone => false,
        PageState::Failing | PageState::Excluded => {
            page.last.is_none() && page.habit.seen.is_none()
        }
    }
}

fn is_settled(page: &Page) -> bool {
    matches!(page.state, PageState::Fetched | PageState::Redirected)
}
