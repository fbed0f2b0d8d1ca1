//! Coming back, in the loop: what is asked of the frontier, what of it is visited now, and what visits cost.
//!
//! The planner decides; this room gives it what it has to know (budgets, prices at the start, pages known,
//! visits made) and carries out what it says. Its state is written down with the heartbeat, once a minute and
//! at the end, and taken up again by the next crawl.

use std::{collections::BTreeMap, time::Duration};

use collection::planner::{BudgetUse, PlannerSnapshot};
use manager::{Ask, Planner, PlannerOptions, Policy, PurseId, Stake};
use model::{
    Page, Release, Site, SiteDelta, SiteHabit, SiteKey, SiteLease, SpiderId, Timestamp, Unpaid,
};

use super::Harvest;
use crate::pipeline::{
    course::Budgets,
    messages::{Order, Settle},
    returning::{Decided, Stakes},
};
use config::setup::returns::COMMON;

/// A tick of the planner is never longer: prices follow the hours, not the minutes.
const TICK_MAX: Duration = Duration::from_secs(60);
/// Pages that come at a moment of their own may be asked for so often.
const OWN_RULE_EVERY: Duration = Duration::from_secs(1);
/// How often the planner's state is written down: what a crash costs is a minute's lateness.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// How often it is told anew until when visits wait for the budget: `status` shows it, and what was paid for.
const WAITS_EVERY: Duration = Duration::from_secs(2);
/// Pages from which the price to start with is reckoned.
pub const SAMPLE_PAGES: usize = 2_000;
/// Of a site without pauses (one's own): as good as no bound.
const POLITE_MAX: f64 = 1e9;
const DAY: Duration = Duration::from_secs(86_400);

pub struct Planning {
    planner: Planner,
    gated: bool,
    /// Pages of some spider come back for their value.
    by_value: bool,
    budgets: Budgets,
    /// When the planner wants to be asked again.
    next: Timestamp,
    /// When pages to be seen again were last asked for; `None`: the last check-out asked for none.
    asked: Option<Timestamp>,
    /// When pages to be seen again are to be asked for, where visits are held to a budget.
    pub(super) again_at: Option<Timestamp>,
    /// Pages to come back to when the price was last reckoned from a sample.
    sampled_at: u64,
    sampling: bool,
    /// Something was to be visited, and nothing could be paid for: when the next visit can be.
    unpaid: Option<Timestamp>,
    saved: Timestamp,
    /// It was written down that visits wait for the budget.
    saved_unpaid: Option<Timestamp>,
    /// When each spider's last batch was made.
    batches: BTreeMap<SpiderId, Timestamp>,
    spending: BTreeMap<PurseId, BudgetUse>,
}

impl Planning {
    /// `saved`: as the last crawl left it.
    pub fn new(gated: bool, saved: Option<PlannerSnapshot>, now: Timestamp) -> Planning {
        let budgets = Budgets::default();
        let mut planner = Planner::new(options(&budgets, gated), now);
        let (mut batches, mut spending) = (BTreeMap::new(), BTreeMap::new());
        if let Some(saved) = saved {
            planner.restore(&saved.planner);
            spending = saved.spending.into_iter().map(|spent| (spent.purse, spent)).collect();
            batches = saved.batches.into_iter().map(|(id, at)| (SpiderId(id), at)).collect();
        }
        Planning {
            planner,
            gated,
            by_value: true,
            budgets,
            next: now,
            asked: None,
            again_at: None,
            sampled_at: 0,
            sampling: false,
            unpaid: None,
            saved: now,
            saved_unpaid: None,
            batches,
            spending,
        }
    }

    /// Other budgets; what was learned stays. `by_value`: pages of some spider come back for their value.
    pub fn set_budgets(&mut self, budgets: Budgets, by_value: bool, now: Timestamp) {
        self.by_value = by_value;
        if self.budgets == budgets {
            return;
        }
        let PlannerOptions { purses, site_share, .. } = options(&budgets, self.gated);
        self.planner.set_purses(purses, site_share, now);
        self.budgets = budgets;
    }

    /// What is to be asked of the frontier now.
    pub fn ask(&mut self, now: Timestamp) -> Ask {
        let mut ask = self.planner.ask(now);
        (self.next, self.asked) = (ask.next, (ask.again_max != Some(0)).then_some(now));
        if !self.by_value {
            // Pages with a rule of their own come at their moment.
            ask.slack = Duration::ZERO;
        }
        ask
    }

    /// A site is given back of which pages wait for their payment.
    pub fn stir(&mut self) {
        self.planner.stir();
    }

    /// Whether visits are held to a budget.
    pub fn is_gated(&self) -> bool {
        self.gated
    }

