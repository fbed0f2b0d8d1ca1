//! A page that somebody wants visited now.

use model::{CrawlUrl, SiteId, StoreError, Timestamp};

use super::{
    check_out::rouse,
    habits::is_leased,
    replicas::awake,
    rows::{Fault, stored_fp},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{OptionalExtension, params};

/// What became of the wish for a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// The page is due.
    Due,
    Unknown,
    /// A rule keeps it out.
    Excluded,
    /// Its site is a replica: the original is visited instead.
    Rests,
}

impl SqlFrontier {
    /// Has a page due since `due`: a crawl of one pass visits again what was due when it began. Pages that robots.txt
    /// forbade, or whose answer was not wanted, are asked again too, for that may have changed.
    pub fn call_page(
        &mut self,
        url: &CrawlUrl,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<Called, StoreError> {
        self.transact(now, |work| call_page(work, url, due))
    }
}

fn call_page(work: &mut Work<'_>, url: &CrawlUrl, due: Timestamp) -> Result<Called, Fault> {
    let fp = stored_fp(url.fingerprint());
    let found: Option<(i64, bool, bool)> = work
        .sql
        .prepare(concat!(
            "SELECT site, state < 6 OR visited IS NOT NULL OR due IS NOT NULL, ",
            awake!(),
            " FROM pages WHERE site = (SELECT id FROM sites WHERE key = ?1) AND fp = ?2"
        ))?
        .query_row(params![url.site_text(), fp], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((site, may_be, is_awake)) = found else { return Ok(Called::Unknown) };
    if !may_be {
        return Ok(Called::Excluded);
    }
    if !is_awake {
        return Ok(Called::Rests);
    }
    // Without a price: due as it stands, and not reckoned again.
    work.sql
        .prepare(
            "UPDATE pages SET due = ?3, price = 0 WHERE site = ?1 AND fp = ?2 \
             AND (due IS NULL OR due > ?3 OR price > 0)",
        )?
        .execute(params![site, fp, due.0])?;
    let site = SiteId(site);
    if !is_leased(work.sql, site)? {
        rouse(work, site)?;
    }
    Ok(Called::Due)
}

#[cfg(test)]
mod tests {
    use model::{Change, Frontier, PageState, Release};

    use super::*;
    use crate::frontier::suite::{
        ask, candidate, delta, lease_one, settlement, url, verdict, visited,
    };

    #[test]
    fn a_called_page_is_lent_though_its_next_visit_was_far_off() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let home = candidate("http://a.example/", 0);
        let barred = candidate("http://a.example/barred", 0);
        frontier.admit(&[home.clone(), barred.clone()], Timestamp(0)).unwrap();
        let lease = lease_one(&mut frontier, 0);
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        back.updates = vec![
            visited(home.url.fingerprint(), 1, Change::First, Some(9_000)),
            verdict(barred.url.fingerprint(), PageState::Excluded, None),
        ];
        frontier.check_in(&settlement(1, vec![back])).unwrap();
        assert!(frontier.check_out(&ask(50)).unwrap().is_empty());

        let mut call =
            |url: &CrawlUrl| frontier.call_page(url, Timestamp(40), Timestamp(50)).unwrap();
        assert_eq!(call(&url("http://a.example/other")), Called::Unknown);
        assert_eq!(call(&url("http://b.example/")), Called::Unknown);
        assert_eq!(call(&barred.url), Called::Excluded);
        assert_eq!(call(&home.url), Called::Due);
        let lease = lease_one(&mut frontier, 50);
        let pages: Vec<&str> = lease.pages.iter().map(|page| page.url.as_str()).collect();
        assert_eq!(pages, ["http://a.example/"]);
        assert_eq!(lease.pages[0].due, Timestamp(40));
    }
}
