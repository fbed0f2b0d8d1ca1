//! Pages whose reading broke down: counted with the sightings that tell of them, forgotten when a page is read
//! well again, kept from the third time on until somebody lifts the quarantine.

use model::{CrawlUrl, Hazard, Measure, Sighting, SiteId, StoreError, Timestamp, limits};
use serde::Serialize;

use super::{
    admit,
    rows::{Fault, stored_fp},
    sql_frontier::{SqlFrontier, Work},
};
use crate::sql::{self, OptionalExtension, Row, params};

/// Pages that are remembered; beyond that the oldest that are not in quarantine are forgotten.
const KEPT_MAX: i64 = 10_000;

/// A page that could not be read, so many times in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breakdown {
    pub site: String,
    pub url: String,
    pub count: u32,
    /// What happened the last time, in words.
    pub how: String,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl Breakdown {
    pub(crate) const COLUMNS: &str = "site, url, count, how, first, last";

    pub(crate) fn from_row(row: Row<'_>) -> sql::Result<Breakdown> {
        Ok(Breakdown {
            site: row.get(0)?,
            url: row.get(1)?,
            count: row.get(2)?,
            how: row.get(3)?,
            first: Timestamp(row.get(4)?),
            last: Timestamp(row.get(5)?),
        })
    }
}

/// `parser-crash` counts its page, unless it was mended: then the page was read well after all.
pub(super) fn note(work: &mut Work<'_>, sightings: &[Sighting]) -> Result<(), Fault> {
    let of_pages = sightings.iter().filter(|sighting| sighting.hazard == Hazard::ParserCrash);
    for sighting in of_pages {
        let Ok(url) = CrawlUrl::stored(&sighting.example) else { continue };
        match sighting.measure {
            Measure::Corrected => read_well(work, &url)?,
            _ => count(work, &url, sighting)?,
        }
    }
    Ok(())
}

fn count(work: &Work<'_>, url: &CrawlUrl, sighting: &Sighting) -> Result<(), Fault> {
    work.sql
        .prepare(
            "INSERT INTO breakdowns (site, fp, url, count, how, first, last) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (site, fp) DO UPDATE SET \
             count = breakdowns.count + excluded.count, how = excluded.how, last = excluded.last",
        )?
        .execute(params![
            sighting.site,
            stored_fp(url.fingerprint()),
            url.as_str(),
            sighting.count as i64,
            sighting.what,
            work.now.0,
        ])?;
    work.sql
        .prepare(
            "DELETE FROM breakdowns WHERE (site, fp) IN (SELECT site, fp FROM breakdowns \
             WHERE count < ?2 ORDER BY last LIMIT max(0, (SELECT count(*) FROM breakdowns) - ?1))",
        )?
        .execute(params![KEPT_MAX, limits::BREAKDOWNS_MAX])?;
    Ok(())
}

fn read_well(work: &Work<'_>, url: &CrawlUrl) -> Result<(), Fault> {
    work.sql
        .prepare("DELETE FROM breakdowns WHERE site = ?1 AND fp = ?2 AND count < ?3")?
        .execute(params![url.site_text(), stored_fp(url.fingerprint()), limits::BREAKDOWNS_MAX])?;
    Ok(())
}

impl SqlFrontier {
    /// Every page whose reading broke down since it last went well.
    pub fn breakdowns(&self) -> Result<Vec<Breakdown>, StoreError> {
        self.list_breakdowns().map_err(|e| self.error(e))
    }

    fn list_breakdowns(&self) -> sql::Result<Vec<Breakdown>> {
        let sql = format!("SELECT {} FROM breakdowns", Breakdown::COLUMNS);
        let mut statement = self.connection.prepare(&sql)?;
        statement.query_map([], Breakdown::from_row)?.collect()
    }

    /// Lets a page, or all pages of a site, be read again; how many were in the list. Their sites' excluded
    /// pages are judged anew.
    pub fn lift_quarantine(&mut self, what: &str, now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| {
            let site: Option<String> = work
                .sql
                .query_row(
                    "SELECT site FROM breakdowns WHERE site = ?1 OR url = ?1 LIMIT 1",
                    [what],
                    |row| row.get(0),
                )
                .optional()?;
            let Some(site) = site else { return Ok(0) };
            let gone =
                work.sql.execute("DELETE FROM breakdowns WHERE site = ?1 OR url = ?1", [what])?;
            let id: Option<SiteId> = work
                .sql
                .query_row("SELECT id FROM sites WHERE key = ?1", [&site], |row| {
                    row.get(0).map(SiteId)
                })
                .optional()?;
            if let Some(id) = id {
                admit::judge_again(work, id, true)?;
            }
            Ok(gone as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{Frontier, Settlement};

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn met(url: &str, measure: Measure) -> Sighting {
        let url = CrawlUrl::parse(url).unwrap();
        Sighting::at(&url, Hazard::ParserCrash, measure).of("it panicked")
    }

    fn settle(frontier: &mut SqlFrontier, sightings: Vec<Sighting>) {
        let settlement = Settlement { now: NOW, sightings, ..Settlement::default() };
        frontier.check_in(&settlement).unwrap();
    }

    fn counts(frontier: &SqlFrontier) -> Vec<(String, u32)> {
        let all = frontier.breakdowns().unwrap();
        all.into_iter().map(|row| (row.url, row.count)).collect()
    }

    #[test]
    fn breakdowns_add_up_and_end_with_a_reading_that_goes_well() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let (a, b) = ("http://a.example/x", "http://a.example/y");
        settle(&mut frontier, vec![met(a, Measure::Noted), met(b, Measure::Noted)]);
        settle(&mut frontier, vec![met(a, Measure::Noted)]);
        assert_eq!(counts(&frontier).iter().map(|(_, n)| n).sum::<u32>(), 3);
        settle(&mut frontier, vec![met(a, Measure::Corrected)]);
        assert_eq!(counts(&frontier), [(b.to_owned(), 1)]);
    }

    #[test]
    fn what_is_in_quarantine_stays_until_it_is_lifted() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let url = "http://a.example/x";
        settle(&mut frontier, vec![met(url, Measure::Noted); 3]);
        settle(&mut frontier, vec![met(url, Measure::Corrected)]);
        assert_eq!(counts(&frontier), [(url.to_owned(), 3)]);
        assert_eq!(frontier.lift_quarantine("http://a.example/other", NOW).unwrap(), 0);
        assert_eq!(frontier.lift_quarantine("a.example", NOW).unwrap(), 1);
        assert_eq!(counts(&frontier), []);
    }
}
