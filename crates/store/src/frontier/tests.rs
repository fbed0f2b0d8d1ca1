//! What is SQLite's own: files, recovery, full disks, damage, and the queries' plans.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use model::{
    Change, CrawlUrl, Frontier, Mark, Refill, Release, Settlement, SiteDelta, SiteId, StoreError,
    Timestamp,
};

use super::{
    Marks, SqlFrontier, Topic,
    suite::{
        HOUR, ask, candidate, delta, frontier_suite, lease_one, new_page, settlement, visited,
    },
};
use crate::sql;

mod in_memory {
    super::frontier_suite!((super::SqlFrontier::open_in_memory().unwrap(), ()));
}

mod on_disk {
    super::frontier_suite!({
        let dir = tempfile::tempdir().unwrap();
        (super::SqlFrontier::open(&dir.path().join("crawl.db")).unwrap(), dir)
    });
}

fn on_disk(dir: &tempfile::TempDir) -> SqlFrontier {
    SqlFrontier::open(&dir.path().join("crawl.db")).unwrap()
}

/// A site with pages, one of them visited; the settlement that did it.
fn furnish(frontier: &mut SqlFrontier) -> Settlement {
    frontier.admit(&[candidate("http://a.example/", 0)], Timestamp(0)).unwrap();
    let lease = lease_one(frontier, 0);
    let mut delta = delta(&lease, Release::Renew(Timestamp(HOUR)));
    delta.updates = vec![visited(lease.pages[0].url.fingerprint(), 1, Change::First, Some(HOUR))];
    delta.admitted = (0..50).map(|n| new_page(&format!("http://a.example/{n}"), 1, 0)).collect();
    let mut settlement = settlement(1, vec![delta]);
    settlement.mark = Some(Mark { volume: 2, offset: 3, above: vec![(2, 9)] });
    settlement.links = Some((1, 77));
    frontier.check_in(&settlement).unwrap();
    settlement
}

#[test]
fn everything_settled_is_there_after_reopening_and_leases_of_the_dead_are_released() {
    let dir = tempfile::tempdir().unwrap();
    let mut frontier = on_disk(&dir);
    let settled = furnish(&mut frontier);
    let counts = frontier.counts().unwrap();
    // Without closing: as a killed process leaves it.
    std::mem::forget(frontier);
    let mut frontier = on_disk(&dir);
    assert_eq!(frontier.counts().unwrap(), counts);
    let marks = Marks { archive: settled.mark, links: settled.links };
    assert_eq!(frontier.marks().unwrap(), marks);
    assert!(frontier.check_out(&ask(2)).unwrap().is_empty(), "still leased");
    assert_eq!(frontier.recover_leases(Timestamp(2)).unwrap(), 1);
    let lease = lease_one(&mut frontier, 2);
    assert!(lease.site.clock.interrupted);
    assert_eq!(lease.pages.len(), 50);
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_full_disk_at_any_moment_leaves_the_old_state_and_works_again_with_room() {
    let mut refused = 0;
    for spare in 0..40 {
        let dir = tempfile::tempdir().unwrap();
        let mut frontier = on_disk(&dir);
        furnish(&mut frontier);
        let before = frontier.counts().unwrap();
        let pages: i64 =
            frontier.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let room = |frontier: &SqlFrontier, pages: i64| {
            frontier
                .connection
                .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
                .unwrap();
        };
        room(&frontier, pages + spare);
        let candidates: Vec<_> = (0..400)
            .map(|n| candidate(&format!("http://s{}.example/{}", n % 40, "x".repeat(200 + n)), 0))
            .collect();
        match frontier.admit(&candidates, Timestamp(5)) {
            Ok(new) => assert_eq!(new, 400),
            Err(error) => {
                assert!(error.is_disk_full(), "{error}");
                refused += 1;
                assert_eq!(frontier.counts().unwrap(), before);
                room(&frontier, 1 << 30);
                assert_eq!(frontier.verify(true).unwrap(), []);
                assert_eq!(frontier.admit(&candidates, Timestamp(6)).unwrap(), 400);
            }
        }
        assert_eq!(frontier.verify(true).unwrap(), []);
    }
    assert!(refused > 10, "the sweep must meet full disks, met {refused}");
}

#[test]
fn wrong_counters_and_lost_dues_are_found_and_repaired() {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    furnish(&mut frontier);
    frontier.recover_leases(Timestamp(2)).unwrap();
    let counts = frontier.counts().unwrap();
    frontier
        .connection
        .execute_batch(
            "UPDATE totals SET visits = 9; UPDATE sites SET known = 3, bytes = 1, due = NULL;
             UPDATE spiders SET waiting = 1, bytes = 2;
             INSERT INTO page_facts SELECT 1, 99, '', '', '', '', '', NULL, NULL, NULL, NULL, 0, 0,
             0, 0, 0, NULL, NULL, NULL, NULL;",
        )
        .unwrap();
    let topics: Vec<Topic> =
        frontier.verify(true).unwrap().iter().map(|finding| finding.topic).collect();
    let wanted = [&[Topic::Counter; 6][..], &[Topic::Due, Topic::Orphan]].concat();
    assert_eq!(topics, wanted, "a total, two of the site, two of the spider, the domain");
    frontier.connection.execute("DELETE FROM page_facts WHERE fp = 99", []).unwrap();
    frontier.repair_counters(Timestamp(3)).unwrap();
    assert_eq!(frontier.verify(true).unwrap(), []);
    assert_eq!(frontier.counts().unwrap(), counts);
    assert_eq!(lease_one(&mut frontier, 3).pages.len(), 50);
}

#[test]
fn what_is_to_happen_together_lasts_when_all_of_it_is_committed_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.db");
    let pages = |frontier: &mut SqlFrontier, n: i64| {
        frontier.admit(&[candidate(&format!("http://a.example/{n}"), 0)], Timestamp(n)).unwrap();
        let lease = lease_one(frontier, n);
        let back = delta(&lease, Release::NotBefore(Timestamp(n)));
        let refill = Refill {
            site: lease.site.id,
            fence: lease.fence,
            now: Timestamp(n),
            pages_max: 100,
            again: None,
            paused: Vec::new(),
            except: Vec::new(),
            only: Vec::new(),
        };
        let found = frontier.refill(&refill).unwrap().len();
        frontier.check_in(&settlement(n, vec![back])).unwrap();
        found
    };
    let stored = || {
        let reader = crate::sql::open_reader(&path).unwrap();
        reader.query_row("SELECT count(*) FROM pages", [], |row| row.get::<i64>(0)).unwrap()
    };
    let mut frontier = on_disk(&dir);
    frontier.begin_together().unwrap();
    assert_eq!([1, 2, 3].map(|n| pages(&mut frontier, n)), [1, 2, 3], "each sees those before");
    assert_eq!(stored(), 0, "and nobody else sees them");
    frontier.commit_together().unwrap();
    assert_eq!(stored(), 3);
    assert_eq!(pages(&mut frontier, 4), 4);
    assert_eq!(stored(), 4, "by itself again");
    frontier.begin_together().unwrap();
    pages(&mut frontier, 5);
    drop(frontier);
    assert_eq!(stored(), 4, "whoever dies before the end has done nothing");
}

