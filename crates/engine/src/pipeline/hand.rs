//! The sites in hand, as the harvest loop sees them: lease, cookies, and what is still on its way.
//!
//! The workbench knows *when* a site may be visited; this room knows *under which lease* what happens
//! is checked in.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::PoisonError,
    time::Duration,
};

use foldhash::quality::RandomState;
use harvester::{http::CookieJar, workbench::Reason};
use manager::PurseId;
use model::{
    Candidate, CrawlUrl, Fingerprint, PageUpdate, Release, SiteAddress, SiteClock, SiteDelta,
    SiteHabit, SiteId, SiteKey, SiteLease, SiteTraps, SpiderId, Timestamp, limits,
};

use seeder::{
    Loners,
    traps::{self, Watch},
};

use super::{sessions::Sessions, spiders::Spider};

#[derive(Default)]
pub struct Hand {
    sites: HashMap<SiteKey, Held, RandomState>,
}

pub struct Held {
    pub id: SiteId,
    pub key: SiteKey,
    pub fence: u64,
    pub until: Timestamp,
    pub seeded: bool,
    /// How its pages change, and whom of it to believe.
    pub habit: SiteHabit,
    /// What it has taught about its own traps.
    pub traps: SiteTraps,
    /// What its pages have shown since check-out.
    pub watch: Watch,
    /// Something about its traps was written down before.
    had_traps: bool,
    /// Its last visit brought no answer, or an error of its own.
    pub silent: bool,
    /// There is something in `traps` that the store does not have yet.
    pub learned: bool,
    /// The page whose links are being admitted is the same as another, on a site where most are.
    pub on_copy: bool,
    /// Its pages since check-out that are like no other.
    pub loners: Loners,
    /// Pages of the site that are known, counting what was admitted since check-out.
    pub known: u64,
    /// Spiders do not share their cookies: one may be logged in.
    jars: BTreeMap<SpiderId, CookieJar>,
    /// Answers that are being gathered.
    pub gathering: usize,
    pub in_flight: usize,
    /// A refill is under way.
    pub refilling: bool,
    /// The workbench has nothing more for it, but something of it is still on its way.
    pub drained: Option<Reason>,
    /// Time that visits took since the last check-in.
    pub worked: Duration,
    /// Where its name led, if that was asked since the last check-in.
    pub address: Option<SiteAddress>,
    /// Parts of pages met since check-out: each is given to the store once.
    pub parts: HashSet<Fingerprint>,
    /// URLs that only the store can tell to be known, with the lowest level each was found at: given to the store
    /// once.
    unsure: HashMap<Fingerprint, u16>,
    /// The lease came without the site's URLs because there are too many, not because nothing of it is new: then
    /// each that is found counts as new.
    vast: bool,
    /// Links to parts that are being visited: to be admitted as pages when the visit is over.
    pub promoted: Vec<Candidate>,
    /// When it last became free: what lies between that and its next visit is pause.
    pub free_since: Timestamp,
    /// By how much its last page was dear to read.
    pub dear: Duration,
    /// Pages found since check-out whose first visit is held to a budget: they come with another check-out.
    pub waiting: HashSet<Fingerprint>,
    /// Visits that were paid for and not made yet.
    pub paid: HashMap<Fingerprint, PurseId>,
}

