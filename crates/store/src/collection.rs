//! The folder of a collection, and the lock that only one crawl can hold.
//!
//! `harvest.toml` belongs to the program; `crawl.db`, `volumes/`, `links/` and `crawl.lock` to this crate.
//! The lock is the system's own file lock, so it ends with its process however that ends.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use model::{StoreError, Timestamp};

use crate::{
    control::{self, Command, Outcome},
    forget::{has_files, put_in_place},
    frontier::SqlFrontier,
    migrate::{WITH_VOLUMES, schema_of},
    runs,
    sql::{open_reader, store_error},
    volumes::other_folders,
    warc::Volumes,
};

#[derive(Clone, Debug)]
pub struct Collection {
    dir: PathBuf,
    /// Where the database and the links are: all that can be made again from the volumes.
    derived: PathBuf,
}

impl Collection {
    pub(crate) fn at(dir: &Path) -> Collection {
        Collection { dir: dir.to_owned(), derived: dir.to_owned() }
    }

    /// The same volumes with a database and links of their own in `derived`, which is made.
    pub(crate) fn derived_in(dir: &Path, derived: PathBuf) -> Result<Collection, StoreError> {
        let collection = Collection { dir: dir.to_owned(), derived };
        let links = collection.links();
        fs::create_dir_all(&links).map_err(|e| StoreError::io("create", &links, e))?;
        Ok(collection)
    }

    /// Makes the folder and an empty database; a collection that is there already stays as it is.
    pub fn create(dir: &Path) -> Result<Collection, StoreError> {
        let collection = Collection::at(dir);
        for folder in [dir.to_owned(), collection.volumes(), collection.links()] {
            fs::create_dir_all(&folder).map_err(|e| StoreError::io("create", &folder, e))?;
        }
        let probe = collection.dir.join(".write-test");
        File::create(&probe).map_err(|e| StoreError::io("write in", dir, e))?;
        fs::remove_file(&probe).map_err(|e| StoreError::io("write in", dir, e))?;
        collection.frontier()?;
        Ok(collection)
    }

    /// A collection that must be there, of a version that this program can read.
    pub fn open(dir: &Path) -> Result<Collection, StoreError> {
        let collection = Collection::at(dir);
        let database = collection.database();
        if !database.is_file() {
            collection.refuse_remains()?;
            return Err(StoreError::Missing { path: dir.to_owned() });
        }
        let reader = open_reader(&database)?;
        if schema_of(&reader, &database)? == 0 {
            collection.refuse_remains()?;
        }
        if has_files(&reader) {
            drop(reader);
            collection.put_in_place()?;
        }
        Ok(collection)
    }

