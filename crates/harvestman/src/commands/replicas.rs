//! `replicas`: the list of sites that serve what another serves; looking for them; keeping one apart.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, StoreError, Timestamp};
use serde_json::{Value, json};
use store::{
    census::Census,
    collection::Collection,
    control::{self, Command},
    frontier::SqliteFrontier,
    replicas::{ReplicaChange, ReplicaRow, ReplicaState},
};

use super::{Context, answer, decisions::known_site};
use crate::{
    cli::{ReplicasArgs, ReplicasCommand},
    terminal::print,
};
use collection::replicas::{in_parts, review};
use config::{
    Replicas,
    amounts::some,
    failure::{Exit, Failure},
    times,
};
use model::printable;

pub fn run(context: &Context, args: &ReplicasArgs) -> Result<Exit, Failure> {
    match &args.command {
        None | Some(ReplicasCommand::List) => list(context),
        Some(ReplicasCommand::Find) => find(context),
        Some(ReplicasCommand::Lift { site }) => lift(context, site),
    }
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let rows = census.replicas()?;
    if context.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
    } else if rows.is_empty() {
        context.say("no mirrors are known; harvestman mirrors find looks for them");
    } else {
        print(&table(&rows, RealClock::new().now()))?;
    }
    Ok(Exit::Done)
}

/// Looks now. With replicas switched off they are listed all the same: somebody asked.
fn find(context: &Context) -> Result<Exit, Failure> {
    let config = context.config(Vec::new())?;
    let collection = Collection::open(&context.folder)?;
    let census = Census::open(&collection)?;
    let mode = match config.hazards.mirrors {
        Replicas::Off => Replicas::Report,
        mode => mode,
    };
    let change = review(&census, mode, config.hazards.mirrors_recheck, RealClock::new().now())?;
    let found = match &change {
        ReplicaChange::Found { rows, .. } => {
            rows.iter().filter(|row| row.state != ReplicaState::Dropped).count() as u64
        }
        ReplicaChange::Lift { .. } => 0,
    };
    hand_over(&collection, change)?;
    if context.json {
        print(&format!("{}\n", json!({ "found": found })))?;
    } else {
        context.say(&format!("found, or holding still: {}", some(found, "replica")));
    }
    Ok(Exit::Done)
}

fn lift(context: &Context, site: &str) -> Result<Exit, Failure> {
    let collection = Collection::open(&context.folder)?;
    let site = known_site(&Census::open(&collection)?, site)?;
    hand_over(&collection, ReplicaChange::Lift { site: site.clone() })?;
    if context.json {
        print(&format!("{}\n", json!({ "lifted": site })))?;
    } else {
        context.say(&format!("{site} is crawled under its own name from now on"));
    }
    Ok(Exit::Done)
}

/// Changes the list ourselves, or has the running crawl do it.
fn hand_over(collection: &Collection, change: ReplicaChange) -> Result<(), Failure> {
    let clock = RealClock::new();
    match collection.lock() {
        Ok(_lock) => {
            let mut frontier = SqliteFrontier::open(&collection.database())?;
            frontier.change_replicas(&change, clock.now())?;
        }
        Err(StoreError::Busy { .. }) => {
            let database = collection.database();
            let mut last = None;
            for change in in_parts(change) {
                let command = Command::Replicas { change };
                last = Some(control::request(&database, &command, clock.now())?);
            }
            if let Some(id) = last {
                answer::wait(&database, id)?;
            }
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn table(rows: &[ReplicaRow], now: Timestamp) -> String {
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

fn of_original(row: &ReplicaRow) -> String {
    if row.original.is_empty() {
        return String::new();
    }
    let ReplicaRow { original, same, compared, heuristic, .. } = row;
    let compared = some(u64::from(*compared), "document");
    format!(" = {} ({same} of {compared}, {heuristic})", printable(original))
}

fn row_json(row: &ReplicaRow) -> Value {
    json!({
        "site": row.site, "original": row.original, "origin": row.origin,
        "heuristic": row.heuristic, "compared": row.compared, "same": row.same,
        "since": times::iso(row.since), "looked": times::iso(row.looked),
        "state": row.state.word(),
    })
}
