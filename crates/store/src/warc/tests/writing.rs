//! What is written reads back exactly, from many threads, over many volumes, with the right marks.

use std::{collections::HashSet, fs, thread};

use model::{Archive, EntryKind, Mark, Stopped};

use super::{
    super::{
        Adopted, Press, Record, RecordIds, Verifier, Volumes, WarcReader, digest::sha1,
        in_new_form, in_old_form, is_old_form, record_id_text,
    },
    sample::{Way, every_kind, not_modified, open, options, page, response, same_again},
};

fn reopened(folder: &std::path::Path, mark: Mark) -> Vec<Adopted> {
    let (_, recovery) = open(folder, options(), mark);
    assert!(recovery.cuts.is_empty() && recovery.warnings.is_empty());
    recovery.adopt.map(Result::unwrap).collect()
}

#[test]
fn every_kind_of_exchange_comes_back_as_it_was() {
    Way::ALL.into_iter().for_each(comes_back);
}

fn comes_back(way: Way) {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = way.open(folder.path(), way.options());
    let samples = every_kind();
    let written: Vec<_> = samples
        .iter()
        .map(|sample| {
            let id = archive.record_id();
            (id, archive.append(&sample.entry(id)).unwrap())
        })
        .collect();
    archive.sync().unwrap();
    drop(archive);
    let adopted = reopened(folder.path(), Mark::default());
    assert_eq!(adopted.len(), samples.len());
    for ((sample, (id, location)), back) in samples.iter().zip(&written).zip(&adopted) {
        let (was, is) = (&sample.exchange, &back.exchange);
        assert_eq!((&back.record_id, &back.location), (id, location));
        assert_eq!((&is.url, is.purpose, is.started), (&was.url, was.purpose, was.started));
        assert_eq!((is.address, is.status, &is.headers), (was.address, was.status, &was.headers));
        assert_eq!((is.stopped, is.timing), (was.stopped, was.timing));
        assert_eq!((is.protocol, &is.met), (was.protocol, &was.met));
        assert_eq!((&is.request_head, &is.response_head), (&was.request_head, &was.response_head));
        assert_eq!(back.payload_digest, sha1(&[&payload_of(sample, &samples)]));
        match (&sample.kind, &back.kind) {
            (EntryKind::Response, EntryKind::Response) => {
                assert_eq!((&is.wire_body, &is.entity), (&was.wire_body, &was.entity));
            }
            (EntryKind::SamePayload(was), EntryKind::SamePayload(is))
            | (EntryKind::NotModified(was), EntryKind::NotModified(is)) => {
                assert_eq!((&is.target_uri, is.date), (&was.target_uri, was.date));
                assert!(back.exchange.wire_body.is_empty());
            }
            kinds => panic!("{kinds:?}"),
        }
    }
}

fn payload_of(sample: &super::sample::Sample, all: &[super::sample::Sample]) -> bytes::Bytes {
    match &sample.kind {
        EntryKind::Response => sample.exchange.entity.clone(),
        EntryKind::SamePayload(earlier) | EntryKind::NotModified(earlier) => {
            let first = all.iter().find(|s| s.exchange.url.as_str() == earlier.target_uri);
            first.unwrap().exchange.entity.clone()
        }
    }
}

#[test]
fn records_carry_the_fields_the_standard_asks_for() {
    Way::ALL.into_iter().for_each(carries_the_fields);
}

