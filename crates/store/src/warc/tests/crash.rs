//! What survives: cuts at every byte, a failure at every operation, a full disk.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use model::{Archive, Mark, RecordId, StoreError};

use super::{
    super::{Adopted, RecordIds, Verifier, Volumes, WarcArchive, volume::WAITING_BYTES_MAX},
    sample::{
        Fault, TestDisk, Way, not_modified, open, options, page, response, same_again, scratch,
    },
};

fn adopted(folder: &Path, mark: Mark) -> Vec<Adopted> {
    let (_, recovery) = open(folder, options(), mark);
    recovery.adopt.map(Result::unwrap).collect()
}

fn all_sound(folder: &Path) -> bool {
    let mut verifier = Verifier::default();
    let volumes = Volumes::new(folder).list().unwrap();
    volumes.iter().all(|volume| volume.sealed && verifier.volume(&volume.path).unwrap().is_sound())
}

/// A volume of four pairs that was never sealed, with the ids and ends of its pairs.
fn left_open(way: Way, folder: &Path) -> (Vec<u8>, Vec<(RecordId, u64)>) {
    let (archive, _) = way.open(folder, way.options());
    let first = page(1);
    let samples = [first.clone(), same_again(&first), page(2), not_modified(&first)];
    let ends = samples.iter().map(|sample| {
        let id = archive.record_id();
        let place = archive.append(&sample.entry(id)).unwrap();
        (id, place.offset + u64::from(place.length))
    });
    let ends = ends.collect();
    archive.sync().unwrap();
    (fs::read(open_volume(way, folder)).unwrap(), ends)
}

fn open_volume(way: Way, folder: &Path) -> PathBuf {
    folder.join(format!("{}.open", way.first_volume()))
}

#[test]
fn a_volume_cut_at_any_byte_keeps_exactly_its_whole_pairs() {
    Way::ALL.into_iter().for_each(cut_at_any_byte);
}

fn cut_at_any_byte(way: Way) {
    let origin = scratch();
    let (bytes, ends) = left_open(way, origin.path());
    for cut in 0..=bytes.len() {
        let folder = scratch();
        let path = open_volume(way, folder.path());
        fs::write(&path, &bytes[..cut]).unwrap();
        let (_, recovery) = open(folder.path(), options(), Mark::default());
        let whole: Vec<_> = ends.iter().filter(|(_, end)| *end <= cut as u64).collect();
        let whole_to = whole.last().map_or(0, |(_, end)| *end);
        assert_eq!(recovery.cut_bytes(), cut as u64 - whole_to, "{way:?} cut at {cut}");
        assert!(recovery.warnings.is_empty(), "{:?}", recovery.warnings);
        let back: Vec<_> = recovery.adopt.map(|a| a.unwrap().record_id).collect();
        let expected: Vec<_> = whole.iter().map(|(id, _)| *id).collect();
        assert_eq!(back, expected, "{way:?} cut at {cut}");
        let sealed = folder.path().join(way.first_volume());
        assert_eq!(sealed.exists(), !whole.is_empty());
        assert!(whole.is_empty() || fs::read(&sealed).unwrap() == bytes[..whole_to as usize]);
        assert!(!path.exists());
    }
}

#[test]
fn below_the_mark_nothing_is_read_and_above_it_settled_records_are_passed_over() {
    for way in Way::ALL {
        let origin = scratch();
        let (mut bytes, ends) = left_open(way, origin.path());
        let settled = ends[0].1;
        bytes[settled as usize - 20] ^= 0xff;
        fs::write(open_volume(way, origin.path()), &bytes[..bytes.len() - 3]).unwrap();
        let mark = Mark { volume: 1, offset: settled, above: vec![] };
        let back: Vec<_> = adopted(origin.path(), mark).iter().map(|a| a.record_id).collect();
        assert_eq!(back, [ends[1].0, ends[2].0], "{way:?}");
    }
}

#[test]
fn whole_records_behind_damage_are_kept_aside_and_told() {
    for way in Way::ALL {
        let origin = scratch();
        let (mut bytes, ends) = left_open(way, origin.path());
        let broken = (ends[0].1 + ends[1].1) as usize / 2;
        bytes[broken] ^= 0xff;
        fs::write(open_volume(way, origin.path()), &bytes).unwrap();
        let (_, recovery) = open(origin.path(), options(), Mark::default());
        let cut = &recovery.cuts[0];
        assert_eq!((cut.at, cut.bytes), (ends[0].1, bytes.len() as u64 - ends[0].1), "{way:?}");
        assert_eq!(fs::read(cut.saved.as_ref().unwrap()).unwrap(), bytes[ends[0].1 as usize..]);
        assert_eq!(recovery.warnings.len(), 1);
        let right = format!("is damaged at {} (0 settled records lie behind it)", ends[0].1);
        assert!(recovery.warnings[0].contains(&right), "{:?}", recovery.warnings);
        assert_eq!(recovery.adopt.count(), 1);
    }
}

