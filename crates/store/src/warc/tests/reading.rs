//! Reading takes any bytes: ours, other people's, damaged ones.

use std::{fs, sync::OnceLock};

use model::{Archive, RecordLocation, Timestamp};
use proptest::prelude::*;

use super::{
    super::{ReadError, Record, Verifier, Volumes, WarcReader, verify_volume},
    sample::{Way, every_kind, not_modified, page, same_again},
};

fn read(bytes: &[u8]) -> (Vec<Record>, Option<ReadError>) {
    let mut records = Vec::new();
    for record in WarcReader::new(bytes) {
        match record {
            Ok(record) => records.push(record),
            Err(error) => return (records, Some(error)),
        }
    }
    (records, None)
}

fn volume() -> &'static [u8] {
    packed(Way::Gzip)
}

fn packed(way: Way) -> &'static [u8] {
    static VOLUMES: [OnceLock<Vec<u8>>; 3] = [const { OnceLock::new() }; 3];
    VOLUMES[way as usize].get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (archive, _) = way.open(folder.path(), way.options());
        for sample in [page(1), page(2), same_again(&page(1))] {
            archive.append(&sample.entry(archive.record_id())).unwrap();
        }
        archive.seal().unwrap();
        fs::read(folder.path().join(way.first_volume())).unwrap()
    })
}

/// The same records without compression.
fn plain() -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(volume());
    std::io::Read::read_to_end(&mut decoder, &mut plain).unwrap();
    plain
}

#[test]
fn a_file_cut_anywhere_gives_the_records_before_the_cut() {
    for way in Way::ALL {
        let volume = packed(way);
        let (all, error) = read(volume);
        assert!(error.is_none(), "{way:?} {error:?}");
        assert_eq!(all.len(), 7);
        for cut in 0..volume.len() {
            let (records, error) = read(&volume[..cut]);
            let whole = all.iter().filter(|record| record.end() <= cut as u64).count();
            assert_eq!(records.len(), whole, "{way:?} cut at {cut}");
            let starts = [0, all[0].offset];
            let between = starts.contains(&(cut as u64))
                || all.iter().any(|record| record.end() == cut as u64);
            let torn = matches!(error, Some(ReadError::Torn { .. }));
            assert_eq!(torn, !between, "{way:?} cut at {cut}: {error:?}");
        }
    }
}

#[test]
fn plain_files_and_bare_line_feeds_are_read_too() {
    let (packed, _) = read(volume());
    let (unpacked, error) = read(&plain());
    assert!(error.is_none());
    assert_eq!(unpacked.len(), packed.len());
    for (a, b) in packed.iter().zip(&unpacked) {
        assert_eq!((&a.fields, &a.block), (&b.fields, &b.block));
    }
    let bare = b"WARC/1.0\nWARC-Type: metadata\nContent-Length: 3\n\nabc\nWARC/1.0\nContent-Length: 0\n\n\n\n";
    let (records, error) = read(bare);
    assert!(error.is_none() && records.len() == 2 && records[0].block == "abc");
}

#[test]
fn records_that_share_a_member_are_read_and_said_to() {
    let one = super::sample::gzip(&plain());
    let (records, error) = read(&one);
    assert!(error.is_none());
    assert_eq!(records.len(), 7);
    assert!(records.iter().all(|record| !record.own_member && record.offset == 0));
}

#[test]
fn damage_is_told_and_never_mistaken_for_an_end() {
    for way in Way::ALL {
        let mut zeros = packed(way).to_vec();
        zeros.extend([0; 4096]);
        let (records, error) = read(&zeros);
        assert!(matches!(error, Some(ReadError::Damaged { .. })), "{way:?} {error:?}");
        assert_eq!(records.len(), 7);
        let mut flipped = packed(way).to_vec();
        let middle = (records[3].offset + records[3].length / 2) as usize;
        flipped[middle] ^= 0x10;
        let error = read(&flipped).1;
        assert!(matches!(error, Some(ReadError::Damaged { .. } | ReadError::Torn { .. })));
    }
    let endless = b"WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nabc";
    assert!(matches!(read(endless).1, Some(ReadError::Torn { offset: 0 })));
    assert!(matches!(read(&[b'x'; 1000]).1, Some(ReadError::Damaged { offset: 0, .. })));
}

#[test]
fn long_blocks_are_kept_in_part() {
    for way in Way::ALL {
        let reader = WarcReader::new(packed(way)).keep_at_most(50);
        let records: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(records.len(), 7);
        assert!(records.iter().all(|record| record.block.len() <= 50));
        assert!(records[0].cut);
    }
}

#[test]
fn a_record_is_found_while_its_volume_is_open_and_after_it_is_sealed() {
    Way::ALL.into_iter().for_each(found_while_open_and_sealed);
}

