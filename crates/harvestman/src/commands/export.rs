//! `export`: what the collection holds in the forms that other programs take.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use harvester::clock::RealClock;
use model::{Clock, CrawlUrl, Fingerprint, StoreError, Timestamp};
use store::{
    census::Census,
    collection::Collection,
    directory::{Directory, KeptVersion, Span},
    history::Canonical,
};

use super::{Context, decisions::known_site};
use crate::{
    cli::{ExportArgs, ExportDirectoryArgs, ExportForm},
    results,
};
use collection::archived::{Archived, Kept, gathered};
use config::{
    amounts::some,
    failure::{Exit, Failure, cannot_write},
    moments::Moment,
    times::iso,
};

mod written;

use written::Written;

/// Versions asked for at a time: so that no read of the database is long.
const PIECE: u32 = 500;
const TOLD_EVERY: Duration = Duration::from_secs(1);

pub fn run(context: &Context, args: &ExportArgs) -> Result<Exit, Failure> {
    match &args.form {
        ExportForm::Directory(args) => directory(context, args),
    }
}

fn directory(context: &Context, args: &ExportDirectoryArgs) -> Result<Exit, Failure> {
    let clock = RealClock::new();
    results::folder("--out", &args.out)?;
    let collection = Collection::open(&context.folder)?;
    outside(&collection, &args.out)?;
    let census = Census::open(&collection)?;
    let (config, _) = context.config_to_read();
    let span = span(&census, args, clock.now())?;
    let directory = Directory::new(args.out.clone(), census.sittings()?);
    let archived = Archived::new(&collection, &census, config.fetch.body_bytes_max);
    let (mut after, mut written, mut told) = (0, Written::default(), clock.now());
    let mut folds = Folds::default();
    loop {
        let piece = census.kept_versions(after, &span, PIECE)?;
        let Some(last) = piece.last() else { break };
        after = last.seq;
        for version in &piece {
            if version.noarchive && !args.include_noarchive {
                written.noarchive += 1;
                continue;
            }
            if !args.unfolded && folds.is_folded(&census, &version.url)? {
                written.folded += 1;
                continue;
            }
            let exchange = match archived.exchange(version.record) {
                Ok(exchange) => exchange,
                Err(failure) => {
                    written.unreadable.add(&version.url, &failure.sentence);
                    continue;
                }
            };
            // The newest version lets itself be shown; an older one may not.
            if !args.include_noarchive && gathered(&exchange).noarchive {
                written.noarchive += 1;
                continue;
            }
            if !written.takes(&version.url, Kept::of(&exchange)) {
                continue;
            }
            let body = exchange.body;
            written.versions += 1;
            for at in times(version, &span, args.every_visit) {
                let since = directory.since(at);
                let earlier = earlier(&census, version, (since, at), args.every_visit)?;
                directory.write_beside(&version.url, at, earlier, &body).map_err(unwritten)?;
                written.files += 1;
                written.bytes += body.len() as u64;
            }
        }
        if clock.now().since(told) >= TOLD_EVERY {
            told = clock.now();
            context.say(&format!("{} written …", some(written.files, "file")));
        }
    }
    written.tell(context, &args.out)
}

/// Files of pages among those of the collection would be taken for its own, or written over them.
fn outside(collection: &Collection, out: &Path) -> Result<(), Failure> {
    let own = [collection.volumes(), collection.links(), collection.directory()];
    let out_real = real(out);
    let inside = out_real == real(collection.dir())
        || own.iter().any(|folder| out_real.starts_with(real(folder)));
    match inside {
        false => Ok(()),
        true => Err(Failure::usage(
            format!("{} is where the collection keeps its own files", out.display()),
            "name another folder with --out, such as ./pages",
        )),
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
    /// Versions of a page lie close to each other or far apart: what is remembered need not be much.
    const MAX: usize = 10_000;

    fn is_folded(&mut self, census: &Census, url: &CrawlUrl) -> Result<bool, Failure> {
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

/// How many files of the page may come before the one of this time in its folder, which begins at `since`: of older
/// versions, and of this one. Told from history alone, so that an export of another span names it the same.
fn earlier(
    census: &Census,
    version: &KeptVersion,
    (since, at): (Timestamp, Timestamp),
    every: bool,
) -> Result<usize, Failure> {
    let older = census.seen_before(version, since)?;
    if !every {
        return Ok(older.len());
    }
    let own = version.times.iter().filter(|time| **time >= since && **time < at).count();
    Ok(older.iter().sum::<usize>() + own)
}

/// What is in the way is below the folder that was asked for, not in the collection.
fn unwritten(error: StoreError) -> Failure {
    match error {
        StoreError::Io { path, source, .. } => cannot_write(&path, &source),
        other => other.into(),
    }
}

fn span(census: &Census, args: &ExportDirectoryArgs, now: Timestamp) -> Result<Span, Failure> {
    if let Some(name) = &args.spider
        && !census.spiders()?.iter().any(|row| row.name == *name)
    {
        return Err(Failure::usage(
            format!("there is no spider {name:?}"),
            "`harvestman spider` lists those there are",
        ));
    }
    let site = args.site.as_deref().map(|site| known_site(census, site)).transpose()?;
    let from = moment(args.from.as_deref(), now)?.map(|moment| moment.from);
    let to = moment(args.to.as_deref(), now)?.map(|moment| moment.to);
    if let (Some(first), Some(last)) = (from, to)
        && first > last
    {
        return Err(Failure::usage(
            format!("--from {} is later than --to {}", iso(first), iso(last)),
            "give the earlier time with --from and the later one with --to",
        ));
    }
    Ok(Span { from, to, spider: args.spider.clone(), site })
}

fn moment(text: Option<&str>, now: Timestamp) -> Result<Option<Moment>, Failure> {
    let read = |text: &str| {
        Moment::parse(text, now).map_err(|why| {
            Failure::usage(
                format!("cannot tell a time by {text:?}: {why}"),
                "give --from and --to such as 2026-05-01, yesterday or \"3 days ago\"",
            )
        })
    };
    text.map(read).transpose()
}
