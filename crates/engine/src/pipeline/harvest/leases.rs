//! Sites come into the hand and go: check-outs, refills, give-backs, and leases that are kept alive meanwhile.
//!
//! What is to be judged or fetched for the first time is asked for as soon as it is due; what is to be seen again
//! by the planner's tick, where visits are held to a budget.

use harvester::workbench::{Drained, LimitInAll, Reason};
use model::{
    CheckOut, Fingerprint, NextDue, Refill, Release, SiteKey, SiteLease, SpiderId, Timestamp,
    limits,
};

use super::Harvest;
use crate::pipeline::messages::{Order, Settle};

impl Harvest {
    pub(super) fn give_back_drained(&mut self, now: Timestamp) {
        for Drained { site, reason, .. } in self.workbench.drained() {
            let Some(held) = self.state.hand.get(&site.key) else { continue };
            if !held.is_quiet() {
                // Something of it is on its way and will stir the workbench, which then tells again.
                held.drained = Some(reason);
                continue;
            }
            self.put_down(&site.key, reason, now);
        }
    }

    pub(super) fn put_down(&mut self, site: &SiteKey, reason: Reason, now: Timestamp) {
        match reason {
            // What is held to a budget has to be chosen, and that is done at check-out.
            Reason::NeedsRefill if self.planning.holds_any_firsts() => {
                self.give_back(site, Release::NotBefore(now), now);
            }
            Reason::NeedsRefill => self.ask_for_more(site, now),
            Reason::Done | Reason::Limit | Reason::Paused | Reason::TurnOver => {
                self.give_back(site, Release::NotBefore(now), now);
            }
            // Not even what was fetched before may be visited, until the limit is another.
            Reason::Spent => self.give_back(site, Release::Rest, now),
            Reason::NotBefore(at) | Reason::RobotsUnreachable(at) => {
                self.give_back(site, Release::NotBefore(at), now);
            }
        }
    }

    pub(super) fn ask_for_more(&mut self, site: &SiteKey, now: Timestamp) {
        let except = self.workbench.pages_of(site);
        let paused = self.paused(now);
        let Some(held) = self.state.hand.get(site) else { return };
        held.refilling = true;
        let request = Refill {
            site: held.id,
            fence: held.fence,
            now,
            pages_max: limits::REFILL_PAGES,
            // What is held to a budget is asked for by the tick.
            again: (!self.planning.is_gated()).then(|| self.pass_until().unwrap_or(now)),
            paused,
            except,
            only: Vec::new(),
        };
        self.order(Order::Refill(site.clone(), request, self.clock.busy()));
    }

    /// `full`: see [`model::SiteDelta::full`].
    pub(super) fn give_back(&mut self, site: &SiteKey, release: Release, now: Timestamp) {
        let removed = self.workbench.remove(site, now);
        let Some(held) = self.state.hand.remove(site) else { return };
        tracing::debug!(%site, ?release, "site put down");
        self.spiders.stops.remove(site);
        held.keep_sessions(&self.state.sessions, now);
        self.refund_all(held.paid.values().copied());
        if !held.waiting.is_empty() {
            self.planning.stir();
        }
        self.state.logins.retain(|(other, _), _| other != site);
        let clock = removed.as_ref().map(|removed| removed.clock);
        let full = removed.map(|removed| removed.full).unwrap_or_default();
        // Where it is the spiders' own bytes that are spent, they are not lent for; others may be.
        let own = |id: &SpiderId| self.workbench.which_limit_of(*id) == Some(LimitInAll::Bytes);
        let release = match release {
            Release::Rest if full.iter().all(own) => Release::NotBefore(now),
            other => other,
        };
        let mut delta = held.farewell(clock, release, now);
        delta.full = full;
        self.settle(Settle { deltas: vec![delta], busy: self.clock.busy(), ..Settle::default() });
        self.state.check_at = Some(now);
    }

    /// Asks for the pages that somebody wants visited now: of sites in hand at once, of others with a lease for them.
    pub(super) fn fetch_called(&mut self, now: Timestamp) {
        let called = std::mem::take(&mut self.state.called);
        let (held, others): (Vec<_>, Vec<_>) =
            called.into_iter().partition(|(site, _)| self.state.hand.get(site).is_some());
        for (site, page) in held {
            self.ask_for_page(&site, page, now);
        }
        self.state.called = others;
        let room = self.plan.sites_in_hand > self.state.hand.len();
        if self.state.called.is_empty() || self.state.checking_out || !room {
            return;
        }
        self.state.calling = std::mem::take(&mut self.state.called);
        let sites = self.state.calling.iter().map(|(site, _)| site.clone()).collect();
        let request = CheckOut { only: Some(sites), ..CheckOut::at(now, &self.plan.holder) };
        self.state.checking_out = true;
        self.renew_leases(now);
        self.order(Order::CheckOut(request, self.clock.busy()));
    }

    fn ask_for_page(&mut self, site: &SiteKey, page: Fingerprint, now: Timestamp) {
        let paused = self.paused(now);
        let Some(held) = self.state.hand.get(site) else { return };
        held.refilling = true;
        let request = Refill {
            site: held.id,
            fence: held.fence,
            now,
            // There may be more: the store is asked for the others as ever.
            pages_max: 1,
            again: None,
            paused,
            except: Vec::new(),
            only: vec![page],
        };
        self.order(Order::Refill(site.clone(), request, self.clock.busy()));
    }

