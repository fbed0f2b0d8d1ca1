//! Choosing: from a site whose moment has come to something to do, or to where it waits.

use std::net::IpAddr;

use model::{CrawlUrl, FetchFailure, Fingerprint, Purpose, Refusal, SiteKey, Timestamp};

use super::{
    Assignment, AssignmentId, Excluded, Reason, Step, Workbench, address,
    bench::{Errand, Flight, Name, Who},
    seat::Want,
};

impl Workbench {
    /// Looks at one site: something to do, or it is put where it waits.
    pub(super) fn step(&mut self, site: &SiteKey, now: Timestamp) -> Option<Step> {
        let slot = self.slot_free(site);
        let seat = self.seats.get_mut(site)?;
        seat.scheduled = None;
        let (url, fp, errand) = match seat.want(slot, now, &*self.gate) {
            Want::Exclude { fp, refusal } => return self.exclude(site, fp, refusal, now),
            Want::Robots { fp, origin, url, hops } => (url, fp, Errand::Robots { origin, hops }),
            Want::Page { fp, url } => (url, fp, Errand::Page { fp, reserved: false, failures: 0 }),
            Want::Event | Want::Refill | Want::NoSlot | Want::Later(_) | Want::Nothing => {
                self.reschedule(site, now);
                return None;
            }
        };
        let host_key = url.site();
        if self.must_wait(&host_key, now) {
            self.reschedule(site, now);
            return None;
        }
        let host = self.host(&host_key);
        match std::mem::replace(&mut host.name, Name::Unknown) {
            Name::Resolved(resolution) if resolution.expires > now => {
                let addresses = resolution.addresses.clone();
                host.name = Name::Resolved(resolution);
                if let Some(refusal) = self.refuses_all(&addresses) {
                    return self.exclude(site, fp, refusal, now);
                }
                if self.stands_in_line(site, &host_key, &addresses, now) {
                    return None;
                }
                Some(self.start(site, host_key, url, errand, addresses, now))
            }
            Name::Failed(failure) => {
                Some(self.never_began(site, &host_key, url, errand, failure, now))
            }
            Name::Unknown | Name::Resolved(_) | Name::Resolving => {
                host.name = Name::Resolving;
                self.reschedule(site, now);
                Some(Step::Resolve(host_key))
            }
        }
    }

    /// None of these addresses may be connected to: the first refusal speaks for all.
    fn refuses_all(&self, addresses: &[IpAddr]) -> Option<Refusal> {
        let mut refusals = addresses.iter().map(|address| self.gate.refuses_address(*address));
        let first = refusals.next()??;
        refusals.all(|refusal| refusal.is_some()).then_some(first)
    }

    pub(super) fn next_in_line(&mut self, address: IpAddr, now: Timestamp) -> Option<Step> {
        let site = self.addresses.next(address, now);
        let step = site.and_then(|site| {
            self.seats.get_mut(&site)?.in_line = None;
            self.step(&site, now)
        });
        self.watch(address);
        step
    }

    pub(super) fn exclude(
        &mut self,
        site: &SiteKey,
        fp: Fingerprint,
        refusal: Refusal,
        now: Timestamp,
    ) -> Option<Step> {
        let seat = self.seats.get_mut(site)?;
        let page = seat.frontier.take(fp)?;
        let excluded = Excluded { site: seat.site.clone(), page, refusal };
        self.reschedule(site, now);
        Some(Step::Exclude(Box::new(excluded)))
    }

    /// The host's clock or its other visits forbid it now.
    pub(super) fn must_wait(&mut self, host: &SiteKey, now: Timestamp) -> bool {
        let connections = self.options.connections;
        let host = self.host(host);
        host.in_flight >= connections
            || matches!(host.name, Name::Resolving)
            || host.pace.moment(host.gap) > now
    }

