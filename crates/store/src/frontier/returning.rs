//! Pages that were not to come back by themselves, when their spider's policy becomes one that has them do so.
//!
//! Policies that go by batches or by seeds, and the one that visits once, leave a page without a due: nothing
//! would ever look at it again under another policy.

use std::{collections::BTreeSet, time::Duration};

use model::{SiteId, SpiderId, StoreError, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::{
    check_in::save_meta,
    check_out::rouse,
    rows::{Fault, millis},
    sqlite::{SqliteFrontier, Work},
};

/// They come within this time, each by its fingerprint: a round at the usual budget, not a storm.
const ROUND: Duration = Duration::from_secs(7 * 86_400);
/// Sites looked at in one transaction.
const SITES: i64 = 1_000;
/// In `meta`: the spiders whose pages have a due after every visit.
const RETURNING: &str = "returning";

impl SqliteFrontier {
    /// `spiders` are those whose policy gives every page a due. Of those that had no such policy the last time,
    /// pages without one get it; how many they were.
    pub fn returning_are(
        &mut self,
        spiders: &[SpiderId],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let asked: BTreeSet<u32> = spiders.iter().map(|spider| spider.0).collect();
        let before = self.transact(now, |work| noted(work))?;
        if before == asked {
            return Ok(0);
        }
        let new = asked.difference(&before).copied().map(SpiderId);
        let new = self.transact(now, |work| with_pages(work, new.collect()))?;
        let (mut woken, mut after) = (0, (!new.is_empty()).then_some(0));
        while let Some(from) = after {
            (woken, after) = self.transact(now, |work| {
                let (more, next) = wake_part(work, &new, from, now)?;
                Ok((woken + more, next))
            })?;
        }
        // Last: whoever is interrupted before begins anew.
        self.transact(now, |work| save_meta(work, RETURNING, &asked))?;
        Ok(woken)
    }
}

fn noted(work: &Work<'_>) -> Result<BTreeSet<u32>, Fault> {
    let text: Option<String> = work
        .sql
        .prepare_cached("SELECT value FROM meta WHERE name = ?1")?
        .query_row([RETURNING], |row| row.get(0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// A spider that was just added has nothing to wake: not every page need be looked at for it.
fn with_pages(work: &Work<'_>, spiders: Vec<SpiderId>) -> Result<Vec<SpiderId>, Fault> {
    let mut statement = work
        .sql
        .prepare_cached("SELECT 1 FROM spiders WHERE id = ?1 AND known + requisites > 0")?;
    let mut found = Vec::new();
    for spider in spiders {
        if statement.exists([spider.0])? {
            found.push(spider);
        }
    }
    Ok(found)
}

/// The sites after this number: how many pages were woken, and from where to go on.
fn wake_part(
    work: &mut Work<'_>,
    spiders: &[SpiderId],
    after: i64,
    now: Timestamp,
) -> Result<(u64, Option<i64>), Fault> {
    let sites: Vec<(SiteId, bool)> = work
        .sql
        .prepare_cached("SELECT id, leased FROM sites WHERE id > ?1 ORDER BY id LIMIT ?2")?
        .query_map(params![after, SITES], |row| Ok((SiteId(row.get(0)?), row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut woken = 0;
    for (site, leased) in &sites {
        let mut pages = 0;
        for spider in spiders {
            pages += wake_site(work, *site, *spider, now)?;
        }
        // The holder of a lease reckons the dues when it gives the site back.
        if !leased && pages > 0 {
            rouse(work, *site)?;
        }
        woken += pages as u64;
    }
    Ok((woken, sites.last().map(|(site, _)| site.0)))
}

fn wake_site(
    work: &Work<'_>,
    site: SiteId,
    spider: SpiderId,
    now: Timestamp,
) -> Result<usize, Fault> {
    let woken = work
        .sql
        .prepare_cached(
            "UPDATE pages SET due = ?3 + (fp & 9223372036854775807) % ?4, price = 0 \
             WHERE site = ?1 AND spider = ?2 AND due IS NULL AND state BETWEEN 2 AND 5",
        )?
        .execute(params![site.0, spider.0, now.0, millis(ROUND)])?;
    Ok(woken)
}

#[cfg(test)]
mod tests {
    use model::{Change, Frontier, Release};

    use super::*;
    use crate::frontier::suite::{HOUR, ask, candidate, delta, settlement, visited};

    const DAY: i64 = 24 * HOUR;

    #[test]
    fn pages_without_a_due_get_one_when_their_policy_gives_dues() {
        let mut frontier = SqliteFrontier::open_in_memory().unwrap();
        let pages: Vec<_> =
            (0..60).map(|n| candidate(&format!("http://s{}.example/{n}", n % 3), 0)).collect();
        frontier.admit(&pages, Timestamp(0)).unwrap();
        assert_eq!(frontier.returning_are(&[], Timestamp(0)).unwrap(), 0);
        let fetched = |lease: &model::SiteLease| {
            let mut delta = delta(lease, Release::NotBefore(Timestamp(0)));
            let fps = lease.pages.iter().map(|page| page.url.fingerprint());
            delta.updates = fps.map(|fp| visited(fp, 10, Change::First, None)).collect();
            delta
        };
        let deltas = frontier.check_out(&ask(0)).unwrap().iter().map(fetched).collect();
        frontier.check_in(&settlement(10, deltas)).unwrap();
        assert_eq!(frontier.next_due().unwrap(), None);

        let (now, spiders) = (Timestamp(DAY), [SpiderId(1)]);
        assert_eq!(frontier.returning_are(&[SpiderId(7)], now).unwrap(), 0, "another's are not");
        assert_eq!(frontier.returning_are(&spiders, now).unwrap(), 60);
        assert_eq!(frontier.returning_are(&spiders, now).unwrap(), 0, "once");
        let due = |frontier: &SqliteFrontier, until: i64| -> i64 {
            let sql = "SELECT count(*) FROM pages WHERE turn = 2 AND due <= ?1";
            frontier.connection.query_row(sql, [until], |row| row.get(0)).unwrap()
        };
        let soon = due(&frontier, DAY + DAY);
        assert!((1..30).contains(&soon), "{soon} of 60 on the first of seven days");
        assert_eq!(due(&frontier, 8 * DAY), 60);
        assert_eq!(frontier.verify(true).unwrap(), []);
        let lent = frontier.check_out(&ask(8 * DAY)).unwrap();
        assert_eq!(lent.iter().map(|lease| lease.pages.len()).sum::<usize>(), 60);
    }
}
