//! Which pages are being read right now, in a small file that outlives the process.
//!
//! A page can end the whole process (a stack that overflows, memory that runs out), and nothing is left that
//! could tell which one it was, but what was written down before. A slot for each thread that reads, filled
//! before a page is read and emptied when the thread has no more to read: no sync, since what is asked about is the end
//! of the process and not of the machine, and the system keeps what was written. Whatever is found in it at the next start
//! was being read at the end, or had just been: a page is left alone only after several such ends.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use model::StoreError;

/// A length of two bytes and a URL; a longer URL than fits has no such protection.
const SLOT_BYTES: usize = 4_096;
/// Slots that are looked at: far more than there are threads.
const SLOTS_MAX: usize = 1_024;

pub struct Readings {
    file: File,
}

impl Readings {
    /// Opens the file; and the URLs that an earlier process was reading when it ended.
    pub fn open(path: &Path) -> Result<(Readings, Vec<String>), StoreError> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|e| StoreError::io("open", path, e))?;
        let left = left_behind(&file);
        Ok((Readings { file }, left))
    }

    /// What was found is found no more: it is going to be counted.
    pub fn clear(&self) {
        // A file that cannot be cut is counted again at the next start: a page too careful, and no more.
        let _ = self.file.set_len(0);
    }

    pub fn begin(&self, slot: usize, url: &str) {
        let length = u16::try_from(url.len()).unwrap_or(u16::MAX);
        if usize::from(length) + 2 > SLOT_BYTES {
            return;
        }
        let mut bytes = Vec::with_capacity(2 + url.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(url.as_bytes());
        self.write(slot, &bytes);
    }

    pub fn end(&self, slot: usize) {
        self.write(slot, &[0; 2]);
    }

    /// A full disk takes the protection, not the page.
    fn write(&self, slot: usize, bytes: &[u8]) {
        let _ = self.file.write_all_at(bytes, (slot * SLOT_BYTES) as u64);
    }
}

fn left_behind(file: &File) -> Vec<String> {
    let mut left = Vec::new();
    let mut bytes = [0; SLOT_BYTES];
    for slot in 0..SLOTS_MAX {
        let Ok(read) = file.read_at(&mut bytes, (slot * SLOT_BYTES) as u64) else { break };
        if read == 0 {
            break;
        }
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let url = bytes[..read].get(2..2 + length).unwrap_or_default();
        if let (true, Ok(url)) = (length > 0, std::str::from_utf8(url)) {
            left.push(url.to_owned());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_being_read_is_found_again_and_only_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("readings");
        let (readings, left) = Readings::open(&path).unwrap();
        assert!(left.is_empty());
        readings.begin(0, "http://a.example/a-long-one");
        readings.end(0);
        readings.begin(0, "http://a.example/1");
        readings.begin(2, "http://a.example/2");
        readings.begin(3, "http://a.example/3");
        readings.end(3);
        readings.begin(4, &"x".repeat(SLOT_BYTES));
        let (again, left) = Readings::open(&path).unwrap();
        assert_eq!(left, ["http://a.example/1", "http://a.example/2"]);
        again.clear();
        assert!(Readings::open(&path).unwrap().1.is_empty());
    }

    proptest! {
        #[test]
        fn whatever_is_in_the_file_is_read_without_harm(bytes: Vec<u8>) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("readings");
            std::fs::write(&path, bytes).unwrap();
            prop_assert!(Readings::open(&path).unwrap().1.len() <= 1);
        }
    }
}
