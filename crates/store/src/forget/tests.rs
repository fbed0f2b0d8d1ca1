//! Forgetting stopped at every step, and taken up again.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use bytes::Bytes;
use model::{
    Archive, ArchiveEntry, Candidate, Change, CheckOut, CrawlUrl, EntryKind, Exchange, Frontier,
    Headers, Link, LinkKind, LinkRel, NewPage, PageState, PageTerms, PageUpdate, Purpose, RefersTo,
    Release, Settlement, SiteDelta, SiteLease, SpiderId, Timing, Visit,
};

use super::*;
use crate::{
    links::LinkReader,
    warc::{
        IndexState, Volumes,
        index::{IndexReader, index_path},
        index_state, sha1,
        tests::in_turn,
    },
};

pub(crate) const START: Timestamp = Timestamp(1_790_000_000_000);
const GONE: &str = "gone.example";

#[test]
fn stopped_at_any_step_it_comes_to_the_same_end() {
    stopped_at_any_step(false);
}

#[test]
fn it_does_so_in_volumes_of_every_kind_and_their_dictionaries_forget_too() {
    stopped_at_any_step(true);
}

fn stopped_at_any_step(every_kind: bool) {
    let made = tempfile::tempdir().unwrap();
    build(made.path(), every_kind);
    assert_eq!(linking_to_gone(made.path()).unwrap(), 18, "the index is there");
    let whole = copy_of(made.path());
    let removed = run(whole.path(), usize::MAX).unwrap();
    let left: Vec<_> = fs::read_dir(whole.path().join("links/index")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == "lock"), "{left:?}");
    let end = state(whole.path());
    assert_eq!((removed.pages, removed.records, removed.made_whole), (7, 12, 1), "{removed:?}");
    assert!(removed.volumes_rewritten > 1 && removed.links > 6, "{removed:?}");
    assert!(end.keys().all(|url| !url.contains(GONE)), "{end:?}");
    assert_eq!(end.len(), 12, "two sites of six");
    assert!(end.values().all(|body| !body.is_empty()), "{end:?}");

    let mut steps = 0;
    loop {
        let trial = copy_of(made.path());
        if run(trial.path(), steps).is_ok() {
            break;
        }
        let collection = Collection::open(trial.path()).unwrap();
        // Whoever reads now reads every page of the others.
        let now = state(trial.path());
        // Whoever asks for links meanwhile has all of before, none, or no answer.
        match linking_to_gone(trial.path()) {
            Ok(links) => assert!([0, 18].contains(&links), "step {steps}: {links}"),
            Err(error) => assert!(matches!(error, StoreError::Removing { .. }), "{error}"),
        }
        assert!(end.iter().all(|(url, body)| now.get(url) == Some(body)), "step {steps}");
        if steps % 2 == 0 {
            let lock = collection.lock().unwrap();
            finish(&collection, &lock, START, &mut |_| Ok(())).unwrap();
            drop(lock);
        }
        run(trial.path(), usize::MAX).unwrap();
        assert_eq!(state(trial.path()), end, "step {steps}");
        assert_eq!(linking_to_gone(trial.path()).unwrap(), 0, "step {steps}");
        is_clean(trial.path());
        steps += 1;
    }
    assert!(steps >= 6, "only {steps} steps");
    is_clean(whole.path());
}

#[test]
fn what_is_found_is_the_same_with_indexes_without_and_with_damaged_ones() {
    let made = tempfile::tempdir().unwrap();
    build(made.path(), true);
    let whole = copy_of(made.path());
    let removed = run(whole.path(), usize::MAX).unwrap();
    let (end, volumes) = (state(whole.path()), Volumes::new(made.path().join("volumes")));
    let volumes = volumes.list().unwrap();
    let bytes: u64 = volumes.iter().map(|volume| volume.path.metadata().unwrap().len()).sum();
    assert!(removed.read.indexes > 0 && removed.read.volumes < bytes / 2, "{:?}", removed.read);
    type Change = fn(&Path, &Path);
    let changes: [Change; 3] = [
        |index, _| fs::remove_file(index).unwrap(),
        |index, _| fs::write(index, &fs::read(index).unwrap()[..90]).unwrap(),
        |index, other| assert!(fs::copy(other, index).unwrap() > 0),
    ];
    for change in changes {
        let trial = copy_of(made.path());
        let indexes = Volumes::new(trial.path().join("volumes")).list().unwrap();
        let indexes: Vec<_> = indexes.iter().map(|volume| index_path(&volume.path)).collect();
        let last = indexes.last().unwrap();
        indexes.iter().for_each(|index| {
            if index != last {
                change(index, last);
            }
        });
        let again = run(trial.path(), usize::MAX).unwrap();
        assert!(again.read.volumes > bytes / 2, "{:?}", again.read);
        assert_eq!(Removed { read: removed.read, ..again }, removed);
        assert_eq!(state(trial.path()), end);
        is_clean(trial.path());
    }
}

