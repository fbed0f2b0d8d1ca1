//! Choosing: from a site whose moment has come to something to do, or to where it waits.

use std::net::IpAddr;

use model::{CrawlUrl, FetchFailure, Fingerprint, Purpose, Refusal, SiteKey, SpiderId, Timestamp};

use super::{
    Assignment, AssignmentId, Excluded, Reason, Step, Workbench,
    account::{Payer, Share},
    address,
    bench::{Errand, Flight, Name, Who},
    entrance::Entrance,
    seat::Want,
};

/// A visit that a site wants, not yet begun.
struct Chosen {
    spider: SpiderId,
    /// The page to visit, or for whose sake robots.txt is asked for.
    fp: Fingerprint,
    /// It is, or is asked for the sake of, the entry of the page's lane.
    entry: bool,
    url: CrawlUrl,
    errand: Errand,
}

impl Workbench {
    /// Looks at one site: something to do, or it is put where it waits.
    pub(super) fn step(&mut self, site: &SiteKey, now: Timestamp) -> Option<Step> {
        let seat = self.seats.get_mut(site)?;
        seat.scheduled = None;
        let baton = seat.baton.take();
        let step = self.look(site, now);
        if let Some(line) = baton
            && self.seats.get(site).is_none_or(|seat| !seat.lines.contains(&line))
        {
            self.pass_on(line);
        }
        step
    }

