//! What can be asked of a collection, also while somebody crawls it.

use model::{
    Change, CrawlUrl, Decision, Frontier, Hazard, Measure, Origin, PageFacts, PageState,
    RefusalReason, Release, RobotsAnswer, RobotsCopy, Settlement, Sighting, Timestamp,
};

use super::*;
use crate::{
    frontier::{
        SqlFrontier,
        suite::{candidate, delta, lease_one, new_page, settlement, url, visited},
    },
    runs::RunState,
};

struct House {
    _dir: tempfile::TempDir,
    collection: Collection,
    frontier: SqlFrontier,
}

/// A site with a page fetched twice, one waiting, a robots.txt and a refusal; still in hand.
fn house() -> House {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    let mut frontier = collection.frontier().unwrap();
    frontier.admit(&[candidate("http://a.example/", 0)], Timestamp(1)).unwrap();
    let lease = lease_one(&mut frontier, 1);
    let fp = lease.pages[0].url.fingerprint();
    let mut delta = delta(&lease, Release::Renew(Timestamp(1_000)));
    delta.updates = vec![
        visited(fp, 2, Change::First, Some(50)),
        visited(fp, 30, Change::NotModified, Some(60)),
        visited(fp, 40, Change::Failed, Some(70)),
    ];
    let title = "A title".to_owned();
    delta.updates[0].facts = Some(PageFacts { title, ..PageFacts::default() });
    delta.admitted = vec![new_page("http://a.example/next", 1, 20)];
    delta.robots = vec![RobotsCopy {
        origin: Origin::stored("http://a.example"),
        answer: RobotsAnswer::Unavailable { status: 404 },
        fetched: Timestamp(2),
        expires: Timestamp(3),
        unreachable_since: None,
        etag: None,
        last_modified: None,
    }];
    let mut settled = settlement(40, vec![delta]);
    settled.decisions = vec![Decision {
        site: "b.example".into(),
        reason: RefusalReason::Scope,
        rule: "scope = \"site\"".into(),
        count: 3,
        example: "http://b.example/".into(),
        referrer: Some("http://a.example/".into()),
    }];
    frontier.check_in(&settled).unwrap();
    House { _dir: dir, collection, frontier }
}

#[test]
fn home_pages_of_sites_come_in_pieces_with_the_scheme_of_their_pages() {
    let mut house = house();
    let more = [candidate("https://b.example:8443/x?y", 0), candidate("https://c.example/z", 0)];
    house.frontier.admit(&more, Timestamp(50)).unwrap();
    let census = Census::open(&house.collection).unwrap();
    let (mut homes, mut after) = (Vec::new(), 0);
    while let (found, Some(last)) = census.homes_after(after, 2).unwrap() {
        homes.extend(found.iter().map(|url| url.as_str().to_owned()));
        after = last;
    }
    assert_eq!(homes, ["http://a.example/", "https://b.example:8443/", "https://c.example/"]);
}

#[test]
fn a_page_is_told_with_its_facts_and_every_visit() {
    let house = house();
    let census = Census::open(&house.collection).unwrap();
    let story = census.page(&url("http://a.example/")).unwrap().unwrap();
    assert_eq!((story.page.state, story.page.visits), (PageState::Failing, 3));
    assert_eq!(story.page.due, Some(Timestamp(70)));
    assert_eq!(story.facts.unwrap().title, "A title");
    assert_eq!(story.visits.len(), 2);
    assert_eq!(story.visits[0].times, [Timestamp(2), Timestamp(30)]);
    assert_eq!(story.visits[0].record.unwrap().offset, 2);
    assert_eq!(story.visits[0].record_date, Some(Timestamp(2)));
    assert_eq!(story.visits[1].change, Change::Failed);
    assert_eq!(census.page(&url("http://a.example/never")).unwrap(), None);
}

