//! Counters: what a row of pages adds to those of the collection, of its site and of its spider.
//!
//! They follow from each row's standing before and after a change, so they cannot drift. Requisites are
//! counted apart and are in no counter of pages.

use std::collections::BTreeMap;

use model::{Counts, PageState, SiteCounters, SiteId, SpiderId, Timestamp};

use super::{rows::Fault, sql_frontier::Work};
use crate::sql::{self, Sql, params};

/// All about a row that counters go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub spider: SpiderId,
    pub requisite: bool,
    pub state: PageState,
    /// Answered with content at least once.
    pub fetched: bool,
}

/// `pages.turn` of a page of the second queue, …
pub(super) const SEEN_AGAIN: i64 = 2;
/// … and of one that has answered, but never with content.
pub(super) const ANSWERED: i64 = 4;

/// What rows add to the counters of a site or a spider, or by how much that has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub known: i64,
    pub waiting: i64,
    pub fetched: i64,
    pub failed: i64,
    pub requisites: i64,
    pub visits: i64,
    pub bytes: i64,
}

impl Standing {
    /// The column `turn` of the row.
    pub fn turn(self) -> u8 {
        let answered = matches!(self.state, PageState::Redirected | PageState::Gone);
        match (self.fetched, self.requisite) {
            (true, _) => SEEN_AGAIN as u8,
            (false, true) if answered => SEEN_AGAIN as u8,
            (false, false) if answered => ANSWERED as u8,
            (false, true) => 3,
            (false, false) => u8::from(self.state != PageState::Candidate),
        }
    }

    fn share(self) -> Share {
        let page = |holds: bool| i64::from(holds && !self.requisite);
        Share {
            known: page(is_known(self.state)),
            waiting: page(self.state == PageState::Known),
            fetched: page(self.fetched),
            failed: page(self.state == PageState::Failing),
            requisites: i64::from(self.requisite && is_known(self.state)),
            ..Share::default()
        }
    }
}

impl Share {
    fn add(&mut self, other: Share, sign: i64) {
        self.known += sign * other.known;
        self.waiting += sign * other.waiting;
        self.fetched += sign * other.fetched;
        self.failed += sign * other.failed;
        self.requisites += sign * other.requisites;
        self.visits += sign * other.visits;
        self.bytes += sign * other.bytes;
    }

    pub fn apply(self, counters: &mut SiteCounters) {
        let Share { known, waiting, fetched, failed, requisites, visits, bytes } = self;
        for (counter, change) in [
            (&mut counters.known, known),
            (&mut counters.waiting, waiting),
            (&mut counters.fetched, fetched),
            (&mut counters.failed, failed),
            (&mut counters.requisites, requisites),
            (&mut counters.visits, visits),
            (&mut counters.bytes, bytes),
        ] {
            *counter = counter.saturating_add_signed(change);
        }
    }
}

/// Changes of spiders' counters, written once a transaction.
#[derive(Default)]
pub(super) struct SpiderShares(BTreeMap<SpiderId, Share>);

impl SpiderShares {
    pub fn add(&mut self, spider: SpiderId, share: Share, sign: i64) {
        self.0.entry(spider).or_default().add(share, sign);
    }

    pub fn save(&self, sql: &Sql) -> sql::Result<()> {
        for (spider, share) in self.0.iter().filter(|(_, share)| **share != Share::default()) {
            sql.prepare(
                "UPDATE spiders SET known = known + ?2, waiting = waiting + ?3, \
                 fetched = fetched + ?4, failed = failed + ?5, requisites = requisites + ?6, \
                 visits = visits + ?7, bytes = bytes + ?8 WHERE id = ?1",
            )?
            .execute(params![
                spider.0,
                share.known,
                share.waiting,
                share.fetched,
                share.failed,
                share.requisites,
                share.visits,
                share.bytes,
            ])?;
        }
        Ok(())
    }
}

impl Work<'_> {
    /// A row goes from one standing to another (`None`: it was not there). The answer is what its site's
    /// counters change by.
    pub fn moved(&mut self, from: Option<Standing>, to: Standing) -> Share {
        let mut change = Share::default();
        for (standing, sign) in from.map(|from| (from, -1)).into_iter().chain([(to, 1)]) {
            let share = standing.share();
            change.add(share, sign);
            self.shares.add(standing.spider, share, sign);
            count(&mut self.counts.requisites, share.requisites * sign);
            if !standing.requisite {
                count(&mut self.counts.pages_known, share.known * sign);
                count(tally(&mut self.counts, standing.state), sign);
            }
        }
        change
    }

    /// A visit of a page of this spider.
    pub fn visited(&mut self, spider: SpiderId, wire_bytes: u64) {
        let bytes = i64::try_from(wire_bytes).unwrap_or(i64::MAX);
        self.shares.add(spider, Share { visits: 1, bytes, ..Share::default() }, 1);
    }
}