    /// Whether first visits of this purse are held to a budget too: where somebody has set one.
    pub fn holds_firsts(&self, purse: PurseId) -> bool {
        let mut purses = self.budgets.purses.iter();
        self.gated && purses.any(|(id, budget)| *id == purse && budget.is_explicit())
    }

    pub fn holds_any_firsts(&self) -> bool {
        self.gated && self.budgets.purses.iter().any(|(_, budget)| budget.is_explicit())
    }

    /// Of these spiders with their purses, those that cannot pay.
    fn unpaid(&self, spiders: impl Iterator<Item = (SpiderId, PurseId)> + Clone) -> Unpaid {
        let of = |first: bool| {
            let poor = spiders.clone().filter(|(_, purse)| !self.planner.can_pay(*purse, first));
            poor.map(|(spider, _)| spider).collect()
        };
        Unpaid { firsts: of(true), again: of(false) }
    }

    /// The planner's next tick.
    pub fn next_tick(&self) -> Timestamp {
        self.next
    }

    /// There are pages to be seen again, the next of them due at `due`. They are asked for by the tick, due or not,
    /// for where too little is due the price has to fall; but those that have a rule of their own at their
    /// moment, or nearly. `kept`: some of what came is visited now.
    pub fn wait_for(&mut self, due: Timestamp, kept: bool, now: Timestamp) {
        let own = self.own_rule_at(due, kept, now);
        self.again_at = match (self.by_value, self.planner.has_own_rules()) {
            (true, false) => Some(self.next),
            (true, true) => Some(own.min(self.next)),
            // Nobody's price has to follow what is due.
            (false, _) => Some(own),
        };
    }

    /// When to ask for pages with a rule of their own. What was due when they were last asked for, and did not
    /// come or was left, could not be paid for or found no room; what became due while the answer was on its
    /// way is only late.
    fn own_rule_at(&self, due: Timestamp, kept: bool, now: Timestamp) -> Timestamp {
        let soon = now.plus(OWN_RULE_EVERY);
        match self.asked.is_some_and(|asked| due <= asked) {
            false => due.max(soon),
            // There may be more of it. If it is the purse that is empty, the next ask ends before the store.
            true if kept && !self.by_value => soon,
            true => self.planner.pays_at(now).map_or(self.next, |at| at.min(self.next)).max(soon),
        }
    }

    pub fn price(&self, purse: PurseId) -> f64 {
        self.planner.price(purse)
    }

    /// Visits a day that the purse pays for.
    pub fn rate(&self, purse: PurseId) -> f64 {
        self.planner.rate(purse)
    }

    pub fn spent(&mut self, purse: PurseId, first: bool, bytes: u64, now: Timestamp) {
        self.planner.spent(purse, first, bytes, now);
        let day_ms = DAY.as_millis() as i64;
        let day = Timestamp(now.0.div_euclid(day_ms) * day_ms);
        let spending = self.spending.entry(purse).or_default();
        if spending.day != day {
            *spending = BudgetUse { purse, day, held: spending.held, ..BudgetUse::default() };
        }
        spending.firsts += u64::from(first);
        spending.revisits += u64::from(!first);
        spending.bytes += bytes;
    }

    fn save(&self) -> PlannerSnapshot {
        let priced = |spending: &BudgetUse| BudgetUse {
            rate: self.rate(spending.purse),
            price: self.planner.price(spending.purse),
            held: if self.gated { self.holds(spending.purse) } else { spending.held },
            ..*spending
        };
        PlannerSnapshot {
            planner: self.planner.save(),
            spending: self.spending.values().map(priced).collect(),
            batches: self.batches.iter().map(|(id, at)| (id.0, *at)).collect(),
            waits: None,
        }
    }

    /// Whether visits of this purse are held to its budget: where somebody has set one, or some go by value.
    fn holds(&self, purse: PurseId) -> bool {
        self.holds_firsts(purse) || (self.gated && self.by_value)
    }

    /// Nothing can be paid for, and something was to be visited.
    pub(super) fn cannot_pay(&mut self, now: Timestamp) {
        self.unpaid = self.planner.pays_at(now);
    }
}

fn options(budgets: &Budgets, gated: bool) -> PlannerOptions {
    let mut purses = budgets.purses.clone();
    if purses.is_empty() {
        purses.push((COMMON, manager::Budget::default()));
    }
    PlannerOptions { purses, gated, tick_max: TICK_MAX, site_share: budgets.site_share }
}

impl Harvest {
    /// The spiders whose pages are not to be asked for, because nobody would pay for them.
    pub(super) fn unpaid(&self) -> Unpaid {
        let spiders = self.spiders.all();
        self.planning.unpaid(spiders.iter().map(|spider| (spider.id, spider.returns.purse)))
    }

