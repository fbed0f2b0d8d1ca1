//! What happened to pages of a site: their rows, visits and facts.
//!
//! Rows and facts lie by fingerprint, visits in the order they were made. So the rows are looked at in their order,
//! the visits recorded in theirs, and the rows written in their order again: neighbours share a page of the
//! database, which is then still in the caches of the processor.

use model::{PageFacts, PageState, PageUpdate, SiteCounters, SiteId, SpiderId, StoreError};
use rusqlite::{CachedStatement, Connection, OptionalExtension, ToSql, params};

use super::{
    check_out, children, habits,
    history::History,
    rows::{Fault, state_of, stored_fp},
    sqlite::Work,
    tally::Standing,
};

/// The statements of every update, held for a whole settlement.
pub(super) struct Updates<'a> {
    look: CachedStatement<'a>,
    row: CachedStatement<'a>,
    row_and_habit: CachedStatement<'a>,
    facts: CachedStatement<'a>,
    history: History<'a>,
}

const LOOK: &str =
    "SELECT spider, requisite, state, fetched, run FROM pages WHERE site = ?1 AND fp = ?2";
const FACTS: &str = "INSERT OR REPLACE INTO page_facts (site, fp, media_type, charset, title, \
     description, language, canonical, etag, last_modified, location, text_bytes, links_internal, \
     links_external, noindex, noarchive, duplicate_of, sketch, near_of, unavailable_after) VALUES \
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";

/// An update with what the page's row says before it, and what it shall say.
struct Change<'u> {
    update: &'u PageUpdate,
    fp: i64,
    before: Standing,
    /// The visit with the version at hand.
    run: Option<i64>,
}

impl<'a> Updates<'a> {
    pub fn new(sql: &'a Connection) -> rusqlite::Result<Updates<'a>> {
        Ok(Updates {
            look: sql.prepare_cached(LOOK)?,
            row: sql.prepare_cached(habits::UPDATE_ROW)?,
            row_and_habit: sql.prepare_cached(habits::UPDATE_ROW_AND_HABIT)?,
            facts: sql.prepare_cached(FACTS)?,
            history: History::new(sql)?,
        })
    }

    pub fn write(
        &mut self,
        work: &mut Work<'_>,
        site: SiteId,
        counters: &mut SiteCounters,
        updates: &[PageUpdate],
    ) -> Result<(), Fault> {
        let order = in_order(updates);
        let same = |pair: &[usize]| updates[pair[0]].fp == updates[pair[1]].fp;
        if !order.windows(2).any(same) {
            return self.write_in(&order, work, site, counters, updates);
        }
        // A page that is there twice must have its first update behind it before the second is looked at.
        for one in updates.chunks(1) {
            self.write_in(&[0], work, site, counters, one)?;
        }
        Ok(())
    }

    /// `order`: places in `updates`, in which no page is there twice.
    fn write_in(
        &mut self,
        order: &[usize],
        work: &mut Work<'_>,
        site: SiteId,
        counters: &mut SiteCounters,
        updates: &[PageUpdate],
    ) -> Result<(), Fault> {
        let mut changes: Vec<Option<Change<'_>>> = updates.iter().map(|_| None).collect();
        for &place in order {
            changes[place] = Some(self.look(site, &updates[place])?);
        }
        for change in changes.iter_mut().flatten() {
            self.record(work, site, counters, change)?;
        }
        for change in order.iter().filter_map(|&place| changes[place].as_ref()) {
            self.write_row(work, site, counters, change)?;
        }
        Ok(())
    }

    fn look<'u>(&mut self, site: SiteId, update: &'u PageUpdate) -> Result<Change<'u>, Fault> {
        let fp = stored_fp(update.fp);
        let found = self.look.query_row(params![site.0, fp], |row| {
            let before = Standing {
                spider: SpiderId(row.get(0)?),
                requisite: row.get(1)?,
                state: state_of(row.get(2)?)?,
                fetched: row.get(3)?,
            };
            Ok(Change { update, fp, before, run: row.get(4)? })
        });
        found.optional()?.ok_or_else(|| {
            let place = format!("page {fp:x} of site {}", site.0);
            let detail = format!("an update names {place} that is not there");
            StoreError::Database { detail }.into()
        })
    }

    fn record(
        &mut self,
        work: &mut Work<'_>,
        site: SiteId,
        counters: &mut SiteCounters,
        change: &mut Change<'_>,
    ) -> Result<(), Fault> {
        let update = change.update;
        // A page that has no version yet has no title to keep.
        if let Some(facts) = update.facts.as_ref().filter(|_| change.run.is_some()) {
            self.history.keep_title(site, update.fp, &facts.title)?;
        }
        if let Some(visit) = &update.visit {
            counters.visits += 1;
            counters.bytes += visit.wire_bytes;
            work.visited(change.before.spider, visit.wire_bytes);
            change.run = self.history.record(work, site, update.fp, change.run, visit)?;
        }
        Ok(())
    }

    fn write_row(
        &mut self,
        work: &mut Work<'_>,
        site: SiteId,
        counters: &mut SiteCounters,
        change: &Change<'_>,
    ) -> Result<(), Fault> {
        let Change { update, fp, before, run } = change;
        let fetched = before.fetched || update.state == PageState::Fetched;
        let after = Standing { state: update.state, fetched, ..*before };
        work.moved(Some(*before), after).apply(counters);
        let row: [&dyn ToSql; 10] = [
            &site.0,
            fp,
            &(update.state as u8),
            &check_out::stored(update.due),
            &update.failures,
            &fetched,
            run,
            &update.visit.is_some(),
            &update.visit.as_ref().map(|visit| visit.at.0),
            &after.turn(),
        ];
        match &update.habit {
            Some(habit) => habits::save_with_row(&mut self.row_and_habit, row, habit)?,
            None => drop(self.row.execute(&row[..])?),
        }
        if let Some(children) = &update.children {
            children::save(work, site, *fp, children)?;
        }
        if let Some(facts) = &update.facts {
            self.save_facts(site, *fp, facts)?;
        }
        Ok(())
    }

    fn save_facts(&mut self, site: SiteId, fp: i64, facts: &PageFacts) -> Result<(), Fault> {
        self.facts.execute(params![
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
            facts.sketch,
            facts.near_of.map(stored_fp),
            facts.unavailable_after.map(|at| at.0),
        ])?;
        Ok(())
    }
}

/// The places of the updates in the order of the table.
fn in_order(updates: &[PageUpdate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..updates.len()).collect();
    order.sort_unstable_by_key(|&place| stored_fp(updates[place].fp));
    order
}
