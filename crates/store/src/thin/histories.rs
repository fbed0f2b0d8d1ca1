//! Thinning of whatever a page went through: its newest version can be read afterwards, and so can every other
//! that has a record.

use std::{collections::BTreeMap, path::Path};

use model::{
    Archive, Change, EntryKind, Frontier, RecordLocation, RefersTo, Settlement, SiteLease,
};
use proptest::prelude::*;

use super::{
    tests::{PAGE, is_sound, rule, run},
    *,
};
use crate::{
    forget::tests::{START, append, candidate, check_out, delta, exchange, open_archive},
    frontier::SqlFrontier,
    warc::{Volumes, WarcArchive, date_text, sha1},
};

const DAY: i64 = 86_400_000;

/// What a visit finds.
#[derive(Clone, Copy, Debug)]
enum Event {
    Other,
    /// What it had at first.
    BackToFirst,
    /// Other bytes that are no change.
    Copy,
    Same,
    NotModified,
    Gone,
}

/// A page and its visits so far.
struct Page {
    frontier: SqlFrontier,
    archive: WarcArchive,
    lease: SiteLease,
    day: i64,
    /// The newest content, and when it was archived whole; none before the first.
    at_hand: Option<(String, i64)>,
    first: Option<(String, i64)>,
    gone: bool,
    /// By the time of the visit that made them.
    versions: BTreeMap<i64, String>,
}

impl Page {
    fn new(folder: &Path) -> Page {
        let collection = Collection::create(folder).unwrap();
        let mut frontier = collection.frontier().unwrap();
        let (archive, _) = open_archive(&collection, Default::default());
        frontier.admit(&[candidate("a.example")], START).unwrap();
        let lease = frontier.check_out(&check_out()).unwrap().remove(0);
        let (at_hand, first, versions) = (None, None, BTreeMap::new());
        Page { frontier, archive, lease, day: 0, at_hand, first, gone: false, versions }
    }

    fn meet(&mut self, event: Event) {
        self.day += 1;
        let at = self.day * DAY;
        let fresh = format!("edition {} ", self.day).repeat(100);
        let news = match (&self.at_hand, self.gone) {
            (None, _) => Change::First,
            (_, true) => Change::Returned,
            _ => Change::Changed,
        };
        let again = if self.gone { Change::Returned } else { Change::Unchanged };
        match (event, self.at_hand.clone(), self.first.clone()) {
            (Event::Gone, Some(_), _) => {
                self.visit("", 404, Change::Gone, EntryKind::Response);
                self.gone = true;
                return;
            }
            (Event::BackToFirst, Some((body, _)), Some((first, when))) if body != first => {
                let kind = EntryKind::SamePayload(refers(&first, when));
                self.visit(&first, 200, news, kind);
                self.at_hand = Some((first, when));
            }
            (Event::Same | Event::BackToFirst, Some((body, when)), _) => {
                self.visit(&body, 200, again, EntryKind::SamePayload(refers(&body, when)));
            }
            (Event::NotModified, Some((body, when)), _) => {
                let change = if self.gone { Change::Returned } else { Change::NotModified };
                self.visit(&body, 304, change, EntryKind::NotModified(refers(&body, when)));
            }
            (Event::Copy, Some(_), _) if !self.gone => {
                self.visit(&fresh, 200, Change::Unchanged, EntryKind::Response);
                self.at_hand = Some((fresh, at));
            }
            _ => {
                self.visit(&fresh, 200, news, EntryKind::Response);
                self.first.get_or_insert((fresh.clone(), at));
                self.at_hand = Some((fresh, at));
            }
        }
        self.gone = false;
    }

    fn visit(&mut self, body: &str, status: u16, change: Change, kind: EntryKind) {
        let sent = if status == 304 { "" } else { body };
        let exchange = exchange(PAGE, sent, self.day * DAY);
        let revisit = !matches!(kind, EntryKind::Response);
        let (record, id) = append(&self.archive, &exchange, kind);
        self.archive.settled(record);
        let mut delta = delta(&self.lease, &exchange, record, id, revisit);
        let seen = delta.updates[0].visit.as_mut().unwrap();
        (seen.change, seen.status) = (change, status);
        seen.payload_digest = sha1(&[body.as_bytes()]);
        if change != Change::First {
            delta.admitted.clear();
        }
        if change.is_version() {
            self.versions.insert(exchange.started.0, body.to_owned());
        }
        self.archive.sync().unwrap();
        let mark = Some(self.archive.mark());
        let settlement =
            Settlement { now: START, deltas: vec![delta], mark, ..Settlement::default() };
        self.frontier.check_in(&settlement).unwrap();
    }
}

