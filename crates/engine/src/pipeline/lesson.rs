//! What an answer teaches of its server's words: whether a "not modified" was true, and whether
//! `Last-Modified` moves with the content.

use manager::{Stamped, audits, learn_audit, learn_modified};
use model::{Change, Condition, Exchange, LastVersion, Page, SiteHabit, Timestamp};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lesson {
    /// The page had just been called not modified: whether it had changed after all.
    audited: Option<bool>,
    stamped: Option<Stamped>,
    not_modified: bool,
}

impl Lesson {
    pub fn of(page: &Page, exchange: &Exchange, change: Change) -> Lesson {
        let Some(last) = &page.last else { return Lesson::default() };
        if change == Change::NotModified {
            return Lesson { not_modified: true, ..Lesson::default() };
        }
        if !matches!(change, Change::Changed | Change::Unchanged) {
            return Lesson::default();
        }
        let changed = change == Change::Changed;
        let before = last.condition.last_modified.as_deref();
        let stamped = before.zip(exchange.headers.get("last-modified"));
        let stamped = stamped.map(|(old, new)| Stamped { moved: old != new, changed });
        // Of an audit no stamp is known: its condition was left out.
        Lesson { audited: last.audited.then_some(changed), stamped, not_modified: false }
    }

    /// Whether anything was learned.
    pub fn learn(&self, site: &mut SiteHabit, now: Timestamp) -> bool {
        if let Some(changed) = self.audited {
            learn_audit(site, changed, now);
        }
        if let Some(stamped) = self.stamped {
            learn_modified(site, stamped);
        }
        self.audited.is_some() || self.stamped.is_some_and(|seen| seen.moved || seen.changed)
    }

    /// The page to ask for once more, whole, when this "not modified" is to be looked at.
    pub fn audit(&self, page: &Page, site: &SiteHabit, now: Timestamp) -> Option<Page> {
        let last = page.last.as_ref().filter(|last| self.not_modified && !last.audited)?;
        if page.terms.requisite || !audits(site, page.url.fingerprint(), last.seen) {
            return None;
        }
        let last = LastVersion { condition: Condition::default(), audited: true, ..last.clone() };
        Some(Page { due: now, last: Some(last), ..page.clone() })
    }
}
