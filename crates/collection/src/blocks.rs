//! What a collection keeps away from: the list, and long changes of it.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
};

use config::failure::cannot_read;
use model::Timestamp;
use seeder::{Block, LineReader, SeedError, UrlForm};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    control::{COMMAND_BYTES_MAX, Command, Outcome},
};

use crate::{
    Error,
    control::{Control, Sending, block_form, read_block},
    lines::{BadLine, NAMED_MAX},
};

/// Patterns handed over at a time: a quarter of what a command may hold, and a short transaction.
const BATCH_BYTES: usize = COMMAND_BYTES_MAX / 4;

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockRow {
    pub pattern: String,
    /// The user's words, or nothing.
    pub reason: String,
    #[serde(serialize_with = "model::iso::time")]
    pub created: Timestamp,
}

/// Every block, by pattern: a list can have a million, so one at a time.
pub fn each(collection: &Collection, mut take: impl FnMut(BlockRow)) -> Result<(), Error> {
    let census = Census::open(collection)?;
    census.each_block(|entry| {
        let store::blocks::BlockEntry { pattern, reason, created } = entry;
        take(BlockRow { pattern, reason, created });
    })?;
    Ok(())
}

/// What became of a change of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlocksChanged {
    /// Patterns that were read.
    pub taken: u64,
    pub added: u64,
    pub removed: u64,
    /// Pages that are judged again, because a block was removed.
    pub pages: u64,
    /// A running crawl has not answered yet: the other figures count too few.
    pub pending: bool,
    /// Lines that are no blocks.
    pub bad: u64,
    /// The first of them.
    pub bad_lines: Vec<BadLine>,
}

/// Reads patterns and hands them on in batches, so that a list of any length takes little memory.
pub struct Blocking {
    folder: PathBuf,
    form: UrlForm,
    reason: String,
    remove: bool,
    sending: Option<Sending>,
    batch: Vec<String>,
    batch_bytes: usize,
    /// The first that was taken.
    first: String,
    counts: BlocksChanged,
}

impl Blocking {
    /// Onto the list of this collection (made if need be), or, to `remove`, from it.
    pub fn new(folder: &Path, reason: &str, remove: bool) -> Result<Blocking, Error> {
        if remove {
            Collection::open(folder)?;
        }
        Ok(Blocking {
            folder: folder.to_owned(),
            form: block_form(folder)?,
            reason: reason.to_owned(),
            remove,
            sending: None,
            batch: Vec::new(),
            batch_bytes: 0,
            first: String::new(),
            counts: BlocksChanged::default(),
        })
    }

    /// All of these, or, where one of them is none, nothing.
    pub fn take(&mut self, texts: &[String]) -> Result<(), Error> {
        let read = texts.iter().map(|text| read_block(text, &self.form));
        for pattern in read.collect::<Result<Vec<String>, Error>>()? {
            self.add(pattern)?;
        }
        Ok(())
    }

    pub fn read(&mut self, lines: impl BufRead, name: &str) -> Result<(), Error> {
        for line in LineReader::reading(lines, Block::parse) {
            match line {
                Ok(block) => self.add(block.with_form(&self.form).to_string())?,
                Err(SeedError::Io { source, .. }) => return Err(cannot_read(name, &source).into()),
                Err(bad) => {
                    self.counts.bad += 1;
                    if self.counts.bad_lines.len() < NAMED_MAX {
                        self.counts.bad_lines.push(BadLine::of(name, &bad));
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands over the rest; what became of all of them. Where nothing of what was to be removed is there, also that as an
    /// error.
    pub fn finish(mut self) -> Result<(BlocksChanged, Option<Error>), Error> {
        self.hand_over()?;
        if let Some(sending) = self.sending.take() {
            let (outcome, pending) = sending.finish()?;
            self.counts.pending = pending;
            if let Some(Outcome::Blocks { added, removed, pages }) = outcome {
                self.counts = BlocksChanged { added, removed, pages, ..self.counts };
            }
        }
        let BlocksChanged { taken, removed, pending, .. } = self.counts;
        let none = self.remove && taken > 0 && removed == 0 && !pending;
        let unknown = none.then_some(Error::BlockUnknown { first: self.first, count: taken });
        Ok((self.counts, unknown))
    }

    fn add(&mut self, pattern: String) -> Result<(), Error> {
        if self.counts.taken == 0 {
            self.first.clone_from(&pattern);
        }
        self.counts.taken += 1;
        self.batch_bytes += pattern.len();
        self.batch.push(pattern);
        if self.batch_bytes >= BATCH_BYTES { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        self.batch_bytes = 0;
        let patterns = std::mem::take(&mut self.batch);
        if patterns.is_empty() {
            return Ok(());
        }
        let sending = match &mut self.sending {
            Some(sending) => sending,
            none => {
                let collection = Collection::open_or_create(&self.folder)?;
                none.insert(Sending::new(Control::open(&collection)))
            }
        };
        let (reason, remove) = (self.reason.clone(), self.remove);
        sending.send(Command::Block { patterns, reason, remove })
    }
}
