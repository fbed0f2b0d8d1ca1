//! What the stages of a crawl say to each other.
//!
//! Every message that stands for unfinished work carries a [`Busy`] guard, so that simulated time waits
//! for it. All channels are bounded; the harvest loop counts what is under way and takes on no more
//! than the channels can hold, so that no stage ever blocks on a full one.

use std::{sync::Arc, time::Duration};

use harvester::{failure::PageAfter, workbench::Assignment};
use manager::Profit;
use model::{
    Busy, Candidate, CheckOut, Counts, CrawlUrl, Decision, Exchange, FetchFailure, Link, Looks,
    NextDue, Page, PageUpdate, RecordLocation, Refill, Resolution, RobotsCopy, Sighting, SiteClock,
    SiteDelta, SiteHabit, SiteKey, SiteLease, SpiderId, Stop, StoreError, Timestamp,
};
use seeder::{Gist, Likeness, SortedNotice};
use store::{
    control::{Command, Outcome, RefusedSeed, Request},
    frontier::{Suspect, Wildcard},
    replicas::ReplicaRow,
    spiders::SpiderRow,
};

use super::{
    course::Fingerprints,
    lesson::Lesson,
    returning::{Decided, Stakes},
};

/// To the harvest loop.
pub enum Event {
    Resolved {
        site: SiteKey,
        outcome: Result<Resolution, FetchFailure>,
        took: Duration,
        busy: Busy,
    },
    Fetched {
        assignment: Box<Assignment>,
        answer: Box<Result<Exchange, FetchFailure>>,
        busy: Busy,
    },
    Gathered(Box<Report>),
    CheckedOut {
        leases: Vec<SiteLease>,
        /// There may be more where these came from.
        full: bool,
        next: NextDue,
        busy: Busy,
    },
    /// Pages from all over the collection, to reckon prices from.
    Sampled(Vec<(Page, SiteHabit)>, Busy),
    /// A batch was made: so many pages are due.
    Batched(u64, Busy),
    Refilled {
        site: SiteKey,
        pages: Vec<Page>,
        more: bool,
        busy: Busy,
    },
    /// So many check-ins are in the database now.
    Settled {
        messages: usize,
        counts: Counts,
        store: Duration,
        busy: Vec<Busy>,
    },
    /// What other processes ask for.
    Requests(Vec<Request>),
    /// The spiders of the collection, after a change was written down.
    Spiders(Vec<SpiderRow>),
    /// This page was made due, because somebody asked for a visit.
    Called(CrawlUrl),
    /// Domains with many hosts, to be asked for absurd names.
    Suspects(Vec<Suspect>, Busy),
    /// Whether every name under the domain resolves; `None`: no answer.
    Probed {
        domain: String,
        wildcard: Option<bool>,
        busy: Busy,
    },
    /// What was asked is written down: the domain, if every name under it resolves.
    Wildcard {
        domain: String,
        found: Option<Wildcard>,
    },
    /// The replicas of the collection, after a change was written down.
    Replicas(Vec<ReplicaRow>),
    /// The disk is full, or is no longer.
    Paused(Option<String>),
    /// Our own machine failed: the crawl ends.
    Fault(StoreError),
    Stop,
}

/// To a gather thread.
pub struct GatherJob {
    pub assignment: Box<Assignment>,
    pub exchange: Exchange,
    pub subject: Subject,
    /// The site's clock as this visit left it.
    pub clock: SiteClock,
    pub busy: Busy,
}

pub enum Subject {
    /// robots.txt, or a hop on the way to it: archived, nothing gathered.
    Robots(Option<RobotsCopy>),
    Page {
        page: Box<Page>,
        after: PageAfter,
        stakes: Box<Stakes>,
    },
}

/// From a gather thread: an archived, gathered and judged answer.
pub struct Report {
    pub assignment: Box<Assignment>,
    pub subject: ReportSubject,
    pub location: RecordLocation,
    pub decisions: Vec<Decision>,
    pub clock: SiteClock,
    pub took: Duration,
    pub busy: Busy,
}

pub enum ReportSubject {
    /// With the hazards that were met on the way to it.
    Robots(Option<RobotsCopy>, Vec<Sighting>),
    Page(Box<PageReport>),
}

