//! Spiders through their lives, and what becomes of their pages.

use std::{collections::HashSet, time::Duration};

use model::{Candidate, Change, CheckOut, Frontier, NewPage, PageState, PageTerms, Release, Spent};

use super::*;
use crate::{
    census::Census,
    collection::Collection,
    frontier::{
        Seed,
        check_out::VAIN_MAX,
        suite::{
            HOUR, ask, candidate, delta, lease_one, new_page, settlement, url, verdict, visited,
        },
    },
    spiders::SpiderCounts,
};

const NOW: Timestamp = Timestamp(0);

fn open() -> SqlFrontier {
    SqlFrontier::open_in_memory().unwrap()
}

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn add(frontier: &mut SqlFrontier, name: &str) -> SpiderId {
    frontier.add_spider(name, &BTreeMap::new(), NOW).unwrap()
}

fn of(spider: SpiderId, text: &str) -> Candidate {
    Candidate { spider, ..candidate(text, 0) }
}

fn page_of(spider: SpiderId, text: &str, now: i64) -> NewPage {
    NewPage { spider, ..new_page(text, 0, now) }
}

/// What is lent at this moment, by site.
fn lent(frontier: &mut SqlFrontier, now: i64) -> Vec<(String, usize)> {
    let leases = frontier.check_out(&ask(now)).unwrap();
    leases.iter().map(|lease| (lease.site.key.to_string(), lease.pages.len())).collect()
}

#[test]
fn a_name_belongs_to_one_living_spider() {
    let mut frontier = open();
    let news = frontier.add_spider("news", &settings(&[("crawl.depth", "3")]), NOW).unwrap();
    let error = frontier.add_spider("news", &BTreeMap::new(), NOW).unwrap_err();
    assert_eq!(error.to_string(), "there is a spider news already");
    assert!(frontier.add_spider("No good", &BTreeMap::new(), NOW).is_err());
    assert_eq!(frontier.spider("news", NOW).unwrap(), news);
    frontier.remove_spider(news, NOW).unwrap();
    let error = frontier.remove_spider(news, NOW).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no spider number {}", news.0));
    let again = add(&mut frontier, "news");
    assert_ne!(again, news, "numbers are not used twice");
    let names: Vec<String> = frontier.spiders().unwrap().into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["default", "news"]);
    let error = frontier.remove_spider(SpiderId(1), NOW).unwrap_err();
    assert!(error.to_string().contains("default spider cannot be removed"), "{error}");
}

#[test]
fn settings_are_changed_key_by_key() {
    let mut frontier = open();
    let first = settings(&[("crawl.depth", "3"), ("crawl.scope", "\"domain\"")]);
    let id = frontier.add_spider("news", &first, NOW).unwrap();
    let changes = BTreeMap::from([
        ("crawl.depth".to_owned(), Some("4".to_owned())),
        ("crawl.scope".to_owned(), None),
        ("crawl.pages".to_owned(), Some("10".to_owned())),
    ]);
    frontier.edit_spider(id, &changes, NOW).unwrap();
    let row = frontier.spiders().unwrap().pop().unwrap();
    assert_eq!(row.settings, settings(&[("crawl.depth", "4"), ("crawl.pages", "10")]));
    let long = BTreeMap::from([("x".to_owned(), Some("y".repeat(SETTINGS_BYTES_MAX)))]);
    assert!(matches!(frontier.edit_spider(id, &long, NOW), Err(StoreError::Refused { .. })));
    assert_eq!(frontier.spiders().unwrap().pop().unwrap(), row, "nothing was changed");
}

