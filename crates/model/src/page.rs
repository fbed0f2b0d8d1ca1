//! A page: one canonical URL of a site and what scheduling needs to know of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Condition, CrawlUrl, Fingerprint, Habit, RecordLocation, SignalSource, Timestamp, Visit,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpiderId(pub u32);

/// The closed list of states a page can be in. "Due" and "in hand" are not stored states: a page is due
/// when its time has come, and in hand while its site's lease holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum PageState {
    /// Found, not yet judged by the holder of its site's lease.
    Candidate = 0,
    /// Admitted, not yet answered.
    Known = 1,
    /// Answered with content at its last visit.
    Fetched = 2,
    /// Answered with a redirect.
    Redirected = 3,
    /// No usable answer at its last visit; will be tried again.
    Failing = 4,
    /// 404, 410 or given up: a tombstone, seldom asked again.
    Gone = 5,
    /// May not be visited now (robots.txt, a block): judged again when due.
    Excluded = 6,
}

impl PageState {
    pub const ALL: [PageState; 7] = [
        PageState::Candidate,
        PageState::Known,
        PageState::Fetched,
        PageState::Redirected,
        PageState::Failing,
        PageState::Gone,
        PageState::Excluded,
    ];

    pub fn from_stored(number: u8) -> Option<PageState> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub fn word(self) -> &'static str {
        match self {
            PageState::Candidate => "candidate",
            PageState::Known => "known",
            PageState::Fetched => "fetched",
            PageState::Redirected => "redirected",
            PageState::Failing => "failing",
            PageState::Gone => "gone",
            PageState::Excluded => "excluded",
        }
    }
}

/// A page as a lease hands it out.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    pub url: CrawlUrl,
    pub spider: SpiderId,
    pub state: PageState,
    /// Links followed from the site's entry page.
    pub level: u16,
    /// Redirects that led here in a row.
    pub hops: u8,
    /// A seed, or what a seed redirected to.
    pub seed: bool,
    pub due: Timestamp,
    /// Visits that failed in a row.
    pub failures: u16,
    pub terms: PageTerms,
    pub habit: Habit,
    /// What became of its internal pages since it was last seen, where the policy had them noted.
    pub children: Option<Children>,
    /// The version at hand, if there is one.
    pub last: Option<LastVersion>,
}

/// On what terms a page is in the collection, besides those of its spider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageTerms {
    /// A part of a page (image, style, script, font), kept so that the page can be shown: archived like a
    /// page, but counted and limited as none, and read only for its own parts.
    pub requisite: bool,
    /// It tells of other pages of its site (a sitemap, a feed, robots.rdf), and is read for that too. Mostly
    /// `requisite` as well: counted and limited as no page.
    pub notice: Option<SignalSource>,
    /// Links followed since the scope was left; 0 inside it. Of a requisite: styles passed through since
    /// its page. Of a notice: indexes passed through since robots.txt.
    pub outside: u8,
    /// The deepest level that may be reached from it, where the seed it came from has a depth of its own.
    pub depth: Option<u16>,
    /// The user wants it visited this often, whatever the policy says.
    pub period: Option<Duration>,
    /// Who led to its site, where it matters. Never stored with the page.
    pub kinship: Kinship,
    /// A number for the kind of page of its own site that first led to it (`seeder::traps::pattern`); 0: a seed,
    /// a sitemap, another site.
    pub via: u32,
}

/// How the page that a link stands on is related to the other site it leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kinship {
    /// Nobody asked; the site counts as found by others.
    #[default]
    Unsaid,
    /// Another site of the same registrable domain.
    Kin,
    /// Of another domain, and it is worth a note: every name under that of the link resolves.
    Stranger,
}

/// What the newest version left behind: enough to ask conditionally, to see a change, and to write a
/// `revisit` record that refers back to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastVersion {
    pub visited: Timestamp,
    pub condition: Condition,
    pub payload_digest: [u8; 20],
    pub content_hash: u64,
    pub text_hash: u64,
    /// Where the full record is and when it was made (a `revisit` refers to it, never to another revisit).
    pub record: Option<RecordLocation>,
    pub record_date: Timestamp,
    /// The record holds its payload itself, so that a `revisit` may refer to it.
    pub whole: bool,
    /// Of the decoded body.
    pub body_bytes: u64,
    /// Visits that saw it, as far as one row of history tells.
    pub seen: u32,
    /// It was a change, and nobody has seen it again yet.
    pub fresh: bool,
    /// The page has said 404 or 410 since.
    pub gone: bool,
    /// What is kept of its text to know the parts that differ at every visit ([`PageFacts::sketch`]); empty:
    /// there was something, which no longer holds.
    pub sketch: Option<Vec<u8>>,
    /// When the page says that it ends ([`PageFacts::unavailable_after`]).
    pub unavailable_after: Option<Timestamp>,
    /// The server has just said that it is still the one: the page is asked for whole, to see whether that
    /// is true. Never stored.
    pub audited: bool,
}

/// A page's internal links, counted by what is known of them since a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// That are pages of the collection.
    pub known: u32,
    /// Visited since, or announced to have changed.
    pub seen: u32,
    /// Those among them that were found changed, or are announced so and not looked at yet.
    pub changed: u32,
}

impl Children {
    /// Each is looked up when its parent's turn comes: 500 cost about a millisecond, and a page with more
    /// links says no more by them.
    pub const MAX: usize = 500;
}

/// What one visit (or a verdict without one) changes about a page.
#[derive(Clone, Debug)]
pub struct PageUpdate {
    pub fp: Fingerprint,
    pub state: PageState,
    /// When to come back; `None`: not by itself.
    pub due: Option<Timestamp>,
    pub failures: u16,
    pub visit: Option<Visit>,
    /// Present when something was learned, or reckoned anew.
    pub habit: Option<Habit>,
    /// The internal pages it links to, to be noted instead of those before, where the policy asks after them; at
    /// most [`Children::MAX`] are kept.
    pub children: Option<Vec<Fingerprint>>,
    /// Present when a new version was gathered.
    pub facts: Option<PageFacts>,
}

/// What was gathered from a version, beyond what scheduling needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageFacts {
    pub media_type: String,
    pub charset: String,
    pub title: String,
    pub description: String,
    pub language: String,
    pub canonical: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Target of a redirect.
    pub location: Option<String>,
    pub text_bytes: u64,
    pub links_internal: u32,
    pub links_external: u32,
    pub noindex: bool,
    pub noarchive: bool,
    /// When the page says that it ends: nobody wants it to be visited after that.
    #[serde(default)]
    pub unavailable_after: Option<Timestamp>,
    /// An earlier page of the same site with the same content.
    pub duplicate_of: Option<Fingerprint>,
    /// The first page of the same site whose text is nearly this one's.
    #[serde(default)]
    pub near_of: Option<Fingerprint>,
    /// Of a page that changed at several visits in a row: its lines and which of them are restless, as the
    /// gatherer packs them; a few kilobytes at most.
    #[serde(default)]
    pub sketch: Option<Vec<u8>>,
}
