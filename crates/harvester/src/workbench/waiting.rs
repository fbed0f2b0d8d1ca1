//! Waiting: where a site stands while it has nothing to do, and who wakes it.

use std::net::IpAddr;

use model::{SiteClock, SiteKey, Timestamp};

use super::{
    Reason, Workbench,
    account::{Account, Entry},
    bench::{Host, Name, Who},
    lines::Line,
    pace::Pace,
    seat::{Seat, Want},
};

impl Workbench {
    /// After an event that may give the site something to do, unless it is already where it belongs.
    pub(super) fn stir(&mut self, site: &SiteKey, now: Timestamp) {
        let soonest = self.moment_of(site).unwrap_or(now).clamp(now, now.plus(self.options.far));
        let Some(seat) = self.seats.get(site) else { return };
        let placed = seat.scheduled.is_some_and(|(at, _)| at <= soonest)
            || seat.in_line.is_some()
            || seat.waits_for.is_some();
        if placed {
            self.recount(site);
        } else {
            self.reschedule(site, now);
        }
    }

    /// Puts the site where it waits.
    pub(super) fn reschedule(&mut self, site: &SiteKey, now: Timestamp) {
        self.unschedule(site);
        self.recount(site);
        self.refresh(site);
        let queue_max = self.options.site_queue_max;
        let Some(seat) = self.seats.get_mut(site) else { return };
        let (quiet, want) = (seat.is_quiet(), seat.want(now, &*self.gate, queue_max));
        let held = matches!(want, Want::Later(_)) && seat.is_unreachable(now);
        let (host, not_before) = match want {
            Want::Exclude { .. } | Want::Bar { .. } => (None, now),
            Want::Robots { url, .. } => (Some(url.site()), now),
            Want::Page { .. } | Want::Entry { .. } => (Some(site.clone()), now),
            Want::Later(at) => (Some(site.clone()), at),
            Want::Wait(lines) => return self.wait_for_account(site, lines),
            Want::Shut(entry) => return self.drain(site, quiet, why_shut(&entry)),
            Want::Refill => return self.drain(site, quiet, Reason::NeedsRefill),
            Want::TurnOver => return self.drain(site, quiet, Reason::TurnOver),
            Want::Tomorrow(at) => {
                self.schedule(site, at);
                return self.drain(site, quiet, Reason::NotBefore(at));
            }
            Want::Nothing => return self.drain(site, quiet, Reason::Done),
            Want::Event => return,
        };
        let Some(host) = host else { return self.schedule(site, now) };
        match self.moment_of(&host) {
            Some(moment) => {
                let at = moment.max(not_before);
                self.schedule(site, self.no_later_than_its_turn(site, at, now));
                if held {
                    self.drain(site, quiet, Reason::RobotsUnreachable(at));
                } else if at > now.plus(self.options.far) {
                    self.drain(site, quiet, Reason::NotBefore(at));
                }
            }
            None => {
                self.host(&host).waiting.push(site.clone());
                if let Some(seat) = self.seats.get_mut(site) {
                    seat.waits_for = Some(host);
                }
            }
        }
    }

    /// `None`: only an event will tell.
    pub(super) fn moment_of(&mut self, host: &SiteKey) -> Option<Timestamp> {
        let host = self.host(host);
        let free = host.in_flight < host.connections && !matches!(host.name, Name::Resolving);
        free.then(|| host.moment())
    }

    pub(super) fn schedule(&mut self, site: &SiteKey, at: Timestamp) {
        let number = self.number();
        if let Some(seat) = self.seats.get_mut(site) {
            seat.scheduled = Some((at, number));
            self.ready.insert((at, number, Who::Site(site.clone())));
        }
    }

    pub(super) fn unschedule(&mut self, site: &SiteKey) {
        self.drained.remove(site);
        self.leave_lines(site);
        let Some(seat) = self.seats.get_mut(site) else { return };
        let baton = seat.baton.take();
        if let Some((at, number)) = seat.scheduled.take() {
            self.ready.remove(&(at, number, Who::Site(site.clone())));
        }
        if let Some((address, number)) = seat.in_line.take() {
            self.addresses.leave(address, number, site);
        }
        if let Some(host) = seat.waits_for.take()
            && let Some(host) = self.hosts.get_mut(&host)
        {
            host.waiting.retain(|waiting| waiting != site);
        }
        if let Some(line) = baton {
            self.pass_on(line);
        }
    }

    pub(super) fn drain(&mut self, site: &SiteKey, quiet: bool, reason: Reason) {
        if quiet {
            self.drained.insert(site.clone(), reason);
        }
    }

