//! Settling: what happened to the sites in hand, written in one transaction.
//!
//! Pages admitted come first, because a page may be admitted and visited between two check-ins. Totals
//! follow from each row's state before and after, so they cannot drift.

use model::{
    Decision, NewPage, PageFacts, PageState, PageUpdate, Release, RobotsAnswer, RobotsCopy,
    Settlement, SiteCounters, SiteDelta, SiteId, StoreError, Timestamp, limits,
};
use rusqlite::{OptionalExtension, params};

use super::{
    admit, check_out,
    due::earliest,
    history, parts,
    rows::{Fault, SITE, SiteRow, millis, site_from_row, state_of, stored_fp},
    sqlite::{Work, is_known},
};

pub(super) fn settle(work: &mut Work<'_>, settlement: &Settlement) -> Result<(), Fault> {
    for delta in &settlement.deltas {
        SiteAtHand::open(work, delta)?.settle(work, delta)?;
    }
    admit::admit(work, &settlement.candidates)?;
    count_decisions(work, &settlement.decisions)?;
    if let Some(mark) = &settlement.mark {
        save_meta(work, "mark", mark)?;
    }
    if let Some(links) = &settlement.links {
        save_meta(work, "links-mark", links)?;
    }
    Ok(())
}

/// A site while its delta is written; its row follows at the end.
struct SiteAtHand {
    id: SiteId,
    counters: SiteCounters,
    pages: u64,
    /// Candidates came while it was in hand.
    stirred: bool,
}

/// What a page's row says before it is changed.
struct Before {
    state: PageState,
    fetched: bool,
    run: Option<i64>,
}

impl SiteAtHand {
    /// Refuses a holder whose lease was taken over. A lease that ran out without that is still good.
    fn open(work: &Work<'_>, delta: &SiteDelta) -> Result<SiteAtHand, Fault> {
        let row =
            work.sql.prepare_cached(SITE)?.query_row([delta.site.0], site_from_row).optional()?;
        match row {
            Some(row) if row.fence == delta.fence && row.key == delta.key.as_str() => {
                let SiteRow { counters, pages, stirred, .. } = row;
                Ok(SiteAtHand { id: delta.site, counters, pages, stirred })
            }
            _ => Err(StoreError::Fenced { site: delta.key.to_string() }.into()),
        }
    }

    fn settle(mut self, work: &mut Work<'_>, delta: &SiteDelta) -> Result<(), Fault> {
        for page in &delta.admitted {
            self.admit(work, page)?;
        }
        for update in &delta.updates {
            self.update(work, update)?;
        }
        for copy in &delta.robots {
            save_robots(work, self.id, copy)?;
        }
        self.counters.duplicates += delta.duplicates;
        self.save(work, delta)?;
        if let Some(clock) = &delta.clock {
            work.sql
                .prepare_cached(
                    "UPDATE sites SET pause_remaining = ?2, pause_saved = ?3, backoff = ?4, \
                     last_response = ?5, interrupted = ?6 WHERE id = ?1",
                )?
                .execute(params![
                    self.id.0,
                    millis(clock.remaining),
                    clock.saved.0,
                    clock.backoff,
                    millis(clock.last_response),
                    clock.interrupted,
                ])?;
        }
        self.release(work, delta.release)
    }