#[test]
fn lists_show_what_is_there_and_stop_at_their_bound() {
    let mut house = house();
    let census = Census::open(&house.collection).unwrap();
    assert_eq!(census.counts().unwrap(), house.frontier.counts().unwrap());
    assert_eq!(census.pages(None, 10).unwrap().len(), 2);
    assert_eq!(census.pages(None, 1).unwrap().len(), 1);
    let known = census.pages(Some(PageState::Known), 10).unwrap();
    assert_eq!(known[0].url, "http://a.example/next");
    let next: Vec<_> =
        census.next_pages(10, Timestamp(1)).unwrap().into_iter().map(|page| page.due).collect();
    assert_eq!(next, [Some(Timestamp(20)), Some(Timestamp(70))]);
    let sites = census.sites(10).unwrap();
    assert_eq!((sites[0].site.as_str(), sites[0].in_hand), ("a.example", true));
    assert_eq!(census.site("a.example").unwrap().unwrap(), sites[0]);
    assert_eq!(census.refusals().unwrap(), [("scope".to_owned(), 3)]);
    assert_eq!(census.decisions(Some("robots"), 10).unwrap(), []);
    assert_eq!(census.decisions(None, 10).unwrap(), census.decisions_on("b.example", 10).unwrap());
    let robots = census.robots(&url("http://a.example/x")).unwrap().unwrap();
    assert_eq!(robots.answer, RobotsAnswer::Unavailable { status: 404 });
    assert_eq!(census.robots(&url("https://a.example/x")).unwrap(), None);
    assert_eq!(census.robots(&url("http://z.example/x")).unwrap(), None);
}

#[test]
fn a_run_whose_process_died_is_interrupted_and_an_ended_one_says_why() {
    let mut house = house();
    let census = Census::open(&house.collection).unwrap();
    assert_eq!(census.last_run().unwrap(), None);
    let lock = house.collection.lock().unwrap();
    let run = house.frontier.start_run(7, Timestamp(5)).unwrap();
    let stats = serde_json::json!({ "pages": 3 });
    house.frontier.heartbeat(run, &stats, Timestamp(6)).unwrap();
    let told = census.last_run().unwrap().unwrap();
    assert_eq!((told.state, told.heartbeat, told.pid), (RunState::Running, Timestamp(6), 7));
    assert_eq!(told.stats, stats);
    drop(lock);
    assert_eq!(census.last_run().unwrap().unwrap().state, RunState::Interrupted);
    let next = house.frontier.start_run(8, Timestamp(9)).unwrap();
    house.frontier.end_run(next, RunState::Limit, "3 pages", &stats, Timestamp(10)).unwrap();
    let runs = census.runs(10).unwrap();
    assert_eq!((runs[0].state, runs[0].reason.as_str()), (RunState::Limit, "3 pages"));
    assert_eq!((runs[1].state, runs[1].ended), (RunState::Interrupted, Some(Timestamp(6))));
}

#[test]
fn events_are_told_newest_first() {
    let mut house = house();
    house.frontier.tell("site", Some("a.example"), "stopped: a trap", Timestamp(1)).unwrap();
    house.frontier.tell("disk", None, "nearly full", Timestamp(2)).unwrap();
    let events = Census::open(&house.collection).unwrap().events(10).unwrap();
    assert_eq!(events.iter().map(|e| e.kind.as_str()).collect::<Vec<_>>(), ["disk", "site"]);
}

