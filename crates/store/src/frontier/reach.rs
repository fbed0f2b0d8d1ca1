//! What the user has just allowed or repaired is tried at once: when the settings that say which servers can be
//! reached, and how, or which media types are kept, are others than in the last crawl, what failed or was refused
//! under the old ones is due now.

use model::{RefusalReason, SiteId, StoreError, Timestamp};

use super::{
    admit,
    check_out::rouse,
    limits::{Noted, noted},
    rows::Fault,
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{OptionalExtension, params};

/// The name under which the fingerprint without flags is kept.
pub(crate) const REACH_KEPT: &str = "reach-kept";

impl SqlFrontier {
    /// `fingerprint` is of all that says which servers can be reached; says whether it is another than the last time.
    /// `kept`: without those of a command line, for those who ask without one.
    pub fn reach_changed(
        &mut self,
        fingerprint: u64,
        kept: u64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.transact(now, |work| {
            let changed = noted(work, "reach", fingerprint)? == Noted::Other;
            noted(work, REACH_KEPT, kept)?;
            if changed {
                forget_refused(work, RefusalReason::Address, false)?;
                let sites = [unreadable_robots(work)?, unanswered_pages(work)?].concat();
                sites.into_iter().try_for_each(|site| wake(work, site))?;
            }
            Ok(changed)
        })
    }

    /// `fingerprint` is of the media types that are kept: where they are others, what was left out is asked for again.
    pub fn types_changed(&mut self, fingerprint: u64, now: Timestamp) -> Result<(), StoreError> {
        self.transact(now, |work| match noted(work, "media-types", fingerprint)? {
            Noted::Other => forget_refused(work, RefusalReason::MediaType, true),
            Noted::Same | Noted::First => Ok(()),
        })
    }
}

/// Pages of sites where this refused some are judged again, which counts them again where they still are.
/// `visited`: also those that answered.
fn forget_refused(work: &mut Work<'_>, reason: RefusalReason, visited: bool) -> Result<(), Fault> {
    let word = reason.word();
    let decisions: Vec<(String, i64)> = work
        .sql
        .prepare("SELECT site, count FROM decisions WHERE reason = ?1")?
        .query_map([word], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    work.sql.execute("DELETE FROM decisions WHERE reason = ?1", [word])?;
    for (key, count) in decisions {
        work.counts.refused = work.counts.refused.saturating_sub(count.max(0) as u64);
        let site = work
            .sql
            .prepare("SELECT id FROM sites WHERE key = ?1")?
            .query_row([key], |row| row.get(0).map(SiteId))
            .optional()?;
        if let Some(site) = site {
            admit::judge_again(work, site, visited)?;
        }
    }
    Ok(())
}

/// Sites whose pages wait because a robots.txt could not be read.
fn unreadable_robots(work: &Work<'_>) -> Result<Vec<SiteId>, Fault> {
    let sites: Vec<SiteId> = work
        .sql
        .prepare("DELETE FROM robots WHERE answer = 'unreachable' RETURNING site")?
        .query_map([], |row| row.get(0).map(SiteId))?
        .collect::<Result<_, _>>()?;
    for site in &sites {
        work.sql
            .prepare("UPDATE pages SET due = ?2 WHERE site = ?1 AND state IN (0, 1) AND due > ?2")?
            .execute(params![site.0, work.now.0])?;
    }
    Ok(sites)
}

/// Sites with pages that no server answered for at their last visit.
fn unanswered_pages(work: &Work<'_>) -> Result<Vec<SiteId>, Fault> {
    let mut statement = work.sql.prepare(
        "UPDATE pages SET due = ?1, price = 0 WHERE state IN (4, 5) AND due > ?1 \
         AND (SELECT failure FROM visits WHERE visits.site = pages.site AND visits.fp = pages.fp \
              ORDER BY seq DESC LIMIT 1) IS NOT NULL RETURNING site",
    )?;
    let mut sites: Vec<SiteId> = statement
        .query_map([work.now.0], |row| row.get(0).map(SiteId))?
        .collect::<Result<_, _>>()?;
    sites.sort_unstable();
    sites.dedup();
    Ok(sites)
}

/// A site that was left alone until later is due by its pages.
fn wake(work: &Work<'_>, site: SiteId) -> Result<(), Fault> {
    let free = work
        .sql
        .prepare("UPDATE sites SET not_before = 0 WHERE id = ?1 AND leased = 0")?
        .execute([site.0])?;
    if free > 0 { rouse(work, site) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use model::{
        Change, Decision, FailureKind, Frontier, Origin, PageState, Release, RobotsAnswer,
        RobotsCopy, Settlement,
    };

    use super::*;
    use crate::frontier::suite::{ask, candidate, delta, lease_one, settlement, verdict, visited};

    const LATER: Timestamp = Timestamp(60_000);

    #[test]
    fn what_could_not_be_reached_is_due_when_the_settings_are_others_and_not_before() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        assert!(!frontier.reach_changed(1, 1, Timestamp(0)).unwrap(), "there were none before");
        held_back(&mut frontier, "http://robots.example/");
        failing(&mut frontier, "http://failing.example/");
        refused(&mut frontier, "http://refused.example/");
        assert!(!frontier.reach_changed(1, 1, Timestamp(2)).unwrap());
        assert_eq!(frontier.next_due().unwrap(), Some(LATER));

        assert!(frontier.reach_changed(2, 2, Timestamp(3)).unwrap());
        let leases = frontier.check_out(&ask(3)).unwrap();
        let mut due: Vec<&str> = leases.iter().map(|lease| lease.pages[0].url.host()).collect();
        due.sort();
        assert_eq!(due, ["failing.example", "refused.example", "robots.example"]);
        assert_eq!(frontier.counts().unwrap().refused, 0, "it is judged again");
        assert_eq!(frontier.verify(true).unwrap(), []);
    }

    fn held_back(frontier: &mut SqlFrontier, text: &str) {
        frontier.admit(&[candidate(text, 0)], Timestamp(0)).unwrap();
        let lease = lease_one(frontier, 0);
        let mut back = delta(&lease, Release::NotBefore(LATER));
        let origin: Origin = lease.pages[0].url.origin();
        back.robots.push(RobotsCopy {
            origin,
            answer: RobotsAnswer::Unreachable { why: "no answer".to_owned() },
            fetched: Timestamp(1),
            expires: LATER,
            unreachable_since: None,
            etag: None,
            last_modified: None,
        });
        frontier.check_in(&settlement(1, vec![back])).unwrap();
    }

    fn failing(frontier: &mut SqlFrontier, text: &str) {
        frontier.admit(&[candidate(text, 0)], Timestamp(0)).unwrap();
        let lease = lease_one(frontier, 0);
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let fp = lease.pages[0].url.fingerprint();
        let mut update = visited(fp, 1, Change::Failed, Some(LATER.0));
        if let Some(visit) = &mut update.visit {
            (visit.status, visit.failure) = (0, Some(FailureKind::ConnectRefused));
        }
        back.updates = vec![update];
        frontier.check_in(&settlement(1, vec![back])).unwrap();
    }

    fn refused(frontier: &mut SqlFrontier, text: &str) {
        frontier.admit(&[candidate(text, 0)], Timestamp(0)).unwrap();
        let lease = lease_one(frontier, 0);
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let fp = lease.pages[0].url.fingerprint();
        back.updates = vec![verdict(fp, PageState::Excluded, None)];
        let decision = Decision {
            site: lease.site.key.as_str().to_owned(),
            reason: RefusalReason::Address,
            rule: "address 10.0.0.1".to_owned(),
            count: 1,
            example: text.to_owned(),
            referrer: None,
        };
        let settled = settlement(1, vec![back]);
        frontier.check_in(&Settlement { decisions: vec![decision], ..settled }).unwrap();
    }
}
