//! The words everybody uses: pages, sites, visits, and the seams between the rooms of the house.
//!
//! No I/O and no runtime live here. Start with [`CrawlUrl`] (the only door for URLs), then [`Page`] and
//! [`Frontier`] (what is known and how it is lent out), then [`Exchange`] (what went over the wire).

mod archive;
mod candidate;
mod cidr;
mod clock;
mod error;
mod fetch;
mod frontier;
mod gate;
mod habit;
mod hazard;
mod headers;
pub mod iso;
pub mod limits;
mod link;
mod page;
mod ports;
mod printable;
mod resolve;
mod robots;
mod site;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod trap;
mod url;
mod visit;
mod word_bits;

pub use archive::{Archive, ArchiveEntry, EntryKind, Mark, RecordId, RecordLocation, RefersTo};
pub use candidate::{Candidate, Refusal, RefusalReason, Verdict};
pub use cidr::{Cidr, CidrError};
pub use clock::{BoxFuture, Busy, Clock, WallStep};
pub use error::StoreError;
pub use fetch::{
    Condition, Exchange, FailureKind, Fetch, FetchFailure, FetchLimits, FetchRequest, Protocol,
    Purpose, Stopped, Timing,
};
pub use frontier::{
    CheckOut, Counts, Decision, Frontier, Milestone, NewPage, NextDue, Refill, Release, Settlement,
    SiteDelta, SiteLease, Spent, Unpaid,
};
pub use gate::{Gate, OpenGate, TypeGate};
pub use habit::{Audit, Habit, Signal, SignalSource, SiteHabit, Trust};
pub use hazard::{Hazard, Measure, Met, Sighting};
pub use headers::Headers;
pub use link::{Link, LinkKind, LinkRel};
pub use page::{
    Children, Kinship, LastVersion, Page, PageFacts, PageState, PageTerms, PageUpdate, SpiderId,
};
pub use ports::is_bad_port;
pub use printable::{fit, is_unsafe, printable, printable_lines};
pub use resolve::{Resolution, Resolve};
pub use robots::{RobotsAnswer, RobotsCopy};
pub use site::{Origin, Site, SiteAddress, SiteClock, SiteCounters, SiteId, SiteKey};
pub use time::Timestamp;
pub use trap::{
    Down, Family, IdleToken, KindVotes, Looks, MissingPage, NameNote, NearRun, PatternNote,
    SiteTraps, Stop, TokenPlace, UrlTraps, WordLooks,
};
pub use url::{CrawlUrl, Fingerprint, NormalForm, UrlBase, UrlError};
pub use visit::{Change, Visit};
pub use word_bits::WordBits;
