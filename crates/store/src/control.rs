//! What other processes ask of a running crawl: rows of `control`, read every second and marked done.

use std::{collections::BTreeMap, path::Path};

use model::{StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    frontier::SqlFrontier,
    migrate::schema_of,
    replicas::ReplicaChange,
    sql::{self, OptionalExtension, Sql, open_reader, open_writer, params, store_error},
};

mod apply;
mod outcome;

pub use apply::apply_to;
pub use outcome::{Outcome, RefusedSeed, SpiderState};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Command {
    Seed {
        /// As somebody wrote them.
        #[serde(default)]
        urls: Vec<String>,
        /// Checked, in the form in which the collection writes URLs, and with their own wishes.
        #[serde(default)]
        seeds: Vec<SeedLine>,
        spider: Option<String>,
    },
    Spider {
        name: String,
        change: SpiderChange,
    },
    /// How many fetches may be under way at once, from now on.
    MaxFetches {
        fetches: u64,
    },
    /// No new visits until `Resume`.
    Pause,
    Resume,
    /// Keep away from these, or (`remove`) do so no longer.
    Block {
        patterns: Vec<String>,
        reason: String,
        remove: bool,
    },
    /// Let a page (by its URL), or all pages of a site, be read again that broke their reading down.
    LiftQuarantine {
        what: String,
    },
    /// What a look for replicas has brought, or which one is to be lifted.
    Replicas {
        change: ReplicaChange,
    },
    /// A trap of this site is none: of one pattern, or of all.
    LiftTrap {
        site: String,
        pattern: Option<String>,
    },
    /// What was lifted on this site may be stopped again: one pattern, or all.
    WatchTrap {
        site: String,
        pattern: Option<String>,
    },
    /// Have this page due now, whatever its next visit was to be.
    VisitNow {
        url: String,
        /// Since then, for a crawl that visits again only what was due when it began.
        #[serde(default)]
        due: Option<Timestamp>,
    },
    /// End the crawl in order, as Ctrl-C does.
    Stop,
}

impl Command {
    /// It is meant for the crawl that runs: one that begins later has no use for it.
    pub fn is_of_the_moment(&self) -> bool {
        use Command::{MaxFetches, Pause, Resume, Stop};
        matches!(self, Pause | Resume | Stop | MaxFetches { .. })
    }

    /// It changes what only people know, which is kept in `state.jsonl` too.
    pub(crate) fn is_state(&self) -> bool {
        use Command::{Block, LiftTrap, Replicas, Seed, Spider, WatchTrap};
        let lift = |change: &ReplicaChange| matches!(change, ReplicaChange::Lift { .. });
        match self {
            Seed { .. } | Spider { .. } | Block { .. } | LiftTrap { .. } | WatchTrap { .. } => true,
            Replicas { change } => lift(change),
            _ => false,
        }
    }
}

/// A seed with wishes of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedLine {
    pub url: String,
    /// How many links deep to go from it.
    #[serde(default)]
    pub level: Option<u16>,
    /// How often to visit it.
    #[serde(default)]
    pub period_ms: Option<u64>,
}

/// What is to become of a spider. Settings as in [`crate::spiders::SpiderRow::settings`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpiderChange {
    Add {
        settings: BTreeMap<String, String>,
    },
    /// `None` takes a key away: the configuration's own value holds again.
    Edit {
        changes: BTreeMap<String, Option<String>>,
    },
    Pause {
        why: String,
    },
    Resume,
    Remove,
}

/// A command that waits to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: i64,
    pub command: Command,
    pub created: Timestamp,
}

/// Some 10,000 URLs; longer lists are sent in parts.
pub const COMMAND_BYTES_MAX: usize = 1 << 20;
/// A crawl that does not read its commands must not be buried in them.
pub const WAITING_MAX: i64 = 10_000;
/// Done commands are kept this many back, for whoever asks what became of theirs.
const DONE_KEPT: i64 = 1_000;

/// Leaves a command for the crawl of this database; its id.
pub fn request(database: &Path, command: &Command, now: Timestamp) -> Result<i64, StoreError> {
    let text = serde_json::to_string(command)
        .map_err(|e| StoreError::Database { detail: format!("cannot store a command: {e}") })?;
    if text.len() > COMMAND_BYTES_MAX {
        let detail = format!(
            "a command of {} bytes is too long (at most {COMMAND_BYTES_MAX}): send it in parts",
            text.len()
        );
        return Err(StoreError::Database { detail });
    }
    if !database.is_file() {
        return Err(StoreError::Missing { path: database.to_owned() });
    }
    let connection = open_writer(database)?;
    schema_of(&connection, database)?;
    append(&connection, &text, now).map_err(|e| store_error(database, e))?.ok_or_else(|| {
        let detail = format!("{WAITING_MAX} commands are waiting already: is a crawl running?");
        StoreError::Database { detail }
    })
}

/// What became of a command; `None` while it waits.
pub fn result_of(database: &Path, id: i64) -> Result<Option<Outcome>, StoreError> {
    let connection = open_reader(database)?;
    let sql = "SELECT result FROM control WHERE id = ?1 AND done IS NOT NULL";
    connection
        .query_row(sql, [id], |row| Ok(Outcome::read(row.text(0)?)))
        .optional()
        .map_err(|e| store_error(database, e))
}

fn append(sql: &Sql, text: &str, now: Timestamp) -> sql::Result<Option<i64>> {
    sql.query_row(
        "INSERT INTO control (command, created) SELECT ?1, ?2 \
         WHERE (SELECT count(*) FROM control WHERE done IS NULL) < ?3 RETURNING id",
        params![text, now.0, WAITING_MAX],
        |row| row.get(0),
    )
    .optional()
}

