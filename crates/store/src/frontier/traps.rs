//! Lifting traps: what a site has taught against its own URLs is taken back, the pages that were excluded for it
//! are judged anew, and those on which refused links stand are read again.

use model::{SiteId, SiteTraps, StoreError, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::{
    admit, habits, hazards,
    rows::{Fault, site_traps_from_row, stored_fp},
    sqlite::{SqliteFrontier, Work},
};

/// What became of traps that were to be lifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiftedTraps {
    pub stops: u64,
    /// Pages that wait for a new judgement, or are read again for their links.
    pub pages: u64,
}

impl SqliteFrontier {
    /// Of one pattern, or of the whole site. A site that is not known has none.
    pub fn lift_traps(
        &mut self,
        site: &str,
        pattern: Option<&str>,
        now: Timestamp,
    ) -> Result<LiftedTraps, StoreError> {
        self.transact(now, |work| lift(work, site, pattern))
    }
}

fn lift(work: &mut Work<'_>, key: &str, pattern: Option<&str>) -> Result<LiftedTraps, Fault> {
    let found: Option<(SiteId, SiteTraps)> = work
        .sql
        .prepare_cached("SELECT id, traps FROM sites WHERE key = ?1")?
        .query_row([key], |row| Ok((SiteId(row.get(0)?), site_traps_from_row(row, 1)?)))
        .optional()?;
    let Some((site, mut traps)) = found else { return Ok(LiftedTraps::default()) };
    let lifted = traps.lift(pattern);
    hazards::save_traps(work, site, &traps)?;
    let mut pages = admit::judge_again(work, site, false)?;
    for (_, stop) in &lifted {
        for fp in &stop.referrers {
            // Answered with "not modified", its links would not be read.
            work.sql
                .prepare_cached(
                    "UPDATE page_facts SET etag = NULL, last_modified = NULL \
                     WHERE site = ?1 AND fp = ?2",
                )?
                .execute(params![site.0, stored_fp(*fp)])?;
        }
        let again: Vec<_> = stop.referrers.iter().map(|fp| (site, *fp)).collect();
        let now = work.now;
        pages += habits::call(work, &again, now, now)?;
    }
    Ok(LiftedTraps { stops: lifted.len() as u64, pages })
}
