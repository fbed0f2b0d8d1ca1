//! The planner of a crawl: what may be visited now, at what price, and which of the pages that are due.
//!
//! A state machine without a clock. Each tick: [`Planner::ask`] says how much to check out (twice what can be
//! paid for, so that there is a choice), [`Planner::choose`] keeps the best of it and moves the price, and
//! [`Planner::spent`] hears of each visit. `run` and the laboratory drive the very same planner.
//!
//! Held to their budget are pages that come back for their value. Pages with a rule of their own (an interval,
//! a frequency, a batch) come when that says, unless somebody has set a budget: then all share it.

use std::time::Duration;

use model::{Page, PageUpdate, Site, SiteHabit, SiteLease, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Belief, Budget, Policy, PurseId, Value,
    choice::{self, Choice},
    days::{DAY, HOUR, days, wait},
    due,
    price::{self, PRICE_MIN, Sampled},
    purse::{Bucket, DEFAULT_PERIOD_DAYS, Purse},
    value::Worth,
};

/// Check-outs bring so many times what can be paid for.
const CHOICE_FACTOR: usize = 2;
/// Where little can be paid for, the choice is among so many all the same.
const CHOICE_LEAST: usize = 64;
/// A tick is never shorter: more often there is nothing new to see.
const TICK_MIN: Duration = Duration::from_secs(1);
/// How far ahead of time pages may be fetched when there is too little to do. It adapts: too little came, and
/// it grows; enough came, and it shrinks.
const SLACK_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
const SLACK_START: Duration = DAY;
const SLACK_GROWS: f64 = 1.5;
const SLACK_SHRINKS: f64 = 0.7;
/// Pages past their longest period come first, with this part of the budget.
pub const FORCED_SHARE: f64 = 0.02;
/// Where some pages have rules of their own, a check-out has room for so many of them …
const OWN_RULE_ROOM: usize = 64;
/// … and never for more.
const OWN_RULE_ROOM_MAX: usize = 10_000;
/// Room for pages that may come in vain: some hundred milliseconds' worth.
const VAIN_ROOM_MAX: usize = 10_000;
/// The importance of a usual page (two links from the entry), for a price before any page is known.
const IMPORTANCE_USUAL: f64 = 1.0 / 3.0;
/// A price that was kept is no longer good when the budget is by this factor another.
const BUDGET_MOVED: f64 = 1.5;

/// A purse of which half or more is left after a choice, for so long, has a price that is too high. (Shorter
/// spells are the hours of pages' last visits, at which none is chosen.)
const IDLE_PART: f64 = 0.5;
const IDLE_AFTER: Duration = Duration::from_secs(6 * 3600);
/// Where that was not the reason, it is asked for again after twice the time, and at last once in this.
const IDLE_AFTER_MAX: Duration = Duration::from_secs(7 * 86_400);
/// A price that was reckoned anew is another when it differs by more, in logarithms.
const SAME_PRICE: f64 = 0.1;

/// What decides about a page besides its habit: given by whoever knows spiders and overrides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stake {
    pub policy: Policy,
    pub importance: f64,
    pub purse: PurseId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlannerOptions {
    /// The common purse is there in any case.
    pub purses: Vec<(PurseId, Budget)>,
    /// Hold revisits to their budget (`run`); else all that is due at the price is visited (one pass).
    pub gated: bool,
    /// The longest time between two choices.
    pub tick_max: Duration,
    /// The part of what a site's clock allows that revisits may take.
    pub site_share: f64,
}

impl Default for PlannerOptions {
    fn default() -> PlannerOptions {
        PlannerOptions {
            purses: Vec::new(),
            gated: true,
            tick_max: Duration::from_secs(60),
            site_share: 0.1,
        }
    }
}

/// What to check out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Lend for what is to be judged or fetched for the first time.
    pub firsts: bool,
    /// At most so many pages to be seen again; `None`: all that are due.
    pub again_max: Option<usize>,
    /// What is due within this time may come along.
    pub slack: Duration,
    /// When to ask again, at the latest.
    pub next: Timestamp,
}

/// What became of the pages that were lent.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Not due after all, by the number of the lease: to be written when it is settled.
    pub later: Vec<(usize, PageUpdate)>,
    /// Pages kept for a first visit and for another.
    pub firsts: usize,
    pub again: usize,
    /// Due, but not worth more than those kept: they stay due.
    pub left: usize,
    /// Pages past their longest period, among those kept.
    pub forced: usize,
}

pub struct Planner {
    pub(crate) options: PlannerOptions,
    pub(crate) accounts: Vec<Account>,
    pub(crate) slack: Duration,
    /// Room in check-outs for pages with rules of their own; none was met yet: zero.
    pub(crate) own_rule_room: usize,
    /// Pages of the last check-out that were not due after all, or had to wait for their site.
    pub(crate) vain: usize,
    /// The last choice kept nothing that is held to a budget.
    pub(crate) idle: bool,
}

