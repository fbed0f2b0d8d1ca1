//! `webhook`: how deliveries of changes are doing, and what to do about those that failed.

use std::{fmt::Write, sync::Arc};

use harvester::clock::RealClock;
use model::{Clock, Timestamp, printable};
use store::{census::Census, collection::Collection};

use super::Context;
use crate::{
    cli::{WebhookArgs, WebhookCommand},
    terminal::{print, print_json},
};
use collection::{
    Error,
    webhook::{self, Courier, DeadLetterRow, Deliveries, WebhookRow},
};
use config::{
    Config,
    amounts::{number, some},
    failure::{Exit, Failure},
    setup::Setup,
    times,
};

pub fn run(context: &Context, args: &WebhookArgs) -> Result<Exit, Failure> {
    let config = || context.config(Vec::new());
    match args.command.as_ref().unwrap_or(&WebhookCommand::List) {
        WebhookCommand::List => match context.config_to_read() {
            // Whether there is one cannot be said.
            (config, mistakes) if config.webhooks.is_empty() && !mistakes.is_empty() => {
                Err(Failure::usage(
                    "no webhook could be read: the settings have a mistake",
                    "correct it; `harvestman config check` lists all of them",
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
    let now = RealClock::new().now();
    let webhooks = webhook::status(&census, config, now)?;
    if context.json {
        return print_json(&webhooks).map(|()| Exit::Done);
    }
    if webhooks.rows.is_empty() {
        context
            .say("there is no webhook; docs/webhooks.md says how to write one into harvest.toml");
    }
    let mut text = String::new();
    webhooks.rows.iter().for_each(|row| write_webhook(&mut text, row, now));
    print(&text).map(|()| Exit::Done)
}

fn write_webhook(text: &mut String, row: &WebhookRow, now: Timestamp) {
    let _ = writeln!(text, "{} → {}", printable(&row.name), row.url);
    let _ = write!(text, "    {} delivered", number(row.delivered));
    if let Some(last) = row.last_delivered {
        let _ = write!(text, ", last {}", times::ago(last, now));
    }
    let (waiting, given_up) = (number(row.waiting), number(row.given_up));
    let _ = writeln!(text, ", {waiting} waiting, {given_up} given up");
    if let Some(error) = &row.error {
        let sooner = if row.tries == 0 { ", or with the next crawl" } else { "" };
        let when = row
            .next_try
            .map_or(String::new(), |at| format!("; next try {}{sooner}", times::until(at, now)));
        let _ = writeln!(text, "    last error: {}{when}", printable(error));
    }
}

fn deliver(context: &Context, config: &Config) -> Result<Exit, Failure> {
    let done = webhook::deliver(&mut opened(context, config)?)?;
    delivered(context, &done)
}

fn retry(context: &Context, config: &Config, ids: &[i64]) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let done = webhook::retry(&census, ids, || opened(context, config))?;
    delivered(context, &done)
}

fn delivered(context: &Context, done: &Deliveries) -> Result<Exit, Failure> {
    if context.json {
        print_json(done)?;
    } else {
        context.say(&format!("{} delivered", some(done.delivered, "change")));
        for failed in &done.failed {
            let (name, error) = (printable(&failed.webhook), printable(&failed.error));
            context.say(&format!("{name} did not accept its delivery: {error}"));
        }
    }
    Ok(if done.failed.is_empty() { Exit::Done } else { Exit::NothingFetched })
}

fn dead(context: &Context) -> Result<Exit, Failure> {
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let letters = webhook::dead(&census)?;
    if context.json {
        return print_json(&letters).map(|()| Exit::Done);
    }
    if letters.rows.is_empty() {
        context.say("nothing was given up");
    }
    let (mut text, now) = (String::new(), RealClock::new().now());
    for letter in &letters.rows {
        let DeadLetterRow { id, webhook, changes, tries, error, at, .. } = letter;
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

fn test(context: &Context, config: &Config, name: Option<&str>) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let setup = Setup::new(config, &context.folder)?;
    let tested = webhook::test(config, &setup, name, &clock)?;
    if context.json {
        print_json(&tested)?;
    } else {
        for row in &tested.rows {
            let outcome = row.error.as_deref().unwrap_or("it arrived");
            context.say(&format!("{}: {}", printable(&row.webhook), printable(outcome)));
        }
    }
    let arrived = tested.rows.iter().all(|row| row.arrived);
    Ok(if arrived { Exit::Done } else { Exit::NothingFetched })
}

fn opened(context: &Context, config: &Config) -> Result<Courier, Error> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let setup = Setup::new(config, &context.folder)?;
    let collection = Collection::open(&context.folder)?;
    let courier = webhook::courier(config, &setup, &collection, &clock)?;
    courier.ok_or(Error::WebhookUnknown { name: None })
}
