//! `WarcArchive`: the [`Archive`] that writes WARC volumes.
//!
//! Locks: `syncing` before `state` before the ledger. `state` covers a copy into the write buffer and
//! now and then the writing of a block, never a sync. `syncing` is held from the moment a sync begins
//! until its outcome is known to `state`: the kernel reports a lost page to one caller only, so no two
//! syncs of a volume may run beside each other, and none may return before a failed one has poisoned
//! the archive. Packing and training a dictionary are done under no lock: when the volume has changed
//! meanwhile, the entry is packed again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::{
    Archive, ArchiveEntry, Exchange, Mark, RecordId, RecordLocation, StoreError, Timestamp,
};

use super::{
    compression::Compression,
    disk::{Disk, RealDisk, is_full},
    encode::{self, Packed},
    ids::RecordIds,
    index::{self, Entry, Identity},
    kept::KeptVolumes,
    ledger::Ledger,
    names::{self, Volumes},
    options::{Register, WarcOptions},
    pairs::Pair,
    press::Press,
    rebuild::Adopted,
    recover::{self, Recovery},
    train::{BYTES_WANTED, PAIRS_WANTED, train},
    verify::verify_record,
    volume::{Volume, WriteTrouble},
};
use crate::in_place::is_gone;

pub struct WarcArchive {
    /// Where volumes are written: the first that can be is used.
    pub(super) folders: Vec<PathBuf>,
    options: WarcOptions,
    pub(super) disk: Arc<dyn Disk>,
    syncing: Mutex<()>,
    state: Mutex<State>,
    ledger: Arc<Mutex<Ledger>>,
    ids: RecordIds,
    kept: KeptVolumes,
    pub(super) register: Option<Arc<dyn Register>>,
    pub(super) teller: Option<Teller>,
}

/// Shown to people while the crawl runs.
pub type Teller = Box<dyn Fn(&str) + Send + Sync>;

pub(super) struct State {
    /// Begun by the first append that needs it, so that no run leaves an empty volume behind.
    pub(super) volume: Option<Volume>,
    /// The folder in use, of those that volumes are written to.
    pub(super) folder: usize,
    next_number: u32,
    /// How the records of the volume are packed, or of the next one while there is none.
    press: Arc<Press>,
    /// Trained meanwhile; for the next volume.
    next_press: Option<Arc<Press>>,
    /// The volume that was learned from last, or is just being.
    learned_from: u32,
    poisoned: Option<String>,
}

enum Placed {
    At(RecordLocation),
    /// The same, and now the volume is worth learning from.
    AndLearn(RecordLocation),
    /// The volume of this number has no room for the pair.
    VolumeFull(u32),
    /// The volume packs otherwise.
    PackAnew,
}

impl WarcArchive {
    /// Opens the folder of volumes, making it if needed, and recovers from a crash: volumes left open
    /// lose their torn tail and are sealed; whole records past `mark` are offered for adoption. The
    /// archive can be written while adoption goes on.
    pub fn open(
        folder: &Path,
        options: WarcOptions,
        mark: Mark,
    ) -> Result<(WarcArchive, Recovery), StoreError> {
        WarcArchive::open_on(Arc::new(RealDisk), folder, options, mark)
    }

    /// The same with several folders: new volumes are written to the first of `folders` that can be written, and
    /// those of `volumes` are looked through for what a crash left. Folders are not made: one that is missing may be
    /// a disk that is not mounted.
    pub fn open_in(
        volumes: &Volumes,
        folders: Vec<PathBuf>,
        options: WarcOptions,
        mark: Mark,
    ) -> Result<(WarcArchive, Recovery), StoreError> {
        WarcArchive::open_on_all(Arc::new(RealDisk), volumes, folders, options, mark)
    }

    pub(super) fn open_on(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: WarcOptions,
        mark: Mark,
    ) -> Result<(WarcArchive, Recovery), StoreError> {
        fs::create_dir_all(folder).map_err(|e| StoreError::io("create", folder, e))?;
        let volumes = Volumes::new(folder);
        WarcArchive::open_on_all(disk, &volumes, vec![folder.to_owned()], options, mark)
    }

