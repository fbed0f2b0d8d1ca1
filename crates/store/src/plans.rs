//! What a crawl leaves of its plans for the next: prices and spendings, as text that only the crawl reads.

use model::{StoreError, Timestamp};
use rusqlite::OptionalExtension;

use crate::frontier::SqliteFrontier;

impl SqliteFrontier {
    /// What the last crawl left of its plans.
    pub fn planner_state(&mut self, now: Timestamp) -> Result<Option<String>, StoreError> {
        self.change(now, |sql| {
            sql.query_row("SELECT value FROM meta WHERE name = 'planner'", [], |row| row.get(0))
                .optional()
        })
    }

    pub fn save_planner(&mut self, state: &str, now: Timestamp) -> Result<(), StoreError> {
        self.change(now, |sql| {
            sql.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES ('planner', ?1)")?
                .execute([state])
                .map(drop)
        })
    }
}
