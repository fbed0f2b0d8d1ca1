//! After a crash: open volumes lose what is torn, are sealed, and offer what nobody has settled.
//!
//! Sealed volumes are trusted. Of an open one only what lies past the mark is read: below it everything
//! was synced and settled. What is cut is a tail that is not whole (a torn member, or a request whose
//! response is missing). Should whole records lie behind the damage, or settled ones be lost by the cut,
//! the bytes are first saved in a file beside the volume and a warning tells of it. Every step can be
//! taken again after another crash.

use std::{
    cmp::Ordering,
    collections::VecDeque,
    fs::{self, File},
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::{Mark, StoreError};

use super::{
    compression::Compression,
    disk::Disk,
    frames::count_frames,
    ledger::Ledger,
    moving::remove_left_behind,
    names::{VolumeFileName, Volumes, final_path},
    opened::reader_at,
    pairs::Pairs,
    reader::ReadError,
    rebuild::Adopted,
};

/// What was found and done when the archive was opened.
pub struct Recovery {
    pub cuts: Vec<Cut>,
    /// For people: settled records that are gone, saved tails.
    pub warnings: Vec<String>,
    /// Whole records past the mark that have no visit, in the order they were written. Gather and
    /// settle each; until all are, the mark stays where they can be found again.
    pub adopt: Adoption,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub volume: u32,
    pub at: u64,
    pub bytes: u64,
    /// Where the bytes were kept, when they were more than a torn tail.
    pub saved: Option<PathBuf>,
}

impl Recovery {
    pub fn cut_bytes(&self) -> u64 {
        self.cuts.iter().map(|cut| cut.bytes).sum()
    }
}

/// Reads one record at a time. A damaged volume gives one error and is left for the next.
pub struct Adoption {
    ledger: Arc<Mutex<Ledger>>,
    todo: VecDeque<VolumeFileName>,
    mark: Mark,
    current: Option<(VolumeFileName, Pairs<BufReader<File>>)>,
}

/// Seals what was left open; returns also the number of the next volume.
pub(super) fn recover(
    disk: &dyn Disk,
    volumes: &Volumes,
    mark: &Mark,
    ledger: Arc<Mutex<Ledger>>,
) -> Result<(Recovery, u32), StoreError> {
    let left = remove_left_behind(disk, volumes)?;
    let mut found = Found { disk, mark, cuts: Vec::new(), warnings: Vec::new() };
    let mut last = mark.volume;
    for volume in volumes.list()?.into_iter().filter(|volume| !left.contains(&volume.path)) {
        last = last.max(volume.number);
        if !volume.sealed {
            found.seal(&volume)?;
        }
    }
    let Found { cuts, warnings, .. } = found;
    let mut todo = VecDeque::new();
    for volume in volumes.list()?.into_iter().filter(|volume| !left.contains(&volume.path)) {
        let path = &volume.path;
        let length = fs::metadata(path).map_err(|e| StoreError::io("read", path, e))?.len();
        // A volume that ends at or below the mark has nothing to offer: what it holds is settled.
        if (volume.number, length) > (mark.volume, mark.offset) {
            todo.push_back(volume);
        }
    }
    if todo.is_empty() {
        lock(&ledger).adopted_all();
    }
    let adopt = Adoption { ledger, todo, mark: mark.clone(), current: None };
    Ok((Recovery { cuts, warnings, adopt }, last + 1))
}

struct Found<'a> {
    disk: &'a dyn Disk,
    mark: &'a Mark,
    cuts: Vec<Cut>,
    warnings: Vec<String>,
}

