//! Versions written as files, for programs that know nothing else: `DATE_TIME/host/path`.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use config::failure::cannot_write;
use model::{CrawlUrl, Fingerprint, Stopped, StoreError, Timestamp};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    directory::{Directory, KeptVersion, Span},
    history::Canonical,
};

use crate::{
    Error,
    archived::{Archived, Kept, gathered, stopped_word},
};

/// Versions asked for at a time: so that no read of the database is long.
const PIECE: u32 = 500;
/// Versions of one kind that are named: enough to see what is wrong.
const EXAMPLES_MAX: usize = 20;

#[derive(Clone, Debug)]
pub struct ExportDirectory {
    /// Made when it is not there.
    pub out: PathBuf,
    pub span: Span,
    /// A file for every visit, also for those that saw nothing new.
    pub every_visit: bool,
    /// Also pages that name another, similar one as their canonical page.
    pub non_canonical: bool,
    /// Also pages that ask not to be shown from an archive.
    pub noarchive: bool,
}

/// What was written, and what was not: nobody takes a file that is missing, or not whole, for the
/// page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExportedDirectory {
    pub folder: PathBuf,
    pub versions: u64,
    pub files: u64,
    pub bytes: u64,
    /// Versions left out because their page names another as its canonical one.
    pub non_canonical: u64,
    /// Versions left out because they ask not to be shown from an archive.
    pub noarchive: u64,
    /// Versions left out because their record cannot be read.
    pub unreadable: Omitted,
    /// Versions left out because they were archived without content.
    pub without_content: Omitted,
    /// Versions of which only the beginning was archived and written.
    pub cut: Omitted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Omitted {
    pub versions: u64,
    /// The first of them.
    pub examples: Vec<OmittedVersion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OmittedVersion {
    pub url: String,
    /// Why the archive does not have all of it.
    #[serde(serialize_with = "stopped_word")]
    pub stopped: Option<Stopped>,
    /// Why it cannot be read.
    pub error: Option<String>,
}

impl Omitted {
    fn add(&mut self, url: &CrawlUrl, stopped: Option<Stopped>, error: Option<String>) {
        self.versions += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(OmittedVersion { url: url.to_string(), stopped, error });
        }
    }
}

/// `progress` gets the number of files so far.
pub fn directory(
    collection: &Collection,
    census: &Census,
    archived: &Archived<'_>,
    wanted: &ExportDirectory,
    progress: &mut dyn FnMut(u64),
) -> Result<ExportedDirectory, Error> {
    outside(collection, &wanted.out)?;
    let directory = Directory::new(wanted.out.clone(), census.sittings()?);
    let done = ExportedDirectory { folder: wanted.out.clone(), ..ExportedDirectory::default() };
    let folds = Folds::default();
    let mut export = Export { census, archived, wanted, directory, folds, done };
    let mut after = 0;
    loop {
        let piece = census.kept_versions(after, &wanted.span, PIECE)?;
        let Some(last) = piece.last() else { break };
        after = last.seq;
        for version in &piece {
            export.version(version)?;
        }
        progress(export.done.files);
    }
    Ok(export.done)
}

struct Export<'a> {
    census: &'a Census,
    archived: &'a Archived<'a>,
    wanted: &'a ExportDirectory,
    directory: Directory,
    folds: Folds,
    done: ExportedDirectory,
}