fn refers(body: &str, at: i64) -> RefersTo {
    let payload_digest = sha1(&[body.as_bytes()]);
    RefersTo { target_uri: PAGE.to_owned(), date: Timestamp(START.0 + at), payload_digest }
}

/// Every version with a record, and what can be read of it.
fn readable(folder: &Path) -> BTreeMap<i64, Option<String>> {
    let frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    let volumes = Volumes::new(folder.join("volumes"));
    let mut statement = frontier
        .connection
        .prepare(
            "SELECT first, change IN (0, 1, 7), record_volume, record_offset, record_length \
             FROM visits WHERE record_volume IS NOT NULL AND record_date IS NULL",
        )
        .unwrap();
    let rows: Vec<(i64, bool, RecordLocation)> = statement
        .query_map([], |row| {
            let offset = row.get::<i64>(3)? as u64;
            let record = RecordLocation { volume: row.get(2)?, offset, length: row.get(4)? };
            Ok((row.get(0)?, row.get(1)?, record))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let body = |at: RecordLocation| -> Option<String> {
        let mut record = volumes.read_at(at).unwrap();
        if record.kind() == "revisit" {
            let date = record.field("WARC-Refers-To-Date")?.to_owned();
            let original = rows.iter().find(|row| date_text(Timestamp(row.0)) == date)?;
            record = volumes.read_at(original.2).unwrap();
        }
        (record.kind() == "response")
            .then(|| String::from_utf8_lossy(&record.http().entity()).into())
    };
    rows.iter().filter(|row| row.1).map(|row| (row.0, body(row.2))).collect()
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        2 => Just(Event::Other),
        1 => Just(Event::BackToFirst),
        2 => Just(Event::Copy),
        2 => Just(Event::Same),
        2 => Just(Event::NotModified),
        2 => Just(Event::Gone),
    ];
    prop::collection::vec(event, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_a_page_went_through_its_newest_version_stays(
        events in events(), by_rule in any::<bool>(),
    ) {
        let made = tempfile::tempdir().unwrap();
        let mut page = Page::new(made.path());
        page.meet(Event::Other);
        events.iter().for_each(|event| page.meet(*event));
        page.archive.seal().unwrap();
        let versions = std::mem::take(&mut page.versions);
        drop(page);
        let keep = match by_rule {
            true => rule(),
            false => Keep { rule: None, versions_bytes_max: Some(1) },
        };
        let done = run(made.path(), &keep, usize::MAX).unwrap();
        let left = readable(made.path());
        prop_assert_eq!(left.last_key_value().map(|(at, _)| at), versions.last_key_value().map(|(at, _)| at));
        for (at, body) in &left {
            prop_assert_eq!(body.as_ref(), versions.get(at), "of {}", at - START.0);
        }
        prop_assert_eq!(done.versions as usize, versions.len() - left.len());
        prop_assert_eq!(run(made.path(), &keep, usize::MAX).unwrap().versions, 0);
        is_sound(made.path());
    }
}

#[test]
fn a_page_whose_newest_version_has_no_record_is_found() {
    let made = tempfile::tempdir().unwrap();
    let mut page = Page::new(made.path());
    [Event::Other, Event::Other, Event::Copy].into_iter().for_each(|event| page.meet(event));
    let lose = |page: &Page, change: u8| {
        let sql = "UPDATE visits SET thinned = 1, record_volume = NULL WHERE change = ?1";
        page.frontier.connection.execute(sql, [change]).unwrap();
    };
    lose(&page, 0);
    assert_eq!(page.frontier.verify(false).unwrap(), [], "an older one may");
    lose(&page, 1);
    let found = page.frontier.verify(false).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].text.contains(PAGE), "{found:?}");
}
