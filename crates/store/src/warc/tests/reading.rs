//! Reading takes any bytes: ours, other people's, damaged ones.

use std::{fs, path::Path, sync::OnceLock};

use model::{Archive, Mark, RecordLocation};
use proptest::prelude::*;

use super::{
    super::{ReadError, Record, Volumes, WarcReader, verify_volume},
    sample::{every_kind, open, options, page, same_again},
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
    static VOLUME: OnceLock<Vec<u8>> = OnceLock::new();
    VOLUME.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (archive, _) = open(folder.path(), options(), Mark::default());
        for sample in [page(1), page(2), same_again(&page(1))] {
            archive.append(&sample.entry(archive.record_id())).unwrap();
        }
        archive.seal().unwrap();
        fs::read(folder.path().join("harvest-000001.warc.gz")).unwrap()
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
    let (all, error) = read(volume());
    assert!(error.is_none());
    assert_eq!(all.len(), 7);
    for cut in 0..volume().len() {
        let (records, error) = read(&volume()[..cut]);
        let whole = all.iter().filter(|record| record.end() <= cut as u64).count();
        assert_eq!(records.len(), whole, "cut at {cut}");
        let between = cut == 0 || all.iter().any(|record| record.end() == cut as u64);
        assert_eq!(
            matches!(error, Some(ReadError::Torn { .. })),
            !between,
            "cut at {cut}: {error:?}"
        );
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
    let mut zeros = volume().to_vec();
    zeros.extend([0; 4096]);
    assert!(
        matches!(read(&zeros), (records, Some(ReadError::Damaged { .. })) if records.len() == 7)
    );
    let mut flipped = volume().to_vec();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    assert!(matches!(read(&flipped).1, Some(ReadError::Damaged { .. } | ReadError::Torn { .. })));
    let endless = b"WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nabc";
    assert!(matches!(read(endless).1, Some(ReadError::Torn { offset: 0 })));
    assert!(matches!(read(&[b'x'; 1000]).1, Some(ReadError::Damaged { offset: 0, .. })));
}

#[test]
fn long_blocks_are_kept_in_part() {
    let reader = WarcReader::new(volume()).keep_at_most(50);
    let records: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(records.len(), 7);
    assert!(records.iter().all(|record| record.block.len() <= 50));
    assert!(records[0].cut);
}

#[test]
fn a_record_is_found_while_its_volume_is_open_and_after_it_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = open(folder.path(), options(), Mark::default());
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
fn archives_of_other_crawlers_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance/warc");
    if !Path::new(folder).exists() {
        println!("skipped: no public WARC samples here");
        return;
    }
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
        packed in any::<bool>(),
    ) {
        let mut bytes = if packed { volume().to_vec() } else { plain() };
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
        // Every mutation of a gzip member is caught by its checksum; only fields of plain ones may lie.
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
