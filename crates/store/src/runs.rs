//! Runs: when a crawl began, how it is doing, how and why it ended. And events: what happened meanwhile.

use std::path::Path;

use model::{StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    directory::Sitting,
    frontier::SqlFrontier,
    sql::{self, Row, Sql, open_writer, params, store_error},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    Running,
    /// Everything that was new or due has been visited.
    Done,
    /// The user stopped it.
    Stopped,
    /// Pages or time asked for are used up.
    Limit,
    DiskFull,
    /// Our own trouble.
    Failed,
    /// Its process died.
    Interrupted,
}

impl RunState {
    pub const ALL: [RunState; 7] = [
        RunState::Running,
        RunState::Done,
        RunState::Stopped,
        RunState::Limit,
        RunState::DiskFull,
        RunState::Failed,
        RunState::Interrupted,
    ];

    pub fn word(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Done => "done",
            RunState::Stopped => "stopped",
            RunState::Limit => "limit",
            RunState::DiskFull => "disk-full",
            RunState::Failed => "failed",
            RunState::Interrupted => "interrupted",
        }
    }

    pub fn from_word(word: &str) -> Option<RunState> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    pub id: RunId,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub state: RunState,
    pub reason: String,
    pub pid: u32,
    pub heartbeat: Timestamp,
    /// As the crawl wrote them: pages, bytes, seconds by stage.
    pub stats: serde_json::Value,
}

impl Run {
    pub(crate) const SELECT: &str =
        "SELECT id, started, ended, state, reason, pid, heartbeat, stats FROM runs";

    /// `alive`: the collection's lock is held, so a run may be running.
    pub(crate) fn from_row(row: Row<'_>, alive: bool) -> sql::Result<Run> {
        let state = RunState::from_word(row.text(3)?).unwrap_or(RunState::Failed);
        let dead = state == RunState::Running && !alive;
        Ok(Run {
            id: RunId(row.get(0)?),
            started: Timestamp(row.get(1)?),
            ended: row.get::<Option<i64>>(2)?.map(Timestamp),
            state: if dead { RunState::Interrupted } else { state },
            reason: if dead { DIED.to_owned() } else { row.get(4)? },
            pid: row.get(5)?,
            heartbeat: Timestamp(row.get(6)?),
            stats: serde_json::from_str(row.text(7)?).unwrap_or_default(),
        })
    }
}

/// Kind of the events that say that something made no progress.
pub const STALLED: &str = "stalled";

const DIED: &str = "its process ended without a word; crawl again to go on";
/// Reasons are a sentence, not a log.
const REASON_BYTES_MAX: usize = 4_096;
/// The newest events are kept; older ones are in the log.
const EVENTS_KEPT: i64 = 10_000;

impl SqlFrontier {
    /// Begins a run. The caller holds the lock, so runs that never ended are those of dead processes.
    pub fn start_run(&mut self, pid: u32, now: Timestamp) -> Result<RunId, StoreError> {
        self.change(now, |sql| {
            sql.execute(
                "UPDATE runs SET state = 'interrupted', reason = ?1, ended = heartbeat \
                 WHERE state = 'running'",
                [DIED],
            )?;
            sql.query_row(
                "INSERT INTO runs (started, state, pid, heartbeat) \
                 VALUES (?1, 'running', ?2, ?1) RETURNING id",
                params![now.0, pid],
                |row| row.get(0).map(RunId),
            )
        })
    }

    /// It goes on until it is stopped: what it keeps as files is kept by days.
    pub fn run_is_daily(&mut self, run: RunId, now: Timestamp) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.execute("UPDATE runs SET daily = 1 WHERE id = ?1", [run.0]).map(drop)
        })
    }

    /// When crawls began, oldest first.
    pub fn sittings(&self) -> Result<Vec<Sitting>, StoreError> {
        list_sittings(&self.connection).map_err(|e| self.error(e))
    }

    pub fn heartbeat(
        &mut self,
        run: RunId,
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.prepare("UPDATE runs SET heartbeat = ?2, stats = ?3 WHERE id = ?1")?
                .execute(params![run.0, now.0, stats.to_string()])
                .map(drop)
        })
    }

    pub fn end_run(
        &mut self,
        run: RunId,
        state: RunState,
        reason: &str,
        stats: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let reason = &reason[..reason.floor_char_boundary(REASON_BYTES_MAX)];
        self.change(now, |sql| {
            sql.execute(
                "UPDATE runs SET ended = ?2, heartbeat = ?2, state = ?3, reason = ?4, stats = ?5 \
                 WHERE id = ?1",
                params![run.0, now.0, state.word(), reason, stats.to_string()],
            )
            .map(drop)
        })
    }

    /// Something worth telling: a site stopped, a disk nearly full.
    pub fn tell(
        &mut self,
        kind: &str,
        site: Option<&str>,
        text: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let text = &text[..text.floor_char_boundary(REASON_BYTES_MAX)];
        self.change(now, |sql| {
            let id: i64 = sql
                .prepare(
                    "INSERT INTO events (at, kind, site, text) VALUES (?1, ?2, ?3, ?4) \
                     RETURNING id",
                )?
                .query_row(params![now.0, kind, site, text], |row| row.get(0))?;
            sql.prepare("DELETE FROM events WHERE id <= ?1")?.execute([id - EVENTS_KEPT]).map(drop)
        })
    }
}

/// Tells of something from beside the crawl's own writer, which may be what is wrong.
pub(crate) fn tell_beside(
    database: &Path,
    kind: &str,
    text: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let text = &text[..text.floor_char_boundary(REASON_BYTES_MAX)];
    let sql = open_writer(database)?;
    sql.execute(
        "INSERT INTO events (at, kind, site, text) VALUES (?1, ?2, NULL, ?3)",
        params![now.0, kind, text],
    )
    .map(drop)
    .map_err(|e| store_error(database, e))
}

/// One for each crawl there ever was: some thousands in a lifetime.
pub(crate) fn list_sittings(sql: &Sql) -> sql::Result<Vec<Sitting>> {
    let mut statement = sql.prepare("SELECT started, daily FROM runs ORDER BY started, id")?;
    let read = |row: Row<'_>| Ok(Sitting { started: Timestamp(row.get(0)?), daily: row.get(1)? });
    statement.query_map([], read)?.collect()
}