pub struct PageReport {
    pub page: Page,
    pub update: PageUpdate,
    pub decided: Decided,
    /// Candidates of the page's own site.
    pub internal: Vec<Candidate>,
    /// Pages of its own site that somebody does not want.
    pub barred: Vec<model::Fingerprint>,
    /// Candidates of other sites, inside the scope.
    pub external: Vec<Candidate>,
    /// Its parts, of any site: no links.
    pub requisites: Vec<Candidate>,
    /// The notices it leads to; of a notice, what it says.
    pub notice: SortedNotice,
    pub links: Vec<Link>,
    /// As the watch over the site's traps compares it.
    pub looks: Looks,
    /// The same content is there under another URL of the site.
    pub duplicate: bool,
    /// Where its text has enough words to say whose near duplicate it is.
    pub near: Option<Likeness>,
    /// Its words and numbers, where it can be said how many of them are new.
    pub gist: Option<Gist>,
    pub content: Content,
    /// It redirected to itself and set a cookie: worth one more try with the cookie.
    pub again: bool,
    pub lesson: Lesson,
    /// HTML that does not ask to be kept out of archives.
    pub html: bool,
    /// Hazards that were met in fetching and reading it.
    pub sightings: Vec<Sighting>,
}

/// What kind of thing a page is to its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// It was read.
    Text,
    /// Something to look at or to keep: a picture, a document.
    File,
    /// Text that is not read, for programs: calendars, data, styles. Traps have one for each of their pages, too.
    Data,
}

/// To the writer.
pub enum Order {
    CheckOut(CheckOut, Busy),
    Refill(SiteKey, Refill, Busy),
    Settle(Box<Settle>),
    /// Commit what waits now: nothing more is coming soon.
    Flush,
    /// The run's figures, for `status`, and the planner's state; the token lives until they are written.
    Heartbeat(serde_json::Value, Option<String>, Arc<()>),
    /// Pages to reckon prices from, at most so many.
    Sample(usize, Busy),
    /// Have the best pages of this spider due.
    Batch(SpiderId, Profit, Busy),
    /// What became of a request of another process.
    RequestDone(i64, Outcome),
    /// Write down what a command asks for, and answer its request.
    Apply(Box<Apply>),
    /// Write down whether every name under the domain resolves.
    Probed(String, Option<bool>),
    /// These traps of the site, by name, were none: what was left out for them is to be judged or read again, due
    /// since then.
    ClearTraps(String, Vec<(String, Stop)>, Timestamp),
    /// What limits and rules kept back is looked at again, where these numbers are others than before.
    Limits(Fingerprints),
}

impl Order {
    /// What the writer is doing with it.
    pub fn word(&self) -> &'static str {
        match self {
            Order::CheckOut(..) => "checking sites out",
            Order::Refill(..) => "fetching more pages of a site",
            Order::Settle(_) => "taking a check-in",
            Order::Flush => "committing check-ins",
            Order::Heartbeat(..) => "writing the run's figures",
            Order::Sample(..) => "drawing a sample of pages",
            Order::Batch(..) => "making a batch",
            Order::RequestDone(..) => "answering a request",
            Order::Apply(_) => "carrying out a command",
            Order::Limits(_) => "looking at what limits kept back",
            Order::ClearTraps(..) => "lifting a trap",
            Order::Probed(..) => "writing down what absurd names gave",
        }
    }
}

/// A command on its way to the database.
pub struct Apply {
    /// Who asked for it; nobody when the crawl itself has a reason.
    pub request: Option<i64>,
    pub command: Command,
    /// Seeds of it that the loop has refused.
    pub refused: Vec<RefusedSeed>,
    pub busy: Busy,
}

/// One page's (or one site's) share of a settlement.
#[derive(Default)]
pub struct Settle {
    pub deltas: Vec<SiteDelta>,
    pub candidates: Vec<Candidate>,
    pub decisions: Vec<Decision>,
    /// Hazards that were met.
    pub sightings: Vec<Sighting>,
    /// The links of the page that the first delta is about.
    pub links: Option<PageLinks>,
    /// The record that has its visit once this is committed.
    pub record: Option<RecordLocation>,
    pub pages: usize,
    /// Lives until this is committed: a piece of something that goes on then.
    pub piece: Option<Arc<()>>,
    pub busy: Busy,
}

impl Settle {
    /// There is nothing to be written down.
    pub fn is_empty(&self) -> bool {
        let Settle { deltas, candidates, decisions, sightings, links, record, .. } = self;
        let lists = deltas.is_empty() && candidates.is_empty() && decisions.is_empty();
        lists && sightings.is_empty() && links.is_none() && record.is_none()
    }
}

pub struct PageLinks {
    pub source: model::Fingerprint,
    pub site: model::SiteId,
    pub at: Timestamp,
    pub links: Vec<Link>,
}
