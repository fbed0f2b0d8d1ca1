//! `diff`: what changed between two versions of a page, for a terminal, a browser or a program.

use std::fmt::Write;

use encoding_rs::Encoding;
use gatherer::{GatherProblem, Gathered};
use harvester::clock::RealClock;
use model::{Clock, Exchange};
use serde_json::{Value, json};

use super::{Context, story::Story};
use crate::{
    cli::{Colour, DiffArgs},
    results::{is_stdout, not_beside_json, write_markup},
    terminal::{print, wants_colour},
};
use collection::{
    archived::gathered,
    diff::{Diff, page},
    versions::{Picked, Which},
};
use config::{
    amounts::{number, some},
    failure::{Exit, Failure},
    times::iso,
};
use model::printable;

/// A longer line of a source is broken where tags meet: many pages are served as one line.
const SOURCE_LINE_MAX: usize = 200;

pub fn run(context: &Context, args: &DiffArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.html {
        not_beside_json("--html", path, context.json)?;
    }
    let story = Story::find(context, &args.url)?;
    let (old, new) = picks(&story, args)?;
    let read = |picked| Side::read(context, &story, picked, args.source);
    let (old, new) = (read(&old)?, read(&new)?);
    if story.is_noarchive(old.noarchive || new.noarchive) {
        story.remark_noarchive(context);
    }
    let diff = Diff::of(&old.lines(), &new.lines(), usize::from(args.context));
    let told = Told { url: story.url.to_string(), old, new, diff, source: args.source };
    if let Some(path) = &args.html {
        write_markup(path, &page(&told.url, &told.facts(), &told.diff))?;
        if !is_stdout(path) {
            context.say(&format!("written to {}", path.display()));
        }
    }
    if context.json {
        print(&format!("{:#}\n", told.json()))?;
    } else if args.html.is_none() {
        let coloured = match args.color {
            Colour::Auto => wants_colour(),
            Colour::Always => true,
            Colour::Never => false,
        };
        print(&told.text(coloured))?;
    }
    Ok(Exit::Done)
}

fn picks<'a>(story: &'a Story, args: &DiffArgs) -> Result<(Picked<'a>, Picked<'a>), Failure> {
    let versions = story.versions();
    let newest = versions.newest().ok_or_else(|| story.never_fetched())?;
    let now = RealClock::new().now();
    let new = match &args.new {
        Some(text) => versions.pick(Which::parse(text, now)?)?,
        None => newest,
    };
    let old = match &args.old {
        Some(text) => versions.pick(Which::parse(text, now)?)?,
        None if new.number > 1 => versions.pick(Which::Number(new.number - 1))?,
        None => {
            return Err(Failure::usage(
                format!("{} has one version: there is nothing to compare it with", story.url),
                format!("see its visits with: harvestman history {}", story.url),
            ));
        }
    };
    Ok((old, new))
}

/// One of the two versions.
struct Side {
    number: usize,
    seen: String,
    title: String,
    bytes: usize,
    noarchive: bool,
    text: String,
}

impl Side {
    fn read(
        context: &Context,
        story: &Story,
        picked: &Picked<'_>,
        source: bool,
    ) -> Result<Side, Failure> {
        let exchange = story.archived().exchange(picked.record)?;
        let gathered = gathered(&exchange);
        story.is_kept(context, picked, &exchange)?;
        comparable(story, picked, &gathered, source)?;
        Ok(Side {
            number: picked.number,
            seen: iso(picked.seen),
            bytes: exchange.body.len(),
            noarchive: gathered.noarchive,
            text: if source { source_of(&exchange, &gathered) } else { gathered.text },
            title: gathered.title,
        })
    }

    fn lines(&self) -> Vec<&str> {
        self.text.lines().collect()
    }

    fn words(&self) -> String {
        format!("version {} ({})", self.number, self.seen)
    }

    fn json(&self) -> Value {
        json!({ "version": self.number, "seen": self.seen, "title": self.title, "bytes": self.bytes })
    }
}

/// Bytes that are no text have no lines; text of other kinds than pages (styles, scripts) has them as it is.
fn comparable(
    story: &Story,
    picked: &Picked<'_>,
    gathered: &Gathered,
    source: bool,
) -> Result<(), Failure> {
    let (url, number) = (&story.url, picked.number);
    for problem in &gathered.problems {
        match problem {
            GatherProblem::NotText { found, .. } => {
                return Err(Failure::usage(
                    format!("version {number} of {url} is not text but {found}"),
                    format!(
                        "its bytes are had with: harvestman show {url} --version {number} --html"
                    ),
                ));
            }
            GatherProblem::NotWanted { media_type } if !source => {
                return Err(Failure::usage(
                    format!("version {number} of {url} is {media_type}, which has no visible text"),
                    "compare what was served with --source",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The body in the charset it is written in; a line too long to be read is broken where tags meet.
fn source_of(exchange: &Exchange, gathered: &Gathered) -> String {
    let label = gathered.charset.as_bytes();
    let encoding = Encoding::for_label(label).unwrap_or(encoding_rs::UTF_8);
    let (text, _, _) = encoding.decode(&exchange.body);
    let mut broken = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        match line.chars().count() > SOURCE_LINE_MAX {
            true => broken.push_str(&line.replace("><", ">\n<")),
            false => broken.push_str(line),
        }
        broken.push('\n');
    }
    broken
}

struct Told {
    url: String,
    old: Side,
    new: Side,
    diff: Diff,
    source: bool,
}

impl Told {
    /// What is compared and what came of it, in lines.
    fn facts(&self) -> Vec<String> {
        let mut facts = vec![format!("{} and {}", self.old.words(), self.new.words())];
        if self.old.title != self.new.title {
            facts.push(format!("title: {:?} became {:?}", self.old.title, self.new.title));
        }
        facts.push(self.summary());
        if self.diff.coarse {
            facts.push(
                "some parts are too long and too different to be compared closely: \
                 they are shown as replaced"
                    .to_owned(),
            );
        }
        facts
    }

    fn summary(&self) -> String {
        let counts = &self.diff.counts;
        if self.diff.hunks.is_empty() {
            return match self.source {
                true => "the sources are the same".to_owned(),
                false => {
                    "the visible text is the same; --source compares what was served".to_owned()
                }
            };
        }
        format!(
            "{} removed and {} added; {} removed and {} added",
            some(counts.lines_removed as u64, "line"),
            number(counts.lines_added as u64),
            some(counts.words_removed as u64, "word"),
            number(counts.words_added as u64)
        )
    }

    fn text(&self, coloured: bool) -> String {
        let (bold, plain) = if coloured { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        let url = printable(&self.url);
        let mut text = String::new();
        let _ = writeln!(text, "{bold}--- {url} {}{plain}", self.old.words());
        let _ = writeln!(text, "{bold}+++ {url} {}{plain}", self.new.words());
        text.push_str(&self.diff.text(coloured));
        for fact in &self.facts()[1..] {
            let _ = writeln!(text, "{}", printable(fact));
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "url": self.url, "of": if self.source { "source" } else { "text" },
            "old": self.old.json(), "new": self.new.json(), "counts": self.diff.counts,
            "coarse": self.diff.coarse, "hunks": self.diff.json(),
        })
    }
}
