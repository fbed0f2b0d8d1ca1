//! `traps`: which patterns of URLs and which sites were stopped, why and since when; `traps lift` takes them again and
//! leaves them alone from then on, `traps watch` takes that back.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{
    Clock, Hazard, IdleToken, RefusalReason, SiteTraps, Stop, StoreError, Timestamp, UrlTraps,
};
use serde_json::{Value, json};
use store::{
    census::{Census, DecisionEntry},
    collection::Collection,
    control::{self, Command, Outcome},
    frontier::{LiftedTraps, SqliteFrontier},
};

use super::{Context, answer, decisions::known_site};
use crate::{
    cli::{TrapsArgs, TrapsCommand},
    terminal::print,
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
    times,
};
use model::printable;

pub fn run(context: &Context, args: &TrapsArgs) -> Result<Exit, Failure> {
    match &args.command {
        Some(TrapsCommand::Lift { site, pattern }) => lift(context, site, pattern.as_deref()),
        Some(TrapsCommand::Watch { site, pattern }) => watch(context, site, pattern.as_deref()),
        None => list(context, args.site.as_deref()),
    }
}

fn list(context: &Context, site: Option<&str>) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let site = site.map(|site| known_site(&census, site)).transpose()?;
    let now = RealClock::new().now();
    let sites = census.traps(site.as_deref())?;
    let (mut all, mut text) = (Vec::new(), String::new());
    for (site, traps) in &sites {
        let left = Left::of(&census, site, traps)?;
        match context.json {
            true => all.append(&mut rows(site, traps, &left)),
            false => text.push_str(&told(site, traps, &left, now)),
        }
    }
    if context.json {
        print(&format!("{:#}\n", Value::from(all)))?;
        return Ok(Exit::Done);
    }
    if text.is_empty() {
        context.say("no trap was found");
    }
    print(&text)?;
    Ok(Exit::Done)
}

/// Pages that waited and were left because a part of their URLs makes no difference, by the rule: the decisions tell.
struct Left(Vec<DecisionEntry>);

impl Left {
    /// As many as there can be idle parts and stops.
    const MAX: u32 = 200;

    fn of(census: &Census, site: &str, taught: &SiteTraps) -> Result<Left, Failure> {
        if taught.urls.tokens.is_empty() {
            return Ok(Left(Vec::new()));
        }
        let reason = RefusalReason::Trap.word();
        Ok(Left(census.refusals_of(Some(reason), Some(site), Left::MAX)?))
    }

    fn for_part(&self, token: &IdleToken) -> u64 {
        let rule = Stop::rule(token.hazard(), &token.place.to_string());
        self.0.iter().find(|entry| entry.rule == rule).map_or(0, |entry| entry.count)
    }
}

fn rows(site: &str, taught: &SiteTraps, left: &Left) -> Vec<Value> {
    let traps = &taught.urls;
    let stop = |(pattern, stop): (&str, &Stop)| {
        json!({
            "site": site, "pattern": pattern, "hazard": stop.hazard.word(),
            "meaning": stop.hazard.meaning(), "since": times::iso(stop.since),
            "taken": stop.taken, "kept": kept(taught, pattern, stop), "refused": stop.refused,
            "held_back": stop.held_back, "examples": stop.examples,
            "measure": if is_site(pattern, stop) { "site-stopped" } else { "pattern-stopped" },
        })
    };
    let idle = traps.tokens.iter().map(|token| {
        json!({
            "site": site, "pattern": token.place.to_string(), "hazard": token.hazard().word(),
            "meaning": token.hazard().meaning(), "since": times::iso(token.since),
            "mended": token.mended, "held_back": left.for_part(token), "measure": "mended",
        })
    });
    let missing = traps.missing.filter(|missing| missing.looks.is_some()).map(|missing| {
        let hazard = Hazard::Soft404;
        json!({
            "site": site, "pattern": null, "hazard": hazard.word(), "meaning": hazard.meaning(),
            "since": times::iso(missing.asked), "measure": "noted",
        })
    });
    let lifted = traps.lifted.iter().map(|name| {
        json!({
            "site": site, "pattern": name, "hazard": null, "meaning": "left alone: you lifted it",
            "measure": "lifted",
        })
    });
    traps.stops().map(stop).chain(idle).chain(missing).chain(lifted).collect()
}

