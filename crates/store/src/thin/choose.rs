//! Which versions go, by what the database knows: page by page, the newest never.
//!
//! A version is a record: rows that carry the same one on (a full row is followed by another) go together.
//! The budget is met by days: of all versions that the rule leaves, those of the oldest days go, each day whole,
//! so that no list of all versions is needed.

use std::collections::{BTreeMap, HashSet};

use model::{StoreError, Timestamp};

use super::Keep;
use crate::{
    forget::capture_key,
    frontier::{SqlFrontier, unpack_times},
    sql::{self, Row, Sql},
    warc::date_text,
};

const DAY_MS: i64 = 86_400_000;

/// What one pass removes.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// `visits.seq`.
    pub(super) rows: Vec<i64>,
    /// Of every visit of those rows: target and date of a record.
    pub(super) captures: HashSet<u64>,
    pub(super) versions: u64,
    /// Payloads of visits that saw no change.
    pub(super) copies: u64,
    pub(super) bytes: u64,
    /// Of all that stays.
    pub(super) left_bytes: u64,
    by_site: BTreeMap<i64, (u64, u64)>,
    names: BTreeMap<i64, String>,
}

impl Chosen {
    pub(super) fn add_sites(&self, sites: &mut BTreeMap<String, (u64, u64)>) {
        for (site, (versions, bytes)) in &self.by_site {
            let name = self.names.get(site).cloned().unwrap_or_default();
            let sum = sites.entry(name).or_default();
            *sum = (sum.0 + versions, sum.1 + bytes);
        }
    }
}

/// A record, with the rows that have it.
struct Version {
    first: Timestamp,
    place: (i64, i64),
    digest: Option<[u8; 20]>,
    bytes: u64,
    rows: Vec<i64>,
    /// Of those rows.
    visits: u64,
    /// What the next visit is compared with.
    at_hand: bool,
    /// Visits that made a version of it: several where a page came back as it was and sent no content (304).
    versions: u64,
    /// The page's newest version: what is shown of it, whatever was archived since without being a change.
    newest: bool,
}

impl SqlFrontier {
    /// Stops when so many visits are chosen: the rest is for another pass.
    pub(super) fn choose_versions(
        &self,
        keep: &Keep,
        now: Timestamp,
        visits_max: usize,
    ) -> Result<Chosen, StoreError> {
        choose(&self.connection, keep, now, visits_max).map_err(|e| self.error(e))
    }
}

/// The records of rows that were thinned at this moment.
pub(crate) fn captures_of(sql: &Sql, at: Timestamp) -> sql::Result<HashSet<u64>> {
    let mut captures = HashSet::new();
    let mut statement = sql.prepare(
        "SELECT p.url, v.first, v.times FROM visits v \
         JOIN pages p ON p.site = v.site AND p.fp = v.fp WHERE v.thinned = ?1",
    )?;
    let mut rows = statement.query([at.0])?;
    while let Some(row) = rows.next()? {
        add_captures(row, 0, &mut captures)?;
    }
    Ok(captures)
}

fn choose(sql: &Sql, keep: &Keep, now: Timestamp, visits_max: usize) -> sql::Result<Chosen> {
    // First what the rule leaves, by days; then, with the day before which the budget takes all, the rows.
    let (mut total, mut days) = (0, BTreeMap::<i64, u64>::new());
    each_page(sql, |_, versions| {
        let goes = by_rule(keep, versions, now);
        for (place, version) in versions.iter().enumerate().filter(|(p, _)| !goes.contains(p)) {
            total += version.bytes;
            if may_go(versions, place) {
                *days.entry(version.first.0.div_euclid(DAY_MS)).or_default() += version.bytes;
            }
        }
        Ok(())
    })?;
    let before = first_day_kept(keep, total, &days);
    let mut chosen = Chosen::default();
    let (mut full, mut visits) = (false, 0);
    each_page(sql, |site, versions| {
        let goes = by_rule(keep, versions, now);
        for (place, version) in versions.iter().enumerate() {
            let old = version.first.0.div_euclid(DAY_MS) < before && may_go(versions, place);
            if !(goes.contains(&place) || old) || full {
                chosen.left_bytes += version.bytes;
                continue;
            }
            chosen.take(site, version);
            visits += version.visits;
        }
        full |= visits >= visits_max as u64;
        Ok(())
    })?;
    if visits_max < usize::MAX {
        chosen.captures = captures(sql, &chosen.rows)?;
    }
    for site in chosen.by_site.keys() {
        let name =
            sql.query_row("SELECT key FROM sites WHERE id = ?1", [site], |row| row.get(0))?;
        chosen.names.insert(*site, name);
    }
    Ok(chosen)
}

impl Chosen {
    fn take(&mut self, site: i64, version: &Version) {
        let versions = version.versions;
        self.versions += versions;
        self.copies += u64::from(versions == 0);
        self.bytes += version.bytes;
        let sum = self.by_site.entry(site).or_default();
        *sum = (sum.0 + versions, sum.1 + version.bytes);
        self.rows.extend(&version.rows);
    }
}

