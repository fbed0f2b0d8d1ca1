//! `traps`: which patterns of URLs and which sites were stopped, why and since when; `traps lift` takes them again.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, Hazard, SiteTraps, Stop, StoreError, Timestamp, UrlTraps};
use serde_json::{Value, json};
use store::{
    census::Census,
    collection::Collection,
    control::{self, Command},
    frontier::{LiftedTraps, SqliteFrontier},
};

use super::{Context, answer, decisions::known_site};
use crate::{
    cli::{TrapsArgs, TrapsCommand},
    exit::{Exit, Failure},
    progress::{number, some},
    terminal::{print, printable},
    times,
};

pub fn run(context: &Context, args: &TrapsArgs) -> Result<Exit, Failure> {
    match &args.command {
        Some(TrapsCommand::Lift { site, pattern }) => lift(context, site, pattern.as_deref()),
        None => list(context, args.site.as_deref()),
    }
}

fn list(context: &Context, site: Option<&str>) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = site.map(|site| known_site(&census, site)).transpose()?;
    let now = RealClock::new().now();
    let sites = census.traps(site.as_deref())?;
    if context.json {
        let rows: Vec<Value> =
            sites.iter().flat_map(|(site, traps)| rows(site, &traps.urls)).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
        return Ok(Exit::Done);
    }
    let text: String = sites.iter().map(|(site, traps)| told(site, &traps.urls, now)).collect();
    if text.is_empty() {
        context.say("no trap was found");
    }
    print(&text)?;
    Ok(Exit::Done)
}

fn rows(site: &str, traps: &UrlTraps) -> Vec<Value> {
    let stop = |(pattern, stop): (&str, &Stop)| {
        json!({
            "site": site, "pattern": pattern, "hazard": stop.hazard.word(),
            "meaning": stop.hazard.meaning(), "since": times::iso(stop.since),
            "taken": stop.taken, "kept": kept(traps, pattern, stop), "refused": stop.refused,
            "held_back": stop.held_back, "examples": stop.examples,
            "measure": if is_site(pattern, stop) { "site-stopped" } else { "pattern-stopped" },
        })
    };
    let idle = traps.tokens.iter().map(|token| {
        json!({
            "site": site, "pattern": token.place.to_string(), "hazard": token.hazard().word(),
            "meaning": token.hazard().meaning(), "since": times::iso(token.since),
            "mended": token.mended, "measure": "mended",
        })
    });
    let missing = traps.missing.filter(|missing| missing.looks.is_some()).map(|missing| {
        let hazard = Hazard::Soft404;
        json!({
            "site": site, "pattern": null, "hazard": hazard.word(), "meaning": hazard.meaning(),
            "since": times::iso(missing.asked), "measure": "noted",
        })
    });
    traps.stops().map(stop).chain(idle).chain(missing).collect()
}

fn told(site: &str, traps: &UrlTraps, now: Timestamp) -> String {
    let mut text = String::new();
    let site = printable(site);
    for (pattern, stop) in traps.stops() {
        let (since, kept) = (times::ago(stop.since, now), some(kept(traps, pattern, stop), "page"));
        let (refused, held_back) = (some(stop.refused, "link"), some(stop.held_back, "page"));
        let (word, meaning) = (stop.hazard.word(), stop.hazard.meaning());
        let pattern = printable(pattern);
        let _ = writeln!(text, "{site}  {pattern}  {word}: {meaning}");
        let _ = writeln!(
            text,
            "    stopped {since}: {kept} kept, {held_back} held back, {refused} to more of it refused"
        );
        if stop.hazard == Hazard::NearDuplicates {
            text.push_str("    links on such pages to more of them are left; links on other pages are taken\n");
        }
        for example in &stop.examples {
            let _ = writeln!(text, "    {}", printable(example));
        }
        let tail = if pattern == UrlTraps::SITE { String::new() } else { format!(" '{pattern}'") };
        let _ = writeln!(text, "    harvestman traps lift {site}{tail}");
    }
    for token in &traps.tokens {
        let (place, since) = (token.place.to_string(), times::ago(token.since, now));
        let place = printable(&place);
        let (word, mended) = (token.hazard().word(), number(token.mended));
        let _ = writeln!(text, "{site}  {place}  {word}: it makes no difference");
        let _ = writeln!(text, "    found {since}, {mended} links rewritten");
        let _ = writeln!(text, "    harvestman traps lift {site} '{place}'");
    }
    if let Some(missing) = traps.missing.filter(|missing| missing.looks.is_some()) {
        let (word, meaning) = (Hazard::Soft404.word(), Hazard::Soft404.meaning());
        let since = times::ago(missing.asked, now);
        let _ = writeln!(text, "{site}  {word}: {meaning}; found {since}");
        let _ = writeln!(text, "    harvestman traps lift {site} {word}");
    }
    text
}

/// Pages of it that came; of the whole site, those that had come when it was stopped.
fn kept(traps: &UrlTraps, pattern: &str, stop: &Stop) -> u64 {
    let note = traps.patterns.iter().find(|note| note.text == pattern);
    let pages = note.map_or(0, |note| match stop.hazard {
        Hazard::NearDuplicates => note.near.saturating_add(note.unlike),
        _ => note.pages,
    });
    u64::from(if pages == 0 { stop.taken } else { pages })
}

fn is_site(pattern: &str, stop: &Stop) -> bool {
    pattern == UrlTraps::SITE || pattern == stop.hazard.word()
}

/// What is to be lifted must be there: a slip of the pen lifts nothing.
fn known_trap(traps: &SiteTraps, site: &str, pattern: Option<&str>) -> Result<(), Failure> {
    let Some(pattern) = pattern.filter(|pattern| !traps.has(pattern)) else { return Ok(()) };
    let names: Vec<String> = traps.names().iter().map(|name| format!("'{name}'")).collect();
    let there = match names.is_empty() {
        true => "nothing is stopped there".to_owned(),
        false => format!("there are {}", names.join(", ")),
    };
    Err(Failure::usage(
        format!("there is no trap {pattern:?} on {site}"),
        format!("{there}; `harvestman traps {site}` tells more of them"),
    ))
}

fn lift(context: &Context, site: &str, pattern: Option<&str>) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let site = known_site(&census, site)?;
    known_trap(&census.site_traps(&site)?, &site, pattern)?;
    let now = RealClock::new().now();
    let result = match collection.lock() {
        Ok(_lock) => {
            let mut frontier = SqliteFrontier::open(&collection.database())?;
            let LiftedTraps { stops, pages } = frontier.lift_traps(&site, pattern, now)?;
            let (stops, pages) = (some(stops, "trap"), some(pages, "page"));
            format!("{stops} lifted; {pages} to be judged or read again")
        }
        Err(StoreError::Busy { .. }) => {
            let (database, pattern) = (collection.database(), pattern.map(str::to_owned));
            let command = Command::LiftTrap { site, pattern };
            let id = control::request(&database, &command, now)?;
            let waits = || "handed over; the running crawl takes it up when it can".to_owned();
            answer::wait(&database, id)?.unwrap_or_else(waits)
        }
        Err(error) => return Err(error.into()),
    };
    match context.json {
        true => print(&format!("{}\n", json!({ "result": result })))?,
        false => context.say(&result),
    }
    Ok(Exit::Done)
}
