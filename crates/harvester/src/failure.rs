//! The one table from class of outcome to retries, waits and back-off.
//!
//! Two questions are answered after each visit: what becomes of the page, and what the site's clock makes
//! of it. The page's retries are the harvester's; once they are used up the manager decides when to come
//! back. Figures after BUbiNG's and Heritrix's tables, the reasons beside each row.

use std::time::Duration;

use model::{FailureKind, PageState, Timestamp};

/// How one class of outcome is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// Tries after the first before the page is given up.
    pub retries: u16,
    /// Before the first retry; then `growth` times the wait before.
    pub first_wait: Duration,
    pub growth: u32,
    pub site: SiteStep,
    /// The page's state after the last try.
    pub state: PageState,
}

/// What the site's back-off makes of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteStep {
    /// A good answer: recovers slowly.
    Ease,
    /// Says nothing about the server's health.
    Keep,
    /// The server told us to slow down: doubles up to the ceiling, also where all pauses are zero.
    Told,
    /// The server struggles: doubles up to [`TROUBLE_STEPS_MAX`].
    Trouble,
}

/// Doublings that 5xx, timeouts and broken connections alone can bring: with a first wait of 5 s that is
/// 160 s. One broken script among healthy pages must not slow a site to a page an hour; "slow down" may.
pub const TROUBLE_STEPS_MAX: u8 = 6;

/// Before a page is asked for again through a proxy that was down. The proxy stands between us and
/// everybody, so no page or site is blamed, however often it happens; five minutes cost it little and
/// find it soon after it is back.
pub const PROXY_WAIT: Duration = Duration::from_secs(300);

/// What becomes of a page after a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAfter {
    /// An answer to work with: content, not modified, a redirect.
    Fine,
    /// Failing; try again at this moment.
    Retry { at: Timestamp },
    /// No more tries of ours: settle with this state, the manager says when to come back.
    GiveUp { state: PageState },
    /// The request may be lost with the connection it was sent on: the page stays as it was and is asked for
    /// again at the site's next turn. The lost request was a visit.
    Again,
    /// Nothing was learnt (we stopped ourselves): the page stays as it was.
    Unchanged,
    /// Nothing was learnt, since our own way out is closed: the page stays as it was and is asked for
    /// again at this moment.
    Later { at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterVisit {
    pub page: PageAfter,
    pub site: SiteStep,
}

/// `outcome`: the status, or why there is none. `failures`: visits of this page that failed in a row
/// before this one.
pub fn after_visit(outcome: Result<u16, FailureKind>, failures: u16, now: Timestamp) -> AfterVisit {
    if let Ok(100..=399) = outcome {
        return AfterVisit { page: PageAfter::Fine, site: SiteStep::Ease };
    }
    if outcome == Err(FailureKind::Aborted) {
        return AfterVisit { page: PageAfter::Unchanged, site: SiteStep::Keep };
    }
    if outcome == Err(FailureKind::StaleConnection) {
        // It ends: after one the fetcher keeps no connection to the server for a while, so the next request
        // has one of its own, and what happens there is the server's.
        return AfterVisit { page: PageAfter::Again, site: SiteStep::Keep };
    }
    if outcome == Err(FailureKind::Proxy) {
        let page = PageAfter::Later { at: now.plus(PROXY_WAIT) };
        return AfterVisit { page, site: SiteStep::Keep };
    }
    let row = treatment(outcome);
    let page = if failures < row.retries {
        PageAfter::Retry { at: now.plus(wait(&row, failures)) }
    } else {
        PageAfter::GiveUp { state: row.state }
    };
    AfterVisit { page, site: row.site }
}

/// The table. Statuses below 400 never get here.
fn treatment(outcome: Result<u16, FailureKind>) -> Treatment {
    use FailureKind::*;
    use PageState::{Failing, Gone};
    use SiteStep::{Ease, Keep, Told, Trouble};
    let row = |retries, first_wait, growth, site, state| Treatment {
        retries,
        first_wait: Duration::from_secs(first_wait),
        growth,
        site,
        state,
    };
    match outcome {
        // Clear words about this page: asking again at once brings the same.
        Ok(404 | 410) => row(0, 0, 1, Ease, Gone),
        // The server gave up waiting, or asks for another connection: passes quickly.
        Ok(408 | 421 | 425) => row(3, 30, 4, Trouble, Failing),
        // The site's affair, not the page's: its clock waits, the page asks again behind it.
        Ok(429) => row(8, 5, 2, Told, Failing),
        Ok(503) => row(5, 5, 2, Told, Failing),
        // Not for us, or not so: an answer, and a healthy server.
        Ok(400..=499) => row(0, 0, 1, Ease, Gone),
        // Often a bug behind this one page, sometimes a server in trouble.
        Ok(_) => row(3, 60, 4, Trouble, Failing),
        // The name was given up, or a name server erred: worth one more look, not more.
        Err(DnsUnknown) => row(1, 3600, 1, Keep, Gone),
        Err(DnsTrouble) => row(4, 60, 4, Trouble, Failing),
        // Our own guard: only a new address or configuration changes it.
        Err(AddressRefused) => row(0, 0, 1, Keep, Failing),
        // A server being restarted comes back within minutes.
        Err(ConnectRefused) => row(3, 60, 5, Trouble, Failing),
        Err(ConnectTimeout | Timeout | Reset) => row(3, 60, 4, Trouble, Failing),
        // Certificates and protocols are not mended within the hour; a handshake can break by chance.
        Err(Tls) => row(1, 600, 1, Keep, Failing),
        Err(BadHttp) => row(1, 300, 1, Keep, Failing),
        // Handled before the table: we stopped ourselves, our proxy is down, or a kept connection was not kept.
        Err(Aborted | Proxy | StaleConnection) => row(u16::MAX, 0, 1, Keep, Failing),
    }
}

/// What one outcome says of the server behind a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Up,
    Down,
    /// It may be either.
    Unsaid,
}

