//! Webhooks: changes told to others by POST, signed, at least once.
//!
//! The order is: fix a batch in the collection ([`WebhookLedger::take`]), send it ([`client`]), note that it
//! arrived. A kill between the last two sends the same batch again under the same id: the receiver may see a
//! delivery twice, and never misses one. What fails is tried again after growing waits; what is given up
//! becomes a dead letter. One batch of a webhook is under way at a time, and at most one a second: a receiver
//! that comes back after a day is not overrun.

pub mod client;
pub mod payload;
mod status;
mod watch;

use std::{sync::Arc, time::Duration};

use model::{Clock, StoreError, Timestamp};
use store::{
    census::Census,
    collection::Collection,
    history::{ChangeEntry, ChangeFilter},
    webhooks::{DeadLetter, WebhookLedger, WebhookPlace, wait_after},
};

use client::Client;
use config::{Kind, Webhook, failure::Failure};
use payload::Delivery;
pub use status::{
    DeadLetterRow, Deliveries, FailedDelivery, TestRow, WebhookRow, dead, deliver, retry, status,
    test,
};
pub use watch::{Watch, Watched};

/// Changes of one delivery: some 30 KB.
pub const CHANGES_MAX: usize = 100;
/// Between two deliveries of a webhook.
pub const PAUSE: Duration = Duration::from_secs(1);
/// Rows asked for at a time.
const PIECE: u32 = 500;

/// Delivers what waits.
pub struct Courier {
    hooks: Vec<Hook>,
    ledger: WebhookLedger,
    /// The collection's own name: receivers know deliveries of several by it.
    collection: String,
    census: Census,
    client: Client,
    clock: Arc<dyn Clock>,
}

/// A webhook with its secret.
struct Hook {
    table: Webhook,
    key: String,
}

/// How a try went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Round {
    /// Nothing waits.
    Idle,
    /// So many changes arrived; more may wait.
    Delivered(usize),
    /// It waits for its next try.
    Waiting,
    /// It did not arrive, for this reason.
    Failed(String),
    /// It did not arrive and is a dead letter now.
    Buried(String),
}

