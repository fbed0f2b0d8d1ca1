//! Counting everything again: does what the database says of itself hold?

use model::{StoreError, Timestamp};
use serde::Serialize;

use super::{rows::Fault, sql_frontier::SqlFrontier, tally::load_totals};
use crate::sql::{self, Sql};

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub topic: Topic,
    /// One sentence, with the figures.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// The file itself: restore a copy.
    Damage,
    /// A counter is not what the rows say: can be repaired.
    Counter,
    /// A site would be visited too late or never: can be repaired.
    Due,
    /// A row refers to one that is not there.
    Orphan,
}

/// As many as are worth reading; a damaged file can have millions.
const FINDINGS_MAX: usize = 100;

/// Site counters as the rows have them: (column, expression over `pages p`).
const SITE_COUNTERS: [(&str, &str); 7] = [
    ("pages", "count(*)"),
    ("known", "count(*) FILTER (WHERE p.state NOT IN (0, 6) AND p.requisite = 0)"),
    ("fetched", "count(*) FILTER (WHERE p.fetched = 1 AND p.requisite = 0)"),
    ("failed", "count(*) FILTER (WHERE p.state = 4 AND p.requisite = 0)"),
    ("requisites", "count(*) FILTER (WHERE p.state NOT IN (0, 6) AND p.requisite = 1)"),
    ("waiting", "count(*) FILTER (WHERE p.state = 1 AND p.requisite = 0)"),
    ("dynamic", "count(*) FILTER (WHERE instr(p.url, '?') > 0)"),
];

/// The same of spiders.
const SPIDER_COUNTERS: [(&str, &str); 5] = [
    ("known", SITE_COUNTERS[1].1),
    ("waiting", SITE_COUNTERS[5].1),
    ("fetched", SITE_COUNTERS[2].1),
    ("failed", SITE_COUNTERS[3].1),
    ("requisites", SITE_COUNTERS[4].1),
];

/// Visits and bytes stay with the spider that spent them when a page changes hands, so only their sum is
/// in the rows.
const SPIDER_SUMS: [(&str, &str); 2] = [
    ("visits", "SELECT coalesce(sum(count), 0) FROM visits"),
    ("bytes", "SELECT coalesce(sum(wire_bytes), 0) FROM visits"),
];

/// What domains have brought, as their sites have it.
const DOMAINS: &str = "SELECT domain, sum(fetched) AS fetched, sum(bytes) AS bytes FROM sites \
     GROUP BY domain HAVING sum(fetched) > 0 OR sum(bytes) > 0";

/// Totals as the rows have them.
const TOTALS: [(&str, &str); 14] = [
    ("sites_known", "SELECT count(*) FROM sites"),
    ("candidates", "SELECT count(*) FROM pages WHERE state = 0 AND requisite = 0"),
    ("pages_known", "SELECT count(*) FROM pages WHERE state NOT IN (0, 6) AND requisite = 0"),
    ("pages_waiting", "SELECT count(*) FROM pages WHERE state = 1 AND requisite = 0"),
    ("pages_fetched", "SELECT count(*) FROM pages WHERE state = 2 AND requisite = 0"),
    ("pages_redirected", "SELECT count(*) FROM pages WHERE state = 3 AND requisite = 0"),
    ("pages_failed", "SELECT count(*) FROM pages WHERE state = 4 AND requisite = 0"),
    ("pages_gone", "SELECT count(*) FROM pages WHERE state = 5 AND requisite = 0"),
    ("pages_excluded", "SELECT count(*) FROM pages WHERE state = 6 AND requisite = 0"),
    ("requisites", "SELECT count(*) FROM pages WHERE state NOT IN (0, 6) AND requisite = 1"),
    ("refused", "SELECT coalesce(sum(count), 0) FROM decisions"),
    ("visits", "SELECT coalesce(sum(count), 0) FROM visits"),
    ("versions", "SELECT count(*) FROM visits WHERE change IN (0, 1, 7)"),
    ("bytes", "SELECT coalesce(sum(wire_bytes), 0) FROM visits"),
];

/// The queues of a site: its column, and the pages it goes by.
const QUEUES: [(&str, &str); 2] = [("due", "turn NOT IN (2, 4)"), ("due_again", "turn IN (2, 4)")];

/// Sites not in hand and not at rest that a page of theirs is due before.
fn late_sites(column: &str, pages: &str) -> String {
    format!(
        "FROM sites s JOIN (SELECT site, min(due) AS first FROM pages \
         WHERE due IS NOT NULL AND {pages} GROUP BY site) p ON p.site = s.id \
         WHERE s.leased = 0 AND s.resting = 0 \
         AND (s.{column} IS NULL OR s.{column} > max(p.first, s.not_before))"
    )
}

