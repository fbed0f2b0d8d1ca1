//! `block`: what to keep away from. A running crawl is told through its database and obeys within seconds;
//! otherwise the list is changed here and holds for whatever comes.

use std::{
    fmt::Write,
    fs::File,
    io::{self, BufRead, BufReader},
    path::PathBuf,
};

use harvester::clock::RealClock;
use model::{Clock, StoreError, Timestamp};
use seeder::{Block, LineReader, SeedError, UrlForm};
use serde_json::json;
use store::{
    blocks::BlockEntry,
    census::Census,
    collection::{Collection, CrawlLock},
    control::{self, Command, Outcome},
    frontier::{Lifted, SqliteFrontier},
};

use super::{Context, answer};
use crate::{cli::BlockArgs, terminal::print};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure, cannot_read},
    setup, times,
};
use model::printable;

/// Patterns handed over at a time: a quarter of what a command may hold, and a short transaction.
const BATCH_BYTES: usize = control::COMMAND_BYTES_MAX / 4;
/// Bad lines named; the rest is counted.
const BAD_SHOWN: usize = 20;
/// Of a listing, written at a time.
const LISTED_BYTES: usize = 64 << 10;

pub fn run(context: &Context, args: &BlockArgs) -> Result<Exit, Failure> {
    if args.list || (args.what.is_empty() && args.file.is_empty()) {
        return list(context);
    }
    let form = setup::rules(&context.config(Vec::new())?, &context.folder)?.form;
    // What was typed is read before anything is touched.
    let typed: Result<Vec<Block>, Failure> =
        args.what.iter().filter(|text| *text != "-").map(|text| read(text)).collect();
    let typed = typed?;
    let narrow: Vec<String> = typed.iter().filter_map(Block::narrowness).collect();
    let collection = match args.remove {
        true => Collection::open(&context.folder)?,
        false => Collection::open_or_create(&context.folder)?,
    };
    let mut intake = Intake::open(&collection, args, form)?;
    for block in typed {
        intake.take(block)?;
    }
    if args.what.iter().any(|text| text == "-") {
        intake.read(io::stdin().lock(), "standard input")?;
    }
    for path in &args.file {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
        intake.read(BufReader::new(file), &name)?;
    }
    intake.hand_over()?;
    let exit = intake.tell(context)?;
    if !args.remove {
        narrow.iter().for_each(|line| context.say(&printable(line)));
    }
    Ok(exit)
}

fn read(text: &str) -> Result<Block, Failure> {
    Block::parse(text).map_err(|why| {
        let advice = "see what can be blocked with: harvestman block --help";
        Failure::usage(format!("cannot block {text:?}: {why}"), advice)
    })
}

/// Reads patterns and hands them on in batches, so that a list of any length takes little memory.
struct Intake {
    way: Way,
    form: UrlForm,
    reason: String,
    remove: bool,
    batch: Vec<String>,
    batch_bytes: usize,
    taken: u64,
    /// The first that was taken.
    first: String,
    changed: u64,
    /// The running crawl has not said what it has done: `changed` counts too few.
    unanswered: bool,
    pages: u64,
    bad: Vec<String>,
    bad_count: u64,
}

/// Who changes the list.
enum Way {
    /// We do: no crawl can begin meanwhile.
    Direct(Box<SqliteFrontier>, CrawlLock),
    /// The running crawl does; its last command.
    Crawl(PathBuf, Option<i64>),
}

impl Intake {
    fn open(collection: &Collection, args: &BlockArgs, form: UrlForm) -> Result<Self, Failure> {
        let way = match collection.lock() {
            Ok(lock) => Way::Direct(SqliteFrontier::open(&collection.database())?.into(), lock),
            Err(StoreError::Busy { .. }) => Way::Crawl(collection.database(), None),
            Err(error) => return Err(error.into()),
        };
        Ok(Intake {
            way,
            form,
            reason: args.reason.clone().unwrap_or_default(),
            remove: args.remove,
            batch: Vec::new(),
            batch_bytes: 0,
            taken: 0,
            first: String::new(),
            changed: 0,
            unanswered: false,
            pages: 0,
            bad: Vec::new(),
            bad_count: 0,
        })
    }

    fn take(&mut self, block: Block) -> Result<(), Failure> {
        let pattern = block.with_form(&self.form).to_string();
        if self.taken == 0 {
            self.first.clone_from(&pattern);
        }
        self.taken += 1;
        self.batch_bytes += pattern.len();
        self.batch.push(pattern);
        if self.batch_bytes >= BATCH_BYTES { self.hand_over() } else { Ok(()) }
    }

