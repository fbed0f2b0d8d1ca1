//! Batches lent, kept out and forgotten.

use model::{Candidate, Frontier, PageTerms, SpiderId};

use super::*;

fn lend(frontier: &mut SqlFrontier, holder: &str, host: &str, now: Timestamp) -> usize {
    let request = CheckOut {
        lease: Duration::from_secs(10),
        only: Some(vec![SiteKey::stored(host)]),
        ..CheckOut::at(now, holder)
    };
    frontier.check_out(&request).unwrap().len()
}

fn with_sites(hosts: &[&str]) -> SqlFrontier {
    let mut frontier = SqlFrontier::open_in_memory().unwrap();
    let candidate = |host: &&str| Candidate {
        url: CrawlUrl::parse(&format!("http://{host}/")).unwrap(),
        spider: SpiderId(1),
        level: 0,
        hops: 0,
        seed: true,
        terms: PageTerms::default(),
        referrer: None,
    };
    let candidates: Vec<Candidate> = hosts.iter().map(candidate).collect();
    frontier.admit(&candidates, Timestamp(1)).unwrap();
    frontier
}

#[test]
fn a_batch_outlives_the_process_and_ends_with_its_lease() {
    let mut frontier = with_sites(&["a.example", "b.example"]);
    let id = frontier.begin_batch(Timestamp(1), Timestamp(10_001), Path::new("")).unwrap();
    frontier.batch_is_out(id, (2, 2), Timestamp(1)).unwrap();
    assert_eq!(lend(&mut frontier, &BatchRow::holder(id), "a.example", Timestamp(1)), 1);
    assert_eq!(lend(&mut frontier, "process 1", "b.example", Timestamp(1)), 1);
    assert_eq!(frontier.recover_leases(Timestamp(2)).unwrap(), 1, "the process is dead");
    assert_eq!(frontier.batches().unwrap()[0].sites_out, 1);
    assert_eq!(lend(&mut frontier, "process 2", "a.example", Timestamp(3)), 0);
    assert_eq!(frontier.recover_leases(Timestamp(10_001)).unwrap(), 1, "its time is over");
    assert_eq!(frontier.batches().unwrap()[0].sites_out, 0);
}

#[test]
fn closing_a_batch_gives_back_what_is_still_its_own() {
    let mut frontier = with_sites(&["a.example", "b.example"]);
    let id = frontier.begin_batch(Timestamp(1), Timestamp(10_001), Path::new("")).unwrap();
    frontier.batch_is_out(id, (2, 2), Timestamp(1)).unwrap();
    for host in ["a.example", "b.example"] {
        lend(&mut frontier, &BatchRow::holder(id), host, Timestamp(1));
    }
    // Its time runs out, and one of the sites goes to somebody else.
    frontier.release_expired(Timestamp(10_001)).unwrap();
    lend(&mut frontier, &BatchRow::holder(id), "a.example", Timestamp(10_002));
    lend(&mut frontier, "process 2", "b.example", Timestamp(10_002));
    let out = frontier.close_batch(id, BatchState::Cancelled, Timestamp(10_003)).unwrap();
    assert_eq!(out, BTreeSet::from([SiteKey::stored("a.example")]));
    let row = &frontier.batches().unwrap()[0];
    assert_eq!((row.state, row.ended), (BatchState::Cancelled, Some(Timestamp(10_003))));
    assert_eq!(lend(&mut frontier, "process 2", "a.example", Timestamp(10_004)), 1);
    assert_eq!(lend(&mut frontier, "process 3", "b.example", Timestamp(10_004)), 0);
}

#[test]
fn nothing_is_left_of_a_batch_whose_export_was_killed_or_failed() {
    let mut frontier = with_sites(&["a.example", "b.example"]);
    let (at, end, file) = (Timestamp(1), Timestamp(10_001), Path::new("no such file"));
    let killed = frontier.begin_batch(at, end, file).unwrap();
    lend(&mut frontier, &BatchRow::holder(killed), "a.example", at);
    assert_eq!(frontier.batches().unwrap(), [], "nobody has its file");
    assert_eq!(frontier.recover_leases(Timestamp(2)).unwrap(), 1);
    let failed = frontier.begin_batch(Timestamp(3), end, file).unwrap();
    lend(&mut frontier, &BatchRow::holder(failed), "b.example", Timestamp(3));
    frontier.forget_batch(failed, Timestamp(4)).unwrap();
    assert_eq!(frontier.batches().unwrap(), []);
    for host in ["a.example", "b.example"] {
        assert_eq!(lend(&mut frontier, "process 2", host, Timestamp(5)), 1);
    }
}

