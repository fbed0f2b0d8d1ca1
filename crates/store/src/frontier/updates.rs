//! What happened to pages of a site: their rows, visits and facts.
//!
//! Rows and facts lie by fingerprint, visits in the order they were made. So the rows are looked at in their order,
//! the visits recorded in theirs, and the rows written in their order again: neighbours share a page of the
//! database, which is then still in the caches of the processor.

use model::{PageFacts, PageState, PageUpdate, SiteCounters, SiteId, SpiderId, StoreError};

use super::{
    check_out, children, habits,
    history::History,
    many::{self, Blank, Many, ROWS},
    rows::{Fault, state_of, stored_fp},
    sql_frontier::Work,
    tally::Standing,
};
use crate::sql::{self, OptionalExtension, Sql, Statement, params};

/// The statements of every update, held for a whole settlement, and the facts that wait for company.
pub(super) struct Updates<'a> {
    look: Statement<'a>,
    row: Statement<'a>,
    row_and_habit: Statement<'a>,
    new_facts: Many<'a>,
    facts: Statement<'a>,
    waiting: Vec<NewFacts<'a>>,
    history: History<'a>,
}

const LOOK: &str = "SELECT spider, requisite, state, fetched, run, visited IS NULL FROM pages \
     WHERE site = ?1 AND fp = ?2";
const FACTS: &str = "page_facts (site, fp, media_type, charset, title, description, language, \
     canonical, etag, last_modified, location, text_bytes, links_internal, links_external, \
     noindex, noarchive, duplicate_of, sketch, near_of, unavailable_after)";
const FACTS_COLUMNS: usize = 20;
const REPLACE_FACTS: &str = "INSERT INTO page_facts (site, fp, media_type, charset, title, \
     description, language, canonical, etag, last_modified, location, text_bytes, links_internal, \
     links_external, noindex, noarchive, duplicate_of, sketch, near_of, unavailable_after) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, \
     ?20) ON CONFLICT (site, fp) DO UPDATE SET media_type = excluded.media_type, \
     charset = excluded.charset, title = excluded.title, description = excluded.description, \
     language = excluded.language, canonical = excluded.canonical, etag = excluded.etag, \
     last_modified = excluded.last_modified, location = excluded.location, \
     text_bytes = excluded.text_bytes, links_internal = excluded.links_internal, \
     links_external = excluded.links_external, noindex = excluded.noindex, \
     noarchive = excluded.noarchive, duplicate_of = excluded.duplicate_of, \
     sketch = excluded.sketch, near_of = excluded.near_of, \
     unavailable_after = excluded.unavailable_after";

/// An update with what the page's row says before it, and what it shall say.
struct Change<'a> {
    update: &'a PageUpdate,
    fp: i64,
    before: Standing,
    /// Never visited, so that most likely there are no facts.
    is_new: bool,
    /// The visit with the version at hand.
    run: Option<i64>,
}

impl<'a> Updates<'a> {
    pub fn new(sql: &'a Sql) -> sql::Result<Updates<'a>> {
        Ok(Updates {
            look: sql.prepare(LOOK)?,
            row: sql.prepare(habits::UPDATE_ROW)?,
            row_and_habit: sql.prepare(habits::UPDATE_ROW_AND_HABIT)?,
            new_facts: Many::new(sql, FACTS, FACTS_COLUMNS, "ON CONFLICT DO NOTHING")?,
            facts: sql.prepare(REPLACE_FACTS)?,
            waiting: Vec::with_capacity(ROWS),
            history: History::new(sql)?,
        })
    }

    /// Before anything of a site is read or written anew: what waits of it is written.
    pub fn begin(&mut self, site: SiteId) -> Result<(), Fault> {
        let waits = self.waiting.iter().any(|new| new.site == site);
        if waits || self.history.awaits(site) { self.flush() } else { Ok(()) }
    }

    /// Writes all that waits.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.history.flush()?;
        let inserted = self.new_facts.insert(&self.waiting, NewFacts::fill)?;
        let some_were_there = inserted < self.waiting.len();
        for facts in self.waiting.drain(..).filter(|_| some_were_there) {
            save_facts(&mut self.facts, &facts)?;
        }
        Ok(())
    }