#[test]
fn after_an_error_nothing_is_settled_together_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut frontier = on_disk(&dir);
    frontier.begin_together().unwrap();
    frontier.admit(&[candidate("http://a.example/1", 0)], Timestamp(1)).unwrap();
    let key = CrawlUrl::parse("http://a.example/").unwrap().site();
    let nobodys = SiteDelta::empty(SiteId(1), key, 7, Release::Rest);
    let settled = frontier.check_in(&settlement(1, vec![nobodys]));
    assert!(matches!(settled, Err(StoreError::Fenced { .. })));
    let more = frontier.admit(&[candidate("http://a.example/2", 0)], Timestamp(2));
    assert!(matches!(more, Err(StoreError::Poisoned { .. })));
    drop(frontier);
    assert_eq!(on_disk(&dir).counts().unwrap().candidates, 0);
}

#[test]
fn a_damaged_file_is_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut frontier = on_disk(&dir);
    furnish(&mut frontier);
    drop(frontier);
    let path = dir.path().join("crawl.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xaa);
    std::fs::write(&path, bytes).unwrap();
    let found = match SqlFrontier::open(&path) {
        Err(error) => Err(error),
        Ok(mut frontier) => frontier.verify(false),
    };
    match found {
        Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error}"),
        Ok(findings) => assert_eq!(findings[0].topic, Topic::Damage),
    }
}

#[test]
fn overlapping_readers_do_not_let_the_journal_grow_without_bound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.db");
    let mut frontier = on_disk(&dir);
    furnish(&mut frontier);
    frontier.set_wal_step(4 << 20);
    let done = AtomicBool::new(false);
    let mut largest = 0;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let reader = crate::sql::open_reader(&path).unwrap();
                while !done.load(Ordering::Relaxed) {
                    reader.execute_batch("BEGIN; SELECT count(*) FROM totals").unwrap();
                    std::thread::sleep(Duration::from_millis(7));
                    reader.execute_batch("COMMIT").unwrap();
                }
            });
        }
        for round in 0..40 {
            let candidates: Vec<_> = (0..400)
                .map(|n| candidate(&format!("http://s{n}.example/{round}/{}", "x".repeat(500)), 0))
                .collect();
            frontier.admit(&candidates, Timestamp(round)).unwrap();
            let wal = std::fs::metadata(crate::sql::wal_path(&path)).unwrap();
            largest = largest.max(wal.len());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(largest < 20 << 20, "the journal grew to {largest}");
}

