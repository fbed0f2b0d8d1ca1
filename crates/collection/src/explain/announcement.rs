//! What sites have announced of a page, and how far that is believed.

use model::{Page, SignalSource, SiteHabit, Timestamp};
use serde::Serialize;

/// The newest announcement of a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Announcement {
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
    /// No visit has looked since.
    pub open: bool,
    pub sources: Vec<SourceTrust>,
}

/// How true the announcements of a source have been on the site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceTrust {
    pub source: SignalSource,
    pub believed: bool,
    /// Announcements that visits have looked at, and those that were true. Visits to pages that change often
    /// count for less, so these are no whole numbers.
    pub looked_at: f32,
    pub hits: f32,
}

impl Announcement {
    pub(super) fn of(page: &Page, site: &SiteHabit) -> Option<Announcement> {
        let at = page.habit.announced?;
        let open = page.habit.signals > 0;
        let spoke = |source: &SignalSource| page.habit.sources & source.bit() != 0;
        let sources = SignalSource::ALL.into_iter().filter(|source| !open || spoke(source));
        let trust = |source| {
            let trust = site.trust(source);
            let believed = manager::believed(trust);
            SourceTrust { source, believed, looked_at: trust.signals, hits: trust.hits }
        };
        let is_known = |trust: &SourceTrust| open || trust.looked_at > 0.0;
        let sources = sources.map(trust).filter(is_known).collect();
        Some(Announcement { at, open, sources })
    }
}
