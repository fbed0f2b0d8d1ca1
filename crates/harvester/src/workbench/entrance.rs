//! Entrances: what must be visited before the pages of a lane, such as the pages of a login.
//!
//! [`super::Terms::entry`] names the first URL. It is visited like any page of the site (its clock, its robots.txt,
//! the gate, the spider's limits), and only once the lane has a page that could go out. After each answer the
//! caller says with [`Workbench::enter`] what comes next, and at last that the lane is open. What these
//! visits bring does not count for limits on bytes, as with robots.txt: the store counts pages only.

use model::{CrawlUrl, Refusal, SiteKey, SpiderId, Timestamp};

use super::{Step, Terms, Workbench};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    /// Pages may go out.
    Open,
    /// This must be visited first.
    Ask(CrawlUrl),
    /// A visit is under way.
    Out,
    /// It was answered, or is forbidden: the caller has the word.
    Shut,
}

impl Entrance {
    pub fn new(terms: &dyn Terms, spider: SpiderId, site: &SiteKey) -> Entrance {
        terms.entry(spider, site).map_or(Entrance::Open, Entrance::Ask)
    }

    /// By other terms. What is under way goes on; what was shut is tried anew.
    pub fn renew(&mut self, asked: Entrance) {
        let goes_on = match self {
            Entrance::Out => true,
            Entrance::Ask(_) => asked != Entrance::Open,
            Entrance::Open | Entrance::Shut => false,
        };
        if !goes_on {
            *self = asked;
        }
    }

    /// Nothing of the lane goes out until the caller says so.
    pub fn is_closed(&self) -> bool {
        matches!(self, Entrance::Out | Entrance::Shut)
    }

    pub fn asks_for(&self) -> Option<&CrawlUrl> {
        match self {
            Entrance::Ask(url) => Some(url),
            Entrance::Open | Entrance::Out | Entrance::Shut => None,
        }
    }
}

impl Workbench {
    /// What comes after an answer to a visit of the purpose [`model::Purpose::Login`], or at any other
    /// time: this URL of the site must be visited before the spider's next page there, or nothing more.
    pub fn enter(
        &mut self,
        site: &SiteKey,
        spider: SpiderId,
        next: Option<CrawlUrl>,
        now: Timestamp,
    ) {
        let Some(seat) = self.seats.get_mut(site) else { return };
        if let Some(lane) = seat.frontier.lane_mut(spider) {
            lane.entrance = next.map_or(Entrance::Open, Entrance::Ask);
            self.reschedule(site, now);
        }
    }

    /// The entry may not be visited: told once.
    pub(super) fn bar(
        &mut self,
        site: &SiteKey,
        spider: SpiderId,
        refusal: Refusal,
        now: Timestamp,
    ) -> Option<Step> {
        let seat = self.seats.get_mut(site)?;
        seat.frontier.lane_mut(spider)?.entrance = Entrance::Shut;
        let site_ref = seat.site.clone();
        self.reschedule(site, now);
        Some(Step::Barred { site: site_ref, spider, refusal })
    }
}
