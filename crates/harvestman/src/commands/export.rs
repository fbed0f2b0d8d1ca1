//! `export`: what the collection holds in the forms that other programs take.

use std::time::Duration;

use harvester::clock::RealClock;
use model::{Clock, Timestamp, printable};
use store::{census::Census, collection::Collection, directory::Span};

use super::{Context, decisions::known_site, kept::missing};
use crate::{
    cli::{ExportArgs, ExportDirectoryArgs, ExportForm},
    results,
    terminal::print_json,
};
use collection::{
    archived::{Archived, Kept},
    export::{ExportDirectory, ExportedDirectory, Omitted, OmittedVersion, directory},
};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    moments::Moment,
    times::iso,
};

const PROGRESS_EVERY: Duration = Duration::from_secs(1);

pub fn run(context: &Context, args: &ExportArgs) -> Result<Exit, Failure> {
    match &args.form {
        ExportForm::Directory(args) => export_directory(context, args),
    }
}

fn export_directory(context: &Context, args: &ExportDirectoryArgs) -> Result<Exit, Failure> {
    let clock = RealClock::new();
    results::folder("--out", &args.out)?;
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let (config, _) = context.config_to_read();
    let archived = Archived::new(&collection, &census, config.fetch.body_bytes_max)?;
    let wanted = ExportDirectory {
        out: args.out.clone(),
        span: span(&census, args, clock.now())?,
        every_visit: args.every_visit,
        non_canonical: args.unfolded,
        noarchive: args.include_noarchive,
    };
    let mut last = clock.now();
    let mut progress = |files| {
        if clock.now().since(last) >= PROGRESS_EVERY {
            last = clock.now();
            context.say(&format!("{} written …", some(files, "file")));
        }
    };
    let done = directory(&collection, &census, &archived, &wanted, &mut progress)?;
    if done.files == 0 && done.without_content.versions > 0 && done.unreadable.versions == 0 {
        return Err(nothing(&done));
    }
    match context.json {
        true => print_json(&done)?,
        false => say(context, &done),
    }
    Ok(if done.unreadable.versions == 0 { Exit::Done } else { Exit::Fault })
}

/// Not one version has a body.
fn nothing(done: &ExportedDirectory) -> Failure {
    let versions = some(done.without_content.versions, "version");
    let example = done.without_content.examples.first();
    let example = example.map(|version| line(version, Kept::Nothing)).unwrap_or_default();
    Failure::usage(
        format!("nothing was written: {versions} archived without content, such as {example}"),
        "with store.content_bytes_max above 0 crawls keep what is new or has changed",
    )
}

fn say(context: &Context, done: &ExportedDirectory) {
    say_omitted(context, &done.unreadable, "left out", Kept::Nothing);
    say_omitted(context, &done.without_content, "left out", Kept::Nothing);
    say_omitted(context, &done.cut, "not whole", Kept::Beginning);
    context.say(&format!(
        "{} in {} ({}) below {}",
        some(done.versions, "version"),
        some(done.files, "file"),
        bytes(done.bytes),
        done.folder.display()
    ));
    if done.non_canonical > 0 {
        context.say(&format!(
            "{} of pages that name another as their canonical one left out (--unfolded has \
             them too)",
            some(done.non_canonical, "version")
        ));
    }
    if done.noarchive > 0 {
        context.say(&format!(
            "{} of pages that say noarchive left out (--include-noarchive has them too)",
            some(done.noarchive, "version")
        ));
    }
}

fn say_omitted(context: &Context, omitted: &Omitted, what: &str, kept: Kept) {
    for version in &omitted.examples {
        context.say(&format!("{what}: {}", printable(&line(version, kept))));
    }
    let more = omitted.versions.saturating_sub(omitted.examples.len() as u64);
    if more > 0 {
        context.say(&format!("{what}: … and {} more", number(more)));
    }
}

fn line(version: &OmittedVersion, kept: Kept) -> String {
    let why = match &version.error {
        Some(error) => error.clone(),
        None => missing(kept, version.stopped).unwrap_or_default(),
    };
    format!("{}: {why}", version.url)
}

fn span(census: &Census, args: &ExportDirectoryArgs, now: Timestamp) -> Result<Span, Failure> {
    if let Some(name) = &args.spider
        && !census.spiders()?.iter().any(|row| row.name == *name)
    {
        return Err(collection::Error::SpiderUnknown { name: name.clone() }.into());
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
