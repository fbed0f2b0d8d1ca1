//! `webhook`: how deliveries of changes are doing, and what to do about those that failed.

use std::{fmt::Write, sync::Arc};

use harvester::clock::RealClock;
use model::{Clock, Timestamp};
use serde_json::{Value, json};
use store::{census::Census, collection::Collection, webhooks::DeadLetter};

use super::Context;
use crate::{
    cli::{WebhookArgs, WebhookCommand},
    terminal::print,
};
use collection::webhook::{self, Courier, PAUSE, Round, client::Client, payload::Delivery};
use config::{
    Config, Kind, Webhook,
    amounts::{number, some},
    failure::{Exit, Failure},
    setup::Setup,
    times,
};
use model::printable;

pub fn run(context: &Context, args: &WebhookArgs) -> Result<Exit, Failure> {
    let config = || context.config(Vec::new());
    match args.command.as_ref().unwrap_or(&WebhookCommand::List) {
        WebhookCommand::List => match context.config_to_read() {
            // Whether there is one cannot be said.
            (config, mistakes) if config.webhooks.is_empty() && !mistakes.is_empty() => {
                Err(Failure::usage(
                    "no webhook could be read: the settings have a mistake",
                    "mend it; `harvestman config check` names all of them",
                ))
            }
            (config, _) => list(context, &config),
        },
        WebhookCommand::Deliver => deliver(context, &config()?),
        WebhookCommand::Dead => dead(context),
        WebhookCommand::Retry { ids, .. } => retry(context, &config()?, ids),
        WebhookCommand::Test { name } => test(context, &config()?, name.as_deref()),
    }
}

fn list(context: &Context, config: &Config) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let (mut rows, mut text) = (Vec::new(), String::new());
    let now = RealClock::new().now();
    for table in &config.webhooks {
        let place = census.webhook(&table.name)?;
        let waiting = webhook::waiting(&census, table, place.as_ref())?;
        let dead: u64 = census.dead_letters(Some(&table.name))?.iter().map(|d| d.changes).sum();
        let next = place.as_ref().and_then(|place| webhook::next_try(place, now));
        let anew = place.as_ref().is_some_and(|place| place.tries == 0);
        let error = place.as_ref().map_or("", |place| &place.error);
        let delivered = place.as_ref().map_or(0, |place| place.delivered);
        let last = place.as_ref().and_then(|place| place.last);
        rows.push(json!({
            "name": table.name, "url": table.shown_url(), "spider": table.spider,
            "site": table.site, "kinds": words(table), "waiting": waiting,
            "delivered": delivered, "last": last.map(times::iso), "error": error,
            "tries": place.as_ref().map_or(0, |place| place.tries),
            "next": next.map(times::iso), "dead": dead,
        }));
        let _ = writeln!(text, "{} → {}", printable(&table.name), table.shown_url());
        let _ = write!(text, "    {} delivered", number(delivered));
        if let Some(last) = last {
            let _ = write!(text, ", last {}", times::ago(last, now));
        }
        let _ = writeln!(text, ", {} waiting, {} given up", number(waiting), number(dead));
        if !error.is_empty() {
            let sooner = if anew { ", or with the next crawl" } else { "" };
            let when = next.map_or(String::new(), |at| {
                format!("; next try {}{sooner}", times::until(at, now))
            });
            let _ = writeln!(text, "    last trouble: {}{when}", printable(error));
        }
    }
    if context.json {
        return print(&format!("{}\n", Value::from(rows))).map(|()| Exit::Done);
    }
    if config.webhooks.is_empty() {
        context
            .say("there is no webhook; docs/webhooks.md says how to write one into harvest.toml");
    }
    print(&text).map(|()| Exit::Done)
}

fn words(table: &Webhook) -> Vec<&'static str> {
    let kinds = if table.kinds.is_empty() { &Kind::ALL[..] } else { &table.kinds };
    kinds.iter().map(|kind| kind.word()).collect()
}

