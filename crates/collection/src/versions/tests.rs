//! Versions are found by number and by moment, and runs tell a page's days in order.

use std::collections::HashMap;

use model::Change;

use super::*;

fn visit(seq: i64, change: Change, status: u16, times: &[i64]) -> VisitEntry {
    let record = RecordLocation { volume: 1, offset: seq as u64 * 100, length: 10 };
    VisitEntry {
        seq,
        change,
        status,
        failure: (status == 0).then(|| "connection-refused".to_owned()),
        times: times.iter().map(|day| Timestamp(day * 86_400_000)).collect(),
        wire_bytes: 0,
        body_bytes: 5,
        latency_ms: 0,
        elapsed_ms: 0,
        content_hash: seq as u64,
        text_hash: 0,
        simhash: 0,
        record: (status != 0).then_some(record),
        lost: false,
        record_date: None,
    }
}

fn at(day: i64) -> Which {
    Which::At(Timestamp(day * 86_400_000))
}

/// Seen on days 1, 2 and 4 (failed on 3), changed on 5, gone from 6 to 8, back on 9, elsewhere on 10.
fn story() -> Vec<VisitEntry> {
    let mut story = vec![
        visit(1, Change::First, 200, &[1, 2, 4]),
        visit(2, Change::Failed, 0, &[3]),
        visit(3, Change::Changed, 200, &[5]),
        visit(4, Change::Gone, 404, &[6, 7, 8]),
        visit(5, Change::Returned, 200, &[9]),
        visit(6, Change::Redirected, 301, &[10]),
    ];
    story[4].content_hash = 1;
    story
}

#[test]
fn runs_follow_the_days_and_say_what_happened() {
    let story = story();
    let targets = HashMap::from([(6, "http://b.example/".to_owned())]);
    let runs = Versions::new(&story).runs(&targets);
    let found: Vec<(i64, usize, RunKind, Option<usize>)> = runs
        .iter()
        .map(|run| (run.first.0 / 86_400_000, run.visits, run.kind, run.version))
        .collect();
    let wanted = [
        (1, 2, RunKind::New, Some(1)),
        (3, 1, RunKind::Failed, None),
        (4, 1, RunKind::Again, Some(1)),
        (5, 1, RunKind::Changed, Some(2)),
        (6, 3, RunKind::Gone, None),
        (9, 1, RunKind::Returned, Some(3)),
        (10, 1, RunKind::Redirected, None),
    ];
    assert_eq!(found, wanted);
    assert_eq!(runs[1].failure.as_deref(), Some("connection-refused"));
    assert_eq!((runs[4].lasted.as_secs(), runs[5].same_as), (2 * 86_400, Some(1)));
    assert_eq!(runs[6].target.as_deref(), Some("http://b.example/"));
}

#[test]
fn a_version_is_found_by_its_number_or_by_a_moment() {
    let story = story();
    let versions = Versions::new(&story);
    let offset = |which| versions.pick(which).ok().map(|picked| picked.record.offset);
    assert_eq!(versions.count(), 3);
    assert_eq!(offset(Which::Number(2)), Some(300));
    assert_eq!(offset(at(1)), Some(100));
    assert_eq!(offset(at(4)), Some(100));
    assert_eq!(offset(at(5)), Some(300));
    assert_eq!(offset(at(99)), Some(500));
    assert_eq!(versions.newest().map(|picked| picked.number), Some(3));
    let gone = versions.pick(at(7)).unwrap();
    assert_eq!((gone.number, gone.record.offset), (2, 300));
    assert_eq!(gone.found.map(|visit| visit.status), Some(404), "and it is told that it was gone");
    assert_eq!(versions.pick(at(3)).unwrap().found.map(|visit| visit.status), Some(0));
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let story = story();
    let versions = Versions::new(&story);
    let early = versions.pick(at(0)).unwrap_err().advice();
    assert!(early.what_to_do.contains("1970-01-02"), "{early}");
    for number in [0, 4, usize::MAX] {
        let failure = versions.pick(Which::Number(number)).unwrap_err().advice();
        assert!(failure.sentence.contains("it has 3"), "{failure}");
    }
    let failed = [visit(1, Change::Failed, 0, &[1])];
    assert!(Versions::new(&failed).newest().is_none());
    assert!(Versions::new(&failed).pick(at(5)).is_err());
    assert!(Versions::new(&[]).pick(at(5)).is_err());
    let mut thinned = story.clone();
    thinned[0].record = None;
    let failure = Versions::new(&thinned).pick(Which::Number(1)).unwrap_err().advice();
    assert!(failure.sentence.contains("no longer kept"), "{failure}");
}

