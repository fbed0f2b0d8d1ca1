//! Volumes opened in the middle: with the dictionary that stands at their beginning.
//!
//! A dictionary that is damaged is left out: the frames that need it then say so one by one, as damage of the
//! records that it is.

use std::{
    fmt,
    fs::File,
    io::{self, BufReader, Seek, SeekFrom},
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    compression::Compression, dictionary, frame::Unpacker, names::VolumeFileName,
    reader::WarcReader,
};

pub(super) type FileReader = WarcReader<BufReader<File>>;

/// A reader of the file from `offset` on.
pub(super) fn reader_at(path: &Path, offset: u64) -> io::Result<FileReader> {
    let mut file = File::open(path)?;
    // From the beginning the reader sees the dictionary itself.
    let unpacker = if offset == 0 { None } else { unpacker_of(&mut file)? };
    reader(file, offset, unpacker)
}

/// The dictionary of the file, if it has one.
pub(super) fn dictionary_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_dictionary(&mut File::open(path)?)
}

/// What the volumes read last were unpacked with, for the next record of one of them: to prepare a
/// dictionary takes longer than a small record.
#[derive(Clone, Default)]
pub(super) struct Unpackers {
    kept: Arc<Mutex<Vec<(Key, Unpacker)>>>,
}

/// A volume's number, and the beginning of its file: magic numbers, length and id of its dictionary. A volume
/// may be written anew with another one, or with none.
pub(super) type Key = (u32, [u8; 16]);

const KEPT_MAX: usize = 4;
/// A large window is not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

impl Unpackers {
    /// A reader of the volume from `offset` on, and what to give it back under.
    pub(super) fn reader(
        &self,
        volume: &VolumeFileName,
        mut file: File,
        offset: u64,
    ) -> io::Result<(FileReader, Option<Key>)> {
        if volume.compression == Compression::Gzip {
            return Ok((reader(file, offset, None)?, None));
        }
        let mut head = [0; 16];
        // A file of fewer bytes has no dictionary.
        file.read_exact_at(&mut head, 0).or_else(no_end)?;
        let key = (volume.number, head);
        let unpacker = match self.take(&key) {
            Some(unpacker) => Some(unpacker),
            None => unpacker_of(&mut file)?,
        };
        Ok((reader(file, offset, unpacker)?, Some(key)))
    }

    pub(super) fn keep(&self, key: Option<Key>, reader: FileReader) {
        let (Some(key), Some(unpacker)) = (key, reader.into_unpacker()) else { return };
        if unpacker.bytes() <= KEPT_BYTES_MAX {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= KEPT_MAX {
                kept.remove(0);
            }
            kept.push((key, unpacker));
        }
    }

    fn take(&self, key: &Key) -> Option<Unpacker> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(of, _)| of == key)?;
        Some(kept.remove(at).1)
    }
}

impl fmt::Debug for Unpackers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpackers").finish_non_exhaustive()
    }
}

fn reader(mut file: File, offset: u64, unpacker: Option<Unpacker>) -> io::Result<FileReader> {
    file.seek(SeekFrom::Start(offset))?;
    let reader = WarcReader::starting_at(BufReader::with_capacity(32 << 10, file), offset);
    Ok(reader.unpack_with(unpacker))
}

pub(super) fn unpacker_of(file: &mut File) -> io::Result<Option<Unpacker>> {
    let made = read_dictionary(file)
        .and_then(|dictionary| dictionary.map(|bytes| Unpacker::new(&bytes)).transpose());
    match made {
        Err(e) if e.raw_os_error().is_none() => Ok(None),
        made => made,
    }
}

fn read_dictionary(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    dictionary::read_first(&mut BufReader::new(file))
}

fn no_end(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::UnexpectedEof { Ok(()) } else { Err(error) }
}
