//! Thinning stopped at every step, and taken up again.

use std::{collections::BTreeMap, path::Path, time::Duration};

use model::{Archive, Change, EntryKind, Frontier, RecordLocation, RefersTo, Settlement};

use super::*;
use crate::{
    forget::tests::{START, append, candidate, check_out, copy_of, delta, exchange, open_archive},
    frontier::SqlFrontier,
    warc::{Verifier, Volumes, sha1, tests::in_turn},
};

const DAY: i64 = 86_400_000;
const DAYS: i64 = 60;
pub(crate) const PAGE: &str = "http://a.example/p";
/// Has the payload that `PAGE` had on the third day, and refers to it.
const HEIR: &str = "http://a.example/q";

pub(super) fn rule() -> Keep {
    let days = |text: &str| {
        let days = text.trim_end_matches('d').parse::<u64>().map_err(|e| e.to_string())?;
        Ok(Duration::from_secs(days * 86_400))
    };
    let rule = KeepRule::parse("all 10d, then 1 per 7d", days).unwrap();
    Keep { rule: Some(rule), versions_bytes_max: None }
}

fn end() -> Timestamp {
    Timestamp(START.0 + DAYS * DAY)
}

/// A page with a version a day, each seen again by a 304, and another that shares a payload with it; in volumes
/// of every kind.
pub(crate) fn build(folder: &Path) {
    build_seen_again(folder, 1);
}

/// The same, with the first version seen again so often.
fn build_seen_again(folder: &Path, times: i64) {
    let collection = Collection::create(folder).unwrap();
    let mut frontier = collection.frontier().unwrap();
    let (archive, _) = open_archive(&collection, Default::default());
    frontier.admit(&[candidate("a.example")], START).unwrap();
    let lease = frontier.check_out(&check_out()).unwrap().remove(0);
    let body = |day: i64| format!("edition {day} ").repeat(300);
    let mut visit = |url: &str, body: &str, at: i64, change: Change, kind: EntryKind| {
        let exchange = exchange(url, body, at);
        let revisit = !matches!(kind, EntryKind::Response);
        let (record, id) = append(&archive, &exchange, kind);
        archive.settled(record);
        let mut delta = delta(&lease, &exchange, record, id, revisit);
        let seen = delta.updates[0].visit.as_mut().unwrap();
        seen.change = change;
        if change == Change::NotModified {
            seen.status = 304;
        }
        if change != Change::First {
            delta.admitted.clear();
        }
        archive.sync().unwrap();
        let mark = Some(archive.mark());
        let settlement =
            Settlement { now: START, deltas: vec![delta], mark, ..Settlement::default() };
        frontier.check_in(&settlement).unwrap();
    };
    let refers = |day: i64| RefersTo {
        target_uri: PAGE.to_owned(),
        date: Timestamp(START.0 + day * DAY),
        payload_digest: sha1(&[body(day).as_bytes()]),
    };
    for day in 0..DAYS {
        let change = if day == 0 { Change::First } else { Change::Changed };
        visit(PAGE, &body(day), day * DAY, change, EntryKind::Response);
        for time in 1..=if day == 0 { times } else { 1 } {
            let again = EntryKind::NotModified(refers(day));
            visit(PAGE, "", day * DAY + time * 5_000, Change::NotModified, again);
        }
        if day == 50 {
            let same = EntryKind::SamePayload(refers(3));
            visit(HEIR, &body(3), day * DAY + 9_000, Change::First, same);
        }
        if day % 9 == 8 {
            archive.seal().unwrap();
            archive.pack_with(in_turn(day as usize / 9, &[PAGE]));
        }
    }
    archive.seal().unwrap();
}

pub(super) fn run(folder: &Path, keep: &Keep, stop_at: usize) -> Result<Thinned, StoreError> {
    let collection = Collection::open(folder)?;
    let lock = collection.lock()?;
    let mut steps = 0;
    thin(&collection, &lock, keep, end(), &mut |_| {
        steps += 1;
        match steps > stop_at {
            true => Err(StoreError::Database { detail: "stopped here".into() }),
            false => Ok(()),
        }
    })
}

