//! What can be done with spiders: add, edit, pause, resume, remove. Each is one transaction.

use std::collections::BTreeMap;

use model::{SpiderId, StoreError, Timestamp};

use super::{
    asleep::{self, Asleep},
    rows::Fault,
    sql_frontier::{SqlFrontier, Work},
};
use crate::spiders::{
    self, DEFAULT_SPIDER, SETTINGS_BYTES_MAX, SPIDERS_MAX, SpiderRow, check_name, refused,
};
use crate::sql::{OptionalExtension, params};

/// Why a spider is paused is a sentence or two.
const WHY_BYTES_MAX: usize = 1_024;

impl SqlFrontier {
    /// Living spiders, by number.
    pub fn spiders(&self) -> Result<Vec<SpiderRow>, StoreError> {
        spiders::list(&self.connection).map_err(|e| self.error(e))
    }

    /// The number of the living spider of this name, made if need be.
    pub fn spider(&mut self, name: &str, now: Timestamp) -> Result<SpiderId, StoreError> {
        self.transact(now, |work| match find(work, name)? {
            Some(id) => Ok(id),
            None => add(work, name, &BTreeMap::new()),
        })
    }

    /// [`StoreError::Refused`] when the name cannot be had, with words to show.
    pub fn add_spider(
        &mut self,
        name: &str,
        settings: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Result<SpiderId, StoreError> {
        self.transact(now, |work| match find(work, name)? {
            Some(_) => Err(refused(format!("there is a spider {name} already")).into()),
            None => add(work, name, settings),
        })
    }

    /// `None` takes a key away.
    pub fn edit_spider(
        &mut self,
        id: SpiderId,
        changes: &BTreeMap<String, Option<String>>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(now, |work| {
            let text: String = work
                .sql
                .prepare("SELECT settings FROM spiders WHERE id = ?1 AND removed IS NULL")?
                .query_row([id.0], |row| row.get(0))
                .optional()?
                .ok_or_else(|| unknown(id))?;
            let mut settings: BTreeMap<String, String> = serde_json::from_str(&text)
                .map_err(|e| damaged(format!("settings of spider {}: {e}", id.0)))?;
            for (key, value) in changes {
                match value {
                    Some(value) => settings.insert(key.clone(), value.clone()),
                    None => settings.remove(key),
                };
            }
            work.sql
                .prepare("UPDATE spiders SET settings = ?2 WHERE id = ?1")?
                .execute(params![id.0, written(&settings)?])?;
            Ok(())
        })
    }

    /// Its pages are not lent out from the next check-out on; `None` resumes, and makes its sites due again.
    pub fn pause_spider(
        &mut self,
        id: SpiderId,
        why: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let text = why.unwrap_or_default();
        let text = &text[..text.floor_char_boundary(WHY_BYTES_MAX)];
        self.transact(now, |work| {
            let changed = work
                .sql
                .prepare(
                    "UPDATE spiders SET paused = ?2, why = ?3 WHERE id = ?1 AND removed IS NULL",
                )?
                .execute(params![id.0, why.is_some(), text])?;
            if changed == 0 {
                return Err(unknown(id).into());
            }
            work.asleep = Asleep::load(work.sql)?;
            asleep::wake(work, id).map(drop)
        })
    }

    /// Sites that rest with pages of this spider are due again, unless it is paused; how many.
    pub fn wake_spider(&mut self, id: SpiderId, now: Timestamp) -> Result<u64, StoreError> {
        self.transact(now, |work| asleep::wake(work, id))
    }

    /// Its name is free again. Its pages stay as history and are not lent out, until a living spider
    /// finds them and takes them over.
    pub fn remove_spider(&mut self, id: SpiderId, now: Timestamp) -> Result<(), StoreError> {
        if id == DEFAULT_SPIDER {
            return Err(refused("the default spider cannot be removed: pause it".to_owned()));
        }
        self.transact(now, |work| {
            let changed = work
                .sql
                .prepare("UPDATE spiders SET removed = ?2 WHERE id = ?1 AND removed IS NULL")?
                .execute(params![id.0, now.0])?;
            if changed == 0 {
                return Err(unknown(id).into());
            }
            work.asleep = Asleep::load(work.sql)?;
            Ok(())
        })?;
        // Links to its pages must reach the table again.
        self.forget_stored();
        Ok(())
    }
}

fn find(work: &Work<'_>, name: &str) -> Result<Option<SpiderId>, Fault> {
    let id = work
        .sql
        .prepare("SELECT id FROM spiders WHERE name = ?1 AND removed IS NULL")?
        .query_row([name], |row| row.get(0).map(SpiderId))
        .optional()?;
    Ok(id)
}

fn add(
    work: &Work<'_>,
    name: &str,
    settings: &BTreeMap<String, String>,
) -> Result<SpiderId, Fault> {
    check_name(name)?;
    let living: i64 = work
        .sql
        .prepare("SELECT count(*) FROM spiders WHERE removed IS NULL")?
        .query_row([], |row| row.get(0))?;
    if living >= SPIDERS_MAX as i64 {
        return Err(refused(format!("there are {living} spiders already: remove some")).into());
    }
    let id = work
        .sql
        .prepare("INSERT INTO spiders (name, created, settings) VALUES (?1, ?2, ?3) RETURNING id")?
        .query_row(params![name, work.now.0, written(settings)?], |row| row.get::<i64>(0))?;
    u32::try_from(id).map(SpiderId).map_err(|_| damaged(format!("spider number {id}")).into())
}

fn written(settings: &BTreeMap<String, String>) -> Result<String, StoreError> {
    let text = serde_json::to_string(settings)
        .map_err(|e| damaged(format!("cannot store the settings of a spider: {e}")))?;
    if text.len() > SETTINGS_BYTES_MAX {
        return Err(refused(format!(
            "the settings of a spider can have {SETTINGS_BYTES_MAX} bytes at most, these have {}",
            text.len()
        )));
    }
    Ok(text)
}

fn unknown(id: SpiderId) -> StoreError {
    refused(format!("there is no spider number {}", id.0))
}

fn damaged(detail: String) -> StoreError {
    StoreError::Database { detail }
}

#[cfg(test)]
mod tests;
