//! What a collection must look like when nothing was lost and nothing doubled: read from its volumes and links
//! and from the servers' log, and compared with what the program says of its pages.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::File,
    io::BufReader,
    time::Duration,
};

use model::{RecordLocation, Timestamp};
use serde_json::Value;
use simweb::Entry;
use store::{
    links::LinkReader,
    testing::{self, ArchivedVisit},
    warc::{Record, Verifier, Volumes, WarcReader, parse_record_id},
};

use crate::{ask::strings, world::World};

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
    let known = world.pages_and_parts();
    let got: BTreeSet<String> = strings(&known, "url").into_iter().collect();
    let all = all_pages(world);
    let lost: Vec<&String> = all.difference(&got).take(5).collect();
    assert!(lost.is_empty(), "{} of {} pages; lost {lost:?}", got.len(), all.len());
    assert_eq!(got, all);
    pages_are_settled_once(world);
    let others: Vec<&Value> = known.iter().filter(|page| page["state"] != "fetched").collect();
    assert!(others.is_empty(), "not fetched: {others:?}");
}

/// Whatever was fetched has one visit, one record, one entry in the link segments; all of it readable.
#[track_caller]
pub fn pages_are_settled_once(world: &World) {
    let known = world.pages_and_parts();
    let fetched = known.iter().filter(|page| page["state"] == "fetched").count();
    let twice: Vec<&Value> =
        known.iter().filter(|page| page["visits"].as_u64() > Some(1)).collect();
    assert!(twice.is_empty(), "settled twice: {twice:?}");
    assert_eq!(world.status()["pages"]["fetched"], fetched);
    assert_eq!(world.sites(&["--state", "active"]), [Value::Null; 0]);
    let visits = testing::archived_visits(&world.folder);
    assert_eq!(visits.iter().filter(|visit| visit.status == 200).count(), fetched);
    let archived = archived(world);
    let doubled: Vec<_> = archived.iter().filter(|(_, count)| **count > 1).take(5).collect();
    assert!(doubled.is_empty(), "archived twice: {doubled:?}");
    let pages = archived.keys().filter(|url| !url.ends_with("/robots.txt")).count();
    assert_eq!(pages, fetched, "a record for every page and no other");
    records_are_where_the_database_says(world, &visits);
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
fn records_are_where_the_database_says(world: &World, visits: &[ArchivedVisit]) {
    let volumes = Volumes::new(world.folder.join("volumes"));
    for ArchivedVisit { url, record: location, record_id, .. } in visits {
        let record = volumes.read_at(*location).unwrap();
        assert_eq!(record.field("WARC-Target-URI"), Some(&**url), "{location:?}");
        let said = record.field("WARC-Record-ID").and_then(parse_record_id).unwrap();
        assert_eq!(said.0.to_be_bytes().as_slice(), record_id, "{url} at {location:?}");
    }
}

/// How each change of a page is archived, in the order of commits: `response`, `revisit`, or not at all.
pub fn kinds_of_records(world: &World) -> Vec<Option<String>> {
    let volumes = Volumes::new(world.folder.join("volumes"));
    let kind = |change: &Value| {
        let number = |name: &str| change["record"][name].as_u64();
        let volume = number("volume")?.try_into().unwrap();
        let length = number("length")?.try_into().unwrap();
        let location = RecordLocation { volume, offset: number("offset")?, length };
        Some(volumes.read_at(location).unwrap().kind().to_owned())
    };
    world.changes().iter().map(kind).collect()
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
