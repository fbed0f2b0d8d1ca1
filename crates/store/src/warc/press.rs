//! How the records of one volume are packed: what is put into it later must be packed alike.

use std::{io, sync::Arc};

use model::StoreError;

use super::{
    compression::Compression,
    dictionary,
    frame::{FRAME_BYTES_MAX, FramePacker, Unpacker},
    names::VolumeFileName,
    opened,
    record::DICTIONARY_PAGE,
};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Press {
    Gzip,
    Zstd(Option<Dictionary>),
}

/// Trained on pages, and holding pieces of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dictionary {
    pub(super) bytes: Vec<u8>,
    /// URLs of those pages, which the volume's warcinfo tells: whoever forgets one of them must take the
    /// dictionary away. Of a volume of another writer nobody knows.
    pub(super) pages: Vec<String>,
}

impl Press {
    pub(super) fn new(compression: Compression) -> Press {
        match compression {
            Compression::Gzip => Press::Gzip,
            Compression::Zstd => Press::Zstd(None),
        }
    }

    /// How a volume that is there was packed.
    pub(crate) fn of(volume: &VolumeFileName) -> Result<Arc<Press>, StoreError> {
        if volume.compression == Compression::Gzip {
            return Ok(Arc::new(Press::Gzip));
        }
        let path = &volume.path;
        let error = |e: io::Error| match e.raw_os_error() {
            Some(_) => StoreError::io("read", path, e),
            None => StoreError::Corrupt { path: path.clone(), detail: e.to_string() },
        };
        let Some(bytes) = opened::dictionary_of(path).map_err(error)? else {
            return Ok(Arc::new(Press::Zstd(None)));
        };
        let first = opened::reader_at(path, 0).map_err(error)?.next();
        let pages = first.and_then(Result::ok).map(|record| pages_in(&record.block));
        let dictionary = Dictionary::new(bytes, pages.unwrap_or_default());
        let dictionary = dictionary.ok_or_else(|| error(io::ErrorKind::InvalidData.into()))?;
        Ok(Arc::new(Press::Zstd(Some(dictionary))))
    }

    pub(super) fn compression(&self) -> Compression {
        match self {
            Press::Gzip => Compression::Gzip,
            Press::Zstd(_) => Compression::Zstd,
        }
    }

    /// Of a record; a longer frame would not be read again.
    pub(super) fn plain_bytes_max(&self) -> u64 {
        match self {
            Press::Gzip => u64::MAX,
            Press::Zstd(_) => FRAME_BYTES_MAX,
        }
    }

    pub(super) fn dictionary(&self) -> Option<&Dictionary> {
        match self {
            Press::Gzip => None,
            Press::Zstd(dictionary) => dictionary.as_ref(),
        }
    }

    /// The pages that its dictionary has pieces of.
    pub(crate) fn pages(&self) -> &[String] {
        self.dictionary().map_or(&[], |dictionary| &dictionary.pages)
    }

    /// What stands before the first record of the volume.
    pub(super) fn preamble(&self) -> Vec<u8> {
        self.dictionary().map_or_else(Vec::new, |d| dictionary::skippable(&d.bytes))
    }
}

impl Dictionary {
    /// `None` when the library does not take it.
    pub(super) fn new(bytes: Vec<u8>, pages: Vec<String>) -> Option<Dictionary> {
        FramePacker::new(Some(&bytes)).ok()?;
        Unpacker::new(&bytes).ok()?;
        Some(Dictionary { bytes, pages })
    }
}

fn pages_in(warcinfo: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(warcinfo);
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(name, _)| *name == DICTIONARY_PAGE).map(|(_, url)| url.to_owned()).collect()
}