#[test]
fn records_that_nobody_has_settled_move_with_the_mark() {
    let made = tempfile::tempdir().unwrap();
    build(made.path(), false);
    let collection = Collection::open(made.path()).unwrap();
    let mut frontier = collection.frontier().unwrap();
    let marks = frontier.marks().unwrap().archive.unwrap();
    let (archive, _) = open_archive(&collection, marks.clone());
    for url in ["http://gone.example/late", "http://a.example/late"] {
        let exchange = exchange(url, "late", 99);
        append(&archive, &exchange, EntryKind::Response);
    }
    archive.sync().unwrap();
    let mark = Some(archive.mark());
    frontier.check_in(&Settlement { now: START, mark, ..Settlement::default() }).unwrap();
    // Killed: its volume stays open.
    drop((archive, frontier));
    run(made.path(), usize::MAX).unwrap();
    let marks = collection.frontier().unwrap().marks().unwrap();
    let (_, recovery) = open_archive(&collection, marks.archive.unwrap());
    let adopted: Vec<String> =
        recovery.adopt.map(|adopted| adopted.unwrap().exchange.url.as_str().to_owned()).collect();
    assert_eq!(adopted, ["http://a.example/late"]);
}

fn run(folder: &Path, stop_at: usize) -> Result<Removed, StoreError> {
    let collection = Collection::open(folder)?;
    let lock = collection.lock()?;
    let mut steps = 0;
    let request = Forget {
        targets: Targets::new(vec![Target::Site(GONE.to_owned())]),
        tombstones: vec![Tombstone { kind: "site".into(), hash: [7; 16], created: START }],
        now: START,
        progress: &mut |_| {
            steps += 1;
            match steps > stop_at {
                true => Err(StoreError::Database { detail: "stopped here".into() }),
                false => Ok(()),
            }
        },
    };
    forget(&collection, &lock, request)
}

/// How many pages link to one that goes, by the index.
fn linking_to_gone(folder: &Path) -> Result<u64, StoreError> {
    let collection = Collection::open(folder)?;
    let census = crate::census::Census::open(&collection)?;
    let target = CrawlUrl::parse(&format!("http://{GONE}/page-2")).unwrap().fingerprint();
    crate::links::index::ask(&collection, &census, &mut |_| Ok(()), |index| {
        index.count_linking_to(target).map(|count| count.latest)
    })
}

#[test]
fn broken_pages_are_those_whose_last_visit_says_so() {
    let made = tempfile::tempdir().unwrap();
    build(made.path(), false);
    let collection = Collection::open(made.path()).unwrap();
    let census = crate::census::Census::open(&collection).unwrap();
    let all = crate::census::BrokenFilter::default();
    assert_eq!(census.broken(&all, None, 10).unwrap(), []);
    let frontier = collection.frontier().unwrap();
    let answered = |url: &str, state: u8, status: u16| {
        let sql = format!(
            "UPDATE visits SET status = {status} WHERE (site, fp) IN \
             (SELECT site, fp FROM pages WHERE url = '{url}'); \
             UPDATE pages SET state = {state} WHERE url = '{url}'"
        );
        frontier.connection.execute_batch(&sql).unwrap();
    };
    answered("http://a.example/page-0", 5, 404);
    answered("http://a.example/page-2", 5, 410);
    answered("http://b.example/page-0", 4, 503);
    let urls = |filter: &crate::census::BrokenFilter| {
        let (mut found, mut after) = (Vec::new(), None);
        while let Some(page) = census.broken(filter, after, 1).unwrap().pop() {
            after = Some((page.site, page.fp));
            let known = census.standing_of(&CrawlUrl::parse(&page.url).unwrap()).unwrap();
            assert_eq!(known.as_ref(), Some(&page));
            assert_eq!(census.standing(page.site, page.fp).unwrap(), known);
            found.push((page.url, page.status.unwrap()));
        }
        assert_eq!(census.count_broken(filter).unwrap(), found.len() as u64);
        found.sort();
        found
    };
    let (first, second) =
        ("http://a.example/page-0".to_owned(), "http://a.example/page-2".to_owned());
    let gone = vec![(first, 404), (second, 410)];
    assert_eq!(urls(&all), gone);
    let site = |name: &str| Some(name.to_owned());
    assert_eq!(urls(&crate::census::BrokenFilter { site: site("a.example"), any: true }), gone);
    let other = urls(&crate::census::BrokenFilter { site: site("b.example"), any: true });
    assert_eq!(other, [("http://b.example/page-0".to_owned(), 503)]);
    assert_eq!(urls(&crate::census::BrokenFilter { site: site("b.example"), any: false }), []);
}