    pub(super) fn open_on_all(
        disk: Arc<dyn Disk>,
        volumes: &Volumes,
        folders: Vec<PathBuf>,
        options: WarcOptions,
        mark: Mark,
    ) -> Result<(WarcArchive, Recovery), StoreError> {
        let first = folders.iter().position(|folder| folder.is_dir());
        let ledger = Arc::new(Mutex::new(Ledger::resume(&mark)));
        let (recovery, next_number) = recover::recover(&*disk, volumes, &mark, ledger.clone())?;
        let press = first_press(volumes, options.compression)?;
        let (volume, next_press, poisoned) = (None, None, None);
        let folder = first.unwrap_or(0);
        let learned_from = 0;
        let state =
            State { volume, folder, next_number, press, next_press, learned_from, poisoned };
        let kept = KeptVolumes::of(volumes.clone().and_in(folders.clone()), next_number)?;
        let archive = WarcArchive {
            folders,
            options,
            disk,
            syncing: Mutex::new(()),
            state: Mutex::new(state),
            ledger,
            ids: RecordIds::from_system(),
            kept,
            register: None,
            teller: None,
        };
        Ok((archive, recovery))
    }

    /// Numbers come from there from now on.
    #[must_use]
    pub fn registered(mut self, register: Arc<dyn Register>) -> WarcArchive {
        self.register = Some(register);
        self
    }

    /// Says to `teller` what people should know while it runs.
    #[must_use]
    pub fn telling(mut self, teller: Teller) -> WarcArchive {
        self.teller = Some(teller);
        self
    }

    /// Packs so from the next volume on.
    #[cfg(test)]
    pub(crate) fn pack_with(&self, press: Press) {
        self.locked().press = Arc::new(press);
    }

    /// A new id for the response or revisit of an entry.
    pub fn record_id(&self) -> RecordId {
        self.ids.make()
    }

    fn place(
        &self,
        press: &Arc<Press>,
        packed: &Packed<'_>,
        entry: &ArchiveEntry<'_>,
    ) -> Result<Placed, StoreError> {
        let now = entry.exchange.started;
        let mut state = self.state()?;
        if state.volume.is_none() {
            let volume = self.begin_volume(&mut state, now)?;
            state.volume = Some(volume);
        }
        if !Arc::ptr_eq(press, &state.press) {
            return Ok(Placed::PackAnew);
        }
        let ends = state.ends_early();
        let volume = state.volume.as_mut().expect("a volume was begun just above");
        if ends || volume.is_full_for(packed.bytes.len(), self.options.volume_bytes_max) {
            return Ok(Placed::VolumeFull(volume.number));
        }
        let length = u32::try_from(packed.bytes.len() - packed.response_at).ok();
        // What is longer could be written, but would not be read again.
        let bytes_max = press.plain_bytes_max();
        let length = length.filter(|_| packed.plain_bytes <= bytes_max).ok_or_else(|| {
            StoreError::io("archive a record over 4 GB in", volume.path(), too_large())
        })?;
        let (number, path) = (volume.number, volume.path().to_owned());
        match volume.push(packed.bytes) {
            Ok(start) => {
                let offset = start + packed.response_at as u64;
                let location = RecordLocation { volume: number, offset, length };
                self.ledger().appended(location, start);
                for record in Entry::of_pair(entry, start, packed) {
                    volume.note(&record);
                }
                volume.met(now);
                let learn = state.begin_lesson();
                Ok(if learn { Placed::AndLearn(location) } else { Placed::At(location) })
            }
            Err(trouble) if self.move_on(&mut state, &trouble.to_string()) => Ok(Placed::PackAnew),
            Err(trouble) => Err(state.trouble("write", &path, trouble)),
        }
    }

    fn begin_volume(&self, state: &mut State, now: Timestamp) -> Result<Volume, StoreError> {
        if let Some(next) = state.next_press.take() {
            state.press = next;
        }
        let number = self.next_number(state)?;
        // Never tried twice, whatever becomes of it: a number stands for one file for ever.
        state.next_number = number + 1;
        let compression = state.press.compression();
        let name = names::sealed_name(&self.options.prefix, number, compression);
        let (path, file) = self.create_file(state, number, &name)?;
        let head = encode::pack_head(&state.press, &self.options, &name, self.ids.make(), now);
        let info = Entry::of_info(&state.press, head.len(), now);
        Ok(Volume::new(number, path, file, &head, &info))
    }

