//! The life of the copy we hold of an origin's robots.txt (RFC 9309 sections 2.3.1 and 2.4).
//!
//! | answer | meaning |
//! | --- | --- |
//! | 2xx | its rules, for 24 h |
//! | 301, 302, 303, 307, 308 | followed up to five times, also to other hosts; the rules bind the origin first asked |
//! | a sixth redirect, one that leads nowhere, other 3xx | as 4xx |
//! | 4xx but 429 | everything is allowed, for 24 h |
//! | 5xx, 429, no answer, an answer cut off | unreachable |
//! | 304 | the rules we hold are renewed for 24 h |
//! | our own proxy is down | as unreachable, asked again after a minute, and no time away is counted |
//! | a rule of ours forbids the request | as when the proxy is down, but asked again with the next page: that costs no request |
//!
//! While unreachable, rules read earlier stay in use however old they grow; without such rules nothing is
//! allowed, and after 30 days everything is (section 2.3.1.4). An earlier 4xx is not a copy: it gives no
//! right to go on. 429 is a 4xx by the letter; Google and Nutch take it as 5xx, and so do we, because
//! "slower" cannot mean "help yourself".

use std::time::Duration;

use model::{
    CrawlUrl, Exchange, FailureKind, FetchFailure, Origin, RobotsAnswer, RobotsCopy, Stopped,
    Timestamp,
    limits::{ROBOTS_LIFE, ROBOTS_REDIRECTS_MAX},
};

use super::lines;
use crate::failure::wait_while_down;

/// The first wait before an unreachable file is asked for again; then as long as it has been away.
pub const UNREACHABLE_FIRST_WAIT: Duration = Duration::from_secs(60);
/// Four questions a day do no harm and find a server that came back within the day. One that has been away for
/// longer than half a day is asked less and less ([`wait_while_down`]).
pub const UNREACHABLE_WAIT_MAX: Duration = Duration::from_secs(6 * 3600);
/// RFC 9309 section 2.3.1.4: "a reasonably long period of time (for example, 30 days)".
const UNREACHABLE_GIVEN_UP: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a fetch of the file leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The copy to hold and store from now on.
    Copy(RobotsCopy),
    /// Ask there; the answer still speaks for the origin first asked.
    FollowTo(CrawlUrl),
}

/// Judges one answer. `hops` is how many redirects led to it; `old` the copy held so far.
pub fn answered(
    old: Option<&RobotsCopy>,
    origin: &Origin,
    outcome: Result<&Exchange, &FetchFailure>,
    hops: u8,
    now: Timestamp,
) -> Next {
    let unreachable = |why: String| Next::Copy(unreachable(old, origin, why, now));
    let exchange = match outcome {
        Ok(exchange) => exchange,
        Err(failure) if failure.kind == FailureKind::Proxy => {
            return Next::Copy(not_reached(old, origin, &failure.detail, now));
        }
        Err(failure) if failure.refusal.is_some() => {
            let copy = not_reached(old, origin, &failure.detail, now);
            let expires = if is_unreachable(&copy) { now } else { copy.expires };
            return Next::Copy(RobotsCopy { expires, ..copy });
        }
        Err(failure) => return unreachable(failure.detail.clone()),
    };
    match exchange.status {
        200..=299 => match cut_off(exchange) {
            Some(why) => unreachable(why.to_owned()),
            None => Next::Copy(rules(origin, exchange, now)),
        },
        304 => match old {
            Some(old) if matches!(old.answer, RobotsAnswer::Rules(_)) => Next::Copy(RobotsCopy {
                fetched: now,
                expires: now.plus(ROBOTS_LIFE),
                unreachable_since: None,
                ..old.clone()
            }),
            _ => unreachable("status 304 without a copy it could confirm".to_owned()),
        },
        301 | 302 | 303 | 307 | 308 if hops < ROBOTS_REDIRECTS_MAX => {
            let location = exchange.headers.get("location");
            match location.and_then(|location| exchange.url.join(location).ok()) {
                Some(target) => Next::FollowTo(target),
                None => Next::Copy(unavailable(origin, exchange.status, now)),
            }
        }
        429 | 500.. => unreachable(format!("status {}", exchange.status)),
        status => Next::Copy(unavailable(origin, status, now)),
    }
}

/// Nothing of this origin may be visited until the copy expires.
pub fn is_unreachable(copy: &RobotsCopy) -> bool {
    matches!(copy.answer, RobotsAnswer::Unreachable { .. })
}

fn rules(origin: &Origin, exchange: &Exchange, now: Timestamp) -> RobotsCopy {
    let header = |name| exchange.headers.get(name).map(str::to_owned);
    RobotsCopy {
        origin: origin.clone(),
        answer: RobotsAnswer::Rules(lines::decode(&exchange.body)),
        fetched: now,
        expires: now.plus(ROBOTS_LIFE),
        unreachable_since: None,
        etag: header("etag"),
        last_modified: header("last-modified"),
    }
}

fn unavailable(origin: &Origin, status: u16, now: Timestamp) -> RobotsCopy {
    RobotsCopy {
        origin: origin.clone(),
        answer: RobotsAnswer::Unavailable { status },
        fetched: now,
        expires: now.plus(ROBOTS_LIFE),
        unreachable_since: None,
        etag: None,
        last_modified: None,
    }
}

fn unreachable(
    old: Option<&RobotsCopy>,
    origin: &Origin,
    why: String,
    now: Timestamp,
) -> RobotsCopy {
    let since = old.and_then(|old| old.unreachable_since).unwrap_or(now).min(now);
    let away = now.since(since);
    let copy = match old {
        Some(old) if matches!(old.answer, RobotsAnswer::Rules(_)) => old.clone(),
        _ if away >= UNREACHABLE_GIVEN_UP => unavailable(origin, 0, now),
        _ => {
            RobotsCopy { answer: RobotsAnswer::Unreachable { why }, ..unavailable(origin, 0, now) }
        }
    };
    let often = away.clamp(UNREACHABLE_FIRST_WAIT, UNREACHABLE_WAIT_MAX);
    let wait = often.max(wait_while_down(away).unwrap_or_default());
    RobotsCopy { expires: now.plus(wait), unreachable_since: Some(since), ..copy }
}

/// Our own proxy is down: the server may well be there. The time it has been away does not begin, for
/// at its end everything would be allowed that we never asked about.
fn not_reached(old: Option<&RobotsCopy>, origin: &Origin, why: &str, now: Timestamp) -> RobotsCopy {
    let copy = match old {
        Some(old) if matches!(old.answer, RobotsAnswer::Rules(_)) => old.clone(),
        _ => RobotsCopy {
            answer: RobotsAnswer::Unreachable { why: why.to_owned() },
            ..unavailable(origin, 0, now)
        },
    };
    RobotsCopy { expires: now.plus(UNREACHABLE_FIRST_WAIT), ..copy }
}

/// Why a 2xx body is not the file: then it is no answer at all, for the missing end may forbid what the
/// beginning allows. Cut at our own size limit it is one (section 2.5).
fn cut_off(exchange: &Exchange) -> Option<&'static str> {
    match exchange.stopped? {
        Stopped::Length => None,
        Stopped::Time => Some("the answer took too long"),
        Stopped::Disconnect => Some("the answer was cut off"),
        Stopped::Coding => Some("the answer's content coding is broken"),
        Stopped::Type | Stopped::Announced => Some("the answer's body was not read"),
    }
}