#[test]
fn a_batch_that_is_being_made_is_out_when_its_own_file_is_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.batch");
    let mut frontier = with_sites(&["a.example"]);
    let own = frontier.collection_id(Timestamp(1)).unwrap();
    let head = |collection: &str, batch: i64| {
        format!(
            "{{\"collection\":\"{collection}\",\"batch\":{batch},\"sites\":1,\"pages\":7}}\n{{}}\n"
        )
    };
    let whole = head(&own, 1);
    for other in [head("another", 1), head(&own, 2), whole[..40].to_owned(), String::new()] {
        std::fs::write(&file, other).unwrap();
        let mut frontier = with_sites(&["a.example"]);
        assert_eq!(frontier.begin_batch(Timestamp(1), Timestamp(10_001), &file).unwrap(), 1);
        lend(&mut frontier, "batch:1", "a.example", Timestamp(1));
        assert_eq!(frontier.batches().unwrap(), []);
        assert_eq!(frontier.recover_leases(Timestamp(2)).unwrap(), 1);
    }
    let id = frontier.begin_batch(Timestamp(1), Timestamp(10_001), &file).unwrap();
    lend(&mut frontier, &BatchRow::holder(id), "a.example", Timestamp(1));
    std::fs::write(&file, whole).unwrap();
    let listed = frontier.batches().unwrap();
    assert_eq!((listed[0].state, listed[0].pages), (BatchState::Out, 7));
    assert_eq!(frontier.recover_leases(Timestamp(2)).unwrap(), 0, "somebody has its file");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(frontier.batches().unwrap(), listed, "it goes away to be harvested");
    assert_eq!(frontier.recover_leases(Timestamp(3)).unwrap(), 0);
}

#[test]
fn sites_that_are_not_done_stay_out_with_the_batch_until_its_leases_end() {
    let mut frontier = with_sites(&["a.example", "b.example"]);
    let id = frontier.begin_batch(Timestamp(1), Timestamp(10_001), Path::new("")).unwrap();
    frontier.batch_is_out(id, (2, 2), Timestamp(1)).unwrap();
    for host in ["a.example", "b.example"] {
        lend(&mut frontier, &BatchRow::holder(id), host, Timestamp(1));
    }
    frontier.close_batch(id, BatchState::Importing, Timestamp(2)).unwrap();
    let row = frontier.batches().unwrap().remove(0);
    let left = [SiteKey::stored("b.example")];
    assert_eq!(frontier.keep_out(&row, &left, Timestamp(3)).unwrap(), 1);
    let kept = frontier.batches().unwrap().remove(0);
    assert_eq!((kept.state, kept.sites_out, kept.ended), (BatchState::Out, 1, None));
    assert_eq!(lend(&mut frontier, "process 2", "b.example", Timestamp(10_000)), 0);
    assert_eq!(lend(&mut frontier, "process 2", "a.example", Timestamp(10_000)), 1);
    assert_eq!(lend(&mut frontier, "process 2", "b.example", Timestamp(10_001)), 1);
    assert_eq!(frontier.keep_out(&row, &left, Timestamp(10_002)).unwrap(), 0);
    assert_eq!(frontier.batches().unwrap()[0].state, BatchState::Imported);
}

#[test]
fn a_collection_has_one_name_for_good() {
    let mut frontier = with_sites(&[]);
    let name = frontier.collection_id(Timestamp(1)).unwrap();
    assert_eq!(frontier.collection_id(Timestamp(2)).unwrap(), name);
    assert_ne!(with_sites(&[]).collection_id(Timestamp(1)).unwrap(), name);
}
