//! A segment written anew, beside the old one, without some pages and without the links to them.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use model::StoreError;

use super::{
    HEADER_BYTES, LinkRecord, MAGIC, StoredLink,
    encoding::encode_again,
    reader::{Next, Segment},
    segment_path,
};

/// What became of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinned {
    /// Links taken out, those of the pages that went among them.
    pub(crate) links: u64,
    /// Where the new segment ends.
    pub(crate) end: u64,
    /// It could not be read from here on; what lay behind is not in the new one.
    pub(crate) damaged: Option<u64>,
}

impl Thinned {
    /// The new file says something else than the old one.
    pub(crate) fn is_changed(&self, old_end: u64) -> bool {
        self.damaged.is_some() || self.end != old_end
    }
}

/// Reads the records of a segment up to `until`; those of a source that `goes` are left out, as are links
/// that `goes` to. The new file, when one is wanted, is on disk when this returns.
pub(crate) fn rewrite(
    dir: &Path,
    number: u32,
    until: u64,
    to: Option<&Path>,
    source_goes: impl Fn(&LinkRecord) -> bool,
    link_goes: impl Fn(&StoredLink) -> bool,
) -> Result<Thinned, StoreError> {
    let path = segment_path(dir, number);
    let read = |e| StoreError::io("read", &path, e);
    let write = |e| StoreError::io("write", to.unwrap_or(&path), e);
    let mut new = to.map(File::create).transpose().map_err(write)?.map(BufWriter::new);
    let mut put = |bytes: &[u8]| new.as_mut().map_or(Ok(()), |new| new.write_all(bytes));
    put(MAGIC).and_then(|()| put(&number.to_le_bytes())).map_err(write)?;
    let mut thinned = Thinned { end: HEADER_BYTES, ..Thinned::default() };
    let Some(mut segment) = Segment::open(dir, number)? else {
        thinned.damaged = Some(0);
        return Ok(thinned);
    };
    let mut again = Vec::new();
    while segment.offset < until {
        let at = segment.offset;
        let mut record = match segment.read().map_err(read)? {
            Next::Record(record) => record,
            Next::Torn => {
                thinned.damaged = Some(at);
                break;
            }
            Next::End => break,
        };
        let before = record.links.len();
        if source_goes(&record) {
            thinned.links += before as u64;
            continue;
        }
        record.links.retain(|link| !link_goes(link));
        let gone = before - record.links.len();
        thinned.links += gone as u64;
        let bytes = if gone == 0 {
            &segment.bytes
        } else {
            again.clear();
            encode_again(&mut again, &record);
            &again
        };
        put(bytes).map_err(write)?;
        thinned.end += bytes.len() as u64;
    }
    if let Some(new) = new {
        let file = new.into_inner().map_err(|e| write(e.into_error()))?;
        file.sync_all().map_err(write)?;
    }
    Ok(thinned)
}
