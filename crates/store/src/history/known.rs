//! For those who mistype: what is known of a site, and when the collection began.

use model::{StoreError, Timestamp};

use crate::census::Census;
use crate::sql::{OptionalExtension, params};

impl Census {
    /// URLs of a site, at most `max` and in no order.
    pub fn urls_of(&self, site: &str, max: u32) -> Result<Vec<String>, StoreError> {
        self.ask(|sql| {
            sql.prepare(
                "SELECT p.url FROM sites s JOIN pages p ON p.site = s.id \
                 WHERE s.key = ?1 AND p.requisite = 0 LIMIT ?2",
            )?
            .query_map(params![site, max], |row| row.get(0))?
            .collect()
        })
    }

    /// When the first crawl began: the nearest a collection has to a name of its own.
    pub fn began(&self) -> Result<Option<Timestamp>, StoreError> {
        self.ask(|sql| {
            sql.query_row("SELECT started FROM runs ORDER BY id LIMIT 1", [], |row| {
                row.get(0).map(Timestamp)
            })
            .optional()
        })
    }
}
