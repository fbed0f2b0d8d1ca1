//! `spider`: several crawls in one collection. A running crawl is told through its database and follows within
//! seconds; otherwise the change is made here.

use std::{collections::BTreeMap, fmt::Write, path::PathBuf, sync::Arc};

use harvester::clock::RealClock;
use model::{Clock, SpiderId, StoreError};
use seeder::{Blocks, Seed};
use serde_json::{Value, json};
use store::{
    census::Census,
    collection::{Collection, CrawlLock},
    control::{self, Outcome, SpiderChange},
    frontier::SqliteFrontier,
    spiders::{self, SpiderRow},
};

use super::{Context, answer};
use crate::{
    cli::{SpiderAdd, SpiderCommand, SpiderEdit},
    seeding::Seeding,
    terminal::print,
};
use config::{
    self, Config,
    amounts::{bytes, number},
    failure::{Exit, Failure},
    setup::{self, returns::COMMON},
};
use engine::{build_spider::build_spider, pipeline::desk::Desk};
use model::printable;

type Settings = BTreeMap<String, String>;

pub fn run(context: &Context, command: Option<&SpiderCommand>) -> Result<Exit, Failure> {
    match command {
        None | Some(SpiderCommand::List) => list(context),
        Some(SpiderCommand::Add(args)) => add(context, args),
        Some(SpiderCommand::Edit(args)) => edit(context, args),
        Some(SpiderCommand::Pause { name, reason }) => {
            let why = reason.clone().unwrap_or_default();
            change(context, name, SpiderChange::Pause { why }, "rests until it is resumed")
        }
        Some(SpiderCommand::Resume { name }) => {
            change(context, name, SpiderChange::Resume, "crawls again")
        }
        Some(SpiderCommand::Remove { name }) => {
            let done = "is gone; what it brought stays in the collection";
            change(context, name, SpiderChange::Remove, done)
        }
    }
}

fn add(context: &Context, args: &SpiderAdd) -> Result<Exit, Failure> {
    spiders::check_name(&args.name)?;
    let settings = read_settings(&args.set)?;
    let base = context.config(Vec::new())?;
    let config = checked(&base, &args.name, &settings, context)?;
    let seeds: Result<Vec<Seed>, Failure> = args
        .urls
        .iter()
        .map(|text| Seed::parse(text).map_err(|why| Failure::bad_url(text, &why)))
        .collect();
    let seeds = seeds?;
    let mut way = Way::open(&Collection::open_or_create(&context.folder)?)?;
    let known = way.spiders(context)?;
    if known.iter().any(|row| row.name == args.name) {
        return Err(taken(&args.name));
    }
    let done = way.change(&args.name, SpiderChange::Add { settings })?;
    drop(way);
    done.tell(context, &args.name, "is added")?;
    if seeds.is_empty() {
        let name = &args.name;
        context.say(&format!("give it seeds with: harvestman seed --spider {name} URL"));
        return Ok(Exit::Done);
    }
    let rules = setup::rules(&config, &context.folder)?;
    let mut seeding = Seeding::new(context, rules).of_spider(&args.name);
    for seed in &seeds {
        seeding.offer(seed)?;
    }
    seeding.finish()
}

fn edit(context: &Context, args: &SpiderEdit) -> Result<Exit, Failure> {
    let set = read_settings(&args.set)?;
    let mut way = Way::open(&Collection::open(&context.folder)?)?;
    let row = way.named(context, &args.name)?;
    let mut settings = row.settings;
    let mut changes: BTreeMap<String, Option<String>> = BTreeMap::new();
    for key in &args.unset {
        if settings.remove(key).is_none() {
            return Err(Failure::usage(
                format!("spider {} has no value of its own for {key}", args.name),
                "see what it has with: harvestman spider list --json",
            ));
        }
        changes.insert(key.clone(), None);
    }
    settings.extend(set.clone());
    changes.extend(set.into_iter().map(|(key, value)| (key, Some(value))));
    if changes.is_empty() {
        return Err(Failure::usage(
            "nothing is to be changed",
            "give --set KEY=VALUE or --unset KEY",
        ));
    }
    checked(&context.config(Vec::new())?, &args.name, &settings, context)?;
    way.change(&args.name, SpiderChange::Edit { changes })?.tell(
        context,
        &args.name,
        "is changed",
    )?;
    Ok(Exit::Done)
}

fn change(
    context: &Context,
    name: &str,
    change: SpiderChange,
    done: &str,
) -> Result<Exit, Failure> {
    let mut way = Way::open(&Collection::open(&context.folder)?)?;
    way.named(context, name)?;
    way.change(name, change)?.tell(context, name, done)?;
    Ok(Exit::Done)
}

fn read_settings(texts: &[String]) -> Result<Settings, Failure> {
    texts.iter().map(|text| config::parse_setting(text)).collect()
}

/// The spider's whole configuration with everything in it that can be wrong made once: scripts, rules, patterns.
fn checked(
    base: &Config,
    name: &str,
    settings: &Settings,
    context: &Context,
) -> Result<Config, Failure> {
    let config = base.for_spider(name, settings)?.config;
    let who = (SpiderId(0), name);
    build_spider(who, COMMON, &config, &context.folder, &Blocks::default(), Arc::default())?;
    Ok(config)
}

