//! `thin`: old versions leave the archive by rule or to keep within a budget; their visits stay in history.

use std::{fmt::Write, time::Duration};

use harvester::clock::RealClock;
use model::{Clock, StoreError, Timestamp};
use store::{
    collection::{Collection, CrawlLock},
    forget::Step,
    thin::{self, Keep, KeepRule, Thinned},
};

use super::Context;
use crate::{
    cli::ThinArgs,
    config::{Config, units},
    exit::{Exit, Failure},
    progress::{bytes, number, some},
    terminal::{print, printable},
};

/// Sites named in the text; `--json` has all.
const SITES_SHOWN: usize = 10;
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// All volumes are read again each time.
const FULL_DISK_RETRY: Duration = Duration::from_secs(60);

pub fn run(context: &Context, args: &ThinArgs) -> Result<Exit, Failure> {
    let config = context.config(Vec::new())?;
    let Some(keep) = keep(&config)? else {
        return Err(Failure::usage(
            "no rule says what to keep",
            "write store.keep = \"all 30d, then 1 per 7d\" or store.versions_bytes_max into harvest.toml",
        ));
    };
    let collection = Collection::open(&context.folder)?;
    let lock = collection.lock()?;
    let clock = RealClock::new();
    let thinned = match args.dry_run {
        true => thin::would_thin(&collection, &lock, &keep, clock.now())?,
        false => thinned(context, &collection, &lock, &keep, clock.now())?,
    };
    tell(context, args.dry_run, &thinned)?;
    Ok(Exit::Done)
}

/// At the start of `run`, where a rule is set; once a day at most, for it reads every visit.
pub fn thin_at_start(
    context: &Context,
    config: &Config,
    collection: &Collection,
    lock: &CrawlLock,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(keep) = keep(config)? else { return Ok(()) };
    if !thin::is_due(collection, now)? {
        return Ok(());
    }
    let mut done = thinned(context, collection, lock, &keep, now);
    // As in a crawl, a full disk is waited for.
    while let Err(StoreError::DiskFull { path }) = &done {
        context.say(&format!(
            "no space left on the disk that holds {}: old versions are removed when there is room",
            path.display()
        ));
        std::thread::sleep(FULL_DISK_RETRY);
        done = thinned(context, collection, lock, &keep, now);
    }
    let done = done?;
    if done.versions + done.copies > 0 {
        context.say(&sentence(&done, false));
    }
    Ok(())
}

fn thinned(
    context: &Context,
    collection: &Collection,
    lock: &CrawlLock,
    keep: &Keep,
    now: Timestamp,
) -> Result<Thinned, StoreError> {
    let clock = RealClock::new();
    let mut last = clock.now();
    let mut progress = |step: Step| told(context, &step, &mut last, clock.now());
    thin::thin(collection, lock, keep, now, &mut progress)
}

fn keep(config: &Config) -> Result<Option<Keep>, Failure> {
    let store = &config.store;
    let rule = store.keep.as_deref().map(|text| {
        KeepRule::parse(text, units::parse_time)
            .map_err(|what| config.refuse("store.keep", text, what, EXAMPLE))
    });
    let keep = Keep { rule: rule.transpose()?, versions_bytes_max: store.versions_bytes_max };
    Ok((keep.rule.is_some() || keep.versions_bytes_max.is_some()).then_some(keep))
}

const EXAMPLE: &str = "write it such as \"all 30d, then 1 per 7d\", or \"none\" to be without";

fn told(
    context: &Context,
    step: &Step,
    last: &mut Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let line = match step {
        Step::Reading(done, all) => {
            format!("read {} of {} of volumes …", bytes(*done), bytes(*all))
        }
        Step::Writing(done, all) => {
            format!("{} of {} written anew …", number(*done as u64), some(*all as u64, "volume"))
        }
        _ => return Ok(()),
    };
    if now.since(*last) >= TOLD_EVERY {
        *last = now;
        context.say(&line);
    }
    Ok(())
}

fn tell(context: &Context, dry_run: bool, thinned: &Thinned) -> Result<(), Failure> {
    if context.json {
        let mut answer = serde_json::to_value(thinned).unwrap_or_default();
        answer["dry_run"] = dry_run.into();
        if let (true, Some(answer)) = (dry_run, answer.as_object_mut()) {
            // Known only when the volumes have been read.
            let unknown = ["records", "records_bytes", "volumes_rewritten", "made_whole"];
            answer.retain(|name, _| !unknown.contains(&name.as_str()));
        }
        return print(&format!("{answer}\n"));
    }
    thinned.warnings.iter().for_each(|warning| context.say(&printable(warning)));
    context.say(&sentence(thinned, dry_run));
    let mut text = String::new();
    for site in thinned.sites.iter().take(SITES_SHOWN) {
        let (versions, size) = (some(site.versions, "version"), bytes(site.bytes));
        let _ = writeln!(text, "{versions:>19}  {size:>9}  {}", printable(&site.site));
    }
    print(&text)
}

fn copies(n: u64) -> String {
    if n == 1 { "1 copy".to_owned() } else { format!("{} copies", number(n)) }
}

fn sentence(thinned: &Thinned, dry_run: bool) -> String {
    let verb = if dry_run { "would be removed" } else { "removed" };
    let mut text = format!("{verb}: {}", some(thinned.versions, "old version"));
    if thinned.copies > 0 {
        let _ = write!(text, " and {} seen without a change", copies(thinned.copies));
    }
    let _ = write!(text, " ({})", bytes(thinned.bytes));
    if !dry_run && thinned.records > 0 {
        let _ = write!(
            text,
            ", with the requests and the visits that saw them again {} ({}) from {}",
            some(thinned.records, "record"),
            bytes(thinned.records_bytes),
            some(thinned.volumes_rewritten, "volume")
        );
    }
    let _ = write!(
        text,
        "; {} of versions stay, and every visit stays in history",
        bytes(thinned.left_bytes)
    );
    if dry_run {
        text.push_str("; nothing was changed");
    }
    text
}
