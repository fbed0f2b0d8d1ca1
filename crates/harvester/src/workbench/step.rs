//! What the workbench says to the loop that drives it.

use std::{net::IpAddr, time::Duration};

use model::{
    Condition, CrawlUrl, FetchFailure, Page, Purpose, Refusal, RobotsCopy, SiteClock, SiteId,
    SiteKey, SpiderId, Timestamp,
};

use crate::failure::PageAfter;

/// What to do now.
#[derive(Clone, Debug)]
pub enum Step {
    /// Resolve the host of this site and call [`super::Workbench::resolved`] with the same key. The site
    /// waits; others go on.
    Resolve(SiteKey),
    /// Make this visit and call [`super::Workbench::release`] with its answer, whatever it is. For a page
    /// that was answered call [`super::Workbench::gathered`] once its links have been offered, after an
    /// answer to a login [`super::Workbench::enter`].
    Visit(Box<Assignment>),
    /// robots.txt or the gate forbids this page: settle it as excluded; no request is made, nothing to release.
    Exclude(Box<Excluded>),
    /// robots.txt or the gate forbids the entry of this spider's lane ([`super::Terms::entry`]). Told once:
    /// none of its pages goes out until [`super::Workbench::enter`] or other terms open the lane.
    Barred { site: SiteRef, spider: SpiderId, refusal: Refusal },
    /// The visit failed before it began, because the name could not be resolved: settle it exactly like
    /// a visit that was released with this failure. Nothing to release or gather.
    Failed(Box<Assignment>, FetchFailure, Box<Released>),
    /// Nothing before this moment; ask again then, or after the next call that tells something.
    Wait(Timestamp),
    /// Nothing until a visit is released, a name resolved, a page gathered or offered, a site added or
    /// refilled. Also the answer while `fetches_max` visits are out, and after `stop`.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssignmentId(pub u64);

/// A site in hand, as settling needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRef {
    pub key: SiteKey,
    pub id: SiteId,
    pub fence: u64,
}

/// One request to make.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub id: AssignmentId,
    /// The site on whose behalf: for a robots.txt that was redirected, not the host of `url`.
    pub site: SiteRef,
    /// Whose page it is, or for whose page the robots.txt is asked for.
    pub spider: SpiderId,
    pub url: CrawlUrl,
    pub purpose: Purpose,
    pub addresses: Vec<IpAddr>,
    pub condition: Option<Condition>,
    /// The page, when `purpose` is `Page`.
    pub page: Option<Page>,
    /// This visit's share of the byte limits that hold for it: an answer must be cut there.
    pub wire_bytes_max: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Excluded {
    pub site: SiteRef,
    pub page: Page,
    pub refusal: Refusal,
}

/// What a visit changed.
#[derive(Clone, Debug)]
pub struct Released {
    pub site: SiteRef,
    /// To be stored with the next check-in.
    pub clock: SiteClock,
    /// To be stored, when the visit was (the last hop of) a robots.txt.
    pub robots: Option<RobotsCopy>,
    /// What becomes of the page, when it was one. For a retry soon, hand the page back with
    /// [`super::Workbench::retry`]; later ones come back from the Global Frontier.
    pub page: Option<PageAfter>,
    /// How long the visit kept the site busy: for [`model::SiteDelta::worked`].
    pub worked: Duration,
    /// What the operator should be told.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    CrawlDelayCapped {
        asked: Duration,
        kept: Duration,
    },
    RetryAfterCapped {
        asked: Duration,
        kept: Duration,
    },
    /// The site had to wait for others on its address; told once while it is in hand.
    SharedAddress {
        address: IpAddr,
    },
}

/// A site with nothing to hand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drained {
    pub site: SiteRef,
    pub reason: Reason,
    /// Spiders that have used up a limit of their own, of the site or of its domain, whatever the reason
    /// is: for [`model::SiteDelta::full`]. The limits in all are not among them: they end the crawl.
    pub full: Vec<SpiderId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The Global Frontier has more: settle what is open, then `refill`.
    NeedsRefill,
    /// Nothing left: settle and `remove`.
    Done,
    /// Only pages never fetched are left and a limit on pages is reached: settle and `remove`. Which
    /// spiders are full is in [`Drained::full`] and [`Removed::full`].
    Limit,
    /// Like `Limit`, but of the bytes of a spider or the site: not even pages fetched before may be visited.
    /// Settle and `remove`, to rest until the limit is lifted. (Bytes in all are `Limit`: the crawl is over.)
    Spent,
    /// Only pages of paused spiders are left: settle and `remove`.
    Paused,
    /// It was in hand for as long as its terms allow: settle and `remove`; it is due again at once, behind
    /// the others.
    TurnOver,
    /// Nothing before this moment: settle and `remove`, not to be checked out earlier.
    NotBefore(Timestamp),
    /// A robots.txt could not be read, so nothing may be visited; it is asked for again at this moment.
    /// Settle and `remove`, as with `NotBefore`; why is in the copy that the visit left.
    RobotsUnreachable(Timestamp),
}

/// What is left of a site taken from the workbench.
#[derive(Clone, Debug)]
pub struct Removed {
    pub site: SiteRef,
    pub clock: SiteClock,
    /// Pages that were waiting; they are in the Global Frontier too.
    pub pages: Vec<Page>,
    /// As in [`Drained::full`], at this moment.
    pub full: Vec<SpiderId>,
}
