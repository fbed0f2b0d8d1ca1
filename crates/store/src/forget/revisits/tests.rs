//! Collections of the old form, rewritten, stopped at every step, and taken up again.

use std::fs;

use bytes::Bytes;
use model::{Archive, EntryKind, Frontier, Headers, RefersTo, Settlement};

use super::*;
use crate::{
    forget::tests::{START, append, copy_of, exchange, open_archive},
    frontier::SqlFrontier,
    thin::tests::{PAGE, build, state},
    warc::{Verifier, Volumes, in_old_form, sha1},
};

#[test]
fn stopped_at_any_step_every_version_is_read_and_the_next_try_comes_to_the_end() {
    let made = tempfile::tempdir().unwrap();
    build(made.path());
    let new = state(made.path());
    age(made.path());
    let old = forms(made.path());
    let revisits = old.iter().map(|(_, old)| old).sum::<u64>();
    assert!(revisits == 60 && old.len() > 5, "{old:?}");
    assert_eq!(state(made.path()), new, "the old form is read");

    let mut steps = 0;
    loop {
        let trial = copy_of(made.path());
        let stopped = run(trial.path(), steps);
        // Whoever opens the collection next puts the files in place that a transaction has named.
        drop(Collection::open(trial.path()).unwrap());
        assert_eq!(state(trial.path()), new, "step {steps}");
        if let Ok(done) = stopped {
            assert_eq!((done.revisits, done.volumes), (revisits, old.len() as u64));
            assert!(done.warnings.is_empty(), "{done:?}");
            break;
        }
        run(trial.path(), usize::MAX).unwrap();
        is_new(trial.path());
        assert_eq!(state(trial.path()), new, "step {steps}");
        steps += 1;
    }
    assert!(steps >= old.len(), "only {steps} steps");
}

#[test]
fn a_rewritten_record_says_what_it_said() {
    let made = tempfile::tempdir().unwrap();
    build(made.path());
    let before = said(made.path());
    age(made.path());
    assert_eq!(said(made.path()), before, "in the old form");
    run(made.path(), usize::MAX).unwrap();
    assert_eq!(said(made.path()), before);
    assert_eq!(run(made.path(), usize::MAX).unwrap(), Rewritten::default(), "once is enough");
}

#[test]
fn what_nobody_has_settled_is_adopted_from_where_it_was_moved_to() {
    let made = tempfile::tempdir().unwrap();
    build(made.path());
    let collection = Collection::open(made.path()).unwrap();
    let mut frontier = collection.frontier().unwrap();
    let mark = frontier.marks().unwrap().archive.unwrap();
    let (archive, _) = open_archive(&collection, mark);
    let mut late = exchange(PAGE, "", 99);
    late.response_head = Bytes::from_static(b"HTTP/1.1 304 Not Modified\r\nETag: \"late\"\r\n\r\n");
    late.headers = Headers::parse(&late.response_head);
    let refers =
        RefersTo { target_uri: PAGE.to_owned(), date: START, payload_digest: sha1(&[b"x"]) };
    for settled in [true, false] {
        let (record, _) = append(&archive, &late, EntryKind::NotModified(refers.clone()));
        if settled {
            archive.settled(record);
        }
    }
    archive.seal().unwrap();
    let mark = Some(archive.mark());
    frontier.check_in(&Settlement { now: START, mark, ..Settlement::default() }).unwrap();
    drop((archive, frontier));
    age(made.path());
    run(made.path(), usize::MAX).unwrap();
    let marks = collection.frontier().unwrap().marks().unwrap();
    let (_, recovery) = open_archive(&collection, marks.archive.unwrap());
    let adopted: Vec<_> = recovery.adopt.map(Result::unwrap).collect();
    assert_eq!(adopted.len(), 1);
    assert_eq!((adopted[0].exchange.status, &adopted[0].exchange.headers), (304, &late.headers));
    assert_eq!(adopted[0].exchange.response_head, late.response_head);
    assert!(matches!(&adopted[0].kind, EntryKind::NotModified(to) if to.date == START));
}

#[test]
fn a_damaged_volume_is_left_as_it_is_and_named() {
    let made = tempfile::tempdir().unwrap();
    build(made.path());
    age(made.path());
    let volumes = Volumes::new(made.path().join("volumes")).list().unwrap();
    let path = &volumes[1].path;
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 3]).unwrap();
    let done = run(made.path(), usize::MAX).unwrap();
    assert_eq!((done.volumes as usize, done.warnings.len()), (volumes.len() - 1, 1), "{done:?}");
    assert!(done.warnings[0].contains("was left as it is"), "{done:?}");
    assert_eq!(fs::read(path).unwrap(), bytes[..bytes.len() - 3]);
}

fn run(folder: &Path, stop_at: usize) -> Result<Rewritten, StoreError> {
    let collection = Collection::open(folder)?;
    let lock = collection.lock()?;
    let numbers: Vec<u32> = (0..100).collect();
    let mut steps = 0;
    rewrite_revisits(&collection, &lock, &numbers, START, &mut |_| {
        steps += 1;
        match steps > stop_at {
            true => Err(StoreError::Database { detail: "stopped here".into() }),
            false => Ok(()),
        }
    })
}

/// Writes every revisit in the old form.
fn age(folder: &Path) {
    let collection = Collection::open(folder).unwrap();
    let mut progress = |_| Ok(());
    let mut work = Work::open(&collection, Targets::default(), START, &mut progress).unwrap();
    let (mut moves, mut files) = (BTreeMap::new(), Vec::new());
    for volume in Volumes::new(collection.volumes()).list().unwrap() {
        let path = &volume.path;
        let all = records(path).unwrap().map(Result::unwrap);
        let revisits: Vec<Record> = all.filter(|record| record.kind() == "revisit").collect();
        let edits: Vec<Edit> =
            revisits.iter().map(|r| Edit { offset: r.offset, length: r.length }).collect();
        let press = Press::of(&volume).unwrap();
        let mut revisits = revisits.iter();
        let replace = |_| Ok(revisits.next().map(|record| in_old_form(&press, record)));
        moves
            .insert(volume.number, rewrite(path, &journal::beside(path), &edits, replace).unwrap());
        files.push(path.clone());
    }
    work.switch(&moves, &HashSet::new(), &files).unwrap();
}

/// The volumes that have revisits of the old form, and how many.
fn forms(folder: &Path) -> Vec<(u32, u64)> {
    let mut verifier = Verifier::default();
    let volumes = Volumes::new(folder.join("volumes")).list().unwrap();
    let mut of = |volume: &VolumeFileName| {
        let report = verifier.volume(&volume.path).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
        (volume.number, report.old_form)
    };
    volumes.iter().map(&mut of).filter(|(_, old)| *old > 0).collect()
}

fn is_new(folder: &Path) {
    assert_eq!(forms(folder), []);
    let mut frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    assert_eq!(frontier.verify(true).unwrap(), []);
    let entries = fs::read_dir(folder.join("volumes")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.ends_with(".rewritten")));
}

/// Everything that can be read of all records, but where they are.
fn said(folder: &Path) -> Vec<String> {
    let collection = Collection::open(folder).unwrap();
    let (_, recovery) = open_archive(&collection, model::Mark::default());
    let say = |adopted: Result<crate::warc::Adopted, StoreError>| {
        let adopted = adopted.unwrap();
        let (id, exchange) = (adopted.record_id, adopted.exchange);
        format!("{id:?} {:?} {:?} {exchange:?}", adopted.kind, adopted.payload_digest)
    };
    recovery.adopt.map(say).collect()
}
