//! Concluding: what the answer to a visit changes about page, robots.txt, clock and limits.

use std::time::Duration;

use model::{
    Exchange, FailureKind, FetchFailure, Origin, RobotsCopy, SiteKey, Spent, Stopped, Timestamp,
};

use super::{
    Note, Released, Workbench,
    bench::{Errand, Flight},
    entrance::Entrance,
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
            Errand::Robots { .. } | Errand::Login => 0,
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
            Errand::Login => {
                let lane = self.seats.get_mut(key);
                let lane = lane.and_then(|seat| seat.frontier.lane_mut(flight.payer.spider));
                if let Some(lane) = lane.filter(|lane| lane.entrance == Entrance::Out) {
                    lane.entrance = Entrance::Shut;
                }
            }
            Errand::Page { fp, .. } => {
                page = Some(page_after);
                self.settle(flight, answer);
                if answer.is_err()
                    && let Some(seat) = self.seats.get_mut(key)
                {
                    seat.frontier.gathered(*fp);
                }
            }
        }
        let seat = self.seats.get_mut(key);
        if let Some((seat, address)) = seat.and_then(|s| s.waited_for.take().map(|at| (s, at))) {
            seat.told_of_address = true;
            notes.push(Note::SharedAddress { address });
        }
        let clock = self.clock_of(key, now);
        let worked = Duration::ZERO;
        Released { site: flight.site.clone(), clock, robots, page, worked, notes }
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
        let comes_to_nothing = [FailureKind::Aborted, FailureKind::StaleConnection];
        if answer.is_err_and(|failure| comes_to_nothing.contains(&failure.kind)) {
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
                    // Where the file was redirected to says nothing of the origin's own address.
                    let refusal = answer.err().and_then(|failure| failure.refusal.clone());
                    if let Some(refusal) = refusal.filter(|_| hops == 0) {
                        seat.refuse(origin, *refusal);
                    }
                    let max = self.options.crawl_delay_max;
                    let delay = seat.crawl_delay();
                    if let Some(asked) = delay.filter(|delay| *delay > max && !max.is_zero()) {
                        notes.push(Note::CrawlDelayCapped { asked, kept: max });
                    }
                    self.refresh(key);
                }
                Some(copy)
            }
        }
    }

    /// What a page's visit reserved goes back, what it brought is entered.
    fn settle(&mut self, flight: &Flight, answer: Result<&Exchange, &FetchFailure>) {
        let Some(share) = flight.share else { return };
        let content = answer.is_ok_and(has_content);
        let bytes = match answer {
            Ok(exchange) => (exchange.response_head.len() + exchange.wire_body.len()) as u64,
            // Where not even the head fitted into the last of a limit, that is used up, or every page to come
            // would be tried in vain.
            Err(failure) => failure.wire_bytes.min(share.bytes),
        };
        let pages = if content { share.pages } else { 0 };
        let drawn = Spent { pages, bytes };
        self.books.settle(&flight.payer, share, drawn);
        let host = self.hosts.get_mut(&flight.host).expect("a host with visits is never forgotten");
        host.account.settle(share, drawn);
    }
}

/// An answer that makes a page of a URL never fetched: an unwanted type or length was not read, so it is
/// none, and a 304 to a question without a condition brings nothing.
fn has_content(exchange: &Exchange) -> bool {
    matches!(exchange.status, 200..=299)
        && !matches!(exchange.stopped, Some(Stopped::Type | Stopped::Announced))
}
