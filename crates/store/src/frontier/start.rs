//! What a crawl asks at its start: the seeds, and the wish to see everything anew.

use model::{CrawlUrl, PageTerms, SpiderId, StoreError, Timestamp, UrlTraps};

use super::{SqlFrontier, limits::LINKS_ARE_OLD, replicas::awake, rows::span};
use crate::sql::{self, Sql, params};

impl SqlFrontier {
    /// The seeds of all living spiders, and what they redirected to.
    pub fn seeds(&self) -> Result<Vec<Seed>, StoreError> {
        list_seeds(&self.connection).map_err(|e| self.error(e))
    }

    /// For each volume that visits name: how far their records reach in it, and how many they are.
    /// Those that are known to be lost are not among them.
    pub fn record_extents(&self) -> Result<Vec<RecordExtent>, StoreError> {
        let read = || -> sql::Result<Vec<RecordExtent>> {
            let mut statement = self.connection.prepare(
                "SELECT record_volume, max(record_offset + record_length), count(*) FROM visits \
                 WHERE record_volume IS NOT NULL AND lost IS NULL GROUP BY record_volume",
            )?;
            let extents = statement.query_map([], |row| {
                let (end, records) = (row.get::<i64>(1)? as u64, row.get::<i64>(2)? as u64);
                Ok(RecordExtent { volume: row.get(0)?, end, records })
            })?;
            extents.collect()
        };
        read().map_err(|e| self.error(e))
    }

    /// Every known page is due now; also one whose answer was not wanted or that robots.txt forbade, for
    /// that may have changed. Candidates that a rule refused stay out, pages of folded replicas rest, and what a
    /// site shows for a page it does not have is asked once.
    pub fn make_all_due(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.change(now, |sql| {
            // Answered with "not modified", their links would not be read.
            if sql.execute("DELETE FROM meta WHERE name = ?1", [LINKS_ARE_OLD])? > 0 {
                sql.execute("UPDATE page_facts SET etag = NULL, last_modified = NULL", [])?;
            }
            sql.execute(
                // Without a price: due as it stands, and not reckoned anew.
                concat!(
                    "UPDATE pages SET due = ?1, price = 0 \
                     WHERE (due IS NULL OR due > ?1 OR price > 0) AND (state BETWEEN 1 AND 5 \
                     OR state = 6 AND (visited IS NOT NULL OR due IS NOT NULL)) \
                     AND NOT (requisite = 1 AND due IS NULL \
                     AND substr(url, 8 + instr(substr(url, 9), '/'), length(?2)) = ?2) AND ",
                    awake!()
                ),
                params![now.0, UrlTraps::PROBE_PATH],
            )?;
            // Too early where no page of the queue is left: check-out puts it right.
            for (queue, has_some) in
                [("due", "pages > fetched"), ("due_again", "fetched + requisites > 0")]
            {
                sql.execute(
                    &format!(
                        "UPDATE sites SET {queue} = ?1, not_before = 0 WHERE leased = 0 \
                         AND known + requisites > 0 AND {has_some} \
                         AND ({queue} IS NULL OR {queue} > ?1)"
                    ),
                    params![now.0],
                )?;
            }
            Ok(())
        })
    }
}

/// A page that a user named, and for which spider.
#[derive(Clone, Debug, PartialEq)]
pub struct Seed {
    pub spider: SpiderId,
    pub url: CrawlUrl,
    pub terms: PageTerms,
}

/// How much of a volume the history needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordExtent {
    pub volume: u32,
    pub end: u64,
    pub records: u64,
}

/// The columns of [`read_seeds`].
macro_rules! seeds_where {
    ($condition:literal) => {
        concat!(
            "SELECT url, spider, requisite, outside, depth, period FROM pages WHERE seed = 1 \
             AND spider NOT IN (SELECT id FROM spiders WHERE removed IS NOT NULL) AND ",
            $condition
        )
    };
}

pub(crate) fn list_seeds(sql: &Sql) -> sql::Result<Vec<Seed>> {
    let mut statement = sql.prepare(seeds_where!("1 = 1"))?;
    read_seeds(statement.query([])?)
}

/// Those of the URL's domain, and of its port if that is unusual: a million others say nothing of it.
pub(crate) fn list_seeds_near(sql: &Sql, url: &CrawlUrl) -> sql::Result<Vec<Seed>> {
    let port = url.site_text().strip_prefix(url.host()).filter(|port| port.starts_with(':'));
    let mut statement = sql.prepare(seeds_where!(
        "site IN (SELECT id FROM sites WHERE domain = ?1 OR ?2 <> '' AND key LIKE '%' || ?2)"
    ))?;
    read_seeds(statement.query(params![url.domain(), port.unwrap_or_default()])?)
}

fn read_seeds(mut rows: sql::Rows<'_>) -> sql::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(url) = CrawlUrl::stored(row.text(0)?) else { continue };
        let terms = PageTerms {
            requisite: row.get(2)?,
            notice: None,
            outside: row.get(3)?,
            depth: row.get(4)?,
            period: row.get::<Option<i64>>(5)?.map(span),
            ..PageTerms::default()
        };
        seeds.push(Seed { spider: SpiderId(row.get(1)?), url, terms });
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use model::{Candidate, Change, Frontier, Release};

    use super::*;
    use crate::frontier::suite::{candidate, delta, lease_one, settlement, visited};

    #[test]
    fn what_a_site_shows_for_a_page_it_does_not_have_is_not_asked_anew() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let part = |text: &str| {
            let terms = PageTerms { requisite: true, ..PageTerms::default() };
            Candidate { terms, ..candidate(text, 0) }
        };
        let probe = "http://a.example/no-such-page-0123456789abcdef";
        let parts = [part(probe), part("http://a.example/x/no-such-page-1.png")];
        frontier.admit(&parts, Timestamp(0)).unwrap();
        frontier.admit(&[candidate("http://a.example/no-such-page-2", 0)], Timestamp(0)).unwrap();
        let lease = lease_one(&mut frontier, 0);
        let mut back = delta(&lease, Release::NotBefore(Timestamp(0)));
        let fps = lease.pages.iter().map(|page| page.url.fingerprint());
        back.updates = fps.map(|fp| visited(fp, 1, Change::First, None)).collect();
        assert_eq!(back.updates.len(), 3);
        frontier.check_in(&settlement(1, vec![back])).unwrap();

        frontier.make_all_due(Timestamp(9)).unwrap();
        let lease = lease_one(&mut frontier, 9);
        let mut urls: Vec<&str> = lease.pages.iter().map(|page| page.url.as_str()).collect();
        urls.sort_unstable();
        let others = ["http://a.example/no-such-page-2", "http://a.example/x/no-such-page-1.png"];
        assert_eq!(urls, others);
    }

    #[test]
    fn seeds_are_listed_and_nothing_else_is() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let page = |text: &str, seed| Candidate {
            url: CrawlUrl::parse(text).unwrap(),
            spider: SpiderId(1),
            level: 0,
            hops: 0,
            seed,
            terms: model::PageTerms::default(),
            referrer: None,
        };
        let both = [page("http://a.example/", true), page("http://b.example/", false)];
        frontier.admit(&both, Timestamp(1)).unwrap();
        let url = CrawlUrl::parse("http://a.example/").unwrap();
        let seed = Seed { spider: SpiderId(1), url, terms: PageTerms::default() };
        assert_eq!(frontier.seeds().unwrap(), [seed]);
    }
}