impl Export<'_> {
    fn version(&mut self, version: &KeptVersion) -> Result<(), Error> {
        if version.noarchive && !self.wanted.noarchive {
            self.done.noarchive += 1;
            return Ok(());
        }
        if !self.wanted.non_canonical && self.folds.is_folded(self.census, &version.url)? {
            self.done.non_canonical += 1;
            return Ok(());
        }
        let exchange = match self.archived.exchange(version.record) {
            Ok(exchange) => exchange,
            Err(error) => {
                self.done.unreadable.add(&version.url, None, Some(error.to_string()));
                return Ok(());
            }
        };
        // The newest version lets itself be shown; an older one may not.
        if !self.wanted.noarchive && gathered(&exchange).noarchive {
            self.done.noarchive += 1;
            return Ok(());
        }
        match Kept::of(&exchange) {
            Kept::Whole => {}
            Kept::Beginning => self.done.cut.add(&version.url, exchange.stopped, None),
            Kept::Nothing => {
                self.done.without_content.add(&version.url, exchange.stopped, None);
                return Ok(());
            }
        }
        self.write(version, &exchange.body)
    }

    fn write(&mut self, version: &KeptVersion, body: &[u8]) -> Result<(), Error> {
        let ExportDirectory { span, every_visit, .. } = self.wanted;
        self.done.versions += 1;
        for at in times(version, span, *every_visit) {
            let since = self.directory.since(at);
            let earlier = earlier(self.census, version, (since, at), *every_visit)?;
            self.directory.write_beside(&version.url, at, earlier, body).map_err(unwritten)?;
            self.done.files += 1;
            self.done.bytes += body.len() as u64;
        }
        Ok(())
    }
}

/// Files of pages among those of the collection would be taken for its own, or written over them.
fn outside(collection: &Collection, out: &Path) -> Result<(), Error> {
    let volumes = collection.archive()?;
    let (links, directory) = (collection.links(), collection.directory());
    let mut own = volumes.folders().iter().chain([&links, &directory]);
    let out_real = real(out);
    let inside =
        out_real == real(collection.dir()) || own.any(|folder| out_real.starts_with(real(folder)));
    match inside {
        false => Ok(()),
        true => Err(Error::InsideCollection { folder: out.to_owned() }),
    }
}

/// Where a path leads when all links are followed, also one whose end is not there yet.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut there = whole.as_path();
    loop {
        match (there.canonicalize(), there.parent()) {
            (Ok(mut real), _) => {
                // Of what is not there nothing is a link: names alone say where it will be.
                for part in whole.strip_prefix(there).unwrap_or(Path::new("")).components() {
                    match part {
                        Component::ParentDir => drop(real.pop()),
                        part => real.push(part),
                    }
                }
                return real;
            }
            (Err(_), Some(parent)) => there = parent,
            (Err(_), None) => return whole,
        }
    }
}

/// Pages that another stands for (their canonical one), as far as they were asked about.
#[derive(Default)]
struct Folds(HashMap<Fingerprint, bool>);

impl Folds {
    /// Versions of a page lie close to each other or far apart: what is remembered need not be
    /// much.
    const MAX: usize = 10_000;

    fn is_folded(&mut self, census: &Census, url: &CrawlUrl) -> Result<bool, Error> {
        if let Some(known) = self.0.get(&url.fingerprint()) {
            return Ok(*known);
        }
        let folded = matches!(census.canonical(url)?, Some(Canonical::Folded(_)));
        if self.0.len() >= Folds::MAX {
            self.0.clear();
        }
        self.0.insert(url.fingerprint(), folded);
        Ok(folded)
    }
}

/// The visits that get a file.
fn times(version: &KeptVersion, span: &Span, every: bool) -> Vec<Timestamp> {
    let inside = |at: &&Timestamp| {
        span.from.is_none_or(|from| **at >= from) && span.to.is_none_or(|to| **at <= to)
    };
    let mut seen: Vec<Timestamp> = version.times.iter().filter(inside).copied().collect();
    if !every {
        // Of a version that is older than the span: where it was seen first in it.
        seen.truncate(1);
    }
    seen
}

/// How many files of the page may come before the one of this time in its folder, which begins at
/// `since`: of older versions, and of this one. By history alone, so that an export of another span
/// names it the same.
fn earlier(
    census: &Census,
    version: &KeptVersion,
    (since, at): (Timestamp, Timestamp),
    every: bool,
) -> Result<usize, Error> {
    let older = census.seen_before(version, since)?;
    if !every {
        return Ok(older.len());
    }
    let own = version.times.iter().filter(|time| **time >= since && **time < at).count();
    Ok(older.iter().sum::<usize>() + own)
}

/// What is in the way is below the folder that was asked for, not in the collection.
fn unwritten(error: StoreError) -> Error {
    match error {
        StoreError::Io { path, source, .. } => cannot_write(&path, &source).into(),
        other => other.into(),
    }
}