/// A change of counters of a site whose row is not being written anyway.
pub(super) fn change_site(work: &Work<'_>, site: SiteId, change: Share) -> Result<(), Fault> {
    if change == Share::default() {
        return Ok(());
    }
    let Share { known, waiting, fetched, failed, requisites, .. } = change;
    let domain: String = work
        .sql
        .prepare(
            "UPDATE sites SET known = known + ?2, fetched = fetched + ?3, failed = failed + ?4, \
             requisites = requisites + ?5, waiting = waiting + ?6 WHERE id = ?1 RETURNING domain",
        )?
        .query_row(params![site.0, known, fetched, failed, requisites, waiting], |row| {
            row.get(0)
        })?;
    change_domain(work, &domain, fetched, 0)
}

pub(super) fn change_domain(
    work: &Work<'_>,
    domain: &str,
    fetched: i64,
    bytes: i64,
) -> Result<(), Fault> {
    if (fetched, bytes) != (0, 0) {
        work.sql
            .prepare(
                "INSERT INTO domains (domain, fetched, bytes) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (domain) DO UPDATE SET fetched = domains.fetched + ?2, bytes = domains.bytes + ?3",
            )?
            .execute(params![domain, fetched, bytes])?;
    }
    Ok(())
}

/// Admitted: neither waiting for judgement nor excluded by one.
fn is_known(state: PageState) -> bool {
    !matches!(state, PageState::Candidate | PageState::Excluded)
}

fn count(counter: &mut u64, change: i64) {
    *counter = counter.saturating_add_signed(change);
}

fn tally(counts: &mut Counts, state: PageState) -> &mut u64 {
    match state {
        PageState::Candidate => &mut counts.candidates,
        PageState::Known => &mut counts.pages_waiting,
        PageState::Fetched => &mut counts.pages_fetched,
        PageState::Redirected => &mut counts.pages_redirected,
        PageState::Failing => &mut counts.pages_failed,
        PageState::Gone => &mut counts.pages_gone,
        PageState::Excluded => &mut counts.pages_excluded,
    }
}

pub(crate) fn load_totals(connection: &Sql) -> sql::Result<Counts> {
    connection.query_row(
        "SELECT sites_known, candidates, pages_known, pages_waiting, pages_fetched, \
         pages_redirected, pages_failed, pages_gone, pages_excluded, refused, visits, versions, \
         bytes, requisites FROM totals",
        [],
        |row| {
            let count = |column: usize| row.get::<i64>(column).map(|n| n.max(0) as u64);
            Ok(Counts {
                sites_known: count(0)?,
                candidates: count(1)?,
                pages_known: count(2)?,
                pages_waiting: count(3)?,
                pages_fetched: count(4)?,
                pages_redirected: count(5)?,
                pages_failed: count(6)?,
                pages_gone: count(7)?,
                pages_excluded: count(8)?,
                refused: count(9)?,
                visits: count(10)?,
                versions: count(11)?,
                bytes: count(12)?,
                requisites: count(13)?,
            })
        },
    )
}

pub(super) fn load_newest(connection: &Sql) -> sql::Result<Timestamp> {
    connection.query_row("SELECT newest FROM totals", [], |row| row.get(0).map(Timestamp))
}

pub(super) fn save_totals(connection: &Sql, counts: &Counts, newest: Timestamp) -> sql::Result<()> {
    let n = |count: u64| count as i64;
    connection
        .prepare(
            "UPDATE totals SET sites_known = ?1, candidates = ?2, pages_known = ?3, \
             pages_waiting = ?4, pages_fetched = ?5, pages_redirected = ?6, pages_failed = ?7, \
             pages_gone = ?8, pages_excluded = ?9, refused = ?10, visits = ?11, versions = ?12, \
             bytes = ?13, requisites = ?14, newest = ?15",
        )?
        .execute(params![
            n(counts.sites_known),
            n(counts.candidates),
            n(counts.pages_known),
            n(counts.pages_waiting),
            n(counts.pages_fetched),
            n(counts.pages_redirected),
            n(counts.pages_failed),
            n(counts.pages_gone),
            n(counts.pages_excluded),
            n(counts.refused),
            n(counts.visits),
            n(counts.versions),
            n(counts.bytes),
            n(counts.requisites),
            newest.0,
        ])
        .map(drop)
}
