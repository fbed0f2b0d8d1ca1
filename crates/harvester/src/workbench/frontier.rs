//! The Local Frontier: the pages of one site in hand, a lane for each spider, in breadth-first order.
//!
//! The next page is the first among the lanes that are open. A page is *open* from the moment it is handed
//! out until its links have been offered; the barrier that holds back higher levels is each lane's own
//! (`lane.rs`). Pages that may still lie in the Global Frontier hold back higher levels of all lanes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};

use foldhash::fast::RandomState;
use model::{
    CrawlUrl, Fingerprint, Page, SiteKey, SpiderId, Timestamp, limits::KNOWN_IN_MEMORY_MAX,
};

use super::{
    Terms,
    account::Entry,
    entrance::Entrance,
    lane::{Lane, Place, rank},
    lines::Line,
};

/// Whether a URL is already a page of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Yes,
    No,
    /// Too many URLs to hold: ask the Global Frontier.
    Unsure,
}

/// What became of an offered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    Queued,
    /// It was waiting already, at a higher level, or as a part of a page.
    Lowered,
    /// Waiting, visited or known: nothing changed.
    Known,
    /// The bound is reached: it must come back from the Global Frontier, by refill.
    Full,
}

/// What stands at the head of the queue.
#[derive(Debug, PartialEq)]
pub(super) enum Head<'a> {
    Page(&'a Page),
    /// This must be visited for the sake of that page.
    Entry(&'a CrawlUrl, &'a Page),
    /// The next page waits until a page of a lower level is gathered, or its lane opened.
    Barrier,
    /// Pages of lower levels may lie in the Global Frontier, or only there is anything left.
    Refill,
    /// What is queued waits for visits under way to settle with these accounts.
    Wait(Vec<Line>),
    /// What is queued may not go out: a limit on pages or bytes is used up, or its spider is paused.
    Shut(Entry),
    /// Only pages whose moment is to come.
    Later(Timestamp),
    Empty,
}

pub(super) struct LocalFrontier {
    site: SiteKey,
    /// Pages of the site when it was lent out.
    pages_known: u64,
    terms: Arc<dyn Terms>,
    /// One or two for nearly every site: looked through one by one.
    lanes: Vec<Lane>,
    /// Not before their moment: retries, and pages of an origin whose robots.txt is unreachable.
    later: BTreeMap<(Timestamp, u64), Page>,
    places: HashMap<Fingerprint, (usize, Place), RandomState>,
    open: HashMap<Fingerprint, (usize, u16), RandomState>,
    /// Not those of requisites: one that is linked to becomes a page.
    known: HashSet<Fingerprint, RandomState>,
    /// `known` holds every URL of the site.
    complete: bool,
    /// Pages of this level and above may lie in the Global Frontier.
    more_from: Option<u16>,
    arrivals: u64,
}

impl LocalFrontier {
    pub fn new(
        site: SiteKey,
        pages_known: u64,
        terms: Arc<dyn Terms>,
        known: Option<Vec<Fingerprint>>,
    ) -> LocalFrontier {
        LocalFrontier {
            site,
            pages_known,
            terms,
            lanes: Vec::new(),
            later: BTreeMap::new(),
            places: HashMap::default(),
            open: HashMap::default(),
            complete: known.is_some(),
            known: known.unwrap_or_default().into_iter().collect(),
            more_from: None,
            arrivals: 0,
        }
    }

    /// Pages come in order, so what is left behind is not below the last of them.
    pub fn refill(&mut self, pages: Vec<Page>, more: bool) {
        let last = pages.last().map(|page| page.level);
        self.more_from = if more { last } else { None };
        for page in pages {
            let fp = page.url.fingerprint();
            if !self.places.contains_key(&fp) && !self.open.contains_key(&fp) {
                self.insert(page);
            }
        }
    }

    pub fn known(&self, fp: Fingerprint) -> Known {
        if self.known.contains(&fp) || self.places.contains_key(&fp) || self.open.contains_key(&fp)
        {
            Known::Yes
        } else if self.complete {
            Known::No
        } else {
            Known::Unsure
        }
    }

