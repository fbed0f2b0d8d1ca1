//! What a collection must look like when nothing was lost and nothing doubled: read from its own files and
//! from the servers' log, never from what the program says of itself.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::File,
    io::BufReader,
    time::Duration,
};

use model::{RecordLocation, Timestamp};
use rusqlite::{Connection, OpenFlags};
use simweb::Entry;
use store::{
    links::LinkReader,
    warc::{Record, Verifier, Volumes, WarcReader, parse_record_id},
};

use crate::world::World;

/// From an answer's last byte until its record is safe from a kill: it is handed to the system after a few more, or
/// when there are none; nearly all of this is for a machine that has other things to do.
const SAFE_AFTER: Duration = Duration::from_millis(1_750);

/// Every page of every site.
pub fn all_pages(world: &World) -> BTreeSet<String> {
    let web = &world.web;
    let sites = 0..web.options().sites;
    sites
        .flat_map(|site| (0..web.pages(site)).map(move |page| (site, page)))
        .map(|(site, page)| format!("http://{}{}", web.options().host(site), web.path(site, page)))
        .collect()
}

/// All pages of the web are there, fetched, once in every place that counts them.
#[track_caller]
pub fn every_page_is_there_once(world: &World) {
    let fetched: Vec<String> = world.rows("SELECT url FROM pages WHERE state = 2");
    let got: BTreeSet<String> = fetched.iter().cloned().collect();
    let all = all_pages(world);
    let lost: Vec<&String> = all.difference(&got).take(5).collect();
    assert!(lost.is_empty(), "{} of {} pages; lost {lost:?}", got.len(), all.len());
    assert_eq!(got, all);
    pages_are_settled_once(world);
    assert_eq!(world.number("SELECT count(*) FROM pages WHERE state != 2"), 0);
}

/// Whatever was fetched has one visit, one record, one entry in the link segments; all of it readable.
#[track_caller]
pub fn pages_are_settled_once(world: &World) {
    let fetched = world.number("SELECT count(*) FROM pages WHERE state = 2");
    let twice: Vec<String> = world.rows("SELECT url FROM pages WHERE visits > 1 LIMIT 5");
    assert!(twice.is_empty(), "settled twice: {twice:?}");
    assert_eq!(world.number("SELECT count(*) FROM visits WHERE status = 200"), fetched);
    assert_eq!(world.number("SELECT pages_fetched FROM totals"), fetched);
    assert_eq!(world.number("SELECT count(*) FROM sites WHERE leased = 1"), 0);
    let archived = archived(world);
    let doubled: Vec<_> = archived.iter().filter(|(_, count)| **count > 1).take(5).collect();
    assert!(doubled.is_empty(), "archived twice: {doubled:?}");
    let pages = archived.keys().filter(|url| !url.ends_with("/robots.txt")).count();
    assert_eq!(pages as i64, fetched, "a record for every page and no other");
    records_are_where_the_database_says(world);
    links_are_there_once(world);
    volumes_are_sound(world);
    world.run(&["check"]).exits(0);
}

/// Responses and revisits in the volumes by URL.
pub fn archived(world: &World) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for volume in Volumes::new(world.folder.join("volumes")).list().unwrap() {
        let file = BufReader::new(File::open(&volume.path).unwrap());
        for record in WarcReader::new(file) {
            let record = record.unwrap();
            if matches!(record.kind(), "response" | "revisit") {
                let url = record.field("WARC-Target-URI").unwrap();
                *found.entry(url.to_owned()).or_default() += 1;
            }
        }
    }
    found
}

/// What can be read of volumes that are being written.
pub fn read_so_far(world: &World) -> Vec<Record> {
    let volumes = Volumes::new(world.folder.join("volumes")).list().unwrap();
    let files = volumes.into_iter().filter_map(|volume| File::open(volume.path).ok());
    files.flat_map(|file| WarcReader::new(BufReader::new(file)).map_while(Result::ok)).collect()
}

