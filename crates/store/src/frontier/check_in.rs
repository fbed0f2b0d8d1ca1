//! Settling: what happened to the sites in hand, written in one transaction.
//!
//! Pages admitted come first, because a page may be admitted and visited between two check-ins.

use std::time::Duration;

use model::{
    Decision, NewPage, PageState, Release, RobotsAnswer, RobotsCopy, Settlement, SiteCounters,
    SiteDelta, SiteId, SpiderId, StoreError, Timestamp, limits,
};

use super::{
    admit::{self, Claim, Held},
    breakdowns, check_out, children,
    due::earliest,
    habits, hazards,
    limits::full_as_text,
    notices, parts,
    rows::{
        Fault, SITE_AT_HAND, SITE_AT_HAND_LEASE, SiteRow, day_of, millis, site_from_row, stored_fp,
    },
    sql_frontier::Work,
    tally::{Standing, change_domain},
    updates::Updates,
};
use crate::sql::{self, OptionalExtension, Sql, Statement, params};

pub(super) fn settle(work: &mut Work<'_>, settlement: &Settlement) -> Result<(), Fault> {
    let mut pens = Pens::new(work.sql)?;
    for delta in &settlement.deltas {
        SiteAtHand::open(work, delta)?.settle(work, &mut pens, delta)?;
    }
    pens.updates.flush()?;
    drop(pens);
    admit::admit(work, &settlement.candidates)?;
    count_decisions(work, &settlement.decisions)?;
    hazards::count(work, &settlement.sightings)?;
    breakdowns::note(work, &settlement.sightings)?;
    if let Some(mark) = &settlement.mark {
        save_meta(work, "mark", mark)?;
    }
    if let Some(links) = &settlement.links {
        save_meta(work, "links-mark", links)?;
    }
    Ok(())
}

/// The statements that are run for every page. To look each of them up by its text, page by page, is a twelfth of
/// what a check-in costs.
struct Pens<'a> {
    admit: Statement<'a>,
    updates: Updates<'a>,
}

impl Pens<'_> {
    fn new(sql: &Sql) -> sql::Result<Pens<'_>> {
        Ok(Pens { admit: sql.prepare(ADMIT)?, updates: Updates::new(sql)? })
    }
}

const ADMIT: &str = "INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, found, due, \
     requisite, outside, depth, period, via, turn) \
     VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 1 + 2 * CAST(?10 AS BIGINT)) \
     ON CONFLICT DO NOTHING";

/// A site while its delta is written; its row follows at the end.
struct SiteAtHand {
    id: SiteId,
    row: SiteRow,
    /// As the row had them.
    before: SiteCounters,
    /// When the lease ends, as the row has it.
    lease_ends: Option<Timestamp>,
}

impl SiteAtHand {
    /// Refuses a holder whose lease was taken over. A lease that ran out without that is still good.
    fn open(work: &Work<'_>, delta: &SiteDelta) -> Result<SiteAtHand, Fault> {
        let row = work
            .sql
            .prepare(SITE_AT_HAND)?
            .query_row([delta.site.0], |row| {
                let lease_ends = row.get::<Option<i64>>(SITE_AT_HAND_LEASE)?.map(Timestamp);
                Ok((site_from_row(row)?, lease_ends))
            })
            .optional()?;
        match row {
            Some((row, lease_ends))
                if row.fence == delta.fence && row.key == delta.key.as_str() =>
            {
                Ok(SiteAtHand { id: delta.site, before: row.counters, row, lease_ends })
            }
            _ => Err(StoreError::Fenced { site: delta.key.to_string() }.into()),
        }
    }