impl Courier {
    /// Enters webhooks that are new: they are told of what happens from now on.
    pub fn new(
        tables: &[Webhook],
        collection: &Collection,
        client: Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Courier, Failure> {
        let with_key = |table: &Webhook| Ok(Hook { table: table.clone(), key: table.key()? });
        let hooks: Vec<Hook> = tables.iter().map(with_key).collect::<Result<_, Failure>>()?;
        let mut ledger = WebhookLedger::open(collection)?;
        for hook in &hooks {
            ledger.enter(&hook.table.name)?;
            ledger.begin_anew(&hook.table.name)?;
        }
        let (name, census) = (ledger.collection_id()?, Census::open(collection)?);
        Ok(Courier { hooks, ledger, collection: name, census, client, clock })
    }

    pub fn names(&self) -> Vec<String> {
        self.hooks.iter().map(|hook| hook.table.name.clone()).collect()
    }

    /// At most one batch of one webhook. `eager` does not wait for the time of its next try.
    pub fn round(&mut self, at: usize, eager: bool) -> Result<Round, StoreError> {
        let now = self.clock.now();
        let name = self.hooks[at].table.name.clone();
        let place = self.ledger.enter(&name)?;
        // A clock that was set back must not make it wait for years.
        let far = place.next.since(now) > wait_after(u32::MAX);
        if place.next > now && !eager && !far {
            return Ok(Round::Waiting);
        }
        let Some((upto, changes)) = self.batch(at, &place)? else { return Ok(Round::Idle) };
        if changes.is_empty() {
            // All of it was forgotten since.
            self.ledger.delivered(&name, 0, now)?;
            return Ok(Round::Delivered(0));
        }
        if place.upto.is_none() {
            self.ledger.take(&name, upto, now)?;
        }
        // Somebody else may have delivered a moment ago: the crawl before, or the look before the last.
        if let Some(last) = place.last {
            std::thread::sleep(PAUSE.saturating_sub(now.since(last)));
        }
        match self.send(at, &changes, place.cursor, upto) {
            Ok(()) => {
                self.ledger.delivered(&name, changes.len() as u64, self.clock.now())?;
                Ok(Round::Delivered(changes.len()))
            }
            Err(error) => self.missed(at, &place, changes.len(), error),
        }
    }

    /// Sends what was given up once more; how many changes arrived, and what then went wrong, if something did.
    pub fn raise(&mut self, letter: &DeadLetter) -> Result<(u64, Option<String>), StoreError> {
        let Some(at) = self.hooks.iter().position(|hook| hook.table.name == letter.webhook) else {
            let why = format!("harvest.toml has no [[webhook]] {:?}", letter.webhook);
            return Ok((0, Some(why)));
        };
        let (mut after, mut arrived) = (letter.after, 0);
        while after < letter.upto {
            let (upto, changes) = self.collect(at, after, letter.upto)?;
            if !changes.is_empty()
                && let Err(error) = self.send(at, &changes, after, upto)
            {
                self.ledger.missed_again(letter, &error)?;
                return Ok((arrived, Some(error)));
            }
            let count = changes.len() as u64;
            self.ledger.risen(letter, upto, count, self.clock.now())?;
            arrived += count;
            after = upto;
            if after < letter.upto {
                std::thread::sleep(PAUSE);
            }
        }
        Ok((arrived, None))
    }

    /// The batch at hand, or the next one; where nothing of interest lies the place moves on.
    fn batch(
        &mut self,
        at: usize,
        place: &WebhookPlace,
    ) -> Result<Option<(i64, Vec<ChangeEntry>)>, StoreError> {
        if let Some(upto) = place.upto {
            let (_, changes) = self.collect(at, place.cursor, upto)?;
            return Ok(Some((upto, changes)));
        }
        let last = self.census.last_seq()?;
        if last <= place.cursor {
            return Ok(None);
        }
        let (upto, changes) = self.collect(at, place.cursor, last)?;
        if changes.is_empty() {
            self.ledger.pass(&place.name, upto)?;
            return Ok(None);
        }
        Ok(Some((upto, changes)))
    }

    /// The first changes behind `after` that it is to be told of, and how far that reaches.
    fn collect(
        &self,
        at: usize,
        after: i64,
        upto: i64,
    ) -> Result<(i64, Vec<ChangeEntry>), StoreError> {
        let table = &self.hooks[at].table;
        let filter = ChangeFilter { site: table.site.clone(), ..ChangeFilter::default() };
        let (mut found, mut reached) = (Vec::new(), after);
        while reached < upto {
            let piece = self.census.changes_after(reached, upto, &filter, PIECE)?;
            for entry in piece.entries {
                if wanted(table, &entry) {
                    reached = entry.seq;
                    found.push(entry);
                }
                if found.len() == CHANGES_MAX {
                    return Ok((reached, found));
                }
            }
            reached = piece.reached;
        }
        Ok((upto, found))
    }

    fn send(
        &mut self,
        at: usize,
        changes: &[ChangeEntry],
        after: i64,
        upto: i64,
    ) -> Result<(), String> {
        let Hook { table, key } = &self.hooks[at];
        let whose = (self.collection.as_str(), table.name.as_str());
        let delivery = Delivery::of_changes(whose, after, upto, changes, self.clock.now());
        self.client.post(&table.url, key, &delivery)
    }

    fn missed(
        &mut self,
        at: usize,
        place: &WebhookPlace,
        changes: usize,
        error: String,
    ) -> Result<Round, StoreError> {
        let (table, now) = (&self.hooks[at].table, self.clock.now());
        let next = now.plus(wait_after(place.tries));
        self.ledger.failed(&table.name, &error, next)?;
        let since = place.since.unwrap_or(now);
        if place.tries + 1 < table.tries && now.since(since) < table.give_up {
            return Ok(Round::Failed(error));
        }
        self.ledger.bury(&table.name, changes as u64, now)?;
        Ok(Round::Buried(error))
    }
}

fn wanted(table: &Webhook, entry: &ChangeEntry) -> bool {
    let Some(kind) = Kind::of(entry.change) else { return false };
    (table.kinds.is_empty() || table.kinds.contains(&kind))
        && table.spider.as_ref().is_none_or(|spider| *spider == entry.spider)
}

/// What is not delivered yet, counted up to a bound.
pub fn waiting(
    census: &Census,
    table: &Webhook,
    place: Option<&WebhookPlace>,
) -> Result<u64, StoreError> {
    const COUNTED_MAX: u64 = 10_000;
    let last = census.last_seq()?;
    let (mut after, mut count) = (place.map_or(last, |place| place.cursor), 0);
    let filter = ChangeFilter { site: table.site.clone(), ..ChangeFilter::default() };
    while after < last && count < COUNTED_MAX {
        let piece = census.changes_after(after, last, &filter, PIECE)?;
        count += piece.entries.iter().filter(|entry| wanted(table, entry)).count() as u64;
        after = piece.reached;
    }
    Ok(count)
}

/// When the next try is, for people.
pub fn next_try(place: &WebhookPlace, now: Timestamp) -> Option<Timestamp> {
    (place.tries > 0 || place.next > now).then_some(place.next)
}

/// The courier of these webhooks; `None` where there are none.
pub fn courier(
    config: &config::Config,
    setup: &config::setup::Setup,
    collection: &Collection,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Courier>, Failure> {
    if config.webhooks.is_empty() {
        return Ok(None);
    }
    let client = client::Client::new(config, &setup.http, setup.dns.clone(), clock.clone())?;
    Courier::new(&config.webhooks, collection, client, clock.clone()).map(Some)
}
