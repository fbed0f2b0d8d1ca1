//! Link segments: append-only files `links/NNNNNN.links`, a record per page with all its links.
//!
//! A segment is a header (magic, number) and records: length, checksum (upper half of xxh3), body. In the
//! body numbers are varints, and a URL shares its beginning with the link before. What lies above the
//! mark of the last settlement belongs to no settled page and is cut off at the next start.

mod edit;
mod encoding;
pub mod index;
mod reader;
mod writer;

pub use encoding::{LinkRecord, StoredLink};
pub use reader::LinkReader;
pub use writer::LinkWriter;

pub(crate) use edit::{Thinned, rewrite};

use std::path::{Path, PathBuf};

/// (segment, offset): segments are numbered from 1.
pub type LinkPosition = (u32, u64);

const MAGIC: &[u8; 8] = b"HVLINKS1";
const HEADER_BYTES: u64 = 12;
/// Length and checksum before each body.
const FRAME_BYTES: usize = 8;
/// Far above what the limits on links, URLs and anchors allow for one page (about 30 MB).
const BODY_BYTES_MAX: usize = 64 << 20;

pub(crate) fn segment_path(dir: &Path, segment: u32) -> PathBuf {
    dir.join(format!("{segment:06}.links"))
}

/// Numbers of the segments in the folder, ascending.
pub(crate) fn segments(dir: &Path) -> Result<Vec<u32>, model::StoreError> {
    let error = |e| model::StoreError::io("list", dir, e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let name = entry.map_err(error)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".links"));
        found.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests;
