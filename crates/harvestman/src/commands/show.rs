//! `show`: a version of a page, the latest or that of a time, as text, as it was served, or its headers; from
//! the archive.

use harvester::clock::RealClock;
use model::{Clock, printable_lines};

use super::{Context, duplicate_words, kept, story::Story, which};
use crate::{
    cli::ShowArgs,
    terminal::{print, print_bytes, print_json, stdout_is_terminal},
};
use collection::{
    archived::Kept,
    page::Duplicate,
    versions::{Version, Which, version},
};
use config::{
    failure::{Exit, Failure},
    times,
};

pub fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let story = Story::find(context, &args.url)?;
    let version = version(&story.archived()?, &story.story, asked(args)?)?;
    if let Some(note) = note(&version) {
        context.say(&note);
    }
    if args.headers && !context.json {
        print(&printable_lines(&version.head))?;
        return Ok(Exit::Done);
    }
    if version.noarchive {
        kept::remark_noarchive(context, &version.url);
    }
    if !args.headers {
        version.require_content()?;
    }
    kept::remark_missing(context, &version.url, version.version, version.kept, version.stopped);
    let facts = story.story.facts.as_ref();
    let duplicate =
        facts.map(|facts| Duplicate::of(&story.census, &story.url, facts)).transpose()?;
    if let Some(duplicate) = duplicate.flatten() {
        context.say(&duplicate_words(&duplicate));
    }
    let is_plain = !(context.json || args.html || args.headers);
    if is_plain && version.text.trim().is_empty() && version.kept != Kept::Nothing {
        context.say(&format!(
            "version {} of {} is {}, which has no visible text; get its bytes with: \
             harvestman show {} --version {} --html",
            version.version, version.url, version.media_type, version.url, version.version
        ));
        return Ok(Exit::Done);
    }
    match (context.json, args.html) {
        (true, true) => print_json(&version.with_source())?,
        (true, false) => print_json(&version)?,
        (false, true) => print_source(&version)?,
        (false, false) => print(&format!("{}\n", printable_lines(&version.text)))?,
    }
    Ok(Exit::Done)
}

fn asked(args: &ShowArgs) -> Result<Option<Which>, Failure> {
    Ok(match (&args.at, args.version) {
        (Some(text), _) => Some(which::at(text, RealClock::new().now())?),
        (None, Some(number)) => Some(Which::Number(usize::try_from(number).unwrap_or(usize::MAX))),
        (None, None) => None,
    })
}

/// What the visit found that is not shown: that the page was gone, or led elsewhere.
fn note(version: &Version) -> Option<String> {
    let instead = version.instead.as_ref()?;
    let what = match &instead.failure {
        Some(failure) => failure.clone(),
        None => format!("status {}", instead.status),
    };
    Some(format!(
        "at that time there was no content ({what}, {}): this is version {}, last seen {}",
        times::iso(instead.at),
        version.version,
        times::iso(version.seen)
    ))
}

/// A program gets the bytes as they were served; a terminal gets the text, with what would drive it written out.
fn print_source(version: &Version) -> Result<(), Failure> {
    match stdout_is_terminal() {
        true => print(&printable_lines(&version.source_text())),
        false => print_bytes(&version.body),
    }
}