    /// Of new visits and facts some may wait for more of them: see [`Updates::begin`] and [`Updates::flush`].
    pub fn write(
        &mut self,
        work: &mut Work<'_>,
        site: SiteId,
        counters: &mut SiteCounters,
        updates: &'a [PageUpdate],
    ) -> Result<(), Fault> {
        let order = in_order(updates);
        let same = |pair: &[usize]| updates[pair[0]].fp == updates[pair[1]].fp;
        if !order.windows(2).any(same) {
            return self.write_in(&order, work, site, counters, updates);
        }
        // A page that is there twice must have its first update behind it before the second is looked at.
        for one in updates.chunks(1) {
            self.begin(site)?;
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
        updates: &'a [PageUpdate],
    ) -> Result<(), Fault> {
        let mut changes: Vec<Option<Change<'a>>> = updates.iter().map(|_| None).collect();
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

    fn look(&mut self, site: SiteId, update: &'a PageUpdate) -> Result<Change<'a>, Fault> {
        let fp = stored_fp(update.fp);
        let found = self.look.query_row(params![site.0, fp], |row| {
            let before = Standing {
                spider: SpiderId(row.get(0)?),
                requisite: row.get(1)?,
                state: state_of(row.get(2)?)?,
                fetched: row.get(3)?,
            };
            Ok(Change { update, fp, before, run: row.get(4)?, is_new: row.get(5)? })
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
        change: &mut Change<'a>,
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
        change: &Change<'a>,
    ) -> Result<(), Fault> {
        let Change { update, fp, before, is_new, run } = change;
        let fetched = before.fetched || update.state == PageState::Fetched;
        let after = Standing { state: update.state, fetched, ..*before };
        work.moved(Some(*before), after).apply(counters);
        let statement = match &update.habit {
            Some(_) => &mut self.row_and_habit,
            None => &mut self.row,
        };
        statement.bind(1, site.0)?;
        statement.bind(2, fp)?;
        statement.bind(3, update.state as u8)?;
        statement.bind(4, check_out::stored(update.due))?;
        statement.bind(5, update.failures)?;
        statement.bind(6, fetched)?;
        statement.bind(7, run)?;
        statement.bind(8, update.visit.is_some())?;
        statement.bind(9, update.visit.as_ref().map(|visit| visit.at.0))?;
        statement.bind(10, after.turn())?;
        if let Some(habit) = &update.habit {
            habits::bind(statement, habit)?;
        }
        statement.execute_bound()?;
        if let Some(children) = &update.children {
            children::save(work, site, *fp, children)?;
        }
        if let Some(facts) = &update.facts {
            self.keep_facts(NewFacts { site, fp: *fp, facts }, *is_new)?;
        }
        Ok(())
    }

    fn keep_facts(&mut self, facts: NewFacts<'a>, is_new: bool) -> Result<(), Fault> {
        if !is_new {
            return save_facts(&mut self.facts, &facts);
        }
        self.waiting.push(facts);
        if self.waiting.len() >= ROWS { self.flush() } else { Ok(()) }
    }
}

/// Facts that are to be written.
struct NewFacts<'a> {
    site: SiteId,
    fp: i64,
    facts: &'a PageFacts,
}

impl NewFacts<'_> {
    fn fill(&self, row: &mut Blank<'_, '_>) -> sql::Result<()> {
        let facts = self.facts;
        row.put(self.site.0)?;
        row.put(self.fp)?;
        row.put(&facts.media_type)?;
        row.put(&facts.charset)?;
        row.put(&facts.title)?;
        row.put(&facts.description)?;
        row.put(&facts.language)?;
        row.put(&facts.canonical)?;
        row.put(&facts.etag)?;
        row.put(&facts.last_modified)?;
        row.put(&facts.location)?;
        row.put(facts.text_bytes as i64)?;
        row.put(facts.links_internal)?;
        row.put(facts.links_external)?;
        row.put(facts.noindex)?;
        row.put(facts.noarchive)?;
        row.put(facts.duplicate_of.map(stored_fp))?;
        row.put(&facts.sketch)?;
        row.put(facts.near_of.map(stored_fp))?;
        row.put(facts.unavailable_after.map(|at| at.0))
    }
}

/// Instead of those before.
fn save_facts(replace: &mut Statement<'_>, facts: &NewFacts<'_>) -> Result<(), Fault> {
    many::insert_one(replace, facts, NewFacts::fill)?;
    Ok(())
}

/// The places of the updates in the order of the table.
fn in_order(updates: &[PageUpdate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..updates.len()).collect();
    order.sort_unstable_by_key(|&place| stored_fp(updates[place].fp));
    order
}

#[cfg(test)]
mod tests {
    use model::{Change, Frontier, Release, SiteDelta, Timestamp};

    use super::{
        super::{
            SqlFrontier,
            suite::{ask, candidate, delta, settlement, url, verdict, visited},
        },
        *,
    };

    /// More than one statement takes, and not a multiple of that.
    const PAGES: usize = 2 * ROWS + 5;

    fn text(site: usize, n: usize) -> String {
        format!("http://{site}.example/{n}")
    }

    fn titled(update: PageUpdate, title: &str) -> PageUpdate {
        PageUpdate {
            facts: Some(PageFacts { title: title.into(), ..PageFacts::default() }),
            ..update
        }
    }

    fn settle(frontier: &mut SqlFrontier, now: i64, updates: impl Fn(usize) -> Vec<PageUpdate>) {
        let mut leases = frontier.check_out(&ask(now)).unwrap();
        leases.sort_by(|a, b| a.site.key.as_str().cmp(b.site.key.as_str()));
        let deltas = leases.iter().enumerate().map(|(site, lease)| SiteDelta {
            updates: updates(site),
            ..delta(lease, Release::NotBefore(Timestamp(0)))
        });
        frontier.check_in(&settlement(now, deltas.collect())).unwrap();
        assert_eq!(frontier.verify(true).unwrap(), []);
    }

    fn column<T: sql::FromSql>(frontier: &SqlFrontier, sql: &str) -> Vec<T> {
        let mut statement = frontier.connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn two_sites() -> SqlFrontier {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let found: Vec<_> =
            (0..2 * PAGES).map(|n| candidate(&text(n / PAGES, n % PAGES), 0)).collect();
        frontier.admit(&found, Timestamp(0)).unwrap();
        frontier
    }

    #[test]
    fn visits_are_numbered_as_they_came_and_versions_keep_their_titles() {
        let mut frontier = two_sites();
        let fp = |site, n| url(&text(site, n)).fingerprint();
        for (now, change, title) in [(1, Change::First, "old"), (9, Change::Changed, "new")] {
            settle(&mut frontier, now, |site| {
                let one = |n| titled(visited(fp(site, n), now, change, Some(5)), title);
                (0..PAGES).map(one).collect()
            });
        }
        let came = (0..2 * PAGES).map(|n| stored_fp(fp(n / PAGES, n % PAGES)));
        let numbered: Vec<i64> = column(&frontier, "SELECT fp FROM visits ORDER BY seq");
        assert_eq!(numbered, came.clone().chain(came).collect::<Vec<_>>());
        let kept: Vec<Option<String>> =
            column(&frontier, "SELECT DISTINCT title FROM visits ORDER BY seq");
        assert_eq!(kept, [Some("old".to_owned()), None]);
        assert_eq!(column::<String>(&frontier, "SELECT DISTINCT title FROM page_facts"), ["new"]);
    }

    #[test]
    fn a_page_that_is_there_twice_is_updated_twice() {
        let mut frontier = two_sites();
        settle(&mut frontier, 1, |site| {
            let fp = url(&text(site, 0)).fingerprint();
            let first = titled(visited(fp, 1, Change::First, Some(5)), "first");
            let other = visited(url(&text(site, 1)).fingerprint(), 2, Change::First, Some(5));
            let again = titled(visited(fp, 3, Change::NotModified, Some(5)), "again");
            vec![first, other, again]
        });
        let counts: Vec<i64> = column(&frontier, "SELECT count FROM visits ORDER BY seq");
        assert_eq!(counts, [2, 1, 2, 1]);
        assert_eq!(column::<String>(&frontier, "SELECT title FROM page_facts"), ["again"; 2]);
    }

    #[test]
    fn facts_that_are_there_without_a_visit_make_room_for_others() {
        let mut frontier = two_sites();
        for (now, title) in [(1, "one"), (2, "two")] {
            settle(&mut frontier, now, |site| {
                let fp = |n| url(&text(site, n)).fingerprint();
                let one = |n| titled(verdict(fp(n), PageState::Known, Some(0)), title);
                (0..PAGES - usize::from(now == 1)).map(one).collect()
            });
        }
        let titles: Vec<String> = column(&frontier, "SELECT title FROM page_facts");
        assert_eq!(titles, vec!["two"; 2 * PAGES]);
    }
}
