//! `diff`: what changed between two versions of a page, for a terminal, a browser or a program.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, printable};

use super::{Context, kept, story::Story, which};
use crate::{
    cli::{Colour, DiffArgs},
    results::{is_stdout, not_beside_json, write_markup},
    terminal::{print, print_json, wants_colour},
};
use collection::diff::{ComparedVersion, Of, PageDiff, compare};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
    times::iso,
};

mod html;
#[cfg(test)]
mod tests;
mod text;

pub fn run(context: &Context, args: &DiffArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.html {
        not_beside_json("--html", path, context.json)?;
    }
    let story = Story::find(context, &args.url)?;
    let now = RealClock::new().now();
    let asked = |text: &Option<String>| text.as_deref().map(|text| which::parse(text, now));
    let which = (asked(&args.old).transpose()?, asked(&args.new).transpose()?);
    let of = if args.source { Of::Source } else { Of::Text };
    let lines = usize::from(args.context);
    let diff = compare(&story.archived()?, &story.story, which, of, lines)?;
    for version in [&diff.old, &diff.new] {
        let ComparedVersion { version, kept, stopped, .. } = version;
        kept::remark_missing(context, &diff.url, *version, *kept, *stopped);
    }
    if diff.noarchive {
        kept::remark_noarchive(context, &diff.url);
    }
    if let Some(path) = &args.html {
        write_markup(path, &html::page(&diff.url, &facts(&diff), &diff.diff))?;
        if !is_stdout(path) {
            context.say(&format!("written to {}", path.display()));
        }
    }
    if context.json {
        print_json(&diff)?;
    } else if args.html.is_none() {
        let coloured = match args.color {
            Colour::Auto => wants_colour(),
            Colour::Always => true,
            Colour::Never => false,
        };
        print(&unified(&diff, coloured))?;
    }
    Ok(Exit::Done)
}

/// What is compared and what came of it, in lines.
fn facts(diff: &PageDiff) -> Vec<String> {
    let (old, new) = (&diff.old, &diff.new);
    let mut facts = vec![format!("{} and {}", name(old), name(new))];
    if old.title != new.title {
        facts.push(format!("title: {:?} became {:?}", old.title, new.title));
    }
    facts.push(summary(diff));
    if diff.diff.coarse {
        facts.push(
            "some parts are too long and too different to be compared closely: \
             they are shown as replaced"
                .to_owned(),
        );
    }
    facts
}

fn name(version: &ComparedVersion) -> String {
    format!("version {} ({})", version.version, iso(version.seen))
}

fn summary(diff: &PageDiff) -> String {
    let counts = &diff.diff.counts;
    match (diff.diff.hunks.is_empty(), diff.of) {
        (true, Of::Source) => "the sources are the same".to_owned(),
        (true, Of::Text) => {
            "the visible text is the same; --source compares what was served".to_owned()
        }
        (false, _) => format!(
            "{} removed and {} added; {} removed and {} added",
            some(counts.lines_removed as u64, "line"),
            number(counts.lines_added as u64),
            some(counts.words_removed as u64, "word"),
            number(counts.words_added as u64)
        ),
    }
}

/// As `diff -u` has it, with what came of it below.
fn unified(diff: &PageDiff, coloured: bool) -> String {
    let (bold, plain) = if coloured { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let url = printable(&diff.url);
    let mut text = String::new();
    let _ = writeln!(text, "{bold}--- {url} {}{plain}", name(&diff.old));
    let _ = writeln!(text, "{bold}+++ {url} {}{plain}", name(&diff.new));
    text.push_str(&text::text(&diff.diff, coloured));
    for fact in &facts(diff)[1..] {
        let _ = writeln!(text, "{}", printable(fact));
    }
    text
}