fn found_while_open_and_sealed(way: Way) {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = way.open(folder.path(), way.options());
    let volumes = Volumes::new(folder.path());
    let samples = every_kind();
    let places: Vec<_> =
        samples.iter().map(|s| archive.append(&s.entry(archive.record_id())).unwrap()).collect();
    archive.sync().unwrap();
    let check = || {
        for (sample, place) in samples.iter().zip(&places) {
            let http = volumes.read_at(*place).unwrap().http();
            assert_eq!(http.head, sample.exchange.response_head);
            assert_eq!(http.status, sample.exchange.status);
        }
    };
    check();
    archive.seal().unwrap();
    check();
    for wrong in [(9, 0), (1, 1), (1, u64::MAX >> 1)] {
        let place = RecordLocation { volume: wrong.0, offset: wrong.1, length: 1 };
        assert!(volumes.read_at(place).is_err(), "{wrong:?}");
    }
}

#[test]
fn verification_finds_what_public_checkers_miss() {
    let folder = tempfile::tempdir().unwrap();
    let check = |bytes: &[u8], expected: &str| {
        let path = folder.path().join("x-000001.warc.gz");
        fs::write(&path, bytes).unwrap();
        let report = verify_volume(&path).unwrap();
        let found = report.problems.iter().any(|problem| problem.detail.contains(expected));
        assert!(found, "{expected}: {:?}", report.problems);
    };
    let text = String::from_utf8(plain()).unwrap();
    let (all, _) = read(volume());
    check(&volume()[..volume().len() - 5], "ends inside");
    check(&[volume(), &volume()[all[0].length as usize..]].concat(), "is taken");
    check(&volume()[all[0].length as usize..], "no warcinfo");
    check(&[], "there is none");
    check(text.replacen("page 1", "page 7", 1).as_bytes(), "block digest");
    check(text.replacen("page 1", "page 7", 1).as_bytes(), "payload digest");
    check(text.replacen("WARC-Record-ID", "WARC-Record-XX", 1).as_bytes(), "no record id");
    check(
        text.replacen("WARC-Refers-To-Date: 2", "WARC-Refers-To-Date: 1", 1).as_bytes(),
        "refers",
    );
    check(text.replacen("To: <urn:uuid:", "To: <urn:uuid:0", 1).as_bytes(), "concurrent");
    check(&super::sample::gzip(text.as_bytes()), "shares");
}

#[test]
fn in_a_batch_what_was_there_before_it_may_be_at_home_and_nothing_newer() {
    for way in Way::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (archive, _) = way.open(folder.path(), way.options());
        let earlier = page(1);
        for revisit in [same_again(&earlier), not_modified(&earlier)] {
            archive.append(&revisit.entry(archive.record_id())).unwrap();
        }
        archive.seal().unwrap();
        let path = folder.path().join(way.first_volume());
        let check = |mut verifier: Verifier, at_home: u64, problems: u64| {
            let report = verifier.volume(&path).unwrap();
            assert_eq!((report.at_home, report.problem_count), (at_home, problems), "{way:?}");
        };
        let seen = earlier.exchange.started;
        check(Verifier::default(), 0, 2);
        check(Verifier::of_batch(seen), 2, 0);
        check(Verifier::of_batch(Timestamp(seen.0 - 1)), 0, 2);
    }
}

#[test]
fn archives_of_other_crawlers_are_read() {
    let Some(folder) = model::testing::conformance("warc") else { return };
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains(".warc") {
            continue;
        }
        let report = verify_volume(&path).unwrap();
        assert!(report.captures > 0, "{path:?}");
        let damaged = |detail: &str| detail.contains("read") || detail.contains("digest");
        assert!(!report.problems.iter().any(|p| damaged(&p.detail)), "{path:?} {report:?}");
        files += 1;
    }
    assert!(files >= 7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_make_the_reader_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        way in prop::option::of(prop::sample::select(Way::ALL.to_vec())),
    ) {
        let mut bytes = way.map_or_else(plain, |way| packed(way).to_vec());
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes.truncate(cut.index(bytes.len() * 2).min(bytes.len()));
        let (records, _) = read(&bytes);
        for record in &records {
            prop_assert!(record.end() <= bytes.len() as u64);
            let _ = record.http().entity();
        }
        // Every mutation of a member is caught by its checksum; only fields of plain ones may lie.
        let rebuilt = super::super::Pairs::starting_at(&bytes[..], 0)
            .map_while(Result::ok)
            .filter(|pair| super::super::Adopted::from_pair(1, pair).is_ok())
            .count();
        prop_assert!(rebuilt <= 3);
    }

    #[test]
    fn nor_do_bytes_of_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (records, _) = read(&bytes);
        prop_assert!(records.len() <= 30);
    }
}