#[test]
fn the_hot_questions_are_answered_from_their_indexes_without_sorting() {
    let frontier = SqlFrontier::open_in_memory().unwrap();
    let plan = |sql: &str| -> String {
        let mut statement =
            frontier.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.query_map([], |row| row.get::<String>(3)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    for (sql, index) in [
        (
            "SELECT id FROM sites WHERE leased = 0 AND due IS NOT NULL AND due <= 5 \
             AND (due, id) > (3, 4) ORDER BY due, id LIMIT 5",
            "sites_due",
        ),
        (
            "SELECT id FROM sites WHERE leased = 0 AND due IS NOT NULL AND seeded = 1 AND due <= 5 \
             AND (due, id) > (3, 4) ORDER BY due, id LIMIT 5",
            "sites_seeded_due",
        ),
        (
            "SELECT id FROM sites WHERE leased = 0 AND due_again IS NOT NULL AND due_again <= 5 \
             AND (due_again, id) > (3, 4) AND not_before <= 5 ORDER BY due_again, id LIMIT 5",
            "sites_due_again",
        ),
        (
            "SELECT url FROM pages WHERE site = 1 AND spider = 1 AND turn IN (2, 4) AND turn = 2 \
             AND due IS NOT NULL AND due <= 4 ORDER BY due, fp",
            "pages_again (site=? AND spider=? AND turn=? AND due>? AND due<?)",
        ),
        (
            "SELECT spider, turn, due FROM pages WHERE site = 1 AND (spider, turn) > (1, 2) \
             AND turn IN (2, 4) AND due IS NOT NULL ORDER BY spider, turn, due LIMIT 1",
            "COVERING INDEX pages_again (site=? AND (spider,turn)>(?,?))",
        ),
        (
            "SELECT url FROM pages WHERE site = 1 AND spider = 1 AND turn NOT IN (2, 4) AND turn = 1 AND level = 2 \
             AND due IS NOT NULL AND due <= 4 ORDER BY due, fp",
            "pages_due (site=? AND spider=? AND turn=? AND level=? AND due>? AND due<?)",
        ),
        (
            "SELECT spider, turn, level, due FROM pages WHERE site = 1 \
             AND (spider, turn, level) > (1, 2, 3) AND turn NOT IN (2, 4) AND due IS NOT NULL \
             ORDER BY spider, turn, level, due LIMIT 1",
            "COVERING INDEX pages_due (site=? AND (spider,turn,level)>(?,?,?))",
        ),
        (
            "SELECT id FROM sites WHERE resting = 1 AND leased = 0 AND (EXISTS (SELECT 1 FROM pages \
             WHERE site = sites.id AND spider = 1 AND turn NOT IN (2, 4) AND due IS NOT NULL) OR EXISTS \
             (SELECT 1 FROM pages WHERE site = sites.id AND spider = 1 AND turn IN (2, 4) \
             AND due IS NOT NULL))",
            "pages_due (site=? AND spider=?)",
        ),
        ("UPDATE sites SET full_for = '' WHERE full_for <> ''", "sites_full"),
        ("SELECT 1 FROM sites WHERE leased = 1 AND due <= 3", "sites_leased"),
    ] {
        let plan = plan(sql);
        assert!(plan.contains(index), "{sql}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}

#[test]
fn a_row_of_pages_stays_small_beside_its_url() {
    let dir = tempfile::tempdir().unwrap();
    let mut frontier = on_disk(&dir);
    let candidates: Vec<_> =
        (0..20_000).map(|n| candidate(&format!("http://s{}.example/{n}", n % 100), 1)).collect();
    let text: usize = candidates.iter().map(|c| c.url.as_str().len()).sum();
    frontier.admit(&candidates, Timestamp(1_790_000_000_000)).unwrap();
    let bytes: i64 = frontier
        .connection
        .query_row(
            "SELECT sum(payload + 12 * ncell) FROM dbstat \
             WHERE name IN ('pages', 'pages_due', 'pages_again') AND aggregate = 1",
            [],
            |row| row.get(0),
        )
        .unwrap_or_else(|_| file_bytes(&dir.path().join("crawl.db")));
    let per_row = (bytes - text as i64) / 20_000;
    // Fourteen of them say that nothing is known yet of how the page changes: cheaper than another table.
    assert!(per_row <= 130, "{per_row} bytes a row beside its URL");
}

fn file_bytes(path: &Path) -> i64 {
    let connection = sql::open_plain(path).unwrap();
    connection
        .query_row(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            [],
            |r| r.get(0),
        )
        .unwrap()
}
