//! What link segments promise.

use std::fs;

use model::{CrawlUrl, Fingerprint, Link, LinkKind, LinkRel, SiteId, StoreError, Timestamp};
use proptest::prelude::*;

use super::*;

fn link(path: &str, anchor: &str, position: u32) -> Link {
    Link {
        url: CrawlUrl::parse(&format!("https://example.org/{path}")).unwrap(),
        kind: LinkKind::from_stored((position % 14) as u8).unwrap(),
        rel: LinkRel((position % 8) as u8),
        anchor: anchor.to_owned(),
        position,
    }
}

fn expected(source: u64, site: i64, at: i64, links: &[Link]) -> LinkRecord {
    let links = links.iter().map(|link| StoredLink {
        url: link.url.as_str().to_owned(),
        fp: link.url.fingerprint(),
        kind: link.kind,
        rel: link.rel,
        anchor: link.anchor.clone(),
        position: link.position,
    });
    let (source, site, at) = (Fingerprint(source), SiteId(site), Timestamp(at));
    LinkRecord { source, site, at, links: links.collect() }
}

fn read_all(dir: &Path, until: Option<LinkPosition>) -> Vec<LinkRecord> {
    LinkReader::open(dir, until).unwrap().collect::<Result<_, StoreError>>().unwrap()
}

fn add(writer: &mut LinkWriter, n: u64, links: &[Link]) -> LinkPosition {
    writer.append(Fingerprint(n), SiteId(n as i64), Timestamp(n as i64), links).unwrap()
}

fn some_links() -> Vec<Link> {
    vec![link("a", "first", 0), link("a/b?q=ü", "zwei – 二", 1), link("", "", 2)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read(
        records in prop::collection::vec(
            (any::<u64>(), any::<i64>(), any::<i64>(),
             prop::collection::vec(("[a-z0-9/%üé二]{0,12}", ".{0,12}", any::<u32>()), 0..8)),
            0..12),
        segment_bytes in 50u64..2_000,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = LinkWriter::with_segment_bytes(dir.path(), None, segment_bytes).unwrap();
        let mut wanted = Vec::new();
        for (source, site, at, links) in &records {
            let links: Vec<Link> = links.iter().map(|(p, a, n)| link(p, a, *n)).collect();
            writer.append(Fingerprint(*source), SiteId(*site), Timestamp(*at), &links).unwrap();
            wanted.push(expected(*source, *site, *at, &links));
        }
        writer.sync().unwrap();
        prop_assert_eq!(read_all(dir.path(), None), wanted);
    }

    #[test]
    fn flipped_bytes_never_harm(place in 0usize..400, mask in 1u8..) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = LinkWriter::open(dir.path(), None).unwrap();
        for n in 0..3 {
            add(&mut writer, n, &some_links());
        }
        writer.sync().unwrap();
        let path = segment_path(dir.path(), 1);
        let mut bytes = fs::read(&path).unwrap();
        let place = place % bytes.len();
        bytes[place] ^= mask;
        fs::write(&path, &bytes).unwrap();
        let mut reader = LinkReader::open(dir.path(), None).unwrap();
        let read: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert!(read.len() < 3);
        prop_assert_eq!(reader.torn().len(), 1);
        for (n, record) in (0..).zip(&read) {
            prop_assert_eq!(record, &expected(n, n as i64, n as i64, &some_links()));
        }
    }
}

#[test]
fn a_segment_cut_at_any_byte_reads_as_the_records_before_the_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LinkWriter::open(dir.path(), None).unwrap();
    let ends: Vec<u64> = (0..4).map(|n| add(&mut writer, n, &some_links()).1).collect();
    writer.sync().unwrap();
    let path = segment_path(dir.path(), 1);
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len() as u64, ends[3]);
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let wanted = ends.iter().filter(|end| **end <= cut as u64).count();
        assert_eq!(read_all(dir.path(), None).len(), wanted, "cut at {cut}");
    }
}

#[test]
fn a_last_record_that_claims_to_be_longer_is_torn() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LinkWriter::open(dir.path(), None).unwrap();
    add(&mut writer, 0, &some_links());
    writer.sync().unwrap();
    let path = segment_path(dir.path(), 1);
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEADER_BYTES as usize] += 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(read_all(dir.path(), None), []);
}

#[test]
fn opening_cuts_back_to_the_settled_mark() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LinkWriter::with_segment_bytes(dir.path(), None, 200).unwrap();
    let mark = add(&mut writer, 0, &some_links());
    for n in 1..10 {
        add(&mut writer, n, &some_links());
    }
    writer.sync().unwrap();
    assert!(segments(dir.path()).unwrap().len() > 2, "rotated");
    assert_eq!(read_all(dir.path(), Some(mark)).len(), 1, "the reader stops at the mark by itself");
    drop(writer);

    let mut writer = LinkWriter::open(dir.path(), Some(mark)).unwrap();
    assert_eq!(writer.position(), mark);
    add(&mut writer, 77, &[]);
    writer.sync().unwrap();
    let sources: Vec<u64> = read_all(dir.path(), None).iter().map(|r| r.source.0).collect();
    assert_eq!(sources, [0, 77]);
}

#[test]
fn a_segment_that_lost_its_settled_end_is_left_and_writing_goes_on_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LinkWriter::open(dir.path(), None).unwrap();
    let first = add(&mut writer, 0, &some_links());
    let mark = add(&mut writer, 1, &some_links());
    writer.sync().unwrap();
    let file = fs::File::options().write(true).open(segment_path(dir.path(), 1)).unwrap();
    file.set_len(first.1 + 5).unwrap();
    let mut writer = LinkWriter::open(dir.path(), Some(mark)).unwrap();
    assert_eq!(writer.position().0, 2);
    add(&mut writer, 2, &some_links());
    writer.sync().unwrap();
    let sources: Vec<u64> = read_all(dir.path(), None).iter().map(|r| r.source.0).collect();
    assert_eq!(sources, [0, 2]);
}