impl SqlFrontier {
    /// What does not hold, at most a hundred findings; `full` also compares every index with its table
    /// and every site's visits with their rows (minutes on large collections).
    pub fn verify(&mut self, full: bool) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Vec::new();
        self.examine(full, &mut findings).map_err(|e| self.error(e))?;
        findings.truncate(FINDINGS_MAX);
        Ok(findings)
    }

    /// Sets counters and dues to what the rows say.
    pub fn repair_counters(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.transact(now, |work| {
            recount_sites(work.sql, None)?;
            for (column, pages) in QUEUES {
                let late = late_sites(column, pages);
                work.sql.execute(
                    &format!(
                        "UPDATE sites SET {column} = max(not_before, (SELECT min(due) FROM pages \
                         WHERE site = sites.id AND due IS NOT NULL AND {pages})) \
                         WHERE id IN (SELECT s.id {late})"
                    ),
                    [],
                )?;
            }
            recount_totals(work.sql)?;
            work.counts = load_totals(work.sql).map_err(Fault::from)?;
            Ok(())
        })
    }

    fn examine(&self, full: bool, findings: &mut Vec<Finding>) -> sql::Result<()> {
        let damage = self.connection.damage(full)?.into_iter().filter(|text| text != "ok");
        findings
            .extend(damage.take(FINDINGS_MAX).map(|text| Finding { topic: Topic::Damage, text }));
        if !findings.is_empty() {
            return Ok(());
        }
        self.examine_totals(findings)?;
        self.examine_sites(full, findings)?;
        self.examine_spiders(findings)?;
        self.examine_domains(findings)?;
        for (column, pages) in QUEUES {
            let late = late_sites(column, pages);
            let sql = format!("SELECT 'site ' || s.key || ' has pages due before the site' {late}");
            self.list(Topic::Due, &sql, findings)?;
        }
        self.list(
            Topic::Orphan,
            "SELECT count(*) || ' pages belong to no site' FROM pages \
             WHERE site NOT IN (SELECT id FROM sites) HAVING count(*) > 0",
            findings,
        )?;
        for table in ["page_facts", "page_children", "visits"] {
            let sql = format!(
                "SELECT count(*) || ' rows of {table} belong to no page' FROM {table} t WHERE NOT \
                 EXISTS (SELECT 1 FROM pages p WHERE p.site = t.site AND p.fp = t.fp) \
                 HAVING count(*) > 0"
            );
            self.list(Topic::Orphan, &sql, findings)?;
        }
        self.examine_newest(findings)
    }

    /// Thinning leaves the newest version of every page: without it, there is nothing to show.
    fn examine_newest(&self, findings: &mut Vec<Finding>) -> sql::Result<()> {
        let sql = format!(
            "SELECT 'the newest version of ' || p.url || ' has no record' FROM visits v \
             JOIN pages p ON p.site = v.site AND p.fp = v.fp \
             WHERE v.thinned IS NOT NULL AND v.change IN (0, 1, 7) AND v.record_volume IS NULL \
             AND NOT EXISTS (SELECT 1 FROM visits w WHERE w.site = v.site AND w.fp = v.fp \
             AND w.seq > v.seq AND w.change IN (0, 1, 7)) LIMIT {FINDINGS_MAX}"
        );
        self.list(Topic::Orphan, &sql, findings)
    }

    fn examine_totals(&self, findings: &mut Vec<Finding>) -> sql::Result<()> {
        for (column, query) in TOTALS {
            let sql = format!(
                "SELECT 'the total {column} is ' || {column} || ', the rows say ' || ({query}) \
                 FROM totals WHERE {column} <> ({query})"
            );
            self.list(Topic::Counter, &sql, findings)?;
        }
        Ok(())
    }

    fn examine_sites(&self, full: bool, findings: &mut Vec<Finding>) -> sql::Result<()> {
        let compare = |column: &str, expression: &str, rows: &str| {
            format!(
                "SELECT 'site ' || s.key || ' says {column} ' || s.{column} || ', the rows say ' \
                 || coalesce(n, 0) FROM sites s LEFT JOIN (SELECT p.site AS site, {expression} AS n \
                 FROM {rows} p GROUP BY p.site) AS r ON r.site = s.id WHERE s.{column} <> coalesce(n, 0) \
                 LIMIT {FINDINGS_MAX}"
            )
        };
        for (column, expression) in SITE_COUNTERS {
            self.list(Topic::Counter, &compare(column, expression, "pages"), findings)?;
        }
        if full {
            for (column, expression) in [("visits", "sum(p.count)"), ("bytes", "sum(p.wire_bytes)")]
            {
                self.list(Topic::Counter, &compare(column, expression, "visits"), findings)?;
            }
        }
        Ok(())
    }

    fn examine_spiders(&self, findings: &mut Vec<Finding>) -> sql::Result<()> {
        for (column, expression) in SPIDER_COUNTERS {
            let sql = format!(
                "SELECT 'spider ' || s.name || ' says {column} ' || s.{column} || ', the rows say ' \
                 || coalesce(n, 0) FROM spiders s LEFT JOIN (SELECT p.spider AS spider, \
                 {expression} AS n FROM pages p GROUP BY p.spider) AS r ON r.spider = s.id \
                 WHERE s.{column} <> coalesce(n, 0)"
            );
            self.list(Topic::Counter, &sql, findings)?;
        }
        for (column, query) in SPIDER_SUMS {
            let sql = format!(
                "SELECT 'all spiders together say {column} ' || n || ', the rows say ' || ({query}) \
                 FROM (SELECT coalesce(sum({column}), 0) AS n FROM spiders) AS r WHERE n <> ({query})"
            );
            self.list(Topic::Counter, &sql, findings)?;
        }
        Ok(())
    }

    fn examine_domains(&self, findings: &mut Vec<Finding>) -> sql::Result<()> {
        let sql = format!(
            "SELECT 'domain ' || domain || ' is not what its sites say' FROM \
             (SELECT * FROM ({DOMAINS} EXCEPT SELECT domain, fetched, bytes FROM domains) AS a \
             UNION SELECT * FROM (SELECT domain, fetched, bytes FROM domains WHERE fetched <> 0 \
             OR bytes <> 0 EXCEPT {DOMAINS}) AS b) AS c GROUP BY domain LIMIT {FINDINGS_MAX}"
        );
        self.list(Topic::Counter, &sql, findings)
    }

    fn list(&self, topic: Topic, sql: &str, findings: &mut Vec<Finding>) -> sql::Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if findings.len() >= FINDINGS_MAX {
                break;
            }
            findings.push(Finding { topic, text: row.get(0)? });
        }
        Ok(())
    }
}