#[test]
fn a_pause_lasts_until_the_spider_is_resumed_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.db");
    let mut frontier = SqlFrontier::open(&path).unwrap();
    let news = add(&mut frontier, "news");
    frontier.admit(&[of(news, "http://a.example/")], NOW).unwrap();
    frontier.pause_spider(news, Some("the login failed"), NOW).unwrap();
    assert_eq!(lent(&mut frontier, 1), []);
    assert_eq!(frontier.next_due().unwrap(), None, "it does not come up again and again");
    drop(frontier);

    let mut frontier = SqlFrontier::open(&path).unwrap();
    let row = frontier.spiders().unwrap().pop().unwrap();
    assert_eq!((row.paused, row.why.as_str()), (true, "the login failed"));
    frontier.admit(&[of(news, "http://a.example/2")], Timestamp(2)).unwrap();
    assert_eq!(lent(&mut frontier, 2), []);
    frontier.pause_spider(news, None, Timestamp(3)).unwrap();
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(0)));
    assert_eq!(lent(&mut frontier, 3), [("a.example".to_owned(), 2)]);
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_check_out_does_not_stop_for_all_that_a_paused_spider_has() {
    let mut frontier = open();
    let many = add(&mut frontier, "many");
    let found: Vec<Candidate> =
        (0..VAIN_MAX).map(|n| of(many, &format!("http://s{n}.example/"))).collect();
    frontier.admit(&found, NOW).unwrap();
    frontier.admit(&[candidate("http://a.example/", 0)], Timestamp(1)).unwrap();
    frontier.pause_spider(many, Some(""), NOW).unwrap();
    assert_eq!(lent(&mut frontier, 1), []);
    assert_eq!(frontier.next_due().unwrap(), Some(Timestamp(1)), "there is more");
    assert_eq!(lent(&mut frontier, 1), [("a.example".to_owned(), 1)]);
    assert_eq!(frontier.next_due().unwrap(), None);
    assert_eq!(frontier.wake_spider(many, Timestamp(1)).unwrap(), 0, "it is paused");
    frontier.pause_spider(many, None, NOW).unwrap();
    assert_eq!(lent(&mut frontier, 1).len(), 100);
}

#[test]
fn who_was_left_out_by_the_last_check_out_of_another_process_wakes_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.db");
    let mut frontier = SqlFrontier::open(&path).unwrap();
    frontier.admit(&[candidate("http://a.example/", 0)], NOW).unwrap();
    let request = CheckOut { paused: vec![SpiderId(1)], ..ask(0) };
    assert!(frontier.check_out(&request).unwrap().is_empty());
    drop(frontier);
    let mut frontier = SqlFrontier::open(&path).unwrap();
    assert_eq!(frontier.next_due().unwrap(), None);
    assert_eq!(lent(&mut frontier, 1), [("a.example".to_owned(), 1)]);
}