#[test]
fn strangers_can_read_the_views() {
    let house = house();
    let connection = open_reader(&house.collection.database()).unwrap();
    let row: (String, String, String, i64) = connection
        .query_row(
            "SELECT state, due, title, visits FROM v_pages WHERE url = 'http://a.example/'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(row, ("failing".into(), "1970-01-01T00:00:00.070Z".into(), "A title".into(), 3));
    let spider: (String, String, i64) = connection
        .query_row("SELECT name, state, visits FROM v_spiders", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(spider, ("default".into(), "awake".into(), 3));
    let visits: String = connection
        .query_row("SELECT group_concat(change || ' ' || count) FROM v_visits", [], |r| r.get(0))
        .unwrap();
    assert_eq!(visits, "first 2,failed 1");
    let error = connection.execute("DELETE FROM pages", []).unwrap_err();
    assert!(error.to_string().contains("readonly"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_can_still_be_read() {
    let house = house();
    drop(house.frontier);
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(house.collection.database(), copy.path().join("crawl.db")).unwrap();
    let immutable = crate::sql::open_immutable(&copy.path().join("crawl.db")).unwrap();
    let pages: i64 = immutable.query_row("SELECT count(*) FROM pages", [], |r| r.get(0)).unwrap();
    assert_eq!(pages, 2);
    assert!(!copy.path().join("crawl.db-wal").exists(), "reading left nothing behind");
}

#[test]
fn every_answer_can_be_written_as_json() {
    let house = house();
    let census = Census::open(&house.collection).unwrap();
    let story = census.page(&CrawlUrl::parse("http://a.example/").unwrap()).unwrap();
    let json = serde_json::to_value(story).unwrap();
    assert_eq!(json["page"]["state"], "failing");
    assert_eq!(serde_json::to_value(census.sites(1).unwrap()).unwrap()[0]["known"], 2);
}

#[test]
fn hazards_are_counted_by_site_name_and_kind_with_the_first_examples_and_the_newest() {
    let mut house = house();
    let seen = |what: &str, number: u32, measure| Sighting {
        site: "a.example".into(),
        hazard: Hazard::Counter,
        what: what.into(),
        measure,
        count: 2,
        example: format!("http://a.example/{number}"),
    };
    let mut settled = Settlement { now: Timestamp(60), ..Settlement::default() };
    settled.sightings = vec![seen("/*", 1, Measure::Noted), seen("/*", 2, Measure::PatternStopped)];
    house.frontier.check_in(&settled).unwrap();
    settled.now = Timestamp(61);
    settled.sightings = vec![seen("/*", 3, Measure::Noted), seen("/*", 4, Measure::Noted)];
    house.frontier.check_in(&settled).unwrap();
    let census = Census::open(&house.collection).unwrap();
    let told = census.hazards(Some("counter"), Some("a.example"), 10).unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].count, told[0].measure.as_str()), (8, "pattern-stopped"));
    assert_eq!((told[0].first, told[0].last), (Timestamp(60), Timestamp(61)));
    let examples = [1, 2, 4].map(|number| format!("http://a.example/{number}"));
    assert_eq!(told[0].examples, examples);
    assert_eq!(census.hazards(Some("soft-404"), None, 10).unwrap(), []);
}

#[test]
fn kinds_of_a_hazard_beyond_the_bound_are_counted_together() {
    let mut house = house();
    let kinds = Sighting::KINDS_MAX + 50;
    let url = url("http://a.example/");
    let one = |kind: usize| {
        Sighting::at(&url, Hazard::ManyDuplicates, Measure::Noted).of(format!("/{kind}"))
    };
    let sightings = (0..kinds).map(one).collect();
    let settled = Settlement { now: Timestamp(60), sightings, ..Settlement::default() };
    house.frontier.check_in(&settled).unwrap();
    let told = Census::open(&house.collection).unwrap().hazards(None, None, 1_000).unwrap();
    assert_eq!(told.len(), Sighting::KINDS_MAX + 1);
    assert_eq!((told[0].what.as_str(), told[0].count), ("", 50));
}

#[test]
fn the_home_page_of_a_site_is_known_at_whatever_level_it_was_found() {
    let mut house = house();
    let pages = [candidate("http://b.example/deep", 0), candidate("http://b.example/", 1)];
    house.frontier.admit(&pages, Timestamp(50)).unwrap();
    let mut leases = house.frontier.check_out(&crate::frontier::suite::ask(50)).unwrap();
    let lease = leases.pop().unwrap();
    let mut back = delta(&lease, Release::NotBefore(Timestamp(50)));
    let fps = lease.pages.iter().map(|page| page.url.fingerprint());
    back.updates = fps.map(|fp| visited(fp, 60, Change::First, None)).collect();
    house.frontier.check_in(&settlement(60, vec![back])).unwrap();
    let census = Census::open(&house.collection).unwrap();
    let site = census.site_number("b.example").unwrap().unwrap();
    let standing = census.standings(&[site]).unwrap().remove(&site).unwrap();
    assert_eq!(standing.home_visited, Some(Timestamp(60)));
    assert_eq!(census.documents(site, 1).unwrap()[0].url, "http://b.example/");
}

/// Every composed question is asked once: what another engine says of them is seen in `sql/portable.rs`.
#[test]
fn lists_can_be_asked_in_every_order_and_with_every_filter() {
    let mut house = house();
    let found = [candidate("http://c.example/", 0)];
    house.frontier.admit(&found, Timestamp(50)).unwrap();
    let lease = lease_one(&mut house.frontier, 50);
    let mut back = delta(&lease, Release::NotBefore(Timestamp(60)));
    let fp = lease.pages[0].url.fingerprint();
    back.updates = vec![visited(fp, 50, Change::First, Some(90))];
    let first = Some(url("http://c.example/first").fingerprint());
    let facts = PageFacts { duplicate_of: first, near_of: first, ..PageFacts::default() };
    back.updates[0].facts = Some(facts);
    house.frontier.check_in(&settlement(51, vec![back])).unwrap();
    let census = Census::open(&house.collection).unwrap();
    let period = Period { since: Some(Timestamp(0)), before: Some(Timestamp(100)) };
    let one = PageFilter {
        site: Some("a.example".into()),
        spider: Some(SpiderId(1)),
        status: Some((0, 600)),
        media_type: Some("text".into()),
        prefix: Some("http://a.example/".into()),
        state: Some(PageState::Known),
        visited: period,
        changed: period,
        seed: true,
        requisites: true,
    };
    let typed = PageFilter { media_type: Some("text/html".into()), ..PageFilter::default() };
    for filter in [PageFilter::default(), typed, one] {
        for (sort, reverse) in
            PageSort::ALL.into_iter().flat_map(|sort| [(sort, true), (sort, false)])
        {
            let places = census.page_places(&filter, (sort, reverse), None, 10).unwrap();
            assert_eq!(places.len(), if filter == PageFilter::default() { 3 } else { 0 });
            let first = places.first().cloned().unwrap_or(PagePlace {
                value: SortValue::Number(0),
                site: 0,
                fp: 0,
            });
            let rest = census.page_places(&filter, (sort, reverse), Some(&first), 10).unwrap();
            assert_eq!(rest.len(), places.len().saturating_sub(1), "{sort:?}");
        }
        census.count_pages(&filter, 10).unwrap();
    }
    assert!(census.page_row_of(&url("http://a.example/")).unwrap().is_some());
    let states =
        SiteState::ALL.map(|state| SiteFilter { state: Some(state), ..SiteFilter::default() });
    let domain = Some("a.example".into());
    let narrow = SiteFilter { domain, seeded: true, down: true, state: None };
    for filter in states.into_iter().chain([SiteFilter::default(), narrow]) {
        for (sort, reverse) in
            SiteSort::ALL.into_iter().flat_map(|sort| [(sort, true), (sort, false)])
        {
            let places = census.site_places(&filter, (sort, reverse), None, 10).unwrap();
            let Some(first) = places.first() else { continue };
            let rest = census.site_places(&filter, (sort, reverse), Some(first), 10).unwrap();
            assert_eq!(rest.len(), places.len() - 1, "{sort:?}");
            assert!(census.site_row(first.id).unwrap().is_some());
        }
        census.count_sites(&filter, 10).unwrap();
    }
    let mut contents = 0;
    census.each_content(|_, _, _| contents += 1).unwrap();
    census.breakdowns().unwrap();
    let alike = census.duplicates(None, 10).unwrap();
    assert_eq!(alike.len(), 2, "{alike:?}");
    assert!(alike.iter().all(|found| found.examples == ["http://c.example/"]));
    assert_eq!(census.duplicates(Some("a.example"), 10).unwrap(), []);
}
