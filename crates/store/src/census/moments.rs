//! When each page was seen to have changed, for whoever wants to live through a collection's history again.

use model::{Change, StoreError, Timestamp};

use super::Census;
use crate::sql::{self, store_error};

/// A page and the moments at which another content of it was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageMoments {
    pub site: String,
    pub url: String,
    /// First visit that brought content.
    pub first: Timestamp,
    /// Last visit of all.
    pub last: Timestamp,
    /// Rising.
    pub changes: Vec<Timestamp>,
}

impl Census {
    /// Of every page that was fetched, parts of pages left out, by site.
    pub fn moments(&self, look: &mut dyn FnMut(PageMoments)) -> Result<(), StoreError> {
        self.read_moments(look).map_err(|e| store_error(&self.path, e))
    }

    fn read_moments(&self, look: &mut dyn FnMut(PageMoments)) -> sql::Result<()> {
        let mut statement = self.sql.prepare(
            "SELECT s.key, p.url, p.site, p.fp, v.change, v.first, v.last \
             FROM pages p JOIN sites s ON s.id = p.site \
             JOIN visits v ON v.site = p.site AND v.fp = p.fp \
             WHERE p.requisite = 0 AND p.fetched = 1 ORDER BY p.site, p.fp, v.seq",
        )?;
        let mut rows = statement.query([])?;
        let mut at_hand: Option<((i64, i64), PageMoments)> = None;
        while let Some(row) = rows.next()? {
            let key: (i64, i64) = (row.get(2)?, row.get(3)?);
            let change = Change::from_stored(row.get(4)?);
            let (first, last) = (Timestamp(row.get(5)?), Timestamp(row.get(6)?));
            if at_hand.as_ref().is_some_and(|(held, _)| *held != key)
                && let Some((_, page)) = at_hand.take()
            {
                look(page);
            }
            match &mut at_hand {
                Some((_, page)) => {
                    page.last = page.last.max(last);
                    let news = matches!(
                        change,
                        Some(Change::First | Change::Changed | Change::Gone | Change::Returned)
                    );
                    // A clock that was set back must not make moments fall.
                    let newest = page.changes.last().copied().unwrap_or(page.first);
                    if news && first > newest {
                        page.changes.push(first);
                    }
                }
                None if change == Some(Change::First) => {
                    let (site, url) = (row.get(0)?, row.get(1)?);
                    let changes = Vec::new();
                    at_hand = Some((key, PageMoments { site, url, first, last, changes }));
                }
                None => {}
            }
        }
        at_hand.into_iter().for_each(|(_, page)| look(page));
        Ok(())
    }
}
