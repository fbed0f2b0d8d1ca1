//! A lane of the Local Frontier: the pages of one spider on one site, level by level.
//!
//! The order is (level, importance, due, arrival). While a page of level k is open, none of a higher level
//! goes out: so the level of a page is the true number of links that this spider followed to it.

use std::{collections::BTreeMap, time::Duration};

use model::{Page, SpiderId, Timestamp};

use super::{
    SiteTerms,
    account::{Access, Entry},
    entrance::Entrance,
};

/// Level, rank (the more important the smaller), due, arrival.
pub(super) type Place = (u16, u32, Timestamp, u64);

#[derive(Debug)]
pub(super) struct Lane {
    pub spider: SpiderId,
    pub terms: SiteTerms,
    /// The courtesy pause that the terms come to on this site.
    pub pause: Duration,
    pub entrance: Entrance,
    /// As of the last look at the site.
    pub access: Access,
    /// Never answered with content: each needs a slot under the limits on pages.
    pub fresh: BTreeMap<Place, Page>,
    /// Pages that answered before, and parts of pages: those need none.
    pub known: BTreeMap<Place, Page>,
    /// Pages of the lane in hand: queued, put aside, or open.
    pub pages: usize,
    open_levels: BTreeMap<u16, usize>,
}

impl Lane {
    pub fn new(spider: SpiderId, terms: SiteTerms, entrance: Entrance, pages_known: u64) -> Lane {
        Lane {
            spider,
            pause: terms.pause_of(pages_known),
            terms,
            entrance,
            access: Access::SHUT,
            fresh: BTreeMap::new(),
            known: BTreeMap::new(),
            pages: 0,
            open_levels: BTreeMap::new(),
        }
    }

    pub fn insert(&mut self, place: Place, page: Page) {
        let needs_slot = page.last.is_none() && !page.terms.requisite;
        let queue = if needs_slot { &mut self.fresh } else { &mut self.known };
        queue.insert(place, page);
    }

    pub fn remove(&mut self, place: &Place) -> Option<Page> {
        self.fresh.remove(place).or_else(|| self.known.remove(place))
    }

    /// The first page that its spider may visit now, were it alone in the world.
    pub fn first(&self) -> Option<(&Place, &Page)> {
        let open = |entry: &Entry| *entry == Entry::Open;
        let fresh = self.fresh.first_key_value().filter(|_| open(&self.access.fresh));
        let known = self.known.first_key_value().filter(|_| open(&self.access.known));
        fresh.into_iter().chain(known).min_by_key(|(place, _)| **place)
    }

    /// Pages of this level wait until one of a lower level is gathered.
    pub fn is_behind(&self, level: u16) -> bool {
        self.open_levels.first_key_value().is_some_and(|(open, _)| *open < level)
    }

    /// What keeps its queued pages back.
    pub fn obstacles(&self) -> impl Iterator<Item = &Entry> {
        self.queues().map(|(_, entry)| entry).filter(|entry| **entry != Entry::Open)
    }

    /// Queued pages that may not go out.
    pub fn held_back(&self) -> usize {
        let shut = self.queues().filter(|(_, entry)| **entry != Entry::Open);
        shut.map(|(pages, _)| pages).sum()
    }

    pub fn open(&mut self, level: u16) {
        *self.open_levels.entry(level).or_default() += 1;
    }

    pub fn gathered(&mut self, level: u16) {
        if let Some(pages) = self.open_levels.get_mut(&level) {
            *pages -= 1;
            if *pages == 0 {
                self.open_levels.remove(&level);
            }
        }
    }

    pub fn into_pages(self) -> impl Iterator<Item = Page> {
        self.fresh.into_values().chain(self.known.into_values())
    }

    fn queues(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let fresh = (self.fresh.len(), &self.access.fresh);
        let known = (self.known.len(), &self.access.known);
        [fresh, known].into_iter().filter(|(pages, _)| *pages > 0)
    }
}

/// Larger importance, smaller rank. Not a number or below zero: as unimportant as can be.
pub(super) fn rank(importance: f32) -> u32 {
    u32::MAX - importance.max(0.0).to_bits()
}