fn deliver(context: &Context, config: &Config) -> Result<Exit, Failure> {
    let mut courier = opened(context, config)?;
    let (mut delivered, mut failed) = (0, Vec::new());
    for (at, name) in courier.names().into_iter().enumerate() {
        loop {
            match courier.round(at, true)? {
                Round::Idle | Round::Waiting => break,
                Round::Delivered(changes) => delivered += changes as u64,
                Round::Failed(why) | Round::Buried(why) => {
                    failed.push(json!({ "webhook": name, "error": why }));
                    break;
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
    if context.json {
        print(&format!("{}\n", json!({ "delivered": delivered, "failed": failed })))?;
    } else {
        context.say(&format!("{} delivered", some(delivered, "change")));
        for failure in &failed {
            let text =
                |name: &str| printable(failure[name].as_str().unwrap_or_default()).into_owned();
            context.say(&format!(
                "{} did not take its delivery: {}",
                text("webhook"),
                text("error")
            ));
        }
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::NothingFetched })
}

fn dead(context: &Context) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let letters = census.dead_letters(None)?;
    if context.json {
        let row = |letter: &DeadLetter| {
            json!({ "id": letter.id, "webhook": letter.webhook, "changes": letter.changes,
                    "after": letter.after, "upto": letter.upto, "since": times::iso(letter.since),
                    "at": times::iso(letter.at), "tries": letter.tries, "error": letter.error })
        };
        let rows: Vec<Value> = letters.iter().map(row).collect();
        return print(&format!("{}\n", Value::from(rows))).map(|()| Exit::Done);
    }
    if letters.is_empty() {
        context.say("nothing was given up");
    }
    let (mut text, now) = (String::new(), RealClock::new().now());
    for letter in &letters {
        let DeadLetter { id, webhook, changes, tries, error, at, .. } = letter;
        let (webhook, error) = (printable(webhook), printable(error));
        let when = times::ago(*at, now);
        let (changes, tries) = (some(*changes, "change"), tries_of(*tries));
        let _ = writeln!(text, "{id:>5}  {webhook}  {changes}, {tries}, {when}: {error}");
    }
    print(&text).map(|()| Exit::Done)
}

fn tries_of(tries: u32) -> String {
    if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
}

fn retry(context: &Context, config: &Config, ids: &[i64]) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let letters = census.dead_letters(None)?;
    if let Some(id) = ids.iter().find(|id| !letters.iter().any(|letter| letter.id == **id)) {
        return Err(Failure::usage(
            format!("there is no dead letter {id}"),
            "`harvestman webhook dead` lists them",
        ));
    }
    let mut courier = opened(context, config)?;
    let (mut arrived, mut failed) = (0, None);
    for letter in letters.iter().filter(|l| ids.is_empty() || ids.contains(&l.id)) {
        let (changes, why) = courier.raise(letter)?;
        arrived += changes;
        if let Some(why) = why {
            failed = Some(format!("{} did not take it: {why}", letter.webhook));
            break;
        }
        std::thread::sleep(PAUSE);
    }
    if context.json {
        print(&format!("{}\n", json!({ "delivered": arrived, "error": failed })))?;
    } else {
        context.say(&format!("{} delivered", some(arrived, "change")));
        failed.iter().for_each(|why| context.say(&printable(why)));
    }
    Ok(if failed.is_none() { Exit::Done } else { Exit::NothingFetched })
}

fn test(context: &Context, config: &Config, name: Option<&str>) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let wanted = |table: &&Webhook| name.is_none_or(|name| table.name == name);
    let tables: Vec<&Webhook> = config.webhooks.iter().filter(wanted).collect();
    if tables.is_empty() {
        return Err(none(name));
    }
    let setup = Setup::new(config, &context.folder)?;
    let client = Client::new(config, &setup.http, setup.dns.clone(), clock.clone())?;
    let (mut rows, mut good) = (Vec::new(), true);
    for table in tables {
        let outcome = tried(&client, table, clock.now())?;
        good &= outcome.is_ok();
        let error = outcome.err();
        match &error {
            None => context.say(&format!("{}: it arrived", printable(&table.name))),
            Some(why) => context.say(&format!("{}: {}", printable(&table.name), printable(why))),
        }
        rows.push(json!({ "webhook": table.name, "arrived": error.is_none(), "error": error }));
    }
    if context.json {
        print(&format!("{}\n", Value::from(rows)))?;
    }
    Ok(if good { Exit::Done } else { Exit::NothingFetched })
}

fn tried(client: &Client, table: &Webhook, now: Timestamp) -> Result<Result<(), String>, Failure> {
    let delivery = Delivery::of_test(&table.name, now);
    Ok(client.post(&table.url, &table.key()?, &delivery))
}

fn opened(context: &Context, config: &Config) -> Result<Courier, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let setup = Setup::new(config, &context.folder)?;
    let collection = Collection::open(&context.folder)?;
    webhook::courier(config, &setup, &collection, &clock)?.ok_or_else(|| none(None))
}

fn none(name: Option<&str>) -> Failure {
    let sentence = match name {
        Some(name) => format!("there is no webhook {name:?}"),
        None => "there is no webhook".to_owned(),
    };
    Failure::usage(sentence, "write a [[webhook]] into harvest.toml: see docs/webhooks.md")
}