fn repair_spiders(sql: &Sql) -> sql::Result<()> {
    for (column, expression) in SPIDER_COUNTERS {
        sql.execute(
            &format!(
                "UPDATE spiders SET {column} = coalesce((SELECT n FROM (SELECT p.spider AS spider, \
                 {expression} AS n FROM pages p GROUP BY p.spider) AS r WHERE r.spider = spiders.id), 0)"
            ),
            [],
        )?;
    }
    let [visits, bytes] = SPIDER_SUMS.map(|(_, query)| query);
    // Who spent what is lost then: it is put down to those who have the pages now.
    sql.execute_batch(&format!(
        "UPDATE spiders SET (visits, bytes) = (SELECT coalesce(sum(v.count), 0), \
         coalesce(sum(v.wire_bytes), 0) FROM visits v JOIN pages p ON p.site = v.site \
         AND p.fp = v.fp WHERE p.spider = spiders.id) \
         WHERE (SELECT sum(visits) FROM spiders) <> ({visits}) \
         OR (SELECT sum(bytes) FROM spiders) <> ({bytes})"
    ))
}
/// Sets the counters of all sites, or of one, to what the rows say.
pub(super) fn recount_sites(sql: &Sql, only: Option<i64>) -> sql::Result<()> {
    let of = if only.is_some() { "WHERE id = ?1" } else { "" };
    let only = only.as_slice();
    for (column, expression) in SITE_COUNTERS {
        let text = format!(
            "UPDATE sites SET {column} = \
             (SELECT {expression} FROM pages p WHERE p.site = sites.id) {of}"
        );
        sql.execute(&text, only)?;
    }
    let text = format!(
        "UPDATE sites SET (visits, bytes) = (SELECT coalesce(sum(count), 0), \
         coalesce(sum(wire_bytes), 0) FROM visits v WHERE v.site = sites.id) {of}"
    );
    sql.execute(&text, only).map(drop)
}

pub(super) fn recount_totals(sql: &Sql) -> sql::Result<()> {
    repair_spiders(sql)?;
    sql.execute_batch(&format!(
        "DELETE FROM domains; INSERT INTO domains (domain, fetched, bytes) {DOMAINS}"
    ))?;
    for (column, query) in TOTALS {
        sql.execute_batch(&format!("UPDATE totals SET {column} = ({query})"))?;
    }
    Ok(())
}