fn told(site: &str, taught: &SiteTraps, left: &Left, now: Timestamp) -> String {
    let traps = &taught.urls;
    let mut text = String::new();
    let site = printable(site);
    for (pattern, stop) in traps.stops() {
        let (since, kept) =
            (times::ago(stop.since, now), some(kept(taught, pattern, stop), "page"));
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
        if pattern == UrlTraps::SITE && !stop.all {
            text.push_str("    links on copies and on pages of what is stopped are left; links on other pages are taken\n");
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
        let word = token.hazard().word();
        let rewritten = match (token.mended, left.for_part(token)) {
            // It was seen on the last pages that had it.
            (0, 0) => "no link with it was met since".to_owned(),
            (mended, 0) => format!("{} rewritten", some(mended, "link")),
            (0, left) => format!("{} held back", some(left, "page")),
            (mended, left) => {
                format!("{} rewritten, {} held back", some(mended, "link"), some(left, "page"))
            }
        };
        let _ = writeln!(text, "{site}  {place}  {word}: it makes no difference");
        let _ = writeln!(text, "    found {since}, {rewritten}");
        let _ = writeln!(text, "    harvestman traps lift {site} '{place}'");
    }
    if let Some(missing) = traps.missing.filter(|missing| missing.looks.is_some()) {
        let (word, meaning) = (Hazard::Soft404.word(), Hazard::Soft404.meaning());
        let since = times::ago(missing.asked, now);
        let _ = writeln!(text, "{site}  {word}: {meaning}; found {since}");
        let _ = writeln!(text, "    harvestman traps lift {site} {word}");
    }
    for name in &traps.lifted {
        let what = match name.as_str() {
            UrlTraps::SITE => "nothing of it is ever stopped".to_owned(),
            name => format!("{}  never stopped", printable(name)),
        };
        let _ = writeln!(text, "{site}  {what}: you lifted it");
        let _ = writeln!(text, "    harvestman traps watch {site} '{}'", printable(name));
    }
    text
}

/// Pages of it that came; of the whole site, its near duplicates where it was stopped for these, else all that are
/// noted.
fn kept(taught: &SiteTraps, pattern: &str, stop: &Stop) -> u64 {
    let patterns = &taught.urls.patterns;
    let note = patterns.iter().find(|note| note.text == pattern);
    let near = stop.hazard == Hazard::NearDuplicates;
    let pages: u64 = match note {
        _ if pattern == UrlTraps::SITE => patterns.iter().map(|note| u64::from(note.pages)).sum(),
        None if near => taught.families.iter().map(|family| u64::from(family.pages)).sum(),
        None => 0,
        Some(note) if near => {
            u64::from(note.near.saturating_add(note.unlike).max(note.thin_row).max(note.pages))
        }
        Some(note) => return u64::from(note.pages),
    };
    pages.max(u64::from(stop.taken))
}

fn is_site(pattern: &str, stop: &Stop) -> bool {
    pattern == UrlTraps::SITE || pattern == stop.hazard.word()
}

/// What is to be lifted must be there: a slip of the pen lifts nothing, and who lifts what is stopped does not mean to
/// leave alone for ever a site on which nothing is.
fn known_trap(traps: &SiteTraps, site: &str, pattern: Option<&str>) -> Result<(), Failure> {
    let names: Vec<String> = traps.names().iter().map(|name| format!("'{name}'")).collect();
    let pattern = match pattern {
        None if names.is_empty() => {
            let what_to_do = match traps.urls.is_lifted(UrlTraps::SITE) {
                true => format!(
                    "nothing ever is: you lifted it; to take that back: harvestman traps watch {site}"
                ),
                false => format!(
                    "so that nothing ever is: harvestman traps lift {site} '{}'",
                    UrlTraps::SITE
                ),
            };
            return Err(Failure::usage(format!("nothing is stopped on {site}"), what_to_do));
        }
        Some(pattern) if !traps.has(pattern) => pattern,
        _ => return Ok(()),
    };
    let there = match names.is_empty() {
        true => "nothing is stopped there".to_owned(),
        false => format!("there are {}", names.join(", ")),
    };
    Err(Failure::usage(
        format!("there is no trap {pattern:?} on {site}"),
        format!("{there}; `harvestman traps --site {site}` tells more of them"),
    ))
}

fn lift(context: &Context, site: &str, pattern: Option<&str>) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let site = known_site(&census, site)?;
    known_trap(&census.site_traps(&site)?, &site, pattern)?;
    let now = RealClock::new().now();
    let outcome = match collection.lock() {
        Ok(_lock) => {
            let mut frontier = SqliteFrontier::open(&collection.database())?;
            let LiftedTraps { stops, pages } = frontier.lift_traps(&site, pattern, now)?;
            Some(Outcome::Traps { lifted: stops, pages })
        }
        Err(StoreError::Busy { .. }) => {
            let (database, pattern) = (collection.database(), pattern.map(str::to_owned));
            let command = Command::LiftTrap { site: site.clone(), pattern };
            let id = control::request(&database, &command, now)?;
            answer::wait(&database, id)?
        }
        Err(error) => return Err(error.into()),
    };
    let result = match outcome {
        Some(Outcome::Traps { lifted, pages }) => {
            let (traps, pages) = (some(lifted, "trap"), some(pages, "page"));
            format!("{traps} lifted; {pages} to be judged or read again")
        }
        _ => "handed over; the running crawl takes it up when it can".to_owned(),
    };
    tell(context, &result, Some(&from_now_on(&site, pattern)))
}

