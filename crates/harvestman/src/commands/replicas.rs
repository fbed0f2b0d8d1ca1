//! `mirrors`: the list of sites that serve what another serves; looking for them; keeping one apart.

use std::fmt::Write;

use collection::mirrors::{self, Mirror};
use harvester::clock::RealClock;
use model::{Clock, Timestamp, printable};
use store::collection::Collection;

use super::{
    Context, answer,
    control::{control, show},
};
use crate::{
    cli::{ReplicasArgs, ReplicasCommand},
    terminal::{print, print_json},
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
    times,
};

pub fn run(context: &Context, args: &ReplicasArgs) -> Result<Exit, Failure> {
    match &args.command {
        None | Some(ReplicasCommand::List) => list(context),
        Some(ReplicasCommand::Find) => find(context),
        Some(ReplicasCommand::Lift { site }) => {
            let outcome = mirrors::lift(&control(context)?, site)?;
            let site = printable(site);
            show(context, &outcome, |_| format!("{site} is crawled under its own name from now on"))
        }
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let listing = mirrors::list(&Collection::open(&context.folder)?)?;
    if context.json {
        print_json(&listing)?;
    } else if listing.rows.is_empty() {
        context.say("no mirrors are known; harvestman mirrors find looks for them");
    } else {
        print(&table(&listing.rows, RealClock::new().now()))?;
    }
    Ok(Exit::Done)
}

fn find(context: &Context) -> Result<Exit, Failure> {
    let found = mirrors::find(&control(context)?)?;
    if context.json {
        print_json(&found)?;
        return Ok(Exit::Done);
    }
    context.say(&format!("found, or still so: {}", some(found.found, "mirror")));
    if found.pending {
        context.say(answer::PENDING);
    }
    Ok(Exit::Done)
}

fn table(rows: &[Mirror], now: Timestamp) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(
            text,
            "{:<9} {}{}  since {}, looked at {}",
            row.state.word(),
            printable(&row.site),
            of_original(row),
            times::ago(row.since, now),
            times::ago(row.looked, now),
        );
    }
    text
}

fn of_original(row: &Mirror) -> String {
    if row.original.is_empty() {
        return String::new();
    }
    let Mirror { original, same, compared, heuristic, .. } = row;
    let compared = some(u64::from(*compared), "document");
    format!(" = {} ({same} of {compared}, {heuristic})", printable(original))
}
