//! The manifest: which runs there are, how far they reach, and which records were followed by a newer one of the
//! same page. It is replaced as a whole; without it, or when it is damaged, there is no index.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use model::StoreError;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    super::{FRAME_BYTES, HEADER_BYTES, LinkPosition, segment_path},
    run::{RunInfo, UNDONE},
};

const MAGIC: &[u8; 8] = b"HVLMAN01";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// How often takedowns had rewritten segments when they were read.
    pub(super) rewritten: u64,
    /// Where the next record begins that is in no run.
    pub(super) covered: LinkPosition,
    /// The last record that is: where it begins, and its length and checksum.
    pub(super) last: Option<(LinkPosition, [u8; FRAME_BYTES])>,
    pub(super) next_run: u64,
    /// In the order of the segments.
    pub(super) runs: Vec<RunInfo>,
    /// A bit for each record of all runs, in their order: a newer one of its page is there.
    pub(super) superseded: Vec<u8>,
}

impl Manifest {
    pub(super) fn empty(rewritten: u64) -> Manifest {
        Manifest {
            rewritten,
            covered: (1, HEADER_BYTES),
            last: None,
            next_run: 1,
            runs: Vec::new(),
            superseded: Vec::new(),
        }
    }

    pub(super) fn records(&self) -> u64 {
        self.runs.iter().map(|run| run.records).sum()
    }

    pub(super) fn is_superseded(&self, record: u64) -> bool {
        let byte = usize::try_from(record / 8).ok().and_then(|at| self.superseded.get(at));
        byte.is_some_and(|byte| byte >> (record % 8) & 1 == 1)
    }

    pub(super) fn supersede(&mut self, record: u64) {
        let Ok(at) = usize::try_from(record / 8) else { return };
        if self.superseded.len() <= at {
            self.superseded.resize(at + 1, 0);
        }
        self.superseded[at] |= 1 << (record % 8);
    }

    /// The last record still stands where it stood: no power cut has taken what was settled, and no copy of other
    /// segments was put here.
    pub(super) fn still_holds(&self, links: &Path) -> bool {
        let Some(((segment, offset), frame)) = self.last else { return true };
        let mut found = [0; FRAME_BYTES];
        let read = File::open(segment_path(links, segment))
            .and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, offset));
        read.is_ok() && found == frame
    }

    /// `None` when there is none, or it cannot be read.
    pub(super) fn load(dir: &Path) -> Result<Option<Manifest>, StoreError> {
        let path = path(dir);
        match fs::read(&path) {
            Ok(bytes) => Ok(Manifest::decode(&bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(StoreError::io("read", path, e)),
        }
    }

    /// Takes the place of the one before, which readers see until then.
    pub(super) fn save(&self, dir: &Path) -> Result<(), StoreError> {
        let (new, path) = (dir.join(format!("manifest{UNDONE}")), path(dir));
        let error = |e| StoreError::io("write", &path, e);
        let mut file = File::create(&new).map_err(error)?;
        file.write_all(&self.encode()).and_then(|()| file.sync_all()).map_err(error)?;
        // The names of the runs, too, must last before that of the manifest that needs them.
        sync(dir)?;
        fs::rename(&new, &path).map_err(error)?;
        sync(dir)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let mut put = |number: u64| out.extend(number.to_le_bytes());
        let (last, frame) = self.last.unwrap_or_default();
        put(self.rewritten);
        for (segment, offset) in [self.covered, last] {
            put(u64::from(segment));
            put(offset);
        }
        put(u64::from_le_bytes(frame));
        put(self.next_run);
        put(self.runs.len() as u64);
        for run in &self.runs {
            put(run.number);
            put(run.records);
            put(run.targets);
        }
        put(self.superseded.len() as u64);
        out.extend(&self.superseded);
        out.extend(xxh3_64(&out).to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Manifest> {
        let (body, sum) = bytes.split_last_chunk()?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return None;
        }
        let mut rest = body.strip_prefix(MAGIC)?;
        let rewritten = take(&mut rest)?;
        let covered = take_position(&mut rest)?;
        let last = take_position(&mut rest)?;
        let frame = take(&mut rest)?.to_le_bytes();
        let next_run = take(&mut rest)?;
        let mut runs = Vec::new();
        for _ in 0..take(&mut rest)? {
            let (number, records) = (take(&mut rest)?, take(&mut rest)?);
            runs.push(RunInfo { number, records, targets: take(&mut rest)? });
        }
        let length = usize::try_from(take(&mut rest)?).ok()?;
        (rest.len() == length).then(|| Manifest {
            rewritten,
            covered,
            last: (last.0 > 0).then_some((last, frame)),
            next_run,
            runs,
            superseded: rest.to_vec(),
        })
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("manifest")
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let (eight, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(u64::from_le_bytes(*eight))
}

fn take_position(rest: &mut &[u8]) -> Option<LinkPosition> {
    Some((u32::try_from(take(rest)?).ok()?, take(rest)?))
}

fn sync(dir: &Path) -> Result<(), StoreError> {
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|e| StoreError::io("sync", dir, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Manifest {
        let runs = vec![RunInfo { number: 3, records: 20, targets: 99 }];
        let mut manifest = Manifest { runs, next_run: 4, ..Manifest::empty(7) };
        manifest.covered = (2, 77);
        manifest.last = Some(((2, 60), *b"12345678"));
        manifest.supersede(0);
        manifest.supersede(19);
        manifest
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::load(dir.path()).unwrap(), None);
        for manifest in [Manifest::empty(0), some()] {
            manifest.save(dir.path()).unwrap();
            assert_eq!(Manifest::load(dir.path()).unwrap(), Some(manifest));
        }
        let set: Vec<u64> = (0..40).filter(|record| some().is_superseded(*record)).collect();
        assert_eq!(set, [0, 19]);
    }

    #[test]
    fn a_damaged_one_is_none() {
        let bytes = some().encode();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(Manifest::decode(&other), None, "byte {at}");
            assert_eq!(Manifest::decode(&bytes[..at]), None, "cut at {at}");
        }
    }
}