/// What lifting means for what comes.
fn from_now_on(site: &str, pattern: Option<&str>) -> String {
    match pattern.filter(|pattern| *pattern != UrlTraps::SITE) {
        None => format!(
            "from now on nothing is stopped on {site}; to take that back: harvestman traps watch {site}"
        ),
        Some(pattern) => format!(
            "from now on it is left alone; to take that back: harvestman traps watch {site} '{pattern}'"
        ),
    }
}

/// Only between crawls: the holder of a site's lease has what was lifted in hand.
fn watch(context: &Context, site: &str, pattern: Option<&str>) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let site = known_site(&census, site)?;
    let lifted = census.site_traps(&site)?.urls.lifted;
    if !lifted.iter().any(|name| pattern.is_none_or(|pattern| pattern == name)) {
        let names: Vec<String> = lifted.iter().map(|name| format!("'{name}'")).collect();
        let (what, there) = match names.is_empty() {
            true => ("nothing".to_owned(), "everything there is watched".to_owned()),
            false => (
                format!("no {:?}", pattern.unwrap_or_default()),
                format!("lifted are {}", names.join(", ")),
            ),
        };
        return Err(Failure::usage(format!("{what} was lifted on {site}"), there));
    }
    let _lock = collection.lock()?;
    let mut frontier = SqliteFrontier::open(&collection.database())?;
    let again = frontier.watch_traps(&site, pattern, RealClock::new().now())?;
    let names: Vec<String> = again.iter().map(|name| format!("'{name}'")).collect();
    tell(context, &format!("watched again on {site}: {}", names.join(", ")), None)
}

fn tell(context: &Context, result: &str, then: Option<&str>) -> Result<Exit, Failure> {
    if context.json {
        print(&format!("{}\n", json!({ "result": result, "from_now_on": then })))?;
        return Ok(Exit::Done);
    }
    context.say(result);
    if let Some(then) = then {
        context.say(then);
    }
    Ok(Exit::Done)
}