    /// What decides about a page that is visited now.
    pub(super) fn stakes(&mut self, page: &Page) -> Stakes {
        let stake = self.spiders.of(page.spider).stake_of(page);
        let price = self.planning.price(stake.purse);
        let held = self.state.hand.get(&page.url.site());
        let site = held.map(|held| held.habit.clone()).unwrap_or_default();
        Stakes { stake, price, site }
    }

    /// A visit to a page was made.
    pub(super) fn pay(&mut self, page: &Page, bytes: u64, now: Timestamp) {
        let purse = self.spiders.of(page.spider).returns.purse;
        self.planning.spent(purse, manager::is_first(page), bytes, now);
        if let Some(held) = self.state.hand.get(&page.url.site()) {
            held.paid.remove(&page.url.fingerprint());
        }
    }

    /// Another visit to the page, at once, because of what the last one showed. It is paid for like any other.
    pub(super) fn visit_once_more(&mut self, site: &SiteKey, page: Page, now: Timestamp) {
        let stake = self.spiders.of(page.spider).stake_of(&page);
        if self.planning.planner.charges(&page, &stake)
            && let Some(held) = self.state.hand.get(site)
        {
            held.paid.insert(page.url.fingerprint(), stake.purse);
            self.planning.planner.charge(stake.purse, 1);
        }
        self.workbench.retry(site, page, now);
    }

    /// A page that was paid for is not visited after all.
    pub(super) fn refund(&mut self, page: &Page) {
        let held = self.state.hand.get(&page.url.site());
        if let Some(purse) = held.and_then(|held| held.paid.remove(&page.url.fingerprint())) {
            self.planning.planner.unspent(purse, 1);
        }
    }

    /// The site goes: what was paid for and not visited is due still.
    pub(super) fn refund_all(&mut self, paid: impl Iterator<Item = PurseId>) {
        paid.for_each(|purse| self.planning.planner.unspent(purse, 1));
    }

    /// Notes which of these pages were paid for when they were chosen.
    pub(super) fn note_paid(&mut self, lease: &SiteLease) {
        let Some(held) = self.state.hand.get(&lease.site.key) else { return };
        for page in &lease.pages {
            let stake = self.spiders.of(page.spider).stake_of(page);
            if self.planning.planner.charges(page, &stake) {
                held.paid.insert(page.url.fingerprint(), stake.purse);
            }
        }
    }

    /// What the visit shows of the site as a whole, and of the pages that go along with this one.
    pub(super) fn learn(
        &mut self,
        page: &Page,
        decided: Decided,
        delta: &mut SiteDelta,
        now: Timestamp,
    ) {
        if let Some(held) = self.state.hand.get(&delta.key) {
            manager::learn(&mut held.habit, &page.habit, decided.sight, now);
            delta.habit = Some(held.habit.clone());
        }
        if decided.call_children {
            // Pages link to each other: whoever was visited in this turn is not called again.
            let turn = self.spiders.of(page.spider).turn_of(page);
            delta.call_children.push((page.url.fingerprint(), now.minus(turn)));
        }
    }

    /// Leaves in the leases what is to be visited now. What is not due after all is written down; sites of which
    /// nothing is left are given back at once, and not asked for before the planner's next tick.
    pub(super) fn choose(&mut self, mut leases: Vec<SiteLease>, now: Timestamp) -> Vec<SiteLease> {
        let before: Vec<SiteHabit> = leases.iter().map(|lease| lease.site.habit.clone()).collect();
        let spiders = &self.spiders;
        let stake = |page: &Page| -> Stake { spiders.of(page.spider).stake_of(page) };
        let (workbench, all) = (&self.workbench, self.spiders.all());
        let polite = |site: &Site| {
            let ids = all.iter().map(|spider| spider.id);
            workbench.visits_a_day(site, ids).min(POLITE_MAX)
        };
        let chosen = self.planning.planner.choose(&mut leases, &stake, &polite, now);
        self.planning.unpaid = None;
        if chosen.left > 0 && chosen.firsts + chosen.again == 0 && self.planning.gated {
            self.planning.cannot_pay(now);
        }
        let mut updates: Vec<Vec<_>> = leases.iter().map(|_| Vec::new()).collect();
        for (lease, update) in chosen.later {
            updates[lease].push(update);
        }
        let mut kept = Vec::with_capacity(leases.len());
        let mut deltas = Vec::new();
        for ((lease, updates), before) in leases.into_iter().zip(updates).zip(before) {
            // More of it would have to be chosen, where first visits are held: that is done at check-out.
            let refills = lease.more && !self.planning.holds_any_firsts();
            let called = self.state.calling.iter().any(|(site, _)| *site == lease.site.key);
            let stays = !lease.pages.is_empty() || refills || called;
            let release = match stays {
                true => Release::Renew(lease.until),
                false => Release::NotBefore(now),
            };
            let (site, key) = (lease.site.id, lease.site.key.clone());
            let habit = (lease.site.habit != before).then(|| lease.site.habit.clone());
            if !stays || !updates.is_empty() || habit.is_some() {
                let delta = SiteDelta::empty(site, key, lease.fence, release);
                deltas.push(SiteDelta { updates, habit, ..delta });
            }
            if stays {
                kept.push(lease);
            }
        }
        if !deltas.is_empty() {
            self.settle(Settle { deltas, busy: self.clock.busy(), ..Settle::default() });
        }
        kept
    }

