//! The spiders of a collection: state, settings, and what each has brought.

use std::collections::BTreeMap;

use model::{SpiderId, Timestamp};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    control::SpiderState,
    spiders::{SpiderCounts, SpiderRow},
};

use crate::{Error, Listing};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spider {
    /// Its name.
    pub spider: String,
    pub id: SpiderId,
    #[serde(serialize_with = "model::iso::time")]
    pub created: Timestamp,
    pub state: SpiderState,
    /// Why it is paused, in the user's words or the program's; empty where nobody said.
    pub why: String,
    /// Keys of the configuration that it has a value of its own for, without what is secret in them.
    pub settings: BTreeMap<String, String>,
    pub pages: SpiderPages,
    pub requisites: u64,
    pub visits: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpiderPages {
    pub known: u64,
    pub fetched: u64,
    pub waiting: u64,
    pub failed: u64,
}

/// By number.
pub fn list(collection: &Collection) -> Result<Listing<Spider>, Error> {
    let rows = Census::open(collection)?.spiders()?;
    Ok(Listing::whole(rows.iter().map(Spider::from).collect()))
}

/// A spider that is paused, and what waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PausedSpider {
    pub spider: String,
    pub why: String,
    /// Pages that wait for their first visit, or to be judged for it.
    pub waiting: u64,
}

/// Spiders that are not crawled until they are resumed.
pub fn paused(collection: &Collection) -> Result<Vec<PausedSpider>, Error> {
    let census = Census::open(collection)?;
    let mut all = Vec::new();
    for row in census.spiders()?.into_iter().filter(|row| row.paused) {
        let waiting = census.waiting_of(row.id)?;
        all.push(PausedSpider { spider: row.name, why: row.why, waiting });
    }
    Ok(all)
}

impl From<&SpiderRow> for Spider {
    fn from(row: &SpiderRow) -> Spider {
        let SpiderCounts { known, waiting, fetched, failed, requisites } = row.counts;
        Spider {
            spider: row.name.clone(),
            id: row.id,
            created: row.created,
            state: if row.paused { SpiderState::Paused } else { SpiderState::Active },
            why: row.why.clone(),
            settings: shown_settings(row),
            pages: SpiderPages { known, fetched, waiting, failed },
            requisites,
            visits: row.visits,
            bytes: row.spent.bytes,
        }
    }
}

/// Without what is secret in them.
fn shown_settings(row: &SpiderRow) -> BTreeMap<String, String> {
    let shown = |(key, value): (&String, &String)| {
        let secret = config::Key::named(key).is_some_and(|key| key.secret);
        (key.clone(), if secret { config::veiled(value) } else { value.clone() })
    };
    row.settings.iter().map(shown).collect()
}