fn carries_the_fields(way: Way) {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = way.open(folder.path(), way.options());
    let first = page(1);
    let mut cut = page(2);
    cut.exchange.stopped = Some(Stopped::Time);
    let samples = [first.clone(), same_again(&first), not_modified(&first), cut];
    let ids: Vec<_> = samples.iter().map(|_| archive.record_id()).collect();
    let places: Vec<_> = samples
        .iter()
        .zip(&ids)
        .map(|(sample, &id)| archive.append(&sample.entry(id)).unwrap())
        .collect();
    archive.sync().unwrap();
    let volumes = Volumes::new(folder.path());
    let records: Vec<_> = places.iter().map(|&place| volumes.read_at(place).unwrap()).collect();
    let digest = "WARC-Payload-Digest";
    assert_eq!(records[0].version, "1.1");
    assert_eq!(records[0].field("WARC-Record-ID"), Some(record_id_text(ids[0]).as_str()));
    assert_eq!(records[0].field("WARC-Date"), Some("2023-11-14T22:13:21.123Z"));
    assert_eq!(records[0].field("WARC-Target-URI"), Some("http://site.example/1"));
    assert_eq!(records[0].field("WARC-IP-Address"), Some("192.0.2.7"));
    assert_eq!(records[0].field("Content-Type"), Some("application/http; msgtype=response"));
    assert_eq!(records[0].field("WARC-Truncated"), None);
    assert_eq!(records[1].kind(), "revisit");
    assert_eq!(records[1].field(digest), records[0].field(digest));
    assert_eq!(records[1].field("WARC-Refers-To-Date"), records[0].field("WARC-Date"));
    assert_eq!(records[1].field("WARC-Truncated"), Some("length"));
    assert_eq!(records[2].kind(), "revisit");
    assert_eq!(records[2].field(digest), None, "a 304 vouches for no payload");
    assert_eq!(records[2].field("WARC-Refers-To-Date"), records[0].field("WARC-Date"));
    assert_eq!(records[2].field("Content-Length"), Some("0"), "the payload is elsewhere");
    assert_eq!(records[2].field("Content-Type"), None);
    let head = records[2].field("Harvestman-Not-Modified");
    assert_eq!(head, Some("HTTP/1.1 304 Not Modified%0D%0AETag: \"x\"%0D%0A%0D%0A"));
    assert_eq!(records[3].field("WARC-Truncated"), Some("time"));
    archive.seal().unwrap();
    let path = folder.path().join(way.first_volume());
    let report = Verifier::default().volume(&path).unwrap();
    assert_eq!((report.records, report.captures, report.problem_count), (9, 4, 0));
}

#[test]
fn revisits_of_the_old_form_are_told_apart_and_become_what_is_written_today() {
    Way::ALL.into_iter().for_each(told_apart);
}

fn told_apart(way: Way) {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = way.open(folder.path(), way.options());
    let samples = every_kind();
    for sample in &samples {
        archive.append(&sample.entry(archive.record_id())).unwrap();
    }
    archive.seal().unwrap();
    let volume = Volumes::new(folder.path()).list().unwrap().remove(0);
    let press = Press::of(&volume).unwrap();
    let file = std::io::BufReader::new(fs::File::open(&volume.path).unwrap());
    let records = WarcReader::new(file).map(Result::unwrap);
    let revisits: Vec<_> = records.filter(|record| record.kind() == "revisit").collect();
    assert_eq!(revisits.len(), 3);
    let read = |packed: Vec<u8>| {
        let bytes = [&press.preamble()[..], &packed].concat();
        WarcReader::new(&bytes[..]).next().unwrap().unwrap()
    };
    for record in revisits {
        let old = read(in_old_form(&press, &record));
        assert_eq!(old.http().head, record.http().head);
        // What is neither a 304 nor chunked was written as it is today.
        let differs = record.field("WARC-Payload-Digest").is_none();
        assert_eq!((is_old_form(&old), is_old_form(&record)), (differs, false));
        if differs {
            let new = read(in_new_form(&press, &old));
            assert_eq!(sorted(&new), sorted(&record));
            assert_eq!(new.block, record.block);
        }
    }
}

fn sorted(record: &Record) -> Vec<(&str, &str)> {
    let mut fields: Vec<_> = record.fields.iter().collect();
    fields.sort_unstable();
    fields
}

#[test]
fn what_arrived_compressed_is_not_compressed_again() {
    for way in Way::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (archive, _) = way.open(folder.path(), way.options());
        let text: String =
            (0..6_000u32).map(|n| format!("{:x} ", n.wrapping_mul(n) >> 5)).collect();
        let html = response("/a", "HTTP/1.1 200 OK\r\nContent-Type: text/html", text.clone());
        let image = response("/b", "HTTP/1.1 200 OK\r\nContent-Type: image/png", text.clone());
        let packed = archive.append(&html.entry(archive.record_id())).unwrap();
        let stored = archive.append(&image.entry(archive.record_id())).unwrap();
        // The cheapest level of zstd still finds long repetitions, of which there are none in a picture.
        assert!(packed.length < stored.length * 3 / 4, "{way:?} {packed:?} {stored:?}");
        assert!(way != Way::Gzip || stored.length as usize > text.len());
    }
}