#[test]
fn pages_of_a_removed_spider_stay_and_go_to_who_finds_them() {
    let mut frontier = open();
    let (old, new) = (add(&mut frontier, "old"), add(&mut frontier, "new"));
    let texts = ["http://a.example/0", "http://a.example/1", "http://a.example/2"];
    frontier.admit(&texts.map(|text| of(old, text)), NOW).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut first = delta(&lease, Release::NotBefore(NOW));
    let fps = texts.map(|text| url(text).fingerprint());
    first.updates = vec![
        visited(fps[0], 0, Change::First, Some(10)),
        verdict(fps[1], PageState::Excluded, None),
        verdict(fps[2], PageState::Known, Some(0)),
    ];
    frontier.check_in(&settlement(0, vec![first])).unwrap();
    frontier.remove_spider(old, NOW).unwrap();
    assert_eq!(lent(&mut frontier, 50), []);
    assert_eq!(frontier.next_due().unwrap(), None);
    assert_eq!(frontier.counts().unwrap().pages_fetched, 1, "they stay as history");

    // A candidate takes over what answered, and what had been excluded is judged again.
    frontier.admit(&[of(new, texts[0]), of(new, texts[1])], Timestamp(60)).unwrap();
    let lease = lease_one(&mut frontier, 60);
    let found: Vec<_> = lease.pages.iter().map(|p| (p.url.as_str(), p.spider, p.state)).collect();
    let fetched = (texts[0], new, PageState::Fetched);
    let wanted: HashSet<_> = [fetched, (texts[1], new, PageState::Candidate)].into();
    assert_eq!(HashSet::from_iter(found), wanted);
    assert!(lease.pages.iter().any(|page| page.last.is_some()), "with its history");
    let known = lease.known.clone().unwrap();
    assert!(!known.contains(&fps[2]), "its holder may find the rest");

    // So does a link inside the site.
    let mut found = delta(&lease, Release::NotBefore(NOW));
    found.admitted = vec![page_of(new, texts[2], 61)];
    frontier.check_in(&settlement(61, vec![found])).unwrap();
    assert_eq!(lent(&mut frontier, 61), [("a.example".to_owned(), 3)]);
    let counts = |known, waiting, fetched| SpiderCounts {
        known,
        waiting,
        fetched,
        ..SpiderCounts::default()
    };
    let row = frontier.spiders().unwrap().pop().unwrap();
    assert_eq!((row.name.as_str(), row.counts), ("new", counts(2, 1, 1)));
    assert_eq!((row.visits, row.spent.bytes), (0, 0), "what the other spent is not put down to it");
    assert_eq!(frontier.spent().unwrap(), Spent { pages: 1, bytes: 100 });
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_page_goes_to_the_spider_that_is_asked_for_it_by_name() {
    let mut frontier = open();
    let (news, other) = (add(&mut frontier, "news"), add(&mut frontier, "other"));
    let page = "http://a.example/";
    frontier.admit(&[candidate(page, 0)], NOW).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut seen = delta(&lease, Release::NotBefore(NOW));
    seen.updates = vec![visited(lease.pages[0].url.fingerprint(), 1, Change::First, Some(HOUR))];
    frontier.check_in(&settlement(1, vec![seen])).unwrap();
    let seed = |spider| Candidate { seed: true, ..of(spider, page) };
    frontier.admit(&[of(other, page)], Timestamp(2)).unwrap();
    assert_eq!(lent(&mut frontier, 2), [], "a link is no wish");
    frontier.admit(&[seed(news)], Timestamp(3)).unwrap();
    let lease = lease_one(&mut frontier, 3);
    assert_eq!((lease.pages[0].spider, lease.pages[0].state), (news, PageState::Fetched));
    frontier.admit(&[seed(other)], Timestamp(4)).unwrap();
    let spiders: Vec<_> = frontier.seeds().unwrap().iter().map(|seed| seed.spider).collect();
    assert_eq!(spiders, [news], "a seed stays with who was asked first");
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_removed_spider_brings_nothing_new_but_what_was_under_way() {
    let mut frontier = open();
    let old = add(&mut frontier, "old");
    frontier.admit(&[of(old, "http://a.example/")], NOW).unwrap();
    let lease = lease_one(&mut frontier, 0);
    frontier.remove_spider(old, NOW).unwrap();
    let mut late = delta(&lease, Release::NotBefore(NOW));
    late.admitted = vec![page_of(old, "http://a.example/late", 1)];
    let fp = url("http://a.example/late").fingerprint();
    late.updates = vec![visited(fp, 1, Change::First, Some(1))];
    let mut whole = settlement(1, vec![late]);
    whole.candidates = vec![of(old, "http://b.example/")];
    frontier.check_in(&whole).unwrap();
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.sites_known, counts.pages_fetched), (1, 1));
    assert_eq!(lent(&mut frontier, HOUR), []);
    frontier.admit(&[candidate("http://a.example/late", 0)], Timestamp(HOUR)).unwrap();
    assert_eq!(lent(&mut frontier, HOUR), [("a.example".to_owned(), 1)], "it was not remembered");
}

#[test]
fn limits_are_lifted_when_the_terms_are_others() {
    let mut frontier = open();
    frontier.admit(&[candidate("http://a.example/", 0)], NOW).unwrap();
    assert!(!frontier.terms_changed(u64::MAX, NOW).unwrap(), "there were none before");
    let lease = lease_one(&mut frontier, 0);
    let mut full = delta(&lease, Release::NotBefore(NOW));
    full.admitted = vec![new_page("http://a.example/", 0, 0)];
    full.full = vec![SpiderId(1)];
    frontier.check_in(&settlement(0, vec![full])).unwrap();
    assert!(!frontier.terms_changed(u64::MAX, NOW).unwrap());
    assert_eq!(lent(&mut frontier, 1), []);
    assert!(frontier.terms_changed(7, Timestamp(2)).unwrap());
    assert_eq!(frontier.next_due().unwrap(), Some(NOW));
    assert_eq!(lent(&mut frontier, 2), [("a.example".to_owned(), 1)]);
}

