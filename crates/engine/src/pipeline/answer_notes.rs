//! What every answer adds to its settlement that takes no lease to know, be it of a visit or of a
//! record that is adopted after a crash: there is one function for both.

use std::sync::{Mutex, PoisonError};

use model::{Sighting, SiteDelta};

use super::{canonicals::Canonicals, messages::PageReport, trail::Trail};

/// What answers have shown so far that matters for those to come; lives as long as the process.
#[derive(Default)]
pub struct AnswerNotes(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    trail: Trail,
    canonicals: Canonicals,
}

impl AnswerNotes {
    /// Hazards that the answer shows, by itself and with others, and whether it counts as a
    /// duplicate.
    pub fn add(
        &self,
        report: &mut PageReport,
        delta: &mut SiteDelta,
        sightings: &mut Vec<Sighting>,
    ) {
        let PageReport { page, update, links, again, duplicate, .. } = &*report;
        // A part of a page that others have too is no duplicate page.
        delta.duplicates += u64::from(*duplicate && !page.terms.requisite);
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sightings.extend(notes.trail.walk(page, links, *again));
        sightings.extend(notes.canonicals.note(page, update));
        sightings.append(&mut report.sightings);
    }
}