    fn read(&mut self, lines: impl BufRead, name: &str) -> Result<(), Failure> {
        for line in LineReader::reading(lines, Block::parse) {
            match line {
                Ok(block) => self.take(block)?,
                Err(SeedError::Io { source, .. }) => {
                    return Err(cannot_read(name, &source));
                }
                Err(bad) => {
                    self.bad_count += 1;
                    if self.bad.len() < BAD_SHOWN {
                        self.bad.push(format!("{name}: {bad}"));
                    }
                }
            }
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Failure> {
        self.batch_bytes = 0;
        let patterns = std::mem::take(&mut self.batch);
        if patterns.is_empty() {
            return Ok(());
        }
        let now = RealClock::new().now();
        match &mut self.way {
            Way::Direct(frontier, _lock) if self.remove => {
                let Lifted { removed, pages } = frontier.unblock(&patterns, now)?;
                self.changed += removed;
                self.pages += pages;
            }
            Way::Direct(frontier, _lock) => {
                self.changed += frontier.block(&patterns, &self.reason, now)?;
            }
            Way::Crawl(database, last) => {
                let (reason, remove) = (self.reason.clone(), self.remove);
                let command = Command::Block { patterns, reason, remove };
                let id = control::request(database, &command, now)?;
                *last = Some(id);
                if remove {
                    match answer::wait(database, id)? {
                        Some(Outcome::Blocks { removed, pages, .. }) => {
                            self.changed += removed;
                            self.pages += pages;
                        }
                        _ => self.unanswered = true,
                    }
                }
            }
        }
        Ok(())
    }

    fn tell(&self, context: &Context) -> Result<Exit, Failure> {
        let (running, in_force) = match &self.way {
            Way::Direct(..) => (false, true),
            Way::Crawl(_, None) => (true, true),
            Way::Crawl(..) if self.remove => (true, !self.unanswered),
            Way::Crawl(database, Some(last)) => (true, answer::wait(database, *last)?.is_some()),
        };
        if context.json {
            let told = !running || (self.remove && in_force);
            let figures = told.then_some((self.changed, self.pages));
            let answer = json!({
                "taken": self.taken, "changed": figures.map(|(changed, _)| changed),
                "pages_judged_again": figures.map(|(_, pages)| pages), "running": running,
                "in_force": in_force, "bad": self.bad_count, "examples": self.bad,
            });
            print(&format!("{answer}\n"))?;
        } else {
            self.bad.iter().for_each(|line| context.say(&printable(line)));
            let more = self.bad_count - self.bad.len() as u64;
            if more > 0 {
                let are = if more == 1 { "is no block" } else { "are no blocks" };
                context.say(&format!("… and {} that {are}", some(more, "more line")));
            }
            if self.is_all_unknown() {
                return Err(self.unknown());
            }
            context.say(&self.sentence(running, in_force));
        }
        let nothing_read = self.taken == 0 && self.bad_count > 0;
        Ok(if nothing_read || self.is_all_unknown() { Exit::Usage } else { Exit::Done })
    }

    /// Nothing of what was to be removed is there.
    fn is_all_unknown(&self) -> bool {
        self.remove && self.taken > 0 && self.changed == 0 && !self.unanswered
    }

    fn unknown(&self) -> Failure {
        let first = printable(&self.first);
        let what = match self.taken {
            1 => format!("{first} is not on the list of blocks"),
            n => format!("none of these {} is on the list of blocks: {first} …", number(n)),
        };
        Failure::usage(what, "see what is on it with: harvestman block --list")
    }

    fn sentence(&self, running: bool, in_force: bool) -> String {
        let blocks = |n: u64, one: &str, more: &str| match n {
            1 => format!("1 block {one}"),
            n => format!("{} blocks {more}", number(n)),
        };
        let were = |n: u64, what: &str| match n {
            0 => String::new(),
            1 => format!(" (1 was {what})"),
            n => format!(" ({} were {what})", number(n)),
        };
        let (taken, changed) = (self.taken, self.changed);
        let others = taken - changed.min(taken);
        match (running, in_force, self.remove) {
            (true, true, false) => {
                let blocks = blocks(taken, "is in force", "are in force");
                format!("{blocks} in the running crawl")
            }
            (true, true, true) => {
                let unknown = were(others, "not on the list");
                let blocks = blocks(changed, "is lifted", "are lifted");
                format!("{blocks} in the running crawl{unknown}")
            }
            (true, false, _) => {
                let blocks = blocks(taken, "handed over", "handed over");
                format!("{blocks}; the running crawl takes that up when it can")
            }
            (false, _, false) => {
                let known = were(others, "on the list already");
                let added = blocks(changed, "added", "added");
                format!("{added}{known}; in force for every crawl from now on")
            }
            (false, _, true) => {
                let unknown = were(others, "not on the list");
                let removed = blocks(changed, "removed", "removed");
                format!("{removed}{unknown}; judged again: {}", some(self.pages, "page"))
            }
        }
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let mut listing =
        Listing { json: context.json, now: RealClock::new().now(), ..Listing::default() };
    census.each_block(|entry| listing.add(&entry))?;
    listing.finish(context)?;
    Ok(Exit::Done)
}

/// Printed a piece at a time: a list can have a million lines.
#[derive(Default)]
struct Listing {
    json: bool,
    now: Timestamp,
    text: String,
    any: bool,
    failure: Option<Failure>,
}

impl Listing {
    fn add(&mut self, entry: &BlockEntry) {
        let BlockEntry { pattern, reason, created } = entry;
        if self.json {
            let sign = if self.any { ",\n " } else { "[" };
            let row =
                json!({ "pattern": pattern, "reason": reason, "created": times::iso(*created) });
            let _ = write!(self.text, "{sign}{row}");
        } else {
            let (pattern, since) = (printable(pattern), times::ago(*created, self.now));
            let line = format!("{pattern:<44} {since:<12} {}", printable(reason));
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
        self.any = true;
        if self.text.len() > LISTED_BYTES && self.failure.is_none() {
            self.failure = print(&std::mem::take(&mut self.text)).err();
        }
    }

    fn finish(mut self, context: &Context) -> Result<(), Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        match (self.json, self.any) {
            (true, true) => self.text.push_str("]\n"),
            (true, false) => self.text.push_str("[]\n"),
            (false, true) => {}
            (false, false) => context.say("nothing is blocked"),
        }
        print(&self.text)
    }
}
