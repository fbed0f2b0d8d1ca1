//! Two bounded memories in front of the database: fingerprints surely stored, and ids of sites.
//!
//! Both are exact: what they say is so. They only ever forget, and hear of a row after its commit.

use std::{collections::HashMap, mem};

use model::{Fingerprint, SiteId};

/// Fingerprints whose row is stored, with a level the row is not above (or the page was fetched, when
/// its level no longer matters). Most links to other sites are known ones and end here.
///
/// It begins small and grows with what it is told, so that a crawl of few URLs does not pay for one of many.
pub(super) struct StoredFingerprints {
    /// Sets of [`WAYS`] slots; 0 is an empty slot.
    fingerprints: Box<[u64]>,
    levels: Box<[u16]>,
    /// Slots that are taken.
    held: usize,
    entries_max: usize,
    /// Which slot of a full set goes next.
    turn: usize,
}

const WAYS: usize = 4;
/// A million fingerprints with their levels: 10 MB …
const ENTRIES_MAX: usize = 1 << 20;
/// … and room for the first of them: 160 KB.
const ENTRIES_FIRST: usize = 1 << 14;

impl StoredFingerprints {
    pub fn new() -> StoredFingerprints {
        StoredFingerprints::with_entries(ENTRIES_FIRST, ENTRIES_MAX)
    }

    /// Both are powers of two.
    fn with_entries(entries: usize, entries_max: usize) -> StoredFingerprints {
        let entries = entries.max(WAYS);
        StoredFingerprints {
            fingerprints: vec![0; entries].into(),
            levels: vec![0; entries].into(),
            held: 0,
            entries_max,
            turn: 0,
        }
    }

    /// Inserting this URL at this level would change nothing.
    pub fn covers(&self, fp: Fingerprint, level: u16) -> bool {
        let set = self.set_of(fp);
        (set..set + WAYS).any(|slot| self.fingerprints[slot] == fp.0 && self.levels[slot] <= level)
    }

    pub fn remember(&mut self, fp: Fingerprint, level: u16) {
        if fp.0 == 0 {
            return;
        }
        let set = self.set_of(fp);
        let slots = &self.fingerprints[set..set + WAYS];
        if let Some(way) = slots.iter().position(|held| *held == fp.0) {
            self.levels[set + way] = self.levels[set + way].min(level);
            return;
        }
        let slot = slots.iter().position(|held| *held == 0);
        let slot = slot.inspect(|_| self.held += 1).unwrap_or_else(|| {
            self.turn = (self.turn + 1) % WAYS;
            self.turn
        });
        self.fingerprints[set + slot] = fp.0;
        self.levels[set + slot] = level;
        // A quarter full: hardly a set is wholly.
        if self.held * 4 > self.fingerprints.len() && self.fingerprints.len() < self.entries_max {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let entries = self.fingerprints.len() * 2;
        let old = mem::replace(self, StoredFingerprints::with_entries(entries, self.entries_max));
        for (fp, level) in old.fingerprints.iter().zip(&old.levels) {
            self.remember(Fingerprint(*fp), *level);
        }
    }

    fn set_of(&self, fp: Fingerprint) -> usize {
        let sets = self.fingerprints.len() / WAYS;
        // The upper half: fingerprints are already well mixed.
        ((fp.0 >> 32) as usize & (sets - 1)) * WAYS
    }
}

/// Ids by key in two generations: when the young one is full it becomes the old one, and what is asked
/// for meanwhile moves back. About the last [`GENERATION`] to twice as many are remembered.
#[derive(Default)]
pub(super) struct SiteIds {
    young: HashMap<Box<str>, SiteId>,
    old: HashMap<Box<str>, SiteId>,
}

/// At about 100 bytes each, 2 x 3 MB.
const GENERATION: usize = 32_768;

impl SiteIds {
    pub fn find(&mut self, key: &str) -> Option<SiteId> {
        if let Some(id) = self.young.get(key) {
            return Some(*id);
        }
        let id = *self.old.get(key)?;
        self.remember(key, id);
        Some(id)
    }

    pub fn remember(&mut self, key: &str, id: SiteId) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key.into(), id);
    }

    /// After a transaction that came to nothing: ids made in it do not exist.
    pub fn forget_all(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64;

    proptest! {
        #[test]
        fn what_was_never_stored_is_never_covered(
            stored in prop::collection::vec((1u64.., 0u16..5), 0..200),
            asked in prop::collection::vec(1u64.., 0..50),
        ) {
            let mut cache = StoredFingerprints::with_entries(4, 16);
            for (fp, level) in &stored {
                cache.remember(Fingerprint(*fp), *level);
            }
            for (fp, _) in &stored {
                let lowest = stored.iter().filter(|(f, _)| f == fp).map(|(_, l)| *l).min().unwrap();
                prop_assert!(lowest == 0 || !cache.covers(Fingerprint(*fp), lowest - 1));
            }
            for fp in asked.iter().filter(|fp| stored.iter().all(|(s, _)| s != *fp)) {
                prop_assert!(!cache.covers(Fingerprint(*fp), u16::MAX));
            }
        }
    }

    #[test]
    fn what_was_remembered_is_still_known_when_there_is_more_and_the_room_is_bounded() {
        let mut cache = StoredFingerprints::new();
        let fp = |n: u64| Fingerprint(xxh3_64(&n.to_le_bytes()));
        (1..=100_000).for_each(|n| cache.remember(fp(n), 3));
        let known = (1..=100_000).filter(|n| cache.covers(fp(*n), 3)).count();
        assert!(known > 99_000, "{known}");
        assert!(cache.fingerprints.len() < ENTRIES_MAX);
        (1..=2_000_000).for_each(|n| cache.remember(fp(n), 3));
        assert_eq!(cache.fingerprints.len(), ENTRIES_MAX);
    }

    #[test]
    fn a_lower_level_is_not_covered_until_it_is_remembered() {
        let mut cache = StoredFingerprints::new();
        cache.remember(Fingerprint(7), 3);
        assert!(cache.covers(Fingerprint(7), 3));
        assert!(cache.covers(Fingerprint(7), 4));
        assert!(!cache.covers(Fingerprint(7), 2));
        cache.remember(Fingerprint(7), 2);
        assert!(cache.covers(Fingerprint(7), 2));
    }

    #[test]
    fn site_ids_stay_bounded_and_right() {
        let mut ids = SiteIds::default();
        for n in 0..(3 * GENERATION as i64) {
            ids.remember(&format!("s{n}.example"), SiteId(n));
        }
        assert!(ids.young.len() + ids.old.len() <= 2 * GENERATION);
        let last = 3 * GENERATION as i64 - 1;
        assert_eq!(ids.find(&format!("s{last}.example")), Some(SiteId(last)));
        assert_eq!(ids.find("s0.example"), None);
    }
}