    /// Visits under way hold what it would need: it stands in line, but not past what has its own moment.
    fn wait_for_account(&mut self, site: &SiteKey, lines: Vec<Line>) {
        self.stand_in(site, lines);
        let Some(seat) = self.seats.get(site) else { return };
        let moments = [seat.frontier.later(), seat.turn_ends()];
        if let Some(at) = moments.into_iter().flatten().min() {
            self.schedule(site, at);
        }
    }

    /// A site is looked at when its turn is over, not only when it may be visited again.
    fn no_later_than_its_turn(&self, site: &SiteKey, at: Timestamp, now: Timestamp) -> Timestamp {
        let ends = self.seats.get(site).and_then(Seat::turn_ends);
        ends.map_or(at, |ends| at.min(ends.max(now)))
    }

    /// Everybody who waited for this host looks again.
    pub(super) fn wake(&mut self, host: &SiteKey, now: Timestamp) {
        let Some(entry) = self.hosts.get_mut(host) else { return };
        for site in std::mem::take(&mut entry.waiting) {
            if let Some(seat) = self.seats.get_mut(&site) {
                seat.waits_for = None;
                self.reschedule(&site, now);
            }
        }
    }

    /// A visit of the host arrived at `arrived`: who stands in line at its addresses may have to wait longer, or less.
    pub(super) fn answered_at(&mut self, host: &SiteKey, addresses: &[IpAddr], arrived: Timestamp) {
        let pause = self.options.address_pause();
        for address in addresses {
            if self.addresses.answered(host, *address, pause, arrived) {
                self.watch(*address);
            }
        }
    }

    pub(super) fn watch(&mut self, address: IpAddr) {
        if let Some(free) = self.addresses.watch(address) {
            let number = self.number();
            self.ready.insert((free, number, Who::Address(address)));
        }
    }

    /// Looks at accounts and lanes: who may visit now, and what the site's spiders ask of its clock.
    pub(super) fn refresh(&mut self, site: &SiteKey) {
        let Some(seat) = self.seats.get_mut(site) else { return };
        let Some(host) = self.hosts.get_mut(site) else { return };
        for lane in seat.frontier.lanes_mut() {
            let whose = (lane.spider, &seat.domain);
            lane.access = self.books.access(whose, &lane.terms, &host.account, &self.options);
        }
        host.gap = seat.gap(&self.options).unwrap_or(host.gap);
        host.connections = seat.connections().unwrap_or(host.connections);
    }

    pub(super) fn recount(&mut self, site: &SiteKey) {
        if let Some(seat) = self.seats.get_mut(site) {
            let pages = seat.frontier.len();
            self.pages_in_hand = self.pages_in_hand - seat.counted + pages;
            seat.counted = pages;
        }
    }

    pub(super) fn host(&mut self, site: &SiteKey) -> &mut Host {
        // A lookup first: nearly every call finds it, and an entry would need its own key.
        if !self.hosts.contains_key(site) {
            self.hosts.insert(
                site.clone(),
                Host {
                    pace: Pace::default(),
                    gap: self.options.pause,
                    connections: self.options.connections,
                    in_flight: 0,
                    yields_until: Timestamp::ZERO,
                    account: Account::default(),
                    name: Name::Unknown,
                    waiting: Vec::new(),
                },
            );
        }
        self.hosts.get_mut(site).expect("it was just inserted if absent")
    }

    pub(super) fn clock_of(&mut self, site: &SiteKey, now: Timestamp) -> SiteClock {
        let host = self.host(site);
        host.pace.stored(host.gap, now)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Forgets clocks of hosts not in hand whose moment has passed, and addresses that bind nobody. Done
    /// when there are twice as many as sites, so that its cost per site is constant.
    pub(super) fn prune(&mut self, now: Timestamp) {
        const SLACK: usize = 1024;
        let bound = 2 * self.seats.len() + SLACK;
        if self.hosts.len() > bound {
            let seats = &self.seats;
            self.hosts.retain(|key, host| {
                seats.contains_key(key)
                    || host.in_flight > 0
                    || !host.waiting.is_empty()
                    || matches!(host.name, Name::Resolving)
                    || host.moment() > now
            });
        }
        if self.addresses.len() > bound {
            self.addresses.prune(now);
        }
    }
}

fn why_shut(entry: &Entry) -> Reason {
    match entry {
        Entry::Paused => Reason::Paused,
        Entry::Spent => Reason::Spent,
        Entry::Full | Entry::Wait(_) | Entry::Open => Reason::Limit,
    }
}
