//! `block`: what to keep away from, for every crawl from now on and for the one that runs.

use std::{
    fmt::Write,
    fs::File,
    io::{self, BufReader},
};

use collection::blocks::{self, BlockRow, Blocking, BlocksChanged};
use harvester::clock::RealClock;
use model::{Clock, Timestamp, printable};
use seeder::Block;
use store::collection::Collection;

use super::{Context, answer};
use crate::{
    cli::BlockArgs,
    terminal::{print, print_json},
};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure, cannot_read},
    times,
};

/// Of a listing, written at a time.
const LISTED_BYTES: usize = 64 << 10;

pub fn run(context: &Context, args: &BlockArgs) -> Result<Exit, Failure> {
    if args.list || (args.what.is_empty() && args.file.is_empty()) {
        return list(context);
    }
    let reason = args.reason.as_deref().unwrap_or_default();
    let mut blocking = Blocking::new(&context.folder, reason, args.remove)?;
    // What was typed is read before anything is touched.
    let typed: Vec<String> = args.what.iter().filter(|text| *text != "-").cloned().collect();
    blocking.take(&typed)?;
    if args.what.iter().any(|text| text == "-") {
        blocking.read(io::stdin().lock(), "standard input")?;
    }
    for path in &args.file {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
        blocking.read(BufReader::new(file), &name)?;
    }
    let (changed, unknown) = blocking.finish()?;
    if context.json {
        print_json(&changed)?;
    } else {
        say_bad(context, &changed);
        if let Some(unknown) = unknown {
            return Err(unknown.into());
        }
        context.say(&sentence(&changed, args.remove));
        if !args.remove {
            say_narrow(context, &typed);
        }
    }
    let nothing_read = changed.taken == 0 && changed.bad > 0;
    let in_vain = args.remove && changed.removed == 0 && !changed.pending;
    Ok(if nothing_read || in_vain { Exit::Usage } else { Exit::Done })
}

/// A URL that looks like a folder blocks that URL alone.
fn say_narrow(context: &Context, typed: &[String]) {
    let blocks = typed.iter().filter_map(|text| Block::parse(text).ok());
    for line in blocks.filter_map(|block| block.narrowness()) {
        context.say(&printable(&line));
    }
}

fn say_bad(context: &Context, changed: &BlocksChanged) {
    for line in &changed.bad_lines {
        context.say(&printable(&format!("{}: line {}: {}", line.file, line.line, line.why)));
    }
    let more = changed.bad - changed.bad_lines.len() as u64;
    if more > 0 {
        let are = if more == 1 { "is no block" } else { "are no blocks" };
        context.say(&format!("… and {} that {are}", some(more, "more line")));
    }
}

fn sentence(changed: &BlocksChanged, remove: bool) -> String {
    let blocks = |n: u64, what: &str| match n {
        1 => format!("1 block {what}"),
        n => format!("{} blocks {what}", number(n)),
    };
    let were = |n: u64, what: &str| match n {
        0 => String::new(),
        1 => format!(" (1 was {what})"),
        n => format!(" ({} were {what})", number(n)),
    };
    let BlocksChanged { taken, added, removed, pages, pending, .. } = changed;
    if *pending {
        return format!("{}; {}", blocks(*taken, "handed over"), answer::PENDING);
    }
    match remove {
        false => {
            let known = were(taken - added.min(taken), "on the list already");
            format!("{}{known}; in force from now on", blocks(*added, "added"))
        }
        true => {
            let unknown = were(taken - removed.min(taken), "not on the list");
            let removed = blocks(*removed, "removed");
            format!("{removed}{unknown}; judged again: {}", some(*pages, "page"))
        }
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let mut listing =
        Listing { json: context.json, now: RealClock::new().now(), ..Listing::default() };
    blocks::each(&collection, |row| listing.add(&row))?;
    listing.finish(context)?;
    Ok(Exit::Done)
}

/// Printed a piece at a time: a list can have a million lines. With `--json`, each is one object.
#[derive(Default)]
struct Listing {
    json: bool,
    now: Timestamp,
    text: String,
    any: bool,
    failure: Option<Failure>,
}

impl Listing {
    fn add(&mut self, row: &BlockRow) {
        if self.json {
            let row = serde_json::to_string(row).unwrap_or_default();
            let _ = writeln!(self.text, "{row}");
        } else {
            let (pattern, since) = (printable(&row.pattern), times::ago(row.created, self.now));
            let line = format!("{pattern:<44} {since:<12} {}", printable(&row.reason));
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
        self.any = true;
        if self.text.len() > LISTED_BYTES && self.failure.is_none() {
            self.failure = print(&std::mem::take(&mut self.text)).err();
        }
    }

    fn finish(self, context: &Context) -> Result<(), Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if !self.any && !self.json {
            context.say("nothing is blocked");
        }
        print(&self.text)
    }
}
