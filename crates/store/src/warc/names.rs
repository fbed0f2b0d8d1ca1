//! Volumes by number: what their files are called, and how one is found again.
//!
//! `harvest-000001.warc.gz.open` while it grows, `harvest-000001.warc.gz` once sealed, or `.warc.zst` where
//! that was chosen. The prefix and the ending may change between runs; the number is what the database names.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use model::{RecordLocation, StoreError};

use super::{
    compression::Compression,
    opened::Unpackers,
    reader::{ReadError, Record},
};

/// Folders of volumes, for reading: also while another process writes them.
#[derive(Clone, Debug)]
pub struct Volumes {
    folders: Vec<PathBuf>,
    unpackers: Unpackers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeFileName {
    pub number: u32,
    pub sealed: bool,
    pub compression: Compression,
    pub path: PathBuf,
}

impl Volumes {
    pub fn new(folder: impl Into<PathBuf>) -> Volumes {
        Volumes { folders: vec![folder.into()], unpackers: Unpackers::default() }
    }

    pub(super) fn in_all(folders: &[PathBuf]) -> Volumes {
        Volumes { folders: folders.to_vec(), unpackers: Unpackers::default() }
    }

    /// Volumes may lie in these, too.
    #[must_use]
    pub fn and_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Volumes {
        for folder in folders {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        self
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Those that are not there: a disk that is not mounted, perhaps.
    pub fn away(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().skip(1).filter(|folder| !folder.is_dir())
    }

    /// All volumes in the order they were written; other files are passed over. A folder that is not
    /// there has none.
    pub fn list(&self) -> Result<Vec<VolumeFileName>, StoreError> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let error = |e| StoreError::io("list", folder, e);
            let entries = match fs::read_dir(folder) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(error)?,
            };
            for entry in entries {
                found.extend(VolumeFileName::of(entry.map_err(error)?.path()));
            }
        }
        found.sort_by(|a, b| (a.number, a.sealed, &a.path).cmp(&(b.number, b.sealed, &b.path)));
        Ok(found)
    }

    pub fn find(&self, number: u32) -> Result<Option<VolumeFileName>, StoreError> {
        let mut same = self.list()?;
        same.retain(|volume| volume.number == number);
        // While a volume is moved to another folder both files have its number; the longer one is whole.
        let length = |volume: &VolumeFileName| fs::metadata(&volume.path).map_or(0, |of| of.len());
        Ok(match same.len() {
            0 | 1 => same.pop(),
            _ => same.into_iter().max_by_key(length),
        })
    }

    /// The response (or revisit) record at this place.
    pub fn read_at(&self, location: RecordLocation) -> Result<Record, StoreError> {
        let (volume, file) = self.open_volume(location.volume)?;
        let opened = self.unpackers.reader(&volume, file, location.offset);
        let path = volume.path;
        let (mut reader, key) = opened.map_err(|e| StoreError::io("read", &path, e))?;
        match reader.next() {
            Some(Ok(record)) => {
                self.unpackers.keep(key, reader);
                Ok(record)
            }
            Some(Err(ReadError::Io(e))) => Err(StoreError::io("read", path, e)),
            Some(Err(damage)) => Err(StoreError::Corrupt { path, detail: damage.to_string() }),
            None => Err(StoreError::Corrupt {
                path,
                detail: format!("it ends before the record at {}", location.offset),
            }),
        }
    }

    /// Tries again when the volume was sealed between looking and opening.
    pub(super) fn open_volume(&self, number: u32) -> Result<(VolumeFileName, File), StoreError> {
        let mut last = self.folders.first().cloned().unwrap_or_default();
        for _ in 0..3 {
            let Some(volume) = self.find(number)? else { break };
            match File::open(&volume.path) {
                Ok(file) => return Ok((volume, file)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => last = volume.path,
                Err(e) => return Err(StoreError::io("open", volume.path, e)),
            }
        }
        let away: Vec<String> = self.away().map(|folder| folder.display().to_string()).collect();
        let perhaps = match &away[..] {
            [] => String::new(),
            away => format!("; it may lie in {}, which cannot be reached", away.join(" or ")),
        };
        Err(StoreError::Corrupt {
            path: last,
            detail: format!("volume {number} is not there{perhaps}"),
        })
    }
}

impl VolumeFileName {
    /// `None` for other files.
    fn of(path: PathBuf) -> Option<VolumeFileName> {
        let (number, sealed, compression) = parse_name(path.file_name()?.to_str()?)?;
        Some(VolumeFileName { number, sealed, compression, path })
    }
}

pub(super) fn sealed_name(prefix: &str, number: u32, compression: Compression) -> String {
    // A prefix from a configuration file must not lead out of the folder.
    let prefix: String =
        prefix.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    let (between, ending) = (if prefix.is_empty() { "" } else { "-" }, compression.ending());
    format!("{prefix}{between}{number:06}{ending}")
}

pub(super) fn open_path(sealed: &Path) -> PathBuf {
    let mut name = sealed.as_os_str().to_owned();
    name.push(".open");
    PathBuf::from(name)
}

/// The final name of a volume that is still called `.open`.
pub(super) fn final_path(open: &Path) -> PathBuf {
    open.with_extension("")
}

fn parse_name(name: &str) -> Option<(u32, bool, Compression)> {
    let (sealed, name) = name.strip_suffix(".open").map_or((true, name), |name| (false, name));
    let ended = |kind: Compression| name.strip_suffix(kind.ending()).map(|stem| (stem, kind));
    let (stem, compression) = Compression::ALL.into_iter().find_map(ended)?;
    let digits = stem.rsplit('-').next().unwrap_or(stem);
    if digits.len() < 6 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(|number| (number, sealed, compression))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_go_both_ways() {
        for (prefix, name, kind) in [
            ("harvest", "harvest-000012.warc.gz", Compression::Gzip),
            ("", "000012.warc.gz", Compression::Gzip),
            ("../my crawl/x", "mycrawlx-000012.warc.zst", Compression::Zstd),
        ] {
            assert_eq!(sealed_name(prefix, 12, kind), name);
            assert_eq!(parse_name(name), Some((12, true, kind)));
            let sealed = Path::new("volumes").join(name);
            let open = open_path(&sealed);
            let open_name = open.file_name().unwrap().to_str().unwrap();
            assert_eq!(parse_name(open_name), Some((12, false, kind)));
            assert_eq!(final_path(&open), sealed);
        }
    }

    #[test]
    fn other_files_are_no_volumes() {
        for name in [
            "a.warc.gz",
            "x-12.warc.zst",
            "x-000001.warc",
            "x-99999999999.warc.gz",
            "x-000001.warc.zst.rewritten",
            "notes",
        ] {
            assert_eq!(parse_name(name), None, "{name}");
        }
        assert!(Volumes::new("no such folder").list().unwrap().is_empty());
    }
}
