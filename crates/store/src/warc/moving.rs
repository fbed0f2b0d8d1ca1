//! The next folder: where volumes may lie in several, a volume that cannot be written any further goes on in the next.
//!
//! Places of its records have been given away, so that it goes there as a whole: what is in the file is copied, compared
//! with the digest of what was written, and synced; then the old file is removed. A crash leaves at the most two files of
//! one number, of which the shorter is the beginning of the longer ([`remove_left_behind`]).
//!
//! A folder that was left is not tried again before the next start.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use model::StoreError;

use super::{
    archive::{State, WarcArchive},
    disk::{Disk, VolumeFile},
    names::{self, VolumeFileName, Volumes},
    volume::{Volume, WriteTrouble},
};

/// Ends the name of a copy that is not whole yet.
pub(super) const MOVING: &str = ".moving";

impl WarcArchive {
    /// In the first folder that takes it.
    pub(super) fn create_file(
        &self,
        state: &mut State,
        number: u32,
        name: &str,
    ) -> Result<(PathBuf, Arc<dyn VolumeFile>), StoreError> {
        loop {
            let folder = self.folders[state.folder].clone();
            let path = names::open_path(&folder.join(name));
            let (doing, error) = match self.disk.create(&path) {
                Ok(file) => match self.disk.sync_folder(&folder) {
                    Ok(()) => return Ok((path, file)),
                    Err(e) => {
                        // Empty, and recovery would remove it: not being able to do so now harms nobody.
                        let _ = self.disk.remove(&path);
                        ("sync", e)
                    }
                },
                Err(e) => ("create", e),
            };
            let Some(next) = self.next_folder(state) else {
                let about = if doing == "sync" { &folder } else { &path };
                return Err(state.trouble(doing, about, error.into()));
            };
            if let Some(register) = &self.register {
                register.moved(number, &next)?;
            }
            self.tell(&format!(
                "no volume can be begun in {} ({error}): the next are written to {}",
                folder.display(),
                next.display()
            ));
        }
    }

    /// Writes what waits, if need be in another folder.
    pub(super) fn flush_volume(&self, state: &mut State) -> Result<(), StoreError> {
        loop {
            let Some(volume) = state.volume.as_mut() else { return Ok(()) };
            let path = volume.path().to_owned();
            let Err(trouble) = volume.flush() else { return Ok(()) };
            if !self.move_on(state, &trouble.to_string()) {
                return Err(state.trouble("write", &path, trouble));
            }
        }
    }

    /// Whether the volume lies in another folder now and can be written there.
    pub(super) fn move_on(&self, state: &mut State, why: &str) -> bool {
        while let Some(folder) = self.next_folder(state) {
            let Some(volume) = state.volume.as_mut() else { return false };
            let from = volume.path().to_owned();
            let registered =
                self.register.as_ref().map_or(Ok(()), |to| to.moved(volume.number, &folder));
            let moved = registered
                .map_err(io::Error::other)
                .and_then(|()| move_to(volume, &*self.disk, &folder));
            match moved {
                Ok(()) => {
                    self.tell(&format!(
                        "{why} at {}: this volume and the next are written to {}",
                        from.display(),
                        folder.display()
                    ));
                    return true;
                }
                Err(error) => tracing::warn!(folder = %folder.display(), %error, "cannot be used"),
            }
        }
        false
    }

    /// The folder after the one in use that is there, from now on the one in use.
    pub(super) fn next_folder(&self, state: &mut State) -> Option<PathBuf> {
        while state.folder + 1 < self.folders.len() {
            state.folder += 1;
            let folder = &self.folders[state.folder];
            if folder.is_dir() {
                return Some(folder.clone());
            }
        }
        None
    }

    pub(super) fn tell(&self, line: &str) {
        match &self.teller {
            Some(teller) => teller(line),
            None => tracing::warn!("{line}"),
        }
    }
}

fn move_to(volume: &mut Volume, disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    let from = volume.path().to_owned();
    let name = from.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let to = folder.join(name);
    let mut copy = to.clone().into_os_string();
    copy.push(MOVING);
    let copy = PathBuf::from(copy);
    let moved = volume.copy_to(disk, &copy).and_then(|file| {
        disk.rename(&copy, &to)?;
        disk.sync_folder(folder)?;
        Ok(file)
    });
    let file = moved.inspect_err(|_| drop(disk.remove(&copy)))?;
    volume.lies_at(to, file);
    // A disk that fails may not let go of it; recovery knows what it is.
    let _ = disk.remove(&from);
    Ok(())
}

/// Removes copies that were not made to the end, and files that were left behind when their volume was moved. What
/// cannot be removed is returned: it is no volume.
pub(super) fn remove_left_behind(
    disk: &dyn Disk,
    volumes: &Volumes,
) -> Result<Vec<PathBuf>, StoreError> {
    for folder in volumes.folders() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().ends_with(MOVING) {
                let _ = disk.remove(&entry.path());
            }
        }
    }
    let mut by_number = BTreeMap::<u32, Vec<VolumeFileName>>::new();
    for volume in volumes.list()? {
        by_number.entry(volume.number).or_default().push(volume);
    }
    let mut left = Vec::new();
    for same in by_number.into_values().filter(|same| same.len() > 1) {
        for old in same.iter().filter(|volume| !volume.sealed) {
            let path = &old.path;
            let others =
                same.iter().filter(|other| other.path != *path && !left.contains(&other.path));
            let mut is_left = false;
            for other in others {
                is_left |=
                    begins(path, &other.path).map_err(|e| StoreError::io("read", path, e))?;
            }
            if is_left {
                let _ = disk.remove(path);
                left.push(path.clone());
            }
        }
    }
    Ok(left)
}

/// Whether the file is the beginning of the other.
fn begins(path: &Path, other: &Path) -> io::Result<bool> {
    let (one, two) = (File::open(path)?, File::open(other)?);
    let length = one.metadata()?.len();
    if length > two.metadata()?.len() {
        return Ok(false);
    }
    let one = BufReader::with_capacity(1 << 20, one).bytes();
    let two = BufReader::with_capacity(1 << 20, two.take(length)).bytes();
    for (a, b) in one.zip(two) {
        if a? != b? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl std::fmt::Display for WriteTrouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteTrouble::Full => f.write_str("no space left"),
            WriteTrouble::Failed(error) => write!(f, "cannot write ({error})"),
        }
    }
}