/// A purse with its price.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub id: PurseId,
    pub purse: Purse,
    pub price: f64,
    /// The rate for which the price was reckoned; zero: it was not.
    pub priced_for: f64,
    /// When the price was last moved.
    pub moved: Timestamp,
    /// Visits that pages past their longest period may take.
    pub forced: Bucket,
    /// Since when much is left after every choice, and how long that may be so.
    pub idle_since: Option<Timestamp>,
    pub idle_after: Duration,
    /// First visits lately, and visits in all, where they share a budget.
    pub firsts: f64,
    pub visits: f64,
}

/// What outlives the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannerState {
    pub purses: Vec<PurseState>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurseState {
    pub id: PurseId,
    pub price: f64,
    pub priced_for: f64,
    pub bytes_mean: f64,
}

impl Planner {
    pub fn new(options: PlannerOptions, now: Timestamp) -> Planner {
        let mut accounts = vec![Account::new(PurseId::COMMON, Budget::default(), now)];
        for (id, budget) in &options.purses {
            let account = Account::new(*id, *budget, now);
            match accounts.iter_mut().find(|known| known.id == *id) {
                Some(known) => *known = account,
                None => accounts.push(account),
            }
        }
        let slack = options.tick_max.max(SLACK_START);
        Planner { options, accounts, slack, own_rule_room: 0, vain: 0, idle: false }
    }

    /// Goes on where an earlier process ended; what is no sound number is left out.
    pub fn restore(&mut self, state: &PlannerState) {
        for kept in &state.purses {
            let Some(account) = self.accounts.iter_mut().find(|a| a.id == kept.id) else {
                continue;
            };
            if kept.price.is_finite() && kept.price > 0.0 && kept.priced_for > 0.0 {
                account.price = kept.price.clamp(PRICE_MIN, due::PRICE_MAX);
                account.priced_for = kept.priced_for;
            }
            account.purse.set_bytes_mean(kept.bytes_mean);
        }
    }

    pub fn save(&self) -> PlannerState {
        let kept = |account: &Account| PurseState {
            id: account.id,
            price: account.price,
            priced_for: account.priced_for,
            bytes_mean: account.purse.bytes_mean(),
        };
        PlannerState { purses: self.accounts.iter().map(kept).collect() }
    }

    /// Other budgets, from now on. What was learned stays, and what is left in purses that stay.
    pub fn set_purses(&mut self, purses: Vec<(PurseId, Budget)>, site_share: f64, now: Timestamp) {
        self.options = PlannerOptions { purses, site_share, ..self.options.clone() };
        let mut next = Planner::new(self.options.clone(), now);
        for account in &mut next.accounts {
            if let Some(before) = self.accounts.iter().find(|before| before.id == account.id) {
                let budget = account.purse.budget();
                *account = before.clone();
                account.purse.set_budget(budget);
            }
        }
        self.accounts = next.accounts;
    }

    /// How many pages there are to come back to: the default budget follows.
    pub fn known(&mut self, purse: PurseId, pages: u64) {
        self.account_mut(purse).purse.know(pages);
    }

