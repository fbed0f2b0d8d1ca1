//! Seeds on their way into a collection: read, judged, counted once, handed over in batches.
//!
//! Each batch is a command of its own ([`crate::control`]), so that neither a crawl nor this keeps the other waiting for
//! longer than a batch. Memory is a batch and the fingerprints of what came so far, up to [`SEEN_MAX`].

use std::{
    collections::{BTreeMap, HashSet},
    hash::RandomState,
    io::{self, BufRead},
    path::{Path, PathBuf},
};

use model::Fingerprint;
use seeder::{Seed, SeedError, SeedKind, read_seeds, unpacked};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    control::{Command, Outcome, RefusedSeed, SeedLine, SpiderChange},
};

use crate::{
    Error,
    control::{Control, SeedRules, Sending, check_spider},
    lines::{BadLine, NAMED_MAX},
};
use config::failure::cannot_read;

/// One transaction: some tenths of a second, the longest that a crawl waits to begin.
const BATCH: usize = 10_000;
/// Repetitions are told apart among this many seeds (some 40 MB); further apart they are counted twice,
/// and still taken once.
const SEEN_MAX: usize = 4_000_000;
/// Sites asked for in one short read of another collection.
const HOMES_AT_ONCE: u32 = 10_000;

/// What became of seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Seeded {
    /// Of this spider.
    pub spider: String,
    pub taken: u64,
    /// Of those taken, pages that the collection did not know.
    pub new: u64,
    pub repeated: u64,
    pub refused: u64,
    /// Lines that are no seeds.
    pub bad: u64,
    /// Sitemaps that a sitemap names, which are not fetched.
    pub other_sitemaps: u64,
    /// Lists that were too long and read only in part.
    pub cut: u64,
    /// A running crawl has not answered yet: `taken` may count some that it refuses, `new` counts too few.
    pub pending: bool,
    /// The first of those refused.
    pub refused_seeds: Vec<RefusedSeed>,
    /// The first of the bad lines.
    pub bad_lines: Vec<BadLine>,
}

pub struct Seeding {
    folder: PathBuf,
    rules: SeedRules,
    /// `None`: the first.
    spider: Option<String>,
    sending: Option<Sending>,
    batch: Vec<SeedLine>,
    seen: HashSet<Fingerprint, RandomState>,
    counts: Seeded,
}

impl Seeding {
    /// Into the collection of this folder, which is made when the first seed is taken.
    pub fn new(folder: &Path, spider: Option<&str>) -> Result<Seeding, Error> {
        let rules = SeedRules::of(folder, spider)?;
        let name = spider.unwrap_or("default").to_owned();
        Ok(Seeding {
            folder: folder.to_owned(),
            rules,
            spider: spider.map(str::to_owned),
            sending: None,
            batch: Vec::new(),
            seen: HashSet::default(),
            counts: Seeded { spider: name, ..Seeded::default() },
        })
    }

    /// How far it is.
    pub fn counts(&self) -> &Seeded {
        &self.counts
    }

    pub fn offer(&mut self, seed: &Seed) -> Result<(), Error> {
        let candidate = self.rules.in_form(seed);
        if self.seen.len() == SEEN_MAX {
            self.seen.clear();
        }
        if !self.seen.insert(candidate.url.fingerprint()) {
            self.counts.repeated += 1;
            return Ok(());
        }
        match self.rules.judge(&candidate) {
            Ok(line) => {
                self.counts.taken += 1;
                self.batch.push(line);
            }
            Err(refused) => self.refuse(refused),
        }
        if self.batch.len() >= BATCH { self.deliver() } else { Ok(()) }
    }

    /// A list; what it holds is found out from name and content where `kind` does not say it. `each` is called after
    /// every line.
    pub fn read(
        &mut self,
        kind: Option<SeedKind>,
        name: &str,
        packed: impl BufRead,
        mut each: impl FnMut(&Seeded),
    ) -> Result<(), Error> {
        let trouble = |error: io::Error| cannot_read(name, &error);
        let mut reader = unpacked(packed).map_err(trouble)?;
        let kind = match kind {
            Some(kind) => kind,
            None => SeedKind::detect(name, reader.fill_buf().map_err(trouble)?),
        };
        for seed in read_seeds(kind, name, reader) {
            match seed {
                Ok(seed) => self.offer(&seed)?,
                Err(SeedError::Io { line, source }) => {
                    self.deliver()?;
                    let (file, why) = (name.to_owned(), source.to_string());
                    return Err(Error::ListBroken { file, line, why, taken: self.counts.taken });
                }
                Err(error) => self.pass_over(name, &error),
            }
            each(&self.counts);
        }
        Ok(())
    }