/// Every page with a record, and the body that can be read of it, also where a revisit refers to it.
fn state(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    let volumes = Volumes::new(folder.join("volumes"));
    let rows: Vec<(String, u32, u64, u32)> = frontier
        .connection
        .prepare(
            "SELECT p.url, v.record_volume, v.record_offset, v.record_length FROM visits v \
                  JOIN pages p ON p.site = v.site AND p.fp = v.fp",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<i64>(2)? as u64, row.get(3)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let read = |(url, volume, offset, length): &(String, u32, u64, u32)| {
        let location = model::RecordLocation { volume: *volume, offset: *offset, length: *length };
        let record = volumes.read_at(location).unwrap();
        assert_eq!(
            (record.field("WARC-Target-URI"), record.length),
            (Some(url.as_str()), u64::from(*length))
        );
        record
    };
    rows.iter()
        .map(|row| {
            let mut record = read(row);
            if let Some(target) = record.field("WARC-Refers-To-Target-URI") {
                let original = rows.iter().find(|row| row.0 == target);
                record = read(original.expect("what is referred to is there"));
            }
            (row.0.clone(), record.http().entity().to_vec())
        })
        .collect()
}

fn is_clean(folder: &Path) {
    let mut frontier = SqlFrontier::open(&folder.join("crawl.db")).unwrap();
    assert_eq!(frontier.verify(true).unwrap(), []);
    let mut verifier = crate::warc::Verifier::default();
    for volume in Volumes::new(folder.join("volumes")).list().unwrap() {
        let report = verifier.volume(&volume.path).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
        let index = index_state(&volume.path, &report.digest, report.records).unwrap();
        assert_eq!(index, IndexState::Fit, "{}", volume.path.display());
        for entry in IndexReader::open(&volume.path).unwrap().unwrap() {
            assert!(!format!("{entry:?}").contains(GONE), "{entry:?}");
        }
    }
    let links = frontier.marks().unwrap().links;
    let mut reader = LinkReader::open(&folder.join("links"), links).unwrap();
    let urls: Vec<String> = reader
        .by_ref()
        .flat_map(|record| record.unwrap().links.into_iter().map(|link| link.url))
        .collect();
    assert!(reader.torn().is_empty());
    assert!(!urls.is_empty() && urls.iter().all(|url| !url.contains(GONE)), "{urls:?}");
    drop(frontier);
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let mut files = names(folder.to_str().unwrap());
    for inner in ["volumes", "links"] {
        files.extend(names(folder.join(inner).to_str().unwrap()));
    }
    for file in files.iter().filter(|file| file.is_file()) {
        let bytes = fs::read(file).unwrap();
        let found = bytes.windows(GONE.len()).any(|part| part == GONE.as_bytes());
        assert!(!found && !file.to_string_lossy().ends_with(".rewritten"), "{}", file.display());
    }
}

/// Three sites of six pages in several volumes, of one kind or of all; `a` and `b` have a page whose payload
/// `gone` had first.
fn build(folder: &Path, every_kind: bool) {
    let collection = Collection::create(folder).unwrap();
    let mut frontier = collection.frontier().unwrap();
    let (archive, _) = open_archive(&collection, Default::default());
    let mut links = LinkWriter::open(&collection.links(), None).unwrap();
    let sites = [GONE, "a.example", "b.example"];
    let seeds: Vec<Candidate> = sites.iter().map(|site| candidate(site)).collect();
    frontier.admit(&seeds, START).unwrap();
    let leases = frontier.check_out(&check_out()).unwrap();
    for n in 0..18 {
        if every_kind && n % 3 == 0 {
            let pages = ["http://a.example/page-0", "http://gone.example/page-0"];
            archive.seal().unwrap();
            archive.pack_with(in_turn(n / 3, &pages));
        }
        let lease = leases.iter().find(|lease| lease.site.key.as_str() == sites[n % 3]).unwrap();
        let shared = n / 3 == 1;
        let url = format!("http://{}/page-{}", sites[n % 3], n / 3);
        let body = if shared { "the same for all".repeat(40) } else { url.repeat(2_000) };
        let exchange = exchange(&url, &body, n as i64);
        let kind = match shared && n % 3 > 0 {
            true => EntryKind::SamePayload(RefersTo {
                target_uri: format!("http://{GONE}/page-1"),
                date: START.plus(Duration::from_millis(3)),
                payload_digest: sha1(&[&exchange.entity]),
            }),
            false => EntryKind::Response,
        };
        let revisit = !matches!(kind, EntryKind::Response);
        let (record, id) = append(&archive, &exchange, kind);
        archive.settled(record);
        let source = exchange.url.fingerprint();
        links.append(source, lease.site.id, START, &found_links()).unwrap();
        let delta = delta(lease, &exchange, record, id, revisit);
        archive.sync().unwrap();
        links.sync().unwrap();
        let (mark, links) = (Some(archive.mark()), Some(links.position()));
        let settlement =
            Settlement { now: START, deltas: vec![delta], mark, links, ..Settlement::default() };
        frontier.check_in(&settlement).unwrap();
        if n % 6 == 5 {
            archive.seal().unwrap();
        }
    }
    archive.seal().unwrap();
}

pub(crate) fn open_archive(
    collection: &Collection,
    mark: model::Mark,
) -> (WarcArchive, crate::warc::Recovery) {
    WarcArchive::open(&collection.volumes(), WarcOptions::default(), mark).unwrap()
}

pub(crate) fn append(
    archive: &WarcArchive,
    exchange: &Exchange,
    kind: EntryKind,
) -> (model::RecordLocation, model::RecordId) {
    let (record_id, payload_digest) = (archive.record_id(), sha1(&[&exchange.entity]));
    let entry = ArchiveEntry { exchange, record_id, payload_digest, block_digest: None, kind };
    (archive.append(&entry).unwrap(), record_id)
}

fn found_links() -> Vec<Link> {
    ["http://a.example/", "http://gone.example/page-2", "http://gone.example/page-3"]
        .iter()
        .zip(0..)
        .map(|(url, position)| Link {
            url: CrawlUrl::parse(url).unwrap(),
            kind: LinkKind::A,
            rel: LinkRel::default(),
            anchor: "words".to_owned(),
            position,
        })
        .collect()
}

pub(crate) fn delta(
    lease: &SiteLease,
    exchange: &Exchange,
    record: model::RecordLocation,
    id: model::RecordId,
    revisit: bool,
) -> SiteDelta {
    let visit = Visit {
        at: exchange.started,
        status: 200,
        failure: None,
        change: Change::First,
        record: Some(record),
        record_id: Some(id),
        revisit,
        lost_before: false,
        wire_bytes: 100,
        body_bytes: 100,
        payload_digest: sha1(&[&exchange.entity]),
        content_hash: 1,
        text_hash: 1,
        simhash: 1,
        latency: Duration::ZERO,
        elapsed: Duration::ZERO,
    };
    let update = PageUpdate {
        fp: exchange.url.fingerprint(),
        state: PageState::Fetched,
        due: None,
        failures: 0,
        visit: Some(visit),
        habit: None,
        children: Some(vec![exchange.url.home().fingerprint()]),
        facts: None,
    };
    let page = NewPage {
        url: exchange.url.clone(),
        spider: SpiderId(1),
        level: 1,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        due: START,
    };
    let release = Release::Renew(START.plus(model::limits::LEASE));
    let empty = SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release);
    SiteDelta { admitted: vec![page], updates: vec![update], ..empty }
}

