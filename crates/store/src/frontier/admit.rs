//! Candidates: URLs found but not yet judged, inserted if absent and due at once.
//!
//! Most are links to pages long known, so each is first asked of the memory of stored fingerprints; the
//! rest is inserted in the order of the table's key.

use model::{Candidate, Kinship, PageState, PageTerms, SiteId, SpiderId, Timestamp};

use super::{
    check_out, domains, limits, notices, parts,
    rows::{Fault, millis, state_of, stored_fp},
    sql_frontier::Work,
    tally::{Share, Standing, change_site},
};
use crate::sql::params;

/// How many were new.
pub(super) fn admit(work: &mut Work<'_>, candidates: &[Candidate]) -> Result<u64, Fault> {
    let mut batch: Vec<(SiteId, i64, &Candidate)> = Vec::new();
    for candidate in candidates {
        let fp = candidate.url.fingerprint();
        // A seed or a notice may have to change a row that is there.
        let is_news = candidate.terms.kinship == Kinship::Stranger;
        let changes = candidate.seed || candidate.terms.notice.is_some() || is_news;
        let settled = !changes && work.stored.covers(fp, level_to_remember(candidate));
        if settled || work.asleep.removed.contains(&candidate.spider) {
            continue;
        }
        match work.site_id(candidate.url.site_text(), candidate.seed)? {
            Some(site) => batch.push((site, stored_fp(fp), candidate)),
            None => limits::refuse_site(work, candidate)?,
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
    let (mut new, mut dynamic, mut awake, mut seeded) = (0u64, 0u64, false, false);
    let site = group[0].0;
    domains::note_kinship(work, site, group.iter().map(|(_, _, one)| one.terms.kinship))?;
    for (_, fp, candidate) in group {
        if notices::refuses(work, site, &candidate.url, &candidate.terms)? {
            continue;
        }
        seeded |= candidate.seed;
        if insert(work, site, *fp, candidate)? {
            new += 1;
            dynamic += u64::from(candidate.url.query().is_some());
            let (spider, requisite) = (candidate.spider, candidate.terms.requisite);
            let state = PageState::Candidate;
            work.moved(None, Standing { spider, requisite, state, fetched: false });
        } else {
            awake |= meet(work, site, *fp, candidate)?;
        }
        notices::mark(work, site, *fp, &candidate.terms)?;
        work.newly_stored.push((candidate.url.fingerprint(), level_to_remember(candidate)));
    }
    if new > 0 || awake || seeded {
        stir(work, site, (new, dynamic), awake, seeded)?;
    }
    Ok(new)
}

/// The page is there already. Says whether it may be due earlier than before.
fn meet(work: &mut Work<'_>, site: SiteId, fp: i64, candidate: &Candidate) -> Result<bool, Fault> {
    let is_part = candidate.terms.requisite;
    if !is_part && parts::becomes_candidate(work, site, fp, candidate)? {
        return Ok(true);
    }
    if candidate.seed || !work.asleep.removed.is_empty() {
        let held = Held::load(work, site, fp)?;
        if held.goes_to(work, candidate.spider, candidate.seed) {
            let claim = Claim::of(candidate, work.now);
            let change = claim.take(work, site, fp, held.standing)?;
            change_site(work, site, change)?;
            return Ok(true);
        }
        if candidate.seed {
            lower_level(work, site, fp, candidate.level)?;
            return mark_seed(work, site, fp, held.standing, &candidate.terms);
        }
    }
    // The way to a part says nothing about a page.
    if !is_part {
        lower_level(work, site, fp, candidate.level)?;
    }
    Ok(false)
}

fn insert(work: &Work<'_>, site: SiteId, fp: i64, candidate: &Candidate) -> Result<bool, Fault> {
    let inserted = work
        .sql
        .prepare(
            "INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, found, due, \
             requisite, outside, depth, period, via, turn) \
             VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, 3 * CAST(?9 AS BIGINT)) \
             ON CONFLICT DO NOTHING",
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
            candidate.terms.via,
        ])?;
    Ok(inserted == 1)
}

/// A page may have to take the place of a requisite whatever its level: to it a requisite is not there.
fn level_to_remember(candidate: &Candidate) -> u16 {
    if candidate.terms.requisite { u16::MAX } else { candidate.level }
}

/// A row that is there, as far as another candidate for it is concerned.
pub(super) struct Held {
    pub standing: Standing,
    seed: bool,
    level: u16,
}

impl Held {
    pub fn load(work: &Work<'_>, site: SiteId, fp: i64) -> Result<Held, Fault> {
        let held = work
            .sql
            .prepare(
                "SELECT spider, requisite, state, fetched, seed, level FROM pages \
                 WHERE site = ?1 AND fp = ?2",
            )?
            .query_row(params![site.0, fp], |row| {
                let standing = Standing {
                    spider: SpiderId(row.get(0)?),
                    requisite: row.get(1)?,
                    state: state_of(row.get(2)?)?,
                    fetched: row.get(3)?,
                };
                Ok(Held { standing, seed: row.get(4)?, level: row.get(5)? })
            })?;
        Ok(held)
    }

    /// A way of this length is news.
    pub fn is_lowered_by(&self, level: u16) -> bool {
        level < self.level && !self.standing.fetched
    }

    /// A page goes to a living spider that finds it when its own was removed, or that is asked for it by
    /// name when its own was not.
    pub fn goes_to(&self, work: &Work<'_>, spider: SpiderId, seed: bool) -> bool {
        let removed = |spider| work.asleep.removed.contains(spider);
        let (ours, named) = (self.standing.spider == spider, seed && !self.seed);
        !removed(&spider) && !ours && (named || removed(&self.standing.spider))
    }
}

/// How a spider takes a page over from another: with its history, on the new one's terms, and due. What was
/// waiting for a judgement or excluded by one goes by the new spider's.
pub(super) struct Claim<'a> {
    pub spider: SpiderId,
    pub level: u16,
    pub hops: u8,
    pub seed: bool,
    pub terms: &'a PageTerms,
    pub due: Timestamp,
    /// Of a page that is not admitted.
    pub state: PageState,
}