    fn admit(&mut self, work: &mut Work<'_>, page: &NewPage) -> Result<(), Fault> {
        let fp = stored_fp(page.url.fingerprint());
        let inserted = work
            .sql
            .prepare_cached(
                "INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, found, due, requisite, outside, depth, period, fetched) \
                 VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?10) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
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
            ])?;
        if !page.terms.requisite {
            work.newly_stored.push((page.url.fingerprint(), page.level));
        }
        if inserted == 1 {
            self.pages += 1;
            self.moved(work, None, PageState::Known);
            return Ok(());
        }
        if !page.terms.requisite
            && let Some(before) = parts::become_page(work, self.id, fp, page)?
        {
            self.moved(work, Some(before), PageState::Known);
            return Ok(());
        }
        // The way to a part says nothing about a page.
        if !page.terms.requisite {
            admit::lower_level(work, self.id, fp, page.level)?;
        }
        self.accept_candidate(work, fp, page)
    }

    /// The candidate that is there was judged and may come in.
    fn accept_candidate(
        &mut self,
        work: &mut Work<'_>,
        fp: i64,
        page: &NewPage,
    ) -> Result<(), Fault> {
        let accepted = work
            .sql
            .prepare_cached(
                "UPDATE pages SET state = 1, spider = ?3, hops = ?4, seed = max(seed, ?5), due = ?6 \
                 WHERE site = ?1 AND fp = ?2 AND state = 0 AND requisite = ?7",
            )?
            .execute(params![
                self.id.0,
                fp,
                page.spider.0,
                page.hops,
                page.seed,
                page.due.0,
                page.terms.requisite,
            ])?;
        if accepted == 1 {
            self.moved(work, Some(PageState::Candidate), PageState::Known);
        }
        Ok(())
    }

    fn update(&mut self, work: &mut Work<'_>, update: &PageUpdate) -> Result<(), Fault> {
        let fp = stored_fp(update.fp);
        let before = before(work, self.id, fp)?;
        let fetched = before.fetched || update.state == PageState::Fetched;
        self.counters.fetched += u64::from(fetched && !before.fetched);
        self.moved(work, Some(before.state), update.state);
        let mut run = before.run;
        if let Some(visit) = &update.visit {
            self.counters.visits += 1;
            self.counters.bytes += visit.wire_bytes;
            run = history::record(work, self.id, update.fp, before.run, visit)?;
        }
        work.sql
            .prepare_cached(
                "UPDATE pages SET state = ?3, due = ?4, failures = ?5, fetched = ?6, run = ?7, \
                 visits = visits + ?8, visited = coalesce(?9, visited) WHERE site = ?1 AND fp = ?2",
            )?
            .execute(params![
                self.id.0,
                fp,
                update.state as u8,
                update.due.map(|due| due.0),
                update.failures,
                fetched,
                run,
                update.visit.is_some(),
                update.visit.as_ref().map(|visit| visit.at.0),
            ])?;
        if let Some(facts) = &update.facts {
            save_facts(work, self.id, fp, facts)?;
        }
        Ok(())
    }

    fn moved(&mut self, work: &mut Work<'_>, from: Option<PageState>, to: PageState) {
        work.moved(from, to);
        let was = |test: fn(PageState) -> bool| u64::from(from.is_some_and(test));
        let is_failing = |state| state == PageState::Failing;
        self.counters.known = self.counters.known + u64::from(is_known(to)) - was(is_known);
        self.counters.failed = self.counters.failed + u64::from(is_failing(to)) - was(is_failing);
    }

    fn save(&self, work: &Work<'_>, delta: &SiteDelta) -> Result<(), Fault> {
        let n = |count: u64| count as i64;
        work.sql
            .prepare_cached(
                "UPDATE sites SET pages = ?2, known = ?3, fetched = ?4, failed = ?5, \
                 duplicates = ?6, visits = ?7, bytes = ?8, seeded = max(seeded, ?9) WHERE id = ?1",
            )?
            .execute(params![
                self.id.0,
                n(self.pages),
                n(self.counters.known),
                n(self.counters.fetched),
                n(self.counters.failed),
                n(self.counters.duplicates),
                n(self.counters.visits),
                n(self.counters.bytes),
                delta.seeded,
            ])?;
        Ok(())
    }

    fn release(&self, work: &Work<'_>, release: Release) -> Result<(), Fault> {
        match release {
            Release::Renew(until) => {
                work.sql
                    .prepare_cached(
                        "UPDATE sites SET leased = 1, due = ?2, resting = 0, not_before = 0 \
                         WHERE id = ?1",
                    )?
                    .execute(params![self.id.0, until.0])?;
            }
            Release::NotBefore(moment) => self.give_back(work, moment)?,
            // Whoever came while the site was in hand must not be forgotten.
            Release::Rest if self.stirred => self.give_back(work, Timestamp::ZERO)?,
            Release::Rest => {
                work.sql
                    .prepare_cached(
                        "UPDATE sites SET leased = 0, resting = 1, not_before = 0, due = NULL \
                         WHERE id = ?1",
                    )?
                    .execute([self.id.0])?;
            }
        }
        Ok(())
    }

    fn give_back(&self, work: &Work<'_>, moment: Timestamp) -> Result<(), Fault> {
        let full = check_out::reaches(self.counters.fetched, work.limit);
        let (due, resting) = earliest(work.sql, self.id, full)?;
        work.sql
            .prepare_cached(
                "UPDATE sites SET leased = 0, due = ?2, resting = ?3, not_before = ?4, stirred = 0 \
                 WHERE id = ?1",
            )?
            .execute(params![self.id.0, due.map(|due| due.max(moment).0), resting, moment.0])?;
        Ok(())
    }
}