#[test]
fn many_threads_fill_many_volumes_with_contiguous_pairs() {
    Way::ALL.into_iter().for_each(many_threads);
}

fn many_threads(way: Way) {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = way.open(folder.path(), way.small_volumes(20_000));
    let ids = RecordIds::from_seed(7);
    let mut places = Vec::new();
    thread::scope(|scope| {
        let write = |thread: u32| {
            let (archive, ids) = (&archive, &ids);
            move || {
                let mut places = Vec::new();
                for number in 0..100 {
                    let id = ids.make();
                    let sample = page(thread * 1_000 + number);
                    places.push((id, archive.append(&sample.entry(id)).unwrap()));
                    if number % 20 == 0 {
                        archive.sync().unwrap();
                    }
                }
                places
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(write(thread))).collect();
        places.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
    });
    archive.seal().unwrap();
    let volumes = Volumes::new(folder.path());
    let files = volumes.list().unwrap();
    assert!(files.len() > 5 && files.iter().all(|file| file.sealed), "{files:?}");
    let mut verifier = Verifier::default();
    for file in &files {
        assert!(fs::metadata(&file.path).unwrap().len() <= 20_000);
        assert!(verifier.volume(&file.path).unwrap().is_sound());
    }
    for (id, place) in &places {
        let record = volumes.read_at(*place).unwrap();
        assert_eq!(record.field("WARC-Record-ID"), Some(record_id_text(*id).as_str()));
        assert_eq!(record.length, u64::from(place.length));
    }
    let adopted = reopened(folder.path(), Mark::default());
    let all: HashSet<_> = adopted.iter().map(|adopted| adopted.record_id).collect();
    assert_eq!(all.len(), places.len());
    assert!(adopted.iter().all(|adopted| !adopted.exchange.request_head.is_empty()));
}

#[test]
fn only_what_is_not_settled_is_offered_again() {
    Way::ALL.into_iter().for_each(not_settled);
}

fn not_settled(way: Way) {
    let folder = tempfile::tempdir().unwrap();
    // About four pairs a volume.
    let bytes = if way == Way::Dictionary { 3_900 } else { 3_500 };
    let (archive, _) = way.open(folder.path(), way.small_volumes(bytes));
    let places: Vec<_> = (0..20)
        .map(|number| archive.append(&page(number).entry(archive.record_id())).unwrap())
        .collect();
    archive.sync().unwrap();
    for (number, place) in places.iter().enumerate() {
        if number < 6 || number % 3 == 0 {
            archive.settled(*place);
        }
    }
    let mark = archive.mark();
    assert!(places[19].volume > places[7].volume && mark.volume == places[7].volume);
    drop(archive);

    let (archive, mut recovery) = open(folder.path(), options(), mark.clone());
    let offered: Vec<_> = recovery.adopt.by_ref().map(|a| a.unwrap().location).collect();
    let expected: Vec<_> =
        (6..20).filter(|number| number % 3 != 0).map(|number| places[number]).collect();
    assert_eq!(offered, expected);
    assert_eq!(archive.mark(), mark, "adoption alone settles nothing");
    for place in &offered[1..] {
        archive.settled(*place);
    }
    let later = archive.append(&page(99).entry(archive.record_id())).unwrap();
    assert_eq!(later.volume, places[19].volume + 1);
    let held = archive.mark();
    assert_eq!((held.volume, held.offset), (mark.volume, mark.offset));
    archive.settled(offered[0]);
    let moved = archive.mark();
    assert_eq!(moved.volume, later.volume);
    assert!(moved.offset < later.offset && moved.above.is_empty());
    archive.sync().unwrap();
    drop(archive);
    assert_eq!(reopened(folder.path(), moved).len(), 1);
}

#[test]
fn a_run_that_archives_nothing_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = open(folder.path(), options(), Mark::default());
    archive.sync().unwrap();
    archive.seal().unwrap();
    assert!(Volumes::new(folder.path()).list().unwrap().is_empty());
}
