//! Limits as the store meets them: sites ever known, sites where spiders are full, and what was spent.

use model::{Candidate, Decision, RefusalReason, SiteId, Spent, SpiderId, StoreError, Timestamp};

use super::{
    admit,
    check_in::{count_decisions, save_meta},
    check_out::rouse,
    domains,
    rows::Fault,
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::OptionalExtension;

/// In `meta`: what may enter is other than when links were last read, so that those that were refused then may
/// be wanted now.
pub(super) const LINKS_ARE_OLD: &str = "links-are-old";

impl SqlFrontier {
    /// No more sites than this become known, but for those that seeds name.
    pub fn set_sites_max(&mut self, max: Option<u64>) {
        self.sites_max = max;
    }

    /// All sites where a limit was reached are looked at again.
    pub fn lift_limits(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.transact(now, lift)
    }

    /// `fingerprint` is of all that the limits are made of. When it is another than the last time, limits
    /// are lifted; says whether.
    pub fn terms_changed(&mut self, fingerprint: u64, now: Timestamp) -> Result<bool, StoreError> {
        self.transact(now, |work| match noted(work, "terms", fingerprint)? {
            Noted::Same => Ok(false),
            other => lift(work).map(|()| other == Noted::Other),
        })
    }

    /// `fingerprint` is of all that says who may enter. When it is another than the last time, pages that were
    /// refused are judged anew, and the next wish to see everything reads all links again. Not for every other
    /// change: pages that have not changed would be asked of servers whole for nothing.
    pub fn borders_changed(&mut self, fingerprint: u64, now: Timestamp) -> Result<(), StoreError> {
        self.transact(now, |work| {
            if noted(work, "borders", fingerprint)? == Noted::Other {
                save_meta(work, LINKS_ARE_OLD, &true)?;
                judge_excluded_again(work)?;
            }
            Ok(())
        })
    }

    /// What all spiders together have brought so far.
    pub fn spent(&self) -> Result<Spent, StoreError> {
        let sum = "SELECT coalesce(sum(fetched), 0), coalesce(sum(bytes), 0) FROM spiders";
        let spent = self.connection.query_row(sum, [], |row| {
            let number = |column: usize| row.get::<i64>(column).map(|n| n.max(0) as u64);
            Ok(Spent { pages: number(0)?, bytes: number(1)? })
        });
        spent.map_err(|e| self.error(e))
    }
}

fn lift(work: &mut Work<'_>) -> Result<(), Fault> {
    work.sql.prepare("UPDATE sites SET full_for = '' WHERE full_for <> ''")?.execute([])?;
    let resting: Vec<SiteId> = {
        let mut statement =
            work.sql.prepare("SELECT id FROM sites WHERE resting = 1 AND leased = 0")?;
        let found = statement.query_map([], |row| row.get(0).map(SiteId))?;
        found.collect::<Result<_, _>>()?
    };
    for site in resting {
        rouse(work, site)?;
    }
    Ok(())
}

/// One site too many: told under no site's name, for such hosts have no end.
pub(super) fn refuse_site(work: &mut Work<'_>, candidate: &Candidate) -> Result<(), Fault> {
    let Some(max) = work.sites_max.filter(|max| work.counts.sites_known >= *max) else {
        return domains::refuse_host(work, candidate);
    };
    let decision = Decision {
        site: String::new(),
        reason: RefusalReason::Limit,
        rule: format!("crawl.sites = {max}"),
        count: 1,
        example: candidate.url.as_str().to_owned(),
        referrer: None,
    };
    count_decisions(work, &[decision])
}

/// Spiders as the column `full` has them.
pub(super) fn full_from_text(text: &str) -> Vec<SpiderId> {
    text.split(',').filter_map(|id| id.parse().ok().map(SpiderId)).collect()
}

pub(super) fn full_as_text(full: &[SpiderId]) -> String {
    let mut ids: Vec<u32> = full.iter().map(|spider| spider.0).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// How a number compares with the one of the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    Same,
    Other,
    First,
}

pub(super) fn noted(work: &mut Work<'_>, name: &str, number: u64) -> Result<Noted, Fault> {
    let before: Option<String> = work
        .sql
        .prepare("SELECT value FROM meta WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    if before.as_ref().is_some_and(|text| *text == number.to_string()) {
        return Ok(Noted::Same);
    }
    save_meta(work, name, &number)?;
    Ok(if before.is_some() { Noted::Other } else { Noted::First })
}

/// Pages that were refused without ever having been visited: other rules may let them in.
fn judge_excluded_again(work: &mut Work<'_>) -> Result<(), Fault> {
    let sites: Vec<SiteId> = work
        .sql
        .prepare("SELECT DISTINCT site FROM pages WHERE state = 6 AND visited IS NULL")?
        .query_map([], |row| row.get(0).map(SiteId))?
        .collect::<Result<_, _>>()?;
    sites.into_iter().try_for_each(|site| admit::judge_again(work, site, false).map(drop))
}
