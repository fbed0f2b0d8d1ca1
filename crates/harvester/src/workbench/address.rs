//! Addresses shared by several sites have a pause of their own; who must wait stands in line here.
//!
//! The pause lies between visits of *different* sites: those of one site are already apart by its clock. It is
//! measured from when a request arrived (`lateness.rs`), which is known with its answer: until that comes, the next
//! site waits up to twice the pause. So a visit that was slow to begin brings no two requests together.
//! Every address a name resolves to counts, because nobody knows which one the connection will take.

use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
    time::Duration,
};

use model::{SiteKey, Timestamp};

/// Names with more addresses than this are spread over a farm; the first few stand for all.
const ADDRESSES_MAX: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Addresses {
    lines: HashMap<IpAddr, Line>,
}

#[derive(Debug)]
struct Line {
    /// From when on another site than `last` may be visited here, …
    free: Timestamp,
    last: SiteKey,
    /// … or, while it has not been answered, this much later.
    unanswered: Option<Duration>,
    /// Sites that may be visited but for this address, in order of arrival.
    waiting: BTreeSet<(u64, SiteKey)>,
    /// When the workbench will look at the line. A look at another moment was made for an earlier state of it.
    watched: Option<Timestamp>,
}

/// An address that is not yet free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupied {
    pub address: IpAddr,
    pub free: Timestamp,
    pub waiting: usize,
}

impl Addresses {
    pub fn occupied(
        &self,
        site: &SiteKey,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> Option<Occupied> {
        let lines = addresses.iter().take(ADDRESSES_MAX);
        let held = lines.filter_map(|address| Some((*address, self.lines.get(address)?)));
        held.filter(|(_, line)| line.last != *site && line.until() > now)
            .map(|(address, line)| Occupied {
                address,
                free: line.until(),
                waiting: line.waiting.len(),
            })
            .max_by_key(|occupied| (occupied.free, occupied.address))
    }

    pub fn visited(
        &mut self,
        site: &SiteKey,
        addresses: &[IpAddr],
        pause: Duration,
        now: Timestamp,
    ) {
        let free = now.plus(pause);
        for address in addresses.iter().take(ADDRESSES_MAX) {
            let line = self.lines.entry(*address).or_insert_with(|| Line {
                free,
                last: site.clone(),
                unanswered: None,
                waiting: BTreeSet::new(),
                watched: None,
            });
            // With a shorter pause than before, an earlier visit may bind longer.
            line.free = line.free.max(free);
            line.last = site.clone();
            line.unanswered = Some(pause);
        }
    }

    /// The visit of `site` arrived at `arrived`. `true` when somebody stands in line who may go earlier now.
    pub fn answered(
        &mut self,
        site: &SiteKey,
        address: IpAddr,
        pause: Duration,
        arrived: Timestamp,
    ) -> bool {
        let line = self.lines.get_mut(&address).filter(|line| line.last == *site);
        let Some(line) = line else { return false };
        line.free = line.free.max(arrived.plus(pause));
        line.unanswered = None;
        let until = line.until();
        let earlier = line.watched.is_some_and(|at| at > until);
        if earlier {
            line.watched = None;
        }
        earlier
    }

    /// `true` when nobody watches yet for the moment the line is free.
    pub fn join(&mut self, address: IpAddr, number: u64, site: &SiteKey) -> bool {
        let Some(line) = self.lines.get_mut(&address) else { return false };
        line.waiting.insert((number, site.clone()));
        let unwatched = line.watched.is_none();
        let until = line.until();
        line.watched.get_or_insert(until);
        unwatched
    }

    pub fn leave(&mut self, address: IpAddr, number: u64, site: &SiteKey) {
        if let Some(line) = self.lines.get_mut(&address) {
            line.waiting.remove(&(number, site.clone()));
        }
    }

    /// The first in line, if the address is free now. The watch is over: [`Addresses::watch`] begins
    /// another where it is wanted.
    pub fn next(&mut self, address: IpAddr, now: Timestamp) -> Option<SiteKey> {
        let line = self.lines.get_mut(&address)?;
        if line.watched.is_some_and(|at| at > now) {
            return None;
        }
        line.watched = None;
        if line.until() > now {
            return None;
        }
        line.waiting.pop_first().map(|(_, site)| site)
    }

    /// When to look at the line again, if anybody stands in it unwatched.
    pub fn watch(&mut self, address: IpAddr) -> Option<Timestamp> {
        let line = self.lines.get_mut(&address)?;
        let wanted = !line.waiting.is_empty() && line.watched.is_none();
        if wanted {
            line.watched = Some(line.until());
        }
        wanted.then_some(line.until())
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Forgets addresses that bind nobody any more.
    pub fn prune(&mut self, now: Timestamp) {
        self.lines.retain(|_, line| line.until() > now || !line.waiting.is_empty());
    }
}

impl Line {
    fn until(&self) -> Timestamp {
        self.free.plus(self.unanswered.unwrap_or_default())
    }
}

/// How long a site that joins now will stand in line.
pub(super) fn expected(occupied: &Occupied, pause: Duration) -> Timestamp {
    occupied.free.plus(pause.saturating_mul(u32::try_from(occupied.waiting).unwrap_or(u32::MAX)))
}
