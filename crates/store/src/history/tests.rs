//! Changes are told once and in order, whatever the clock did, and in pieces that fit together.

use std::time::Duration;

use model::{Change, SpiderId, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::sql::{self, Sql, params};
use crate::{census::Census, collection::Collection};

const HOUR: i64 = 3_600_000;

struct House {
    _dir: tempfile::TempDir,
    collection: Collection,
    sql: Sql,
}

impl House {
    /// Sites a.example (1) and b.example (2), each with the pages 0 to 9, of the spiders default and other.
    fn new() -> House {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(dir.path()).unwrap();
        drop(collection.frontier().unwrap());
        let sql = sql::open_plain(&collection.database()).unwrap();
        sql.execute("INSERT INTO spiders (id, name, created) VALUES (2, 'other', 0)", []).unwrap();
        for (site, name) in [(1, "a.example"), (2, "b.example")] {
            sql.execute(
                "INSERT INTO sites (id, key, domain, visits) VALUES (?1, ?2, 'example', 4)",
                params![site, name],
            )
            .unwrap();
            for fp in 0..10 {
                sql.execute(
                    "INSERT INTO pages (site, fp, url, spider, state, level, hops, seed, found, \
                     turn, fetched, requisite) VALUES (?1, ?2, ?3, ?1, 2, ?2, 0, ?2 = 0, 0, 2, 1, \
                     ?2 = 9)",
                    params![site, fp, format!("http://{name}/{fp}")],
                )
                .unwrap();
            }
        }
        House { _dir: dir, collection, sql }
    }

    fn visit(&self, site: i64, fp: i64, at: i64, change: Change) -> i64 {
        self.sql.execute("UPDATE totals SET visits = visits + 1", []).unwrap();
        self.sql
            .prepare(
                "INSERT INTO visits (site, fp, change, status, first, last, wire_bytes, \
                 body_bytes, content_hash, text_hash, simhash, latency, elapsed, record_volume, \
                 record_offset, record_length) \
                 VALUES (?1, ?2, ?3, 200, ?4, ?4, 0, 0, 0, 0, 0, 0, 0, 1, ?5, 10) RETURNING seq",
            )
            .unwrap()
            .query_row(params![site, fp, change as u8, at, at % 1_000], |row| row.get(0))
            .unwrap()
    }

    fn census(&self) -> Census {
        Census::open(&self.collection).unwrap()
    }
}

/// All changes, `max` at a time, forwards.
fn all(census: &Census, after: i64, filter: &ChangeFilter, max: u32) -> Vec<i64> {
    let (mut seqs, mut after, last) = (Vec::new(), after, census.last_seq().unwrap());
    while after < last {
        let piece = census.changes_after(after, last, filter, max).unwrap();
        assert!(piece.reached > after, "every read gets on");
        seqs.extend(piece.entries.iter().map(|entry| entry.seq));
        after = piece.reached;
    }
    seqs
}

/// The same backwards.
fn all_backwards(census: &Census, after: i64, filter: &ChangeFilter, max: u32) -> Vec<i64> {
    let (mut seqs, mut before) = (Vec::new(), census.last_seq().unwrap() + 1);
    while before > after + 1 {
        let piece = census.changes_before(before, after, filter, max).unwrap();
        assert!(piece.reached < before, "every read gets on");
        seqs.extend(piece.entries.iter().map(|entry| entry.seq));
        before = piece.reached;
    }
    seqs.reverse();
    seqs
}

#[test]
fn new_changed_gone_and_returned_are_changes_and_nothing_else_is() {
    let house = House::new();
    let changes = [
        Change::First,
        Change::Unchanged,
        Change::Changed,
        Change::NotModified,
        Change::Failed,
        Change::Redirected,
        Change::Gone,
        Change::Returned,
    ];
    for (at, change) in changes.into_iter().enumerate() {
        house.visit(1, 0, at as i64, change);
    }
    house.visit(1, 9, 99, Change::First);
    house.visit(1, 0, 100, Change::Gone);
    house.visit(1, 0, 101, Change::Failed);
    house.visit(1, 0, 102, Change::Gone);
    let census = house.census();
    let piece = census.changes_after(0, 99, &ChangeFilter::default(), 50).unwrap();
    let told: Vec<(i64, Change)> =
        piece.entries.iter().map(|entry| (entry.seq, entry.change)).collect();
    let wanted = [
        (1, Change::First),
        (3, Change::Changed),
        (7, Change::Gone),
        (8, Change::Returned),
        (10, Change::Gone),
    ];
    assert_eq!(told, wanted, "parts of pages are no pages, and what is gone stays gone");
    let before: Vec<Option<u64>> =
        piece.entries.iter().map(|entry| entry.before.map(|record| record.offset)).collect();
    assert_eq!(before, [None, Some(1), Some(2), Some(2), Some(7)], "the version before each");
    assert_eq!(piece.entries[0].url, "http://a.example/0");
    assert_eq!(piece.entries[0].spider, "default");
}

#[test]
fn changes_of_one_site_or_spider_are_found_among_many_of_others() {
    let house = House::new();
    house.sql.execute_batch("BEGIN").unwrap();
    let mine: Vec<i64> = (0..30_000)
        .filter_map(|at| {
            let site = if at % 9_000 == 17 { 2 } else { 1 };
            let seq = house.visit(site, at % 9, at, Change::Changed);
            (site == 2).then_some(seq)
        })
        .collect();
    house.sql.execute_batch("COMMIT").unwrap();
    let census = house.census();
    let site = ChangeFilter { site: Some("b.example".to_owned()), ..ChangeFilter::default() };
    let spider = ChangeFilter { spider: Some(SpiderId(2)), ..ChangeFilter::default() };
    for filter in [site, spider] {
        for max in [1, 2, 100] {
            assert_eq!(all(&census, 0, &filter, max), mine, "{filter:?}");
            assert_eq!(all_backwards(&census, 0, &filter, max), mine, "{filter:?}");
        }
        assert_eq!(all(&census, mine[1], &filter, 1), mine[2..]);
    }
    let nowhere = ChangeFilter { site: Some("c.example".to_owned()), ..ChangeFilter::default() };
    assert_eq!(all(&census, 0, &nowhere, 10), [0_i64; 0]);
}

#[test]
fn numbers_that_are_far_apart_cost_no_reads() {
    let house = House::new();
    house.sql.execute_batch("BEGIN").unwrap();
    for at in 0..25_000 {
        house.visit(1 + at % 2, at % 9, at, Change::Changed);
    }
    house.sql.execute_batch("UPDATE visits SET seq = -seq * 65536").unwrap();
    house.sql.execute_batch("UPDATE visits SET seq = -seq; COMMIT").unwrap();
    let census = house.census();
    let (filter, last) = (ChangeFilter::default(), census.last_seq().unwrap());
    let first = census.changes_after(0, last, &filter, 30_000).unwrap();
    assert_eq!((first.entries.len(), first.reached), (20_000, 20_000 * 65_536));
    let rest = census.changes_after(first.reached, last, &filter, 30_000).unwrap();
    assert_eq!((rest.entries.len(), rest.reached), (5_000, last));
    let newest = census.changes_before(last + 1, 0, &filter, 30_000).unwrap();
    assert_eq!((newest.entries.len(), newest.reached), (20_000, 5_001 * 65_536));
    let oldest = census.changes_before(newest.reached, 0, &filter, 30_000).unwrap();
    assert_eq!((oldest.entries.len(), oldest.reached), (5_000, 1));
}

#[test]
fn the_place_of_a_moment_is_near_it() {
    let house = House::new();
    house.sql.execute_batch("BEGIN").unwrap();
    for at in 0..5_000 {
        house.visit(1, at % 9, at * HOUR, Change::Changed);
    }
    house.sql.execute_batch("COMMIT").unwrap();
    house.sql.execute("DELETE FROM visits WHERE seq BETWEEN 2000 AND 2500", []).unwrap();
    let census = house.census();
    let count = |condition: String| -> i64 {
        let question = format!("SELECT count(*) FROM visits WHERE {condition}");
        house.sql.query_row(&question, [], |row| row.get(0)).unwrap()
    };
    for at in [0, 1, 77, 1_999, 2_300, 4_000, 4_999, 6_000].map(|hour| hour * HOUR) {
        let found = census.seq_before(Timestamp(at)).unwrap();
        assert_eq!(count(format!("seq <= {found} AND first >= {at}")), 0, "nothing is missed");
        let needless = count(format!("seq > {found} AND first < {at}"));
        assert!(needless <= 2, "{needless} are read for nothing at {at}");
    }
    assert_eq!(House::new().census().seq_before(Timestamp(5)).unwrap(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_clock_that_jumps_hides_nothing(
        stretches in proptest::collection::vec((0_i64..10_000, 20_usize..200), 1..8),
        since in 0_i64..10_000,
    ) {
        let house = House::new();
        house.sql.execute_batch("BEGIN").unwrap();
        let mut wanted = Vec::new();
        for (start, count) in stretches {
            for hour in start..start + count as i64 {
                let seq = house.visit(1, hour % 9, hour * HOUR, Change::Changed);
                if hour >= since {
                    wanted.push(seq);
                }
            }
        }
        house.sql.execute_batch("COMMIT").unwrap();
        let census = house.census();
        let since = Timestamp(since * HOUR);
        let filter = ChangeFilter { since: Some(since), ..ChangeFilter::default() };
        let after = census.seq_before(since).unwrap();
        prop_assert_eq!(&all(&census, after, &filter, 1_000), &wanted);
        prop_assert_eq!(&all_backwards(&census, after, &filter, 1_000), &wanted);
    }
}

#[test]
fn the_table_counts_the_last_ten_comparisons_of_a_page_and_of_those_below_it() {
    let house = House::new();
    let set = |fp: i64, recent: u32, compared: u32| {
        house
            .sql
            .execute(
                "UPDATE pages SET recent = ?2, compared = ?3, visited = ?4, due = ?5, fr_max = 3 \
                 WHERE site = 1 AND fp = ?1",
                params![fp, recent, compared, 7 * HOUR, 10 * HOUR],
            )
            .unwrap();
    };
    set(0, u32::MAX ^ 1, 45);
    set(1, 0b11, 2);
    set(2, 0, 8);
    set(9, u32::MAX, 32);
    house.visit(1, 0, 0, Change::First);
    house.visit(1, 0, 5 * HOUR, Change::Changed);
    house.visit(1, 0, 7 * HOUR, Change::Changed);
    let census = house.census();
    let seeds = census.adaptation(&AdaptationFilter::default(), 50).unwrap();
    assert_eq!(seeds.len(), 2, "one seed a site");
    let seed = &seeds[0];
    assert_eq!((seed.compared, seed.changes), (10, 9), "{seed:?}");
    assert_eq!(
        (seed.internal_pages, seed.internal_compared, seed.internal_changes),
        (2, 10, 2),
        "parts are no pages: {seed:?}"
    );
    let hours = |n: u64| Some(Duration::from_secs(n * 3_600).as_millis() as u64);
    assert_eq!((seed.period_before_ms, seed.period_now_ms), (hours(2), hours(3)));
    assert_eq!(seed.fr_max, 3);
    assert_eq!((seeds[1].compared, seeds[1].period_before_ms), (0, None), "an empty history");

    let other = AdaptationFilter { spider: Some(SpiderId(2)), ..AdaptationFilter::default() };
    assert_eq!(census.adaptation(&other, 50).unwrap().len(), 1);
    let pages = AdaptationFilter {
        all: true,
        site: Some("a.example".to_owned()),
        ..AdaptationFilter::default()
    };
    assert_eq!(census.adaptation(&pages, 50).unwrap().len(), 9);
    assert_eq!(census.adaptation(&pages, 3).unwrap().len(), 3);
}
