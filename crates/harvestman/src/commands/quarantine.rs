//! `quarantine`: pages that could not be read, those that are left alone for it, and letting them be read again.

use std::fmt::Write;

use collection::quarantine::{self, QuarantineRow};
use harvester::clock::RealClock;
use model::{Clock, Timestamp, printable};
use store::collection::Collection;

use super::{Context, answer, control::control};
use crate::{
    cli::{QuarantineArgs, QuarantineCommand},
    terminal::{print, print_json},
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
    times,
};

pub fn run(context: &Context, args: &QuarantineArgs) -> Result<Exit, Failure> {
    match &args.command {
        None | Some(QuarantineCommand::List) => list(context),
        Some(QuarantineCommand::Lift { what }) => lift(context, what),
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let listing = quarantine::list(&Collection::open(&context.folder)?)?;
    let now = RealClock::new().now();
    if context.json {
        print_json(&listing)?;
    } else if listing.rows.is_empty() {
        context.say("every page could be read");
    } else {
        print(&listing.rows.iter().map(|row| line(row, now)).collect::<String>())?;
        context.say("to have one read again: harvestman quarantine lift URL, or all of a SITE");
    }
    Ok(Exit::Done)
}

fn line(row: &QuarantineRow, now: Timestamp) -> String {
    let state = if row.quarantined { "quarantine" } else { "noted" };
    let mut text = String::new();
    let (times, when) = (some(u64::from(row.times), "time"), times::ago(row.last, now));
    let (url, how) = (printable(&row.url), printable(&row.how));
    let _ = writeln!(text, "{state:<10}  {times}, last {when}: {how}\n            {url}");
    text
}

fn lift(context: &Context, what: &[String]) -> Result<Exit, Failure> {
    let lifted = quarantine::lift(&control(context)?, what)?;
    if context.json {
        print_json(&lifted)?;
        return Ok(Exit::Done);
    }
    for unknown in &lifted.unknown {
        context.say(&format!("nothing of {} was noted", printable(unknown)));
    }
    match lifted.pending {
        true => context.say(answer::PENDING),
        false => context.say(&format!("{} may be read again", some(lifted.pages, "page"))),
    }
    Ok(Exit::Done)
}
