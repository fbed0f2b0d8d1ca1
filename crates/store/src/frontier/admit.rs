//! Candidates: URLs found but not yet judged, inserted if absent and due at once.
//!
//! Most are links to pages long known, so each is first asked of the memory of stored fingerprints; the
//! rest is inserted in the order of the table's key.

use model::{Candidate, PageState, SiteId};
use rusqlite::{OptionalExtension, params};

use super::{
    check_out, parts,
    rows::{Fault, millis, stored_fp},
    sqlite::Work,
};

/// How many were new.
pub(super) fn admit(work: &mut Work<'_>, candidates: &[Candidate]) -> Result<u64, Fault> {
    let mut batch: Vec<(SiteId, i64, &Candidate)> = Vec::new();
    for candidate in candidates {
        let fp = candidate.url.fingerprint();
        // A seed may have to change a row that is there.
        if candidate.seed || !work.stored.covers(fp, level_to_remember(candidate)) {
            batch.push((work.site_id(candidate.url.site_text())?, stored_fp(fp), candidate));
        }
    }
    batch.sort_unstable_by_key(|(site, fp, candidate)| (*site, *fp, candidate.level));
    let mut total = 0;
    for group in batch.chunk_by(|a, b| a.0 == b.0) {
        total += admit_to_site(work, group)?;
    }
    Ok(total)
}

fn admit_to_site(work: &mut Work<'_>, group: &[(SiteId, i64, &Candidate)]) -> Result<u64, Fault> {
    let (mut new, mut awake, mut seeded) = (0u64, false, false);
    let site = group[0].0;
    for (_, fp, candidate) in group {
        seeded |= candidate.seed;
        if insert(work, site, *fp, candidate)? {
            new += 1;
            work.moved(None, PageState::Candidate);
        } else {
            if !candidate.terms.requisite {
                awake |= parts::becomes_candidate(work, site, *fp, candidate)?;
                lower_level(work, site, *fp, candidate.level)?;
            }
            awake |= candidate.seed && mark_seed(work, site, *fp)?;
        }
        work.newly_stored.push((candidate.url.fingerprint(), level_to_remember(candidate)));
    }
    if new > 0 || awake || seeded {
        stir(work, site, new, new > 0 || awake, seeded)?;
    }
    Ok(new)
}

fn insert(work: &Work<'_>, site: SiteId, fp: i64, candidate: &Candidate) -> Result<bool, Fault> {
    let inserted = work
        .sql
        .prepare_cached(
            "INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, found, due, requisite, outside, depth, period, fetched) \
             VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            site.0,
            fp,
            candidate.url.as_str(),
            candidate.spider.0,
            candidate.level,
            candidate.hops,
            candidate.seed,
            work.now.0,
            candidate.terms.requisite,
            candidate.terms.outside,
            candidate.terms.depth,
            candidate.terms.period.map(millis),
        ])?;
    Ok(inserted == 1)
}

/// A page may have to take the place of a requisite whatever its level: to it a requisite is not there.
fn level_to_remember(candidate: &Candidate) -> u16 {
    if candidate.terms.requisite { u16::MAX } else { candidate.level }
}

/// A shorter way to a page counts until it has been fetched.
pub(super) fn lower_level(work: &Work<'_>, site: SiteId, fp: i64, level: u16) -> Result<(), Fault> {
    work.sql
        .prepare_cached(
            "UPDATE pages SET level = ?3 WHERE site = ?1 AND fp = ?2 AND level > ?3 AND fetched = 0",
        )?
        .execute(params![site.0, fp, level])?;
    Ok(())
}

/// Somebody asks for a page by name that is there already: it becomes a seed, and when an earlier
/// judgement excluded it, it is judged anew. Says whether it is.
fn mark_seed(work: &mut Work<'_>, site: SiteId, fp: i64) -> Result<bool, Fault> {
    work.sql
        .prepare_cached("UPDATE pages SET seed = 1 WHERE site = ?1 AND fp = ?2 AND seed = 0")?
        .execute(params![site.0, fp])?;
    let again = work
        .sql
        .prepare_cached(
            "UPDATE pages SET state = 0, due = ?3 WHERE site = ?1 AND fp = ?2 AND state = 6",
        )?
        .execute(params![site.0, fp, work.now.0])?
        == 1;
    if again {
        work.moved(Some(PageState::Excluded), PageState::Candidate);
    }
    Ok(again)
}

/// All pages of a site that a judgement excluded are judged anew; how many.
pub(super) fn judge_again(work: &mut Work<'_>, site: SiteId) -> Result<u64, Fault> {
    let again = work
        .sql
        .prepare_cached("UPDATE pages SET state = 0, due = ?2 WHERE site = ?1 AND state = 6")?
        .execute(params![site.0, work.now.0])?;
    for _ in 0..again {
        work.moved(Some(PageState::Excluded), PageState::Candidate);
    }
    if again > 0 {
        stir(work, site, 0, true, false)?;
    }
    Ok(again as u64)
}

/// New pages make a site due, unless it is in hand (then its holder's release sees them) or was given
/// back with a time before which it wants to be left alone.
fn stir(work: &Work<'_>, site: SiteId, new: u64, awake: bool, seeded: bool) -> Result<(), Fault> {
    work.sql
        .prepare_cached(
            "UPDATE sites SET pages = pages + ?2, seeded = max(seeded, ?3), \
             stirred = max(stirred, leased AND ?5), \
             due = CASE WHEN leased OR resting OR NOT ?5 THEN due \
                        ELSE min(coalesce(due, max(?4, not_before)), max(?4, not_before)) END \
             WHERE id = ?1",
        )?
        .execute(params![site.0, new as i64, seeded, work.now.0, awake])?;
    let resting = work
        .sql
        .prepare_cached("SELECT fetched FROM sites WHERE id = ?1 AND resting = 1 AND leased = 0")?
        .query_row([site.0], |row| row.get::<_, i64>(0))
        .optional()?;
    match resting {
        Some(fetched) if awake => check_out::rouse(work, site, fetched as u64),
        _ => Ok(()),
    }
}