impl Found<'_> {
    fn seal(&mut self, volume: &VolumeFileName) -> Result<(), StoreError> {
        let path = &volume.path;
        let length = fs::metadata(path).map_err(|e| StoreError::io("read", path, e))?.len();
        let start = self.start(volume, length);
        let (whole_to, records) = scan(path, start)?;
        if start == 0 && records == 0 {
            return self.remove_empty(volume, length);
        }
        let file = self.disk.open(path).map_err(|e| StoreError::io("open", path, e))?;
        // Below the mark nothing is read, so that nobody else would notice.
        if whole_to == length && self.is_unreadable(volume)? {
            self.warnings.push(self.unreadable(volume)?);
        }
        if whole_to < length {
            let saved = self.save_tail(volume, whole_to)?;
            file.set_len(whole_to).map_err(|e| StoreError::io("cut", path, e))?;
            let bytes = length - whole_to;
            self.cuts.push(Cut { volume: volume.number, at: whole_to, bytes, saved });
        }
        file.sync().map_err(|e| StoreError::io("sync", path, e))?;
        let renamed = self.disk.rename(path, &final_path(path));
        renamed.map_err(|e| StoreError::io("rename", path, e))?;
        self.sync_folder(path)
    }

    /// Where reading begins: at the mark if it lies in this volume.
    fn start(&mut self, volume: &VolumeFileName, length: u64) -> u64 {
        if volume.number != self.mark.volume {
            return 0;
        }
        if self.mark.offset <= length {
            return self.mark.offset;
        }
        self.warnings.push(format!(
            "{} has lost settled records: it is {length} bytes long and was {} when last synced",
            volume.path.display(),
            self.mark.offset
        ));
        0
    }

    /// No record but perhaps a warcinfo ever came to be.
    fn remove_empty(&mut self, volume: &VolumeFileName, length: u64) -> Result<(), StoreError> {
        if length > 0 {
            let saved = self.save_tail(volume, 0)?;
            self.cuts.push(Cut { volume: volume.number, at: 0, bytes: length, saved });
        }
        let removed = self.disk.remove(&volume.path);
        removed.map_err(|e| StoreError::io("remove", &volume.path, e))?;
        self.sync_folder(&volume.path)
    }

    /// Keeps a copy of what is about to be cut if there may be something in it.
    fn save_tail(
        &mut self,
        volume: &VolumeFileName,
        at: u64,
    ) -> Result<Option<PathBuf>, StoreError> {
        let path = &volume.path;
        let settled = self.settled_from(volume, at);
        let read = |e| StoreError::io("read", path, e);
        let worth = settled > 0
            || whole_record_after(volume, at).map_err(read)?
            || has_lost_beginning(volume, at).map_err(read)?;
        if !worth {
            return Ok(None);
        }
        let mut name = final_path(path).into_os_string();
        name.push(format!(".damaged-{at}"));
        let saved = PathBuf::from(name);
        copy_tail(path, at, &saved).map_err(|e| StoreError::io("write", &saved, e))?;
        let damage = match self.is_unreadable(volume)? {
            true => self.unreadable(volume)?,
            false => format!(
                "{} is damaged at {at} ({settled} settled records lie behind it)",
                path.display()
            ),
        };
        self.warnings.push(format!("{damage}; the rest is kept in {}", saved.display()));
        Ok(Some(saved))
    }

    /// Whether nothing in the volume can be read, for its dictionary is damaged.
    fn is_unreadable(&self, volume: &VolumeFileName) -> Result<bool, StoreError> {
        let lost = || Ok(has_lost_beginning(volume, 0)? && !has_readable(volume)?);
        lost().map_err(|e| StoreError::io("read", &volume.path, e))
    }

    /// Says so, with what was settled of it: all below the mark, and some above it.
    fn unreadable(&self, volume: &VolumeFileName) -> Result<String, StoreError> {
        let path = &volume.path;
        let end = match volume.number.cmp(&self.mark.volume) {
            Ordering::Less => u64::MAX,
            Ordering::Equal => self.mark.offset,
            Ordering::Greater => 0,
        };
        let frames = count_frames(path, end).map_err(|e| StoreError::io("read", path, e))?;
        // A request before each, and before all a warcinfo, which may be damaged as well.
        let settled = frames / 2 + self.settled_from(volume, 0);
        Ok(format!(
            "nothing in {} can be read, for its dictionary is damaged ({settled} settled records lie in it)",
            path.display()
        ))
    }

    /// Settled records from `at` on, of those above the mark.
    fn settled_from(&self, volume: &VolumeFileName, at: u64) -> u64 {
        let is_there = |&&(number, offset): &&(u32, u64)| number == volume.number && offset >= at;
        self.mark.above.iter().filter(is_there).count() as u64
    }

    fn sync_folder(&self, file: &Path) -> Result<(), StoreError> {
        let folder = file.parent().unwrap_or(file);
        self.disk.sync_folder(folder).map_err(|e| StoreError::io("sync", folder, e))
    }
}

impl Adoption {
    /// The next record that is not settled. The ledger learns of it before the caller does.
    fn advance(&mut self) -> Result<Option<Adopted>, StoreError> {
        loop {
            let Some((volume, pairs)) = self.current.as_mut() else {
                if self.open_next()? {
                    continue;
                }
                self.ledger().adopted_all();
                return Ok(None);
            };
            let number = volume.number;
            let read = pairs.next();
            let end = pairs.whole_to();
            let path = volume.path.clone();
            match read {
                None => self.current = None,
                Some(Ok(pair)) => {
                    let place = (number, pair.response.offset);
                    let mut ledger = lock(&self.ledger);
                    if ledger.was_settled(place) {
                        ledger.adopted_to((number, end));
                        continue;
                    }
                    let adopted = Adopted::from_pair(number, &pair);
                    if let Ok(adopted) = &adopted {
                        ledger.appended(adopted.location, pair.start());
                    }
                    ledger.adopted_to((number, end));
                    return adopted
                        .map(Some)
                        .map_err(|detail| StoreError::Corrupt { path, detail });
                }
                Some(Err(error)) => {
                    self.current = None;
                    return Err(read_error(path, error));
                }
            }
        }
    }

