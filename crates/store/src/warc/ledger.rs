//! Which records have their visit: what recovery may leave alone after a crash.
//!
//! A record is outstanding from `append` (or adoption) until `settled`. The mark is the lowest place
//! that is not done with: the first outstanding pair, or where adoption goes on reading, or, when all
//! is settled, the end of what was written. Settled records above it are listed one by one.

use std::collections::{BTreeMap, BTreeSet};

use model::{Mark, RecordLocation};

/// Volume and offset: places are ordered as they were written.
pub(super) type Place = (u32, u64);

#[derive(Debug)]
pub(super) struct Ledger {
    /// Response offset to the offset where its pair begins.
    outstanding: BTreeMap<Place, u64>,
    settled: BTreeSet<Place>,
    /// Adoption after a crash has not read what lies from here on.
    adopting: Option<Place>,
    /// Behind the last record known.
    end: Place,
}

impl Ledger {
    /// Takes up where the stored mark left off; nothing above it is done but what it lists.
    pub(super) fn resume(mark: &Mark) -> Ledger {
        let place = (mark.volume, mark.offset);
        Ledger {
            outstanding: BTreeMap::new(),
            settled: mark.above.iter().copied().collect(),
            adopting: Some(place),
            end: place,
        }
    }

    /// A pair was written: it begins at `start`, its response lies at `location`.
    pub(super) fn appended(&mut self, location: RecordLocation, start: u64) {
        let place = (location.volume, location.offset);
        self.outstanding.insert(place, start);
        self.end = self.end.max((location.volume, location.offset + u64::from(location.length)));
    }

    pub(super) fn settled(&mut self, location: RecordLocation) {
        let place = (location.volume, location.offset);
        if self.outstanding.remove(&place).is_some() {
            self.settled.insert(place);
        }
    }

    pub(super) fn was_settled(&self, place: Place) -> bool {
        self.settled.contains(&place)
    }

    /// Everything below `place` was adopted or is settled.
    pub(super) fn adopted_to(&mut self, place: Place) {
        self.adopting = Some(place);
        self.end = self.end.max(place);
    }

    pub(super) fn adopted_all(&mut self) {
        self.adopting = None;
    }

    pub(super) fn mark(&mut self) -> Mark {
        let first = self.outstanding.iter().next();
        let first = first.map(|(&(volume, _), &start)| (volume, start)).unwrap_or(self.end);
        let low = self.adopting.map_or(first, |adopting| adopting.min(first));
        self.settled = self.settled.split_off(&low);
        Mark { volume: low.0, offset: low.1, above: self.settled.iter().copied().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(volume: u32, offset: u64) -> RecordLocation {
        RecordLocation { volume, offset, length: 50 }
    }

    fn fresh() -> Ledger {
        let mut ledger = Ledger::resume(&Mark::default());
        ledger.adopted_all();
        ledger
    }

    #[test]
    fn the_mark_stands_at_the_first_pair_that_is_not_settled() {
        let mut ledger = fresh();
        ledger.appended(at(1, 150), 100);
        ledger.appended(at(1, 250), 200);
        ledger.appended(at(2, 150), 100);
        assert_eq!(ledger.mark(), Mark { volume: 1, offset: 100, above: vec![] });
        ledger.settled(at(1, 250));
        assert_eq!(ledger.mark(), Mark { volume: 1, offset: 100, above: vec![(1, 250)] });
        ledger.settled(at(1, 150));
        assert_eq!(ledger.mark(), Mark { volume: 2, offset: 100, above: vec![] });
        ledger.settled(at(2, 150));
        assert_eq!(ledger.mark(), Mark { volume: 2, offset: 200, above: vec![] });
    }

    #[test]
    fn the_mark_does_not_pass_what_adoption_has_not_read() {
        let mut ledger = Ledger::resume(&Mark { volume: 1, offset: 100, above: vec![(1, 350)] });
        ledger.appended(at(2, 150), 100);
        ledger.settled(at(2, 150));
        let mark = ledger.mark();
        assert_eq!((mark.volume, mark.offset), (1, 100));
        assert_eq!(mark.above, [(1, 350), (2, 150)]);
        ledger.adopted_to((1, 400));
        assert_eq!(ledger.mark(), Mark { volume: 1, offset: 400, above: vec![(2, 150)] });
        ledger.adopted_all();
        assert_eq!(ledger.mark(), Mark { volume: 2, offset: 200, above: vec![] });
    }

    #[test]
    fn settling_what_nobody_wrote_changes_nothing() {
        let mut ledger = fresh();
        ledger.settled(at(7, 7));
        assert_eq!(ledger.mark(), Mark::default());
    }
}
