//! Pages that were not to come back by themselves, when what says so is another.
//!
//! Policies that go by batches or by seeds, and the one that visits once, leave a page without a due: nothing
//! would ever look at it again under another policy, be it its spider's or one that is given to some pages.

use std::{collections::BTreeMap, time::Duration};

use model::{Page, SiteId, SpiderId, StoreError, Timestamp};

use super::{
    check_in::save_meta,
    check_out::rouse,
    replicas::awake,
    rows::{Fault, millis, page_columns, page_from_row, stored_fp},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{OptionalExtension, params};

/// They come within this time, each by its fingerprint: a round at the usual budget, not a storm.
const ROUND: Duration = Duration::from_secs(7 * 86_400);
/// Sites looked at in one transaction.
const SITES: i64 = 1_000;
/// In `meta`: of each spider, the number of what says which of its pages come back by themselves.
const RETURNING: &str = "returning";

/// Who is looked at, and what is asked of their pages.
struct Look<'a> {
    spiders: Vec<SpiderId>,
    returns: &'a dyn Fn(&Page) -> bool,
    now: Timestamp,
}

impl SqlFrontier {
    /// `policies` has a number for each spider, of all that says which of its pages have a due after every visit.
    /// Where it is another than the last time, pages without a due that `returns` get one; how many they were.
    pub fn returning_are(
        &mut self,
        policies: &[(SpiderId, u64)],
        returns: &dyn Fn(&Page) -> bool,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let asked: BTreeMap<u32, u64> =
            policies.iter().map(|(id, number)| (id.0, *number)).collect();
        let before = self.transact(now, |work| noted(work))?;
        if before == asked {
            return Ok(0);
        }
        let others = asked.iter().filter(|(id, number)| before.get(id) != Some(number));
        let others = others.map(|(id, _)| SpiderId(*id)).collect();
        let spiders = self.transact(now, |work| with_pages(work, others))?;
        let look = Look { spiders, returns, now };
        let (mut woken, mut after) = (0, (!look.spiders.is_empty()).then_some(0));
        while let Some(from) = after {
            (woken, after) = self.transact(now, |work| {
                let (more, next) = look.wake_part(work, from)?;
                Ok((woken + more, next))
            })?;
        }
        // Last: whoever is interrupted before begins anew.
        self.transact(now, |work| save_meta(work, RETURNING, &asked))?;
        Ok(woken)
    }
}

fn noted(work: &Work<'_>) -> Result<BTreeMap<u32, u64>, Fault> {
    let text: Option<String> = work
        .sql
        .prepare("SELECT value FROM meta WHERE name = ?1")?
        .query_row([RETURNING], |row| row.get(0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// A spider that was just added has nothing to wake: not every page need be looked at for it.
fn with_pages(work: &Work<'_>, spiders: Vec<SpiderId>) -> Result<Vec<SpiderId>, Fault> {
    let mut statement =
        work.sql.prepare("SELECT 1 FROM spiders WHERE id = ?1 AND known + requisites > 0")?;
    let mut found = Vec::new();
    for spider in spiders {
        if statement.exists([spider.0])? {
            found.push(spider);
        }
    }
    Ok(found)
}

impl Look<'_> {
    /// The sites after this number: how many pages were woken, and from where to go on.
    fn wake_part(&self, work: &mut Work<'_>, after: i64) -> Result<(u64, Option<i64>), Fault> {
        let sites: Vec<(SiteId, bool)> = work
            .sql
            .prepare(
                // What was never visited has the due it was given.
                "SELECT id, leased FROM sites WHERE id > ?1 AND visits > 0 ORDER BY id LIMIT ?2",
            )?
            .query_map(params![after, SITES], |row| Ok((SiteId(row.get(0)?), row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let mut woken = 0;
        for (site, leased) in &sites {
            let pages = self.asleep(work, *site)?;
            for fp in &pages {
                wake(work, *site, *fp, self.now)?;
            }
            // The holder of a lease reckons the dues when it gives the site back.
            if !leased && !pages.is_empty() {
                rouse(work, *site)?;
            }
            woken += pages.len() as u64;
        }
        Ok((woken, sites.last().map(|(site, _)| site.0)))
    }

    /// Pages of the site that have no due and should. Those of folded replicas rest.
    fn asleep(&self, work: &Work<'_>, site: SiteId) -> Result<Vec<i64>, Fault> {
        let mut statement = work.sql.prepare(concat!(
            "SELECT ",
            page_columns!(),
            " FROM pages WHERE site = ?1 AND due IS NULL AND state BETWEEN 2 AND 5 AND ",
            awake!()
        ))?;
        let mut rows = statement.query([site.0])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (page, _) = page_from_row(row)?;
            if self.spiders.contains(&page.spider) && (self.returns)(&page) {
                found.push(stored_fp(page.url.fingerprint()));
            }
        }
        Ok(found)
    }
}

fn wake(work: &Work<'_>, site: SiteId, fp: i64, now: Timestamp) -> Result<(), Fault> {
    work.sql
        .prepare(
            "UPDATE pages SET due = ?3 + (fp & 9223372036854775807) % ?4, price = 0 \
             WHERE site = ?1 AND fp = ?2",
        )?
        .execute(params![site.0, fp, now.0, millis(ROUND)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::{Change, Frontier, Release};

    use super::*;
    use crate::frontier::suite::{HOUR, ask, candidate, delta, settlement, visited};

    const DAY: i64 = 24 * HOUR;

    #[test]
    fn pages_without_a_due_get_one_when_their_policy_gives_dues() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let pages: Vec<_> =
            (0..60).map(|n| candidate(&format!("http://s{}.example/{n}", n % 3), 0)).collect();
        frontier.admit(&pages, Timestamp(0)).unwrap();
        let once = [(SpiderId(1), 1)];
        assert_eq!(frontier.returning_are(&once, &|_| false, Timestamp(0)).unwrap(), 0);
        let fetched = |lease: &model::SiteLease| {
            let mut delta = delta(lease, Release::NotBefore(Timestamp(0)));
            let fps = lease.pages.iter().map(|page| page.url.fingerprint());
            delta.updates = fps.map(|fp| visited(fp, 10, Change::First, None)).collect();
            delta
        };
        let deltas = frontier.check_out(&ask(0)).unwrap().iter().map(fetched).collect();
        frontier.check_in(&settlement(10, deltas)).unwrap();
        assert_eq!(frontier.next_due().unwrap(), None);

        let now = Timestamp(DAY);
        let wake = |frontier: &mut SqlFrontier, spider, number, returns: &dyn Fn(&Page) -> bool| {
            frontier.returning_are(&[(SpiderId(spider), number)], returns, now).unwrap()
        };
        assert_eq!(wake(&mut frontier, 7, 1, &|_| true), 0, "another's are not");
        let some = |page: &Page| page.url.path().len() == 2;
        assert_eq!(wake(&mut frontier, 1, 2, &some), 10, "those that some rule has come back");
        assert_eq!(wake(&mut frontier, 1, 2, &|_| true), 0, "nothing says otherwise than before");
        assert_eq!(wake(&mut frontier, 1, 3, &|_| true), 50, "the others with another rule");
        let due = |frontier: &SqlFrontier, until: i64| -> i64 {
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
