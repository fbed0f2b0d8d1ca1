//! The sites in hand, as the harvest loop sees them: lease, cookies, and what is still on its way.
//!
//! The workbench knows *when* a site may be visited; this room knows *under which lease* what happens
//! is checked in.

use std::collections::HashMap;

use harvester::{http::CookieJar, workbench::Reason};
use model::{
    PageUpdate, Release, SiteClock, SiteDelta, SiteId, SiteKey, SiteLease, Timestamp, limits,
};

#[derive(Default)]
pub struct Hand {
    sites: HashMap<SiteKey, Held>,
}

pub struct Held {
    pub id: SiteId,
    pub key: SiteKey,
    pub fence: u64,
    pub until: Timestamp,
    pub seeded: bool,
    /// Pages of the site that are known, counting what was admitted since check-out.
    pub known: u64,
    /// None when the user wants no cookies.
    pub cookies: Option<CookieJar>,
    /// Answers that are being gathered.
    pub gathering: usize,
    pub in_flight: usize,
    /// A refill is under way.
    pub refilling: bool,
    /// The workbench has nothing more for it, but something of it is still on its way.
    pub drained: Option<Reason>,
    /// When it last became free: what lies between that and its next visit is pause.
    pub free_since: Timestamp,
}

impl Hand {
    pub fn add(&mut self, lease: &SiteLease, cookies: bool, now: Timestamp) {
        let held = Held {
            id: lease.site.id,
            key: lease.site.key.clone(),
            fence: lease.fence,
            until: lease.until,
            seeded: lease.site.seeded,
            known: lease.site.counters.known,
            cookies: cookies.then(CookieJar::new),
            gathering: 0,
            in_flight: 0,
            refilling: false,
            drained: None,
            free_since: now,
        };
        self.sites.insert(lease.site.key.clone(), held);
    }

    pub fn get(&mut self, site: &SiteKey) -> Option<&mut Held> {
        self.sites.get_mut(site)
    }

    pub fn contains(&self, site: &SiteKey) -> bool {
        self.sites.contains_key(site)
    }

    pub fn remove(&mut self, site: &SiteKey) -> Option<Held> {
        self.sites.remove(site)
    }

    pub fn len(&self) -> usize {
        self.sites.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    pub fn keys(&self) -> Vec<SiteKey> {
        self.sites.keys().cloned().collect()
    }

    /// Sites whose lease has less than half its life left.
    pub fn renew(&mut self, now: Timestamp) -> Vec<SiteDelta> {
        let half = limits::LEASE / 2;
        let old = self.sites.values_mut().filter(|held| held.until < now.plus(half));
        old.map(|held| held.delta(now)).collect()
    }
}

impl Held {
    /// An empty check-in that renews the lease.
    pub fn delta(&mut self, now: Timestamp) -> SiteDelta {
        self.until = now.plus(limits::LEASE);
        SiteDelta {
            site: self.id,
            key: self.key.clone(),
            fence: self.fence,
            updates: Vec::new(),
            admitted: Vec::new(),
            robots: Vec::new(),
            clock: None,
            seeded: false,
            duplicates: 0,
            release: Release::Renew(self.until),
        }
    }

    pub fn delta_with(&mut self, update: PageUpdate, now: Timestamp) -> SiteDelta {
        SiteDelta { updates: vec![update], ..self.delta(now) }
    }

    /// The check-in that gives the site back.
    pub fn farewell(
        &mut self,
        clock: Option<SiteClock>,
        release: Release,
        now: Timestamp,
    ) -> SiteDelta {
        SiteDelta { clock, release, ..self.delta(now) }
    }

    /// Nothing of this site is on its way any more.
    pub fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.gathering == 0 && !self.refilling
    }
}