#[track_caller]
pub fn volumes_are_sound(world: &World) {
    let mut verifier = Verifier::default();
    for volume in Volumes::new(world.folder.join("volumes")).list().unwrap() {
        let report = verifier.volume(&volume.path).unwrap();
        assert!(report.is_sound(), "{}: {:?}", volume.path.display(), report.problems);
    }
}

/// Only after an end in order does every volume have its final name.
#[track_caller]
pub fn volumes_are_sealed(world: &World) {
    let volumes = Volumes::new(world.folder.join("volumes")).list().unwrap();
    assert!(!volumes.is_empty());
    assert!(volumes.iter().all(|volume| volume.sealed), "{volumes:?}");
}

#[track_caller]
fn records_are_where_the_database_says(world: &World) {
    let database = Connection::open_with_flags(
        world.folder.join("crawl.db"),
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .unwrap();
    let mut statement = database
        .prepare(
            "SELECT p.url, v.record_volume, v.record_offset, v.record_length, v.record_id \
             FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp WHERE v.status > 0",
        )
        .unwrap();
    let rows = statement.query_map([], |row| {
        let offset = row.get::<_, i64>(2)?.unsigned_abs();
        let location = RecordLocation { volume: row.get(1)?, offset, length: row.get(3)? };
        Ok((row.get::<_, String>(0)?, location, row.get::<_, Vec<u8>>(4)?))
    });
    let volumes = Volumes::new(world.folder.join("volumes"));
    for row in rows.unwrap() {
        let (url, location, id) = row.unwrap();
        let record = volumes.read_at(location).unwrap();
        assert_eq!(record.field("WARC-Target-URI"), Some(&*url), "{location:?}");
        let said = record.field("WARC-Record-ID").and_then(parse_record_id).unwrap();
        assert_eq!(said.0.to_be_bytes().to_vec(), id, "{url} at {location:?}");
    }
}

#[track_caller]
fn links_are_there_once(world: &World) {
    let mut sources: HashMap<u64, usize> = HashMap::new();
    for page in LinkReader::open(&world.folder.join("links"), None).unwrap() {
        *sources.entry(page.unwrap().source.0).or_default() += 1;
    }
    assert!(sources.values().all(|count| *count == 1), "links of a page are there twice");
}

/// What was asked for more than once, in the order of the first asking.
pub fn repeats(log: &[Entry]) -> Vec<(&Entry, &Entry)> {
    let mut last: HashMap<String, &Entry> = HashMap::new();
    let mut found = Vec::new();
    for entry in log {
        if let Some(before) = last.insert(entry.url(), entry) {
            found.push((before, entry));
        }
    }
    found
}

/// Only what was under way at a kill may be asked for again: it was never answered, or the program was
/// killed less than [`SAFE_AFTER`] behind the end of the answer. Returns how many of either.
#[track_caller]
pub fn only_what_was_under_way_was_asked_again(
    log: &[Entry],
    kills: &[Timestamp],
) -> (usize, usize) {
    /// A server reads a request that waits in its socket even when the sender is dead.
    const SERVER_LAG: Duration = Duration::from_millis(500);
    let repeats = repeats(log);
    for (before, again) in &repeats {
        let ended = before.at.plus(Duration::from_micros(before.end_us - before.start_us));
        let excused = kills.iter().any(|kill| {
            *kill <= again.at
                && kill.plus(SERVER_LAG) >= before.at
                && (before.status == 0 || kill.since(ended) <= SAFE_AFTER)
        });
        let story = || -> Vec<String> {
            let line = |e: &Entry| format!("{} {} {}", e.at.0, e.target, e.status);
            log.iter().filter(|entry| entry.host == before.host).map(line).collect()
        };
        assert!(
            excused,
            "{} was answered at {} and asked for again; kills {kills:?}; {:#?}",
            before.url(),
            ended.0,
            story()
        );
    }
    let unanswered = repeats.iter().filter(|(before, _)| before.status == 0).count();
    (unanswered, repeats.len() - unanswered)
}
