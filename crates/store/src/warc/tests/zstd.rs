//! Promises of volumes packed with zstd: frames and dictionaries that other people's tools read, dictionaries
//! that are learned, bounds, and collections of both kinds.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use model::{Archive, Mark};
use proptest::prelude::*;
use zstd::zstd_safe;

use super::{
    super::{
        Compression, Press, ReadError, Record, Verifier, VolumeFileName, Volumes, WarcArchive,
        WarcReader, dictionary::skippable,
    },
    sample::{Way, dictionary, every_kind, open, page, response},
};

fn packed(way: Way, pages: u32) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = way.open(folder.path(), way.options());
    for number in 0..pages {
        archive.append(&page(number).entry(archive.record_id())).unwrap();
    }
    archive.seal().unwrap();
    fs::read(folder.path().join(way.first_volume())).unwrap()
}

fn records(bytes: &[u8]) -> Vec<Record> {
    WarcReader::new(bytes).map(Result::unwrap).collect()
}

fn volumes(folder: &Path) -> Vec<VolumeFileName> {
    Volumes::new(folder).list().unwrap()
}

fn fill(archive: &WarcArchive, pages: std::ops::Range<u32>) -> Vec<model::RecordLocation> {
    pages.map(|n| archive.append(&page(n).entry(archive.record_id())).unwrap()).collect()
}

#[test]
fn every_record_is_a_frame_with_its_length_and_a_checksum() {
    for way in [Way::Zstd, Way::Dictionary] {
        let bytes = packed(way, 3);
        let id = zstd_safe::get_dict_id_from_dict(&dictionary().bytes);
        for record in records(&bytes) {
            let frame = &bytes[record.offset as usize..record.end() as usize];
            assert_eq!(zstd_safe::find_frame_compressed_size(frame), Ok(frame.len()));
            let length = zstd_safe::get_frame_content_size(frame).unwrap();
            assert!(length.is_some_and(|length| length > record.block.len() as u64));
            assert_eq!(frame[4] & 0b100, 0b100, "the bit that says there is a checksum");
            let used = zstd_safe::get_dict_id_from_frame(frame);
            assert_eq!(used, id.filter(|_| way == Way::Dictionary));
        }
    }
}

#[test]
fn the_program_zstd_reads_a_volume_given_the_dictionary_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = packed(Way::Dictionary, 20);
    assert_eq!(bytes[..4], [0x5d, 0x2a, 0x4d, 0x18]);
    let length = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    assert_eq!(bytes[8..12], [0x37, 0xa4, 0x30, 0xec]);
    let path = folder.path().join("dictionary");
    fs::write(&path, &bytes[8..8 + length]).unwrap();
    let program = Command::new("zstd")
        .args(["-d", "-c", "-D"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut program) = program else {
        return model::testing::skip_without("the program zstd");
    };
    let mut input = program.stdin.take().unwrap();
    let given = bytes.clone();
    std::thread::spawn(move || input.write_all(&given));
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success());
    let (theirs, ours) = (records(&output.stdout), records(&bytes));
    assert_eq!((theirs.len(), ours.len()), (41, 41));
    for (a, b) in theirs.iter().zip(&ours) {
        assert_eq!((&a.fields, &a.block), (&b.fields, &b.block));
    }
}

#[test]
fn a_dictionary_is_learned_from_the_first_volume_and_every_later_one_has_it_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = Way::Zstd.open(folder.path(), Way::Zstd.options());
    let places = fill(&archive, 0..2_500);
    archive.seal().unwrap();
    let files = volumes(folder.path());
    assert_eq!(files.len(), 2, "the first was sealed early");
    let has_pages = |at: usize| Press::of(&files[at]).unwrap().pages().len();
    assert!(has_pages(0) == 0 && has_pages(1) >= 200, "{} {}", has_pages(0), has_pages(1));
    let (first, last) = (places[0], places[2_499]);
    assert!(last.length * 4 < first.length * 3, "{last:?} {first:?}");
    // One alone can be read, and by its own bytes.
    let second = records(&fs::read(&files[1].path).unwrap());
    assert!(second.len() > 900 && second.iter().all(|record| record.own_member));
    drop(archive);

    // A later run goes on with it, also after some pages in the other kind.
    for way in [Way::Zstd, Way::Gzip, Way::Zstd] {
        let mark = Mark { volume: 9, ..Mark::default() };
        let (archive, _) = open(folder.path(), way.options(), mark);
        fill(&archive, 0..10);
        archive.seal().unwrap();
    }
    let files = volumes(folder.path());
    let pages = |at: usize| Press::of(&files[at]).unwrap().pages().to_vec();
    assert_eq!(files.len(), 5);
    assert_eq!((pages(2), pages(3), pages(4)), (pages(1), vec![], pages(1)));
    let mut verifier = Verifier::default();
    assert!(files.iter().all(|file| verifier.volume(&file.path).unwrap().is_sound()));
    let reader = Volumes::new(folder.path());
    for (number, place) in places.iter().enumerate().step_by(97) {
        let record = reader.read_at(*place).unwrap();
        let url = format!("http://site.example/{number}");
        assert_eq!(record.field("WARC-Target-URI"), Some(url.as_str()));
    }
}

#[test]
fn few_pages_teach_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let (archive, _) = Way::Zstd.open(folder.path(), Way::Zstd.options());
        fill(&archive, 0..90);
        archive.seal().unwrap();
    }
    let files = volumes(folder.path());
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| *Press::of(file).unwrap() == Press::Zstd(None)));
}

