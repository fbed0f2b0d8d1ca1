//! Concluding: what the answer to a visit changes about page, robots.txt, clock and limits.

use std::time::Duration;

use model::{
    Exchange, FailureKind, FetchFailure, Fingerprint, Origin, RobotsCopy, SiteKey, Stopped,
    Timestamp,
};

use super::{
    Note, Released, Workbench,
    bench::{Errand, Flight},
    pace,
};
use crate::{
    failure::{AfterVisit, PageAfter, after_visit},
    robots::{self, Next},
};

impl Workbench {
    pub(super) fn judge(
        &self,
        errand: &Errand,
        answer: Result<&Exchange, &FetchFailure>,
        now: Timestamp,
    ) -> AfterVisit {
        let outcome = answer.map(|exchange| exchange.status).map_err(|failure| failure.kind);
        let failures = match errand {
            Errand::Robots { .. } => 0,
            Errand::Page { failures, .. } => *failures,
        };
        after_visit(outcome, failures, now)
    }

    pub(super) fn retry_after(
        &self,
        answer: Result<&Exchange, &FetchFailure>,
        now: Timestamp,
        notes: &mut Vec<Note>,
    ) -> Option<Duration> {
        let exchange = answer.ok()?;
        let asked = pace::retry_after(exchange.status, &exchange.headers, now)?;
        let kept = asked.min(self.options.retry_after_max);
        if kept < asked {
            notes.push(Note::RetryAfterCapped { asked, kept });
        }
        Some(kept)
    }

    pub(super) fn conclude(
        &mut self,
        flight: &Flight,
        answer: Result<&Exchange, &FetchFailure>,
        page_after: PageAfter,
        mut notes: Vec<Note>,
        now: Timestamp,
    ) -> Released {
        let key = &flight.site.key;
        let (mut robots, mut page) = (None, None);
        match &flight.errand {
            Errand::Robots { origin, hops } => {
                robots = self.robots_answered(key, origin, *hops, answer, now, &mut notes);
            }
            Errand::Page { fp, reserved, .. } => {
                page = Some(page_after);
                self.page_answered(key, *fp, *reserved, answer);
                if *reserved {
                    self.wake_those_without_slot(now);
                }
            }
        }
        let clock = self.clock_of(key, now);
        Released { site: flight.site.clone(), clock, robots, page, notes }
    }

    pub(super) fn robots_answered(
        &mut self,
        key: &SiteKey,
        origin: &Origin,
        hops: u8,
        answer: Result<&Exchange, &FetchFailure>,
        now: Timestamp,
        notes: &mut Vec<Note>,
    ) -> Option<RobotsCopy> {
        let seat = self.seats.get_mut(key);
        if answer.is_err_and(|failure| failure.kind == FailureKind::Aborted) {
            seat?.hunt_over(origin);
            return None;
        }
        let old = seat.as_ref().and_then(|seat| seat.copy_of(origin));
        match robots::answered(old, origin, answer, hops, now) {
            Next::FollowTo(url) => {
                seat?.hunt(origin, url, hops + 1, false);
                None
            }
            Next::Copy(copy) => {
                if let Some(seat) = seat {
                    seat.robots_read(origin, copy.clone(), &self.options.token);
                    let (gap, delay) = (seat.gap(&self.options), seat.crawl_delay());
                    let max = self.options.crawl_delay_max;
                    if let Some(asked) = delay.filter(|delay| *delay > max && !max.is_zero()) {
                        notes.push(Note::CrawlDelayCapped { asked, kept: max });
                    }
                    self.host(key).gap = gap;
                }
                Some(copy)
            }
        }
    }

    pub(super) fn page_answered(
        &mut self,
        key: &SiteKey,
        fp: Fingerprint,
        reserved: bool,
        answer: Result<&Exchange, &FetchFailure>,
    ) {
        let content = answer.is_ok_and(has_content);
        let counts = u64::from(reserved && content);
        self.pages_reserved -= u64::from(reserved);
        self.pages_fetched += counts;
        if let Some(seat) = self.seats.get_mut(key) {
            // The seat may be of a later lease than the visit: then the slot is not its own.
            seat.reserved = seat.reserved.saturating_sub(u64::from(reserved));
            seat.fetched += counts;
            if answer.is_err() {
                seat.frontier.gathered(fp);
            }
        }
    }

    pub(super) fn wake_those_without_slot(&mut self, now: Timestamp) {
        for site in std::mem::take(&mut self.wait_for_slot) {
            if let Some(seat) = self.seats.get_mut(&site) {
                seat.waits_for_slot = false;
                self.reschedule(&site, now);
            }
        }
    }
}

/// An answer that makes a page of a URL never fetched: an unwanted type or length was not read, so it is
/// none, and a 304 to a question without a condition brings nothing.
fn has_content(exchange: &Exchange) -> bool {
    matches!(exchange.status, 200..=299)
        && !matches!(exchange.stopped, Some(Stopped::Type | Stopped::Announced))
}