pub fn health(outcome: Result<u16, FailureKind>) -> Health {
    use FailureKind::*;
    match outcome {
        // There, and asking for patience.
        Ok(429) => Health::Unsaid,
        Ok(500..) => Health::Down,
        Ok(_) => Health::Up,
        Err(DnsUnknown | DnsTrouble | ConnectRefused | ConnectTimeout | Timeout | Reset | Tls) => {
            Health::Down
        }
        Err(BadHttp | AddressRefused | Proxy | Aborted | StaleConnection) => Health::Unsaid,
    }
}

/// How long a site is left alone that has been silent for this long: half of that, and at most
/// [`DOWN_WAIT_MAX`]. Below an hour pages' own retries and the back-off do.
pub fn wait_while_down(away: Duration) -> Option<Duration> {
    const SILENT_MIN: Duration = Duration::from_secs(3600);
    (away >= SILENT_MIN).then(|| (away / 2).min(DOWN_WAIT_MAX))
}

/// Once a month, counting the time until a page of it has its turn again (a week, by the default budget): a site
/// that comes back is found within that.
pub const DOWN_WAIT_MAX: Duration = Duration::from_secs(24 * 24 * 3600);

fn wait(row: &Treatment, failures: u16) -> Duration {
    /// A page's retries stay within a day; longer waits are the manager's.
    const RETRY_MAX: Duration = Duration::from_secs(24 * 3600);
    let factor = row.growth.checked_pow(u32::from(failures)).unwrap_or(u32::MAX);
    row.first_wait.saturating_mul(factor).min(RETRY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(5_000_000);

    #[test]
    fn answers_below_400_are_fine_and_ease_the_site() {
        for status in [200, 204, 206, 301, 304, 308] {
            let after = after_visit(Ok(status), 3, NOW);
            assert_eq!(after, AfterVisit { page: PageAfter::Fine, site: SiteStep::Ease });
        }
    }

    #[test]
    fn a_missing_page_is_gone_at_once_and_speaks_well_of_its_site() {
        for status in [404, 410] {
            let after = after_visit(Ok(status), 0, NOW);
            assert_eq!(after.page, PageAfter::GiveUp { state: PageState::Gone });
            assert_eq!(after.site, SiteStep::Ease);
        }
    }

    #[test]
    fn slow_down_belongs_to_the_site() {
        for status in [429, 503] {
            assert_eq!(after_visit(Ok(status), 0, NOW).site, SiteStep::Told);
        }
        assert_eq!(after_visit(Ok(500), 0, NOW).site, SiteStep::Trouble);
        assert_eq!(after_visit(Err(FailureKind::Timeout), 0, NOW).site, SiteStep::Trouble);
    }

    #[test]
    fn waits_grow_until_the_tries_are_used_up() {
        let at = |failures| after_visit(Ok(500), failures, NOW).page;
        let retry = |seconds| PageAfter::Retry { at: NOW.plus(Duration::from_secs(seconds)) };
        assert_eq!([at(0), at(1), at(2)], [retry(60), retry(240), retry(960)]);
        assert_eq!(at(3), PageAfter::GiveUp { state: PageState::Failing });
    }

    #[test]
    fn stopping_leaves_no_trace_on_page_or_site() {
        let after = after_visit(Err(FailureKind::Aborted), 9, NOW);
        assert_eq!(after, AfterVisit { page: PageAfter::Unchanged, site: SiteStep::Keep });
    }

    #[test]
    fn a_request_lost_with_a_kept_connection_is_repeated_and_blames_nobody() {
        for failures in [0, 5, u16::MAX] {
            let after = after_visit(Err(FailureKind::StaleConnection), failures, NOW);
            assert_eq!(after, AfterVisit { page: PageAfter::Again, site: SiteStep::Keep });
        }
        assert_eq!(health(Err(FailureKind::StaleConnection)), Health::Unsaid);
    }

    #[test]
    fn a_proxy_that_is_down_blames_neither_page_nor_site_however_long() {
        for failures in [0, 5, u16::MAX] {
            let after = after_visit(Err(FailureKind::Proxy), failures, NOW);
            assert_eq!(after.page, PageAfter::Later { at: NOW.plus(PROXY_WAIT) });
            assert_eq!(after.site, SiteStep::Keep);
        }
    }

    #[test]
    fn a_silent_site_is_asked_ever_less_often_and_at_least_once_a_month() {
        let day = Duration::from_secs(24 * 3600);
        let (mut away, mut waits) = (Duration::from_secs(3600), Vec::new());
        while away < day * 365 {
            let wait = wait_while_down(away).expect("silent for an hour and more");
            waits.push(wait);
            away += wait;
        }
        assert!(waits.is_sorted() && waits.len() < 35, "{}", waits.len());
        assert_eq!(waits.last(), Some(&DOWN_WAIT_MAX));
        assert_eq!(wait_while_down(Duration::from_secs(3599)), None);
        assert_eq!(health(Ok(404)), Health::Up);
        assert_eq!(health(Ok(503)), Health::Down);
        assert_eq!(health(Err(FailureKind::Proxy)), Health::Unsaid, "our own trouble");
    }

    #[test]
    fn every_outcome_ends_after_finitely_many_tries() {
        let ours = [FailureKind::Aborted, FailureKind::Proxy, FailureKind::StaleConnection];
        let kinds = FailureKind::ALL.into_iter().filter(|kind| !ours.contains(kind)).map(Err);
        for outcome in kinds.chain((400..1000).map(Ok)) {
            let tries = (0..20).position(|failures| {
                matches!(after_visit(outcome, failures, NOW).page, PageAfter::GiveUp { .. })
            });
            assert!(tries.is_some(), "{outcome:?}");
            assert!(matches!(after_visit(outcome, u16::MAX, NOW).page, PageAfter::GiveUp { .. }));
        }
    }
}