/// The records of all visits of these rows.
fn captures(sql: &Sql, rows: &[i64]) -> sql::Result<HashSet<u64>> {
    let mut captures = HashSet::new();
    let mut statement = sql.prepare(
        "SELECT p.url, v.first, v.times FROM visits v \
         JOIN pages p ON p.site = v.site AND p.fp = v.fp WHERE v.seq = ?1",
    )?;
    for seq in rows {
        statement.query_row([*seq], |row| add_captures(row, 0, &mut captures))?;
    }
    Ok(captures)
}

fn add_captures(row: Row<'_>, column: usize, captures: &mut HashSet<u64>) -> sql::Result<()> {
    let url: String = row.get(column)?;
    let first = Timestamp(row.get(column + 1)?);
    let packed = row.bytes(column + 2)?;
    captures
        .extend(unpack_times(first, packed).iter().map(|at| capture_key(&url, &date_text(*at))));
    Ok(())
}

fn by_rule(keep: &Keep, versions: &[Version], now: Timestamp) -> HashSet<usize> {
    let Some(rule) = &keep.rule else { return HashSet::new() };
    // Apart: no version goes because a visit that saw no change has archived other bytes.
    let goes = [true, false].into_iter().flat_map(|is_version| {
        let places =
            (0..versions.len()).filter(|place| (versions[*place].versions > 0) == is_version);
        let places: Vec<usize> = places.collect();
        let firsts: Vec<Timestamp> = places.iter().map(|place| versions[*place].first).collect();
        rule.goes(&firsts, now).into_iter().map(move |at| places[at])
    });
    goes.filter(|place| may_go(versions, *place)).collect()
}

/// The newest version never goes, nor the last record, nor the one at hand.
fn may_go(versions: &[Version], place: usize) -> bool {
    let version = &versions[place];
    place + 1 < versions.len() && !version.at_hand && !version.newest
}

/// Versions of the days before it go, so that what is left keeps within the budget as far as it can.
fn first_day_kept(keep: &Keep, total: u64, days: &BTreeMap<i64, u64>) -> i64 {
    let Some(max) = keep.versions_bytes_max else { return i64::MIN };
    let (mut left, mut before) = (total, i64::MIN);
    for (day, bytes) in days {
        if left <= max {
            break;
        }
        left -= bytes;
        before = day + 1;
    }
    before
}

/// Every page with content, its versions oldest first. The version at hand is the last of them. Where one was
/// seen too often for a row, the row that carries on may be one of a 304.
fn each_page(
    sql: &Sql,
    mut take: impl FnMut(i64, &[Version]) -> sql::Result<()>,
) -> sql::Result<()> {
    let mut statement = sql.prepare(
        "SELECT v.site, v.fp, v.seq, v.first, v.record_volume, v.record_offset, v.record_length, \
         p.run IS NOT DISTINCT FROM v.seq, v.change IN (0, 1, 7), v.status, v.payload_digest, v.count \
         FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp \
         WHERE v.record_volume IS NOT NULL AND v.change IN (0, 1, 2, 3, 7) \
         AND (v.change IN (3, 7) OR v.status BETWEEN 200 AND 299) ORDER BY v.site, v.fp, v.seq",
    )?;
    let mut rows = statement.query([])?;
    let (mut page, mut versions) = ((0, 0), Vec::<Version>::new());
    while let Some(row) = rows.next()? {
        let here = (row.get::<i64>(0)?, row.get::<i64>(1)?);
        if here != page && !versions.is_empty() {
            mark_newest(&mut versions);
            take(page.0, &versions)?;
            versions.clear();
        }
        page = here;
        add_row(&mut versions, row)?;
    }
    if !versions.is_empty() {
        mark_newest(&mut versions);
        take(page.0, &versions)?;
    }
    Ok(())
}

/// A row with the record of another belongs to it, and so does a return without content of its own to the
/// version that holds it: that record could not be read without it.
fn add_row(versions: &mut Vec<Version>, row: Row<'_>) -> sql::Result<()> {
    let of_row = Version {
        first: Timestamp(row.get(3)?),
        place: (row.get(4)?, row.get(5)?),
        digest: row.get(10)?,
        bytes: row.get::<i64>(6)? as u64,
        rows: vec![row.get(2)?],
        visits: row.get::<i64>(11)? as u64,
        at_hand: row.get(7)?,
        versions: u64::from(row.get::<bool>(8)?),
        newest: false,
    };
    let without_content = of_row.versions > 0 && row.get::<u16>(9)? == 304;
    let same = versions.iter().position(|version| version.place == of_row.place);
    let holder = || versions.iter().rposition(|version| version.digest == of_row.digest);
    let Some(known) = same.or_else(|| holder().filter(|_| without_content)) else {
        versions.push(of_row);
        return Ok(());
    };
    let mut version = versions.remove(known);
    if version.place != of_row.place {
        version.bytes += of_row.bytes;
        version.first = of_row.first;
    }
    version.rows.extend(of_row.rows);
    version.visits += of_row.visits;
    version.at_hand |= of_row.at_hand;
    version.versions += of_row.versions;
    versions.push(version);
    Ok(())
}

/// Rows come by their number, and a version moves behind the others with every row: the last is the newest.
fn mark_newest(versions: &mut [Version]) {
    if let Some(newest) = versions.iter_mut().rfind(|version| version.versions > 0) {
        newest.newest = true;
    }
}