    /// A purse has been full for so long that its price is to be reckoned anew, with [`Planner::begin`].
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.options.gated && self.accounts.iter().any(|account| account.is_idle(now))
    }

    /// Finds the price to start with, from a sample of all pages. A price that was restored is kept where it
    /// followed the crawl and the budget is still the same, unless that is not spent.
    pub fn begin(
        &mut self,
        sample: &[(Page, SiteHabit)],
        stake: &dyn Fn(&Page) -> Stake,
        now: Timestamp,
    ) {
        let stakes: Vec<Stake> = sample.iter().map(|(page, _)| stake(page)).collect();
        if stakes.iter().any(|stake| !matches!(stake.policy, Policy::Value(_))) {
            self.own_rule_room = self.own_rule_room.max(OWN_RULE_ROOM);
        }
        let gated = self.options.gated;
        for account in &mut self.accounts {
            account.moved = now;
            let idle = account.is_idle(now);
            if gated && account.price_is_good() && !idle {
                continue;
            }
            let id = account.id;
            let mine = || sample.iter().zip(&stakes).filter(move |(_, stake)| stake.purse == id);
            let pages: Vec<Sampled> =
                mine().filter_map(|((page, site), stake)| sampled(page, site, stake)).collect();
            let before = account.price;
            account.start_price(&pages, mine().count());
            if idle {
                account.wake(before);
            }
        }
    }

    pub fn ask(&mut self, now: Timestamp) -> Ask {
        self.fill(now);
        if !self.options.gated {
            let next = now.plus(self.options.tick_max);
            return Ask { firsts: true, again_max: None, slack: Duration::ZERO, next };
        }
        let capacity: usize = self.accounts.iter().map(|a| a.purse.capacity()).sum();
        let open = |a: &Account| !a.purse.is_explicit() || a.purse.capacity() > 0;
        let until = self.accounts.iter().map(|a| a.purse.until_one()).fold(f64::INFINITY, f64::min);
        let choice = choice(capacity);
        let own_rules = if self.accounts.iter().any(open) { self.own_rule_room } else { 0 };
        // Where many came in vain, more of their kind stand before the others.
        let vain = if capacity > 0 { (2 * self.vain).min(VAIN_ROOM_MAX) } else { 0 };
        let tick_max = self.options.tick_max.max(TICK_MIN);
        let wait = if self.idle { tick_max } else { wait(until).clamp(TICK_MIN, tick_max) };
        Ask {
            firsts: self.accounts.iter().any(open),
            again_max: Some(choice.saturating_add(own_rules).saturating_add(vain)),
            slack: self.slack,
            next: now.plus(wait),
        }
    }

    /// Something was found that waits for its payment: it is asked for as soon as one visit can be paid.
    pub fn stir(&mut self) {
        self.idle = false;
    }

    /// Whether the purse could pay for pages of this sort, if they came. Where some go by a rule of their own and
    /// no budget is set, these need no payment.
    pub fn can_pay(&self, purse: PurseId, first: bool) -> bool {
        let purse = &self.account(purse).purse;
        let free = first || self.own_rule_room > 0;
        !self.options.gated || purse.capacity() > 0 || !purse.is_explicit() && free
    }

    /// Leaves in the leases the pages to visit now. Budgets and allowances are charged for them at once;
    /// what is then not visited is given back with [`Planner::unspent`]. The habits of the leases' sites are
    /// moved on and have to be written.
    pub fn choose(
        &mut self,
        leases: &mut [SiteLease],
        stake: &dyn Fn(&Page) -> Stake,
        polite: &dyn Fn(&Site) -> f64,
        now: Timestamp,
    ) -> Chosen {
        self.fill(now);
        let choice = Choice::look(self, leases, stake, polite, now);
        choice::make(self, choice, leases, now)
    }

    /// Whether the choice charges for a visit to this page, if it keeps it.
    pub fn charges(&self, page: &Page, stake: &Stake) -> bool {
        let shared = self.account(stake.purse).purse.is_explicit();
        let by_value = matches!(stake.policy, Policy::Value(_)) && !choice::is_first(page);
        self.options.gated && (shared || by_value)
    }

    /// A visit took place.
    pub fn spent(&mut self, purse: PurseId, first: bool, bytes: u64, now: Timestamp) {
        let tick_max = self.options.tick_max;
        let account = self.account_mut(purse);
        account.fill(now, tick_max);
        account.purse.weigh(bytes);
        account.count(first);
    }

    /// Visits that nobody chose, and that take place all the same.
    pub fn charge(&mut self, purse: PurseId, visits: usize) {
        self.account_mut(purse).purse.pay(visits as f64);
    }

    /// Visits that were chosen and did not take place.
    pub fn unspent(&mut self, purse: PurseId, visits: usize) {
        self.account_mut(purse).purse.pay(-(visits as f64));
    }

    /// When the next visit can be paid for by a purse that has nothing left for one; `None`: each has something.
    pub fn pays_at(&self, now: Timestamp) -> Option<Timestamp> {
        let empty = |account: &&Account| {
            let purse = &account.purse;
            purse.capacity() == 0 && (purse.is_explicit() || purse.known() > 0)
        };
        let empty = self.accounts.iter().filter(empty).map(|account| account.purse.until_one());
        let soonest = empty.fold(f64::INFINITY, f64::min);
        soonest.is_finite().then(|| now.plus(wait(soonest)))
    }

    /// Pages were met that come by a rule of their own, at their moment and not by the tick.
    pub fn has_own_rules(&self) -> bool {
        self.own_rule_room > 0
    }

    pub fn price(&self, purse: PurseId) -> f64 {
        self.account(purse).price
    }

    /// Visits a day that the purse pays for.
    pub fn rate(&self, purse: PurseId) -> f64 {
        self.account(purse).purse.rate()
    }

    pub(crate) fn account(&self, id: PurseId) -> &Account {
        &self.accounts[self.index(id)]
    }

    pub(crate) fn account_mut(&mut self, id: PurseId) -> &mut Account {
        let index = self.index(id);
        &mut self.accounts[index]
    }

    /// A purse that nobody named is the common one, which is always there and comes first.
    pub(crate) fn index(&self, id: PurseId) -> usize {
        self.accounts.iter().position(|account| account.id == id).unwrap_or(0)
    }

    /// So many pages were wanted and so many came.
    pub(crate) fn move_slack(&mut self, wanted: usize, came: usize) {
        let slack = self.slack.max(self.options.tick_max);
        let factor = if came < wanted { SLACK_GROWS } else { SLACK_SHRINKS };
        self.slack = slack
            .mul_f64(factor)
            .clamp(self.options.tick_max, SLACK_MAX.max(self.options.tick_max));
    }

    pub(crate) fn met_own_rules(&mut self, pages: usize) {
        if pages > 0 {
            self.own_rule_room = (2 * pages).clamp(OWN_RULE_ROOM, OWN_RULE_ROOM_MAX);
        }
    }

    fn fill(&mut self, now: Timestamp) {
        for account in &mut self.accounts {
            account.fill(now, self.options.tick_max);
        }
    }
}

