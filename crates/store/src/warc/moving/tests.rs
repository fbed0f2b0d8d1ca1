//! Volumes that move on to the next folder.

use std::{
    io::ErrorKind,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use model::{Archive, Mark, RecordLocation};

use super::{
    super::{
        Verifier, WarcOptions,
        disk::{RealDisk, VolumeFile},
        tests::sample::{options, page, scratch},
    },
    *,
};

/// In `folder` it takes only so many bytes and then fails; or its syncs fail.
#[derive(Clone)]
struct Failing {
    folder: PathBuf,
    room: Arc<AtomicU64>,
    kind: ErrorKind,
    sync_fails: Arc<AtomicBool>,
}

struct FailingFile {
    file: Arc<dyn VolumeFile>,
    disk: Failing,
}

impl Failing {
    fn at(&self, path: &Path, file: Arc<dyn VolumeFile>) -> Arc<dyn VolumeFile> {
        match path.starts_with(&self.folder) {
            true => Arc::new(FailingFile { file, disk: self.clone() }),
            false => file,
        }
    }
}

impl Disk for Failing {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        RealDisk.create(path).map(|file| self.at(path, file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        RealDisk.open(path).map(|file| self.at(path, file))
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

impl VolumeFile for FailingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let length = bytes.len() as u64;
        let taken = self
            .disk
            .room
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(length));
        if taken.is_err() {
            return Err(self.disk.kind.into());
        }
        self.file.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        match self.disk.sync_fails.load(Ordering::SeqCst) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => self.file.sync(),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }
}

struct Stage {
    temp: tempfile::TempDir,
    disk: Failing,
    said: Arc<Mutex<Vec<String>>>,
}

fn stage(room: u64, kind: ErrorKind) -> Stage {
    let temp = scratch();
    for name in ["one", "two"] {
        fs::create_dir(temp.path().join(name)).unwrap();
    }
    let folder = temp.path().join("one");
    let (room, sync_fails) = (Arc::new(AtomicU64::new(room)), Arc::new(AtomicBool::new(false)));
    Stage { temp, disk: Failing { folder, room, kind, sync_fails }, said: Arc::default() }
}

impl Stage {
    fn folder(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn volumes(&self) -> Volumes {
        Volumes::new(self.folder("one")).and_in([self.folder("two")])
    }

    fn open(&self, options: WarcOptions, mark: Mark) -> (WarcArchive, super::super::Recovery) {
        let folders = vec![self.folder("one"), self.folder("missing"), self.folder("two")];
        let disk = Arc::new(self.disk.clone());
        let (archive, recovery) =
            WarcArchive::open_on_all(disk, &self.volumes(), folders, options, mark).unwrap();
        let said = self.said.clone();
        let tell = move |line: &str| said.lock().unwrap().push(line.to_owned());
        (archive.telling(Box::new(tell)), recovery)
    }

    /// Ten pages, each synced.
    fn write(&self, archive: &WarcArchive) -> Vec<RecordLocation> {
        let append = |number| {
            let sample = page(number);
            let place = archive.append(&sample.entry(archive.record_id())).unwrap();
            archive.sync().unwrap();
            place
        };
        (1..=10).map(append).collect()
    }

    fn is_whole(&self, places: &[RecordLocation]) {
        for (number, place) in (1..).zip(places) {
            let record = self.volumes().read_at(*place).unwrap();
            let uri = page(number).exchange.url;
            assert_eq!(record.field("WARC-Target-URI"), Some(uri.as_str()));
        }
        let mut verifier = Verifier::default();
        for volume in self.volumes().list().unwrap() {
            let report = verifier.volume(&volume.path).unwrap();
            assert!(volume.sealed && report.is_sound(), "{:?}", report.problems);
            let index = super::super::index_state(&volume.path, &report.digest, report.records);
            assert_eq!(index.unwrap(), super::super::IndexState::Fit);
        }
    }
}

#[test]
fn a_volume_goes_on_in_the_next_folder_when_the_first_is_full_or_fails() {
    for kind in [ErrorKind::StorageFull, ErrorKind::BrokenPipe] {
        let stage = stage(3_000, kind);
        let (archive, _) = stage.open(options(), Mark::default());
        let places = stage.write(&archive);
        archive.seal().unwrap();
        stage.is_whole(&places);
        let said = stage.said.lock().unwrap();
        let [line] = &said[..] else { panic!("{said:?}") };
        assert!(line.contains("one") && line.contains("two"), "{line}");
        assert_eq!(fs::read_dir(stage.folder("one")).unwrap().count(), 0);
        assert!(places.iter().all(|place| place.volume == 1), "{places:?}");
        // The next goes there at once.
        drop(said);
        stage.write(&archive);
        archive.seal().unwrap();
        assert_eq!(stage.said.lock().unwrap().len(), 1);
    }
}

#[test]
fn a_failed_sync_moves_the_volume_too_after_its_bytes_were_compared() {
    let stage = stage(1 << 30, ErrorKind::StorageFull);
    let (archive, _) = stage.open(options(), Mark::default());
    let mut places = stage.write(&archive);
    stage.disk.sync_fails.store(true, Ordering::SeqCst);
    places.extend(stage.write(&archive));
    archive.seal().unwrap();
    stage.is_whole(&places[..10]);
    assert_eq!(fs::read_dir(stage.folder("one")).unwrap().count(), 0);
}

#[test]
fn bytes_that_the_failing_disk_does_not_give_back_are_not_taken_along() {
    let stage = stage(3_000, ErrorKind::BrokenPipe);
    let (archive, _) = stage.open(options(), Mark::default());
    archive.append(&page(1).entry(archive.record_id())).unwrap();
    archive.sync().unwrap();
    let volume = stage.volumes().list().unwrap().remove(0).path;
    let mut bytes = fs::read(&volume).unwrap();
    bytes[100] ^= 1;
    fs::write(&volume, bytes).unwrap();
    let all = (2..20).try_for_each(|number| {
        archive.append(&page(number).entry(archive.record_id()))?;
        archive.sync()
    });
    assert!(matches!(all, Err(StoreError::Io { .. })), "{all:?}");
    assert_eq!(fs::read_dir(stage.folder("two")).unwrap().count(), 0);
}

#[test]
fn what_a_crash_in_the_middle_of_a_move_leaves_is_removed_and_nothing_is_lost() {
    let stage = stage(1 << 30, ErrorKind::StorageFull);
    let (archive, _) = stage.open(options(), Mark::default());
    let places = stage.write(&archive);
    drop(archive);
    let name = "harvest-000001.warc.gz.open";
    let whole = fs::read(stage.folder("one").join(name)).unwrap();
    fs::write(stage.folder("two").join(format!("{name}{MOVING}")), &whole[..500]).unwrap();
    fs::write(stage.folder("two").join(name), &whole).unwrap();
    let beginning = places[4].offset + u64::from(places[4].length);
    fs::write(stage.folder("one").join(name), &whole[..beginning as usize]).unwrap();
    let (_, recovery) = stage.open(options(), Mark::default());
    assert_eq!(recovery.adopt.map(Result::unwrap).count(), 10);
    assert_eq!(stage.volumes().list().unwrap().len(), 1);
    assert_eq!(fs::read_dir(stage.folder("one")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(stage.folder("two")).unwrap().count(), 1);
}