    fn settle<'a>(
        mut self,
        work: &mut Work<'_>,
        pens: &mut Pens<'a>,
        delta: &'a SiteDelta,
    ) -> Result<(), Fault> {
        pens.updates.begin(self.id)?;
        for page in in_order(&delta.admitted) {
            self.admit(work, &mut pens.admit, page)?;
        }
        pens.updates.write(work, self.id, &mut self.row.counters, &delta.updates)?;
        for copy in &delta.robots {
            save_robots(work, self.id, copy)?;
        }
        self.row.counters.duplicates += delta.duplicates;
        self.save(work, delta)?;
        if let Some(traps) = &delta.traps {
            hazards::save_traps(work, self.id, traps)?;
        }
        habits::announce(work, self.id, &delta.signals)?;
        for (parent, since) in &delta.call_children {
            children::call(work, self.id, *parent, *since)?;
        }
        self.release(work, delta)
    }

    fn admit(
        &mut self,
        work: &mut Work<'_>,
        insert: &mut Statement<'_>,
        page: &NewPage,
    ) -> Result<(), Fault> {
        if notices::refuses(work, self.id, &page.url, &page.terms)? {
            return Ok(());
        }
        let fp = stored_fp(page.url.fingerprint());
        let inserted = insert.execute(params![
            self.id.0,
            fp,
            page.url.as_str(),
            page.spider.0,
            page.level,
            page.hops,
            page.seed,
            work.now.0,
            page.due.0,
            page.terms.requisite,
            page.terms.outside,
            page.terms.depth,
            page.terms.period.map(millis),
            page.terms.via,
        ])?;
        notices::mark(work, self.id, fp, &page.terms)?;
        let (spider, requisite) = (page.spider, page.terms.requisite);
        if !requisite && !work.asleep.removed.contains(&spider) {
            work.newly_stored.push((page.url.fingerprint(), page.level));
        }
        let known = Standing { spider, requisite, state: PageState::Known, fetched: false };
        let change = if inserted == 1 {
            self.row.pages += 1;
            self.row.dynamic += u64::from(page.url.query().is_some());
            work.moved(None, known)
        } else {
            let held = Held::load(work, self.id, fp)?;
            let before = held.standing;
            if before.requisite && !requisite {
                parts::become_page(work, self.id, fp, page, before)?
            } else if held.goes_to(work, page.spider, page.seed) {
                claim(page).take(work, self.id, fp, before)?
            } else if before.state == PageState::Candidate && before.requisite == requisite {
                self.accept_candidate(work, fp, page)?;
                work.moved(Some(before), Standing { fetched: before.fetched, ..known })
            } else if requisite || !held.is_lowered_by(page.level) {
                // The way to a part says nothing about a page.
                return Ok(());
            } else {
                return admit::lower_level(work, self.id, fp, page.level);
            }
        };
        change.apply(&mut self.row.counters);
        Ok(())
    }

    /// The candidate that is there was judged and may come in, on the terms of the judgement.
    fn accept_candidate(&self, work: &Work<'_>, fp: i64, page: &NewPage) -> Result<(), Fault> {
        work.sql
            .prepare(
                "UPDATE pages SET state = 1, spider = ?3, hops = ?4, \
                 turn = CASE WHEN fetched = 1 THEN 2 WHEN CAST(?8 AS BIGINT) = 1 THEN 3 ELSE 1 END, \
                 seed = max(seed, ?5), due = ?6, \
                 level = CASE WHEN fetched = 1 OR CAST(?8 AS BIGINT) = 1 THEN level ELSE min(level, ?7) END, \
                 requisite = ?8, outside = ?9, depth = coalesce(?10, depth), \
                 period = coalesce(?11, period), via = ?12 WHERE site = ?1 AND fp = ?2",
            )?
            .execute(params![
                self.id.0,
                fp,
                page.spider.0,
                page.hops,
                page.seed,
                page.due.0,
                page.level,
                page.terms.requisite,
                page.terms.outside,
                page.terms.depth,
                page.terms.period.map(millis),
                page.terms.via,
            ])?;
        Ok(())
    }

    /// What changes with nearly every check-in, in one statement: each one writes the whole row anew.
    fn save(&self, work: &Work<'_>, delta: &SiteDelta) -> Result<(), Fault> {
        let n = |count: u64| count as i64;
        let (counters, clock) = (&self.row.counters, delta.clock.as_ref());
        let today = day_of(work.now);
        let earlier = if self.row.worked_day == today { self.row.worked } else { Duration::ZERO };
        work.sql
            .prepare(
                "UPDATE sites SET pages = ?2, known = ?3, fetched = ?4, failed = ?5, \
                 requisites = ?6, duplicates = ?7, visits = ?8, bytes = ?9, \
                 seeded = max(seeded, ?10), worked_day = ?11, worked_ms = ?12, \
                 pause_remaining = coalesce(?13, pause_remaining), \
                 pause_saved = coalesce(?14, pause_saved), backoff = coalesce(?15, backoff), \
                 last_response = coalesce(?16, last_response), \
                 interrupted = coalesce(?17, interrupted), habit = coalesce(?18, habit), \
                 waiting = ?19, dynamic = ?20, address = coalesce(?21, address), \
                 resolved = coalesce(?22, resolved) WHERE id = ?1",
            )?
            .execute(params![
                self.id.0,
                n(self.row.pages),
                n(counters.known),
                n(counters.fetched),
                n(counters.failed),
                n(counters.requisites),
                n(counters.duplicates),
                n(counters.visits),
                n(counters.bytes),
                delta.seeded,
                today,
                millis(earlier.saturating_add(delta.worked)),
                clock.map(|clock| millis(clock.remaining)),
                clock.map(|clock| clock.saved.0),
                clock.map(|clock| clock.backoff),
                clock.map(|clock| millis(clock.last_response)),
                clock.map(|clock| clock.interrupted),
                delta.habit.as_ref().map(habits::as_text),
                n(counters.waiting),
                n(self.row.dynamic),
                delta.address.map(|found| found.address.to_string()),
                delta.address.map(|found| found.resolved.0),
            ])?;
        let fetched = n(counters.fetched) - n(self.before.fetched);
        let bytes = n(counters.bytes) - n(self.before.bytes);
        change_domain(work, &self.row.domain, fetched, bytes)
    }

    fn release(&self, work: &Work<'_>, delta: &SiteDelta) -> Result<(), Fault> {
        match delta.release {
            // Nothing would change but the work of it: the site would be moved in an index.
            Release::Renew(until) if self.lease_ends == Some(until) => {}
            Release::Renew(until) => {
                work.sql
                    .prepare(
                        "UPDATE sites SET leased = 1, due = ?2, due_again = NULL, resting = 0, \
                         not_before = 0 WHERE id = ?1",
                    )?
                    .execute(params![self.id.0, until.0])?;
            }
            Release::NotBefore(moment) => self.give_back(work, moment, &delta.full)?,
            // Whoever came while the site was in hand must not be forgotten.
            Release::Rest if self.row.stirred => {
                self.give_back(work, Timestamp::ZERO, &delta.full)?;
            }
            Release::Rest => {
                work.sql
                    .prepare(
                        "UPDATE sites SET leased = 0, resting = 1, not_before = 0, due = NULL, \
                         due_again = NULL, full_for = ?2 WHERE id = ?1",
                    )?
                    .execute(params![self.id.0, full_as_text(&delta.full)])?;
            }
        }
        Ok(())
    }

    fn give_back(
        &self,
        work: &Work<'_>,
        moment: Timestamp,
        full: &[SpiderId],
    ) -> Result<(), Fault> {
        let closed = check_out::closed_by(work, full.to_vec());
        let dues = earliest(work.sql, self.id, &closed)?;
        work.sql
            .prepare(
                "UPDATE sites SET leased = 0, due = max(?2, ?5), due_again = max(?3, ?5), \
                 resting = ?4, not_before = ?5, stirred = 0, full_for = ?6 WHERE id = ?1",
            )?
            .execute(params![
                self.id.0,
                check_out::stored(dues.first),
                check_out::stored(dues.again),
                dues.left_out,
                moment.0,
                full_as_text(full),
            ])?;
        Ok(())
    }
}

