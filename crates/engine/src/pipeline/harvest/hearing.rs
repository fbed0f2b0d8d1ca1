//! Long sitemaps, heard in pieces: 50,000 URLs at once would hold up the loop, and then the writer, for a second.
//!
//! One piece goes to the writer at a time, at a turn of the loop, and the next when it is committed; so everybody else
//! has a turn in between, and the writer does nothing longer than a piece. The visit itself is settled with the last
//! one: a process that dies before has an archived record without a visit, which is adopted at the next start, and
//! admits what is known a second time, which changes nothing.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    vec::IntoIter,
};

use model::{Candidate, Signal};
use seeder::SortedNotice;

use super::Harvest;
use crate::pipeline::{
    messages::{Report, ReportSubject, Settle},
    notices,
};

/// URLs, or announcements, in a piece: about ten milliseconds of the loop, and as many of the writer.
const PIECE: usize = 500;

/// Notices that wait at once: up to 10 MB each. Where there are more, one is heard in one go, and everybody waits.
const WAITING_MAX: usize = 8;

/// The notices that wait to be heard, one after the other.
#[derive(Default)]
pub(super) struct Hearings {
    waiting: VecDeque<Hearing>,
    /// Alive while the last piece is not committed.
    piece: Weak<()>,
}

struct Hearing {
    report: Box<Report>,
    pages: IntoIter<Candidate>,
    signals: IntoIter<Signal>,
}

impl Harvest {
    /// A report has come: it is settled, or waits for what its notice says to be heard.
    pub(super) fn reported(&mut self, mut report: Box<Report>) {
        let has_room = self.state.hearings.waiting.len() < WAITING_MAX;
        let told = match &mut report.subject {
            ReportSubject::Page(page) => Some(&mut page.notice),
            ReportSubject::Robots(..) => None,
        };
        let is_long = |told: &&mut SortedNotice| told.pages.len() + told.signals.len() > PIECE;
        match told.filter(is_long).filter(|_| has_room) {
            None => self.gathered(*report),
            Some(told) => {
                let pages = std::mem::take(&mut told.pages).into_iter();
                let signals = std::mem::take(&mut told.signals).into_iter();
                self.state.hearings.waiting.push_back(Hearing { report, pages, signals });
            }
        }
    }

    /// The next piece, unless the writer still has the last. Says whether there is more to be done at once.
    pub(super) fn hear_on(&mut self) -> bool {
        if self.state.hearings.piece.strong_count() > 0 || self.state.paused.is_some() {
            return false;
        }
        let Some(mut hearing) = self.state.hearings.waiting.pop_front() else { return false };
        if hearing.is_short() || !self.hear_piece(&mut hearing) {
            self.gathered(hearing.rest());
        } else {
            self.state.hearings.waiting.push_front(hearing);
        }
        let hearings = &self.state.hearings;
        !hearings.waiting.is_empty() && hearings.piece.strong_count() == 0
    }

    /// `false` where the site is no longer in hand.
    fn hear_piece(&mut self, hearing: &mut Hearing) -> bool {
        let now = self.clock.now();
        let Some(held) = self.state.hand.get(&hearing.report.assignment.site.key) else {
            return false;
        };
        let (mut delta, mut share) = (held.delta(now), Settle::default());
        if hearing.pages.len() > 0 {
            for candidate in hearing.pages.by_ref().take(PIECE) {
                self.admit_announced(candidate, &mut delta, &mut share, now);
            }
        } else {
            let signals = hearing.signals.by_ref().take(PIECE).collect();
            delta.signals = notices::judged(signals, &held.habit);
        }
        if !delta.admitted.is_empty() || !delta.signals.is_empty() {
            share.deltas.insert(0, delta);
        }
        if share.is_empty() {
            return true;
        }
        let piece = Arc::new(());
        self.state.hearings.piece = Arc::downgrade(&piece);
        self.settle(Settle { piece: Some(piece), busy: self.clock.busy(), ..share });
        true
    }
}

impl Hearing {
    fn is_short(&self) -> bool {
        self.pages.len() + self.signals.len() <= PIECE
    }

    /// The report with what was not heard yet.
    fn rest(self) -> Report {
        let Hearing { mut report, pages, signals } = self;
        if let ReportSubject::Page(page) = &mut report.subject {
            page.notice.pages = pages.collect();
            page.notice.signals = signals.collect();
        }
        *report
    }
}