fn before(work: &Work<'_>, site: SiteId, fp: i64) -> Result<Before, Fault> {
    let before = work
        .sql
        .prepare_cached("SELECT state, fetched, run FROM pages WHERE site = ?1 AND fp = ?2")?
        .query_row(params![site.0, fp], |row| {
            Ok(Before { state: state_of(row.get(0)?)?, fetched: row.get(1)?, run: row.get(2)? })
        })
        .optional()?;
    before.ok_or_else(|| {
        let detail = format!("an update names page {fp:x} of site {} that is not there", site.0);
        StoreError::Database { detail }.into()
    })
}

fn save_facts(work: &Work<'_>, site: SiteId, fp: i64, facts: &PageFacts) -> Result<(), Fault> {
    work.sql
        .prepare_cached(
            "INSERT OR REPLACE INTO page_facts (site, fp, media_type, charset, title, description, \
             language, canonical, etag, last_modified, location, text_bytes, links_internal, \
             links_external, noindex, noarchive, duplicate_of) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, \
             ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            site.0,
            fp,
            facts.media_type,
            facts.charset,
            facts.title,
            facts.description,
            facts.language,
            facts.canonical,
            facts.etag,
            facts.last_modified,
            facts.location,
            facts.text_bytes as i64,
            facts.links_internal,
            facts.links_external,
            facts.noindex,
            facts.noarchive,
            facts.duplicate_of.map(stored_fp),
        ])?;
    Ok(())
}

fn save_robots(work: &Work<'_>, site: SiteId, copy: &RobotsCopy) -> Result<(), Fault> {
    let (answer, status, text) = match &copy.answer {
        RobotsAnswer::Rules(text) => ("rules", None, Some(text)),
        RobotsAnswer::Unavailable { status } => ("unavailable", Some(*status), None),
        RobotsAnswer::Unreachable { why } => ("unreachable", None, Some(why)),
    };
    work.sql
        .prepare_cached(
            "INSERT OR REPLACE INTO robots (site, origin, answer, status, text, fetched, expires, \
             unreachable_since, etag, last_modified) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
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
fn count_decisions(work: &mut Work<'_>, decisions: &[Decision]) -> Result<(), Fault> {
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
        .prepare_cached(
            "INSERT INTO decisions (site, reason, rule, count, example, referrer, last) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT DO UPDATE SET count = count + excluded.count, example = excluded.example, \
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

fn save_meta(work: &Work<'_>, name: &str, value: &impl serde::Serialize) -> Result<(), Fault> {
    let text = serde_json::to_string(value)
        .map_err(|e| StoreError::Database { detail: format!("cannot write down {name}: {e}") })?;
    work.sql
        .prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)")?
        .execute(params![name, text])?;
    Ok(())
}
