//! An index made from its volume, or from the index of the volume that was rewritten.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use model::StoreError;

use super::{
    super::{
        edit::{Moved, Moves, read_error},
        hashed::Hashed,
        opened::{reader_at, unpacker_of},
        reader::{ReadError, WarcReader},
    },
    Entry, Identity, IndexReader, IndexWriter, write_file,
};

/// What `check` finds beside a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    Missing,
    /// It is damaged, or of another file.
    Unfit,
    Fit,
}

/// Reads the volume whole, shows every record to `take`, and leaves an index beside the volume. Where that cannot
/// be written the volume has none: everything works without.
pub(crate) fn make(
    volume: &Path,
    take: &mut dyn FnMut(&Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let made = index_of(volume, take)?;
    if let Some(index) = made
        && let Err(error) = write_file(volume, &index)
    {
        tracing::warn!(volume = %volume.display(), %error, "its index could not be written");
    }
    Ok(())
}

/// Reads the volume and makes its index again; says whether it has one now.
pub fn make_index(volume: &Path) -> Result<bool, StoreError> {
    let Some(index) = index_of(volume, &mut |_| Ok(()))? else { return Ok(false) };
    write_file(volume, &index).map_err(|e| StoreError::io("write the index of", volume, e))?;
    Ok(true)
}

/// Whether the index is of a volume with this digest and so many records.
pub fn index_state(volume: &Path, digest: &[u8; 32], records: u64) -> io::Result<IndexState> {
    let Some(mut reader) = IndexReader::open(volume)? else {
        let is_there = super::index_path(volume).exists();
        return Ok(if is_there { IndexState::Unfit } else { IndexState::Missing });
    };
    let mut entries = 0;
    let whole = reader.all(|entry| {
        entries += 1;
        entry.is_ok()
    });
    let fits = whole && entries == records && reader.identity().digest == *digest;
    Ok(if fits { IndexState::Fit } else { IndexState::Unfit })
}

/// Size and digest of the volume, as its index says; `None` without one that fits.
pub fn sealed_identity(volume: &Path) -> io::Result<Option<Identity>> {
    Ok(IndexReader::open(volume)?.map(|reader| *reader.identity()))
}

/// Whether these records stand in the volume as its index says. Only they are read.
pub(crate) fn confirms(volume: &Path, entries: &[Entry]) -> Result<bool, StoreError> {
    let error = |e| StoreError::io("read", volume, e);
    let Some(first) = entries.first() else { return Ok(true) };
    let mut file = File::open(volume).map_err(error)?;
    let mut unpacker =
        if first.offset == 0 { None } else { unpacker_of(&mut file).map_err(error)? };
    for entry in entries {
        io::Seek::seek(&mut file, io::SeekFrom::Start(entry.offset)).map_err(error)?;
        let held = entry.length.clamp(1, 32 << 10) as usize;
        let input = BufReader::with_capacity(held, (&file).take(entry.length));
        let reader = WarcReader::starting_at(input, entry.offset).unpack_with(unpacker.take());
        let mut reader = reader.keep_at_most(0);
        match reader.next() {
            Some(Ok(record)) if record.own_member && Entry::of(&record) == *entry => {}
            Some(Err(ReadError::Io(e))) => return Err(error(e)),
            _ => return Ok(false),
        }
        unpacker = reader.into_unpacker();
    }
    Ok(true)
}

/// The index of `new`, which was written from `old` and is to take its place; empty when there can be none. What is
/// known of the old one is taken over, and only what was replaced is read.
pub(crate) fn rewritten(old: &Path, new: &Path, moves: &Moves) -> Result<Vec<u8>, StoreError> {
    let identity = Identity::of(new, moves.digest).map_err(|e| StoreError::io("read", new, e))?;
    let reader = IndexReader::open(old).map_err(|e| StoreError::io("read", old, e))?;
    let moved = match reader {
        Some(reader) => moved(reader, new, moves, &identity)?,
        None => None,
    };
    match moved {
        Some(index) => Ok(index),
        None => Ok(index_of(new, &mut |_| Ok(()))?.unwrap_or_default()),
    }
}

/// Where more than these were replaced, reading the new volume from one end to the other is quicker.
const REPLACED_MAX: usize = 1_000;

fn moved(
    old: IndexReader,
    new: &Path,
    moves: &Moves,
    identity: &Identity,
) -> Result<Option<Vec<u8>>, StoreError> {
    let (mut writer, mut replaced) = (IndexWriter::new(), 0);
    for entry in old {
        // Damaged: the new volume says it all.
        let Ok(mut entry) = entry else { return Ok(None) };
        match moves.of(entry.offset) {
            Moved::Gone => continue,
            Moved::To(offset) => entry.offset = offset,
            Moved::Anew { offset, .. } => {
                replaced += 1;
                if replaced > REPLACED_MAX {
                    return Ok(None);
                }
                let read = |e| StoreError::io("read", new, e);
                let record = reader_at(new, offset).map_err(read)?.keep_at_most(0).next();
                let torn = Err(ReadError::Torn { offset });
                entry = Entry::of(&record.unwrap_or(torn).map_err(|e| read_error(new, e))?);
            }
        }
        writer.push(&entry);
    }
    Ok(writer.finish(identity))
}

/// Reads the volume; `None` when it can have no index.
fn index_of(
    volume: &Path,
    take: &mut dyn FnMut(&Entry) -> Result<(), StoreError>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let error = |e| StoreError::io("read", volume, e);
    let file = File::open(volume).map_err(error)?;
    let mut input = Hashed::new(BufReader::with_capacity(1 << 20, file));
    let mut writer = IndexWriter::new();
    for record in WarcReader::new(&mut input).keep_at_most(0) {
        let record = record.map_err(|e| read_error(volume, e))?;
        let entry = Entry::of(&record);
        take(&entry)?;
        writer.push(&entry);
        if !record.own_member {
            writer.give_up();
        }
    }
    let identity = Identity::of(volume, input.digest()).map_err(error)?;
    Ok(writer.finish(&identity).filter(|_| input.passed() == identity.bytes))
}