#[test]
fn a_volume_whose_dictionary_is_lost_is_kept_aside_and_told_with_what_was_settled_of_it() {
    for lost in [0..2_000, 8..2_000, 600..2_050] {
        for (settled, above) in [(0, 0), (0, 1), (1, 0), (2, 1), (4, 0)] {
            let origin = scratch();
            let (mut bytes, ends) = left_open(Way::Dictionary, origin.path());
            bytes[lost.clone()].fill(0);
            fs::write(open_volume(Way::Dictionary, origin.path()), &bytes).unwrap();
            let offset = if settled == 0 { 0 } else { ends[settled - 1].1 };
            // Somewhere in the last pair.
            let above = vec![(1, ends[3].1 - 10); above];
            let count = settled + above.len();
            let mark = Mark { volume: 1, offset, above };
            let (_, recovery) = open(origin.path(), options(), mark);
            let [told] = &recovery.warnings[..] else { panic!("{:?}", recovery.warnings) };
            let right = format!("its dictionary is damaged ({count} settled records lie in it)");
            assert!(told.contains(&right), "{lost:?} {settled}: {told}");
            match recovery.cuts.first() {
                Some(cut) => {
                    let saved = cut.saved.as_ref().expect("a copy");
                    assert_eq!(fs::read(saved).unwrap(), bytes[offset as usize..]);
                }
                None => assert_eq!(offset, bytes.len() as u64, "there is nothing to keep aside"),
            }
        }
    }
}

#[test]
fn a_volume_shorter_than_its_mark_is_told_and_never_written_again() {
    let folder = scratch();
    let (bytes, ends) = left_open(Way::Gzip, folder.path());
    fs::write(open_volume(Way::Gzip, folder.path()), &bytes[..ends[1].1 as usize + 10]).unwrap();
    let mark = Mark { volume: 1, offset: ends[3].1, above: vec![] };
    let (archive, recovery) = open(folder.path(), options(), mark);
    assert_eq!(recovery.warnings.len(), 1);
    assert_eq!(recovery.adopt.count(), 0);
    assert_eq!(archive.append(&page(9).entry(archive.record_id())).unwrap().volume, 2);
    archive.seal().unwrap();
    assert!(all_sound(folder.path()));
}

#[test]
fn numbers_of_lost_volumes_are_not_used_again() {
    let folder = scratch();
    let mark = Mark { volume: 7, offset: 100, above: vec![] };
    let (archive, _) = open(folder.path(), options(), mark);
    assert_eq!(archive.append(&page(1).entry(archive.record_id())).unwrap().volume, 8);
}

/// What one run of the sweep knows.
#[derive(Default)]
struct Run {
    appended: Vec<RecordId>,
    synced: Vec<RecordId>,
    poisoned: bool,
}

/// Twelve pages in small volumes, synced every two, sealed at the end; a full disk is tried again.
fn run(way: Way, folder: &Path, disk: TestDisk, ids: &RecordIds) -> Run {
    let mut run = Run::default();
    // A dictionary takes its part of each.
    let bytes = if way == Way::Dictionary { 3_500 } else { 2_500 };
    let opened = way.open_on(disk, folder, way.small_volumes(bytes));
    let Ok((archive, _)) = opened else { return run };
    for number in 0..12 {
        let id = ids.make();
        match patiently(|| archive.append(&page(number).entry(id)).map(|_| ())) {
            Ok(()) => run.appended.push(id),
            Err(_) => break,
        }
        if number % 2 == 1 && patiently(|| archive.sync()).is_ok() {
            run.synced.clone_from(&run.appended);
        }
    }
    let sealed = patiently(|| archive.seal()).is_ok();
    if sealed {
        run.synced.clone_from(&run.appended);
    }
    run.poisoned = matches!(archive.sync(), Err(StoreError::Poisoned { .. }));
    assert_eq!(run.poisoned, !sealed, "it can be sealed unless it is poisoned");
    run
}

fn patiently(mut attempt: impl FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
    match attempt() {
        Err(StoreError::DiskFull { .. }) => attempt(),
        result => result,
    }
}