impl SqlFrontier {
    /// Commands not yet done, oldest first. One that this version cannot read is marked so and passed.
    pub fn requests(&mut self, max: usize, now: Timestamp) -> Result<Vec<Request>, StoreError> {
        let rows = self.waiting(max).map_err(|e| self.error(e))?;
        let mut requests = Vec::new();
        for (id, text, created) in rows {
            match serde_json::from_str(&text) {
                Ok(command) => requests.push(Request { id, command, created }),
                Err(error) => {
                    let why = format!("the crawl does not know this command: {error}");
                    self.request_done(id, &Outcome::refused(why), now)?;
                }
            }
        }
        Ok(requests)
    }

    pub fn request_done(
        &mut self,
        id: i64,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let result = serde_json::to_string(outcome).map_err(|e| StoreError::Database {
            detail: format!("cannot write the result of a command: {e}"),
        })?;
        self.change(now, |sql| {
            sql.prepare("UPDATE control SET done = ?2, result = ?3 WHERE id = ?1")?
                .execute(params![id, now.0, result])?;
            sql.prepare("DELETE FROM control WHERE done IS NOT NULL AND id <= ?1")?
                .execute([id - DONE_KEPT])?;
            Ok(())
        })
    }

    fn waiting(&self, max: usize) -> sql::Result<Vec<(i64, String, Timestamp)>> {
        let mut statement = self.connection.prepare(
            "SELECT id, command, created FROM control WHERE done IS NULL ORDER BY id LIMIT ?1",
        )?;
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let rows = statement
            .query_map([max], |row| Ok((row.get(0)?, row.get(1)?, Timestamp(row.get(2)?))))?;
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_once_in_order_while_the_crawl_has_the_database_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawl.db");
        let mut frontier = SqlFrontier::open(&path).unwrap();
        let seed = Command::Seed {
            urls: vec!["https://example.org/".into()],
            seeds: Vec::new(),
            spider: None,
        };
        let first = request(&path, &seed, Timestamp(1)).unwrap();
        request(&path, &Command::Stop, Timestamp(2)).unwrap();
        let requests = frontier.requests(10, Timestamp(3)).unwrap();
        assert_eq!(requests[0], Request { id: first, command: seed, created: Timestamp(1) });
        assert_eq!(requests[1].command, Command::Stop);
        assert_eq!(result_of(&path, first).unwrap(), None);
        let taken = Outcome::seeds(1, 1, Vec::new());
        frontier.request_done(first, &taken, Timestamp(4)).unwrap();
        assert_eq!(result_of(&path, first).unwrap(), Some(taken));
        assert_eq!(frontier.requests(10, Timestamp(5)).unwrap(), requests[1..]);
    }

    #[test]
    fn every_command_is_read_back_as_it_was_and_an_older_seed_too() {
        let one = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let changes = BTreeMap::from([("crawl.depth".to_owned(), None)]);
        let spider = |change| Command::Spider { name: "news".into(), change };
        let line = SeedLine { url: "a.example".into(), level: Some(2), period_ms: Some(3_600_000) };
        for command in [
            Command::Seed { urls: Vec::new(), seeds: vec![line], spider: Some("news".into()) },
            spider(SpiderChange::Add { settings: BTreeMap::from([one("crawl.depth", "3")]) }),
            spider(SpiderChange::Edit { changes }),
            spider(SpiderChange::Pause { why: "enough".into() }),
            spider(SpiderChange::Resume),
            spider(SpiderChange::Remove),
            Command::MaxFetches { fetches: 7 },
            Command::Replicas { change: ReplicaChange::Lift { site: "r.test".into() } },
            Command::LiftTrap { site: "a.example".into(), pattern: Some("/cal?*".into()) },
            Command::WatchTrap { site: "a.example".into(), pattern: None },
            Command::VisitNow { url: "http://a.example/".into(), due: Some(Timestamp(5)) },
        ] {
            let text = serde_json::to_string(&command).unwrap();
            assert_eq!(serde_json::from_str::<Command>(&text).unwrap(), command, "{text}");
        }
        let older = r#"{"do":"seed","urls":["a.example"],"spider":null}"#;
        let seed =
            Command::Seed { urls: vec!["a.example".into()], seeds: Vec::new(), spider: None };
        assert_eq!(serde_json::from_str::<Command>(older).unwrap(), seed);
    }

    #[test]
    fn too_long_and_not_understood_commands_are_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawl.db");
        let error = request(&path, &Command::Stop, Timestamp(1)).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        let mut frontier = SqlFrontier::open(&path).unwrap();
        let patterns = vec!["x".repeat(COMMAND_BYTES_MAX)];
        let long = Command::Block { patterns, reason: String::new(), remove: false };
        let error = request(&path, &long, Timestamp(1)).unwrap_err();
        assert!(error.to_string().contains("send it in parts"), "{error}");
        frontier
            .connection
            .execute(
                "INSERT INTO control (id, command, created) VALUES (7, '{\"do\":\"sing\"}', 1)",
                [],
            )
            .unwrap();
        assert_eq!(frontier.requests(10, Timestamp(5)).unwrap(), []);
        let outcome = result_of(&path, 7).unwrap().unwrap();
        let Outcome::Refused { why } = outcome else { panic!("{outcome:?}") };
        assert!(why.contains("does not know this command"), "{why}");
    }
}
