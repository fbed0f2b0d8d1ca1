//! A rebuild's files: the database and the links are made again in a folder of their own, and put in the place of
//! the old ones when they are whole. The old ones are moved aside, never deleted.
//!
//! Every step can be taken again after a crash. Until the new database is in its place, an old one that is there is
//! the collection's.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use model::StoreError;
use serde::{Deserialize, Serialize};

use crate::{
    collection::{Collection, CrawlLock},
    warc::{VolumeFileName, Volumes},
};

/// The database first: its journal and its index of it must not outlive it.
const DATABASE: [&str; 3] = ["crawl.db-wal", "crawl.db-shm", "crawl.db"];
const LINKS: &str = "links";
/// What was there before, in folders that begin so.
const ASIDE: &str = "before-rebuild";

/// Where a rebuild works.
pub struct Workshop {
    dir: PathBuf,
    volumes: Volumes,
    folder: PathBuf,
}

/// A volume as it was when the rebuild began to read it: offsets in one that was rewritten since are others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    bytes: u64,
    modified_ms: u128,
}

impl Workshop {
    pub fn of(dir: &Path) -> Workshop {
        let volumes = Volumes::new(dir.join("volumes"));
        Workshop { dir: dir.to_owned(), volumes, folder: dir.join("rebuild") }
    }

    /// Volumes lie in these folders, too.
    #[must_use]
    pub fn with_volumes_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Workshop {
        self.volumes = self.volumes.and_in(folders);
        self
    }

    /// A rebuild has begun and was not finished.
    pub fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// All that is left is to put the new files in their place.
    pub fn is_complete(&self) -> bool {
        self.complete().is_file()
    }

    /// The volumes, with a database and links in the work folder.
    pub fn collection(&self) -> Result<Collection, StoreError> {
        Collection::derived_in(&self.dir, self.folder.clone())
    }

    /// Nobody else crawls or rebuilds meanwhile.
    pub fn lock(&self) -> Result<CrawlLock, StoreError> {
        Collection::at(&self.dir).lock()
    }

    /// The volumes to read, and how many bytes they have.
    pub fn volumes(&self) -> Result<(Vec<VolumeFileName>, u64), StoreError> {
        let volumes = self.volumes.list()?;
        let mut bytes = 0;
        for volume in &volumes {
            bytes += look(&volume.path)?.bytes;
        }
        Ok((volumes, bytes))
    }

    /// What an earlier try left is thrown away where volumes were rewritten or removed since; whether it was.
    pub fn discard_if_stale(&self) -> Result<bool, StoreError> {
        let path = self.seen();
        let Ok(text) = fs::read_to_string(&path) else {
            let there = self.is_there();
            self.discard()?;
            return Ok(there);
        };
        let before: BTreeMap<u32, Seen> = serde_json::from_str(&text).unwrap_or_default();
        let now = self.look_at_all()?;
        let same = |(number, seen): (&u32, &Seen)| now.get(number) == Some(seen);
        if before.iter().all(same) {
            return Ok(false);
        }
        self.discard()?;
        Ok(true)
    }

    /// Notes how the sealed volumes are now.
    pub fn note_volumes(&self) -> Result<(), StoreError> {
        fs::create_dir_all(&self.folder).map_err(|e| StoreError::io("create", &self.folder, e))?;
        let path = self.seen();
        let text = serde_json::to_string(&self.look_at_all()?).unwrap_or_default();
        fs::write(&path, text).map_err(|e| StoreError::io("write", path, e))
    }

    /// The database and the links are whole and closed.
    pub fn completed(&self) -> Result<(), StoreError> {
        let (path, aside) = (self.complete(), self.free_name());
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(aside.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|e| StoreError::io("write", &path, e))?;
        self.sync(&self.folder)
    }

    /// Puts the new files in the place of the old; says where those are now, if there were any.
    pub fn put_in_place(&self) -> Result<Option<PathBuf>, StoreError> {
        let aside = self.aside()?;
        let mut moved = false;
        if self.folder.join(LINKS).is_dir() {
            moved |= self.set_aside(&[LINKS], &aside)?;
            self.rename(&self.folder.join(LINKS), &self.dir.join(LINKS))?;
        }
        if self.folder.join("crawl.db").is_file() {
            moved |= self.set_aside(&DATABASE, &aside)?;
            self.sync(&self.dir)?;
            self.rename(&self.folder.join("crawl.db"), &self.dir.join("crawl.db"))?;
        }
        self.sync(&self.dir)?;
        self.discard()?;
        Ok(moved.then_some(aside))
    }

    /// Where the old files go: the same for every try to put the new ones in place.
    fn aside(&self) -> Result<PathBuf, StoreError> {
        let path = self.complete();
        let name = fs::read_to_string(&path).map_err(|e| StoreError::io("read", &path, e))?;
        Ok(self.dir.join(if name.is_empty() { ASIDE } else { &name }))
    }

    fn free_name(&self) -> String {
        let named = |n: u32| if n == 1 { ASIDE.to_owned() } else { format!("{ASIDE}-{n}") };
        let is_free = |name: &String| !self.dir.join(name).exists();
        (1..).map(named).find(is_free).unwrap_or_default()
    }

    fn set_aside(&self, names: &[&str], aside: &Path) -> Result<bool, StoreError> {
        let mut moved = false;
        for name in names {
            let old = self.dir.join(name);
            if old.exists() {
                fs::create_dir_all(aside).map_err(|e| StoreError::io("create", aside, e))?;
                self.rename(&old, &aside.join(name))?;
                moved = true;
            }
        }
        Ok(moved)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        fs::rename(from, to).map_err(|e| StoreError::io("rename", from, e))
    }

    pub fn discard(&self) -> Result<(), StoreError> {
        match fs::remove_dir_all(&self.folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("remove", &self.folder, e))
            }
            _ => Ok(()),
        }
    }

    fn look_at_all(&self) -> Result<BTreeMap<u32, Seen>, StoreError> {
        let volumes = self.volumes.list()?;
        let sealed = volumes.iter().filter(|volume| volume.sealed);
        sealed.map(|volume| Ok((volume.number, look(&volume.path)?))).collect()
    }

    fn complete(&self) -> PathBuf {
        self.folder.join("complete")
    }

    fn seen(&self) -> PathBuf {
        self.folder.join("volumes.json")
    }

    fn sync(&self, folder: &Path) -> Result<(), StoreError> {
        let sync = || File::open(folder)?.sync_all();
        sync().map_err(|e| StoreError::io("sync", folder, e))
    }
}

/// What earlier rebuilds have moved aside.
pub(crate) fn moved_aside(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_aside = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(ASIDE);
    entries.filter(is_aside).map(|entry| entry.path()).collect()
}

fn look(path: &Path) -> Result<Seen, StoreError> {
    let data = fs::metadata(path).map_err(|e| StoreError::io("read", path, e))?;
    let modified = data.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Ok(Seen { bytes: data.len(), modified_ms: modified.map_or(0, |at| at.as_millis()) })
}