    /// A process died between naming new files and putting them in their place: until that is done, the
    /// offsets of the database are not those of the files. One that is at it right now needs no help.
    fn put_in_place(&self) -> Result<(), StoreError> {
        match self.lock() {
            Ok(_lock) => put_in_place(self),
            Err(StoreError::Busy { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub fn open_or_create(dir: &Path) -> Result<Collection, StoreError> {
        match Collection::open(dir) {
            Err(StoreError::Missing { .. }) => Collection::create(dir),
            other => other,
        }
    }

    /// Volumes or links without their database, or beside an empty one, are what is left of a collection: a new
    /// database would cut the links back to nothing and number its volumes among the old.
    fn refuse_remains(&self) -> Result<(), StoreError> {
        for folder in [self.volumes(), self.links()] {
            let remains = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
            if remains {
                let detail = format!("it is missing or empty, but {} is not", folder.display());
                return Err(StoreError::Corrupt { path: self.database(), detail });
            }
        }
        Ok(())
    }

    /// For the whole of a crawl; refused while another process crawls.
    pub fn lock(&self) -> Result<CrawlLock, StoreError> {
        let path = self.lock_path();
        let mut file = open_lock(&path)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Somebody may just be looking whether a crawl runs; that takes microseconds.
                Err(TryLockError::WouldBlock) if tries < 5 => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => return Err(self.busy(&mut file)),
                Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", path, e)),
            }
        }
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            write!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(|e| StoreError::io("write", path, e))?;
        Ok(CrawlLock { _file: file })
    }

    /// A crawl is running now, in this process or another.
    pub fn is_crawled(&self) -> bool {
        let Ok(file) = File::open(self.lock_path()) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// To change it; whoever crawls holds the lock.
    pub fn frontier(&self) -> Result<SqlFrontier, StoreError> {
        SqlFrontier::open(&self.database())
    }

    /// Leaves a command for the crawl that runs; its number.
    pub fn request(&self, command: &Command, now: Timestamp) -> Result<i64, StoreError> {
        control::request(&self.database(), command, now)
    }

    /// What became of such a command; `None` while it waits.
    pub fn result_of(&self, id: i64) -> Result<Option<Outcome>, StoreError> {
        control::result_of(&self.database(), id)
    }

    /// Writes an event down from beside the crawl's own writer, which may be what is wrong.
    pub fn add_event(&self, kind: &str, text: &str, now: Timestamp) -> Result<(), StoreError> {
        runs::tell_beside(&self.database(), kind, text, now)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.derived.join("crawl.db")
    }

    pub fn volumes(&self) -> PathBuf {
        self.dir.join("volumes")
    }

    /// Its volumes, wherever they lie.
    pub fn archive(&self) -> Result<Volumes, StoreError> {
        let database = self.database();
        let sql = open_reader(&database)?;
        // A database of an older program has no such table.
        let others = match schema_of(&sql, &database)? {
            schema if schema < WITH_VOLUMES => Vec::new(),
            _ => other_folders(&sql).map_err(|e| store_error(&database, e))?,
        };
        Ok(Volumes::new(self.volumes()).and_in(others))
    }

    pub fn links(&self) -> PathBuf {
        self.derived.join("links")
    }

    /// Which pages are being read right now.
    pub fn readings(&self) -> PathBuf {
        self.derived.join("crawl.readings")
    }

    /// Pages as files, where that was asked for.
    pub fn directory(&self) -> PathBuf {
        self.dir.join("directory")
    }

    pub fn configuration(&self) -> PathBuf {
        self.dir.join("harvest.toml")
    }

    fn lock_path(&self) -> PathBuf {
        self.dir.join("crawl.lock")
    }

    fn busy(&self, file: &mut File) -> StoreError {
        let mut holder = String::new();
        // The number is a courtesy; without it the refusal stands.
        let _ = file.take(20).read_to_string(&mut holder);
        StoreError::Busy { path: self.dir.clone(), holder }
    }
}

/// Held by the crawl; the system releases it with the process.
#[derive(Debug)]
pub struct CrawlLock {
    _file: File,
}

fn open_lock(path: &Path) -> Result<File, StoreError> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|e| StoreError::io("open", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_crawl_is_refused_with_the_first_ones_process_number() {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(&dir.path().join("harvest")).unwrap();
        assert!(!collection.is_crawled());
        let lock = collection.lock().unwrap();
        assert!(collection.is_crawled());
        let again = Collection::open(collection.dir()).unwrap().lock().unwrap_err();
        let StoreError::Busy { holder, .. } = again else { panic!("{again}") };
        assert_eq!(holder, std::process::id().to_string());
        drop(lock);
        assert!(!collection.is_crawled());
        collection.lock().unwrap();
    }

    #[test]
    fn a_folder_without_a_database_is_no_collection() {
        let dir = tempfile::tempdir().unwrap();
        let error = Collection::open(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        Collection::open_or_create(dir.path()).unwrap();
        Collection::open(dir.path()).unwrap();
    }

    #[test]
    fn a_file_in_the_way_is_an_io_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("harvest");
        fs::write(&path, "not a folder").unwrap();
        let error = Collection::open_or_create(&path).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        assert!(error.to_string().contains("harvest"), "{error}");
    }
}