impl Hand {
    pub fn add(&mut self, lease: &SiteLease, now: Timestamp) {
        let held = Held {
            id: lease.site.id,
            key: lease.site.key.clone(),
            fence: lease.fence,
            until: lease.until,
            seeded: lease.site.seeded,
            habit: lease.site.habit.clone(),
            traps: lease.site.traps.clone(),
            watch: Watch::default(),
            had_traps: !lease.site.traps.is_empty(),
            silent: false,
            learned: false,
            on_copy: false,
            loners: Loners::default(),
            known: lease.site.counters.known,
            jars: BTreeMap::new(),
            gathering: 0,
            in_flight: 0,
            refilling: false,
            drained: None,
            worked: Duration::ZERO,
            address: None,
            parts: HashSet::new(),
            unsure: HashMap::new(),
            vast: lease.known.is_none() && lease.site.counters.known >= limits::KNOWN_IN_MEMORY_MAX,
            promoted: Vec::new(),
            free_since: now,
            dear: Duration::ZERO,
            waiting: HashSet::new(),
            paid: HashMap::new(),
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
    pub fn renew(&self, now: Timestamp) -> Vec<SiteDelta> {
        let half = limits::LEASE / 2;
        let old = self.sites.values().filter(|held| held.until < now.plus(half));
        old.map(|held| held.delta(now)).collect()
    }

    /// These check-ins go to the frontier: only now are the leases in them renewed.
    /// What visits took of the site's time goes with them.
    pub fn sent(&mut self, deltas: &mut [SiteDelta]) {
        for delta in deltas {
            if let Some(held) = self.sites.get_mut(&delta.key) {
                delta.worked += std::mem::take(&mut held.worked);
                delta.address = held.address.take().or(delta.address);
            }
            if let (Release::Renew(until), Some(held)) =
                (delta.release, self.sites.get_mut(&delta.key))
            {
                held.until = until;
            }
        }
    }
}

/// When a lease renewed now ends. The same for a while: a renewal that changes nothing costs nothing.
pub fn lease_end(now: Timestamp) -> Timestamp {
    let end = now.plus(limits::LEASE);
    Timestamp(end.0 - end.0.rem_euclid(RENEWALS_MS))
}

/// A tenth of a lease: renewals begin when half of it is left.
const RENEWALS_MS: i64 = limits::LEASE.as_millis() as i64 / 10;

impl Held {
    /// The spider's cookies of this site; none when it keeps none. A login lives by cookies: where there is
    /// one they are kept in any case.
    pub fn jar(
        &mut self,
        spider: &Spider,
        sessions: &Sessions,
        now: Timestamp,
    ) -> Option<&mut CookieJar> {
        let login = spider.login_at(&self.key).is_some();
        let stock = match &spider.cookies {
            Some(stock) => &**stock,
            None if login => &[],
            None => return None,
        };
        let fresh = || {
            let stock = if is_meant(&self.key, spider) { stock } else { &[] };
            if !login {
                return CookieJar::with_preset(stock, &self.key, now);
            }
            let mut preset = stock.to_vec();
            preset.extend(sessions.cookies(&(self.key.clone(), spider.id)));
            CookieJar::with_preset(&preset, &self.key, now)
        };
        Some(self.jars.entry(spider.id).or_insert_with(fresh))
    }

    /// A URL of which only the store can tell whether it is known. Says whether to ask it: the same answer is not
    /// wanted twice.
    pub fn ask_store(&mut self, fp: Fingerprint, level: u16) -> bool {
        if self.unsure.len() as u64 >= limits::KNOWN_IN_MEMORY_MAX {
            self.unsure.clear();
        }
        let before = self.unsure.insert(fp, level);
        before.is_none_or(|before| {
            self.unsure.insert(fp, level.min(before));
            level < before
        })
    }

    /// One that may be new was given to the store. Where most are not, none is counted: the site's limit is exact
    /// again with its next lease.
    pub fn count_unsure(&mut self) {
        self.known += u64::from(self.vast);
    }

    pub fn empty_jar(&mut self, spider: SpiderId) {
        self.jars.remove(&spider);
    }

    /// The site is given back: the sessions of those that are logged in go on with these.
    pub fn keep_sessions(&self, sessions: &Sessions, now: Timestamp) {
        for (spider, jar) in &self.jars {
            sessions.keep(&(self.key.clone(), *spider), jar.private(now));
        }
    }

    /// An empty check-in that renews the lease.
    pub fn delta(&self, now: Timestamp) -> SiteDelta {
        let release = Release::Renew(lease_end(now));
        SiteDelta::empty(self.id, self.key.clone(), self.fence, release)
    }

    pub fn delta_with(&self, update: PageUpdate, now: Timestamp) -> SiteDelta {
        SiteDelta { updates: vec![update], ..self.delta(now) }
    }

    /// The check-in that gives the site back.
    pub fn farewell(
        &self,
        clock: Option<SiteClock>,
        release: Release,
        now: Timestamp,
    ) -> SiteDelta {
        let (worked, traps, address) = (self.worked, self.traps_to_keep(), self.address);
        SiteDelta { clock, release, worked, traps, address, ..self.delta(now) }
    }

    /// What was learned of its traps, where there is anything to write down.
    fn traps_to_keep(&self) -> Option<SiteTraps> {
        if !self.watch.has_seen() && !self.had_traps && !self.learned {
            return None;
        }
        let mut kept = self.traps.clone();
        traps::trim(&mut kept.urls);
        (self.had_traps || !kept.is_empty()).then_some(kept)
    }

    /// Nothing of this site is on its way any more.
    pub fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.gathering == 0 && !self.refilling
    }
}

/// Files of cookies name hosts without ports: on a port that is not the web's own somebody else may listen, so they
/// go there only where a seed names it.
fn is_meant(site: &SiteKey, spider: &Spider) -> bool {
    if site.as_str() == site.host() {
        return true;
    }
    let Ok(url) = CrawlUrl::parse(&format!("http://{}/", site.as_str())) else { return false };
    spider.seeds.read().unwrap_or_else(PoisonError::into_inner).has_site(&url)
}

#[cfg(test)]
mod tests {
    use model::{Site, SiteCounters};

    use super::*;

    #[test]
    fn a_check_in_that_is_never_sent_does_not_pass_for_a_renewal() {
        let (key, start) = (SiteKey::stored("a.example"), Timestamp(1_000_000));
        let site = Site {
            habit: model::SiteHabit::default(),
            traps: model::SiteTraps::default(),
            id: SiteId(1),
            key: key.clone(),
            seeded: true,
            counters: SiteCounters::default(),
            clock: SiteClock::default(),
            robots: Vec::new(),
        };
        let until = start.plus(limits::LEASE);
        let lease = SiteLease {
            site,
            fence: 1,
            until,
            pages: vec![],
            known: None,
            more: false,
            domain: Default::default(),
            worked_today: Default::default(),
        };
        let mut hand = Hand::default();
        hand.add(&lease, start);
        let later = start.plus(limits::LEASE * 3 / 4);

        // A link from elsewhere to a page that is known: prepared, and then not needed.
        let dropped = hand.get(&key).map(|held| held.delta(later));
        assert!(dropped.is_some());
        let mut renewals = hand.renew(later);
        assert_eq!(renewals.len(), 1, "the frontier still has the old lease");
        hand.sent(&mut renewals);
        assert!(hand.renew(later).is_empty());
    }
}