pub(crate) fn exchange(url: &str, body: &str, at: i64) -> Exchange {
    let body = Bytes::from(body.to_owned());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    Exchange {
        url: CrawlUrl::parse(url).unwrap(),
        purpose: Purpose::Page,
        started: START.plus(Duration::from_millis(at as u64)),
        address: None,
        request_head: Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"),
        headers: Headers::parse(head.as_bytes()),
        response_head: Bytes::from(head),
        status: 200,
        wire_body: body.clone(),
        entity: body.clone(),
        body,
        stopped: None,
        met: Vec::new(),
        protocol: Default::default(),
        timing: Timing::default(),
    }
}

pub(crate) fn candidate(site: &str) -> Candidate {
    Candidate {
        url: CrawlUrl::parse(&format!("http://{site}/")).unwrap(),
        spider: SpiderId(1),
        level: 0,
        hops: 0,
        seed: true,
        terms: PageTerms::default(),
        referrer: None,
    }
}

pub(crate) fn check_out() -> CheckOut {
    CheckOut { sites_max: 3, pages_max: 1, ..CheckOut::at(START, "test") }
}

pub(crate) fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for inner in ["", "volumes", "links", "links/index"] {
        fs::create_dir_all(copy.path().join(inner)).unwrap();
        for entry in fs::read_dir(folder.join(inner)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, copy.path().join(inner).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    copy
}
