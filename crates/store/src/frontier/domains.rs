//! Hosts by registrable domain: how many there are, which domains are to be asked for absurd names, and which have
//! been found to resolve them all.

use std::time::Duration;

use model::{Candidate, Decision, Kinship, RefusalReason, SiteId, StoreError, Timestamp};

use super::{
    admit,
    check_in::count_decisions,
    rows::Fault,
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{self, OptionalExtension, params};

/// Domains asked about at a time.
const SUSPECTS_MAX: i64 = 10;
/// A wildcard may come and go: the question is put again after this time.
const ASK_AGAIN: Duration = Duration::from_secs(30 * 86_400);
/// The same where there was no answer.
const TRY_AGAIN: Duration = Duration::from_secs(86_400);

/// A domain with many hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    pub domain: String,
    /// One of them, the newest.
    pub host: String,
}

/// A domain under which every name resolves, and its sites that are crawled all the same: those that seeds name, that
/// others link to, or that have answered already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    pub domain: String,
    pub let_in: Vec<String>,
}

impl SqlFrontier {
    /// No more sites of one registrable domain than this become known, but for those that seeds name.
    pub fn set_domain_hosts_max(&mut self, max: Option<u64>) {
        self.domain_hosts_max = max;
    }

    /// From how many hosts on a domain is to be asked for absurd names; `None`: never.
    pub fn set_wildcard_hosts(&mut self, hosts: Option<u64>) {
        self.wildcard_hosts = hosts;
    }

    /// Domains that are to be asked now.
    pub fn suspects(&mut self, now: Timestamp) -> Result<Vec<Suspect>, StoreError> {
        let Some(hosts) = self.wildcard_hosts else { return Ok(Vec::new()) };
        let read = || -> sql::Result<Vec<Suspect>> {
            let mut statement = self.connection.prepare(
                "SELECT domain, newest FROM domain_hosts WHERE hosts > ?1 AND hosts > 1 \
                 AND ask <= ?2 LIMIT ?3",
            )?;
            let hosts = i64::try_from(hosts).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![hosts, now.0, SUSPECTS_MAX], |row| {
                Ok(Suspect { domain: row.get(0)?, host: row.get(1)? })
            })?;
            rows.collect()
        };
        read().map_err(|e| self.error(e))
    }

    /// What asking has brought; `None`: no answer. The domain, if every name under it resolves.
    pub fn probed(
        &mut self,
        domain: &str,
        wildcard: Option<bool>,
        now: Timestamp,
    ) -> Result<Option<Wildcard>, StoreError> {
        let again = if wildcard.is_some() { ASK_AGAIN } else { TRY_AGAIN };
        self.transact(now, |work| {
            let gone = wildcard == Some(false) && is_wildcard(work, domain)?;
            work.sql
                .prepare(
                    "UPDATE domain_hosts SET ask = ?2, wildcard = CASE CAST(?3 AS BIGINT) WHEN 1 THEN \
                     coalesce(wildcard, ?4) WHEN 0 THEN NULL ELSE wildcard END WHERE domain = ?1",
                )?
                .execute(params![domain, now.plus(again).0, wildcard, now.0])?;
            if gone { judge_held_back(work, domain) } else { Ok(()) }
        })?;
        Ok(self.wildcards()?.into_iter().find(|known| known.domain == domain))
    }

    /// Domains that have no more hosts than may be without a question, by now, are wildcards no longer. Those that are.
    pub fn wildcards_in_force(&mut self, now: Timestamp) -> Result<Vec<Wildcard>, StoreError> {
        let hosts = self.wildcard_hosts.map_or(i64::MAX, |hosts| hosts.min(i64::MAX as u64) as i64);
        self.transact(now, |work| {
            let lifted: Vec<String> = work
                .sql
                .prepare(
                    "UPDATE domain_hosts SET wildcard = NULL, ask = 0 \
                     WHERE wildcard IS NOT NULL AND hosts <= ?1 RETURNING domain",
                )?
                .query_map([hosts], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            lifted.iter().try_for_each(|domain| judge_held_back(work, domain))
        })?;
        self.wildcards()
    }

    pub fn wildcards(&self) -> Result<Vec<Wildcard>, StoreError> {
        let read = || -> sql::Result<Vec<Wildcard>> {
            let mut list = self.connection.prepare(
                "SELECT domain FROM domain_hosts WHERE wildcard IS NOT NULL ORDER BY domain",
            )?;
            let domains: Vec<String> =
                list.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let mut sites = self.connection.prepare(
                "SELECT key FROM sites WHERE domain = ?1 AND (kin = 0 OR seeded = 1 OR fetched > 0)",
            )?;
            let mut wildcards = Vec::new();
            for domain in domains {
                let let_in = sites.query_map([&domain], |row| row.get(0))?;
                wildcards.push(Wildcard { let_in: let_in.collect::<Result<_, _>>()?, domain });
            }
            Ok(wildcards)
        };
        read().map_err(|e| self.error(e))
    }
}