#[test]
fn volumes_of_both_kinds_lie_beside_each_other_and_one_left_open_is_sealed_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut places = Vec::new();
    for (at, way) in (0..).zip([Way::Gzip, Way::Zstd, Way::Gzip, Way::Dictionary]) {
        let (archive, _) = way.open(folder.path(), way.options());
        places.extend(fill(&archive, at * 10..at * 10 + 10));
        // Killed.
        archive.sync().unwrap();
    }
    let (_, recovery) = open(folder.path(), Way::Gzip.options(), Mark::default());
    assert_eq!(recovery.adopt.map(Result::unwrap).count(), 40);
    let files = volumes(folder.path());
    use Compression::{Gzip, Zstd};
    let kinds: Vec<_> = files.iter().map(|file| (file.sealed, file.compression)).collect();
    assert_eq!(kinds, [(true, Gzip), (true, Zstd), (true, Gzip), (true, Zstd)]);
    let reader = Volumes::new(folder.path());
    for (number, place) in places.iter().enumerate().chain(places.iter().enumerate().rev()) {
        let body = reader.read_at(*place).unwrap().http().entity();
        assert_eq!(body, page(number as u32).exchange.body);
    }
    let mut verifier = Verifier::default();
    assert!(files.iter().all(|file| verifier.volume(&file.path).unwrap().is_sound()));
}

#[test]
fn without_its_dictionary_a_volume_is_damaged_and_nothing_worse() {
    let bytes = packed(Way::Dictionary, 2);
    let first = records(&bytes)[0].offset as usize;
    let reader = || WarcReader::new(&bytes[first..]);
    assert!(matches!(reader().next(), Some(Err(ReadError::Damaged { .. }))));
}

#[test]
fn nothing_is_packed_with_a_dictionary_that_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = packed(Way::Dictionary, 2);
    bytes[16..200].fill(0xff);
    fs::write(folder.path().join("x-000001.warc.zst"), bytes).unwrap();
    assert!(Press::of(&volumes(folder.path())[0]).is_err());
}

#[test]
fn a_dictionary_that_was_packed_itself_is_read_and_other_skippable_frames_are_passed_over() {
    let bytes = packed(Way::Dictionary, 2);
    let first = records(&bytes)[0].offset as usize;
    let packed = zstd::encode_all(&dictionary().bytes[..], 3).unwrap();
    let note = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let other = [&skippable(&packed)[..], &note, &bytes[first..], &note].concat();
    assert_eq!(records(&other).len(), 5);
}

#[test]
fn frames_and_dictionaries_that_ask_for_too_much_are_refused() {
    let refused = |bytes: &[u8], what: &str| {
        let error = WarcReader::new(bytes).find_map(Result::err);
        let told =
            matches!(&error, Some(ReadError::Damaged { detail, .. }) if detail.contains(what));
        assert!(told, "{what}: {error:?}");
    };
    let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(b"WARC/1.1\r\n").unwrap();
    refused(&wide.finish().unwrap(), "memory");
    refused(&[0x5d, 0x2a, 0x4d, 0x18, 0, 0, 0, 0x10], "too large");
    refused(&skippable(b"these are no dictionary"), "no known kind");
    refused(&bomb(5 << 30), "endless");
}

/// A record of a few KB that unpacks to so many bytes.
fn bomb(bytes: u64) -> Vec<u8> {
    const BLOCK: u64 = 128 << 10;
    let head = format!("WARC/1.1\r\nContent-Length: {bytes}\r\n\r\n");
    // No length, no checksum, a window of 128 KB; then one block as it is, and many of one byte repeated.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let raw = (head.len() as u32) << 3;
    frame.extend_from_slice(&raw.to_le_bytes()[..3]);
    frame.extend_from_slice(head.as_bytes());
    for _ in 0..bytes / BLOCK {
        let repeated = (BLOCK as u32) << 3 | 0b010;
        frame.extend_from_slice(&repeated.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}

#[test]
fn a_written_volume_has_every_kind_of_record_in_less_room_than_gzip_takes() {
    let length = |way: Way| {
        let folder = tempfile::tempdir().unwrap();
        let (archive, _) = way.open(folder.path(), way.options());
        for number in 0..50 {
            archive.append(&page(number).entry(archive.record_id())).unwrap();
        }
        every_kind().iter().for_each(|sample| {
            archive.append(&sample.entry(archive.record_id())).unwrap();
        });
        archive.seal().unwrap();
        fs::metadata(folder.path().join(way.first_volume())).unwrap().len()
    };
    let (gzip, zstd, learned) = (length(Way::Gzip), length(Way::Zstd), length(Way::Dictionary));
    println!("{gzip} {zstd} {learned}");
    assert!(learned < zstd && zstd < gzip, "{gzip} {zstd} {learned}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_is_put_in_comes_out(
        bodies in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..3_000), 1usize..40, any::<bool>()), 1..6
        ),
        way in prop::sample::select(Way::ALL.to_vec()),
        sealed in any::<bool>(),
    ) {
        let folder = super::sample::scratch();
        let (archive, _) = way.open(folder.path(), way.options());
        let samples: Vec<_> = bodies.iter().map(|(body, times, picture)| {
            let kind = if *picture { "image/png" } else { "text/html" };
            response("/any", &format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}"), body.repeat(*times))
        }).collect();
        let places: Vec<_> = samples
            .iter()
            .map(|sample| archive.append(&sample.entry(archive.record_id())).unwrap())
            .collect();
        if sealed { archive.seal().unwrap() } else { archive.sync().unwrap() }
        let volumes = Volumes::new(folder.path());
        for (sample, place) in samples.iter().zip(&places) {
            let record = volumes.read_at(*place).unwrap();
            prop_assert_eq!(record.length, u64::from(place.length));
            prop_assert_eq!(record.http().entity(), &sample.exchange.wire_body);
        }
    }
}
