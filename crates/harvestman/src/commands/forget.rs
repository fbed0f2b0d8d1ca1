//! `forget`: takedown. Everything of a URL, a site or a domain leaves the collection; a hash keeps it out.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, StoreError, printable};
use seeder::{Grave, UrlForm};
use store::{census::Census, collection::Collection};

use super::Context;
use crate::{
    cli::ForgetArgs,
    crawling::AtTerminal,
    terminal::{print, print_json},
};
use collection::forget::{self, Forgotten, Lifted};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    setup, times,
};
use engine::upkeep::StepNotices;

pub fn run(context: &Context, args: &ForgetArgs) -> Result<Exit, Failure> {
    if args.list {
        return list(context);
    }
    let graves = graves(args, &setup::form(&context.config(Vec::new())?)?)?;
    let collection = Collection::open(&context.folder)?;
    let lock = collection.lock().map_err(|error| busy(error, args))?;
    let now = RealClock::new().now();
    if args.undo {
        return undone(context, forget::undo(&collection, &lock, &graves, now)?);
    }
    let observer = AtTerminal(context.clone());
    let mut steps = StepNotices::new(&observer);
    let progress = &mut |step| steps.step(&step);
    let removed = match args.dry_run {
        true => forget::preview(&collection, &lock, &graves, now, progress)?,
        false => forget::forget(&collection, &lock, &graves, now, progress)?,
    };
    match context.json {
        true => print_json(&removed)?,
        false => tell(context, &graves, &removed),
    }
    Ok(Exit::Done)
}

fn graves(args: &ForgetArgs, form: &UrlForm) -> Result<Vec<Grave>, Failure> {
    let typed = args.what.iter().map(|text| (text, text.clone()));
    let domains =
        args.domain.iter().map(|text| (text, format!(".{}", text.trim_start_matches('.'))));
    let read = |(typed, text): (&String, String)| {
        Grave::parse(&text).map(|grave| grave.with_form(form)).map_err(|why| {
            let advice = "see what can be forgotten with: harvestman forget --help";
            Failure::usage(format!("cannot forget {typed:?}: {why}"), advice)
        })
    };
    typed.chain(domains).map(read).collect()
}

/// A takedown often cannot wait: what holds within seconds is named.
fn busy(error: StoreError, args: &ForgetArgs) -> Failure {
    let StoreError::Busy { .. } = error else { return error.into() };
    let domains = args.domain.iter().map(|domain| format!(".{}", domain.trim_start_matches('.')));
    let what: Vec<String> = args.what.iter().cloned().chain(domains).collect();
    Failure::usage(
        error.to_string(),
        format!(
            "stop it with Ctrl-C and give the same command again; to keep the running crawl away \
             from it now: harvestman block {}",
            what.join(" ")
        ),
    )
}

fn undone(context: &Context, answer: Lifted) -> Result<Exit, Failure> {
    if context.json {
        print_json(&answer)?;
    } else if answer.lifted == 0 {
        context.say("none of these was forgotten under this name; forget --list shows the kinds");
    } else {
        let lifted = number(answer.lifted);
        context.say(&format!("{lifted} may come in again; what was removed is gone"));
    }
    Ok(if answer.lifted == 0 { Exit::Usage } else { Exit::Done })
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let stones = forget::list(&census)?;
    if context.json {
        print_json(&stones)?;
        return Ok(Exit::Done);
    }
    if stones.rows.is_empty() {
        context.say("nothing was forgotten");
    }
    let (mut text, now) = (String::new(), RealClock::new().now());
    for stone in &stones.rows {
        let _ = writeln!(text, "{:<8} {}", stone.kind, times::ago(stone.created, now));
    }
    print(&text)?;
    Ok(Exit::Done)
}

fn tell(context: &Context, graves: &[Grave], removed: &Forgotten) {
    removed.warnings.iter().for_each(|warning| context.say(&printable(warning)));
    context.say(&sentence(removed));
    for site in graves.iter().filter_map(home_of) {
        let site = printable(&site).into_owned();
        context.say(&format!("this one page alone; the whole site: harvestman forget {site}"));
    }
}

fn sentence(removed: &Forgotten) -> String {
    let Forgotten { pages, visits, records, links, volumes, records_completed, .. } = removed;
    let size = bytes(removed.bytes);
    let (verb, then) = match removed.dry_run {
        true => ("would be removed", "nothing was changed"),
        false => ("removed", "it stays out from now on (forget --undo lets it in again)"),
    };
    let mut text = format!(
        "{verb}: {} with {}, {} ({size}) from {}, {}",
        some(*pages, "page"),
        some(*visits, "visit"),
        some(*records, "record"),
        some(*volumes, "volume"),
        some(*links, "link"),
    );
    if *records_completed > 0 {
        let _ = write!(
            text,
            "; {} that other pages share with it {} theirs",
            some(*records_completed, "content"),
            match (removed.dry_run, records_completed) {
                (true, _) => "would become",
                (false, 1) => "is now",
                (false, _) => "are now",
            },
        );
    }
    format!("{text}; {then}")
}

/// The site of a URL that is a home page: many who type it mean the site.
fn home_of(grave: &Grave) -> Option<String> {
    let Grave::Url(url) = grave else { return None };
    let bare = url.split_once("//")?.1;
    bare.strip_suffix('/').filter(|host| !host.contains('/')).map(str::to_owned)
}
