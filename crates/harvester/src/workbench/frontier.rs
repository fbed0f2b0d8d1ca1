//! The Local Frontier: the pages of one site in hand, in breadth-first order.
//!
//! The order is (level, due, arrival). A page is *open* from the moment it is handed out until its links
//! have been offered; while a page of level k is open, or may still lie in the Global Frontier, none of a
//! higher level goes out: so the level of a page is the true number of links from the entry page.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{Fingerprint, Page, Timestamp, limits::KNOWN_IN_MEMORY_MAX};

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
    /// The next page waits until a page of a lower level is gathered.
    Barrier,
    /// Pages of lower levels may lie in the Global Frontier, or only there is anything left.
    Refill,
    /// Only pages never fetched are left, and no slot is free for them.
    NoSlot,
    /// Only pages whose moment is to come.
    Later(Timestamp),
    Empty,
}

type Place = (u16, Timestamp, u64);

#[derive(Debug, Default)]
pub(super) struct LocalFrontier {
    /// Never answered with content: each needs a slot under the limits.
    fresh: BTreeMap<Place, Page>,
    /// Those that need none: fetched before, or parts of pages.
    again: BTreeMap<Place, Page>,
    /// Not before their moment: retries, and pages of an origin whose robots.txt is unreachable.
    later: BTreeMap<(Timestamp, u64), Page>,
    places: HashMap<Fingerprint, Place>,
    open: HashMap<Fingerprint, u16>,
    open_levels: BTreeMap<u16, usize>,
    /// Not those of requisites: one that is linked to becomes a page.
    known: HashSet<Fingerprint>,
    /// `known` holds every URL of the site.
    complete: bool,
    /// Pages of this level and above may lie in the Global Frontier.
    more_from: Option<u16>,
    arrivals: u64,
}

impl LocalFrontier {
    pub fn new(pages: Vec<Page>, known: Option<Vec<Fingerprint>>, more: bool) -> LocalFrontier {
        let complete = known.is_some();
        let known = known.unwrap_or_default().into_iter().collect();
        let mut frontier = LocalFrontier { known, complete, ..LocalFrontier::default() };
        frontier.refill(pages, more);
        frontier
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
        if let Some(&place) = self.places.get(&fp) {
            if !page.terms.requisite && self.drop_part(place, fp) {
                self.insert(page);
                return Offered::Lowered;
            }
            return self.lower(place, page.level);
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

    pub fn head(&self, slot: bool) -> Head<'_> {
        let fresh = if slot { self.fresh.first_key_value() } else { None };
        let again = self.again.first_key_value();
        let Some((place, page)) = fresh.into_iter().chain(again).min_by_key(|(place, _)| **place)
        else {
            return self.nothing_queued();
        };
        if self.open_levels.first_key_value().is_some_and(|(level, _)| *level < place.0) {
            Head::Barrier
        } else if self.more_from.is_some_and(|from| from < place.0) {
            Head::Refill
        } else {
            Head::Page(page)
        }
    }

    /// Takes the page that [`LocalFrontier::head`] shows; the caller opens it or not.
    pub fn take(&mut self, fp: Fingerprint) -> Option<Page> {
        let place = self.places.remove(&fp)?;
        self.fresh.remove(&place).or_else(|| self.again.remove(&place))
    }

    pub fn open(&mut self, fp: Fingerprint, level: u16) {
        self.open.insert(fp, level);
        *self.open_levels.entry(level).or_default() += 1;
    }

    /// The links of an open page have been offered, or it has none. Told twice, it counts once.
    pub fn gathered(&mut self, fp: Fingerprint) {
        let Some(level) = self.open.remove(&fp) else { return };
        if let Some(pages) = self.open_levels.get_mut(&level) {
            *pages -= 1;
            if *pages == 0 {
                self.open_levels.remove(&level);
            }
        }
    }

    /// Puts a page aside until `until`.
    pub fn hold(&mut self, page: Page, until: Timestamp) {
        let (fp, level) = (page.url.fingerprint(), page.level);
        self.arrivals += 1;
        self.places.insert(fp, (level, until, self.arrivals));
        self.later.insert((until, self.arrivals), page);
    }

    /// Brings those whose moment has come into the queue.
    pub fn promote(&mut self, now: Timestamp) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= now
        {
            let page = entry.remove();
            self.insert(page);
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waiting or open.
    pub fn in_hand(&self) -> impl Iterator<Item = Fingerprint> {
        self.places.keys().chain(self.open.keys()).copied()
    }

    pub fn into_pages(self) -> Vec<Page> {
        let queued = self.fresh.into_values().chain(self.again.into_values());
        queued.chain(self.later.into_values()).collect()
    }

    fn nothing_queued(&self) -> Head<'_> {
        if !self.fresh.is_empty() {
            Head::NoSlot
        } else if self.more_from.is_some() {
            Head::Refill
        } else if let Some(((at, _), _)) = self.later.first_key_value() {
            Head::Later(*at)
        } else {
            Head::Empty
        }
    }

    fn insert(&mut self, page: Page) {
        self.arrivals += 1;
        let (fp, place) = (page.url.fingerprint(), (page.level, page.due, self.arrivals));
        if !page.terms.requisite {
            self.remember(fp);
        }
        self.places.insert(fp, place);
        self.queue_of(&page).insert(place, page);
    }

    fn queue_of(&mut self, page: &Page) -> &mut BTreeMap<Place, Page> {
        let needs_slot = page.last.is_none() && !page.terms.requisite;
        if needs_slot { &mut self.fresh } else { &mut self.again }
    }

    /// A requisite that waits makes room for the page of the same URL. Says whether it is one.
    fn drop_part(&mut self, place: Place, fp: Fingerprint) -> bool {
        let later = (place.1, place.2);
        let waits = self.again.get(&place).or_else(|| self.later.get(&later));
        let is_part = waits.is_some_and(|page| page.terms.requisite);
        if is_part && self.again.remove(&place).or_else(|| self.later.remove(&later)).is_some() {
            self.places.remove(&fp);
        }
        is_part
    }

    fn lower(&mut self, place: Place, level: u16) -> Offered {
        if level >= place.0 {
            return Offered::Known;
        }
        if let Some(page) = self.later.get_mut(&(place.1, place.2)) {
            page.level = level;
            let fp = page.url.fingerprint();
            self.places.insert(fp, (level, place.1, place.2));
            return Offered::Lowered;
        }
        let page = self.fresh.remove(&place).or_else(|| self.again.remove(&place));
        if let Some(page) = page {
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
