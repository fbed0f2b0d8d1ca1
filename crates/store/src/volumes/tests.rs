//! Numbers are given once, and rows follow files.

use std::sync::Arc;

use model::{Archive, Mark};

use super::*;
use crate::{
    forget::tests::{START, append, exchange},
    warc::{WarcArchive, WarcOptions, verify_volume},
};

fn archive(collection: &Collection) -> WarcArchive {
    let (archive, _) =
        WarcArchive::open(&collection.volumes(), WarcOptions::default(), Mark::default()).unwrap();
    archive.registered(Arc::new(Registrar::open(collection).unwrap()))
}

fn one_volume(collection: &Collection) {
    let archive = archive(collection);
    let exchange = exchange("http://a.example/x", "text", 1);
    append(&archive, &exchange, model::EntryKind::Response);
    archive.seal().unwrap();
}

fn rows(collection: &Collection) -> Vec<VolumeRow> {
    let frontier = SqlFrontier::open(&collection.database()).unwrap();
    frontier.volume_rows(collection).unwrap()
}

#[test]
fn a_sealed_volume_is_written_down_with_its_size_and_digest() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    one_volume(&collection);
    let path = collection.volumes().join("harvest-000001.warc.gz");
    let [row] = &rows(&collection)[..] else { panic!("{:?}", rows(&collection)) };
    assert_eq!(
        (row.number, row.state, &row.folder),
        (1, VolumeState::Sealed, &collection.volumes())
    );
    assert_eq!(row.bytes, Some(fs::metadata(&path).unwrap().len()));
    assert_eq!(row.digest, Some(verify_volume(&path).unwrap().digest));
    follow(&collection, &collection.archive().unwrap()).unwrap();
    assert_eq!(&rows(&collection)[..], std::slice::from_ref(row));
}

#[test]
fn a_number_whose_file_was_deleted_is_not_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    one_volume(&collection);
    one_volume(&collection);
    for name in ["harvest-000002.warc.gz", "harvest-000002.warc.gz.idx"] {
        fs::remove_file(collection.volumes().join(name)).unwrap();
    }
    follow(&collection, &collection.archive().unwrap()).unwrap();
    one_volume(&collection);
    let names: Vec<String> = rows(&collection).into_iter().map(|row| row.name).collect();
    assert_eq!(names[2], "harvest-000003.warc.gz");
    assert!(collection.volumes().join(&names[2]).exists());
}

#[test]
fn a_collection_without_rows_gets_them_from_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    one_volume(&collection);
    one_volume(&collection);
    let before = rows(&collection);
    let sql = open_writer(&collection.database()).unwrap();
    sql.execute_batch("DELETE FROM volumes").unwrap();
    fs::remove_file(collection.volumes().join("harvest-000002.warc.gz.idx")).unwrap();
    follow(&collection, &collection.archive().unwrap()).unwrap();
    let after = rows(&collection);
    assert_eq!(after[0], before[0]);
    // Without an index nobody has read it.
    assert_eq!(after[1], VolumeRow { digest: None, ..before[1].clone() });
    let mut frontier = SqlFrontier::open(&collection.database()).unwrap();
    frontier.note_digest(2, &before[1].digest.unwrap(), START).unwrap();
    assert_eq!(rows(&collection), before);
}

#[test]
fn a_number_for_which_nothing_was_written_is_no_volume_and_not_given_again() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    let registrar = Registrar::open(&collection).unwrap();
    let name = |number| format!("harvest-{number:06}.warc.gz");
    assert_eq!(registrar.begin(1, &collection.volumes(), &name).unwrap(), 1);
    follow(&collection, &collection.archive().unwrap()).unwrap();
    assert_eq!(rows(&collection)[0].state, VolumeState::Empty);
    one_volume(&collection);
    assert_eq!(rows(&collection)[1].name, name(2));
}