fn is_wildcard(work: &Work<'_>, domain: &str) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM domain_hosts WHERE domain = ?1 AND wildcard IS NOT NULL";
    Ok(work.sql.prepare(sql)?.exists([domain])?)
}

/// A wildcard is gone: what was refused for it is judged anew, and the domain's pages are read again for the links
/// that were not taken.
fn judge_held_back(work: &mut Work<'_>, domain: &str) -> Result<(), Fault> {
    let sites: Vec<SiteId> = work
        .sql
        .prepare("SELECT id FROM sites WHERE domain = ?1 AND kin = 1")?
        .query_map([domain], |row| row.get(0).map(SiteId))?
        .collect::<Result<_, _>>()?;
    for site in sites {
        admit::judge_again(work, site, false)?;
    }
    // Answered with "not modified", their links would not be read.
    work.sql
        .prepare(
            "UPDATE page_facts SET etag = NULL, last_modified = NULL \
             WHERE site IN (SELECT id FROM sites WHERE domain = ?1)",
        )?
        .execute([domain])?;
    Ok(())
}

/// Whether the domain has as many hosts as it may.
pub(super) fn is_full(work: &Work<'_>, domain: &str) -> Result<bool, Fault> {
    let Some(max) = work.domain_hosts_max else { return Ok(false) };
    let hosts: Option<i64> = work
        .sql
        .prepare("SELECT hosts FROM domain_hosts WHERE domain = ?1")?
        .query_row([domain], |row| row.get(0))
        .optional()?;
    Ok(hosts.is_some_and(|hosts| hosts as u64 >= max))
}

/// A site was made that no seed names.
pub(super) fn count_host(work: &Work<'_>, domain: &str, key: &str) -> Result<(), Fault> {
    work.sql
        .prepare(
            "INSERT INTO domain_hosts (domain, hosts, newest) VALUES (?1, 1, ?2) \
             ON CONFLICT (domain) DO UPDATE SET hosts = domain_hosts.hosts + 1, newest = ?2",
        )?
        .execute([domain, key])?;
    Ok(())
}

/// Told under the domain: its hosts have no end.
pub(super) fn refuse_host(work: &mut Work<'_>, candidate: &Candidate) -> Result<(), Fault> {
    let max = work.domain_hosts_max.unwrap_or(u64::MAX);
    let decision = Decision {
        site: candidate.url.domain().to_owned(),
        reason: RefusalReason::Limit,
        rule: format!("hazards.domain_hosts = {max}"),
        count: 1,
        example: candidate.url.as_str().to_owned(),
        referrer: None,
    };
    count_decisions(work, &[decision])
}

