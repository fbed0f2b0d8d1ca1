//! A volume written anew without its dictionary, because that holds pieces of a page that must go.

use std::{path::Path, sync::Arc};

use model::StoreError;

use super::{
    compression::Compression,
    digest::{digest_text, sha1},
    edit::{Edit, Moves, read_error, rewrite},
    encode::{arrived_compressed, pack_record},
    names::VolumeFileName,
    opened::{FileReader, reader_at},
    press::Press,
    reader::Record,
    record::DICTIONARY_PAGE,
};

/// Writes `to` from the volume, every record packed by itself. The new file is on disk when this returns.
pub(crate) fn without_dictionary(volume: &VolumeFileName, to: &Path) -> Result<Moves, StoreError> {
    let path = &volume.path;
    let edits = edits(path)?;
    let press = Arc::new(Press::new(Compression::Zstd));
    let mut records = opened(path)?.keep_at_most(u64::MAX);
    rewrite(path, to, &edits, |edit| {
        if edit.offset == 0 {
            return Ok(None);
        }
        let record = records.next().transpose().map_err(|e| read_error(path, e))?;
        Ok(record.map(|record| packed(&press, &record)))
    })
}

/// The dictionary, which has the beginning of the file, and every record.
fn edits(path: &Path) -> Result<Vec<Edit>, StoreError> {
    let mut edits = Vec::new();
    for record in opened(path)?.keep_at_most(0) {
        let record = record.map_err(|e| read_error(path, e))?;
        if edits.is_empty() {
            edits.push(Edit { offset: 0, length: record.offset });
        }
        edits.push(Edit { offset: record.offset, length: record.length });
    }
    Ok(edits)
}

fn opened(path: &Path) -> Result<FileReader, StoreError> {
    reader_at(path, 0).map_err(|e| StoreError::io("read", path, e))
}

fn packed(press: &Arc<Press>, record: &Record) -> Vec<u8> {
    let is_info = record.kind() == "warcinfo";
    let block = if is_info { unnamed(&record.block) } else { record.block.to_vec() };
    let value = |name: &str, value: &str| match name {
        "WARC-Block-Digest" if is_info => digest_text(&sha1(&[&block])),
        "Content-Length" if is_info => block.len().to_string(),
        _ => value.to_owned(),
    };
    let fields: Vec<_> = record.fields.iter().map(|(n, text)| (n, value(n, text))).collect();
    let compressed = record.kind() == "response" && arrived_compressed(&record.http().headers);
    pack_record(press, &fields, &[&block], compressed)
}

/// A warcinfo that names no pages.
fn unnamed(block: &[u8]) -> Vec<u8> {
    let names_page = |line: &&[u8]| line.starts_with(DICTIONARY_PAGE.as_bytes());
    let lines = block.split_inclusive(|&b| b == b'\n').filter(|line| !names_page(line));
    lines.flatten().copied().collect()
}