impl Claim<'_> {
    fn of(candidate: &Candidate, due: Timestamp) -> Claim<'_> {
        let Candidate { spider, level, hops, seed, terms, .. } = candidate;
        let (spider, level, hops, seed) = (*spider, *level, *hops, *seed);
        Claim { spider, level, hops, seed, terms, due, state: PageState::Candidate }
    }

    /// What the site's counters change by. The page is due since its last visit, so that a pass under way takes
    /// it along.
    pub fn take(
        self,
        work: &mut Work<'_>,
        site: SiteId,
        fp: i64,
        before: Standing,
    ) -> Result<Share, Fault> {
        let state = match before.state {
            PageState::Candidate | PageState::Excluded => self.state,
            admitted => admitted,
        };
        let (spider, requisite) = (self.spider, self.terms.requisite);
        let after = Standing { spider, requisite, state, fetched: before.fetched };
        work.sql
            .prepare(
                "UPDATE pages SET spider = ?3, level = CASE WHEN ?14 THEN ?4 ELSE min(level, ?4) END, \
                 hops = ?5, seed = ?6, requisite = ?7, \
                 outside = ?8, depth = ?9, period = ?10, due = min(?11, coalesce(visited, ?11)), state = ?12, turn = ?13, \
                 failures = 0, price = 0 WHERE site = ?1 AND fp = ?2",
            )?
            .execute(params![
                site.0,
                fp,
                self.spider.0,
                self.level,
                self.hops,
                self.seed,
                self.terms.requisite,
                self.terms.outside,
                self.terms.depth,
                self.terms.period.map(millis),
                self.due.0,
                state as u8,
                after.turn(),
                // Of another living one, its level stays as low as others remember it.
                work.asleep.removed.contains(&before.spider),
            ])?;
        // Its links are the new spider's to judge: "not modified" would hide them.
        work.sql
            .prepare(
                "UPDATE page_facts SET etag = NULL, last_modified = NULL WHERE site = ?1 AND fp = ?2",
            )?
            .execute(params![site.0, fp])?;
        Ok(work.moved(Some(before), after))
    }
}

/// A shorter way to a page counts until it has been fetched.
pub(super) fn lower_level(work: &Work<'_>, site: SiteId, fp: i64, level: u16) -> Result<(), Fault> {
    work.sql
        .prepare(
            "UPDATE pages SET level = ?3 WHERE site = ?1 AND fp = ?2 AND level > ?3 AND fetched = 0",
        )?
        .execute(params![site.0, fp, level])?;
    Ok(())
}

