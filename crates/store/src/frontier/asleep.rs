//! Spiders whose pages are not lent out: paused, removed, or left out by the last check-out.
//!
//! A site whose due leaves such pages out is marked as resting. Falling asleep therefore changes no site
//! (its due is too early at most, and check-out puts it right); waking up looks at the resting ones.

use model::{SiteId, SpiderId};

use super::{check_in::save_meta, check_out::rouse, rows::Fault, sql_frontier::Work};
use crate::sql::{self, OptionalExtension, Sql};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asleep {
    pub paused: Vec<SpiderId>,
    pub removed: Vec<SpiderId>,
    /// As the last check-out said; kept in the database, for sites rest by it.
    pub asked: Vec<SpiderId>,
}

impl Asleep {
    pub fn load(sql: &Sql) -> sql::Result<Asleep> {
        let list = |condition: &str| -> sql::Result<Vec<SpiderId>> {
            let mut statement =
                sql.prepare(&format!("SELECT id FROM spiders WHERE {condition} ORDER BY id"))?;
            statement.query_map([], |row| row.get(0).map(SpiderId))?.collect()
        };
        let asked: Option<String> = sql
            .query_row("SELECT value FROM meta WHERE name = 'asleep'", [], |row| row.get(0))
            .optional()?;
        Ok(Asleep {
            paused: list("paused = 1 AND removed IS NULL")?,
            removed: list("removed IS NOT NULL")?,
            asked: asked.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
        })
    }

    /// All of them; `more` besides.
    pub fn spiders(&self, more: &[SpiderId]) -> Vec<SpiderId> {
        let stored = self.paused.iter().chain(&self.removed);
        stored.chain(&self.asked).chain(more).copied().collect()
    }

    fn holds(&self, spider: SpiderId) -> bool {
        [&self.paused, &self.removed, &self.asked].iter().any(|list| list.contains(&spider))
    }
}

/// A check-out names the spiders to leave out; those it no longer names wake up.
pub(super) fn ask(work: &mut Work<'_>, paused: &[SpiderId]) -> Result<(), Fault> {
    if work.asleep.asked == paused {
        return Ok(());
    }
    let before = std::mem::replace(&mut work.asleep.asked, paused.to_vec());
    save_meta(work, "asleep", &paused)?;
    for spider in before {
        wake(work, spider)?;
    }
    Ok(())
}

/// Sites that rest and have pages of this spider are due by them, unless something else keeps it asleep.
pub(super) fn wake(work: &mut Work<'_>, spider: SpiderId) -> Result<u64, Fault> {
    if work.asleep.holds(spider) {
        return Ok(0);
    }
    let sites: Vec<SiteId> = {
        let mut statement = work.sql.prepare(
            "SELECT id FROM sites WHERE resting = 1 AND leased = 0 AND (EXISTS (SELECT 1 FROM pages \
             WHERE site = sites.id AND spider = ?1 AND turn NOT IN (2, 4) AND due IS NOT NULL) OR EXISTS \
             (SELECT 1 FROM pages WHERE site = sites.id AND spider = ?1 AND turn IN (2, 4) \
             AND due IS NOT NULL))",
        )?;
        let found = statement.query_map([spider.0], |row| row.get(0).map(SiteId))?;
        found.collect::<Result<_, _>>()?
    };
    for site in &sites {
        rouse(work, *site)?;
    }
    Ok(sites.len() as u64)
}
