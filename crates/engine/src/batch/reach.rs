//! Whether the machine that harvests a batch reached anybody at all.
//!
//! A machine without a network, or without name servers, sees every site fail. That says nothing of the sites: such
//! failures are forgotten, their pages are still to be visited, and none of it is brought home. What a run saw
//! counts when any server answered in it, and failures of a site when that site ever answered.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::{CrawlUrl, FailureKind, SiteKey, Timestamp};
use store::frontier::{FailedVisit, SqlFrontier};

use config::failure::Failure;

/// What a folder that harvests a batch has seen of the network since the batch was made.
#[derive(Debug, Default)]
pub struct Reach {
    made: Timestamp,
    /// When its runs began, the oldest first.
    runs: Vec<Timestamp>,
    /// Those of them in which a server answered, by number.
    answered: BTreeSet<usize>,
    sites: HashSet<SiteKey>,
}

/// Pages that were tried by a machine without a network.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Offline {
    pub pages: u64,
    /// One of them, and why it could not be reached.
    pub example: Option<(CrawlUrl, FailureKind)>,
}

impl Reach {
    pub fn of(frontier: &SqlFrontier, made: Timestamp) -> Result<Reach, Failure> {
        let (runs, answers) = (frontier.run_starts()?, frontier.answers(made)?);
        let mut reach = Reach { made, runs, ..Reach::default() };
        for (site, at) in answers {
            reach.answered.insert(reach.run_at(at));
            reach.sites.insert(site);
        }
        Ok(reach)
    }

    /// Whether the failure tells anything of the site.
    pub fn counts(&self, visit: &FailedVisit) -> bool {
        reached(visit.kind) || (!self.is_offline(visit) && self.sites.contains(&visit.url.site()))
    }

    /// Whether a server of the site was ever reached.
    pub fn has_reached(&self, site: &SiteKey) -> bool {
        self.sites.contains(site)
    }

    /// Pages whose last visit was made without a network are due as if it had not been made.
    pub fn offer_again(
        &self,
        frontier: &mut SqlFrontier,
        now: Timestamp,
    ) -> Result<Offline, Failure> {
        let mut pages: BTreeMap<String, FailedVisit> = BTreeMap::new();
        for visit in frontier.failed_visits(self.made)? {
            pages.insert(visit.url.as_str().to_owned(), visit);
        }
        let mut again = Vec::new();
        let mut offline = Offline::default();
        for visit in pages.into_values().filter(|visit| self.is_offline(visit)) {
            if frontier.last_visit(&visit.url)?.flatten() != Some(visit.at) {
                continue;
            }
            offline.pages += 1;
            offline.example = Some((visit.url.clone(), visit.kind));
            let answered = self.sites.contains(&visit.url.site());
            again.push((visit.url, answered));
        }
        let silent = !self.runs.is_empty() && !self.has_lately();
        if silent || !again.is_empty() {
            frontier.due_again(&again, silent, self.made, now)?;
        }
        Ok(offline)
    }

    /// Of the last run: whether any server answered.
    pub fn has_lately(&self) -> bool {
        self.answered.contains(&self.runs.len())
    }

    /// It was made in a run in which nobody answered.
    fn is_offline(&self, visit: &FailedVisit) -> bool {
        !reached(visit.kind) && !self.answered.contains(&self.run_at(visit.at))
    }

    /// A run lasts until the next one begins.
    fn run_at(&self, at: Timestamp) -> usize {
        self.runs.partition_point(|started| *started <= at)
    }
}

/// Whether somebody was there who could have answered.
fn reached(kind: FailureKind) -> bool {
    !matches!(
        kind,
        FailureKind::DnsUnknown
            | FailureKind::DnsTrouble
            | FailureKind::ConnectRefused
            | FailureKind::ConnectTimeout
            | FailureKind::Proxy
            | FailureKind::Aborted
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn visit(host: &str, at: i64, kind: FailureKind) -> FailedVisit {
        let url = CrawlUrl::parse(&format!("http://{host}/")).unwrap();
        FailedVisit { url, at: Timestamp(at), kind, elapsed: Duration::ZERO }
    }

    #[test]
    fn failures_count_where_the_run_and_the_site_have_answered() {
        let reach = Reach {
            made: Timestamp(1),
            runs: vec![Timestamp(10), Timestamp(20)],
            answered: BTreeSet::from([2]),
            sites: HashSet::from([SiteKey::stored("a.example")]),
        };
        let counts = |host, at, kind| reach.counts(&visit(host, at, kind));
        assert!(!counts("a.example", 15, FailureKind::DnsTrouble), "nobody was there then");
        assert!(counts("a.example", 25, FailureKind::ConnectTimeout));
        assert!(!counts("b.example", 25, FailureKind::DnsUnknown), "it has never answered");
        assert!(counts("b.example", 25, FailureKind::Tls), "somebody shook hands");
        assert!(reach.has_lately());
    }
}
