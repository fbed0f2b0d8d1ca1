//! What a change is: how an answer compares with the version at hand.
//!
//! The archive keeps every payload that differs; this room says which of them count. By text, the restless
//! parts of a page that keeps changing are learned ([`gatherer::compare_with_sketch`]); where the user says
//! what to watch nothing is learned, for then every difference is wanted.
//!
//! Near-sameness (few bits of the simhash) counts for nothing: on a long page it would swallow the one edited
//! price that somebody waits for.

use gatherer::{Gathered, compare_with_sketch, sketch};
use model::{Change, Exchange, LastVersion, Page, PageState};

use super::{gather::Filed, settle::Seen};
use config::{ChangeBy, setup::ChangeCriteria};

/// How an answer compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub change: Change,
    /// To be kept of its text.
    pub sketch: Option<Vec<u8>>,
}

impl From<Change> for Compared {
    fn from(change: Change) -> Compared {
        Compared { change, sketch: None }
    }
}

/// `state`: of the page after this answer.
pub fn compare(
    page: &Page,
    exchange: &Exchange,
    gathered: &Gathered,
    filed: &Filed,
    state: PageState,
    notion: &ChangeCriteria,
) -> Compared {
    match (state, &page.last) {
        (PageState::Redirected, _) => Change::Redirected.into(),
        (PageState::Fetched, Some(last)) if last.gone => Change::Returned.into(),
        (PageState::Fetched, _) if exchange.status == 304 => Change::NotModified.into(),
        (PageState::Fetched, None) => Change::First.into(),
        (PageState::Fetched, Some(last)) => {
            let same_bytes = filed.seen == Seen::Before || filed.digest == last.payload_digest;
            let changed = match notion.by {
                _ if same_bytes => false,
                ChangeBy::Bytes => true,
                ChangeBy::Size => exchange.body.len() as u64 != last.body_bytes,
                ChangeBy::Text => return by_text(last, gathered, !notion.watch.is_empty()),
            };
            if changed { Change::Changed.into() } else { Change::Unchanged.into() }
        }
        (PageState::Gone, Some(_)) if matches!(exchange.status, 404 | 410) => Change::Gone.into(),
        _ => Change::Failed.into(),
    }
}

/// Of other bytes than those at hand.
fn by_text(last: &LastVersion, gathered: &Gathered, watched: bool) -> Compared {
    // The same page under another packing; also where what tells of changes was something else at the last visit.
    if gathered.text_hash == last.text_hash || gathered.content_hash == last.content_hash {
        return Change::Unchanged.into();
    }
    let text = gathered.selected.as_ref().unwrap_or(&gathered.text);
    if watched || text.is_empty() {
        return Change::Changed.into();
    }
    match last.sketch.as_deref().filter(|before| !before.is_empty()) {
        Some(before) => {
            let compared = compare_with_sketch(before, text);
            let change = if compared.changed { Change::Changed } else { Change::Unchanged };
            Compared { change, sketch: Some(compared.sketch) }
        }
        // A second change in a row: from here on it is worth knowing where they are.
        None => Compared { change: Change::Changed, sketch: last.fresh.then(|| sketch(text)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text_hash: u64) -> LastVersion {
        LastVersion { text_hash, content_hash: text_hash, ..LastVersion::default() }
    }

    fn gathered(text: &str, text_hash: u64) -> Gathered {
        let content_hash = !text_hash;
        Gathered { text: text.to_owned(), text_hash, content_hash, ..Gathered::default() }
    }

    #[test]
    fn other_bytes_with_the_same_text_are_no_change_and_nothing_is_kept_of_them() {
        let sketched = LastVersion { sketch: Some(sketch("a\nb")), ..last(7) };
        let over = LastVersion { sketch: Some(Vec::new()), ..last(7) };
        assert_eq!(by_text(&over, &gathered("a", 8), false), Change::Changed.into());
        assert_eq!(by_text(&sketched, &gathered("a\nb", 7), false), Change::Unchanged.into());
    }

    #[test]
    fn the_same_content_in_another_packing_is_no_change_whatever_told_of_changes_before() {
        let same = Gathered { content_hash: 7, ..gathered("a", 8) };
        assert_eq!(by_text(&last(7), &same, false), Change::Unchanged.into());
        assert_eq!(by_text(&last(7), &same, true), Change::Unchanged.into());
    }

    #[test]
    fn a_page_is_sketched_from_its_second_change_in_a_row_and_not_where_it_is_watched() {
        let fresh = LastVersion { fresh: true, ..last(7) };
        assert_eq!(by_text(&last(7), &gathered("a", 8), false), Change::Changed.into());
        assert_eq!(by_text(&fresh, &gathered("a", 8), false).sketch, Some(sketch("a")));
        assert_eq!(by_text(&fresh, &gathered("a", 8), true), Change::Changed.into());
        assert_eq!(by_text(&fresh, &gathered("", 8), false), Change::Changed.into());
    }
}