/// In the order of the table. Of notices a site has so many and no more: the first that came are the ones.
fn in_order(admitted: &[NewPage]) -> Vec<&NewPage> {
    let mut pages: Vec<&NewPage> = admitted.iter().collect();
    if pages.iter().all(|page| page.terms.notice.is_none()) {
        // Stable: of one page, what came first is first.
        pages.sort_by_key(|page| stored_fp(page.url.fingerprint()));
    }
    pages
}

fn claim(page: &NewPage) -> Claim<'_> {
    let NewPage { spider, level, hops, seed, terms, due, .. } = page;
    let (spider, level, hops, seed, due) = (*spider, *level, *hops, *seed, *due);
    Claim { spider, level, hops, seed, terms, due, state: PageState::Known }
}

fn save_robots(work: &Work<'_>, site: SiteId, copy: &RobotsCopy) -> Result<(), Fault> {
    let (answer, status, text) = match &copy.answer {
        RobotsAnswer::Rules(text) => ("rules", None, Some(text)),
        RobotsAnswer::Unavailable { status } => ("unavailable", Some(*status), None),
        RobotsAnswer::Unreachable { why } => ("unreachable", None, Some(why)),
    };
    work.sql
        .prepare(
            "INSERT INTO robots (site, origin, answer, status, text, fetched, expires, \
             unreachable_since, etag, last_modified) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
             ON CONFLICT (site, origin) DO UPDATE SET answer = excluded.answer, \
             status = excluded.status, text = excluded.text, fetched = excluded.fetched, \
             expires = excluded.expires, unreachable_since = excluded.unreachable_since, \
             etag = excluded.etag, last_modified = excluded.last_modified",
        )?
        .execute(params![
            site.0,
            copy.origin.as_str(),
            answer,
            status,
            text,
            copy.fetched.0,
            copy.expires.0,
            copy.unreachable_since.map(|since| since.0),
            copy.etag,
            copy.last_modified,
        ])?;
    Ok(())
}