#[test]
fn whatever_operation_fails_what_was_synced_is_there_and_nothing_is_torn() {
    let ids = RecordIds::from_seed(1);
    let faults = [Fault::Full, Fault::Broken, Fault::Death];
    for (way, fault) in Way::ALL.into_iter().flat_map(|way| faults.map(|fault| (way, fault))) {
        for fail_at in 1.. {
            let folder = scratch();
            let disk = TestDisk::failing(fail_at, fault);
            let run = run(way, folder.path(), disk.clone(), &ids);
            let context = format!("{way:?}, {fault:?} at operation {fail_at}");
            let back: Vec<_> =
                adopted(folder.path(), Mark::default()).iter().map(|a| a.record_id).collect();
            assert!(back.starts_with(&run.synced), "{context}");
            assert!(run.appended.starts_with(&back), "{context}");
            assert!(all_sound(folder.path()), "{context}");
            if !run.poisoned {
                assert_eq!(back.len(), 12, "{context}");
            }
            if !disk.has_failed() {
                break;
            }
        }
    }
}

#[test]
fn recovery_can_fail_anywhere_and_be_tried_again() {
    Way::ALL.into_iter().for_each(recovery_fails_anywhere);
}

fn recovery_fails_anywhere(way: Way) {
    let origin = scratch();
    let (bytes, ends) = left_open(way, origin.path());
    let ending = way.first_volume().trim_start_matches("harvest-000001");
    for fault in [Fault::Full, Fault::Broken, Fault::Death] {
        for fail_at in 1.. {
            let folder = scratch();
            let name = |number: u32| folder.path().join(format!("x-{number:06}{ending}.open"));
            fs::write(name(1), &bytes[..bytes.len() - 1]).unwrap();
            fs::write(name(2), &bytes[..10]).unwrap();
            let disk = TestDisk::failing(fail_at, fault);
            let first = WarcArchive::open_on(
                Arc::new(disk.clone()),
                folder.path(),
                options(),
                Mark::default(),
            );
            assert_eq!(first.is_err(), disk.has_failed());
            let back: Vec<_> =
                adopted(folder.path(), Mark::default()).iter().map(|a| a.record_id).collect();
            assert_eq!(back, [ends[0].0, ends[1].0, ends[2].0], "{way:?}, {fault:?} at {fail_at}");
            assert!(all_sound(folder.path()));
            if !disk.has_failed() {
                break;
            }
        }
    }
}

#[test]
fn while_the_disk_is_full_records_wait_in_bounded_memory_and_arrive_when_there_is_room() {
    let folder = scratch();
    let full = NoRoom::default();
    let (archive, _) =
        WarcArchive::open_on(Arc::new(full.clone()), folder.path(), options(), Mark::default())
            .unwrap();
    let body: Vec<u8> =
        (0..1u64 << 20).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect();
    let large = response("/large", "HTTP/1.1 200 OK\r\nContent-Type: image/png", body);
    full.set(true);
    let mut taken = 0;
    let refused = loop {
        match archive.append(&large.entry(archive.record_id())) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken <= WAITING_BYTES_MAX >> 20, "it must end");
    };
    assert!(refused.is_disk_full() && taken >= 10, "{refused} after {taken}");
    assert!(archive.sync().unwrap_err().is_disk_full());
    full.set(false);
    archive.append(&large.entry(archive.record_id())).unwrap();
    archive.sync().unwrap();
    archive.seal().unwrap();
    assert!(all_sound(folder.path()));
    assert_eq!(adopted(folder.path(), Mark::default()).len(), taken + 1);
}

use no_room::NoRoom;

mod no_room {
    //! A disk whose writes find no room while it is told so.

    use std::{
        io,
        path::Path,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use crate::warc::disk::{Disk, RealDisk, VolumeFile};

    #[derive(Clone, Default)]
    pub(super) struct NoRoom(Arc<AtomicBool>);

    impl NoRoom {
        pub(super) fn set(&self, full: bool) {
            self.0.store(full, Ordering::SeqCst);
        }
    }

    struct Narrow(Arc<AtomicBool>, Arc<dyn VolumeFile>);

    impl Disk for NoRoom {
        fn create(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
            Ok(Arc::new(Narrow(self.0.clone(), RealDisk.create(path)?)))
        }

        fn open(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
            RealDisk.open(path)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            RealDisk.rename(from, to)
        }

        fn remove(&self, path: &Path) -> io::Result<()> {
            RealDisk.remove(path)
        }

        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            RealDisk.sync_folder(folder)
        }
    }

    impl VolumeFile for Narrow {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            if self.0.load(Ordering::SeqCst) {
                self.1.write_at(&bytes[..bytes.len().min(100)], offset)?;
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            self.1.write_at(bytes, offset)
        }

        fn sync(&self) -> io::Result<()> {
            self.1.sync()
        }

        fn set_len(&self, length: u64) -> io::Result<()> {
            self.1.set_len(length)
        }
    }
}
