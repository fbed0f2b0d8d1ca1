//! Which records the folder of volumes can have, by the lengths of its files: a volume that is
//! missing, or shorter than its records reach, is seen without reading any of them.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::SystemTime,
};

use model::{RecordLocation, StoreError};

use super::names::Volumes;
use crate::in_place::is_gone;

/// The volumes of a folder by number, with their lengths.
#[derive(Debug, Default)]
pub struct VolumeLengths(HashMap<u32, u64>);

impl VolumeLengths {
    pub fn read(folder: &Path) -> Result<VolumeLengths, StoreError> {
        let mut lengths = HashMap::new();
        for volume in Volumes::new(folder).list()? {
            // It may have been sealed since it was listed: then it is there under its other name,
            // and of that length.
            let length = fs::metadata(&volume.path).map_or(u64::MAX, |file| file.len());
            let known = lengths.entry(volume.number).or_insert(length);
            *known = length.max(*known);
        }
        Ok(VolumeLengths(lengths))
    }

    pub fn holds(&self, at: RecordLocation) -> bool {
        let end = at.offset.saturating_add(u64::from(at.length));
        self.0.get(&at.volume).is_some_and(|length| end <= *length)
    }
}

/// The same for a process that writes volumes: what it wrote itself is believed to be there until
/// it is not.
pub(super) struct KeptVolumes {
    folder: PathBuf,
    /// The first volume that this process may have begun.
    own_from: u32,
    known: RwLock<Known>,
}

struct Known {
    /// When files came or went, as the folder says.
    modified: Option<SystemTime>,
    before: VolumeLengths,
    /// Of those that this process has begun.
    gone: HashSet<u32>,
}

impl KeptVolumes {
    pub(super) fn of(folder: &Path, own_from: u32) -> Result<KeptVolumes, StoreError> {
        let modified = fs::metadata(folder).and_then(|folder| folder.modified()).ok();
        let before = VolumeLengths::read(folder)?;
        let known = RwLock::new(Known { modified, before, gone: HashSet::new() });
        Ok(KeptVolumes { folder: folder.to_owned(), own_from, known })
    }

    pub(super) fn holds(&self, at: RecordLocation) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match at.volume < self.own_from {
            true => known.before.holds(at),
            false => !known.gone.contains(&at.volume),
        }
    }

    /// `begun`: the number after the last volume that is certain to have been begun.
    pub(super) fn look(&self, begun: u32) -> Result<(), StoreError> {
        let folder = match fs::metadata(&self.folder) {
            Ok(folder) => folder,
            Err(e) if is_gone(&e) => {
                let path = self.folder.clone();
                return Err(StoreError::VolumesLost { path, how: "was deleted" });
            }
            Err(e) => return Err(StoreError::io("look at", &self.folder, e)),
        };
        let modified = folder.modified().ok();
        let is_same = |known: &Known| known.modified.is_some() && known.modified == modified;
        if is_same(&self.known.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let before = VolumeLengths::read(&self.folder)?;
        let own = self.own_from..begun;
        let gone = own.filter(|number| !before.0.contains_key(number)).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) =
            Known { modified, before, gone };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(volume: u32, offset: u64) -> RecordLocation {
        RecordLocation { volume, offset, length: 10 }
    }

    #[test]
    fn records_of_missing_and_short_volumes_are_not_held() {
        let dir = tempfile::tempdir().unwrap();
        let volume = |name: &str| dir.path().join(name);
        fs::write(volume("harvest-000001.warc.gz"), [0; 100]).unwrap();
        fs::write(volume("harvest-000002.warc.zst"), [0; 100]).unwrap();
        let kept = KeptVolumes::of(dir.path(), 4).unwrap();
        assert!(kept.holds(at(1, 90)) && kept.holds(at(2, 0)) && kept.holds(at(4, 999)));
        assert!(!kept.holds(at(1, 91)) && !kept.holds(at(3, 0)));
        fs::write(volume("harvest-000004.warc.gz.open"), [0; 10]).unwrap();
        fs::remove_file(volume("harvest-000002.warc.zst")).unwrap();
        kept.look(6).unwrap();
        assert!(kept.holds(at(1, 90)) && kept.holds(at(4, 999)) && kept.holds(at(6, 0)));
        assert!(!kept.holds(at(2, 0)) && !kept.holds(at(5, 0)));
        fs::remove_dir_all(dir.path()).unwrap();
        assert!(matches!(kept.look(6), Err(StoreError::VolumesLost { .. })));
    }
}
