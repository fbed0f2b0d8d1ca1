//! Volumes by number: what their files are called, and how one is found again.
//!
//! `harvest-000001.warc.gz.open` while it grows, `harvest-000001.warc.gz` once sealed. The prefix is for
//! people and may change between runs; the number is what the database names.

use std::{
    fs::{self, File},
    io::{self, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use model::{RecordLocation, StoreError};

use super::reader::{ReadError, Record, WarcReader};

/// A folder of volumes, for reading: also while another process writes it.
#[derive(Clone, Debug)]
pub struct Volumes {
    folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeFileName {
    pub number: u32,
    pub sealed: bool,
    pub path: PathBuf,
}

impl Volumes {
    pub fn new(folder: impl Into<PathBuf>) -> Volumes {
        Volumes { folder: folder.into() }
    }

    /// All volumes in the order they were written; other files are passed over. A folder that is not
    /// there has none.
    pub fn list(&self) -> Result<Vec<VolumeFileName>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::io("list", &self.folder, e)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| StoreError::io("list", &self.folder, e))?;
            if let Some((number, sealed)) = entry.file_name().to_str().and_then(parse_name) {
                found.push(VolumeFileName { number, sealed, path: entry.path() });
            }
        }
        found.sort_by(|a, b| (a.number, a.sealed, &a.path).cmp(&(b.number, b.sealed, &b.path)));
        Ok(found)
    }

    pub fn find(&self, number: u32) -> Result<Option<VolumeFileName>, StoreError> {
        Ok(self.list()?.into_iter().find(|volume| volume.number == number))
    }

    /// The response (or revisit) record at this place.
    pub fn read_at(&self, location: RecordLocation) -> Result<Record, StoreError> {
        let (path, mut file) = self.open_volume(location.volume)?;
        file.seek(SeekFrom::Start(location.offset))
            .map_err(|e| StoreError::io("read", &path, e))?;
        let mut reader = WarcReader::starting_at(BufReader::new(file), location.offset);
        match reader.next() {
            Some(Ok(record)) => Ok(record),
            Some(Err(ReadError::Io(e))) => Err(StoreError::io("read", path, e)),
            Some(Err(damage)) => Err(StoreError::Corrupt { path, detail: damage.to_string() }),
            None => Err(StoreError::Corrupt {
                path,
                detail: format!("it ends before the record at {}", location.offset),
            }),
        }
    }

    /// Tries again when the volume was sealed between looking and opening.
    fn open_volume(&self, number: u32) -> Result<(PathBuf, File), StoreError> {
        let mut last = self.folder.clone();
        for _ in 0..3 {
            let Some(volume) = self.find(number)? else { break };
            match File::open(&volume.path) {
                Ok(file) => return Ok((volume.path, file)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => last = volume.path,
                Err(e) => return Err(StoreError::io("open", volume.path, e)),
            }
        }
        Err(StoreError::Corrupt { path: last, detail: format!("volume {number} is not there") })
    }
}

pub(super) fn sealed_path(folder: &Path, prefix: &str, number: u32) -> PathBuf {
    folder.join(sealed_name(prefix, number))
}

pub(super) fn sealed_name(prefix: &str, number: u32) -> String {
    // A prefix from a configuration file must not lead out of the folder.
    let prefix: String =
        prefix.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    if prefix.is_empty() {
        return format!("{number:06}.warc.gz");
    }
    format!("{prefix}-{number:06}.warc.gz")
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

fn parse_name(name: &str) -> Option<(u32, bool)> {
    let (stem, sealed) = match name.strip_suffix(".warc.gz") {
        Some(stem) => (stem, true),
        None => (name.strip_suffix(".warc.gz.open")?, false),
    };
    let digits = stem.rsplit('-').next().unwrap_or(stem);
    if digits.len() < 6 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(|number| (number, sealed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_go_both_ways() {
        for (prefix, name) in [
            ("harvest", "harvest-000012.warc.gz"),
            ("", "000012.warc.gz"),
            ("../my crawl/x", "mycrawlx-000012.warc.gz"),
        ] {
            let sealed = sealed_path(Path::new("volumes"), prefix, 12);
            assert_eq!(sealed, Path::new("volumes").join(name));
            assert_eq!(parse_name(name), Some((12, true)));
            let open = open_path(&sealed);
            assert_eq!(parse_name(open.file_name().unwrap().to_str().unwrap()), Some((12, false)));
            assert_eq!(final_path(&open), sealed);
        }
    }

    #[test]
    fn other_files_are_no_volumes() {
        for name in ["a.warc.gz", "x-12.warc.gz", "x-000001.warc", "x-99999999999.warc.gz", "notes"]
        {
            assert_eq!(parse_name(name), None, "{name}");
        }
        assert!(Volumes::new("no such folder").list().unwrap().is_empty());
    }
}
