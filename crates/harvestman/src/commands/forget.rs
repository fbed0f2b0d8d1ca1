//! `forget`: takedown. Everything of a URL, a site or a domain leaves the collection; a hash keeps it out.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, StoreError, Timestamp};
use seeder::{Grave, UrlForm};
use serde_json::json;
use store::{
    census::Census,
    collection::Collection,
    forget::{self, Forget, Removed, Target, Targets},
    frontier::SqliteFrontier,
    tombstones::Tombstone,
};

use super::Context;
use crate::{cli::ForgetArgs, crawling::AtTerminal, terminal::print};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    setup, times,
};
use engine::upkeep::StepNotices;
use model::printable;

pub fn run(context: &Context, args: &ForgetArgs) -> Result<Exit, Failure> {
    if args.list {
        return list(context);
    }
    let graves = graves(args, &setup::form(&context.config(Vec::new())?)?)?;
    let collection = Collection::open(&context.folder)?;
    let lock = collection.lock().map_err(|error| busy(error, args))?;
    let clock = RealClock::new();
    let mut frontier = SqliteFrontier::open(&collection.database())?;
    if args.undo {
        return undo(context, &mut frontier, &graves, clock.now());
    }
    let tombstones = match args.dry_run {
        true => Vec::new(),
        false => tombstones(&mut frontier, &graves, clock.now())?,
    };
    drop(frontier);
    let observer = AtTerminal(context.clone());
    let mut steps = StepNotices::new(&observer);
    let request = Forget {
        targets: Targets::new(graves.iter().map(target).collect()),
        tombstones,
        now: clock.now(),
        progress: &mut |step| steps.step(&step),
    };
    let removed = match args.dry_run {
        true => forget::would_forget(&collection, &lock, request)?,
        false => forget::forget(&collection, &lock, request)?,
    };
    tell(context, args, &graves, &removed)?;
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

fn target(grave: &Grave) -> Target {
    match grave {
        Grave::Url(url) => Target::Url(url.clone()),
        Grave::Site(site) => Target::Site(site.clone()),
        Grave::Domain(domain) => Target::Domain(domain.clone()),
    }
}

fn tombstones(
    frontier: &mut SqliteFrontier,
    graves: &[Grave],
    now: Timestamp,
) -> Result<Vec<Tombstone>, Failure> {
    let key = frontier.tombstone_key(now)?;
    let stone = |grave: &Grave| Tombstone {
        kind: grave.kind().to_owned(),
        hash: grave.hash(key),
        created: now,
    };
    Ok(graves.iter().map(stone).collect())
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

fn undo(
    context: &Context,
    frontier: &mut SqliteFrontier,
    graves: &[Grave],
    now: Timestamp,
) -> Result<Exit, Failure> {
    let key = frontier.tombstones()?.map(|(key, _)| key).unwrap_or_default();
    let hashed = |grave: &Grave| (grave.kind().to_owned(), grave.hash(key));
    let which: Vec<_> = graves.iter().map(hashed).collect();
    let lifted = frontier.lift_tombstones(&which, now)?;
    if context.json {
        print(&format!("{}\n", json!({ "lifted": lifted })))?;
    } else if lifted == 0 {
        context.say("none of these was forgotten under this name; forget --list shows the kinds");
    } else {
        context.say(&format!("{} may come in again; what was removed is gone", number(lifted)));
    }
    Ok(if lifted == 0 { Exit::Usage } else { Exit::Done })
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let stones = census.tombstones()?.map(|(_, stones)| stones).unwrap_or_default();
    if context.json {
        let row =
            |stone: &Tombstone| json!({ "kind": stone.kind, "created": times::iso(stone.created) });
        let rows: Vec<_> = stones.iter().map(row).collect();
        print(&format!("{}\n", json!(rows)))?;
        return Ok(Exit::Done);
    }
    if stones.is_empty() {
        context.say("nothing was forgotten");
    }
    let (mut text, now) = (String::new(), RealClock::new().now());
    for stone in &stones {
        let _ = writeln!(text, "{:<8} {}", stone.kind, times::ago(stone.created, now));
    }
    print(&text)?;
    Ok(Exit::Done)
}

fn tell(
    context: &Context,
    args: &ForgetArgs,
    graves: &[Grave],
    removed: &Removed,
) -> Result<(), Failure> {
    if context.json {
        let mut answer = serde_json::to_value(removed).unwrap_or_default();
        answer["dry_run"] = args.dry_run.into();
        return print(&format!("{answer}\n"));
    }
    removed.warnings.iter().for_each(|warning| context.say(&printable(warning)));
    context.say(&sentence(removed, args.dry_run));
    for site in graves.iter().filter_map(home_of) {
        let site = printable(&site).into_owned();
        context.say(&format!("this one page alone; the whole site: harvestman forget {site}"));
    }
    Ok(())
}

fn sentence(removed: &Removed, dry_run: bool) -> String {
    let Removed { pages, visits, records, links, volumes_rewritten, made_whole, .. } = removed;
    let size = bytes(removed.bytes);
    let (verb, then) = match dry_run {
        true => ("would be removed", "nothing was changed"),
        false => ("removed", "it stays out from now on (forget --undo lets it in again)"),
    };
    let mut text = format!(
        "{verb}: {} with {}, {} ({size}) from {}, {}",
        some(*pages, "page"),
        some(*visits, "visit"),
        some(*records, "record"),
        some(*volumes_rewritten, "volume"),
        some(*links, "link"),
    );
    if *made_whole > 0 {
        let _ = write!(
            text,
            "; {} that other pages share with it {} theirs",
            some(*made_whole, "content"),
            match (dry_run, made_whole) {
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