#[test]
fn a_history_of_304s_alone_is_told_and_has_no_version() {
    let story = [visit(1, Change::NotModified, 304, &[1, 2, 3])];
    let runs = Versions::new(&story).runs(&HashMap::new());
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].visits, 3);
    assert!(Versions::new(&story).pick(at(2)).is_err());
}

#[test]
fn a_clock_that_was_set_back_does_not_turn_history_around() {
    // From day 403 back to day 30.
    let story = [
        visit(1, Change::First, 200, &[400, 401]),
        visit(2, Change::Changed, 200, &[402, 403, 30, 32]),
        visit(3, Change::Failed, 0, &[31]),
        visit(4, Change::Gone, 404, &[33, 34]),
        visit(5, Change::Returned, 200, &[35]),
        visit(6, Change::Changed, 200, &[36, 37]),
    ];
    let versions = Versions::new(&story);
    let days = |at: Timestamp| at.0 / 86_400_000;
    let runs = versions.runs(&HashMap::new());
    let found: Vec<_> = runs
        .iter()
        .map(|run| (days(run.first), days(run.last), run.visits, run.kind, run.version))
        .collect();
    let wanted = [
        (400, 401, 2, RunKind::New, Some(1)),
        (402, 30, 3, RunKind::Changed, Some(2)),
        (31, 31, 1, RunKind::Failed, None),
        (32, 32, 1, RunKind::Again, Some(2)),
        (33, 34, 2, RunKind::Gone, None),
        (35, 35, 1, RunKind::Returned, Some(3)),
        (36, 37, 2, RunKind::Changed, Some(4)),
    ];
    assert_eq!(found, wanted);
    assert_eq!(runs[1].lasted.as_secs(), 86_400, "the step back adds nothing");
    assert_eq!(versions.pick(Which::Number(1)).unwrap().record.offset, 100);
    assert_eq!(versions.newest().unwrap().number, 4);
}

#[test]
fn every_visit_is_told_once_whatever_the_clock_did() {
    let story = [
        visit(1, Change::Failed, 0, &[9]),
        visit(2, Change::First, 200, &[8, 1, 7]),
        visit(3, Change::Gone, 404, &[3, 900, 2]),
        visit(4, Change::Failed, 0, &[-50]),
        visit(5, Change::Returned, 200, &[-60, 5, 5]),
    ];
    let order = order::in_order(&story);
    assert_eq!(order.len(), 11);
    let of_row = |row: usize| -> Vec<Timestamp> {
        order.iter().filter(|(_, at)| *at == row).map(|(time, _)| *time).collect()
    };
    assert!((0..5).all(|row| of_row(row) == story[row].times), "{order:?}");
    let firsts: Vec<usize> =
        (0..5).map(|row| order.iter().position(|(_, at)| *at == row).unwrap()).collect();
    assert!(firsts.is_sorted() && firsts[4] == 8, "{order:?}");
    assert!(order::in_order(&[]).is_empty());
}

#[test]
fn a_version_is_told_with_its_own_record() {
    let mut story = vec![
        visit(1, Change::First, 200, &[1]),
        visit(2, Change::Unchanged, 200, &[2]),
        visit(3, Change::Failed, 0, &[3]),
        visit(4, Change::Unchanged, 200, &[4, 5]),
    ];
    story[1].body_bytes = 7;
    let runs = Versions::new(&story).runs(&HashMap::new());
    let kept: Vec<(Option<u64>, u64)> =
        runs.iter().map(|run| (run.record.map(|record| record.offset), run.bytes)).collect();
    assert_eq!(kept, [(Some(100), 5), (None, 5), (Some(100), 5)]);
    story[3].record = None;
    assert_eq!(Versions::new(&story).pick(at(5)).unwrap().record.offset, 100);
    assert_eq!(Versions::new(&story).pick(at(2)).unwrap().record.offset, 200);
}