    pub(super) fn check_out(&mut self, now: Timestamp) {
        let room = self.plan.sites_in_hand.saturating_sub(self.state.hand.len());
        // Not for every site that goes; but once asked, until the hand is full.
        let much = room >= self.plan.sites_in_hand.div_ceil(4) || self.state.hand.is_empty();
        self.state.filling &= room > 0;
        let wanted = much || self.state.filling;
        let due = self.state.check_at.is_some_and(|at| at <= now);
        let tick = self.planning.again_at.is_some_and(|at| at <= now);
        if self.state.checking_out || room == 0 || !wanted || !(due || tick) {
            return;
        }
        if let Some(next) = self.plenty_until(now) {
            self.state.check_at = self.state.check_at.map(|at| at.max(next));
            self.planning.again_at = self.planning.again_at.map(|at| at.max(next));
            return;
        }
        let ask = self.planning.ask(now);
        if ask.again_max == Some(0) && (!due || !ask.firsts) {
            // Nothing can be paid for yet.
            self.planning.cannot_pay(now);
            self.state.check_at = due.then_some(ask.next).or(self.state.check_at);
            self.planning.again_at = Some(ask.next);
            return;
        }
        let fair = limits::PAGES_IN_HAND_MAX / self.plan.sites_in_hand.max(1);
        let request = CheckOut {
            sites_max: room.min(limits::CHECK_OUT_SITES),
            pages_max: fair.clamp(limits::CHECK_OUT_PAGES_MIN, limits::REFILL_PAGES),
            slack: ask.slack,
            firsts: ask.firsts,
            again_max: ask.again_max,
            again_until: self.pass_until(),
            known_max: limits::KNOWN_IN_MEMORY_MAX,
            paused: self.paused(now),
            unpaid: self.unpaid(),
            requisites_only: self.state.parts_only,
            seeded_first: self.plan.seeded_first,
            ..CheckOut::at(now, &self.plan.holder)
        };
        self.state.checking_out = true;
        self.state.asked = now;
        self.state.check_at = None;
        self.planning.again_at = None;
        // A check-out takes back the leases that ran out: none of ours may be among them, or the site
        // would be in hand twice.
        self.renew_leases(now);
        self.order(Order::CheckOut(request, self.clock.busy()));
    }

    /// Before a check-out all that waits is committed. Whoever has plenty in hand does not ask for that with every site
    /// that goes, or that a link leads to.
    fn plenty_until(&self, now: Timestamp) -> Option<Timestamp> {
        let plenty = self.state.hand.len() >= limits::CHECK_OUT_SITES && !self.state.filling;
        let next = self.state.asked.plus(limits::SETTLE_EVERY);
        (plenty && now < next).then_some(next)
    }

    pub(super) fn checked_out(&mut self, leases: Vec<SiteLease>, full: bool, next: NextDue) {
        let now = self.clock.now();
        self.state.checking_out = false;
        self.state.filling = full;
        tracing::trace!(sites = leases.len(), ?next, "checked out");
        let unpaid = !self.unpaid().firsts.is_empty();
        let (came, dues, firsts) = (leases.len(), earliest(&leases), firsts(&leases));
        let leases = self.choose(leases, now);
        // As many came as were asked for: there may be more. Else ask again when the next is due, or at once
        // when something was found or given back while we asked.
        // What becomes due during a single pass is for the next one.
        let again = next.again.filter(|at| self.pass_until().is_none_or(|until| *at <= until));
        let mut later = match self.planning.is_gated() {
            true => next.first,
            false => [next.first, again].into_iter().flatten().min(),
        };
        if full && !leases.is_empty() {
            later = Some(now);
        } else if leases.is_empty() && (came > 0 && self.planning.is_gated() || unpaid) {
            // What came, or was passed, stays due and cannot be paid for: it would come again and again.
            later = later.map(|at| at.max(self.planning.next_tick()));
        }
        if firsts > self::firsts(&leases) {
            // Their sites were in hand when the next due ones were read, and nobody else would wake us for them.
            later = Some(
                later.map_or(self.planning.next_tick(), |at| at.min(self.planning.next_tick())),
            );
        }
        // Those of sites that were lent a moment ago are not among the next.
        let left = dues.filter(|_| leases.len() < came);
        if self.planning.is_gated()
            && let Some(due) = [next.again, left].into_iter().flatten().min()
        {
            self.planning.wait_for(due, !leases.is_empty(), now);
        }
        self.state.check_at = [self.state.check_at, later].into_iter().flatten().min();
        self.state.next_due = next.earliest();
        for mut lease in leases {
            self.state.hand.add(&lease, now);
            self.begin_watch(&lease.site.key);
            self.note_paid(&lease);
            let site = lease.site.key.clone();
            tracing::info!(%site, pages = lease.pages.len(), "site begun");
            lease.pages = self.judge_candidates(&site, lease.pages);
            self.workbench.add(lease, now);
        }
        for (site, page) in std::mem::take(&mut self.state.calling) {
            self.ask_for_page(&site, page, now);
        }
    }

    /// A single pass visits again what was due when it began.
    pub(super) fn pass_until(&self) -> Option<Timestamp> {
        (!self.plan.forever).then_some(self.plan.pass_until.unwrap_or(self.state.started))
    }

    pub(super) fn renew_leases(&mut self, now: Timestamp) {
        let stale = self.state.hand.renew(now);
        if !stale.is_empty() {
            self.settle(Settle { deltas: stale, busy: self.clock.busy(), ..Settle::default() });
        }
    }
}

/// When the first of these pages that are to be seen again is due.
fn earliest(leases: &[SiteLease]) -> Option<Timestamp> {
    let pages = leases.iter().flat_map(|lease| &lease.pages);
    pages.filter(|page| !manager::is_first(page)).map(|page| page.due).min()
}

/// How many of these pages are to be judged or seen for the first time.
fn firsts(leases: &[SiteLease]) -> usize {
    let pages = leases.iter().flat_map(|lease| &lease.pages);
    pages.filter(|page| manager::is_first(page)).count()
}