#[test]
fn no_more_sites_than_allowed_become_known_and_the_others_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    let mut frontier = collection.frontier().unwrap();
    frontier.set_sites_max(Some(2));
    let found: Vec<Candidate> =
        (0..5).map(|n| candidate(&format!("http://s{n}.example/"), 0)).collect();
    assert_eq!(frontier.admit(&found, NOW).unwrap(), 2);
    let known = [candidate("http://s0.example/more", 0)];
    assert_eq!(frontier.admit(&known, NOW).unwrap(), 1, "its site is known");
    let seed = Candidate { seed: true, ..candidate("http://s3.example/", 0) };
    assert_eq!(frontier.admit(&[seed], NOW).unwrap(), 1, "who is asked for by name may come");
    let counts = frontier.counts().unwrap();
    assert_eq!((counts.sites_known, counts.refused), (3, 3));
    let told = Census::open(&collection).unwrap().decisions(Some("limit"), 10).unwrap();
    assert_eq!(told.len(), 1, "one line, however many hosts there are");
    assert_eq!((told[0].rule.as_str(), told[0].count), ("crawl.sites = 2", 3));
    assert_eq!(frontier.verify(true).unwrap(), []);
}

#[test]
fn a_seed_given_again_has_the_terms_said_last() {
    let mut frontier = open();
    let seed = |depth, period: Option<u64>| Candidate {
        seed: true,
        terms: PageTerms {
            depth,
            period: period.map(Duration::from_millis),
            ..PageTerms::default()
        },
        ..candidate("http://a.example/", 0)
    };
    frontier.admit(&[seed(Some(2), None)], NOW).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut seen = delta(&lease, Release::NotBefore(NOW));
    seen.updates = vec![visited(lease.pages[0].url.fingerprint(), 5, Change::First, Some(HOUR))];
    frontier.check_in(&settlement(5, vec![seen])).unwrap();
    frontier.admit(&[seed(None, Some(50))], Timestamp(10)).unwrap();
    frontier.admit(&[seed(None, None)], Timestamp(11)).unwrap();
    let Candidate { url, spider, terms, .. } = seed(Some(2), Some(50));
    assert_eq!(frontier.seeds().unwrap(), [Seed { spider, url, terms }]);
    assert_eq!(lent(&mut frontier, 54), [], "50 ms after its last visit");
    assert_eq!(lent(&mut frontier, 55), [("a.example".to_owned(), 1)]);
}

#[test]
fn readers_see_what_each_spider_has_brought() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(dir.path()).unwrap();
    let mut frontier = collection.frontier().unwrap();
    let news = add(&mut frontier, "news");
    frontier.admit(&[of(news, "http://a.example/")], NOW).unwrap();
    let lease = lease_one(&mut frontier, 0);
    let mut seen = delta(&lease, Release::NotBefore(NOW));
    seen.admitted = vec![
        page_of(news, "http://a.example/", 0),
        page_of(news, "http://a.example/2", 0),
        page_of(SpiderId(1), "http://a.example/3", 0),
    ];
    let fps = ["", "2"].map(|path| url(&format!("http://a.example/{path}")).fingerprint());
    seen.updates = vec![
        visited(fps[0], 1, Change::First, Some(HOUR)),
        visited(fps[1], 1, Change::Failed, Some(HOUR)),
    ];
    frontier.check_in(&settlement(1, vec![seen])).unwrap();
    let rows = Census::open(&collection).unwrap().spiders().unwrap();
    assert_eq!(rows, frontier.spiders().unwrap());
    let (ours, theirs) = (&rows[0], &rows[1]);
    assert_eq!((ours.counts.known, ours.counts.waiting, ours.visits), (1, 1, 0));
    assert_eq!((theirs.counts.known, theirs.counts.waiting), (2, 0));
    assert_eq!((theirs.counts.fetched, theirs.counts.failed), (1, 1));
    assert_eq!((theirs.spent, theirs.visits), (Spent { pages: 1, bytes: 200 }, 2));
    let json = serde_json::to_value(theirs).unwrap();
    assert_eq!((json["name"].as_str(), json["counts"]["failed"].as_u64()), (Some("news"), Some(1)));
}