    /// Joins the line of an address that is not free yet.
    pub(super) fn stands_in_line(
        &mut self,
        site: &SiteKey,
        host: &SiteKey,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> bool {
        let Some(occupied) = self.addresses.occupied(host, addresses, now) else { return false };
        let number = self.number();
        if self.addresses.join(occupied.address, number, site) {
            self.ready.insert((occupied.free, number, Who::Address(occupied.address)));
        }
        let far = now.plus(self.options.far);
        let expected = address::expected(&occupied, self.options.address_pause());
        if let Some(seat) = self.seats.get_mut(site) {
            seat.in_line = Some((occupied.address, number));
            if expected > far && seat.is_quiet() {
                self.drained.insert(site.clone(), Reason::NotBefore(expected));
            }
        }
        true
    }

    pub(super) fn start(
        &mut self,
        site: &SiteKey,
        host_key: SiteKey,
        url: CrawlUrl,
        errand: Errand,
        addresses: Vec<IpAddr>,
        now: Timestamp,
    ) -> Step {
        let (assignment, errand) = self.assign(site, url, errand, addresses, true);
        let host = self.host(&host_key);
        host.in_flight += 1;
        host.pace.started(now);
        let free = now.plus(self.options.address_pause());
        if free > now {
            self.addresses.visited(&host_key, &assignment.addresses, free);
        }
        let flight = Flight { site: assignment.site.clone(), host: host_key, started: now, errand };
        self.flights.insert(assignment.id, flight);
        self.reschedule(site, now);
        Step::Visit(Box::new(assignment))
    }

    /// Takes the page (or marks the robots.txt as under way) and writes the assignment.
    pub(super) fn assign(
        &mut self,
        site: &SiteKey,
        url: CrawlUrl,
        errand: Errand,
        addresses: Vec<IpAddr>,
        begins: bool,
    ) -> (Assignment, Errand) {
        let id = AssignmentId(self.number());
        let seat = self.seats.get_mut(site).expect("only sites in hand are looked at");
        let mut assignment = Assignment {
            id,
            site: seat.site.clone(),
            url,
            purpose: Purpose::Page,
            addresses,
            condition: None,
            page: None,
        };
        seat.in_flight += usize::from(begins);
        match errand {
            Errand::Robots { origin, hops } => {
                seat.hunt(&origin, assignment.url.clone(), hops, begins);
                assignment.purpose = Purpose::Robots;
                assignment.condition = seat.condition_of(&origin);
                (assignment, Errand::Robots { origin, hops })
            }
            Errand::Page { fp, .. } => {
                let page = seat.frontier.take(fp).expect("the page wanted is in the queue");
                let reserved = begins && page.last.is_none() && !page.terms.requisite;
                if begins {
                    seat.frontier.open(fp, page.level);
                }
                seat.reserved += u64::from(reserved);
                self.pages_reserved += u64::from(reserved);
                let failures = page.failures;
                // A 304 would confirm a payload that is archived under another URL only: ask for it whole.
                let last = page.last.as_ref().filter(|last| last.whole);
                assignment.condition = last.map(|last| last.condition.clone());
                assignment.page = Some(page);
                (assignment, Errand::Page { fp, reserved, failures })
            }
        }
    }

    /// The name could not be resolved: the visit is over before it began.
    pub(super) fn never_began(
        &mut self,
        site: &SiteKey,
        host_key: &SiteKey,
        url: CrawlUrl,
        errand: Errand,
        failure: FetchFailure,
        now: Timestamp,
    ) -> Step {
        let (assignment, errand) = self.assign(site, url, errand, Vec::new(), false);
        let after = self.judge(&errand, Err(&failure), now);
        let flight =
            Flight { site: assignment.site.clone(), host: host_key.clone(), started: now, errand };
        let host = self.hosts.get_mut(host_key).expect("its name was just asked for");
        host.pace.never_began(after.site, &self.options, now);
        let released = self.conclude(&flight, Err(&failure), after.page, Vec::new(), now);
        self.reschedule(site, now);
        Step::Failed(Box::new(assignment), failure, Box::new(released))
    }
}