/// Every row that has a record, with the body that can be read of it.
pub(crate) fn state(folder: &Path) -> BTreeMap<i64, Vec<u8>> {
    let frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    let volumes = Volumes::new(folder.join("volumes"));
    let rows: Vec<(i64, RecordLocation)> = frontier
        .connection
        .prepare(
            "SELECT first, record_volume, record_offset, record_length FROM visits \
             WHERE record_volume IS NOT NULL",
        )
        .unwrap()
        .query_map([], |row| {
            let offset = row.get::<i64>(2)? as u64;
            let record = RecordLocation { volume: row.get(1)?, offset, length: row.get(3)? };
            Ok((row.get(0)?, record))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let read = |at: i64| {
        let record = rows.iter().find(|row| row.0 == at).expect("what is referred to is there").1;
        volumes.read_at(record).unwrap()
    };
    rows.iter()
        .map(|(at, _)| {
            let mut record = read(*at);
            if record.kind() == "revisit" {
                assert_eq!(record.field("WARC-Refers-To-Target-URI"), Some(PAGE));
                record = read(START.0 + 3 * DAY);
            }
            (*at, record.http().entity().to_vec())
        })
        .collect()
}

pub(super) fn is_sound(folder: &Path) {
    let mut frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    assert_eq!(frontier.verify(true).unwrap(), []);
    let mut verifier = Verifier::default();
    for volume in Volumes::new(folder.join("volumes")).list().unwrap() {
        let report = verifier.volume(&volume.path).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
    }
    let strays = std::fs::read_dir(folder.join("volumes")).unwrap();
    assert!(strays.flatten().all(|e| !e.file_name().to_string_lossy().ends_with(".rewritten")));
}

fn number(folder: &Path, sql: &str) -> i64 {
    let frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    frontier.connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn stopped_at_any_step_it_comes_to_the_same_end() {
    let made = tempfile::tempdir().unwrap();
    build(made.path());
    let before = state(made.path());
    assert_eq!(before.len(), 61);
    let whole = copy_of(made.path());
    let collection = Collection::open(whole.path()).unwrap();
    let would = would_thin(&collection, &collection.lock().unwrap(), &rule(), end()).unwrap();
    let done = run(whole.path(), &rule(), usize::MAX).unwrap();
    let after = state(whole.path());
    let said = |told: &Thinned| {
        (told.versions, told.copies, told.bytes, told.left_bytes, told.sites.clone())
    };
    assert_eq!(said(&would), said(&done), "what was foretold is what happens");
    assert_eq!(done.sites.iter().map(|site| site.bytes).sum::<u64>(), done.bytes);
    assert!(done.records_bytes > done.bytes, "requests and visits that saw it again: {done:?}");
    let census = Census::open(&collection).unwrap();
    assert_eq!(census.versions_thinned().unwrap(), done.versions);
    assert_eq!(done.versions as usize, before.len() - after.len(), "{done:?}");
    // Request and answer of the version, and of the visit that saw it again.
    assert_eq!((done.records, done.made_whole), (4 * done.versions, 1), "{done:?}");
    assert!((10 + 7..=10 + 9 + 1).contains(&after.len()), "{}", after.len());
    assert!(after.iter().all(|(at, body)| before[at] == *body), "what stays is as it was");
    assert!(
        after.contains_key(&(START.0 + 59 * DAY))
            && after.contains_key(&(START.0 + 50 * DAY + 9_000))
    );
    let visits = "SELECT count(*) FROM visits";
    assert_eq!(
        number(whole.path(), visits),
        number(made.path(), visits),
        "history keeps its visits"
    );
    let thinned = "SELECT count(*) FROM visits WHERE thinned IS NOT NULL AND record_volume IS NULL";
    assert_eq!(number(whole.path(), thinned) as u64, done.versions);
    assert_eq!(run(whole.path(), &rule(), usize::MAX).unwrap().versions, 0, "once is enough");
    is_sound(whole.path());

    let mut steps = 0;
    loop {
        let trial = copy_of(made.path());
        if run(trial.path(), &rule(), steps).is_ok() {
            break;
        }
        let collection = Collection::open(trial.path()).unwrap();
        let now = state(trial.path());
        assert!(after.iter().all(|(at, body)| now.get(at) == Some(body)), "step {steps}");
        if steps % 2 == 0 {
            let lock = collection.lock().unwrap();
            forget::finish(&collection, &lock, START, &mut |_| Ok(())).unwrap();
        }
        run(trial.path(), &rule(), usize::MAX).unwrap();
        assert_eq!(state(trial.path()), after, "step {steps}");
        is_sound(trial.path());
        steps += 1;
    }
    assert!(steps >= 6, "only {steps} steps");
}

#[test]
fn a_version_seen_again_in_more_than_one_row_goes_whole() {
    let made = tempfile::tempdir().unwrap();
    // 2 bytes for each time, and a row holds 1,024.
    build_seen_again(made.path(), 600);
    let rows = "SELECT count(*) FROM visits WHERE status = 304 AND record_volume IS NOT NULL";
    assert_eq!(number(made.path(), rows), 1, "the row that carries on");
    let keep = Keep { rule: None, versions_bytes_max: Some(1) };
    run(made.path(), &keep, usize::MAX).unwrap();
    assert_eq!(number(made.path(), rows), 0);
    assert_eq!(state(made.path()).len(), 2, "the last of each page");
    is_sound(made.path());
}

#[test]
fn a_budget_takes_the_oldest_and_never_the_last() {
    let made = tempfile::tempdir().unwrap();
    build(made.path());
    let sum = "SELECT sum(record_length) FROM visits";
    let half = number(made.path(), sum) as u64 / 2;
    let keep = Keep { rule: None, versions_bytes_max: Some(half) };
    let collection = Collection::open(made.path()).unwrap();
    let lock = collection.lock().unwrap();
    let would = would_thin(&collection, &lock, &keep, end()).unwrap();
    drop(lock);
    let done = run(made.path(), &keep, usize::MAX).unwrap();
    // A version that is made whole grows, and may cost another.
    assert!((would.versions..=would.versions + 1).contains(&done.versions), "{would:?} {done:?}");
    assert_eq!(done.sites[0].site, "a.example");
    assert!(done.left_bytes <= half && done.left_bytes > half * 9 / 10, "{done:?}");
    let oldest = "SELECT min(first) FROM visits WHERE record_volume IS NOT NULL";
    let newest = "SELECT max(first) FROM visits WHERE thinned IS NOT NULL";
    assert!(number(made.path(), newest) < number(made.path(), oldest));
    let keep = Keep { rule: None, versions_bytes_max: Some(1) };
    run(made.path(), &keep, usize::MAX).unwrap();
    assert_eq!(state(made.path()).len(), 2, "the last of each page");
    is_sound(made.path());
}