/// Whether only pages of its own domain have led to a site. When another does, what was held back is judged anew.
pub(super) fn note_kinship(
    work: &mut Work<'_>,
    site: SiteId,
    mut kinships: impl Iterator<Item = Kinship>,
) -> Result<(), Fault> {
    if kinships.all(|kinship| kinship == Kinship::Kin) {
        // A site without pages was made just now.
        let mark = "UPDATE sites SET kin = 1 WHERE id = ?1 AND pages = 0";
        work.sql.prepare(mark)?.execute([site.0])?;
        return Ok(());
    }
    let clear = "UPDATE sites SET kin = 0 WHERE id = ?1 AND kin = 1";
    if work.sql.prepare(clear)?.execute([site.0])? > 0 {
        admit::judge_again(work, site, false)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::{Change, CrawlUrl, Frontier, PageState, PageTerms, Release, SpiderId};

    use super::*;
    use crate::frontier::suite::{ask, delta, settlement, verdict, visited};

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn candidate(text: &str, seed: bool, kinship: Kinship) -> Candidate {
        Candidate {
            url: CrawlUrl::parse(text).unwrap(),
            spider: SpiderId(1),
            level: 0,
            hops: 0,
            seed,
            terms: PageTerms { kinship, ..PageTerms::default() },
            referrer: None,
        }
    }

    fn hosts(range: std::ops::Range<u32>) -> Vec<Candidate> {
        let kin = |n| candidate(&format!("http://h{n}.w.test/"), false, Kinship::Kin);
        range.map(kin).collect()
    }

    #[test]
    fn a_domain_with_many_hosts_is_asked_once_and_again_after_a_time() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.set_wildcard_hosts(Some(20));
        frontier.admit(&hosts(0..20), NOW).unwrap();
        assert_eq!(frontier.suspects(NOW).unwrap(), []);
        frontier.admit(&hosts(20..21), NOW).unwrap();
        let (domain, host) = ("w.test".to_owned(), "h20.w.test".to_owned());
        assert_eq!(frontier.suspects(NOW).unwrap(), [Suspect { domain, host }]);
        assert_eq!(frontier.probed("w.test", Some(false), NOW).unwrap(), None);
        assert_eq!(frontier.suspects(NOW.plus(TRY_AGAIN)).unwrap(), []);
        assert_eq!(frontier.suspects(NOW.plus(ASK_AGAIN)).unwrap().len(), 1);
        assert_eq!(frontier.probed("w.test", None, NOW).unwrap(), None);
        assert_eq!(frontier.suspects(NOW.plus(TRY_AGAIN)).unwrap().len(), 1, "no answer: tomorrow");
    }

    #[test]
    fn sites_that_somebody_else_links_to_are_let_in() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.admit(&hosts(0..3), NOW).unwrap();
        frontier.admit(&[candidate("http://h1.w.test/x", false, Kinship::Unsaid)], NOW).unwrap();
        frontier.admit(&[candidate("http://w.test/", true, Kinship::Unsaid)], NOW).unwrap();
        let found = frontier.probed("w.test", Some(true), NOW).unwrap().unwrap();
        assert_eq!(found.let_in, ["h1.w.test", "w.test"]);
        frontier.admit(&[candidate("http://h2.w.test/", false, Kinship::Stranger)], NOW).unwrap();
        let let_in = &frontier.wildcards().unwrap()[0].let_in;
        assert_eq!(let_in.len(), 3, "also when the URL itself is known: {let_in:?}");
    }

    /// Three hosts of `w.test`: of the first a page answered, those of the others were refused for the wildcard.
    fn held_back() -> SqlFrontier {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.admit(&hosts(0..3), NOW).unwrap();
        frontier.probed("w.test", Some(true), NOW).unwrap().unwrap();
        let mut deltas = Vec::new();
        for lease in frontier.check_out(&ask(NOW.0)).unwrap() {
            let fp = lease.pages[0].url.fingerprint();
            let mut back = delta(&lease, Release::NotBefore(NOW));
            back.updates = vec![match lease.site.key.as_str() {
                "h0.w.test" => visited(fp, NOW.0, Change::First, None),
                _ => verdict(fp, PageState::Excluded, None),
            }];
            deltas.push(back);
        }
        assert_eq!(deltas.len(), 3);
        frontier.check_in(&settlement(NOW.0, deltas)).unwrap();
        assert_eq!(candidates(&frontier), 0);
        frontier
    }

    fn candidates(frontier: &SqlFrontier) -> i64 {
        let sql = "SELECT count(*) FROM pages WHERE state = 0";
        frontier.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_was_refused_for_a_wildcard_is_judged_anew_when_there_is_none_any_more() {
        let mut frontier = held_back();
        assert!(frontier.probed("w.test", None, NOW).unwrap().is_some(), "no answer: it stands");
        assert_eq!(candidates(&frontier), 0);
        assert_eq!(frontier.probed("w.test", Some(false), NOW).unwrap(), None);
        assert_eq!(candidates(&frontier), 2);
        assert_eq!(frontier.check_out(&ask(NOW.0)).unwrap().len(), 2, "somebody looks at them");
        assert_eq!(frontier.verify(true).unwrap(), []);
    }

    #[test]
    fn a_wildcard_is_lifted_when_so_many_hosts_are_no_longer_suspicious() {
        for (hosts, is_lifted) in [(Some(2), false), (Some(3), true), (None, true)] {
            let mut frontier = held_back();
            frontier.set_wildcard_hosts(hosts);
            let known = frontier.wildcards_in_force(NOW).unwrap();
            assert_eq!(known.is_empty(), is_lifted, "{hosts:?}");
            assert_eq!(candidates(&frontier), if is_lifted { 2 } else { 0 }, "{hosts:?}");
            frontier.set_wildcard_hosts(Some(2));
            assert_eq!(frontier.suspects(NOW).unwrap().len(), usize::from(is_lifted), "asked anew");
        }
    }

    #[test]
    fn a_host_that_has_answered_is_not_held_back() {
        assert_eq!(held_back().wildcards().unwrap()[0].let_in, ["h0.w.test"]);
    }

    #[test]
    fn no_more_hosts_of_a_domain_are_taken_than_the_limit_but_for_seeds_and_other_domains() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        frontier.set_domain_hosts_max(Some(5));
        assert_eq!(frontier.admit(&hosts(0..9), NOW).unwrap(), 5);
        let others = [
            candidate("http://h7.w.test/", true, Kinship::Unsaid),
            candidate("http://a.v.test/", false, Kinship::Unsaid),
        ];
        assert_eq!(frontier.admit(&others, NOW).unwrap(), 2);
        let sql = "SELECT count FROM decisions WHERE site = 'w.test' AND rule = 'hazards.domain_hosts = 5'";
        let refused: i64 = frontier.connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(refused, 4);
        assert_eq!(frontier.verify(true).unwrap(), []);
    }
}