    /// So many pages are to be come back to. When they have become twice as many since the price was reckoned
    /// from a sample, it is reckoned anew: what was true of the first hundred is not of a million.
    pub(super) fn count_known(&mut self) {
        let counts = &self.state.counts;
        let known = counts.pages_known.saturating_sub(counts.pages_waiting);
        let mut elsewhere = 0;
        for row in &self.state.rows {
            let own = PurseId(row.id.0);
            let purses = &self.planning.budgets.purses;
            if own != COMMON && purses.iter().any(|(purse, _)| *purse == own) {
                self.planning.planner.known(own, row.counts.known);
                elsewhere += row.counts.known;
            }
        }
        self.planning.planner.known(COMMON, known.saturating_sub(elsewhere));
        let grown = known > 0 && known >= 2 * self.planning.sampled_at;
        // Or the budget is not spent: the price would take days to fall to where it is.
        let idle = known > 0 && self.planning.planner.is_idle(self.clock.now());
        if (grown || idle) && !self.planning.sampling {
            self.planning.sampling = true;
            self.planning.sampled_at = known;
            self.order(Order::Sample(SAMPLE_PAGES, self.clock.busy()));
        }
    }

    pub(super) fn sampled(&mut self, sample: &[(Page, SiteHabit)]) {
        let spiders = &self.spiders;
        let stake = |page: &Page| -> Stake { spiders.of(page.spider).stake_of(page) };
        self.planning.sampling = false;
        let now = self.clock.now();
        self.planning.planner.begin(sample, &stake, now);
        if self.planning.gated && self.planning.planner.has_own_rules() {
            self.planning.again_at = Some(now);
        }
    }

    /// What is to be written down with this heartbeat, if it is time.
    pub(super) fn planner_state(&mut self, last: bool, now: Timestamp) -> Option<String> {
        let waits = self.waits_for_budget().filter(|_| !last);
        let before = self.planning.saved_unpaid;
        let every = match (before, waits) {
            (Some(_), None) | (None, Some(_)) => Duration::ZERO,
            (Some(told), Some(at)) if told != at => WAITS_EVERY,
            _ => SAVE_EVERY,
        };
        if !last && now.since(self.planning.saved) < every {
            return None;
        }
        self.planning.saved = now;
        self.planning.saved_unpaid = waits;
        serde_json::to_string(&PlannerSnapshot { waits, ..self.planning.save() }).ok()
    }

    /// Nothing is under way because nothing can be paid for: when the next visit can be.
    pub(super) fn waits_for_budget(&self) -> Option<Timestamp> {
        let idle = self.state.in_flight == 0 && self.workbench.pages_in_hand() == 0;
        self.planning.unpaid.filter(|_| idle && self.may_begin())
    }

    /// Has a batch made for each spider that goes by batches and whose last one is about a cycle old.
    pub(super) fn make_batches(&mut self, now: Timestamp) {
        for spider in self.spiders.all() {
            let Policy::Profit(profit) = spider.returns.policies.chosen() else { continue };
            let last = self.planning.batches.get(&spider.id);
            // One that was made in a time to come was made by a clock that ran ahead.
            if last.is_some_and(|last| *last <= now && now < profit.next_batch(*last)) {
                continue;
            }
            self.planning.batches.insert(spider.id, now);
            self.state.batching += 1;
            self.order(Order::Batch(spider.id, profit, self.clock.busy()));
        }
    }

    /// When the next batch is to be made.
    pub(super) fn next_batch(&self) -> Option<Timestamp> {
        let due = |spider: std::sync::Arc<crate::pipeline::spiders::Spider>| {
            let Policy::Profit(profit) = spider.returns.policies.chosen() else { return None };
            let last = self.planning.batches.get(&spider.id)?;
            Some(profit.next_batch(*last))
        };
        self.spiders.all().into_iter().filter_map(due).min()
    }
}