    fn next_number(&self, state: &State) -> Result<u32, StoreError> {
        let Some(register) = &self.register else { return Ok(state.next_number) };
        let (prefix, compression) = (&self.options.prefix, state.press.compression());
        let name = |number| names::sealed_name(prefix, number, compression);
        register.begin(state.next_number, &self.folders[state.folder], &name)
    }

    /// Trains a dictionary for the next volume on what is written of this one. Nobody waits for it but the
    /// thread that does it, and if nothing comes of it there is no dictionary.
    fn learn(&self, number: u32) {
        let volume = Volumes::in_all(&self.folders).find(number).ok().flatten();
        if let Some(dictionary) = volume.and_then(|volume| train(&volume)) {
            self.locked().next_press = Some(Arc::new(Press::Zstd(Some(dictionary))));
        }
    }

    /// Seals the open volume, if it is still the one meant (`None`: whichever it is). Others may begin
    /// the next volume meanwhile; `sync` waits.
    fn seal_volume(&self, meant: Option<u32>) -> Result<(), StoreError> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(volume) = self.take_written(meant)? else { return Ok(()) };
        let path = &volume.path().to_owned();
        let result = volume.file.sync().map_err(|e| ("sync", e));
        let result = result.and_then(|()| {
            let renamed = self.disk.rename(path, &names::final_path(path));
            renamed.map_err(|e| ("rename", e))
        });
        let result = result.and_then(|()| {
            self.disk.sync_folder(folder_of(path)).map_err(|e| ("sync folder of", e))
        });
        // Here a full disk is no exception: after a failed sync nobody knows what the file holds.
        result.map_err(|(doing, e)| self.locked().poison(doing, path, e))?;
        self.write_down(volume);
        Ok(())
    }

    /// What a volume is that was just sealed: in the register, and in an index beside it. Both can be made from the
    /// volume by who misses them.
    fn write_down(&self, volume: Volume) {
        let (number, last) = (volume.number, volume.last());
        let sealed = names::final_path(volume.path());
        let (writer, digest) = volume.into_index();
        let written = Identity::of(&sealed, digest).and_then(|identity| {
            let index = writer.finish(&identity);
            let written = index.map_or(Ok(()), |index| index::write_file(&sealed, &index));
            let registered = self.register.as_ref().map(|to| to.sealed(number, &identity, last));
            written.and(registered.unwrap_or(Ok(())).map_err(io::Error::other))
        });
        if let Err(error) = written {
            tracing::warn!(volume = %sealed.display(), %error, "its index or row could not be written");
        }
    }

    /// Takes the volume out when all its bytes could be written.
    fn take_written(&self, meant: Option<u32>) -> Result<Option<Volume>, StoreError> {
        let mut state = self.state()?;
        let Some(volume) = state.volume.as_ref() else { return Ok(None) };
        if meant.is_some_and(|number| number != volume.number) {
            return Ok(None);
        }
        self.flush_volume(&mut state)?;
        Ok(state.volume.take())
    }

    /// The state of an archive that may still be written.
    fn state(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.locked();
        match &state.poisoned {
            Some(detail) => Err(StoreError::Poisoned { detail: detail.clone() }),
            None => Ok(state),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Archive for WarcArchive {
    fn append(&self, entry: &ArchiveEntry<'_>) -> Result<RecordLocation, StoreError> {
        loop {
            let press = self.state()?.press.clone();
            let place = |packed: Packed<'_>| self.place(&press, &packed, entry);
            match encode::pack(&press, entry, place)? {
                Placed::At(location) => return Ok(location),
                Placed::AndLearn(location) => {
                    self.learn(location.volume);
                    return Ok(location);
                }
                Placed::VolumeFull(number) => self.seal_volume(Some(number))?,
                Placed::PackAnew => {}
            }
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
        let mut state = self.state()?;
        // While the disk is full, `sync` is the one that tries again.
        match &state.volume {
            Some(volume) if !volume.is_stuck() => self.flush_volume(&mut state),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> Result<(), StoreError> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut state = self.state()?;
            self.flush_volume(&mut state)?;
            let Some(volume) = state.volume.as_ref() else { return Ok(()) };
            let (number, path, file) =
                (volume.number, volume.path().to_owned(), volume.file.clone());
            let Some(length) = volume.unsynced() else { return Ok(()) };
            drop(state);
            let synced = file.sync();
            let mut state = self.locked();
            let volume = state.volume.as_mut().filter(|volume| volume.number == number);
            let has_moved = volume.as_ref().is_some_and(|volume| volume.path() != path);
            match synced {
                // What was synced is a file that was left meanwhile.
                _ if has_moved => {}
                Ok(()) => {
                    volume.into_iter().for_each(|volume| volume.synced_to(length));
                    return Ok(());
                }
                // Nobody knows what the file holds: what is read of it is compared with what was written.
                Err(e) if self.move_on(&mut state, &format!("cannot sync ({e})")) => {}
                Err(e) => return Err(state.poison("sync", &path, e)),
            }
        }
    }

    fn settled(&self, location: RecordLocation) {
        self.ledger().settled(location);
    }

    fn mark(&self) -> Mark {
        self.ledger().mark()
    }

    fn holds(&self, location: RecordLocation) -> bool {
        self.kept.holds(location)
    }

    fn exchange(&self, location: RecordLocation) -> Result<Option<Exchange>, StoreError> {
        self.flush()?;
        let response = match self.kept.volumes.read_at(location) {
            Ok(record) if verify_record(&record) => record,
            Ok(_) | Err(StoreError::Corrupt { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let read = Adopted::from_pair(location.volume, &Pair { request: None, response });
        Ok(read.ok().map(|adopted| adopted.exchange))
    }

    fn look(&self) -> Result<(), StoreError> {
        let state = self.locked();
        if let Some(volume) = &state.volume
            && fs::symlink_metadata(volume.path()).is_err_and(|e| is_gone(&e))
        {
            let (path, how) = (volume.path().to_owned(), "was deleted");
            return Err(StoreError::VolumesLost { path, how });
        }
        let begun = state.next_number;
        drop(state);
        self.kept.look(begun)
    }

    fn seal(&self) -> Result<(), StoreError> {
        self.seal_volume(None)
    }
}

impl State {
    /// A volume without a dictionary ends when one is there, so that what follows profits from it.
    fn ends_early(&self) -> bool {
        let begun = self.volume.as_ref().is_some_and(|volume| volume.pairs() > 0);
        begun && self.next_press.is_some() && self.press.dictionary().is_none()
    }

    /// Whether this is the moment to learn from the volume: once for each.
    fn begin_lesson(&mut self) -> bool {
        let Some(volume) = &self.volume else { return false };
        let ripe = volume.pairs() >= PAIRS_WANTED || volume.end() >= BYTES_WANTED;
        let learns = self.press.compression() == Compression::Zstd;
        if !ripe || !learns || self.learned_from == volume.number {
            return false;
        }
        self.learned_from = volume.number;
        true
    }

    /// A full disk passes; anything else ends all writing.
    pub(super) fn trouble(
        &mut self,
        doing: &'static str,
        path: &Path,
        trouble: WriteTrouble,
    ) -> StoreError {
        match trouble {
            WriteTrouble::Full => StoreError::DiskFull { path: path.to_owned() },
            WriteTrouble::Failed(e) => self.poison(doing, path, e),
        }
    }

    fn poison(&mut self, doing: &'static str, path: &Path, e: io::Error) -> StoreError {
        let detail = format!("cannot {doing} {}: {e}", path.display());
        self.poisoned.get_or_insert(detail);
        StoreError::Io { doing, path: path.to_owned(), source: e }
    }
}

impl From<io::Error> for WriteTrouble {
    fn from(error: io::Error) -> WriteTrouble {
        if is_full(&error) { WriteTrouble::Full } else { WriteTrouble::Failed(error) }
    }
}

/// With the dictionary of the last volumes, or one trained on them: at the start nobody waits yet.
fn first_press(volumes: &Volumes, compression: Compression) -> Result<Arc<Press>, StoreError> {
    /// A short run may have left one that is too small to learn from.
    const LOOKED_AT: usize = 3;
    let none = Arc::new(Press::new(compression));
    if compression == Compression::Gzip {
        return Ok(none);
    }
    let volumes = volumes.list()?;
    let pressed = volumes.iter().rev().take(LOOKED_AT).find_map(|volume| {
        let press = Press::of(volume).ok()?;
        // Where nobody knows which pages are in a dictionary, it must not spread.
        if !press.pages().is_empty() {
            return Some(press);
        }
        Some(Arc::new(Press::Zstd(Some(train(volume)?))))
    });
    Ok(pressed.unwrap_or(none))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn too_large() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}