/// Pages repeat each other's refusals: each is written once a transaction, in the order of the table.
pub(super) fn count_decisions(work: &mut Work<'_>, decisions: &[Decision]) -> Result<(), Fault> {
    let mut sorted: Vec<&Decision> = decisions.iter().collect();
    // Stable: of equal ones the last gives the example, as if they came one by one.
    sorted.sort_by(|a, b| key(a).cmp(&key(b)));
    for equal in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let count = equal.iter().map(|decision| decision.count).sum();
        if let Some(last) = equal.last() {
            count_decision(work, last, count)?;
        }
    }
    Ok(())
}

fn key(decision: &Decision) -> (&str, &str, &str) {
    (&decision.site, decision.reason.word(), bounded(&decision.rule))
}

fn count_decision(work: &mut Work<'_>, decision: &Decision, count: u64) -> Result<(), Fault> {
    work.counts.refused += count;
    work.sql
        .prepare(
            "INSERT INTO decisions (site, reason, rule, count, example, referrer, last) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (site, reason, rule) DO UPDATE SET count = decisions.count + excluded.count, example = excluded.example, \
             referrer = excluded.referrer, last = excluded.last",
        )?
        .execute(params![
            decision.site,
            decision.reason.word(),
            bounded(&decision.rule),
            count as i64,
            bounded(&decision.example),
            decision.referrer.as_deref().map(bounded),
            work.now.0,
        ])?;
    Ok(())
}

/// Refused text can be of any length; an example need not be.
fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(limits::URL_BYTES_MAX)]
}

pub(super) fn save_meta(
    work: &Work<'_>,
    name: &str,
    value: &impl serde::Serialize,
) -> Result<(), Fault> {
    let text = serde_json::to_string(value)
        .map_err(|e| StoreError::Database { detail: format!("cannot store {name}: {e}") })?;
    work.sql.prepare(crate::frontier::PUT_META)?.execute(params![name, text])?;
    Ok(())
}
