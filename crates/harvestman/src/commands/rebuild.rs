//! `rebuild`: database and links made again from the volumes.

use std::{fmt::Write, sync::Arc};

use super::Context;
use crate::{
    cli::RebuildArgs,
    crawling::AtTerminal,
    terminal::{print, print_json},
};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
};
use engine::rebuild::{Lost, Progress, Rebuilt, rebuild};
use model::printable;

/// Damage named in the text; `--json` has all.
const DAMAGE_SHOWN: usize = 20;

pub fn run(context: &Context, args: &RebuildArgs) -> Result<Exit, Failure> {
    let observer = Arc::new(AtTerminal(context.clone()));
    let rebuilt = rebuild(&context.folder, args.flags.values(), observer, |progress| {
        context.say(&progress_line(progress));
    })?;
    match context.json {
        true => print_json(&rebuilt)?,
        false => print(&text(&rebuilt))?,
    }
    Ok(if rebuilt.damage.is_empty() { Exit::Done } else { Exit::Fault })
}

fn progress_line(progress: Progress) -> String {
    let Progress { records, bytes_read, bytes: all } = progress;
    let share = 100 * bytes_read / all.max(1);
    format!("{} records read, {} of {} ({share} %)", number(records), bytes(bytes_read), bytes(all))
}

fn text(done: &Rebuilt) -> String {
    let mut text = String::new();
    for damage in done.damage.iter().take(DAMAGE_SHOWN) {
        let _ = writeln!(text, "{}", printable(damage));
    }
    let more = done.damage.len().saturating_sub(DAMAGE_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "… and {} more", number(more as u64));
    }
    let _ = writeln!(
        text,
        "rebuilt from {} ({}):\n  {} of {}, {}, {}",
        some(done.volumes, "volume"),
        bytes(done.bytes),
        some(done.pages, "page"),
        some(done.sites, "site"),
        some(done.visits, "visit"),
        some(done.versions, "version"),
    );
    if let Some(restored) = &done.restored {
        let _ = writeln!(
            text,
            "from state.jsonl: {}, {}, {}, {}",
            some(restored.spiders, "spider"),
            some(restored.seeds, "seed"),
            some(restored.blocks, "block"),
            some(restored.tombstones, "takedown"),
        );
        if restored.unreadable > 0 {
            let lines = some(restored.unreadable, "line");
            let _ = writeln!(text, "{lines} of state.jsonl could not be read");
        }
    }
    if done.without_link > 0 {
        let pages = some(done.without_link, "page");
        let _ = writeln!(text, "{pages} that no link or seed leads to: taken at level 0");
    }
    let _ = writeln!(text, "not in volumes, and not known any more:");
    for lost in &done.unknown {
        let _ = writeln!(text, "  {}", words(*lost));
    }
    if let Some(aside) = &done.moved_aside {
        let aside = aside.display().to_string();
        let _ = writeln!(
            text,
            "the old files are in {}: delete them when all is well",
            printable(&aside)
        );
    }
    text
}

fn words(lost: Lost) -> &'static str {
    match lost {
        Lost::State => "spiders, seeds, blocks and takedowns: there is no state.jsonl",
        Lost::FailedVisits => "visits without an answer",
        Lost::Plans => "when pages were due: that was computed again",
        Lost::Traps => "crawler traps and mirrors that were detected: they are detected again",
        Lost::Runs => "earlier crawls, and commands that waited for the next one",
        Lost::Webhooks => "how far webhooks had come: they begin with what is found from now on",
        Lost::Batches => "which sites were out with a batch",
    }
}
