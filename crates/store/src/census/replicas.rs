//! What replicas are found by: which contents which sites have, in the order of their hashes, and the documents of
//! single sites. Nothing is loaded whole: the database sorts, on disk where it must.

use std::collections::HashMap;

use model::{CrawlUrl, StoreError, Timestamp};

use super::Census;
use crate::replicas::{IS_HOME, REPLICAS, ReplicaRow, replica_row};
use crate::sql::{OptionalExtension, params};

/// Answers without a body are equal everywhere and say nothing.
const BODY_BYTES_MIN: i64 = 1;

/// A document of a site, as the last visit left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEntry {
    pub url: String,
    /// `None`: it is gone.
    pub hash: Option<u64>,
    pub visited: Timestamp,
}

/// What is known of a site that may be a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteStanding {
    pub key: String,
    pub seeded: bool,
    pub known: u64,
    /// When its home page was last visited.
    pub home_visited: Option<Timestamp>,
}

impl Census {
    /// Every content of every page, as (hash, site, whether it is the home page), in the order of hashes and sites.
    /// Nothing where only one site has given any: it is like no other.
    pub fn each_content(&self, mut take: impl FnMut(u64, i64, bool)) -> Result<(), StoreError> {
        let sites = "SELECT count(*) FROM (SELECT 1 FROM sites WHERE fetched > 0 LIMIT 2) AS found";
        if self.list(sites, [], |row| row.get::<i64>(0))? != [2] {
            return Ok(());
        }
        // By site: pages of sites that have given nothing are passed over.
        let sql = format!(
            "SELECT v.content_hash, p.site, {IS_HOME} FROM sites s /*CROSS*/ JOIN pages p ON p.site = s.id \
             JOIN visits v ON v.seq = p.run WHERE s.fetched > 0 AND p.state = 2 \
             AND p.requisite = 0 AND v.body_bytes >= ?1 ORDER BY v.content_hash, p.site"
        );
        self.ask(|connection| {
            let mut statement = connection.prepare_hinted(&sql)?;
            let mut rows = statement.query([BODY_BYTES_MIN])?;
            while let Some(row) = rows.next()? {
                take(row.get::<i64>(0)? as u64, row.get(1)?, row.get(2)?);
            }
            Ok(())
        })
    }

    /// Documents of a site that answered or are gone, its home page first and then those nearest to it.
    pub fn documents(&self, site: i64, max: u32) -> Result<Vec<DocumentEntry>, StoreError> {
        let sql = format!(
            "SELECT p.url, CASE p.state WHEN 2 THEN v.content_hash END, p.visited FROM pages p \
             JOIN visits v ON v.seq = p.run WHERE p.site = ?2 AND p.requisite = 0 \
             AND (p.state = 5 OR p.state = 2 AND v.body_bytes >= ?3) ORDER BY {IS_HOME} DESC, p.level, \
             p.url LIMIT ?1"
        );
        self.list(&sql, params![max, site, BODY_BYTES_MIN], |row| {
            let hash: Option<i64> = row.get(1)?;
            let visited: Option<i64> = row.get(2)?;
            Ok(DocumentEntry {
                url: row.get(0)?,
                hash: hash.map(|hash| hash as u64),
                visited: Timestamp(visited.unwrap_or_default()),
            })
        })
    }

    pub fn standings(&self, sites: &[i64]) -> Result<HashMap<i64, SiteStanding>, StoreError> {
        let sql = format!(
            "SELECT s.key, s.seeded, s.known, (SELECT max(p.visited) FROM pages p \
             WHERE p.site = s.id AND {IS_HOME}) FROM sites s WHERE s.id = ?1"
        );
        let mut standings = HashMap::new();
        for site in sites {
            let found = self.list(&sql, [site], |row| {
                let visited: Option<i64> = row.get(3)?;
                Ok(SiteStanding {
                    key: row.get(0)?,
                    seeded: row.get(1)?,
                    known: row.get::<i64>(2)? as u64,
                    home_visited: visited.map(Timestamp),
                })
            })?;
            standings.extend(found.into_iter().map(|standing| (*site, standing)));
        }
        Ok(standings)
    }

    pub fn site_number(&self, key: &str) -> Result<Option<i64>, StoreError> {
        self.ask(|sql| {
            let mut statement = sql.prepare("SELECT id FROM sites WHERE key = ?1")?;
            statement.query_row([key], |row| row.get(0)).optional()
        })
    }

    /// Whether the site lies under a domain all of whose names resolve, nothing of it was fetched, and only
    /// pages of that domain lead to it.
    pub fn is_held_back(&self, url: &CrawlUrl) -> Result<bool, StoreError> {
        self.ask(|sql| {
            let mut statement = sql.prepare(
                "SELECT 1 FROM domain_hosts WHERE domain = ?1 AND wildcard IS NOT NULL \
                 AND NOT EXISTS (SELECT 1 FROM sites WHERE key = ?2 \
                 AND (kin = 0 OR seeded = 1 OR fetched > 0))",
            )?;
            statement.exists([url.domain(), url.site_text()])
        })
    }

    /// All replicas on the list, by site.
    pub fn replicas(&self) -> Result<Vec<ReplicaRow>, StoreError> {
        self.list(&format!("{REPLICAS} ORDER BY site"), [], replica_row)
    }

    pub fn replica(&self, site: &str) -> Result<Option<ReplicaRow>, StoreError> {
        Ok(self.list(&format!("{REPLICAS} WHERE site = ?1"), [site], replica_row)?.pop())
    }
}