    pub fn offer(&mut self, page: Page, room: bool) -> Offered {
        let fp = page.url.fingerprint();
        if let Some(&(lane, place)) = self.places.get(&fp) {
            if !page.terms.requisite && self.drop_part(lane, place, fp) {
                self.insert(page);
                return Offered::Lowered;
            }
            return self.lower(fp, lane, place, page.level);
        }
        if self.known(fp) == Known::Yes {
            return Offered::Known;
        }
        self.remember(fp);
        if room {
            self.insert(page);
            return Offered::Queued;
        }
        self.expect_more(page.level);
        Offered::Full
    }

    /// The Global Frontier was given a page of this level that may be new.
    pub fn expect_more(&mut self, level: u16) {
        self.more_from = Some(self.more_from.map_or(level, |from| from.min(level)));
    }

    /// A page that was handed out comes back, for its due moment.
    pub fn retry(&mut self, page: Page) {
        self.gathered(page.url.fingerprint());
        let due = page.due;
        self.hold(page, due);
    }

    /// By what the last look at the accounts allowed. Pages that may not go out do not hold up the others
    /// for the sake of a refill that would only bring more of them: `held_back_max` bounds them.
    pub fn head(&self, held_back_max: usize) -> Head<'_> {
        let (mut best, mut barrier) = (None::<(&Place, &Page, &Lane)>, false);
        for lane in &self.lanes {
            match lane.first() {
                Some((place, _)) if lane.is_behind(place.0) => barrier = true,
                Some(_) if lane.entrance.is_closed() => barrier = true,
                Some((place, page)) if best.is_none_or(|best| place < best.0) => {
                    best = Some((place, page, lane));
                }
                _ => {}
            }
        }
        match best {
            Some((place, ..))
                if self.more_from.is_some_and(|from| from < place.0)
                    && self.held_back() < held_back_max =>
            {
                Head::Refill
            }
            Some((_, page, lane)) => match lane.entrance.asks_for() {
                Some(url) => Head::Entry(url, page),
                None => Head::Page(page),
            },
            None if barrier => Head::Barrier,
            None => self.nothing_free(held_back_max),
        }
    }

    /// Takes the page that [`LocalFrontier::head`] shows; the caller opens it or not.
    pub fn take(&mut self, fp: Fingerprint) -> Option<Page> {
        let (lane, place) = self.places.remove(&fp)?;
        self.lanes[lane].pages -= 1;
        self.lanes[lane].remove(&place)
    }

    pub fn open(&mut self, fp: Fingerprint, spider: SpiderId, level: u16) {
        let lane = self.lane_of(spider);
        self.lanes[lane].open(level);
        self.lanes[lane].pages += 1;
        self.open.insert(fp, (lane, level));
    }

    /// The links of an open page have been offered, or it has none. Told twice, it counts once.
    pub fn gathered(&mut self, fp: Fingerprint) {
        let Some((lane, level)) = self.open.remove(&fp) else { return };
        self.lanes[lane].gathered(level);
        self.lanes[lane].pages -= 1;
    }

    /// Puts a page aside until `until`.
    pub fn hold(&mut self, page: Page, until: Timestamp) {
        let (fp, lane) = (page.url.fingerprint(), self.lane_of(page.spider));
        self.arrivals += 1;
        self.lanes[lane].pages += 1;
        self.places.insert(fp, (lane, (page.level, 0, until, self.arrivals)));
        self.later.insert((until, self.arrivals), page);
    }

    /// Brings those whose moment has come into the queue.
    pub fn promote(&mut self, now: Timestamp) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= now
        {
            let page = entry.remove();
            self.lanes[self.places[&page.url.fingerprint()].0].pages -= 1;
            self.insert(page);
        }
    }

    pub fn later(&self) -> Option<Timestamp> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub fn lanes_mut(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    pub fn lane(&self, spider: SpiderId) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.spider == spider)
    }

    pub fn lane_mut(&mut self, spider: SpiderId) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| lane.spider == spider)
    }

    /// Other terms hold from now on: every lane asks again, every page is ranked again.
    pub fn set_terms(&mut self, terms: &Arc<dyn Terms>) {
        self.terms = terms.clone();
        for lane in &mut self.lanes {
            lane.terms = terms.of(lane.spider, &self.site);
            lane.pause = lane.terms.pause_of(self.pages_known);
            lane.entrance.renew(Entrance::new(&**terms, lane.spider, &self.site));
            let queued = std::mem::take(&mut lane.fresh).into_iter();
            for (place, page) in queued.chain(std::mem::take(&mut lane.known)) {
                let place = (place.0, rank(terms.importance(&page)), place.2, place.3);
                if let Some(spot) = self.places.get_mut(&page.url.fingerprint()) {
                    spot.1 = place;
                }
                lane.insert(place, page);
            }
        }
    }

    /// Waiting or open.
    pub fn in_hand(&self) -> impl Iterator<Item = Fingerprint> {
        self.places.keys().chain(self.open.keys()).copied()
    }

    pub fn into_pages(self) -> Vec<Page> {
        let queued = self.lanes.into_iter().flat_map(Lane::into_pages);
        queued.chain(self.later.into_values()).collect()
    }

    fn held_back(&self) -> usize {
        self.lanes.iter().map(Lane::held_back).sum()
    }

    fn nothing_free(&self, held_back_max: usize) -> Head<'_> {
        let obstacles = || self.lanes.iter().flat_map(Lane::obstacles);
        let lines = obstacles().filter_map(|entry| match entry {
            Entry::Wait(line) => Some(line.clone()),
            _ => None,
        });
        let lines: Vec<Line> = lines.collect();
        let shut = obstacles().filter(|entry| **entry != Entry::Paused).max();
        if !lines.is_empty() {
            Head::Wait(lines)
        } else if let Some(full) = shut {
            Head::Shut(full.clone())
        } else if self.more_from.is_some() && self.held_back() < held_back_max {
            Head::Refill
        } else if let Some(at) = self.later() {
            Head::Later(at)
        } else if obstacles().next().is_some() {
            Head::Shut(Entry::Paused)
        } else {
            Head::Empty
        }
    }

    fn insert(&mut self, page: Page) {
        self.arrivals += 1;
        let (fp, lane) = (page.url.fingerprint(), self.lane_of(page.spider));
        let place = (page.level, rank(self.terms.importance(&page)), page.due, self.arrivals);
        if !page.terms.requisite {
            self.remember(fp);
        }
        self.places.insert(fp, (lane, place));
        self.lanes[lane].pages += 1;
        self.lanes[lane].insert(place, page);
    }

    fn lane_of(&mut self, spider: SpiderId) -> usize {
        if let Some(lane) = self.lanes.iter().position(|lane| lane.spider == spider) {
            return lane;
        }
        let terms = self.terms.of(spider, &self.site);
        let entrance = Entrance::new(&*self.terms, spider, &self.site);
        self.lanes.push(Lane::new(spider, terms, entrance, self.pages_known));
        self.lanes.len() - 1
    }

    /// A requisite that waits makes room for the page of the same URL. Says whether it is one.
    fn drop_part(&mut self, lane: usize, place: Place, fp: Fingerprint) -> bool {
        let later = (place.2, place.3);
        let waits = self.lanes[lane].known.get(&place).or_else(|| self.later.get(&later));
        if !waits.is_some_and(|page| page.terms.requisite) {
            return false;
        }
        if self.take(fp).is_none() {
            self.later.remove(&later);
        }
        true
    }

    fn lower(&mut self, fp: Fingerprint, lane: usize, place: Place, level: u16) -> Offered {
        if level >= place.0 {
            return Offered::Known;
        }
        if let Some(page) = self.later.get_mut(&(place.2, place.3)) {
            page.level = level;
            self.places.insert(fp, (lane, (level, place.1, place.2, place.3)));
        } else if let Some(page) = self.take(fp) {
            self.insert(Page { level, ..page });
        }
        Offered::Lowered
    }

    fn remember(&mut self, fp: Fingerprint) {
        // Beyond the bound a URL is simply not remembered: from then on unknown means unsure.
        if (self.known.len() as u64) < 2 * KNOWN_IN_MEMORY_MAX {
            self.known.insert(fp);
        } else if !self.known.contains(&fp) {
            self.complete = false;
        }
    }
}

impl fmt::Debug for LocalFrontier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LocalFrontier { site, lanes, later, open, more_from, .. } = self;
        let mut show = f.debug_struct("LocalFrontier");
        show.field("site", site).field("lanes", lanes).field("later", later);
        show.field("open", open).field("more_from", more_from).finish_non_exhaustive()
    }
}
