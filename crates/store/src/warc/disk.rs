//! The few things volumes ask of a file system, thin enough that tests can make each of them fail.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

pub(super) trait Disk: Send + Sync {
    /// Fails when there is such a file already: a volume is never begun twice.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>>;
    fn open(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in the folder last.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

pub(super) trait VolumeFile: Send + Sync {
    /// May write less than asked for, as the system call may.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn sync(&self) -> io::Result<()>;
    fn set_len(&self, length: u64) -> io::Result<()>;
}

#[derive(Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(Arc::new(OpenOptions::new().write(true).create_new(true).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(Arc::new(OpenOptions::new().write(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

impl VolumeFile for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }
}

/// No room, be it the disk's or the user's quota: the one trouble that passes by itself.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
