//! Lifting a block: it goes from the list, and the pages of the sites where it refused something are judged
//! anew. Which of a site's excluded pages it was that excluded is not kept, and need not be: whatever
//! else speaks against them speaks again. Links that were refused are found again when the pages that have
//! them are; where pages were left because they led to nothing else, that is forgotten.

use std::collections::HashSet;

use model::{Refusal, RefusalReason, SiteId, StoreError, Timestamp};

use super::{
    admit,
    check_in::save_meta,
    limits::LINKS_ARE_OLD,
    rows::Fault,
    sql_frontier::{SqlFrontier, Work},
    traps,
};
use crate::sql::{OptionalExtension, params};

/// What became of patterns that were to be lifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifted {
    /// That were on the list.
    pub removed: u64,
    /// Pages that wait for a new judgement.
    pub pages: u64,
}

impl SqlFrontier {
    pub fn unblock(&mut self, patterns: &[String], now: Timestamp) -> Result<Lifted, StoreError> {
        self.transact(now, |work| {
            let mut lifted = Lifted::default();
            for pattern in patterns {
                let gone = work
                    .sql
                    .prepare("DELETE FROM blocks WHERE pattern = ?1")?
                    .execute([pattern])?;
                lifted.removed += gone as u64;
            }
            if lifted.removed > 0 {
                // Links that the block refused are found again when their pages are read whole.
                save_meta(work, LINKS_ARE_OLD, &true)?;
            }
            for site in sites_refused_by(work, patterns)? {
                traps::forget_dead_ends(work, site)?;
                lifted.pages += admit::judge_again(work, site, true)?;
            }
            Ok(lifted)
        })
    }
}

fn sites_refused_by(work: &Work<'_>, patterns: &[String]) -> Result<HashSet<SiteId>, Fault> {
    let rules: HashSet<String> =
        patterns.iter().map(|pattern| Refusal::blocked(pattern).rule).collect();
    let mut refusals = work.sql.prepare("SELECT site, rule FROM decisions WHERE reason = ?1")?;
    let mut rows = refusals.query(params![RefusalReason::Blocked.word()])?;
    let mut keys = HashSet::new();
    while let Some(row) = rows.next()? {
        if rules.contains(row.text(1)?) {
            keys.insert(row.get::<String>(0)?);
        }
    }
    drop(rows);
    let mut find = work.sql.prepare("SELECT id FROM sites WHERE key = ?1")?;
    let mut sites = HashSet::new();
    for key in keys {
        sites.extend(find.query_row([key], |row| row.get(0).map(SiteId)).optional()?);
    }
    Ok(sites)
}

#[cfg(test)]
mod tests {
    use model::{
        Candidate, CheckOut, CrawlUrl, Decision, Frontier, PageState, PageUpdate, Release,
        Settlement, SiteDelta, SpiderId,
    };

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn blocks_are_kept_once_and_listed_in_order() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let patterns = ["b.example".to_owned(), ".a.example".to_owned()];
        assert_eq!(frontier.block(&patterns, "asked to", NOW).unwrap(), 2);
        assert_eq!(frontier.block(&patterns[..1], "", NOW.plus(lease())).unwrap(), 0);
        let mut listed = Vec::new();
        frontier.each_block(|entry| listed.push((entry.pattern, entry.reason))).unwrap();
        let said = |pattern: &str| (pattern.to_owned(), "asked to".to_owned());
        assert_eq!(listed, [said(".a.example"), said("b.example")], "a reason is not lost");
    }

    #[test]
    fn lifting_a_block_has_exactly_the_pages_of_its_sites_judged_again() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.block(&["a.example".to_owned(), "b.example".to_owned()], "", NOW).unwrap();
        exclude(&mut frontier, "http://a.example/", "a.example");
        exclude(&mut frontier, "http://b.example/", "b.example");
        assert_eq!(frontier.next_due().unwrap(), None);

        let lifted = frontier.unblock(&["a.example".to_owned()], NOW).unwrap();
        assert_eq!(lifted, Lifted { removed: 1, pages: 1 });
        let counts = frontier.counts().unwrap();
        assert_eq!((counts.candidates, counts.pages_excluded), (1, 1));
        assert_eq!(frontier.next_due().unwrap(), Some(NOW), "its site is due");
        let none = frontier.unblock(&["a.example".to_owned()], NOW).unwrap();
        assert_eq!(none, Lifted::default(), "once");
        assert_eq!(frontier.verify(true).unwrap(), []);
        let leases = frontier.check_out(&check_out()).unwrap();
        let keys: Vec<&str> = leases.iter().map(|lease| lease.site.key.as_str()).collect();
        assert_eq!(keys, ["a.example"]);
    }

    fn exclude(frontier: &mut SqlFrontier, text: &str, pattern: &str) {
        let url = CrawlUrl::parse(text).unwrap();
        let (spider, level, hops) = (SpiderId(1), 0, 0);
        let candidate = Candidate {
            url: url.clone(),
            spider,
            level,
            hops,
            seed: true,
            terms: model::PageTerms::default(),
            referrer: None,
        };
        frontier.admit(&[candidate], NOW).unwrap();
        let lease = frontier.check_out(&check_out()).unwrap().pop().unwrap();
        let update = PageUpdate {
            fp: url.fingerprint(),
            state: PageState::Excluded,
            due: None,
            failures: 0,
            visit: None,
            habit: None,
            children: None,
            facts: None,
        };
        let Refusal { reason, rule } = Refusal::blocked(pattern);
        let site = lease.site.key.as_str().to_owned();
        let example = text.to_owned();
        let decision = Decision { site, reason, rule, count: 1, example, referrer: None };
        let release = Release::NotBefore(NOW);
        let empty = SiteDelta::empty(lease.site.id, lease.site.key, lease.fence, release);
        let delta = SiteDelta { updates: vec![update], ..empty };
        let settlement = Settlement {
            now: NOW,
            deltas: vec![delta],
            decisions: vec![decision],
            ..Settlement::default()
        };
        frontier.check_in(&settlement).unwrap();
    }

    fn check_out() -> CheckOut {
        CheckOut::at(NOW, "test")
    }

    fn lease() -> std::time::Duration {
        model::limits::LEASE
    }
}
