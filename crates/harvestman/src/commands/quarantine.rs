//! `quarantine`: pages whose reading broke down, those that are left alone for it, and letting them be read again. A
//! running crawl is told through its database.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, StoreError, Timestamp, limits::BREAKDOWNS_MAX};
use seeder::parse_seed;
use serde_json::{Value, json};
use store::{
    census::Census,
    collection::Collection,
    control::{self, Command, Outcome},
    frontier::{Breakdown, SqliteFrontier},
};

use super::{Context, answer};
use crate::{
    cli::{QuarantineArgs, QuarantineCommand},
    terminal::print,
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
    times,
};
use model::printable;

pub fn run(context: &Context, args: &QuarantineArgs) -> Result<Exit, Failure> {
    match &args.command {
        None | Some(QuarantineCommand::List) => list(context),
        Some(QuarantineCommand::Lift { what }) => lift(context, what),
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let rows = Census::open(&Collection::open(&context.folder)?)?.breakdowns()?;
    let now = RealClock::new().now();
    if context.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
    } else if rows.is_empty() {
        context.say("no page has broken its reading down");
    } else {
        print(&rows.iter().map(|row| line(row, now)).collect::<String>())?;
        context.say("to have one read again: harvestman quarantine lift URL, or all of a SITE");
    }
    Ok(Exit::Done)
}

fn line(row: &Breakdown, now: Timestamp) -> String {
    let state = if is_in(row) { "quarantine" } else { "noted" };
    let mut text = String::new();
    let (times, when) = (some(u64::from(row.count), "time"), times::ago(row.last, now));
    let (url, how) = (printable(&row.url), printable(&row.how));
    let _ = writeln!(text, "{state:<10}  {times}, last {when}: {how}\n            {url}");
    text
}

fn row_json(row: &Breakdown) -> Value {
    json!({
        "url": row.url, "site": row.site, "times": row.count, "how": row.how,
        "quarantined": is_in(row), "first": times::iso(row.first), "last": times::iso(row.last),
    })
}

fn is_in(row: &Breakdown) -> bool {
    row.count >= BREAKDOWNS_MAX
}

fn lift(context: &Context, what: &[String]) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let (mut pages, mut missing) = (0, Vec::new());
    for what in what {
        // As the collection writes it: a site as it stands there, else a URL.
        let name = match what.contains('/') {
            true => {
                parse_seed(what).map_err(|why| Failure::no_url(what, &why))?.as_str().to_owned()
            }
            false => what.to_lowercase(),
        };
        let lifted = lift_one(&collection, &name)?;
        pages += lifted;
        if lifted == 0 {
            missing.push(what.as_str());
        }
    }
    if pages == 0 {
        return Err(Failure::usage(
            format!("nothing of {} was noted", missing.join(", ")),
            "give a URL or a site as it is listed by: harvestman quarantine",
        ));
    }
    if context.json {
        print(&format!("{}\n", json!({ "pages": pages })))?;
    } else {
        for what in missing {
            context.say(&format!("nothing of {} was noted", printable(what)));
        }
        context.say(&format!("{} may be read again", some(pages, "page")));
    }
    Ok(Exit::Done)
}

fn lift_one(collection: &Collection, what: &str) -> Result<u64, Failure> {
    let (database, clock) = (collection.database(), RealClock::new());
    match collection.lock() {
        Ok(_lock) => {
            return Ok(SqliteFrontier::open(&database)?.lift_quarantine(what, clock.now())?);
        }
        Err(StoreError::Busy { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let command = Command::LiftQuarantine { what: what.to_owned() };
    let id = control::request(&database, &command, clock.now())?;
    match answer::wait(&database, id)? {
        Some(Outcome::Lifted { pages }) => Ok(pages),
        _ => Err(Failure::fault(
            "the running crawl has not answered yet",
            "it takes the command up when it can; look again with: harvestman quarantine",
        )),
    }
}
