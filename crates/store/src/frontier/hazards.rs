//! Hazards met, counted by site, name and kind, with a few examples; and what a site has taught about its traps.

use model::{Sighting, SiteId, SiteTraps, limits};

use super::{rows::Fault, sql_frontier::Work};
use crate::sql::{OptionalExtension, params};

/// Pages repeat each other's hazards: each is written once a transaction, in the order of the table.
pub(super) fn count(work: &mut Work<'_>, sightings: &[Sighting]) -> Result<(), Fault> {
    let mut sorted: Vec<&Sighting> = sightings.iter().collect();
    sorted.sort_by(|a, b| key(a).cmp(&key(b)));
    for equal in sorted.chunk_by(|a, b| key(a) == key(b)) {
        add(work, equal)?;
    }
    Ok(())
}

fn key(sighting: &Sighting) -> (&str, &str, &str) {
    (&sighting.site, sighting.hazard.word(), bounded(&sighting.what))
}

/// Sightings of the same; of several measures the strongest is kept.
fn add(work: &Work<'_>, equal: &[&Sighting]) -> Result<(), Fault> {
    let Some(first) = equal.first() else { return Ok(()) };
    let (site, hazard, mut what) = key(first);
    let mut row = row_of(work, site, hazard, what)?;
    if row.is_none() && !what.is_empty() && kinds(work, site, hazard)? >= Sighting::KINDS_MAX {
        what = "";
        row = row_of(work, site, hazard, what)?;
    }
    let (mut count, measure, mut examples) = row.unwrap_or_default();
    count += equal.iter().map(|sighting| sighting.count).sum::<u64>();
    let known = model::Measure::from_word(&measure);
    let measure = equal.iter().map(|sighting| sighting.measure).chain(known).max();
    for sighting in equal {
        keep(&mut examples, bounded(&sighting.example));
    }
    let examples = serde_json::to_string(&examples).unwrap_or_default();
    work.sql
        .prepare(
            "INSERT INTO hazards (site, hazard, what, measure, count, examples, first, last) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT (site, hazard, what) DO UPDATE SET \
             measure = excluded.measure, count = excluded.count, examples = excluded.examples, \
             last = excluded.last",
        )?
        .execute(params![
            site,
            hazard,
            what,
            measure.unwrap_or(first.measure).word(),
            count as i64,
            examples,
            work.now.0,
        ])?;
    Ok(())
}

type Row = (u64, String, Vec<String>);

fn row_of(work: &Work<'_>, site: &str, hazard: &str, what: &str) -> Result<Option<Row>, Fault> {
    let found = work
        .sql
        .prepare(
            "SELECT count, measure, examples FROM hazards \
             WHERE site = ?1 AND hazard = ?2 AND what = ?3",
        )?
        .query_row(params![site, hazard, what], |row| {
            let examples: String = row.get(2)?;
            let examples = serde_json::from_str(&examples).unwrap_or_default();
            Ok((row.get::<i64>(0)? as u64, row.get(1)?, examples))
        })
        .optional()?;
    Ok(found)
}

fn kinds(work: &Work<'_>, site: &str, hazard: &str) -> Result<usize, Fault> {
    let sql = "SELECT count(*) FROM hazards WHERE site = ?1 AND hazard = ?2";
    let count: i64 = work.sql.prepare(sql)?.query_row(params![site, hazard], |row| row.get(0))?;
    Ok(count as usize)
}

/// The first two stay, the last is the newest: how it began, and what it is like now.
fn keep(examples: &mut Vec<String>, example: &str) {
    if example.is_empty() || examples.iter().any(|kept| kept == example) {
        return;
    }
    examples.truncate(Sighting::EXAMPLES_MAX - 1);
    examples.push(example.to_owned());
}

/// Refused text can be of any length; an example need not be.
fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(limits::URL_BYTES_MAX)]
}

pub(super) fn save_traps(work: &Work<'_>, site: SiteId, traps: &SiteTraps) -> Result<(), Fault> {
    let text = (!traps.is_empty()).then(|| serde_json::to_string(traps).unwrap_or_default());
    work.sql
        .prepare("UPDATE sites SET traps = ?2 WHERE id = ?1")?
        .execute(params![site.0, text])?;
    Ok(())
}
