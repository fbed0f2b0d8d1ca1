//! Lines: sites that could be visited but for an account that others have drawn on, first come, first served.
//!
//! Whoever settles with an account passes a baton to the first of its line, which is then looked at at once.
//! A site that does not end up in the same line again (it began a visit, or turned out to wait for something
//! else) passes the baton on; so no room is left unused while somebody stands in line for it, and a visit's
//! end costs one look, not one for everybody who waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{SiteKey, SpiderId, Timestamp};

use super::Workbench;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    InAll,
    Spider(SpiderId),
    Domain(Arc<str>),
    /// Of the site itself: nobody stands in it, its own visits tell.
    Site,
}

#[derive(Debug, Default)]
pub(super) struct Lines {
    waiting: BTreeMap<Line, BTreeSet<(u64, SiteKey)>>,
}

impl Lines {
    fn join(&mut self, line: Line, number: u64, site: &SiteKey) {
        self.waiting.entry(line).or_default().insert((number, site.clone()));
    }

    fn leave(&mut self, line: &Line, number: u64, site: &SiteKey) {
        let Some(sites) = self.waiting.get_mut(line) else { return };
        sites.remove(&(number, site.clone()));
        if sites.is_empty() {
            self.waiting.remove(line);
        }
    }

    fn first(&self, line: &Line) -> Option<&SiteKey> {
        self.waiting.get(line)?.first().map(|(_, site)| site)
    }
}

impl Workbench {
    /// Puts the site into these lines, where it stood before if it did.
    pub(super) fn stand_in(&mut self, site: &SiteKey, mut lines: Vec<Line>) {
        lines.retain(|line| *line != Line::Site);
        let fresh = self.number();
        let Some(seat) = self.seats.get_mut(site) else { return };
        let number = *seat.waiting_since.get_or_insert(fresh);
        for line in &lines {
            self.lines.join(line.clone(), number, site);
        }
        seat.lines = lines;
    }

    pub(super) fn leave_lines(&mut self, site: &SiteKey) {
        let Some(seat) = self.seats.get_mut(site) else { return };
        let Some(number) = seat.waiting_since else { return };
        for line in seat.lines.drain(..) {
            self.lines.leave(&line, number, site);
        }
    }

    /// An account was settled with: the first who waits for it looks again.
    pub(super) fn pass_on(&mut self, line: Line) {
        let Some(site) = self.lines.first(&line).cloned() else { return };
        self.unschedule(&site);
        // At once: where its moment has not come, it is put where it belongs then.
        self.schedule(&site, Timestamp(i64::MIN));
        if let Some(seat) = self.seats.get_mut(&site) {
            seat.baton = Some(line);
        }
    }
}