fn taken(name: &str) -> Failure {
    Failure::usage(
        format!("there is a spider {name} already"),
        format!("change it with `harvestman spider edit {name}`, or take another name"),
    )
}

/// Who makes the change.
enum Way {
    /// We do: no crawl can begin meanwhile.
    Direct(Box<SqliteFrontier>, CrawlLock),
    /// The running crawl does.
    Crawl(PathBuf),
}

/// What became of a change.
enum Done {
    Here,
    InTheCrawl,
    Later,
}

impl Way {
    fn open(collection: &Collection) -> Result<Way, Failure> {
        match collection.lock() {
            Ok(lock) => Ok(Way::Direct(SqliteFrontier::open(&collection.database())?.into(), lock)),
            Err(StoreError::Busy { .. }) => Ok(Way::Crawl(collection.database())),
            Err(error) => Err(error.into()),
        }
    }

    fn spiders(&mut self, context: &Context) -> Result<Vec<SpiderRow>, Failure> {
        Ok(match self {
            Way::Direct(frontier, _lock) => frontier.spiders()?,
            Way::Crawl(_) => Census::open(&Collection::open(&context.folder)?)?.spiders()?,
        })
    }

    fn named(&mut self, context: &Context, name: &str) -> Result<SpiderRow, Failure> {
        find(self.spiders(context)?, name)
    }

    fn change(&mut self, name: &str, change: SpiderChange) -> Result<Done, Failure> {
        let now = RealClock::new().now();
        match self {
            Way::Direct(frontier, _lock) => {
                Desk::change_spider(&mut **frontier, name, &change, now)?;
                Ok(Done::Here)
            }
            Way::Crawl(database) => {
                let command = control::Command::Spider { name: name.to_owned(), change };
                let id = control::request(database, &command, now)?;
                match answer::wait(database, id)? {
                    Some(Outcome::Done) => Ok(Done::InTheCrawl),
                    Some(Outcome::Refused { why }) => Err(Failure::usage(
                        format!("the running crawl refuses it: {why}"),
                        "correct that, or wait until the crawl is over",
                    )),
                    _ => Ok(Done::Later),
                }
            }
        }
    }
}

impl Done {
    fn tell(&self, context: &Context, name: &str, what: &str) -> Result<(), Failure> {
        let (running, in_force) = match self {
            Done::Here => (false, true),
            Done::InTheCrawl => (true, true),
            Done::Later => (true, false),
        };
        if context.json {
            let answer = json!({ "spider": name, "running": running, "in_force": in_force });
            return print(&format!("{answer}\n"));
        }
        context.say(&match self {
            Done::Here => format!("spider {name} {what}"),
            Done::InTheCrawl => format!("spider {name} {what}, in the running crawl too"),
            Done::Later => format!("spider {name}: the running crawl takes it up when it can"),
        });
        Ok(())
    }
}

/// The spider of this name, or what to do about it.
pub fn find(rows: Vec<SpiderRow>, name: &str) -> Result<SpiderRow, Failure> {
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    rows.into_iter().find(|row| row.name == name).ok_or_else(|| {
        Failure::usage(
            format!("there is no spider {name:?}"),
            format!("there are {}; add one with: harvestman spider add NAME URL", names.join(", ")),
        )
    })
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let rows = Census::open(&Collection::open(&context.folder)?)?.spiders()?;
    if context.json {
        let rows: Vec<Value> = rows.iter().map(as_json).collect();
        print(&format!("{:#}\n", Value::from(rows)))?;
    } else {
        print(&table(&rows))?;
    }
    Ok(Exit::Done)
}

pub fn as_json(row: &SpiderRow) -> Value {
    json!({
        "name": row.name, "id": row.id.0, "created": config::times::iso(row.created),
        "state": state(row), "why": row.why, "settings": shown_settings(row),
        "pages": {
            "known": row.counts.known, "fetched": row.counts.fetched,
            "waiting": row.counts.waiting, "failed": row.counts.failed,
        },
        "requisites": row.counts.requisites, "visits": row.visits, "bytes": row.spent.bytes,
    })
}

/// Without what is secret in them.
fn shown_settings(row: &SpiderRow) -> Settings {
    let shown = |(key, value): (&String, &String)| {
        let secret = config::Key::named(key).is_some_and(|key| key.secret);
        (key.clone(), if secret { config::veiled(value) } else { value.clone() })
    };
    row.settings.iter().map(shown).collect()
}

fn state(row: &SpiderRow) -> &'static str {
    if row.paused { "paused" } else { "active" }
}

fn table(rows: &[SpiderRow]) -> String {
    let mut text = format!(
        "{:<20} {:<7} {:>10} {:>10} {:>10} {:>8} {:>9}\n",
        "spider", "state", "known", "fetched", "waiting", "failing", "bytes"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:<20} {:<7} {:>10} {:>10} {:>10} {:>8} {:>9}",
            row.name,
            state(row),
            number(row.counts.known),
            number(row.counts.fetched),
            number(row.counts.waiting),
            number(row.counts.failed),
            bytes(row.spent.bytes),
        );
        if row.paused && !row.why.is_empty() {
            let _ = writeln!(text, "    paused: {}", printable(&row.why));
        }
        for (key, value) in &shown_settings(row) {
            let _ = writeln!(text, "    {key} = {}", printable(value));
        }
    }
    text
}