    fn look(&mut self, site: &SiteKey, now: Timestamp) -> Option<Step> {
        self.refresh(site);
        let queue_max = self.options.site_queue_max;
        let seat = self.seats.get_mut(site)?;
        let chosen = match seat.want(now, &*self.gate, queue_max) {
            Want::Exclude { fp, refusal } => return self.exclude(site, fp, refusal, now),
            Want::Bar { spider, refusal } => return self.bar(site, spider, refusal, now),
            Want::Robots { fp, entry, spider, origin, url, hops } => {
                Chosen { spider, fp, entry, url, errand: Errand::Robots { origin, hops } }
            }
            Want::Entry { fp, spider, url } => {
                Chosen { spider, fp, entry: true, url, errand: Errand::Login }
            }
            Want::Page { fp, spider, url } => {
                let errand = Errand::Page { fp, failures: 0 };
                Chosen { spider, fp, entry: false, url, errand }
            }
            _ => {
                self.reschedule(site, now);
                return None;
            }
        };
        let host_key = chosen.url.site();
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
                    return match chosen.entry {
                        true => self.bar(site, chosen.spider, refusal, now),
                        false => self.exclude(site, chosen.fp, refusal, now),
                    };
                }
                if self.stands_in_line(site, &host_key, &addresses, now) {
                    return None;
                }
                Some(self.start(site, host_key, chosen, addresses, now))
            }
            Name::Failed(failure) => Some(self.never_began(site, &host_key, chosen, failure, now)),
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
        let host = self.host(host);
        host.in_flight >= host.connections
            || matches!(host.name, Name::Resolving)
            || host.moment() > now
    }

    /// Joins the line of an address that is not free yet.
    pub(super) fn stands_in_line(
        &mut self,
        site: &SiteKey,
        host: &SiteKey,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> bool {
        if self.host(host).gap.is_zero() {
            return false;
        }
        let Some(occupied) = self.addresses.occupied(host, addresses, now) else { return false };
        let number = self.number();
        if self.addresses.join(occupied.address, number, site) {
            self.ready.insert((occupied.free, number, Who::Address(occupied.address)));
        }
        let far = now.plus(self.options.far);
        let expected = address::expected(&occupied, self.options.address_pause());
        if let Some(seat) = self.seats.get_mut(site) {
            seat.in_line = Some((occupied.address, number));
            if !seat.told_of_address {
                seat.waited_for = Some(occupied.address);
            }
            if expected > far && seat.is_quiet() {
                self.drained.insert(site.clone(), Reason::NotBefore(expected));
            }
        }
        true
    }

    fn start(
        &mut self,
        site: &SiteKey,
        host_key: SiteKey,
        chosen: Chosen,
        addresses: Vec<IpAddr>,
        now: Timestamp,
    ) -> Step {
        self.leave_lines(site);
        let (mut assignment, flight) = self.assign(site, chosen, &host_key, true, now);
        assignment.addresses = addresses;
        let pause = self.options.address_pause();
        if !pause.is_zero() && !self.host(&host_key).gap.is_zero() {
            self.addresses.visited(&host_key, &assignment.addresses, pause, now);
        }
        let host = self.host(&host_key);
        host.in_flight += 1;
        host.pace.started(host.gap, now);
        self.books.begin(flight.payer.spider);
        if let Some(share) = flight.share {
            self.books.reserve(&flight.payer, share);
            self.host(&host_key).account.reserve(share);
        }
        self.flights.insert(assignment.id, flight);
        self.reschedule(site, now);
        Step::Visit(Box::new(assignment))
    }

    /// Takes the page (or marks the robots.txt as under way) and writes the assignment.
    fn assign(
        &mut self,
        site: &SiteKey,
        chosen: Chosen,
        host: &SiteKey,
        begins: bool,
        now: Timestamp,
    ) -> (Assignment, Flight) {
        let id = AssignmentId(self.number());
        let seat = self.seats.get_mut(site).expect("only sites in hand are looked at");
        let mut assignment = Assignment {
            id,
            site: seat.site.clone(),
            spider: chosen.spider,
            url: chosen.url,
            purpose: Purpose::Page,
            addresses: Vec::new(),
            condition: None,
            page: None,
            wire_bytes_max: None,
        };
        let mut flight = Flight {
            site: seat.site.clone(),
            host: host.clone(),
            started: now,
            payer: Payer { spider: chosen.spider, domain: seat.domain.clone() },
            share: None,
            errand: chosen.errand,
        };
        if begins {
            seat.in_flight += 1;
            // A turn that ends before the first page would never get past a login.
            seat.turn.began |= !matches!(flight.errand, Errand::Login);
            seat.waiting_since = None;
        }
        match &mut flight.errand {
            Errand::Robots { origin, hops } => {
                seat.hunt(origin, assignment.url.clone(), *hops, begins);
                assignment.purpose = Purpose::Robots;
                assignment.condition = seat.condition_of(origin);
            }
            Errand::Login => {
                let lane = seat.frontier.lane_mut(chosen.spider);
                lane.expect("a lane wanted it").entrance = Entrance::Out;
                assignment.purpose = Purpose::Login;
            }
            Errand::Page { fp, failures } => {
                let page = seat.frontier.take(*fp).expect("the page wanted is in the queue");
                *failures = page.failures;
                if begins {
                    let lane = seat.frontier.lane(page.spider).expect("its page was just taken");
                    let pages = u64::from(page.last.is_none() && !page.terms.requisite);
                    flight.share = Some(Share { pages, bytes: lane.access.bytes });
                    assignment.wire_bytes_max = lane.access.limited.then_some(lane.access.bytes);
                    seat.frontier.open(*fp, page.spider, page.level);
                }
                // A 304 would confirm a payload that is archived under another URL only, or hide that a page
                // that was gone is back: ask for it whole.
                let last = page.last.as_ref().filter(|last| last.whole && !last.gone);
                assignment.condition = last.map(|last| last.condition.clone());
                assignment.page = Some(page);
            }
        }
        (assignment, flight)
    }

    /// The name could not be resolved: the visit is over before it began.
    fn never_began(
        &mut self,
        site: &SiteKey,
        host_key: &SiteKey,
        chosen: Chosen,
        failure: FetchFailure,
        now: Timestamp,
    ) -> Step {
        let (assignment, flight) = self.assign(site, chosen, host_key, false, now);
        let after = self.judge(&flight.errand, Err(&failure), now);
        let host = self.hosts.get_mut(host_key).expect("its name was just asked for");
        host.pace.never_began(after.site, host.gap.is_zero(), &self.options, now);
        let released = self.conclude(&flight, Err(&failure), after.page, Vec::new(), now);
        self.reschedule(site, now);
        Step::Failed(Box::new(assignment), failure, Box::new(released))
    }
}
