//! How deliveries of changes are doing, and what can be done about those that failed.

use std::sync::Arc;

use config::{Config, Kind, Webhook, setup::Setup};
use model::{Clock, Timestamp};
use serde::Serialize;
use store::{
    census::Census,
    webhooks::{DeadLetter, WebhookPlace},
};

use super::{Courier, PAUSE, Round, client::Client, next_try, payload::Delivery, waiting};
use crate::{Error, listing::Listing};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebhookRow {
    pub name: String,
    /// Scheme and host: what stands behind them is often a secret.
    pub url: String,
    /// Only changes of this spider.
    pub spider: Option<String>,
    /// Only changes of this site.
    pub site: Option<String>,
    pub kinds: Vec<Kind>,
    /// Changes that are not delivered yet, counted up to 10,000.
    pub waiting: u64,
    pub delivered: u64,
    /// When something was last delivered.
    #[serde(serialize_with = "model::iso::option")]
    pub last_delivered: Option<Timestamp>,
    /// Changes that were given up.
    pub given_up: u64,
    /// Of the last try, if it failed.
    pub error: Option<String>,
    /// Failed tries of what is to be delivered next.
    pub tries: u32,
    #[serde(serialize_with = "model::iso::option")]
    pub next_try: Option<Timestamp>,
}

/// A delivery that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetterRow {
    pub id: i64,
    pub webhook: String,
    pub changes: u64,
    /// Its changes lie behind this `seq`, …
    pub after: i64,
    /// … up to this one.
    pub up_to: i64,
    /// First try.
    #[serde(serialize_with = "model::iso::time")]
    pub since: Timestamp,
    /// When it was given up.
    #[serde(serialize_with = "model::iso::time")]
    pub at: Timestamp,
    pub tries: u32,
    pub error: String,
}

/// How deliveries went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deliveries {
    /// Changes that arrived.
    pub delivered: u64,
    pub failed: Vec<FailedDelivery>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedDelivery {
    pub webhook: String,
    pub error: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestRow {
    pub webhook: String,
    pub arrived: bool,
    pub error: Option<String>,
}

/// Each webhook of the configuration.
pub fn status(
    census: &Census,
    config: &Config,
    now: Timestamp,
) -> Result<Listing<WebhookRow>, Error> {
    let rows = config.webhooks.iter().map(|table| webhook(census, table, now));
    Ok(Listing::whole(rows.collect::<Result<_, Error>>()?))
}

fn webhook(census: &Census, table: &Webhook, now: Timestamp) -> Result<WebhookRow, Error> {
    let place = census.webhook(&table.name)?;
    let waiting = waiting(census, table, place.as_ref())?;
    let dead = census.dead_letters(Some(&table.name))?;
    let kinds = if table.kinds.is_empty() { &Kind::ALL[..] } else { &table.kinds };
    let failed = |place: &WebhookPlace| Some(place.error.clone()).filter(|text| !text.is_empty());
    let place = place.as_ref();
    Ok(WebhookRow {
        name: table.name.clone(),
        url: table.shown_url(),
        spider: table.spider.clone(),
        site: table.site.clone(),
        kinds: kinds.to_vec(),
        waiting,
        delivered: place.map_or(0, |place| place.delivered),
        last_delivered: place.and_then(|place| place.last),
        given_up: dead.iter().map(|letter| letter.changes).sum(),
        error: place.and_then(failed),
        tries: place.map_or(0, |place| place.tries),
        next_try: place.and_then(|place| next_try(place, now)),
    })
}

/// What was given up, oldest first.
pub fn dead(census: &Census) -> Result<Listing<DeadLetterRow>, Error> {
    let row = |letter: DeadLetter| DeadLetterRow {
        id: letter.id,
        webhook: letter.webhook,
        changes: letter.changes,
        after: letter.after,
        up_to: letter.upto,
        since: letter.since,
        at: letter.at,
        tries: letter.tries,
        error: letter.error,
    };
    Ok(Listing::whole(census.dead_letters(None)?.into_iter().map(row).collect()))
}

/// Everything that waits, without waiting for the time of the next try.
pub fn deliver(courier: &mut Courier) -> Result<Deliveries, Error> {
    let mut done = Deliveries::default();
    for (at, webhook) in courier.names().into_iter().enumerate() {
        loop {
            match courier.round(at, true)? {
                Round::Idle | Round::Waiting => break,
                Round::Delivered(changes) => done.delivered += changes as u64,
                Round::Failed(error) | Round::Buried(error) => {
                    done.failed.push(FailedDelivery { webhook, error });
                    break;
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(done)
}

/// Sends what was given up once more, those of these numbers or all, until one fails.
pub fn retry(
    census: &Census,
    ids: &[i64],
    open: impl FnOnce() -> Result<Courier, Error>,
) -> Result<Deliveries, Error> {
    let letters = census.dead_letters(None)?;
    if let Some(id) = ids.iter().find(|id| !letters.iter().any(|letter| letter.id == **id)) {
        return Err(Error::DeadLetterUnknown { id: *id });
    }
    let (mut courier, mut done) = (open()?, Deliveries::default());
    for letter in letters.iter().filter(|letter| ids.is_empty() || ids.contains(&letter.id)) {
        let (changes, error) = courier.raise(letter)?;
        done.delivered += changes;
        if let Some(error) = error {
            done.failed.push(FailedDelivery { webhook: letter.webhook.clone(), error });
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(done)
}

/// Sends a delivery without changes to the webhook of this name, or to all.
pub fn test(
    config: &Config,
    setup: &Setup,
    name: Option<&str>,
    clock: &Arc<dyn Clock>,
) -> Result<Listing<TestRow>, Error> {
    let wanted = |table: &&Webhook| name.is_none_or(|name| table.name == name);
    let tables: Vec<&Webhook> = config.webhooks.iter().filter(wanted).collect();
    if tables.is_empty() {
        return Err(Error::WebhookUnknown { name: name.map(str::to_owned) });
    }
    let client = Client::new(config, &setup.http, setup.dns.clone(), Arc::clone(clock))?;
    let mut rows = Vec::new();
    for table in tables {
        let delivery = Delivery::of_test(&table.name, clock.now());
        let error = client.post(&table.url, &table.key()?, &delivery).err();
        rows.push(TestRow { webhook: table.name.clone(), arrived: error.is_none(), error });
    }
    Ok(Listing::whole(rows))
}
