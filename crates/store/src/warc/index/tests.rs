//! What an index promises: it says what the volume says, or it is not used.

use std::{collections::BTreeSet, fs, path::PathBuf};

use model::{Archive, Mark};
use proptest::prelude::*;

use super::{super::tests::sample, *};

const WAYS: [sample::Way; 3] = sample::Way::ALL;

/// A sealed volume with every kind of record.
fn sealed(way: sample::Way) -> (tempfile::TempDir, PathBuf) {
    let folder = sample::scratch();
    let (archive, _) = way.open(folder.path(), way.options());
    for entry in sample::every_kind() {
        archive.append(&entry.entry(archive.record_id())).unwrap();
    }
    archive.seal().unwrap();
    let path = folder.path().join(way.first_volume());
    (folder, path)
}

fn read(volume: &Path) -> Option<Vec<Entry>> {
    IndexReader::open(volume).unwrap()?.collect::<io::Result<_>>().ok()
}

fn scanned(volume: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    make(volume, &mut |entry| {
        entries.push(entry.clone());
        Ok(())
    })
    .unwrap();
    entries
}

#[test]
fn the_index_of_a_sealed_volume_is_the_one_that_its_records_give() {
    for way in WAYS {
        let (_folder, volume) = sealed(way);
        let written = fs::read(index_path(&volume)).unwrap();
        let entries = read(&volume).unwrap();
        assert!(entries.iter().any(|entry| entry.refers.is_some()), "{way:?}");
        assert_eq!(entries, scanned(&volume), "{way:?}");
        assert_eq!(written, fs::read(index_path(&volume)).unwrap(), "{way:?}");
        let report = super::super::verify_volume(&volume).unwrap();
        let state = index_state(&volume, &report.digest, report.records).unwrap();
        assert_eq!(state, IndexState::Fit);
        assert!(confirms(&volume, &entries).unwrap(), "{way:?}");
    }
}

#[test]
fn an_index_is_not_used_for_a_volume_that_is_another_or_has_changed() {
    let (_one, volume) = sealed(WAYS[0]);
    let (_two, other) = sealed(WAYS[0]);
    let index = fs::read(index_path(&volume)).unwrap();
    fs::write(index_path(&other), &index).unwrap();
    assert!(read(&other).is_none(), "of another volume");
    let bytes = fs::read(&volume).unwrap();
    fs::write(&volume, &bytes[..bytes.len() - 1]).unwrap();
    assert!(read(&volume).is_none(), "cut");
    fs::write(&volume, [&bytes[..], b"x"].concat()).unwrap();
    assert!(read(&volume).is_none(), "grown");
    fs::write(&volume, &bytes).unwrap();
    assert!(read(&volume).is_some());
    // In the middle, where nobody looks at every use: the digest says so to who reads it all.
    let mut entries = read(&volume).unwrap();
    entries[1].uri.push('x');
    assert!(!confirms(&volume, &entries[1..2]).unwrap());
    assert_eq!(index_state(&volume, &[0; 32], 1).unwrap(), IndexState::Unfit);
    fs::remove_file(index_path(&volume)).unwrap();
    assert_eq!(index_state(&volume, &[0; 32], 1).unwrap(), IndexState::Missing);
    assert!(make_index(&volume).unwrap());
    assert_eq!(fs::read(index_path(&volume)).unwrap(), index);
}

#[test]
fn an_index_changed_at_any_byte_is_detected() {
    let (_folder, volume) = sealed(WAYS[0]);
    let index = fs::read(index_path(&volume)).unwrap();
    let digest = super::super::verify_volume(&volume).unwrap().digest;
    for at in 0..index.len() {
        let mut damaged = index.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(index_path(&volume), &damaged).unwrap();
        assert_eq!(read(&volume), None, "changed at {at}");
        fs::write(index_path(&volume), &index[..at]).unwrap();
        assert_eq!(read(&volume), None, "cut at {at}");
        assert_eq!(index_state(&volume, &digest, 9).unwrap(), IndexState::Unfit);
    }
    fs::write(index_path(&volume), [&index[..], &[0]].concat()).unwrap();
    assert_eq!(read(&volume), None, "longer");
}

