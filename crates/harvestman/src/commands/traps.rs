//! `traps`: which patterns of URLs and which sites were stopped, why and since when; `traps lift` takes them again and
//! leaves them alone from then on, `traps watch` takes that back.

use std::fmt::Write;

use collection::{
    control::{Command, Outcome},
    traps::{self, Trap, TrapMeasure},
};
use harvester::clock::RealClock;
use model::{Clock, Hazard, Timestamp, UrlTraps, printable};
use store::collection::Collection;

use super::{
    Context,
    control::{control, show},
};
use crate::{
    cli::{TrapsArgs, TrapsCommand},
    terminal::{print, print_json},
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
    times,
};

pub fn run(context: &Context, args: &TrapsArgs) -> Result<Exit, Failure> {
    match &args.command {
        Some(TrapsCommand::Lift { site, pattern }) => lift(context, site, pattern.as_deref()),
        Some(TrapsCommand::Watch { site, pattern }) => watch(context, site, pattern.as_deref()),
        None => list(context, args.site.as_deref()),
    }
}

fn list(context: &Context, site: Option<&str>) -> Result<Exit, Failure> {
    let listing = traps::list(&Collection::open(&context.folder)?, site)?;
    if context.json {
        print_json(&listing)?;
        return Ok(Exit::Done);
    }
    if listing.rows.is_empty() {
        context.say("no trap was found");
    }
    let now = RealClock::new().now();
    print(&listing.rows.iter().map(|row| text(row, now)).collect::<String>())?;
    Ok(Exit::Done)
}

fn text(row: &Trap, now: Timestamp) -> String {
    let site = printable(&row.site);
    let pattern = printable(row.pattern.as_deref().unwrap_or_default());
    let since = row.since.map(|since| times::ago(since, now)).unwrap_or_default();
    match row.measure {
        TrapMeasure::SiteStopped | TrapMeasure::PatternStopped => {
            stopped(row, &site, &pattern, &since)
        }
        TrapMeasure::Rewritten => rewritten(row, &site, &pattern, &since),
        TrapMeasure::Noted => {
            let (word, meaning) = words(row);
            format!(
                "{site}  {word}: {meaning}; found {since}\n    harvestman traps lift {site} {word}\n"
            )
        }
        TrapMeasure::Lifted => {
            let what = match &*pattern {
                UrlTraps::SITE => "nothing of it is ever stopped".to_owned(),
                name => format!("{name}  never stopped"),
            };
            format!(
                "{site}  {what}: you lifted it\n    harvestman traps watch {site} '{pattern}'\n"
            )
        }
    }
}

fn words(row: &Trap) -> (&'static str, &'static str) {
    (row.hazard.map_or("", Hazard::word), row.meaning.unwrap_or_default())
}

fn stopped(row: &Trap, site: &str, pattern: &str, since: &str) -> String {
    let (word, meaning) = words(row);
    let (kept, refused) = (some(row.kept, "page"), some(row.refused, "link"));
    let held_back = some(row.held_back, "page");
    let mut text = format!("{site}  {pattern}  {word}: {meaning}\n");
    let _ = writeln!(
        text,
        "    stopped {since}: {kept} kept, {held_back} held back, {refused} to more of it refused"
    );
    if row.hazard == Some(Hazard::NearDuplicates) {
        text.push_str(
            "    links on such pages to more of them are left; links on other pages are taken\n",
        );
    }
    if pattern == UrlTraps::SITE && !row.all {
        text.push_str(
            "    links on copies and on pages of what is stopped are left; links on other pages \
             are taken\n",
        );
    }
    for example in &row.examples {
        let _ = writeln!(text, "    {}", printable(example));
    }
    let tail = if pattern == UrlTraps::SITE { String::new() } else { format!(" '{pattern}'") };
    let _ = writeln!(text, "    harvestman traps lift {site}{tail}");
    text
}

fn rewritten(row: &Trap, site: &str, pattern: &str, since: &str) -> String {
    let (links, pages) = (some(row.rewritten, "link"), some(row.held_back, "page"));
    let what = match (row.rewritten, row.held_back) {
        // It was seen on the last pages that had it.
        (0, 0) => "no link with it was met since".to_owned(),
        (_, 0) => format!("{links} rewritten"),
        (0, _) => format!("{pages} held back"),
        _ => format!("{links} rewritten, {pages} held back"),
    };
    let (word, _) = words(row);
    format!(
        "{site}  {pattern}  {word}: it makes no difference\n    found {since}, {what}\n    \
         harvestman traps lift {site} '{pattern}'\n"
    )
}

fn lift(context: &Context, site: &str, pattern: Option<&str>) -> Result<Exit, Failure> {
    let command = Command::LiftTrap { site: site.to_owned(), pattern: pattern.map(str::to_owned) };
    let outcome = control(context)?.apply(command)?;
    show(context, &outcome, |outcome| {
        let (lifted, pages) = match outcome {
            Outcome::Traps { lifted, pages } => (*lifted, *pages),
            _ => (0, 0),
        };
        let (traps, pages) = (some(lifted, "trap"), some(pages, "page"));
        let then = from_now_on(&printable(site), pattern);
        format!("{traps} lifted; {pages} to be judged or read again\n{then}")
    })
}

/// What lifting means for what comes.
fn from_now_on(site: &str, pattern: Option<&str>) -> String {
    match pattern.filter(|pattern| *pattern != UrlTraps::SITE) {
        None => format!(
            "from now on nothing is stopped on {site}; to take that back: harvestman traps watch {site}"
        ),
        Some(pattern) => format!(
            "from now on it is left alone; to take that back: harvestman traps watch {site} '{}'",
            printable(pattern)
        ),
    }
}

fn watch(context: &Context, site: &str, pattern: Option<&str>) -> Result<Exit, Failure> {
    let command = Command::WatchTrap { site: site.to_owned(), pattern: pattern.map(str::to_owned) };
    let outcome = control(context)?.apply(command)?;
    show(context, &outcome, |outcome| {
        let names: Vec<String> = match outcome {
            Outcome::Watched { patterns } => {
                patterns.iter().map(|name| format!("'{}'", printable(name))).collect()
            }
            _ => Vec::new(),
        };
        format!("watched again on {}: {}", printable(site), names.join(", "))
    })
}