impl Account {
    fn new(id: PurseId, budget: Budget, now: Timestamp) -> Account {
        Account {
            id,
            purse: Purse::new(budget, now),
            price: usual_price(DEFAULT_PERIOD_DAYS),
            priced_for: 0.0,
            moved: now,
            forced: Bucket::new(now),
            idle_since: None,
            idle_after: IDLE_AFTER,
            firsts: 0.0,
            visits: 0.0,
        }
    }

    fn fill(&mut self, now: Timestamp, tick_max: Duration) {
        self.purse.fill(now, tick_max);
        let carry = days(tick_max.max(HOUR));
        self.forced.fill(FORCED_SHARE * self.purse.rate(), carry, 1.0, now);
    }

    /// Notes how much is left after a choice.
    pub fn rest(&mut self, now: Timestamp) {
        let full = self.purse.fullness() >= IDLE_PART;
        let since = self.idle_since.filter(|since| *since <= now).unwrap_or(now);
        self.idle_since = full.then_some(since);
    }

    fn is_idle(&self, now: Timestamp) -> bool {
        self.idle_since.is_some_and(|since| now.since(since) >= self.idle_after)
    }

    /// The price was reckoned anew because the purse stayed full: it is never dearer for that.
    fn wake(&mut self, before: f64) {
        let lower = (before / self.price).ln();
        self.idle_after = match lower > SAME_PRICE {
            true => IDLE_AFTER,
            false => (2 * self.idle_after).min(IDLE_AFTER_MAX),
        };
        self.price = self.price.min(before);
        self.idle_since = None;
    }

    fn price_is_good(&self) -> bool {
        let moved = self.purse.rate() / self.priced_for;
        self.priced_for > 0.0 && moved < BUDGET_MOVED && moved > 1.0 / BUDGET_MOVED
    }

    /// `all` counts the pages of the sample that draw on this purse, by whatever policy.
    fn start_price(&mut self, pages: &[Sampled], all: usize) {
        let rate = self.purse.rate();
        let known = self.purse.known().max(all as u64).max(1) as f64;
        let rate = if rate > 0.0 { rate } else { known / DEFAULT_PERIOD_DAYS };
        let share = pages.len() as f64 / all.max(1) as f64;
        let visits_per_page = rate / (known * share).max(1.0);
        self.price = price::start(pages, visits_per_page)
            .unwrap_or_else(|| usual_price(1.0 / visits_per_page.max(1e-6)));
        self.priced_for = rate;
    }

    /// First visits and others are remembered for about a thousand visits.
    fn count(&mut self, first: bool) {
        self.visits += 1.0;
        self.firsts += f64::from(u8::from(first));
        if self.visits > 1000.0 {
            self.visits /= 2.0;
            self.firsts /= 2.0;
        }
    }
}

/// How many pages to look at, to visit so many.
fn choice(capacity: usize) -> usize {
    match capacity {
        0 => 0,
        visits => visits.saturating_mul(CHOICE_FACTOR).max(CHOICE_LEAST),
    }
}

fn sampled(page: &Page, site: &SiteHabit, stake: &Stake) -> Option<Sampled> {
    let Policy::Value(value) = stake.policy else { return None };
    let worth = Worth { heard: None, ..due::worth(&value, &page.habit, site, stake.importance) };
    Some(Sampled { worth, min: days(value.period_min), max: days(value.period_max) })
}

/// The price at which a usual page has this period, before any page is known.
fn usual_price(period_days: f64) -> f64 {
    let value = Value::default();
    let worth = Worth {
        belief: Belief::prior(&SiteHabit::default()),
        importance: IMPORTANCE_USUAL,
        objective: value.objective,
        heard: None,
    };
    worth.at(period_days.clamp(days(HOUR), days(90 * DAY))).max(PRICE_MIN)
}

#[cfg(test)]
mod tests;