#[test]
fn recovery_leaves_a_volume_without_an_index_and_one_is_made_when_it_is_needed() {
    let folder = sample::scratch();
    let (archive, _) = sample::open(folder.path(), sample::options(), Mark::default());
    archive.append(&sample::page(1).entry(archive.record_id())).unwrap();
    archive.sync().unwrap();
    drop(archive);
    let (_, recovery) = sample::open(folder.path(), sample::options(), Mark::default());
    assert_eq!(recovery.adopt.count(), 1);
    let volume = folder.path().join(WAYS[0].first_volume());
    assert_eq!((read(&volume), volume.exists()), (None, true));
    assert_eq!(scanned(&volume).len(), 3);
    assert_eq!(read(&volume).unwrap(), scanned(&volume));
}

#[test]
fn indexes_without_a_volume_and_halves_are_removed_and_no_others() {
    let (folder, volume) = sealed(WAYS[0]);
    let place = |name: &str| folder.path().join(name);
    for name in ["harvest-000009.warc.gz.idx", "harvest-000001.warc.gz.idx.new"] {
        fs::write(place(name), "x").unwrap();
    }
    remove_stray_indexes(folder.path()).unwrap();
    let left: BTreeSet<PathBuf> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [index_path(&volume), volume.clone()].into());
    remove_stray_indexes(&place("no such folder")).unwrap();
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let text = prop_oneof![
        Just(String::new()),
        "http://[a-z]{1,9}\\.example/[a-z0-9/]{0,30}",
        "\\PC{0,40}",
    ];
    let date = prop_oneof![
        (0i64..4_000_000_000_000).prop_map(|ms| date_text(Timestamp(ms))),
        Just("2026-11-18T10:00:00Z".to_owned()),
        "\\PC{0,20}",
    ];
    let refers = prop::option::of((text.clone(), date.clone()));
    let one = (0u64..5, 1u64..1 << 40, 0u8..5, text, date, refers, 1usize..3);
    prop::collection::vec(one, 1..60).prop_map(|all| {
        let (mut end, mut entries) = (0, Vec::new());
        for (gap, length, kind, uri, date, refers, times) in all {
            for _ in 0..times {
                let kind = Kind::from_number(kind).unwrap();
                let (uri, date, refers) = (uri.clone(), date.clone(), refers.clone());
                let offset = end + gap / 4;
                entries.push(Entry { offset, length, kind, uri, date, refers });
                end = offset + length;
            }
        }
        entries
    })
}

proptest! {
    #[test]
    fn whatever_the_entries_are_they_are_read_as_they_were_written(entries in entries()) {
        let folder = sample::scratch();
        let volume = folder.path().join("x");
        // Of the size that the entries say, without being written.
        let end = entries.last().map_or(0, Entry::end);
        fs::File::create(&volume).unwrap().set_len(end).unwrap();
        let identity = Identity::of(&volume, [3; 32]).unwrap();
        let mut writer = IndexWriter::new();
        entries.iter().for_each(|entry| writer.push(entry));
        write_file(&volume, &writer.finish(&identity).unwrap()).unwrap();
        prop_assert_eq!(read(&volume), Some(entries));
    }

    #[test]
    fn bytes_that_are_no_index_never_panic_and_are_never_taken_for_one(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (_folder, volume) = sealed(WAYS[0]);
        let index = fs::read(index_path(&volume)).unwrap();
        fs::write(index_path(&volume), &bytes).unwrap();
        prop_assert_eq!(read(&volume), None);
        // Behind a head that fits, and with several bytes changed.
        fs::write(index_path(&volume), [&index[..HEAD_BYTES], &bytes].concat()).unwrap();
        prop_assert_eq!(read(&volume), None);
        let mut damaged = index.clone();
        for (place, byte) in places {
            *place.get_mut(&mut damaged) = byte;
        }
        fs::write(index_path(&volume), &damaged).unwrap();
        prop_assert!(read(&volume).is_none() || damaged == index);
    }
}
