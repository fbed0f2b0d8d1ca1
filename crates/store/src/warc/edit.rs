//! A sealed volume written anew, beside the old one, with some of its records left out or replaced.
//!
//! What stays is copied as it is, member by member: nothing is packed again. [`Moves`] says where
//! each record of the old file lies in the new one.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use model::StoreError;

use super::{
    hashed::Hashed,
    opened::reader_at,
    reader::{ReadError, Record},
};

/// A place of the old file and what takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// Where records went; in the order of the file. And what the new file is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    steps: Vec<Step>,
    pub(crate) bytes: u64,
    pub(crate) digest: [u8; 32],
}

#[derive(Clone, Copy, Debug)]
struct Step {
    old: Edit,
    /// Length of what stands there now; 0 where it was left out.
    new_length: u64,
    /// How far what lies behind it moved, together with all steps before.
    shift: i64,
}

/// The place of a record in the new file, and its length where that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    To(u64),
    /// It was replaced.
    Anew {
        offset: u64,
        length: u64,
    },
    Gone,
}

impl Moves {
    pub(crate) fn of(&self, offset: u64) -> Moved {
        let behind = self.steps.partition_point(|step| step.old.offset <= offset);
        let before = behind.checked_sub(1).map(|at| self.steps[at]);
        match before {
            Some(step) if step.old.offset == offset && step.new_length == 0 => Moved::Gone,
            Some(step) if step.old.offset == offset => {
                let grown = step.new_length as i64 - step.old.length as i64;
                let offset = offset.saturating_add_signed(step.shift - grown);
                Moved::Anew { offset, length: step.new_length }
            }
            Some(step) => Moved::To(offset.saturating_add_signed(step.shift)),
            None => Moved::To(offset),
        }
    }

    /// A place between records: everything before it lies before the answer, everything behind it behind.
    pub(crate) fn boundary(&self, offset: u64) -> u64 {
        let before = self.steps.partition_point(|step| step.old.offset < offset);
        let shift = before.checked_sub(1).map_or(0, |at| self.steps[at].shift);
        offset.saturating_add_signed(shift)
    }

    fn push(&mut self, old: Edit, new_length: u64) {
        let before = self.steps.last().map_or(0, |step| step.shift);
        let shift = before + new_length as i64 - old.length as i64;
        self.steps.push(Step { old, new_length, shift });
    }
}

/// Writes `to` from `from`; `replace` says what takes an edit's place (nothing: it is left out). The new
/// file is on disk when this returns.
pub(crate) fn rewrite(
    from: &Path,
    to: &Path,
    edits: &[Edit],
    mut replace: impl FnMut(Edit) -> Result<Option<Vec<u8>>, StoreError>,
) -> Result<Moves, StoreError> {
    let read = |e| StoreError::io("read", from, e);
    let write = |e| StoreError::io("write", to, e);
    let mut old = BufReader::with_capacity(1 << 20, File::open(from).map_err(read)?);
    let new = BufWriter::with_capacity(1 << 20, File::create(to).map_err(write)?);
    let mut new = Hashed::new(new);
    let (mut moves, mut at) = (Moves::default(), 0);
    for edit in edits {
        copy(&mut old, &mut new, edit.offset.saturating_sub(at)).map_err(write)?;
        let bytes = replace(*edit)?.unwrap_or_default();
        new.write_all(&bytes).map_err(write)?;
        at = edit.offset + edit.length;
        let skip = i64::try_from(edit.length).unwrap_or(i64::MAX);
        old.seek_relative(skip).map_err(read)?;
        moves.push(*edit, bytes.len() as u64);
    }
    copy(&mut old, &mut new, u64::MAX).map_err(write)?;
    moves.bytes = new.passed();
    let (new, digest) = new.into_inner();
    let file = new.into_inner().map_err(|e| write(e.into_error()))?;
    file.sync_all().map_err(write)?;
    moves.digest = digest;
    Ok(moves)
}

/// One record of a volume, whole.
pub(crate) fn record_at(path: &Path, offset: u64) -> Result<Record, StoreError> {
    let mut reader = reader_at(path, offset).map_err(|e| StoreError::io("read", path, e))?;
    reader.next().unwrap_or(Err(ReadError::Torn { offset })).map_err(|e| read_error(path, e))
}

pub(super) fn read_error(path: &Path, error: ReadError) -> StoreError {
    match error {
        ReadError::Io(e) => StoreError::io("read", path, e),
        damage => StoreError::Corrupt { path: path.to_owned(), detail: damage.to_string() },
    }
}

fn copy(from: &mut impl BufRead, to: &mut impl Write, mut bytes: u64) -> io::Result<()> {
    while bytes > 0 {
        let held = from.fill_buf()?;
        let part = &held[..held.len().min(usize::try_from(bytes).unwrap_or(usize::MAX))];
        if part.is_empty() {
            break;
        }
        to.write_all(part)?;
        let length = part.len();
        from.consume(length);
        bytes -= length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_record_that_stays_is_found_where_the_moves_say(
            records in prop::collection::vec((1usize..40, 0u8..3), 1..40)
        ) {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("old"), dir.path().join("new"));
            let (mut bytes, mut places, mut edits) = (Vec::new(), Vec::new(), Vec::new());
            for (n, (length, fate)) in records.iter().enumerate() {
                let offset = bytes.len() as u64;
                places.push((offset, *length, *fate, n as u8));
                bytes.extend(std::iter::repeat_n(n as u8, *length));
                if *fate > 0 {
                    edits.push(Edit { offset, length: *length as u64 });
                }
            }
            std::fs::write(&from, &bytes).unwrap();
            let mut fates = places.iter().filter(|place| place.2 > 0);
            let moves = rewrite(&from, &to, &edits, |_| {
                let (_, _, fate, n) = *fates.next().unwrap();
                Ok((fate == 2).then(|| vec![n; 7]))
            }).unwrap();
            let new = std::fs::read(&to).unwrap();
            let mut end = 0;
            for (offset, length, fate, n) in places {
                prop_assert_eq!(moves.boundary(offset), end as u64);
                let (at, length) = match moves.of(offset) {
                    Moved::Gone => {
                        prop_assert_eq!(fate, 1);
                        continue;
                    }
                    Moved::To(at) => (at as usize, length),
                    Moved::Anew { offset, length } => (offset as usize, length as usize),
                };
                prop_assert_eq!(at, end);
                prop_assert!(new[at..at + length].iter().all(|b| *b == n));
                end = at + length;
            }
            prop_assert_eq!((end, moves.boundary(bytes.len() as u64)), (new.len(), new.len() as u64));
        }
    }
}
