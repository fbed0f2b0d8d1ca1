//! The politeness clock of one host: every signal joined into one next polite moment.
//!
//! The moment is the maximum of: when the server had the last request plus the gap (courtesy pause or
//! `Crawl-delay`), the end of the last answer plus a multiple of the time it took, the back-off's wait after it,
//! and `Retry-After`. When the server had it is not when it was sent: see `lateness.rs`.

use std::time::Duration;

use model::{Headers, SiteClock, Timestamp, limits::CLOCK_LOAD_MAX};

use super::{Options, lateness::Lateness};
use crate::failure::{SiteStep, TROUBLE_STEPS_MAX};

#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// When the last visit began; once it is answered, by when the server had the request.
    last_start: Option<Timestamp>,
    /// The gap in force when it started: it holds until the next, even if its spider has nothing more here.
    last_gap: Duration,
    /// End of the rest earned by the last answer: its length, and the back-off.
    rest_until: Timestamp,
    /// `Retry-After`, and what remained of the clock when it was stored.
    frozen_until: Timestamp,
    backoff: u8,
    /// Good answers in a row since the last step.
    good: u8,
    last_response: Duration,
    lateness: Lateness,
}

/// What a visit showed of its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// By when the server had the request ([`Pace::arrived`]).
    pub arrived: Timestamp,
    pub response: Duration,
    pub step: SiteStep,
    pub retry_after: Option<Duration>,
}

impl Pace {
    /// What is left of a stored clock, joined with what this process already knows of the host.
    pub fn restore(&mut self, clock: &SiteClock, now: Timestamp) {
        let remaining = clock.remaining.saturating_sub(now.since(clock.saved)).min(CLOCK_LOAD_MAX);
        self.frozen_until = self.frozen_until.max(now.plus(remaining));
        self.backoff = self.backoff.max(clock.backoff);
        self.last_response = self.last_response.max(clock.last_response);
        if clock.interrupted {
            // Nobody knows when its last visit was: perhaps just now.
            self.last_start = Some(now);
        }
    }

    pub fn moment(&self, gap: Duration) -> Timestamp {
        let gap = gap.max(self.last_gap);
        let started = self.last_start.map_or(Timestamp(i64::MIN), |start| start.plus(gap));
        started.max(self.rest_until).max(self.frozen_until)
    }

    pub fn started(&mut self, gap: Duration, now: Timestamp) {
        (self.last_start, self.last_gap) = (Some(now), gap);
    }

    /// By when the server had a request that was sent at `sent` and answered `first_byte` later.
    pub fn arrived(&mut self, sent: Timestamp, first_byte: Duration, gap: Duration) -> Timestamp {
        sent.plus(self.lateness.of(first_byte, gap))
    }

    /// `own`: a site that wants no pauses ([`Options::with_pause`]).
    pub fn ended(&mut self, visit: Ended, own: bool, options: &Options, now: Timestamp) {
        self.last_start = self.last_start.max(Some(visit.arrived.min(now)));
        self.last_response = visit.response;
        self.step(visit.step, own, options);
        let factor = if own { 0.0 } else { options.response_factor };
        let rest = Duration::try_from_secs_f64(visit.response.as_secs_f64() * factor)
            .unwrap_or(options.response_rest_max)
            .min(options.response_rest_max);
        self.rest(rest, options, now);
        if let Some(wait) = visit.retry_after {
            self.frozen_until = self.frozen_until.max(now.plus(wait));
        }
    }

    /// A visit that failed before it began (its name could not be resolved).
    pub fn never_began(&mut self, step: SiteStep, own: bool, options: &Options, now: Timestamp) {
        self.step(step, own, options);
        self.rest(Duration::ZERO, options, now);
    }

    pub fn stored(&self, gap: Duration, now: Timestamp) -> SiteClock {
        SiteClock {
            remaining: self.moment(gap).since(now),
            saved: now,
            backoff: self.backoff,
            last_response: self.last_response,
            interrupted: false,
        }
    }

    fn rest(&mut self, rest: Duration, options: &Options, now: Timestamp) {
        let rest = rest.max(options.backoff_wait(self.backoff));
        self.rest_until = self.rest_until.max(now.plus(rest));
    }

    fn step(&mut self, step: SiteStep, own: bool, options: &Options) {
        let raise = |backoff: u8, max: u8| backoff.max(backoff.saturating_add(1).min(max));
        match step {
            SiteStep::Keep => {}
            SiteStep::Told => self.backoff = raise(self.backoff, options.backoff_step_max()),
            SiteStep::Trouble if own || !options.backoff_on_trouble => {}
            SiteStep::Trouble => self.backoff = raise(self.backoff, TROUBLE_STEPS_MAX),
            SiteStep::Ease if self.backoff > 0 => {
                self.good += 1;
                if self.good >= options.backoff_recovery {
                    self.good = 0;
                    self.backoff -= 1;
                }
                return;
            }
            SiteStep::Ease => {}
        }
        self.good = 0;
    }
}

/// Seconds, or a date; a date is measured against the server's own `Date`, so that its clock may be wrong.
pub fn retry_after(status: u16, headers: &Headers, now: Timestamp) -> Option<Duration> {
    if status < 300 {
        return None;
    }
    let value = headers.get("retry-after")?.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More than a number holds is still a wish for a long pause.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let server_now = headers.get("date").and_then(|date| httpdate::parse_http_date(date).ok());
    let now = server_now.unwrap_or(std::time::UNIX_EPOCH + now.since(Timestamp::ZERO));
    Some(until.duration_since(now).unwrap_or_default())
}