/// Somebody asks for a page by name that is there already: it becomes a seed, on the terms that are said
/// now as far as any are, and when an earlier judgement excluded it, it is judged anew. Says whether it
/// may be due earlier than before.
fn mark_seed(
    work: &mut Work<'_>,
    site: SiteId,
    fp: i64,
    before: Standing,
    terms: &PageTerms,
) -> Result<bool, Fault> {
    let again = before.state == PageState::Excluded;
    let state = if again { PageState::Candidate } else { before.state };
    let after = Standing { requisite: false, state, ..before };
    let changed = work
        .sql
        .prepare(
            "UPDATE pages SET seed = 1, requisite = 0, outside = 0, depth = coalesce(?3, depth), \
             period = coalesce(?4, period), state = ?6, turn = ?7, \
             due = CASE WHEN state = 6 THEN ?5 WHEN ?4 IS NOT NULL AND \
             (due IS NULL OR due > max(?5, coalesce(visited, 0) + ?4)) \
             THEN max(?5, coalesce(visited, 0) + ?4) ELSE due END \
             WHERE site = ?1 AND fp = ?2 AND (seed = 0 OR requisite = 1 OR outside > 0 OR state = 6 \
             OR depth IS DISTINCT FROM coalesce(?3, depth) \
             OR period IS DISTINCT FROM coalesce(?4, period))",
        )?
        .execute(params![
            site.0,
            fp,
            terms.depth,
            terms.period.map(millis),
            work.now.0,
            state as u8,
            after.turn(),
        ])?;
    if changed == 0 {
        return Ok(false);
    }
    let change = work.moved(Some(before), after);
    change_site(work, site, change)?;
    Ok(again || terms.period.is_some())
}

/// All pages of a site that a judgement excluded are judged anew; how many.
/// `visited`: also those whose answer was not wanted, which are asked for again then.
pub(super) fn judge_again(work: &mut Work<'_>, site: SiteId, visited: bool) -> Result<u64, Fault> {
    let excluded: Vec<(Standing, u64)> = {
        let mut statement = work.sql.prepare(
            "SELECT spider, requisite, fetched, count(*) FROM pages WHERE site = ?1 AND state = 6 \
             AND (?2 = 1 OR visited IS NULL) GROUP BY spider, requisite, fetched",
        )?;
        let groups = statement.query_map(params![site.0, visited], |row| {
            let (spider, state) = (SpiderId(row.get(0)?), PageState::Excluded);
            let standing = Standing { spider, requisite: row.get(1)?, state, fetched: row.get(2)? };
            Ok((standing, row.get::<i64>(3)? as u64))
        })?;
        groups.collect::<Result<_, _>>()?
    };
    work.sql
        .prepare(
            "UPDATE pages SET state = 0, due = ?2, \
             turn = CASE WHEN fetched = 1 THEN 2 WHEN requisite = 1 THEN 3 ELSE 0 END \
             WHERE site = ?1 AND state = 6 AND (?3 = 1 OR visited IS NULL)",
        )?
        .execute(params![site.0, work.now.0, visited])?;
    let mut again = 0;
    for (before, count) in excluded {
        for _ in 0..count {
            work.moved(Some(before), Standing { state: PageState::Candidate, ..before });
        }
        again += count;
    }
    if again > 0 {
        stir(work, site, (0, 0), true, false)?;
    }
    Ok(again)
}

/// New pages make a site due, unless it is in hand (then its holder's release sees them) or was given
/// back with a time before which it wants to be left alone. Where pages it had are due earlier than before
/// (`awake`), it may be due by either queue.
fn stir(
    work: &Work<'_>,
    site: SiteId,
    (new, dynamic): (u64, u64),
    awake: bool,
    seeded: bool,
) -> Result<(), Fault> {
    let (leased, resting): (bool, bool) = work
        .sql
        .prepare(
            "UPDATE sites SET pages = pages + ?2, seeded = max(seeded, ?3), \
             stirred = CASE WHEN leased = 1 AND ?5 = 1 THEN 1 ELSE stirred END, \
             due = CASE WHEN leased = 1 OR resting = 1 OR ?2 = 0 THEN due \
                        ELSE min(coalesce(due, max(?4, not_before)), max(?4, not_before)) END \
             , dynamic = dynamic + ?6 WHERE id = ?1 RETURNING leased, resting",
        )?
        .query_row(
            params![site.0, new as i64, seeded, work.now.0, new > 0 || awake, dynamic as i64],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
    let rouse = !leased && (awake || resting && new > 0);
    if rouse { check_out::rouse(work, site) } else { Ok(()) }
}
