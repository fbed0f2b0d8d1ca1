//! `spider`: several crawls in one collection.

use std::{collections::BTreeMap, fmt::Write};

use collection::{
    control::{Command, Outcome, SpiderChange, SpiderState},
    seeding::add_spider,
    spiders::{self, Spider},
};
use model::printable;
use seeder::Seed;
use store::{collection::Collection, spiders::SpiderRow};

use super::{
    Context,
    control::{control, show},
    seed,
};
use crate::{
    cli::{SpiderAdd, SpiderCommand, SpiderEdit},
    terminal::{print, print_json},
};
use config::{
    self,
    amounts::{bytes, number},
    failure::{Exit, Failure},
};

type Settings = BTreeMap<String, String>;

pub fn run(context: &Context, command: Option<&SpiderCommand>) -> Result<Exit, Failure> {
    match command {
        None | Some(SpiderCommand::List) => list(context),
        Some(SpiderCommand::Add(args)) => add(context, args),
        Some(SpiderCommand::Edit(args)) => edit(context, args),
        Some(SpiderCommand::Pause { name, reason }) => {
            let why = reason.clone().unwrap_or_default();
            let done = format!("is paused; continue it with: harvestman spider resume {name}");
            change(context, name, SpiderChange::Pause { why }, &done)
        }
        Some(SpiderCommand::Resume { name }) => {
            let outcome = change(context, name, SpiderChange::Resume, "is active")?;
            if !context.json && !control(context)?.is_running() {
                context.say("no crawl is running; continue with: harvestman crawl");
            }
            Ok(outcome)
        }
        Some(SpiderCommand::Remove { name }) => {
            let done = "is removed; its pages stay in the collection";
            change(context, name, SpiderChange::Remove, done)
        }
    }
}

fn add(context: &Context, args: &SpiderAdd) -> Result<Exit, Failure> {
    let settings = read_settings(&args.set)?;
    let parse = |text: &String| Seed::parse(text).map_err(|why| Failure::bad_url(text, &why));
    let seeds: Vec<Seed> = args.urls.iter().map(parse).collect::<Result<_, _>>()?;
    let added = add_spider(&context.folder, &args.name, settings, &seeds)?;
    if context.json {
        print_json(&added)?;
        return Ok(added.seeds.as_ref().map_or(Exit::Done, seed::exit));
    }
    let name = &args.name;
    show(context, &added.outcome, |_| format!("spider {name} is added"))?;
    match &added.seeds {
        Some(seeds) => seed::show(context, seeds),
        None => {
            context.say(&format!("give it seeds with: harvestman seed --spider {name} URL"));
            Ok(Exit::Done)
        }
    }
}

fn edit(context: &Context, args: &SpiderEdit) -> Result<Exit, Failure> {
    let unset = args.unset.iter().map(|key| (key.clone(), None));
    let set = read_settings(&args.set)?.into_iter().map(|(key, value)| (key, Some(value)));
    let changes = unset.chain(set).collect();
    change(context, &args.name, SpiderChange::Edit { changes }, "is changed")
}

fn change(
    context: &Context,
    name: &str,
    change: SpiderChange,
    done: &str,
) -> Result<Exit, Failure> {
    let control = control(context)?;
    let running = control.is_running();
    let outcome = control.apply(Command::Spider { name: name.to_owned(), change })?;
    show(context, &outcome, |outcome| {
        let is_paused = matches!(outcome, Outcome::Spider { state: SpiderState::Paused, .. });
        let also = match (running, is_paused) {
            (true, false) => ", in the running crawl too",
            _ => "",
        };
        format!("spider {name} {done}{also}")
    })
}

fn read_settings(texts: &[String]) -> Result<Settings, Failure> {
    texts.iter().map(|text| config::parse_setting(text)).collect()
}

/// The spider of this name, or what to do about it.
pub fn find(rows: Vec<SpiderRow>, name: &str) -> Result<SpiderRow, Failure> {
    Ok(collection::control::spider_named(rows, name)?)
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let listing = spiders::list(&Collection::open(&context.folder)?)?;
    if context.json {
        print_json(&listing)?;
    } else {
        print(&table(&listing.rows))?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[Spider]) -> String {
    let mut text = format!(
        "{:<20} {:<7} {:>10} {:>10} {:>10} {:>8} {:>9}\n",
        "spider", "state", "known", "fetched", "waiting", "failing", "bytes"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:<20} {:<7} {:>10} {:>10} {:>10} {:>8} {:>9}",
            row.spider,
            row.state.word(),
            number(row.pages.known),
            number(row.pages.fetched),
            number(row.pages.waiting),
            number(row.pages.failed),
            bytes(row.bytes),
        );
        if row.state == SpiderState::Paused && !row.why.is_empty() {
            let _ = writeln!(text, "    paused: {}", printable(&row.why));
        }
        for (key, value) in &row.settings {
            let _ = writeln!(text, "    {key} = {}", printable(value));
        }
    }
    text
}