    /// The home pages of another collection's sites (VN began its next crawl with those of the last).
    pub fn read_collection(
        &mut self,
        folder: &Path,
        mut each: impl FnMut(&Seeded),
    ) -> Result<(), Error> {
        if let (Ok(here), Ok(there)) = (self.folder.canonicalize(), folder.canonicalize())
            && here == there
        {
            return Err(Error::SameCollection { collection: folder.to_owned() });
        }
        let census = Census::open(&Collection::open(folder)?)?;
        let mut after = 0;
        while let (homes, Some(last)) = census.homes_after(after, HOMES_AT_ONCE)? {
            for home in homes {
                self.offer(&Seed::from(home))?;
                each(&self.counts);
            }
            after = last;
        }
        Ok(())
    }

    /// Hands over the rest; what became of all of them.
    pub fn finish(mut self) -> Result<Seeded, Error> {
        self.deliver()?;
        let Some(sending) = self.sending.take() else { return Ok(self.counts) };
        let (outcome, pending) = sending.finish()?;
        self.counts.pending = pending;
        if let Some(Outcome::Seeds { new, refused, reasons, .. }) = outcome {
            // By rules that only the running crawl has.
            self.counts.taken = self.counts.taken.saturating_sub(refused);
            self.counts.refused += refused;
            self.counts.new = new;
            let room = NAMED_MAX.saturating_sub(self.counts.refused_seeds.len());
            self.counts.refused_seeds.extend(reasons.into_iter().take(room));
        }
        Ok(self.counts)
    }

    fn refuse(&mut self, refused: RefusedSeed) {
        self.counts.refused += 1;
        if self.counts.refused_seeds.len() < NAMED_MAX {
            self.counts.refused_seeds.push(refused);
        }
    }

    /// Something in a list that is no seed.
    fn pass_over(&mut self, name: &str, error: &SeedError) {
        let counts = &mut self.counts;
        match error {
            SeedError::Elsewhere { .. } => counts.other_sitemaps += 1,
            SeedError::Cut { .. } => counts.cut += 1,
            SeedError::Bad { .. } | SeedError::Io { .. } => counts.bad += 1,
        }
        // That a file was cut must not drown in its bad lines.
        if counts.bad_lines.len() < NAMED_MAX || matches!(error, SeedError::Cut { .. }) {
            counts.bad_lines.push(BadLine::of(name, error));
        }
    }

    fn deliver(&mut self) -> Result<(), Error> {
        let seeds = std::mem::take(&mut self.batch);
        if seeds.is_empty() {
            return Ok(());
        }
        let sending = match &mut self.sending {
            Some(sending) => sending,
            none => {
                let collection = Collection::open_or_create(&self.folder)?;
                none.insert(Sending::new(Control::open(&collection)))
            }
        };
        let (urls, spider) = (Vec::new(), self.spider.clone());
        sending.send(Command::Seed { urls, seeds, spider })
    }
}

/// A new spider.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpiderAdded {
    #[serde(flatten)]
    pub outcome: Outcome,
    /// `null`: it was given none.
    pub seeds: Option<Seeded>,
}

/// A new spider with its seeds. Everything that was given is checked before the collection is touched.
pub fn add_spider(
    folder: &Path,
    name: &str,
    settings: BTreeMap<String, String>,
    seeds: &[Seed],
) -> Result<SpiderAdded, Error> {
    check_spider(folder, name, &settings)?;
    let control = Control::open(&Collection::open_or_create(folder)?);
    let change = SpiderChange::Add { settings };
    let outcome = control.apply(Command::Spider { name: name.to_owned(), change })?;
    if seeds.is_empty() || outcome == Outcome::Pending {
        return Ok(SpiderAdded { outcome, seeds: None });
    }
    let mut seeding = Seeding::new(folder, Some(name))?;
    for seed in seeds {
        seeding.offer(seed)?;
    }
    Ok(SpiderAdded { outcome, seeds: Some(seeding.finish()?) })
}