    fn open_next(&mut self) -> Result<bool, StoreError> {
        let Some(volume) = self.todo.pop_front() else { return Ok(false) };
        let at_mark = volume.number == self.mark.volume;
        let start = if at_mark { self.mark.offset } else { 0 };
        let reader = reader_at(&volume.path, start);
        let reader = reader.map_err(|e| StoreError::io("read", &volume.path, e))?;
        self.current = Some((volume, Pairs::of(reader, start)));
        Ok(true)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }
}

impl Iterator for Adoption {
    type Item = Result<Adopted, StoreError>;

    fn next(&mut self) -> Option<Result<Adopted, StoreError>> {
        self.advance().transpose()
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How far the volume is whole, and how many records it has from `start` on.
fn scan(path: &Path, start: u64) -> Result<(u64, u64), StoreError> {
    let io = |e| StoreError::io("read", path, e);
    let mut pairs = Pairs::of(reader_at(path, start).map_err(io)?, start);
    loop {
        match pairs.next() {
            Some(Ok(_)) => {}
            // A disk that cannot be read is no reason to cut.
            Some(Err(ReadError::Io(e))) => return Err(io(e)),
            Some(Err(_)) | None => return Ok((pairs.whole_to(), pairs.records())),
        }
    }
}

/// A torn record of stored data may hold many beginnings that lead nowhere.
const TRIES_MAX: usize = 1_000;

/// Whether a whole response or revisit lies somewhere behind a torn place. The member at `at` itself is
/// not meant: a request whose response is missing is whole too, and worth nothing.
fn whole_record_after(volume: &VolumeFileName, at: u64) -> io::Result<bool> {
    for beginning in beginnings(volume, at)?.take(TRIES_MAX) {
        if is_response_at(&volume.path, beginning?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether more than one record lies behind `at` in a volume whose beginning cannot be read. Without the
/// dictionary that stood there nobody can say what they are.
fn has_lost_beginning(volume: &VolumeFileName, at: u64) -> io::Result<bool> {
    if volume.compression == Compression::Gzip {
        return Ok(false);
    }
    let first = reader_at(&volume.path, 0)?.next();
    let lost = matches!(first, Some(Err(ReadError::Torn { .. } | ReadError::Damaged { .. })));
    Ok(lost && beginnings(volume, at)?.nth(1).is_some())
}

/// Whether any record of the volume can be read.
fn has_readable(volume: &VolumeFileName) -> io::Result<bool> {
    for beginning in beginnings(volume, 0)?.take(TRIES_MAX) {
        if matches!(reader_at(&volume.path, beginning?)?.next(), Some(Ok(_))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where from `at` on something begins as a member or frame does.
fn beginnings(
    volume: &VolumeFileName,
    at: u64,
) -> io::Result<impl Iterator<Item = io::Result<u64>>> {
    let magic = volume.compression.magic();
    let mut file = BufReader::with_capacity(1 << 20, File::open(&volume.path)?);
    file.seek(SeekFrom::Start(at))?;
    let mut window = VecDeque::with_capacity(magic.len());
    Ok((at + 1..).zip(file.bytes()).filter_map(move |(behind, byte)| {
        if window.len() == magic.len() {
            window.pop_front();
        }
        match byte {
            Ok(byte) => window.push_back(byte),
            Err(e) => return Some(Err(e)),
        }
        window.iter().eq(magic).then(|| Ok(behind - magic.len() as u64))
    }))
}

fn is_response_at(path: &Path, offset: u64) -> io::Result<bool> {
    let first = reader_at(path, offset)?.next();
    Ok(matches!(first, Some(Ok(record)) if matches!(record.kind(), "response" | "revisit")))
}

fn copy_tail(from: &Path, at: u64, to: &Path) -> io::Result<()> {
    let mut file = File::open(from)?;
    file.seek(SeekFrom::Start(at))?;
    let mut copy = File::create(to)?;
    io::copy(&mut file, &mut copy)?;
    copy.sync_all()
}

fn read_error(path: PathBuf, error: ReadError) -> StoreError {
    match error {
        ReadError::Io(e) => StoreError::io("read", path, e),
        damage => StoreError::Corrupt { path, detail: damage.to_string() },
    }
}
